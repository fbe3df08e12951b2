"""Scores of links against gold: alignment error rate, precision, recall, F1 (Och & Ney 2003).

Gold links may be sure or possible; a sure one is possible too. With A the links, S the sure and P the possible::

    precision = |A ∩ P| / |A|    recall = |A ∩ S| / |S|    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

If all gold is sure, AER is 1 - F1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import check_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.formats.parallel import Links


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
