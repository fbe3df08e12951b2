"""What is kept of a verb's output, and how it is compared with what is stored.

>>> kept = keep({"p_at_1": 0.5, "seconds": 3.2, "hash": "0f" * 32, "losses": [1.0] * 30})
>>> kept["losses"]["length"], kept["losses"]["sums"][:2], sorted(kept)
(30, [3.0, 3.0], ['losses', 'p_at_1'])
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
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file

LONGEST = 20
"""Numbers of a list that are kept; the others are in sums."""
FEW = 5
"""Values of a list that are kept if they are no numbers."""
LONGEST_TEXT = 60
VARIES = re.compile(r"(^|_)(seconds|per_second|elapsed|time|date|versions?|sha256|hash|hashes|command)(_|$)")
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


ROUGH = Tolerance(absolute=0.15)


def keep(value: Any, root: str = "\0") -> Any:
    """Numbers and short text of a JSON value, without what varies; long lists by their beginning and sums.

    Args:
        value: What a verb printed.
        root: The folder of the tests, which is written ``@``.
    """
    if isinstance(value, dict):
        named = {_masked(name, root): each for name, each in value.items() if not VARIES.search(name)}
        kept = {name: keep(each, root) for name, each in named.items() if not _is_left_out(each, root)}
        return kept if len(kept) <= 2 * LONGEST else keep([{"name": name, "value": kept[name]} for name in kept])
    if isinstance(value, list):
        return _kept_list([each for each in value if not _is_left_out(each, root)], root)
    if isinstance(value, str):
        return _masked(value, root)
    return _rounded(value) if isinstance(value, float) else value


def _kept_list(values: list[Any], root: str) -> Any:
    """A list as it is if it is short; rows as columns; of a column of numbers the first, and sums of its tenths."""
    numbers = [each for each in values if isinstance(each, int | float)]
    if len(values) <= (LONGEST if len(numbers) == len(values) else FEW):
        return [keep(each, root) for each in values]
    if all(isinstance(each, dict) for each in values):
        fields = dict.fromkeys(field for row in values for field in row if not VARIES.search(field))
        columns = {field: [row[field] for row in values if field in row] for field in fields}
        return {"length": len(values), "columns": {field: keep(each, root) for field, each in columns.items()}}
    if all(isinstance(each, list) for each in values):
        return {"length": len(values), "items": keep([each for row in values for each in row], root)}
    found: dict[str, Any] = {"length": len(values)}
    if texts := [each for each in values if isinstance(each, str)]:
        found["texts"] = [keep(each, root) for each in texts[:FEW]]
    if numbers:
        parts = [numbers[len(numbers) * tenth // 10 : len(numbers) * (tenth + 1) // 10] for tenth in range(10)]
        found |= {"first": keep(numbers[:LONGEST], root), "sums": [keep(sum(part), root) for part in parts]}
    return found


def as_text(kept: Any) -> str:
    """What is kept as JSON: a line for every list or object with nothing but values in it."""
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    inner = r"\n *([^\[\]{}]+?)\n *"
    return re.sub(rf"\[{inner}\]|{{{inner}}}", lambda found: re.sub(r"\n *", " ", found[0]), text) + "\n"


def written_files(out: Path) -> dict[str, int | None]:
    """Every file below a folder, with the number of its lines if it is text."""
    paths = sorted(path for path in out.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {
        HASH.sub("#", path.relative_to(out).as_posix()): _lines(path) if path.suffix in TEXT else None for path in paths
    }


def tensor_sums(out: Path, pattern: str) -> dict[str, dict[str, list[float]]]:
    """Sum and sum of magnitudes of every tensor in the .safetensors and .vec files of a folder that have such a name."""
    return {
        path.relative_to(out).as_posix(): {
            name: [_rounded(float(each.sum())), _rounded(float(np.abs(each).sum()))]
            for name, each in sorted(_tensors(path).items())
        }
        for path in sorted(out.glob(pattern))
    }


def differences(stored: Any, found: Any, tolerance: Tolerance, rough: tuple[str, ...] = ()) -> list[str]:
    """A line for every value that is not what is stored.

    Args:
        stored: The values that are stored.
        found: The values of now.
        tolerance: How far floats may be off.
        rough: Names of which, or below which, they may be off by 0.15.
    """
    ours, theirs = dict(_leaves(stored)), dict(_leaves(found))
    lines = [f"{name}: {value!r} is gone" for name, value in ours.items() if name not in theirs]
    lines += [f"{name}: {value!r} is new" for name, value in theirs.items() if name not in ours]
    for name in ours.keys() & theirs.keys():
        one, other = ours[name], theirs[name]
        allowed = ROUGH if set(name.split(".")) & set(rough) else tolerance
        if not (_is_near(one, other, allowed) if isinstance(one, float) or isinstance(other, float) else one == other):
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
            if max(abs(total - now[0]), abs(magnitude - now[1])) > relative * max(magnitude, 1.0):
                lines.append(f"{file}, {name}: {total}, {magnitude} is now {now[0]}, {now[1]}")
    return lines


def _masked(text: str, root: str) -> str:
    return HASH.sub("#", text.replace(root, "@"))


def _is_left_out(value: Any, root: str) -> bool:
    """Whether a value is a hash or long text."""
    return isinstance(value, str) and (len(_masked(value, root)) > LONGEST_TEXT or _masked(value, root) == "#")


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")


def _tensors(path: Path) -> dict[str, np.ndarray]:
    if path.suffix == ".vec":
        rows = [line.split()[1:] for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        return {"vectors": np.array(rows, dtype=np.float64)}
    return {name: each.double().numpy() for name, each in load_file(path).items()}


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
