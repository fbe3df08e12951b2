"""The paper's claims about its Figure 7, tested on ours: holds, does not hold, or undecided, with the numbers.

A comparison is decided if its 95 % interval excludes 0. The interval covers the sampling of sentences (jackknife,
Student's t; for correlations a bootstrap), not of other trained models. English twice is left out of claims about
language distance and correlations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoglot.compare.cka_inference import half_width
from isoglot.compare.measures.cka import FORMS, Form
from isoglot.core.rng import random_stream
from isoglot.retrieve.metrics import drawn_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isoglot.compare.figure7 import Figure7, Figure7Cell, Figure7Column, Row

Verdict = Literal["holds", "does not hold", "undecided"]
_Part = tuple[Verdict | None, str]
"""A part of a claim: its verdict, if it counts, and the numbers in words."""
CORRELATED = 0.9
"""The lowest Pearson correlation that the paper reports."""
_W14 = (
    "Layers that are alike are those where a rotation fitted on other pairs finds translations by cosine, with a "
    f"correlation above {CORRELATED}."
)
FEWEST_LAYERS = 4
"""Minimum number of layers for a correlation."""


@dataclass(frozen=True, kw_only=True)
class Figure7Claim:
    """A claim of the paper and its verdict on these numbers."""

    name: str
    """Number of the claim: W13, W14, W15."""
    text: str
    form: Form
    verdict: Verdict
    numbers: tuple[str, ...]
    """Evidence, one line each."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return asdict(self)


def claims(figure: Figure7) -> list[Figure7Claim]:
    """Every claim in every form of CKA.

    Args:
        figure: The measured Figure 7.

    Returns:
        A claim for every form of CKA, with the numbers that decide it.

    >>> from isoglot.compare import Figure7
    >>> from isoglot.compare.figure7 import Figure7Column
    >>> figure = Figure7(columns=(Figure7Column(languages=("en", "fr")),), sentences={}, cells={}, empty={})
    >>> sorted({(claim.name, claim.verdict) for claim in claims(figure)})
    [('W13', 'undecided'), ('W14', 'undecided'), ('W15', 'undecided')]
    """
    judged: tuple[tuple[str, str, Callable[[Figure7, Form], Iterator[_Part]]], ...] = (
        ("W13", "Bilingual models are more alike than monolingual ones, those than random ones.", _order),
        ("W13", "The first layers are the most alike.", _first_layers),
        ("W14", _W14, _correlation),
        (
            "W15",
            "What training together adds shrinks as languages grow apart, from the first column to the last.",
            _gap,
        ),
    )
    found = []
    for name, text, judge in judged:
        for form in FORMS:
            parts = list(judge(figure, form))
            numbers = tuple(line for _, line in parts) or ("the cells that it speaks of are empty",)
            verdict = overall([each for each, _ in parts if each is not None])
            found.append(Figure7Claim(name=name, text=text, form=form, verdict=verdict, numbers=numbers))
    return found


