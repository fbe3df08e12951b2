"""Extract the hidden states of sentences or their words in any layers, in one streaming pass.

Sentences are read in large chunks. Within a chunk, rows are sorted by length and run in batches of a fixed number of
tokens; results are in the order of the input. Chunks are independent, so a resumed run gives the same bytes.

Shape legend: ``N`` rows, ``D`` hidden size, ``L`` layers, ``K`` items of a batch.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack, cast

import numpy as np

from isoglot.core.errors import ConfigError, IsoglotError, check_name
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.array_files import FORMAT, ArrayShape, ArrayWriter, Header
from isoglot.represent.encoder_hash import encoder_hash, hashing
from isoglot.represent.layer_pass import IN_FLIGHT, HostCopy, LayerPass, PassOptions, Pooling, check_finite, delayed
from isoglot.represent.representations import Representations, finished, layer_name
from isoglot.represent.sentences import (
    Kind,
    RowMaker,
    Sentences,
    SentenceSurvey,
    TokenRows,
    in_chunks,
    survey_sentences,
)
from isoglot.vocab.line_encoder import ahead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from isoglot.model.protocol import EncoderLike

SentencePool = Literal["mean", "mean-all", "first", "cls", "last", "max", "weighted", "model"]
"""One row per sentence: ``mean`` of its subwords without special tokens, ``mean-all`` of its tokens with them (as
sentence-transformers does), ``first`` (also ``cls``) or ``last`` token, special tokens included; ``max`` over its
tokens in each dimension; ``weighted``: mean with weight 1 for the first token, 2 for the second (SGPT, Muennighoff
2022); ``model``: the sentence vector of a sentence-transformers model, computed by its modules from the last layer.
"""
Pool = SentencePool | Literal["words", "word-first"]
"""The same, or every word as the mean of its subwords (``words``) or as its first one (``word-first``)."""

POOLS_IN_WORDS: dict[str, str] = {
    "mean": "mean of its subwords, special tokens left out",
    "mean-all": "mean of its tokens, special tokens included",
    "first": "first token",
    "cls": "first token",
    "last": "last token, special tokens included",
    "max": "maximum of its tokens in each dimension, special tokens included",
    "weighted": "mean of its tokens weighted by position, special tokens included",
    "model": "vector of the model's own modules",
}
_WORDS: dict[str, tuple[Kind, Pooling]] = {"words": ("words", "mean"), "word-first": ("words", "word-first")}
EVENTS = ("cut", "split", "unread")
"""Texts or words truncated to the maximum length, sentences divided into windows, texts or words without tokens."""


def cut_in_words(cut: Iterable[tuple[str, int]], rows: int) -> list[str]:
    """Remark on truncated sentences per language, in one line; empty if there are none.

    >>> cut_in_words([("en", 1), ("de", 0), ("zh", 3)], 600)
    ['Longer than the model takes, and cut: 1 of 600 en sentences, 3 of 600 zh sentences']
    """
    found = [f"{count:,} of {rows:,} {code} sentences" for code, count in cut if count]
    return [f"Longer than the model takes, and cut: {', '.join(found)}"] if found else []


def sentence_pool(encoder: EncoderLike, asked: Pool | None = None) -> Pool:
    """The pooling asked for, ``cls`` under its name ``first``.

    Default: the encoder's own sentence vectors if it has them, else the mean of the subwords.
    """
    if asked is None:
        return "mean" if encoder.sentence_head is None else "model"
    return "first" if asked == "cls" else asked


def pool_in_words(encoder: EncoderLike, pool: Pool) -> list[str]:
    """Remark on sentence vectors computed by the model's own modules; empty otherwise."""
    head = encoder.sentence_head if pool == "model" else None
    return [] if head is None else [f"Sentence vectors are the model's own: {', '.join(head.steps)}"]


def extract(
    encoder: EncoderLike,
    sentences: Sentences,
    *,
    pool: Pool | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    chunk: int = 4096,
    name: str = "",
    progress: Progress = SILENT,
    **options: Unpack[PassOptions],
) -> Representations:
    """Represent sentences or their words in any layers of an encoder.

    Texts longer than the encoder's maximum length are truncated. Sentences of words are divided into windows instead,
    so that no word is lost. The header counts both, as ``cut`` and ``split``.

    Args:
        encoder: Any encoder; used in evaluation mode and left unchanged.
        sentences: Texts, or a file with one per line; for words: lists of words, or texts with spaces between them.
        pool: What a row of the result is. Default: ``model`` for a sentence-transformers model, else ``mean``.
        out: A ``.safetensors`` file or a folder to write to. Default: results stay in memory.
        resume: Continue an unfinished run in ``out`` with the same encoder, sentences and options.
        chunk: Number of sentences that are sorted together, and after which a run can be resumed.
        name: Name of the encoder in the header.
        progress: Progress in sentences.
        options: ``layers`` (``all``, or numbers: 0 is the embeddings, -1 the last layer), ``language``, ``length``
            (maximum number of tokens), ``batch_tokens`` and ``precision`` (:class:`.layer_pass.PassOptions`).

    Returns:
        N × D for each layer, rows in the order of the input: ``X[8]`` is layer 8.

    >>> from isoglot.model import load_encoder
    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> X = extract(encoder, ["The house is old.", "He sleeps."], language="en")
    >>> X[8].shape
    (2, 384)

    Raises:
        ConfigError: The encoder does not have that layer, language or pooling.
        InputError: A sentence is empty, or a hidden state is not finite.
        StorageError: A file cannot be read or written.
    """
    pool = sentence_pool(encoder, pool)
    check_name("pooling", pool, [*POOLS_IN_WORDS, *_WORDS])
    if resume and out is None:
        raise ConfigError("nothing to resume: no output file is given", "set out", "conflicting-options")
    kind, pooling = _WORDS.get(pool, ("text", cast("Pooling", pool)))
    facts = survey_sentences(sentences, kind)
    through = LayerPass(encoder, pooling, **options)
    as_read = str if through.head is None else through.head.as_read
    maker = RowMaker(encoder.vocabulary, through.language, kind, through.length, as_read)
    job = _Job(through, maker, sentences, facts, chunk)
    header = {
        "format": FORMAT,
        **description(through, name, None if out is None else encoder_hash(encoder)),
        "pool": pool,
        "special_tokens": pool not in ("mean", *_WORDS),
        **({} if through.head is None else {"modules": list(through.head.steps)}),
        "sentences": facts.sentences,
        "sentences_sha256": facts.sha256,
        "chunk": chunk,
    }
    if out is None:
        return _in_memory(job, header, progress)
    if resume and (found := finished(out, header)) is not None:
        return found
    with through.ready():
        writer = ArrayWriter(out, job.shapes, header, resume=resume)
        try:
            events = job.fill(writer.arrays, progress, writer)
        except IsoglotError:
            if not writer.done:
                writer.discard()
            raise
    writer.finish(header | {event: events[event] for event in EVENTS})
    return Representations.open(out, check="sizes")


