"""The numbers of a study: measured values with their coordinates and bootstrap replicates.

A measurement step writes the numbers it measured; tables, figures and claims select from the numbers of all steps.
Resamples are the same for the same test items, so that numbers can be compared resample by resample.

>>> numbers = Numbers([
...     Number("ner", 70.0, {"arm": "default", "language": "de", "seed": 0}, draws=(69.0, 71.0)),
...     Number("ner", 66.0, {"arm": "no-anchors", "language": "de", "seed": 0}, draws=(66.0, 66.5)),
... ])
>>> numbers.select("ner", arm="default").one.value
70.0

Shapes: ``N`` items, ``F`` columns that are summed, ``R`` resamples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np

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
            problem = f"expected one number, found {len(self)}: {found}"
            remedy = "select by more coordinates, or by fewer"
            raise InputError(problem, remedy, "no-match")
        return self._numbers[0]

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return sum(number.value for number in self) / len(self)

    def by(self, *names: str) -> dict[Any, Numbers]:
        """Group the numbers by coordinates, in order of appearance.

        Keys are the values of a single coordinate, or tuples of the values of several; None stands for a missing one.
        """
        found: dict[Any, list[Number]] = {}
        for number in self:
            values = tuple(number.at.get(name) for name in names)
            found.setdefault(values[0] if len(names) == 1 else values, []).append(number)
        return {values: Numbers(some) for values, some in found.items()}

    def with_coordinates(self, **at: Coordinate) -> Numbers:
        """The same numbers with coordinates added or replaced."""
        return Numbers(
            Number(number.measure, number.value, {**number.at, **at}, number.draws, number.items) for number in self
        )


# --- bootstrap resamples of test items ---


LEVEL = 0.95
"""Confidence level of intervals."""


def interval(numbers: Iterable[Number]) -> tuple[float, float] | None:
    """95 % interval over test items of a mean over seeds; None where there are no test items."""
    cell = mean_cell([numbers])
    return (cell["low"], cell["high"]) if isinstance(cell, dict) else None


def mean_cell(groups: Iterable[Iterable[Number]], scale: float = 1.0) -> float | dict[str, float] | None:
    """The mean over groups of means over seeds, with its 95 % interval over test items, as a cell of a table.

    None without groups, or if one of them is empty; the value alone where there are no test items.
    """
    import numpy as np

    found = [Numbers(group) for group in groups]
    if not found or not all(map(len, found)):
        return None
    value = scale * sum(some.mean for some in found) / len(found)
    if not all(number.draws for some in found for number in some):
        return value
    draws = np.mean([np.mean([number.draws for number in some], axis=0) for some in found], axis=0)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": value, "low": scale * float(low), "high": scale * float(high)}


def items_hash(items: object) -> str:
    """Hash of test items, as numbers carry it."""
    import hashlib
    import json

    text = json.dumps(items, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def resampled_sums(parts_NF: np.ndarray, items: str) -> np.ndarray:
    """The sums of columns over the items of each resample (R × F)."""
    import numpy as np

    from isoglot.core.rng import random_stream
    from isoglot.retrieve.metrics import drawn_counts

    drawn_RN = drawn_counts(len(parts_NF), RESAMPLES, random_stream(0, "resamples", items))
    return np.asarray(drawn_RN @ parts_NF)


def ratio_number(
    measure: str, parts_N2: np.ndarray, at: Mapping[str, Coordinate], items: str, *, scale: float = 1.0
) -> Number:
    """A ratio of sums over items, with its resamples; 0 where the denominator is 0."""
    value = float(_ratios(parts_N2.sum(axis=0, keepdims=True), scale)[0])
    return Number(measure, value, at, tuple(_ratios(resampled_sums(parts_N2, items), scale).tolist()), items)


def _ratios(sums_R2: np.ndarray, scale: float) -> np.ndarray:
    import numpy as np

    return np.asarray(scale * sums_R2[:, 0] / np.maximum(sums_R2[:, 1], 1e-12))


def share_number(measure: str, hits_N: np.ndarray, at: Mapping[str, Coordinate], items: str) -> Number:
    """The share of items that are hits, with its resamples."""
    import numpy as np

    return ratio_number(measure, np.stack([hits_N.astype(float), np.ones(len(hits_N))], axis=1), at, items)


def resampled_ratios(counts_SN2: Sequence[np.ndarray], items: str) -> tuple[float, ...]:
    """The score of a task (100 times a ratio of sums) in each resample of the sentences, averaged over models."""
    import numpy as np

    return tuple(np.mean([_ratios(resampled_sums(some_N2, items), 100) for some_N2 in counts_SN2], axis=0).tolist())
