"""Rows on the device, one after another, from which batches are cut there.

Only the numbers of a batch's rows travel, so nothing waits: neither the device for its next batch, nor the host for a
copy. The plain twin, row by row, is in the tests.

Shapes: ``B`` rows of a batch, ``T`` tokens, ``W`` places, ``K`` numbers of a place, ``R`` all rows, ``N`` all tokens,
``P`` all places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.model.batch import Batch
from isoglot.represent.layer_pass import to_device
from isoglot.transfer.tasks.task import IGNORED
from isoglot.transfer.tuning.batches import TaskBatch, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.transfer.tasks.task import TaskRow
    from isoglot.vocab import Vocabulary


class Shape(NamedTuple):
    """What a batch is padded to."""

    rows: int
    tokens: int
    places: int
    full: bool = False
    """Whether every row is known to be that long."""


class StoredRows:
    """Rows of one language on a device.

    Behind the last stands an empty one, of special tokens with nothing to learn, for batches that are to be filled up.

    Args:
        rows: What to hold.
        vocabulary: Has the special tokens and the padding.
        length: Tokens of a row at most, special ones included.
        device: Where.
    """

    def __init__(self, rows: Sequence[TaskRow], vocabulary: Vocabulary, length: int, device: torch.device) -> None:
        self.length, self.device, self.count = length, device, len(rows)
        self.pad = vocabulary.pad_id
        parts = [*(row.ids_N for row in rows), np.array(vocabulary.layout.framed([[]]) or [self.pad])]
        self.sizes = np.array([len(part) for part in parts])
        """Tokens of each row, special ones included."""
        self.widths = np.array([*(len(row.places_W) for row in rows), 1])
        """Places of each row."""
        self.ids_N = self._sent(np.concatenate(parts), np.int32)
        self.places_P = self._sent(np.concatenate([*(row.places_W for row in rows), np.zeros(1)]), np.int32)
        self.firsts_R2 = self._sent(_firsts(self.sizes, self.widths), np.int64)
        self.sizes_R2 = self._sent(np.stack([self.sizes, self.widths], axis=1), np.int64)
        targets = [row.targets_WK for row in rows if row.targets_WK is not None]
        self.targets_PK: torch.Tensor | None = None
        if targets and len(targets) == len(rows):
            nothing = np.full((1, targets[0].shape[1]), IGNORED)
            self.targets_PK = self._sent(np.concatenate([*targets, nothing]), np.int64)
        texts = [row.parts_W for row in rows if row.parts_W is not None]
        self.parts_P: torch.Tensor | None = None
        if texts and len(texts) == len(rows):
            self.parts_P = self._sent(np.concatenate([*texts, np.zeros(1)]), np.int32)

    def _sent(self, array: np.ndarray, kind: type[np.generic]) -> torch.Tensor:
        return torch.from_numpy(array.astype(kind)).to(self.device)

    def __len__(self) -> int:
        return self.count

    def batch(self, numbers: Sequence[int]) -> TaskBatch:
        """Some rows as a batch on the device, no wider than its longest row needs."""
        shape = self.shape(numbers)
        return self.cut(self.sent(numbers, shape), shape)

    def shape(self, numbers: Sequence[int]) -> Shape:
        """What some rows need."""
        chosen = np.asarray(numbers)
        sizes_B, places = self.sizes[chosen], int(self.widths[chosen].max())
        tokens = min(rounded(int(sizes_B.max())), self.length)
        full = bool((sizes_B == tokens).all())
        return Shape(len(chosen), tokens, places if places == 1 else rounded(places), full)

    def sent(self, numbers: Sequence[int], shape: Shape) -> torch.Tensor:
        """The numbers of some rows on their way to the device, with those of empty ones up to the rows of a shape."""
        chosen = np.pad(np.asarray(numbers), (0, shape.rows - len(numbers)), constant_values=self.count)
        return to_device(torch.from_numpy(chosen), self.device)

    def cut(self, rows_B: torch.Tensor, shape: Shape) -> TaskBatch:
        """The batch of some rows, all of it on the device.

        Args:
            rows_B: Their numbers.
            shape: What it is padded to.
        """
        tokens, places = shape.tokens, shape.places
        firsts_B2, ends_B2 = self.firsts_R2[rows_B], self.sizes_R2[rows_B]
        along = torch.arange(max(tokens, places), device=self.device)
        mask_BT = along[:tokens] < ends_B2[:, :1]
        mask_BW = along[:places] < ends_B2[:, 1:]
        at_BT = (firsts_B2[:, :1] + along[:tokens]).clamp(max=len(self.ids_N) - 1)
        at_BW = (firsts_B2[:, 1:] + along[:places]).clamp(max=len(self.places_P) - 1)
        ids_BT = torch.where(mask_BT, self.ids_N[at_BT].long(), self.pad)
        places_BW = torch.where(mask_BW, self.places_P[at_BW].long(), 0)
        targets_BWK = parts_BW = None
        if self.targets_PK is not None:
            targets_BWK = torch.where(mask_BW[..., None], self.targets_PK[at_BW], IGNORED)
        if self.parts_P is not None:
            parts_BW = torch.where(mask_BW, self.parts_P[at_BW], 0)
        starts_BT = torch.zeros_like(mask_BT).scatter_(1, places_BW, mask_BW & (places_BW > 0))
        batch = Batch(ids_BT, mask_BT, starts_BT, shape.full)
        return TaskBatch(batch, places_BW, mask_BW, targets_BWK, parts_BW, firsts_B2[:, 1])


def _firsts(*counts_R: np.ndarray) -> np.ndarray:
    """Where each row begins among all tokens, and among all places (R x 2)."""
    return np.stack([np.cumsum(counts) - counts for counts in counts_R], axis=1)
