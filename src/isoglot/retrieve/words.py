"""Word translation from files: two tables of vectors and a dictionary in, figures and predicted pairs out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT
from isoglot.retrieve.gold import Gold
from isoglot.retrieve.leaks import refuse_leak
from isoglot.retrieve.methods import NEIGHBOURHOOD, SHARPNESS, Method
from isoglot.retrieve.scores import ALL, Candidates, MethodScores, RetrievalScores, score_retrieval
from isoglot.retrieve.spelling import spelt_alike
from isoglot.text.dictionary import Entry, read_dictionary
from isoglot.text.lines import line_writer
from isoglot.text.vectors import Vectors, read_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    import numpy as np
    import torch

    from isoglot.core.progress import Progress


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dictionary has vectors: entries with both words, and words of either side in such an entry."""

    entries: int
    entries_found: int
    sources: int
    sources_found: int
    targets: int
    targets_found: int

    def __str__(self) -> str:
        return (
            f"{self.entries_found:,} of {self.entries:,} entries have both words "
            f"({self.sources_found:,} of {self.sources:,} source words)"
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """The best answer for a word, its score, and the rank of the best right one."""

    source: str
    target: str
    score: float
    rank: int


@dataclass(frozen=True)
class WordScores:
    """The figures of a dictionary, how much of it was found, and the predictions of each method, forward."""

    scores: RetrievalScores
    coverage: Coverage
    predictions: dict[Method, list[Prediction]] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The figures alone, for JSON."""
        return {"coverage": asdict(self.coverage)} | self.scores.as_dict()


def match_dictionary(
    entries: Iterable[Entry], source_words: Sequence[str], target_words: Sequence[str]
) -> tuple[Gold, Coverage]:
    """The entries whose two words are there, as pairs of rows, and how many those are.

    >>> gold, coverage = match_dictionary([Entry("dog", "chien"), Entry("cat", "chat")], ["cat"], ["chien", "chat"])
    >>> gold.pairs_P2.tolist(), coverage.entries_found, coverage.entries
    ([[0, 1]], 1, 2)

    Raises:
        InputError: The dictionary is empty, or no entry has both words.
    """
    pairs = list(dict.fromkeys((entry.source, entry.target) for entry in entries))
    if not pairs:
        raise InputError("the dictionary has no entries", remedy="write source, a blank, target a line")
    source_row, target_row = ({word: row for row, word in enumerate(words)} for words in (source_words, target_words))
    rows = [(source_row[a], target_row[b]) for a, b in pairs if a in source_row and b in target_row]
    sources, targets = ({pair[side] for pair in pairs} for side in (0, 1))
    if not rows:
        known = (sum(word in rows for word in words) for words, rows in ((sources, source_row), (targets, target_row)))
        counts = " and ".join(
            f"{count} of {len(words)} {side} words"
            for count, words, side in zip(known, (sources, targets), ("source", "target"), strict=True)
        )
        raise InputError(
            f"no entry of the dictionary has both words: {counts} have vectors", remedy="check the two languages"
        )
    gold = Gold.from_pairs(rows)
    return gold, Coverage(len(pairs), len(gold), len(sources), len(gold.sources), len(targets), len(gold.targets))


def retrieve_words(
    source: str | Path | Vectors,
    target: str | Path | Vectors,
    dictionary: str | Path,
    methods: Sequence[Method] = ALL,
    *,
    candidates: Candidates = "gold",
    limit: int | None = None,
    mapping: Callable[[np.ndarray], np.ndarray] | None = None,
    seen: Collection[str] = (),
    neighbourhood: int = NEIGHBOURHOOD,
    sharpness: float = SHARPNESS,
    resamples: int = 1000,
    seed: int = 0,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> WordScores:
    """Score two files of vectors by a dictionary.

    Args:
        source: The ``.vec`` file of the dictionary's first language, or its vectors.
        target: That of the second.
        dictionary: The dictionary, MUSE or weighted; a word may have several translations, and words several sources.
        methods: How neighbours are chosen.
        candidates: ``gold``: only words of the dictionary. ``all``: every word that has a vector, as in MUSE.
        limit: Only the first so many words of a file.
        mapping: Takes the source vectors into the target space.
        seen: Source words that training knew the translation of; scoring on them is refused.
        neighbourhood: For CSLS and margins.
        sharpness: For the inverted softmax.
        resamples: For the intervals.
        seed: For the intervals.
        device: Where to compute.
        progress: Shows rows done.

    Raises:
        InputError: Nothing of the dictionary was found, training has seen its words, or the vectors do not fit.
        StorageError: A file cannot be read.
    """
    tables = [table if isinstance(table, Vectors) else read_vectors(table, limit=limit) for table in (source, target)]
    entries = list(read_dictionary(dictionary))
    refuse_leak(entries, seen, dictionary, remedy="score on others, or allow the leak")
    try:
        gold, coverage = match_dictionary(entries, tables[0].words, tables[1].words)
    except InputError as error:
        raise InputError(error.problem, remedy=error.remedy, file=dictionary) from None
    X, Y = tables[0].matrix_ND, tables[1].matrix_ND
    scores = score_retrieval(
        X if mapping is None else mapping(X),
        Y,
        gold,
        methods,
        candidates=candidates,
        alike=spelt_alike(gold, tables[0].words, tables[1].words),
        neighbourhood=neighbourhood,
        sharpness=sharpness,
        resamples=resamples,
        seed=seed,
        device=device,
        progress=progress,
    )
    forward = {each.method: each for each in scores.methods if each.direction == "forward"}
    predictions = {method: _predictions(each, *tables) for method, each in forward.items()}
    return WordScores(scores, coverage, predictions)


def _predictions(scores: MethodScores, source: Vectors, target: Vectors) -> list[Prediction]:
    found = zip(scores.queries_Q, scores.found_QK[:, 0], scores.scores_QK[:, 0], scores.ranks_Q, strict=True)
    return [
        Prediction(source.words[query], target.words[best], float(score), int(rank))
        for query, best, score, rank in found
    ]


def write_predictions(path: str | Path, predictions: Iterable[Prediction]) -> int:
    """Write source, best answer, its score and the rank of the right one with tabs between; returns how many lines.

    Raises:
        StorageError: The file cannot be written.
    """
    with line_writer(path) as writer:
        for each in predictions:
            writer.write_cells(each.source, each.target, f"{each.score:.6f}", str(each.rank))
    return writer.lines
