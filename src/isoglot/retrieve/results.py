"""Result of a retrieval, and its files: ``metrics.json``, ``metrics.csv`` and ``pairs.tsv``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from isoglot.core.errors import one_line
from isoglot.core.files import write_json, write_text
from isoglot.core.table import Table
from isoglot.retrieve.methods import Direction
from isoglot.retrieve.metrics import in_words
from isoglot.text.formats.lines import line_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.retrieve.evaluation import MethodScores
    from isoglot.retrieve.layer_scores import LayerScores, PairScores, VectorSet

Which = Literal["best", "all", "none"]
"""Which predictions are written: those of the best layer and method of each language pair, all, or none."""

_PAIR_COLUMNS = (
    "source", "target", "layer", "center", "method", "source_line", "source_text", "predicted_line", "predicted_text",
    "score", "rank", "right",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Retrieval:
    """Result of a retrieval: scores of each language pair, facts about the data, and remarks for the reader.

    >>> import tempfile
    >>> import numpy as np
    >>> from isoglot.retrieve import retrieve_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rows.npy"
    ...     np.save(file, np.eye(8))
    ...     found = retrieve_rows(file, file)
    ...     [path.name for path in found.save(folder)]
    ['metrics.json', 'metrics.csv', 'pairs.tsv']
    """

    kind: Literal["sentences", "words"]
    """What was retrieved."""
    pairs: tuple[PairScores, ...]
    """Scores of each language pair."""
    facts: dict[str, Any]
    """Facts about model and data, as JSON values."""
    remarks: tuple[str, ...] = ()
    """What else the reader should know."""

    @property
    def has_layers(self) -> bool:
        """Whether every pair has more than one layer."""
        return all(pair.has_layers for pair in self.pairs)

    def as_dict(self) -> dict[str, Any]:
        """Scores and facts as JSON."""
        head = {"kind": self.kind, **self.facts, "seed": self.pairs[0].config.seed}
        return head | {"pairs": [pair.as_dict() for pair in self.pairs]}

    def save(self, folder: str | Path, predictions: Which = "best") -> list[Path]:
        """Write ``metrics.json``, ``metrics.csv`` and ``pairs.tsv`` to an existing folder; returns the files.

        Args:
            folder: The folder.
            predictions: Which predictions go to ``pairs.tsv``.

        Raises:
            StorageError: A file cannot be written.
        """
        files = [Path(folder) / name for name in ("metrics.json", "metrics.csv", "pairs.tsv")]
        write_json(files[0], self.as_dict())
        write_text(files[1], metrics_csv(self.pairs))
        if predictions == "none":
            return files[:2]
        write_pairs(files[2], self.pairs, predictions)
        return files


def spelling(pair: PairScores) -> str:
    """P@1 where it is best, of all words and of those spelled differently from their translations, as text."""
    best = pair.best
    scores = [pair.of(best.layer, best.center).of(best.method, way) for way in get_args(Direction)]
    others = [each.other_spelling for each in scores if each.other_spelling is not None]
    found = [other.precision.value for other in others if other.precision is not None]
    other = sum(found) / len(found) if found else None
    counts = sum(each.queries for each in scores), sum(each.queries for each in others)
    said = in_words(best.value, counts[0], other, counts[1])
    return f"all entries / spelled differently, words of both sides: {said}"


def metrics_csv(pairs: Sequence[PairScores]) -> str:
    """One line per pair, layer, centering, method and direction; ``source`` is the query side."""
    return Table.from_rows(
        _csv_row(pair, each, scores) for pair in pairs for each in pair.layers for scores in each.scores.methods
    ).csv()


def _csv_row(pair: PairScores, each: LayerScores, scores: MethodScores) -> dict[str, Any]:
    asked, looked = pair.sides(scores)
    row: dict[str, Any] = {} if pair.model is None else {"model": pair.model}
    row |= {"source": asked.name, "target": looked.name, "layer": each.layer, "center": each.center}
    return row | scores.as_dict()


def write_pairs(path: str | Path, pairs: Sequence[PairScores], which: Which = "best") -> int:
    """Write the best answer to every query, tab-separated; returns the number of lines.

    Raises:
        StorageError: The file cannot be written.
    """
    with line_writer(path) as writer:
        writer.write_cells(*_PAIR_COLUMNS)
        for pair in pairs:
            best = pair.best
            for each in pair.layers:
                for scores in each.scores.methods:
                    if which == "all" or (each.layer, each.center, scores.method) == best[:3]:
                        for cells in _predictions(pair, each, scores):
                            writer.write_cells(*cells)
    return writer.lines


def _predictions(pair: PairScores, each: LayerScores, scores: MethodScores) -> Iterator[list[str]]:
    asked, looked = pair.sides(scores)
    layer = "" if each.layer is None else str(each.layer)
    head = [asked.name, looked.name, layer, each.center, scores.method]
    for query, found, score, rank in zip(
        scores.queries_Q.tolist(),
        scores.found_QK[:, 0].tolist(),
        scores.scores_QK[:, 0].tolist(),
        scores.ranks_Q.tolist(),
        strict=True,
    ):
        right = "yes" if rank == 1 else "no"
        yield [*head, *_item(asked, query), *_item(looked, found), f"{score:.6f}", str(rank), right]


def _item(side: VectorSet, row: int) -> list[str]:
    number = row + 1 if side.numbers is None else side.numbers[row]
    return [str(number), "" if side.items is None else one_line(side.items[row])]
