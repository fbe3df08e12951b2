"""Extra anchors: words of a text replaced by their translations, as in Wu et al. (2020).

Each word that has a dictionary entry is replaced with probability ``rate``, and at most a share ``cap`` of the words of
a batch is; the translation is drawn by its weight. A batch is ``batch_lines`` lines, or fewer if they fill a quarter of
a million characters. What happens to a line depends on the seed, its language and its number, and through the cap on
its batch; never on how many processes work.

>>> from isoglot.text.formats.dictionary import Entry
>>> switcher = Switcher({("en", "fr"): [Entry("cat", "chat"), Entry("dog", "chien")]}, rate=1.0, cap=None)
>>> switcher.switch(["The Cat saw a dog."], "en")[0]
['The Chat saw a chien.']
>>> switcher.switch(["Le chat dort."], "fr")[0]
['Le cat dort.']
"""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.cleaning.segmentation import Method, segmenter, word_method, word_spans
from isoglot.text.formats.lines import line_writer
from isoglot.text.process_pool import chunks_of, map_chunks
from isoglot.text.provenance import derived, use_entries, without_words
from isoglot.text.stream import read_stream, stream_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.formats.malformed import Skip
    from isoglot.text.provenance import UsedDictionary


class SwitchConfig(Config):
    """How much is switched."""

    rate: float = Field(0.3, ge=0, le=1)
    """the probability that a word with an entry is replaced"""
    cap: float = Field(0.15, ge=0, le=1)
    """the largest share of a batch's words that may be replaced; 1 is no limit"""
    batch_lines: int = Field(256, ge=1)
    """the lines of a batch"""
    segment: Method | None = None
    """how words are found; None takes the best for each language"""


