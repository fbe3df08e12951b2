"""Words: a line of text as the list of its words and signs.

Nothing is lost but white space: the words joined are the line without its blanks.

>>> segmenter("en")("Don't pay $3.50, it's state-of-the-art...")
['Do', "n't", 'pay', '$', '3.50', ',', 'it', "'s", 'state-of-the-art', '...']
>>> segmenter("fr")("L'homme d'aujourd'hui peut-être dort-il.")
["L'", 'homme', "d'", "aujourd'hui", 'peut-être', 'dort', '-il', '.']
>>> segmenter("zh")("我用Python写")
['我', '用', 'Python', '写']

There are six methods:

- ``unicode``: one regular expression a language. Letters of a word stay together, each Chinese character and hiragana
  stands alone, signs stand apart.
- ``moses``: the tokenizer of Moses, by sacremoses, which the first paper used for all but Chinese.
- ``jieba``: Chinese words by rjieba (the first paper had Stanford's segmenter, which needs Java and a model).
- ``thai``: Thai words by pythainlp's dictionary.
- ``blanks``: for text that is segmented already.
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

from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.optional import import_part
from isoglot.text.cleaning.scripts import RANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Method = Literal["unicode", "moses", "jieba", "thai", "blanks", "characters"]


@lru_cache(maxsize=64)
def segmenter(language: str, method: Method = "unicode") -> Callable[[str], list[str]]:
    """The function that splits a line of the language into words.

    Raises:
        ConfigError: There is no such language or method, or the method is not for that language.
        MissingPartError: The method needs a library that is not installed.
    """
    code = language_code(language)
    base = code.partition("-")[0]
    if method == "unicode":
        return _by_pattern(base)
    if method == "moses":
        return _moses(base)
    if method == "jieba":
        return _only_for("zh", base, method, _jieba)
    if method == "thai":
        return _only_for("th", base, method, _thai)
    if method == "blanks":
        return str.split
    if method == "characters":
        return _characters
    raise ConfigError(
        f"no method {shown(method)}", remedy=nearest_name(str(method), get_args(Method)), code="config.unknown-name"
    )


@dataclass(frozen=True)
class LineSegmenter:
    """Lines with one blank between words, for :func:`isoglot.text.process_pool.map_chunks`."""

    language: str
    method: Method | None = None
    """None takes the best for the language."""

    @property
    def step(self) -> dict[str, Any]:
        """What the record of the text says was done."""
        method = self.method or word_method(self.language)
        return {"step": "segment", "language": language_code(self.language), "method": method}

    def __call__(self, lines: list[str]) -> list[str]:
        """The lines, segmented."""
        split = segmenter(self.language, self.method or word_method(self.language))
        return [" ".join(split(line)) for line in lines]


def word_method(language: str) -> Method:
    """The method that finds words as dictionaries have them: ``unicode``, but a dictionary's own for Chinese and Thai.

    >>> word_method("en"), word_method("cmn")
    ('unicode', 'jieba')
    """
    methods: dict[str, Method] = {"zh": "jieba", "th": "thai"}
    return methods.get(language_code(language).partition("-")[0], "unicode")


class Words(list[str]):
    """The words of a text, with whether a blank follows each in the text as written.

    >>> words = split_words("It rains.", "en")
    >>> words, words.blanks
    (['It', 'rains', '.'], (True, False, False))
    """

    def __init__(self, words: Iterable[str], blanks: Iterable[bool]) -> None:
        super().__init__(words)
        self.blanks = tuple(blanks)


def split_words(text: str, language: str, method: Method = "unicode") -> Words:
    """The words of a text, with where it has blanks.

    Raises:
        ConfigError: There is no such language or method, or the method is not for that language.
        MissingPartError: The method needs a library that is not installed.
    """
    words = segmenter(language, method)(text)
    spans = word_spans(text, words)
    blanks = [end < start for (_, end), (start, _) in pairwise(spans)]
    return Words(words, [*blanks, False] if words else [])


def word_spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where each word starts and ends in the text it was split from.

    >>> word_spans("I am.", ["I", "am", "."])
    [(0, 1), (2, 4), (4, 5)]

    Raises:
        ConfigError: The words are not those of the text in order.
    """
    spans = []
    end = 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or not (start == end or text[end:start].isspace()):
            raise ConfigError(
                f"the word {shown(word)} is not in the text where it is due",
                remedy="choose a method that leaves words as they are written",
                code="config.not-supported",
            )
        end = start + len(word)
        spans.append((start, end))
    return spans


