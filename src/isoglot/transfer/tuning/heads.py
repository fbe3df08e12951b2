"""Task heads: from encoder vectors to labels, or to heads and relations of a tree.

A head is given the vectors of the places it reads, and nothing else of a sentence: so they can be computed once and
kept, where the encoder does not learn.

Shapes: ``B`` rows, ``W`` places (first tokens, first subwords), ``D`` hidden size, ``C`` labels, ``K`` numbers of a
place, ``A`` and ``E`` the sizes of arcs and relations.

A head that reads whole texts: attention over their tokens, and a small classifier over what it has gathered.

A static vector knows nothing of its neighbors, so the token in front cannot stand for a sentence as it does in an
encoder. Here every token of a text has a weight, the weighted mean is the text, and for a pair the classifier sees the
two, how far they are apart and where they agree (as Conneau et al. 2017 do). Any frozen encoder can have this head, so
that it is compared with static vectors on the same terms.

Shapes: ``B`` rows, ``W`` places (the tokens of all texts of a row), ``D`` hidden size, ``C`` labels, ``H`` weights of a
token, ``P`` numbers of a text.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn import functional as F

from isoglot.core.config import Config
from isoglot.core.rng import derive_seed
from isoglot.transfer.tasks.task import IGNORED

if TYPE_CHECKING:
    from isoglot.transfer.tasks.task import TaskRow, TaskRows
    from isoglot.vocab import Vocabulary
    from isoglot.vocab.external_tokenizer import RowLayout

Pool = Literal["first", "attention"]
"""Pooling of a text: its first special token, or attention over all tokens."""


class HeadConfig(Config):
    """Architecture of a head."""

    dropout: float = Field(0.1, ge=0, lt=1)
    """dropout on the encoder's output"""
    arc_size: int = Field(500, ge=1)
    """parsing: dimensions of a word as a head, and as a dependent"""
    relation_size: int = Field(100, ge=1)
    """parsing: the same for relations"""
    mlp_dropout: float = Field(0.33, ge=0, lt=1)
    """parsing and attention: dropout"""
    pool: Pool = "first"
    """classification: what of a text is read: first (the special token in front) or attention (all its tokens)"""
    pool_size: int = Field(256, ge=1)
    """attention: dimensions of a text, and of the hidden layer above"""
    pool_heads: int = Field(4, ge=1)
    """attention: weights of a token, each for its share of those numbers"""


