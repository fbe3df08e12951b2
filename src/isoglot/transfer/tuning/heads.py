"""Task heads: from encoder vectors to labels, or to heads and relations of a tree.

A head sees only the vectors of the positions it reads, so they can be computed once if the encoder is frozen.

Shapes: ``B`` rows, ``W`` positions (first tokens, first subwords, or all tokens of the texts of a row), ``D`` hidden
size, ``C`` labels, ``K`` targets per position, ``A`` and ``E`` sizes of arcs and relations, ``H`` attention heads,
``P`` size of a text vector.
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
from isoglot.transfer.tasks.task import IGNORED, TaskRow, TaskRows

if TYPE_CHECKING:
    from isoglot.transfer.tuning.batches import TaskBatch
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
    """classification: positions of a text that are read: first (the first special token) or attention (all tokens)"""
    pool_size: int = Field(256, ge=1)
    """attention: dimensions of a text vector, and of the hidden layer"""
    pool_heads: int = Field(4, ge=1)
    """attention: number of attention heads"""


class TaskHead(nn.Module):
    """Base class of task heads."""

    @abstractmethod
    def loss(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> torch.Tensor:
        """Mean cross-entropy of the positions with targets."""

    @abstractmethod
    def decode(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> np.ndarray:
        """Predictions for every position (B × W × K), on the CPU; undefined where the mask is False."""

    def placed(self, rows: TaskRows, vocabulary: Vocabulary) -> TaskRows:
        """Rows with the positions that this head reads; by default those of the task."""
        return rows

    def reset(self, seed: int) -> None:
        """Initialize by name and seed: matrices by :meth:`fill`, biases 0."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() < 2:
                    parameter.zero_()
                    continue
                generator = torch.Generator().manual_seed(derive_seed(seed, "head", name))
                values = torch.empty(parameter.shape)
                self.fill(name, values, generator)
                parameter.copy_(values)

    def fill(self, name: str, values: torch.Tensor, generator: torch.Generator) -> None:
        """Fill a matrix with initial values; by default normal with deviation 0.02."""
        values.normal_(0.0, 0.02, generator=generator)


