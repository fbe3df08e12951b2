"""The best tree with a single root is the best of all trees, by trying them all."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isoglot.transfer.scoring import trees
from isoglot.transfer.scoring.trees import are_trees, spanning_trees
from tests.errors import raises


def leads_to_root(heads: tuple[int, ...], word: int) -> bool:
    seen = set()
    while word and word not in seen:
        seen.add(word)
        word = heads[word - 1]
    return word == 0


def all_trees(words: int) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in itertools.product(range(words + 1), repeat=words)
        if heads.count(0) == 1 and all(leads_to_root(heads, word) for word in range(1, words + 1))
    ]


EVERY = {words: all_trees(words) for words in range(1, 6)}


def total(scores_TT: np.ndarray, heads: tuple[int, ...]) -> float:
    return float(sum(scores_TT[word, head] for word, head in enumerate(heads, start=1)))


def best(scores_TT: np.ndarray) -> float:
    return max(total(scores_TT, heads) for heads in EVERY[len(scores_TT) - 1])


def decoded(scores_TT: np.ndarray) -> tuple[int, ...]:
    heads_BT = spanning_trees(scores_TT[None], np.array([len(scores_TT) - 1]))
    return tuple(heads_BT[0, 1:].tolist())


def test_there_are_as_many_trees_as_cayley_says():
    assert {words: len(found) for words, found in EVERY.items()} == {n: n ** (n - 1) for n in range(1, 6)}


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_what_is_a_tree(words):
    every = np.array(list(itertools.product(range(words + 1), repeat=words)))
    heads_BT = np.pad(every, ((0, 0), (1, 2)))
    found = are_trees(heads_BT, np.full(len(every), words))
    assert {tuple(heads) for heads in every[found].tolist()} == set(EVERY[words])


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_every_tree_is_found_where_it_is_the_best(words):
    stream = np.random.default_rng(words)
    every = np.array(EVERY[words])
    scores_BTT = stream.normal(size=(len(every), words + 1, words + 1))
    np.put_along_axis(scores_BTT[:, 1:], every[:, :, None], 50.0, axis=2)
    found = spanning_trees(scores_BTT, np.full(len(every), words))
    assert np.array_equal(found[:, 1:], every)
    # One arc from the root is in every tree: better ones change nothing, though then every word would have one.
    scores_BTT[:, 1:, 0] += 1000.0
    assert np.array_equal(spanning_trees(scores_BTT, np.full(len(every), words))[:, 1:], every)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 5).flatmap(lambda n: arrays(np.float64, (n + 1, n + 1), elements=st.integers(-4, 4))))
def test_equal_to_brute_force_with_ties(scores_TT):
    heads = decoded(scores_TT)
    assert heads in EVERY[len(heads)]
    assert total(scores_TT, heads) == best(scores_TT)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda n: arrays(np.float32, (n + 1, n + 1), elements=st.floats(-50, 50, width=32))),
    st.floats(-1e3, 1e3),
)
def test_equal_to_brute_force_and_blind_to_what_all_heads_of_a_word_share(scores_TT, shift):
    heads = decoded(scores_TT)
    assert total(scores_TT, heads) == pytest.approx(best(scores_TT), abs=1e-4)
    shifted_TT = scores_TT.astype(float)
    shifted_TT[-1] += shift
    assert total(scores_TT, decoded(shifted_TT)) == pytest.approx(best(scores_TT), abs=1e-4)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda n: arrays(np.float64, (n + 1, n + 1), elements=st.integers(-4, 4) | st.just(-np.inf))
    ),
    st.sampled_from([-np.inf, -1e9, float(np.finfo(np.float32).min)]),
)
def test_forbidden_arcs_are_in_no_tree(scores_TT, mark):
    off = ~np.eye(len(scores_TT), dtype=bool)
    expected = best(np.where(off, scores_TT, -np.inf))
    if expected > -np.inf:  # then a very low number says the same
        assert total(scores_TT, decoded(np.where(np.isneginf(scores_TT), mark, scores_TT))) == expected
        return
    with raises("input.malformed-tree", 0):
        decoded(scores_TT)


def test_greedy_makes_a_cycle_and_the_tree_does_not():
    # 1 and 2 choose each other; the better way out is through 2, though 1 is the likelier root.
    scores_TT = np.array([[0, 0, 0, 0], [5, 0, 10, 0], [4, 8, 0, 0], [0, 1, 9, 0]])
    greedy = tuple(np.where(np.eye(4, dtype=bool), -np.inf, scores_TT)[1:].argmax(axis=1).tolist())
    assert greedy == (2, 1, 2)
    assert decoded(scores_TT) == (2, 0, 2)
    assert total(scores_TT, decoded(scores_TT)) == best(scores_TT) == 23


def test_two_roots_become_one():
    scores_TT = np.array([[0, 0, 0], [9, 0, 1], [8, 3, 0]])
    assert decoded(scores_TT) == (0, 1)


def hard_batch(sentences: int, places: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    stream = np.random.default_rng(3)
    scores_BTT: np.ndarray = stream.normal(size=(sentences, places, places)).astype(dtype)
    return scores_BTT, stream.integers(0, places, size=sentences)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_is_its_sentences_one_by_one_whatever_the_padding(dtype):
    scores_BTT, lengths_B = hard_batch(40, 13, dtype)
    heads_BT = spanning_trees(scores_BTT, lengths_B)
    assert are_trees(heads_BT, lengths_B).all()
    spoilt_BTT = scores_BTT.copy()
    for spoilt_TT, length in zip(spoilt_BTT, lengths_B, strict=True):
        spoilt_TT[length + 1 :] = np.nan
        spoilt_TT[:, length + 1 :] = np.inf
        spoilt_TT[0] = np.nan
        np.fill_diagonal(spoilt_TT, 1e9)
    assert np.array_equal(spanning_trees(spoilt_BTT, lengths_B), heads_BT)
    for scores_TT, length, heads_T in zip(scores_BTT, lengths_B, heads_BT, strict=True):
        alone_TT = scores_TT[: length + 1, : length + 1]
        assert decoded(alone_TT) == tuple(heads_T[1 : length + 1])
        assert not heads_T[length + 1 :].any()


def in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search without numba, its innermost loops in NumPy."""
    for name in ("search", "_grow"):
        function = getattr(trees, name)
        monkeypatch.setattr(trees, name, getattr(function, "py_func", function))
    for name in ("_weights", "_best", "_lower", "_merge"):
        monkeypatch.setattr(trees, name, getattr(trees, f"{name}_in_rows"))


