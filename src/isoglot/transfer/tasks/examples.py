"""Examples of tasks: a passage with a label, words with tags, words with a tree. Predictions are examples too."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.text.formats.conllu import Tree


@dataclass(frozen=True, slots=True)
class Passage:
    """One text, or a pair, and its label."""

    texts: tuple[str, ...]
    label: str = ""

    def __post_init__(self) -> None:
        _refuse_string("texts", self.texts, "Passage((text,), label)")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Words with tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    blanks: tuple[bool, ...] | None = None
    """Whether a blank follows each word; None if unknown."""
    tree: Tree | None = field(default=None, repr=False)
    """The tree it was read from, if any."""

    def __post_init__(self) -> None:
        _refuse_string("words", self.words, "Tagged(tuple(words), tuple(tags))")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Words with heads (from 1; 0 is the root) and relations."""

    words: tuple[str, ...]
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    blanks: tuple[bool, ...] | None = None
    tree: Tree | None = None
    """The tree it was read from, if any."""

    def __post_init__(self) -> None:
        _refuse_string("words", self.words, "Parsed(tuple(words), tuple(heads), tuple(relations))")


def _refuse_string(name: str, value: object, remedy: str) -> None:
    """Refuse a string in place of a tuple of strings, which would be read character by character."""
    if isinstance(value, str):
        raise ConfigError(
            f"{name} is the string {shown(value)}, not a tuple of strings",
            remedy=f"write {remedy}",
            code="config.malformed-option",
        )


ExampleT = TypeVar("ExampleT", Passage, Tagged, Parsed)


def text_of(example: Passage | Tagged | Parsed) -> tuple[str, ...]:
    """Input of an example, without labels."""
    return example.texts if isinstance(example, Passage) else example.words


@dataclass(frozen=True)
class Data(Generic[ExampleT]):
    """Examples of one language, and the file they were read from, if any.

    They are stored as a tuple, so the hash stays valid.
    """

    examples: Sequence[ExampleT]
    file: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", tuple(self.examples))

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def sha256(self) -> str:
        """Hash of the examples, computed once."""
        digest = hashlib.sha256()
        for example in self.examples:
            digest.update(repr(example).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    @cached_property
    def texts(self) -> frozenset[tuple[str, ...]]:
        """Distinct inputs of the examples, computed once."""
        return frozenset(map(text_of, self.examples))

    def head(self, count: int) -> Data[ExampleT]:
        """The first N examples."""
        return Data(self.examples[:count], self.file)
