"""Choice of alpha: by labeled text of the target language, or by a rule that needs no labels.

Liu et al. (2020) choose alpha on the target language's development set. That uses labels of the target, so it is not
zero-shot, and :class:`ChosenAlpha` records it. The rule ``nearest-mean`` needs only the means and covariances: it is
the smallest alpha at which a given share of the source's tokens, once shifted, is nearer to the target's mean than to
their own, by the distance of a linear discriminant. Along its direction w a token x crosses the middle at
w·(middle − x) / w·d, where d is the difference of the means; for Gaussian tokens, the alpha of a share is 1/2 plus a
number of standard deviations.

Shapes: ``D`` hidden size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoglot.compare.language_probe import SHRINKAGE
from isoglot.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.steer.means import LanguageMeans

Rule = Literal["target dev set", "nearest-mean"]
"""How an alpha was chosen; the first uses labels of the target language."""
SHARE = 0.9
"""Default share of tokens nearer to the target's mean."""


@dataclass(frozen=True, kw_only=True)
class ChosenAlpha:
    """An alpha and the rule that chose it."""

    alpha: float
    rule: Rule
    tried: dict[float, float]
    """score of each alpha by the rule"""

    @property
    def zero_shot(self) -> bool:
        """Whether no labels of the target language were used."""
        return self.rule != "target dev set"


def alpha_by_dev(score: Callable[[float], float], alphas: Sequence[float]) -> ChosenAlpha:
    """The alpha with the best score on a development set of the target language, among equals the smallest.

    >>> alpha_by_dev(lambda alpha: 1 - (alpha - 1) ** 2, [0.0, 0.5, 1.0, 2.0]).alpha
    1.0

    Args:
        score: Score of an alpha on the development set; higher is better.
        alphas: Alphas to try; include 0, so that no shift can win.

    Raises:
        ConfigError: There are no alphas.
        InputError: A score is NaN.
    """
    if not alphas:
        raise ConfigError("no alpha to try", remedy="give some, such as 0, 0.5, 1, 1.5, 2", code="config.invalid-value")
    tried = {float(alpha): float(score(alpha)) for alpha in sorted(alphas, key=abs)}
    for alpha, value in tried.items():
        if math.isnan(value):
            raise InputError(
                f"the score of alpha {alpha:g} is NaN",
                remedy="check the development set",
                code="input.not-finite",
            )
    return ChosenAlpha(alpha=max(tried, key=lambda alpha: tried[alpha]), rule="target dev set", tried=tried)


def alpha_by_means(means: LanguageMeans, source: str, target: str, layer: int, *, share: float = SHARE) -> ChosenAlpha:
    """The smallest alpha at which a share of tokens is nearer to the target's mean, for Gaussian tokens.

    Args:
        means: Language means with covariances.
        source: The language to shift from.
        target: The language to shift to.
        layer: Layer of the shift.
        share: Share of the tokens, between 0 and 1.

    Raises:
        ConfigError: A language has no mean, the layer none, both means are equal, or the share is out of range.
    """
    _check_share(share)
    difference_D = means.difference(source, target, layer)
    if not difference_D.any():
        raise ConfigError(
            f"{source} and {target} have equal means in layer {layer}",
            remedy="choose another layer",
            code="config.not-supported",
        )
    own_DD, their_DD = means.covariance(source, layer), means.covariance(target, layer)
    within_DD = (own_DD + their_DD) / 2
    scale_D = np.sqrt(np.diag(within_DD))
    scale_D = np.maximum(scale_D, 1e-12 * scale_D.max() + 1e-300)
    within_DD = within_DD / scale_D / scale_D[:, None] + SHRINKAGE * np.eye(len(within_DD))
    way_D = np.linalg.solve(within_DD, difference_D / scale_D) / scale_D
    deviation = math.sqrt(max(float(way_D @ own_DD @ way_D), 0.0)) / float(way_D @ difference_D)
    alpha = 0.5 + NormalDist().inv_cdf(share) * deviation
    return ChosenAlpha(alpha=alpha, rule="nearest-mean", tried={alpha: share})


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise ConfigError(
            f"a share of {share}", remedy="give a number between 0 and 1, such as 0.9", code="config.invalid-value"
        )
