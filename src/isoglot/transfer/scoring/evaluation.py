"""Evaluation of a fine-tuned model in several languages, with epochs selected by three rules; and of prediction files.

The dev set of the training language is a poor guide for other languages (Keung et al. 2020), so its choice is reported
with that of the dev set of each test language (an oracle, not zero-shot) and with the mean weights of the best epochs.

::

    tuned = fine_tune(encoder, task, {"en": train}, {"en": dev})
    evaluate(tuned, task, {"de": test})["de"].scores.main

Files of any system (:func:`score_files`) are CoNLL-U, BIO columns, or texts with labels. Predictions and gold must have
the same words in the same order.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.text.formats.conll import read_conllu
from isoglot.transfer.scoring.metrics import Relations, Repair, paired, repaired, tree_score
from isoglot.transfer.scoring.significance import estimate
from isoglot.transfer.tasks.task import Data, Task, TaskScores, by_code, text_of
from isoglot.transfer.tasks.word_tasks import Entities
from isoglot.transfer.tuning.checks import check_scored

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.retrieve.metrics import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tuning.tuned_encoder import Tuned

    Edit = Callable[[str], AbstractContextManager[Any]]

SelectionRule = Literal["source dev", "oracle", "averaged"]
"""Dev set of the training language (zero-shot), dev set of the test language (not zero-shot), or mean weights of the
best epochs."""
AVERAGED = 3
"""Maximum number of averaged epochs, the best by dev score of the training language."""


@dataclass(frozen=True)
class Evaluation:
    """Test result of a language.

    >>> import numpy as np
    >>> from isoglot.transfer.tasks.task import TaskScores
    >>> scores = TaskScores(50.0, {"f1": 50.0}, np.array([[1, 2]]))
    >>> Evaluation("de", scores, examples=2, counts={"truncated": 1}, unseen={"B-MISC": 3}).events()
    {'truncated': 1, 'of the label B-MISC, which is not in training': 3}
    """

    language: str
    scores: TaskScores
    examples: int
    counts: Mapping[str, int]
    """Nonzero counts of split, truncated or empty examples and of unread words."""
    unseen: Mapping[str, int]
    """Counts of labels that are not in training; they are scored as wrong."""
    constant: str | None = None
    """The label of all predictions, if they are equal and the gold has several."""

    def events(self) -> dict[str, int]:
        """Counts of skipped examples and of labels that are not in training, in words."""
        return {
            **self.counts,
            **{f"of the label {name}, which is not in training": n for name, n in self.unseen.items()},
        }

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


@dataclass(frozen=True)
class Selected:
    """Test of one language with the weights of one selection rule."""

    language: str
    way: SelectionRule
    epochs: tuple[int, ...]
    test: Evaluation

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"way": self.way, "epochs": list(self.epochs), **self.test.facts()}


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

    Returns:
        Scores, predictions and intervals, by language.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.model import Encoder, encoder_config
    >>> from isoglot.transfer import Data, Passage, TuneConfig, find_task, fine_tune
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text("It was good. It was bad. " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    >>> encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=len(vocabulary)), vocabulary)
    >>> task = find_task("topic")
    >>> data = {"en": Data([Passage(("It was good.",), "good"), Passage(("It was bad.",), "bad")])}
    >>> tuned = fine_tune(encoder, task, data, data, TuneConfig(epochs=1))
    >>> found = evaluate(tuned, task, data)["en"]
    >>> found.examples, sorted(found.scores.values)
    (2, ['accuracy'])

    Raises:
        ConfigError: The encoder lacks a language.
        InputError: There are no examples, or a label is not in training and the task refuses it.
    """
    found = {}
    for code, some in by_code(data).items():
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


def select(tuned: Tuned, test: Mapping[str, Data[Any]], *, progress: Progress = SILENT) -> list[Selected]:
    """Test every language by each selection rule; the weights of the model are restored afterwards.

    The oracle uses the dev scores recorded in each epoch; it is missing for languages without a dev set and for
    training languages.

    Args:
        tuned: Fine-tuned model with the weights of its best epochs.
        test: Test data by language.
        progress: Reports progress.

    Raises:
        ConfigError: The encoder lacks a language.
        InputError: A test label is not in training and the task refuses it.
    """
    test = by_code(test)
    main = tuned.languages[0]
    order = sorted(tuned.history, key=lambda entry: -entry["dev"][main])
    kept = set(tuned.epochs.numbers())
    ranked = [entry["epoch"] for entry in order if entry["epoch"] in kept] or [tuned.epoch]
    noted = {entry["epoch"]: entry["dev"] for entry in tuned.history}
    others = [code for code in noted[tuned.epoch] if code in test and code not in tuned.languages]
    oracle = {code: max(ranked, key=lambda epoch: noted[epoch][code]) for code in others}
    before = tuned.weights()
    found: list[Selected] = []
    by_epoch = {
        epoch: {code: data for code, data in test.items() if epoch in (tuned.epoch, oracle.get(code))}
        for epoch in sorted({tuned.epoch, *oracle.values()})
    }
    best = ranked[:AVERAGED] if len(ranked) > 1 else []
    total = sum(len(data) for some in (*by_epoch.values(), *[test] * bool(best)) for data in some.values())
    with progress.task(f"test {tuned.task.name}", total=total, unit="examples") as work:

        def tested(some: Mapping[str, Data[Any]]) -> dict[str, Evaluation]:
            results = evaluate(tuned, tuned.task, some)
            work.advance(sum(map(len, some.values())))
            return results

        try:
            for epoch, wanted in by_epoch.items():
                tuned.load(tuned.epochs.get(epoch) if epoch in kept else before)
                for code, result in tested(wanted).items():
                    if epoch == tuned.epoch:
                        found.append(Selected(code, "source dev", (epoch,), result))
                    if epoch == oracle.get(code):
                        found.append(Selected(code, "oracle", (epoch,), result))
            if best:
                tuned.load(tuned.epochs.mean(best))
                found += [Selected(code, "averaged", tuple(best), result) for code, result in tested(test).items()]
        finally:
            tuned.load(before)
    places = {code: number for number, code in enumerate(test)}
    ways = ("source dev", "oracle", "averaged")
    return sorted(found, key=lambda one: (places[one.language], ways.index(one.way)))


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
