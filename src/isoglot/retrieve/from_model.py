"""Vectors of an encoder for retrieval: of sentences, of words in contexts, or rows of its embedding matrix.

Also scores words of one or more models by dictionaries, on the same entries and among the same candidates.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT, counted
from isoglot.model.static_table import TableEncoder
from isoglot.represent import embedding_rows, extract, frequent_words, word_types
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.retrieve.dictionaries import entries_found, entry_sides, same_words, score_dictionary, words_by_language
from isoglot.retrieve.estimates import OtherText
from isoglot.retrieve.layer_scores import VectorSet
from isoglot.static.vectors_of_words import own_words, word_vectors
from isoglot.text.cleaning.processing import check_as_written
from isoglot.text.cleaning.segmentation import split_words, word_method
from isoglot.text.formats.plain import read_sentence_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.retrieve.layer_scores import PairScores
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.text.formats.dictionary import Entry

OTHER_SENTENCES = 2000
"""Maximum number of sentences of other text for a mean."""
Layers = Literal["all"] | list[int]
Pool = Literal["mean", "first", "model"]
"""A sentence is the mean of its subwords, its first token, or the model's own sentence vector."""
Case = Literal["auto", "keep", "lower"]
"""Compare words of a text with the dictionary's as they are or in lower case; ``auto`` takes lower case for a language
whose dictionary has no capitals, as MUSE's.
"""
MOST_WORDS = 50_000
"""Default maximum number of words of a text: all their layers are held in memory."""
MOST_ROWS = 200_000
"""Default maximum number of single-subword words: MUSE's."""


def sentence_sides(
    encoder: EncoderLike,
    parallel: ParallelSet,
    *,
    layers: Layers = "all",
    pool: Pool | None = None,
    name: str = "",
    known: Mapping[str, VectorSet] | None = None,
    progress: Progress = SILENT,
) -> dict[str, VectorSet]:
    """Vectors of a parallel set by language, each language encoded once.

    Args:
        encoder: Any encoder.
        parallel: The set.
        layers: Layer numbers, or ``all``.
        pool: Sentence pooling. Default: the model's own if it has one, else the mean of the subwords.
        name: Name of the encoder.
        known: Result for another set with the same options: languages with the same sentences are reused.
        progress: Progress in sentences.

    Raises:
        ConfigError: The encoder does not have that language or layer.
        InputError: A hidden state is not finite.
    """
    sides = {}
    for code, sentences in parallel.sentences.items():
        before = None if known is None else known.get(code)
        if before is not None and (before.items, before.numbers) == (sentences, parallel.numbers):
            sides[code] = before
            continue
        found = extract(encoder, sentences, layers=layers, pool=pool, language=code, name=name, progress=progress)
        layers_of, numbers = _by_layer(found), parallel.numbers
        sides[code] = VectorSet(name=code, layers=layers_of, items=sentences, numbers=numbers, header=found.header)
    return sides


def other_text(
    encoder: EncoderLike,
    texts: Mapping[str, Sequence[Path]],
    *,
    layers: Layers = "all",
    pool: Pool = "mean",
    limit: int = OTHER_SENTENCES,
    progress: Progress = SILENT,
) -> dict[str, dict[int | None, OtherText]]:
    """Means and vectors of sentences from other text than the test's, by language and layer.

    Args:
        encoder: Any encoder.
        texts: Files of each language, one sentence per line; blank lines are skipped.
        layers: Layer numbers, or ``all``.
        pool: Sentence pooling, the same as for the test.
        limit: Maximum number of sentences per language.
        progress: Progress in sentences.

    Raises:
        ConfigError: The encoder does not have that language or layer.
        InputError: There is no text.
    """
    found = {}
    for code, paths in texts.items():
        sentences = list(islice((line for path in paths for line in _lines(path, None)), limit))
        if not sentences:
            raise InputError(
                "no sentences", remedy="give text with one sentence per line", code="input.empty", file=paths[0]
            )
        by_layer = _by_layer(extract(encoder, sentences, layers=layers, pool=pool, language=code, progress=progress))
        found[code] = {
            layer: OtherText(rows_ND.mean(axis=0, dtype="float64"), rows_ND) for layer, rows_ND in by_layer.items()
        }
    return found


