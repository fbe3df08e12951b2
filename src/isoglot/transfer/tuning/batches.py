"""Rows in batches: of one language each, of about the same length, in an order that is a function of seed and epoch.

Rows are shuffled, sorted by length within pools of some batches, cut, and the batches shuffled: little padding, and
still another order every epoch. Widths are multiples of 4, above 32 of 8, so that shapes recur.

Shapes: ``B`` rows, ``T`` tokens, ``W`` places, ``K`` numbers of a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import torch

    from isoglot.model.batch import Batch
    from isoglot.transfer.tasks.task import TaskRow

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
    """Which text of its row a place is in, where a head asks."""
    firsts_B: torch.Tensor | None = None
    """The first place of each row among those of all rows, where these are stored."""


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
        lengths: Tokens of each row.
        rows: Of a batch.
        tokens: Of a batch at most, instead.
        padded: What a row of so many tokens becomes as wide as.
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
        if not some:
            continue
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


def whole_batches(rows: Sequence[TaskRow], tokens: int) -> Iterator[list[int]]:
    """All rows once, the longest first, with a maximum of tokens per batch, padding included."""
    lengths = [len(row.ids_N) for row in rows]
    order = sorted(range(len(rows)), key=lambda number: -lengths[number])
    yield from cut(order, lengths, rows=1, tokens=tokens)
