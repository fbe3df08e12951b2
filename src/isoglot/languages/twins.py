"""Twins: artificial languages that differ from a real one in one known way, with gold word alignment.

``shift`` is the same text in a private script, so that no characters are shared (the fake language of K et al., 2020).
``order`` has the same words in another order, by a degree from 0 to 1 or by a rule. ``frequency`` keeps only the word
frequencies.

>>> list(twin([["The", "cat", "sees", "me", "."]], "order"))
[Twin(tokens=['me', 'sees', 'cat', 'The', '.'], alignment=[(0, 3), (1, 2), (2, 1), (3, 0), (4, 4)])]
>>> [unshift(token) for token in next(twin([["The", "cat"]], "shift")).tokens]
['The', 'cat']
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from isoglot.core.errors import ConfigError, InputError, check_name, check_range, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import LARGEST_SEED, derive_seed, random_stream
from isoglot.text.cleaning.segmentation import segmenter, word_method
from isoglot.text.formats.lines import Skip, line_writer
from isoglot.text.provenance import Provenance, derived, merged
from isoglot.text.stream import RewriteReport, read_stream, stream_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Kind = Literal["shift", "order", "frequency"]
Order = Literal["blend", "verb-last", "head-final", "reversed", "permuted"]

# a subtag of a language code has at most 8 letters
_SUBTAGS = {"shift": "shift", "order": "order", "frequency": "freq"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """Tokens with their tree, for orders that need one."""

    tokens: Sequence[str]
    heads: Sequence[int]
    """Positions from 1; 0 is the root."""
    tags: Sequence[str] = ()
    """Universal part-of-speech tags."""


@dataclass(frozen=True, slots=True)
class Twin:
    """Sentence of a twin, aligned to the original."""

    tokens: list[str]
    # (position in the original, position in the twin), from 0; empty if nothing corresponds
    alignment: list[tuple[int, int]]


def twin(
    sentences: Iterable[Sequence[str] | Parsed],
    kind: Kind,
    *,
    degree: float = 1.0,
    order: Order = "blend",
    counts: Mapping[str, int] | None = None,
    kept: float = 0.0,
    seed: int = 0,
) -> Iterator[Twin]:
    """Convert sentences to those of a twin.

    Args:
        sentences: Lists of tokens; some orders need trees.
        kind: ``shift``, ``order`` or ``frequency``.
        degree: For ``blend``: the expected share of word pairs in reverse order. 0 changes nothing, 1 reverses the
            sentence. The share of each sentence grows monotonically with the degree.
        order: ``blend``; ``reversed``; ``permuted``, at random; ``head-final``, every head after its dependents;
            ``verb-last``, only verbs after theirs, and a copula after its predicate. Punctuation at the end of a
            sentence stays there in each of them.
        counts: For ``frequency``: relative frequencies of tokens. Default: counted in a first pass over the sentences.
        kept: For ``shift``: the share of word types that stay as they are (anchors). It is decided per word type,
            ignoring case; a word kept at one share is kept at every larger one.
        seed: Random seed of permutations, resampled tokens and kept words. The order of a sentence depends on the seed
            and its words only.

    Returns:
        One twin for each sentence.

    >>> [len(each.tokens) for each in twin([["he", "sleeps"]], "shift")]
    [2]

    Raises:
        ConfigError: The kind, order or degree is invalid, or an order needs trees.
        InputError: The heads of a sentence form no tree.
    """
    _check_options(kind, degree, order, counts, kept)
    if kind == "shift":
        return (_shifted(_tokens(sentence), kept, seed) for sentence in sentences)
    if kind == "order":
        return (_ordered(sentence, order, degree, seed) for sentence in sentences)
    if counts is None:
        if iter(sentences) is sentences:
            problem = "frequency needs to read the sentences twice, and an iterator can be read once"
            raise ConfigError(problem, "give a list of sentences, or counts", "not-supported")
        counts = Counter(token for sentence in sentences for token in _tokens(sentence))
    return _resampled(sentences, counts, seed)


def twin_code(language: str, kind: Kind) -> str:
    """The language code of a twin: a private-use tag of the original language.

    Args:
        language: Code of the original language.
        kind: What differs.

    Returns:
        A BCP-47 code.

    >>> twin_code("eng", "shift"), twin_code("de", "frequency"), twin_code("en-x-shift", "order")
    ('en-x-shift', 'de-x-freq', 'en-x-shift-order')

    Raises:
        ConfigError: The language or kind is unknown.
    """
    check_name("kind of twin", kind, _SUBTAGS)
    code = language_code(language)
    return language_code(f"{code}-{_SUBTAGS[kind]}" if "-x-" in code else f"{code}-x-{_SUBTAGS[kind]}")


def as_twin(words: Sequence[str], tags: Iterable[str]) -> list[str]:
    """Convert words to those of a twin by its tags, in order, such as those of ``en-x-shift-order``.

    >>> [unshift(word) for word in as_twin(["The", "cat", "."], ["order", "shift"])]
    ['cat', 'The', '.']

    Raises:
        ConfigError: A tag is not ``shift`` or ``order``: other twins have no word alignment.
    """
    found = list(words)
    for tag in tags:
        check_name("twin with the same meaning", tag, ("shift", "order"))
        found = next(twin([found], cast("Kind", tag))).tokens
    return found


def _check_options(kind: str, degree: float, order: str, counts: Mapping[str, int] | None, kept: float) -> None:
    check_name("kind of twin", kind, _SUBTAGS)
    check_name("order", order, get_args(Order))
    check_range("degree", degree, 0, 1)
    check_range("kept", kept, 0, 1)
    for option, given, belongs in (
        ("order", order != "blend", kind == "order"),
        ("degree", degree != 1, kind == "order" and order == "blend"),
        ("kept", kept, kind == "shift"),
        ("counts", counts is not None, kind == "frequency"),
    ):
        if given and not belongs:
            problem = f"the kind {kind} with order {order} has no {option}"
            raise ConfigError(problem, f"leave {option} out, or choose another kind or order", "conflicting-options")
    if counts and (min(counts.values()) < 0 or not any(counts.values())):
        problem = f"counts go down to {min(counts.values())}"
        raise ConfigError(problem, "give counts of 0 or more, not all 0", "invalid-value")


def _tokens(sentence: Sequence[str] | Parsed) -> Sequence[str]:
    tokens = sentence.tokens if isinstance(sentence, Parsed) else sentence
    if isinstance(tokens, str):
        raise ConfigError(f"{shown(tokens)} is not a list of tokens", "split it into words first", "invalid-value")
    return tokens


# --- shift: the private script ---
#
# U+0000..FFFF map to plane 15, U+10000..1FFFF to plane 16, both private use. The rest (mostly rare Chinese characters)
# maps to two characters of the private use area below U+F900, like surrogates in UTF-16. So the mapping is injective
# and its result has no character of a real script.

_BASIC, _SUPPLEMENT = 0xF0000, 0x100000
_LEAD, _TRAIL, _TRAIL_END = 0xE000, 0xE100, 0xF100


class _PrivateScript(dict[int, str]):
    """Mapping for ``str.translate``, computed on demand."""

    def __missing__(self, code: int) -> str:
        if code < 0x10000:
            private = chr(_BASIC + code)
        elif code < 0x20000:
            private = chr(_SUPPLEMENT + code - 0x10000)
        else:
            lead, trail = divmod(code - 0x20000, 0x1000)
            private = chr(_LEAD + lead) + chr(_TRAIL + trail)
        self[code] = private
        return private


_PRIVATE_SCRIPT = _PrivateScript()


def shift(text: str) -> str:
    """Convert text to the private script, character by character, including blanks and punctuation.

    Private-use characters have the category ``Co``: tokenizers that remove the categories ``C``, like Hugging Face's
    for BERT, remove them all.

    >>> [hex(ord(character)) for character in shift("Aa")]
    ['0xf0041', '0xf0061']
    """
    return text.translate(_PRIVATE_SCRIPT)


def unshift(text: str) -> str:
    """Invert :func:`shift`.

    Raises:
        InputError: The text is not in the private script.
    """
    characters = []
    codes = iter(map(ord, text))
    for code in codes:
        if code >= _SUPPLEMENT:
            characters.append(chr(code - _SUPPLEMENT + 0x10000))
        elif code >= _BASIC:
            characters.append(chr(code - _BASIC))
        else:
            trail = next(codes, 0) if _LEAD <= code < _LEAD + 0xF0 else 0
            if not _TRAIL <= trail < _TRAIL_END:
                problem = f"{shown(text)} is not in the private script"
                raise InputError(problem, "give what shift returned, whole", "malformed-line")
            characters.append(chr(0x20000 + (code - _LEAD) * 0x1000 + trail - _TRAIL))
    return "".join(characters)


def _shifted(tokens: Sequence[str], kept: float, seed: int) -> Twin:
    forms = [token if kept and _place(token.lower(), seed) < kept else shift(token) for token in tokens]
    return Twin(forms, [(i, i) for i in range(len(tokens))])


@lru_cache(maxsize=1 << 16)
def _place(word: str, seed: int) -> float:
    """The rank of a word, from 0 to 1, among those that may be kept."""
    return derive_seed(seed, "twin", "kept", word) / (LARGEST_SEED + 1)


# --- order ---


def _ordered(sentence: Sequence[str] | Parsed, order: Order, degree: float, seed: int) -> Twin:
    tokens = _tokens(sentence)
    size = len(tokens)
    while size and _is_punctuation(tokens[size - 1]):
        size -= 1  # final punctuation is not moved
    if order == "blend":
        draws = random_stream(seed, "twin", "blend", *tokens).random(size).tolist() if 0 < degree < 1 else []
        sources = _blend(size, degree, draws)
    elif order == "reversed":
        sources = list(range(size))[::-1]
    elif order == "permuted":
        sources = random_stream(seed, "twin", "permuted", *tokens).permutation(size).tolist()
    else:
        sources = _linearize(sentence, size, order)
    sources += range(size, len(tokens))
    return Twin([tokens[source] for source in sources], sorted((source, place) for place, source in enumerate(sources)))


def _is_punctuation(token: str) -> bool:
    return bool(token) and all(unicodedata.category(character).startswith("P") for character in token)


def _blend(size: int, degree: float, draws: Sequence[float]) -> list[int]:
    """Mallows' model by repeated insertion: the maximum-entropy model of an expected Kendall tau distance.

    Each position jumps back over some of those before it; the number is drawn from a truncated geometric distribution.
    With the same draws, a larger degree makes every jump at least as long, so the distance grows with the degree in
    every sentence.
    """
    if degree == 0:
        return list(range(size))
    if degree > 0.5:  # the mirror image: a jump over the rest
        mirrored = _jumps(size, 1 - degree, [1 - draw for draw in draws])
        jumps = [position - jump for position, jump in enumerate(mirrored)]
    else:
        jumps = _jumps(size, degree, draws)
    sources: list[int] = []
    for position, jump in enumerate(jumps):
        sources.insert(position - jump, position)
    return sources


def _jumps(size: int, degree: float, draws: Sequence[float]) -> list[int]:
    """The jump length of each position for a degree up to 1/2; ``draws`` are uniform from 0 to 1."""
    if degree == 0:
        return [0] * size
    decay = _decay(size, degree)
    jumps = []
    for position, draw in enumerate(draws):
        if decay:  # inverse of the truncated distribution function 1 - exp(-decay * jumps)
            jump = int(-math.log1p(draw * math.expm1(-decay * (position + 1))) / decay)
        else:
            jump = int(draw * (position + 1))
        jumps.append(min(jump, position))
    return jumps


@lru_cache(maxsize=4096)
def _decay(size: int, degree: float) -> float:
    """The decay of jump lengths for which the expected share of reversed pairs is the degree; 0 gives 1/2."""
    wanted = degree * size * (size - 1) / 2
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        if _expected_inversions(size, middle) > wanted:
            low = middle
        else:
            high = middle
    return high if high > 1e-6 else 0.0  # below that, rounding errors dominate


def _expected_inversions(size: int, decay: float) -> float:
    total = (size - 1) / math.expm1(decay)
    for length in range(2, size + 1):
        total += length * math.exp(-decay * length) / math.expm1(-decay * length)
    return total


def _linearize(sentence: Sequence[str] | Parsed, size: int, order: Order) -> list[int]:
    """The first ``size`` positions in the order of their tree, each with its dependents around it."""
    if not isinstance(sentence, Parsed):
        problem = f"the order {order} needs trees"
        raise ConfigError(problem, "give Parsed(tokens, heads, tags) for each sentence", "not-supported")
    if order == "verb-last" and len(sentence.tags) != len(sentence.tokens):
        raise ConfigError(
            f"the order verb-last needs a tag for each of {len(sentence.tokens)} tokens and has {len(sentence.tags)}",
            "give Parsed(tokens, heads, tags) with universal part-of-speech tags",
            "not-supported",
        )
    dependents = _dependents(sentence, size)
    sources: list[int] = []
    # a stack instead of recursion, for deep trees; True marks a word to be output
    stack = [(root, False) for root in reversed(dependents[0])]
    while stack:
        position, ready = stack.pop()
        below = dependents[position]
        if ready or not below:
            sources.append(position - 1)
            continue
        if order == "head-final" or sentence.tags[position - 1] == "VERB":
            parts = [(dependent, False) for dependent in below]
            parts.append((position, True))
        else:
            parts = sorted([(position, True), *((dependent, False) for dependent in below)])
            parts.sort(key=lambda part: sentence.tags[part[0] - 1] == "AUX")  # a copula follows its predicate
        stack.extend(reversed(parts))
    return sources


def _dependents(sentence: Parsed, size: int) -> list[list[int]]:
    """The dependents of each of the first ``size`` positions, from 1; those of 0 are the roots.

    Dependents of final punctuation are attached to its head.
    """
    heads = sentence.heads
    if len(heads) != len(sentence.tokens) or not all(0 <= head <= len(heads) for head in heads):
        problem = f"the heads {shown(list(heads))} of {len(sentence.tokens)} tokens"
        remedy = "give each token the position of its head, from 1, or 0 for the root"
        raise InputError(problem, remedy, "malformed-tree")
    dependents: list[list[int]] = [[] for _ in range(size + 1)]
    for position in range(1, size + 1):
        head = heads[position - 1]
        steps = 0
        while head > size and steps <= len(heads):
            head = heads[head - 1]
            steps += 1
        if head > size:
            break  # a cycle within the final punctuation, reported below
        dependents[head].append(position)
    reached = list(dependents[0])
    for position in reached:  # grows while iterating
        reached.extend(dependents[position])
    if len(reached) != size:
        problem = f"the heads {shown(list(heads))} have a cycle"
        raise InputError(problem, "attach every token to the root, directly or indirectly", "malformed-tree")
    return dependents


# --- frequency ---


def _resampled(sentences: Iterable[Sequence[str] | Parsed], counts: Mapping[str, int], seed: int) -> Iterator[Twin]:
    import numpy as np

    words = sorted(counts)
    bounds_V = np.cumsum([counts[word] for word in words])
    # one generator for the whole text, so that repeated sentences are resampled differently
    stream = random_stream(seed, "twin", "frequency")
    for sentence in sentences:
        size = len(_tokens(sentence))
        if size and not words:
            problem = "there are no counts to draw tokens from"
            raise ConfigError(problem, "leave counts out, or give some", "missing-data")
        draws_T = stream.integers(bounds_V[-1], size=size) if size else ()
        yield Twin([words[i] for i in np.searchsorted(bounds_V, draws_T, side="right")], [])


def twin_files(
    paths: Sequence[str | Path],
    target: str | Path,
    language: str,
    kind: Kind,
    *,
    degree: float = 1.0,
    order: Order = "blend",
    kept: float = 0.0,
    alignment: str | Path | None = None,
    seed: int = 0,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> RewriteReport:
    """Write the twin of a text, with one blank between words and blank lines between documents.

    Args:
        paths: The files of the text.
        target: The file of the twin.
        language: The language of the text, for word segmentation.
        kind: As for :func:`twin`, like ``degree``, ``order``, ``kept`` and ``seed``.
        degree: Distance of the word order.
        order: The order; those that need trees are not available for plain text.
        kept: The share of word types that stay as they are.
        alignment: File for the word alignment in the Pharaoh format, one line per line of the twin.
        seed: Random seed.
        skip: Tolerance for malformed lines. Default: raise at the first.
        progress: Progress reporter.

    Raises:
        CorruptFileError: A file has changed since its record was written.
        ConfigError: The kind, order, degree or share is invalid, or the order needs trees.
        InputError: A line is not UTF-8 text.
        StorageError: A file cannot be read or written.
    """
    report = RewriteReport()
    provenance = _twin_provenance(paths, language, kind, degree=degree, order=order, kept=kept, seed=seed)
    split = segmenter(language, word_method(language))
    counts = None
    if kind == "frequency":
        first = read_stream(paths, skip=None if skip is None else Skip(skip.allowed))
        counts = Counter(word for line in first for word in split(line))
    sentences = (split(line) for line in read_stream(paths, skip=skip))
    twins = twin(sentences, kind, degree=degree, order=order, kept=kept, counts=counts, seed=seed)
    with (
        stream_writer(target, provenance) as writer,
        nullcontext() if alignment is None else line_writer(alignment) as links,
        progress.task(f"twin {language}", total=None, unit="lines") as task,
    ):
        for other in twins:  # a line without words ends a document
            writer.write(" ".join(other.tokens))
            report.words += len(other.tokens)
            if links is not None and other.tokens:
                links.write(" ".join(f"{source}-{place}" for source, place in other.alignment))
            task.advance()
    report.lines = report.written = writer.lines
    report.documents = writer.documents
    report.skipped = 0 if skip is None else skip.count
    return report


def write_twins(
    texts: Mapping[str, Sequence[Path]],
    folder: Path,
    kind: Kind,
    *,
    skip_bad: int = 0,
    progress: Progress = SILENT,
    **options: Any,  # noqa: ANN401 - those of twin_files
) -> dict[str, RewriteReport]:
    """Write the twin of each text, and its word alignment unless words are at random; returns reports by twin.

    Args:
        texts: Files of each language.
        folder: Where ``CODE.txt`` and ``CODE.align`` go, with the code of the twin.
        kind: As for :func:`twin`.
        skip_bad: Number of malformed lines of a language that are skipped.
        progress: Progress reporter.
        **options: Degree, share of words kept, and seed, as for :func:`twin_files`.

    Raises:
        ConfigError: As for :func:`twin_files`, like the other errors.
    """
    reports = {}
    for language, paths in texts.items():
        code = twin_code(language, kind)
        how = {**options, "alignment": None if kind == "frequency" else folder / f"{code}.align"}
        skip = Skip(skip_bad)
        reports[code] = twin_files(paths, folder / f"{code}.txt", language, kind, skip=skip, progress=progress, **how)
    return reports


def _twin_provenance(
    paths: Sequence[str | Path], language: str, kind: Kind, *, degree: float, order: Order, kept: float, seed: int
) -> Provenance:
    """The provenance of the text; its dictionaries also count for the twin, with the words converted."""
    options = {"degree": degree, "order": order, "kept": kept, "seed": seed}
    step = {"step": "twin", "language": language_code(language), "kind": kind, "words_by": word_method(language)}
    found = derived(paths, step | options)

    def words_of_twin(words: Iterable[str]) -> frozenset[str]:
        if kind != "shift":
            return frozenset(words)
        return frozenset(one.tokens[0] for one in twin(([word] for word in words), kind, kept=kept, seed=seed))

    of_twin = [
        replace(
            used,
            source=twin_code(used.source, kind),
            target=twin_code(used.target, kind),
            source_words=words_of_twin(used.source_words),
            target_words=words_of_twin(used.target_words),
        )
        for used in found.dictionaries
    ]
    return merged([found], of_twin)
