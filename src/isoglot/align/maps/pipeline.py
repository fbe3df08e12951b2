"""Pipeline of normalization and map as one estimator and one file.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` and ``E`` their columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from isoglot.align.maps.estimator import Estimator, NotFittedError, PairMap, Step
from isoglot.core.arrays import Array, ArrayT, take_pairs, take_rows
from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


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
            raise ConfigError("these steps end in a map", remedy="give Y as well", code="config.not-supported")
        rows: Any = X
        for step in self.source_[:-1]:
            rows = step.transform(rows)
        return last.score(rows)

    def fit_transform(self, X: ArrayT, Y: Array | None = None, *, pairs: Array | None = None) -> ArrayT:
        """Call ``fit``, then ``transform``."""
        return self.fit(X, Y, pairs=pairs).transform(X)

    def _check_steps(self, *, alone: bool) -> None:
        if not self.steps:
            raise ConfigError(
                "there are no steps", remedy="give at least one, such as Center()", code="config.missing-data"
            )
        for step in self.steps:
            name = type(step).__name__
            if isinstance(step, Steps) or not isinstance(step, Step | PairMap):
                raise ConfigError(
                    f"a {name} is not a step",
                    remedy="give a flat list of steps and pair maps",
                    code="config.not-supported",
                )
            if alone and isinstance(step, PairMap):
                raise ConfigError(f"{name} needs Y as well", remedy="call fit(X, Y)", code="config.not-supported")

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
            raise NotFittedError("these steps were fitted on X alone", remedy="call fit(X, Y)")
        return self.target_
