"""Steps before a map (centering, unit length, both at once, whitening), and a sequence of steps as one estimator.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` and ``E`` their columns, ``R`` rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch

from isoglot.align.maps.closed_form import PairMoments, penalized, rank
from isoglot.align.maps.estimator import Estimator, NotFittedError, PairMap, Step, bounds
from isoglot.core.arrays import Array, ArrayT, exact, take_pairs, take_rows, unit
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(eq=False, kw_only=True)
class Center(Step):
    """Subtract the mean. Learns ``mean_`` (D).

    >>> import numpy as np
    >>> Center().fit_transform(np.array([[1.0, 2], [3, 4]])).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    mean_: Array = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        return {"mean_": exact(rows_ND).mean(dim=0)}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND - self._tensor("mean_", rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND + self._tensor("mean_", rows_ND)

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        return float(rows_ND.mean(dim=0).norm())


@dataclass(eq=False, kw_only=True)
class UnitLength(Step):
    """Scale every row to length 1. ``inverse_transform`` cannot restore lengths and leaves rows unchanged.

    >>> import numpy as np
    >>> UnitLength().fit_transform(np.array([[3.0, 4]])).tolist()
    [[0.6, 0.8]]
    """

    needs_direction: ClassVar[bool] = True

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        return {}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return unit(rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        return float((rows_ND.norm(dim=1) - 1).abs().max())


@dataclass(eq=False, kw_only=True)
class IterativeNormalization(Step):
    """Unit length and zero mean at once, by alternating the two until both hold (Zhang et al. 2019).

    An orthogonal map rotates about the origin and preserves lengths, so it fits best if both spaces have zero mean and
    unit length. The paper uses five rounds; convergence can take more.

    ``inverse_transform`` restores the direction of every row exactly, with length 1.

    Args:
        tolerance: Converged when the lengths of centered rows are within this of 1.
        rounds: Maximum number of rounds.

    Learns ``means_`` (R × D), subtracted in each round; ``rounds_``; and ``residual_``, the remaining deviation of
    lengths from 1 (above ``tolerance`` if it did not converge: three unit vectors on a line cannot have zero mean).

    >>> import numpy as np
    >>> X = IterativeNormalization().fit_transform(np.random.default_rng(0).normal(size=(50, 3)) + 5)
    >>> bool(np.allclose(X.mean(0), 0, atol=1e-3) and np.allclose(np.linalg.norm(X, axis=1), 1, atol=1e-3))
    True
    """

    needs_direction: ClassVar[bool] = True

    tolerance: float = field(default=1e-5, metadata=bounds(above=0))
    rounds: int = field(default=200, metadata=bounds(least=1))

    means_: Array = field(init=False, repr=False)
    rounds_: int = field(init=False, repr=False)
    residual_: float = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        means: list[torch.Tensor] = []
        residual = float("inf")
        current_ND = exact(rows_ND)
        while residual > self.tolerance and len(means) < self.rounds:
            current_ND = unit(current_ND)
            means.append(current_ND.mean(dim=0))
            current_ND = current_ND - means[-1]
            lengths_N = current_ND.norm(dim=1)
            if lengths_N.min() < 1e-9:
                problem = f"row {int(lengths_N.argmin())} of X equals the mean, so that it has no direction"
                raise InputError(problem, "give more distinct rows" if len(rows_ND) < 3 else "remove it", "zero-row")
            residual = float((lengths_N - 1).abs().max())
        return {"means_": torch.stack(means), "rounds_": len(means), "residual_": residual}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        for mean_D in self._tensor("means_", rows_ND):
            rows_ND = unit(rows_ND) - mean_D
        return rows_ND

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        # The last round is u − m with ‖u‖ = 1. In earlier rounds the next one lost a length s: u = s·z + m, and ‖u‖ = 1
        # is a quadratic in s with one positive root, since ‖m‖ < 1.
        *before, last = self._tensor("means_", rows_ND)
        rows_ND = rows_ND + last
        for mean_D in reversed(before):
            rows_ND = unit(rows_ND)
            along_N1 = (rows_ND @ mean_D)[:, None]
            scale_N1 = (along_N1**2 + 1 - mean_D @ mean_D).sqrt() - along_N1
            rows_ND = scale_N1 * rows_ND + mean_D
        return rows_ND

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        lengths = float((rows_ND.norm(dim=1) - 1).abs().max())
        return max(lengths, float(rows_ND.mean(dim=0).norm()))


WhiteningKind = Literal["zca", "pca"]


@dataclass(eq=False, kw_only=True)
class Whiten(Step):
    """Centered rows times a root of the inverse covariance: the covariance becomes the identity.

    Args:
        kind: ``zca``: the symmetric root C^(−½), closest to the original columns; ``pca``: columns become principal
            components, highest variance first.
        penalty: Added to the variance of every column, as a fraction of the mean variance; needed with fewer rows than
            columns.

    Learns ``mean_`` (D), ``W_`` (D × D) and ``inverse_`` (D × D).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) @ np.diag([1.0, 2, 3])
    >>> np.cov(Whiten().fit_transform(X).T, bias=True).round(3).diagonal().tolist()
    [1.0, 1.0, 1.0]
    """

    kind: WhiteningKind = field(default="zca", metadata=bounds(choices=("zca", "pca")))
    penalty: float = field(default=0.0, metadata=bounds(least=0))

    mean_: Array = field(init=False, repr=False)
    W_: Array = field(init=False, repr=False)
    inverse_: Array = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        moments = PairMoments().update(rows_ND, rows_ND)
        covariance_DD = penalized(moments.covariance("xx"), self.penalty)
        width, found = len(covariance_DD), rank(covariance_DD)
        if found < width:
            problem = f"{len(rows_ND)} rows of X span {found} of {width} directions"
            raise InputError(problem, "give more rows, or a penalty", "too-few")
        values_D, vectors_DD = torch.linalg.eigh(covariance_DD)
        values_D, vectors_DD = values_D.flip(0), vectors_DD.flip(1)
        W_DD, inverse_DD = vectors_DD * values_D**-0.5, (vectors_DD * values_D**0.5).T
        if self.kind == "zca":
            W_DD, inverse_DD = W_DD @ vectors_DD.T, vectors_DD @ inverse_DD
        return {"mean_": moments.means["x"], "W_": W_DD, "inverse_": inverse_DD}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return (rows_ND - self._tensor("mean_", rows_ND)) @ self._tensor("W_", rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("inverse_", rows_ND) + self._tensor("mean_", rows_ND)

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        centered_ND = rows_ND - rows_ND.mean(dim=0)
        covariance_DD = centered_ND.T @ centered_ND / len(rows_ND)
        eye_DD = torch.eye(len(covariance_DD), dtype=covariance_DD.dtype, device=covariance_DD.device)
        return float((covariance_DD - eye_DD).abs().max())


@dataclass(eq=False)
class Steps(PairMap):
    """Estimators in sequence; each is fitted on the output of those before it.

    A :class:`Step` is fitted twice, on all rows of X and on all rows of Y separately; a :class:`PairMap` once, on the
    pairs. With X alone, and no map among the steps, it acts as a single step.

    Args:
        steps: The estimators; they stay unfitted, ``fit`` uses copies.

    Learns ``source_``, the fitted steps of X, and ``target_``, those of Y (None for a map).

    >>> import numpy as np
    >>> from isoglot.align import IterativeNormalization, Procrustes
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Y = 2 * X[:, [1, 2, 0]]
    >>> both = Steps([IterativeNormalization(), Procrustes()]).fit(X, Y)
    >>> np.allclose(both.transform(X), both.transform_target(Y))
    True
    """

    steps: Sequence[Estimator]

    source_: tuple[Step | PairMap, ...] = field(init=False, repr=False)
    target_: tuple[Step | None, ...] = field(init=False, repr=False)

    def clone(self) -> Self:
        """Unfitted copy with copies of the steps."""
        return type(self)([step.clone() for step in self.steps])

    def fit(self, X: Array, Y: Array | None = None, *, pairs: Array | None = None, progress: Progress = SILENT) -> Self:
        """Fit every step in order; see :meth:`PairMap.fit`. Without Y there must be no map among the steps.

        Raises:
            ConfigError: There are no steps, one of them is invalid, or a map has no Y.
            InputError: The rows or the pairs are invalid.
        """
        self._check_steps(alone=Y is None)
        rows_ND = take_rows(X)
        others_ME = None if Y is None else take_rows(Y, "Y")
        if Y is not None and all(getattr(step, "needs_pairs", True) for step in self.steps):
            take_pairs(X, Y, pairs)
        widths = rows_ND.shape[1], rows_ND.shape[1] if others_ME is None else others_ME.shape[1]
        source: list[Step | PairMap] = []
        target: list[Step | None] = []
        x: Any = X  # array or tensor
        y: Any = Y
        for step in self.steps:
            fitted = step.clone()
            if isinstance(fitted, Step):
                source.append(fitted.fit(x))
                if y is not None:
                    other = fitted.clone().fit(y)
                    target.append(other)
                    y = other.transform(y)
            elif isinstance(fitted, PairMap):
                source.append(fitted.fit(x, y, pairs=pairs, progress=progress))
                target.append(None)
                y = fitted.transform_target(y)
            x = source[-1].transform(x)
        self._keep({"source_": tuple(source), "target_": tuple(target), "widths_": (*widths, x.shape[1])}, X)
        return self

    def score(self, X: Array, Y: Array | None = None, *, pairs: Array | None = None) -> float:
        """Mean cosine of paired rows in the common space; for X alone, the score of the last step.

        Raises:
            ConfigError: There is no Y, and the last step is a map.
            InputError: The rows or the pairs are invalid.
            NotFittedError: The steps are not fitted.
        """
        self._check_fitted()
        if Y is not None:
            return super().score(X, Y, pairs=pairs)
        last = self.source_[-1]
        if not isinstance(last, Step):
            raise ConfigError("these steps end in a map", "give Y as well", "not-supported")
        rows: Any = X
        for step in self.source_[:-1]:
            rows = step.transform(rows)
        return last.score(rows)

    def fit_transform(self, X: ArrayT, Y: Array | None = None, *, pairs: Array | None = None) -> ArrayT:
        """Call ``fit``, then ``transform``."""
        return self.fit(X, Y, pairs=pairs).transform(X)

    def _check_steps(self, *, alone: bool) -> None:
        if not self.steps:
            raise ConfigError("there are no steps", "give at least one, such as Center()", "missing-data")
        for step in self.steps:
            name = type(step).__name__
            if isinstance(step, Steps) or not isinstance(step, Step | PairMap):
                raise ConfigError(f"a {name} is not a step", "give a flat list of steps and pair maps", "not-supported")
            if alone and isinstance(step, PairMap):
                raise ConfigError(f"{name} needs Y as well", "call fit(X, Y)", "not-supported")

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        for step in self.source_:
            rows_ND = step.transform(rows_ND)
        return rows_ND

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        for step in reversed(self.source_):
            rows_ND = step.inverse_transform(rows_ND)
        return rows_ND

    def _apply_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        for step, own in zip(self.source_, self._own(), strict=True):
            if own is not None:
                rows_ME = own.transform(rows_ME)
            elif isinstance(step, PairMap):
                rows_ME = step.transform_target(rows_ME)
        return rows_ME

    def _undo_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        for step, own in reversed(list(zip(self.source_, self._own(), strict=True))):
            if own is not None:
                rows_ME = own.inverse_transform(rows_ME)
            elif isinstance(step, PairMap):
                rows_ME = step.inverse_transform_target(rows_ME)
        return rows_ME

    def _own(self) -> tuple[Step | None, ...]:
        if not self.target_:
            raise NotFittedError("these steps were fitted on X alone", "call fit(X, Y)")
        return self.target_
