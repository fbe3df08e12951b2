"""The best dependency tree of every sentence of a batch: a maximum spanning tree in which one word hangs on the root.

Most sentences of a trained parser need no search: the best head of every word by itself already is such a tree, and
then no tree is better. That is looked up for the whole batch at once. The others go through Chu-Liu-Edmonds in its
dense form, of time T² (Tarjan 1977; Camerini, Fratta & Maffioli 1979): heads are followed from word to word, and when
they come back a cycle becomes one word. That one word hangs on the root is a matter of weights (Stanojević & Cohen
2021): arcs from the root cost so much that the best tree has as few as it can, and one is always enough.

The search is compiled by numba where it is installed; without, the same lines run as they stand.

Shape legend: ``B`` sentences, ``T`` places: the root, then the words, then padding.
"""

from __future__ import annotations

import numpy as np

from isoglot.align.em_loops import compiled
from isoglot.core.errors import InputError

FORBIDDEN = 1e6
"""An arc so far below the best of its word is in no tree, be it -inf or a very low number in its place."""


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
        without = _search_all(arcs_BTT[hard].astype(np.float64), lengths_B[hard], hard_heads_BT)
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
        )
    if len(lengths_B) and (lengths_B.min() < 0 or lengths_B.max() >= shape[1]):
        wrong = int(np.flatnonzero((lengths_B < 0) | (lengths_B >= shape[1]))[0])
        raise InputError(
            f"sentence {wrong} of the batch has length {lengths_B[wrong]} in {shape[1]} places",
            remedy="count the words without the root; the scores have one place more",
        )


def _check_scores(best_BT: np.ndarray, words_BT: np.ndarray) -> None:
    """The best score of a word tells of all its row: NumPy's argmax stops at what is not a number."""
    wrong_BT = words_BT & ~np.isfinite(best_BT)
    if not wrong_BT.any():
        return
    sentence, word = (int(place) for place in np.argwhere(wrong_BT)[0])
    if best_BT[sentence, word] == -np.inf:
        raise _no_tree(sentence)
    raise InputError(
        f"the score {best_BT[sentence, word]} for a head of word {word} in sentence {sentence} of the batch",
        remedy="scores are finite, or -inf where an arc is forbidden",
    )


def _no_tree(sentence: int) -> InputError:
    return InputError(
        f"every tree with a single root has a forbidden arc in sentence {sentence} of the batch",
        remedy="forbid fewer arcs with -inf",
    )


# --- the search: in loops, which numba compiles ---


@compiled
def _search_all(arcs_BTT: np.ndarray, lengths_B: np.ndarray, heads_BT: np.ndarray) -> int:
    """Replace the best heads of words by those of the best trees; returns a sentence that has none, or -1."""
    for sentence in range(len(lengths_B)):
        places = lengths_B[sentence] + 1
        arcs_TT = arcs_BTT[sentence, :places, :places]
        heads_T = heads_BT[sentence, :places]
        best_T = np.zeros(places)
        for word in range(1, places):
            best_T[word] = arcs_TT[word, heads_T[word]]
        _search(_weights(arcs_TT, best_T), heads_T)
        for word in range(1, places):
            if arcs_TT[word, heads_T[word]] < best_T[word] - FORBIDDEN:
                return sentence
    return -1


@compiled
def _weights(arcs_TT: np.ndarray, best_T: np.ndarray) -> np.ndarray:
    """Weights of which the best tree has a single root, then as few forbidden arcs as it can, then the best scores.

    Every word has one head, so that a number added to all of a row changes nothing: the best of each becomes 0. That
    keeps the penalties small, and what they cost in precision.
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


@compiled
def _search(weights_TT: np.ndarray, heads_T: np.ndarray) -> None:
    """Fill in the heads of the best tree, whatever its roots; the weights are used up.

    A cycle becomes one word in the place of one of its own. Words, then cycles as they are found, are numbered through:
    ``inside`` says in which cycle each is, ``entering`` by which arc its best head comes. An arc from word j into word
    i is the number ``i * places + j``.
    """
    places = len(weights_TT)
    arcs_TT = np.arange(places * places).reshape(places, places)  # which arc stands at a place; cycles change it
    inside = np.full(2 * places, -1)
    entering = np.zeros(2 * places, np.int64)
    number = np.arange(places)  # of what is in each place
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
            # Back on the path: the cycle goes into the place where it was entered.
            end = length
            while True:
                length -= 1
                member = path[length]
                on_path[member] = False
                inside[number[member]] = count
                for head in range(places):  # to enter the cycle here weighs what is lost by it
                    weights_TT[member, head] -= best_T[member]
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
        # The arc into a cycle takes the place of one inside it: that into the word where it enters.
        member = entering[cycle] // places
        while inside[member] != cycle:
            member = inside[member]
        entering[member] = entering[cycle]
    for word in range(1, places):
        heads_T[word] = entering[word] % places


@compiled
def _best(row_T: np.ndarray) -> int:
    best = 0
    for place in range(1, len(row_T)):
        if row_T[place] > row_T[best]:
            best = place
    return best


@compiled
def _merge(weights_TT: np.ndarray, arcs_TT: np.ndarray, done: np.ndarray, kept: int, gone: int) -> None:
    """Make two places one: of the arcs into or from either the better; nobody asks for the heads of what is done."""
    for place in range(len(done)):
        if weights_TT[gone, place] > weights_TT[kept, place]:
            weights_TT[kept, place] = weights_TT[gone, place]
            arcs_TT[kept, place] = arcs_TT[gone, place]
    for place in range(len(done)):
        if not done[place]:
            if weights_TT[place, gone] > weights_TT[place, kept]:
                weights_TT[place, kept] = weights_TT[place, gone]
                arcs_TT[place, kept] = arcs_TT[place, gone]
            weights_TT[place, gone] = -np.inf
