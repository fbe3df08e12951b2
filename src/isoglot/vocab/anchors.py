"""Anchor report: how many subwords and tokens two languages share, and which are true or false friends.

An *anchor* of two languages is an id that occurs at least ``at_least`` times in the text of each. This depends on the
amount of text, which the report states. Types are ids, tokens are occurrences.

A word that both languages have is a *true friend* if a dictionary translates it to itself (*table* in English and
French), and a *false friend* if the dictionary has it, but never with itself (*chat*, a talk and a cat). Words that are
not in the dictionary are neither. Case is ignored, as in MUSE.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, check_name
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.provenance import UsedDictionary, use_dictionary, without_words
from isoglot.vocab.shards import Shards
from isoglot.vocab.survey import text_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.vocab.vocabulary import Vocabulary

Friendship = Literal["true", "false"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Friends:
    """True and false friends of a language pair, by its dictionaries.

    Args:
        used: The dictionaries.
        words: All their words, of both languages.
        same: The words that are translated to themselves.
    """

    used: tuple[UsedDictionary, ...]
    words: frozenset[str]
    same: frozenset[str]

    @classmethod
    def read(cls, pair: Pair, paths: Sequence[str | Path]) -> Friends:
        """Read dictionaries from the first language of the pair to the second.

        Raises:
            InputError: A line is malformed.
            StorageError: A file cannot be read.
        """
        entries = {path: list(read_dictionary(path)) for path in paths}
        folded = {(one.source.casefold(), one.target.casefold()) for found in entries.values() for one in found}
        return cls(
            tuple(used for path, found in entries.items() for used in use_dictionary(*pair, path, found)),
            frozenset(word for both in folded for word in both),
            frozenset(source for source, target in folded if source == target),
        )

    def judge(self, word: str) -> Friendship | None:
        """Whether a word of both languages is a true friend, a false friend or neither."""
        word = word.casefold()
        if word in self.same:
            return "true"
        return "false" if word in self.words else None


def read_friends(dictionaries: Mapping[Pair, Sequence[str | Path]], languages: Collection[str]) -> dict[Pair, Friends]:
    """Read the dictionaries of language pairs, in either order.

    Raises:
        ConfigError: A pair has another language.
    """
    found: dict[Pair, Friends] = {}
    for (first, second), paths in dictionaries.items():
        for code in (first, second):
            check_name(f"language of the dictionary {first}-{second}", code, languages)
        found[first, second] = found[second, first] = Friends.read((first, second), paths)
    return found


BANDS = (100, 1_000, 10_000)  # the last rank of each frequency band; the last band is open


@dataclass(frozen=True)
class Band:
    """Frequency band of types; the most frequent type has rank 1."""

    first: int
    last: int
    types: int
    anchors: int
    tokens: dict[str, float]  # for each language, the share of all its tokens that are anchors of this band


@dataclass(frozen=True)
class Friend:
    """Word of both languages, with its occurrences in each."""

    word: str
    tokens: dict[str, int]


@dataclass(frozen=True)
class PairAnchors:
    """Anchors of a language pair."""

    languages: tuple[str, str]
    types: dict[str, int]  # types that each language uses
    anchors: int
    tokens: dict[str, float]  # for each language, the share of its tokens that are anchors
    bands: tuple[Band, ...]
    friends: dict[str, int]  # numbers of true and false friends among the anchors; empty without a dictionary
    true_friends: tuple[Friend, ...]
    false_friends: tuple[Friend, ...]
    top: tuple[Friend, ...]  # the most frequent anchors, as subwords


@dataclass(frozen=True)
class AnchorReport:
    """Anchors of all language pairs, and the text they were counted in."""

    vocabulary: str
    mode: str
    size: int
    at_least: int
    tokens: dict[str, int]  # number of tokens counted, by language
    sampled: dict[str, int]  # for counts of the vocabulary: one of every N lines of a language was counted
    dictionaries: tuple[dict[str, Any], ...]
    pairs: tuple[PairAnchors, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)

    def looked_at(self) -> str:
        """A description of the text that was counted."""
        found = []
        for code, tokens in self.tokens.items():
            lines = self.sampled.get(code, 1)
            found.append(f"{tokens:,} tokens of {code}" + (f" (a sample: one line of {lines})" if lines > 1 else ""))
        return f"Counted in {' and '.join(found)}"


def anchor_report(
    vocabulary: Vocabulary,
    counts: Mapping[str, np.ndarray] | None = None,
    *,
    dictionaries: Mapping[Pair, Sequence[str | Path]] | None = None,
    at_least: int = 1,
    top: int = 20,
) -> AnchorReport:
    """Measure the anchors of languages.

    Args:
        vocabulary: The vocabulary.
        counts: The count of each id in each language (V each), as ``Shards.counts`` returns it. Default: the counts of
            the vocabulary, from a sample of its training text.
        dictionaries: Dictionaries of language pairs in the MUSE layout, for true and false friends.
        at_least: Minimum count of an anchor in each language.
        top: Number of examples.

    Returns:
        Shared subwords of every pair of languages, and the share of tokens they cover.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = {code: Path(folder) / f"{code}.txt" for code in ("en", "de")}
    ...     _ = files["en"].write_text("the radio is old " * 20, encoding="utf-8")
    ...     _ = files["de"].write_text("das Radio ist alt, das radio " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({code: [file] for code, file in files.items()}, mode="joint", size=400)
    >>> report = anchor_report(vocabulary)
    >>> list(report.tokens), len(report.pairs)
    (['en', 'de'], 1)

    Raises:
        ConfigError: There are counts of fewer than two languages.
        InputError: A dictionary is malformed.
    """
    sampled: dict[str, int] = {}
    if counts is None:
        sampled = {code: one["every"] for code, one in vocabulary.sampled.items()}
        known = {code: vocabulary.counts(code) for code in vocabulary.languages}
        counts = {code: found for code, found in known.items() if found is not None}
    if len(counts) < 2:
        problem = f"counts of {counted(len(counts), 'languages')}, where a pair takes two"
        raise ConfigError(problem, "name text or shards of at least two languages", "other-language")
    friends = read_friends(dictionaries or {}, counts)
    ordinary = _ordinary(vocabulary, counts)
    pairs = [
        _pair(vocabulary, (first, second), ordinary, friends.get((first, second)), at_least, top)
        for first, second in combinations(ordinary, 2)
    ]
    judges = dict.fromkeys(friends.values())
    return AnchorReport(
        vocabulary=vocabulary.hash,
        mode=vocabulary.mode,
        size=len(vocabulary),
        at_least=at_least,
        tokens={code: int(count.sum()) for code, count in ordinary.items()},
        sampled=sampled,
        dictionaries=tuple(without_words(used for found in judges for used in found.used)),
        pairs=tuple(pairs),
    )


def _ordinary(vocabulary: Vocabulary, counts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The counts without special tokens."""
    import numpy as np

    ordinary = {}
    for code, count in counts.items():
        ordinary[code] = np.array(count, dtype=np.int64)
        ordinary[code][list(vocabulary.special.values())] = 0
        if not ordinary[code].any():
            raise ConfigError(f"no tokens of {code}", "name text of that language", "missing-data")
    return ordinary


def _pair(
    vocabulary: Vocabulary,
    pair: Pair,
    counts: Mapping[str, np.ndarray],
    friends: Friends | None,
    at_least: int,
    top: int,
) -> PairAnchors:
    import numpy as np

    both = [counts[code] for code in pair]
    shares = [count / count.sum() for count in both]
    frequency = shares[0] + shares[1]
    used = np.flatnonzero(frequency)
    ranked = used[np.lexsort((used, -frequency[used]))]  # ties by id
    shared = (both[0] >= at_least) & (both[1] >= at_least)
    edges = [0, *(edge for edge in BANDS if edge < len(ranked)), len(ranked)]
    bands = []
    for first, last in pairwise(edges):
        ids = ranked[first:last]
        anchors = ids[shared[ids]]
        tokens = {code: float(share[anchors].sum()) for code, share in zip(pair, shares, strict=True)}
        bands.append(Band(first + 1, last, len(ids), len(anchors), tokens))
    best = ranked[shared[ranked]]
    judged: dict[str, list[int]] = {"true": [], "false": []}
    if friends is not None:
        rarer = np.minimum(*shares)  # a friend counts as often as both languages use it
        for index in best[np.argsort(-rarer[best], kind="stable")].tolist():
            word = vocabulary.word(index)
            if word is not None and (verdict := friends.judge(word)) is not None:
                judged[verdict].append(index)

    def example(index: int, text: str) -> Friend:
        return Friend(text, {code: int(count[index]) for code, count in zip(pair, both, strict=True)})

    return PairAnchors(
        languages=pair,
        types={code: int((count >= at_least).sum()) for code, count in zip(pair, both, strict=True)},
        anchors=len(best),
        tokens={code: float(share[best].sum()) for code, share in zip(pair, shares, strict=True)},
        bands=tuple(bands),
        friends={} if friends is None else {verdict: len(found) for verdict, found in judged.items()},
        true_friends=tuple(example(index, vocabulary.word(index) or "") for index in judged["true"][:top]),
        false_friends=tuple(example(index, vocabulary.word(index) or "") for index in judged["false"][:top]),
        top=tuple(example(index, vocabulary.pieces[index]) for index in best[:top].tolist()),
    )


def count_shards(vocabulary: Vocabulary, language: str, folders: Sequence[str | Path]) -> np.ndarray:
    """Count the ids of shards of a language (V).

    Raises:
        ConfigError: They are of another language or were made with another vocabulary.
        CorruptFileError: A file has another size than when it was written.
    """
    opened = [Shards.open(folder, check="sizes") for folder in folders]
    for shards in opened:
        shards.check_vocabulary(vocabulary)
        if shards.language != language:
            problem = f"the shards in {shards.folder} are {shards.language}, not {language}"
            raise ConfigError(problem, "name their own language", "other-language")
    total: np.ndarray = sum(shards.counts() for shards in opened)  # type: ignore[assignment]
    return total


def count_tokens(
    vocabulary: Vocabulary, language: str, paths: Sequence[str | Path], *, progress: Progress = SILENT
) -> np.ndarray:
    """Count the ids of a text (V), without writing shards."""
    import numpy as np

    encoder = vocabulary.line_encoder(language)
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    source = text_lines(paths)
    with progress.task(f"{language}: counting", total=None, unit="lines") as task:
        while block := list(islice(source, 20_000)):
            ids = np.frombuffer(b"".join(encoder.encode(block)), encoder.dtype)
            counts += np.bincount(ids, minlength=len(counts))
            task.advance(len(block))
    return counts