def in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search without numba, line by line what it would compile."""
    in_rows(monkeypatch)
    for name in ("_weights", "_best", "_lower", "_merge"):
        monkeypatch.setattr(trees, name, getattr(trees, f"{name}_in_loops"))


@pytest.mark.parametrize("twin", [in_rows, in_loops])
@pytest.mark.parametrize("forbidden", [False, True])
def test_the_plain_twin_finds_the_same_trees(monkeypatch, twin, forbidden):
    scores_BTT, lengths_B = hard_batch(30, 17, np.float32)
    if forbidden:
        scores_BTT[:, 3, 5] = -np.inf
        scores_BTT[:, 4, 0] = -1e9
    expected_BT = spanning_trees(scores_BTT, lengths_B)
    twin(monkeypatch)
    assert np.array_equal(spanning_trees(scores_BTT, lengths_B), expected_BT)
    for words, every in EVERY.items():
        scores_TT = scores_BTT[0, : words + 1, : words + 1]
        assert decoded(scores_TT) in every
        assert total(scores_TT, decoded(scores_TT)) == pytest.approx(best(scores_TT), abs=1e-4)


@pytest.mark.parametrize("places", [20, 60])
def test_long_sentences_no_exchange_of_one_head_makes_a_better_tree(places):
    stream = np.random.default_rng(places)
    scores_TT = stream.normal(size=(places, places))
    heads_T = spanning_trees(scores_TT[None], np.array([places - 1]))[0]
    for word in range(1, places):
        if heads_T[word] == 0:
            continue
        others_BT = np.repeat(heads_T[None], places - 1, axis=0)
        others_BT[:, word] = np.arange(1, places)
        allowed = are_trees(others_BT, np.full(places - 1, places - 1))
        assert scores_TT[word, heads_T[word]] == scores_TT[word, 1:][allowed].max()


def test_sentences_without_words():
    assert spanning_trees(np.zeros((2, 1, 1)), np.array([0, 0])).tolist() == [[0], [0]]
    assert spanning_trees(np.full((2, 3, 3), np.nan), np.array([0, 0])).tolist() == [[0, 0, 0]] * 2
    assert spanning_trees(np.zeros((0, 3, 3)), np.zeros(0, int)).shape == (0, 3)


@pytest.mark.parametrize(
    ("scores", "lengths", "expected"),
    [
        (
            np.zeros((3, 3)),
            [2],
            ("input.shape", "(3, 3)", "(1,)"),
        ),
        (
            np.zeros((1, 3, 3)),
            [3],
            ("input.out-of-range", "0", "3"),
        ),
        (
            np.full((1, 3, 3), np.nan),
            [2],
            ("input.not-finite", "nan", "1", "0"),
        ),
        (
            np.full((1, 3, 3), np.inf),
            [2],
            ("input.not-finite", "inf", "1", "0"),
        ),
    ],
)
def test_refusals(scores, lengths, expected: tuple[str, ...]):
    with raises(*expected):
        spanning_trees(scores, np.array(lengths))
