"""Word segmentation: a line of text as a list of words and punctuation.

Only white space is lost: the joined words are the line without blanks.

>>> segmenter("en")("Don't pay $3.50, it's state-of-the-art...")
['Do', "n't", 'pay', '$', '3.50', ',', 'it', "'s", 'state-of-the-art', '...']
>>> segmenter("fr")("L'homme d'aujourd'hui peut-être dort-il.")
["L'", 'homme', "d'", "aujourd'hui", 'peut-être', 'dort', '-il', '.']
>>> segmenter("zh")("我用Python写")
['我', '用', 'Python', '写']

There are six methods:

- ``unicode``: one regular expression per language. Letters stay together; each Chinese character, hiragana and
  punctuation mark is a word.
- ``moses``: the Moses tokenizer (sacremoses), which the first paper used for all languages but Chinese.
- ``jieba``: Chinese words by rjieba (the first paper used Stanford's segmenter, which needs Java and a model).
- ``thai``: Thai words by pythainlp's dictionary.
- ``blanks``: for text that is already segmented.
- ``characters``: every character is a word.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from isoglot.core.errors import ConfigError, check_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.optional import import_part
from isoglot.text.cleaning.scripts import RANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Method = Literal["unicode", "moses", "jieba", "thai", "blanks", "characters"]


@lru_cache(maxsize=64)
def segmenter(language: str, method: Method = "unicode") -> Callable[[str], list[str]]:
    """A function that splits a line of a language into words.

    Raises:
        ConfigError: The language or method is unknown, or the method does not support the language.
        MissingPartError: The method needs a library that is not installed.
    """
    code = language_code(language)
    base = code.partition("-")[0]
    check_name("method", method, get_args(Method))
    only = {"jieba": "zh", "thai": "th"}.get(method, base)
    if base != only:
        problem = f"the method {shown(method)} is for {only}, not for {base}"
        raise ConfigError(problem, "use unicode or moses for it", "other-language")
    return _MAKERS[method](base)


@dataclass(frozen=True)
class LineSegmenter:
    """Segmenter of lines: one blank between words, for :func:`isoglot.text.stream.map_chunks`."""

    language: str
    method: Method | None = None  # None: the best for the language

    @property
    def step(self) -> dict[str, Any]:
        """The step, as provenance records it."""
        method = self.method or word_method(self.language)
        return {"step": "segment", "language": language_code(self.language), "method": method}

    def __call__(self, lines: list[str]) -> list[str]:
        """Segment lines."""
        split = segmenter(self.language, self.method or word_method(self.language))
        return [" ".join(split(line)) for line in lines]


def word_method(language: str) -> Method:
    """The method that finds dictionary words: ``unicode``, but ``jieba`` for Chinese and ``thai`` for Thai.

    >>> word_method("en"), word_method("cmn")
    ('unicode', 'jieba')
    """
    methods: dict[str, Method] = {"zh": "jieba", "th": "thai"}
    return methods.get(language_code(language).partition("-")[0], "unicode")


class Words(list[str]):
    """Words of a text, with whether a blank follows each of them.

    >>> words = split_words("It rains.", "en")
    >>> words, words.blanks
    (['It', 'rains', '.'], (True, False, False))
    """

    def __init__(self, words: Iterable[str], blanks: Iterable[bool]) -> None:
        super().__init__(words)
        self.blanks = tuple(blanks)


def split_words(text: str, language: str, method: Method = "unicode") -> Words:
    """Split a text into words, with the positions of its blanks.

    Raises:
        ConfigError: The language or method is unknown, or the method does not support the language.
        MissingPartError: The method needs a library that is not installed.
    """
    words = segmenter(language, method)(text)
    spans = word_spans(text, words)
    blanks = [end < start for (_, end), (start, _) in pairwise(spans)]
    return Words(words, [*blanks, False] if words else [])


def word_spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The start and end of each word in the text.

    >>> word_spans("I am.", ["I", "am", "."])
    [(0, 1), (2, 4), (4, 5)]

    Raises:
        ConfigError: The words do not match the text.
    """
    spans = []
    end = 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or not (start == end or text[end:start].isspace()):
            problem = f"the word {shown(word)} is not in the text at the expected position"
            raise ConfigError(problem, "choose a method that does not change words", "not-supported")
        end = start + len(word)
        spans.append((start, end))
    return spans


# --- unicode ---

# inner apostrophes and hyphens join words, except these
_ELISIONS = {
    "fr": "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu",
    "it": "[cdlmnstv]|un|dell|nell|sull|all|dall|coll|quest|quell|com|dov|cos|bell|sant|anch|nessun|ciascun|gl",
    "ca": "[dlmnst]",
    "oc": "[cdjlmnst]|qu",
}
# A pronoun behind a French verb: dort-il, y a-t-il, donne-le-moi.
_CLITIC = "-(?:t-)?(?:je|tu|ils?|elles?|on|ce|moi|toi|lui|leur|les?|la|y|en|nous|vous)"
_ADDRESS = r"https?://[^\s<>\"“”«»，。（）]*[^\s<>\"“”«»，。（）.,;:!?)\]]"
# a repeated sign is one word
_SIGN = r"``+|''+|\.\.+|--+|!!+|\?\?+|\*\*+|==+|__+|~~+|\S"


