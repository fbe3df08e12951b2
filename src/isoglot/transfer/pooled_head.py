"""A head that reads whole texts: attention over their tokens, and a small classifier over what it has gathered.

A static vector knows nothing of its neighbors, so the token in front cannot stand for a sentence as it does in an
encoder. Here every token of a text has a weight, the weighted mean is the text, and for a pair the classifier sees the
two, how far they are apart and where they agree (as Conneau et al. 2017 do). Any frozen encoder can have this head, so
that it is compared with static vectors on the same terms.

Shapes: ``B`` rows, ``W`` places (the tokens of all texts of a row), ``D`` hidden size, ``C`` labels, ``H`` weights of a
token, ``P`` numbers of a text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from isoglot.transfer.heads import Head, cross_entropy
from isoglot.transfer.task import IGNORED

if TYPE_CHECKING:
    from isoglot.transfer.heads import HeadConfig
    from isoglot.transfer.task import Row, Rows
    from isoglot.vocab import Vocabulary
    from isoglot.vocab.layout import RowLayout


class PooledHead(Head):
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

    def placed(self, rows: Rows, vocabulary: Vocabulary) -> Rows:
        """Every token of every text is a place; what is to be learnt stands at the first."""
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


def _all_places(row: Row, layout: RowLayout) -> Row:
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
