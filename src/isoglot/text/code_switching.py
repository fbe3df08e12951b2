"""Code-switching: words of a text replaced by dictionary translations, as extra anchors (Wu et al. 2020).

:class:`CodeSwitchingRule` says which words may be replaced by what, and with which probabilities. :class:`Switcher`
applies it to text; :mod:`isoglot.pretrain.code_switching` applies the same rule to token ids on the device.

Each word that has a dictionary entry is replaced with probability ``rate``, and at most a share ``cap`` of the words of
a batch is replaced. A batch is ``batch_lines`` lines, or fewer if they fill a quarter of a million characters. What
happens to a line depends on the seed, its language and its number, and through the cap on its batch; never on the
number of processes.

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
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, InputError, check_range, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.cleaning.segmentation import Method, segmenter, word_method, word_spans
from isoglot.text.formats.dictionary import Entry, read_dictionary
from isoglot.text.formats.lines import Skip, line_writer
from isoglot.text.provenance import UsedDictionary, use_dictionary, use_entries, without_words
from isoglot.text.stream import Report, chunks_of, map_chunks, read_stream, rewriting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


class SwitchConfig(Config):
    """Settings of code-switching."""

    rate: float = Field(0.3, ge=0, le=1)
    """the probability that a word with an entry is replaced"""
    cap: float = Field(0.15, ge=0, le=1)
    """the largest share of a batch's words that may be replaced; 1 is no limit"""
    batch_lines: int = Field(256, ge=1)
    """lines of a batch, over which the cap is applied"""
    segment: Method | None = None
    """word segmentation; None: the best for each language"""


@dataclass
class SwitchReport(Report):
    """Counts of what was replaced in the text of one language."""

    lines: int = 0
    words: int = 0  # words with a letter or digit; punctuation does not count
    with_entry: int = 0
    replaced: int = 0
    capped: int = 0  # words that the rate chose and the cap left as they were
    unchanged: int = 0  # replacements that are spelled like the word
    # How often each (dictionary word, language, translation) was drawn
    translations: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def facts(self) -> dict[str, Any]:
        """The report for JSON, without the translations."""
        shares = {"rate": (self.replaced, self.with_entry), "share": (self.replaced, self.words)}
        counts = {key: value for key, value in vars(self).items() if key != "translations"}
        return counts | {name: part / whole if whole else 0.0 for name, (part, whole) in shares.items()}


class Candidate(NamedTuple):
    """A translation that may replace a word."""

    language: str
    translation: str  # as it is in the dictionary
    written: str  # in the case of the word it replaces
    # Probability of this and all earlier candidates, given that the word is replaced; that of the last is 1
    up_to: float


class CodeSwitchingRule:
    """Which words may be replaced, by which translations, with which probabilities.

    - **Candidates**: every entry of weight above 0 whose word is not a phrase; each dictionary serves both languages.
    - **Precedence**: a word is looked up as it is written, then in lower case (:meth:`entry`).
    - **Case**: if lower case found it, the translation takes the word's case: ``Cat`` gives ``Chat``, ``CAT`` ``CHAT``.
    - **Probabilities**: every language with a translation is equally likely; within one they follow the weights.
    - **Selection**: words whose draw is below the rate, and of those the smallest draws up to the cap (:func:`select`).

    Args:
        dictionaries: Entries by (source, target).

    Raises:
        ConfigError: A language does not exist, source and target are the same, or a weight is negative.
    """

    def __init__(self, dictionaries: Mapping[tuple[str, str], Iterable[Entry]]) -> None:
        weights: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
        for (source, target), entries in dictionaries.items():
            one, other = language_code(source), language_code(target)
            if one == other:
                problem = f"source and target of a dictionary are both {one}"
                raise ConfigError(problem, "name two languages", "other-language")
            here, there = weights.setdefault(one, {}), weights.setdefault(other, {})
            for entry in entries:
                if entry.weight < 0:
                    problem = f"the weight {entry.weight} of {shown(entry.source)} is negative"
                    raise ConfigError(problem, "give 0 or more", "invalid-value")
                for table, word, language, translation in (
                    (here, entry.source, other, entry.target),
                    (there, entry.target, one, entry.source),
                ):
                    known = table.setdefault(word, {})
                    if entry.weight and len(word.split()) == 1:
                        options = known.setdefault(language, {})
                        options[translation] = options.get(translation, 0.0) + entry.weight
        self._candidates = {
            language: {word: _candidates(options) for word, options in table.items()}
            for language, table in weights.items()
        }

    @property
    def languages(self) -> list[str]:
        """The languages whose text can be switched."""
        return sorted(self._candidates)

    def words(self, language: str) -> dict[str, tuple[Candidate, ...]]:
        """The words of a language in dictionary order, each with its candidates; phrases and weight 0 have none.

        Raises:
            ConfigError: No dictionary has the language.
        """
        if language not in self._candidates:
            problem = f"no dictionary has {shown(language)}"
            raise ConfigError(problem, f"those given are for {', '.join(self.languages) or 'none'}", "missing-data")
        return self._candidates[language]

    def entry(self, word: str, language: str) -> str | None:
        """The dictionary word under which a word of the text is found; None if it is not."""
        words = self._candidates[language]
        return next((form for form in (word, word.lower()) if words.get(form)), None)

    def candidates(self, word: str, language: str) -> tuple[Candidate, ...]:
        """The candidates for a word of the text; empty for a word without an entry."""
        found = self.entry(word, language)
        if found is None:
            return ()
        options = self._candidates[language][found]
        if found == word:
            return options
        return tuple(one._replace(written=in_case_of(word, one.translation)) for one in options)

    def forms(self, language: str) -> Iterator[tuple[str, str]]:
        """Yield (dictionary word, form in the text): as it is written, Capitalized, in UPPER case.

        These are all forms that :meth:`entry` finds, but for mixed case (*cAt*).
        """
        for word, candidates in self._candidates[language].items():
            if candidates:
                for form in dict.fromkeys((word, word[:1].upper() + word[1:], word.upper())):
                    if self.entry(form, language) == word:
                        yield word, form


