"""Two directions made one: by hand, by the published definition, and the fast way as the plain one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align.words.links import METHODS, merge, symmetrize

Link = tuple[int, int]


def test_growing_by_hand():
    """The intersection is (0, 0); (1, 1) touches it by a corner, (2, 2) touches that, (5, 5) touches nothing."""
    forward = [(0, 0), (1, 1), (5, 5)]
    backward = [(0, 0), (2, 2), (4, 6), (0, 1)]
    assert symmetrize(forward, backward, "intersection") == [(0, 0)]
    # (0, 1) comes first in the order of neighbors and takes word 1 of the target; (1, 1) still has a free source word.
    assert symmetrize(forward, backward, "grow-diag") == [(0, 0), (0, 1), (1, 1), (2, 2)]
    final = [(0, 0), (0, 1), (1, 1), (2, 2), (4, 6), (5, 5)]
    assert symmetrize(forward, backward, "grow-diag-final-and") == final == symmetrize(forward, backward, "union")
    assert symmetrize([(0, 0), (0, 3)], [(0, 0)]) == [(0, 0)], "a link of a word that has one is not added at the end"


@st.composite
def directions(draw):
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    forward = draw(st.lists(st.integers(-1, m - 1), min_size=n, max_size=n))
    backward = draw(st.lists(st.integers(-1, n - 1), min_size=m, max_size=m))
    return m, n, forward, backward


@given(directions())
@settings(max_examples=150, deadline=None)
def test_the_fast_way_to_merge_is_the_plain_one_and_lies_between(made):
    m, n, forward, backward = made
    one = [(i, j) for j, i in enumerate(forward) if i >= 0]
    other = [(i, j) for i, j in enumerate(backward) if j >= 0]
    found = {}
    for method in METHODS:
        grow, final, union = method.startswith("grow"), method.endswith("final-and"), method == "union"
        arrays = np.array(forward, np.int32), np.array(backward, np.int32), np.array([0, m]), np.array([0, n])
        _, sources, targets = merge(*arrays, grow, final, union, 6)
        found[method] = symmetrize(one, other, method)
        assert list(zip(sources.tolist(), targets.tolist(), strict=True)) == found[method]
    assert set(found["intersection"]) <= set(found["grow-diag"]) <= set(found["grow-diag-final-and"])
    assert set(found["grow-diag-final-and"]) <= set(found["union"]) == set(one) | set(other)


# --- the definition, as it was published ---


def grown(forward: set[Link], backward: set[Link], m: int, n: int) -> list[Link]:
    """Growing as Koehn et al. (2005) tell it, on a board of m x n places, and nothing of ours.

    Links that both have are on the board. Walk over it row by row; from each link there look at the places beside it,
    above, left, below, right, and then at the corners: one that either direction has, and whose row or column is still
    empty, becomes a link. Walk again until a walk adds nothing.
    """
    board = [[(i, j) in forward and (i, j) in backward for j in range(n)] for i in range(m)]
    added = True
    while added:
        added = False
        for i in range(m):
            for j in range(n):
                for x, y in [(i - 1, j), (i, j - 1), (i + 1, j), (i, j + 1)] + [
                    (x, y) for x in (i - 1, i + 1) for y in (j - 1, j + 1)
                ]:
                    if not board[i][j] or (x, y) not in forward | backward or board[x][y]:
                        continue
                    empty_row, empty_column = not any(board[x]), not any(row[y] for row in board)
                    if empty_row or empty_column:
                        board[x][y] = added = True
    return [(i, j) for i in range(m) for j in range(n) if board[i][j]]


def finished(links: list[Link], forward: set[Link], backward: set[Link], m: int, n: int) -> list[Link]:
    """The last step, "and": of either direction in turn, a link whose row and column are both still empty."""
    found = list(links)
    for direction in (forward, backward):
        for i in range(m):
            for j in range(n):
                if (i, j) in direction and all(i != x and j != y for x, y in found):
                    found.append((i, j))
    return sorted(found)


@given(directions())
@settings(max_examples=300, deadline=None)
def test_growing_is_the_published_one(made):
    m, n, one, other = made
    forward = {(i, j) for j, i in enumerate(one) if i >= 0}
    backward = {(i, j) for i, j in enumerate(other) if j >= 0}
    links = grown(forward, backward, m, n)
    assert symmetrize(forward, backward, "grow-diag") == links
    assert symmetrize(forward, backward, "grow-diag-final-and") == finished(links, forward, backward, m, n)


@given(directions())
@settings(max_examples=150, deadline=None)
def test_what_growing_must_be_in_any_order(made):
    """Every link hangs on the intersection by neighbors; nothing that could be added is left out."""
    _, _, one, other = made
    forward = {(i, j) for j, i in enumerate(one) if i >= 0}
    backward = {(i, j) for i, j in enumerate(other) if j >= 0}
    links = set(symmetrize(forward, backward, "grow-diag"))

    def beside(link: Link, some: set[Link]) -> bool:
        return any(max(abs(link[0] - i), abs(link[1] - j)) == 1 for i, j in some)

    def free(link: Link, some: set[Link]) -> list[bool]:
        return [all(link[side] != each[side] for each in some) for side in (0, 1)]

    reached = forward & backward
    while more := {link for link in links - reached if beside(link, reached)}:
        reached |= more
    assert reached == links
    left = (forward | backward) - links
    assert not any(beside(link, links) and any(free(link, links)) for link in left)
    every = set(symmetrize(forward, backward, "grow-diag-final-and"))
    assert not any(all(free(link, every)) for link in (forward | backward) - every)
    assert all(all(free(link, every - {link})) for link in every - links)
