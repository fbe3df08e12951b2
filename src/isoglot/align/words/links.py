"""Links between words: two directions of word alignment combined, and scores of links against gold.

**Symmetrization** (Och & Ney 2003; Koehn et al. 2005). A direction links every word of one side to at most one of the
other. The intersection is the most precise, the union the most complete; growing lies between the two.

Growing depends on the order, since a link that is added takes two words. The order is the published one: links are
visited by source word, then by target word, including those added ahead of the visit; the neighbors of each by sides
first (previous source, previous target, next source, next target), then by corners; repeated until nothing is added.
Finally the links of the forward direction are considered, then those of the backward one, each in the same order.

>>> forward, backward = [(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 1), (2, 1), (3, 3)]
>>> for method in METHODS:
...     print(method, symmetrize(forward, backward, method))
intersection [(0, 0), (1, 1)]
union [(0, 0), (1, 1), (1, 2), (2, 1), (3, 3)]
grow-diag [(0, 0), (1, 1), (1, 2), (2, 1)]
grow-diag-final-and [(0, 0), (1, 1), (1, 2), (2, 1), (3, 3)]

**Scores** (Och & Ney 2003). Gold links may be sure or possible; a sure one is possible too. With A the links, S the
sure and P the possible ones::

    precision = |A ∩ P| / |A|    recall = |A ∩ S| / |S|    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

If all gold is sure, the alignment error rate (AER) is 1 - F1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from isoglot.core.errors import check_counts, check_name
from isoglot.core.optional import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.formats.parallel import Links

Symmetry = Literal["intersection", "union", "grow-diag", "grow-diag-final-and"]
"""``intersection``: links of both; ``union``: of either; ``grow-diag``: the intersection and, starting from it,
adjacent links of the union (also diagonally) with an unlinked word; ``grow-diag-final-and``: then also links between
two unlinked words."""
METHODS: tuple[Symmetry, ...] = get_args(Symmetry)

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    forward: Iterable[tuple[int, int]], backward: Iterable[tuple[int, int]], method: Symmetry = "grow-diag-final-and"
) -> Links:
    """Combine the links of two directions of a sentence pair, sorted.

    Args:
        forward: Links (source, target) of the direction that explains the target.
        backward: Those of the direction that explains the source; also (source, target).
        method: Symmetrization method.

    Returns:
        The links of one sentence pair.

    >>> symmetrize([(0, 0), (1, 1)], [(0, 0), (1, 2)], "intersection")
    [(0, 0)]

    Raises:
        ConfigError: The method is unknown.
    """
    check_name("symmetrization method", method, METHODS)
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
        for i, j in sorted(union):  # links added on the way are visited too
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


symmetrise = symmetrize  # the former spelling


@compiled
def merge(
    forward: np.ndarray,
    backward: np.ndarray,
    source_starts: np.ndarray,
    target_starts: np.ndarray,
    grow: bool,
    final: bool,
    union: bool,
    longest: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Symmetrize all sentences at once; the compiled equivalent of :func:`symmetrize`, which works on sets.

    Args:
        forward: Source position of each target word, or -1.
        backward: Target position of each source word, or -1.
        source_starts: Offsets of sentences (S + 1).
        target_starts: Likewise.
        grow: Whether neighbors are added to the intersection.
        final: Whether links between two unlinked words are added then.
        union: Whether to return all links of either.
        longest: Length of the longest sentence.

    Returns:
        Offsets of the links of each sentence (S + 1), and the source and the target position of each link, sorted.
    """
    link_starts = np.zeros(len(source_starts), np.int64)
    sources = np.empty(len(forward) + len(backward), np.int32)
    targets = np.empty(len(forward) + len(backward), np.int32)
    one = np.zeros((longest, longest), np.uint8)  # 1 forward, 2 backward, 4 chosen
    linked_source = np.zeros(longest, np.bool_)
    linked_target = np.zeros(longest, np.bool_)
    count = 0
    for s in range(len(source_starts) - 1):
        m, n = source_starts[s + 1] - source_starts[s], target_starts[s + 1] - target_starts[s]
        one[:m, :n] = 0
        linked_source[:m] = False
        linked_target[:n] = False
        for j in range(n):
            i = forward[target_starts[s] + j]
            if i >= 0:
                one[i, j] |= 1
        for i in range(m):
            j = backward[source_starts[s] + i]
            if j >= 0:
                one[i, j] |= 2
        for i in range(m):
            for j in range(n):
                if one[i, j] == 3 or (union and one[i, j]):
                    one[i, j] |= 4
                    linked_source[i] = linked_target[j] = True
        added = grow
        while added:
            added = False
            for i in range(m):
                for j in range(n):
                    if not one[i, j] & 4:
                        continue
                    for a, b in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                        x, y = i + a, j + b
                        if x < 0 or y < 0 or x >= m or y >= n or not one[x, y] or one[x, y] & 4:
                            continue
                        if not (linked_source[x] and linked_target[y]):
                            one[x, y] |= 4
                            linked_source[x] = linked_target[y] = added = True
        if final:
            for direction in (1, 2):
                for i in range(m):
                    for j in range(n):
                        if one[i, j] & direction and not linked_source[i] and not linked_target[j]:
                            one[i, j] |= 4
                            linked_source[i] = linked_target[j] = True
        for i in range(m):
            for j in range(n):
                if one[i, j] & 4:
                    sources[count], targets[count] = i, j
                    count += 1
        link_starts[s + 1] = count
    return link_starts, sources[:count].copy(), targets[:count].copy()


