"""Masking: which positions of a row the model has to predict, and what it sees there.

Every row has exactly k of them, drawn uniformly without replacement, or each position is one with the same probability
(``draw``); either way all shapes are known before the data is.
At a position the model sees ``[MASK]`` (80 %), the word itself (10 %) or a random word (10 %). All draws are keyed by
(seed, step, row): a row is masked the same in whatever batch, part or process it comes.

Rows of a stream have special tokens at both ends and perhaps separators inside: :meth:`Masker.masked`. Where there are
others (pairs, padding), :meth:`Masker.masked_among` is told where not to look. ``[UNK]`` in a text stands for a
word and is predicted like one; other special tokens never are.

Shapes: ``B`` rows of a batch, ``T`` tokens of a row, ``K`` masked positions of a row, ``V`` vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isclose, sqrt
from typing import TYPE_CHECKING, Literal, Self, TypeVar

import torch
from pydantic import Field, model_validator

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.pretrain.counter_rng import LARGEST, below, draws, high, step_key, stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from torch import Tensor

    from isoglot.vocab.vocabulary import Vocabulary

Draw = Literal["exact", "binomial"]
"""``exact`` masks the rate times a row's tokens, rounded (BERT): 3 of 18 are 16.7 %. ``binomial`` masks each token with
that probability by itself (XLM): the share is the same for rows of any length."""
RandomFrom = Literal["vocabulary", "language"]
"""``vocabulary`` draws random words from all pieces, ``language`` from those the row's language has."""

Count = TypeVar("Count", int, torch.Tensor)

IGNORED = -100
"""The target where there is nothing to predict: what torch's cross entropy leaves out."""

_PLACE_BITS = 16  # the lowest bits of a draw are its position: no two are equal, and no device breaks a tie its own way
_RATE_BITS = 40
_FATE_BITS = 24
_MULTIPLE = 128  # rows of a product that suit matrix units


