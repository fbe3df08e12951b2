"""How fast neighbors are found: exact top-10 beside faiss ``IndexFlatIP``, CSLS beside one exact search, and memory.

faiss is no part of isoglot; where it is not installed (``pip install faiss-cpu``), its column stays empty. Vectors are
random directions around a few centers, as embeddings are. The three are timed in turn, and the best round counts.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import time
from typing import TYPE_CHECKING

import torch

from isoglot.core.devices import choose_device
from isoglot.retrieve import csls, inverted_softmax, margin, nearest

if TYPE_CHECKING:
    from collections.abc import Callable


def vectors(rows: int, width: int, seed: int, offset: float = 0.0) -> torch.Tensor:
    """Rows around 50 centers that both sides share, all moved the same way by ``offset`` times their length."""
    centers = torch.randn(50, width, generator=torch.Generator().manual_seed(0)) + 2 * offset
    chance = torch.Generator().manual_seed(seed)
    drawn = torch.randn(rows, width, generator=chance)
    return drawn + 0.5 * centers[torch.randint(50, (rows,), generator=chance)]


def peer(X_ND: torch.Tensor, Y_MD: torch.Tensor) -> Callable[[], object] | None:
    """The search of faiss over the same unit vectors, its index built beforehand."""
    try:
        faiss = importlib.import_module("faiss")
    except ModuleNotFoundError:
        return None
    faiss.omp_set_num_threads(torch.get_num_threads())
    queries, targets = (torch.nn.functional.normalize(side).numpy() for side in (X_ND, Y_MD))
    index = faiss.IndexFlatIP(X_ND.shape[1])
    index.add(targets)
    return lambda: index.search(queries, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of either side")
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--offset", type=float, default=0.0, help="how far all are moved; 3: as raw hidden states are")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu, with one thread: a busy machine")
    parser.add_argument("--all", action="store_true", help="the other methods too")
    parser.add_argument("--memory", action="store_true", help="CSLS once, alone, and the memory it took")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = choose_device(options.device)
    X_ND, Y_MD = (vectors(options.rows, options.width, seed, options.offset).to(device) for seed in (1, 2))

    works: dict[str, Callable[[], object] | None] = {
        "nearest": lambda: nearest(X_ND, Y_MD),
        "csls": lambda: csls(X_ND, Y_MD),
    }
    if options.memory:
        del works["nearest"]
        options.rounds = 1
    elif device.type == "cpu":
        works["faiss IndexFlatIP"] = peer(X_ND, Y_MD)
    if options.all:
        works["inverted softmax"] = lambda: inverted_softmax(X_ND, Y_MD)
        works["ratio margin"] = lambda: margin(X_ND, Y_MD)

    clock = time.perf_counter if options.clock == "wall" else time.process_time
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = dict.fromkeys(works, float("inf"))
    for _ in range(options.rounds):
        for name, work in works.items():
            if work is not None:
                start = clock()
                work()
                if device.type == "cuda":
                    torch.cuda.synchronize()
                best[name] = min(best[name], clock() - start)

    size = f"{options.rows:,} x {options.rows:,} x {options.width}, offset {options.offset:g}"
    print(f"{size}, {options.threads} threads, {device}, {options.clock} time")
    best = {name: seconds for name, seconds in best.items() if works[name] is not None}
    for name, seconds in best.items():
        rate = 2 * options.rows**2 * options.width / seconds / 1e9
        print(f"  {name:18} {seconds:8.3f} s   {rate:8.0f} GFlop/s of one product")
    if "faiss IndexFlatIP" in best:
        print(f"  nearest is {best['faiss IndexFlatIP'] / best['nearest']:.2f} x as fast as faiss")
    if "nearest" in best:
        print(f"  csls takes {best['csls'] / best['nearest']:.2f} x one exact search")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  peak memory {after / 2**20:.2f} GiB, of it {before / 2**20:.2f} before the first search")
    if device.type == "cuda":
        print(f"  peak on the device {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
