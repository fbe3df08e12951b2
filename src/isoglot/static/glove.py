"""GloVe (Pennington et al. 2014) on blocks of co-occurrences, with a state that can be saved between epochs.

Co-occurrences are a grid of blocks on disk. Blocks without a common row or column can be processed in parallel
(Gemulla et al. 2011), with the same result for any number of workers. Subwords are assigned to groups in turn, from the
most frequent on, so that blocks have about the same size. In a block the pairs of a row are contiguous, in an order
independent of frequency; the order of rows changes in every epoch.

The step is compiled if numba is installed, and has a NumPy equivalent. For a pair of row i and column j with the
logarithm x of its count and the weight f::

    e = w_i · c_j + a_i + b_j - x                      the error; the loss is f e² / 2
    g = f e c_j,  h = f e w_i                          the gradients by w_i and c_j; by the biases f e
    w_i -= rate g / √G_i,  G_i += (rate g)²            AdaGrad, from G = 1 on; the same for c_j and the biases

The squares are those of the steps, rate included, as in the authors' program.

Shape legend: ``K`` pairs of a block, ``R`` rows of a block, ``V`` types, ``D`` dimensions.
"""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError
from isoglot.core.files import file_hash, storage_error, writable_folder
from isoglot.core.optional import COMPILED, compiled_loosely
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.static.config import GloveConfig, lower_rate
from isoglot.static.counting import Rows, block_order_compiled, block_order_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


# --- one step ---


class Side(NamedTuple):
    """Subwords as words or as contexts: vectors and biases, and the sums of their squared steps."""

    vectors_VD: np.ndarray
    sums_VD: np.ndarray
    biases_V: np.ndarray
    bias_sums_V: np.ndarray


@compiled_loosely
def learn_compiled(
    pairs_K: np.ndarray,
    runs_R: np.ndarray,
    order_R: np.ndarray,
    words: Side,
    contexts: Side,
    rate: np.float32,
    clip: np.float32,
) -> float:
    """Learn from the pairs of a block, row by row in an order; returns the sum of the losses before each step."""
    w_VD, w_sums_VD, a_V, a_sums_V = words
    c_VD, c_sums_VD, b_V, b_sums_V = contexts
    width = w_VD.shape[1]
    loss = 0.0
    for run in order_R:
        i = pairs_K[runs_R[run]]["row"]
        w, w_sums = w_VD[i], w_sums_VD[i]
        for k in range(runs_R[run], runs_R[run + 1]):
            j = pairs_K[k]["column"]
            c, c_sums = c_VD[j], c_sums_VD[j]
            error = a_V[i] + b_V[j] - pairs_K[k]["log"]
            for d in range(width):
                error += w[d] * c[d]
            slope = pairs_K[k]["weight"] * error
            loss += np.float64(slope) * np.float64(error) * 0.5
            for d in range(width):
                step = rate * min(max(slope * c[d], -clip), clip)
                other = rate * min(max(slope * w[d], -clip), clip)
                w[d] -= step / np.sqrt(w_sums[d])
                c[d] -= other / np.sqrt(c_sums[d])
                w_sums[d] += step * step
                c_sums[d] += other * other
            step = rate * min(max(slope, -clip), clip)
            a_V[i] -= step / np.sqrt(a_sums_V[i])
            b_V[j] -= step / np.sqrt(b_sums_V[j])
            a_sums_V[i] += step * step
            b_sums_V[j] += step * step
    return loss


@np.errstate(over="ignore", invalid="ignore")  # divergence is detected at the end of the epoch
def learn_plain(
    pairs_K: np.ndarray,
    runs_R: np.ndarray,
    order_R: np.ndarray,
    words: Side,
    contexts: Side,
    rate: np.float32,
    clip: np.float32,
) -> float:
    """NumPy equivalent of :func:`learn_compiled`, a pair at a time."""
    loss = 0.0
    for run in order_R:
        for pair in pairs_K[runs_R[run] : runs_R[run + 1]]:
            i, j = int(pair["row"]), int(pair["column"])
            w_D, c_D = words.vectors_VD[i].copy(), contexts.vectors_VD[j].copy()
            error = np.float32(w_D @ c_D + words.biases_V[i] + contexts.biases_V[j] - pair["log"])
            slope = np.float32(pair["weight"] * error)
            loss += 0.5 * float(slope) * float(error)
            for side, at, other_D in ((words, i, c_D), (contexts, j, w_D)):
                steps_D = rate * np.clip(slope * other_D, -clip, clip)
                side.vectors_VD[at] -= steps_D / np.sqrt(side.sums_VD[at])
                side.sums_VD[at] += steps_D * steps_D
                step = rate * np.clip(slope, -clip, clip)
                side.biases_V[at] -= step / np.sqrt(side.bias_sums_V[at])
                side.bias_sums_V[at] += step * step
    return loss


