"""Word2Vec and fastText by gensim, one epoch at a time, with checkpoints in between; on subwords, or on whole words.

With one worker the same seed gives the same bits: the vocabulary has a fixed order, and words are hashed by a function
that does not change from process to process. With several, gensim's workers race.

Shapes: ``N`` words of the stream, ``S`` sentences, ``V`` words that have vectors.
"""

from __future__ import annotations

import logging
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.optional import import_part
from isoglot.core.progress import SILENT, Progress, Task
from isoglot.core.rng import derive_seed
from isoglot.static.config import FastTextConfig, Word2VecConfig, lower_rate
from isoglot.static.token_stream import Stream
from isoglot.text.formats.word_vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


MOST = 1000.0
"""Limit of absolute values: they stay below 10 at learning rates up to 0.1, and reach thousands at 5."""
LONGEST = 10_000  # words of a sentence; gensim silently drops what comes after


class GensimModel:
    """A Word2Vec or fastText model in training.

    Args:
        stream: The token stream.
        names: The string of each number in the stream; fastText uses its characters.
        config: Settings.
        workers: Number of threads.

    Raises:
        MissingPartError: gensim is not installed.
    """

    def __init__(self, stream: Stream, names: Sequence[str], config: Word2VecConfig, *, workers: int = 1) -> None:
        models = import_part("gensim.models")
        logging.getLogger("gensim").addHandler(logging.NullHandler())  # the library never prints
        self.stream = stream
        self.config = config
        self.names = distinct(names)
        self.epoch = 0
        settings: dict[str, Any] = {
            "vector_size": config.dimensions,
            "window": config.window,
            "sg": int(config.objective == "skip-gram"),
            "negative": config.negative,
            "sample": config.sample,
            "alpha": config.learning_rate,
            "min_alpha": config.learning_rate_end,
            "min_count": 1,
            "seed": derive_seed(config.seed, "gensim") % 2**32,
            "workers": workers,
            "hashfxn": stable_hash,
            "sorted_vocab": 0,  # sorted already
        }
        if isinstance(config, FastTextConfig):
            runs = {"min_n": config.min_ngram, "max_n": config.max_ngram, "bucket": config.buckets}
            self.model = models.FastText(**settings, **runs)
        else:
            self.model = models.Word2Vec(**settings)
        self.parts = stream.parts(LONGEST)
        counts = dict(zip(self.names, stream.counts_V.tolist(), strict=True))
        self.model.build_vocab_from_freq(counts, corpus_count=self.parts)

    def learn_epoch(self, *, progress: Progress = SILENT) -> None:
        """Train one epoch; the learning rate decays from where the last epoch left it.

        Raises:
            ConfigError: The vectors diverged.
        """
        config = self.config
        fall = (config.learning_rate_end - config.learning_rate) / config.epochs
        begin = config.learning_rate + fall * self.epoch
        label = f"epoch {self.epoch + 1} of {config.epochs}"
        with progress.task(label, total=len(self.stream), unit="tokens") as task:
            self.model.train(
                _Sentences(self.stream, self.names, task),
                total_examples=self.parts,
                total_words=len(self.stream),
                epochs=1,
                start_alpha=begin,
                end_alpha=begin + fall,
            )
        most = np.max([(array.max(), -array.min()) for array in self.arrays().values()])
        if not most <= MOST:  # also true for NaN
            problem = f"epoch {self.epoch + 1}: the vectors diverged (largest value {most:.3g})"
            remedy = f"lower the learning rate: --set learning_rate={lower_rate(config):g}"
            raise ConfigError(problem, remedy, "diverged")
        self.epoch += 1

    def vectors(self) -> np.ndarray:
        """The vector of each type (V x D); fastText's include the character n-grams."""
        order = [self.model.wv.key_to_index[name] for name in self.names]
        return np.asarray(self.model.wv.vectors[order], dtype=np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        """All learned arrays, by name."""
        wv = self.model.wv
        inner = ("vectors_vocab", "vectors_ngrams") if isinstance(self.config, FastTextConfig) else ("vectors",)
        return {**{name: getattr(wv, name) for name in inner}, "syn1neg": self.model.syn1neg}

    def state(self) -> dict[str, Any]:
        """State of the random number generator, for a checkpoint."""
        kind, keys, *rest = self.model.random.get_state()
        return {"chance": [kind, keys.tolist(), *rest]}

    def restore(self, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Resume from a checkpoint: :meth:`arrays`, and :meth:`state` with its ``step``."""
        for name, here in self.arrays().items():
            here[:] = arrays[name]
        if isinstance(self.config, FastTextConfig):
            self.model.wv.adjust_vectors()
        kind, keys, *rest = state["chance"]
        self.model.random.set_state((kind, np.array(keys, dtype=np.uint32), *rest))
        self.epoch = state["step"]


class _Sentences:
    """The stream as an iterable of sentences for gensim."""

    def __init__(self, stream: Stream, names: Sequence[str], task: Task) -> None:
        self.stream, self.names, self.task = stream, names, task

    def __iter__(self) -> Iterator[list[str]]:
        for part in self.stream.segments(LONGEST):
            yield [self.names[number] for number in part.tolist()]
            self.task.advance(len(part))


def distinct(names: Sequence[str]) -> list[str]:
    r"""Make names unique: where languages have subwords of the same string, later ones get a suffix.

    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a\ue001']
    """
    seen = Counter[str]()
    found = []
    for name in names:
        found.append(name + chr(0xE000 + seen[name]) if seen[name] else name)
        seen[name] += 1
    return found


def stable_hash(word: str) -> int:
    """A hash that is the same in every process."""
    return zlib.crc32(word.encode())


MOST_WORDS = 200_000
"""Default maximum number of words, the most frequent ones; MUSE reads as many."""


def train_on_words(
    sentences: Iterable[Sequence[str]],
    config: Word2VecConfig,
    *,
    most: int = MOST_WORDS,
    workers: int = 1,
    progress: Progress = SILENT,
) -> Vectors:
    """Train vectors of whole words, as published vectors are trained; windows end with the sentence.

    Args:
        sentences: Lists of words.
        config: A :class:`Word2VecConfig` or :class:`FastTextConfig`.
        most: Maximum number of words, the most frequent ones.
        workers: Number of threads; the result is reproducible with one only.
        progress: Progress reporter.

    Returns:
        The words and their vectors, the most frequent first.

    Raises:
        ConfigError: The vectors diverged.
        InputError: No word is frequent enough.
        MissingPartError: gensim is not installed.
    """
    words, stream = word_stream(sentences, config.min_count, most)
    model = GensimModel(stream, words, config, workers=workers)
    for _ in range(config.epochs):
        model.learn_epoch(progress=progress)
    return Vectors(words, model.vectors())


def word_stream(sentences: Iterable[Sequence[str]], min_count: int, most: int) -> tuple[list[str], Stream]:
    """The frequent words, sorted by count and then by first occurrence, and the text as their numbers.

    >>> words, stream = word_stream([["a", "b"], ["b", "c", "b"]], min_count=1, most=2)
    >>> words, stream.tokens_N.tolist(), stream.starts_S.tolist()
    (['b', 'a'], [1, 0, 0, 0], [0, 2, 4])

    Raises:
        InputError: No word is frequent enough.
    """
    number: dict[str, int] = {}
    ids: list[int] = []
    ends = [0]
    for sentence in sentences:
        ids += [number.setdefault(word, len(number)) for word in sentence]
        ends.append(len(ids))
    ids_N = np.array(ids, dtype=np.int32)
    counts = np.bincount(ids_N, minlength=len(number)) if ids else np.zeros(0, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")
    kept = [index for index in order[:most].tolist() if counts[index] >= min_count]
    if not kept:
        problem = f"no word occurs {min_count} times in {len(ids):,} words of text"
        raise InputError(problem, "give more text, or min_count=1", "too-few")
    rank = np.full(len(number), -1, dtype=np.int32)
    rank[kept] = np.arange(len(kept), dtype=np.int32)
    ranks_N = rank[ids_N]
    before = np.concatenate([[0], np.cumsum(ranks_N >= 0)])
    names = list(number)
    stream = Stream(ranks_N[ranks_N >= 0], before[ends], np.arange(len(kept)), counts[kept])
    return [names[index] for index in kept], stream
