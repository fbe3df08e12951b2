"""BLEU-1: how many words of a text are in its reference, by sacrebleu, which signs what it did.

It says nothing of their order, and a text in the source language scores what the two languages share: names, numbers,
punctuation. How much that is depends on what counts as a word, so scores stand beside that of the unchanged source.

Shapes: ``N`` sentences.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, InputError, MissingPartError
from isoglot.core.language_codes import language_code
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoglot.vocab import Vocabulary

BleuTokens = Literal["standard", "whitespace", "words", "subword"]
"""``standard``: sacrebleu's tokenizer 13a, which cuts off punctuation; ``whitespace``: what stands between blanks,
punctuation included; ``words``: the same with punctuation removed; ``subword``: the encoder's own subwords. Where words
have no blanks between them, the first three count characters."""
# sacrebleu's own tokenizers for Japanese and Korean need dictionaries that it does not bring.
_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


@dataclass(frozen=True, slots=True)
class Bleu:
    """A score from 0 to 100, and sacrebleu's signature with the order, and what was counted, before it."""

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
    """BLEU of order 1 of a whole set of sentences.

    Args:
        texts: What was made.
        references: What it should be, one for each.
        language: Theirs, which decides how words are found: in Chinese every character is one.
        tokens: What is counted.
        vocabulary: Whose subwords, where these are counted.

    Raises:
        ConfigError: Subwords are to be counted, and no vocabulary is given.
        InputError: There are not as many references.
        MissingPartError: sacrebleu is not installed.
    """
    check_references(len(texts), len(references))
    if not texts:
        raise InputError("no sentence to score", remedy="give at least one", code="input.empty")
    metric = _metric(language, tokens)
    sides = [_counted(side, language, tokens, vocabulary) for side in (texts, references)]
    score = metric.corpus_score(sides[0], [sides[1]])
    counted = "" if tokens == "standard" else f"|{tokens}"
    return Bleu(float(score.score), f"BLEU-1{counted}|{metric.get_signature()}")


def bleu_interval(
    texts: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    tokens: BleuTokens = "standard",
    vocabulary: Vocabulary | None = None,
    draws_MN: np.ndarray,
) -> tuple[float, float]:
    """The 95 % interval of BLEU-1 over resampled sentences (percentile bootstrap).

    Args:
        texts: What was made.
        references: What it should be.
        language: Theirs.
        tokens: What is counted.
        vocabulary: Whose subwords, where these are counted.
        draws_MN: The sentences of each resample, by number.
    """
    import numpy as np

    parts_N3 = bleu_parts(texts, references, language, tokens=tokens, vocabulary=vocabulary)
    low, high = np.percentile(bleu_of_parts(parts_N3[draws_MN].sum(axis=1)), (2.5, 97.5))
    return float(low), float(high)


def bleu_parts(
    texts: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    tokens: BleuTokens = "standard",
    vocabulary: Vocabulary | None = None,
) -> np.ndarray:
    """Tokens of each sentence that are right, that were made, and of the reference (N × 3).

    :func:`bleu_of_parts` of their sum over a set of sentences is the set's BLEU-1.
    """
    import numpy as np

    metric = _metric(language, tokens, effective_order=True)
    sides = [_counted(side, language, tokens, vocabulary) for side in (texts, references)]
    each = [metric.sentence_score(text, [reference]) for text, reference in zip(*sides, strict=True)]
    return np.array([[one.counts[0], one.sys_len, one.ref_len] for one in each], dtype=np.float64)


def bleu_of_parts(sums_M3: np.ndarray) -> np.ndarray:
    """BLEU-1 of sets of sentences, from the sums of their parts."""
    import numpy as np

    right_M, made_M, wanted_M = sums_M3.T
    shorter_M = np.minimum(0.0, 1 - wanted_M / np.maximum(made_M, 1e-9))
    scores_M: np.ndarray = 100 * np.exp(shorter_M) * right_M / np.maximum(made_M, 1e-9)
    return scores_M


def _metric(language: str, tokens: BleuTokens, **options: bool) -> Any:  # noqa: ANN401 - sacrebleu has no types
    spaced = "13a" if tokens == "standard" else "none"
    unspaced = _TOKENIZERS.get(language_code(language).partition("-")[0])
    tokenizer = spaced if tokens == "subword" else unspaced or spaced
    # Forced: what looks tokenized to it is what we mean.
    return import_part("sacrebleu.metrics").BLEU(tokenize=tokenizer, max_ngram_order=1, force=True, **options)


def _counted(texts: Sequence[str], language: str, tokens: BleuTokens, vocabulary: Vocabulary | None) -> list[str]:
    """The texts with a blank between what is counted."""
    if tokens == "words":
        return [" ".join("".join(" " if _is_sign(sign) else sign for sign in text).split()) for text in texts]
    if tokens != "subword":
        return list(texts)
    if vocabulary is None:
        raise ConfigError(
            "BLEU-1 of subwords without a vocabulary", remedy="give the encoder's", code="config.missing-option"
        )
    return [" ".join(map(str, ids)) for ids in vocabulary.encode_batch(list(texts), language)]


def _is_sign(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "P"


def why_no_bleu() -> str | None:
    """Why BLEU-1 cannot be had here, with the remedy, for who would rather do without; None where it can."""
    try:
        import_part("sacrebleu")
    except MissingPartError as error:
        return f"BLEU-1 is left out: {error}"
    return None


def check_references(sentences: int, references: int) -> None:
    """Refuse references that are not one for each sentence, before any work is done.

    Raises:
        InputError: They are not.
    """
    if sentences != references:
        raise InputError(
            f"{sentences:,} sentences with {references:,} references",
            remedy="give one reference for each",
            code="input.row-count",
        )
