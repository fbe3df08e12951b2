"""The anchor figure: how much of each language's text is written with ids that another language uses, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.axes import ticks
from isoglot.report.heatmap import RAMP
from isoglot.report.markup import escape
from isoglot.report.svg_file import svg_file

if TYPE_CHECKING:
    from isoglot.vocab.anchors import AnchorReport, PairAnchors

_SHADES = RAMP[8:0:-2]  # dark is frequent; print tells them apart
_WIDTH, _LETTER = 720, 6.9  # about the width of a letter at 12.5 px
_KEYS, _TOP, _BAR, _ROW, _GAP = 14, 32, 20, 25, 14


def anchor_svg(report: AnchorReport) -> str:
    """A whole SVG file: a bar for each direction of each pair, cut by how frequent the anchors are."""
    rows = [(pair, code, _row_name(pair, code), _label(pair, code)) for pair in report.pairs for code in pair.languages]
    left = 22 + _LETTER * max(len(name) for _, _, name, _ in rows)
    unit = (_WIDTH - left - 14 - _LETTER * max(len(label) for *_, label in rows)) / 100  # labels fit beside full bars
    foot = _TOP + _ROW * len(rows) + _GAP * len(report.pairs)
    parts = []
    for value in ticks(0, 100, 20):
        x = left + value * unit
        parts.append(
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{foot}' class='grid'/>"
            f"<text x='{x:.1f}' y='{foot + 18}' class='tick' text-anchor='middle'>{value:g}</text>"
        )
    middle, axis = left + 50 * unit, "share of the language's tokens, %"
    parts.append(f"<text x='{middle:.1f}' y='{foot + 42}' class='axis' text-anchor='middle'>{axis}</text>")
    parts += _keys(report, left)
    for number, (pair, code, name, label) in enumerate(rows):
        y = _TOP + _ROW * number + _GAP * (number // 2) + _GAP / 2  # a gap between pairs
        end = left
        for band, shade in zip(pair.bands, _SHADES, strict=False):
            width = 100 * band.tokens[code] * unit
            said = f"{name}, ranks {band.first:,} to {band.last:,}: {_percent(band.tokens[code])}"
            parts.append(
                f"<rect x='{end:.1f}' y='{y:.1f}' width='{width:.1f}' height='{_BAR}' fill='{shade}'>"
                f"<title>{escape(said)}</title></rect>"
            )
            end += width
        parts.append(
            f"<text x='{left - 8:.1f}' y='{y + 14:.1f}' class='tick' text-anchor='end'>{escape(name)}</text>"
            f"<text x='{end + 7:.1f}' y='{y + 14:.1f}' class='tick'>{escape(label)}</text>"
        )
    box = f"viewBox='0 0 {_WIDTH} {foot + 56}' role='img' aria-label='share of tokens that are anchors, by pair'"
    often = "" if report.at_least == 1 else f" at least {report.at_least:,} times each"
    note = f"Anchors: ids met in text of both{often}. {report.looked_at()}"
    return svg_file(f"<svg {box}>{''.join(parts)}</svg>", finding(report), note)


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


def _label(pair: PairAnchors, code: str) -> str:
    return f"{_percent(pair.tokens[code])} · {pair.anchors:,} of {pair.types[code]:,} types"


def _keys(report: AnchorReport, left: float) -> list[str]:
    """What the shades are, in a line above the bars."""
    bands = max((pair.bands for pair in report.pairs), key=len)
    names = [f"{band.first:,} to {band.last:,}" for band in bands]
    if len(bands) > 1:
        names[-1] = f"from {bands[-1].first:,}"  # where the last rank is depends on the pair
    parts = [f"<text x='{left - 8:.1f}' y='{_KEYS + 4}' class='tick' text-anchor='end'>rank by frequency</text>"]
    x = left
    for name, shade in zip(names, _SHADES, strict=False):
        parts.append(
            f"<rect x='{x:.1f}' y='{_KEYS - 6}' width='12' height='12' fill='{shade}'/>"
            f"<text x='{x + 18:.1f}' y='{_KEYS + 4}' class='tick'>{name}</text>"
        )
        x += 36 + _LETTER * len(name)
    return parts