@dataclass
class SwitchReport:
    """What was switched in the text of one language."""

    lines: int = 0
    words: int = 0
    """Words with a letter or digit; signs do not count."""
    with_entry: int = 0
    replaced: int = 0
    capped: int = 0
    """Words that were to be replaced, had the cap allowed it."""
    unchanged: int = 0
    """Replacements that look the same as the word."""
    translations: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How often (word as in the dictionary, language, translation) was drawn."""

    def add(self, other: SwitchReport) -> None:
        """Count in what another report has."""
        for name in ("lines", "words", "with_entry", "replaced", "capped", "unchanged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.translations.update(other.translations)

    def facts(self) -> dict[str, Any]:
        """The report as JSON holds it, without the translations."""
        names = ("lines", "words", "with_entry", "replaced", "capped", "unchanged")
        return {name: getattr(self, name) for name in names} | {
            "rate": self.replaced / self.with_entry if self.with_entry else 0.0,
            "share": self.replaced / self.words if self.words else 0.0,
        }


@dataclass(frozen=True)
class _Choice:
    """What a word may become."""

    options: tuple[tuple[str, str], ...]
    """(language, translation)"""
    steps: tuple[float, ...]
    """Probabilities added up; the last is 1."""

    def draw(self, value: float) -> tuple[str, str]:
        return self.options[min(bisect(self.steps, value), len(self.options) - 1)]


class Switcher:
    """Replaces words by translations.

    A word is looked up as it is written, then in lower case; then the translation gets the word's case: ``Cat`` gives
    ``Chat``, ``CAT`` gives ``CHAT``. A word that has translations in several languages gets each language with the
    same probability. In text without blanks, such as Chinese, a translation that is written with blanks gets them.

    Args:
        dictionaries: Entries by (source, target); each serves text of either language. Entries whose word is a phrase
            are left out on that side, and so are those of weight 0.
        rate: The probability that a word with an entry is replaced.
        cap: The largest share of a batch's words that may be replaced; None is no limit.
        seed: Same seed, same text.
        used: The records of the dictionaries, which the text's own record takes over; None makes them of the entries.

    Raises:
        ConfigError: There is no such language, a weight is below 0, or a share is not between 0 and 1.
    """

    def __init__(
        self,
        dictionaries: Mapping[tuple[str, str], Iterable[Entry]],
        *,
        rate: float = 0.3,
        cap: float | None = 0.15,
        seed: int = 0,
        used: Sequence[UsedDictionary] | None = None,
    ) -> None:
        for name, value in (("rate", rate), ("cap", cap)):
            if value is not None and not 0 <= value <= 1:
                raise ConfigError(
                    f"the {name} {value} is not a share",
                    remedy="give a number from 0 to 1",
                    code="config.invalid-value",
                )
        self.rate, self.cap, self.seed = rate, cap, seed
        entries = {pair: list(found) for pair, found in dictionaries.items()}
        self.used = [use_entries(*pair, found) for pair, found in entries.items()] if used is None else list(used)
        self._choices = _choices(entries)
        self._known = {language: _Known(choices) for language, choices in self._choices.items()}

    @property
    def languages(self) -> list[str]:
        """The languages whose text it can switch."""
        return sorted(self._choices)

    def probabilities(self, word: str, language: str) -> dict[tuple[str, str], float]:
        """The (language, translation)s of a word with the probability of each, once it is replaced."""
        choice = self._choices.get(language_code(language), {}).get(word)
        if choice is None:
            return {}
        return {
            option: high - low
            for option, (low, high) in zip(choice.options, pairwise((0.0, *choice.steps)), strict=True)
        }

    def switch(
        self, lines: Sequence[str], language: str, *, first: int = 0, method: Method | None = None
    ) -> tuple[list[str], SwitchReport]:
        """Switch one batch.

        Args:
            lines: The lines of the batch.
            language: Their language.
            first: The number of the first line in its text: it decides the draws.
            method: How words are found (:func:`segmenter`); None takes the best for the language.

        Returns:
            The lines, and what was done.

        Raises:
            ConfigError: There is no such language, or no dictionary for it.
            MissingPartError: The method needs a library that is not installed.
        """
        code = language_code(language)
        if code not in self._choices:
            raise ConfigError(
                f"no dictionary has {shown(code)}",
                remedy=f"those given are for {', '.join(self.languages) or 'none'}",
                code="config.missing-data",
            )
        choices, known = self._choices[code], self._known[code]
        split = segmenter(code, method or word_method(code))
        report = SwitchReport(lines=len(lines))
        found = [split(line) for line in lines]
        picks: list[tuple[float, int, int, float]] = []
        for number, words in enumerate(found):
            kinds = [known[word] for word in words]
            report.words += len(kinds) - kinds.count(None)
            having = [place for place, key in enumerate(kinds) if key]
            report.with_entry += len(having)
            if having:
                chance = random.Random(derive_seed(self.seed, "switch", code, first + number)).random  # noqa: S311
                draws = [(chance(), number, place, chance()) for place in having]
                picks += [draw for draw in draws if draw[0] < self.rate]
        if self.cap is not None:
            allowed = int(self.cap * report.words + 1e-9)
            if len(picks) > allowed:
                # The smallest draws stay, so that no word is preferred.
                report.capped = len(picks) - allowed
                picks = sorted(picks)[:allowed]
        report.replaced = len(picks)
        chosen: dict[int, dict[int, tuple[str, str]]] = defaultdict(dict)
        for _, number, place, value in picks:
            word = found[number][place]
            key = known[word] or ""
            target, translation = choices[key].draw(value)
            report.translations[key, target, translation] += 1
            written = translation if key == word else in_case_of(word, translation)
            report.unchanged += written == word
            chosen[number][place] = target, written
        switched = [
            _rewritten(line, found[number], chosen[number], code) if number in chosen else line
            for number, line in enumerate(lines)
        ]
        return switched, report


def _choices(dictionaries: Mapping[tuple[str, str], Iterable[Entry]]) -> dict[str, dict[str, _Choice]]:
    """By language and word."""
    weights: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for (source, target), entries in dictionaries.items():
        one, other = language_code(source), language_code(target)
        if one == other:
            raise ConfigError(
                f"a dictionary from {one} to itself", remedy="name two languages", code="config.other-language"
            )
        here = weights.setdefault(one, {})
        there = weights.setdefault(other, {})
        for entry in entries:
            if entry.weight < 0:
                raise ConfigError(
                    f"the weight {entry.weight} of {shown(entry.source)} is below 0",
                    remedy="weights are 0 or more",
                    code="config.invalid-value",
                )
            for table, word, language, translation in (
                (here, entry.source, other, entry.target),
                (there, entry.target, one, entry.source),
            ):
                if entry.weight and len(word.split()) == 1:
                    options = table.setdefault(word, {}).setdefault(language, {})
                    options[translation] = options.get(translation, 0.0) + entry.weight
    return {
        language: {word: _choice(options) for word, options in table.items()} for language, table in weights.items()
    }


def _choice(by_language: dict[str, dict[str, float]]) -> _Choice:
    options, shares = [], []
    for language, weights in by_language.items():
        total = sum(weights.values()) * len(by_language)
        options += [(language, translation) for translation in weights]
        shares += [weight / total for weight in weights.values()]
    return _Choice(tuple(options), tuple(accumulate(shares)))


class _Known(dict[str, "str | None"]):
    """What stands for a word in the dictionary: ``""`` for a word without entry, None for signs; worked out once."""

    def __init__(self, choices: Mapping[str, _Choice]) -> None:
        super().__init__()
        self.choices = choices

    def __missing__(self, word: str) -> str | None:
        if len(self) > 1 << 18:  # text has ever new words
            self.clear()
        lower = word.lower()
        key: str | None = word if word in self.choices else lower if lower in self.choices else ""
        if not key and not any(
            letter.isalnum() or "\ue000" <= letter <= "\uf8ff" or letter >= "\U000f0000" for letter in word
        ):
            key = None
        self[word] = key
        return key


def in_case_of(word: str, translation: str) -> str:
    """The translation in upper case, or with a capital, where the word is."""
    if len(word) > 1 and word.isupper():
        return translation.upper()
    return translation[:1].upper() + translation[1:] if word[:1].isupper() else translation


def _rewritten(line: str, words: Sequence[str], chosen: Mapping[int, tuple[str, str]], language: str) -> str:
    """The line with the chosen words replaced, all else as it was."""
    pieces: list[str] = []
    end = 0
    with_blanks = written_with_blanks(language)
    for place, (start, stop) in enumerate(word_spans(line, words)):
        if place not in chosen:
            continue
        target, translation = chosen[place]
        pieces.append(line[end:start])
        apart = not with_blanks and written_with_blanks(target)
        before = pieces[-1] or (pieces[-2] if len(pieces) > 1 else "")
        if apart and before[-1:].isalnum():
            pieces.append(" ")
        pieces.append(translation)
        if apart and line[stop : stop + 1].isalnum():
            pieces.append(" ")
        end = stop
    return "".join([*pieces, line[end:]])


# --- files ---


@dataclass(frozen=True)
class _BatchSwitcher:
    switcher: Switcher
    language: str
    method: Method | None

    def __call__(self, batch: tuple[int, list[str]]) -> tuple[list[str], SwitchReport]:
        first, lines = batch
        return self.switcher.switch(lines, self.language, first=first, method=self.method)


def switch_files(
    paths: Sequence[str | Path],
    target: str | Path,
    language: str,
    switcher: Switcher,
    *,
    batch_lines: int = 256,
    method: Method | None = None,
    workers: int = 1,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> SwitchReport:
    """Switch the files of one language into one file.

    Raises:
        ConfigError: There is no dictionary for the language.
        CorruptFileError: A file has changed since its record was written.
        InputError: A line is not UTF-8 text, and no more may be skipped.
        MissingPartError: The method needs a library that is not installed.
        StorageError: A file cannot be read or written.
    """
    report = SwitchReport()
    work = _BatchSwitcher(switcher, language, method)
    work((0, []))  # what is missing is said before anything is written
    batches = _numbered(chunks_of(read_stream(paths, skip=skip), lines=batch_lines))
    step = {
        "step": "code-switch",
        "language": language_code(language),
        "rate": switcher.rate,
        "cap": switcher.cap,
        "seed": switcher.seed,
        "words_by": method or word_method(language),
        "dictionaries": without_words(switcher.used),
    }
    provenance = derived(paths, step, switcher.used)
    with (
        stream_writer(target, provenance) as writer,
        progress.task(f"switch {language}", total=None, unit="lines") as task,
    ):
        for lines, counts in map_chunks(work, batches, workers=workers):
            writer.write_all(lines)
            report.add(counts)
            task.advance(len(lines))
    report.lines = writer.lines
    return report


def write_translations(path: str | Path, report: SwitchReport) -> int:
    """Write how often each translation was drawn: word, language, translation, count, most frequent first.

    Raises:
        StorageError: The file cannot be written.
    """
    with line_writer(path) as writer:
        for (word, language, translation), count in sorted(
            report.translations.items(), key=lambda item: (-item[1], item[0])
        ):
            writer.write_cells(word, language, translation, str(count))
    return writer.lines


def _numbered(chunks: Iterable[list[str]]) -> Iterator[tuple[int, list[str]]]:
    first = 0
    for chunk in chunks:
        yield first, chunk
        first += len(chunk)
