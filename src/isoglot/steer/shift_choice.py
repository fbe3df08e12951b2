"""Choice of the layer and alpha of a shift.

**Measured** (:func:`choose_shift`), stored with the means: among cells with alpha above 0 and at most 5 % of tokens of
neither language, take those whose BLEU-1 is within one point of the best, and of these the one with the highest convert
rate. By BLEU-1 alone, a cell would win in which half of the tokens are unchanged.

**By labels of the target language** (:func:`alpha_by_dev`): Liu et al. (2020) choose alpha on the target language's
development set. That is not zero-shot, and :class:`ChosenAlpha` records it.

**Without labels** (:func:`alpha_by_means`): the rule ``nearest-mean`` needs only the means and covariances. It is the
smallest alpha at which a given share of the source's tokens, once shifted, is nearer to the target's mean than to their
own, by the distance of a linear discriminant. Along its direction w a token x crosses the middle at
w·(middle − x) / w·d, where d is the difference of the means; for Gaussian tokens, the alpha of a share is 1/2 plus a
number of standard deviations.

Shapes: ``D`` hidden size.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoglot.compare.language_probe import SHRINKAGE
from isoglot.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifted_decoding import Cell
    from isoglot.steer.shifts import Kind
    from isoglot.steer.sweep import Sweep

NEITHER = 0.05
"""Maximum share of tokens of neither language."""
NEAR_BEST = 1.0
"""Maximum distance from the best BLEU-1, in points."""
FALLBACK_LAYER = -2
"""The layer if nothing was measured; the paper's 11 of 12."""
FALLBACK_ALPHAS = (1.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class ShiftChoice:
    """A layer and alpha, with the scores they were chosen by.

    >>> scores = {"bleu": 22.3, "source_bleu": 3.1, "convert_rate": 0.8, "neither": 0.02}
    >>> choice = ShiftChoice(layer=7, alpha=2.0, **scores, sentences=100, text="made-up sentences")
    >>> choice.as_dict()["alpha"]
    2.0
    """

    layer: int
    alpha: float
    bleu: float
    source_bleu: float
    """BLEU-1 of the unchanged source"""
    convert_rate: float
    neither: float
    sentences: int
    text: str
    """description of the sentences"""

    def as_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def choose_shift(sweep: Sweep, *, text: str) -> ShiftChoice:
    """Choose a cell of a sweep by the rule of this module.

    Args:
        sweep: The candidates, with BLEU-1.
        text: Description of its sentences, stored with the choice.

    Returns:
        The layer and the alpha, with their scores.

    >>> import isoglot
    >>> from isoglot.steer import sweep_shifts
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> given = encoder, ["The house is old."], "en", "de", isoglot.bundled_means()
    >>> sweep = sweep_shifts(*given, layers=[7], alphas=[1.5, 2], references=["Das Haus ist alt."])
    >>> found = choose_shift(sweep, text="one made-up sentence")
    >>> found.layer, found.alpha in (1.5, 2), found.sentences
    (7, True, 1)

    Raises:
        ConfigError: There is no BLEU-1, or every cell has too many tokens of neither language.
    """
    if sweep.kind != "mean":
        problem = f"shifts of kind {sweep.kind} cannot be chosen from"
        raise ConfigError(problem, "sweep shifts of kind mean", "conflicting-options")
    cells = {
        cell: one.bleu.score
        for cell, one in sweep.scores.items()
        if cell.alpha > 0 and one.neither <= NEITHER and one.bleu is not None and one.convert_rate is not None
    }
    if not cells or sweep.source_bleu is None:
        if sweep.source_bleu is None:
            why, remedy = "no BLEU-1", "sweep parallel sentences with sacrebleu installed"
        else:
            why = f"with each, more than {NEITHER:.0%} of the tokens belong to neither language"
            remedy = "sweep more layers and alphas"
        problem = f"{sweep.source} to {sweep.target}: no layer and alpha to choose: {why}"
        raise ConfigError(problem, remedy, "not-supported")
    best = best_cell({cell: (score, sweep.scores[cell].convert_rate or 0.0) for cell, score in cells.items()})
    found = sweep.scores[best]
    return ShiftChoice(
        layer=best.layer,
        alpha=best.alpha,
        bleu=round(cells[best], 2),
        source_bleu=round(sweep.source_bleu.score, 2),
        convert_rate=round(found.convert_rate or 0.0, 4),
        neither=round(found.neither, 4),
        sentences=len(sweep.translations[best]),
        text=text,
    )


def best_cell(cells: Mapping[Cell, tuple[float, float]]) -> Cell:
    """The cell with the highest convert rate among those near the best BLEU-1.

    >>> from isoglot.steer.shifted_decoding import Cell
    >>> best_cell({Cell(6, 2.0): (22.3, 0.55), Cell(8, 2.5): (21.8, 0.82), Cell(8, 3.0): (20.8, 0.94)})
    Cell(layer=8, alpha=2.5)

    Args:
        cells: BLEU-1 and convert rate of each.
    """
    least = max(bleu for bleu, _ in cells.values()) - NEAR_BEST
    near = [cell for cell, (bleu, _) in cells.items() if bleu >= least]
    return max(near, key=lambda cell: (cells[cell][1], cells[cell][0]))


@dataclass(frozen=True)
class UsedShift:
    """Layer and alphas to use, and the measured choice they come from, if any."""

    layer: int
    alphas: tuple[float, ...]
    choice: ShiftChoice | None

    def words(self) -> str:
        """One sentence on how layer and alpha were chosen."""
        if self.choice is None:
            return ""
        one = self.choice
        return (
            f"Layer {one.layer} and α = {one.alpha:g} were chosen for this pair of languages on {one.sentences:,} "
            f"sentences of {one.text}: BLEU-1 {one.bleu:.1f} (unchanged source {one.source_bleu:.1f}), convert rate "
            f"{one.convert_rate:.2f}."
        )


def shift_to_use(
    means: LanguageMeans,
    source: str,
    target: str,
    *,
    kind: Kind = "mean",
    layer: int | None = None,
    alphas: Sequence[float] | None = None,
    fallback: Sequence[float] = FALLBACK_ALPHAS,
) -> UsedShift:
    """The given layer and alphas; if not given, as measured with the means.

    Args:
        means: Means, with measured choices if there are any.
        source: The language of the text.
        target: The language to shift to.
        kind: Kind of shift; only ``mean`` has measured choices.
        layer: Layer. Default: as measured, else the last but one. Measured alphas apply to the measured layer only.
        alphas: Alphas. Default: as measured, else the fallback.
        fallback: Alphas if nothing was measured.
    """
    choice = means.choice(source, target) if kind == "mean" and layer is None else None
    if choice is None:
        found = FALLBACK_LAYER if layer is None else layer
        return UsedShift(found, tuple(fallback if alphas is None else alphas), None)
    return UsedShift(
        choice.layer, (choice.alpha,) if alphas is None else tuple(alphas), choice if alphas is None else None
    )


Rule = Literal["target dev set", "nearest-mean"]
"""How an alpha was chosen; the first uses labels of the target language."""
SHARE = 0.9
"""Default share of tokens nearer to the target's mean."""


@dataclass(frozen=True, kw_only=True)
class ChosenAlpha:
    """An alpha and the rule that chose it.

    >>> found = alpha_by_dev(lambda alpha: 1 - (alpha - 1) ** 2, [0, 1, 2])
    >>> found.alpha, found.rule, found.zero_shot
    (1.0, 'target dev set', False)
    """

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

    Returns:
        The alpha, with the score of each.

    Raises:
        ConfigError: There are no alphas.
        InputError: A score is NaN.
    """
    if not alphas:
        raise ConfigError("no alpha to try", "give some, such as 0, 0.5, 1, 1.5, 2", "invalid-value")
    tried = {float(alpha): float(score(alpha)) for alpha in sorted(alphas, key=abs)}
    for alpha, value in tried.items():
        if math.isnan(value):
            raise InputError(f"the score of alpha {alpha:g} is NaN", "check the development set", "not-finite")
    return ChosenAlpha(alpha=max(tried, key=lambda alpha: tried[alpha]), rule="target dev set", tried=tried)


def alpha_by_means(means: LanguageMeans, source: str, target: str, layer: int, *, share: float = SHARE) -> ChosenAlpha:
    """The smallest alpha at which a share of tokens is nearer to the target's mean, for Gaussian tokens.

    Args:
        means: Language means with covariances.
        source: The language to shift from.
        target: The language to shift to.
        layer: Layer of the shift.
        share: Share of the tokens, between 0 and 1.

    Returns:
        The alpha, with the rule that chose it.

    >>> import numpy as np
    >>> from isoglot.represent import LanguageMoments
    >>> from isoglot.steer import LanguageMeans
    >>> means_LD = {"en": np.array([[0, 0]]), "de": np.array([[4, 0]])}
    >>> moments = {code: LanguageMoments((8,), 100, mean_LD, np.eye(2)[None], {}) for code, mean_LD in means_LD.items()}
    >>> round(alpha_by_means(LanguageMeans(moments, {}), "en", "de", 8).alpha, 2)
    0.82

    Raises:
        ConfigError: A language has no mean, the layer none, both means are equal, or the share is out of range.
    """
    if not 0 < share < 1:
        raise ConfigError(f"a share of {share}", "give a number between 0 and 1, such as 0.9", "invalid-value")
    difference_D = means.difference(source, target, layer)
    if not difference_D.any():
        problem = f"{source} and {target} have equal means in layer {layer}"
        raise ConfigError(problem, "choose another layer", "not-supported")
    own_DD, their_DD = means.covariance(source, layer), means.covariance(target, layer)
    within_DD = (own_DD + their_DD) / 2
    scale_D = np.sqrt(np.diag(within_DD))
    scale_D = np.maximum(scale_D, 1e-12 * scale_D.max() + 1e-300)
    within_DD = within_DD / scale_D / scale_D[:, None] + SHRINKAGE * np.eye(len(within_DD))
    way_D = np.linalg.solve(within_DD, difference_D / scale_D) / scale_D
    deviation = math.sqrt(max(float(way_D @ own_DD @ way_D), 0.0)) / float(way_D @ difference_D)
    alpha = 0.5 + NormalDist().inv_cdf(share) * deviation
    return ChosenAlpha(alpha=alpha, rule="nearest-mean", tried={alpha: share})
