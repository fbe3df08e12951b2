"""Modules of the encoder: layers as in BERT or ModernBERT, embeddings, and the masked language modeling head.

A part of an encoder is shared or private to each language (:class:`PerLanguage`):

- A private token table has rows only for the ids of its language; any other id reads the row of ``[UNK]``.
- A private softmax has logits only for the ids of its language. It is tied to the private embeddings if there are any,
  else to the language's rows of the shared ones; a shared softmax over private embeddings has its own matrix. An
  imported encoder may have its own matrix too, or no head.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``H`` heads, ``E`` head dimensions, ``F`` intermediate size,
``V`` vocabulary, ``R`` ids of a language, ``N`` positions of several rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import torch
from torch import nn
from torch.nn import functional as F

from isoglot.core.errors import ConfigError, check_name
from isoglot.model.kernels.dropout import Dropout
from isoglot.model.kernels.short_attention import is_supported, short_attention
from isoglot.model.protocol import Edits, block_size, in_second_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.model.config import EncoderConfig


# --- layers ---


class Norm(nn.LayerNorm):
    """Layer norm that computes in float32 and returns the autocast dtype.

    torch's returns float32 under autocast: hidden states would be read and written in twice the bytes, which on a fast
    GPU is what norms cost.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize the last dimension."""
        normed: torch.Tensor = super().forward(x)
        kind = x.device.type
        return normed.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else normed


def norm(config: EncoderConfig) -> Norm:
    """Build the norm of the architecture, with or without a bias."""
    return Norm(config.hidden_size, eps=config.norm_eps, bias=config.bias == "all")


def rotation(places: torch.Tensor, size: int, base: float) -> torch.Tensor:
    """Cosines and sines of rotary positions, in float32: 2 x T x E for T positions, 2 x B x 1 x T x E for B x T.

    Args:
        places: Position of each token.
        size: Head dimensions (E).
        base: Base of the wavelengths (theta).
    """
    halves = torch.arange(0, size, 2, device=places.device, dtype=torch.float32) / size
    angles = places.float()[..., None] * (1.0 / base**halves)
    angles = torch.cat([angles, angles], dim=-1)
    if places.dim() == 2:
        angles = angles[:, None]  # the same for every head
    return torch.stack([angles.cos(), angles.sin()])


def rotated(x_BHTE: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Rotate queries or keys by their position; the halves of a head are the two coordinates."""
    cos, sin = turn.to(x_BHTE.dtype).unbind()
    one, other = x_BHTE.chunk(2, dim=-1)
    return x_BHTE * cos + torch.cat([-other, one], dim=-1) * sin


class Attention(nn.Module):
    """Multi-head self-attention, global or local."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=config.bias == "all")
        self.out = nn.Linear(config.hidden_size, config.hidden_size, bias=config.bias == "all")

    def forward(self, x_BTD: torch.Tensor, mask: torch.Tensor | None, turn: torch.Tensor | None) -> torch.Tensor:
        """Attend where the mask (broadcast to B x H x T x T) is True, with queries and keys rotated by ``turn``."""
        B, T, D = x_BTD.shape
        qkv, dropout = self.qkv(x_BTD), self.dropout if self.training else 0.0
        if mask is None and is_supported(qkv, self.heads, turn):
            seen_BTD = short_attention(qkv, self.heads, dropout=dropout, turn=turn)
        else:
            q_BHTE, k_BHTE, v_BHTE = qkv.view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
            if turn is not None:
                q_BHTE, k_BHTE = rotated(q_BHTE, turn), rotated(k_BHTE, turn)
            seen_BHTE = F.scaled_dot_product_attention(q_BHTE, k_BHTE, v_BHTE, attn_mask=mask, dropout_p=dropout)
            seen_BTD = seen_BHTE.transpose(1, 2).reshape(B, T, D)
        out: torch.Tensor = self.out(seen_BTD)
        return out


class FeedForward(nn.Module):
    """Feed-forward block: GELU between two matrices, or GeGLU."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.gated = config.mlp == "geglu"
        bias = config.bias == "all"
        self.up = nn.Linear(config.hidden_size, config.intermediate_size * (2 if self.gated else 1), bias=bias)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=bias)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """Transform each token."""
        if self.gated:  # two products: with one, the gradients of both halves would have to be concatenated
            bias_F: torch.Tensor | None = self.up.bias
            biases = (None, None) if bias_F is None else bias_F.chunk(2)
            value_FD, gate_FD = self.up.weight.chunk(2)
            up_BTF = F.gelu(F.linear(x_BTD, value_FD, biases[0])) * F.linear(x_BTD, gate_FD, biases[1])
        else:
            up_BTF = F.gelu(self.up(x_BTD))
        down: torch.Tensor = self.down(up_BTF)
        return down


