"""Word vectors in text format (``.vec``): a word and its numbers per line, with or without a header of counts.

Shape legend: ``N`` words, ``D`` dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.text.formats.lines import Skip, malformed, parsed, read_lines
from isoglot.text.provenance import Provenance, recorded_writer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import numpy as np


@dataclass(frozen=True, slots=True)
class Vectors:
    """Words and their vectors, row by row; every word occurs once."""

    words: list[str]
    matrix_ND: np.ndarray

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return int(self.matrix_ND.shape[1])

    def only(self, words: Collection[str]) -> Vectors:
        """The rows of the given words, in the order of this table."""
        return self.rows([row for row, word in enumerate(self.words) if word in words])

    def with_direction(self) -> Vectors:
        """The rows that are not all zeros, which stand for missing vectors."""
        present = [bool(row.any()) for row in self.matrix_ND]
        return self if all(present) else self.rows([row for row, there in enumerate(present) if there])

    def rows(self, which: Sequence[int]) -> Vectors:
        """The rows with the given indices."""
        return Vectors([self.words[row] for row in which], self.matrix_ND[list(which)])


def is_vec(name: str) -> bool:
    """Whether a file name is that of word vectors, possibly compressed.

    >>> is_vec("wiki.en.vec.gz"), is_vec("wiki.vec.bin")
    (True, False)
    """
    return name.endswith((".vec", ".vec.gz", ".vec.xz", ".vec.zst"))


def read_words(path: Path) -> list[str]:
    """Read the distinct words of a ``.vec`` file, or of a file with one word per line, in order.

    Raises:
        InputError: There are none, or a line of a ``.vec`` is malformed.
        StorageError: The file cannot be read.
    """
    if is_vec(path.name):
        words = read_vectors(path).words
    else:
        words = list(dict.fromkeys(word for _, line in read_lines(path) if (word := line.strip())))
    if not words:
        raise InputError("there are no words", "write one per line", "empty", file=path)
    return words


def read_vectors(path: str | Path, *, limit: int | None = None, skip: Skip | None = None) -> Vectors:
    """Read word vectors as float32; of a repeated word, the first.

    Args:
        path: The file. A first line of two integers is the header of fastText and word2vec.
        limit: Read only the first N words; files are ordered by frequency.
        skip: Tolerance for malformed lines. Default: raise at the first.

    Raises:
        InputError: A line has another number of dimensions than the first, or a number that is not finite.
        StorageError: The file cannot be read.
    """
    import numpy as np

    width = 0
    words: dict[str, None] = {}
    rows: list[np.ndarray] = []

    def parse(line: tuple[int, str]) -> tuple[str, np.ndarray]:
        nonlocal width
        word, row = _parse_line(line[1], width, path, line[0])
        width = width or len(row)
        return word, row

    lines = (line for line in read_lines(path, skip=skip) if not (line[0] == 1 and _is_count(line[1])))
    for word, row in parsed(lines, parse, skip):
        if word not in words:
            words[word] = None
            rows.append(row)
        if limit is not None and len(rows) >= limit:
            break
    matrix_ND = np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
    return Vectors(list(words), matrix_ND)


def _is_count(line: str) -> bool:
    cells = line.split()
    return len(cells) == 2 and all(cell.isascii() and cell.isdigit() for cell in cells)


def _parse_line(line: str, width: int, path: str | Path, number: int) -> tuple[str, np.ndarray]:
    """A word and its vector. A word may contain blanks: the last ``width`` cells are the numbers."""
    import numpy as np

    cells = line.rstrip(" ").split(" ")
    first = max(len(cells) - width, 1) if width else 1
    word, numbers = " ".join(cells[:first]), cells[first:]
    try:
        with np.errstate(over="ignore"):  # numbers beyond float32 become infinite and are rejected below
            row = np.array(numbers, dtype=np.float32)
    except ValueError:
        row = np.array([np.nan])
    if not word or not numbers or (width and len(numbers) != width) or not np.isfinite(row).all():
        wanted = f"{width} numbers" if width else "numbers"
        raise malformed(f"{shown(line)} is not a word and {wanted}", "write word, blank, numbers", path, number)
    return word, row


def write_vectors(
    path: str | Path, words: Sequence[str], matrix_ND: np.ndarray, *, provenance: Provenance | None = None
) -> int:
    """Write words and vectors with a header of counts, as fastText does; returns their number.

    Args:
        path: The file.
        words: The words.
        matrix_ND: Their vectors.
        provenance: Recorded beside the file. Default: no record.

    Raises:
        InputError: The numbers of words and rows differ, a word is empty or has a blank, or a number is not finite.
        StorageError: The file cannot be written.
    """
    import numpy as np

    with recorded_writer(path, provenance) as writer:
        if matrix_ND.ndim != 2 or len(words) != len(matrix_ND):
            raise writer.refusal(f"{len(words)} words for {matrix_ND.shape} numbers", remedy="give one row per word")
        writer.write(f"{len(words)} {matrix_ND.shape[1]}")
        for word, row in zip(words, matrix_ND, strict=True):
            if word.split() != [word]:
                raise writer.refusal(f"{shown(word)} is not one word", remedy="remove it")
            if not np.isfinite(row).all():
                raise writer.refusal(f"a number of {shown(word)} is not finite", remedy="remove the word")
            writer.write(f"{word} {' '.join(repr(float(value)) for value in row.astype(np.float32))}")
    return len(words)