def _by_pattern(language: str) -> Callable[[str], list[str]]:
    split: Callable[[str], list[str]] = _pattern(language).findall
    if language != "en":
        return split
    careful: Callable[[str], list[str]] = _pattern("en with not").findall

    def split_english(text: str) -> list[str]:
        # searching n't after every letter takes twice as long, and few lines have it
        return careful(text) if _NOT.search(text) else split(text)

    return split_english


_NOT = re.compile("[nN]['’][tT]")


@lru_cache(maxsize=64)
def _pattern(language: str) -> re.Pattern[str]:
    letter, inside = _class_of_letters(), _class_inside()
    number = rf"\d+(?:[.,:]\d+)*{inside}*"
    word = f"[{letter}]{inside}*"
    first, joined = [], f"{word}(?:[-‑'’]{inside}+)*"
    if language.startswith("en"):
        joined = f"{word}(?:[-‑]{inside}+)*"
        clitic = f"(?i:['’](?:s|re|ve|ll|d|m))(?!{inside})"
        negation = f"(?i:n['’]t)(?!{inside})"
        first = [clitic] if language == "en" else [negation, f"[{letter}]+(?={negation})", clitic]
    elif language in _ELISIONS:
        whole = f"(?i:aujourd['’]hui)(?!{inside})|" if language == "fr" else ""
        first = [f"{whole}(?i:{_ELISIONS[language]})['’](?={inside})"]
        joined = f"{word}(?:[-‑]{inside}+)*"
        if language == "fr":
            clitic = f"(?i:{_CLITIC})(?![{letter}])"
            first.append(clitic)
            joined = f"{word}(?:(?!{clitic})[-‑]{inside}+)*"
    return re.compile("|".join([_ADDRESS, *first, joined, number, _SIGN]))


@lru_cache(maxsize=1)
def _class_of_letters() -> str:
    """A regular-expression class of all letters, marks and private-use characters except Han and hiragana.

    The class of letters in ``re`` lacks marks, such as the vowel signs of Hindi.
    """
    return _ranges("LM") + "".join(f"{chr(first)}-{chr(last)}" for first, last in _RARE)


@lru_cache(maxsize=1)
def _class_inside() -> str:
    """A regular-expression class of the inside of words: letters and numbers."""
    return f"[{_class_of_letters()}{_ranges('N')}]"


# Beyond U+FFFF nearly everything up to the emoji is letters, with private use at the end. Few ranges, because re tests
# them one by one: four times as fast as all ranges.
_RARE = ((0x10000, 0x1EFFF), *RANGES["Zzzz"][1:])


def _ranges(categories: str) -> str:
    alone = [span for script in ("Hani", "Hira") for span in RANGES[script]]
    codes = [code for code in range(0x10000) if unicodedata.category(chr(code))[0] in categories]
    codes = [code for code in codes if not any(first <= code <= last for first, last in alone)]
    private = RANGES["Zzzz"][:1] if "L" in categories else ()
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in (*_runs(codes), *private))


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of sorted numbers, as first and last.

    >>> _runs([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


# --- libraries ---


def _moses(language: str) -> Callable[[str], list[str]]:
    tokenizer = import_part("sacremoses").MosesTokenizer(lang=language)
    return _lossless(lambda text: tokenizer.tokenize(text, escape=False))  # escapes would turn & into &amp;


def _lossless(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A library's segmenter that only inserts blanks: a line that it changes otherwise is split at its blanks."""

    def split_line(text: str) -> list[str]:
        words = [part for word in split(text) for part in word.split()]
        return words if "".join(words) == "".join(text.split()) else text.split()

    return split_line


def _jieba(_: str) -> Callable[[str], list[str]]:
    return _lossless(import_part("rjieba").cut)


def _thai(_: str) -> Callable[[str], list[str]]:
    # its dictionary is in the package: nothing is downloaded
    for wish in ("PYTHAINLP_OFFLINE", "PYTHAINLP_READ_ONLY"):
        os.environ.setdefault(wish, "1")
    tokenize = import_part("pythainlp.tokenize").word_tokenize
    return _lossless(lambda text: tokenize(text, engine="newmm"))


def _characters(text: str) -> list[str]:
    return [character for character in text if not character.isspace()]


_MAKERS: dict[Method, Callable[[str], Callable[[str], list[str]]]] = {
    "unicode": _by_pattern,
    "moses": _moses,
    "jieba": _jieba,
    "thai": _thai,
    "blanks": lambda _: str.split,
    "characters": lambda _: _characters,
}
