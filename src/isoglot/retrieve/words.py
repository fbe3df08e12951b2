"""Retrieval of word translations by encoders or from files of vectors, scored by dictionaries.

Several models are scored on the same entries and among the same candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.represent import embedding_rows, frequent_words, word_types
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.retrieve.dictionaries import (
    WORDS,
    entries_found,
    entry_sides,
    same_words,
    score_dictionary,
    words_by_language,
)
from isoglot.retrieve.layer_scores import PairScores, VectorSet
from isoglot.retrieve.leaks import KnownWords, LeakCheck, left_out, training_provenance
from isoglot.retrieve.results import Retrieval, spelling
from isoglot.retrieve.sentences import Layers, text_lines, unchanged
from isoglot.retrieve.vector_files import read_side, vectors_provenance
from isoglot.static.vectors_of_words import own_words, word_vectors
from isoglot.text.cleaning.segmentation import split_words, word_method
from isoglot.text.provenance import Provenance, merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import torch

    from isoglot.model import EncoderLike
    from isoglot.retrieve.evaluation import RetrievalConfig
    from isoglot.retrieve.sentences import Change
    from isoglot.text.formats.dictionary import Entry

Case = Literal["auto", "keep", "lower"]
"""Compare words of a text with the dictionary's as they are or in lower case; ``auto`` takes lower case for a language
whose dictionary has no capitals, as MUSE's.
"""
MOST_WORDS = 50_000
"""Default maximum number of words of a text: all their layers are held in memory."""
MOST_ROWS = 200_000
"""Default maximum number of single-subword words: MUSE's."""


