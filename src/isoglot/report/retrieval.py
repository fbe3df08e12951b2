"""The page of retrieval: how often translations are found, layer by layer."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

from isoglot.core.progress import listed
from isoglot.core.table import Column, Table
from isoglot.report.figures import Figure, Line, lines
from isoglot.report.page import Page, Section
from isoglot.retrieve.evaluation import NEIGHBORHOOD_METHODS
from isoglot.retrieve.layer_scores import found_both
from isoglot.retrieve.methods import Direction
from isoglot.retrieve.simultaneous_intervals import MARGIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from isoglot.retrieve.estimates import Center
    from isoglot.retrieve.layer_scores import PairScores
    from isoglot.retrieve.methods import Method

MOST = 6
"""Maximum number of lines in a figure."""
MOST_TABLES = 4
_FOUND = "translations found (P@1), %"

# --- retrieval ---


def retrieval_page(pairs: Sequence[PairScores], *, remarks: Sequence[str] = (), facts: Sequence[str] = ()) -> Page:
    """The page of ``isoglot retrieve``.

    Args:
        pairs: Scores of each pair of languages.
        remarks: What else the reader should know.
        facts: Lines for its foot.
    """
    figure = retrieval_figure(pairs) if all(pair.has_layers for pair in pairs) else None
    estimates = estimates_in_words(pairs)
    about = [
        *remarks,
        f"{sureness(pairs)}." if figure is None else "",  # else in its caption
        f"{estimates[0].upper()}{estimates[1:]}." if estimates else "",
    ]
    names = " and ".join(dict.fromkeys(pair.name for pair in pairs)) if len(pairs) < 4 else f"{len(pairs)} pairs"
    best = max(pairs, key=lambda each: each.best.value).best
    title = (
        "Translations found"
        if best.layer is None
        else f"P@1 is highest in layer {best.layer}: {100 * best.value:.1f} %"
    )
    sections = [
        Section(title=title, body=[*(text for text in about if text), figure]),
        Section(title="All scores", body=[_scores_table(pairs)]),
    ]
    return Page(title=f"Translations found: {names}", lead=f"{finding(pairs)}.", sections=sections, facts=facts)


def retrieval_figure(pairs: Sequence[PairScores]) -> Figure:
    """P@1 over layers, the mean of both directions.

    One pair has a line for each method and centering, up to six pairs a line each by the method that is best for all of
    them, and more pairs than that are averaged.
    """
    ways = list(
        dict.fromkeys(
            (scores.method, each.center) for pair in pairs for each in pair.layers for scores in each.scores.methods
        )
    )
    if 1 < len(pairs) <= MOST:
        best = max(ways, key=lambda way: fmean([max(y for _, y in _points(pair, *way)) for pair in pairs]))
        drawn = [Line(name=pair.name, points=_points(pair, *best), band=_band(pair, *best)) for pair in pairs]
        note = f"by {way_name(*best)}; P@1, the mean of both directions"
    else:
        drawn = [
            Line(
                name=way_name(*way),
                points=_averaged([_points(pair, *way) for pair in pairs]),
                band=_band(pairs[0], *way) if len(pairs) == 1 else (),
            )
            for way in ways
        ][:MOST]
        which = f"the mean of {len(pairs)} pairs" if len(pairs) > 1 else pairs[0].name
        note = f"{which}; P@1, the mean of both directions"
    bands = "; bands: 95 % intervals, mean of both directions" if any(line.band for line in drawn) else ""
    return lines(
        drawn,
        name="layers",
        title=finding(pairs),
        caption=f"{note[0].upper()}{note[1:]}{bands}. {sureness(pairs)}.",
        x="layer",
        y=_FOUND,
        levels={"chance": 100 * fmean([pair.chance for pair in pairs])},
        whole=True,
    )


def _scores_table(pairs: Sequence[PairScores]) -> Table:
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        for each in pair.layers:
            for method in dict.fromkeys(scores.method for scores in each.scores.methods):
                one, other = (each.scores.of(method, way) for way in ("forward", "backward"))
                rows.append(
                    {
                        "pair": pair.name,
                        "layer": each.layer,
                        "by": way_name(method, each.center),
                        "forward": one.precision[1],
                        "backward": other.precision[1],
                        "both": found_both(each.scores, method),
                        "mrr": (one.mrr.value + other.mrr.value) / 2,
                    }
                )
    percent: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f", "best": "max"}
    columns = [
        Column("pair", hidden=len(pairs) > 1),
        Column("layer", hidden=all(row["layer"] is None for row in rows)),
        Column("by"),
        Column("forward", "P@1 there", **percent, note="From the first language of the pair to the second."),
        Column("backward", "P@1 back", **percent),
        Column("both", "P@1, mean", **percent),
        Column("mrr", "MRR", format=".3f", best="max", note="Mean of both directions."),
    ]
    return Table.from_rows(rows, columns, caption="P@1 and MRR", group_by="pair" if len(pairs) > 1 else None)


def way_name(method: Method, center: Center) -> str:
    """A way to look in a few words.

    >>> way_name("csls", "mean")
    'csls, centered'
    """
    return f"{method}, centered" if center == "mean" else method


def finding(pairs: Sequence[PairScores]) -> str:
    """What was found best where, in a line; which layers are as good; each pair's best layer where those differ."""
    pair = max(pairs, key=lambda each: each.best.value)
    best = pair.best
    where = "The vectors find" if best.layer is None else f"Layer {best.layer} finds"
    scores = [pair.of(best.layer, best.center).of(best.method, way) for way in ("forward", "backward")]
    K = "" if scores[0].neighborhood is None else f" (K = {scores[0].neighborhood})"
    among = " / ".join(dict.fromkeys(f"{each.candidates:,}" for each in scores))
    # Of words, the mean reciprocal rank stands beside, which Liu et al. (2020) report.
    mrr = "" if pair.coverage is None else f" (MRR {fmean([each.mrr.value for each in scores]):.3f})"
    text = f"{where} {100 * best.value:.1f} %{mrr} of {pair.name} translations "
    text += f"by {way_name(best.method, best.center)}{K} among {among} candidates"
    if best.as_good:
        text += f"; {_which(best.as_good)} as good, within {100 * MARGIN:.0f} points by a paired test"
    if best.undecided:
        text += f"; whether {_which(best.undecided)} as good these rows cannot tell"
    return text + _by_pair(pairs)


