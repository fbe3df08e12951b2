"""Co-occurrences as a grid of blocks on disk, in the order in which GloVe trains on them.

Blocks without a common row or column can be processed in parallel (Gemulla et al. 2011), with the same result for any
number of workers. Subwords are assigned to groups in turn, from the most frequent on, so that blocks have about the
same size. In a block the pairs of a row are contiguous, in an order independent of frequency; the order of rows changes
in every epoch.

Shape legend: ``K`` pairs of a block, ``R`` rows of a block, ``V`` types.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.files import file_hash, storage_error, writable_folder
from isoglot.core.optional import COMPILED
from isoglot.core.progress import SILENT
from isoglot.static.counting_loops import deal_compiled, deal_plain

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from isoglot.core.progress import Progress
    from isoglot.static.counting import Rows

PAIR = np.dtype([("row", "<i4"), ("column", "<i4"), ("log", "<f4"), ("weight", "<f4")])
"""A pair: row and column, the logarithm of its count, and its weight."""
MOST_GROUPS = 16
INDEX = "pairs.json"


@dataclass(frozen=True)
class Block:
    """The pairs of one group of rows and one group of columns."""

    pairs_K: np.ndarray
    runs_R: np.ndarray
    """offsets of the pairs of each row, and the end (R + 1)"""

    @classmethod
    def of(cls, pairs_K: np.ndarray) -> Block:
        """Build a block from pairs sorted by row."""
        rows = pairs_K["row"]
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        return cls(pairs_K, np.append(begins, len(rows)).astype(np.int64))


@dataclass(frozen=True)
class Blocks:
    """All pairs: ``grid[i][j]`` has the rows of group i and the columns of group j."""

    types: int
    grid: tuple[tuple[Block, ...], ...]

    def __len__(self) -> int:
        return sum(len(block.pairs_K) for row in self.grid for block in row)

    @property
    def groups(self) -> int:
        """Number of groups of rows, and of columns."""
        return len(self.grid)


def groups_for(types: int) -> int:
    """Number of groups for a number of types."""
    return max(1, min(MOST_GROUPS, types // 4))


def weigh(values_K: np.ndarray, x_max: float, alpha: float) -> np.ndarray:
    """The paper's weighting function: (x / x_max) ** alpha, and 1 from x_max on.

    >>> weigh(np.array([1.0, 16.0, 100.0]), 16.0, 0.75).tolist()
    [0.125, 1.0, 1.0]
    """
    return np.asarray(np.minimum(values_K / x_max, 1.0) ** alpha)


def write_blocks(
    counts: Iterable[Rows], types: int, folder: Path, *, x_max: float, alpha: float, progress: Progress = SILENT
) -> None:
    """Write counts as blocks, 16 bytes a pair; ``pairs.json`` is written last.

    Raises:
        StorageError: The folder cannot be written to, or the disk is full.
    """
    writable_folder(folder)
    groups = groups_for(types)
    sizes = np.zeros(groups * groups, dtype=np.int64)
    digests = [hashlib.sha256() for _ in sizes]
    ranks_V = column_ranks(types)
    try:
        with progress.task("order", total=types, unit="rows") as task, ExitStack() as opened:
            done = 0
            files = [opened.enter_context(_file(folder, block).open("wb")) for block in range(groups * groups)]
            for rows in counts:
                lengths, pairs = _dealt(rows, groups, ranks_V, x_max, alpha)
                for block, part in enumerate(np.split(pairs, np.cumsum(lengths)[:-1])):
                    files[block].write(part.data)
                    digests[block].update(part.data)
                sizes += lengths
                last = int(rows.rows_K[-1]) + 1 if len(rows.rows_K) else done
                task.advance(last - done)
                done = last
            task.advance(types - done)
    except OSError as error:
        for block in range(groups * groups):
            _file(folder, block).unlink(missing_ok=True)
        raise storage_error(error, folder, doing="write") from error
    hashes = [digest.hexdigest() for digest in digests]
    write_sealed(folder / INDEX, {"types": types, "groups": groups, "sizes": sizes.tolist(), "sha256": hashes})


def column_ranks(types: int) -> np.ndarray:
    """Rank of each column in an order independent of frequency (V)."""
    mixed = (np.arange(types, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(36)
    ranks = np.empty(types, dtype=np.int32)
    ranks[np.argsort(mixed, kind="stable")] = np.arange(types, dtype=np.int32)
    return ranks


def _dealt(rows: Rows, groups: int, ranks_V: np.ndarray, x_max: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Number of pairs of each block, and the pairs sorted by block, row and rank of the column."""
    deal = deal_compiled if COMPILED else deal_plain
    lengths, order = deal(rows.rows_K, rows.columns_K, ranks_V, groups)
    values = rows.values()
    pairs = np.empty(len(order), dtype=PAIR)
    pairs["row"], pairs["column"] = rows.rows_K[order], rows.columns_K[order]
    pairs["log"] = np.log(values).astype(np.float32)[order]
    pairs["weight"] = weigh(values, x_max, alpha).astype(np.float32)[order]
    return lengths, pairs


def open_blocks(folder: Path) -> Blocks | None:
    """Memory-map what :func:`write_blocks` wrote; None if it is incomplete or damaged."""
    if not (folder / INDEX).exists():
        return None
    form = {"types": int, "groups": int, "sizes": [int], "sha256": [str]}
    index = read_sealed(folder / INDEX, form, remedy="remove the file, and the blocks are written again")
    groups, sizes = index["groups"], index["sizes"]
    blocks = []
    for number, (size, sha256) in enumerate(zip(sizes, index["sha256"], strict=True)):
        path = _file(folder, number)
        if not path.is_file() or path.stat().st_size != size * PAIR.itemsize or file_hash(path) != sha256:
            return None
        mapped = np.memmap(path, PAIR, "r", shape=(size,)) if size else np.zeros(0, PAIR)
        blocks.append(Block.of(mapped))
    return Blocks(index["types"], tuple(tuple(blocks[i * groups : (i + 1) * groups]) for i in range(groups)))


def _file(folder: Path, block: int) -> Path:
    return folder / f"block-{block:03d}.pairs"
