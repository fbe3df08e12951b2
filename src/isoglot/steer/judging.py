"""Parallel sentences and dictionaries that token translations are judged by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted
from isoglot.retrieve.leaks import KnownWords, LeakCheck, training_provenance
from isoglot.text.formats.dictionary import Entry, read_dictionary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.model import EncoderLike
    from isoglot.retrieve.parallel_sets import ParallelSet


class DirectedSentences(NamedTuple):
    """Sentences to translate from one language to another, with their references."""

    codes: tuple[str, str]
    sentences: list[str]
    references: list[str] | None = None


def directions_between(sets: Sequence[ParallelSet], directions: Literal["both", "there"]) -> list[DirectedSentences]:
    """From the first language of each set to its others; ``both``: then also back."""
    there, back = [], []
    for one in sets:
        # All Tatoeba sets are with English, which comes first as in the papers.
        first, *others = sorted(one.sentences, key=lambda code: code != "en") if len(sets) > 1 else list(one.sentences)
        for other in others:
            own, their = list(one.sentences[first]), list(one.sentences[other])
            there.append(DirectedSentences((first, other), own, their))
            back.append(DirectedSentences((other, first), their, own))
    return [*there, *back] if directions == "both" else there


def sentences_between(sets: Sequence[ParallelSet], source: str, target: str) -> DirectedSentences:
    """Sentences of two languages in the first set that has both.

    Raises:
        ConfigError: No set has both.
    """
    for one in sets:
        if source in one.sentences and target in one.sentences:
            return DirectedSentences((source, target), list(one.sentences[source]), list(one.sentences[target]))
    found = sorted({code for one in sets for code in one.sentences})
    missing = next((code for code in (source, target) if code not in found), f"{source} with {target}")
    raise ConfigError(
        f"no parallel sentences of {missing}, only of {', '.join(found)}", f"add a file of {missing}", "missing-data"
    )


class JudgingDictionaries:
    """Dictionaries that translations are judged by: files for pairs of languages, or the built-in ones.

    Args:
        files: Files by source and target language. The opposite direction is read from them if it has no file.
        builtin: Whether to use built-in dictionaries for pairs without a file.
        known_words: What to do with words that training was given; built-in dictionaries leave them out instead of
            raising an error.
        seed: Random seed of the built-in dictionaries.

    Attributes:
        remarks: What a reader of the scores should know, filled in by :meth:`entries`.
        left_out: Number of source words left out, by direction.
        leak_check: The last leak check as a JSON object.
    """

    def __init__(
        self,
        files: Mapping[tuple[str, str], Sequence[Path]],
        *,
        builtin: bool = False,
        known_words: KnownWords = "refuse",
        seed: int = 0,
    ) -> None:
        self.files, self.builtin, self.known_words, self.seed = files, builtin, known_words, seed
        self.remarks: list[str] = []
        self.left_out: dict[str, int] = {}
        self.leak_check: dict[str, Any] | None = None
        self._read: dict[tuple[str, str], list[Entry] | None] = {}

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [path for paths in self.files.values() for path in paths]

    def read(self, source: str, target: str) -> list[Entry] | None:
        """All entries from one language to another; None without a dictionary of the two.

        Raises:
            ConfigError: There is no built-in dictionary of the two.
            InputError: A file is malformed or empty.
            StorageError: A file cannot be read.
        """
        codes = source, target
        if codes not in self._read:
            self._read[codes] = self._read_once(codes)
        return self._read[codes]

    def _read_once(self, codes: tuple[str, str]) -> list[Entry] | None:
        files = self._files(codes)
        if files:
            entries = [entry for path in files for entry in read_dictionary(path)]
            if not entries:
                raise InputError(
                    "the dictionary has no entries",
                    "write a source word, a blank and a target word per line",
                    "empty",
                    file=files[0],
                )
            if codes in self.files:
                return entries
            self.remarks.append("{0} to {1}: by the dictionary of {1} to {0}, reversed".format(*codes))
            return [Entry(one.target, one.source, one.weight) for one in entries]
        if self.builtin:
            from isoglot.languages.builtin import builtin_dictionary

            return builtin_dictionary(*codes, seed=self.seed)
        return None

    def entries(self, source: str, target: str, encoder: EncoderLike) -> list[Entry] | None:
        """Entries that an encoder may be judged by, in lower case; None if there are none, with a remark.

        Raises:
            ConfigError: There is no built-in dictionary of the two.
            InputError: A file is malformed, contains words that training was given and these are refused, or contains
                no others.
            StorageError: A file cannot be read.
        """
        entries = self.read(source, target)
        if entries is None:
            return None
        check = LeakCheck(training_provenance([encoder]), allowed=self.known_words == "allow")
        self.leak_check = check.facts()
        if str(check) not in self.remarks:
            self.remarks.append(str(check))
        if self.known_words == "allow":
            return entries
        lower = [replace(entry, source=entry.source.lower()) for entry in entries]
        files, name = self._files((source, target)), f"{source}-{target}"
        try:
            kept, words = check.judging(
                lower,
                source,
                ", ".join(map(str, files)) if files else "",
                leave_out=not files or self.known_words == "leave-out",
            )
        except InputError as error:
            if files:
                raise
            self.remarks.append(f"{name}: {error.problem}; to judge, give a dictionary or allow the leak")
            return None
        if words:
            self.left_out[name] = words
            self.remarks.append(f"{name}: {counted(words, 'source words')} left out: known from training")
        return kept

    def _files(self, codes: tuple[str, str]) -> Sequence[Path]:
        return self.files.get(codes) or self.files.get(codes[::-1]) or ()