learn = learn_compiled if COMPILED else learn_plain
"""The compiled step if numba is installed."""


# --- training ---


@dataclass
class Glove:
    """GloVe in training.

    Attributes:
        words: Word vectors and biases.
        contexts: Context vectors and biases.
        epoch: Number of epochs so far.
        losses: Mean loss of a pair in each epoch.
    """

    words: Side
    contexts: Side
    epoch: int
    losses: list[float]

    @classmethod
    def begin(cls, types: int, dimensions: int, seed: int) -> Glove:
        """Initialize as the authors' program does."""
        sides = [_side(types, dimensions, seed, name) for name in ("words", "contexts")]
        return cls(sides[0], sides[1], 0, [])

    def learn_epoch(
        self, blocks: Blocks, config: GloveConfig, *, workers: int = 1, progress: Progress = SILENT
    ) -> float:
        """Train one epoch; returns the mean loss of a pair, computed before its update.

        Blocks without a common row or column are processed in parallel, so the result does not depend on the number of
        workers.

        Raises:
            ConfigError: The loss or the vectors are not finite.
        """
        generator = random_stream(config.seed, "glove", self.epoch)
        shifts = generator.permutation(blocks.groups)
        total = max(len(blocks), 1)
        loss = 0.0
        label = f"epoch {self.epoch + 1} of {config.epochs}"
        with progress.task(label, total=len(blocks), unit="pairs") as task, ThreadPoolExecutor(workers) as pool:

            def work(job: tuple[Block, np.ndarray]) -> float:
                block, order = job
                found = learn(
                    block.pairs_K,
                    block.runs_R,
                    order,
                    self.words,
                    self.contexts,
                    np.float32(config.learning_rate),
                    np.float32(config.gradient_clip),
                )
                return float(found)

            for shift in shifts.tolist():
                apart = [blocks.grid[group][(group + shift) % blocks.groups] for group in range(blocks.groups)]
                jobs = [(block, generator.permutation(len(block.runs_R) - 1)) for block in apart]
                for (block, _), found in zip(jobs, pool.map(work, jobs), strict=True):
                    loss += found
                    task.advance(len(block.pairs_K))
            loss /= total
            task.note(f"loss {loss:.4g}")
        if not math.isfinite(loss) or not all(
            np.isfinite(side.vectors_VD).all() for side in (self.words, self.contexts)
        ):
            remedy = f"lower the learning rate: --set learning_rate={lower_rate(config):g}"
            raise ConfigError(f"epoch {self.epoch + 1}: the loss is not finite", remedy, "diverged")
        self.epoch += 1
        self.losses.append(loss)
        return loss

    def vectors(self, kind: str = "sum") -> np.ndarray:
        """The vector of each type (V x D): the sum of word and context vector, or the word vector."""
        found = self.words.vectors_VD
        return found + self.contexts.vectors_VD if kind == "sum" else found.copy()

    def arrays(self) -> dict[str, np.ndarray]:
        """All learned arrays, by name."""
        return {
            f"{side}.{name}": array
            for side in ("words", "contexts")
            for name, array in getattr(self, side)._asdict().items()
        }

    def state(self) -> dict[str, Any]:
        """State for a checkpoint, besides the arrays."""
        return {"losses": self.losses}

    def restore(self, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Resume from a checkpoint: :meth:`arrays`, and :meth:`state` with its ``step``."""
        for name, here in self.arrays().items():
            here[:] = arrays[name]
        self.epoch, self.losses = state["step"], list(state["losses"])


def _side(types: int, dimensions: int, seed: int, name: str) -> Side:
    generator = random_stream(seed, "glove", name)
    vectors = ((generator.random((types, dimensions), dtype=np.float32) - 0.5) / dimensions).astype(np.float32)
    biases = ((generator.random(types, dtype=np.float32) - 0.5) / dimensions).astype(np.float32)
    return Side(vectors, np.ones_like(vectors), biases, np.ones_like(biases))


# --- blocks of co-occurrences on disk ---


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
                lengths, pairs = _pairs_by_block(rows, groups, ranks_V, x_max, alpha)
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


def _pairs_by_block(
    rows: Rows, groups: int, ranks_V: np.ndarray, x_max: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Number of pairs of each block, and the pairs sorted by block, row and rank of the column."""
    block_order = block_order_compiled if COMPILED else block_order_plain
    lengths, order = block_order(rows.rows_K, rows.columns_K, ranks_V, groups)
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
