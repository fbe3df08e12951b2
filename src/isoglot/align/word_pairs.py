"""Pairs of rows from dictionaries, identical words or numerals, and their split into training and test.

Shape legend: ``P`` pairs.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoglot.align.splits import held_out
from isoglot.core.errors import InputError
from isoglot.retrieve.dictionaries import match_dictionary
from isoglot.retrieve.leaks import in_case_of, refuse_leak, without_known
from isoglot.retrieve.metrics import SpelledAlike, spelled_alike
from isoglot.text.formats.dictionary import Entry
from isoglot.text.provenance import Provenance, use_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from isoglot.align.maps.config import AlignConfig
    from isoglot.retrieve import Gold

_NUMERAL = re.compile(r"[0-9]+")


def dictionary_pairs(entries: Iterable[Entry], source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """Rows of the entries with both words available, P × 2, unique and in the order of the entries.

    Raises:
        InputError: There is none; the message has the numbers of words found.
    """
    entries = list(entries)
    source, target = _places(source_words), _places(target_words)
    pairs = [(source[e.source], target[e.target]) for e in entries if e.source in source and e.target in target]
    if not pairs:
        words = {e.source for e in entries}, {e.target for e in entries}
        raise InputError(
            f"no entry of {len(entries)} has both words among the vectors: {len(words[0] & source.keys())} of "
            f"{len(words[0])} source words and {len(words[1] & target.keys())} of {len(words[1])} target words found",
            remedy="check the languages, their order and the case of the words",
            code="input.no-match",
        )
    return np.array(list(dict.fromkeys(pairs)), dtype=np.int64)


def identical_pairs(source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """Rows of words spelled the same in both languages, P × 2, in the order of the source.

    >>> identical_pairs(["the", "taxi", "1984"], ["1984", "le", "taxi"]).tolist()
    [[1, 2], [2, 0]]

    Raises:
        InputError: There is none.
    """
    return _shared(source_words, target_words, "words")


def numeral_pairs(source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """Rows of the same numerals (digits 0 to 9) in both languages, P × 2: a seed dictionary for any two scripts.

    Raises:
        InputError: There is none.
    """
    numerals = [word if _NUMERAL.fullmatch(word) else "" for word in source_words]
    return _shared(numerals, target_words, "numerals")


def _shared(source_words: Sequence[str], target_words: Sequence[str], what: str) -> np.ndarray:
    source, target = _places(source_words), _places(target_words)
    pairs = [(row, target[word]) for word, row in source.items() if word and word in target]
    if not pairs:
        raise InputError(
            f"none of {len(source_words)} source {what} is among the {len(target_words)} target words",
            remedy="give a dictionary",
            code="input.no-match",
        )
    return np.array(pairs, dtype=np.int64)


def _places(words: Sequence[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for row, word in enumerate(words):
        places.setdefault(word, row)
    return places


class WordPairs(NamedTuple):
    """Pairs of rows for training and test, test pairs of the same spelling, and the coverage of the dictionary."""

    train_P2: np.ndarray
    test_P2: np.ndarray
    alike: SpelledAlike
    facts: dict[str, Any]

    def given(self, languages: tuple[str, str], source_words: Sequence[str], target_words: Sequence[str]) -> Provenance:
        """Training entries, as the provenance of a map."""
        entries = [Entry(source_words[one], target_words[other]) for one, other in self.train_P2.tolist()]
        return Provenance(dictionaries=(use_entries(*languages, entries),))


class WordSplit:
    """Entries to fit on and to score on; without a test, whole source words are held out at random.

    Args:
        train: The dictionary.
        test: Another one to score on; None holds out a share of the first.
        config: Share to hold out, and how to treat leaks.
        seen: Source words whose translation was given to pretraining: none of them is held out.

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
                raise InputError(
                    f"the {name} has no entries",
                    remedy="write one entry per line: source, space, target",
                    code="input.empty",
                )
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
                remedy="leave these words out, or allow the leak",
            )

    def words(self, side: int) -> list[str]:
        """Words of the source (0) or the target (1), unique and in the order of the dictionaries."""
        entries = [*self.train, *(self.test or ())]
        return list(dict.fromkeys(entry.target if side else entry.source for entry in entries))

    def rows(self, source_words: Sequence[str], target_words: Sequence[str]) -> WordPairs:
        """Pairs with both words available.

        Raises:
            InputError: There are none in training or test; the message has the numbers of words found.
        """
        facts: dict[str, Any]
        train, facts = self._match("dictionary", self.train, source_words, target_words)
        if self.test is not None:
            test, more = self._match("test dictionary", self.test, source_words, target_words)
            alike = spelled_alike(test, source_words, target_words)
            facts = {"dictionary": facts, "test_dictionary": more, **self.leaked}
            return WordPairs(train.pairs_P2, test.pairs_P2, alike, facts)
        alike = spelled_alike(train, source_words, target_words)
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
