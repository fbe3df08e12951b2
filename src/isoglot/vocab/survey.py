"""A look at a text before training on it: how many lines it has, and an even sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from isoglot.core.progress import SILENT, Progress
from isoglot.core.seeds import random_stream
from isoglot.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

SAMPLE = 2_000_000
"""Characters in a sample, at most: enough to see a character or piece that makes up a millionth of the text."""


@dataclass(frozen=True)
class Survey:
    """The size of a text, and every ``every``-th line of it."""

    lines: int
    characters: int
    every: int
    sample: tuple[str, ...]


def text_lines(paths: Sequence[str | Path], sentences: int | None = None) -> Iterator[str]:
    """The lines of several files that are not blank, one file after the other; at most so many."""
    lines = (line for path in paths for _, line in read_lines(path) if line and not line.isspace())
    return islice(lines, sentences)


def survey(lines: Iterable[str], *, limit: int = SAMPLE, label: str = "survey", progress: Progress = SILENT) -> Survey:
    """Count lines and keep an even sample of them, in one pass and bounded memory.

    The sample is every line until it is full; then every other line of it is dropped and half as many are taken.

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
    """The share of each language's lines to keep so that the languages stand as ``share ** exponent``.

    As much text is kept as can be without repeating any: at least one language keeps all of its lines.

    >>> sampling_rates({"en": 800, "sw": 200}, exponent=0.5)
    {'en': 0.5, 'sw': 1.0}
    """
    total = sum(lines.values())
    wanted = {language: (count / total) ** exponent for language, count in lines.items()}
    most = max(wanted[language] / count for language, count in lines.items())
    return {language: wanted[language] / count / most for language, count in lines.items()}


def thinned(lines: Iterable[str], rate: float, seed: int, language: str, block: int = 1000) -> Iterator[list[str]]:
    """Blocks of lines, each line kept with probability ``rate``."""
    random = random_stream(seed, "vocabulary sample", language)
    source = iter(lines)
    while taken := list(islice(source, block)):
        if rate < 1:
            keep = (random.random(len(taken)) < rate).tolist()
            taken = [line for line, kept in zip(taken, keep, strict=True) if kept]
        yield taken


def alphabet(sample: Iterable[str], coverage: float) -> list[str]:
    """The most frequent characters that together make up this share of a text, in the order of their codes.

    >>> "".join(alphabet(["aaaaaaab", "aaaaaaaa"], coverage=0.9))
    'a'
    """
    from collections import Counter

    counts: Counter[str] = Counter()
    for line in sample:
        counts.update(line)
    needed = coverage * counts.total()
    kept: list[str] = []
    covered = 0
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= needed:
            break
        covered += count
        kept.append(character)
    return sorted(kept)
