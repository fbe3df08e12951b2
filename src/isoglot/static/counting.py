"""Co-occurrence counts of subwords, exact and in bounded memory.

Pairs are neither hashed nor sorted: all positions of one subword are processed together, and their neighbors are summed
in one row of counters that stays in the cache. A chunk of the stream gives a *run*, the rows of all subwords on disk;
runs are merged row by row. Counts are integer multiples of :data:`UNIT`, so that sums do not depend on chunks or
workers.

Memory: 10 bytes per subword of a chunk and up to 15 MB per worker; results go to disk. Merging and sorting take 50 MB.
Without numba chunks are smaller and take 80 MB.

Shape legend: ``N`` subwords of the stream, ``S`` segments, ``V`` types, ``W`` window, ``K`` observed pairs,
``M`` runs, ``R`` rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from isoglot.core.files import storage_error, writable_folder
from isoglot.core.optional import COMPILED, compiled
from isoglot.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from isoglot.static.token_stream import Stream


UNIT = 232_792_560
"""Count of a neighbor at distance 1: divisible by all distances up to 22; beyond, rounded by at most 1e-7."""
_ROOM = 2**18  # pairs in a worker's buffer, 12 bytes each; up to five buffers wait to be written
_PLAIN_CHUNK = 2**16  # maximum subwords of a run without numba, which takes 1.1 KB for each

Weighting = Literal["distance", "flat"]
"""Whether a neighbor counts 1 / distance, or 1."""


class Rows(NamedTuple):
    """Complete rows of the counts: pairs sorted by row, then by column."""

    rows_K: np.ndarray
    columns_K: np.ndarray
    units_K: np.ndarray

    def values(self) -> np.ndarray:
        """The counts, float64 (K)."""
        return np.asarray(self.units_K / UNIT)


@dataclass(frozen=True)
class Run:
    """Counts of a chunk: offsets of each type's pairs (V + 1), and the pairs in two files."""

    starts_V: np.ndarray
    columns: Path
    units: Path

    def rows(self, first: int, last: int) -> Rows:
        """Rows ``first`` to ``last - 1``."""
        begin, end = int(self.starts_V[first]), int(self.starts_V[last])
        lengths = np.diff(self.starts_V[first : last + 1])
        rows_K = np.repeat(np.arange(first, last, dtype=np.int32), lengths)
        return Rows(rows_K, _part(self.columns, np.int32, begin, end), _part(self.units, np.int64, begin, end))


def _part(path: Path, kind: type, begin: int, end: int) -> np.ndarray:
    return np.fromfile(path, dtype=kind, count=end - begin, offset=begin * np.dtype(kind).itemsize)


def neighbor_units(window: int, weighting: Weighting) -> np.ndarray:
    """Count of a neighbor at each distance, from 0 (W + 1)."""
    distances = np.arange(1, window + 1)
    units = np.rint(UNIT / distances) if weighting == "distance" else np.full(window, UNIT)
    return np.concatenate([[0], units]).astype(np.int64)


