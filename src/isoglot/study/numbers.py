"""The numbers of a study: measured values with their coordinates and bootstrap replicates.

A measurement step writes the numbers it measured; tables, figures and claims select from the numbers of all steps.

>>> numbers = Numbers([
...     Number("ner", 70.0, {"arm": "default", "language": "de", "seed": 0}, draws=(69.0, 71.0)),
...     Number("ner", 66.0, {"arm": "no-anchors", "language": "de", "seed": 0}, draws=(66.0, 66.5)),
... ])
>>> numbers.select("ner", arm="default").one.value
70.0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Coordinate = str | int | float

RESAMPLES = 200
"""Bootstrap replicates of a number."""

COORDINATES = {
    "arm": "name of the pretraining arm, such as default or sep-l1-3",
    "variant": "what was done to the arm: untrained, frozen-emb, equal-epochs …; missing for the arm as it is",
    "pair": "languages of the encoder or of the comparison, such as en-de",
    "language": "language that was tested",
    "seed": "random seed of the arm",
    "layer": "layer of the encoder, 0 for the embeddings",
    "depth": "number of layers of the encoder, beside layer",
    "tokens": "tokens read until then, for measurements during training",
    "system": "encoder, word2vec, glove or fasttext",
    "sentences": "sentences of training text a language",
    "window": "longest input in tokens",
    "alpha": "factor of the shift",
    "source": "language that was given to the model",
    "target": "language that was asked for",
    "map": "map that was applied to the hidden states: procrustes; missing for none",
    "estimator": "form of CKA",
    "vectors": "embeddings (rows of the embedding matrix) or contexts (averages over contexts)",
}
"""Coordinates that more than one recipe uses."""


@dataclass(frozen=True)
class Number:
    """One measured value.

    Attributes:
        measure: What was measured: nli (accuracy), ner (F1), parsing (LAS), in points from 0 to 100; sentence_p1,
            word_p1, word_mrr, cka, convert_rate …, from 0 to 1. Claims read those that
            :mod:`isoglot.study.claims` lists.
        value: The value.
        at: Where it was measured, by name of the coordinate (:data:`COORDINATES`).
        draws: The value in bootstrap resamples of the test items, empty where there are none. Resample ``i`` of two
            numbers with the same ``items`` has the same test items, so a difference of two numbers can be computed
            resample by resample.
        items: Hash of the test items; empty where there are none.
    """

    measure: str
    value: float
    at: Mapping[str, Coordinate] = field(default_factory=dict)
    draws: tuple[float, ...] = ()
    items: str = ""

    def as_json(self) -> dict[str, Any]:
        """As a step's ``numbers.json`` holds it."""
        found: dict[str, Any] = {"measure": self.measure, "value": self.value, "at": dict(self.at)}
        if self.draws:
            found |= {"draws": [round(draw, 6) for draw in self.draws], "items": self.items}
        return found

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Number:
        """The number that :meth:`as_json` wrote."""
        return cls(facts["measure"], facts["value"], facts["at"], tuple(facts.get("draws", ())), facts.get("items", ""))


class Numbers:
    """A list of numbers that can be selected from by measure and coordinates."""

    def __init__(self, numbers: Iterable[Number] = ()) -> None:
        self._numbers = tuple(numbers)

    def __iter__(self) -> Iterator[Number]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __add__(self, other: Numbers) -> Numbers:
        return Numbers((*self, *other))

    def __repr__(self) -> str:
        measures = ", ".join(sorted({number.measure for number in self}))
        return f"Numbers({len(self)} of {measures})" if len(self) else "Numbers(none)"

    def select(self, measure: str | None = None, **at: Coordinate | None) -> Numbers:
        """Numbers of a measure at the given coordinates; ``None`` selects numbers without that coordinate."""
        return Numbers(
            number
            for number in self
            if measure in (None, number.measure) and all(number.at.get(name) == value for name, value in at.items())
        )

    def values_of(self, coordinate: str) -> list[Any]:
        """The different values of a coordinate, in order of appearance."""
        return list(dict.fromkeys(number.at[coordinate] for number in self if coordinate in number.at))

    @property
    def one(self) -> Number:
        """The only number.

        Raises:
            InputError: There are none, or several.
        """
        if len(self) != 1:
            found = [(number.measure, dict(number.at)) for number in self][:3]
            raise InputError(
                f"expected one number, found {len(self)}: {found}",
                remedy="select by more coordinates, or by fewer",
                code="input.no-match",
            )
        return self._numbers[0]

    def with_coordinates(self, **at: Coordinate) -> Numbers:
        """The same numbers with coordinates added or replaced."""
        return Numbers(
            Number(number.measure, number.value, {**number.at, **at}, number.draws, number.items) for number in self
        )
