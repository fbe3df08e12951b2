"""What a tokenizer puts before, between and after texts, read from its post-processor.

BERT's ``[CLS] a [SEP] b [SEP]``, RoBERTa's ``<s> a </s></s> b </s>``, T5's ``a </s> b </s>``, or nothing at all: which
tokens these are stands in the ``post_processor`` of a ``tokenizer.json``, and nowhere else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Side = Literal["left", "right"]
"""Where padding goes."""
Ids = tuple[int, ...]


@dataclass(frozen=True)
class RowLayout:
    """The special tokens of a row of one text, and of a row of two.

    Args:
        before: What stands before a text.
        after: What stands after it.
        pair_before: What stands before the first of two texts.
        pair_between: What stands between them.
        pair_after: What stands after the second.
    """

    before: Ids = ()
    after: Ids = ()
    pair_before: Ids = ()
    pair_between: Ids = ()
    pair_after: Ids = ()

    @property
    def size(self) -> int:
        """Special tokens of a row of one text."""
        return len(self.before) + len(self.after)

    @property
    def pair_size(self) -> int:
        """Special tokens of a row of two texts."""
        return len(self.pair_before) + len(self.pair_between) + len(self.pair_after)

    @property
    def ids(self) -> frozenset[int]:
        """All special tokens it has."""
        return frozenset(self.before + self.after + self.pair_before + self.pair_between + self.pair_after)

    @property
    def separator(self) -> int:
        """What ends a row, and may stand between sentences in it.

        Raises:
            ConfigError: Nothing does.
        """
        if not self.after:
            raise ConfigError("the tokenizer puts no separator after a text", remedy="set batch.separator to none")
        return self.after[-1]

    def framed(self, parts: Sequence[Sequence[int]]) -> list[int]:
        """The row of one text or of two, special tokens included.

        >>> RowLayout((2,), (3,), (2,), (3,), (3,)).framed([[7], [8, 9]])
        [2, 7, 3, 8, 9, 3]
        """
        if len(parts) == 1:
            return [*self.before, *parts[0], *self.after]
        return [*self.pair_before, *parts[0], *self.pair_between, *parts[1], *self.pair_after]


def row_layout(view: str) -> RowLayout:
    """The layout of a ``tokenizer.json``.

    Raises:
        ConfigError: Its post-processor does something else than to put tokens around the texts, in their order.
    """
    return _layout(json.loads(view).get("post_processor"))


def _layout(processor: Mapping[str, Any] | None) -> RowLayout:
    kind = None if processor is None else processor["type"]
    if processor is None or kind == "ByteLevel":  # the latter only trims offsets
        return RowLayout()
    if kind == "Sequence":
        inner = RowLayout()
        for step in processor["processors"]:
            inner = _around(_layout(step), inner)
        return inner
    if kind in ("BertProcessing", "RobertaProcessing"):
        first, last = ((int(processor[name][1]),) for name in ("cls", "sep"))
        return RowLayout(first, last, first, last * (1 if kind == "BertProcessing" else 2), last)
    if kind == "TemplateProcessing":
        ids = {name: tuple(map(int, token["ids"])) for name, token in processor["special_tokens"].items()}
        single = _template(processor["single"], ids, "A")
        pair = _template(processor["pair"], ids, "AB")
        return RowLayout(single[0], single[1], pair[0], pair[1], pair[2])
    raise ConfigError(f"the tokenizer has a post-processor {shown(kind)}", remedy="choose another tokenizer")


def _around(outer: RowLayout, inner: RowLayout) -> RowLayout:
    """What two post-processors in a row give."""
    return (
        RowLayout(
            outer.before + inner.before,
            inner.after + outer.after,
            outer.pair_before + inner.before,
            inner.after + outer.pair_between + inner.before,
            inner.after + outer.pair_after,
        )
        if inner.ids and outer.ids
        else (outer if outer.ids else inner)
    )


def _template(steps: Sequence[Mapping[str, Any]], ids: Mapping[str, Ids], texts: str) -> list[Ids]:
    """The special tokens before the first text, after it, …, after the last."""
    found: list[Ids] = [()]
    seen = ""
    for step in steps:
        if "Sequence" in step:
            seen += step["Sequence"]["id"]
            found.append(())
        else:
            found[-1] += ids[step["SpecialToken"]["id"]]
    if seen != texts:
        raise ConfigError(
            f"the tokenizer's template has the texts {shown(seen)} where {shown(texts)} is needed",
            remedy="choose a tokenizer that takes each text once, in order",
        )
    return found
