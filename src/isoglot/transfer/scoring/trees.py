"""The best dependency tree of every sentence of a batch: a maximum spanning tree in which one word hangs on the root.

Most sentences of a trained parser need no search: the best head of every word by itself already is such a tree, and
then no tree is better. That is looked up for the whole batch at once; :mod:`~isoglot.transfer.scoring.tree_search` has
the others.

Shape legend: ``B`` sentences, ``T`` places: the root, then the words, then padding.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.errors import InputError
from isoglot.transfer.scoring.tree_search import search


def spanning_trees(scores_BTT: np.ndarray, lengths_B: np.ndarray) -> np.ndarray:
    """The heads of the words in each sentence's best tree, of those with a single root.

    >>> scores_TT = np.array([[0, 0, 0], [1, 0, 9], [2, 9, 0]])  # each word would have the other as its head
    >>> spanning_trees(scores_TT[None], np.array([2]))
    array([[0, 2, 0]])

    Args:
        scores_BTT: ``scores_BTT[b, i, j]`` is how well word i hangs under word j in sentence b, a logit or the
            logarithm of a probability. Words count from 1, and j = 0 is the root. ``-inf`` forbids an arc, and
            so does a million less than the best of its word. What stands on the diagonal, in row 0 and behind a
            sentence's last word is not looked at.
        lengths_B: How many words each sentence has, the root not counted; 0 is a sentence without words.

    Returns:
        heads_BT: the head of word i of sentence b, 0 for the word on the root; 0 at the root and in the padding too.

    Raises:
        InputError: The shapes do not fit, a score is not a number or infinite, or what is forbidden leaves no tree.
    """
    scores_BTT, lengths_B = np.asarray(scores_BTT), np.asarray(lengths_B, dtype=np.int64)
    _check_shapes(scores_BTT, lengths_B)
    places = scores_BTT.shape[1]
    within_BT = np.arange(places) <= lengths_B[:, None]
    words_BT = within_BT & (np.arange(places) > 0)
    if not words_BT.any():
        return np.zeros(words_BT.shape, np.int64)
    arcs_BTT = np.where(within_BT[:, None, :], scores_BTT, -np.inf)
    arcs_BTT[:, np.arange(places), np.arange(places)] = -np.inf

    heads_BT = arcs_BTT.argmax(axis=2)
    _check_scores(np.take_along_axis(arcs_BTT, heads_BT[:, :, None], axis=2)[:, :, 0], words_BT)
    heads_BT[~words_BT] = 0
    hard = np.flatnonzero(~are_trees(heads_BT, lengths_B))
    if len(hard):
        hard_heads_BT = heads_BT[hard]
        without = search(arcs_BTT[hard].astype(np.float64), lengths_B[hard], hard_heads_BT)
        if without >= 0:
            raise _no_tree(int(hard[without]))
        heads_BT[hard] = hard_heads_BT
    found_BT: np.ndarray = heads_BT
    return found_BT


def are_trees(heads_BT: np.ndarray, lengths_B: np.ndarray) -> np.ndarray:
    """Whether the heads of each sentence are a tree with a single root (B); a sentence without words is one.

    >>> are_trees(np.array([[0, 2, 0], [0, 2, 1], [0, 0, 0]]), np.array([2, 2, 2]))
    array([ True, False, False])

    Args:
        heads_BT: As :func:`spanning_trees` gives them; each from 0 to its sentence's length.
        lengths_B: How many words each sentence has.
    """
    places = np.arange(heads_BT.shape[1])
    words_BT = (places > 0) & (places <= lengths_B[:, None])
    above_BT = np.where(words_BT, heads_BT, 0)
    roots_B = (words_BT & (above_BT == 0)).sum(axis=1)
    # After k rounds each word looks 2^k arcs up: whoever is not at the root then never gets there.
    for _ in range(max(len(places) - 1, 1).bit_length()):
        above_BT = np.take_along_axis(above_BT, above_BT, axis=1)
    trees_B: np.ndarray = (above_BT == 0).all(axis=1) & ((roots_B == 1) | (lengths_B == 0))
    return trees_B


def _check_shapes(scores_BTT: np.ndarray, lengths_B: np.ndarray) -> None:
    shape = scores_BTT.shape
    if len(shape) != 3 or shape[1] != shape[2] or lengths_B.shape != shape[:1] or shape[1] == 0:
        raise InputError(
            f"scores of shape {shape} with lengths of shape {lengths_B.shape}",
            remedy="give B × T × T scores, the root among the T, and B lengths",
            code="input.shape",
        )
    if len(lengths_B) and (lengths_B.min() < 0 or lengths_B.max() >= shape[1]):
        wrong = int(np.flatnonzero((lengths_B < 0) | (lengths_B >= shape[1]))[0])
        raise InputError(
            f"sentence {wrong} of the batch has length {lengths_B[wrong]} in {shape[1]} places",
            remedy="count the words without the root; the scores have one place more",
            code="input.out-of-range",
        )


def _check_scores(best_BT: np.ndarray, words_BT: np.ndarray) -> None:
    """Check scores by the best of each word: NumPy's argmax returns NaN if there is one."""
    wrong_BT = words_BT & ~np.isfinite(best_BT)
    if not wrong_BT.any():
        return
    sentence, word = (int(place) for place in np.argwhere(wrong_BT)[0])
    if best_BT[sentence, word] == -np.inf:
        raise _no_tree(sentence)
    raise InputError(
        f"the score {best_BT[sentence, word]} for a head of word {word} in sentence {sentence} of the batch",
        remedy="scores are finite, or -inf where an arc is forbidden",
        code="input.not-finite",
    )


def _no_tree(sentence: int) -> InputError:
    return InputError(
        f"every tree with a single root has a forbidden arc in sentence {sentence} of the batch",
        remedy="forbid fewer arcs with -inf",
        code="input.malformed-tree",
    )
