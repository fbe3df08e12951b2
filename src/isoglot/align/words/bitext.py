"""Bitext: sentence pairs as lists of words with links between them, from files or built-in languages; and as integers.

As integers, bitext is concatenated word ids and the pairs of word types that co-occur. Memory: 4 bytes per word of
either side, 4 bytes per cell (a word paired with a word of the other side), of which a word has at most ``longest``,
and 4 bytes per pair of types that co-occur; during training, 32 more. It grows linearly with the number of pairs.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoglot.align.words.em_loops import index_cells
from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.text.cleaning.processing import check_as_written
from isoglot.text.cleaning.segmentation import split_words, word_method
from isoglot.text.formats.parallel import GoldLinks, Links, read_aligned, read_gold, read_parallel, read_pharaoh

if TYPE_CHECKING:
    from isoglot.align.words.word_aligner import Aligner
    from isoglot.languages.corpus import Split


Segmenting = Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"]
"""``auto`` suits each language; ``blanks``: words are separated by spaces already."""


def read_word_pairs(
    files: Files, languages: tuple[str, str], segment: Segmenting = "auto", sentences: int | None = None
) -> list[tuple[list[str], list[str]]]:
    """Words of the first sentence pairs, or of all, blank and one-sided ones included, so that line numbers agree.

    Words record the spaces between them in the text, unless all words are separated by spaces already.

    Raises:
        ConfigError: The method does not support one of the languages.
        InputError: The numbers of lines differ (the message has both), or a table is malformed.
        MissingPartError: The method needs a library that is not installed.
        StorageError: A file cannot be read.
    """
    first, second = (
        str.split
        if segment == "blanks"
        else partial(split_words, language=code, method=word_method(code) if segment == "auto" else segment)
        for code in languages
    )
    rows = read_rows(files, languages)
    pairs = [(first(one), second(other)) for _, _, (one, other) in islice(rows, sentences)]
    deque(rows, maxlen=0)  # read to the end, to detect files of different lengths
    return pairs


Files = Mapping[str, str | Path] | str | Path
"""A file for each language, or one table."""
LinksKept = Literal["one", "all"]
"""``one``: only links between words that have no other link; ``all``: every link."""


@dataclass(frozen=True, kw_only=True)
class Bitext:
    """Word lists of either side, sentence by sentence, and the links between them."""

    source: list[list[str]]
    """Words of each source sentence."""
    target: list[list[str]]
    """Words of each target sentence."""
    links: list[Links]
    """Links of each pair, as (source, target) positions from 0."""

    def __len__(self) -> int:
        return len(self.links)

    def first(self, count: int | None) -> Bitext:
        """The first ``count`` sentence pairs; None: all."""
        return Bitext(source=self.source[:count], target=self.target[:count], links=self.links[:count])

    def with_words(self) -> Bitext:
        """Sentence pairs that have words on both sides."""
        rows = [row for row in zip(self.source, self.target, self.links, strict=True) if row[0] and row[1]]
        return Bitext(source=[row[0] for row in rows], target=[row[1] for row in rows], links=[row[2] for row in rows])

    def kept(self, number: int, which: LinksKept) -> Links:
        """Links of a sentence pair, unique.

        >>> Bitext(source=[["a"]], target=[["b", "c"]], links=[[(0, 0), (0, 1)]]).kept(0, "one")
        []
        """
        links = list(dict.fromkeys(self.links[number]))
        if which == "all":
            return links
        left, right = Counter(link[0] for link in links), Counter(link[1] for link in links)
        return [link for link in links if left[link[0]] == right[link[1]] == 1]


def read_rows(files: Files, languages: tuple[str, str]) -> Iterator[tuple[str, int, tuple[str, str]]]:
    """Sentence pairs with their file and line.

    Args:
        files: A file for each language, aligned line by line; or a table whose first line names the languages.
        languages: The two languages, in this order.

    Raises:
        InputError: The numbers of lines differ (the message has both), or a table is malformed.
        StorageError: A file cannot be read.
    """
    place = _place(files)
    rows = read_aligned(files) if isinstance(files, Mapping) else read_parallel(files)
    for number, row in enumerate(rows, start=1 + _header(files)):
        yield place, number, (row[languages[0]], row[languages[1]])


def read_sentence_pairs(files: Files, languages: tuple[str, str]) -> list[tuple[str, str]]:
    """Sentence pairs of two files or of a table.

    Raises:
        ConfigError: A file was segmented.
        InputError: A sentence is blank, or there is none; and as for :func:`read_rows`.
        StorageError: A file cannot be read.
    """
    check_as_written(*(files.values() if isinstance(files, Mapping) else [files]))
    pairs = []
    for place, number, pair in read_rows(files, languages):
        blank = next((code for code, text in zip(languages, pair, strict=True) if not text.strip()), None)
        if blank is not None:
            problem = f"line {number} has no {blank} sentence"
            raise InputError(problem, "remove the line in both languages", "malformed-line", file=place)
        pairs.append(pair)
    if not pairs:
        raise InputError("no sentences", "give one per line", "empty", file=_place(files))
    return pairs


def read_links(
    path: str | Path, pairs: Sequence[Pair], files: Files, languages: tuple[str, str], first: int | None = None
) -> list[Links]:
    """Links of sentence pairs in the Pharaoh format, one line per pair.

    Args:
        path: The file.
        pairs: Words of the pairs.
        files: Where they were read from.
        languages: Languages of the sides.
        first: Number of pairs requested, of which the files may have more; None: all.

    Raises:
        InputError: The number of lines differs (the message has both), a link is malformed, or a link is out of range.
        StorageError: The file cannot be read.
    """
    found = list(read_pharaoh(path))
    _check_links(path, found, pairs, files, languages, first)
    return found[: len(pairs)]


def read_gold_links(
    path: str | Path, pairs: Sequence[Pair], files: Files, languages: tuple[str, str], first: int | None = None
) -> list[GoldLinks]:
    """Sure and possible links of sentence pairs; as :func:`read_links`."""
    found = list(read_gold(path))
    _check_links(path, [[*each.sure, *each.possible] for each in found], pairs, files, languages, first)
    return found[: len(pairs)]


def _check_links(
    path: str | Path,
    found: Sequence[Links],
    pairs: Sequence[Pair],
    files: Files,
    languages: tuple[str, str],
    first: int | None,
) -> None:
    rows = len(pairs) if first is None or len(pairs) < first else sum(1 for _ in read_rows(files, languages))
    if len(found) != rows:
        problem = f"{counted(len(found), 'lines')} of links for the {rows} sentence pairs of {_place(files)}"
        remedy = "give one line of links, even a blank one, for each pair"
        raise InputError(problem, remedy, "line-count", file=path)
    for line, (words, links) in enumerate(zip(pairs, found, strict=False), start=1):
        for link in links:
            for side, code in enumerate(languages):
                if link[side] >= len(words[side]):
                    raise InputError(
                        f"the link {link[0]}-{link[1]} points past the {len(words[side])} words of {code} in "
                        f"{_place(files)}:{line + _header(files)}",
                        "positions count from 0, and words are separated by spaces",
                        "out-of-range",
                        file=path,
                        line=line,
                    )


def read_bitext(files: Files, languages: tuple[str, str], links: str | Path) -> Bitext:
    """Sentence pairs with spaces between words, and their links in the Pharaoh format.

    Args:
        files: The file of each language, or a table.
        languages: The two languages, source first.
        links: File of links in the Pharaoh format.

    Returns:
        Sentence pairs with their links.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     texts = {"en": "the old house", "de": "das alte Haus", "links": "0-0 1-1 2-2"}
    ...     files = {name: Path(folder) / f"{name}.txt" for name in texts}
    ...     for name, file in files.items():
    ...         _ = file.write_text(texts[name], encoding="utf-8")
    ...     found = read_bitext({code: files[code] for code in ("en", "de")}, ("en", "de"), files["links"])
    >>> found.target[0], found.links[0]
    (['das', 'alte', 'Haus'], [(0, 0), (1, 1), (2, 2)])

    Raises:
        InputError: The numbers of lines differ (the message has both), or a link is out of range.
        StorageError: A file cannot be read.
    """
    pairs = [(one.split(), other.split()) for _, _, (one, other) in read_rows(files, languages)]
    found = read_links(links, pairs, files, languages)
    return Bitext(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs], links=found)


def linked_bitext(
    pairs: Sequence[tuple[list[str], list[str]]],
    aligner: Aligner,
    *,
    counts: PairCounts | None = None,
    progress: Progress = SILENT,
) -> Bitext:
    """Sentence pairs with the intersection of both directions of an aligner: the most precise links.

    Args:
        pairs: Sentence pairs, as lists of words.
        aligner: The word aligner.
        counts: Updated with the numbers of pairs, if given.
        progress: Progress in pairs.

    Returns:
        Sentence pairs with their links.

    >>> from isoglot.align import train_aligner
    >>> pairs = [(["the", "house"], ["das", "Haus"]), (["the", "book"], ["das", "Buch"])] * 5
    >>> linked_bitext(pairs, train_aligner(pairs)).links[0]
    [(0, 0), (1, 1)]
    """
    links = list(aligner.stream(pairs, "intersection", counts=counts, progress=progress))
    return Bitext(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs], links=links)


def _place(files: Files) -> str:
    return str(next(iter(files.values())) if isinstance(files, Mapping) else files)


def _header(files: Files) -> int:
    """Number of lines before the first pair: 1 for a table."""
    return not isinstance(files, Mapping)


def builtin_bitext(languages: tuple[str, str], sentences: int, split: Split = "train", *, seed: int = 0) -> Bitext:
    """Sentences of two built-in languages with gold alignment; train, dev and test are disjoint.

    Args:
        languages: Codes of the two languages.
        sentences: Number of pairs.
        split: ``train``, ``dev`` or ``test``.
        seed: Seed of the sentences.

    Returns:
        Pairs of tokenized sentences with their gold links.

    >>> bitext = builtin_bitext(["en", "de"], 2)
    >>> len(bitext)
    2

    Raises:
        ConfigError: A language is not built in.
    """
    from isoglot.languages import align
    from isoglot.languages.builtin import builtin_bitext as sentence_pairs
    from isoglot.languages.sentence import written_words

    made = sentence_pairs(languages, sentences, split=split, seed=seed)
    return Bitext(
        source=[written_words(first) for first, _ in made],
        target=[written_words(second) for _, second in made],
        links=[align(first, second) for first, second in made],
    )


def builtin_sentences(
    languages: tuple[str, str], sentences: int, split: Split = "train", *, seed: int = 0
) -> list[tuple[str, str]]:
    """The same as running text.

    Raises:
        ConfigError: A language is not built in.
    """
    from isoglot.languages.builtin import builtin_bitext as sentence_pairs

    made = sentence_pairs(languages, sentences, split=split, seed=seed)
    return [(first.text, second.text) for first, second in made]


if TYPE_CHECKING:
    Pair = tuple[Sequence[str], Sequence[str]]


# --- bitext as integers ---


@dataclass(kw_only=True)
class PairCounts:
    """Numbers of usable and unusable sentence pairs."""

    pairs: int = 0
    """Total."""
    blank: int = 0
    """Pairs without words on either side."""
    one_sided: int = 0
    """Pairs with words on one side only."""
    overlong: int = 0
    """Pairs with more words on a side than allowed."""

    @property
    def used(self) -> int:
        """Pairs that can be aligned."""
        return self.pairs - self.blank - self.one_sided - self.overlong

    def usable(self, source: Sequence[str], target: Sequence[str], longest: int) -> bool:
        """Count a pair and return whether it can be aligned."""
        self.pairs += 1
        if not source or not target:
            self.blank += not source and not target
            self.one_sided += bool(source) != bool(target)
            return False
        long = max(len(source), len(target)) > longest
        self.overlong += long
        return not long

    def check_any(self, longest: int) -> None:
        """Check that any pair can be aligned.

        Raises:
            InputError: None can; the message has the counts.
        """
        remedy = "give sentences with their translations"
        if not self.pairs:
            raise InputError("no sentence pairs", remedy, "empty")
        if not self.used:
            problem = (
                f"none of {self.pairs} sentence pairs can be aligned: {self.blank} blank, {self.one_sided} one-sided, "
                f"{self.overlong} over {longest} words"
            )
            raise InputError(problem, remedy, "no-match")

    def facts(self) -> dict[str, int]:
        """The counts as JSON."""
        return {**asdict(self), "used": self.used}


class WordIndex:
    """Word types by number, in order of occurrence.

    Args:
        known: Word types that already have a number.
        case: Whether case counts.
    """

    def __init__(self, known: Iterable[str] = (), *, case: str = "lower") -> None:
        self.numbers = {word: number for number, word in enumerate(known)}
        self.lower = case == "lower"

    def __len__(self) -> int:
        return len(self.numbers)

    def flat(self, sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of all words, concatenated, and sentence offsets."""
        starts = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(words) for words in sentences], out=starts[1:])
        every: Iterable[str] = chain.from_iterable(sentences)
        numbers = self.numbers
        if self.lower:
            every = (word.lower() for word in every)
        ids = np.fromiter((numbers.setdefault(word, len(numbers)) for word in every), np.int32, count=int(starts[-1]))
        return ids, starts


