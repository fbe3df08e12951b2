"""The figures and the page of the factorial study: main effects, the stated interaction, shares of the variance."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isnan
from typing import TYPE_CHECKING

from isoglot.report.axes import LEFT, Axes, round_step, rounded_up, ticks
from isoglot.report.lines import COLORS, DASHES, spread
from isoglot.report.markup import escape
from isoglot.report.page import Figure, Section, page
from isoglot.report.svg_file import svg_file
from isoglot.study.factorial.outcomes import variance_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.study.factorial.outcomes import FactorialResult, OutcomeAnalysis
    from isoglot.study.factorial.variance import LevelMean, Term, VarianceAnalysis

_NAMES = {
    "sharing": "shared weights",
    "anchors": "anchors",
    "order": "word order",
    "domain": "domain",
    "sep-emb": "not embeddings",
    "all-but-top": "not the top layer",
    "fifth": "one in five",
}
_WIDTH, _HEIGHT, _HEAD, _FOOT = 720, 360, 20, 66
_GREY, _INK = "#777", "#323f4b"


def factorial_page(result: FactorialResult, *, facts: Sequence[str] = ()) -> str:
    """The page.

    Args:
        result: What the study found.
        facts: Lines for its foot.
    """
    return page(
        "What lets two languages share one space",
        f"{contrast_finding(result.p1)}. {variance_finding(result.p1)}.",
        [_stated(result), _main_effects(result), _shares(result), _timing(result)],
        facts=[*facts, _runs(result)],
    )


def interaction_svg(result: FactorialResult) -> str:
    """P@1 by anchors and word order, as a file of its own."""
    return svg_file(_interaction(result.p1, result.untrained), contrast_finding(result.p1), _note(result))


def main_effects_svg(result: FactorialResult) -> str:
    """P@1 by the levels of each factor, as a file of its own."""
    return svg_file(_main(result.p1), main_finding(result.p1), _note(result))


def variance_svg(result: FactorialResult) -> str:
    """The share of the variance of P@1 that each term explains, as a file of its own."""
    return svg_file(
        _bars(result.p1.variance), variance_finding(result.p1), f"ω² with 95 % bootstrap intervals. {_runs(result)}"
    )


# --- findings ---


def contrast_finding(outcome: OutcomeAnalysis) -> str:
    """What the stated contrast says, in a sentence without a full stop."""
    stated = outcome.stated
    low, high = stated.interval
    if outcome.outcome == "p1":
        size = f"{100 * stated.estimate:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}], {_p(stated.p)}"
        finding = f"Anchors help {'more' if stated.estimate > 0 else 'less'} where word order differs"
    else:
        size = f"{stated.estimate:+.2f} doublings [{low:+.2f}, {high:+.2f}], {_p(stated.p)}"
        finding = f"Anchors save {'more' if stated.estimate < 0 else 'less'} text where word order differs"
    if stated.p >= 0.05:
        return f"No evidence that the effect of anchors depends on word order: {size}"
    return f"{finding}: {size}"


def main_finding(outcome: OutcomeAnalysis) -> str:
    """The factor whose levels differ most, in a sentence without a full stop."""
    factor, means = max(outcome.variance.main.items(), key=lambda one: _range(one[1]))
    low, high = (choose(means, key=lambda one: one.mean) for choose in (min, max))
    return (
        f"{_name(factor).capitalize()}: from {_value(outcome, low.mean)} ({_level(low)}) to "
        f"{_value(outcome, high.mean)} ({_level(high)}), the widest range of the four factors"
    )


def variance_finding(outcome: OutcomeAnalysis) -> str:
    """The term with the largest share, in a sentence without a full stop."""
    best = _ranked(outcome.variance)[0]
    low, high = best.interval
    what = "P@1" if outcome.outcome == "p1" else "tokens to the threshold"
    return (
        f"The largest share of the variance of {what} is that of {_term(best)}: {100 * best.omega:.0f} % "
        f"[{100 * low:.0f}, {100 * high:.0f}]"
    )


def _range(means: Sequence[LevelMean]) -> float:
    values = [one.mean for one in means]
    return max(values) - min(values)


def _ranked(analysis: VarianceAnalysis) -> list[Term]:
    """The terms that are tested, the largest share first."""
    return sorted((term for term in analysis.terms if not isnan(term.omega)), key=lambda term: -term.omega)


def _name(text: str) -> str:
    return _NAMES.get(text, text)


def _term(term: Term) -> str:
    return " × ".join(_name(part) for part in term.name.split(":"))


def _level(mean: LevelMean) -> str:
    return ", ".join(_name(level) for level in mean.levels)


def _value(outcome: OutcomeAnalysis, value: float) -> str:
    return f"{100 * value:.0f} %" if outcome.outcome == "p1" else f"{2**value / 1e6:.3g} M tokens"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _note(result: FactorialResult) -> str:
    return f"P@1 of sentence retrieval; bars are 95 % intervals over seeds, within blocks. {_runs(result)}"


def _runs(result: FactorialResult) -> str:
    left = f" Seeds without all cells are left out: {', '.join(map(str, result.left_out))}." if result.left_out else ""
    cells, seeds = result.p1.variance.cells, len(result.seeds)
    return f"{cells} cells × {seeds} seeds, {_tokens(result.budget)} tokens an encoder.{left}"


# --- sections ---


def _stated(result: FactorialResult) -> Section:
    stated = result.p1.stated
    exact = "" if isnan(stated.p_flips) else f", {_p(stated.p_flips)} by flipping signs"
    return Section(
        title=contrast_finding(result.p1),
        words=(
            f"Stated before any run: {stated.name}, over the plans that share ids and both domains.",
            f"Student's t over {len(result.seeds)} seeds: t = {stated.t:.2f}{exact}.",
            "Where all words are anchors, spelling alone finds the pairs: the gray marks are untrained encoders.",
        ),
        figures=(
            Figure(
                drawing=_interaction(result.p1, result.untrained),
                caption="P@1 at the end of training by word order of the twin and share of words written the same.",
            ),
        ),
    )


def _main_effects(result: FactorialResult) -> Section:
    return Section(
        title=main_finding(result.p1),
        words=("Levels of a factor are compared on the cells that exist at all of its levels.",),
        figures=(Figure(drawing=_main(result.p1), caption=_note(result)),),
    )


def _shares(result: FactorialResult) -> Section:
    without = _ranked(result.p1.without_all)[0]
    share = f"{100 * without.omega:.0f} % [{100 * without.interval[0]:.0f}, {100 * without.interval[1]:.0f}]"
    return Section(
        title=variance_finding(result.p1),
        words=(
            "Overlap is what belongs to sharing and anchors together, because separate embeddings have no anchors.",
            f"Without the cells in which all words are anchors, the largest is {_term(without)}: {share}.",
        ),
        figures=(
            Figure(
                drawing=_bars(result.p1.variance), caption="All cells. ω² with 95 % bootstrap intervals over seeds."
            ),
            Figure(drawing=_bars(result.p1.without_all), caption="Without the cells in which all words are anchors."),
        ),
        table=variance_table(result.p1.variance, "Type II sums of squares; error: cell by block.").html(),
    )


def _timing(result: FactorialResult) -> Section:
    never, before = (100 * result.share_censored(how) for how in ("never", "before"))
    return Section(
        title=contrast_finding(result.tokens),
        words=(
            f"Tokens until P@1 reaches {100 * result.threshold:.0f} %.",
            f"{never:.0f} % of the runs never reach it and count with their whole budget.",
            f"{before:.0f} % are above it at the first measurement and count with that moment.",
        ),
        figures=(
            Figure(
                drawing=_interaction(result.tokens, ()),
                caption="Tokens to the threshold, on a logarithmic scale: a step up is twice the text.",
            ),
        ),
        table=variance_table(result.tokens.variance, "log2 of tokens to the threshold.").html(),
    )


# --- drawings ---


@dataclass(frozen=True)
class _Scale:
    """The vertical axis of an outcome."""

    title: str
    shown: Callable[[float], float]
    """A value as the axis has it."""
    tick: Callable[[float], str]


def _scale(outcome: OutcomeAnalysis) -> _Scale:
    if outcome.outcome == "p1":
        return _Scale("right twin found (P@1), %", lambda value: min(100.0, 100 * value), lambda value: f"{value:g}")
    return _Scale("tokens to the threshold", lambda value: value, lambda value: _tokens(2**value))


def _tokens(count: float) -> str:
    return f"{count / 1e6:.2g} M" if count >= 1e6 else f"{count / 1e3:.3g} k"


def _interaction(outcome: OutcomeAnalysis, untrained: Sequence[LevelMean]) -> str:
    """A line for each share of anchors over the word orders, its name at its end."""
    scale = _scale(outcome)
    anchors = list(dict.fromkeys(one.levels[0] for one in outcome.interaction))
    orders = list(dict.fromkeys(one.levels[1] for one in outcome.interaction))
    names = [{"none": "no anchors", "fifth": "one word in five", "all": "all words"}[level] for level in anchors]
    right = 16 + int(7.2 * max(map(len, names)))
    axes = _axes([*outcome.interaction, *untrained], scale, len(orders), right)
    parts = _frame(axes, scale, [(at, _name(order)) for at, order in enumerate(orders)], "word order of the twin")
    for one in untrained:
        x, y = axes.x(orders.index(one.levels[1])), axes.y(scale.shown(one.mean))
        parts.append(
            f"<line x1='{x - 14:.1f}' x2='{x + 14:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='{_GREY}' stroke-width='3' "
            f"stroke-opacity='.5'><title>untrained: {escape(_level(one))}</title></line>"
        )
        if one.levels == ("fifth", orders[-1]):
            parts.append(_text(x + 20, y + 4, "untrained", "tick"))
    lines = [[one for one in outcome.interaction if one.levels[0] == level] for level in anchors]
    ends = spread([axes.y(scale.shown(line[-1].mean)) for line in lines], 8, _HEIGHT - _FOOT, 14)
    for number, (line, name, end) in enumerate(zip(lines, names, ends, strict=True)):
        # Lines stand a little apart, so that the bars of one do not hide those of another.
        nudge = 5 * (number - (len(lines) - 1) / 2)
        places = [(axes.x(orders.index(one.levels[1])) + nudge, one) for one in line]
        parts += _marked_line(axes, scale, places, number)
        parts.append(_text(LEFT + axes.width + 10, end + 4, name, "name", fill=COLORS[number]))
    return _svg(parts, _HEIGHT, f"{scale.title} by word order and anchors")


def _main(outcome: OutcomeAnalysis) -> str:
    """A group of points for each factor, side by side over one vertical axis."""
    scale = _scale(outcome)
    groups = list(outcome.variance.main.items())
    slots = sum(len(means) for _, means in groups) + len(groups) - 1
    axes = _axes([one for _, means in groups for one in means], scale, slots, 46)
    parts = _frame(axes, scale, [], "")
    foot, at = _HEAD + axes.height, 0
    mean = axes.y(scale.shown(outcome.variance.mean))
    parts.append(
        f"<line x1='{LEFT}' x2='{LEFT + axes.width}' y1='{mean:.1f}' y2='{mean:.1f}' class='floor'/>"
        + _text(LEFT + axes.width + 6, mean + 4, "mean", "tick")
    )
    for number, (factor, means) in enumerate(groups):
        places = [(axes.x(at + step), one) for step, one in enumerate(means)]
        parts += _marked_line(axes, scale, places, number)
        for step, (x, one) in enumerate(places):
            parts.append(_text(x, foot + 16 + 14 * (step % 2), _level(one), "tick", anchor="middle"))
        middle = sum(x for x, _ in places) / len(places)
        parts.append(_text(middle, foot + 52, _name(factor), "name", anchor="middle", fill=COLORS[number]))
        at += len(means) + 1
    return _svg(parts, _HEIGHT, f"{scale.title} by the levels of each factor")


def _bars(analysis: VarianceAnalysis) -> str:
    """A bar for each term with its interval, the largest first; block and residual below."""
    rest = [term for term in analysis.terms if isnan(term.omega)]
    rows: list[tuple[str, float, tuple[float, float] | None, bool]] = [
        (_term(term), max(0.0, term.omega), term.interval, term.name == "anchors:order") for term in _ranked(analysis)
    ]
    rows += [(f"{term.name} (η²)", max(0.0, term.eta), None, False) for term in rest]
    left, tall = 220, 24
    most = max([0.1, *(interval[1] if interval else share for _, share, interval, _ in rows)])
    step = round_step(0, 100 * most)
    top = rounded_up(100 * most, step)
    wide = _WIDTH - left - 70
    foot = 14 + tall * len(rows)
    parts = []
    for value in ticks(0, top, step):
        x = left + value / top * wide
        parts.append(
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='8' y2='{foot}' class='grid'/>"
            + _text(x, foot + 16, f"{value:g}", "tick", anchor="middle")
        )
    for number, (name, share, interval, stated) in enumerate(rows):
        y = 14 + tall * number
        end = left + 100 * share / top * wide
        fill = COLORS[1] if stated else COLORS[0] if interval else "#b8b2a3"
        parts.append(_text(left - 8, y + 15, name, "name" if stated else "tick", anchor="end"))
        parts.append(f"<rect x='{left}' y='{y + 3}' width='{end - left:.1f}' height='{tall - 8}' fill='{fill}'/>")
        if interval:
            ends = [left + 100 * value / top * wide for value in interval]
            parts.append(_whisker((ends[0], y + tall / 2 - 1), (ends[1], y + tall / 2 - 1), _INK))
            end = max(end, ends[1])
        parts.append(_text(end + 6, y + 15, f"{100 * share:.1f}", "tick"))
    parts.append(_text(left + wide / 2, foot + 38, "share of the variance, %", "axis", anchor="middle"))
    return _svg(parts, foot + 48, "share of the variance that each term explains")


def _axes(means: Sequence[LevelMean], scale: _Scale, slots: int, right: int) -> Axes:
    """Room for so many categories; from 0 for P@1, from a whole power of two for tokens."""
    values = [scale.shown(value) for one in means for value in (*one.interval, one.mean)]
    if scale.shown(1.0) == 100:
        most = max(1.0, *values)
        step = round_step(0, min(100.0, most))
        foot, top = min(0.0, floor(min(values) / step) * step), rounded_up(most, step)
    else:
        step, foot, top = 1.0, float(floor(min(values))), float(ceil(max(values)))
        top = max(top, foot + 1)
    return Axes(
        low=-0.5,
        high=slots - 0.5,
        across=(),
        foot=foot,
        top=top,
        up=ticks(foot, top, step),
        width=_WIDTH - LEFT - right,
        height=_HEIGHT - _HEAD - _FOOT,
        head=_HEAD,
    )


def _frame(axes: Axes, scale: _Scale, names: Sequence[tuple[float, str]], across: str) -> list[str]:
    end, foot, parts = LEFT + axes.width, _HEAD + axes.height, []
    for value in axes.up:
        y = axes.y(value)
        parts.append(
            f"<line x1='{LEFT}' x2='{end}' y1='{y:.1f}' y2='{y:.1f}' class='grid'/>"
            + _text(LEFT - 8, y + 4, scale.tick(value), "tick", anchor="end")
        )
    parts += [_text(axes.x(at), foot + 18, name, "tick", anchor="middle") for at, name in names]
    if across:
        parts.append(_text(LEFT + axes.width / 2, foot + 42, across, "axis", anchor="middle"))
    turned = f"transform='translate(12 {_HEAD + axes.height / 2:.1f}) rotate(-90)'"
    parts.append(f"<text {turned} class='axis' text-anchor='middle'>{escape(scale.title)}</text>")
    return parts


def _marked_line(axes: Axes, scale: _Scale, places: Sequence[tuple[float, LevelMean]], number: int) -> list[str]:
    """Means joined by a line, with their intervals; colors, dashes and marks differ from line to line."""
    color = COLORS[number % len(COLORS)]
    points = [(x, axes.y(scale.shown(one.mean))) for x, one in places]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = DASHES[number % len(DASHES)]
    parts = [f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2' stroke-dasharray='{dash}'/>"]
    for (x, y), (_, one) in zip(points, places, strict=True):
        low, high = (axes.y(scale.shown(value)) for value in one.interval)
        parts.append(_whisker((x, low), (x, high), color))
        said = f"{_level(one)}: {scale.tick(round(scale.shown(one.mean), 1))}"
        parts.append(f"{_mark(x, y, number, color)}<title>{escape(said)}</title></path>")
    return parts


def _mark(x: float, y: float, number: int, color: str) -> str:
    """A circle, a square, a triangle or a diamond, as the start of a path element."""
    shapes = (
        f"M{x - 4.5:.1f} {y:.1f}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
        f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z",
        f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    )
    return f"<path d='{shapes[number % len(shapes)]}' fill='{color}' stroke='#fff'>"


def _whisker(one: tuple[float, float], other: tuple[float, float], color: str) -> str:
    """A line with a short bar across either end."""
    upright = one[0] == other[0]
    ends = "".join(f"M{x - 4:.1f} {y:.1f}h8" if upright else f"M{x:.1f} {y - 4:.1f}v8" for x, y in (one, other))
    line = f"M{one[0]:.1f} {one[1]:.1f}L{other[0]:.1f} {other[1]:.1f}{ends}"
    return f"<path d='{line}' fill='none' stroke='{color}' stroke-width='1.5'/>"


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start", fill: str = "") -> str:
    colored = f" fill='{fill}'" if fill else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' class='{kind}' text-anchor='{anchor}'{colored}>{escape(text)}</text>"


def _svg(parts: Sequence[str], height: float, said: str) -> str:
    return (
        f"<div class='scroll'><svg viewBox='0 0 {_WIDTH} {height:.0f}' role='img' aria-label='{escape(said)}'>"
        f"{''.join(parts)}</svg></div>"
    )
