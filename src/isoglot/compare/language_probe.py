"""Linear probe for the language of a sentence, cross-validated and in closed form.

The probe is a linear discriminant: every language has its mean, all share one covariance, and a row is assigned to the
language with the highest likelihood. It does what a linear classifier trained by gradient descent would, in
milliseconds and without hyperparameters.

Three accuracies:

- ``linear``: rows as they are.
- ``centered``: without the mean of their language, estimated on the training folds. With equal means no linear probe
  beats a constant (Belrose et al. 2023), so this one is at chance by theorem; anything else would be a leak.
- ``spread``: centered rows with the squares of their leading principal coordinates: what remains of a language without
  its mean is its covariance.

A row with equal scores for several languages counts with the probability of guessing.

Shape legend: ``N`` rows of a language, ``D`` hidden size, ``K`` languages, ``P`` principal coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COORDINATES = 64
"""Number of principal coordinates whose squares the third probe uses."""
SHRINKAGE = 0.05
"""Added to every variance, relative to a mean variance of 1."""
_TIE = 1e-9  # of a log probability


class ProbeResult(NamedTuple):
    """For every row of every language, whether its language was predicted: 1, 0, or a share for ties."""

    linear: list[np.ndarray]
    centered: list[np.ndarray]
    spread: list[np.ndarray]


def probe_languages(rows: Sequence[np.ndarray], folds: Sequence[np.ndarray]) -> ProbeResult:
    """Fit and test the three probes by cross-validation.

    Args:
        rows: N × D for each language.
        folds: Fold of each row; translations of each other belong in one fold.
    """
    hits = ProbeResult(*([np.zeros(len(each)) for each in rows] for _ in ProbeResult._fields))
    for train, test, out in _splits(rows, folds):
        means_KD = torch.stack([side.mean(dim=0) for side in train])
        centered, moved = ([side - mean for side, mean in zip(part, means_KD, strict=True)] for part in (train, test))
        within_DD = _within(centered)
        plain = _hits(means_KD, within_DD, test)
        rest_KD = torch.stack([side.mean(dim=0) for side in centered])
        squares = discriminant_hits(*with_squares(centered, moved, within_DD))
        for kind, found in zip(hits, (plain, _hits(rest_KD, within_DD, moved), squares), strict=True):
            _put(kind, out, found)
    return hits


def probe_linearly(rows: Sequence[np.ndarray], folds: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The first of the three probes of :func:`probe_languages` alone, in a third of the time.

    Args:
        rows: N × D for each language.
        folds: Fold of each row; translations of each other belong in one fold.
    """
    hits = [np.zeros(len(each)) for each in rows]
    for train, test, out in _splits(rows, folds):
        _put(hits, out, discriminant_hits(train, test))
    return hits


def _splits(
    rows: Sequence[np.ndarray], folds: Sequence[np.ndarray]
) -> Iterator[tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]]:
    """Training rows, test rows and indices of the test rows, by language, for each fold."""
    tensors = [torch.from_numpy(np.ascontiguousarray(each)).double() for each in rows]
    for fold in np.unique(np.concatenate(folds)):
        out, kept = (
            [torch.from_numpy(np.flatnonzero((each == fold) == inside)) for each in folds] for inside in (True, False)
        )
        if all(len(each) for each in kept):  # else all rows of a language are in this fold
            train, test = ([side[index] for side, index in zip(tensors, part, strict=True)] for part in (kept, out))
            yield train, test, out


def _put(hits: list[np.ndarray], out: Sequence[torch.Tensor], found: Sequence[np.ndarray]) -> None:
    for all_N, index, some in zip(hits, out, found, strict=True):
        all_N[index.numpy()] = some


def discriminant_hits(train: Sequence[torch.Tensor], test: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """Fit a discriminant with equal priors, and score each test row.

    Args:
        train: N × D for each language, float64.
        test: Other rows of each.
    """
    means_KD = torch.stack([side.mean(dim=0) for side in train])
    return _hits(means_KD, _within([side - mean for side, mean in zip(train, means_KD, strict=True)]), test)


def _within(train: Sequence[torch.Tensor]) -> torch.Tensor:
    """Mean covariance within languages, from centered rows (D × D)."""
    return torch.stack([side.T @ side / len(side) for side in train]).mean(dim=0)


def _hits(means_KD: torch.Tensor, within_DD: torch.Tensor, test: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """Scores of the test rows, given means and a covariance."""
    middle_D = means_KD.mean(dim=0)
    scale_D = within_DD.diagonal().sqrt()
    scale_D = scale_D.clamp(min=1e-12 * float(scale_D.max()) + 1e-300)
    means_KD = (means_KD - middle_D) / scale_D
    within_DD = within_DD / scale_D / scale_D[:, None]
    within_DD += SHRINKAGE * torch.eye(len(within_DD), dtype=within_DD.dtype)
    weights_KD = torch.linalg.solve(within_DD, means_KD.T).T
    offsets_K = -(weights_KD * means_KD).sum(dim=1) / 2
    hits = []
    for language, side in enumerate(test):
        scores_NK = ((side - middle_D) / scale_D) @ weights_KD.T + offsets_K
        best_NK = scores_NK >= scores_NK.max(dim=1, keepdim=True).values - _TIE
        hits.append((best_NK[:, language].double() / best_NK.sum(dim=1)).numpy())
    return hits


def with_squares(
    train: list[torch.Tensor], test: list[torch.Tensor], within_DD: torch.Tensor | None = None
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Principal coordinates of centered rows, by the training rows or their covariance, and their squares."""
    values_D, vectors_DD = torch.linalg.eigh(_within(train) if within_DD is None else within_DD)
    count = min(COORDINATES, len(values_D))
    values_P = values_D[-count:].clamp(min=float(values_D[-1].clamp(min=1e-300)) * 1e-12)
    basis_DP = vectors_DD[:, -count:] / values_P.sqrt()

    def features(side: torch.Tensor) -> torch.Tensor:
        coordinates_NP = side @ basis_DP
        return torch.cat([coordinates_NP, coordinates_NP.square()], dim=1)

    return [features(side) for side in train], [features(side) for side in test]
