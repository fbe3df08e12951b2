"""What is done to text before subwords are found in it, and where each character of the result was in the text.

A vocabulary learned from cleaned and segmented text has to read all text so: what was ``▁中国 ▁的 ▁首都`` in training
must not be ``▁中国 的 首 都`` in a task. :class:`TextProcessing` is what a vocabulary keeps of it, for each language.

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
"""How text is segmented into words: ``none`` leaves it as written, the others are those of :mod:`.segment`."""


class Traced(NamedTuple):
    """Processed text, and for each of its characters where those it comes from begin and end in the text as written."""

    text: str
    begins: Sequence[int]
    ends: Sequence[int]

    def offsets(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Spans of the processed text as spans of the text as written."""
        begins, ends, size = self.begins, self.ends, len(self.text)
        behind = ends[-1] if size else 0
        return [
            (begins[first], ends[last - 1]) if first < last else (begins[first] if first < size else behind,) * 2
            for first, last in spans
        ]


@dataclass(frozen=True)
class TextProcessing:
    """What is done to the text of a language: nothing, unless something is said.

    Args:
        language: Its canonical code.
        clean: Whether lines are cleaned (:func:`isoglot.text.cleaning.clean.clean_line`: NFKC, no control characters).
        segmentation: How words are separated by blanks, after cleaning.
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
        """The text, processed.

        Raises:
            ConfigError: The segmentation is not for the language.
            MissingPartError: It needs a library that is not installed.
        """
        if self.clean:
            text = clean_line(text)
        if self.segmentation != "none":
            text = " ".join(segmenter(self.language, self.segmentation)(text))
        return text

    def traced(self, text: str) -> Traced:
        """The same, with where each character was."""
        cleaned = _cleaned(text) if self.clean else Traced(text, range(len(text)), range(1, len(text) + 1))
        if self.segmentation == "none":
            return cleaned
        spans = word_spans(cleaned.text, segmenter(self.language, self.segmentation)(cleaned.text))
        parts: list[str] = []
        begins: list[int] = []
        ends: list[int] = []
        for first, last in spans:
            if parts:  # a blank stands where the word before it ends
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
    """A cleaned line with where its characters were: exact by clusters of characters that NFKC may put together."""
    cleaned = clean_line(text)
    if cleaned == text:
        return Traced(text, range(len(text)), range(1, len(text) + 1))
    edges = [place for place, character in enumerate(text) if _begins_cluster(character)]
    found = _traced_parts(text, edges)
    if found.text != cleaned:  # some Indic vowel signs compose with what is before them
        blanks = [place for place, character in enumerate(text) if character.isspace()]
        found = _traced_parts(text, sorted({*blanks, *(place + 1 for place in blanks)}))
    assert found.text == cleaned  # noqa: S101 - nothing composes with a blank
    return found


def _begins_cluster(character: str) -> bool:
    """Whether a character is not put together with the one before it by NFKC; true of nearly all that are not."""
    first = unicodedata.normalize("NFKD", character)[0]
    composes = unicodedata.combining(first) or "\u1160" <= first <= "\u11ff"
    return not composes and clean_line(f"|{character}|") != "||"


def _traced_parts(text: str, edges: Sequence[int]) -> Traced:
    """Parts of a line cleaned one by one; blanks between them are kept, one where there are several."""
    parts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    blank: tuple[int, int] | None = None
    bounds = [0, *(edge for edge in edges if edge), len(text)]
    for first, last in pairwise(bounds):
        cleaned = clean_line(f"|{text[first:last]}|")[1:-1]  # between signs, so that blanks at the ends stay
        exact = [clean_line(f"|{each}|")[1:-1] for each in text[first:last]] == list(cleaned)  # one for one
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


# --- what was done to a file ---


def recorded_processing(path: str | Path, language: str) -> TextProcessing:
    """What was done to a text already, by its record; nothing where there is none.

    Raises:
        ConfigError: The text is of sources that were processed differently, or cleaned after they were segmented.
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
                    raise ConfigError(
                        f"{path}: segmented first and cleaned afterwards",
                        remedy="clean the text as written, then segment it",
                        code="config.mixed-processing",
                    )
                done = replace(done, clean=True)
            elif step["step"] == "segment":
                done = replace(done, segmentation=step["method"])
        found.add(done)
    if len({done.segmentation for done in found}) > 1:
        raise ConfigError(
            f"{path}: part of it is {' and part is '.join(sorted(map(str, found)))}",
            remedy="make it of texts that were segmented alike",
            code="config.mixed-processing",
        )
    return TextProcessing(
        code,
        clean=bool(found) and all(done.clean for done in found),
        segmentation=next(iter(found)).segmentation if found else "none",
    )


def processing_left(paths: Sequence[str | Path], wanted: TextProcessing) -> TextProcessing:
    """What is still to be done to texts of a language so that they are processed as wanted: all, or nothing.

    Raises:
        ConfigError: A text was segmented in another way, or some of them were segmented and others were not.
        CorruptFileError: A record is damaged, or the text has changed since it was written.
    """
    done = {path: recorded_processing(path, wanted.language) for path in paths}
    for path, found in done.items():
        if found.segmentation != "none" and found != wanted:
            raise ConfigError(
                f"{path}: the text is {found}, and {wanted.language} is to be {wanted}",
                remedy="give the text as written: it is segmented as the vocabulary needs it",
                code="config.mixed-processing",
            )
    segmented = [path for path, found in done.items() if found.segmentation != "none"]
    raw = [path for path, found in done.items() if found.segmentation == "none"]
    if segmented and raw:
        raise ConfigError(
            f"{wanted.language}: {segmented[0]} is {done[segmented[0]]} and {raw[0]} is not segmented",
            remedy="segment all of them, or none",
            code="config.mixed-processing",
        )
    if segmented:
        return TextProcessing(wanted.language)
    return replace(wanted, clean=wanted.clean and not all(found.clean for found in done.values()))


def check_as_written(*paths: str | Path) -> None:
    """Refuse text that was segmented, where text as written is wanted: it would be segmented again.

    Raises:
        ConfigError: A text was segmented, by its record.
        CorruptFileError: A record is damaged, or the text has changed since it was written.
    """
    for path in paths:
        done = recorded_processing(path, "und")
        if done.segmentation != "none":
            raise ConfigError(
                f"{path}: the text is {done}",
                remedy="give it as written: it is segmented as the vocabulary needs it",
                code="config.mixed-processing",
            )