# --- unicode ---

# Inner apostrophes and hyphens join what they stand between, but for these.
_ELISIONS = {
    "fr": "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu",
    "it": "[cdlmnstv]|un|dell|nell|sull|all|dall|coll|quest|quell|com|dov|cos|bell|sant|anch|nessun|ciascun|gl",
    "ca": "[dlmnst]",
    "oc": "[cdjlmnst]|qu",
}
# A pronoun behind a French verb: dort-il, y a-t-il, donne-le-moi.
_CLITIC = "-(?:t-)?(?:je|tu|ils?|elles?|on|ce|moi|toi|lui|leur|les?|la|y|en|nous|vous)"
_ADDRESS = r"https?://[^\s<>\"“”«»，。（）]*[^\s<>\"“”«»，。（）.,;:!?)\]]"
# A sign that is repeated makes one word.
_SIGN = r"``+|''+|\.\.+|--+|!!+|\?\?+|\*\*+|==+|__+|~~+|\S"


def _by_pattern(language: str) -> Callable[[str], list[str]]:
    split: Callable[[str], list[str]] = _pattern(language).findall
    if language != "en":
        return split
    careful: Callable[[str], list[str]] = _pattern("en with not").findall

    def split_english(text: str) -> list[str]:
        # To look for n't behind every letter takes twice as long, and few lines have it.
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
    """What a character class needs to hold all letters, marks and private signs, but not Han and hiragana.

    The module re knows letters, but not that a vowel sign of Hindi belongs to its word.
    """
    return _ranges("LM") + "".join(f"{chr(first)}-{chr(last)}" for first, last in _RARE)


@lru_cache(maxsize=1)
def _class_inside() -> str:
    """What stands inside a word: letters and numbers of all kinds."""
    return f"[{_class_of_letters()}{_ranges('N')}]"


# Behind U+FFFF nearly all is letters up to the emoji, and private use at the end. Few ranges, for a class looks through
# them one by one when a character is not in it (the others are in a table): four times as fast as all of them.
_RARE = ((0x10000, 0x1EFFF), *RANGES["Zzzz"][1:])


def _ranges(categories: str) -> str:
    alone = [span for script in ("Hani", "Hira") for span in RANGES[script]]
    codes = [code for code in range(0x10000) if unicodedata.category(chr(code))[0] in categories]
    codes = [code for code in codes if not any(first <= code <= last for first, last in alone)]
    private = RANGES["Zzzz"][:1] if "L" in categories else ()
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in (*_runs(codes), *private))


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted numbers as runs, first and last.

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


def _only_for(
    language: str, given: str, method: str, make: Callable[[], Callable[[str], list[str]]]
) -> Callable[[str], list[str]]:
    if given != language:
        raise ConfigError(
            f"the method {shown(method)} is for {language}, not for {given}",
            remedy="use unicode or moses for it",
            code="config.other-language",
        )
    return make()


def _moses(language: str) -> Callable[[str], list[str]]:
    tokenizer = import_part("sacremoses").MosesTokenizer(lang=language)
    return _lossless(lambda text: tokenizer.tokenize(text, escape=False))  # escapes would turn & into &amp;


def _lossless(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The segmenter of a library, made to insert blanks and nothing else: a line it changes is split at its blanks."""

    def split_line(text: str) -> list[str]:
        words = [part for word in split(text) for part in word.split()]
        return words if "".join(words) == "".join(text.split()) else text.split()

    return split_line


def _jieba() -> Callable[[str], list[str]]:
    return _lossless(import_part("rjieba").cut)


def _thai() -> Callable[[str], list[str]]:
    # Its dictionary is in the package: nothing to fetch, and no folder to make at home.
    for wish in ("PYTHAINLP_OFFLINE", "PYTHAINLP_READ_ONLY"):
        os.environ.setdefault(wish, "1")
    tokenize = import_part("pythainlp.tokenize").word_tokenize
    return _lossless(lambda text: tokenize(text, engine="newmm"))


def _characters(text: str) -> list[str]:
    return [character for character in text if not character.isspace()]