def description(through: LayerPass, name: str, sha256: str | None) -> Header:
    """Header entries that describe a pass.

    Args:
        through: The pass.
        name: Name of its encoder.
        sha256: Hash of its weights.
    """
    encoder = through.encoder
    return {
        "name": name,
        "encoder_sha256": sha256,
        "vocabulary_sha256": encoder.vocabulary.hash,
        "provenance": encoder.provenance.packed,
        "language": through.language,
        "layers": list(through.layers),
        "depth": encoder.depth,
        "hidden_size": through.hidden_size,
        "max_length": through.length,
        "batch_tokens": through.batch_tokens,
        "precision": through.precision,
    }


def _in_memory(job: _Job, header: Header, progress: Progress) -> Representations:
    through = job.through
    arrays = {
        name: np.empty(shape.sides, np.int64 if name == "offsets" else np.float32) for name, shape in job.shapes.items()
    }
    with hashing(through.encoder) as hashed, through.ready():
        events = job.fill(arrays, progress)
        header["encoder_sha256"] = hashed.result()
    header |= {event: events[event] for event in EVENTS}
    layers = {layer: arrays[layer_name(layer)] for layer in through.layers}
    return Representations(layers, header, offsets=arrays.get("offsets"))


class _Job(NamedTuple):
    """An extraction: sentences and how they are run."""

    through: LayerPass
    maker: RowMaker
    sentences: Sentences
    facts: SentenceSurvey
    chunk: int

    @property
    def shapes(self) -> dict[str, ArrayShape]:
        """Arrays of the result."""
        shape = ArrayShape("F32", (self.facts.rows, self.through.hidden_size))
        shapes = {layer_name(layer): shape for layer in self.through.layers}
        if self.maker.kind == "words":
            shapes["offsets"] = ArrayShape("I64", (self.facts.sentences + 1,))
        return shapes

    def fill(
        self, arrays: dict[str, np.ndarray], progress: Progress, writer: ArrayWriter | None = None
    ) -> Counter[str]:
        """Run chunk by chunk, skipping those the journal lists as finished; returns the events of the rows."""
        events = Counter[str]()
        done = 0 if writer is None else len(writer.done)
        for part in [] if writer is None else writer.done:
            events.update(part)
        if "offsets" in arrays:
            arrays["offsets"][:] = self.facts.offsets
        chunks = ahead(self.maker.rows, in_chunks(self.sentences, self.maker.kind, self.chunk, skip=done))
        begins = (self.facts.offsets[number * self.chunk] for number in count(done))
        flight = IN_FLIGHT.get(self.through.encoder.device.type, 0)
        ready = 0  # finished rows of the chunk
        with progress.task("encode", total=max(self.facts.sentences - done * self.chunk, 0), unit="sentences") as task:
            for rows, group, places_K, arrival in delayed(self._batches(zip(chunks, begins, strict=False)), flight):
                seen_L, vectors_LKD = arrival.wait()
                check_finite(seen_L, self.through.layers)
                for layer, vectors_KD in zip(self.through.layers, vectors_LKD, strict=True):
                    arrays[layer_name(layer)][places_K] = vectors_KD
                task.advance(sum(rows.begins[row] for row in group))
                ready += len(group)
                if ready == len(rows.ids):
                    events.update(rows.events)
                    if writer is not None:
                        writer.mark(dict(rows.events))
                    ready = 0
        return events

    def _batches(
        self, chunks: Iterable[tuple[TokenRows, int]]
    ) -> Iterator[tuple[TokenRows, list[int], np.ndarray, HostCopy]]:
        """Run every batch of every chunk; yields its rows and the positions of its items in the result.

        Args:
            chunks: Rows of each chunk, and the position of its first item in the result.
        """
        for rows, begin in chunks:
            for group, (items_K, vectors_LKD) in self.through.run(rows):
                yield rows, group, begin + items_K, HostCopy(vectors_LKD)
