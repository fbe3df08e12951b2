"""Two hundred meanings, ten for each of twenty constructions, and what each language makes of them.

``meanings.jsonl`` holds the meanings, ``en.txt`` and the others one sentence a line. After a change that is meant:
``python tests/languages/golden.py sentences`` renders them anew (look at the difference!), and
``python tests/languages/golden.py meanings`` draws new meanings.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.languages import corpus, meaning
from isoglot.languages.meaning import Asked, Both, Clause, Meaning, Pronoun, Thing, Wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).parent / "golden"


def simple(m: Meaning) -> bool:
    return m.other is None and not m.question and m.main.complement is None


def phrases(clause: Clause) -> list[Any]:
    roles = (clause.agent, clause.patient, clause.recipient, clause.instrument, clause.goal, clause.place)
    return [phrase for phrase in roles if phrase is not None]


def things(clause: Clause) -> list[Thing]:
    return [phrase for phrase in phrases(clause) if isinstance(phrase, Thing)]


def plain(m: Meaning) -> bool:
    c = m.main
    return simple(m) and c.kind == "action" and not c.negative and not any(t.relative for t in things(c))


CONSTRUCTIONS: dict[str, Callable[[Meaning, Wording], bool]] = {
    "someone does something": lambda m, w: plain(m) and len(phrases(m.main)) == 1,
    "to something": lambda m, w: plain(m) and isinstance(m.main.patient, Thing) and m.main.patient.definite,
    "to some thing or stuff": lambda m, w: (
        plain(m) and isinstance(m.main.patient, Thing) and not m.main.patient.definite and not m.main.patient.plural
    ),
    "several, and numbers": lambda m, w: plain(m) and any(t.count for t in things(m.main)),
    "described things": lambda m, w: plain(m) and any(t.adjective for t in things(m.main)),
    "to someone": lambda m, w: plain(m) and m.main.recipient is not None,
    "somewhere to": lambda m, w: plain(m) and m.main.goal is not None,
    "somewhere": lambda m, w: plain(m) and m.main.place is not None,
    "with something": lambda m, w: plain(m) and m.main.instrument is not None,
    "when, how often, how": lambda m, w: (
        plain(m) and bool(m.main.time or m.main.frequency) + bool(m.main.manner) + w.time_first >= 2
    ),
    "is such": lambda m, w: simple(m) and m.main.kind == "property",
    "is one": lambda m, w: simple(m) and m.main.kind == "class",
    "is there": lambda m, w: simple(m) and m.main.kind == "location",
    "not": lambda m, w: simple(m) and m.main.negative,
    "pronouns": lambda m, w: plain(m) and any(isinstance(p, Pronoun) for p in phrases(m.main)),
    "two joined": lambda m, w: plain(m) and any(isinstance(p, Both) for p in phrases(m.main)),
    "is it so?": lambda m, w: m.question and not any(isinstance(p, Asked) for p in phrases(m.main)),
    "who, what, where?": lambda m, w: m.question and any(isinstance(p, Asked) for p in phrases(m.main)),
    "that does, that is done to": lambda m, w: simple(m) and any(t.relative for t in things(m.main)),
    "two clauses": lambda m, w: m.other is not None or m.main.complement is not None,
}


def draw() -> Iterator[tuple[str, Meaning, Wording]]:
    """Ten meanings for each construction, with as many predicates as there are."""
    for index, (name, fits) in enumerate(CONSTRUCTIONS.items()):
        fitting = list(islice(((m, w) for m, w in corpus.meanings(seed=200 + index) if fits(m, w)), 150))
        seen: set[tuple[str, str | None]] = set()
        first: list[tuple[str, Meaning, Wording]] = []
        rest: list[tuple[str, Meaning, Wording]] = []
        for m, w in fitting:
            key = (m.main.predicate, m.link)
            (rest if key in seen else first).append((name, m, w))
            seen.add(key)
        yield from (first + rest)[:10]


def to_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        default = {f.name: f.default for f in dataclasses.fields(value)}
        kept = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {"": type(value).__name__} | {k: to_json(v) for k, v in kept.items() if v != default[k]}
    return value


def from_json(value: Any) -> Any:
    if isinstance(value, dict):
        kind = getattr(meaning, value[""])
        return kind(**{k: from_json(v) for k, v in value.items() if k})
    return value


def load() -> list[tuple[str, Meaning, Wording]]:
    lines = (FOLDER / "meanings.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(name, from_json(m), from_json(w)) for name, m, w in rows]


def sentences(language: str) -> list[str]:
    return (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if sys.argv[1:] == ["meanings"]:
        drawn = [json.dumps([name, to_json(m), to_json(w)], ensure_ascii=False) for name, m, w in draw()]
        (FOLDER / "meanings.jsonl").write_text("\n".join(drawn) + "\n", encoding="utf-8")
    for code in corpus.LANGUAGES:
        made = corpus.grammar(code)
        lines = [made.render(m, w).text for _, m, w in load()]
        (FOLDER / f"{code}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
