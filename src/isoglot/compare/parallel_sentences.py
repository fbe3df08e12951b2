"""Built-in sentences that say the same twice: in two languages, in a language and its twin, or in other words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted
from isoglot.core.rng import derive_seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.languages.sentence import Sentence
    from isoglot.model import EncoderLike

SENTENCES = 500
"""Built-in sentences of each language, unless told: a share of them has a 95 % interval of 4.4 points to either side at
worst. Four times as many halve it, and take four times as long."""
TWIN_TAGS = ("shift", "order", "freq")
"""Private-use tags that make another language of one; any other tag is a second name."""
SentencePair = tuple[str, str]
Builtin = Literal["translations", "paraphrases"]
"""``translations``: the same meaning in both languages; ``paraphrases``: the same language twice, in other words or
another order, which stand in for the first paper's back-translations."""


def builtin_pairs(
    languages: tuple[str, str], count: int, *, kind: Builtin | None = None, seed: int = 0
) -> list[SentencePair]:
    """So many different pairs of held-out sentences.

    A private-use tag makes a language of another: ``en-x-shift`` and ``en-x-order`` are the twins of
    :mod:`isoglot.languages`, and any other tag, as in ``en-x-two``, is the language itself under a second name.

    >>> builtin_pairs(("en", "de"), 1, seed=7)[0][0] == builtin_pairs(("en", "zh"), 1, seed=7)[0][0]
    True

    Args:
        languages: Codes of built-in languages, or of what is made of them.
        count: How many.
        kind: What the second side is; left out: paraphrases where both sides read alike, else translations.
        seed: Same seed, same sentences; the first side is the same for every second language.

    Raises:
        ConfigError: A language is not built in, or has no sentences that correspond.
    """
    made = builtin_rows(languages, kind=kind, seed=derive_seed(seed, "compared sentences"))
    found: dict[str, str] = {}
    while len(found) < count:
        first, second = next(made)
        found.setdefault(first, second)
    return list(found.items())


def builtin_rows(languages: Sequence[str], *, kind: Builtin | None = None, seed: int = 0) -> Iterator[tuple[str, ...]]:
    """Held-out sentences in all of the languages at once, twins among them, row by row without end; some come again.

    >>> english, shifted, german = next(builtin_rows(["en", "en-x-shift", "de"]))
    >>> len(english.split()) == len(shifted.split()), english == shifted
    (True, False)

    Args:
        languages: Codes as in :func:`builtin_pairs`.
        kind: What the second of two sides is, as there.
        seed: Same seed, same sentences.

    Raises:
        ConfigError: A language is not built in, or two of more than two read alike.
    """
    from isoglot.languages import parallel, paraphrases

    codes = [language_code(code) for code in languages]
    bases = [code.partition("-x-")[0] for code in codes]
    tags = [_twin_tags(code) for code in codes]
    read = list(zip(bases, tags, strict=True))
    alike = next((place for place, each in enumerate(read) if each in read[:place]), None)
    if alike is not None and len(codes) > 2:
        raise ConfigError(f"{languages[read.index(read[alike])]} and {languages[alike]} read alike", remedy="name one")
    if kind is None:
        kind = "translations" if alike is None else "paraphrases"
    if kind == "paraphrases" and (len(codes) != 2 or bases[0] != bases[1]):
        raise ConfigError(
            f"{' and '.join(languages)} are no paraphrases of each other", remedy="name one language twice"
        )
    made: Iterator[tuple[Sentence, ...]] = (
        paraphrases(bases[0], seed=seed, split="test")
        if kind == "paraphrases"
        else parallel(bases, seed=seed, split="test")
    )
    plain = not any(tags)
    return (tuple(_text(each, own, plain=plain) for each, own in zip(row, tags, strict=True)) for row in made)


def language_for(encoder: EncoderLike, language: str) -> str:
    """The language by the name an encoder has for it.

    English under a second name, ``en-x-two``, is ``en`` to an encoder that was trained on English alone.
    """
    code = language_code(language)
    known = trained_on(encoder) or encoder.vocabulary.languages
    base = code.partition("-x-")[0]
    return base if code not in known and base in known and not _twin_tags(code) else code


def trained_on(encoder: EncoderLike) -> tuple[str, ...]:
    """The languages that an encoder says it was trained on; none where it does not say, as those of others."""
    return tuple(getattr(getattr(encoder, "config", None), "languages", ()))


def default_languages(one: EncoderLike, other: EncoderLike) -> tuple[str, str]:
    """What two encoders are to read where nobody says: the first language of the one, and another of the other's.

    Where both know one language alone, it is read twice, the second time under a second name.
    """
    firsts, seconds = (trained_on(each) or each.vocabulary.languages for each in (one, other))
    if not firsts or not seconds:
        return "en", "fr"
    first = firsts[0]
    return first, next((code for code in seconds if code != first), f"{first}-x-two")


def check_count(sentences: int, measures: Sequence[str] = (), *, option: str = "") -> None:
    """Refuse too few sentences to say anything, or fewer than a measure needs.

    >>> check_count(5, ["cka", "mutual-knn"])
    Traceback (most recent call last):
    isoglot.core.errors.InputError: 5 sentences to compare; give at least 12 for mutual-knn, or leave that measure out

    Args:
        sentences: How many there are.
        measures: What is to be measured on them, by name.
        option: What was set to that number, for the message.

    Raises:
        ConfigError: There is no such measure.
        InputError: The message has their number.
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
    raise InputError(f"{option} {counted(sentences, 'sentences')} to compare".strip(), remedy=remedy)


def _twin_tags(code: str) -> tuple[str, ...]:
    tags = tuple(tag for tag in code.partition("-x-")[2].split("-") if tag in TWIN_TAGS)
    if "freq" in tags:
        raise ConfigError(f"sentences of {code} correspond to none of another language", remedy="name another twin")
    return tags


def _text(sentence: Sentence, tags: tuple[str, ...], *, plain: bool) -> str:
    """The sentence in a twin's script and order; beside a twin, with blanks between the words as twins have them."""
    from isoglot.languages.twins import as_twin

    return sentence.text if plain else " ".join(as_twin(sentence.words, tags))
