"""How fast the best trees of a treebank are found, beside ufal.chu-liu-edmonds in a loop over its sentences.

    python benchmarks/trees.py                       # random trees of 5 to 40 words
    python benchmarks/trees.py en_ewt-ud-test.conllu # those of a treebank

The peer is no part of isoglot; where it is not installed (``pip install ufal.chu-liu-edmonds``), we are alone.

Scores are what a parser might give: noise for all heads and a number more for the gold one, from much more to nothing.
The peer is timed as it comes, when it may hang several words on the root, and with a single root as parsers use it,
trying each word in turn where it found several. All are timed in turns in one run; the best of five counts.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.text.formats.conll import read_conllu
from isoglot.transfer.scoring.trees import are_trees, spanning_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BATCH = 64
ROUNDS = 5


class Peer:
    """ufal.chu-liu-edmonds on one sentence."""

    def __init__(self) -> None:
        self.search = import_module("ufal.chu_liu_edmonds").chu_liu_edmonds

    def as_it_comes(self, scores_TT: np.ndarray) -> list[int]:
        """The best tree, whatever its roots."""
        heads: list[int] = self.search(scores_TT.astype(np.float64))[0]
        return heads

    def single_root(self, scores_TT: np.ndarray) -> list[int]:
        """The best tree with one root."""
        heads = self.as_it_comes(scores_TT)
        if heads[1:].count(0) == 1:
            return heads
        found: list[list[int]] = []
        for root in range(1, len(scores_TT)):
            only_TT = scores_TT.astype(np.float64)
            only_TT[:, 0] = np.nan  # no arc
            only_TT[root, 0] = scores_TT[root, 0]
            found.append(self.search(only_TT)[0])
        return max(found, key=lambda heads: _total(scores_TT, heads))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", nargs="?", help="a .conllu file")
    treebank = parser.parse_args().treebank
    try:
        peer = Peer()
    except ModuleNotFoundError:
        peer = None
    gold = _treebank(treebank) if treebank else _random_trees(2000)
    gold.sort(key=len)
    spanning_trees(np.random.default_rng(0).standard_normal((9, 9, 9)), np.full(9, 8))  # compiles
    for bonus in (12.0, 6.0, 4.0, 0.0):
        _measure(gold, bonus, peer)


def _measure(gold: list[list[int]], bonus: float, peer: Peer | None) -> None:
    batches = _scores(gold, bonus)
    alone = [
        scores_TT[: length + 1, : length + 1]
        for scores_BTT, lengths_B in batches
        for scores_TT, length in zip(scores_BTT, lengths_B, strict=True)
    ]
    ways: dict[str, Callable[[], list[Any]]] = {
        "ours": lambda: [heads_T for batch in batches for heads_T in spanning_trees(*batch)]
    }
    if peer:
        ways["ufal as it comes"] = lambda: [peer.as_it_comes(scores_TT) for scores_TT in alone]
        ways["ufal with a single root"] = lambda: [peer.single_root(scores_TT) for scores_TT in alone]
    took = dict.fromkeys(ways, np.inf)
    found: dict[str, list[Any]] = {}
    for _ in range(ROUNDS):
        for name, work in ways.items():
            start = time.perf_counter()
            found[name] = work()
            took[name] = min(took[name], 1e6 * (time.perf_counter() - start) / len(gold))
    for scores_TT, one, other in zip(alone, found["ours"], found.get("ufal with a single root", ()), strict=False):
        assert abs(_total(scores_TT, one) - _total(scores_TT, other)) < 1e-3, "trees of another total"
    easy = np.mean([_greedy_is_a_tree(scores_TT) for scores_TT in alone])
    right = sum(int((one[1 : len(heads) + 1] == heads).sum()) for one, heads in zip(found["ours"], gold, strict=True))
    print(
        f"gold heads + {bonus:g}: UAS {100 * right / sum(map(len, gold)):.1f}, {easy:.0%} of {len(gold):,} sentences "
        "are trees greedily; microseconds a sentence: "
        + ", ".join(f"{name} {time_:.1f} ({time_ / took['ours']:.1f} times)" for name, time_ in took.items())
    )


def _treebank(path: str) -> list[list[int]]:
    return [[word.head for word in tree.words] for tree in read_conllu(path)]


def _random_trees(count: int) -> list[list[int]]:
    stream = np.random.default_rng(0)
    lengths = stream.integers(5, 41, size=count)
    return [[0, *(int(stream.integers(1, word)) for word in range(2, length + 1))] for length in lengths]


def _scores(gold: list[list[int]], bonus: float) -> list[tuple[np.ndarray, np.ndarray]]:
    stream = np.random.default_rng(1)
    batches = []
    for start in range(0, len(gold), BATCH):
        some = gold[start : start + BATCH]
        lengths_B = np.array([len(heads) for heads in some])
        places = int(lengths_B.max()) + 1
        scores_BTT = 1.5 * stream.standard_normal((len(some), places, places), np.float32)
        for scores_TT, heads in zip(scores_BTT, some, strict=True):
            scores_TT[np.arange(1, len(heads) + 1), heads] += bonus
        batches.append((scores_BTT, lengths_B))
    return batches


def _total(scores_TT: np.ndarray, heads: Sequence[int] | np.ndarray) -> float:
    places = len(scores_TT)
    return float(scores_TT[np.arange(1, places), heads[1:places]].sum())


def _greedy_is_a_tree(scores_TT: np.ndarray) -> bool:
    masked_TT = np.where(np.eye(len(scores_TT), dtype=bool), -np.inf, scores_TT)
    heads_T = masked_TT.argmax(axis=1)
    heads_T[0] = 0
    return bool(are_trees(heads_T[None], np.array([len(scores_TT) - 1]))[0])


if __name__ == "__main__":
    main()