@dataclass(frozen=True)
class _Difference:
    """A number that should be above 0, and its interval."""

    value: float
    half: float

    @property
    def verdict(self) -> Verdict:
        return "holds" if self.value > self.half else "does not hold" if self.value < -self.half else "undecided"

    def __str__(self) -> str:
        return (
            f"{self.value:+.3f} ± {self.half:.3f}" if isfinite(self.half) else f"{self.value:+.3f}, too few sentences"
        )


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Combined verdict: one that does not hold is enough, and all must hold.

    >>> overall(["holds", "undecided"]), overall(["does not hold", "holds"]), overall([])
    ('undecided', 'does not hold', 'undecided')
    """
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts and set(verdicts) == {"holds"} else "undecided"


def _order(figure: Figure7, form: Form) -> Iterator[_Part]:
    steps: tuple[tuple[Row, Row], ...] = (("bilingual", "monolingual"), ("monolingual", "random"))
    for column, (higher, lower) in product(figure.columns, steps):
        one, other = figure.cell(column.title, higher), figure.cell(column.title, lower)
        if one is not None and other is not None:
            found = _difference(one, other, form)
            yield found.verdict, f"{column.title}: {higher} less {lower} {found}: {found.verdict}"


def _first_layers(figure: Figure7, form: Form) -> Iterator[_Part]:
    rows: tuple[Row, ...] = ("bilingual", "monolingual")
    for column, row in product(figure.columns, rows):
        cell = figure.cell(column.title, row)
        if cell is not None and len(cell.layers) > 1:
            without = [_first_less_last(each) for each in cell.without[form]]
            found = _bounded(_first_less_last(cell.values[form]), without)
            best = max(range(len(cell.layers)), key=lambda place: cell.values[form][place])
            said = f"first half of the layers less the last {found}, highest in layer {cell.layers[best]}"
            yield found.verdict, f"{column.title}, {row}: {said}: {found.verdict}"


def _correlation(figure: Figure7, form: Form) -> Iterator[_Part]:
    for column in figure.columns:
        cell = figure.cell(column.title, "monolingual")
        if cell is not None and cell.found is not None:
            verdict, said = _correlated(cell, form)
            if _languages_differ(column):
                yield verdict, f"{column.title}: {said}: {verdict}"
            else:
                yield None, f"{column.title}: {said}; English twice does not count"


def _correlated(cell: Figure7Cell, form: Form) -> tuple[Verdict, str]:
    """Whether CKA and retrieval correlate over layers, and the numbers."""
    r = pearson(cell.values[form], cell.found or ())
    if len(cell.layers) < FEWEST_LAYERS:
        return "undecided", f"{len(cell.layers)} layers are too few"
    if r is None:
        return "undecided", "all layers are alike"
    said = f"r = {r:.2f} over {len(cell.layers)} layers"
    ends = correlation_interval(cell, form)
    if ends is None:
        return "undecided", f"{said}, too few sentences for an interval"
    low, high = ends
    verdict: Verdict = "holds" if low > CORRELATED else "does not hold" if high < CORRELATED else "undecided"
    return verdict, f"{said} ({low:.2f} to {high:.2f})"


def correlation_interval(
    cell: Figure7Cell, form: Form, *, draws: int = 1000, seed: int = 0
) -> tuple[float, float] | None:
    """95 % interval of the correlation of CKA and P@1 over layers, by a bootstrap over sentences.

    Test sentences are resampled for P@1, and groups of sentences for CKA, through the jackknife's pseudo-values. None
    if there are too few sentences for groups, or if a resample is the same in all layers.
    """
    if cell.hits is None or not cell.without[form]:
        return None
    hits_LQ = np.array(cell.hits)
    groups = len(cell.without[form])
    pseudo_GL = groups * np.array(cell.values[form]) - (groups - 1) * np.array(cell.without[form])
    stream = random_stream(seed, "correlation of layers")
    found_RL = drawn_counts(hits_LQ.shape[1], draws, stream) @ hits_LQ.T
    alike_RL = drawn_counts(groups, draws, stream) @ pseudo_GL
    drawn = [pearson(a, b) for a, b in zip(alike_RL.tolist(), found_RL.tolist(), strict=True)]
    values = [r for r in drawn if r is not None]
    if len(values) < draws:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _gap(figure: Figure7, form: Form) -> Iterator[_Part]:
    gaps = []
    for column in figure.columns:
        one, other = figure.cell(column.title, "bilingual"), figure.cell(column.title, "monolingual")
        if _languages_differ(column) and one is not None and other is not None:
            gaps.append((column.title, _difference(one, other, form)))
            yield None, f"{column.title}: bilingual less monolingual {gaps[-1][1]}"
    if len(gaps) > 1:
        (near, first), (far, last) = gaps[0], gaps[-1]
        found = _Difference(first.value - last.value, (first.half**2 + last.half**2) ** 0.5)
        yield found.verdict, f"the gap of {near} less that of {far} {found}: {found.verdict}"


def _languages_differ(column: Figure7Column) -> bool:
    one, other = (code.partition("-x-")[0] for code in column.languages)
    return one != other


def _difference(one: Figure7Cell, other: Figure7Cell, form: Form) -> _Difference:
    """Difference of two cells' averages; groups are left out of both at once, since they share the sentences."""
    replicates = [fmean(a) - fmean(b) for a, b in zip(one.without[form], other.without[form], strict=True)]
    return _bounded(one.average(form) - other.average(form), replicates)


def _bounded(value: float, replicates: Sequence[float]) -> _Difference:
    return _Difference(value, half_width(replicates) if replicates else float("inf"))


def _first_less_last(values: Sequence[float]) -> float:
    half = len(values) // 2
    return fmean(values[:half]) - fmean(values[-half:])


def pearson(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson correlation of two lists; None if one of them is constant.

    >>> pearson([1, 2, 3], [2, 4, 6]), pearson([1, 1], [1, 2])
    (1.0, None)
    """
    a, b = ([value - fmean(values) for value in values] for values in (one, other))
    size = (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    return None if size < 1e-12 else min(1.0, max(-1.0, sum(x * y for x, y in zip(a, b, strict=True)) / size))
