"""What a measure says about itself, as data: what it means, and what may be done to a space without changing it.

The tests are generated from these declarations: what is declared holds, and what is not is shown to fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import torch

Invariance = Literal["orthogonal", "scaling", "translation", "invertible", "permutation", "rows"]

INVARIANCES: dict[Invariance, str] = {
    "orthogonal": "either space may be turned or mirrored: X Q",
    "scaling": "either space may be made larger or smaller: a X, a > 0",
    "translation": "either space may be moved: X + b",
    "invertible": "either space may go through any matrix that has an inverse: X A",
    "permutation": "the columns of either space may come in another order",
    "rows": "the items may come in another order, the same on both sides",
}
"""A line for each; they speak of one space alone, except ``rows``."""

_IMPLIED: dict[Invariance, frozenset[Invariance]] = {
    "orthogonal": frozenset({"permutation"}),
    "invertible": frozenset({"orthogonal", "scaling", "permutation"}),
}


class Half(Protocol):
    """What a measure needs to know of one space."""

    def without(self, rows_G: torch.Tensor) -> Self:
        """The same of all items but some, for less than computing it anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Halves:
    """A measure in two steps: each space by itself, then both together. Most of the work is in the first."""

    of: Callable[[torch.Tensor, str], Any]
    """float64 rows (N × D), and what to call them, to a :class:`Half`"""
    alike: Callable[[Any, Any], float]
    """two of them to a number"""
    shuffled: Callable[[Any, Any, torch.Tensor], float]
    """the same with the items of the second in another order, given as the numbers of its rows"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A way to say how alike two spaces are."""

    name: str
    """as in the registry and on the command line"""
    title: str
    """as in a table or a figure"""
    meaning: str
    """one sentence in plain words"""
    function: Callable[[Any, Any], float]
    """X (N × D) and Y (N × E) to a number"""
    invariances: frozenset[Invariance]
    """what leaves the number as it is; see :data:`INVARIANCES`"""
    kind: Literal["similarity", "distance"] = "similarity"
    """more alike is higher, or lower"""
    ideal: float = 1.0
    """the value of identical spaces"""
    bounds: tuple[float, float] = (0.0, 1.0)
    """the lowest and the highest value there can be"""
    pairs: bool = True
    """it looks at which item goes with which, so that shuffling the items of one side changes it"""
    symmetric: bool = True
    """X and Y may change places"""
    widths: Literal["any", "same"] = "any"
    """whether X and Y must have as many columns"""
    fewest: int = 4
    """the fewest rows it works on"""
    rows: int | None = None
    """the most rows it works on: :func:`compute` draws that many where there are more; None: any number"""
    rows_beyond_columns: bool = False
    """it needs more rows than both spaces have columns together: with fewer, part of its value is counting alone"""
    halves: Halves | None = None
    """the function in two steps, where shuffling items or leaving some out is then cheap"""

    def as_dict(self) -> dict[str, Any]:
        """What it says about itself, for JSON; an infinite bound is None."""
        low, high = (None if abs(bound) == float("inf") else bound for bound in self.bounds)
        return {
            "name": self.name,
            "title": self.title,
            "meaning": self.meaning,
            "invariances": [name for name in INVARIANCES if name in self.invariances],
            "kind": self.kind,
            "ideal": self.ideal,
            "bounds": [low, high],
            "pairs": self.pairs,
            "symmetric": self.symmetric,
            "widths": self.widths,
            "fewest": self.fewest,
            "rows": self.rows,
            "rows_beyond_columns": self.rows_beyond_columns,
        }


def unchanged_by(*names: Invariance) -> frozenset[Invariance]:
    """The invariances with what they imply, and ``rows``, which every measure has.

    >>> sorted(unchanged_by("orthogonal", "scaling"))
    ['orthogonal', 'permutation', 'rows', 'scaling']
    """
    given: Iterable[Invariance] = (*names, "rows")
    return frozenset(given).union(*(_IMPLIED.get(name, frozenset()) for name in names))
