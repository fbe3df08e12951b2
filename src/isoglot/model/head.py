"""Masked language modeling head: a transform (BERT) or none (XLM), then a softmax tied to the embeddings.

A private softmax has logits only for the ids of its language. It is tied to the private embeddings if there are any,
else to the language's rows of the shared ones; a shared softmax over private embeddings has its own matrix. An imported
encoder may have its own matrix too, or no head.

Shapes: ``N`` vectors, ``D`` hidden size, ``V`` vocabulary, ``R`` ids of a language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

from isoglot.core.errors import ConfigError
from isoglot.model.blocks import norm
from isoglot.model.embedding import SHARED, Members, PerLanguage
from isoglot.model.protocol import block_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.model.config import EncoderConfig

ABSENT = -1e9
"""Logit of an id that a private softmax does not have."""
_IMPROBABLE = -3e4  # a logit whose exponential is 0 in every number format
_ALIGNMENT = 64
_POSITIONS = 512  # decoded at a time


class Transform(nn.Module):
    """Dense layer, GELU and norm before the softmax, as in BERT."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=config.bias == "all")
        self.norm = norm(config)

    def forward(self, x_ND: torch.Tensor) -> torch.Tensor:
        """Transform hidden states for the softmax."""
        normed: torch.Tensor = self.norm(F.gelu(self.dense(x_ND)))
        return normed


class Softmax(nn.Module):
    """Parameters of a softmax: a bias, and a matrix if it is not tied."""

    weight: nn.Parameter | None

    def __init__(self, rows: int, width: int, *, own_matrix: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, width)) if own_matrix else None
        self.bias = nn.Parameter(torch.zeros(rows))


class Head(nn.Module):
    """Transform and softmax.

    Args:
        config: The encoder's.
        members: The ids of each language, if a part is private.
        tokens: The token embeddings it is tied to.
    """

    def __init__(
        self, config: EncoderConfig, members: Mapping[str, Members], tokens: PerLanguage[nn.Embedding]
    ) -> None:
        super().__init__()
        plan, size, width = config.sharing, config.vocabulary_size, config.hidden_size
        self.members = dict(members)
        self.tokens = [tokens]  # in a list, so that it is not registered here too
        own = config.languages if plan.is_private("transform") else ()
        own_softmax = config.languages if plan.is_private("softmax") else ()
        untied = config.softmax == "untied" or (plan.is_private("emb") and not own_softmax)
        self.size = size
        self.transform: PerLanguage[nn.Module] = PerLanguage(
            own, lambda _: Transform(config) if config.head_transform == "bert" else nn.Identity()
        )
        self.softmax = PerLanguage(
            own_softmax,
            lambda name: Softmax(size if name == SHARED else len(members[name].ids), width, own_matrix=untied),
        )

    def weight(self, language: str | None) -> torch.Tensor:
        """The matrix of the softmax: V x D, or R x D if it is private."""
        own = self.softmax.of(language).weight
        if own is not None:
            return own
        tokens = self.tokens[0]
        table = tokens.of(language).weight
        if SHARED in tokens and SHARED not in self.softmax:
            return table[self.members[language or ""].ids]
        return table

    def loss(
        self, x_ND: torch.Tensor, targets_N: torch.Tensor, language: str | None, *, reduction: str = "mean"
    ) -> torch.Tensor:
        """Cross-entropy of the targets in float32; targets of -100 are ignored, and the mean of none is 0."""
        if SHARED not in self.softmax:
            rows_N = self.members[language or ""].row_V[targets_N.clamp(min=0)]
            targets_N = torch.where(targets_N < 0, targets_N, rows_N)
        table = self.weight(language), self.softmax.of(language).bias
        scores = F.linear(self.transform.of(language)(x_ND), *(aligned(*table) if x_ND.is_cuda else table)).float()
        if reduction == "mean":  # torch's mean of no target is not a number
            return F.cross_entropy(scores, targets_N, reduction="sum") / (targets_N >= 0).sum().clamp(min=1)
        return F.cross_entropy(scores, targets_N, reduction=reduction)

    def logits(self, x: torch.Tensor, language: str | None) -> torch.Tensor:
        """Logits over the vocabulary (… x V)."""
        scores = self._scores(x, language)
        if SHARED in self.softmax:
            return scores
        every = scores.new_full((*scores.shape[:-1], self.size), ABSENT)
        return every.index_copy(-1, self.members[language or ""].ids, scores)

    def best_ids(self, hidden_ND: torch.Tensor, language: str | None, barred: torch.Tensor) -> torch.Tensor:
        """Return the id with the highest logit at each position (N), the first of equals, none of the barred ids.

        The matrix of the softmax is taken in blocks, so that their logits stay in the cache: all logits of a batch
        over 120,000 subwords would be half a gigabyte.
        """
        weight_VD = self.weight(language)
        bias_V: torch.Tensor = self.softmax.of(language).bias
        own = None if SHARED in self.softmax else self.members[language or ""].ids
        ids_V = torch.arange(len(bias_V), device=bias_V.device) if own is None else own
        bias_V = bias_V.masked_fill(torch.isin(ids_V, barred), -torch.inf)
        found = [
            _best_rows(self.transform.of(language)(part_ND), weight_VD, bias_V)
            for part_ND in hidden_ND.split(_POSITIONS)
        ]
        at_N = torch.cat(found) if found else hidden_ND.new_empty(0, dtype=torch.int64)
        return at_N if own is None else own[at_N]

    def _scores(self, x: torch.Tensor, language: str | None) -> torch.Tensor:
        bias = self.softmax.of(language).bias
        return F.linear(self.transform.of(language)(x), self.weight(language), bias)


def _best_rows(x_ND: torch.Tensor, weight_VD: torch.Tensor, bias_V: torch.Tensor) -> torch.Tensor:
    """The row of the matrix with the highest logit for each vector (N)."""
    best_N = x_ND.new_full((len(x_ND),), -torch.inf)
    at_N = torch.zeros(len(x_ND), dtype=torch.int64, device=x_ND.device)
    size = max(1, block_size(x_ND) // max(len(x_ND), 1))
    for first in range(0, len(weight_VD), size):
        scores_NR = F.linear(x_ND, weight_VD[first : first + size], bias_V[first : first + size])
        top_N = scores_NR.amax(dim=1)
        better_K = (top_N > best_N).nonzero().squeeze(1)  # argmax is much slower than amax, and soon few are left
        if len(better_K):
            best_N[better_K] = top_N[better_K]
            at_N[better_K] = first + scores_NR[better_K].argmax(dim=1)
    return at_N


def aligned(weight_VD: torch.Tensor, bias_V: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad matrix and bias of a softmax to a multiple of 64 rows, with subwords of probability 0.

    Rows of logits then begin at a multiple of 128 bytes; a GPU uses slower kernels for odd sizes, or copies first.
    """
    extra = -len(weight_VD) % _ALIGNMENT
    if not extra:
        return weight_VD, bias_V
    return F.pad(weight_VD, (0, 0, 0, extra)), F.pad(bias_V, (0, extra), value=_IMPROBABLE)


class NoHead(nn.Module):
    """Head of an encoder without a softmax: whatever a :class:`Head` can do raises ConfigError."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - torch's own
        if hasattr(Head, name):
            raise no_head()
        return super().__getattr__(name)


def no_head(why: str = "its weights came without one") -> ConfigError:
    """Error for logits of an encoder without a head.

    Args:
        why: The reason.
    """
    return ConfigError(
        f"the encoder has no language modeling head: {why}",
        "use one that was saved with its head for masked language modeling",
        "not-supported",
    )