class MaskingConfig(Config):
    """How much is masked, and with what."""

    rate: float = Field(0.15, gt=0, le=1)
    """The share of a row's tokens to predict."""

    draw: Draw = "exact"
    """whether that share of every row is masked, rounded (exact), or each token with that probability (binomial)"""

    rate_end: float | None = Field(None, gt=0, le=1)
    """The share at the end of the run, reached in a straight line; none: the same all the time."""

    mask: float = Field(0.8, ge=0, le=1)
    """How often the model sees [MASK] there."""

    keep: float = Field(0.1, ge=0, le=1)
    """How often it sees the word itself."""

    random: float = Field(0.1, ge=0, le=1)
    """How often it sees a random word."""

    random_from: RandomFrom = "vocabulary"
    """Where random words come from: "vocabulary" is all pieces, "language" those of the row's language."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not isclose(total := self.mask + self.keep + self.random, 1, abs_tol=1e-6):
            raise ValueError(f"mask, keep and random add up to {total:g}, not to 1")
        return self

    def rate_at(self, progress: float) -> float:
        """The rate when that share of the run is done, from 0 to 1."""
        end = self.rate if self.rate_end is None else self.rate_end
        return self.rate + (end - self.rate) * min(max(progress, 0.0), 1.0)

    def positions(self, candidates: int, progress: float = 0.0) -> int:
        """How many of that many tokens are masked at most.

        Exact: the rate of them, a half rounded up, at least one. Binomial: five standard deviations above the mean,
        which one row of three million exceeds; it keeps the others.

        >>> MaskingConfig().positions(254), MaskingConfig().positions(10), MaskingConfig().positions(1)
        (38, 2, 1)
        >>> MaskingConfig(draw="binomial").positions(254), MaskingConfig(draw="binomial").positions(18)
        (67, 11)
        """
        if self.draw == "binomial":
            mean = candidates * self.rate_at(progress)
            return min(candidates, ceil(mean + 5 * sqrt(mean * (1 - self.rate_at(progress)))))
        return min(candidates, max(1, _share_of(candidates, self.rate_at(progress))))

    def positions_of_rows(self, rows: int, candidates: int) -> int | None:
        """How many tokens of all rows together are masked at most; None: there is no bound below that of each row.

        With ``binomial`` draws, the rows together are much nearer to their mean than one row is: five standard
        deviations above it, a multiple of 128. With a rate that changes there is no bound: each is another shape.

        >>> MaskingConfig().positions_of_rows(256, 254), MaskingConfig(draw="binomial").positions_of_rows(256, 254)
        (None, 10240)
        """
        if self.draw != "binomial" or self.rate_end not in (None, self.rate):
            return None
        together = ceil(self.positions(rows * candidates) / _MULTIPLE) * _MULTIPLE
        return together if together < rows * self.positions(candidates) else None


def _share_of(count: Count, rate: float) -> Count:
    """``rate * count`` rounded, in whole numbers: a tensor on any device gives what an int does."""
    share: Count = (count * ceil(rate * 2**_RATE_BITS) + 2 ** (_RATE_BITS - 1)) >> _RATE_BITS
    return share


@dataclass(frozen=True)
class Masked:
    """Rows to learn from.

    Attributes:
        inputs_BT: What the model sees.
        at_BK: The masked positions of each row, ascending.
        targets_BK: The ids that were there; :data:`IGNORED` (at position 0, after all others) where a row has fewer.
    """

    inputs_BT: Tensor
    at_BK: Tensor
    targets_BK: Tensor


def random_pools(
    vocabulary: Vocabulary, languages: Iterable[str], random_from: RandomFrom = "vocabulary"
) -> dict[str, np.ndarray]:
    """The ids random words are drawn from, for each language; no special tokens.

    Raises:
        ConfigError: A language has nothing but special tokens.
    """
    import numpy as np

    special = list(vocabulary.special.values())
    pools = {}
    for language in languages:
        own = vocabulary.ids_of(language) if random_from == "language" else np.arange(len(vocabulary))
        pools[language] = np.setdiff1d(own, special)
        if not len(pools[language]):
            raise ConfigError(
                f"the vocabulary has no pieces for {language!r}",
                remedy="train it on text of that language",
                code="config.unknown-language",
            )
    return pools


class Masker:
    """Masks rows of ids on their device.

    Args:
        config: How much is masked, and with what.
        mask_id: The id of ``[MASK]``.
        ends: Special tokens before and after the text of a row.
        pools: The ids random words are drawn from, for each language: see :func:`random_pools`.
        seed: The run's seed.
        device: Where the rows will be.
    """

    def __init__(
        self,
        config: MaskingConfig,
        *,
        mask_id: int,
        ends: tuple[int, int] = (1, 1),
        pools: Mapping[str, np.ndarray],
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        self.config, self.mask_id, self.ends, self.seed = config, mask_id, ends, seed
        self._stream = stream(seed, "masking")
        self.pools = {code: torch.as_tensor(pool, dtype=torch.int64, device=device) for code, pool in pools.items()}

    @classmethod
    def for_vocabulary(
        cls,
        config: MaskingConfig,
        vocabulary: Vocabulary,
        languages: Iterable[str],
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> Self:
        """A masker for rows of that vocabulary."""
        pools = random_pools(vocabulary, languages, config.random_from)
        layout = vocabulary.layout
        ends = len(layout.before), len(layout.after)
        return cls(config, mask_id=vocabulary.mask_id, ends=ends, pools=pools, seed=seed, device=device)

    def masked(
        self,
        ids_BT: Tensor,
        step: int | Tensor,
        rows_B: Tensor,
        language: str,
        *,
        progress: float = 0.0,
        separator: int | None = None,
        pad: int | None = None,
    ) -> Masked:
        """Mask rows that have special tokens at both ends and nowhere else, but for separators and padding.

        Args:
            ids_BT: Rows such as ``[CLS] ids… [SEP]``, int64.
            step: The step of the run, or a 0-dim int64 tensor of it.
            rows_B: The number of each row among all rows of the step.
            language: Whose pool random words come from.
            progress: The share of the run that is done, for a rate that changes.
            separator: The id of separators inside the rows; None: there are none.
            pad: The id of padding behind them; None: there is none.
        """
        if separator is not None or pad is not None or self.config.draw == "binomial":
            candidates_BT = torch.ones_like(ids_BT, dtype=torch.bool)
            for never in (separator, pad):
                if never is not None:
                    candidates_BT &= ids_BT != never
            candidates_BT[:, : self.ends[0]] = False
            candidates_BT[:, ids_BT.shape[1] - self.ends[1] :] = False
            return self.masked_among(ids_BT, candidates_BT, step, rows_B, language, progress=progress)
        length = ids_BT.shape[1]
        count = self.config.positions(length - sum(self.ends), progress)
        draws_BN = draws(step_key(self._stream, step), rows_B, length + 2 * count)
        order_BT = _order(draws_BN[:, :length])
        text_BW = order_BT[:, self.ends[0] : length - self.ends[1]]
        at_BK = _places(text_BW.topk(count, largest=False, sorted=False).values).sort().values
        targets_BK = ids_BT.gather(1, at_BK)
        seen_BK = self._seen(targets_BK, draws_BN[:, length:], language)
        return Masked(ids_BT.scatter(1, at_BK, seen_BK), at_BK, targets_BK)

    def masked_among(
        self,
        ids_BT: Tensor,
        candidates_BT: Tensor,
        step: int | Tensor,
        rows_B: Tensor,
        language: str,
        *,
        progress: float = 0.0,
    ) -> Masked:
        """Mask rows with special tokens anywhere: only where ``candidates_BT`` is True.

        K is that of a row of one text, the fullest there is. A row with fewer candidates has its own
        share of them masked, and the rest of its K targets are :data:`IGNORED`. Arguments as in :meth:`masked`.
        """
        length = ids_BT.shape[1]
        count = self.config.positions(length - sum(self.ends), progress)
        draws_BN = draws(step_key(self._stream, step), rows_B, length + 2 * count)
        order_BT = torch.where(candidates_BT, _order(draws_BN[:, :length]), LARGEST)
        first_BK = order_BT.topk(count, largest=False, sorted=True).values
        at_BK = _places(first_BK)
        if self.config.draw == "binomial":
            wanted_BK = first_BK < min(int(self.config.rate_at(progress) * LARGEST), LARGEST)
        else:
            own_B1 = candidates_BT.sum(1, keepdim=True)
            share_B1 = _share_of(own_B1, self.config.rate_at(progress)).clamp(min=1).minimum(own_B1)
            wanted_BK = torch.arange(count, device=ids_BT.device) < share_B1
        at_BK = torch.where(wanted_BK, at_BK, length).sort().values
        wanted_BK = at_BK < length
        at_BK = torch.where(wanted_BK, at_BK, 0)
        there_BK = ids_BT.gather(1, at_BK)
        # Surplus positions are 0 and put back what is there, so it does not matter which of them writes last.
        seen_BK = torch.where(wanted_BK, self._seen(there_BK, draws_BN[:, length:], language), there_BK)
        return Masked(ids_BT.scatter(1, at_BK, seen_BK), at_BK, torch.where(wanted_BK, there_BK, IGNORED))

    def _seen(self, targets_BK: Tensor, draws_BN: Tensor, language: str) -> Tensor:
        """What stands at the masked positions: the mask, the word itself, or a random one."""
        if language not in self.pools:
            raise ConfigError(
                f"no masking for language {shown(language)}",
                remedy=nearest_name(language, self.pools),
                code="config.unknown-name",
            )
        pool_N = self.pools[language]
        count = targets_BK.shape[1]
        random_BK = pool_N[below(draws_BN[:, count:], len(pool_N))]
        fate_BK = high(draws_BN[:, :count], _FATE_BITS)
        mask, keep = (round(edge * 2**_FATE_BITS) for edge in (self.config.mask, 1 - self.config.random))
        kept_BK = torch.where(fate_BK < keep, targets_BK, random_BK)
        return torch.where(fate_BK < mask, self.mask_id, kept_BK)


def _order(draws_BT: Tensor) -> Tensor:
    """Draws that are never equal within a row and never negative, with their position in the lowest bits."""
    places_T = torch.arange(draws_BT.shape[1], device=draws_BT.device)
    return torch.bitwise_or(draws_BT & (LARGEST - 2**_PLACE_BITS + 1), places_T)


def _places(order: Tensor) -> Tensor:
    return torch.bitwise_and(order, 2**_PLACE_BITS - 1)
