"""Alignment of words by a dictionary: embeddings, and means over contexts (Wu et al. 2020, Figure 4).

Also pairs of rows from dictionaries, identical words or numerals, and their split into training and test. Word vectors
from files work too: static vectors are the baseline of encoders.

Shape legend: ``P`` pairs.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.align.alignment import ENCODERS
from isoglot.align.layer_maps import RowPairs, check_dimensions, fit_alignment, held_out, layer_pairs
from isoglot.align.maps.config import UNSUPERVISED, AlignConfig
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.files import file_hash
from isoglot.core.progress import SILENT, Progress
from isoglot.model import load_encoder
from isoglot.represent import embedding_rows, frequent_words, word_types
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.retrieve.dictionaries import match_dictionary
from isoglot.retrieve.leaks import LeakCheck, in_case_of, refuse_leak, training_provenance, without_known
from isoglot.retrieve.metrics import spelled_alike
from isoglot.retrieve.vector_files import vectors_provenance
from isoglot.retrieve.words import MOST_ROWS, MOST_WORDS
from isoglot.text.formats.dictionary import Entry
from isoglot.text.formats.word_vectors import Vectors, is_vec, read_vectors
from isoglot.text.provenance import Provenance, merged, use_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import torch

    from isoglot.align.alignment import Alignment
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.represent.sentences import Sentences
    from isoglot.represent.word_vectors import Case
    from isoglot.retrieve import Gold

_NUMERAL = re.compile(r"[0-9]+")


def align_embeddings(
    source: EncoderLike | Vectors,
    target: EncoderLike | Vectors,
    train: Sequence[Entry] | None,
    test: Sequence[Entry] | None = None,
    *,
    languages: tuple[str, str],
    words: tuple[Collection[str] | None, Collection[str] | None] = (None, None),
    config: AlignConfig | None = None,
    training: Provenance | None = None,
    device: torch.device | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """Align the embedding matrices of two models, or two tables of word vectors, by a dictionary.

    The map sees every word of both sides that has a vector and, for a model, is a single subword: the most frequent
    ones up to ``config.vocabulary``, and the dictionaries'. All of these are candidates for translations, unless
    ``config.candidates`` is ``gold``.

    Args:
        source: Model whose vectors are mapped, or word vectors.
        target: Model they are mapped to, or word vectors; it may be the same.
        train: Dictionary to fit on; None, for a map without pairs: the words that are spelled alike on both sides.
        test: Dictionary to score on; None holds out a share of the first, by whole source words.
        languages: Languages of the dictionary.
        words: Restrict the source and the target to these words, to compare several tables on one set.
        config: Map, normalization and evaluation.
        training: What went into word vectors, whose test words are checked for leaks; encoders have their own record.
        device: Where to compute: a CUDA device, or else the CPU.
        progress: Progress of the fit.

    Returns:
        The map, its scores, the coverage of the dictionaries and the result of the leak check.

    >>> import numpy as np
    >>> from isoglot.text.formats.dictionary import Entry
    >>> from isoglot.text.formats.word_vectors import Vectors, is_vec, read_vectors
    >>> rows, words = np.random.default_rng(0).normal(size=(50, 8)), [f"w{number}" for number in range(50)]
    >>> source, target = Vectors(words, rows), Vectors(words, rows[:, ::-1].copy())
    >>> found = align_embeddings(source, target, [Entry(word, word) for word in words], languages=("en", "de"))
    >>> found.train, found.test, found.best.after.of("csls").precision[1].value
    (40, 10, 1.0)

    Raises:
        ConfigError: The map does not support these widths, it needs a dictionary, or a language is missing.
        InputError: No entry of a dictionary was found, or the test leaks.
    """
    config = AlignConfig() if config is None else config
    if train is None and config.method not in UNSUPERVISED:
        problem = f"the map {config.method} learns from pairs, and there is no dictionary"
        raise ConfigError(problem, f"give one, or choose {' or '.join(UNSUPERVISED)}", "missing-option")
    check_dimensions(
        config, *(one.dimensions if isinstance(one, Vectors) else one.hidden_size for one in (source, target))
    )
    check = _leak_check((source, target), training, config)
    sides = list(zip((source, target), languages, words, strict=True))
    most, is_given = config.max_vocabulary or MOST_ROWS, train is not None
    if train is None:
        known = [_table(table, language, [], only).words[:most] for table, language, only in sides]
        train = [Entry(known[0][row], known[0][row]) for row, _ in identical_pairs(*known)]
    split = WordSplit(train, test, config, check.provenance.words(languages[0]))
    tables = [_table(table, language, split.words(side), only) for side, (table, language, only) in enumerate(sides)]
    kept = [table.with_direction() for table in tables]
    found = [
        table.rows([row for row, word in enumerate(table.words) if row < most or word in asked])
        for table, asked in zip(kept, (set(split.words(side)) for side in (0, 1)), strict=True)
    ]
    pairs, facts = split.rows(found[0].words, found[1].words)
    facts["without_vector"] = [len(every) - len(some) for every, some in zip(tables, kept, strict=True)]
    facts |= {} if is_given else {"spelled_alike": len(train)}
    return fit_alignment(
        "embeddings",
        languages,
        [{None: each.matrix_ND} for each in found],
        [(None, None)],
        pairs,
        config,
        facts=facts | {"leak_check": check.facts()},
        encoders=[None if isinstance(one, Vectors) else encoder_hash(one) for one in (source, target)],
        given=_training_entries(pairs, found[0].words, found[1].words, languages),
        device=device,
        progress=progress,
    )


def align_types(
    source: EncoderLike,
    target: EncoderLike,
    texts: tuple[Sentences, Sentences],
    train: Sequence[Entry],
    test: Sequence[Entry] | None = None,
    *,
    languages: tuple[str, str],
    layers: Layers = "all",
    case: Case = "lower",
    contexts: int | None = None,
    config: AlignConfig | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """Align words, each the mean over its contexts in a text of its language, by a dictionary.

    The map sees every word of both texts, the most frequent ones up to ``config.vocabulary`` and the dictionaries'; all
    of these are candidates for translations, unless ``config.candidates`` is ``gold``. All their layers are held in
    memory.

    Args:
        source: Model whose vectors are mapped.
        target: Model they are mapped to; it may be the same.
        texts: Text of either language: lists of words, a file with spaces between words, or one as written
            (:class:`isoglot.represent.sentences.SegmentedFile`). They need not be parallel.
        train: Dictionary to fit on.
        test: Dictionary to score on; None holds out a share of the first, by whole source words.
        languages: Languages of the dictionary.
        layers: Layer numbers, or ``all``; see :func:`isoglot.align.layer_maps.layer_pairs`.
        case: Whether words of the text are compared in lower case, as in MUSE's dictionaries.
        contexts: Maximum number of sentences per word.
        config: Map, normalization and evaluation.
        progress: Progress of each step.

    Returns:
        A map for every layer, with its scores.

    >>> import isoglot
    >>> from isoglot.languages.builtin import builtin_bitext, builtin_dictionary
    >>> encoder, pairs = isoglot.load_encoder("isoglot-mini", device="cpu"), builtin_bitext(("en", "de"), 20)
    >>> texts = [english.words for english, _ in pairs], [german.words for _, german in pairs]
    >>> dictionary = builtin_dictionary("en", "de")
    >>> align_types(encoder, encoder, texts, dictionary, languages=("en", "de"), layers=[8]).use
    'types'

    Raises:
        ConfigError: The map does not support these widths, or a layer does not exist.
        InputError: No entry of a dictionary occurs in the texts, or the test leaks.
        StorageError: A text cannot be read.
    """
    config = AlignConfig() if config is None else config
    check_dimensions(config, source.hidden_size, target.hidden_size)
    chosen = layer_pairs(layers, source, target)
    check = _leak_check((source, target), None, config)
    split = WordSplit(train, test, config, check.provenance.words(languages[0]))
    frequent = [frequent_words(text, config.max_vocabulary or MOST_WORDS, case=case) for text in texts]
    found = [
        word_types(
            encoder,
            texts[side],
            list(dict.fromkeys([*frequent[side], *split.words(side)])),
            layers=[pair[side] for pair in chosen],
            case=case,
            contexts=contexts,
            language=languages[side],
            progress=progress,
        )
        for side, encoder in enumerate((source, target))
    ]
    words = found[0].words or (), found[1].words or ()
    pairs, facts = split.rows(*words)
    facts["without_vector"] = [len(each.header["without_vector"]) for each in found]
    return fit_alignment(
        "types",
        languages,
        found,
        chosen,
        pairs,
        config,
        facts=facts | {"leak_check": check.facts()},
        encoders=[each.header["encoder_sha256"] for each in found],
        given=_training_entries(pairs, *words, languages),
        device=target.device,
        progress=progress,
    )


def _training_entries(
    pairs: RowPairs, source_words: Sequence[str], target_words: Sequence[str], languages: tuple[str, str]
) -> Provenance:
    """Training entries, as the provenance of a map."""
    entries = [Entry(source_words[one], target_words[other]) for one, other in pairs.train_P2.tolist()]
    return Provenance(dictionaries=(use_entries(*languages, entries),))


def _leak_check(sides: Iterable[EncoderLike | Vectors], training: Provenance | None, config: AlignConfig) -> LeakCheck:
    encoders = [side for side in sides if not isinstance(side, Vectors)]
    return LeakCheck(training_provenance(encoders, others=[training or Provenance()]), config.allow_leak)


def _table(table: EncoderLike | Vectors, language: str, asked: Sequence[str], only: Collection[str] | None) -> Vectors:
    """Words of a side with their vectors, most frequent first.

    For a model these are the single-subword words of the language or of the dictionaries.
    """
    if not isinstance(table, Vectors):
        rows = embedding_rows(table, language=language)
        more = embedding_rows(table, list(dict.fromkeys([*rows.words, *asked])), language)
        table = Vectors(list(more.words), more.vectors_ND)
    found = table if only is None else table.only(set(only))
    if not found.words:
        many = f"{len(table):,} {language} words with vectors"
        problem = f"none of the {many} is among the {len(only or ()):,} requested words"
        raise InputError(problem, "check language and case", "no-match")
    return found


def dictionary_pairs(entries: Iterable[Entry], source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """Rows of the entries with both words available, P × 2, unique and in the order of the entries.

    Args:
        entries: Entries of a dictionary.
        source_words: Words of the rows of X.
        target_words: Words of the rows of Y.

    Returns:
        P × 2: row of the source word, row of the target word.

    >>> from isoglot.text.formats.dictionary import Entry
    >>> dictionary_pairs([Entry("house", "Haus")], ["the", "house"], ["Haus"]).tolist()
    [[1, 0]]

    Raises:
        InputError: There is none; the message has the numbers of words found.
    """
    entries = list(entries)
    source, target = _places(source_words), _places(target_words)
    pairs = [(source[e.source], target[e.target]) for e in entries if e.source in source and e.target in target]
    if not pairs:
        words = {e.source for e in entries}, {e.target for e in entries}
        problem = (
            f"no entry of {len(entries)} has both words among the vectors: {len(words[0] & source.keys())} of "
            f"{len(words[0])} source words and {len(words[1] & target.keys())} of {len(words[1])} target words found"
        )
        raise InputError(problem, "check the languages, their order and the case of the words", "no-match")
    return np.array(list(dict.fromkeys(pairs)), dtype=np.int64)


def identical_pairs(source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """Rows of words spelled the same in both languages, P × 2, in the order of the source.

    Args:
        source_words: Words of the rows of X.
        target_words: Words of the rows of Y.

    >>> identical_pairs(["the", "taxi", "1984"], ["1984", "le", "taxi"]).tolist()
    [[1, 2], [2, 0]]

    Returns:
        P × 2: row of the source word, row of the target word.

    Raises:
        InputError: There is none.
    """
    return _shared(source_words, target_words, "words")


def numeral_pairs(source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """Rows of the same numerals (digits 0 to 9) in both languages, P × 2: a seed dictionary for any two scripts.

    Args:
        source_words: Words of the rows of X.
        target_words: Words of the rows of Y.

    Returns:
        P × 2: row of the source word, row of the target word.

    >>> numeral_pairs(["a", "7", "1999"], ["1999", "b"]).tolist()
    [[2, 0]]

    Raises:
        InputError: There is none.
    """
    numerals = [word if _NUMERAL.fullmatch(word) else "" for word in source_words]
    return _shared(numerals, target_words, "numerals")


def _shared(source_words: Sequence[str], target_words: Sequence[str], what: str) -> np.ndarray:
    source, target = _places(source_words), _places(target_words)
    pairs = [(row, target[word]) for word, row in source.items() if word and word in target]
    if not pairs:
        problem = f"none of {len(source_words)} source {what} is among the {len(target_words)} target words"
        raise InputError(problem, "give a dictionary", "no-match")
    return np.array(pairs, dtype=np.int64)


def _places(words: Sequence[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for row, word in enumerate(words):
        places.setdefault(word, row)
    return places


class WordSplit:
    """Entries to fit on and to score on; without a test, whole source words are held out at random.

    Args:
        train: The dictionary.
        test: Another one to score on; None holds out a share of the first.
        config: Share to hold out, and how to treat leaks.
        seen: Source words whose translation was given to pretraining: none of them is held out.

    Raises:
        InputError: A dictionary is empty, or a source word of the test is in training too, or known to pretraining.
    """

    def __init__(
        self, train: Sequence[Entry], test: Sequence[Entry] | None, config: AlignConfig, seen: Collection[str] = ()
    ) -> None:
        self.train, self.test, self.config = list(train), None if test is None else list(test), config
        seen = in_case_of((entry.source for entry in (self.train if self.test is None else self.test)), seen)
        self.seen = frozenset() if config.allow_leak else seen
        self.leaked: dict[str, int] = {}
        for name, entries in (("dictionary", self.train), ("test dictionary", self.test)):
            if entries is not None and not entries:
                problem = f"the {name} has no entries"
                raise InputError(problem, "write one entry per line: source, space, target", "empty")
        if self.test is not None:
            if config.leave_out_known:
                self.test, self.leaked["left_out_known"] = without_known(self.test, seen)
            asked = [entry.source for entry in self.test]
            learned = [entry.source for entry in self.train]
            self.leaked["leaked"] = refuse_leak(learned, asked, "source words", allow=config.allow_leak)
            self.leaked["leaked_to_pretraining"] = refuse_leak(
                seen,
                asked,
                "source words",
                allow=config.allow_leak,
                where="known to pretraining from a dictionary",
                remedy="leave these words out, or allow the leak",
            )

    def words(self, side: int) -> list[str]:
        """Words of the source (0) or the target (1), unique and in the order of the dictionaries."""
        entries = [*self.train, *(self.test or ())]
        return list(dict.fromkeys(entry.target if side else entry.source for entry in entries))

    def rows(self, source_words: Sequence[str], target_words: Sequence[str]) -> tuple[RowPairs, dict[str, Any]]:
        """Pairs with both words available, and the coverage of the dictionaries.

        Raises:
            InputError: There are none in training or test; the message has the numbers of words found.
        """
        facts: dict[str, Any]
        train, facts = self._match("dictionary", self.train, source_words, target_words)
        if self.test is not None:
            test, more = self._match("test dictionary", self.test, source_words, target_words)
            facts = {"dictionary": facts, "test_dictionary": more, **self.leaked}
            pairs = RowPairs(train.pairs_P2, test.pairs_P2, spelled_alike(test, source_words, target_words))
        else:
            sources_P = train.pairs_P2[:, 0]
            eligible_P = np.array([source_words[row] not in self.seen for row in sources_P])
            out_P = held_out(sources_P, self.config.test_share, seed=self.config.seed, eligible_N=eligible_P)
            facts = {"dictionary": facts}
            alike = spelled_alike(train, source_words, target_words)
            pairs = RowPairs(train.pairs_P2[~out_P], train.pairs_P2[out_P], alike)
        sides = source_words, target_words
        facts["vocabulary"] = [len(words) for words in sides]
        facts["missing"] = [len(set(self.words(side)) - set(words)) for side, words in enumerate(sides)]
        return pairs, facts

    @staticmethod
    def _match(
        name: str, entries: list[Entry], source_words: Sequence[str], target_words: Sequence[str]
    ) -> tuple[Gold, dict[str, int]]:
        try:
            gold, coverage = match_dictionary(entries, source_words, target_words)
        except InputError as error:
            problem = error.problem.replace("the dictionary", f"the {name}")
            raise InputError(problem, error.remedy, code=error.code) from None
        return gold, asdict(coverage)


def open_vectors(name: str, device: str = "auto") -> EncoderLike | Vectors:
    """Open word vectors (a ``.vec``, possibly compressed), or else an encoder.

    Args:
        name: The file; or the folder or name of an encoder.
        device: Where an encoder computes.

    Raises:
        ConfigError: There is no such encoder.
        InputError: A line of the file is malformed.
        StorageError: A file cannot be read.
    """
    return read_vectors(Path(name).expanduser()) if is_vec(name) else load_encoder(name, device=device)


def vectors_origin(names: Iterable[str]) -> Provenance:
    """Provenance of the files of word vectors among the names of sources."""
    return merged(vectors_provenance(Path(name).expanduser()) for name in names if is_vec(name))


def with_file_hashes(found: Alignment, names: Iterable[str]) -> Alignment:
    """Copy of an alignment with the SHA-256 of the files of word vectors in place of the encoders'."""
    known = zip(names, found.facts[ENCODERS], strict=True)
    return found.between([file_hash(Path(name).expanduser()) if is_vec(name) else was for name, was in known])
