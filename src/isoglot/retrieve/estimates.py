"""Cross-fitting of what a search estimates: the mean of each language, and the neighborhoods of CSLS.

Estimated on the test sentences themselves, both are fitted to the test: in use, queries come one at a time and from
other text. By default they are cross-fitted: the sentences are divided into folds; for the queries of a fold, the mean
of either language is that of the other folds, and the neighborhood of a candidate consists of queries of the other
folds, without the candidate's own translation. (With it, candidates of other folds would be at a disadvantage against
those of the query's fold, whose translations are not in the pool.) A query and its correct answer thus enter no
estimate.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch

from isoglot.core.errors import ConfigError, InputError, check_range
from isoglot.core.progress import counted
from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.core.arrays import Array
    from isoglot.retrieve.metrics import Gold

Center = Literal["none", "mean"]
"""``none``: vectors unchanged. ``mean``: the mean of each language subtracted."""
From = Literal["folds", "own", "given"]
"""``folds``: other folds of the test. ``own``: the whole test, queries included. ``given``: other text."""

FOLDS = 5
FEWEST = 3
"""Minimum number of rows to cross-fit a mean."""
_CHUNK = 65536


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Source of means and neighborhoods.

    Attributes:
        means: Source of the means that are subtracted.
        neighborhoods: Source of the neighborhoods of candidates, for ``csls``, ``ratio`` and ``distance``.
        folds: Number of folds for cross-fitting.
        origin: Name of the other text, if either is ``given``.
    """

    means: From = "folds"
    neighborhoods: From = "folds"
    folds: int = FOLDS
    origin: str = ""

    def __post_init__(self) -> None:
        check_range("folds", self.folds, 2)

    @property
    def means_in_words(self) -> str:
        """Source of the means, to follow "means".

        >>> Estimates().means_in_words
        'estimated on other sentences of the same set (5 folds)'
        """
        return self._in_words(self.means, "estimated on")

    @property
    def neighborhoods_in_words(self) -> str:
        """Source of the CSLS neighborhoods, to follow "CSLS neighborhoods"."""
        return self._in_words(self.neighborhoods, "made of")

    def _in_words(self, source: From, verb: str) -> str:
        match source:
            case "folds":
                return f"{verb} other sentences of the same set ({self.folds} folds)"
            case "own":
                return f"{verb} the searched rows themselves"
            case "given":
                return f"{verb} other text" + (f" ({self.origin})" if self.origin else "")


CROSS_FITTED = Estimates()
OWN = Estimates(means="own", neighborhoods="own")


class OtherText(NamedTuple):
    """Mean (D) of a language on other text, and rows of it for neighborhoods."""

    mean_D: np.ndarray | None = None
    rows: Array | None = None


class QueryGroup(NamedTuple):
    """Queries that share their estimates, as masks over the rows of X and of Y."""

    sources_N: np.ndarray
    targets_M: np.ndarray


class SearchView(NamedTuple):
    """Both sides without the means that a group of queries sees, other rows of either language, and those queries."""

    X: Array
    Y: Array
    others: tuple[Array | None, Array | None]
    parts: list[QueryGroup]


class SearchInputs(NamedTuple):
    """Two sides of a test: all rows, those that take part, and names for error messages."""

    sides: tuple[Array, Array]
    rows: tuple[np.ndarray, np.ndarray]
    names: tuple[str, str] = ("X", "Y")
    others: tuple[OtherText, OtherText] = (OtherText(), OtherText())


