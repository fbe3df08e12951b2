"""A dictionary over two lists of words: which rows to learn from, and which to score on.

Shape legend: ``P`` pairs.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoglot.align.splits import held_out, refuse_leak
from isoglot.core.errors import InputError
from isoglot.retrieve.leaks import in_case_of, without_known
from isoglot.retrieve.spelling import SpeltAlike, spelt_alike
from isoglot.retrieve.words import match_dictionary
from isoglot.text.dictionary import Entry
from isoglot.text.provenance import Provenance, use_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from isoglot.align.settings import AlignConfig
    from isoglot.retrieve import Gold


class WordPairs(NamedTuple):
    """Pairs of rows for both parts, which of the test are spelt the same, and how much of the dictionary they are."""

    train_P2: np.ndarray
    test_P2: np.ndarray
    alike: SpeltAlike
    facts: dict[str, Any]

    def given(self, languages: tuple[str, str], source_words: Sequence[str], target_words: Sequence[str]) -> Provenance:
        """The entries that are learned from, as the provenance of what is learned."""
        entries = [Entry(source_words[one], target_words[other]) for one, other in self.train_P2.tolist()]
        return Provenance(dictionaries=(use_entries(*languages, entries),))


class WordSplit:
    """The entries to learn from and to score on; without a test, whole source words are held out at random.

    Args:
        train: The dictionary.
        test: Another to score on; None holds out a share of the first.
        config: How much to hold out, and what to do about a leak.
        seen: Source words whose translation pretraining was given: none of them is held out.

    Raises:
        InputError: A dictionary is empty, or a source word of the test is in training too, or known to pretraining.
    """

    def __init__(
        self, train: Sequence[Entry], test: Sequence[Entry] | None, config: AlignConfig, seen: Collection[str] = ()
    ) -> None:
        self.train, self.test, self.config = list(train), None if test is None else list(test), config
        seen = in_case_of((entry.source for entry in (self.train if self.test is None else self.test)), seen)
        self.seen = frozenset() if config.allow_leak else seen
        self.leaked: dict[str, int] = {}
        for name, entries in (("dictionary", self.train), ("test dictionary", self.test)):
            if entries is not None and not entries:
                raise InputError(f"the {name} has no entries", remedy="write source, a blank, target a line")
        if self.test is not None:
            if config.leave_out_known:
                self.test, self.leaked["left_out_known"] = without_known(self.test, seen)
            asked = [entry.source for entry in self.test]
            learned = [entry.source for entry in self.train]
            self.leaked["leaked"] = refuse_leak(learned, asked, "source words", allow=config.allow_leak)
            self.leaked["leaked_to_pretraining"] = refuse_leak(
                seen,
                asked,
                "source words",
                allow=config.allow_leak,
                where="known to pretraining from a dictionary",
                otherwise="leave them out with --leave-out-known",
            )

    def words(self, side: int) -> list[str]:
        """Every word of the source (0) or the target (1), once, in the order of the dictionaries."""
        entries = [*self.train, *(self.test or ())]
        return list(dict.fromkeys(entry.target if side else entry.source for entry in entries))

    def rows(self, source_words: Sequence[str], target_words: Sequence[str]) -> WordPairs:
        """The pairs whose two words are there.

        Raises:
            InputError: There are none in one of the parts; the message has how many words of how many were found.
        """
        facts: dict[str, Any]
        train, facts = self._match("dictionary", self.train, source_words, target_words)
        if self.test is not None:
            test, more = self._match("test dictionary", self.test, source_words, target_words)
            alike = spelt_alike(test, source_words, target_words)
            facts = {"dictionary": facts, "test_dictionary": more, **self.leaked}
            return WordPairs(train.pairs_P2, test.pairs_P2, alike, facts)
        alike = spelt_alike(train, source_words, target_words)
        sources_P = train.pairs_P2[:, 0]
        eligible_P = np.array([source_words[row] not in self.seen for row in sources_P])
        out_P = held_out(sources_P, self.config.test_share, seed=self.config.seed, eligible_N=eligible_P)
        return WordPairs(train.pairs_P2[~out_P], train.pairs_P2[out_P], alike, {"dictionary": facts})

    @staticmethod
    def _match(
        name: str, entries: list[Entry], source_words: Sequence[str], target_words: Sequence[str]
    ) -> tuple[Gold, dict[str, int]]:
        try:
            gold, coverage = match_dictionary(entries, source_words, target_words)
        except InputError as error:
            raise InputError(
                error.problem.replace("the dictionary", f"the {name}"), remedy=error.remedy, code=error.code
            ) from None
        return gold, asdict(coverage)