class Block(nn.Module):
    """One layer.

    Args:
        config: The encoder's.
        layer: Its number from 0. The first of a pre-norm encoder has no norm before its attention, since the
            embeddings end in one.
    """

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.attention = Attention(config)
        self.attention_norm = nn.Identity() if self.pre and layer == 0 else norm(config)
        self.mlp = FeedForward(config)
        self.mlp_norm = norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x_BTD: torch.Tensor, mask: torch.Tensor | None = None, turn: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Apply attention and feed-forward block, each with a residual connection."""
        if self.pre:
            x_BTD = x_BTD + self.dropout(self.attention(self.attention_norm(x_BTD), mask, turn))
            x_BTD = x_BTD + self.dropout(self.mlp(self.mlp_norm(x_BTD)))
        else:
            x_BTD = self.attention_norm(x_BTD + self.dropout(self.attention(x_BTD, mask, turn)))
            x_BTD = self.mlp_norm(x_BTD + self.dropout(self.mlp(x_BTD)))
        return x_BTD


# --- embeddings ---


SHARED = "shared"
PartT = TypeVar("PartT", bound=nn.Module)


class PerLanguage(nn.ModuleDict, Generic[PartT]):
    """A part of an encoder, under the name ``shared`` or one per language.

    Args:
        languages: The languages with a part of their own; empty: all share one.
        build: Builds the part of a language, or ``shared``.
    """

    def __init__(self, languages: Sequence[str], build: Callable[[str], PartT]) -> None:
        super().__init__({name: build(name) for name in languages or (SHARED,)})

    def of(self, language: str | None) -> PartT:
        """Return the part that a language uses.

        Raises:
            ConfigError: Each language has its own, and this one is missing or not named.
        """
        if SHARED in self:
            return cast("PartT", self[SHARED])
        if language is None:
            problem = "the encoder has private parts, and no language is named"
            raise ConfigError(problem, f"choose one of {', '.join(self)}: --lang {next(iter(self))}", "missing-option")
        check_name("language of the encoder", language, self, "unknown-language")
        return cast("PartT", self[language])


class Members(nn.Module):
    """The ids of a language, and their rows in its private tables.

    Args:
        ids: Sorted ids, with ``[UNK]``.
        size: Size of the vocabulary.
        unknown: The id whose row all other ids use.
    """

    ids: torch.Tensor
    row_V: torch.Tensor

    def __init__(self, ids: torch.Tensor, size: int, unknown: int) -> None:
        super().__init__()
        rows_V = torch.full((size,), -1, dtype=torch.int64)
        rows_V[ids] = torch.arange(len(ids))
        rows_V[rows_V < 0] = rows_V[unknown].clone()
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("row_V", rows_V, persistent=False)


class Embedding(nn.Module):
    """Sum of token, position, language and segment embeddings, normalized."""

    def __init__(self, config: EncoderConfig, members: Mapping[str, Members], edits: Edits) -> None:
        super().__init__()
        plan = config.sharing
        self.edits = edits
        own = config.languages if plan.is_private("emb") else ()
        own_positions = config.languages if plan.is_private("pos") else ()
        self.config = config
        self.members = dict(members)  # registered by the encoder
        self.tokens = PerLanguage(own, lambda name: nn.Embedding(self._rows(name), config.hidden_size))
        self.positions = (
            PerLanguage(own_positions, lambda _: nn.Embedding(config.max_length, config.hidden_size))
            if config.positions == "learned"
            else None
        )
        added = config.language_embeddings == "added"
        # One parameter per language: a batch of another language must not move it.
        self.languages = (
            nn.ParameterDict({code: nn.Parameter(torch.zeros(1, config.hidden_size)) for code in config.languages})
            if added
            else None
        )
        # BERT's second segment minus the first, which is part of the positions.
        self.second_segment = None if config.separator_id is None else nn.Parameter(torch.zeros(1, config.hidden_size))
        self.norm = PerLanguage(own, lambda _: norm(config))
        self.dropout = Dropout(config.dropout)

    def _rows(self, name: str) -> int:
        return self.config.vocabulary_size if name == SHARED else len(self.members[name].ids)

    def forward(
        self,
        ids_BT: torch.Tensor,
        language: str | None = None,
        languages_BT: torch.Tensor | None = None,
        positions_BT: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Embed ids (B x T x D).

        Args:
            ids_BT: Token ids.
            language: The language whose private parts and embedding to use.
            languages_BT: The language of each token as an index into the config's, where a row has several.
            positions_BT: The position of each token; default: its column.

        Raises:
            ConfigError: The rows are too long, or the encoder lacks the language.
        """
        if ids_BT.shape[1] > self.config.max_length:
            problem = f"{ids_BT.shape[1]} tokens exceed the encoder's maximum of {self.config.max_length}"
            raise ConfigError(problem, "truncate the input", "invalid-value")
        table, given_BT = self.tokens.of(language), ids_BT
        if SHARED not in self.tokens:
            ids_BT = self.members[language or ""].row_V[ids_BT]
        x_BTD: torch.Tensor = table(ids_BT)
        if self.positions is not None:
            places = self.positions.of(language)
            x_BTD = x_BTD + (places.weight[: ids_BT.shape[1]] if positions_BT is None else places(positions_BT))
        if self.languages is not None:
            if languages_BT is None:
                x_BTD = x_BTD + self.language_vector(language)
            else:
                x_BTD = x_BTD + torch.cat([self.languages[code] for code in self.config.languages])[languages_BT]
        if self.second_segment is not None and self.config.separator_id is not None:
            second_BT = in_second_text(given_BT, self.config.separator_id, self.config.pad_id)
            x_BTD = x_BTD + second_BT[..., None] * self.second_segment
        normed: torch.Tensor = self.dropout(self.norm.of(language)(x_BTD))
        return self.edits.apply(0, normed, given_BT)

    def language_vector(self, language: str | None) -> torch.Tensor:
        """The language embedding (1 x D).

        Raises:
            ConfigError: The encoder lacks the language.
        """
        if self.languages is None or language is None or language not in self.languages:
            problem = f"the encoder has no language embedding of {language!r}"
            raise ConfigError(problem, f"choose one of {', '.join(self.config.languages)}", "unknown-language")
        own: torch.Tensor = self.languages[language]
        return own


# --- masked language modeling head ---


ABSENT = -1e9  # logit of an id that a private softmax does not have
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
    problem = f"the encoder has no language modeling head: {why}"
    return ConfigError(problem, "use one that was saved with its head for masked language modeling", "not-supported")
