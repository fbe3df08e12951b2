"""Declaration of a measure (its meaning, and what leaves its value unchanged), and the input of all measures.

Tests are generated from these declarations: declared invariances hold, all others are shown to fail. The input is two
spaces with the same items as rows, centered and scaled without overflow.

In many encoders one to three columns are a hundred times larger than the rest (Timkey & van Schijndel 2021). Measures
based on products see little else, so values are also reported without the top components (:func:`without_top`).

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y, ``K`` directions removed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from math import isinf
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import torch

from isoglot.core.arrays import Array, ArrayT, exact, give_back, take_rows, take_same_rows
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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
    """A measure in two steps: a state of each space, which takes most of the work, and the comparison of two states."""

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


FEWEST_ROWS = 4  # the unbiased HSIC divides by N - 3


def paired(X: Array, Y: Array) -> tuple[torch.Tensor, torch.Tensor]:
    """Both spaces as float64 on the device of X, checked.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.

    Raises:
        InputError: No matrices of finite floats, unequal numbers of rows, or fewer than 4.
    """
    X_ND, Y_NE = take_same_rows(X, Y)
    if len(X_ND) < FEWEST_ROWS:
        raise InputError(f"{counted(len(X_ND), 'rows')} to compare", f"give at least {FEWEST_ROWS} items", "too-few")
    return exact(X_ND), exact(Y_NE).to(X_ND.device)


def centered_pair(X: Array, Y: Array) -> tuple[torch.Tensor, torch.Tensor]:
    """Both spaces with mean 0 and Frobenius norm 1; see :func:`paired` and :func:`centered`."""
    X_ND, Y_NE = paired(X, Y)
    return centered(X_ND, "X"), centered(Y_NE, "Y")


def centered(X_ND: torch.Tensor, name: str) -> torch.Tensor:
    """Rows with mean 0 and Frobenius norm 1.

    Raises:
        InputError: All rows are equal.
    """
    # Subtracting the first row leaves exactly zero of equal rows.
    X_ND = in_range(X_ND)
    refuse_equal_rows(X_ND, name)
    shifted_ND = in_range(X_ND - X_ND[0])
    return _of_norm_1(shifted_ND - shifted_ND.mean(dim=0))


def refuse_equal_rows(X_ND: torch.Tensor, name: str) -> None:
    """Check that a space has variance.

    Raises:
        InputError: All rows are equal.
    """
    if bool((X_ND[0] == X_ND).all()):
        raise InputError(f"all {len(X_ND)} rows of {name} are equal", "give items that differ", "constant")


def refuse_vanished(left: float, size: float, name: str, share: float) -> None:
    """Check that centering leaves more of a space's similarities than rounding.

    Raises:
        InputError: It does not.
    """
    if left <= share * size:
        raise InputError(f"{name} has no similarities left after centering", "give more distinct items", "constant")


def unit_norm(X_ND: torch.Tensor, name: str) -> torch.Tensor:
    """Rows with Frobenius norm 1, not centered.

    Raises:
        InputError: All numbers are zero.
    """
    X_ND = in_range(X_ND)
    if not bool(X_ND.any()):
        raise InputError(f"{name} is all zeros", "give items that differ", "zero-row")
    return _of_norm_1(X_ND)


def in_range(X_ND: torch.Tensor) -> torch.Tensor:
    """Numbers divided by the largest, so that squares neither overflow nor vanish."""
    return X_ND / X_ND.abs().max().clamp(min=torch.finfo(X_ND.dtype).tiny)


def _of_norm_1(X_ND: torch.Tensor) -> torch.Tensor:
    length: torch.Tensor = X_ND.norm()
    return X_ND / length


def narrowed(X_ND: torch.Tensor) -> torch.Tensor:
    """Rows rotated into min(N, D) columns; lengths and angles stay the same."""
    if X_ND.shape[1] <= X_ND.shape[0]:
        return X_ND
    triangle_NN: torch.Tensor = torch.linalg.qr(X_ND.T, mode="r").R
    return triangle_NN.T


def above_diagonal(square_NN: torch.Tensor) -> torch.Tensor:
    """Entries above the diagonal, row by row: every pair of items once."""
    return torch.cat([square_NN[row, row + 1 :] for row in range(len(square_NN))])


def without_top(X: ArrayT, k: int = 1) -> ArrayT:
    """Rows without their k top principal components, that of the mean included.

    The components are those of the centered rows; the rest of the mean stays.

    >>> import numpy as np
    >>> rows = np.array([[100.0, 1.0], [-100.0, 1.0], [100.0, -1.0], [-100.0, -1.0]])
    >>> without_top(rows, 1).round(6).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, -1.0], [0.0, -1.0]]

    Args:
        X: N × D.
        k: Number of components; 0 removes nothing.

    Returns:
        N × D, of the same kind as X.

    Raises:
        ConfigError: There are not that many components with anything left besides them.
        InputError: The rows are invalid.
    """
    given_ND = take_rows(X)
    N, D = given_ND.shape
    most = max(min(N - 1, D) - 1, 0)
    if not 0 <= k <= most:
        raise ConfigError(f"{k} top components of {N} rows with {D} columns", f"remove 0 to {most}", "invalid-value")
    if k == 0:
        return X
    X_ND = exact(given_ND)
    centered_ND = X_ND - X_ND.mean(dim=0)
    directions_DK = top_directions(centered_ND, k)
    return give_back(X_ND - (X_ND @ directions_DK) @ directions_DK.T, X)


def top_directions(centered_ND: torch.Tensor, k: int) -> torch.Tensor:
    """The k top principal directions, from the smaller of the two Gram matrices."""
    N, D = centered_ND.shape
    directions_DK: torch.Tensor
    if D <= N:
        directions_DK = torch.linalg.eigh(centered_ND.T @ centered_ND).eigenvectors[:, -k:]
    else:
        vectors_NK = torch.linalg.eigh(centered_ND @ centered_ND.T).eigenvectors[:, -k:]
        directions_DK = torch.linalg.qr(centered_ND.T @ vectors_NK).Q
    return directions_DK