def _candidates(by_language: dict[str, dict[str, float]]) -> tuple[Candidate, ...]:
    options, shares = [], []
    for language, weights in by_language.items():
        total = sum(weights.values()) * len(by_language)
        options += [(language, translation) for translation in weights]
        shares += [weight / total for weight in weights.values()]
    return tuple(
        Candidate(language, translation, translation, up_to)
        for (language, translation), up_to in zip(options, accumulate(shares), strict=True)
    )


def drawn(candidates: Sequence[Candidate], value: float) -> Candidate:
    """The candidate for a uniform random number from [0, 1)."""
    return candidates[min(bisect(candidates, value, key=lambda one: one.up_to), len(candidates) - 1)]


def select(draws: Sequence[float], rate: float, allowed: int | None) -> list[int]:
    """The numbers of the words to replace: draws below the rate, of those the smallest, so that no word is preferred.

    >>> select([0.1, 0.5, 0.05, 0.2], rate=0.3, allowed=2)
    [0, 2]
    """
    picked = [number for number, draw in enumerate(draws) if draw < rate]
    if allowed is not None and len(picked) > allowed:
        picked = sorted(sorted(picked, key=lambda number: draws[number])[:allowed])
    return picked


def in_case_of(word: str, translation: str) -> str:
    """The translation in upper case or capitalized, where the word is."""
    if len(word) > 1 and word.isupper():
        return translation.upper()
    return translation[:1].upper() + translation[1:] if word[:1].isupper() else translation


