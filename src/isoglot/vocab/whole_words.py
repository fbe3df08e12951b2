"""Words that are one subword: the rows of an embedding matrix that stand for a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoglot.vocab.vocabulary import Vocabulary


def whole_words(vocabulary: Vocabulary, language: str | None = None) -> dict[str, int]:
    """The words of a language that are one subword, without the mark of a word's beginning, with their ids.

    The most frequent word comes first where the vocabulary knows counts, else the lowest id. A word is listed if the
    tokenizer reads it, as it stands inside a sentence, as exactly that one subword.

    Args:
        vocabulary: Any vocabulary.
        language: A canonical code. All words for None, and where the vocabulary does not know which subwords are whose.

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
    """What a word inside a sentence must be given before it: a blank for byte-level tokenizers such as RoBERTa's.

    Others mark words by themselves, and a blank too many would be a subword of its own.
    """
    if vocabulary.mode != "given":
        return ""
    bare, spaced = (vocabulary.encode(text, language) for text in ("a", " a"))
    opens = [bool(ids) and vocabulary.pieces[ids[0]].startswith("Ġ") for ids in (bare, spaced)]
    return " " if opens == [False, True] else ""
