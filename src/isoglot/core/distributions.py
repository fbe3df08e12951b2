"""Tail probabilities and quantiles of Student's t and of F, with the standard library alone.

Both are the regularized incomplete beta function, here by its continued fraction (Abramowitz and Stegun, 26.5.8).
"""

from __future__ import annotations

from functools import cache
from math import erfc, exp, inf, isnan, lgamma, log, log1p, nan, sqrt

_TINY = 1e-300


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function I_x(a, b).

    >>> round(incomplete_beta(2, 3, 0.5), 6)  # P(at least 2 heads of 4)
    0.6875
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction of the complement converges quickly
        return 1 - incomplete_beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # Lentz's method: the fraction as a product of ratios of two recurrences.
    upper, lower = 1.0, 1.0 / (1 - (a + b) * x / (a + 1))
    fraction = lower
    for step in range(1, 500):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            lower = 1 / (1 + term * lower or _TINY)
            upper = 1 + term / upper or _TINY
            fraction *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return front * fraction / a


def f_tail(f: float, numerator: float, denominator: float) -> float:
    """The p-value of an F ratio with the given degrees of freedom: P(F >= f).

    >>> round(f_tail(4.0, 2, 287), 4)
    0.0193
    """
    if isnan(f) or f == inf:
        return nan if isnan(f) else 0.0
    return incomplete_beta(denominator / 2, numerator / 2, denominator / (denominator + numerator * f))


def t_tail(t: float, freedom: float) -> float:
    """The probability that Student's t is above a value of at least 0; with infinite freedom, a normal variable.

    >>> round(t_tail(2.365, 7), 4), round(t_tail(1.96, inf), 4)
    (0.025, 0.025)
    """
    if freedom > 1e6:
        return 0.5 * erfc(t / sqrt(2))
    return 0.5 * f_tail(t * t, 1, freedom)


@cache
def t_quantile(share: float, freedom: float) -> float:
    """The quantile of Student's t for a share above one half.

    >>> round(t_quantile(0.975, 7), 3), round(t_quantile(0.975, inf), 3)
    (2.365, 1.96)
    """
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > 1 - share:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > 1 - share else (low, middle)
    return high


def t_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the mean of independent values; infinitely wide for a single one.

    >>> low, high = t_interval([1.0, 2.0, 3.0])
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return -inf, inf
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    half = t_quantile((1 + confidence) / 2, count - 1) * sqrt(variance / count)
    return mean - half, mean + half
