"""Chu-Liu-Edmonds in its dense form, of time T² (Tarjan 1977; Camerini, Fratta & Maffioli 1979).

Heads are followed from word to word, and when they come back the cycle becomes one word. That one word hangs on the
root is a matter of weights (Stanojević & Cohen 2021): arcs from the root cost so much that the best tree has as few as
it can, and one is always enough.

All is compiled by numba where it is installed. Without, it runs as it stands here but for the innermost loops, of which
there is a second form in NumPy: the plain twin.

Shape legend: ``B`` sentences, ``T`` places: the root, then the words, then padding.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.optional import COMPILED, compiled

FORBIDDEN = 1e6
"""Arcs this far below the best of their word are treated as forbidden, like -inf."""


@compiled
def search(arcs_BTT: np.ndarray, lengths_B: np.ndarray, heads_BT: np.ndarray) -> int:
    """Replace the best heads of words by those of the best trees; returns a sentence that has none, or -1."""
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
                _lower(weights_TT[member], best_T[member])  # to enter the cycle here weighs what is lost by it
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


# --- the innermost loops, for numba ---


def _weights_in_loops(arcs_TT: np.ndarray, best_T: np.ndarray) -> np.ndarray:
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
    """Make two places one: of the arcs into or from either the better; nobody asks for the heads of what is done."""
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
