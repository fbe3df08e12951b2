"""BLEU-1: how many words of a text are in its reference, by sacrebleu, which signs what it did.

It says nothing of their order, and a text in the source language scores what the two languages share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, MissingPartError
from isoglot.core.language_codes import language_code
from isoglot.core.parts import import_part

if TYPE_CHECKING:
    from collections.abc import Sequence

# sacrebleu's own tokenizers for Japanese and Korean need dictionaries that it does not bring.
_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


@dataclass(frozen=True, slots=True)
class Bleu:
    """A score from 0 to 100, and sacrebleu's signature with the order before it."""

    score: float
    signature: str


def bleu_1(texts: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """BLEU of order 1 of a whole set of sentences.

    Args:
        texts: What was made.
        references: What it should be, one for each.
        language: Theirs, which decides how words are found: in Chinese every character is one.

    Raises:
        InputError: There are not as many references.
        MissingPartError: sacrebleu is not installed.
    """
    check_references(len(texts), len(references))
    if not texts:
        raise InputError("no sentence to score", remedy="give at least one")
    tokenizer = _TOKENIZERS.get(language_code(language).partition("-")[0], "13a")
    # Forced: what looks tokenized to it is what we mean.
    metric = import_part("sacrebleu.metrics").BLEU(tokenize=tokenizer, max_ngram_order=1, force=True)
    score = metric.corpus_score(list(texts), [list(references)])
    return Bleu(float(score.score), f"BLEU-1|{metric.get_signature()}")


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
            f"{sentences:,} sentences with {references:,} references", remedy="give one reference for each"
        )
