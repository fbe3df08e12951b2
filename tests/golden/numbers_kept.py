"""What is kept of a verb's output, and how it is compared with what is stored.

>>> kept = keep({"p_at_1": 0.5, "seconds": 3.2, "hash": "0f" * 32, "losses": [1.0] * 30})
>>> kept["losses"]["length"], kept["losses"]["sum"], sorted(kept)
(30, 30.0, ['losses', 'p_at_1'])
>>> differences({"a": [1, 2.0]}, {"a": [1, 2.00001]}, Tolerance())
[]
>>> differences({"a": [1, 2.0]}, {"a": [2, 2.1]}, Tolerance())
['a.0: 1 is now 2', 'a.1: 2.0 is now 2.1']
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

LONGEST = 20
"""Numbers of a list that are kept; of what is not a number, a quarter as many. The rest is in the sum."""
LONGEST_TEXT = 60
VARIES = re.compile(
    r"(^|_)(seconds|minutes|hours|time|eta|date|started|finished|elapsed|when|version|versions|python|platform|host|pid"
    r"|sha256|hash|hashes|key|keys|bytes|memory|disk|speed|peak|tokens_per_second|command)(_|$)"
)
"""Names of values that differ between machines, days or versions."""
HASH = re.compile(r"[0-9a-f]{12,}")
TEXT = {".txt", ".tsv", ".csv", ".conllu", ".align", ".vec", ".jsonl"}


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far a float may be from the stored one; whole numbers and text are compared exactly."""

    relative: float = 1e-4
    absolute: float = 1e-6

    def allows(self, stored: float, found: float) -> bool:
        """Whether the two are near enough."""
        return math.isclose(stored, found, rel_tol=self.relative, abs_tol=self.absolute)


def keep(value: Any, root: str = "\0") -> Any:
    """Numbers and short text of a JSON value, without what varies; long lists and tables by their beginning and sum.

    Args:
        value: What a verb printed.
        root: The folder of the tests; text that names it is a path and is left out.
    """
    if isinstance(value, dict):
        named = {
            HASH.sub("#", name.replace(root, "@")): each for name, each in value.items() if not VARIES.search(name)
        }
        few = dict(islice(named.items(), 2 * LONGEST))
        kept = {name: keep(each, root) for name, each in few.items() if _has_something(each, root)}
        return kept | ({"length": len(named), "sum": _total(value)} if len(named) > len(few) else {})
    if isinstance(value, list):
        here = [each for each in value if _has_something(each, root)]
        most = LONGEST if all(isinstance(each, int | float) for each in here) else LONGEST // 4
        if len(here) <= most:
            return [keep(each, root) for each in here]
        return {"first": [keep(each, root) for each in here[:most]], "length": len(value), "sum": _total(value)}
    return _rounded(value) if isinstance(value, float) else value


def as_text(kept: Any) -> str:
    """What is kept as JSON: a line for every list of numbers."""
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    return re.sub(r"\[\s*([-+.\deE,\s]+?)\s*\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def written_files(out: Path) -> dict[str, int | None]:
    """Every file below a folder, with the number of its lines if it is text."""
    paths = sorted(path for path in out.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {
        HASH.sub("#", path.relative_to(out).as_posix()): _lines(path) if path.suffix in TEXT else None for path in paths
    }


def tensor_sums(out: Path, pattern: str) -> dict[str, dict[str, list[float]]]:
    """Sum and sum of magnitudes of every tensor in the safetensors files of a folder that have such a name."""
    from safetensors.torch import load_file

    return {
        path.relative_to(out).as_posix(): {
            name: [_rounded(float(each.double().sum())), _rounded(float(each.double().abs().sum()))]
            for name, each in sorted(load_file(path).items())
        }
        for path in sorted(out.glob(pattern))
    }


def differences(stored: Any, found: Any, tolerance: Tolerance) -> list[str]:
    """A line for every value that is not what is stored."""
    ours, theirs = dict(_leaves(stored)), dict(_leaves(found))
    lines = [f"{name}: {value!r} is gone" for name, value in ours.items() if name not in theirs]
    lines += [f"{name}: {value!r} is new" for name, value in theirs.items() if name not in ours]
    for name in ours.keys() & theirs.keys():
        one, other = ours[name], theirs[name]
        if not (
            _is_near(one, other, tolerance) if isinstance(one, float) or isinstance(other, float) else one == other
        ):
            lines.append(f"{name}: {one!r} is now {other!r}")
    return sorted(lines)


def sum_differences(stored: Any, found: Any, relative: float) -> list[str]:
    """The same for sums of tensors: a sum may be off by a share of the tensor's magnitudes, for it can be near zero."""
    lines = differences(
        {name: list(each) for name, each in stored.items()}, {n: list(each) for n, each in found.items()}, Tolerance()
    )
    if lines:
        return lines
    for file, tensors in stored.items():
        for name, (total, magnitude) in tensors.items():
            now = found[file][name]
            if max(abs(total - now[0]), abs(magnitude - now[1])) > relative * magnitude + 1e-9:
                lines.append(f"{file}, {name}: {total}, {magnitude} is now {now[0]}, {now[1]}")
    return lines


def _has_something(value: Any, root: str) -> bool:
    """Whether a value is neither a path, a hash nor long text."""
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and root not in value and not HASH.search(value)
    return True


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")


def _total(value: Any) -> float:
    """The sum of all numbers in a value."""
    if isinstance(value, dict):
        return _rounded(sum(_total(each) for name, each in value.items() if not VARIES.search(name)))
    if isinstance(value, list):
        return _rounded(sum(map(_total, value)))
    return float(value) if isinstance(value, int | float) else 0.0


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [leaf for key, each in children for leaf in _leaves(each, f"{name}.{key}" if name else str(key))]
    return below or [(name, value)]


def _is_near(one: Any, other: Any, tolerance: Tolerance) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    return tolerance.allows(one, other)