def count_pairs(
    stream: Stream,
    folder: Path,
    *,
    window: int = 10,
    weighting: Weighting = "distance",
    chunk: int = 2**24,
    workers: int = 1,
    progress: Progress = SILENT,
) -> list[Run]:
    """Count all pairs within a window of each other in the same segment, in both directions.

    Args:
        stream: The token stream.
        folder: Folder of the runs; created if missing.
        window: Subwords on each side.
        weighting: How much a neighbor counts.
        chunk: Maximum subwords of a run.
        workers: Number of threads; counts do not depend on it.
        progress: Progress reporter.

    Raises:
        StorageError: The folder cannot be written to, or the disk is full.
    """
    writable_folder(folder)
    units_W = neighbor_units(window, weighting)
    chunk = chunk if COMPILED else min(chunk, _PLAIN_CHUNK)
    runs = []
    with progress.task("count", total=len(stream), unit="tokens") as task, ThreadPoolExecutor(workers) as pool:
        for number, begin in enumerate(range(0, len(stream), chunk)):
            end = min(begin + chunk, len(stream))
            found = _chunk_rows(stream, begin, end, units_W, workers, pool)
            columns, units = (folder / f"run-{number:05d}.{part}" for part in ("columns", "units"))
            lengths = np.zeros(len(stream.ids_V) + 1, dtype=np.int64)
            try:
                with columns.open("wb") as first, units.open("wb") as second:
                    for low, counts, columns_K, units_K, places in found:
                        lengths[low + 1 : low + 1 + len(counts)] = counts
                        first.write(columns_K.data)
                        second.write(units_K.data)
                        task.advance(places)
            except OSError as error:
                for path in (columns, units):
                    path.unlink(missing_ok=True)
                raise storage_error(error, folder, doing="write") from error
            runs.append(Run(np.cumsum(lengths), columns, units))
    return runs


_Found = tuple[int, np.ndarray, np.ndarray, np.ndarray, int]


def _chunk_rows(
    stream: Stream, begin: int, end: int, units_W: np.ndarray, workers: int, pool: ThreadPoolExecutor
) -> Iterator[_Found]:
    """Rows of the subwords in a chunk; their neighbors may be outside of it."""
    window, types = len(units_W) - 1, len(stream.ids_V)
    low, high = max(0, begin - window), min(len(stream), end + window)
    tokens = np.array(stream.tokens_N[low:high])
    first = int(np.searchsorted(stream.starts_S, begin, "right")) - 1
    last = int(np.searchsorted(stream.starts_S, end, "left"))
    starts = stream.starts_S[first : last + 1] - low
    if not COMPILED:
        yield _plain_rows(tokens, starts, begin - low, end - low, units_W, types)
        return
    begins, at, left, right = place_types(tokens, starts, begin - low, end - low, window, types)
    room_V = np.minimum(np.diff(begins) * 2 * window, types)

    def work(rows: tuple[int, int]) -> _Found:
        counts, columns, units = count_rows(
            tokens, begins, at, left, right, *rows, units_W, types, int(room_V[slice(*rows)].sum())
        )
        return rows[0], counts, columns, units, int(begins[rows[1]] - begins[rows[0]])

    ranges = list(_ranges(room_V, _ROOM))
    for group in range(0, len(ranges), 4 * workers):  # a few at a time, since results wait to be written
        yield from pool.map(work, ranges[group : group + 4 * workers])


