"""Counts are brute force's, however the stream is cut and whoever counts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given as holds_for
from hypothesis import strategies as st

from isoglot.static import counting
from isoglot.static.counting import UNIT, count_pairs, merged, neighbor_units
from isoglot.static.token_stream import Stream


def stream_of(documents: list[list[int]], types: int) -> Stream:
    tokens = np.array([token for document in documents for token in document], dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum([len(document) for document in documents], dtype=np.int64)])
    return Stream(tokens, starts.astype(np.int64), np.arange(types), np.bincount(tokens, minlength=types))


def by_brute_force(documents: list[list[int]], window: int, weighting: str) -> dict[tuple[int, int], Fraction]:
    found: Counter[tuple[int, int]] = Counter()
    for document in documents:
        for place, one in enumerate(document):
            for near, other in enumerate(document):
                if 0 < abs(place - near) <= window:
                    value = Fraction(1, abs(place - near)) if weighting == "distance" else Fraction(1)
                    found[one, other] += value  # type: ignore[assignment]
    return dict(found)  # type: ignore[arg-type]


def counted(stream: Stream, room: int = 2**22, **options) -> dict[tuple[int, int], Fraction]:
    with TemporaryDirectory() as folder:
        runs = count_pairs(stream, Path(folder), **options)
        parts = list(merged(runs, room=room))
    pairs = [
        ((int(row), int(column)), Fraction(int(units), UNIT))
        for part in parts
        for row, column, units in zip(*part, strict=True)
    ]
    assert [pair for pair, _ in pairs] == sorted({pair for pair, _ in pairs})
    return dict(pairs)


TEXTS = st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=8)


@holds_for(TEXTS, st.integers(1, 5), st.integers(1, 30), st.integers(1, 3), st.integers(1, 40))
def test_any_chunks_workers_and_merges_give_what_brute_force_gives(documents, window, chunk, workers, room):
    stream = stream_of(documents, 7)
    found = counted(stream, window=window, chunk=chunk, workers=workers, room=room)
    assert found == by_brute_force(documents, window, "distance")


@holds_for(TEXTS, st.integers(1, 9))
def test_the_plain_twin_gives_the_same(documents, chunk):
    stream = stream_of(documents, 7)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counting, "COMPILED", False)
        patched.setattr(counting, "_PLAIN_CHUNK", 5)
        found = counted(stream, window=3, weighting="flat", chunk=chunk)
    assert found == by_brute_force(documents, 3, "flat") == counted(stream, window=3, weighting="flat", chunk=2**20)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process takes")
@pytest.mark.parametrize("compiled", [True, False])
def test_memory_is_what_is_stated(compiled, tmp_path: Path):
    """What a process of its own takes at most: 10 bytes a subword and a worker's 15 MB, then 50 MB; plain 80 MB."""
    program = f"""
import threading, time
from pathlib import Path
import numpy as np
from isoglot.static import counting, glove
from isoglot.static.token_stream import Stream
if not {compiled}:
    counting.COMPILED = glove.COMPILED = False
def most(work):
    before = top = anonymous()
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        top = max(top, anonymous())
        time.sleep(0.001)
    return (top - before) / 1024
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
def count(stream, name):
    runs[:] = counting.count_pairs(stream, folder / name, chunk=200_000)
def order():
    glove.write_blocks(counting.merged(runs), 20_000, folder / "pairs", x_max=100.0, alpha=0.75)
folder, runs, rng = Path({str(tmp_path)!r}), [], np.random.default_rng(0)
tokens = (20_000 ** rng.random(400_000, dtype=np.float32)).astype(np.int32) - 1
stream = Stream(tokens, np.arange(0, 400_001, 500), np.arange(20_000), np.bincount(tokens, minlength=20_000))
count(Stream(tokens[:900], np.array([0, 900]), stream.ids_V, stream.counts_V), "few")
order()
print(most(lambda: count(stream, "runs")), most(order), len(runs))
"""
    small = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}  # freed is given back
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=small)
    counted, ordered, runs = map(float, done.stdout.split())
    assert counted < (2 + 15 if compiled else 90)
    assert ordered < (60 if compiled else 90)
    assert runs == (2 if compiled else 7)


def test_rare_and_frequent_rows_are_both_in_order():
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 300, 200).tolist() + [0] * 50 for _ in range(5)]  # a row found by sorting, one not
    assert counted(stream_of(documents, 300), window=10) == by_brute_force(documents, 10, "distance")


def test_counts_are_symmetric():
    found = counted(stream_of([[0, 1, 2, 1, 0, 3, 3]], 4), window=4)
    assert all(found[j, i] == value for (i, j), value in found.items())


def test_units_are_exact_up_to_a_distance_of_22_and_close_beyond():
    assert [Fraction(int(unit), UNIT) for unit in neighbor_units(22, "distance")[1:]] == [
        Fraction(1, distance) for distance in range(1, 23)
    ]
    np.testing.assert_allclose(neighbor_units(255, "distance")[1:] / UNIT, 1 / np.arange(1, 256), rtol=1e-6)


def test_values_are_the_units_as_numbers():
    with TemporaryDirectory() as folder:
        (rows,) = merged(count_pairs(stream_of([[0, 1, 0]], 2), Path(folder), window=2))
    assert rows.values().tolist() == [1.0, 2.0, 2.0]  # 0-0 twice at distance two, 0-1 twice at one


def test_nothing_gives_nothing(tmp_path: Path):
    assert list(merged(count_pairs(stream_of([], 1), tmp_path))) == []
    assert counted(stream_of([[0], [0], []], 1)) == {}
