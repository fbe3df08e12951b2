"""Word2Vec and fastText on whole words, as published vectors are trained, to stand beside an encoder as a baseline.

Shapes: ``N`` words of the stream, ``S`` sentences, ``V`` words that have vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT
from isoglot.static.gensim_models import Shallow
from isoglot.static.stream import Stream
from isoglot.text.vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.core.progress import Progress
    from isoglot.static.settings import Word2VecConfig

MOST_WORDS = 200_000
"""Words that get a vector at most, the most frequent ones: as many as MUSE reads."""


def train_on_words(
    sentences: Iterable[Sequence[str]],
    config: Word2VecConfig,
    *,
    most: int = MOST_WORDS,
    workers: int = 1,
    progress: Progress = SILENT,
) -> Vectors:
    """Train vectors of words; contexts end with the sentence.

    Args:
        sentences: Lists of words.
        config: A :class:`Word2VecConfig` or :class:`FastTextConfig`.
        most: Words that get a vector at most.
        workers: Threads; the result is the same each time with one only.
        progress: Shows how far it is.

    Returns:
        The words and their vectors, the most frequent first.

    Raises:
        ConfigError: The vectors diverged.
        InputError: No word is frequent enough.
        MissingPartError: gensim is not installed.
    """
    words, stream = word_stream(sentences, config.min_count, most)
    model = Shallow(stream, words, config, workers=workers)
    for _ in range(config.epochs):
        model.learn_epoch(progress=progress)
    return Vectors(words, model.vectors())


def word_stream(sentences: Iterable[Sequence[str]], min_count: int, most: int) -> tuple[list[str], Stream]:
    """The frequent words, most frequent first and of equals the earlier, and the text as their numbers.

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
        raise InputError(
            f"no word occurs {min_count} times in {len(ids):,} words of text", remedy="give more text, or min_count=1"
        )
    rank = np.full(len(number), -1, dtype=np.int32)
    rank[kept] = np.arange(len(kept), dtype=np.int32)
    ranks_N = rank[ids_N]
    before = np.concatenate([[0], np.cumsum(ranks_N >= 0)])
    names = list(number)
    stream = Stream(ranks_N[ranks_N >= 0], before[ends], np.arange(len(kept)), counts[kept])
    return [names[index] for index in kept], stream
