"""Maps with a closed form: orthogonal Procrustes, least squares, ridge regression and CCA, and the moments they need.

- Orthogonal Procrustes: the rotation (or reflection) that brings X closest to Y (Schönemann 1966).
- Least squares and ridge: the unconstrained linear maps.
- Canonical correlation analysis: the directions two spaces share (Hotelling 1936; Faruqui & Dyer 2014).

The normal equations are solved in float64, so moments of paired rows, accumulated in batches, suffice; for an
ill-conditioned X that costs half the digits, and a penalty is advisable anyway.

Shape legend: ``N`` or ``P`` pairs, ``D`` columns of X, ``E`` columns of Y, ``C`` canonical directions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch

from isoglot.align.maps.estimator import LearnedMap, MatrixMap, bounds, matrix_learned, pseudo_inverse
from isoglot.core.arrays import Array, exact, refuse_large, take_same_rows
from isoglot.core.errors import InputError
from isoglot.represent.moments import StreamingMoments

if TYPE_CHECKING:
    from isoglot.core.progress import Progress


BLOCK = 8192


class PairMoments(StreamingMoments[str]):
    """First and second moments of pairs of rows: call :meth:`update`, then pass it to a map's ``fit_moments``.

    ``means`` has the keys ``x`` and ``y``; ``scatters`` the pairs of them.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> moments = PairMoments().update(X[:4], X[:4]).update(X[4:], X[4:])
    >>> moments.count, np.allclose(moments.product("xy"), X.T @ X)
    (6, True)
    """

    def __init__(self) -> None:
        super().__init__([("x", "x"), ("x", "y"), ("y", "y")])

    def update(self, X: Array, Y: Array) -> Self:
        """Add pairs, N × D and N × E.

        Raises:
            InputError: The rows are invalid, or have other widths than the batches before.
        """
        x_ND, y_NE = take_same_rows(X, Y)
        refuse_large(x_ND)
        refuse_large(y_NE, "Y")
        if self.count and (x_ND.shape[1], y_NE.shape[1]) != tuple(self.scatters["x", "y"].shape):
            before = " and ".join(map(str, self.scatters["x", "y"].shape))
            problem = f"X and Y have {x_ND.shape[1]} and {y_NE.shape[1]} columns, and {before} in earlier batches"
            raise InputError(problem, "use one object for each pair of spaces", "shape")
        for start in range(0, len(x_ND), BLOCK):
            rows = slice(start, start + BLOCK)
            self.add({"x": exact(x_ND[rows]), "y": exact(y_NE[rows].to(x_ND.device))})
        return self

    def product(self, name: str) -> torch.Tensor:
        """Sum of products about zero: ``product("xy")`` is XᵀY."""
        self._check_rows()
        return self.scatters[name[0], name[1]] + self.count * torch.outer(self.means[name[0]], self.means[name[1]])

    def covariance(self, name: str) -> torch.Tensor:
        """Scatter about the means, divided by N."""
        self._check_rows()
        return self.scatters[name[0], name[1]] / self.count

    def _check_rows(self) -> None:
        if not self.count:
            raise InputError("there are no rows yet", "call update first", "empty")


def moments_of_pairs(rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor) -> PairMoments:
    """Moments of the paired rows, gathered block by block."""
    moments = PairMoments()
    for block_P2 in pairs_P2.split(BLOCK):
        moments.add({"x": exact(rows_ND[block_P2[:, 0]]), "y": exact(others_ME[block_P2[:, 1]])})
    return moments


@dataclass(eq=False, kw_only=True)
class MomentMap(LearnedMap):
    """Map with a closed form in the moments of the pairs; the base of Procrustes, least squares and CCA."""

    def fit_moments(self, moments: PairMoments) -> Self:
        """Fit to moments accumulated in batches; learned attributes are torch tensors, float64."""
        self.check_options()
        learned = self._solve(moments)
        self._keep(learned, next(value for value in learned.values() if isinstance(value, torch.Tensor)))
        return self

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        return self._solve(moments_of_pairs(rows_ND, others_ME, pairs_P2))

    @abstractmethod
    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        """Learned attributes by name, among them ``widths_``."""


def product_of_pairs(rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor) -> torch.Tensor:
    """XᵀY of the paired rows, float64: enough for a rotation, and three times as fast as all moments."""
    product_DE = exact(rows_ND[:0]).T @ exact(others_ME[:0])
    for block_P2 in pairs_P2.split(BLOCK):
        product_DE += exact(rows_ND[block_P2[:, 0]]).T @ exact(others_ME[block_P2[:, 1]])
    return product_DE


def penalized(covariance_DD: torch.Tensor, penalty: float) -> torch.Tensor:
    """Covariance plus ``penalty`` times the mean variance on the diagonal (shrinkage)."""
    return covariance_DD + penalty * covariance_DD.diagonal().mean() * torch.eye(
        len(covariance_DD), dtype=covariance_DD.dtype, device=covariance_DD.device
    )


def root_powers(symmetric_DD: torch.Tensor, *powers: float) -> tuple[torch.Tensor, ...]:
    """Powers of a positive semidefinite matrix, on the space it spans.

    Eigenvalues below the largest times D times the machine epsilon count as zero and stay zero, so that the power −½
    of a covariance of too few rows whitens the space those rows span.
    """
    values_D, vectors_DD = torch.linalg.eigh(symmetric_DD)
    present = values_D > _floor(values_D)
    return tuple(
        (vectors_DD * torch.where(present, values_D.clamp(min=torch.finfo(values_D.dtype).tiny) ** power, 0.0))
        @ vectors_DD.T
        for power in powers
    )


def rank(symmetric_DD: torch.Tensor) -> int:
    """Numerical rank, by the threshold of :func:`root_powers`."""
    values_D = torch.linalg.eigvalsh(symmetric_DD)
    return int((values_D > _floor(values_D)).sum())


def _floor(values_D: torch.Tensor) -> torch.Tensor:
    return values_D[-1].clamp(min=0) * len(values_D) * torch.finfo(values_D.dtype).eps


@dataclass(eq=False, kw_only=True)
class Procrustes(MomentMap, MatrixMap):
    """The orthogonal matrix W that minimizes ‖XW − Y‖: W = UVᵀ where UΣVᵀ is the SVD of XᵀY.

    Lengths and angles are preserved. It neither centers nor scales: put :class:`Center` or
    :class:`IterativeNormalization` before it with :class:`Steps`.

    Learns ``W_`` (D × D) and ``singular_values_`` (D) of XᵀY over N: where they are zero, the pairs do not determine
    the rotation.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> np.allclose(Procrustes().fit(X, X @ quarter_turn).W_, quarter_turn)
    True
    """

    singular_values_: Array = field(init=False, repr=False)

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        product_DD = moments.product("xy")
        if product_DD.shape[0] != product_DD.shape[1]:
            widths = " columns and Y ".join(map(str, product_DD.shape))
            problem = f"X has {widths}"
            raise InputError(problem, "Procrustes needs the same number of columns; LeastSquares does not", "shape")
        W_DD, values_D = rotation(product_DD)
        return matrix_learned(W_DD) | {"singular_values_": values_D / moments.count}

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("W_", rows_ND).T


def rotation(product_DD: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """UVᵀ and the singular values of XᵀY; with orthonormal rows or columns if the widths differ."""
    U_DD, values_D, Vt_DD = torch.linalg.svd(product_DD, full_matrices=False)
    return U_DD @ Vt_DD, values_D


@dataclass(eq=False, kw_only=True)
class LeastSquares(MomentMap, MatrixMap):
    """The matrix W that minimizes ‖XW − Y‖ (Mikolov et al. 2013); the one of minimum norm if there are many.

    There is no intercept: put :class:`Center` before it with :class:`Steps`. X and Y may have different widths; with E
    ≥ D and a W of full rank ``inverse_transform`` inverts ``transform``.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> bool(np.allclose(LeastSquares().fit(X, Y).transform(X), Y, atol=0.05))
    True
    """

    same_width: ClassVar[bool] = False

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        (inverse_DD,) = root_powers(moments.product("xx"), -1.0)
        return matrix_learned(inverse_DD @ moments.product("xy"))


@dataclass(eq=False, kw_only=True)
class Ridge(MomentMap, MatrixMap):
    """Ridge regression: minimizes ‖XW − Y‖² + penalty · ‖W‖².

    Args:
        penalty: Weight of ‖W‖² against the sum of squared errors over all pairs.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> bool(np.allclose(Ridge(penalty=0.1).fit(X, Y).transform(X), Y, atol=0.05))
    True
    """

    same_width: ClassVar[bool] = False

    penalty: float = field(default=1.0, metadata=bounds(above=0))

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        gram_DD = moments.product("xx")
        gram_DD = gram_DD + self.penalty * torch.eye(len(gram_DD), dtype=gram_DD.dtype, device=gram_DD.device)
        return matrix_learned(torch.linalg.solve(gram_DD, moments.product("xy")))


@dataclass(eq=False, kw_only=True)
class CCA(MomentMap):
    """Both spaces, centered and whitened, rotated such that corresponding columns correlate as much as possible.

    On the training pairs, the columns of either side have variance 1 and are uncorrelated, and the c-th of one
    correlates with the c-th of the other by ``correlations_[c]``, and with no other.

    Args:
        components: Number of directions to keep, most correlated first; None: as many as the narrower space has.
        penalty: Added to the variance of every column, as a fraction of the mean variance. With few pairs the
            correlations are too high; a penalty corrects that and leaves the variance a little below 1.

    Learns ``correlations_`` (C), ``source_`` (D × C), ``target_`` (E × C), ``source_mean_`` (D), ``target_mean_`` (E).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> CCA().fit(X, Y).transform(X).shape
    (50, 4)
    """

    same_width: ClassVar[bool] = False

    components: int | None = field(default=None, metadata=bounds(least=1))
    penalty: float = field(default=0.0, metadata=bounds(least=0))

    correlations_: Array = field(init=False, repr=False)
    source_: Array = field(init=False, repr=False)
    target_: Array = field(init=False, repr=False)
    source_mean_: Array = field(init=False, repr=False)
    target_mean_: Array = field(init=False, repr=False)

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        spread = {name: penalized(moments.covariance(name), self.penalty) for name in ("xx", "yy")}
        whitening = {name: root_powers(matrix, -0.5)[0] for name, matrix in spread.items()}
        most = min(rank(matrix) for matrix in spread.values())
        count = most if self.components is None else int(self.components)
        if not most or count > most:
            problem = f"components = {count} exceeds the {most} common directions"
            raise InputError(problem, "give fewer components, more pairs, or a penalty", "out-of-range")
        U_DD, values, Vt_EE = torch.linalg.svd(whitening["xx"] @ moments.covariance("xy") @ whitening["yy"])
        source_DC, target_EC = whitening["xx"] @ U_DD[:, :count], whitening["yy"] @ Vt_EE.T[:, :count]
        return {
            "correlations_": values[:count].clamp(max=1.0),
            "source_": source_DC,
            "target_": target_EC,
            "source_mean_": moments.means["x"],
            "target_mean_": moments.means["y"],
            "widths_": (len(source_DC), len(target_EC), count),
        }

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return self._project(rows_ND, "source_")

    def _apply_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return self._project(rows_ME, "target_")

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return self._recover(rows_ND, "source_")

    def _undo_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return self._recover(rows_ME, "target_")

    def _project(self, rows_ND: torch.Tensor, side: str) -> torch.Tensor:
        return (rows_ND - self._tensor(f"{side}mean_", rows_ND)) @ self._tensor(side, rows_ND)

    def _recover(self, rows_NC: torch.Tensor, side: str) -> torch.Tensor:
        back_CD = pseudo_inverse(self._tensor(side, rows_NC.double())).to(rows_NC)
        return rows_NC @ back_CD + self._tensor(f"{side}mean_", rows_NC)
