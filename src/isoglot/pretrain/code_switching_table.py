"""What switching on the device needs to know: which ids make a word, and what each word may become.

A stream of ids has no blanks to see, but its pieces tell where words begin. By the scheme
(:mod:`isoglot.vocab.subword_scheme`) no piece has letters or digits together with other signs, so a word begins at a
piece with the mark ``▁`` and where letters or digits meet signs; what ``unicode`` words
(:mod:`isoglot.text.cleaning.segmentation`) have inside them, such as the hyphen of *peut-être* and the point of *3.50*,
joins here too. These are the words of the offline rule but for what a piece cannot show:

- French *dort-il* and *est-ce* are one word here and two there, *aujourd'hui* is two here and one there;
- an elided *l'* or *qu'* is here the word *l* and a sign, and English *don't* is *don*, ``'``, *t*, not *do* and *n't*;
  so entries such as ``l'``, ``n't``, ``'s`` and ``-il`` find nothing here;
- an address counts as several words, and a hyphen behind a digit (*1-a*, *a1-b*) parts what it joins there, or not;
- a character outside the vocabulary and ASCII counts as a letter, be it a sign;
- a word cut by the edge of a row is no word: it is neither counted nor replaced;
- a word in mixed case (*cAt*) is looked up as it is written only, where the offline rule tries lower case too.

Text without blanks, such as Chinese, has no marks to see. There a word is the longest run of at most :data:`LONGEST`
pieces that is one of the dictionaries, looked for from the left; a piece in no such run is a word by itself, and other
writing inside (*Python*, *3.5*) has its own words as above. A word that shares a piece with its neighbor is not found,
nor one with a character that the vocabulary has as bytes only; and a character with an entry is found inside a longer
word that the dictionaries do not have. So they may have words of weight 0, which are never replaced but are words. Of
what is found in Chinese (32k BPE, 5,000 words with translations) ``jieba`` calls 62 % words, with 119,000 words of
weight 0 90 %; of the words that have an entry 82 % and 79 % are found.

Where such text was segmented before it was encoded, one blank between words (``isoglot text segment``; the first paper
segments Chinese too), marks decide as in any other language; how often the vocabulary's own text has them tells which
it is. WordPiece, where pieces inside a word are others than at its beginning, always goes by marks.

Shapes: ``V`` vocabulary.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.text.cleaning.scripts import OWN, letter_table, written_with_blanks
from isoglot.text.cleaning.segmentation import segmenter
from isoglot.text.code_switching import CodeSwitchingRule
from isoglot.text.provenance import merged, use_dictionary, use_entries
from isoglot.vocab.subword_scheme import BYTES, CONTINUES, MARK, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from tokenizers import Tokenizer

    from isoglot.model.plan import SharingPlan
    from isoglot.text.cleaning.processing import TextProcessing
    from isoglot.text.code_switching import Candidate
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.provenance import UsedDictionary
    from isoglot.vocab.vocabulary import Vocabulary

OPENS, WORD, LETTER, DIGIT, HYPHEN, POINT, BARE, ALONE = (1 << bit for bit in range(8))
"""Traits of a piece: it has the mark; it is of letters or digits; it ends in a letter, in a digit; it joins what has
letters, digits on both sides; it is the mark alone; it is of letters that are written without blanks, in text that has
none (then it has no other trait but perhaps the mark)."""
LONGEST = 4
"""Pieces of the longest word that is looked for in text without blanks."""
STEP_BITS = 32
"""A translation's probability is a multiple of ``2**-STEP_BITS``."""


class Option(NamedTuple):
    """A translation as it is written in place of one form of a word."""

    language: str
    written: str
    ids: tuple[int, ...]
    step: int
    """The probabilities up to this one's, added up; that of the last is ``2**STEP_BITS``."""


class Span(NamedTuple):
    """A run of ids that belong together."""

    start: int
    stop: int
    word: bool
    """Whether it is a whole word, not signs and not cut by the edge of the row."""


