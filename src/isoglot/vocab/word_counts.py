"""Learning from counts: text repeats itself, so each chunk is cut into words once, whatever it counts.

``tokenizers`` counts words by cutting every line; it cannot be handed counts. So the chunks between blanks are counted
here, and every distinct one goes to the trainer with its count before it; behind the splitter stands :class:`Repeated`,
which turns a word into as many of it. By the contract of :mod:`.scheme` the trainer's counts are the same, and so is
what it learns.

Memory is bounded: where the distinct chunks of a text are too many, every second line is read, or every fourth, until
they fit.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from isoglot.vocab.survey import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from isoglot.vocab.scheme import ModelName

HELD: dict[ModelName, int] = {"bpe": 7_200_000, "wordpiece": 7_200_000, "unigram": 5_000_000}
"""Characters in all distinct chunks together. The trainers need up to 180 bytes for each, Unigram's up to 250."""
_BLOCK = 16  # lines counted at once: a few, so that they stay in the processor's cache
_COPIES = 100_000  # characters in what a text becomes when its words are repeated; each takes some fifty bytes then


def count_chunks(lines: Callable[[], Iterator[str]], held: int) -> tuple[Counter[str], int]:
    """Count what stands between blanks, in every line or in every so many.

    Args:
        lines: Starts reading, again if need be.
        held: Characters in all distinct chunks together that there is room for, give or take a fortieth.

    Returns:
        The counts, and of how many lines one was read: the least power of two for which there is room.

    >>> counts, every = count_chunks(lambda: iter(["a b", "a c"]), held=100)
    >>> sorted(counts.items()), every
    ([('a', 2), ('b', 1), ('c', 1)], 1)
    """
    every = 1
    while (counts := _counted(islice(lines(), 0, None, every), held)) is None:
        every *= 2
    return counts, every


def _counted(lines: Iterator[str], held: int) -> Counter[str] | None:
    """The counts, or None when there are too many."""
    counts: Counter[str] = Counter()
    unchecked = held  # characters to read until the table may have become too large
    while block := list(islice(lines, _BLOCK)):
        counts.update(" ".join(block).split(" "))
        unchecked -= sum(map(len, block))
        if unchecked < 0:
            found = sum(map(len, counts))
            if found > held:
                return None
            unchecked = max(held - found, held // 40)
    return counts


def only(letters: Iterable[str], counts: Mapping[str, int]) -> Counter[str]:
    """The counts of chunks with all other characters taken out.

    >>> sorted(only("ab", {"a-b": 2, "ab": 1, "-": 1}).items())
    [('', 1), ('ab', 3)]
    """
    other = re.compile(f"[^{re.escape(''.join(letters))}]+")
    kept: Counter[str] = Counter()
    for chunk, count in counts.items():
        kept[other.sub("", chunk)] += count
    return kept


def grouped(counts: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Texts of chunks that count the same, with the count.

    A chunk of more than a hundred thousand characters, in which there is no word of any length, is cut; one that counts
    very much is there more than once.

    >>> list(grouped({"a": 2, "b": 1, "c": 2}))
    [(2, 'a c'), (1, 'b')]
    """
    groups: dict[int, list[str]] = {}
    for chunk, count in counts.items():
        most = _COPIES // (len(chunk) + 1) or 1
        if count > most:
            groups.setdefault(most, []).extend([chunk] * (count // most))
            count %= most  # noqa: PLW2901 - what is left of it
        if count:
            groups.setdefault(count, []).append(chunk)
    for count, chunks in groups.items():
        for text in blocks(chunks, size=_COPIES // count):
            yield count, text


class Repeated:
    """A custom pre-tokenizer: the first word of a text is a number, and every other becomes so many.

    So ``3 one two`` counts as ``one one one two two two``.
    """

    def pre_tokenize(self, text: Any) -> None:  # noqa: ANN401 - tokenizers has no public type for it
        """Repeat the words of a text that has been cut into words."""
        count = 0

        def times(place: int, word: Any) -> list[Any]:  # noqa: ANN401 - as above
            nonlocal count
            if place:
                return [word] * count
            count = int(word.normalized[1:])  # behind the mark
            return []

        text.split(times)
