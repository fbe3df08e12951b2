"""What ``isoglot retrieve`` shows: P@1 in both directions, layer by method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from isoglot.retrieve.estimates import Center
    from isoglot.retrieve.layer_scores import PairScores
    from isoglot.retrieve.methods import Direction, Method

Figure = Literal["P@1 in %", "MRR"]
MOST_TABLES = 4
_BOTH: tuple[Direction, Direction] = ("forward", "backward")


def retrieval_table(pairs: Sequence[PairScores], remarks: Sequence[str] = ()) -> RenderableType:
    """A table for each pair, layer by method; of many pairs only the best layer of each. The finding is below."""
    from rich.console import Group
    from rich.text import Text

    from isoglot.report.retrieval import estimates_in_words, finding, sureness, way_name

    ways = [(scores.method, each.center) for each in pairs[0].layers for scores in each.scores.methods]
    ways = sorted(dict.fromkeys(ways), key=lambda way: [method for method, _ in ways].index(way[0]))
    parts: list[RenderableType] = []
    for pair in pairs if len(pairs) <= MOST_TABLES else []:
        # Of words, the mean reciprocal rank too: the measure of Liu et al. (2020).
        figures: list[Figure] = ["P@1 in %"] if pair.coverage is None else ["P@1 in %", "MRR"]
        for figure in figures:
            rows = [
                [_layer_name(layer), *(_cell(pair, layer, center, method, figure) for method, center in ways)]
                for layer in dict.fromkeys(each.layer for each in pair.layers)
            ]
            table = Table.from_cells(["layer", *(way_name(*way) for way in ways)], rows)
            parts += [Text(f"{figure}: {_arrows(pair)}"), table, Text()]
    if not parts:
        rows = []
        for pair in pairs:
            best = pair.best
            both = [pair.of(best.layer, best.center).of(best.method, way) for way in _BOTH]
            found = f"{100 * best.value:.1f} % ({100 * best.low:.1f} to {100 * best.high:.1f})"
            mrr = f"{sum(each.mrr.value for each in both) / 2:.3f}"
            rows.append([pair.name, found, mrr, _layer_name(best.layer), way_name(best.method, best.center)])
        parts += [Table.from_cells(["languages", "P@1", "MRR", "layer", "by"], rows, align="lrrrl"), Text()]
    said = [*remarks, finding(pairs), f"{sureness(pairs)}; chance {_chance(pairs)}", estimates_in_words(pairs)]
    return Group(*parts, Text("\n".join(line for line in said if line)))


def spelling(pair: PairScores) -> str:
    """P@1 where it is best, of all words and of those without a translation spelled the same: both directions' mean."""
    from isoglot.retrieve.metrics import in_words

    best = pair.best
    scores = [pair.of(best.layer, best.center).of(best.method, way) for way in ("forward", "backward")]
    others = [each.other_spelling for each in scores if each.other_spelling is not None]
    found = [other.precision.value for other in others if other.precision is not None]
    words = sum(other.queries for other in others)
    other = sum(found) / len(found) if found else None
    total = sum(each.queries for each in scores)
    return f"all entries / spelled differently, words of both sides: {in_words(best.value, total, other, words)}"


def _layer_name(layer: int | None) -> str:
    return "vectors" if layer is None else str(layer)


def _arrows(pair: PairScores) -> str:
    first, second = pair.source.name, pair.target.name
    return f"{first} to {second} / {second} to {first}" + ("" if pair.model is None else f", {pair.model}")


def _cell(pair: PairScores, layer: int | None, center: Center, method: Method, figure: Figure) -> str:
    both = [pair.of(layer, center).of(method, way) for way in _BOTH]
    if figure == "MRR":
        return " / ".join(f"{scores.mrr.value:.3f}" for scores in both)
    return " / ".join(f"{100 * scores.precision[1].value:.1f}" for scores in both)


def _chance(pairs: Sequence[PairScores]) -> str:
    return f"{100 * max(pairs, key=lambda pair: pair.best.value).chance:.2g} %"
