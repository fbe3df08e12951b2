"""Vectors of word types: rows of the embedding matrix, and means over contexts in every layer.

Shape legend: ``N`` or ``W`` words, ``D`` hidden size, ``V`` vocabulary, ``L`` layers, ``K`` items of a batch.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack

import numpy as np
import torch

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress, Task
from isoglot.represent.array_files import FORMAT
from isoglot.represent.encoder_hash import hashing
from isoglot.represent.extraction import EVENTS, description
from isoglot.represent.layer_pass import LayerPass, PassOptions, check_finite
from isoglot.represent.representations import Representations
from isoglot.represent.sentences import RowMaker, Sentence, Sentences, in_chunks, read_sentences, survey_sentences
from isoglot.vocab.word_reader import whole_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.model.protocol import EncoderLike


class EmbeddingRows(NamedTuple):
    """Words that are one subword with their vectors, and the words that are not.

    >>> import numpy as np
    >>> found = EmbeddingRows(("house",), np.ones((1, 4)), ("unpronounceable",))
    >>> found.words, found.missing
    (('house',), ('unpronounceable',))
    """

    words: tuple[str, ...]
    vectors_ND: np.ndarray
    missing: tuple[str, ...]


def embedding_rows(
    encoder: EncoderLike, words: Sequence[str] | None = None, language: str | None = None
) -> EmbeddingRows:
    """Rows of the token embedding matrix for words that are a single subword (Wu et al. 2020, Figure 4a).

    These are the bare embeddings: layer 0 adds positions and normalizes.

    Args:
        encoder: Any encoder with an embedding matrix, static vectors included.
        words: The words. None: every word of the language that is one subword, most frequent first where the vocabulary
            has counts.
        language: Language of the words, for encoders and vocabularies with language-specific parts.

    Returns:
        One row for each word that is one subword, with the words.

    >>> from isoglot.model import load_encoder
    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> embedding_rows(encoder, ["house", "unpronounceable"], "en").words
    ('house',)

    Raises:
        ConfigError: The language is missing, or the encoder gives no access to its embedding matrix.
        InputError: None of the words is a single subword.
    """
    code = None if language is None else language_code(language)
    vocabulary = encoder.vocabulary
    table_VD, rows_V = encoder.token_table(code)
    if words is None:
        ids_of = {word: [index] for word, index in whole_words(vocabulary, code).items()}
    else:
        maker = RowMaker(vocabulary, code, "words", 3)
        ids_of = {word: ids.tolist() for word, ids in zip(words, maker.word_ids(words), strict=True)}
    special = set(vocabulary.special.values())
    whole = {word: int(rows_V[ids[0]]) for word, ids in ids_of.items() if len(ids) == 1 and ids[0] not in special}
    found = {word: row for word, row in whole.items() if row >= 0}
    if not found:
        problem = f"none of {len(ids_of):,} words is a single subword"
        raise InputError(problem, "use a larger vocabulary, or word types over contexts", "no-match")
    missing = tuple(word for word in ids_of if word not in found)
    return EmbeddingRows(tuple(found), table_VD[list(found.values())].float().cpu().numpy(), missing)


Case = Literal["keep", "lower"]
"""Compare words of the corpus as they are, or in lower case, as in MUSE's dictionaries."""


def frequent_words(sentences: Sentences, most: int, *, case: Case = "keep") -> list[str]:
    """The most frequent words of a corpus, most frequent first; ties by first occurrence.

    Args:
        sentences: Lists of words, or texts with spaces between words.
        most: Maximum number of words.
        case: Whether case is kept or folded before words are counted.

    Returns:
        The words.

    >>> frequent_words([["a", "cat", "sees", "A", "cat"]], 2, case="lower")
    ['a', 'cat']

    Raises:
        InputError: A sentence is empty, or there is none.
        StorageError: The file cannot be read.
    """
    counts = Counter[str]()
    for sentence in read_sentences(sentences, "words"):
        counts.update(word.lower() if case == "lower" else word for word in sentence)
    return [word for word, _ in counts.most_common(most)]


