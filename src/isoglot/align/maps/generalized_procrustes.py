"""Generalized Procrustes: many languages rotated into one space (Gower 1975; Kementchedjhieva et al. 2018).

Shape legend: ``N`` items, ``D`` columns, ``L`` languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import torch

from isoglot.align.maps.closed_form import rotation
from isoglot.align.maps.estimator import Estimator, bounds
from isoglot.core.arrays import (
    Array,
    ArrayT,
    exact,
    give_back,
    keep,
    refuse_large,
    refuse_zeros,
    take_rows,
    to_tensor,
    unit,
)
from isoglot.core.errors import ConfigError, InputError, nearest_name, shown
from isoglot.core.progress import SILENT, Progress

Spaces = Mapping[str, Array] | Sequence[Array]


@dataclass(eq=False, kw_only=True)
class GeneralizedProcrustes(Estimator):
    """A rotation for every language that brings each item as close as possible to its mean over languages.

    Alternates between the mean shape and Procrustes of every language to it; neither step increases the sum of squared
    distances. No language is the pivot. The common rotation is free, and is chosen such that the map of the first
    language is the identity.

    Args:
        tolerance: Stop when the mean squared distance falls by less than this fraction.
        rounds: Maximum number of rounds.

    Learns ``languages_`` (L names), ``maps_`` (L × D × D), ``mean_`` (N × D), ``losses_`` (mean squared distance to the
    mean after each round) and ``rounds_``.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> spaces = {"en": X, "fr": X[:, [1, 2, 0]], "de": X[:, [2, 1, 0]]}
    >>> one = GeneralizedProcrustes().fit(spaces)
    >>> all(np.allclose(one.transform(rows, name), X) for name, rows in spaces.items())
    True
    """

    tolerance: float = field(default=1e-9, metadata=bounds(above=0))
    rounds: int = field(default=200, metadata=bounds(least=1))

    languages_: tuple[str, ...] = field(init=False, repr=False)
    maps_: Array = field(init=False, repr=False)
    mean_: Array = field(init=False, repr=False)
    losses_: tuple[float, ...] = field(init=False, repr=False)
    rounds_: int = field(init=False, repr=False)

    def fit(self, X: Spaces, Y: None = None, *, masks: Spaces | None = None, progress: Progress = SILENT) -> Self:
        """Fit the maps.

        Args:
            X: Spaces by name, each N × D: row i is the same item in all. A sequence is named "0", "1", ….
            Y: Ignored, for compatibility with scikit-learn.
            masks: For each space, N booleans that say which items it has; rows of others are ignored. None: all.
            progress: Progress in rounds.

        Raises:
            ConfigError: An option is invalid.
            InputError: A space or mask is invalid; the message names it.
        """
        self.check_options()
        given, rows, present = _checked_input(X, masks)
        maps, losses = _alternate(rows, present, self.tolerance, self.rounds, progress)
        first = next(iter(maps.values())).T
        maps = {name: W_DD @ first for name, W_DD in maps.items()}
        like = next(iter(given.values()))
        self.languages_ = tuple(given)
        self.maps_ = keep(torch.stack(list(maps.values())), like)
        self.mean_ = keep(_mean(rows, present, maps), like)
        self.losses_, self.rounds_ = tuple(losses), len(losses)
        return self

    def transform(self, X: ArrayT, language: str | int = 0) -> ArrayT:
        """Rows of a language in the common space, as the type given.

        Raises:
            ConfigError: The language does not exist.
        """
        W_DD = self._map(language)
        rows_ND = take_rows(X, width=len(W_DD))
        return give_back(rows_ND @ W_DD.to(rows_ND), X)

    def inverse_transform(self, Z: ArrayT, language: str | int = 0) -> ArrayT:
        """Rows of the common space in that of a language."""
        W_DD = self._map(language)
        rows_ND = take_rows(Z, "Z", width=len(W_DD))
        return give_back(rows_ND @ W_DD.to(rows_ND).T, Z)

    def fit_transform(self, X: Mapping[str, ArrayT], Y: None = None) -> dict[str, ArrayT]:
        """Call ``fit``, then ``transform`` every language."""
        self.fit(X)
        return {name: self.transform(rows, name) for name, rows in X.items()}

    def score(self, X: Spaces, Y: None = None, *, masks: Spaces | None = None) -> float:
        """Mean cosine over all items and pairs of languages that share them, in the common space.

        Raises:
            InputError: The rows are invalid, or no item occurs in two spaces.
            NotFittedError: It is not fitted.
        """
        self._check_fitted()
        _, rows, present = _checked_input(X, masks)
        mapped = {}
        for name, matrix_ND in rows.items():
            matrix_ND = torch.where(present[name][:, None], matrix_ND, 1.0)  # noqa: PLW2901 - never counted below
            mapped[name] = unit(matrix_ND @ self._map(name).to(matrix_ND))
        total, count, names = 0.0, 0, list(mapped)
        for place, a in enumerate(names):
            for b in names[place + 1 :]:
                both_N = present[a] & present[b]
                total += float((mapped[a] * mapped[b]).sum(dim=1)[both_N].sum())
                count += int(both_N.sum())
        if not count:
            raise InputError("no item occurs in two spaces", "give items that some spaces share", "no-match")
        return total / count

    def _map(self, language: str | int) -> torch.Tensor:
        self._check_fitted()
        if isinstance(language, int) and 0 <= language < len(self.languages_):
            return to_tensor(self.maps_)[language]
        if language not in self.languages_:
            problem = f"unknown language {shown(language)}"
            raise ConfigError(problem, nearest_name(str(language), self.languages_), "unknown-name")
        return to_tensor(self.maps_)[self.languages_.index(str(language))]


Matrices = dict[str, torch.Tensor]


def _alternate(
    rows: Matrices, present: Matrices, tolerance: float, rounds: int, progress: Progress
) -> tuple[Matrices, list[float]]:
    """Maps, and the mean squared distance to the mean after every round."""
    maps = _initial_maps(rows, present)
    losses: list[float] = []
    count = sum(int(mask_N.sum()) for mask_N in present.values())
    with progress.task("generalized Procrustes", total=None, unit="rounds") as task:
        while len(losses) < rounds:
            mean_ND = _mean(rows, present, maps)
            maps = {name: rotation(rows[name].T @ (mean_ND * present[name][:, None]))[0] for name in rows}
            distance = sum(
                float((((rows[name] @ maps[name]) - mean_ND) * present[name][:, None]).square().sum()) for name in rows
            )
            losses.append(distance / count)
            task.advance()
            if len(losses) > 1 and losses[-2] - losses[-1] <= tolerance * losses[-2]:
                break
    return maps, losses


def _initial_maps(rows: Matrices, present: Matrices) -> Matrices:
    """Initial maps: languages rotated one by one to the mean of those before, most shared items first."""
    first = next(iter(rows))
    width = rows[first].shape[1]
    maps = {first: torch.eye(width, dtype=rows[first].dtype, device=rows[first].device)}
    while len(maps) < len(rows):
        covered_N = torch.stack([present[name] for name in maps]).any(dim=0)
        shared = {name: int((present[name] & covered_N).sum()) for name in rows if name not in maps}
        name = max(shared, key=lambda each: shared[each])
        if not shared[name]:
            problem = f"{name} shares no item with {', '.join(maps)}"
            raise InputError(problem, "remove it, or give shared items", "no-match")
        done = {each: rows[each] for each in maps}
        both_N1 = (present[name] & covered_N)[:, None]
        maps[name] = rotation(rows[name].T @ (_mean(done, present, maps) * both_N1))[0]
    return {name: maps[name] for name in rows}


def _mean(rows: Matrices, present: Matrices, maps: Matrices) -> torch.Tensor:
    """Mean shape over the languages that have each item; zeros if none has it."""
    total_ND = torch.stack([rows[name] @ maps[name] for name in rows]).sum(dim=0)
    count_N = torch.stack([present[name] for name in rows]).sum(dim=0).clamp(min=1)
    return total_ND / count_N[:, None]


def _checked_input(spaces: Spaces, masks: Spaces | None) -> tuple[dict[str, Array], Matrices, Matrices]:
    """Spaces by name, their rows in float64, and their masks; all on the device of the first."""
    given = _named(spaces, "spaces")
    if len(given) < 2:
        raise InputError(f"only {len(given)} space", "give at least two", "too-few")
    present = _masks(given, masks)
    rows = {name: _rows(matrix, name, present[name]) for name, matrix in given.items()}
    _check_shapes(rows)
    device = next(iter(rows.values())).device
    return (
        given,
        {name: matrix.to(device) for name, matrix in rows.items()},
        {name: mask_N.to(device) for name, mask_N in present.items()},
    )


def _named(spaces: Spaces, what: str) -> dict[str, Array]:
    if isinstance(spaces, Mapping):
        return dict(spaces)
    if isinstance(spaces, Sequence):
        return {str(place): matrix for place, matrix in enumerate(spaces)}
    raise InputError(f"{what} are a {type(spaces).__name__}", "give a dict by name, or a list", "type")


def _masks(given: Mapping[str, Array], masks: Spaces | None) -> Matrices:
    if masks is None:
        return {name: torch.ones(len(matrix), dtype=torch.bool) for name, matrix in given.items()}
    named = _named(masks, "masks")
    if named.keys() != given.keys():
        problem = f"masks for {', '.join(named)}, spaces {', '.join(given)}"
        raise InputError(problem, "give one mask per space", "row-count")
    found = {name: to_tensor(mask).cpu() for name, mask in named.items()}
    for name, mask_N in found.items():
        if mask_N.dtype != torch.bool or mask_N.shape != (len(given[name]),):
            problem = f"the mask of {name} is {tuple(mask_N.shape)} of {mask_N.dtype}"
            raise InputError(problem, f"give {len(given[name])} booleans, one per row", "type")
        if not mask_N.any():
            raise InputError(f"{name} has no items", "remove it", "empty")
    return found


def _rows(matrix: Array, name: str, present_N: torch.Tensor) -> torch.Tensor:
    """Rows of a space in float64, zeros where it has none."""
    tensor = to_tensor(matrix, name)
    if tensor.ndim == 2 and tensor.is_floating_point():
        here_N = present_N.to(tensor.device)
        filled = torch.where(here_N[:, None], tensor, torch.ones((), dtype=tensor.dtype, device=tensor.device))
        checked = take_rows(filled, name)
        refuse_zeros(checked, name)
        refuse_large(checked, name)
        return exact(checked) * here_N[:, None]
    return take_rows(matrix, name)  # raises


def _check_shapes(rows: Matrices) -> None:
    (first, matrix_ND), *others = rows.items()
    remedies = {"rows": "give the same items in every space", "columns": "give spaces with the same number of columns"}
    for name, other_ND in others:
        for (what, remedy), own, other in zip(remedies.items(), matrix_ND.shape, other_ND.shape, strict=True):
            if own != other:
                raise InputError(f"{first} has {own} {what} and {name} {other}", remedy, "shape")
