"""Built-in English beside a twin of it: text to train on, an encoder of the two, and held-out pairs to test it with.

The twin is English in a private script. Some of its words may be written as in English (anchors), and its words may
stand in another order. The two training texts never say the same; a test pair is a sentence and its twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from isoglot.languages.corpus import Split, documents
from isoglot.languages.twins import Order, Parsed, twin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from isoglot.languages.random_meanings import Draw
    from isoglot.languages.sentence import Sentence
    from isoglot.model.protocol import EncoderLike
    from isoglot.retrieve.estimates import Center

WordOrder = Literal["same", "verb-last", "mirrored"]
"""``same``: English word order; ``verb-last``: verbs after what depends on them; ``mirrored``: the last word first."""
_ORDERS: dict[str, Order] = {"verb-last": "verb-last", "mirrored": "reversed"}
_CENTERS: tuple[Center, Center] = ("none", "mean")

Pairs = tuple[list[str], list[str]]
"""Sentences of the first language, and their translations into the second."""
LayerScores = tuple[float, ...]
"""P@1 of each layer."""


@dataclass(frozen=True, kw_only=True)
class TwinLanguage:
    """A twin of English.

    Attributes:
        order: Its word order.
        anchors: The share of words, counted once each, that are written as in English, from 0 to 1.
        seed: Decides which words are anchors.
    """

    order: WordOrder = "same"
    anchors: float = 0.0
    seed: int = 0

    def translate(self, sentences: Iterable[Sentence | list[str]]) -> Iterator[list[str]]:
        """The words of each sentence in the twin; ``verb-last`` needs trees, which a list of words has not."""
        found: Iterable[Sequence[str] | Parsed] = map(_words, sentences)
        if self.order == "verb-last":
            found = (Parsed(s.words, s.heads, s.tags) for s in sentences if not isinstance(s, list))
        if self.order != "same":
            found = (other.tokens for other in twin(found, "order", order=_ORDERS[self.order]))
        return (other.tokens for other in twin(found, "shift", kept=self.anchors, seed=self.seed))


def _words(sentence: Sentence | list[str]) -> list[str]:
    return sentence if isinstance(sentence, list) else sentence.words


# --- text ---


def english_documents(sentences: int, seed: int, topics: Draw[str] | None = None) -> Iterator[list[Sentence]]:
    """Documents of built-in English, until they have at least ``sentences`` sentences in all."""
    count = 0
    for text in documents("en", seed=seed, topics=topics):
        yield text
        count += len(text)
        if count >= sentences:
            return


def pair_documents(
    language: TwinLanguage,
    sentences: int,
    *,
    seed: int,
    topics: tuple[Draw[str] | None, Draw[str] | None] = (None, None),
) -> tuple[Iterator[list[str]], Iterator[list[str]]]:
    """Documents of English, and the twin of other English.

    Args:
        language: The twin.
        sentences: Sentences a language.
        seed: Decides both texts.
        topics: What each text is about; None: all topics.
    """
    english, other = (english_documents(sentences, 2 * seed + side, topics[side]) for side in (0, 1))
    return (
        ([" ".join(sentence.words) for sentence in text] for text in english),
        ([" ".join(words) for words in language.translate(text)] for text in other),
    )


def held_out(count: int, seed: int, *, split: Split = "test", topics: Draw[str] | None = None) -> list[Sentence]:
    """English sentences of 5 to 20 words whose combination of concepts is in no training text, each once."""
    every = (s for text in documents("en", seed=seed, split=split, topics=topics) for s in text)
    return list(islice(_unique(s for s in every if 5 <= len(s.words) <= 20), count))


def _unique(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    seen: set[tuple[str, ...]] = set()
    for sentence in sentences:
        words = tuple(sentence.words)
        if words not in seen:
            seen.add(words)
            yield sentence


def paired(sentences: Sequence[Sentence | list[str]], language: TwinLanguage) -> Pairs:
    """Sentences beside their twins, as text."""
    return [" ".join(_words(s)) for s in sentences], [" ".join(words) for words in language.translate(sentences)]


# --- the test ---


def twin_precision(encoder: EncoderLike, codes: tuple[str, str], pairs: Pairs) -> tuple[LayerScores, LayerScores]:
    """P@1 of each layer in finding the twin of every sentence, raw and with each language's mean removed."""
    from isoglot.represent import extract

    one, other = (extract(encoder, side, language=code) for side, code in zip(pairs, codes, strict=True))
    raw, centered = (tuple(_precision(one[layer], other[layer], center) for layer in one.layers) for center in _CENTERS)
    return raw, centered


def _precision(X: np.ndarray, Y: np.ndarray, center: Center) -> float:
    """P@1 from X to Y by cosine; means that are removed come from other sentences than the query."""
    from isoglot.retrieve import score_retrieval
    from isoglot.retrieve.estimates import Estimates

    scores = score_retrieval(
        X, Y, methods=("cosine",), directions=("forward",), center=center, estimates=Estimates(), resamples=1
    )
    return scores.of("cosine").precision[1].value
