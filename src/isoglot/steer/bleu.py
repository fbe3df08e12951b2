"""BLEU-1 by sacrebleu, with its signature.

It ignores word order, and a text in the source language scores what the two languages share: names, numbers,
punctuation. How much that is depends on the tokenization, so scores are reported with that of the unchanged source.

Shapes: ``N`` sentences.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoglot.core.errors import ConfigError, InputError, MissingPartError, check_counts
from isoglot.core.language_codes import language_code
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.vocab import Vocabulary

BleuTokens = Literal["standard", "whitespace", "words", "subword"]
"""``standard``: sacrebleu's tokenizer 13a, which separates punctuation; ``whitespace``: split by whitespace,
punctuation included; ``words``: the same without punctuation; ``subword``: the encoder's subwords. In languages written
without spaces, the first three count characters."""
# sacrebleu's own tokenizers for Japanese and Korean need dictionaries that are not installed with it.
_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


@dataclass(frozen=True, slots=True)
class Bleu:
    """A score from 0 to 100 with its signature: order and tokens, then sacrebleu's.

    >>> from isoglot.steer import bleu_1
    >>> found = bleu_1(["das Haus ist alt"], ["das Haus ist neu"], "de", tokens="words")
    >>> round(found.score), found.signature.split("|")[:2]
    (75, ['BLEU-1', 'words'])
    """

    score: float
    signature: str


def bleu_1(
    texts: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    tokens: BleuTokens = "standard",
    vocabulary: Vocabulary | None = None,
) -> Bleu:
    """Corpus BLEU of order 1.

    Args:
        texts: Hypotheses.
        references: One reference for each.
        language: Their language, which decides the tokenizer: in Chinese every character is a token.
        tokens: Tokens that are counted.
        vocabulary: Vocabulary of the subwords, if these are counted.

    Returns:
        The score from 0 to 100, with sacrebleu's signature.

    >>> round(bleu_1(["das Haus ist alt"], ["das Haus ist neu"], "de").score)
    75

    Raises:
        ConfigError: Subwords are counted and no vocabulary is given.
        InputError: There are not as many references.
        MissingPartError: sacrebleu is not installed.
    """
    check_references(len(texts), len(references))
    if not texts:
        raise InputError("no sentence to score", "give at least one", "empty")
    metric = _metric(language, tokens)
    sides = [_counted(side, language, tokens, vocabulary) for side in (texts, references)]
    score = metric.corpus_score(sides[0], [sides[1]])
    counted = "" if tokens == "standard" else f"|{tokens}"
    return Bleu(float(score.score), f"BLEU-1{counted}|{metric.get_signature()}")


def bleu_parts(
    texts: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    tokens: BleuTokens = "standard",
    vocabulary: Vocabulary | None = None,
) -> np.ndarray:
    """Matching tokens, hypothesis length and reference length of each sentence (N × 3).

    :func:`bleu_of_parts` of their sum over a set of sentences is the set's BLEU-1.
    """
    metric = _metric(language, tokens, effective_order=True)
    sides = [_counted(side, language, tokens, vocabulary) for side in (texts, references)]
    each = [metric.sentence_score(text, [reference]) for text, reference in zip(*sides, strict=True)]
    return np.array([[one.counts[0], one.sys_len, one.ref_len] for one in each], dtype=np.float64)


def bleu_of_parts(sums_M3: np.ndarray) -> np.ndarray:
    """BLEU-1 of sets of sentences, from the sums of their parts."""
    right_M, made_M, wanted_M = sums_M3.T
    shorter_M = np.minimum(0.0, 1 - wanted_M / np.maximum(made_M, 1e-9))
    scores_M: np.ndarray = 100 * np.exp(shorter_M) * right_M / np.maximum(made_M, 1e-9)
    return scores_M


def _metric(language: str, tokens: BleuTokens, **options: bool) -> Any:  # noqa: ANN401 - sacrebleu has no types
    spaced = "13a" if tokens == "standard" else "none"
    unspaced = _TOKENIZERS.get(language_code(language).partition("-")[0])
    tokenizer = spaced if tokens == "subword" else unspaced or spaced
    # force: do not warn about input that looks tokenized.
    return import_part("sacrebleu.metrics").BLEU(tokenize=tokenizer, max_ngram_order=1, force=True, **options)


def _counted(texts: Sequence[str], language: str, tokens: BleuTokens, vocabulary: Vocabulary | None) -> list[str]:
    """Texts with spaces between the tokens that are counted."""
    if tokens == "words":
        return [
            " ".join("".join(" " if unicodedata.category(sign)[0] == "P" else sign for sign in text).split())
            for text in texts
        ]
    if tokens != "subword":
        return list(texts)
    if vocabulary is None:
        raise ConfigError("BLEU-1 of subwords needs a vocabulary", "give the encoder's", "missing-option")
    return [" ".join(map(str, ids)) for ids in vocabulary.encode_batch(list(texts), language)]


def why_no_bleu() -> str | None:
    """Why BLEU-1 is not available, with the remedy; None if it is."""
    try:
        import_part("sacrebleu")
    except MissingPartError as error:
        return f"BLEU-1 is left out: {error}"
    return None


def check_references(sentences: int, references: int) -> None:
    """Check that there is one reference per sentence.

    Raises:
        InputError: The numbers differ.
    """
    check_counts("lines", {"sentences": sentences, "references": references}, "give one reference for each")
