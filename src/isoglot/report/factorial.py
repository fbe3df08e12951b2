"""The page of the factorial study: main effects, the stated interaction, shares of the variance."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from isoglot.report.figures import Bar, Figure, Line, bars, lines
from isoglot.report.figures.charts import GREY
from isoglot.report.page import Page, Section
from isoglot.study.factorial.outcomes import variance_table
from isoglot.study.factorial.variance import OVERLAP

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_ANCHORS = {"none": "no anchors", "fifth": "one word in five", "all": "all words"}


def factorial_page(result: FactorialResult, *, facts: Sequence[str] = ()) -> Page:
    """The page.

    Args:
        result: What the study found.
        facts: Lines for its foot.
    """
    return Page(
        title="What lets two languages share one space",
        lead=f"{contrast_finding(result.p1)}. {variance_finding(result.p1)}.",
        sections=[_stated(result), _main_effects(result), _shares(result), _timing(result)],
        facts=[_runs(result), *facts],
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
    main = _crossed(outcome)
    factor, means = max(main.items(), key=lambda one: _range(one[1]))
    low, high = (choose(means, key=lambda one: one.mean) for choose in (min, max))
    return (
        f"{_name(factor).capitalize()}: from {_value(outcome, low.mean)} ({_level(low)}) to "
        f"{_value(outcome, high.mean)} ({_level(high)}), the widest range of the {len(main)} factors"
    )


def _crossed(outcome: OutcomeAnalysis) -> dict[str, tuple[LevelMean, ...]]:
    """The level means of the factors that have more than one level."""
    return {factor: means for factor, means in outcome.variance.main.items() if len(means) > 1}


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
        body=[
            f"Stated before any run: {stated.name}, over the plans that share ids and the domains.",
            f"Student's t over {len(result.seeds)} seeds: t = {stated.t:.2f}{exact}.",
            "Where all words are anchors, spelling alone finds the pairs: the gray lines are untrained encoders."
            if result.p1.without_all
            else "The gray lines are untrained encoders: what spelling alone finds.",
            interaction_figure(result),
        ],
    )


def _main_effects(result: FactorialResult) -> Section:
    words = "Levels of a factor are compared on the cells that exist at all of its levels."
    return Section(title=main_finding(result.p1), body=[words, main_effects_figure(result)])


def _shares(result: FactorialResult) -> Section:
    overlap = "Overlap is what belongs to sharing and anchors together, because separate embeddings have no anchors."
    body: list[str | Figure] = [overlap] if any(term.name == OVERLAP for term in result.p1.variance.terms) else []
    body.append(variance_figure(result))
    if result.p1.without_all is not None:
        without = _ranked(result.p1.without_all)[0]
        share = f"{100 * without.omega:.0f} % [{100 * without.interval[0]:.0f}, {100 * without.interval[1]:.0f}]"
        finding = f"Without the cells in which all words are anchors, the largest is {_term(without)}: {share}"
        body.append(_variance_bars(result.p1.without_all, "variance-without-all", _runs(result), title=finding))
    table = variance_table(result.p1.variance, "Type II sums of squares; error: cell by block.")
    return Section(title=variance_finding(result.p1), body=[*body, table])


def _timing(result: FactorialResult) -> Section:
    never, before = (100 * result.share_censored(how) for how in ("never", "before"))
    figure = _interaction(result.tokens, (), "interaction-tokens", "Tokens until the threshold is reached.")
    return Section(
        title=contrast_finding(result.tokens),
        body=[
            f"Tokens until P@1 reaches {100 * result.threshold:.0f} %.",
            f"{never:.0f} % of the runs never reach it and count with their whole budget.",
            f"{before:.0f} % are above it at the first measurement and count with that moment.",
            figure,
            variance_table(result.tokens.variance, "log2 of tokens to the threshold."),
        ],
    )


# --- figures ---


def interaction_figure(result: FactorialResult) -> Figure:
    """P@1 by word order, a line for each share of anchors."""
    caption = (
        f"P@1 at the end of training by word order of the twin and share of words written the same. {_note(result)}"
    )
    return _interaction(result.p1, result.untrained, "interaction", caption)


def main_effects_figure(result: FactorialResult) -> Figure:
    """P@1 by the levels of each factor."""
    given = []
    for factor, means in _crossed(result.p1).items():
        for one in means:
            low, high = map(_percent, one.interval)
            name = f"{_name(factor)}: {_level(one)}"
            given.append(Bar(group=name, value=_percent(one.mean), low=low, high=high))
    title = main_finding(result.p1)
    return bars(given, name="main-effects", title=title, x="right twin found (P@1), %", caption=_note(result))


def variance_figure(result: FactorialResult) -> Figure:
    """The share of the variance of P@1 that each term explains."""
    caption = f"All cells; *: the stated interaction. ω² with 95 % bootstrap intervals over seeds. {_runs(result)}"
    return _variance_bars(result.p1.variance, "variance", caption, title=variance_finding(result.p1))


def _percent(share: float) -> float:
    """A share in percent; an interval by a normal approximation may lie outside of 0 to 100."""
    return min(100.0, max(0.0, 100 * share))


def _interaction(outcome: OutcomeAnalysis, untrained: Sequence[LevelMean], name: str, caption: str) -> Figure:
    percent = outcome.outcome == "p1"

    def shown(value: float) -> float:
        return _percent(value) if percent else 2**value / 1e6

    orders = list(dict.fromkeys(one.levels[1] for one in outcome.interaction))
    given = []
    for prefix, means, color in (("", outcome.interaction, None), ("untrained, ", untrained, GREY)):
        for level in dict.fromkeys(one.levels[0] for one in means):
            some = [(float(orders.index(one.levels[1])), one) for one in means if one.levels[0] == level]
            given.append(
                Line(
                    name=f"{prefix}{_ANCHORS.get(level, level)}",
                    points=[(at, shown(one.mean)) for at, one in some],
                    band=[] if color else [(at, *map(shown, one.interval)) for at, one in some],  # type: ignore[misc]
                    color=color,
                )
            )
    return lines(
        given,
        name=name,
        title=contrast_finding(outcome),
        caption=caption,
        x="word order of the twin",
        y="right twin found (P@1), %" if percent else "million tokens to the threshold",
        categories=[_name(order) for order in orders],
    )


def _variance_bars(analysis: VarianceAnalysis, name: str, caption: str, *, title: str = "") -> Figure:
    """A bar for each term with its interval, the largest first; block and residual below."""
    given = [
        Bar(
            group=f"{'* ' if term.name == 'anchors:order' else ''}{_term(term)}",
            value=100 * max(0.0, term.omega),
            low=100 * term.interval[0],
            high=100 * term.interval[1],
        )
        for term in _ranked(analysis)
    ]
    rest = [term for term in analysis.terms if isnan(term.omega)]
    given += [Bar(group=f"{term.name} (η²)", value=100 * max(0.0, term.eta)) for term in rest]
    return bars(given, name=name, title=title or caption.rstrip("."), x="share of the variance, %", caption=caption)


def _tokens(count: float) -> str:
    return f"{count / 1e6:.2g} M" if count >= 1e6 else f"{count / 1e3:.3g} k"