@dataclass(frozen=True)
class SwitchTable:
    """The words of one language's text that can be replaced, by their ids."""

    language: str
    traits: np.ndarray
    """Of every piece (V), uint8."""
    entries: Mapping[tuple[int, ...], tuple[Option, ...]]
    left_out: tuple[str, ...]
    """Words of the dictionaries that are no word as ids, such as ``l'``: they are never replaced."""
    longest: int = 1
    """How many pieces are joined to a word that no mark shows; 1 where words have marks."""
    known: frozenset[tuple[int, ...]] = frozenset()
    """Words without translation that pieces are joined to."""

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """A row cut into words and what is between them; the plain twin of what the device does."""
        traits = [int(self.traits[index]) for index in ids]
        spans = {span.start: span for span in spans_of(traits)}
        size, start = len(ids), 0
        found = []
        while start < size:
            stops = [stop for stop in range(start + self.longest, start + 1, -1) if stop in spans or stop == size]
            runs = ((stop, tuple(ids[start:stop])) for stop in stops)
            stop = next((stop for stop, run in runs if run in self.entries or run in self.known), None)
            if stop is None:
                found.append(spans[start])
            else:
                found.append(Span(start, stop, stop < size and bool(start or traits[start] & OPENS)))
            start = found[-1].stop
        return found


def spans_of(traits: Sequence[int]) -> list[Span]:
    """The spans of a row, from the traits of its pieces.

    >>> spans_of([OPENS | WORD | LETTER, WORD | LETTER, 0, OPENS | WORD | LETTER])
    [Span(start=0, stop=2, word=True), Span(start=2, stop=3, word=False), Span(start=3, stop=4, word=False)]
    """
    size = len(traits)
    glue = [0 < at < size - 1 and _glues(*traits[at - 1 : at + 2]) for at in range(size)]
    starts = [at for at in range(size) if at == 0 or _starts(traits[at - 1], traits[at], glue[at - 1] or glue[at])]
    spans = []
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        whole = stop < size and bool(start or traits[start] & OPENS)
        head = traits[start + 1] if traits[start] & BARE and stop > start + 1 else traits[start]
        spans.append(Span(start, stop, whole and bool(head & (WORD | ALONE))))
    return spans


def _glues(before: int, here: int, after: int) -> bool:
    """Whether a sign joins what stands around it to one word."""
    letters = here & HYPHEN and before & LETTER and after & WORD
    digits = here & POINT and before & DIGIT and after & DIGIT
    return bool(letters or digits) and not (here | after) & OPENS


def _starts(before: int, here: int, glued: bool) -> bool:
    if here & OPENS or before & BARE:
        return bool(here & OPENS)
    return bool((before | here) & ALONE) or (not glued and bool((before ^ here) & WORD))


# --- making it ---


def build_switch_tables(
    dictionaries: Mapping[tuple[str, str], Iterable[Entry]], vocabulary: Vocabulary, languages: Iterable[str]
) -> dict[str, SwitchTable]:
    """The tables for text of some languages.

    Each word is looked for as text has it, with the mark and without (behind a bracket): as it is written, Capitalised
    and in UPPER case, by the precedence of :class:`isoglot.text.code_switching.Switcher` and with its probabilities;
    the translation gets the word's case and mark. Translations have the ids of their own language's view. Those into a
    language whose text has no blanks have no mark, as inside such text; those from it into others have one.

    Args:
        dictionaries: As for the switcher; each serves text of either language. Where text has no blanks, a word of
            weight 0 is a word, and none of its characters is replaced.
        vocabulary: What the ids of the text come from.
        languages: The languages of the text.

    Raises:
        ConfigError: The vocabulary is a tokenizer from elsewhere or lacks a language, no dictionary has a language,
            none of its words is a word as ids, or the switcher refuses a dictionary.
    """
    if vocabulary.mode == "given":
        raise ConfigError(
            "a tokenizer from elsewhere does not show where words begin",
            remedy="train a vocabulary, or switch the text itself with isoglot text switch",
            code="config.not-supported",
        )
    entries = {
        pair: [one for one in found if one.source.strip() and one.target.strip()]
        for pair, found in dictionaries.items()
    }
    rule, pieces = CodeSwitchingRule(entries), _Pieces(vocabulary)
    return {code: _table(rule, pieces, code) for code in map(language_code, languages)}


