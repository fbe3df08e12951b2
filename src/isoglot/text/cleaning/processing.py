"""Text processing before tokenization (cleaning, word segmentation), with the offsets of characters in the original.

A vocabulary trained on cleaned and segmented text must read all text in the same way: ``▁中国 ▁的 ▁首都`` in training
must not be ``▁中国 的 首 都`` in a task. A vocabulary stores a :class:`TextProcessing` for each language.

>>> processing = TextProcessing("en", segmentation="unicode")
>>> processing("It rains.")
'It rains .'
>>> traced = processing.traced("It rains.")
>>> [traced.offsets([span])[0] for span in ((3, 8), (8, 10))]
[(3, 8), (8, 9)]
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.text.cleaning.clean import clean_line
from isoglot.text.cleaning.segmentation import segmenter, word_spans
from isoglot.text.provenance import read_provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Segmentation = Literal["none", "unicode", "moses", "jieba", "thai", "blanks", "characters"]
"""Word segmentation: ``none`` leaves text as written; for the others see :mod:`.segmentation`."""


class Traced(NamedTuple):
    """Processed text with the begin and end of each character in the original text."""

    text: str
    begins: Sequence[int]
    ends: Sequence[int]

    def offsets(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Convert spans of the processed text to spans of the original text."""
        begins, ends, size = self.begins, self.ends, len(self.text)
        behind = ends[-1] if size else 0
        return [
            (begins[first], ends[last - 1]) if first < last else (begins[first] if first < size else behind,) * 2
            for first, last in spans
        ]


@dataclass(frozen=True)
class TextProcessing:
    """Processing of the text of a language. Default: none.

    Args:
        language: Its canonical code.
        clean: Whether to clean lines (:func:`isoglot.text.cleaning.clean.clean_line`: NFKC, no control characters).
        segmentation: Word segmentation after cleaning.
    """

    language: str
    clean: bool = False
    segmentation: Segmentation = "none"

    def __bool__(self) -> bool:
        return self.clean or self.segmentation != "none"

    def __str__(self) -> str:
        named = f"segmented by {self.segmentation}" if self.segmentation != "none" else "not segmented"
        return f"cleaned and {named}" if self.clean else named

    def __call__(self, text: str) -> str:
        """Process a text.

        Raises:
            ConfigError: The segmentation does not support the language.
            MissingPartError: It needs a library that is not installed.
        """
        if self.clean:
            text = clean_line(text)
        if self.segmentation != "none":
            text = " ".join(segmenter(self.language, self.segmentation)(text))
        return text

    def traced(self, text: str) -> Traced:
        """Process a text and keep the offsets of its characters."""
        cleaned = _cleaned(text) if self.clean else Traced(text, range(len(text)), range(1, len(text) + 1))
        if self.segmentation == "none":
            return cleaned
        spans = word_spans(cleaned.text, segmenter(self.language, self.segmentation)(cleaned.text))
        parts: list[str] = []
        begins: list[int] = []
        ends: list[int] = []
        for first, last in spans:
            if parts:  # a blank is where the word before it ends
                parts.append(" ")
                place = min(ends[-1], cleaned.begins[first])
                begins.append(place)
                ends.append(place)
            parts.append(cleaned.text[first:last])
            begins += cleaned.begins[first:last]
            ends += cleaned.ends[first:last]
        return Traced("".join(parts), begins, ends)

    def facts(self) -> dict[str, Any]:
        """The processing as JSON values, without the language."""
        return {"clean": self.clean, "segmentation": self.segmentation}


def _cleaned(text: str) -> Traced:
    """A cleaned line with offsets, exact up to clusters of characters that NFKC may compose."""
    cleaned = clean_line(text)
    if cleaned == text:
        return Traced(text, range(len(text)), range(1, len(text) + 1))
    edges = [place for place, character in enumerate(text) if _begins_cluster(character)]
    found = _traced_parts(text, edges)
    if found.text != cleaned:  # some Indic vowel signs compose with the character before
        blanks = [place for place, character in enumerate(text) if character.isspace()]
        found = _traced_parts(text, sorted({*blanks, *(place + 1 for place in blanks)}))
    assert found.text == cleaned  # noqa: S101 - nothing composes with a blank
    return found