def context_side(
    encoder: EncoderLike,
    texts: Sequence[Path],
    words: Sequence[str],
    language: str,
    *,
    layers: Layers = "all",
    case: Case = "auto",
    contexts: int | None = None,
    limit: int | None = None,
    vocabulary: int = MOST_WORDS,
    name: str = "",
    progress: Progress = SILENT,
) -> VectorSet:
    """Words of texts as means over their contexts; texts are segmented as dictionaries are.

    Args:
        encoder: Any encoder; static vectors have layer 0 only, whatever ``layers`` says.
        texts: Files with one sentence per line; blank lines are skipped.
        words: Words of the dictionaries, included however rare they are.
        language: Language of the texts.
        layers: ``all``, or layer numbers.
        case: How words are compared.
        contexts: Maximum number of sentences per word.
        limit: Maximum number of lines per file.
        vocabulary: Number of further words, the most frequent of the texts.
        name: Name of the encoder.
        progress: Progress in sentences.

    Raises:
        InputError: There is no text.
        MissingPartError: Segmenting the language needs a library that is not installed.
    """
    compared: Literal["keep", "lower"] = "lower" if case == "lower" else "keep"
    if case == "auto":
        compared = "lower" if all(word == word.lower() for word in words) else "keep"
    method = word_method(language)
    lines = (line for path in texts for line in _lines(path, limit))
    sentences = [cut for line in lines if (cut := split_words(line, language, method))]
    if not sentences:
        raise InputError(
            "no sentences", remedy="give text with one sentence per line", code="input.empty", file=texts[0]
        )
    frequent = frequent_words(sentences, vocabulary, case=compared)
    try:
        found = word_types(
            encoder,
            sentences,
            list(dict.fromkeys([*frequent, *words])),
            layers=[0] if encoder.depth == 0 else layers,
            case=compared,
            contexts=contexts,
            language=language,
            name=name,
            progress=progress,
        )
    except InputError as error:
        raise error.prefixed("", file=texts[0]) from error
    return _words_side(
        language, _by_layer(found), found.words or (), frequent, found.header, len(found.header["without_vector"])
    )


def embedding_side(
    encoder: EncoderLike, words: Sequence[str], language: str, *, vocabulary: int = MOST_ROWS
) -> VectorSet:
    """Words that are a single subword, as rows of the embedding matrix: the most frequent and the given ones.

    Raises:
        ConfigError: The encoder gives no access to its embedding matrix.
        InputError: No word is a single subword.
    """
    frequent = embedding_rows(encoder, None, language).words[:vocabulary]
    found = embedding_rows(encoder, list(dict.fromkeys([*frequent, *words])), language)
    header = {"encoder_sha256": encoder_hash(encoder), "language": language}
    return _words_side(language, {None: found.vectors_ND}, found.words, frequent, header).with_vectors()


def static_side(table: TableEncoder, words: Sequence[str], language: str, *, vocabulary: int = MOST_ROWS) -> VectorSet:
    """Words of static vectors, which need no text: the language's single-subword words and the given ones.

    A word of several subwords is the mean of those that have a vector; given words without any are counted.

    Raises:
        InputError: No word has a vector.
    """
    frequent = own_words(table, language)[:vocabulary]
    asked = list(dict.fromkeys([*frequent, *words]))
    found = word_vectors(table, asked, language)
    header = {"encoder_sha256": encoder_hash(table), "language": language}
    without = len(asked) - len(found.words)
    return _words_side(language, {0: found.matrix_ND}, found.words, frequent, header, without).with_vectors()


def _words_side(
    language: str,
    layers: dict[int | None, np.ndarray],
    words: Sequence[str],
    frequent: Sequence[str],
    header: Mapping[str, Any],
    without_vector: int = 0,
) -> VectorSet:
    vocabulary = set(frequent)
    return VectorSet(
        name=language,
        layers=layers,
        items=words,
        header=header,
        frequent=sum(word in vocabulary for word in words),
        without_vector=without_vector,
    )


def _by_layer(found: Representations) -> dict[int | None, np.ndarray]:
    return {layer: found[layer] for layer in found.layers}


def _lines(path: Path, limit: int | None) -> Iterator[str]:
    check_as_written(path)
    return islice((line for _, line in read_sentence_lines(path) if line.strip()), limit)


Pair = tuple[str, str]


