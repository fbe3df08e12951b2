"""The anchor figure: how much of each language's text is written with ids that another language uses, too."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, nearest_name
from isoglot.core.files import write_bytes
from isoglot.core.parts import import_part

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.vocab.anchors import AnchorReport, Band, PairAnchors

FORMATS = ("png", "svg", "pdf")
# From black to light grey, with a hatch each: they tell apart in print, too.
_SHADES = ("#222222", "#777777", "#b5b5b5", "#e6e6e6")
_HATCHES = ("", "", "//", "..")


def anchor_figure(report: AnchorReport, path: Path) -> None:
    """Draw the report: a bar for each direction of each pair, cut by how frequent the anchors are.

    Args:
        report: What was measured.
        path: Where the figure goes; its ending says how it is written: .png, .svg or .pdf.

    Raises:
        ConfigError: The ending is another.
        MissingPartError: matplotlib is not installed.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise ConfigError(f"no figure can be written as {path.name!r}", remedy=nearest_name(kind, FORMATS))
    library = import_part("matplotlib")
    figures = import_part("matplotlib.figure")
    rows = [(pair, code) for pair in report.pairs for code in pair.languages]
    figure = figures.Figure(figsize=(8.5, 1.9 + 0.42 * len(rows)), layout="constrained")
    axes = figure.subplots()
    places = [-(row + 0.5 * (row // 2)) for row in range(len(rows))]  # a gap between pairs
    for (pair, code), place in zip(rows, places, strict=True):
        _bar(axes, pair, code, place)
    axes.set_yticks(places, [_row_name(pair, code) for pair, code in rows])
    axes.set_xlabel(f"share of the language's tokens, % ({_looked_at(report)})")
    axes.set_xlim(0, 100)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    figure.suptitle(finding(report), x=0.01, ha="left", fontsize=12)
    _legend(figure, report)
    buffer = io.BytesIO()
    settings: dict[str, dict[str, Any]] = {
        "svg": {"metadata": {"Date": None}},
        "png": {"dpi": 150},
        "pdf": {"metadata": {"CreationDate": None}},
    }
    with library.rc_context({"svg.hashsalt": "isoglot"}):  # same report, same bytes
        figure.savefig(buffer, format=kind, **settings[kind])
    write_bytes(path, buffer.getvalue())


def finding(report: AnchorReport) -> str:
    """What the report says, in a sentence.

    Of one pair, both directions; of more, the pairs that share most and least.
    """
    pairs = report.pairs
    if not any(pair.anchors for pair in pairs):
        return "No two languages share an id: there are no anchors"
    if len(pairs) == 1:
        first, second = pairs[0].languages
        tokens = pairs[0].tokens
        return (
            f"{pairs[0].anchors:,} anchors make up {_percent(tokens[first])} of the tokens of {first} "
            f"and {_percent(tokens[second])} of {second}"
        )
    most, least = max(pairs, key=_shared), min(pairs, key=_shared)
    return (
        f"{'-'.join(most.languages)} share most ({_percent(_shared(most))} of tokens), "
        f"{'-'.join(least.languages)} least ({_percent(_shared(least))})"
    )


def _shared(pair: PairAnchors) -> float:
    return sum(pair.tokens.values()) / 2


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def _row_name(pair: PairAnchors, code: str) -> str:
    other = next(language for language in pair.languages if language != code)
    return f"{code}, shared with {other}"


def _looked_at(report: AnchorReport) -> str:
    return ", ".join(f"{code} {tokens / 1e6:.3g} M" for code, tokens in report.tokens.items())


def _bar(axes: Any, pair: PairAnchors, code: str, place: float) -> None:  # noqa: ANN401 - an optional library's
    left = 0.0
    for band, shade, hatch in zip(pair.bands, _SHADES, _HATCHES, strict=False):
        width = 100 * band.tokens[code]
        axes.barh(place, width, 0.8, left, color=shade, hatch=hatch, edgecolor="white", linewidth=0.8)
        left += width
    label = f"{_percent(pair.tokens[code])} · {pair.anchors:,} of {pair.types[code]:,} types"
    inside = left > 70
    axes.text(
        left + (-1 if inside else 1),
        place,
        label,
        ha="right" if inside else "left",
        va="center",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5} if inside else None,
    )


def _legend(figure: Any, report: AnchorReport) -> None:  # noqa: ANN401 - as above
    longest: tuple[Band, ...] = max((pair.bands for pair in report.pairs), key=len)
    patches = import_part("matplotlib.patches")
    handles = [
        patches.Patch(
            facecolor=shade,
            hatch=hatch,
            edgecolor="white" if hatch == "" else "#666666",
            label=_band_name(band, last=band is longest[-1]),
        )
        for band, shade, hatch in zip(longest, _SHADES, _HATCHES, strict=False)
    ]
    figure.legend(
        handles=handles,
        title="anchors by rank among all types of the pair, the most frequent first",
        loc="outside lower left",
        ncols=4,
        frameon=False,
        fontsize=9,
        title_fontsize=9,
        alignment="left",
    )


def _band_name(band: Band, *, last: bool) -> str:
    return f"from {band.first:,}" if last and band.first > 1 else f"{band.first:,} to {band.last:,}"