def _table(rule: CodeSwitchingRule, pieces: _Pieces, code: str) -> SwitchTable:
    vocabulary, words = pieces.vocabulary, rule.words(code)
    forms = [(word, form, rule.candidates(form, code)) for word, form in rule.forms(code)]
    texts = {code: {form for _, form, _ in forms}}
    for _, _, candidates in forms:
        for one in candidates:
            texts.setdefault(one.language, set()).add(one.written)
    ids = {name: pieces.of(found, name) for name, found in texts.items()}
    traits = traits_of(vocabulary, code)
    kinds, unknown = traits.tolist(), vocabulary.unknown_id
    marked = {name: words_are_marked(vocabulary, name) for name in texts}
    table: dict[tuple[int, ...], tuple[Option, ...]] = {}
    found: set[str] = set()
    for word, form, candidates in forms:
        for with_mark, key in enumerate(ids[code][form]):
            if unknown not in key and _is_word(tuple(kinds[index] for index in key)):
                found.add(word)
                opens = bool(with_mark or not marked[code])
                written = (ids[one.language][one.written][marked[one.language] and opens] for one in candidates)
                table.setdefault(key, _options(candidates, written))
    if not table:
        raise ConfigError(
            f"no word of the {code} dictionaries is a word in this vocabulary",
            remedy="is it a dictionary of words?",
            code="config.missing-data",
        )
    left_out = tuple(word for word, candidates in words.items() if candidates and word not in found)
    if marked[code]:
        return SwitchTable(code, traits, table, left_out)
    unused = [word for word, candidates in words.items() if not candidates]
    both = pieces.of(unused, code)
    runs = {run for word in unused for run in both[word]} - table.keys()
    runs = {run for run in runs if len(run) > 1 and unknown not in run}
    known = frozenset(run for run in runs if _is_word(tuple(kinds[index] for index in run)))
    return SwitchTable(code, traits, table, left_out, LONGEST, known)


def _options(candidates: Sequence[Candidate], ids: Iterable[tuple[int, ...]]) -> tuple[Option, ...]:
    """The translations of a form, with their ids."""
    return tuple(
        Option(one.language, one.written, some, round(one.up_to / candidates[-1].up_to * 2**STEP_BITS))
        for one, some in zip(candidates, ids, strict=True)
    )


class _Pieces:
    """The ids of texts without the mark and with it; none is found twice."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._tokenizers: dict[str, Tokenizer] = {}
        self._known: dict[tuple[str, TextProcessing | None], dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {}

    def of(self, texts: Iterable[str], language: str) -> Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]:
        """By text, in the language's view: these and those asked for before."""
        from tokenizers import Tokenizer

        processing = self.vocabulary.processing(language)
        view = self.vocabulary.view(self.vocabulary.code_of(language))
        if view not in self._tokenizers:
            self._tokenizers[view] = literal(Tokenizer.from_str(view))
        tokenizer, known = self._tokenizers[view], self._known.setdefault((view, processing or None), {})
        new = sorted(set(texts) - known.keys())
        normalizer = tokenizer.normalizer
        tokenizer.normalizer = None  # texts come to it normalized and marked, or not marked
        marked = [normalizer.normalize_str(processing(text)) for text in new]
        bare = [text.removeprefix(MARK) for text in marked]
        encodings = [tokenizer.encode_batch_fast(some, add_special_tokens=False) for some in (bare, marked)]
        tokenizer.normalizer = normalizer
        pairs = zip(*([tuple(one.ids) for one in some] for some in encodings), strict=True)
        known.update(zip(new, pairs, strict=True))
        return known


@lru_cache(maxsize=10_000)
def _is_word(traits: tuple[int, ...]) -> bool:
    """Whether pieces stand for one word wherever they occur: in a row, they are one span, or spans to be joined."""
    sign, opens = 0, OPENS
    spans = spans_of([sign, *traits, opens])[1:-1]
    if not spans or spans[0].start != 1 or not all(span.word for span in spans):
        return False
    joined = any(trait & ALONE for trait in traits) and not any(trait & OPENS for trait in traits[1:])
    return len(spans) == 1 or (joined and len(traits) <= LONGEST)


