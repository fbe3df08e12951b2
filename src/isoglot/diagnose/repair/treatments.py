"""Fixes of sentence vectors that need no training: affine maps, one for all texts or one for each language.

Every fix is ``x → x A + b``, so it can be deployed as a linear layer after pooling. Those that need the language of a
text have an ``A`` and ``b`` for each.

Shape legend: ``N`` rows, ``D`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import torch

from isoglot.align.maps.closed_form import rotation
from isoglot.diagnose.retrieval import STRONGEST
from isoglot.steer.erasers.methods import LEACE, LIR, LSAR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.steer.erasers.eraser import Eraser

Name = Literal[
    "none",
    "trimmed",
    "lsar",
    "leace",
    "whitening",
    "leace-whitening",
    "means",
    "lir",
    "means-whitening",
    "rotation",
]
"""Fixes, the simplest first: those that need no language before those that do."""
NAMES: tuple[Name, ...] = get_args(Name)


class Affine(NamedTuple):
    """The map ``x → x A + b``, in float64."""

    matrix_DD: np.ndarray
    offset_D: np.ndarray

    def __call__(self, rows_ND: np.ndarray) -> np.ndarray:
        """Map rows (N × D), in float32."""
        return np.asarray(rows_ND @ self.matrix_DD.astype(np.float32) + self.offset_D.astype(np.float32))

    def then(self, other: Affine) -> Affine:
        """This map, followed by another."""
        return Affine(self.matrix_DD @ other.matrix_DD, self.offset_D @ other.matrix_DD + other.offset_D)


Maps = dict[str, Affine]
"""The map of each language; the same object for all where no language is needed."""


class Moments(NamedTuple):
    """Number of rows, mean and covariance of a language, in float64."""

    rows: int
    mean_D: np.ndarray
    covariance_DD: np.ndarray

    @classmethod
    def of(cls, rows_ND: np.ndarray) -> Moments:
        """Compute them from rows."""
        mean_D = rows_ND.mean(axis=0, dtype=np.float64)
        away_ND = torch.from_numpy(rows_ND - mean_D)
        return cls(len(rows_ND), mean_D, (away_ND.T @ away_ND / max(len(rows_ND) - 1, 1)).numpy())


@dataclass(frozen=True)
class Sample:
    """Vectors to fit on.

    Attributes:
        moments: Of each language.
        pairs: For each language but the pivot, its rows and the pivot's translations of them.
        pivot: The language that others are rotated to.
    """

    moments: Mapping[str, Moments]
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]]
    pivot: str

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of the language means."""
        return np.asarray(np.mean([each.mean_D for each in self.moments.values()], axis=0))

    @cached_property
    def within(self) -> np.ndarray:
        """Mean covariance within a language."""
        return np.asarray(np.mean([each.covariance_DD for each in self.moments.values()], axis=0))

    @cached_property
    def total(self) -> np.ndarray:
        """Covariance of all languages together, each with the same weight."""
        apart_KD = np.stack([each.mean_D for each in self.moments.values()]) - self.mean
        return np.asarray(self.within + apart_KD.T @ apart_KD / len(apart_KD))

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of the total covariance, in ascending order, and eigenvectors in columns."""
        values_D, vectors_DD = np.linalg.eigh(self.total)
        return values_D, vectors_DD

    @property
    def rows(self) -> int:
        """Number of rows of all languages."""
        return sum(each.rows for each in self.moments.values())


class Treatment(NamedTuple):
    """A fix: its title, whether it needs the language of a text, and how it is fitted."""

    title: str
    needs_language: bool
    fit: Callable[[Sample], Maps]


def _none(sample: Sample) -> Maps:
    width = len(sample.mean)
    return _for_all(sample, Affine(np.eye(width), np.zeros(width)))


def _trimmed(sample: Sample) -> Maps:
    """Remove the common mean and the strongest directions (all-but-the-top; Mu & Viswanath 2018)."""
    top_DK = sample.axes[1][:, -STRONGEST:]
    matrix_DD = np.eye(len(top_DK)) - top_DK @ top_DK.T
    return _for_all(sample, Affine(matrix_DD, -sample.mean @ matrix_DD))


def _whitening(sample: Sample) -> Maps:
    """Subtract the common mean and scale all directions to the same variance (Su et al. 2021)."""
    return _for_all(sample, _whitener(sample.mean, sample.axes, sample.rows))


def _leace_whitening(sample: Sample) -> Maps:
    erased = _linear(LEACE.from_moments(sample.moments))
    covariance_DD = erased.matrix_DD.T @ sample.total @ erased.matrix_DD
    whitener = _whitener(sample.mean @ erased.matrix_DD + erased.offset_D, np.linalg.eigh(covariance_DD), sample.rows)
    return _for_all(sample, erased.then(whitener))


def _means(sample: Sample) -> Maps:
    """Subtract the mean of each language (Libovický et al. 2020)."""
    return {code: Affine(np.eye(len(each.mean_D)), -each.mean_D) for code, each in sample.moments.items()}


def _lir(sample: Sample) -> Maps:
    eraser = LIR.from_moments(sample.moments)
    return {code: _linear(eraser, code) for code in sample.moments}


def _means_whitening(sample: Sample) -> Maps:
    scaled = _whitener(np.zeros_like(sample.mean), np.linalg.eigh(sample.within), sample.rows)
    return {code: each.then(scaled) for code, each in _means(sample).items()}


def _rotation(sample: Sample) -> Maps:
    """Subtract the mean of each language and rotate it to the pivot, by Procrustes on rows of unit length."""
    maps = _means(sample)
    for code, (rows_ND, pivot_ND) in sample.pairs.items():
        sides = (maps[code](rows_ND), maps[sample.pivot](pivot_ND))
        X_ND, Y_ND = (torch.from_numpy(unit_rows(side)).double() for side in sides)
        turned_DD = rotation(X_ND.T @ Y_ND)[0].numpy()
        maps[code] = maps[code].then(Affine(turned_DD, np.zeros(len(turned_DD))))
    return maps


def unit_rows(rows_ND: np.ndarray) -> np.ndarray:
    """Rows divided by their length; zero rows stay."""
    lengths_N1 = np.linalg.norm(rows_ND, axis=1, keepdims=True)
    return np.asarray(rows_ND / np.where(lengths_N1 > 0, lengths_N1, 1))


TREATMENTS: dict[Name, Treatment] = {
    "none": Treatment("as it is", False, _none),
    "trimmed": Treatment(f"common mean and {STRONGEST} strongest directions removed", False, _trimmed),
    "lsar": Treatment(
        "directions of the language means removed (LSAR)",
        False,
        lambda sample: _for_all(sample, _linear(LSAR.from_moments(sample.moments))),
    ),
    "leace": Treatment(
        "language erased linearly (LEACE)",
        False,
        lambda sample: _for_all(sample, _linear(LEACE.from_moments(sample.moments))),
    ),
    "whitening": Treatment("whitening", False, _whitening),
    "leace-whitening": Treatment("language erased linearly (LEACE), then whitening", False, _leace_whitening),
    "means": Treatment("language means removed", True, _means),
    "lir": Treatment("main directions of each language removed (LIR)", True, _lir),
    "means-whitening": Treatment("language means removed, then whitening", True, _means_whitening),
    "rotation": Treatment("language means removed, then a rotation to the pivot", True, _rotation),
}


def _for_all(sample: Sample, one: Affine) -> Maps:
    return dict.fromkeys(sample.moments, one)


def _linear(eraser: Eraser, language: str | None = None) -> Affine:
    """The map of an eraser: erasers are affine, so what they make of the origin and of the unit vectors is all."""
    offset_D = eraser.transform(np.zeros((1, eraser.width_)), language)[0]
    return Affine(eraser.transform(np.eye(eraser.width_), language) - offset_D, offset_D)


def _whitener(mean_D: np.ndarray, axes: tuple[np.ndarray, np.ndarray], rows: int) -> Affine:
    """The symmetric map to variance 1, with a ridge of D / N of the mean variance against noise in the smallest.

    ``axes`` are the eigenvalues and eigenvectors of the covariance.
    """
    values_D, vectors_DD = axes
    ridge = values_D.mean() * len(values_D) / rows
    scale_D = 1 / np.sqrt(np.maximum(values_D, 0) + max(ridge, 1e-12))
    matrix_DD = (vectors_DD * scale_D) @ vectors_DD.T
    return Affine(matrix_DD, -mean_D @ matrix_DD)
