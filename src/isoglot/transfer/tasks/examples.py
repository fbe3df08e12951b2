"""What tasks learn from and what they predict: a passage with a label, words with tags, words with a tree.

A prediction is an example too, with what was predicted in the place of what is so.
"""

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
    """Words and a tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    blanks: tuple[bool, ...] | None = None
    """Whether a blank follows each word; None: not known."""
    tree: Tree | None = field(default=None, repr=False)
    """The treebank's, if it comes from one to be tagged, with all that is known of it."""

    def __post_init__(self) -> None:
        _refuse_string("words", self.words, "Tagged(tuple(words), tuple(tags))")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Words, the head of each (from 1; 0 is the root) and its relation to it."""

    words: tuple[str, ...]
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    blanks: tuple[bool, ...] | None = None
    tree: Tree | None = None
    """Where it comes from, with all that is known of it."""

    def __post_init__(self) -> None:
        _refuse_string("words", self.words, "Parsed(tuple(words), tuple(heads), tuple(relations))")


def _refuse_string(name: str, value: object, remedy: str) -> None:
    """Refuse a plain string where a tuple of strings is due: it would be read character by character."""
    if isinstance(value, str):
        raise ConfigError(
            f"{name} is the string {shown(value)}, not a tuple of strings",
            remedy=f"write {remedy}",
            code="config.malformed-option",
        )


ExampleT = TypeVar("ExampleT", Passage, Tagged, Parsed)


def text_of(example: Passage | Tagged | Parsed) -> tuple[str, ...]:
    """What is read of an example, without what is to be found."""
    return example.texts if isinstance(example, Passage) else example.words


@dataclass(frozen=True)
class Data(Generic[ExampleT]):
    """Examples of one language, and the file they were read from, if any.

    They are held as a tuple: what the hash was computed from cannot change.
    """

    examples: Sequence[ExampleT]
    file: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", tuple(self.examples))

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def sha256(self) -> str:
        """A hash that stands for the examples, computed once for all the runs that learn from them."""
        digest = hashlib.sha256()
        for example in self.examples:
            digest.update(repr(example).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    @cached_property
    def texts(self) -> frozenset[tuple[str, ...]]:
        """What is read of the examples, each text once; made once, however often it is asked what is among them."""
        return frozenset(map(text_of, self.examples))

    def head(self, count: int) -> Data[ExampleT]:
        """The first so many of them."""
        return Data(self.examples[:count], self.file)
