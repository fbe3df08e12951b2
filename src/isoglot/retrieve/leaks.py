"""Leaks: words whose translations were given to training, so that a score on them would measure memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import InputError, shown
from isoglot.core.progress import counted
from isoglot.text.provenance import Provenance, merged, without_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from isoglot.model import EncoderLike
    from isoglot.text.formats.dictionary import Entry
    from isoglot.vocab import Shards

KnownWords = Literal["refuse", "leave-out", "allow"]
"""What to do with words whose translations training was given: raise an error, leave them out, or score on them."""


def training_provenance(
    encoders: Iterable[EncoderLike], shards: Iterable[Shards] = (), others: Iterable[Provenance] = ()
) -> Provenance:
    """Texts and dictionaries that went into models and their vocabularies.

    Args:
        encoders: The models.
        shards: Their training shards, where the models have no record themselves.
        others: Provenance of anything else: vectors from files, maps.
    """
    found = [one for encoder in encoders for one in (encoder.provenance, encoder.vocabulary.provenance)]
    return merged([*found, *(one.provenance for one in shards), *others])


@dataclass(frozen=True)
class LeakCheck:
    """Provenance that the words of a score are checked against.

    Args:
        provenance: That of the models or vectors.
        allowed: Whether words known to training are scored anyway.
    """

    provenance: Provenance
    allowed: bool = False

    def words(self, language: str | None) -> frozenset[str]:
        """Words of a language (None: of any) that dictionaries gave to training; empty if leaks are allowed."""
        return frozenset() if self.allowed else self.provenance.words(language)

    def judging(
        self, entries: Sequence[Entry], language: str | None, file: str | Path, *, leave_out: bool
    ) -> tuple[list[Entry], int]:
        """Entries to score on, and the number of source words that were left out.

        Args:
            entries: The dictionary.
            language: Language of its source words; None if unknown.
            file: Where the dictionary was read from.
            leave_out: Whether to leave out words known to training instead of raising an error.

        Raises:
            InputError: There are such words and they are not left out, or there are no others.
        """
        seen = self.words(language)
        if leave_out:
            return without_known(entries, seen, file)
        # Source words decide, as in MUSE's splits, whose training and test dictionaries share target words.
        words = [entry.source for entry in entries]
        known = in_case_of(words, seen)
        remedy = "leave these words out, or allow the leak"
        refuse_leak(known, words, "source words", where="known to training from a dictionary", remedy=remedy, file=file)
        return list(entries), 0

    def facts(self) -> dict[str, Any]:
        """The check as JSON."""
        return {
            "checked": not self.allowed,
            "dictionaries": without_words(self.provenance.dictionaries),
            "provenance_unknown": list(self.provenance.unknown),
            "sentence": str(self),
        }

    def __str__(self) -> str:
        """The check in one sentence, shown beside every score of words."""
        count = len(self.provenance.dictionaries)
        given = f"{count} {'dictionary' if count == 1 else 'dictionaries'}" if count else "no dictionary"
        found = f"training was given {given}"
        if self.allowed:
            return f"not checked for leaks: {found}" if count else found
        if self.provenance.unknown:
            names = self.provenance.unknown
            shown_names = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            verb = "has" if len(names) == 1 else "have"
            checked = f"checked against {given}; " if count else ""
            return (
                f"{checked}provenance unknown: {shown_names} {verb} no record, so words that training was given cannot "
                "be excluded"
            )
        return f"checked against the {given} that training was given" if count else found


def in_case_of(words: Iterable[str], seen: Collection[str]) -> frozenset[str]:
    """Words known to training in the case of a dictionary: lower case if it has no capitals, as MUSE's.

    >>> sorted(in_case_of(["haus"], ["Haus"])), sorted(in_case_of(["Hund", "haus"], ["Haus"]))
    (['haus'], ['Haus'])
    """
    lower = all(word == word.lower() for word in words)
    return frozenset(word.lower() for word in seen) if lower else frozenset(seen)


def without_known(
    entries: Sequence[Entry], seen: Collection[str], file: str | Path | None = None
) -> tuple[list[Entry], int]:
    """Entries with source words unknown to training, and the number of source words left out.

    >>> from isoglot.text.formats.dictionary import Entry
    >>> without_known([Entry("cat", "chat"), Entry("dog", "chien"), Entry("dog", "cabot")], {"Dog"})
    ([Entry(source='cat', target='chat', weight=1.0)], 1)

    Raises:
        InputError: No entry is left.
    """
    words = {entry.source for entry in entries}
    known = words & in_case_of(words, seen)
    if words and known == words:
        raise InputError(
            f"training has seen all {len(words):,} source words of the dictionary", "score on others", "leak", file=file
        )
    return [entry for entry in entries if entry.source not in known], len(known)


def refuse_leak(
    known: Iterable[str],
    asked: Iterable[str],
    what: str,
    *,
    allow: bool = False,
    where: str = "in training as well",
    remedy: str = "take them out of one of the two, or allow the leak",
    file: str | Path | None = None,
) -> int:
    """Number of test items that training knows; more than zero is an error unless allowed.

    Args:
        known: Items of training.
        asked: Items of the test.
        what: What they are, for the message.
        allow: Whether to score on them anyway.
        where: Where else they are, for the message.
        remedy: The end of the message.
        file: File of the test.

    Raises:
        InputError: There are some; the message has their number and three examples.
    """
    items = dict.fromkeys(asked)
    shared = items.keys() & set(known)
    leaked = [item for item in items if item in shared]
    if leaked and not allow:
        examples = ", ".join(shown(each, 40) for each in leaked[:3])
        verb = "is" if len(leaked) == 1 else "are"
        raise InputError(
            f"{len(leaked):,} of {len(items):,} {what} of the test {verb} {where}: {examples}",
            remedy,
            "leak",
            file=file,
        )
    return len(leaked)


def left_out(words: int) -> str:
    """Number of words that were left out, as text.

    >>> left_out(1)
    '1 source word left out: known from training'
    """
    return f"{counted(words, 'source words')} left out: known from training"
