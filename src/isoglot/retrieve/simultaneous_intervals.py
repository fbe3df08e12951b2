"""Inference for a score that was chosen as the best of several, such as that of the best layer.

The highest of many noisy scores is biased upward. Two remedies:

- Simultaneous intervals, wide enough to hold for all scores at once (:func:`chosen_interval`, :func:`leads`).
- Sample splitting: the best is chosen on one half of the items and scored on the other, both ways
  (:func:`choose_by_other_half`). This needs a hundred items or more.

Whether another score is as good is a paired equivalence test with a margin (:func:`compare_with_best`): a difference
that is not significant shows nothing, since with few items no difference is.

Shape legend: ``S`` samples, the first being the observed items, the others bootstrap resamples; ``C`` scores to choose
from; ``Q`` items.
"""

from __future__ import annotations

from math import erfc
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.rng import random_stream
from isoglot.retrieve.metrics import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
MARGIN = 0.03
"""Equivalence margin: scores that differ by less are as good as each other (three points)."""
ENOUGH = 100
"""Minimum number of items for sample splitting."""

Standing = Literal["worse", "as good", "undecided"]
_OPEN: tuple[Standing, ...] = ("as good", "undecided")
NameT = TypeVar("NameT")


class ComparedScore(NamedTuple):
    """A score beside the best: the lead of the best, and the verdict of a paired test."""

    lead: Interval
    verdict: Standing


def interval(samples_S: np.ndarray) -> Interval:
    """The observed score with its 95 % percentile interval.

    >>> interval(np.array([0.5, 0.4, 0.6]))
    Interval(value=0.5, low=0.405, high=0.595)
    """
    low, high = np.quantile(samples_S[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(samples_S[0]), round(float(low), 12), round(float(high), 12))


def chosen_interval(samples_SC: np.ndarray, chosen: int) -> Interval:
    """Interval of a score that was chosen among others; the intervals of all hold at once with 95 % confidence.

    Args:
        samples_SC: All scores that could have been chosen.
        chosen: Number of the chosen one.
    """
    away_SC = samples_SC[1:] - samples_SC[0]
    spread_C = away_SC.std(axis=0)
    half = _critical(away_SC, spread_C) * float(spread_C[chosen])
    value = float(samples_SC[0, chosen])
    return Interval(value, round(value - half, 12), round(value + half, 12))


def as_share(found: Interval) -> Interval:
    """Interval clipped to [0, 1].

    >>> as_share(Interval(0.99, 0.97, 1.01))
    Interval(value=0.99, low=0.97, high=1.0)
    """
    return Interval(found.value, max(found.low, 0.0), min(found.high, 1.0))


def leads(samples_SC: np.ndarray, chosen: int) -> list[Interval]:
    """Lead of the chosen score over each of the others, with intervals that hold at once for any two of them."""
    away_SC = samples_SC[1:] - samples_SC[0]
    critical_S = np.zeros(len(away_SC))
    for one in range(away_SC.shape[1]):
        between_SC = away_SC[:, [one]] - away_SC[:, :one]
        if one:
            critical_S = np.maximum(critical_S, _standardized(between_SC, between_SC.std(axis=0)).max(axis=1))
    critical = float(np.quantile(critical_S, LEVEL))
    found = []
    for other in range(away_SC.shape[1]):
        lead = float(samples_SC[0, chosen] - samples_SC[0, other])
        half = critical * float((away_SC[:, chosen] - away_SC[:, other]).std())
        found.append(Interval(lead, round(lead - half, 12), round(lead + half, 12)))
    return found


def _critical(away_SC: np.ndarray, spread_C: np.ndarray) -> float:
    """Number of standard deviations that covers all scores at once."""
    return float(np.quantile(_standardized(away_SC, spread_C).max(axis=1), LEVEL))


def _standardized(away_SC: np.ndarray, spread_C: np.ndarray) -> np.ndarray:
    standardised_SC: np.ndarray = np.abs(away_SC) / np.where(spread_C > 0, spread_C, 1.0)
    return standardised_SC


def halves(count: int, *, seed: int, name: str = "") -> np.ndarray | None:
    """Random half of each item (boolean); None if there are too few items for sample splitting."""
    if count < ENOUGH:
        return None
    return random_stream(seed, "halves", name).permutation(np.arange(count) % 2 == 0)


def choose_by_other_half(
    hits: Sequence[np.ndarray], parts: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], tuple[int, int]]:
    """Choose the best score on one half of the items and score it on the other, both ways.

    Args:
        hits: Groups of items (Q × C each); the best is by the mean over groups.
        parts: Half of each item of each group.

    Returns:
        For each group, the score of every item by the choice made without it (Q), and the two choices: that for the
        first half, and that for the second.

    >>> both = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> choose_by_other_half([both], [np.array([True, False, True, False])])
    ([array([1., 1., 0., 1.])], (0, 0))
    """
    chosen = [
        int(
            np.mean(
                [hits_QC[half_Q == side].mean(axis=0) for hits_QC, half_Q in zip(hits, parts, strict=True)], axis=0
            ).argmax()
        )
        for side in (False, True)
    ]
    scored = [
        np.where(half_Q, hits_QC[:, chosen[0]], hits_QC[:, chosen[1]])
        for hits_QC, half_Q in zip(hits, parts, strict=True)
    ]
    return scored, (chosen[0], chosen[1])