class LabelHead(TaskHead):
    """Base class of heads that score labels: one prediction and one target per position."""

    @abstractmethod
    def label_scores(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> torch.Tensor:
        """Score of each label at each position, or at the first only (B × W × C or B × 1 × C)."""

    def loss(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> torch.Tensor:
        """Cross-entropy of the labels."""
        scores_BWC = self.label_scores(vectors_BWD, batch)
        return cross_entropy(scores_BWC, batch.targets[:, : scores_BWC.shape[1], 0])

    @torch.no_grad()
    def decode(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> np.ndarray:
        """The label with the best score."""
        scores_BWC = self.label_scores(vectors_BWD, batch)
        best: np.ndarray = scores_BWC.argmax(dim=-1, keepdim=True).cpu().numpy()
        return best


class LinearHead(LabelHead):
    """Linear classifier of each position: the first token, or first subwords.

    Args:
        width: Hidden size of the encoder.
        labels: Number of labels.
        config: Dropout.
    """

    def __init__(self, width: int, labels: int, config: HeadConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.scores = nn.Linear(width, labels)

    def label_scores(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> torch.Tensor:
        """Scores of each label at each position (B × W × C)."""
        scores_BWC: torch.Tensor = self.scores(self.dropout(vectors_BWD))
        return scores_BWC


class BiaffineHead(TaskHead):
    """Deep biaffine attention (Dozat & Manning, 2017): every word scores every other word, and the root, as its head.

    The first position of a row is the root, represented by the first special token. Words are projected four times: as
    heads and as dependents, for arcs and for relations. Relations are scored for gold heads in training, and for
    predicted heads in decoding.

    Args:
        width: Hidden size of the encoder.
        relations: Number of relations.
        config: Sizes and dropouts.
        root: Index of the relation that only the root word has. Default: relations are not restricted.
    """

    def __init__(self, width: int, relations: int, config: HeadConfig, root: int | None = None) -> None:
        super().__init__()
        self.root = root
        arc, relation = config.arc_size, config.relation_size
        self.dropout = nn.Dropout(config.dropout)
        self.mlp_dropout = nn.Dropout(config.mlp_dropout)
        self.arc_head, self.arc_dependent = nn.Linear(width, arc), nn.Linear(width, arc)
        self.relation_head, self.relation_dependent = nn.Linear(width, relation), nn.Linear(width, relation)
        # A 1 is appended to the dependent, so that the bilinear form includes a prior for each head.
        self.arcs = nn.Parameter(torch.zeros(arc + 1, arc))
        self.relations = nn.Parameter(torch.zeros(relations, relation + 1, relation + 1))

    def fill(self, name: str, values: torch.Tensor, generator: torch.Generator) -> None:
        """Bilinear forms start at 0, as in the paper, and projections orthogonal in expectation."""
        if name in ("arcs", "relations"):
            values.zero_()
        else:
            values.normal_(0.0, values.shape[1] ** -0.5, generator=generator)

    def arc_scores(self, vectors_BWD: torch.Tensor, mask_BW: torch.Tensor) -> torch.Tensor:
        """Score of each position (last axis) as the head of each other (B × W × W); -inf for padding and itself."""
        heads_BWA = self._inner(self.arc_head(vectors_BWD))
        dependents_BWA = _with_one(self._inner(self.arc_dependent(vectors_BWD)))
        scores_BWW = (dependents_BWA @ self.arcs) @ heads_BWA.transpose(1, 2)
        place_W = torch.arange(scores_BWW.shape[1], device=scores_BWW.device)
        # Except that of the root, whose row is never read and must not be all -inf.
        itself_WW = (place_W[:, None] == place_W) & (place_W > 0)
        return scores_BWW.float().masked_fill(~mask_BW[:, None, :] | itself_WW, -torch.inf)

    def relation_scores(self, vectors_BWD: torch.Tensor, heads_BW: torch.Tensor) -> torch.Tensor:
        """Score of each relation of every position to its head (B × W × C)."""
        every_BWE = self._inner(self.relation_head(vectors_BWD))
        heads_BWE = _with_one(every_BWE.gather(1, heads_BW[..., None].expand(-1, -1, every_BWE.shape[-1])))
        dependents_BWE = _with_one(self._inner(self.relation_dependent(vectors_BWD)))
        return torch.einsum("bwe,cef,bwf->bwc", dependents_BWE, self.relations, heads_BWE).float()

    def loss(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> torch.Tensor:
        """Cross-entropy of heads plus that of relations to gold heads."""
        vectors_BWD = self.dropout(vectors_BWD)
        heads_BW, relations_BW = batch.targets.unbind(dim=-1)
        arcs = cross_entropy(self.arc_scores(vectors_BWD, batch.mask_BW), heads_BW)
        return arcs + cross_entropy(self.relation_scores(vectors_BWD, heads_BW.clamp(min=0)), relations_BW)

    @torch.no_grad()
    def decode(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> np.ndarray:
        """The best tree with a single root, and the best relation of each arc in it."""
        from isoglot.transfer.scoring.trees import spanning_trees

        scores_BWW = self.arc_scores(vectors_BWD, batch.mask_BW).log_softmax(dim=-1)
        words_B = batch.mask_BW.sum(dim=1).cpu().numpy() - 1
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
    """Mean over positions with targets, 0 without any; computed in float32."""
    scores = scores_BWC.float().flatten(0, 1)
    total = F.cross_entropy(scores, targets_BW.flatten(), ignore_index=IGNORED, reduction="sum")
    return total / (targets_BW != IGNORED).sum().clamp(min=1)


class PooledHead(LabelHead):
    """Attention pooling of each text, one hidden layer, and a score for each label.

    A static vector does not depend on its neighbors, so the first token cannot represent a sentence. Here a text is the
    attention-weighted mean of its tokens, and for a pair the classifier sees both texts, their absolute difference and
    their product (Conneau et al. 2017). Any frozen encoder can have this head, for a fair comparison with static
    vectors. Vectors are layer-normalized first, without parameters, so their scale and offset have no effect.

    Args:
        width: Hidden size of the encoder.
        labels: Number of labels.
        config: Sizes and dropouts.
        texts: Number of texts per row: 1, or 2 for a pair.
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
        """Every token of every text is a position; the target is at the first."""
        return replace(rows, rows=[_all_places(row, vocabulary.layout) for row in rows.rows])

    def fill(self, name: str, values: torch.Tensor, generator: torch.Generator) -> None:
        """Attention starts uniform; other matrices keep the scale of their input."""
        if name == "attention.weight":
            values.zero_()
        else:
            values.normal_(0.0, values.shape[1] ** -0.5, generator=generator)

    def label_scores(self, vectors_BWD: torch.Tensor, batch: TaskBatch) -> torch.Tensor:
        """Scores of each label (B × 1 × C)."""
        x_BWD = self.dropout(F.layer_norm(vectors_BWD, vectors_BWD.shape[-1:]))
        values_BWHQ = F.gelu(self.values(x_BWD)).unflatten(-1, (self.heads, -1))
        weights_BWH = self.attention(x_BWD).float()
        found = []
        for text in range(self.texts):
            here_BW1 = batch.mask_BW[..., None]
            if batch.parts_BW is not None:
                here_BW1 = here_BW1 & (batch.parts_BW == text)[..., None]
            # Finite, because a text may have no tokens; its vector is then 0.
            share_BWH = weights_BWH.masked_fill(~here_BW1, -1e9).softmax(dim=1) * here_BW1
            found.append(torch.einsum("bwh,bwhq->bhq", share_BWH.to(values_BWHQ.dtype), values_BWHQ).flatten(1))
        if self.texts == 2:
            one_BP, other_BP = found
            found += [(one_BP - other_BP).abs(), one_BP * other_BP]
        hidden_BP = F.gelu(self.hidden(self.mlp_dropout(torch.cat(found, dim=-1))))
        scores_BC: torch.Tensor = self.scores(self.mlp_dropout(hidden_BP))
        return scores_BC[:, None]


def _all_places(row: TaskRow, layout: RowLayout) -> TaskRow:
    """A row with all tokens of its texts as positions."""
    pair = len(row.texts) > 1
    starts = [len(layout.pair_before if pair else layout.before)]
    if pair:
        starts.append(starts[0] + row.texts[0] + len(layout.pair_between))
    places_W = np.concatenate([np.arange(size) + start for start, size in zip(starts, row.texts, strict=True)])
    targets_WK = None
    if not len(places_W):  # no text has a token: read the first special token
        return replace(row, places_W=np.zeros(1, dtype=np.int64), parts_W=np.zeros(1, dtype=np.int64))
    if row.targets_WK is not None:
        targets_WK = np.full((len(places_W), 1), IGNORED, dtype=np.int64)
        targets_WK[0] = row.targets_WK[0]
    parts_W = np.repeat(np.arange(len(row.texts)), row.texts)
    return replace(row, places_W=places_W, targets_WK=targets_WK, parts_W=parts_W)
