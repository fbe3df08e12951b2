"""Score a file of predictions against a gold file: CoNLL-U, BIO columns, or texts with labels.

The predictions may come from any system. Both files must have the same words in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.progress import counted
from isoglot.text.formats.conllu import read_conllu
from isoglot.transfer.scoring.attachment import Relations, paired, tree_score
from isoglot.transfer.scoring.significance import estimate
from isoglot.transfer.scoring.spans import Repair, repaired
from isoglot.transfer.tasks.task import Task, TaskScores, text_of
from isoglot.transfer.tasks.word_tasks import Entities

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.retrieve.metrics import Interval


@dataclass(frozen=True)
class FileScore:
    """Scores of a file of predictions."""

    metric: str
    """Name of the main score."""
    scores: TaskScores
    interval: Interval
    """Bootstrap interval of the main score over sentences."""
    sentences: int
    repair: Repair | None = None
    """Repair of predicted BIO tags before scoring; None for other tasks."""
    malformed: int = 0
    """Number of predicted sentences with invalid BIO tags, or whose heads are not a tree with a single root."""

    @property
    def remark(self) -> str | None:
        """Remark about the predictions for the reader of the scores, if any."""
        if self.repair == "wu2020":
            return f"Tags repaired by the rule of Wu et al. (2020): {self._share} had invalid BIO tags"
        if self.repair == "none":
            note = f"{self._share} have invalid BIO tags; repair=wu2020 repairs them" if self.malformed else ""
            return f"Tags scored as they are, as by conlleval{note and f': {note}'}"
        if self.malformed:
            return f"The heads of {self._share} are not a tree with one root; words are scored independently"
        return None

    @property
    def _share(self) -> str:
        return f"{self.malformed:,} of {counted(self.sentences, 'predicted sentences')}"

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "metric": self.metric,
            "score": round(self.scores.main, 4),
            "low": round(self.interval.low, 4),
            "high": round(self.interval.high, 4),
            "sentences": self.sentences,
            "values": {name: round(value, 4) for name, value in self.scores.values.items()},
            "repair": self.repair,
            "malformed": self.malformed,
        }


def score_files(
    task: Task[Any],
    gold: str | Path,
    predicted: str | Path,
    language: str,
    *,
    relations: Relations = "universal",
    repair: Repair = "none",
) -> FileScore:
    """Score predictions against gold.

    Args:
        task: The task, which reads and scores both files.
        gold: File with the correct labels.
        predicted: File with the predicted labels.
        language: Language of both files.
        relations: For parsing: whether subtypes of relations (``nsubj:pass``) count.
        repair: For entities: whether invalid BIO tags are repaired.

    Raises:
        ConfigError: Tags of a task without entities are to be repaired.
        InputError: A file is malformed or empty, or the words differ.
        StorageError: A file cannot be read.
    """
    entities = isinstance(task, Entities)
    if repair != "none" and not entities:
        problem = f"repair={repair} applies to ner, not to {shown(task.name)}"
        raise ConfigError(problem, "remove it", "conflicting-options")
    malformed = 0
    try:
        if task.kind == "parsing":
            found = tree_score(read_conllu(gold), read_conllu(predicted, heads="any"), relations=relations)
            scores, sentences, malformed = found.scores, len(found.counts_N6), found.no_tree
        else:
            pairs = list(paired(task.read(gold, language).examples, task.read(predicted, language).examples, text_of))
            examples = [other for _, other in pairs]
            if entities:
                proper = [replace(one, tags=tuple(repaired(one.tags))) for one in examples]
                malformed = sum(one != other for one, other in zip(examples, proper, strict=True))
                examples = proper if repair == "wu2020" else examples
            scores, sentences = task.score([one for one, _ in pairs], examples), len(pairs)
    except InputError as error:
        error.file = error.file or str(predicted)
        raise
    if not sentences:
        raise InputError("there are no sentences to score", "give a file that is not empty", "empty", file=gold)
    interval = estimate(scores.ratio_S2).over_sentences
    return FileScore(task.metric, scores, interval, sentences, repair if entities else None, malformed)
