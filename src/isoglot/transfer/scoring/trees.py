"""Best dependency tree of every sentence of a batch: a maximum spanning tree with a single root word.

For a trained parser, the best head of every word is usually a tree already, and then no tree is better; this is checked
for the whole batch at once. The others are searched by Chu-Liu-Edmonds in its dense form, of time T² (Tarjan 1977;
Camerini, Fratta & Maffioli 1979): heads are followed from word to word, and cycles are contracted. A single root is a
matter of weights (Stanojević & Cohen 2021): arcs from the root cost so much that the best tree has only one.

The search is compiled by numba if it is installed. Without it, the innermost loops are replaced by NumPy equivalents.

Shape legend: ``B`` sentences, ``T`` positions: the root, then the words, then padding.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.optional import COMPILED, compiled


def spanning_trees(scores_BTT: np.ndarray, lengths_B: np.ndarray) -> np.ndarray:
    """Heads of the words in the best tree with a single root of each sentence.

    >>> scores_TT = np.array([[0, 0, 0], [1, 0, 9], [2, 9, 0]])  # the best head of each word is the other
    >>> spanning_trees(scores_TT[None], np.array([2]))
    array([[0, 2, 0]])

    Args:
        scores_BTT: ``scores_BTT[b, i, j]`` is the score of word j as the head of word i in sentence b, a logit or log
            probability. Words are numbered from 1, and j = 0 is the root. An arc is forbidden by ``-inf``, or by a
            score a million below the best of its word. The diagonal, row 0 and padding are ignored.
        lengths_B: Number of words of each sentence, without the root.

    Returns:
        heads_BT: Head of word i of sentence b; 0 for the root word, the root and padding.

    Raises:
        InputError: Shapes do not match, a score is NaN or infinite, or forbidden arcs leave no tree.
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
    """Whether the heads of each sentence are a tree with a single root (B); true for empty sentences.

    >>> are_trees(np.array([[0, 2, 0], [0, 2, 1], [0, 0, 0]]), np.array([2, 2, 2]))
    array([ True, False, False])

    Args:
        heads_BT: Heads as returned by :func:`spanning_trees`, each from 0 to the length of its sentence.
        lengths_B: Number of words of each sentence.
    """
    places = np.arange(heads_BT.shape[1])
    words_BT = (places > 0) & (places <= lengths_B[:, None])
    above_BT = np.where(words_BT, heads_BT, 0)
    roots_B = (words_BT & (above_BT == 0)).sum(axis=1)
    # After k rounds each word points 2^k arcs up: words that have not reached the root by then never do.
    for _ in range(max(len(places) - 1, 1).bit_length()):
        above_BT = np.take_along_axis(above_BT, above_BT, axis=1)
    trees_B: np.ndarray = (above_BT == 0).all(axis=1) & ((roots_B == 1) | (lengths_B == 0))
    return trees_B


def _check_shapes(scores_BTT: np.ndarray, lengths_B: np.ndarray) -> None:
    shape = scores_BTT.shape
    if len(shape) != 3 or shape[1] != shape[2] or lengths_B.shape != shape[:1] or shape[1] == 0:
        problem = f"scores of shape {shape} with lengths of shape {lengths_B.shape}"
        raise InputError(problem, "give B × T × T scores, the root among the T, and B lengths", "shape")
    if len(lengths_B) and (lengths_B.min() < 0 or lengths_B.max() >= shape[1]):
        wrong = int(np.flatnonzero((lengths_B < 0) | (lengths_B >= shape[1]))[0])
        problem = f"sentence {wrong} of the batch has length {lengths_B[wrong]} in {shape[1]} places"
        raise InputError(problem, "count the words without the root; the scores have one place more", "out-of-range")


