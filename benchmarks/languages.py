"""How fast the built-in languages speak, on one core; and how many different sentences there are.

Targets: 5,000 sentences a second of running text in each language, with tree and names; 1,000 five-way tuples a second;
a million different sentences a language (``--distinct`` counts them, which takes minutes).
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import islice

from isoglot.languages import LANGUAGES, align, documents, inference, parallel


def rate(count: int, start: float) -> float:
    return count / (time.perf_counter() - start)


def running_text(language: str, count: int = 20_000) -> float:
    next(documents(language))  # read the tables
    start = time.perf_counter()
    done = 0
    for document in documents(language, seed=1):
        for sentence in document:
            assert sentence.heads
            assert sentence.entities
        done += len(document)
        if done >= count:
            return rate(done, start)
    raise AssertionError


def tuples(count: int = 5_000) -> float:
    next(parallel())
    start = time.perf_counter()
    for row in islice(parallel(seed=1), count):
        for other in row[1:]:
            align(row[0], other)
    return rate(count, start)


def pairs(count: int = 3_000) -> float:
    start = time.perf_counter()
    for _ in islice(inference(seed=1), count):
        pass
    return rate(count, start)


def distinct(language: str, count: int = 1_500_000) -> int:
    seen: set[int] = set()
    done = 0
    for document in documents(language, seed=1):
        seen.update(hash(sentence.text) for sentence in document)
        done += len(document)
        if done >= count:
            return len(seen)
    raise AssertionError


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distinct", action="store_true", help="count different sentences, too")
    options = parser.parse_args()
    slow = []
    for code in LANGUAGES:
        speed = running_text(code)
        slow += [code] if speed < 5_000 else []
        print(f"{code}: {speed:9,.0f} sentences/s with tree and names")
    speed = tuples()
    slow += ["five-way"] if speed < 1_000 else []
    print(f"five-way: {speed:6,.0f} tuples/s with alignment")
    print(f"inference: {pairs():5,.0f} five-way pairs/s")
    if options.distinct:
        for code in LANGUAGES:
            print(f"{code}: {distinct(code):9,} different among 1,500,000 sentences")
    sys.exit(f"below target: {', '.join(slow)}" if slow else 0)
