"""CKA of all pairs of layers in one pass, beside the two plain ways, and how long null and interval take.

The plain ways are what one writes from the formula, in float32 like ours: for each pair of layers the three products
between columns (the rows centered beforehand, untimed), or the two items x items matrices. Each gives one form of CKA,
ours gives all three. The second is slow, so that a few pairs are timed and multiplied up. They take turns, and the best
round counts. All our values are compared with ours in float64, and some with the plain formulas in float64.

    OMP_NUM_THREADS=2 python benchmarks/compare.py [--clock cpu]

Targets on two cores, 9 x 9 layers of 10,000 x 768: 10 x the speed of items x items, 2 x that of the plain loop, and
equal to 1e-6. On a machine that has other things to do, OMP_NUM_THREADS=1 with --threads 1 --clock cpu counts the
processor's time.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.compare import cka, judge, layer_cka, paper_cka
from isoglot.represent import Representations

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.compare import CKAGrid

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def side(layers: int, rows: int, width: int, seed: int) -> Representations:
    """Layers with 50 directions that both sides share, one of them larger, much noise, and a mean that is not 0."""
    shared = np.random.default_rng(0).standard_normal((rows, 50), dtype=np.float32)
    shared[:, 0] *= 3
    chance = np.random.default_rng(seed)
    arrays = {}
    for layer in range(layers):
        turn = chance.standard_normal((50, width), dtype=np.float32)
        mean, noise = (chance.standard_normal(shape, dtype=np.float32) for shape in (width, (rows, width)))
        arrays[layer] = shared @ turn + 20 * noise + 10 * mean
    return Representations(arrays, {"depth": layers - 1})


def centered(given: Representations) -> list[torch.Tensor]:
    return [torch.from_numpy(given[layer] - given[layer].mean(axis=0)) for layer in given.layers]


def by_columns(X: torch.Tensor, Y: torch.Tensor) -> float:
    return float((X.T @ Y).norm() ** 2 / ((X.T @ X).norm() * (Y.T @ Y).norm()))


def by_items(X: torch.Tensor, Y: torch.Tensor) -> float:
    K, L = X @ X.T, Y @ Y.T
    return float((K * L).sum() / (K.norm() * L.norm()))


def pairs(one: list[torch.Tensor], other: list[torch.Tensor], count: int | None = None) -> list[tuple[int, int]]:
    """All pairs of layers, or a few from the diagonal on."""
    every = [(row, column) for row in range(len(one)) for column in range(len(other))]
    return every if count is None else every[:: len(other) + 1][:count]


def largest_error(found: CKAGrid, exact: CKAGrid, X: Representations, Y: Representations, checked: int) -> float:
    """Of all three forms: against float64 throughout, and against the plain formulas for some pairs."""
    errors = [float(np.abs(found.form(name) - exact.form(name)).max()) for name in ("paper", "centered", "debiased")]
    for layer in range(min(checked, len(X.layers))):
        one, other = X[layer].astype(np.float64), Y[layer].astype(np.float64)
        plain = (paper_cka(one, other), cka(one, other), cka(one, other, debiased=True))
        errors += [abs(form[layer, layer] - p) for form, p in zip(three(found), plain, strict=True)]
    return max(errors)


def three(grid: CKAGrid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return grid.paper, grid.centered, grid.debiased


def grid_speed(options: argparse.Namespace, clock: Callable[[], float]) -> None:
    X, Y = (side(options.layers, options.rows, options.width, seed) for seed in (1, 2))
    one, other = centered(X), centered(Y)
    few = pairs(one, other, options.gram_pairs)
    works: dict[str, Callable[[], object]] = {
        "one pass": lambda: layer_cka(X, Y),
        "between columns": lambda: [by_columns(one[a], other[b]) for a, b in pairs(one, other)],
        "items x items": lambda: [by_items(one[a], other[b]) for a, b in few],
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(options.rounds):
        for name, work in works.items():
            start = clock()
            work()
            best[name] = min(best[name], clock() - start)
    best["items x items"] *= options.layers**2 / max(len(few), 1)
    print(
        f"{options.layers} x {options.layers} layers of {options.rows:,} x {options.width}, "
        f"{torch.get_num_threads()} threads, {options.clock} time, best of {options.rounds} rounds"
    )
    for name, seconds in best.items():
        print(f"  {name:16} {seconds:8.2f} s   {seconds / best['one pass']:6.2f} x")
    print(f"  (items x items: {len(few)} pairs timed, multiplied up to {options.layers**2})")
    found = layer_cka(X, Y)
    error = largest_error(found, layer_cka(X, Y, precision="float64"), X, Y, checked=3)
    low, high = found.debiased.min(), found.debiased.max()
    print(f"  debiased CKA from {low:.2f} to {high:.2f}")
    print(f"  largest difference from float64, all forms: {error:.1e} (target: 1e-6)")


def judge_speed(options: argparse.Namespace, clock: Callable[[], float]) -> None:
    print(f"null and interval, 200 draws each, 2,000 rows, {options.clock} time, best of {options.rounds} rounds")
    for layers, width in ((7, 384), (9, 768)):
        X, Y = (side(layers, 2000, width, seed) for seed in (1, 2))
        best = float("inf")
        for _ in range(options.rounds):
            start = clock()
            for layer in X.layers:
                judge(X[layer], Y[layer])
            best = min(best, clock() - start)
        print(f"  {layers} layers of {width}: {best:6.2f} s, {best / layers:.2f} s a layer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gram-pairs", type=int, default=2, help="pairs that items x items is timed on")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: a busy machine")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = CLOCKS[options.clock]
    judge_speed(options, clock)
    grid_speed(options, clock)


if __name__ == "__main__":
    main()