@dataclass(frozen=True, kw_only=True)
class LinkScores:
    """Links against gold, over all sentences together.

    >>> scores = LinkScores(links=4, sure=3, hit_sure=3, hit_possible=4)
    >>> scores.precision, scores.recall, scores.error_rate
    (1.0, 1.0, 0.0)
    """

    links: int
    sure: int
    hit_sure: int
    hit_possible: int

    @property
    def precision(self) -> float:
        """Share of the links that are possible; 1 without links."""
        return self.hit_possible / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """Share of the sure links that were found; 1 if there are none."""
        return self.hit_sure / self.sure if self.sure else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def error_rate(self) -> float:
        """AER: 0 is perfect."""
        size = self.links + self.sure
        return 1 - (self.hit_sure + self.hit_possible) / size if size else 0.0

    def facts(self) -> dict[str, float]:
        """JSON-serializable form."""
        rates = {"aer": self.error_rate, "precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**rates, **asdict(self)}


def score_links(
    found: Sequence[Links],
    sure: Sequence[Iterable[tuple[int, int]]],
    possible: Sequence[Iterable[tuple[int, int]]] | None = None,
) -> LinkScores:
    """Score links against gold.

    >>> scores = score_links([[(0, 0), (1, 1), (2, 1)]], [[(0, 0), (1, 1), (2, 2)]])
    >>> round(scores.precision, 3), round(scores.recall, 3), round(scores.error_rate, 3)
    (0.667, 0.667, 0.333)

    Args:
        found: Links of each sentence pair; duplicates count once.
        sure: Sure gold links.
        possible: Possible gold links; the sure ones need not be repeated. None: there are no others.

    Returns:
        Precision, recall, F1 and alignment error rate.

    Raises:
        InputError: The numbers of sentence pairs differ.
    """
    for name, gold in (("sure", sure), ("possible", possible)):
        if gold is not None:
            counts = {"the links": len(found), f"the {name} gold": len(gold)}
            check_counts("sentence pairs", counts, "give one line for each pair, even a blank one")
    links = sures = hit_sure = hit_possible = 0
    for number, given in enumerate(found):
        here, certain = set(given), set(sure[number])
        allowed = certain | set(() if possible is None else possible[number])
        links += len(here)
        sures += len(certain)
        hit_sure += len(here & certain)
        hit_possible += len(here & allowed)
    return LinkScores(links=links, sure=sures, hit_sure=hit_sure, hit_possible=hit_possible)
