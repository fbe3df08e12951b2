"""Sentences that encoders are compared on: which languages, and how many."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted
from isoglot.core.rng import derive_seed
from isoglot.languages import LANGUAGES
from isoglot.languages.builtin import builtin_languages, builtin_pairs, builtin_rows, twin_tags
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.text.formats.parallel import unrepeated

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


def comparison_pairs(
    one: EncoderLike,
    other: EncoderLike,
    sentences: int = SENTENCES,
    *,
    languages: tuple[str, str] | None = None,
    seed: int = 0,
) -> tuple[tuple[str, str], list[SentencePair]]:
    """Languages to compare two encoders in, and built-in sentences of both.

    Args:
        one: Encoder of the first language.
        other: Encoder of the second.
        sentences: Number of sentences.
        languages: The two languages. Default: those of :func:`default_languages`.
        seed: Random seed.

    Raises:
        ConfigError: A language is not built in.
    """
    codes = languages or default_languages(one, other)
    try:
        return codes, builtin_pairs(codes, sentences, seed=seed)
    except ConfigError as error:
        if languages is not None:
            raise
        problem = f"no built-in sentences of {' and '.join(codes)}: {error.problem}"
        raise ConfigError(problem, "give parallel sentences in these languages", "built-in-language") from error


def two_sides_of(sets: Sequence[ParallelSet]) -> tuple[tuple[str, str], list[SentencePair]]:
    """The languages of a set with two, and its sentences in pairs.

    >>> two_sides_of([ParallelSet.from_lists({"en": ["Yes."], "de": ["Ja."]})])
    (('en', 'de'), [('Yes.', 'Ja.')])

    Raises:
        ConfigError: There are more than two languages, or none.
    """
    codes = list(dict.fromkeys(code for one in sets for code in one.sentences))
    if len(codes) != 2:
        remedy = "name two languages, the first side's first: --parallel en=a.txt --parallel fr=b.txt"
        raise ConfigError(f"--parallel names {', '.join(codes)}", remedy, "other-language")
    return (codes[0], codes[1]), list(zip(*(sets[0].sentences[code] for code in codes), strict=True))


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
    from isoglot.compare.measures.measure import FEWEST_ROWS
    from isoglot.compare.measures.registry import find_measure

    most = max((find_measure(name).fewest for name in measures), default=FEWEST_ROWS)
    if sentences >= most:
        return
    names = ", ".join(name for name in measures if find_measure(name).fewest > max(sentences, FEWEST_ROWS))
    remedy = f"give at least {most} for {names}, or leave {'these measures' if ',' in names else 'that measure'} out"
    if sentences < FEWEST_ROWS:
        remedy = f"give at least {FEWEST_ROWS}" + (f", and {most} for {names}" if names else "")
    raise InputError(f"{option} {counted(sentences, 'sentences')} to compare".strip(), remedy, "too-few")


def builtin_languages_of(encoder: EncoderLike) -> list[str]:
    """Built-in languages and twins that an encoder knows; all built-in languages if it does not say what it knows.

    A twin with other word frequencies (``freq``) has no sentences parallel to other languages and is left out.

    Raises:
        ConfigError: Fewer than two are built in.
    """
    known = encoder.vocabulary.languages
    codes = [
        code for code in known or LANGUAGES if code.partition("-x-")[0] in LANGUAGES and "freq" not in code.split("-")
    ]
    return _two_or_more(codes, known)


def builtin_set(languages: Sequence[str], sentences: int = SENTENCES, *, seed: int = 0) -> ParallelSet:
    """Distinct parallel test sentences of built-in languages and twins (:mod:`isoglot.languages.builtin`).

    Args:
        languages: Codes of built-in languages and twins.
        sentences: Number of rows.
        seed: Seed of the sentences.

    Returns:
        Rows with a sentence in every language.

    >>> len(builtin_set(["en", "de"], 5))
    5

    Raises:
        ConfigError: A language is not built in, or there is only one.
    """
    if len(languages) < 2:
        problem = f"only one language, {', '.join(languages)}"
        raise ConfigError(problem, "name two or more, or give parallel files", "other-language")
    rows = list(islice(unrepeated(builtin_rows(languages, seed=derive_seed(seed, "check-up"))), sentences))
    kept = {code: [row[place] for _, row in rows] for place, code in enumerate(languages)}
    return ParallelSet(name="built-in sentences", sentences=kept, numbers=list(range(1, sentences + 1)))


def builtin_sets(
    encoder: EncoderLike, languages: Sequence[str] = (), sentences: int = SENTENCES, *, seed: int = 0
) -> list[ParallelSet]:
    """Built-in sentences of one language with each of the others.

    Args:
        encoder: The encoder that reads them.
        languages: The languages, the first being the one that all sets have. Default: those the encoder knows.
        sentences: The number of sentences of a set.
        seed: The random seed.

    Raises:
        ConfigError: Fewer than two languages are built in.
    """
    known = encoder.vocabulary.languages
    first, *others = _two_or_more(list(languages) or list(builtin_languages(known)), known)
    return [builtin_set([first, other], sentences, seed=seed) for other in others]


def _two_or_more(codes: list[str], known: Sequence[str]) -> list[str]:
    if len(codes) < 2:
        problem = f"the encoder knows {', '.join(known)}, fewer than two of which are built in"
        raise ConfigError(problem, "give parallel sentences in its languages", "built-in-language")
    return codes
