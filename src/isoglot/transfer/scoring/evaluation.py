"""How well a task learned in one language is done in others.

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
    """What a language's test came to."""

    language: str
    scores: TaskScores
    examples: int
    counts: Mapping[str, int]
    """Examples that were split, truncated or empty, and words that were not read: what was not 0."""
    unseen: Mapping[str, int]
    """Labels that training did not have, and how often; they are scored as wrong."""
    constant: str | None = None
    """The label of every prediction, where all have the same and the gold has several."""

    def facts(self) -> dict[str, Any]:
        """As JSON holds it."""
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

    The private parts that an encoder has for a language are used for that language's examples.

    Args:
        tuned: What was learned.
        task: How it is scored; the one that was learned, or one with the same labels and another score.
        data: The examples of each language.
        encoders: For some languages, another encoder to read them with: one mapped into this one's space.
        edit: Given a language, a block inside which its examples are read, such as ``encoder.edited(6, shift)``.
        progress: Shows how far it is.

    Raises:
        ConfigError: The encoder does not have a language.
        InputError: There are no examples, or a label that training does not have and the task refuses.
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
