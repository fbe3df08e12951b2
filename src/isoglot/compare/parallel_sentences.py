"""Sentences that encoders are compared on: which languages, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted
from isoglot.languages.builtin import twin_tags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model import EncoderLike

SENTENCES = 500
"""Default number of built-in sentences per language: a share has a 95 % interval of at most ±4.4 points. Four times as
many halve it, and take four times as long.
"""
SentencePair = tuple[str, str]


def language_for(encoder: EncoderLike, language: str) -> str:
    """Name of a language as an encoder knows it.

    English under a second name, ``en-x-two``, is ``en`` to an encoder that was trained on English alone.
    """
    code = language_code(language)
    known = trained_on(encoder) or encoder.vocabulary.languages
    base = code.partition("-x-")[0]
    return base if code not in known and base in known and not twin_tags(code) else code


def trained_on(encoder: EncoderLike) -> tuple[str, ...]:
    """Training languages of an encoder; empty if it has no record."""
    return tuple(getattr(getattr(encoder, "config", None), "languages", ()))


def default_languages(one: EncoderLike, other: EncoderLike) -> tuple[str, str]:
    """Default languages of a comparison: the first language of one encoder, and another one of the other's.

    If both know the same single language, it is read twice, the second time under a second name.
    """
    firsts, seconds = (trained_on(each) or each.vocabulary.languages for each in (one, other))
    if not firsts or not seconds:
        return "en", "fr"
    first = firsts[0]
    return first, next((code for code in seconds if code != first), f"{first}-x-two")


def check_count(sentences: int, measures: Sequence[str] = (), *, option: str = "") -> None:
    """Check that there are enough sentences, for any measure and for the given ones.

    >>> check_count(5, ["cka", "mutual-knn"])
    Traceback (most recent call last):
    isoglot.core.errors.InputError: 5 sentences to compare; give at least 12 for mutual-knn, or leave that measure out

    Args:
        sentences: Number of sentences.
        measures: Names of the measures.
        option: The option with that number, for the message.

    Raises:
        ConfigError: A measure does not exist.
        InputError: There are too few.
    """
    from isoglot.compare.measures.paired_rows import FEWEST_ROWS
    from isoglot.compare.measures.registry import find_measure

    most = max((find_measure(name).fewest for name in measures), default=FEWEST_ROWS)
    if sentences >= most:
        return
    names = ", ".join(name for name in measures if find_measure(name).fewest > max(sentences, FEWEST_ROWS))
    remedy = f"give at least {most} for {names}, or leave that measure out"
    if "," in names:
        remedy = f"give at least {most} for {names}, or leave these measures out"
    if sentences < FEWEST_ROWS:
        remedy = f"give at least {FEWEST_ROWS}" + (f", and {most} for {names}" if names else "")
    raise InputError(
        f"{option} {counted(sentences, 'sentences')} to compare".strip(), remedy=remedy, code="input.too-few"
    )
