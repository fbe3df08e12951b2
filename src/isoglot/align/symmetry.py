"""Two alignments of the same sentences, one in each direction, made one (Och & Ney 2003; Koehn et al. 2005).

A direction links every word of one side to at most one of the other. What both say is right most often, what either
says is most complete; growing stands between the two.

Growing depends on the order, for a link that is added takes two words. It is the published one: links are visited by
their source word, then by their target word, those added ahead of the visit included; the neighbors of each by sides
first (source before, target before, source behind, target behind), then by corners; and all that again until nothing
is added. At the end come the links of the forward direction, then those of the backward one, each in the same order.

>>> forward, backward = [(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 1), (2, 1), (3, 3)]
>>> for method in METHODS:
...     print(method, symmetrise(forward, backward, method))
intersection [(0, 0), (1, 1)]
union [(0, 0), (1, 1), (1, 2), (2, 1), (3, 3)]
grow-diag [(0, 0), (1, 1), (1, 2), (2, 1)]
grow-diag-final-and [(0, 0), (1, 1), (1, 2), (2, 1), (3, 3)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from isoglot.core.errors import ConfigError, nearest_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.text.alignment import Links

Symmetry = Literal["intersection", "union", "grow-diag", "grow-diag-final-and"]
"""``intersection``: links of both; ``union``: of either; ``grow-diag``: the intersection and, from it, neighbors (also
diagonal ones) in the union of which a word has no link yet; ``grow-diag-final-and``: then also links of words that both
have none."""
METHODS: tuple[Symmetry, ...] = get_args(Symmetry)

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def check_method(method: Symmetry) -> None:
    """Refuse what is no way to make two directions one.

    Raises:
        ConfigError: There is no such method.
    """
    if method not in METHODS:
        raise ConfigError(
            f"no method {shown(method)}", remedy=nearest_name(str(method), METHODS), code="config.unknown-name"
        )


def symmetrise(
    forward: Iterable[tuple[int, int]], backward: Iterable[tuple[int, int]], method: Symmetry = "grow-diag-final-and"
) -> Links:
    """The links of a sentence pair that a method makes of two directions, in order.

    Args:
        forward: Links (source, target) of the direction that explains the target.
        backward: Those of the direction that explains the source; also (source, target).
        method: How.

    Raises:
        ConfigError: There is no such method.
    """
    check_method(method)
    one, other = set(forward), set(backward)
    union = one | other
    if method == "union":
        return sorted(union)
    links = one & other
    if method == "intersection":
        return sorted(links)
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(link: tuple[int, int]) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    before = -1
    while before != len(links):
        before = len(links)
        for i, j in sorted(union):  # all links are in it; those added on the way count at once
            if (i, j) not in links:
                continue
            for a, b in _NEIGHBORS:
                near = (i + a, j + b)
                if near in union and not (near[0] in sources and near[1] in targets):
                    add(near)
    if method == "grow-diag-final-and":
        for direction in (one, other):
            for link in sorted(direction):
                if link[0] not in sources and link[1] not in targets:
                    add(link)
    return sorted(links)