@dataclass(frozen=True, kw_only=True)
class WordLookup:
    """How a model's word vectors are obtained.

    Attributes:
        words_as: ``contexts``: mean over the contexts of a text; for static vectors without a text, the mean of the
            subwords. ``embeddings``: rows of the embedding matrix, for single-subword words.
        layers: Layers of contexts.
        case: How words of a text are compared with the dictionaries'.
        contexts: Maximum number of sentences per word.
        limit: Maximum number of lines per text.
        vocabulary: Maximum number of words beside the dictionaries'; None: 50,000 words of a text, 200,000 rows.

    >>> lookup = WordLookup(words_as="embeddings", vocabulary=1000)
    >>> lookup.words_as, lookup.layers
    ('embeddings', 'all')
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
        if texts:
            return context_side(encoder, texts, words, language, self, name=name, progress=progress)
        if encoder.depth == 0:
            return static_side(encoder, words, language, vocabulary=self.vocabulary or MOST_ROWS)
        raise ConfigError(
            f"there is no {language} text for words in context, and the model is not a table of static vectors",
            "give text of both languages, or look words up as embeddings",
            "missing-option",
        )


def retrieve_words(
    encoders: Mapping[str, EncoderLike],
    dictionaries: Mapping[tuple[str, str], Sequence[Entry]],
    texts: Mapping[str, Sequence[Path]] | None = None,
    config: RetrievalConfig = WORDS,
    lookup: WordLookup | None = None,
    *,
    known_words: KnownWords = "refuse",
    training: Provenance | None = None,
    names: Mapping[tuple[str, str], str] | None = None,
    change: Change = unchanged,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Retrieval:
    """Search the translation of every word of dictionaries; several models on the entries and candidates all have.

    Args:
        encoders: Encoders and static vectors by name.
        dictionaries: Correct pairs of each language pair.
        texts: Text files of each language, for contexts.
        config: How to search and score. Default: among all words with vectors, as in MUSE.
        lookup: How vectors are obtained.
        known_words: What to do with words whose translations training was given.
        training: What else went into training, beside what the encoders have on record: maps, shards.
        names: Names of the dictionaries in messages.
        change: Applied to the two sides first, such as a map (:func:`isoglot.align.apply.map_sides`).
        device: Where to search.
        progress: Progress of each step.

    Returns:
        Scores of every model, pair of languages, layer and method.

    >>> import isoglot
    >>> from isoglot.text.formats.dictionary import Entry
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> entries = [Entry("house", "Haus"), Entry("water", "Wasser"), Entry("king", "König")]
    >>> lookup = WordLookup(words_as="embeddings", vocabulary=1000)
    >>> found = retrieve_words({"mini": encoder}, {("en", "de"): entries}, lookup=lookup, known_words="leave-out")
    >>> found.pairs[0].coverage.entries_found
    3

    Raises:
        ConfigError: A model does not have what an option asks for, or a language has no text.
        InputError: No entry has both words in every model, or training was given some of the words.
    """
    lookup, texts = lookup or WordLookup(), texts or {}
    names = names or {pair: "-".join(pair) for pair in dictionaries}
    for source, target in dictionaries:
        if source == target:
            remedy = "name two languages"
            raise ConfigError(f"{source}-{target} is one language", remedy, "other-language")
    for code in words_by_language(dictionaries) if texts else ():
        if code not in texts:
            remedy = f"give it, beside that of {', '.join(texts)}"
            raise ConfigError(f"there is no {code} text", remedy, "missing-data")
    check = LeakCheck(training_provenance(encoders.values(), others=[training or Provenance()]), known_words == "allow")
    leave_out = known_words == "leave-out"
    judged = {
        pair: check.judging(rows, pair[0], names[pair], leave_out=leave_out) for pair, rows in dictionaries.items()
    }
    words = words_by_language({pair: kept for pair, (kept, _) in judged.items()})
    sides = {
        name: {
            code: lookup.side(encoder, words[code], code, texts.get(code, ()), name=name, progress=progress)
            for code in words
        }
        for name, encoder in encoders.items()
    }
    pairs: list[PairScores] = []
    found: dict[str, dict[str, int]] = {}
    shared: list[str] = []
    for pair, (rows, _) in judged.items():
        systems = [entry_sides(sides[name], pair, rows) for name in encoders]
        of_each = {name: entries_found(system, rows) for name, system in zip(encoders, systems, strict=True)}
        systems = same_words(systems)
        for name, system in zip(encoders, systems, strict=True):
            scored = score_dictionary(
                *change(*system), rows, names[pair], config=config, device=device, progress=progress
            )
            pairs.append(replace(scored, model=name) if len(encoders) > 1 else scored)
        if len(encoders) > 1:
            in_all = entries_found(systems[0], rows)
            found["-".join(pair)] = of_each | {"in_all": in_all}
            each = ", ".join(f"{name} {count:,}" for name, count in of_each.items())
            common = f"all models are scored on the {counted(in_all, 'entries')} that every one has ({each})"
            shared.append(f"{'-'.join(pair)}: {common}")
    omitted = {"-".join(pair): count for pair, (_, count) in judged.items() if leave_out}
    facts: dict[str, Any] = {"models": list(encoders), "words_as": lookup.words_as, "left_out_known": omitted}
    facts |= ({"entries_found": found} if found else {}) | {"leak_check": check.facts()}
    remarks = [line for scored in pairs for line in _coverage(scored)] + shared
    remarks += [f"{pair}: {left_out(count)}" for pair, count in omitted.items() if count]
    return Retrieval(kind="words", pairs=tuple(pairs), facts=facts, remarks=(*remarks, str(check)))


def retrieve_word_vectors(
    source: Path,
    target: Path,
    entries: Sequence[Entry],
    config: RetrievalConfig = WORDS,
    *,
    layers: Layers = "all",
    limit: int | None = None,
    known_words: KnownWords = "refuse",
    training: Provenance | None = None,
    language: str | None = None,
    name: str = "the dictionary",
    change: Change = unchanged,
    **options: Any,  # noqa: ANN401 - device and progress
) -> Retrieval:
    """Search the translation of every word of a dictionary among the words of a file of vectors.

    Args:
        source: A file that :func:`read_side` reads, with words.
        target: The same for the other language.
        entries: Correct pairs.
        config: How to search and score. Default: among all words with vectors, as in MUSE.
        layers: Layer numbers, or ``all``.
        limit: Maximum number of rows of each file.
        known_words: What to do with words whose translations training was given.
        training: What else went into training, beside what the files have on record: maps.
        language: Language of the source words. Default: that on record in the file, if any.
        name: Name of the dictionary in messages.
        change: Applied to the two sides first, such as a map.
        **options: ``device`` and ``progress`` of :func:`score_dictionary`.

    Returns:
        Scores of every layer and method, in both directions.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from isoglot.text.formats.dictionary import Entry
    >>> from isoglot.text.formats.word_vectors import write_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = Path(folder) / "en.vec", Path(folder) / "fr.vec"
    ...     for file, words in zip(files, (["cat", "dog"], ["chat", "chien"]), strict=True):
    ...         _ = write_vectors(file, words, np.eye(2))
    ...     found = retrieve_word_vectors(*files, [Entry("cat", "chat"), Entry("dog", "chien")])
    >>> found.pairs[0].of(None, "none").of("cosine").precision[1].value
    1.0

    Raises:
        ConfigError: A layer does not exist.
        InputError: No entry has both words, or training was given some of the words.
        StorageError: A file cannot be read.
    """
    sides = [read_side(path, layers=layers, limit=limit) for path in (source, target)]
    origins = [*map(vectors_provenance, (source, target)), training or Provenance()]
    check = LeakCheck(merged(origins), known_words == "allow")
    language = language or sides[0].header.get("language")
    rows, omitted = check.judging(entries, language, name, leave_out=known_words == "leave-out")
    pair = score_dictionary(*change(sides[0], sides[1]), rows, name, config=config, **options)
    facts = {"source": str(source), "target": str(target), "left_out_known": omitted, "leak_check": check.facts()}
    remarks = [*_coverage(pair), *([left_out(omitted)] if omitted else []), str(check)]
    return Retrieval(kind="words", pairs=(pair,), facts=facts, remarks=tuple(remarks))


def _coverage(pair: PairScores) -> list[str]:
    without = [
        f"{pair.name}: {counted(side.without_vector, f'{side.name} words')} left out: no vector"
        for side in (pair.source, pair.target)
        if side.without_vector
    ]
    return [f"{pair.name}: {pair.coverage}", f"{pair.name}, {spelling(pair)}", *without]


def context_side(
    encoder: EncoderLike,
    texts: Sequence[Path],
    words: Sequence[str],
    language: str,
    lookup: WordLookup | None = None,
    *,
    name: str = "",
    progress: Progress = SILENT,
) -> VectorSet:
    """Words of texts as means over their contexts; texts are segmented as dictionaries are.

    Args:
        encoder: Any encoder; static vectors have layer 0 only, whatever ``lookup.layers`` says.
        texts: Files with one sentence per line; blank lines are skipped.
        words: Words of the dictionaries, included however rare they are.
        language: Language of the texts.
        lookup: Layers, case, contexts, lines, and the number of further words, the most frequent of the texts.
        name: Name of the encoder.
        progress: Progress in sentences.

    Raises:
        InputError: There is no text.
        MissingPartError: Segmenting the language needs a library that is not installed.
    """
    lookup = lookup or WordLookup()
    is_lower = lookup.case == "lower" or (lookup.case == "auto" and all(word == word.lower() for word in words))
    compared: Literal["keep", "lower"] = "lower" if is_lower else "keep"
    method = word_method(language)
    lines = (line for path in texts for line in text_lines(path, lookup.limit))
    sentences = [cut for line in lines if (cut := split_words(line, language, method))]
    if not sentences:
        raise InputError("no sentences", "give text with one sentence per line", "empty", file=texts[0])
    frequent = frequent_words(sentences, lookup.vocabulary or MOST_WORDS, case=compared)
    try:
        found = word_types(
            encoder,
            sentences,
            list(dict.fromkeys([*frequent, *words])),
            layers=[0] if encoder.depth == 0 else lookup.layers,
            case=compared,
            contexts=lookup.contexts,
            language=language,
            name=name,
            progress=progress,
        )
    except InputError as error:
        raise error.prefixed("", file=texts[0]) from error
    layers: dict[int | None, np.ndarray] = {layer: found[layer] for layer in found.layers}
    without = len(found.header["without_vector"])
    return _words_side(language, layers, found.words or (), frequent, found.header, without)


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


def static_side(table: EncoderLike, words: Sequence[str], language: str, *, vocabulary: int = MOST_ROWS) -> VectorSet:
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