def _check_scores(best_BT: np.ndarray, words_BT: np.ndarray) -> None:
    """Check scores by the best of each word: NumPy's argmax returns NaN if there is one."""
    wrong_BT = words_BT & ~np.isfinite(best_BT)
    if not wrong_BT.any():
        return
    sentence, word = (int(place) for place in np.argwhere(wrong_BT)[0])
    if best_BT[sentence, word] == -np.inf:
        raise _no_tree(sentence)
    problem = f"the score {best_BT[sentence, word]} for a head of word {word} in sentence {sentence} of the batch"
    raise InputError(problem, "scores are finite, or -inf where an arc is forbidden", "not-finite")


def _no_tree(sentence: int) -> InputError:
    return InputError(
        f"every tree with a single root has a forbidden arc in sentence {sentence} of the batch",
        "forbid fewer arcs with -inf",
        "malformed-tree",
    )


# --- search ---

FORBIDDEN = 1e6
"""Arcs this far below the best of their word are treated as forbidden, like -inf."""


@compiled
def search(arcs_BTT: np.ndarray, lengths_B: np.ndarray, heads_BT: np.ndarray) -> int:
    """Replace the best head of each word by that of the best tree; returns a sentence without any tree, or -1."""
    for sentence in range(len(lengths_B)):
        places = lengths_B[sentence] + 1
        arcs_TT = arcs_BTT[sentence, :places, :places]
        heads_T = heads_BT[sentence, :places]
        best_T = np.zeros(places)
        for word in range(1, places):
            best_T[word] = arcs_TT[word, heads_T[word]]
        _grow(_weights(arcs_TT, best_T), heads_T)
        for word in range(1, places):
            if arcs_TT[word, heads_T[word]] < best_T[word] - FORBIDDEN:
                return sentence
    return -1


@compiled
def _grow(weights_TT: np.ndarray, heads_T: np.ndarray) -> None:
    """Fill in the heads of the best tree with any number of roots; the weights are overwritten.

    A cycle is contracted into one node in the place of one of its words. Words, then cycles, are numbered: ``inside``
    is the cycle that a node is in, ``entering`` the arc from its best head. The arc from word j to word i has the
    number ``i * places + j``.
    """
    places = len(weights_TT)
    arcs_TT = np.arange(places * places).reshape(places, places)  # original arc of each entry; contraction changes it
    inside = np.full(2 * places, -1)
    entering = np.zeros(2 * places, np.int64)
    number = np.arange(places)  # number of the node in each place
    count = places
    done = np.zeros(places, np.bool_)
    done[0] = True
    on_path = np.zeros(places, np.bool_)
    path = np.zeros(places, np.int64)
    best_T = np.zeros(places)
    for start in range(1, places):
        length, here = 0, start
        while not done[here]:
            if not on_path[here]:
                path[length] = here
                length += 1
                on_path[here] = True
                head = _best(weights_TT[here])
                entering[number[here]] = arcs_TT[here, head]
                best_T[here] = weights_TT[here, head]
                here = head
                continue
            # A cycle: contract it into the place where it was entered.
            end = length
            while True:
                length -= 1
                member = path[length]
                on_path[member] = False
                inside[number[member]] = count
                _lower(weights_TT[member], best_T[member])  # weight of entering the cycle here
                if member == here:
                    break
            for member in path[length + 1 : end]:
                done[member] = True
                _merge(weights_TT, arcs_TT, done, here, member)
            weights_TT[here, here] = -np.inf
            number[here] = count
            count += 1
        for place in path[:length]:
            done[place] = True
            on_path[place] = False
    for cycle in range(count - 1, places - 1, -1):
        # The arc into a cycle replaces the arc inside it to the word where it enters.
        member = entering[cycle] // places
        while inside[member] != cycle:
            member = inside[member]
        entering[member] = entering[cycle]
    for word in range(1, places):
        heads_T[word] = entering[word] % places


# --- the innermost loops, for numba ---


