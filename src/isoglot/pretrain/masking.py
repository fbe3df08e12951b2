"""Masking: which positions of a row the model predicts, and what it sees there.

Either exactly k positions of every row are drawn uniformly without replacement, or each position is masked with the
same probability (``draw``); all shapes are known before the data is. At a masked position the model sees ``[MASK]``
(80 %), the token itself (10 %) or a random token (10 %). Draws are keyed by (seed, step, row): a row is masked the same
in any batch, part or rank.

:meth:`Masker.masked` is for rows of a stream, with special tokens at both ends and perhaps separators inside. For other
rows (pairs, padding) :meth:`Masker.masked_among` is given the candidates. ``[UNK]`` is predicted like any token, other
special tokens never are.

Shapes: ``B`` rows of a batch, ``T`` tokens of a row, ``K`` masked positions of a row, ``V`` vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isclose, sqrt
from typing import TYPE_CHECKING, Literal, Self, TypeVar

import numpy as np
import torch
from pydantic import Field, model_validator

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, check_name
from isoglot.pretrain.counter_rng import LARGEST, below, draws, high, step_key, stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

    from isoglot.vocab.vocabulary import Vocabulary

Draw = Literal["exact", "binomial"]
"""``exact`` masks the rate times a row's tokens, rounded (BERT): 3 of 18 are 16.7 %. ``binomial`` masks each token
independently with that probability (XLM), so the expected share is the same for rows of any length."""
RandomFrom = Literal["vocabulary", "language"]
"""``vocabulary`` draws random tokens from all subwords, ``language`` from those of the row's language."""

Count = TypeVar("Count", int, torch.Tensor)

IGNORED = -100  # target of positions that are not predicted, which torch's cross-entropy ignores

_PLACE_BITS = 16  # the lowest bits of a draw are its position: no two are equal, and no device breaks a tie its own way
_RATE_BITS = 40
_FATE_BITS = 24
_MULTIPLE = 128  # rows of a product that suit matrix units


class MaskingConfig(Config):
    """Settings of masking."""

    rate: float = Field(0.15, gt=0, le=1)
    """share of a row's tokens to predict"""

    draw: Draw = "exact"
    """whether that share of every row is masked, rounded (exact), or each token with that probability (binomial)"""

    rate_end: float | None = Field(None, gt=0, le=1)
    """share at the end of the run, reached linearly; None: constant"""

    mask: float = Field(0.8, ge=0, le=1)
    """probability of [MASK] at a masked position"""

    keep: float = Field(0.1, ge=0, le=1)
    """probability of the token itself"""

    random: float = Field(0.1, ge=0, le=1)
    """probability of a random token"""

    random_from: RandomFrom = "vocabulary"
    """random tokens from the whole vocabulary, or from the subwords of the row's language"""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not isclose(total := self.mask + self.keep + self.random, 1, abs_tol=1e-6):
            raise ValueError(f"mask, keep and random add up to {total:g}, not to 1")
        return self

    def rate_at(self, progress: float) -> float:
        """The rate at a share of the run, from 0 to 1."""
        end = self.rate if self.rate_end is None else self.rate_end
        return self.rate + (end - self.rate) * min(max(progress, 0.0), 1.0)

    def positions(self, candidates: int, progress: float = 0.0) -> int:
        """Maximum number of masked positions among that many tokens.

        Exact: the rate times the tokens, halves rounded up, at least one. Binomial: five standard deviations above the
        mean, which one row in three million exceeds; its further positions are not masked.

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
        """Maximum number of masked positions over all rows; None: the sum of the rows' maxima.

        With ``binomial`` draws the total is much nearer to its mean than one row's is: five standard deviations above
        it, rounded up to a multiple of 128. There is none for a rate that changes, since each would be a new shape.

        >>> MaskingConfig().positions_of_rows(256, 254), MaskingConfig(draw="binomial").positions_of_rows(256, 254)
        (None, 10240)
        """
        if self.draw != "binomial" or self.rate_end not in (None, self.rate):
            return None
        together = ceil(self.positions(rows * candidates) / _MULTIPLE) * _MULTIPLE
        return together if together < rows * self.positions(candidates) else None


def _share_of(count: Count, rate: float) -> Count:
    """``rate * count`` rounded, in integer arithmetic, so that any device gives the same as an int."""
    share: Count = (count * ceil(rate * 2**_RATE_BITS) + 2 ** (_RATE_BITS - 1)) >> _RATE_BITS
    return share


@dataclass(frozen=True)
class Masked:
    """Masked rows.

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
    """The ids that random tokens are drawn from, by language, without special tokens.

    Raises:
        ConfigError: A language has only special tokens.
    """
    special = list(vocabulary.special.values())
    pools = {}
    for language in languages:
        own = vocabulary.ids_of(language) if random_from == "language" else np.arange(len(vocabulary))
        pools[language] = np.setdiff1d(own, special)
        if not len(pools[language]):
            problem = f"the vocabulary has no subwords of {language!r}"
            raise ConfigError(problem, "train it on text of that language", "unknown-language")
    return pools


