"""CSLS and CKA on a GPU beside the CPU, in one run: exact search, CSLS, and CKA of all pairs of layers.

Vectors are random directions around centers that both sides share. Everything is run once to warm up and then timed,
the best round counts; the answers of the two devices are compared. CKA is timed twice: the rows come from the host a
chunk at a time, as when they are streamed from a file; or they are on the device already.

    python benchmarks/devices.py
    python benchmarks/devices.py --rows 2000 --cka-rows 1500 --layers 3 --width 64 --devices cpu

Where the CPU would need longer than ``--limit`` for a size, its time is that of the size before, multiplied up, and
marked with ~.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.compare import CKAFitter
from isoglot.core.devices import choose_device
from isoglot.retrieve import csls, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.compare import CKAGrid

CHUNK = 4096
Layers = dict[int, torch.Tensor]


def vectors(rows: int, width: int, seed: int) -> torch.Tensor:
    """Rows around 50 centers that both sides share."""
    centers = torch.randn(50, width, generator=torch.Generator().manual_seed(0))
    chance = torch.Generator().manual_seed(seed)
    drawn = torch.randn(rows, width, generator=chance)
    return drawn + 0.5 * centers[torch.randint(50, (rows,), generator=chance)]


def best_time(rounds: int, work: Callable[..., object], *given: object) -> float:
    found = float("inf")
    for _ in range(rounds):
        _settle()
        start = time.perf_counter()
        work(*given)
        _settle()
        found = min(found, time.perf_counter() - start)
    return found


def _settle() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def search(options: argparse.Namespace, devices: list[torch.device]) -> None:
    times: dict[tuple[str, str], float] = {}
    before = 0
    for rows in options.rows:
        sides = [vectors(rows, options.search_width, seed) for seed in (1, 2)]
        answers = {}
        for device in devices:
            X_ND, Y_MD = (side.to(device) for side in sides)
            for name, work in (("nearest", nearest), ("csls", csls)):
                last, growth = times.get((name, device.type)), (rows / before) ** 2 if before else 0.0
                if device.type == "cpu" and last is not None and last * growth > options.limit:
                    times[name, device.type] = last * growth
                    print(f"  {rows:>9,} x {options.search_width}  {name:8} {device.type:5} ~{last * growth:9.2f} s")
                    continue
                rounds = 1 if device.type == "cpu" else options.rounds
                work(X_ND[:1000], Y_MD[:1000])  # warms up
                times[name, device.type] = best_time(rounds, work, X_ND, Y_MD)
                answers[name, device.type] = work(X_ND[:1000], Y_MD[:1000]).indices_NK.cpu().numpy()
                beside = _beside(times, name, device.type)
                taken = times[name, device.type]
                print(f"  {rows:>9,} x {options.search_width}  {name:8} {device.type:5} {taken:10.3f} s{beside}")
        for name in ("nearest", "csls"):
            both = [found for (method, _), found in answers.items() if method == name]
            if len(both) == 2:
                same = float((both[0] == both[1]).mean())
                print(f"  {rows:>9,}: {name} answers the same on both devices for {same:.2%} of 1,000 rows x 10")
        before = rows


def _beside(times: dict[tuple[str, str], float], name: str, kind: str) -> str:
    cpu = times.get((name, "cpu"))
    return "" if kind == "cpu" or cpu is None else f"   {cpu / times[name, kind]:6.1f} x the CPU's speed"


def layers_of(rows: int, width: int, layers: int, seed: int) -> Layers:
    """Layers that share directions between the two sides, with noise and a mean that is not 0."""
    shared = torch.randn(rows, 50, generator=torch.Generator().manual_seed(0))
    chance = torch.Generator().manual_seed(seed)
    return {
        layer: shared @ torch.randn(50, width, generator=chance)
        + 10 * torch.randn(rows, width, generator=chance)
        + 5 * torch.randn(width, generator=chance)
        for layer in range(layers)
    }


def grid(X: Layers, Y: Layers, device: torch.device) -> CKAGrid:
    """All pairs of layers, a chunk of rows at a time."""
    fitter = CKAFitter(list(X), list(Y))
    for start in range(0, len(X[0]), CHUNK):
        part = slice(start, start + CHUNK)
        one, other = ({layer: rows[part].to(device) for layer, rows in side.items()} for side in (X, Y))
        fitter.update(one, other)
    return fitter.result()


def alignment(options: argparse.Namespace, devices: list[torch.device]) -> None:
    rows, width, layers = options.cka_rows, options.width, options.layers
    X, Y = (layers_of(rows, width, layers, seed) for seed in (1, 2))
    few = tuple({layer: side[layer][:CHUNK] for layer in (0,)} for side in (X, Y))
    size = f"{layers} x {layers} layers of {rows:,} x {width}"
    found: dict[str, CKAGrid] = {}
    times: dict[tuple[str, str], float] = {}
    for device in devices:
        kind, rounds = device.type, 1 if device.type == "cpu" else options.rounds
        found[kind] = grid(few[0], few[1], device)  # warms up
        found[kind] = grid(X, Y, device)
        places: dict[str, tuple[Layers, ...]] = {"host": (X, Y)}
        if kind != "cpu":
            places["device"] = tuple({layer: rows.to(device) for layer, rows in side.items()} for side in (X, Y))
        for place, sides in places.items():
            times["cka", kind] = best_time(rounds, grid, *sides, device)
            beside = _beside(times, "cka", kind)
            print(f"  {size}  CKA {kind:5} rows on the {place:6} {times['cka', kind]:8.3f} s{beside}")
    if len(found) == 2:
        one, other = found.values()
        away = max(float(np.abs(one.form(form) - other.form(form)).max()) for form in ("paper", "centered", "debiased"))
        print(f"  the two devices differ by {away:.1e} at most (target: 1e-6)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000], help="rows of either side to search")
    parser.add_argument("--search-width", type=int, default=300)
    parser.add_argument("--cka-rows", type=int, default=20_000)
    parser.add_argument("--width", type=int, default=768, help="of a layer, for CKA")
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--rounds", type=int, default=3, help="on a GPU; the CPU has one")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that the CPU may need for one of these")
    parser.add_argument("--threads", type=int, help="of the CPU; by default all cores")
    parser.add_argument("--devices", nargs="+", help="by default the CPU, and a GPU where there is one")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    names = options.devices or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    devices = [choose_device(name) for name in names]
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    print(f"CPU with {torch.get_num_threads()} threads{gpu}; the best of {options.rounds} rounds on a GPU")
    search(options, devices)
    alignment(options, devices)


if __name__ == "__main__":
    main()
