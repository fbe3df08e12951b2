"""Words that are a single subword, and so a row of the embedding matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoglot.vocab.vocabulary import Vocabulary


def whole_words(vocabulary: Vocabulary, language: str | None = None) -> dict[str, int]:
    """The words of a language that are a single subword, without the mark, with their ids.

    They are sorted by frequency if the vocabulary has counts, else by id. A word is listed if the tokenizer encodes it,
    as inside a sentence, as exactly that subword.

    Args:
        vocabulary: Any vocabulary.
        language: A canonical code. All words if it is None or the vocabulary does not know the subwords of languages.

    Raises:
        ConfigError: The vocabulary does not have the language, or encodes by language and none is named.
    """
    import numpy as np

    known = language is not None and (language in vocabulary.languages or not vocabulary.languages)
    ids_N = vocabulary.ids_of(language) if known and language else np.arange(len(vocabulary))
    counts_V = vocabulary.counts(language) if known and language else None
    if counts_V is not None:
        ids_N = ids_N[np.argsort(-counts_V[ids_N], kind="stable")]
    named = [
        (word, index)
        for index in ids_N.tolist()
        if (bare := vocabulary.word(index)) is not None
        for word in dict.fromkeys((vocabulary.decode([index]).strip(), bare))  # byte-level subwords must be decoded
        if word.split() == [word]
    ]
    blank = blank_before_words(vocabulary, language)
    read = vocabulary.encode_batch([blank + word for word, _ in named], language)
    found: dict[str, int] = {}
    for (word, index), ids in zip(named, read, strict=True):
        if ids == [index]:
            found.setdefault(word, index)
    return found


def blank_before_words(vocabulary: Vocabulary, language: str | None) -> str:
    """The text to put before a word inside a sentence: a blank for byte-level tokenizers such as RoBERTa's.

    Other tokenizers mark words themselves, and would encode the blank as a subword.
    """
    if vocabulary.mode != "given":
        return ""
    bare, spaced = (vocabulary.encode(text, language) for text in ("a", " a"))
    opens = [bool(ids) and vocabulary.pieces[ids[0]].startswith("Ġ") for ids in (bare, spaced)]
    return " " if opens == [False, True] else ""
