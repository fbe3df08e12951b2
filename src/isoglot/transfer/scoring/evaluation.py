"""Evaluation of a fine-tuned model in several languages.

::

    tuned = fine_tune(encoder, task, {"en": train}, {"en": dev})
    evaluate(tuned, task, {"de": test})["de"].scores.main
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.transfer.tuning.checks import check_scored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tasks.examples import Data
    from isoglot.transfer.tasks.task import Task, TaskScores
    from isoglot.transfer.tuning.tuned_encoder import Tuned

    Edit = Callable[[str], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Evaluation:
    """Test result of a language."""

    language: str
    scores: TaskScores
    examples: int
    counts: Mapping[str, int]
    """Nonzero counts of split, truncated or empty examples and of unread words."""
    unseen: Mapping[str, int]
    """Counts of labels that are not in training; they are scored as wrong."""
    constant: str | None = None
    """The label of all predictions, if they are equal and the gold has several."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "language": self.language,
            **{name: round(value, 4) for name, value in self.scores.values.items()},
            "examples": self.examples,
            "counts": dict(self.counts),
            "unseen": dict(self.unseen),
            "constant": self.constant,
        }


def evaluate(
    tuned: Tuned,
    task: Task[Any],
    data: Mapping[str, Data[Any]],
    *,
    encoders: Mapping[str, EncoderLike] | None = None,
    edit: Edit | None = None,
    progress: Progress = SILENT,
) -> dict[str, Evaluation]:
    """Score a fine-tuned model on examples of several languages.

    Private parts of the encoder are those of the language of the examples.

    Args:
        tuned: The fine-tuned model.
        task: The task it was trained on, or one with the same labels and another score.
        data: Examples by language.
        encoders: Other encoders for some languages, mapped into the space of this one.
        edit: Returns a context manager for a language in which its examples are read, such as
            ``encoder.edited(6, shift)``.
        progress: Reports progress.

    Raises:
        ConfigError: The encoder lacks a language.
        InputError: There are no examples, or a label is not in training and the task refuses it.
    """
    found = {}
    for name, some in data.items():
        code = language_code(name)
        through = (encoders or {}).get(code, tuned.encoder)
        check_scored(through, {code: some}, tuned.config.max_length)
        unseen = task.unseen_labels(some, tuned.labels, tuned.config.unseen_labels)
        with edit(code) if edit is not None else nullcontext():
            predicted, rows = tuned.predict(some.examples, code, encoder=through, progress=progress)
        counts = {what: count for what, count in rows.counts.items() if count}
        constant = task.constant_label(some.examples, predicted)
        scores = task.score(some.examples, predicted)
        found[code] = Evaluation(code, scores, len(some), counts, dict(unseen), constant)
    return found
