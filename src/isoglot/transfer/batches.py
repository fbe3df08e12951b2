"""Rows in batches: of one language each, of about the same length, in an order that is a function of seed and epoch.

Rows are shuffled, sorted by length within pools of some batches, cut, and the batches shuffled: little padding, and
still another order every epoch. Widths are multiples of 4, above 32 of 8, so that shapes recur.

Shapes: ``B`` rows, ``T`` tokens, ``W`` places, ``K`` numbers of a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.core.seeds import random_stream
from isoglot.model.batch import Batch
from isoglot.transfer.task import IGNORED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isoglot.transfer.task import Row
    from isoglot.vocab import Vocabulary

_POOL = 40  # batches that are sorted together


@dataclass(frozen=True)
class TaskBatch:
    """Rows side by side, with the places a head reads."""

    batch: Batch
    places_BW: torch.Tensor
    mask_BW: torch.Tensor
    """True at a real place."""
    targets_BWK: torch.Tensor | None
    numbers: tuple[int, ...]
    """Which rows they are."""
    parts_BW: torch.Tensor | None = None
    """Which text of its row a place is in, where a head asks."""
    firsts_B: torch.Tensor | None = None
    """The first place of each row among those of all rows, where these are stored."""

    def to(self, device: torch.device) -> TaskBatch:
        """The same on a device."""
        targets_BWK, parts_BW = (
            None if each is None else each.to(device, non_blocking=True) for each in (self.targets_BWK, self.parts_BW)
        )
        places_BW, mask_BW = (each.to(device, non_blocking=True) for each in (self.places_BW, self.mask_BW))
        return TaskBatch(self.batch.to(device), places_BW, mask_BW, targets_BWK, self.numbers, parts_BW)


def collated(rows: Sequence[Row], numbers: Sequence[int], vocabulary: Vocabulary, length: int) -> TaskBatch:
    """Some rows as a batch, ``[CLS] … [SEP]`` around each; at most ``length`` wide."""
    chosen = [rows[number] for number in numbers]
    special = vocabulary.special
    width = min(rounded(max(len(row.ids_N) for row in chosen) + 2), length)
    places = max(len(row.places_W) for row in chosen)
    places = places if places == 1 else rounded(places)
    ids_BT = np.full((len(chosen), width), special["[PAD]"], dtype=np.int64)
    tokens_BT = np.zeros((len(chosen), width), dtype=bool)
    starts_BT = np.zeros((len(chosen), width), dtype=bool)
    places_BW = np.zeros((len(chosen), places), dtype=np.int64)
    mask_BW = np.zeros((len(chosen), places), dtype=bool)
    parts_BW = None if chosen[0].parts_W is None else np.zeros((len(chosen), places), dtype=np.int32)
    learn = chosen[0].targets_WK
    targets_BWK = None if learn is None else np.full((len(chosen), places, learn.shape[1]), IGNORED, dtype=np.int64)
    for index, row in enumerate(chosen):
        end = len(row.ids_N) + 1
        ids_BT[index, 0], ids_BT[index, end] = special["[CLS]"], special["[SEP]"]
        ids_BT[index, 1:end] = row.ids_N
        tokens_BT[index, : end + 1] = True
        starts_BT[index, row.places_W[row.places_W > 0]] = True
        places_BW[index, : len(row.places_W)] = row.places_W
        mask_BW[index, : len(row.places_W)] = True
        if targets_BWK is not None and row.targets_WK is not None:
            targets_BWK[index, : len(row.places_W)] = row.targets_WK
        if parts_BW is not None and row.parts_W is not None:
            parts_BW[index, : len(row.places_W)] = row.parts_W
    ids, tokens, starts = (torch.from_numpy(array) for array in (ids_BT, tokens_BT, starts_BT))
    return TaskBatch(
        Batch(ids, tokens, starts, bool(tokens_BT.all())),
        torch.from_numpy(places_BW),
        torch.from_numpy(mask_BW),
        None if targets_BWK is None else torch.from_numpy(targets_BWK),
        tuple(numbers),
        None if parts_BW is None else torch.from_numpy(parts_BW),
    )


def rounded(size: int) -> int:
    """A width that recurs, and is hardly wider."""
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
    """Rows, in order, in batches of so many rows, or of so many tokens at most, padding included.

    >>> cut([0, 1, 2, 3], [6, 6, 14, 14], rows=8, tokens=32)
    [[0, 1], [2, 3]]

    Args:
        order: The numbers of the rows.
        lengths: Tokens of each row, without the special ones around it.
        rows: Of a batch.
        tokens: Of a batch at most, instead.
        padded: What a row of so many tokens becomes as wide as.
    """
    if tokens is None:
        return [list(order[start : start + rows]) for start in range(0, len(order), rows)]
    batches: list[list[int]] = []
    widest = 0
    for number in order:
        width = padded(lengths[number] + 2)
        widest = max(widest, width) if batches else width
        if not batches or widest * (len(batches[-1]) + 1) > tokens:
            batches.append([])
            widest = width
        batches[-1].append(number)
    return batches


def epoch_batches(
    rows: Mapping[str, Sequence[Row]],
    *,
    seed: int,
    epoch: int,
    size: int,
    tokens: int | None,
    amount: int | None,
    padded: Mapping[str, Callable[[int], int]] | None = None,
) -> list[tuple[str, list[int]]]:
    """The batches of an epoch: a language and the numbers of its rows.

    Args:
        rows: The rows of each language.
        seed: Decides the order.
        epoch: From 0; every epoch has another.
        size: Rows of a batch.
        tokens: Tokens of a batch at most, instead.
        amount: Rows of an epoch, where it is not all of them: it goes on where the last epoch ended.
        padded: For each language, what a row of so many tokens becomes as wide as; None: hardly wider than it is.
    """
    found: list[tuple[str, list[int]]] = []
    total = sum(map(len, rows.values()))
    for language, some in rows.items():
        share = len(some) if amount is None else max(1, round(amount * len(some) / total))
        order = _stretch(len(some), share, epoch, seed, language)
        lengths = [len(row.ids_N) for row in some]
        pool = _POOL * size if tokens is None else max(1, _POOL * tokens * len(some) // max(1, sum(lengths)))
        for start in range(0, len(order), pool):
            near = sorted(order[start : start + pool], key=lengths.__getitem__)
            wide = rounded if padded is None else padded[language]
            found += [(language, numbers) for numbers in cut(near, lengths, rows=size, tokens=tokens, padded=wide)]
    shuffled = random_stream(seed, "batches", epoch).permutation(len(found))
    return [found[index] for index in shuffled.tolist()]


def _stretch(count: int, share: int, epoch: int, seed: int, language: str) -> list[int]:
    """The rows of an epoch out of an endless stream of permutations."""
    order: list[int] = []
    start = epoch * share
    while len(order) < share:
        turn, at = divmod(start + len(order), count)
        permuted = random_stream(seed, "order", language, turn).permutation(count)
        order += permuted[at : at + share - len(order)].tolist()
    return order


def whole_batches(rows: Sequence[Row], tokens: int) -> Iterator[list[int]]:
    """All rows once, the longest first, so many tokens in a batch at most, padding included."""
    lengths = [len(row.ids_N) for row in rows]
    order = sorted(range(len(rows)), key=lambda number: -lengths[number])
    yield from cut(order, lengths, rows=1, tokens=tokens)
