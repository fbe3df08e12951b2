"""Real text for twins: its sentences as words, two halves that share no document, and sentences that are in neither.

A real text has no trees and no topics, so its twins have the orders ``same`` and ``mirrored``, and one domain.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.core.rng import LARGEST_SEED, derive_seed, random_stream
from isoglot.study.factorial.design import CELLS
from isoglot.study.kinds.text import TEXT
from isoglot.study.numbers import Number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoglot.study.demo.twin_pairs import Pairs, TwinLanguage
    from isoglot.study.steps import Work

HELD_OUT = "held-out.txt"
SOURCE_FILES = (TEXT, HELD_OUT)
_HELD_OUT = 0.02
"""The share of the documents whose sentences are held out."""
_WORDS = (5, 20)
"""The fewest and the most words of a test sentence."""

TEXT_CELLS = tuple(cell for cell in CELLS if cell.domain == "same" and cell.order != "verb-last")
"""The cells that a real text can have."""
CONTRAST_CELLS = tuple(cell for cell in TEXT_CELLS if cell.sharing == "all" and cell.anchors != "all")
"""Those of the stated contrast, with all weights shared."""


def split_source(work: Work) -> list[Number]:
    """Write a text with one sentence a line and one blank between words, and the sentences that are held out.

    Held-out sentences are those of two documents in a hundred, once each, that are in no other document.

    Settings: ``language``; inputs ``text.N``.
    """
    from isoglot.text.formats.lines import line_writer
    from isoglot.text.formats.plain import read_documents, write_documents
    from isoglot.text.provenance import derived

    language = work.settings["language"]
    files = [path for _, path in work.named("text")]
    held: dict[str, None] = {}
    documents: Counter[bool] = Counter()

    def kept() -> Iterator[list[str]]:
        with work.progress.task(f"words {language}", total=None, unit="documents") as task:
            for document in _in_words(files, language):
                task.advance()
                is_held = _share(document[0], "held out", 0) < _HELD_OUT
                documents[is_held] += 1
                if is_held:
                    held.update((one, None) for one in document if _WORDS[0] <= one.count(" ") + 1 <= _WORDS[1])
                else:
                    yield document

    provenance = derived(files, {"step": "words of sentences", "language": language})
    write_documents(work.folder / TEXT, kept(), provenance=provenance)
    for document in read_documents(work.folder / TEXT):
        for sentence in document:
            held.pop(sentence, None)
    if not held:
        problem = f"of {documents.total():,} documents, none could be held out for the test"
        raise InputError(problem, "give more text, with a blank line between documents", "too-few", file=files[0])
    with line_writer(work.folder / HELD_OUT) as writer:
        for sentence in held:
            writer.write(sentence)
    at = {"language": language}
    return [Number("text_documents", documents[False], at), Number("held_out_sentences", len(held), at)]


def _in_words(files: list[Path], language: str) -> Iterator[list[str]]:
    """Documents, each a list of sentences with one blank between words."""
    from isoglot.text.cleaning.segmentation import segmenter, word_method
    from isoglot.text.cleaning.sentence_splitter import split_sentences
    from isoglot.text.formats.plain import read_documents

    split = segmenter(language, word_method(language))
    for path in files:
        for document in read_documents(path):
            every = (" ".join(split(one)) for line in document for one in split_sentences(line, language))
            if sentences := [one for one in every if one]:
                yield sentences


def half(source: Path, side: int, seed: int) -> Iterator[list[str]]:
    """The documents of one half of a text, drawn by the seed.

    Args:
        source: The folder of :func:`split_source`.
        side: 0 or 1.
        seed: Decides which documents are in which half.
    """
    from isoglot.text.formats.plain import read_documents

    for document in read_documents(source / TEXT):
        if int(_share(document[0], "half", seed) < 0.5) == side:
            yield document


def held_out_pairs(source: Path, language: TwinLanguage, seed: int, count: int) -> tuple[Pairs, Pairs]:
    """Pairs to choose a layer by and pairs to score it on, drawn by the seed from the held-out sentences.

    Raises:
        InputError: There are not as many.
    """
    from isoglot.study.demo.twin_pairs import paired
    from isoglot.text.formats.lines import read_lines

    path = source / HELD_OUT
    pool = [line for _, line in read_lines(path)]
    if len(pool) < 2 * count:
        problem = f"{len(pool):,} sentences are held out of the text, and the test needs {2 * count:,}"
        raise InputError(problem, f"give more text, or set pairs={max(20, len(pool) // 2)}", "too-few", file=path)
    order = random_stream(seed, "factorial-text", "pairs").permutation(len(pool))
    drawn = [pool[number].split(" ") for number in order[: 2 * count]]
    choose, test = drawn[:count], drawn[count:]
    return paired(choose, language), paired(test, language)


def _share(line: str, use: str, seed: int) -> float:
    """A number from 0 to 1 that depends on a document's first line and a seed."""
    return derive_seed(seed, "factorial-text", use, line) / (LARGEST_SEED + 1)
