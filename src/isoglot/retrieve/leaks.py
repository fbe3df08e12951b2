"""Words whose translations training was given: a score on them would measure memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.model.folder import read_about
from isoglot.model.load import encoder_folder
from isoglot.vocab.seen_words import words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from isoglot.text.dictionary import Entry
    from isoglot.vocab import Shards, Vocabulary


def words_seen(
    language: str,
    *,
    vocabulary: Vocabulary | None = None,
    model: str | Path | None = None,
    shards: Iterable[Shards] = (),
) -> frozenset[str]:
    """The words of a language that any dictionary gave to a model: to its vocabulary, its text or its training.

    Args:
        language: The language.
        vocabulary: The model's vocabulary.
        model: The model, as it was named; only one of ours says what it was given.
        shards: What it was trained on.

    Raises:
        StorageError: The model's index cannot be read.
    """
    code = language_code(language)
    found: set[str] = set()
    if vocabulary is not None:
        found |= words_of(vocabulary.about.get("dictionaries", ()), code)
    folder = None if model is None else encoder_folder(model)
    if folder is not None:
        found |= words_of(read_about(folder).get("dictionaries", ()), code)
    for one in shards:
        found |= one.words_seen(code)
    return frozenset(found)


def in_case_of(words: Iterable[str], seen: Collection[str]) -> frozenset[str]:
    """What training was given as a dictionary writes it: in lower case where that has no capitals, as MUSE's.

    >>> sorted(in_case_of(["haus"], ["Haus"])), sorted(in_case_of(["Hund", "haus"], ["Haus"]))
    (['haus'], ['Haus'])
    """
    lower = all(word == word.lower() for word in words)
    return frozenset(word.lower() for word in seen) if lower else frozenset(seen)


def without_known(
    entries: Sequence[Entry], seen: Collection[str], file: str | Path | None = None
) -> tuple[list[Entry], int]:
    """The entries with source words that training knew no translation of, and how many source words were left out.

    >>> from isoglot.text.dictionary import Entry
    >>> without_known([Entry("cat", "chat"), Entry("dog", "chien"), Entry("dog", "cabot")], {"Dog"})
    ([Entry(source='cat', target='chat', weight=1.0)], 1)

    Raises:
        InputError: Nothing is left.
    """
    words = {entry.source for entry in entries}
    known = words & in_case_of(words, seen)
    if words and known == words:
        raise InputError(
            f"training has seen all {len(words):,} source words of the dictionary", remedy="score on others", file=file
        )
    return [entry for entry in entries if entry.source not in known], len(known)


def refuse_leak(entries: Sequence[Entry], seen: Collection[str], file: str | Path, remedy: str) -> None:
    """Refuse a dictionary with source words that training knew a translation of.

    Source words decide, as in MUSE's splits: its training and test dictionaries have target words in common. Case does
    not count where the dictionary has no capitals.

    Raises:
        InputError: There are such words; the message says how many and names three.
    """
    words = list(dict.fromkeys(entry.source for entry in entries))
    known = in_case_of(words, seen)
    leaked = [word for word in words if word in known]
    if leaked:
        examples = ", ".join(shown(word, 40) for word in leaked[:3])
        raise InputError(
            f"training has seen {len(leaked):,} of {len(words):,} source words of the dictionary, such as {examples}",
            remedy=remedy,
            file=file,
        )