def _ranges(sizes: np.ndarray, room: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive rows that fit into a buffer together; at least one row each."""
    before = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(before, before[first] + room, "right")) - 1)
        yield first, last
        first = last


def _plain_rows(
    tokens: np.ndarray, starts: np.ndarray, begin: int, end: int, units_W: np.ndarray, types: int
) -> _Found:
    """NumPy equivalent of the compiled loops: all pairs at one distance at once."""
    places = np.arange(begin, end)
    segments = np.searchsorted(starts, places, "right")  # the segment of a position ends at this start
    keys, units = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for distance in range(1, len(units_W)):
        for near, there in (
            (places - distance, places - distance >= starts[segments - 1]),
            (places + distance, places + distance < starts[segments]),
        ):
            keys.append(tokens[places[there]].astype(np.int64) * types + tokens[near[there]])
            units.append(np.full(int(there.sum()), units_W[distance]))
    pairs, sums = _summed(np.concatenate(keys), np.concatenate(units))
    counts = np.bincount(pairs // types, minlength=types)
    return 0, counts, (pairs % types).astype(np.int32), sums, end - begin


def _summed(keys: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys in order, with the sum of their units."""
    order = np.argsort(keys, kind="stable")
    keys, units = keys[order], units[order]
    new = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[new], np.add.reduceat(units, new) if len(new) else units


def merged(runs: Sequence[Run], *, room: int = 2**19) -> Iterator[Rows]:
    """Yield the summed rows of all runs, about ``room`` pairs at a time."""
    if not runs:
        return
    sizes = sum((np.diff(run.starts_V) for run in runs), start=np.zeros(len(runs[0].starts_V) - 1, dtype=np.int64))
    for first, last in _ranges(sizes, room):
        parts = [run.rows(first, last) for run in runs]
        if len(parts) == 1:
            yield parts[0]
            continue
        rows, columns, units = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        types = len(sizes)
        if COMPILED:
            within = np.stack([run.starts_V[first : last + 1] - run.starts_V[first] for run in runs])
            before = np.cumsum([0, *(len(part.rows_K) for part in parts[:-1])])
            lengths, columns, units = add_rows(within + before[:, None], columns, units, types)
            yield Rows(np.repeat(np.arange(first, last, dtype=np.int32), lengths), columns, units)
            continue
        keys, sums = _summed(rows.astype(np.int64) * types + columns, units)
        yield Rows((keys // types).astype(np.int32), (keys % types).astype(np.int32), sums)


# --- loops, compiled by numba ---


@compiled
def place_types(
    tokens: np.ndarray, starts: np.ndarray, begin: int, end: int, window: int, types: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions of every type between two positions, in order.

    Args:
        tokens: Type of every position, including those around the chunk.
        starts: Offsets of segments, and the end of the last (S + 1); the first may begin before the tokens.
        begin: First position of the chunk.
        end: First position after it.
        window: Maximum distance of a neighbor.
        types: Number of types.

    Returns:
        Offsets of the positions of each type (V + 1), the positions, and the number of neighbors to the left and to the
        right of each (N).
    """
    begins = np.zeros(types + 1, np.int64)
    for place in range(begin, end):
        begins[tokens[place] + 1] += 1
    for word in range(types):
        begins[word + 1] += begins[word]
    filled = begins[:-1].copy()
    at = np.empty(end - begin, np.int32)
    left = np.empty(end - begin, np.uint8)
    right = np.empty(end - begin, np.uint8)
    for segment in range(len(starts) - 1):
        for place in range(max(begin, starts[segment]), min(end, starts[segment + 1])):
            word = tokens[place]
            k = filled[word]
            filled[word] += 1
            at[k] = place
            left[k] = min(window, place - starts[segment])
            right[k] = min(window, starts[segment + 1] - 1 - place)
    return begins, at, left, right


@compiled
def count_rows(
    tokens: np.ndarray,
    begins: np.ndarray,
    at: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    first: int,
    last: int,
    units_W: np.ndarray,
    types: int,
    room: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of some types: number of pairs of each, sorted columns, and counts."""
    lengths = np.zeros(last - first, np.int64)
    columns = np.empty(room, np.int32)
    units = np.empty(room, np.int64)
    sums_V = np.zeros(types, np.int64)
    met = np.empty(types, np.int32)
    filled = 0
    for row in range(first, last):
        found = 0
        for k in range(begins[row], begins[row + 1]):
            place = at[k]
            for distance in range(1, left[k] + 1):
                other = tokens[place - distance]
                if sums_V[other] == 0:
                    met[found] = other
                    found += 1
                sums_V[other] += units_W[distance]
            for distance in range(1, right[k] + 1):
                other = tokens[place + distance]
                if sums_V[other] == 0:
                    met[found] = other
                    found += 1
                sums_V[other] += units_W[distance]
        take_row(sums_V, met, found, columns[filled:], units[filled:])
        filled += found
        lengths[row - first] = found
    return lengths, columns[:filled].copy(), units[:filled].copy()


@compiled
def take_row(sums_V: np.ndarray, met: np.ndarray, found: int, columns: np.ndarray, units: np.ndarray) -> None:
    """Move the sums of the columns that occurred to the output, sorted, and reset them to 0."""
    if 16 * found > len(sums_V):  # scanning all is faster than sorting
        filled = 0
        for other in range(len(sums_V)):
            if sums_V[other] != 0:
                met[filled] = other
                filled += 1
    else:
        met[:found].sort()
    for k in range(found):
        columns[k] = met[k]
        units[k] = sums_V[met[k]]
        sums_V[met[k]] = 0


@compiled
def add_rows(
    starts_MR: np.ndarray, columns_K: np.ndarray, units_K: np.ndarray, types: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum the same rows of several runs: number of pairs of each, sorted columns, and counts.

    Args:
        starts_MR: Offsets of each run's rows among the pairs, and their end (M x R + 1).
        columns_K: Columns of the pairs, run after run.
        units_K: Their counts.
        types: Number of types.
    """
    rows = starts_MR.shape[1] - 1
    lengths = np.zeros(rows, np.int64)
    columns = np.empty(len(columns_K), np.int32)
    units = np.empty(len(columns_K), np.int64)
    sums_V = np.zeros(types, np.int64)
    met = np.empty(types, np.int32)
    filled = 0
    for row in range(rows):
        found = 0
        for run in range(len(starts_MR)):
            for k in range(starts_MR[run, row], starts_MR[run, row + 1]):
                other = columns_K[k]
                if sums_V[other] == 0:
                    met[found] = other
                    found += 1
                sums_V[other] += units_K[k]
        take_row(sums_V, met, found, columns[filled:], units[filled:])
        filled += found
        lengths[row] = found
    return lengths, columns[:filled].copy(), units[:filled].copy()


@compiled
def block_order_compiled(
    rows_K: np.ndarray, columns_K: np.ndarray, ranks_V: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Order of pairs by block, row and rank of the column, by a radix sort in two passes.

    Args:
        rows_K: Rows of the pairs, sorted.
        columns_K: Their columns.
        ranks_V: Rank of each column.
        groups: Number of groups of rows, and of columns; row ``i`` is in group ``i % groups``.

    Returns:
        Number of pairs of each block, and the order.
    """
    pairs, types = len(rows_K), len(ranks_V)
    lengths = np.zeros(groups * groups, np.int64)
    if pairs == 0:
        return lengths, np.zeros(0, np.int32)
    groups_V = np.empty(types, np.int32)  # divisions take longer than all the rest
    for word in range(types):
        groups_V[word] = word % groups
    first = rows_K[0] // groups
    height = rows_K[-1] // groups - first + 1
    begins = np.zeros(types + 1, np.int32)
    for k in range(pairs):
        begins[ranks_V[columns_K[k]] + 1] += 1
    for rank in range(types):
        begins[rank + 1] += begins[rank]
    by_rank = np.empty((pairs, 2), np.int32)
    cells = np.zeros(groups * groups * height + 1, np.int32)  # a cell is what a row has in a block
    row, cell = -1, 0
    for k in range(pairs):
        if rows_K[k] != row:
            row = rows_K[k]
            cell = groups_V[row] * groups * height + row // groups - first
        rank = ranks_V[columns_K[k]]
        here = cell + groups_V[columns_K[k]] * height
        by_rank[begins[rank], 0] = k
        by_rank[begins[rank], 1] = here
        begins[rank] += 1
        cells[here + 1] += 1
    for here in range(len(cells) - 1):
        cells[here + 1] += cells[here]
    for block in range(groups * groups):
        lengths[block] = cells[(block + 1) * height] - cells[block * height]
    order = np.empty(pairs, np.int32)
    for k in range(pairs):
        here = by_rank[k, 1]
        order[cells[here]] = by_rank[k, 0]
        cells[here] += 1
    return lengths, order


def block_order_plain(
    rows_K: np.ndarray, columns_K: np.ndarray, ranks_V: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """NumPy equivalent of :func:`block_order_compiled`."""
    blocks = rows_K % groups * groups + columns_K % groups
    return np.bincount(blocks, minlength=groups * groups), np.lexsort((ranks_V[columns_K], rows_K, blocks))
