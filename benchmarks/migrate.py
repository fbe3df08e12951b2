"""Mapping an index of vectors to another space, beside reading and writing alone and NumPy's matrix product in memory.

Both are limits: the disk (or the page cache) and the processor. Peak memory must not depend on the number of rows.

    python benchmarks/migrate.py --rows 1000000 --width 384 --folder /tmp
    python benchmarks/migrate.py --clock cpu  # processor time, for a machine that has other work
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.align.migration import AffineMap, map_file
from isoglot.represent.matrix_files import Block, MatrixFile, open_matrix, write_matrix

if TYPE_CHECKING:
    from collections.abc import Callable


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def seconds(work: Callable[[], object], rounds: int, clock: Callable[[], float]) -> float:
    """The shortest of some rounds."""
    found = []
    for _ in range(rounds):
        start = clock()
        work()
        found.append(clock() - start)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--to", type=int, default=384, help="hidden size of the new model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    clock = CLOCKS[given.clock]
    torch.set_num_threads(given.threads)
    block_BD = torch.randn(8192, given.width)
    mapping = AffineMap(torch.randn(given.width, given.to) / given.width**0.5, torch.randn(given.to))
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        folder = Path(scratch)
        target = MatrixFile(path=folder / "old.npy", format="npy", rows=given.rows, width=given.width)
        starts = range(0, given.rows, len(block_BD))
        write_matrix(target, (Block(block_BD[: min(len(block_BD), given.rows - start)]) for start in starts))
        old = open_matrix(target.path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        mapped = seconds(lambda: map_file(old, mapping, folder / "new.npy"), given.rounds, clock)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        copy = old.like(folder / "copy.npy", given.width)
        copied = seconds(lambda: write_matrix(copy, old.blocks()), given.rounds, clock)
    X_ND, W_DE = block_BD.numpy(), mapping.W_DE.numpy()
    product = seconds(lambda: X_ND @ W_DE, 5, clock) * given.rows / len(X_ND)
    np.testing.assert_allclose(mapping.apply(block_BD) - mapping.b_E, X_ND @ W_DE, atol=1e-3)
    size = old.bytes / 1e9
    where = f"{torch.get_num_threads()} threads, {given.clock} clock"
    print(f"{given.rows:,} x {given.width} to {given.to}, {size:.2f} GB, {where}")
    for name, took in (("map_file", mapped), ("reading and writing", copied), ("NumPy product in memory", product)):
        print(f"{name:26} {size / took:6.2f} GB/s  {mapped / took:5.2f} x as fast as map_file")
    print(f"memory grew by {grown:.0f} MB while mapping")


if __name__ == "__main__":
    main()
