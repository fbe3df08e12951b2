"""Batches: rows of one language each and of similar length, in an order that is a function of seed and epoch.

Rows are shuffled, sorted by length within pools of some batches and cut into batches, which are shuffled again: little
padding, and a different order in every epoch. Widths are multiples of 4, above 32 of 8, so that shapes recur.

Rows are stored on the device, and batches are gathered there: only row indices are transferred, so neither device nor
host waits for a copy. The plain equivalent, row by row, is in the tests.

Shapes: ``B`` rows of a batch, ``T`` tokens, ``W`` positions that a head reads, ``K`` targets per position, ``R`` all
rows, ``N`` all tokens, ``P`` all positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.core.rng import random_stream
from isoglot.model.protocol import Batch, to_device
from isoglot.transfer.tasks.task import IGNORED, TaskRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isoglot.vocab import Vocabulary

_POOL = 40  # batches that are sorted together


@dataclass(frozen=True)
class TaskBatch:
    """A batch of rows, with the positions that a head reads."""

    batch: Batch
    places_BW: torch.Tensor
    mask_BW: torch.Tensor
    """True at positions that are not padding."""
    targets_BWK: torch.Tensor | None
    parts_BW: torch.Tensor | None = None
    """Index of the text each position is in, for heads that need it."""
    firsts_B: torch.Tensor | None = None
    """Index of the first position of each row among those of all stored rows."""

    @property
    def targets(self) -> torch.Tensor:
        """Targets of a batch to learn from."""
        assert self.targets_BWK is not None  # noqa: S101 - for the type checker
        return self.targets_BWK


def rounded(size: int) -> int:
    """Round a width up to one that recurs."""
    step = 4 if size <= 32 else 8
    return -(-size // step) * step


def cut(
    order: Sequence[int],
    lengths: Sequence[int],
    *,
    rows: int,
    tokens: int | None,
    padded: Callable[[int], int] = rounded,
) -> list[list[int]]:
    """Cut rows into batches of a number of rows, or of a maximum number of tokens including padding.

    >>> cut([0, 1, 2, 3], [6, 6, 14, 14], rows=8, tokens=32)
    [[0, 1], [2, 3]]

    Args:
        order: Row indices.
        lengths: Number of tokens of each row.
        rows: Number of rows per batch.
        tokens: Maximum number of tokens per batch; replaces ``rows``.
        padded: Returns the width that a row of some length is padded to.
    """
    if tokens is None:
        return [list(order[start : start + rows]) for start in range(0, len(order), rows)]
    batches: list[list[int]] = []
    widest = 0
    for number in order:
        width = padded(lengths[number])
        widest = max(widest, width) if batches else width
        if not batches or widest * (len(batches[-1]) + 1) > tokens:
            batches.append([])
            widest = width
        batches[-1].append(number)
    return batches


def epoch_batches(
    rows: Mapping[str, Sequence[TaskRow]],
    *,
    seed: int,
    epoch: int,
    size: int,
    tokens: int | None,
    amount: int | None,
    padded: Mapping[str, Callable[[int], int]] | None = None,
) -> list[tuple[str, list[int]]]:
    """Batches of an epoch: a language and the indices of its rows.

    Args:
        rows: Rows by language.
        seed: Random seed of the order.
        epoch: Epoch, from 0; each has its own order.
        size: Number of rows per batch.
        tokens: Maximum number of tokens per batch; replaces ``size``.
        amount: Number of rows per epoch, which continues where the last epoch ended. Default: all rows.
        padded: By language, a function that returns the width a row of some length is padded to. Default:
            :func:`rounded`.
    """
    found: list[tuple[str, list[int]]] = []
    total = sum(map(len, rows.values()))
    for language, some in rows.items():
        if not some:
            continue
        share = len(some) if amount is None else max(1, round(amount * len(some) / total))
        order = _epoch_order(len(some), share, epoch, seed, language)
        lengths = [len(row.ids_N) for row in some]
        pool = _POOL * size if tokens is None else max(1, _POOL * tokens * len(some) // max(1, sum(lengths)))
        wide = rounded if padded is None else padded[language]
        for start in range(0, len(order), pool):
            near = sorted(order[start : start + pool], key=lengths.__getitem__)
            found += [(language, numbers) for numbers in cut(near, lengths, rows=size, tokens=tokens, padded=wide)]
    shuffled = random_stream(seed, "batches", epoch).permutation(len(found))
    return [found[index] for index in shuffled.tolist()]


def _epoch_order(count: int, share: int, epoch: int, seed: int, language: str) -> list[int]:
    """Rows of an epoch, taken from an endless sequence of permutations."""
    order: list[int] = []
    while len(order) < share:
        turn, at = divmod(epoch * share + len(order), count)
        permuted = random_stream(seed, "order", language, turn).permutation(count)
        order += permuted[at : at + share - len(order)].tolist()
    return order


def whole_batches(rows: Sequence[TaskRow], tokens: int) -> Iterator[list[int]]:
    """All rows once, the longest first, with a maximum number of tokens per batch including padding."""
    lengths = [len(row.ids_N) for row in rows]
    order = sorted(range(len(rows)), key=lambda number: -lengths[number])
    yield from cut(order, lengths, rows=1, tokens=tokens)


class Shape(NamedTuple):
    """Size that a batch is padded to."""

    rows: int
    tokens: int
    places: int
    full: bool = False
    """Whether every row is known to have that many tokens."""


class StoredRows:
    """Rows of one language on a device.

    The last one is followed by an empty row of special tokens without targets, which fills up batches.

    Args:
        rows: The rows.
        vocabulary: Vocabulary, for special tokens and padding.
        length: Maximum number of tokens of a row, special tokens included.
        device: The device.
    """

    def __init__(self, rows: Sequence[TaskRow], vocabulary: Vocabulary, length: int, device: torch.device) -> None:
        self.length, self.device, self.count = length, device, len(rows)
        self.pad = vocabulary.pad_id
        parts = [*(row.ids_N for row in rows), np.array(vocabulary.layout.framed([[]]) or [self.pad])]
        self.sizes = np.array([len(part) for part in parts])
        """Number of tokens of each row, special tokens included."""
        self.widths = np.array([*(len(row.places_W) for row in rows), 1])
        """Number of positions of each row."""
        self.ids_N = self._stored(parts, np.int32)
        self.places_P = self._stored([*(row.places_W for row in rows), np.zeros(1)], np.int32)
        self.sizes_R2 = self._stored([np.stack([self.sizes, self.widths], axis=1)], np.int64)
        self.firsts_R2 = self.sizes_R2.cumsum(dim=0) - self.sizes_R2
        """Index of the first token of each row among all tokens, and of the first position among all positions."""
        targets = [row.targets_WK for row in rows if row.targets_WK is not None]
        self.targets_PK: torch.Tensor | None = None
        if targets and len(targets) == len(rows):
            self.targets_PK = self._stored([*targets, np.full((1, targets[0].shape[1]), IGNORED)], np.int64)
        texts = [row.parts_W for row in rows if row.parts_W is not None]
        self.parts_P: torch.Tensor | None = None
        if texts and len(texts) == len(rows):
            self.parts_P = self._stored([*texts, np.zeros(1)], np.int32)

    def _stored(self, arrays: Sequence[np.ndarray], kind: type[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(arrays).astype(kind)).to(self.device)

    def __len__(self) -> int:
        return self.count

    def batch(self, numbers: Sequence[int]) -> TaskBatch:
        """Rows as a batch on the device, padded to the longest row."""
        shape = self.shape(numbers)
        return self.cut(self.sent(numbers, shape), shape)

    def shape(self, numbers: Sequence[int]) -> Shape:
        """Smallest shape for some rows."""
        chosen = np.asarray(numbers)
        sizes_B, places = self.sizes[chosen], int(self.widths[chosen].max())
        tokens = min(rounded(int(sizes_B.max())), self.length)
        full = bool((sizes_B == tokens).all())
        return Shape(len(chosen), tokens, places if places == 1 else rounded(places), full)

    def sent(self, numbers: Sequence[int], shape: Shape) -> torch.Tensor:
        """Send row indices to the device, with those of empty rows up to the rows of a shape."""
        chosen = np.pad(np.asarray(numbers), (0, shape.rows - len(numbers)), constant_values=self.count)
        return to_device(torch.from_numpy(chosen), self.device)

    def cut(self, rows_B: torch.Tensor, shape: Shape) -> TaskBatch:
        """Gather a batch on the device.

        Args:
            rows_B: Row indices.
            shape: Shape to pad to.
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