class WordLookup(NamedTuple):
    """How a model's word vectors are obtained.

    Attributes:
        words_as: ``contexts``: mean over the contexts of a text; for static vectors without a text, the mean of the
            subwords. ``embeddings``: rows of the embedding matrix, for single-subword words.
        layers: Layers of contexts.
        case: How words of a text are compared with the dictionaries'.
        contexts: Maximum number of sentences per word.
        limit: Maximum number of lines per text.
        vocabulary: Maximum number of words beside the dictionaries'; None: the default.
    """

    words_as: Literal["contexts", "embeddings"] = "contexts"
    layers: Layers = "all"
    case: Case = "auto"
    contexts: int | None = None
    limit: int | None = None
    vocabulary: int | None = None

    def side(
        self,
        encoder: EncoderLike,
        words: Sequence[str],
        language: str,
        texts: Sequence[Path] = (),
        *,
        name: str = "",
        progress: Progress = SILENT,
    ) -> VectorSet:
        """Words of one language: its vocabulary and those of the dictionaries.

        Raises:
            ConfigError: An encoder needs text for the contexts, or gives no access to its embedding matrix.
            InputError: No word has a vector.
        """
        if self.words_as == "embeddings":
            return embedding_side(encoder, words, language, vocabulary=self.vocabulary or MOST_ROWS)
        if not texts and isinstance(encoder, TableEncoder):
            return static_side(encoder, words, language, vocabulary=self.vocabulary or MOST_ROWS)
        if not texts:
            raise ConfigError(
                "--words-as contexts needs --text, unless all models are static vectors",
                remedy="name the text of both languages: --text en=a.txt --text fr=b.txt; or --words-as embeddings",
                code="config.missing-option",
            )
        return context_side(
            encoder,
            texts,
            words,
            language,
            layers=self.layers,
            case=self.case,
            contexts=self.contexts,
            limit=self.limit,
            vocabulary=self.vocabulary or MOST_WORDS,
            name=name,
            progress=progress,
        )


class SystemScores(NamedTuple):
    """Scores of every dictionary and model, and remarks on how they were made comparable."""

    pairs: tuple[PairScores, ...]
    facts: dict[str, Any]
    remarks: tuple[str, ...]


def score_systems(
    encoders: Mapping[str, EncoderLike],
    entries: Mapping[Pair, Sequence[Entry]],
    texts: Mapping[str, Sequence[Path]],
    lookup: WordLookup,
    *,
    names: Mapping[Pair, str],
    score: Callable[..., PairScores],
    change: Callable[[VectorSet, VectorSet], tuple[VectorSet, VectorSet]],
    progress: Progress = SILENT,
) -> SystemScores:
    """Score models by dictionaries; several models on the entries and candidates that all of them have.

    Args:
        encoders: Encoders and static vectors by name.
        entries: Correct pairs of each language pair.
        texts: Text of each language, for contexts.
        lookup: How vectors are obtained.
        names: Names of the dictionaries in messages.
        score: :func:`isoglot.retrieve.layer_scores.score_layers` with its options.
        change: Applied to the two sides first, such as a map.
        progress: Progress of each step.

    Raises:
        ConfigError: A model does not have what an option asks for.
        InputError: No entry has both words, or the models have no word in common.
    """
    wanted = words_by_language(entries)
    sides = {
        name: {
            code: lookup.side(encoder, words, code, texts.get(code, ()), name=name, progress=progress)
            for code, words in wanted.items()
        }
        for name, encoder in encoders.items()
    }
    found: list[PairScores] = []
    facts: dict[str, dict[str, int]] = {}
    remarks: list[str] = []
    for pair, rows in entries.items():
        systems = [entry_sides(sides[name], pair, rows) for name in encoders]
        of_each = {name: entries_found(system, rows) for name, system in zip(encoders, systems, strict=True)}
        systems = same_words(systems)
        for name, system in zip(encoders, systems, strict=True):
            scored = score_dictionary(*change(*system), rows, names[pair], score=score)
            found.append(replace(scored, model=name) if len(encoders) > 1 else scored)
        if len(encoders) > 1:
            facts["-".join(pair)] = of_each | {"in_all": entries_found(systems[0], rows)}
            each = ", ".join(f"{name} {count:,}" for name, count in of_each.items())
            common = counted(entries_found(systems[0], rows), "entries")
            remarks.append(f"{'-'.join(pair)}: all models are scored on the {common} that every one has ({each})")
    return SystemScores(tuple(found), {"entries_found": facts} if facts else {}, tuple(remarks))