def words_are_marked(vocabulary: Vocabulary, language: str) -> bool:
    """Whether the words of a language's text have marks: it is written with blanks, or was segmented.

    The vocabulary's counts tell what was segmented: of unsegmented Chinese one piece of letters in fifty has the mark,
    of text with blanks every other one or more.
    """
    if written_with_blanks(language) or vocabulary.about.get("model") == "wordpiece":
        return True
    counts = vocabulary.counts(language)
    if counts is None:
        return False
    marks = sum(int(counts[index]) for index, piece in enumerate(vocabulary.pieces) if piece.startswith(MARK))
    letters = (
        int(counts[index]) for index, piece in enumerate(vocabulary.pieces) if piece.removeprefix(MARK)[:1].isalpha()
    )
    return 4 * marks > sum(letters)


def traits_of(vocabulary: Vocabulary, language: str) -> np.ndarray:
    """The traits of every piece (V), uint8; what joins words is that of the language's ``unicode`` words."""
    import numpy as np

    split = segmenter(language)
    joins = {sign: HYPHEN for sign in "-‑'’" if len(split(f"b{sign}b")) == 1}
    joins |= {sign: joins.get(sign, 0) | POINT for sign in ".,:" if len(split(f"1{sign}1")) == 1}
    wordpiece = vocabulary.about.get("model") == "wordpiece"
    # A byte below 128 is a character, of which the traits are known; the others are parts of some letter or sign.
    bytes_ = {name: _traits(chr(value), joins) if value < 128 else WORD | LETTER for value, name in enumerate(BYTES)}
    traits = np.zeros(len(vocabulary), dtype=np.uint8)
    for index, piece in enumerate(vocabulary.pieces):
        if wordpiece and len(piece) > len(CONTINUES):
            piece = piece.removeprefix(CONTINUES)  # noqa: PLW2901
        traits[index] = bytes_[piece] if piece in bytes_ else _traits(piece, joins)
    if not words_are_marked(vocabulary, language):
        own = letter_table(language)
        for index, piece in enumerate(vocabulary.pieces):
            if piece.removeprefix(MARK) and all(own[ord(letter)] == OWN for letter in piece.removeprefix(MARK)):
                traits[index] = traits[index] & OPENS | ALONE
    traits[list(vocabulary.special.values())] = OPENS
    # WordPiece gives [UNK] for a whole word, mark and all; the others for a character.
    traits[vocabulary.unknown_id] = WORD | LETTER | (OPENS if wordpiece else 0)
    return traits


def _traits(piece: str, joins: Mapping[str, int]) -> int:
    opens = OPENS if piece.startswith(MARK) else 0
    letters = piece.removeprefix(MARK)
    if not letters:
        return opens | BARE if opens else 0
    category = unicodedata.category(letters[-1])
    if category[0] in "LM" or category == "Co":
        return opens | WORD | LETTER
    if category[0] == "N":
        return opens | WORD | DIGIT
    return opens | joins.get(letters, 0)


# --- what it may be used with, and what is remembered ---


def check_switching(plan: SharingPlan) -> None:
    """Refuse switching where a language's tables have its own ids only: a foreign word would have no vector.

    Raises:
        ConfigError: Token embeddings or the softmax are private.
    """
    private = [part for part in ("emb", "softmax") if plan.is_private(part)]
    if private:
        raise ConfigError(
            f"switching puts words of one language into another's text, and {' and '.join(private)} are private",
            remedy="share them (plan default or sep-l1-3, say), or switch nothing",
            code="config.not-supported",
        )


def dictionaries_record(
    dictionaries: Mapping[tuple[str, str], Iterable[Entry]], files: Mapping[tuple[str, str], str | Path] | None = None
) -> list[UsedDictionary]:
    """What a model folder keeps of the dictionaries its text was switched by: no score is taken on their words.

    Entries of weight 0 are never used.

    Args:
        dictionaries: The entries by (source, target).
        files: Where they were read from; the hash of a dictionary without file is that of its entries.

    Raises:
        StorageError: A file cannot be read.
    """
    used = []
    for pair, found in dictionaries.items():
        entries = [entry for entry in found if entry.weight]
        if files and pair in files:
            used += use_dictionary(*pair, files[pair], entries)
            continue
        used.append(use_entries(*pair, entries))
    return list(merged([], used).dictionaries)