class TaskHead(nn.Module):
    """Base class of task heads."""

    @abstractmethod
    def loss(
        self,
        vectors_BWD: torch.Tensor,
        mask_BW: torch.Tensor,
        targets_BWK: torch.Tensor,
        parts_BW: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Mean cross-entropy of the positions with targets."""

    @abstractmethod
    def decode(
        self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor, parts_BW: torch.Tensor | None = None
    ) -> np.ndarray:
        """Predictions for every position (B × W × K), on the CPU; undefined where the mask is False."""

    def placed(self, rows: TaskRows, vocabulary: Vocabulary) -> TaskRows:
        """Rows with the places that this head reads: those of the task, unless it says otherwise."""
        return rows

    def reset(self, seed: int) -> None:
        """Initialize by name and seed: matrices normal with deviation 0.02, biases 0."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() < 2:
                    parameter.zero_()
                    continue
                chance = torch.Generator().manual_seed(derive_seed(seed, "head", name))
                values = torch.empty(parameter.shape)
                self.fill(name, values, chance)
                parameter.copy_(values)

    def fill(self, name: str, values: torch.Tensor, chance: torch.Generator) -> None:
        """The initial values of a matrix."""
        values.normal_(0.0, 0.02, generator=chance)


class LinearHead(TaskHead):
    """A score for each label, linear in the vector of a place: on the first token, or on first subwords.

    Args:
        width: Of the encoder.
        labels: How many there are.
        config: Its dropout.
    """

    def __init__(self, width: int, labels: int, config: HeadConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.scores = nn.Linear(width, labels)

    def loss(
        self,
        vectors_BWD: torch.Tensor,
        mask_BW: torch.Tensor,
        targets_BWK: torch.Tensor,
        parts_BW: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Cross-entropy of the labels."""
        scores_BWC = self.scores(self.dropout(vectors_BWD))
        return cross_entropy(scores_BWC, targets_BWK[..., 0])

    @torch.no_grad()
    def decode(
        self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor, parts_BW: torch.Tensor | None = None
    ) -> np.ndarray:
        """The label with the best score."""
        best: np.ndarray = self.scores(vectors_BWD).argmax(dim=-1, keepdim=True).cpu().numpy()
        return best


class BiaffineHead(TaskHead):
    """Deep biaffine attention (Dozat & Manning, 2017): every word scores every other, and the root, as its head.

    The first place of a row is the root, for which the special token in front stands. Words are projected four times:
    as heads and dependents, for arcs and for relations. A relation is scored for the gold head in training, and for the
    head that was found in decoding.

    Args:
        width: Of the encoder.
        relations: How many there are.
        config: Its widths and dropouts.
        root: The number of the relation of the word that hangs on the root, and of no other; None: any may be.
    """

    def __init__(self, width: int, relations: int, config: HeadConfig, root: int | None = None) -> None:
        super().__init__()
        self.root = root
        arc, relation = config.arc_size, config.relation_size
        self.dropout = nn.Dropout(config.dropout)
        self.mlp_dropout = nn.Dropout(config.mlp_dropout)
        self.arc_head, self.arc_dependent = nn.Linear(width, arc), nn.Linear(width, arc)
        self.relation_head, self.relation_dependent = nn.Linear(width, relation), nn.Linear(width, relation)
        # With a 1 behind the dependent: the bilinear form has the prior of each head in it.
        self.arcs = nn.Parameter(torch.zeros(arc + 1, arc))
        self.relations = nn.Parameter(torch.zeros(relations, relation + 1, relation + 1))

    def fill(self, name: str, values: torch.Tensor, chance: torch.Generator) -> None:
        """Forms start at 0, as in the paper, and projections orthogonal in expectation."""
        if name in ("arcs", "relations"):
            values.zero_()
        else:
            values.normal_(0.0, values.shape[1] ** -0.5, generator=chance)

    def arc_scores(self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor) -> torch.Tensor:
        """The score of each place (last) as the head of each (B x W x W); -inf for padding and for itself."""
        heads_BWA = self._inner(self.arc_head(vectors_BWD))
        dependents_BWA = _with_one(self._inner(self.arc_dependent(vectors_BWD)))
        scores_BWW = (dependents_BWA @ self.arcs) @ heads_BWA.transpose(1, 2)
        place_W = torch.arange(scores_BWW.shape[1], device=scores_BWW.device)
        # Except the root's own: its row is never read, and must not be all -inf.
        itself_WW = (place_W[:, None] == place_W) & (place_W > 0)
        return scores_BWW.float().masked_fill(~mask_BW[:, None, :] | itself_WW, -torch.inf)

    def relation_scores(self, vectors_BWD: torch.Tensor, heads_BW: torch.Tensor) -> torch.Tensor:
        """The score of each relation of every place to its head (B x W x C)."""
        every_BWE = self._inner(self.relation_head(vectors_BWD))
        heads_BWE = _with_one(every_BWE.gather(1, heads_BW[..., None].expand(-1, -1, every_BWE.shape[-1])))
        dependents_BWE = _with_one(self._inner(self.relation_dependent(vectors_BWD)))
        return torch.einsum("bwe,cef,bwf->bwc", dependents_BWE, self.relations, heads_BWE).float()

    def loss(
        self,
        vectors_BWD: torch.Tensor,
        mask_BW: torch.Tensor,
        targets_BWK: torch.Tensor,
        parts_BW: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Cross-entropy of heads plus that of relations to gold heads."""
        vectors_BWD = self.dropout(vectors_BWD)
        heads_BW, relations_BW = targets_BWK.unbind(dim=-1)
        arcs = cross_entropy(self.arc_scores(vectors_BWD, mask_BW), heads_BW)
        return arcs + cross_entropy(self.relation_scores(vectors_BWD, heads_BW.clamp(min=0)), relations_BW)

    @torch.no_grad()
    def decode(
        self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor, parts_BW: torch.Tensor | None = None
    ) -> np.ndarray:
        """The best tree with a single root, and the best relation of each arc in it."""
        from isoglot.transfer.scoring.trees import spanning_trees

        scores_BWW = self.arc_scores(vectors_BWD, mask_BW).log_softmax(dim=-1)
        words_B = mask_BW.sum(dim=1).cpu().numpy() - 1
        heads_BW = torch.from_numpy(spanning_trees(scores_BWW.cpu().numpy(), words_B)).to(vectors_BWD.device)
        scores_BWC = self.relation_scores(vectors_BWD, heads_BW)
        if self.root is not None:
            scores_BWC[..., self.root] = torch.where(heads_BW == 0, torch.inf, -torch.inf)
        relations_BW = scores_BWC.argmax(dim=-1)
        found: np.ndarray = torch.stack([heads_BW, relations_BW], dim=-1).cpu().numpy()
        return found

    def _inner(self, projected: torch.Tensor) -> torch.Tensor:
        dropped: torch.Tensor = self.mlp_dropout(F.leaky_relu(projected, 0.1))
        return dropped


def _with_one(x_BWA: torch.Tensor) -> torch.Tensor:
    return F.pad(x_BWA, (0, 1), value=1.0)


def cross_entropy(scores_BWC: torch.Tensor, targets_BW: torch.Tensor) -> torch.Tensor:
    """Mean over the places with targets, 0 where there are none; float32, whatever products were computed in."""
    scores = scores_BWC.float().flatten(0, 1)
    total = F.cross_entropy(scores, targets_BW.flatten(), ignore_index=IGNORED, reduction="sum")
    return total / (targets_BW != IGNORED).sum().clamp(min=1)


class PooledHead(TaskHead):
    """Texts by attention over their tokens, then one hidden layer and a score for each label.

    Vectors are normalized first, without parameters: neither their scale nor their offset says anything then.

    Args:
        width: Of the encoder.
        labels: How many there are.
        config: Its widths and dropouts.
        texts: Of a row: 1, or 2 for a pair.
    """

    def __init__(self, width: int, labels: int, config: HeadConfig, texts: int) -> None:
        super().__init__()
        self.texts = texts
        self.heads = config.pool_heads
        inner = self.heads * max(1, config.pool_size // self.heads)
        self.dropout = nn.Dropout(config.dropout)
        self.mlp_dropout = nn.Dropout(config.mlp_dropout)
        self.attention = nn.Linear(width, self.heads, bias=False)
        self.values = nn.Linear(width, inner)
        self.hidden = nn.Linear(inner if texts == 1 else 4 * inner, inner)
        self.scores = nn.Linear(inner, labels)

    def placed(self, rows: TaskRows, vocabulary: Vocabulary) -> TaskRows:
        """Every token of every text is a place; what is to be learned stands at the first."""
        return replace(rows, rows=[_all_places(row, vocabulary.layout) for row in rows.rows])

    def fill(self, name: str, values: torch.Tensor, chance: torch.Generator) -> None:
        """All tokens weigh the same at first; the rest keeps the scale of what goes in."""
        if name == "attention.weight":
            values.zero_()
        else:
            values.normal_(0.0, values.shape[1] ** -0.5, generator=chance)

    def text_scores(
        self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor, parts_BW: torch.Tensor | None
    ) -> torch.Tensor:
        """The score of each label (B x C)."""
        x_BWD = self.dropout(F.layer_norm(vectors_BWD, vectors_BWD.shape[-1:]))
        values_BWHQ = F.gelu(self.values(x_BWD)).unflatten(-1, (self.heads, -1))
        weights_BWH = self.attention(x_BWD).float()
        found = []
        for text in range(self.texts):
            here_BW1 = (mask_BW if parts_BW is None else mask_BW & (parts_BW == text))[..., None]
            # Finite, for a text may have no token left: then it is 0.
            share_BWH = weights_BWH.masked_fill(~here_BW1, -1e9).softmax(dim=1) * here_BW1
            found.append(torch.einsum("bwh,bwhq->bhq", share_BWH.to(values_BWHQ.dtype), values_BWHQ).flatten(1))
        if self.texts == 2:
            one_BP, other_BP = found
            found += [(one_BP - other_BP).abs(), one_BP * other_BP]
        hidden_BP = F.gelu(self.hidden(self.mlp_dropout(torch.cat(found, dim=-1))))
        scores_BC: torch.Tensor = self.scores(self.mlp_dropout(hidden_BP))
        return scores_BC

    def loss(
        self,
        vectors_BWD: torch.Tensor,
        mask_BW: torch.Tensor,
        targets_BWK: torch.Tensor,
        parts_BW: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Cross-entropy of the labels."""
        scores_BC = self.text_scores(vectors_BWD, mask_BW, parts_BW)
        return cross_entropy(scores_BC[:, None], targets_BWK[:, :1, 0])

    @torch.no_grad()
    def decode(
        self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor, parts_BW: torch.Tensor | None = None
    ) -> np.ndarray:
        """The label with the best score, at the first place."""
        scores_BC = self.text_scores(vectors_BWD, mask_BW, parts_BW)
        best: np.ndarray = scores_BC.argmax(dim=-1)[:, None, None].cpu().numpy()
        return best


def _all_places(row: TaskRow, layout: RowLayout) -> TaskRow:
    """A row read at all tokens of its texts."""
    pair = len(row.texts) > 1
    starts = [len(layout.pair_before if pair else layout.before)]
    if pair:
        starts.append(starts[0] + row.texts[0] + len(layout.pair_between))
    places_W = np.concatenate([np.arange(size) + start for start, size in zip(starts, row.texts, strict=True)])
    targets_WK = None
    if not len(places_W):  # no text has a token: the one in front stands for it
        return replace(row, places_W=np.zeros(1, dtype=np.int64), parts_W=np.zeros(1, dtype=np.int64))
    if row.targets_WK is not None:
        targets_WK = np.full((len(places_W), 1), IGNORED, dtype=np.int64)
        targets_WK[0] = row.targets_WK[0]
    parts_W = np.repeat(np.arange(len(row.texts)), row.texts)
    return replace(row, places_W=places_W, targets_WK=targets_WK, parts_W=parts_W)