class Masker:
    """Masks rows of ids on their device.

    Args:
        config: Settings.
        mask_id: The id of ``[MASK]``.
        ends: Special tokens before and after the text of a row.
        pools: The ids that random tokens are drawn from, by language (:func:`random_pools`).
        seed: The run's seed.
        device: Device of the rows.
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
        """Build a masker for rows of a vocabulary."""
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
        """Mask rows with special tokens at both ends, and perhaps separators and padding.

        Args:
            ids_BT: Rows such as ``[CLS] ids… [SEP]``, int64.
            step: The step of the run, or a 0-dim int64 tensor of it.
            rows_B: The number of each row among all rows of the step.
            language: The language whose pool random tokens come from.
            progress: Share of the run that is done, for a rate that changes.
            separator: The id of separators inside the rows; None: no separators.
            pad: The id of padding; None: no padding.
        """
        candidates_BT = None
        if separator is not None or pad is not None or self.config.draw == "binomial":
            candidates_BT = torch.ones_like(ids_BT, dtype=torch.bool)
            for never in (separator, pad):
                if never is not None:
                    candidates_BT &= ids_BT != never
            candidates_BT[:, : self.ends[0]] = False
            candidates_BT[:, ids_BT.shape[1] - self.ends[1] :] = False
        return self.masked_among(ids_BT, candidates_BT, step, rows_B, language, progress=progress)

    def masked_among(
        self,
        ids_BT: Tensor,
        candidates_BT: Tensor | None,
        step: int | Tensor,
        rows_B: Tensor,
        language: str,
        *,
        progress: float = 0.0,
    ) -> Masked:
        """Mask rows with special tokens anywhere: only where ``candidates_BT`` is True (None: between the ends).

        K is that of a row of one text, the fullest there is. A row with fewer candidates has its own
        share of them masked, and the rest of its K targets are :data:`IGNORED`. Arguments as in :meth:`masked`.
        """
        length = ids_BT.shape[1]
        count = self.config.positions(length - sum(self.ends), progress)
        draws_BN = draws(step_key(self._stream, step), rows_B, length + 2 * count)
        order_BT = _order(draws_BN[:, :length])
        if candidates_BT is None:
            text_BW = order_BT[:, self.ends[0] : length - self.ends[1]]
            at_BK = _places(text_BW.topk(count, largest=False, sorted=False).values).sort().values
            targets_BK = ids_BT.gather(1, at_BK)
            seen_BK = self._seen(targets_BK, draws_BN[:, length:], language)
            return Masked(ids_BT.scatter(1, at_BK, seen_BK), at_BK, targets_BK)
        order_BT = torch.where(candidates_BT, order_BT, LARGEST)
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
        """The ids that the model sees at the masked positions: ``[MASK]``, the token itself, or a random one."""
        check_name("language", language, self.pools)
        pool_N = self.pools[language]
        count = targets_BK.shape[1]
        random_BK = pool_N[below(draws_BN[:, count:], len(pool_N))]
        fate_BK = high(draws_BN[:, :count], _FATE_BITS)
        mask, keep = (round(edge * 2**_FATE_BITS) for edge in (self.config.mask, 1 - self.config.random))
        kept_BK = torch.where(fate_BK < keep, targets_BK, random_BK)
        return torch.where(fate_BK < mask, self.mask_id, kept_BK)


def _order(draws_BT: Tensor) -> Tensor:
    """Draws that are distinct within a row and not negative, with their position in the lowest bits."""
    places_T = torch.arange(draws_BT.shape[1], device=draws_BT.device)
    return torch.bitwise_or(draws_BT & (LARGEST - 2**_PLACE_BITS + 1), places_T)


def _places(order: Tensor) -> Tensor:
    return torch.bitwise_and(order, 2**_PLACE_BITS - 1)
