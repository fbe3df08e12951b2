"""Score a file of predictions against a gold file: CoNLL-U, BIO columns, or texts with labels.

The predictions may come from any system. Both files must have the same words in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError, shown
from isoglot.text.formats.conllu import read_conllu
from isoglot.transfer.scoring.attachment import Relations, tree_score
from isoglot.transfer.scoring.significance import estimate
from isoglot.transfer.tasks.examples import Passage, text_of
from isoglot.transfer.tasks.parsing import scores_of

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.retrieve.metrics import Interval
    from isoglot.transfer.tasks.task import Scores, Task


@dataclass(frozen=True)
class FileScore:
    """Scores of a file of predictions."""

    metric: str
    """Name of the main score."""
    scores: Scores
    interval: Interval
    """Bootstrap interval of the main score over sentences."""
    sentences: int

    def facts(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "metric": self.metric,
            "score": round(self.scores.main, 4),
            "low": round(self.interval.low, 4),
            "high": round(self.interval.high, 4),
            "sentences": self.sentences,
            "values": {name: round(value, 4) for name, value in self.scores.values.items()},
        }


def score_files(
    task: Task[Any], gold: str | Path, predicted: str | Path, language: str, *, relations: Relations = "universal"
) -> FileScore:
    """Score predictions against gold.

    Args:
        task: What was predicted; says how both files are read and scored.
        gold: The file with the correct labels.
        predicted: The file with the predicted ones.
        language: Language of both.
        relations: For parsing: whether subtypes of relations (``nsubj:pass``) count.

    Raises:
        InputError: A file is malformed, empty, or the two do not have the same words.
        StorageError: A file cannot be read.
    """
    if task.kind == "parsing":
        try:
            found = tree_score(read_conllu(gold), read_conllu(predicted), relations=relations)
        except InputError as error:
            error.file = error.file or str(predicted)
            raise
        scores, sentences = scores_of(found), len(found.counts_N6)
    else:
        expected, given = task.read(gold, language), task.read(predicted, language)
        for number, (one, other) in enumerate(zip_longest(expected.examples, given.examples), start=1):
            if one is None or other is None or text_of(one) != text_of(other):
                raise _different(number, one, other, gold, predicted)
        scores, sentences = task.score(expected.examples, given.examples), len(expected)
    if not sentences:
        raise InputError("there are no sentences to score", remedy="give a file that is not empty", file=gold)
    return FileScore(task.metric, scores, estimate(scores.ratio_S2).over_sentences, sentences)


def _different(number: int, one: Any, other: Any, gold: str | Path, predicted: str | Path) -> InputError:  # noqa: ANN401 - an example of any kind, or None
    if one is None or other is None:
        short = gold if one is None else predicted
        return InputError(
            f"the file ends before sentence {number:,}", remedy="give the same sentences in both files", file=short
        )
    pairs = zip_longest(text_of(one), text_of(other))
    place, (mine, yours) = next((at, pair) for at, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
    found, wanted = (shown(part) if part is not None else "nothing" for part in (yours, mine))
    what = "text" if isinstance(one, Passage) else "word"
    return InputError(
        f"sentence {number:,}, {what} {place}: {found} where the gold has {wanted}",
        remedy="predict labels for what the gold file has",
        file=predicted,
    )
