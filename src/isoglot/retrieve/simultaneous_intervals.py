"""How sure a figure is that was chosen among others by looking at all of them, as the best layer is.

Of many figures that are all noise, one is the highest. Two ways to allow for that:

- Simultaneous intervals: so wide that those of all figures hold at once (:func:`chosen_interval`, :func:`leads`).
- Other items: the best is chosen on one half of the items and scored on the other, both ways
  (:func:`by_other_half`); what it comes to has no luck of the choice in it. This needs some hundred items.

Whether another figure is as good is a paired test with a margin (:func:`stand`): that a difference is not significant
shows nothing, since with few items no difference is.

Shape legend: ``S`` samples, the first being the items as they are, the others drawn anew; ``C`` figures to choose from;
``Q`` items.
"""

from __future__ import annotations

from math import erfc
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.rng import random_stream
from isoglot.retrieve.metrics import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
MARGIN = 0.03
"""Figures that differ by surely less than this are as good as each other: three points."""
ENOUGH = 100
"""Items from which on the best is chosen on one half of them and scored on the other."""

Standing = Literal["worse", "as good", "undecided"]


class ComparedScore(NamedTuple):
    """A figure beside the best: how far the best is ahead, and what a paired test says of it."""

    lead: Interval
    verdict: Standing


def interval(samples_S: np.ndarray) -> Interval:
    """The figure itself and where 95 % of its samples are.

    >>> interval(np.array([0.5, 0.4, 0.6]))
    Interval(value=0.5, low=0.405, high=0.595)
    """
    low, high = np.quantile(samples_S[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(samples_S[0]), round(float(low), 12), round(float(high), 12))


def chosen_interval(samples_SC: np.ndarray, chosen: int) -> Interval:
    """The interval of a figure that was chosen among others: with 95 %, all of theirs hold at once.

    Args:
        samples_SC: All that could have been chosen.
        chosen: Which was.
    """
    away_SC = samples_SC[1:] - samples_SC[0]
    spread_C = away_SC.std(axis=0)
    half = _critical(away_SC, spread_C) * float(spread_C[chosen])
    value = float(samples_SC[0, chosen])
    return Interval(value, round(value - half, 12), round(value + half, 12))


def as_share(found: Interval) -> Interval:
    """The interval of a share, which is neither below 0 nor above 1.

    >>> as_share(Interval(0.99, 0.97, 1.01))
    Interval(value=0.99, low=0.97, high=1.0)
    """
    return Interval(found.value, max(found.low, 0.0), min(found.high, 1.0))


def leads(samples_SC: np.ndarray, chosen: int) -> list[Interval]:
    """By how much the chosen figure is above each of the others: intervals that hold at once for any two of them."""
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
    """So many standard deviations hold all figures at once."""
    return float(np.quantile(_standardized(away_SC, spread_C).max(axis=1), LEVEL))


def _standardized(away_SC: np.ndarray, spread_C: np.ndarray) -> np.ndarray:
    standardised_SC: np.ndarray = np.abs(away_SC) / np.where(spread_C > 0, spread_C, 1.0)
    return standardised_SC


def halves(count: int, *, seed: int, name: str = "") -> np.ndarray | None:
    """Which half each item is in (bool), drawn at random; None where there are too few to choose on half of them."""
    if count < ENOUGH:
        return None
    return random_stream(seed, "halves", name).permutation(np.arange(count) % 2 == 0)


def by_other_half(hits: Sequence[np.ndarray], parts: Sequence[np.ndarray]) -> tuple[list[np.ndarray], tuple[int, int]]:
    """The figure that is best on one half of the items, scored on the other, both ways.

    Args:
        hits: Some groups of items (Q × C each); the best is by the mean over groups.
        parts: The half of each item of each group.

    Returns:
        For each group, what every item has by the figure chosen without it (Q), and the two that were chosen: the one
        by which the first half is scored, and the one by which the second is.

    >>> both = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> by_other_half([both], [np.array([True, False, True, False])])
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


def stand(best_S: np.ndarray, others_SC: np.ndarray, items: int, *, margin: float = MARGIN) -> list[ComparedScore]:
    """How each of the others stands beside the best, by paired tests over the same samples, Holm-corrected.

    ``as good``: two one-sided tests put the difference within the margin. ``worse``: it is surely above zero. Else
    ``undecided``: these items cannot tell.

    Args:
        best_S: The best.
        others_SC: Those to hold beside it.
        items: How many the samples are drawn from. The standard error is at least that of one item that differs: where
            none does, the next one may.
        margin: The largest difference that does not matter.
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


def _tail(distance: float, error: float) -> float:
    """The chance that a normal variable is farther from its mean than that, on one side."""
    return 0.5 * erfc(distance / error / 2**0.5)


def holm(p_values: np.ndarray | Sequence[float]) -> np.ndarray:
    """Holm's correction over a table: p-values of which all below 0.05 may be believed at once, with 95 %.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none gets below the one before, or above 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]

    Args:
        p_values: A list or a table of any shape; NaN where nothing was compared, which stays and does not count.

    Raises:
        InputError: A p-value is not between 0 and 1.
    """
    table = np.asarray(p_values, float)
    there = ~np.isnan(table)
    found_M = table[there]
    wrong_M = found_M[(found_M < 0) | (found_M > 1)]
    if len(wrong_M):
        raise InputError(f"the p-value {wrong_M[0]}", remedy="p-values are between 0 and 1", code="input.out-of-range")
    order_M = np.argsort(found_M, kind="stable")
    corrected_M = np.empty_like(found_M)
    steps_M = found_M[order_M] * np.arange(len(found_M), 0, -1)
    corrected_M[order_M] = np.minimum(np.maximum.accumulate(steps_M), 1.0)
    corrected = np.full(table.shape, np.nan)
    corrected[there] = corrected_M
    return corrected
