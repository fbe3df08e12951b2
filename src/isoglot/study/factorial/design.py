"""The 42 cells of the factorial study, and the text of each.

Four factors are crossed on built-in English and a twin of it:

========  =====================================================================================================
sharing   ``all``: every weight is shared; ``sep-emb``: each language has embeddings, positions and softmax of its
          own (Wu et al. 2020); ``all-but-top``: all is shared but the top layer
anchors   the share of words that are written the same: ``none``, one word in five (``fifth``), ``all``
order     the twin's word order: ``same``, ``verb-last``, ``mirrored``
domain    what the twin's text is about: ``same`` topics as English, or mostly ``other`` topics
========  =====================================================================================================

With separate embeddings no id is shared, whatever is written the same, so ``sep-emb`` has ``none`` only:
(3 + 1 + 3) x 3 orders x 2 domains = 42 cells.

A seed is a block: it decides the text, the test sentences, which words are anchors, the topics of both domains, the
initial weights and the order of the text, for all 42 cells alike (a randomized complete block design). So two cells of
a block differ in their factors and in nothing else:

- English is the same text in all cells. The source of the twin's text is the same for all sharings, anchors and orders.
- Every language reads as many ids in every cell. Vocabularies are learned for each language by itself, all of one size;
  equal strings share an id where there are anchors. The number of rows of a shared embedding matrix does depend on
  the anchors, because that is what an anchor is.
- Random words of masking come from the language of the row in every cell.
- Test pairs are the same English sentences in every cell, about the common topics (:func:`topics_of`) that both
  languages read about equally often in every cell, in combinations of concepts that neither has read.

Two confounds remain, and are measured in every cell. At ``all``, and to some degree at ``fifth``, pairs can be found by
their spelling: the untrained encoder shows how far. And at ``fifth`` the twin is written in two scripts, whose letters
take ids, so it has about 5 % more subwords a word (at 2,000 ids).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Literal, get_args

from isoglot.core.rng import derive_seed
from isoglot.languages.concepts import world
from isoglot.languages.random_meanings import Draw
from isoglot.study.demo.twin_pairs import Pairs, TwinLanguage, WordOrder, held_out, paired

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.study.numbers import Coordinate

Sharing = Literal["all", "sep-emb", "all-but-top"]
Anchors = Literal["none", "fifth", "all"]
Domain = Literal["same", "other"]

FACTORS: Mapping[str, tuple[str, ...]] = {
    "sharing": get_args(Sharing),
    "anchors": get_args(Anchors),
    "order": get_args(WordOrder),
    "domain": get_args(Domain),
}
"""The factors and their levels; the first level is the reference."""
CODES = ("en", "en-x-twin")
"""The languages. The twin has one code in all cells, because initial weights depend on it."""
SHARES: dict[Anchors, float] = {"none": 0.0, "fifth": 0.2, "all": 1.0}
COMMON = 1 / 3
"""The share of documents about common topics."""


@dataclass(frozen=True, kw_only=True)
class FactorialCell:
    """A combination of levels: one arm of the study."""

    sharing: Sharing
    anchors: Anchors
    order: WordOrder
    domain: Domain

    @property
    def name(self) -> str:
        """The name of the arm.

        >>> CELLS[-1].name
        'all-but-top_all_mirrored_other'
        """
        return f"{self.sharing}_{self.anchors}_{self.order}_{self.domain}"

    @property
    def levels(self) -> dict[str, Coordinate]:
        """The level of each factor."""
        return {factor: getattr(self, factor) for factor in FACTORS}

    @property
    def vocabulary_mode(self) -> Literal["union", "disjoint"]:
        """``union`` where equal strings share an id, else ``disjoint``."""
        return "disjoint" if self.anchors == "none" else "union"

    def plan(self, depth: int) -> str:
        """The sharing plan of an encoder with a given number of layers."""
        return {"all": "default", "sep-emb": "sep-emb", "all-but-top": str(depth)}[self.sharing]


CELLS = tuple(
    FactorialCell(sharing=sharing, anchors=anchors, order=order, domain=domain)
    for sharing in get_args(Sharing)
    for anchors in get_args(Anchors)
    if sharing != "sep-emb" or anchors == "none"
    for order in get_args(WordOrder)
    for domain in get_args(Domain)
)


# --- domains ---


@dataclass(frozen=True)
class Topics:
    """The world's topics in three parts.

    Attributes:
        common: Both languages read about them in every cell, and all test sentences are about them.
        first: The rest of English, and of the twin where the domain is the same.
        second: The rest of the twin where the domain is another one; as many as in ``first``.
    """

    common: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


@cache
def topics_of(seed: int) -> Topics:
    """The parts of a block, drawn at random.

    A test about topics that one language has not read would measure how much of the test a language knows; one about
    topics that neither has read would be unknown words for a third of its content words. So there are common topics,
    a third of either text; what changes with the domain is the other two thirds.
    """
    shuffled = list(world().topics)
    Random(derive_seed(seed, "factorial", "topics")).shuffle(shuffled)  # noqa: S311 - not for secrets
    size = (len(shuffled) + 1) // 3
    return Topics(tuple(shuffled[2 * size :]), tuple(shuffled[:size]), tuple(shuffled[size : 2 * size]))


def topic_draws(domain: Domain, seed: int) -> tuple[Draw[str], Draw[str]]:
    """Distributions of topics in English and in the twin; Zipfian among the common topics and among the others.

    The others have the same frequencies in both domains, rank by rank, and a document about a common topic is the same
    document in both.
    """
    topics = topics_of(seed)
    return _mixed(topics, topics.first), _mixed(topics, topics.first if domain == "same" else topics.second)


def _mixed(topics: Topics, others: tuple[str, ...]) -> Draw[str]:
    return Draw([*topics.common, *others], [*_zipf_shares(topics.common, COMMON), *_zipf_shares(others, 1 - COMMON)])


def _zipf_shares(items: tuple[str, ...], total: float) -> list[float]:
    weights = [1 / rank for rank in range(1, len(items) + 1)]
    return [total * weight / sum(weights) for weight in weights]


# --- test pairs ---


def cell_pairs(language: TwinLanguage, seed: int, count: int) -> tuple[Pairs, Pairs]:
    """Pairs to choose a layer by and pairs to score it on, about the common topics of a block."""
    common = topics_of(seed).common
    draw = Draw(common, _zipf_shares(common, 1.0))
    choose, test = (held_out(count, seed, split=split, topics=draw) for split in ("dev", "test"))
    return paired(choose, language), paired(test, language)
