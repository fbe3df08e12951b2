"""Result files of a retrieval: ``metrics.json``, ``metrics.csv`` and ``pairs.tsv``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import one_line
from isoglot.core.files import write_json, write_text
from isoglot.core.table import Table
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


def write_results(folder: str | Path, pairs: Sequence[PairScores], facts: dict[str, Any], which: Which) -> list[Path]:
    """Write the result files; returns their paths.

    Args:
        folder: An existing folder.
        pairs: Scores of each language pair.
        facts: Further entries of ``metrics.json``: the model, what was left out.
        which: Which predictions go to ``pairs.tsv``.

    Raises:
        StorageError: A file cannot be written.
    """
    folder = Path(folder)
    write_json(folder / "metrics.json", facts | {"pairs": [pair.as_dict() for pair in pairs]})
    write_text(folder / "metrics.csv", metrics_csv(pairs))
    files = [folder / "metrics.json", folder / "metrics.csv"]
    if which != "none":
        write_pairs(folder / "pairs.tsv", pairs, which)
        files.append(folder / "pairs.tsv")
    return files


def metrics_csv(pairs: Sequence[PairScores]) -> str:
    """One line per pair, layer, centering, method and direction; ``source`` is the query side."""
    return Table.from_rows(
        _csv_row(pair, each, scores) for pair in pairs for each in pair.layers for scores in each.scores.methods
    ).csv()


def _csv_row(pair: PairScores, each: LayerScores, scores: MethodScores) -> dict[str, Any]:
    asked, looked = pair.sides(scores)
    row: dict[str, Any] = {} if pair.model is None else {"model": pair.model}
    row |= {
        "source": asked.name,
        "target": looked.name,
        "layer": each.layer,
        "center": each.center,
    }
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
