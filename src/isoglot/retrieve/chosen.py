"""How sure a figure is that was chosen among others by looking at all of them, as the best layer is.

Of many figures that are all noise, one is the highest. So its interval is so wide that those of all hold at once
(:func:`chosen_interval`), and it is ahead of another only by intervals that do (:func:`leads`).

Shape legend: ``S`` samples, the first being the items as they are, the others drawn anew; ``C`` figures to choose from.
"""

from __future__ import annotations

import numpy as np

from isoglot.retrieve.metrics import Interval

LEVEL = 0.95


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
            critical_S = np.maximum(critical_S, _standardised(between_SC, between_SC.std(axis=0)).max(axis=1))
    critical = float(np.quantile(critical_S, LEVEL))
    found = []
    for other in range(away_SC.shape[1]):
        lead = float(samples_SC[0, chosen] - samples_SC[0, other])
        half = critical * float((away_SC[:, chosen] - away_SC[:, other]).std())
        found.append(Interval(lead, round(lead - half, 12), round(lead + half, 12)))
    return found


def _critical(away_SC: np.ndarray, spread_C: np.ndarray) -> float:
    """So many standard deviations hold all figures at once."""
    return float(np.quantile(_standardised(away_SC, spread_C).max(axis=1), LEVEL))


def _standardised(away_SC: np.ndarray, spread_C: np.ndarray) -> np.ndarray:
    standardised_SC: np.ndarray = np.abs(away_SC) / np.where(spread_C > 0, spread_C, 1.0)
    return standardised_SC