def _which(layers: Sequence[int | None]) -> str:
    names = [str(layer) for layer in layers]
    return f"layer {names[0]} is" if len(names) == 1 else f"layers {listed(names)} are"


def _by_pair(pairs: Sequence[PairScores]) -> str:
    """The best layer of each pair, where they differ."""
    by_layer: dict[int | None, list[str]] = {}
    for pair in pairs:
        by_layer.setdefault(pair.best.layer, []).append(pair.name)
    if len(by_layer) < 2:
        return ""
    parts = [f"{layer} for {listed(names)}" for layer, names in sorted(by_layer.items(), key=lambda each: each[0] or 0)]
    return f". The best layer differs: {listed(parts)}"


def sureness(pairs: Sequence[PairScores]) -> str:
    """The interval of what was found best, among how many it was chosen, and what it finds where it was not chosen."""
    best = max((each.best for each in pairs), key=lambda each: each.value)
    among = f", the best of {best.chosen_among} on the same data" if best.chosen_among > 1 else ""
    text = f"95 % interval of the highest: {100 * best.low:.1f} to {100 * best.high:.1f}{among}"
    if best.held_out is None or best.chosen_among < 2:
        return text
    found = best.held_out
    return (
        f"{text}; chosen on half of the rows and scored on the others, both ways: {100 * found.value:.1f} % "
        f"({100 * found.low:.1f} to {100 * found.high:.1f})"
    )


def estimates_in_words(pairs: Sequence[PairScores]) -> str:
    """Where means and the neighborhoods of CSLS come from, as far as they were used."""
    estimates = pairs[0].estimates
    centers = {each.center for pair in pairs for each in pair.layers}
    methods = {scores.method for pair in pairs for each in pair.layers for scores in each.scores.methods}
    said = []
    if "mean" in centers:
        said.append(f"centered: each language's mean removed, means {estimates.means_in_words}")
    if methods & set(NEIGHBORHOOD_METHODS):
        said.append(f"csls neighborhoods {estimates.neighborhoods_in_words}")
    return "; ".join(said)