@dataclass(frozen=True, eq=False, kw_only=True)
class IndexedBitext:
    """Sentence pairs as integers; see :func:`isoglot.align.words.em_loops.index_cells`."""

    source: np.ndarray
    source_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    cells: np.ndarray
    cell_starts: np.ndarray
    rows: np.ndarray
    """Offsets of the slots of each source type."""
    columns: np.ndarray
    """Target type of each slot."""

    @classmethod
    def of(cls, pairs: Sequence[Pair], source_words: WordIndex, target_words: WordIndex) -> IndexedBitext:
        """Index pairs with words on both sides; new words get numbers."""
        source, source_starts = source_words.flat([pair[0] for pair in pairs])
        target, target_starts = target_words.flat([pair[1] for pair in pairs])
        cells, cell_starts, rows, columns = index_cells(
            source, source_starts, target, target_starts, len(source_words), len(target_words)
        )
        return cls(
            source=source,
            source_starts=source_starts,
            target=target,
            target_starts=target_starts,
            cells=cells,
            cell_starts=cell_starts,
            rows=rows,
            columns=columns,
        )

    @property
    def row_of(self) -> np.ndarray:
        """Source type of each slot."""
        return np.repeat(np.arange(len(self.rows) - 1, dtype=np.int32), np.diff(self.rows))

    @property
    def longest(self) -> int:
        """Number of words of the longest sentence of either side, at least 1."""
        return int(max(np.diff(self.source_starts).max(initial=1), np.diff(self.target_starts).max(initial=1)))

    @property
    def bytes(self) -> int:
        """Memory use."""
        arrays = (self.source, self.target, self.cells, self.cell_starts, self.rows, self.columns)
        return sum(array.nbytes for array in arrays)
