"""Intervals, p-values and verdicts of claims.

A claim is a list of parts. A part is a statistic that must lie above a bound, below a bound, or between two. Its first
value is computed from the measured numbers, the others from bootstrap replicates of them.

**Interval.** The value plus or minus Student's t times the root mean square deviation of the replicates from the value.
Percentiles are not used, because 200 draws have no 0.1 % quantile, which a correction over 17 claims needs. Deviations
are from the value and not from the replicates' mean, so that statistics that resampling biases (correlations, the best
of several layers) get wider intervals. The degrees of freedom are those of the
pooled residuals over seeds, infinitely many with one seed. (Satterthwaite's would be more where test items have most of
the variance. With two or three seeds of two arms, they decided 10 % of null contrasts.)

**p-values** are two-sided, so that ``p < 0.05`` where the 95 % interval excludes the bound. A part between two bounds
is tested against each (two one-sided tests, each at 2.5 %).

**A claim** is decided in one of two directions:

- It holds if every part does: the p-value is the largest over all parts.
- It does not hold if some part is on the wrong side: the p-value is the smallest over those parts, times their number
  (Bonferroni), because any one of them would do.

At most one of the two p-values is below 1/2. The smaller one goes into Holm's correction over the claims of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoglot.core.distributions import t_quantile, t_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
"""Confidence level of the intervals; a p-value below 1 - LEVEL decides."""
MARGIN = 3.0
"""The largest difference, in points, that counts as none (W2, W3)."""
FAR = 3.0
"""A difference is much larger than another if it is at least that many times as large."""

UNLEARNED = 0.1
"""Perplexity as a share of the ids that are read, above which an encoder knows little but how frequent they are."""

Outcome = Literal["holds", "does not hold", "undecided", "undecided: at floor", "not run"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """A statistic that a claim says something about.

    Attributes:
        name: What it is, such as "Default - Wiki-CC, NER".
        values: The statistic, of shape 1 + replicates: of the measured numbers, then of each replicate.
        above: The statistic must be above this.
        below: The statistic must be below this.
        digits: Decimal places when shown.
        headroom: Score of the reference arm minus its floor; ``None`` if the floor was not measured or does not matter.
        margin: Margin at stake, in the unit of the headroom: at floor unless the headroom is above twice that.
        scale: ``fisher``: compared on the scale of Fisher's z, for correlations.
    """

    name: str
    values: np.ndarray
    above: float | None = None
    below: float | None = None
    digits: int = 1
    headroom: float | None = None
    margin: float = MARGIN
    scale: Literal["plain", "fisher"] = "plain"

    @property
    def at_floor(self) -> bool:
        """Whether the reference arm is too close to its floor for the part to say anything."""
        return self.headroom is not None and not self.headroom > 2 * self.margin

    @property
    def right(self) -> bool:
        """Whether the value itself is on the right side of every bound."""
        value = float(self.values[0])
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """A part with its interval.

    Attributes:
        name: What it is.
        value: The statistic.
        low: Lower end of its 95 % interval.
        high: Upper end.
        above: The bound it must be above.
        below: The bound it must be below.
        hold_p: p-value that it is on the right side of its bounds; 1 where it is not.
        fail_p: p-value that it is on the wrong side of a bound; 1 where it is not.
        outcome: What the part alone says, before any correction.
        digits: Decimal places when shown.
    """

    name: str
    value: float
    low: float
    high: float
    above: float | None
    below: float | None
    hold_p: float
    fail_p: float
    outcome: Outcome
    digits: int = 1

    def __str__(self) -> str:
        value, low, high = (f"{number:.{self.digits}f}" for number in (self.value, self.low, self.high))
        interval = f" [{low}, {high}]" if self.low < self.high else ""
        return f"{self.name}: {value}{interval}{bounds_in_words(self.above, self.below)}"


def bounds_in_words(above: float | None, below: float | None) -> str:
    """Bounds to follow a value; nothing for "above 0".

    >>> bounds_in_words(-3.0, 3.0), bounds_in_words(0.9, None), bounds_in_words(0.0, None)
    (' (must be between -3 and 3)', ' (must be above 0.9)', '')
    """
    if above is not None and below is not None:
        return f" (must be between {above:g} and {below:g})"
    if below is not None:
        return f" (must be below {below:g})"
    return f" (must be above {above:g})" if above else ""


def judge(part: Part, freedom: float = inf) -> PartResult:
    """Test a part.

    Args:
        part: The part.
        freedom: Degrees of freedom of the variance over seeds; infinity where there is none.
    """
    values = _scaled(part.values, part.scale)
    value, error = float(values[0]), deviation(values)
    margins = [value - float(_scaled(np.array(part.above), part.scale))] if part.above is not None else []
    margins += [float(_scaled(np.array(part.below), part.scale)) - value] if part.below is not None else []
    tails = [(margin, _two_sided(margin, error, freedom)) for margin in margins]
    hold_p = max(p if margin > 0 else 1.0 for margin, p in tails)
    fail_p = min(p if margin < 0 else 1.0 for margin, p in tails)
    outcome: Outcome = "undecided"
    if part.at_floor:
        hold_p, fail_p, outcome = 1.0, 1.0, "undecided: at floor"
    elif hold_p < 1 - LEVEL:
        outcome = "holds"
    elif fail_p < 1 - LEVEL:
        outcome = "does not hold"
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    ends = np.array([value - half, value + half])
    low, high = (np.tanh(ends) if part.scale == "fisher" else ends).tolist()
    return PartResult(
        name=part.name,
        value=float(part.values[0]),
        low=low,
        high=high,
        above=part.above,
        below=part.below,
        hold_p=hold_p,
        fail_p=fail_p,
        outcome=outcome,
        digits=part.digits,
    )


def claim_p(parts: Sequence[PartResult]) -> tuple[float, Outcome]:
    """The p-value of a claim before Holm's correction, and what it says if that is small enough.

    >>> values = np.array([3.0, 2.0, 4.0])
    >>> parts = [judge(Part(name="", values=sign * values, above=0.0)) for sign in (1, -1)]
    >>> claim_p(parts[:1])[1], claim_p(parts)[1], round(claim_p(parts)[0] / claim_p(parts[:1])[0], 6)
    ('holds', 'does not hold', 2.0)
    """
    hold_p = max(part.hold_p for part in parts)
    fail_p = min(1.0, len(parts) * min(part.fail_p for part in parts))
    return (hold_p, "holds") if hold_p <= fail_p else (fail_p, "does not hold")


def decide(parts: Sequence[PartResult], corrected_p: float) -> Outcome:
    """The verdict of a claim, from its parts and its p-value after Holm's correction."""
    if corrected_p < 1 - LEVEL:
        return claim_p(parts)[1]
    return "undecided: at floor" if any(part.outcome == "undecided: at floor" for part in parts) else "undecided"


def _scaled(values: np.ndarray, scale: str) -> np.ndarray:
    return np.arctanh(np.clip(values, -1 + 1e-12, 1 - 1e-12)) if scale == "fisher" else values


def deviation(values: np.ndarray) -> float:
    """Root mean square deviation of the replicates of a statistic from its value; 0 where there are none."""
    return float(np.sqrt(np.mean((values[1:] - values[0]) ** 2))) if len(values) > 1 else 0.0


def _two_sided(margin: float, error: float, freedom: float) -> float:
    if error < 1e-12:
        return float(abs(margin) < 1e-12)
    return 2 * t_tail(abs(margin) / error, freedom)
