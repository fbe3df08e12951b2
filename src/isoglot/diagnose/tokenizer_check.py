"""Tokenizer statistics of each language: tokens per word, unknown tokens, single-letter tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import MissingPartError
from isoglot.text.cleaning.segmentation import segmenter, word_method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.text.cleaning.segmentation import Method
    from isoglot.vocab import Vocabulary


@dataclass(frozen=True, kw_only=True)
class TokenFacts:
    """Token counts over the sentences of a language, without special tokens."""

    sentences: int
    words: int
    """By isoglot's segmenter, without punctuation."""
    words_by: str
    """The segmenter: ``unicode``, or a dictionary-based one for Chinese and Thai."""
    tokens: int
    unknown: int
    characters: int
    """Without white space."""
    bytes: int
    """The same in UTF-8."""
    spelled: int
    """Known alphanumeric tokens that cover at most one character."""
    alphanumeric: int
    """Known alphanumeric tokens."""

    @property
    def tokens_per_word(self) -> float:
        """Tokens per word; punctuation counts as tokens, so slightly above 1 is the minimum."""
        return self.tokens / max(self.words, 1)

    @property
    def unknown_rate(self) -> float:
        """Share of unknown tokens."""
        return self.unknown / max(self.tokens, 1)

    @property
    def tokens_per_sentence(self) -> float:
        """Mean length of a sentence in tokens."""
        return self.tokens / max(self.sentences, 1)

    @property
    def characters_per_token(self) -> float:
        """Mean length of a token in characters."""
        return self.characters / max(self.tokens, 1)

    @property
    def bytes_per_token(self) -> float:
        """Mean length of a token in bytes of UTF-8."""
        return self.bytes / max(self.tokens, 1)

    @property
    def spelled_share(self) -> float:
        """Share of alphanumeric tokens that cover a single character; high by nature in Chinese."""
        return self.spelled / max(self.alphanumeric, 1)

    def as_dict(self) -> dict[str, Any]:
        """Counts and rates as a JSON object."""
        rates = ("tokens_per_word", "unknown_rate", "tokens_per_sentence", "characters_per_token", "bytes_per_token")
        counts = ("sentences", "words", "words_by", "tokens", "unknown", "characters", "bytes")
        return {name: getattr(self, name) for name in (*counts, *rates)} | {"one_character_share": self.spelled_share}


def token_facts(vocabulary: Vocabulary, sentences: Sequence[str], language: str) -> TokenFacts:
    """Count the tokens in sentences of a language.

    Raises:
        ConfigError: The vocabulary cannot read the language.
    """
    split, method = _word_splitter(language)
    unknown_id = vocabulary.special.get("[UNK]")
    tokens = unknown = spelled = alphanumeric = 0
    for text, encoding in zip(sentences, vocabulary.encode_with_offsets(sentences, language), strict=True):
        tokens += len(encoding.ids)
        for index, (first, last) in zip(encoding.ids, encoding.offsets, strict=True):
            if index == unknown_id:
                unknown += 1
                continue
            covered = text[first:last].strip()
            if any(char.isalnum() for char in covered):
                alphanumeric += 1
                spelled += len(covered) <= 1
    texts = ["".join(text.split()) for text in sentences]
    return TokenFacts(
        sentences=len(sentences),
        words=sum(any(char.isalnum() for char in word) for text in sentences for word in split(text)),
        words_by=method,
        tokens=tokens,
        unknown=unknown,
        characters=sum(map(len, texts)),
        bytes=sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
        spelled=spelled,
        alphanumeric=alphanumeric,
    )


UNREADABLE = 0.5
"""Share of unknown tokens from which on nothing is known of a language."""
_CHECKED = 100  # sentences of each language


def unreadable(vocabulary: Vocabulary, sentences: Mapping[str, Sequence[str]]) -> list[tuple[str, float]]:
    """Languages of which half of the tokens or more are unknown, and their shares."""
    rates = {code: token_facts(vocabulary, texts[:_CHECKED], code).unknown_rate for code, texts in sentences.items()}
    return [(code, rate) for code, rate in rates.items() if rate >= UNREADABLE]


def _word_splitter(language: str) -> tuple[Callable[[str], list[str]], Method]:
    """The best installed segmenter of a language; without its library, Chinese words are counted as characters."""
    method = word_method(language)
    try:
        return segmenter(language, method), method
    except MissingPartError:
        return segmenter(language, "unicode"), "unicode"
