"""Linear CKA in many subsamples of the items at once, for intervals.

Half of the items, drawn without replacement, vary as much around the value of all items as that value varies around
the truth (the delete-half jackknife, Shao & Wu 1989), and no item comes twice, which would look like similarity.

Shape legend: ``N`` items, ``D`` columns, ``R`` subsamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from isoglot.compare.pairs import paired

if TYPE_CHECKING:
    import numpy as np

    from isoglot.align.rows import Array


class SubsampledCKA(NamedTuple):
    """CKA in every subsample, R numbers each: as Wu et al. (2020) print it, centered, and debiased."""

    paper: np.ndarray
    centered: np.ndarray
    debiased: np.ndarray


def subsampled_cka(X: Array, Y: Array, members_RN: np.ndarray) -> SubsampledCKA:
    """Linear CKA of some of the rows, for several choices of rows.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        members_RN: Which rows are in each subsample, as true and false or 1 and 0; at least 4 in each.

    Raises:
        InputError: The rows cannot be compared.
    """
    X_ND, Y_NE = (rows.double() / rows.double().square().sum(1).mean().sqrt() for rows in paired(X, Y))
    members = torch.as_tensor(members_RN, dtype=torch.float64, device=X_ND.device)
    kernels = X_ND @ X_ND.T, Y_NE @ Y_NE.T
    pairs = ((0, 1), (0, 0), (1, 1))
    found = []
    for products in (_plain, _centered, _unbiased):
        cross, own, other = (products(kernels[one], kernels[two], members) for one, two in pairs)
        found.append((cross / (own * other).clamp_min(1e-300).sqrt()).cpu().numpy())
    return SubsampledCKA(*found)


def _plain(K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor) -> torch.Tensor:
    """⟨K, L⟩ over the members of each subsample."""
    return ((members_RN @ (K_NN * L_NN)) * members_RN).sum(1)


def _sums(
    K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Members, ⟨K1, L1⟩, and the sums of all entries of K and of L, in each subsample."""
    rows_K, rows_L = ((members_RN @ each) * members_RN for each in (K_NN, L_NN))
    return members_RN.sum(1), (rows_K * rows_L).sum(1), rows_K.sum(1), rows_L.sum(1)


def _centered(K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor) -> torch.Tensor:
    """⟨HKH, L⟩: the kernels of rows without their mean."""
    count, rows, all_K, all_L = _sums(K_NN, L_NN, members_RN)
    return _plain(K_NN, L_NN, members_RN) - 2 / count * rows + all_K * all_L / count**2


def _unbiased(K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor) -> torch.Tensor:
    """The unbiased estimate of HSIC (Song et al. 2012, equation 5), but for a factor of the number of members."""
    K_NN, L_NN = (each - torch.diag(each.diag()) for each in (K_NN, L_NN))
    count, rows, all_K, all_L = _sums(K_NN, L_NN, members_RN)
    return _plain(K_NN, L_NN, members_RN) + all_K * all_L / ((count - 1) * (count - 2)) - 2 / (count - 2) * rows