def _begins_cluster(character: str) -> bool:
    """Whether NFKC never composes a character with the one before it; False in a few other cases, too."""
    first = unicodedata.normalize("NFKD", character)[0]
    composes = unicodedata.combining(first) or "\u1160" <= first <= "\u11ff"
    return not composes and clean_line(f"|{character}|") != "||"


def _traced_parts(text: str, edges: Sequence[int]) -> Traced:
    """Clean parts of a line one by one, with single blanks between them."""
    parts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    blank: tuple[int, int] | None = None
    bounds = [0, *(edge for edge in edges if edge), len(text)]
    for first, last in pairwise(bounds):
        cleaned = clean_line(f"|{text[first:last]}|")[1:-1]  # between bars, so that blanks at the ends stay
        exact = [clean_line(f"|{each}|")[1:-1] for each in text[first:last]] == list(cleaned)  # character by character
        for place, character in enumerate(cleaned):
            if character.isspace():
                blank = blank or (first, last)
                continue
            if blank is not None and parts:
                parts.append(" ")
                begins.append(blank[0])
                ends.append(blank[1])
            blank = None
            parts.append(character)
            begins.append(first + place if exact else first)
            ends.append(first + place + 1 if exact else last)
    return Traced("".join(parts), begins, ends)


# --- files ---

_AS_WRITTEN = "give the text as written: it is segmented as the vocabulary needs it"


def _mixed(place: str | Path, problem: str, remedy: str) -> ConfigError:
    return ConfigError(f"{place}: {problem}", remedy, "mixed-processing")


def recorded_processing(path: str | Path, language: str) -> TextProcessing:
    """The processing of a text according to its provenance; none if it has no record.

    Raises:
        ConfigError: Its sources were processed differently, or cleaned after they were segmented.
        CorruptFileError: The record is damaged, or the text has changed since it was written.
    """
    code = language_code(language)
    record = read_provenance(path)
    found: set[TextProcessing] = set()
    for source in () if record is None else record.sources:
        done = TextProcessing(code)
        for step in source.steps:
            if step["step"] == "clean":
                if done.segmentation != "none":
                    remedy = "segmented first and cleaned afterwards"
                    raise _mixed(path, remedy, "clean the text as written, then segment it")
                done = replace(done, clean=True)
            elif step["step"] == "segment":
                done = replace(done, segmentation=step["method"])
        found.add(done)
    if len({done.segmentation for done in found}) > 1:
        parts = " and part is ".join(sorted(map(str, found)))
        raise _mixed(path, f"part of it is {parts}", "combine only texts with the same segmentation")
    return TextProcessing(
        code,
        clean=bool(found) and all(done.clean for done in found),
        segmentation=next(iter(found)).segmentation if found else "none",
    )


def processing_left(paths: Sequence[str | Path], wanted: TextProcessing) -> TextProcessing:
    """The processing that texts of a language still need: all of it, or none.

    Raises:
        ConfigError: A text was segmented in another way, or only some of the texts were segmented.
        CorruptFileError: A record is damaged, or the text has changed since it was written.
    """
    done = {path: recorded_processing(path, wanted.language) for path in paths}
    for path, found in done.items():
        if found.segmentation != "none" and found != wanted:
            raise _mixed(path, f"the text is {found}, but {wanted.language} should be {wanted}", _AS_WRITTEN)
    segmented = [path for path, found in done.items() if found.segmentation != "none"]
    raw = [path for path, found in done.items() if found.segmentation == "none"]
    if segmented and raw:
        problem = f"{segmented[0]} is {done[segmented[0]]} and {raw[0]} is not segmented"
        raise _mixed(wanted.language, problem, "segment all of them, or none")
    if segmented:
        return TextProcessing(wanted.language)
    return replace(wanted, clean=wanted.clean and not all(found.clean for found in done.values()))


def check_as_written(*paths: str | Path) -> None:
    """Check that texts are as written, not segmented: they will be segmented as the vocabulary needs it.

    Raises:
        ConfigError: A text was segmented, according to its provenance.
        CorruptFileError: A record is damaged, or the text has changed since it was written.
    """
    for path in paths:
        done = recorded_processing(path, "und")
        if done.segmentation != "none":
            raise _mixed(path, f"the text is {done}", _AS_WRITTEN)
