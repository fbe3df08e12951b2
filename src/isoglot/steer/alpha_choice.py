"""How far to shift: by labelled text of the target language, or by a rule that needs none.

The second paper tries weights on the target language's development set. That is a choice with labels of the target, so
it is no longer zero-shot, and :class:`ChosenAlpha` says so. Two rules need nothing but means, or a source text:

- ``nearest-mean``: the least alpha at which a share of the source's tokens, shifted, is nearer to the target's mean
  than to their own, by a distance that takes their spread into account, as a linear probe does: a direction in which
  tokens scatter widely says little. Along the probe's direction w a token x gets there at w·(middle − x) / w·d, where d
  is the difference of the means and the middle lies half-way; were tokens Gaussian, the alpha of a share is 1/2 plus so
  many standard deviations. It needs no softmax.
- ``decoded``: the least alpha at which a share of the decoded tokens are the target's: convert rate, found by halving.
  It needs a softmax, and so knows what the model does with the shift.

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
from isoglot.core.progress import SILENT
from isoglot.represent.layer_pass import chosen_layers
from isoglot.steer.scores import convert_rate
from isoglot.steer.token_translation import known_sets, translate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.sentences import Sentences
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Kind
    from isoglot.steer.token_sets import TokenSets

Rule = Literal["target dev set", "nearest-mean", "decoded"]
"""What chose an alpha; the first has seen labels of the target language."""
SHARE = 0.9
"""Of the tokens, that are to be nearer to the target's mean, unless told."""
DECODED = 0.5
"""The convert rate to reach, unless told. Farther on, a few frequent words of the target come to stand for all."""


@dataclass(frozen=True, kw_only=True)
class ChosenAlpha:
    """An alpha, and what chose it."""

    alpha: float
    rule: Rule
    tried: dict[float, float]
    """what each alpha that was tried came to, by the rule's own figure"""

    @property
    def zero_shot(self) -> bool:
        """Whether no label of the target language was used."""
        return self.rule != "target dev set"


def alpha_by_dev(score: Callable[[float], float], alphas: Sequence[float]) -> ChosenAlpha:
    """The alpha with the best score on a development set of the target language, among equals the smallest.

    >>> alpha_by_dev(lambda alpha: 1 - (alpha - 1) ** 2, [0.0, 0.5, 1.0, 2.0]).alpha
    1.0

    Args:
        score: What an alpha comes to there; higher is better.
        alphas: Those to try; 0 among them, so that not to shift can win.

    Raises:
        ConfigError: There is none to try.
        InputError: A score is no number.
    """
    if not alphas:
        raise ConfigError("no alpha to try", remedy="give some, such as 0, 0.5, 1, 1.5, 2", code="config.invalid-value")
    tried = {float(alpha): float(score(alpha)) for alpha in sorted(alphas, key=abs)}
    for alpha, value in tried.items():
        if math.isnan(value):
            raise InputError(
                f"the score of alpha {alpha:g} is no number",
                remedy="check the development set",
                code="input.not-finite",
            )
    return ChosenAlpha(alpha=max(tried, key=lambda alpha: tried[alpha]), rule="target dev set", tried=tried)


def alpha_by_means(means: LanguageMeans, source: str, target: str, layer: int, *, share: float = SHARE) -> ChosenAlpha:
    """The least alpha at which that share of tokens is nearer to the target's mean, were tokens Gaussian.

    Args:
        means: What the encoder's languages are; nothing else is needed.
        source: The language to shift from.
        target: The language to shift to.
        layer: Where.
        share: Of the tokens, above 0 and below 1.

    Raises:
        ConfigError: A language has no mean, the layer none, both means are the same, or the share will not do.
    """
    _check_share(share)
    difference_D = means.difference(source, target, layer)
    if not difference_D.any():
        raise ConfigError(
            f"{source} and {target} have the same mean in layer {layer}",
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


def alpha_by_decoding(
    encoder: EncoderLike,
    sentences: Sentences,
    source: str,
    target: str,
    means: LanguageMeans,
    *,
    layer: int = -2,
    sets: TokenSets | None = None,
    share: float = DECODED,
    most: float = 8.0,
    within: float = 0.05,
    kind: Kind = "mean",
    progress: Progress = SILENT,
) -> ChosenAlpha:
    """The least alpha at which that share of the decoded tokens are the target's, by halving.

    Args:
        encoder: Any encoder with a softmax over pieces.
        sentences: Text of the source language; a hundred sentences will do.
        source: The language to shift from.
        target: The language to shift to.
        means: What the encoder's languages are.
        layer: Where.
        sets: Which tokens are whose.
        share: The convert rate to reach, above 0 and below 1.
        most: The largest alpha to try; taken where the share is not reached at all.
        within: How near to the least alpha to come.
        kind: How tokens move.
        progress: Shows how far it is.

    Raises:
        ConfigError: A language has no mean or token set, a layer does not exist, or the share will not do.
        InputError: There is no sentence, or one is empty.
    """
    _check_share(share)
    (number,) = chosen_layers([layer], encoder.depth)
    if (known := known_sets(encoder.vocabulary, sets, source, target)) is None:
        raise ConfigError("which tokens are whose is not known", remedy="give token sets", code="config.missing-data")
    tried: dict[float, float] = {}

    def enough(alpha: float) -> bool:
        made = translate_tokens(
            encoder, sentences, source, target, means, alpha=alpha, layer=number, sets=known, kind=kind
        )
        tried[alpha] = float(np.nan_to_num(convert_rate(made, known, source, target)))
        return tried[alpha] >= share

    low, high = 0.0, 1.0
    with progress.task("alpha", total=None, unit="tries") as task:
        while not enough(high) and high < most:
            low, high = high, min(2 * high, most)
            task.advance()
        while high - low > within and tried[high] >= share:
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
            task.advance()
    return ChosenAlpha(alpha=high, rule="decoded", tried=dict(sorted(tried.items())))


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise ConfigError(
            f"a share of {share}", remedy="give one above 0 and below 1, such as 0.9", code="config.invalid-value"
        )