def compare_with_best(
    best_S: np.ndarray, others_SC: np.ndarray, items: int, *, margin: float = MARGIN
) -> list[ComparedScore]:
    """Compare each of the others with the best by paired tests over the same samples, Holm-corrected.

    ``as good``: two one-sided tests put the difference within the margin. ``worse``: the difference is significantly
    above zero. Else ``undecided``.

    Args:
        best_S: Samples of the best score.
        others_SC: Samples of the others.
        items: Number of items. The standard error is at least that of one differing item: where none differs, the next
            one may.
        margin: Largest difference that does not matter.
    """
    differences_SC = best_S[:, None] - others_SC
    errors_C = np.maximum(differences_SC[1:].std(axis=0), 1 / items)
    tested = list(zip(differences_SC[0].tolist(), errors_C.tolist(), strict=True))
    within = [max(_tail(margin - ahead, error), _tail(margin + ahead, error)) for ahead, error in tested]
    apart = [min(1.0, 2 * _tail(abs(ahead), error)) for ahead, error in tested]
    found = []
    for number, (equal, unequal) in enumerate(zip(holm(within), holm(apart), strict=True)):
        verdict: Standing = "undecided"
        if equal < 1 - LEVEL:
            verdict = "as good"
        elif unequal < 1 - LEVEL and tested[number][0] > 0:
            verdict = "worse"
        found.append(ComparedScore(interval(differences_SC[:, number]), verdict))
    return found


def others_as_good(
    names: Sequence[NameT],
    best_S: np.ndarray,
    others_SC: np.ndarray,
    items: int,
    *,
    ahead: Sequence[Interval] | None = None,
) -> tuple[tuple[NameT, ...], tuple[NameT, ...]]:
    """Others that are as good as the best by a paired test, and those that the test cannot decide about.

    Args:
        names: Name of each of the others.
        best_S: Samples of the best score.
        others_SC: Samples of the others.
        items: Number of items.
        ahead: Lead of the best over each, with simultaneous intervals, if the best was chosen and scored on the same
            items; then an other is worse only if its interval excludes 0.
    """
    verdicts = [one.verdict for one in compare_with_best(best_S, others_SC, items)]
    if ahead is not None:
        verdicts = [
            "undecided" if each == "worse" and lead.low <= 0 else each
            for each, lead in zip(verdicts, ahead, strict=True)
        ]
    found = [tuple(name for name, each in zip(names, verdicts, strict=True) if each == wanted) for wanted in _OPEN]
    return found[0], found[1]


def _tail(distance: float, error: float) -> float:
    """One-sided tail probability of a normal distribution."""
    return 0.5 * erfc(distance / error / 2**0.5)


def holm(p_values: np.ndarray | Sequence[float]) -> np.ndarray:
    """Holm's correction of p-values for multiple testing.

    The smallest of m is multiplied by m, the next by m - 1, and so on; the results are monotone and at most 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]

    Args:
        p_values: An array of any shape; NaN entries are ignored and stay.

    Raises:
        InputError: A p-value is not between 0 and 1.
    """
    table = np.asarray(p_values, float)
    there = ~np.isnan(table)
    found_M = table[there]
    wrong_M = found_M[(found_M < 0) | (found_M > 1)]
    if len(wrong_M):
        raise InputError(f"the p-value {wrong_M[0]}", "p-values are between 0 and 1", "out-of-range")
    order_M = np.argsort(found_M, kind="stable")
    corrected_M = np.empty_like(found_M)
    steps_M = found_M[order_M] * np.arange(len(found_M), 0, -1)
    corrected_M[order_M] = np.minimum(np.maximum.accumulate(steps_M), 1.0)
    corrected = np.full(table.shape, np.nan)
    corrected[there] = corrected_M
    return corrected
