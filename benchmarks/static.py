"""How fast co-occurrences are counted and ordered and GloVe learns, beside a plain loop in C, on one core and on two.

    python benchmarks/static.py                            # built-in English
    python benchmarks/static.py TEXT VOCABULARY            # the first 20 MB of a text of your own

The measures: the authors' C programs on one core of the same kind count 1.03M tokens a second at window 10 and learn
from 0.54M pairs a second at 100 dimensions (20 MB of English Wikipedia). The loop in C here is built by gcc -O3 in a
temporary folder and goes through the same pairs, their rows in an order of its own. The best of three counts.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.optional import COMPILED
from isoglot.languages import documents
from isoglot.static.config import GloveConfig
from isoglot.static.counting import Run, count_pairs, merged
from isoglot.static.glove import Blocks, Glove, open_blocks, write_blocks
from isoglot.static.token_stream import Stream, frequent, read_stream
from isoglot.vocab import Vocabulary, build_shards, train_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN_C = r"""
#include <math.h>
#include <stdint.h>
typedef struct { int32_t row, column; float log, weight; } pair;
/* fminf and fmaxf would be calls, and ten times slower */
#define CLIPPED(x) ((x) > clip ? clip : (x) < -clip ? -clip : (x))

double learn(const pair *pairs, const int64_t *runs, const int64_t *order, int64_t rows, int64_t width,
             float *W, float *W_sums, float *a, float *a_sums, float *C, float *C_sums, float *b, float *b_sums,
             float rate, float clip) {
    double loss = 0;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = runs[order[r]]; k < runs[order[r] + 1]; k++) {
            int64_t i = pairs[k].row, j = pairs[k].column;
            float *w = W + i * width, *c = C + j * width, *w_sums = W_sums + i * width, *c_sums = C_sums + j * width;
            float error = a[i] + b[j] - pairs[k].log;
            for (int64_t d = 0; d < width; d++) error += w[d] * c[d];
            float slope = pairs[k].weight * error;
            loss += 0.5 * slope * error;
            for (int64_t d = 0; d < width; d++) {
                float step = rate * CLIPPED(slope * c[d]);
                float other = rate * CLIPPED(slope * w[d]);
                w[d] -= step / sqrtf(w_sums[d]);
                c[d] -= other / sqrtf(c_sums[d]);
                w_sums[d] += step * step;
                c_sums[d] += other * other;
            }
            float step = rate * CLIPPED(slope);
            a[i] -= step / sqrtf(a_sums[i]);
            b[j] -= step / sqrtf(b_sums[j]);
            a_sums[i] += step * step;
            b_sums[j] += step * step;
        }
    }
    return loss;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("own", metavar="TEXT VOCABULARY", nargs="*")
    own = parser.parse_args().own
    if len(own) not in (0, 2):
        parser.error("give TEXT and VOCABULARY, or neither")
    if not COMPILED:
        sys.exit("numba is not installed: pip install 'isoglot[static]'")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stream = read(folder, own)
        print(f"{len(stream):,} tokens, {len(stream.ids_V):,} types")
        for chunk, workers in ((2**24, 1), (2**24, 2), (len(stream) // 8 + 1, 1)):
            counting(stream, folder, chunk, workers)
        blocks = open_blocks(folder / "pairs")
        assert blocks is not None
        part = Blocks(blocks.types, tuple(row[:6] for row in blocks.grid[:6]))  # enough to measure
        for dimensions in (100, 768):
            learning(part, dimensions, folder)
    print(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def read(folder: Path, own: list[str]) -> Stream:
    """The stream of a text of the user's, or of built-in English."""
    text = folder / "text.txt"
    if own:
        with Path(own[0]).open("rb") as file:
            text.write_bytes(file.read(20_000_000).rsplit(b"\n", 1)[0] + b"\n")
        vocabulary = Vocabulary.load(own[1])
    else:
        made = islice(documents("en", seed=1), 20_000)
        text.write_text("\n\n".join("\n".join(s.text for s in one) for one in made) + "\n", encoding="utf-8")
        vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=4000)
    shards = build_shards([text], vocabulary, "en", folder / "shards")
    counts = frequent({"en": shards}, vocabulary, 5)
    return read_stream({"en": shards}, counts, boundary="sentence" if own else "document")


def counting(stream: Stream, folder: Path, chunk: int, workers: int) -> None:
    """Tokens a second at window 10: counting, merging and ordering, and both."""
    runs: list[Run] = []

    def count() -> None:
        runs[:] = count_pairs(stream, folder / "runs", chunk=chunk, workers=workers)

    def order() -> None:
        write_blocks(merged(runs), len(stream.ids_V), folder / "pairs", x_max=100.0, alpha=0.75)

    count()
    order()  # both are compiled now
    steps = [min(timed(step) for _ in range(3)) for step in (count, order)]
    steps.append((steps[0][0] + steps[1][0], steps[0][1] + steps[1][1]))
    walls, cores = ([f"{len(stream) / step[part] / 1e6:.2f}M" for step in steps] for part in (0, 1))
    print(
        f"{len(runs)} chunks, {workers} workers: counting {cores[0]}, ordering {cores[1]}, both {cores[2]} tokens a "
        f"core-second; {walls[0]}, {walls[1]}, {walls[2]} a second by the clock"
    )


def learning(blocks: Blocks, dimensions: int, folder: Path) -> None:
    """Pairs a second, ours and C's, and what a second worker brings."""
    config = GloveConfig(dimensions=dimensions)
    Glove.begin(blocks.types, 2, 0).learn_epoch(blocks, config)  # compiles
    ways = {"one": partial(Glove.learn_epoch, blocks=blocks, config=config)}
    ways["two"] = partial(ways["one"], workers=2)
    if shutil.which("gcc") is not None:
        ways["C"] = partial(plain_c, blocks=blocks, library=built(folder))
    found = {name: best(way, blocks.types, dimensions) for name, way in ways.items()}
    per_core = {name: len(blocks) / cores / 1e6 for name, (_, cores) in found.items()}
    line = f"GloVe, {dimensions} dimensions: {per_core['one']:.2f}M pairs a core-second"
    if "C" in found:
        line += f", C {per_core['C']:.2f}M (ours is {per_core['one'] / per_core['C']:.2f} x C)"
    wall = found["one"][0] / found["two"][0]
    print(f"{line}; two workers: {wall:.2f} x by the clock, {per_core['two']:.2f}M pairs a core-second")


def best(way: Callable[[Glove], object], types: int, dimensions: int) -> tuple[float, float]:
    """The best of three epochs, each from the beginning."""
    return min(timed(partial(way, Glove.begin(types, dimensions, 0))) for _ in range(3))


def built(folder: Path) -> Path:
    """The loop in C, compiled."""
    library = folder / "learn.so"
    (folder / "learn.c").write_text(PLAIN_C)
    subprocess.run(["gcc", "-O3", "-shared", "-fPIC", "-o", library, folder / "learn.c", "-lm"], check=True)
    return library


def plain_c(glove: Glove, blocks: Blocks, library: Path) -> float:
    """The same epoch by the loop in C."""
    learn = ctypes.CDLL(str(library)).learn
    learn.restype = ctypes.c_double
    chance = np.random.default_rng(0)
    loss = 0.0
    for shift in range(blocks.groups):
        for group in range(blocks.groups):
            block = blocks.grid[group][(group + shift) % blocks.groups]
            order = chance.permutation(len(block.runs_R) - 1)
            arrays = [block.pairs_K, block.runs_R, order]
            places = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
            sides = [ctypes.c_void_p(array.ctypes.data) for array in (*glove.words, *glove.contexts)]
            sizes = [ctypes.c_int64(len(order)), ctypes.c_int64(glove.words.vectors_VD.shape[1])]
            loss += learn(*places, *sizes, *sides, ctypes.c_float(0.05), ctypes.c_float(100.0))
    return loss / len(blocks)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of the cores."""
    start, cores = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cores


if __name__ == "__main__":
    main()
