"""Text of built-in languages and their twins: to learn means from, to translate, and to judge translations by."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.languages.corpus import LANGUAGES, dictionary, documents
from isoglot.languages.twins import as_twin, twin
from isoglot.text.formats.dictionary import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.model.protocol import EncoderLike

SENTENCES = 2000
"""Of each language, unless told."""
_TWINS = ("shift", "order")
_READ_OFF = 5000  # parallel sentences behind a dictionary


def builtin_languages(encoder: EncoderLike) -> tuple[str, ...]:
    """The languages of an encoder that text can be made of; of one that does not say what it knows, all there are."""
    known = encoder.vocabulary.languages
    return tuple(code for code in known if is_builtin(code)) if known else tuple(LANGUAGES)


def is_builtin(language: str) -> bool:
    """Whether a language is built in, or a twin of such.

    >>> is_builtin("deu"), is_builtin("en-x-shift"), is_builtin("sw"), is_builtin("en-x-freq")
    (True, True, False, False)
    """
    base, _, tags = language_code(language).partition("-x-")
    return base in LANGUAGES and all(tag in _TWINS for tag in tags.split("-") if tag)


def builtin_text(languages: Sequence[str], sentences: int = SENTENCES, *, seed: int = 0) -> dict[str, list[str]]:
    """So many sentences of each language, of the part of the world that models are trained on.

    The texts say different things in each language. Beside a twin all have blanks between their words, as twins do.

    Raises:
        ConfigError: A language is not built in.
    """
    codes = list(dict.fromkeys(map(language_code, languages)))
    for code in codes:
        if not is_builtin(code):
            raise ConfigError(
                f"there is no built-in text of {code}", remedy=f"give some of your own; built in are {_listed()}"
            )
    spaced = any("-x-" in code for code in codes)
    found = {}
    for number, code in enumerate(codes):
        stream = _sentences(code, derive_seed(seed, "language means", number), spaced=spaced)
        found[code] = list(islice(stream, sentences))
    return found


def builtin_dictionary(source: str, target: str, *, seed: int = 0) -> list[Entry]:
    """The words of one language with their translations, as gold alignment finds them.

    Between a language and its twin every word has one translation, and words that were kept have themselves.

    Raises:
        ConfigError: A language is not built in, or the two have no words in common.
    """
    codes = language_code(source), language_code(target)
    bases = [code.partition("-x-")[0] for code in codes]
    shifted = ["shift" in code.partition("-x-")[2].split("-") for code in codes]
    if not all(map(is_builtin, codes)) or (any(shifted) and bases[0] != bases[1]):
        raise ConfigError(f"there is no built-in dictionary of {codes[0]} and {codes[1]}", remedy="give a file")
    if bases[0] != bases[1]:
        found = dictionary(*bases, seed=seed, sentences=_READ_OFF)
        return [*found.train, *found.test]
    words = sorted(
        {word for text in islice(documents(bases[0], seed=seed), _READ_OFF // 5) for s in text for word in s.words}
    )
    twins = [one.tokens[0] for one in twin(([word] for word in words), "shift")]
    sides = [twins if private else words for private in shifted]
    pairs = dict.fromkeys([*zip(*sides, strict=True), *zip(words, words, strict=True)])
    return [Entry(*pair) for pair in pairs]


def _sentences(code: str, seed: int, *, spaced: bool) -> Iterator[str]:
    base, _, tags = code.partition("-x-")
    for text in documents(base, seed=seed):
        for sentence in text:
            yield " ".join(as_twin(sentence.words, filter(None, tags.split("-")))) if spaced else sentence.text


def _listed() -> str:
    return f"{', '.join(LANGUAGES)} and twins such as en-x-shift"
