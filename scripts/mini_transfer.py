"""What isoglot-mini has in other languages of a task learned in English: the card's tables from ``isoglot transfer``.

A folder holds the output of ``isoglot transfer ner|parse|nli … --json`` as ``ner.json``, ``parse.json``, ``nli.json``.
Scores are means over the best settings of the grid, with intervals; of several, a setting by itself has none.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from mini_tables import table

from isoglot.core.errors import InputError
from isoglot.core.files import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

LANGUAGES = ("en", "fr", "de", "ru", "zh")
ZERO_SHOT = "source dev"
OTHER_WAYS = {"oracle": "epoch by the language's own dev (oracle)", "averaged": "best three epochs averaged"}


class Measured(NamedTuple):
    """What a task is called in the card."""

    data: str
    score: str
    chance: float = 0.0
    """What guessing gets, in %: what is left of a score is counted from there."""
    beside: tuple[str, ...] = ()
    """Other figures of the same tests."""

    @property
    def title(self) -> str:
        """Data and score."""
        return f"{self.data}, {self.score}"


MEASURED = {
    "ner": Measured("WikiAnn", "F1"),
    "parse": Measured("UD", "LAS", beside=("uas",)),
    "nli": Measured("XNLI", "accuracy", chance=100 / 3),
}


def read_tasks(folder: Path) -> dict[str, Any]:
    """The outcomes there are, by task.

    Raises:
        InputError: There is none, or a file has something else.
    """
    paths = {task: folder / f"{task}.json" for task in MEASURED}
    found = {task: read_json(path) for task, path in paths.items() if path.exists()}
    remedy = "give a folder with what `isoglot transfer ner|parse|nli … --json` wrote"
    if not found:
        raise InputError("there is no ner.json, parse.json or nli.json", remedy=remedy, file=folder)
    for task, outcome in found.items():
        if not isinstance(outcome, dict) or outcome.get("task") != task:
            raise InputError(f"this is not the outcome of {task}", remedy=remedy, file=paths[task])
    return found


def transfer_tables(outcomes: Mapping[str, Any]) -> dict[str, str]:
    """The scores with intervals; settings and ways to choose by themselves; how much of English's is left."""
    head = ["%", *LANGUAGES]
    rows = [
        [row for task, outcome in outcomes.items() for row in of(task, outcome)] for of in (_scores, _choices, _left)
    ]
    return {
        "transfer": f"{table(head, rows[0])}\n\n{_notes(outcomes)}",
        "transfer-choices": table(head, rows[1]),
        "transfer-left": table(["% of English's", *LANGUAGES[1:]], rows[2]),
    }


def _scores(task: str, outcome: Mapping[str, Any]) -> Iterator[list[str]]:
    lines = _by_language(outcome["scores"])
    yield [MEASURED[task].title, *(f"{line['score']:.1f} [{line['low']:.1f}, {line['high']:.1f}]" for line in lines)]
    for name in MEASURED[task].beside:
        values = [[test[name] for test in _by_language(trial["tests"])] for trial in _chosen(outcome)]
        yield [f"{MEASURED[task].data}, {name.upper()}", *(f"{fmean(each):.1f}" for each in zip(*values, strict=True))]


def _choices(task: str, outcome: Mapping[str, Any]) -> Iterator[list[str]]:
    title = MEASURED[task].title
    for trial in outcome["trials"]:
        tests = _by_language(trial["tests"]) if trial["chosen"] else [{}] * len(LANGUAGES)
        name = f"{title}: `{trial['setting']}`, English dev {trial['dev']:.1f}"
        yield [name, *(f"{test[outcome['metric']]:.1f}" if test else "–" for test in tests)]
    mean = "mean, " if len(_chosen(outcome)) > 1 else ""
    for way, words in OTHER_WAYS.items():
        lines = _by_language(outcome["scores"], way)
        yield [f"{title}: {mean}{words}", *(f"{line['score']:.1f}" if line else "–" for line in lines)]


def _left(task: str, outcome: Mapping[str, Any]) -> Iterator[list[str]]:
    """Of one task: rows of the mean and of each setting, the shares of English's score that other languages have."""
    chance = MEASURED[task].chance
    title = f"{MEASURED[task].title}{' above chance' if chance else ''}"
    found = [(title, [line["score"] for line in _by_language(outcome["scores"])])]
    if len(_chosen(outcome)) > 1:
        found = [(f"{title}: mean", found[0][1])]
        for trial in _chosen(outcome):
            values = [test[outcome["metric"]] for test in _by_language(trial["tests"])]
            found.append((f"{title}: `{trial['setting']}`", values))
    for name, (english, *others) in found:
        shares = ((value - chance) / (english - chance) for value in others)
        yield [name, *(f"{100 * share:.0f}" for share in shares)]


def _notes(outcomes: Mapping[str, Any]) -> str:
    """What the scores are of, and what was done to labels that they are scored on."""
    settings = {f"`{trial['setting']}`": None for outcome in outcomes.values() for trial in _chosen(outcome)}
    seeds = {trial["seed"] for outcome in outcomes.values() for trial in outcome["trials"]}
    sizes, told = [], []
    for task, outcome in outcomes.items():
        data, chance = MEASURED[task].data, MEASURED[task].chance
        best = max(_chosen(outcome), key=lambda trial: trial["dev"])
        tests = dict(zip(LANGUAGES, _by_language(best["tests"]), strict=True))
        counts = {code: f"{test['examples']:,}" for code, test in tests.items()}
        same = len(set(counts.values())) == 1
        of_each = f"{counts['en']} of each" if same else ", ".join(f"{code} {count}" for code, count in counts.items())
        sizes.append(f"{data} {of_each}")
        told += [f" Guessing gets {chance:.1f} on {data}."] if chance else []
        for code, test in tests.items():
            # Where labels were moved to tokens, or there are labels that cannot be found, the score has to do with it.
            moved = test["counts"] if "joined" in test["counts"] else {}
            happened = [f"{count:,} {name}" for name, count in moved.items()]
            happened += [f"{count:,} of `{label}`, which English has not" for label, count in test["unseen"].items()]
            if happened:
                told.append(f" {data} {code}: {', '.join(happened)}.")
    trained = "one seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    of = f"Means of {' and '.join(settings)}" if len(settings) > 1 else f"With {min(settings)}, the best on English dev"
    of = f"{of}, {trained}; in brackets the 95 % interval over test sentences."
    return f"{of} Test sentences: {'; '.join(sizes)}.{''.join(told)}"


def _chosen(outcome: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The trials that the scores are means of."""
    return [trial for trial in outcome["trials"] if trial["chosen"]]


def _by_language(found: Sequence[Mapping[str, Any]], way: str = ZERO_SHOT) -> list[Mapping[str, Any]]:
    """What one way to choose an epoch has for each language; empty where it has nothing."""
    by = {each["language"]: each for each in found if each["way"] == way}
    return [by.get(code, {}) for code in LANGUAGES]
