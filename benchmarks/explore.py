"""How long the explorer takes for one move of a slider, and for opening each view, on isoglot-mini.

A move of the layer or of alpha on "Turn a sentence" should take at most 150 ms on two cores.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import TYPE_CHECKING

import torch

from isoglot.explore.requests import CompareRequest, LensRequest, SpaceRequest, TurnRequest
from isoglot.explore.views import ExploredModel, compare
from isoglot.model import load_encoder

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCE = "The government must protect all citizens."
TARGET = 0.150


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: processor time of all threads")
    options = parser.parse_args()
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    torch.set_num_threads(options.threads)
    model = ExploredModel("isoglot-mini", load_encoder("isoglot-mini", device="cpu"))
    views: dict[str, Callable[[], object]] = {
        "turn, first time": lambda: model.turn(TurnRequest(text=SENTENCE, source="en", targets=[{"language": "de"}])),
        "lens": lambda: model.lens(LensRequest(text=SENTENCE, source="en")),
        "space, 100 sentences of 5 languages": lambda: model.space(SpaceRequest()),
        "space, centered": lambda: model.space(SpaceRequest(space="centered")),
        "space, mapped": lambda: model.space(SpaceRequest(space="mapped")),
        "compare": lambda: compare(model, model, CompareRequest()),
    }
    for name, view in views.items():
        begin = clock()
        view()
        print(f"  {name:40} {clock() - begin:6.2f} s")
    moves = []
    for step in range(options.moves):
        target = {"language": "de", "alpha": step % 50 / 10}
        begin = clock()
        model.turn(TurnRequest(text=SENTENCE, source="en", targets=[target], layer=step % (model.encoder.depth + 1)))
        moves.append(clock() - begin)
    worst = sorted(moves)[int(0.95 * len(moves))]
    print(
        f"  a move of a slider: median {1000 * statistics.median(moves):.0f} ms, 95 % within {1000 * worst:.0f} ms "
        f"(target: {1000 * TARGET:.0f})"
    )
    return int(worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
