"""Input sentences: a list or a file, read repeatedly and never held in memory as a whole."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from isoglot.core.errors import InputError, check_range, shown
from isoglot.text.cleaning.processing import check_as_written
from isoglot.text.cleaning.segmentation import Method, Words, split_words, word_method
from isoglot.text.formats.plain import read_sentence_lines
from isoglot.vocab.line_encoder import check_chunks

Sentence = str | Sequence[str]
"""A text, or a list of its words (:class:`isoglot.text.cleaning.segmentation.Words` knows the spaces between them)."""


@dataclass(frozen=True)
class SegmentedFile:
    """A file of text as written, one sentence per line, whose words are found by a segmentation method.

    Args:
        path: The file; blank lines are skipped.
        language: Its language.
        method: Segmentation method. None: the best one for the language.
    """

    path: str | Path
    language: str
    method: Method | None = None

    def sentences(self) -> Iterator[tuple[int, Words]]:
        """Words of each line, with the line number."""
        method = self.method or word_method(self.language)
        check_as_written(self.path)
        for number, line in read_sentence_lines(self.path):
            if words := split_words(line, self.language, method):
                yield number, words


Sentences = Sequence[str] | Sequence[Sequence[str]] | str | Path | SegmentedFile
"""Sentences in memory, or a file with one per line (with spaces between words, or as written)."""
Kind = Literal["text", "words"]
"""Whether sentences are running text or lists of words."""


class SentenceSurvey(NamedTuple):
    """Number of sentences, offsets of their rows, and a hash of all of them."""

    sentences: int
    offsets: np.ndarray
    sha256: str

    @property
    def rows(self) -> int:
        """Number of rows of the result: sentences, or their words."""
        return int(self.offsets[-1])


def read_sentences(sentences: Sentences, kind: Kind) -> Iterator[Sentence]:
    """Iterate over the sentences: strings, or lists of words for ``words``.

    Raises:
        ConfigError: The file was segmented although running text is wanted.
        InputError: A sentence is empty or not text, there are none, the file is a table, or a list of words is given as
            text.
        StorageError: The file cannot be read.
    """
    file = sentences if isinstance(sentences, str | Path) else None
    number = 0
    given: Iterator[tuple[int, Sentence]]
    if isinstance(sentences, SegmentedFile):
        file, given = sentences.path, iter(sentences.sentences())
    elif isinstance(sentences, str | Path):
        if kind == "text":
            check_as_written(sentences)
        given = read_sentence_lines(sentences)
    else:
        given = enumerate(sentences, start=1)
    for number, sentence in given:
        problem = None
        if isinstance(sentence, str):
            check_chunks(sentence, file, None if file is None else number)
            found: Sentence = sentence.split() if kind == "words" else sentence
            if not sentence or sentence.isspace():
                problem = "a blank line" if file is not None else f"sentence {number} is empty"
        else:
            found = sentence
            if kind == "text":
                problem = f"sentence {number} is a list of words, {shown(list(sentence)[:4])}"
            elif not sentence:
                problem = f"sentence {number} is empty"
            elif any(not word or word.isspace() for word in sentence):
                problem = f"sentence {number} has an empty word"
        if problem is not None:
            listed = kind == "text" and not isinstance(sentence, str)
            remedy = "join its words, or use pool='words'" if listed else "remove it"
            code = "input.type" if listed else "input.empty"
            raise InputError(problem, remedy, code=code, file=file, line=None if file is None else number)
        yield found
    if not number:
        raise InputError("no sentences", "give at least one, one per line", "empty", file=file)


def survey_sentences(sentences: Sentences, kind: Kind) -> SentenceSurvey:
    """Read all sentences once, to know the size of the result."""
    sizes = array("q", [0])
    digest = hashlib.sha256()
    for sentence in read_sentences(sentences, kind):
        text = sentence if isinstance(sentence, str) else "\t".join(sentence)
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        sizes.append(1 if isinstance(sentence, str) else len(sentence))
    return SentenceSurvey(len(sizes) - 1, np.cumsum(np.frombuffer(sizes, dtype=np.int64)), digest.hexdigest())


def in_chunks(sentences: Sentences, kind: Kind, size: int, *, skip: int = 0) -> Iterator[list[Sentence]]:
    """Chunks of sentences, without the first ``skip`` chunks.

    Raises:
        ConfigError: The chunk size is less than 1.
    """
    check_range("chunk", size, 1)
    found = islice(read_sentences(sentences, kind), skip * size, None)
    while chunk := list(islice(found, size)):
        yield chunk