def _weights_in_loops(arcs_TT: np.ndarray, best_T: np.ndarray) -> np.ndarray:
    """Weights whose best tree has a single root, then as few forbidden arcs as possible, then the best scores.

    Every word has one head, so a constant added to a row changes nothing: the best of each row becomes 0, which keeps
    penalties small and precision high.
    """
    places = len(arcs_TT)
    weights_TT = np.full((places, places), -np.inf)
    lowest, forbidden = 0.0, False
    for word in range(1, places):
        for head in range(places):
            weight = arcs_TT[word, head] - best_T[word]
            weights_TT[word, head] = weight
            if weight < -FORBIDDEN:
                forbidden = forbidden or head != word
            else:
                lowest = min(lowest, weight)
    if forbidden:
        without = lowest
        lowest = places * without - 1.0
        for word in range(1, places):
            for head in range(places):
                if weights_TT[word, head] < without:
                    weights_TT[word, head] = lowest
    for word in range(1, places):
        weights_TT[word, word] = -np.inf
        weights_TT[word, 0] += places * lowest - 1.0
    return weights_TT


def _best_in_loops(row_T: np.ndarray) -> int:
    best = 0
    for place in range(1, len(row_T)):
        if row_T[place] > row_T[best]:
            best = place
    return best


def _lower_in_loops(row_T: np.ndarray, by: float) -> None:
    for place in range(len(row_T)):
        row_T[place] -= by


def _merge_in_loops(weights_TT: np.ndarray, arcs_TT: np.ndarray, done_T: np.ndarray, kept: int, gone: int) -> None:
    """Merge two nodes, with the better of the arcs into or from either."""
    for place in range(len(done_T)):
        if weights_TT[gone, place] > weights_TT[kept, place]:
            weights_TT[kept, place] = weights_TT[gone, place]
            arcs_TT[kept, place] = arcs_TT[gone, place]
    for place in range(len(done_T)):
        if not done_T[place]:
            if weights_TT[place, gone] > weights_TT[place, kept]:
                weights_TT[place, kept] = weights_TT[place, gone]
                arcs_TT[place, kept] = arcs_TT[place, gone]
            weights_TT[place, gone] = -np.inf


# --- the same in NumPy ---


def _weights_in_rows(arcs_TT: np.ndarray, best_T: np.ndarray) -> np.ndarray:
    places = len(arcs_TT)
    weights_TT: np.ndarray = arcs_TT - best_T[:, None]
    weights_TT[0] = -np.inf
    low_TT = weights_TT < -FORBIDDEN
    lowest = float(np.where(low_TT, 0.0, weights_TT).min())
    if np.count_nonzero(low_TT) > places + places - 1:  # row 0 and the diagonal always are
        lowest = places * lowest - 1.0
        weights_TT[low_TT] = lowest
        weights_TT[0] = -np.inf
    np.fill_diagonal(weights_TT, -np.inf)
    weights_TT[1:, 0] += places * lowest - 1.0
    return weights_TT


def _best_in_rows(row_T: np.ndarray) -> int:
    return int(row_T.argmax())


def _lower_in_rows(row_T: np.ndarray, by: float) -> None:
    row_T -= by


def _merge_in_rows(weights_TT: np.ndarray, arcs_TT: np.ndarray, done_T: np.ndarray, kept: int, gone: int) -> None:
    better_T = weights_TT[gone] > weights_TT[kept]
    np.copyto(weights_TT[kept], weights_TT[gone], where=better_T)
    np.copyto(arcs_TT[kept], arcs_TT[gone], where=better_T)
    better_T = (weights_TT[:, gone] > weights_TT[:, kept]) & ~done_T
    np.copyto(weights_TT[:, kept], weights_TT[:, gone], where=better_T)
    np.copyto(arcs_TT[:, kept], arcs_TT[:, gone], where=better_T)
    weights_TT[:, gone] = -np.inf


_weights = compiled(_weights_in_loops) if COMPILED else _weights_in_rows
_best = compiled(_best_in_loops) if COMPILED else _best_in_rows
_lower = compiled(_lower_in_loops) if COMPILED else _lower_in_rows
_merge = compiled(_merge_in_loops) if COMPILED else _merge_in_rows