class Switcher:
    """Code-switching of text.

    In text without blanks, such as Chinese, a translation that is written with blanks gets them.

    Args:
        dictionaries: Entries by (source, target); see :class:`CodeSwitchingRule`.
        rate: The probability that a word with an entry is replaced.
        cap: The largest share of a batch's words that may be replaced; None: no limit.
        seed: Random seed.
        used: The provenance of the dictionaries, which the text's own takes over; None derives it from the entries.

    Raises:
        ConfigError: The rule rejects a dictionary, or a share is not between 0 and 1.
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
        check_range("rate", rate, 0, 1)
        check_range("cap", 1 if cap is None else cap, 0, 1)
        self.rate, self.cap, self.seed = rate, cap, seed
        entries = {pair: list(found) for pair, found in dictionaries.items()}
        self.used = [use_entries(*pair, found) for pair, found in entries.items()] if used is None else list(used)
        self.rule = CodeSwitchingRule(entries)
        self._entries = {language: _Entries(self.rule, language) for language in self.rule.languages}

    @classmethod
    def read(
        cls,
        dictionaries: Mapping[tuple[str, str], Sequence[str | Path]],
        *,
        rate: float = 0.3,
        cap: float | None = 0.15,
        seed: int = 0,
    ) -> Switcher:
        """Read the dictionaries of language pairs from files.

        Raises:
            ConfigError: The rule rejects a dictionary, or a share is not between 0 and 1.
            InputError: A dictionary is malformed or has no entries.
            StorageError: A file cannot be read.
        """
        entries: dict[tuple[str, str], list[Entry]] = {}
        used: list[UsedDictionary] = []
        for pair, paths in dictionaries.items():
            found = {path: list(read_dictionary(path)) for path in paths}
            entries[pair] = [entry for each in found.values() for entry in each]
            used += [one for path, each in found.items() for one in use_dictionary(*pair, path, each)]
            if not entries[pair]:
                remedy = "name a dictionary that has some"
                raise InputError("no entries", remedy, "empty", file=paths[0])
        return cls(entries, rate=rate, cap=cap, seed=seed, used=used)

    @property
    def languages(self) -> list[str]:
        """The languages whose text it can switch."""
        return self.rule.languages

    def probabilities(self, word: str, language: str) -> dict[tuple[str, str], float]:
        """The probability of each (language, translation) of a dictionary word, given that it is replaced."""
        found = self.rule.words(language_code(language)).get(word, ())
        limits = pairwise((0.0, *(one.up_to for one in found)))
        return {(one.language, one.translation): high - low for one, (low, high) in zip(found, limits, strict=True)}

    def switch(
        self, lines: Sequence[str], language: str, *, first: int = 0, method: Method | None = None
    ) -> tuple[list[str], SwitchReport]:
        """Switch one batch.

        Args:
            lines: The lines of the batch.
            language: Their language.
            first: The number of the first line in its text, on which the draws depend.
            method: Word segmentation (:func:`segmenter`); None: the best for the language.

        Returns:
            The lines, and counts of what was replaced.

        Raises:
            ConfigError: The language does not exist, or no dictionary has it.
            MissingPartError: The method needs a library that is not installed.
        """
        code = language_code(language)
        self.rule.words(code)  # raises for a language without a dictionary
        entries = self._entries[code]
        split = segmenter(code, method or word_method(code))
        report = SwitchReport(lines=len(lines))
        found = [split(line) for line in lines]
        places: list[tuple[int, int]] = []  # of words with an entry: line, number in the line
        draws: list[tuple[float, float]] = []  # whether it is replaced, and by what
        for number, words in enumerate(found):
            kinds = [entries[word] for word in words]
            report.words += len(kinds) - kinds.count(None)
            having = [(number, place) for place, entry in enumerate(kinds) if entry]
            places += having
            if having:
                draw = random.Random(derive_seed(self.seed, "switch", code, first + number)).random  # noqa: S311
                draws += [(draw(), draw()) for _ in having]
        report.with_entry = len(places)
        whether = [one for one, _ in draws]
        allowed = None if self.cap is None else int(self.cap * report.words + 1e-9)
        picked = select(whether, self.rate, allowed)
        report.replaced = len(picked)
        report.capped = sum(value < self.rate for value in whether) - len(picked)
        chosen: dict[int, dict[int, Candidate]] = defaultdict(dict)
        for pick in picked:
            number, place = places[pick]
            word = found[number][place]
            candidate = drawn(self.rule.candidates(word, code), draws[pick][1])
            report.translations[entries[word] or "", candidate.language, candidate.translation] += 1
            report.unchanged += candidate.written == word
            chosen[number][place] = candidate
        switched = [
            _rewritten(line, found[number], chosen[number], code) if number in chosen else line
            for number, line in enumerate(lines)
        ]
        return switched, report


class _Entries(dict[str, "str | None"]):
    """The dictionary word of each word of a text: ``""`` without an entry, None for punctuation; looked up once."""

    def __init__(self, rule: CodeSwitchingRule, language: str) -> None:
        super().__init__()
        self.rule, self.language = rule, language

    def __missing__(self, word: str) -> str | None:
        if len(self) > 1 << 18:  # new words never end
            self.clear()
        entry: str | None = self.rule.entry(word, self.language) or ""
        if not entry and not any(
            letter.isalnum() or "\ue000" <= letter <= "\uf8ff" or letter >= "\U000f0000" for letter in word
        ):
            entry = None
        self[word] = entry
        return entry


def _rewritten(line: str, words: Sequence[str], chosen: Mapping[int, Candidate], language: str) -> str:
    """The line with the chosen words replaced, everything else unchanged."""
    pieces: list[str] = []
    end = 0
    with_blanks = written_with_blanks(language)
    for place, (start, stop) in enumerate(word_spans(line, words)):
        if place not in chosen:
            continue
        candidate = chosen[place]
        pieces.append(line[end:start])
        apart = not with_blanks and written_with_blanks(candidate.language)
        before = pieces[-1] or (pieces[-2] if len(pieces) > 1 else "")
        if apart and before[-1:].isalnum():
            pieces.append(" ")
        pieces.append(candidate.written)
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
        InputError: A line is not UTF-8 text.
        MissingPartError: The method needs a library that is not installed.
        StorageError: A file cannot be read or written.
    """
    report = SwitchReport()
    work = _BatchSwitcher(switcher, language, method)
    work((0, []))  # raises errors before anything is written
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
    with rewriting(paths, target, step, dictionaries=switcher.used, progress=progress) as (writer, task):
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