def fold_numbers(gold: Gold, rows_X: int, rows_Y: int, folds: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Fold of each row of X and of Y; -1 for rows in no gold pair. Gold pairs stay in one fold.

    >>> from isoglot.retrieve.metrics import Gold
    >>> X, Y = fold_numbers(Gold.from_pairs([(0, 0), (0, 1), (2, 2), (3, 2)]), 4, 4, 2, seed=0)
    >>> bool(X[0] == Y[0] == Y[1] != X[2] == X[3] == Y[2]), int(X[1]), int(Y[3])
    (True, -1, -1)
    """
    first_X, first_Y = np.arange(rows_X), np.full(rows_Y, rows_X)
    rows_P, right_P = gold.pairs_P2.T
    while True:  # connected components, by their lowest row of X
        least_P = np.minimum(first_X[rows_P], first_Y[right_P])
        if (first_X[rows_P] == least_P).all() and (first_Y[right_P] == least_P).all():
            break
        np.minimum.at(first_X, rows_P, least_P)
        np.minimum.at(first_Y, right_P, least_P)
    groups, group_P = np.unique(first_X[rows_P], return_inverse=True)
    drawn = random_stream(seed, "retrieval folds").permutation(np.arange(len(groups)) % min(folds, len(groups)))
    fold_N, fold_M = np.full(rows_X, -1), np.full(rows_Y, -1)
    fold_N[rows_P] = fold_M[right_P] = drawn[group_P]
    return fold_N, fold_M


def views(inputs: SearchInputs, gold: Gold, center: Center, estimates: Estimates, *, seed: int) -> list[SearchView]:
    """The matrices that each group of queries searches in.

    Args:
        inputs: Both sides.
        gold: Correct pairs, as numbers of the rows that take part.
        center: Whether to subtract means.
        estimates: Source of means and neighborhoods.
        seed: Random seed of the folds.

    Raises:
        ConfigError: Estimates are to come from other text, and none is given.
        InputError: There are too few rows to cross-fit means, or a row equals the mean.
    """
    counts = [len(rows) for rows in inputs.rows]
    everything = QueryGroup(*(np.ones(count, dtype=bool) for count in counts))
    parts = [everything]
    if estimates.neighborhoods == "folds" or (center == "mean" and estimates.means == "folds"):
        numbers = fold_numbers(gold, counts[0], counts[1], estimates.folds, seed=seed)
        parts = [QueryGroup(*(each == fold for each in numbers)) for fold in range(int(numbers[0].max()) + 1)]
    if center == "none":
        X, Y = (_taken(side, rows) for side, rows in zip(inputs.sides, inputs.rows, strict=True))
        return [SearchView(X, Y, (inputs.others[0].rows, inputs.others[1].rows), parts)]
    if estimates.means != "folds":
        return [_view(inputs, _whole_means(inputs, estimates), parts)]
    for name, side in zip(inputs.names, inputs.sides, strict=True):
        if len(side) < FEWEST or len(parts) < 2:
            raise InputError(
                f"{name} has {counted(len(side), 'rows')}, too few to cross-fit a mean",
                f"give at least {FEWEST}, or do not center",
                "too-few",
            )
    totals = [_sum(side) for side in inputs.sides]
    found = []
    for part in parts:
        means = [
            (total_D - _sum(_taken(side, rows[mask]))) / (len(side) - mask.sum())
            for total_D, side, rows, mask in zip(totals, inputs.sides, inputs.rows, part, strict=True)
        ]
        found.append(_view(inputs, means, [part]))
    return found


def _whole_means(inputs: SearchInputs, estimates: Estimates) -> list[np.ndarray]:
    """Means of all rows, or the given ones."""
    means = []
    for name, side, other in zip(inputs.names, inputs.sides, inputs.others, strict=True):
        if estimates.means == "own":
            if len(side) < 2:
                raise InputError(
                    f"{name} has one row, so that centering leaves zeros", "give more, or do not center", "zero-row"
                )
            means.append(_sum(side) / len(side))
        elif other.mean_D is None:
            raise ConfigError(
                f"there is no mean of {name} from other text",
                "give one for each language, or choose folds or own",
                "missing-data",
            )
        else:
            means.append(np.asarray(other.mean_D, dtype=np.float64))
    return means


def _view(inputs: SearchInputs, means: Sequence[np.ndarray], parts: list[QueryGroup]) -> SearchView:
    sides = []
    for name, side, rows, mean_D in zip(inputs.names, inputs.sides, inputs.rows, means, strict=True):
        centered = without_mean(_taken(side, rows), mean_D)
        kept = centered.any(axis=1) if isinstance(centered, np.ndarray) else centered.any(dim=1).cpu().numpy()
        if not kept.all():
            raise InputError(
                f"{name}: row {int(rows[int((~kept).argmax())]) + 1} equals the mean, so that centering leaves zeros",
                "remove it, or do not center",
                "zero-row",
            )
        sides.append(centered)
    others = [
        None if each.rows is None else without_mean(each.rows, mean_D)
        for each, mean_D in zip(inputs.others, means, strict=True)
    ]
    return SearchView(sides[0], sides[1], (others[0], others[1]), parts)


def without_mean(rows: Array, mean_D: np.ndarray) -> Array:
    """Rows minus a mean, computed in float64, as float32."""
    if isinstance(rows, torch.Tensor):
        return (rows.double() - torch.from_numpy(mean_D).to(rows.device)).float()
    centered: np.ndarray = (rows - mean_D).astype(np.float32)
    return centered


def _taken(side: Array, rows: np.ndarray) -> Array:
    if len(rows) == len(side):
        return side
    return side[torch.from_numpy(rows).to(side.device)] if isinstance(side, torch.Tensor) else side[rows]


def _sum(side: Array) -> np.ndarray:
    """Sum of the rows, float64."""
    total_D: np.ndarray = np.zeros(side.shape[1])
    for first in range(0, len(side), _CHUNK):
        part = side[first : first + _CHUNK]
        total_D += part.double().sum(dim=0).cpu().numpy() if isinstance(part, torch.Tensor) else part.sum(0, np.float64)
    return total_D