def word_types(
    encoder: EncoderLike,
    sentences: Sentences,
    words: Sequence[str],
    *,
    subwords: Literal["mean", "first"] = "mean",
    case: Case = "keep",
    contexts: int | None = None,
    chunk: int = 4096,
    name: str = "",
    progress: Progress = SILENT,
    **options: Unpack[PassOptions],
) -> Representations:
    """Average words over their contexts in a corpus, in every layer; only sums are kept in memory.

    Args:
        encoder: Any encoder.
        sentences: The corpus: lists of words, or texts (or lines of a file) with spaces between words.
        words: Words to average.
        subwords: A word in context is the mean of its subwords, or its first subword.
        case: How words of the corpus are compared with ``words``.
        contexts: Maximum number of sentences per word, the first ones. Default: all.
        chunk: Number of sentences that are sorted together.
        name: Name of the encoder in the header.
        progress: Progress in sentences.
        options: ``layers``, ``language``, ``length``, ``batch_tokens`` and ``precision``
            (:class:`.layer_pass.PassOptions`); sentences longer than ``length`` are divided into windows.

    Returns:
        One row for each word that occurs and has a vector, in the given order, with ``words`` and ``counts``.
        ``missing`` lists the words that do not occur; ``without_vector`` in the header those that occur but have no
        subword (or only ``[UNK]``), or whose subwords have no vector.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> found = word_types(encoder, ["the old house", "the house"], ["house"], layers=[8], language="en")
    >>> found[8].shape
    (1, 384)

    Raises:
        ConfigError: The encoder does not have that layer or language, or a word is given twice.
        InputError: A sentence is empty, or none of the words occurs in the corpus.
        StorageError: The file cannot be read.
    """
    number = {word: index for index, word in enumerate(words)}
    if len(number) < len(words):
        double = next(word for word, count in Counter(words).items() if count > 1)
        raise ConfigError(f"duplicate word {shown(double)}", "give each word once", "duplicate")
    facts = survey_sentences(sentences, "words")
    through = LayerPass(encoder, "mean" if subwords == "mean" else "word-first", **options)
    maker = RowMaker(encoder.vocabulary, through.language, "words", through.length)
    chunks = _requested_words(in_chunks(sentences, "words", chunk), number, case, contexts)
    with hashing(encoder) as hashed, progress.task("encode", total=facts.sentences, unit="sentences") as task:
        sums_LWD, counts_W, events = _context_sums(through, maker, chunks, len(words), task)
    if not counts_W.any():
        problem = f"none of {len(words):,} words occurs in the {facts.sentences:,} sentences"
        raise InputError(problem, "check that both have the same language, segmentation and case", "no-match")
    unknown = encoder.vocabulary.unknown_id
    readable_W = np.array([bool((ids != unknown).any()) for ids in maker.word_ids(words)])
    has_vector_W = readable_W & sums_LWD.any(axis=2).all(axis=0)
    met = np.flatnonzero((counts_W > 0) & has_vector_W)
    if not len(met):
        problem = f"none of the {np.count_nonzero(counts_W):,} words that occur has a vector"
        raise InputError(problem, "check the language", "no-match")
    means_LWD = (sums_LWD[:, met] / counts_W[met][:, None]).astype(np.float32)
    header = {
        "format": FORMAT,
        **description(through, name, hashed.result()),
        "pool": "types",
        "subwords": subwords,
        "case": case,
        "contexts": contexts,
        "sentences": facts.sentences,
        "sentences_sha256": facts.sha256,
        **{event: events[event] for event in EVENTS},
        "words": [words[index] for index in met.tolist()],
        "missing": [word for index, word in enumerate(words) if not counts_W[index]],
        "without_vector": [words[index] for index in np.flatnonzero((counts_W > 0) & ~has_vector_W).tolist()],
    }
    return Representations(dict(zip(through.layers, means_LWD, strict=True)), header, counts=counts_W[met])


def _context_sums(
    through: LayerPass,
    maker: RowMaker,
    chunks: Iterator[tuple[int, list[Sentence], np.ndarray]],
    words: int,
    task: Task,
) -> tuple[np.ndarray, np.ndarray, Counter[str]]:
    """Sums of each word's vectors over its contexts (L × W × D), number of contexts (W), and events of the rows."""
    sums_LWD = np.zeros((len(through.layers), words, through.encoder.hidden_size))
    counts_W = np.zeros(words, dtype=np.int64)
    events = Counter[str]()
    with through.ready():
        for size, kept, numbers_K in chunks:
            task.advance(size - len(kept))
            rows = maker.rows(kept)
            events.update(rows.events)
            for group, (items_K, vectors_LKD) in through.run(rows):
                check_finite(vectors_LKD, through.layers)
                at_K = numbers_K[items_K]
                there = np.flatnonzero(at_K >= 0)
                _add(sums_LWD, at_K[there], vectors_LKD[:, torch.from_numpy(there).to(vectors_LKD.device)])
                np.add.at(counts_W, at_K[there], 1)
                task.advance(sum(rows.begins[row] for row in group))
    return sums_LWD, counts_W, events


def _requested_words(
    chunks: Iterator[list[Sentence]], number: dict[str, int], case: Case, contexts: int | None
) -> Iterator[tuple[int, list[Sentence], np.ndarray]]:
    """For each chunk: its size, the sentences with a requested word, and the number of each of their words, or -1."""
    seen_W = np.zeros(len(number), dtype=np.int64)  # sentences so far, where their number is limited
    for chunk in chunks:
        kept: list[Sentence] = []
        numbers: list[int] = []
        for sentence in chunk:
            found = [number.get(word.lower() if case == "lower" else word, -1) for word in sentence]
            if contexts is not None:
                found = [index if index >= 0 and seen_W[index] < contexts else -1 for index in found]
                seen_W[sorted({index for index in found if index >= 0})] += 1
            if max(found) >= 0:
                kept.append(sentence)
                numbers += found
        yield len(chunk), kept, np.array(numbers, dtype=np.int64)


def _add(sums_LWD: np.ndarray, at_K: np.ndarray, vectors_LKD: torch.Tensor) -> None:
    """Add each vector to the sum of its word; vectors of one word are summed first."""
    if not len(at_K):
        return
    order_K = np.argsort(at_K, kind="stable")
    words, starts = np.unique(at_K[order_K], return_index=True)
    vectors = vectors_LKD.cpu().numpy()[:, order_K].astype(np.float64)
    sums_LWD[:, words] += np.add.reduceat(vectors, starts, axis=1)
