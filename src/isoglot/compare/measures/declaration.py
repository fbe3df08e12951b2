"""Declaration of a measure: what it means, and which transformations of a space leave it unchanged.

Tests are generated from these declarations: declared invariances hold, all others are shown to fail.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from math import isinf
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import torch

Invariance = Literal["orthogonal", "scaling", "translation", "invertible", "permutation", "rows"]

INVARIANCES: dict[Invariance, str] = {
    "orthogonal": "rotations and reflections of either space: X Q",
    "scaling": "scaling of either space: a X, a > 0",
    "translation": "translation of either space: X + b",
    "invertible": "invertible linear maps of either space: X A",
    "permutation": "permutation of the columns of either space",
    "rows": "the same permutation of the items on both sides",
}
"""Meaning of each; they apply to one space alone, except ``rows``."""

SYMBOLS: dict[str, str] = {
    r"x_i, y_i": "row i of X (N × D) and of Y (N × E), the same item",
    r"H = I - \tfrac{1}{N} 1 1^\top, \; \tilde X = HX": "centering; X with columns that sum to 0",
    r"K, L": "the kernel matrix of X and the same of Y",
    r"a, b": "distances or dissimilarities of the items in X and the same in Y",
    r"\lVert \cdot \rVert_F, \; \lVert \cdot \rVert_*": "Frobenius norm; nuclear norm, the sum of the singular values",
}
"""Symbols that several formulas use."""

_IMPLIED: dict[Invariance, frozenset[Invariance]] = {
    "orthogonal": frozenset({"permutation"}),
    "invertible": frozenset({"orthogonal", "scaling", "permutation"}),
}
_NOT_DATA = ("formula", "use", "function", "halves", "library")


class Half(Protocol):
    """State of a measure for one space."""

    def without(self, rows_G: torch.Tensor) -> Self:
        """The same without some items, cheaper than from scratch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Halves:
    """A measure in two steps, each space by itself and then both together; most of the work is in the first."""

    of: Callable[[torch.Tensor, str], Any]
    """float64 rows (N × D) and their name to a :class:`Half`"""
    alike: Callable[[Any, Any], float]
    """two of them to a number"""
    shuffled: Callable[[Any, Any, torch.Tensor], float]
    """the same with the items of the second permuted, given as row numbers"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A measure of the similarity of two spaces.

    >>> from isoglot.compare import find_measure
    >>> measure = find_measure("procrustes")
    >>> measure.kind, measure.ideal, measure.is_installed
    ('distance', 0.0, True)
    """

    name: str
    """as in the registry and on the command line"""
    title: str
    """as in tables and figures"""
    meaning: str
    """one sentence"""
    formula: str
    """LaTeX, in the symbols of :data:`SYMBOLS`"""
    use: str
    """when to use it, one sentence"""
    function: Callable[[Any, Any], float]
    """X (N × D) and Y (N × E) to a number"""
    invariances: frozenset[Invariance]
    """transformations that leave the value unchanged; see :data:`INVARIANCES`"""
    kind: Literal["similarity", "distance"] = "similarity"
    """whether similar spaces have high or low values"""
    ideal: float = 1.0
    """value of identical spaces"""
    bounds: tuple[float, float] = (0.0, 1.0)
    """lowest and highest possible value"""
    pairs: bool = True
    """whether the value depends on which item is paired with which"""
    symmetric: bool = True
    """whether X and Y may be swapped"""
    widths: Literal["any", "same"] = "any"
    """whether X and Y must have the same number of columns"""
    fewest: int = 4
    """minimum number of rows"""
    rows: int | None = None
    """maximum number of rows: :func:`compute` samples that many if there are more; None: any number"""
    rows_beyond_columns: bool = False
    """whether it needs more rows than both spaces have columns together: with fewer, its value is too high"""
    library: str | None = None
    """optional library that it needs"""
    halves: Halves | None = None
    """the function in two steps, where permuting or leaving out items is then cheap"""

    @property
    def is_installed(self) -> bool:
        """Whether the library that it needs is installed."""
        return self.library is None or find_spec(self.library) is not None

    def as_dict(self) -> dict[str, Any]:
        """The declaration as JSON; an infinite bound is None."""
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NOT_DATA}
        bounds = [None if isinf(bound) else bound for bound in self.bounds]
        return facts | {"invariances": [name for name in INVARIANCES if name in self.invariances], "bounds": bounds}


def unchanged_by(*names: Invariance) -> frozenset[Invariance]:
    """Invariances with those they imply, and ``rows``, which every measure has.

    >>> sorted(unchanged_by("orthogonal", "scaling"))
    ['orthogonal', 'permutation', 'rows', 'scaling']
    """
    given: Iterable[Invariance] = (*names, "rows")
    return frozenset(given).union(*(_IMPLIED.get(name, frozenset()) for name in names))
