"""What the tokenizer makes of each language: how many pieces a word, how much it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import MissingPartError
from isoglot.text.cleaning.segmentation import segmenter, word_method

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.text.cleaning.segmentation import Method
    from isoglot.vocab import Vocabulary


@dataclass(frozen=True, kw_only=True)
class TokenFacts:
    """Counts over the sentences of a language; special tokens around a sentence are not among them."""

    sentences: int
    words: int
    """By our segmenter, signs left out."""
    words_by: str
    """The segmenter: ``unicode``, or a dictionary's for Chinese and Thai."""
    tokens: int
    unknown: int
    """Tokens that stand for something the tokenizer does not know."""
    characters: int
    """White space left out."""
    bytes: int
    """Of the same in UTF-8."""
    spelt: int
    """Known tokens of letters or digits that cover one character, or a part of one."""
    lettered: int
    """Known tokens of letters or digits."""

    @property
    def tokens_per_word(self) -> float:
        """1 where every word is a piece of its own; signs count as tokens, so a little more is usual."""
        return self.tokens / max(self.words, 1)

    @property
    def unknown_rate(self) -> float:
        """The share of tokens that are unknown."""
        return self.unknown / max(self.tokens, 1)

    @property
    def tokens_per_sentence(self) -> float:
        """How long a sentence is to the model."""
        return self.tokens / max(self.sentences, 1)

    @property
    def characters_per_token(self) -> float:
        """How much text a token covers."""
        return self.characters / max(self.tokens, 1)

    @property
    def bytes_per_token(self) -> float:
        """The same in bytes of UTF-8."""
        return self.bytes / max(self.tokens, 1)

    @property
    def spelt_share(self) -> float:
        """The share of known tokens of letters that cover one character only; for Chinese that is as it should be."""
        return self.spelt / max(self.lettered, 1)

    def as_dict(self) -> dict[str, Any]:
        """Counts and rates, for JSON."""
        rates = ("tokens_per_word", "unknown_rate", "tokens_per_sentence", "characters_per_token", "bytes_per_token")
        counts = ("sentences", "words", "words_by", "tokens", "unknown", "characters", "bytes")
        return {name: getattr(self, name) for name in (*counts, *rates)} | {"one_character_share": self.spelt_share}


def token_facts(vocabulary: Vocabulary, sentences: Sequence[str], language: str) -> TokenFacts:
    """Count over sentences of a language.

    Raises:
        ConfigError: The vocabulary cannot read the language.
    """
    split, method = _word_splitter(language)
    unknown_id = vocabulary.special.get("[UNK]")
    tokens = unknown = spelt = lettered = 0
    for text, encoding in zip(sentences, vocabulary.encode_with_offsets(sentences, language), strict=True):
        tokens += len(encoding.ids)
        for index, (first, last) in zip(encoding.ids, encoding.offsets, strict=True):
            if index == unknown_id:
                unknown += 1
                continue
            covered = text[first:last].strip()
            if any(sign.isalnum() for sign in covered):
                lettered += 1
                spelt += len(covered) <= 1
    texts = ["".join(text.split()) for text in sentences]
    return TokenFacts(
        sentences=len(sentences),
        words=sum(any(sign.isalnum() for sign in word) for text in sentences for word in split(text)),
        words_by=method,
        tokens=tokens,
        unknown=unknown,
        characters=sum(map(len, texts)),
        bytes=sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
        spelt=spelt,
        lettered=lettered,
    )


def _word_splitter(language: str) -> tuple[Callable[[str], list[str]], Method]:
    """The best segmenter of a language that is installed; without its library, Chinese is counted by characters."""
    method = word_method(language)
    try:
        return segmenter(language, method), method
    except MissingPartError:
        return segmenter(language, "unicode"), "unicode"