def _points(pair: PairScores, method: Method, center: Center) -> list[tuple[float, float]]:
    return [
        (float(each.layer or 0), 100 * found_both(each.scores, method)) for each in pair.layers if each.center == center
    ]


def _band(pair: PairScores, method: Method, center: Center) -> list[tuple[float, float, float]]:
    """By layer, the mean of both directions' intervals."""
    found = []
    for each in pair.layers:
        if each.center == center:
            ends = [each.scores.of(method, way).precision[1] for way in ("forward", "backward")]
            low, high = 50 * sum(one.low for one in ends), 50 * sum(one.high for one in ends)
            found.append((float(each.layer or 0), low, high))
    return found


def _averaged(lines: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """The mean of lines over the layers that all of them have."""
    values = [dict(line) for line in lines]
    shared = [x for x in values[0] if all(x in one for one in values)]
    return [(x, fmean([one[x] for one in values])) for x in shared]


def retrieval_table(pairs: Sequence[PairScores], remarks: Sequence[str] = ()) -> RenderableType:
    """Show a table for each pair, layer by method, or the best layer of each of many pairs; then the finding."""
    from rich.console import Group
    from rich.text import Text

    ways = [(scores.method, each.center) for each in pairs[0].layers for scores in each.scores.methods]
    ways = sorted(dict.fromkeys(ways), key=lambda way: [method for method, _ in ways].index(way[0]))
    parts: list[RenderableType] = []
    for pair in pairs if len(pairs) <= MOST_TABLES else []:
        # Of words, the mean reciprocal rank too: the measure of Liu et al. (2020).
        figures: list[str] = ["P@1 in %"] if pair.coverage is None else ["P@1 in %", "MRR"]
        for figure in figures:
            rows = [
                [layer_name(layer), *(_cell(pair, layer, center, method, figure) for method, center in ways)]
                for layer in dict.fromkeys(each.layer for each in pair.layers)
            ]
            table = Table.from_cells(["layer", *(way_name(*way) for way in ways)], rows)
            parts += [Text(f"{figure}: {_arrows(pair)}"), table, Text()]
    if not parts:
        rows = []
        for pair in pairs:
            best = pair.best
            both = [pair.of(best.layer, best.center).of(best.method, way) for way in get_args(Direction)]
            found = f"{100 * best.value:.1f} % ({100 * best.low:.1f} to {100 * best.high:.1f})"
            mrr = f"{sum(each.mrr.value for each in both) / 2:.3f}"
            rows.append([pair.name, found, mrr, layer_name(best.layer), way_name(best.method, best.center)])
        parts += [Table.from_cells(["languages", "P@1", "MRR", "layer", "by"], rows, align="lrrrl"), Text()]
    said = [*remarks, finding(pairs), f"{sureness(pairs)}; chance {_chance(pairs)}", estimates_in_words(pairs)]
    return Group(*parts, Text("\n".join(line for line in said if line)))


def layer_name(layer: int | None) -> str:
    """A layer in a table."""
    return "vectors" if layer is None else str(layer)


def _arrows(pair: PairScores) -> str:
    first, second = pair.source.name, pair.target.name
    return f"{first} to {second} / {second} to {first}" + ("" if pair.model is None else f", {pair.model}")


def _cell(pair: PairScores, layer: int | None, center: Center, method: Method, figure: str) -> str:
    both = [pair.of(layer, center).of(method, way) for way in get_args(Direction)]
    if figure == "MRR":
        return " / ".join(f"{scores.mrr.value:.3f}" for scores in both)
    return " / ".join(f"{100 * scores.precision[1].value:.1f}" for scores in both)


def _chance(pairs: Sequence[PairScores]) -> str:
    return f"{100 * max(pairs, key=lambda pair: pair.best.value).chance:.2g} %"
