"""Survey of a text before training: its number of lines and an even sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING

from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.plain import check_text
from isoglot.vocab.line_encoder import check_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from isoglot.text.cleaning.processing import TextProcessing

SAMPLE = 2_000_000  # maximum characters of a sample: enough to see what makes up a millionth of the text


@dataclass(frozen=True)
class Survey:
    """Size of a text, and every ``every``-th line of it."""

    lines: int
    characters: int
    every: int
    sample: tuple[str, ...]


def text_lines(
    paths: Sequence[str | Path], sentences: int | None = None, processing: TextProcessing | None = None
) -> Iterator[str]:
    """Read the non-blank lines of several files, in order.

    Args:
        paths: The files.
        sentences: Maximum number of lines. Default: all.
        processing: Text processing of each line. Default: none.

    Raises:
        InputError: A line has a million characters without a blank, or is not UTF-8.
        StorageError: A file cannot be read.
    """
    lines = islice((line for path in paths for line in _lines(path)), sentences)
    return map(processing, lines) if processing else lines


def _lines(path: str | Path) -> Iterator[str]:
    for number, line in read_lines(path):
        if line and not line.isspace():
            check_chunks(line, path, number)
            check_text(line, path, number)
            yield line


def survey(lines: Iterable[str], *, limit: int = SAMPLE, label: str = "survey", progress: Progress = SILENT) -> Survey:
    """Count lines and keep an even sample of them, in one pass and bounded memory.

    Whenever the sample is full, every other line of it is dropped and the rate is halved.

    >>> survey(map(str, range(10)), limit=4)
    Survey(lines=10, characters=10, every=4, sample=('0', '4', '8'))
    """
    every, held, count, characters = 1, 0, 0, 0
    sample: list[str] = []
    with progress.task(label, total=None, unit="lines") as task:
        for line in lines:
            if count % every == 0:
                sample.append(line)
                held += len(line)
                while held > limit and len(sample) > 1:
                    sample = sample[::2]
                    held = sum(map(len, sample))
                    every *= 2
            count += 1
            characters += len(line)
            if count % 10_000 == 0:
                task.advance(10_000)
        task.advance(count % 10_000)
    return Survey(count, characters, every, tuple(sample))


def sampling_rates(lines: Mapping[str, int], exponent: float) -> dict[str, float]:
    """The share of each language's lines to keep so that languages are in the proportion ``share ** exponent``.

    No text is repeated, and at least one language keeps all of its lines.

    >>> sampling_rates({"en": 800, "sw": 200}, exponent=0.5)
    {'en': 0.5, 'sw': 1.0}
    """
    total = sum(lines.values())
    wanted = {language: (count / total) ** exponent for language, count in lines.items()}
    most = max(wanted[language] / count for language, count in lines.items())
    return {language: wanted[language] / count / most for language, count in lines.items()}


def thinned(lines: Iterable[str], rate: float, seed: int, language: str) -> Iterator[str]:
    """Keep each line with probability ``rate``."""
    if rate >= 1:
        yield from lines
        return
    random = random_stream(seed, "vocabulary sample", language)
    source = iter(lines)
    while taken := list(islice(source, 1000)):
        yield from compress(taken, random.random(len(taken)) < rate)


def blocks(lines: Iterable[str], size: int = 100_000) -> Iterator[str]:
    """Join lines by blanks to texts of about ``size`` characters; very long lines are divided.

    >>> list(blocks(["one", "two", "and a long one"], size=8))
    ['one two', 'and a lo', 'ng one']
    """
    part: list[str] = []
    room = size
    for line in lines:
        if len(line) > room:
            if part:
                yield " ".join(part)
            part, room = [], size
        if len(line) > size:
            yield from (line[first : first + size] for first in range(0, len(line), size))
            continue
        part.append(line)
        room -= len(line) + 1
    if part:
        yield " ".join(part)


def alphabet(sample: Iterable[str], coverage: float) -> list[str]:
    """The most frequent characters that make up a share of a text, sorted.

    >>> "".join(alphabet(["aaaaaaab", "aaaaaaaa"], coverage=0.9))
    'a'
    """
    import numpy as np

    codes = np.frombuffer("".join(sample).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    counts = np.bincount(codes)
    present = np.flatnonzero(counts)
    ranked = present[np.argsort(-counts[present], kind="stable")]
    before = np.cumsum(counts[ranked]) - counts[ranked]  # cumulative count of the more frequent characters
    return sorted(map(chr, ranked[before < coverage * counts.sum()].tolist()))
