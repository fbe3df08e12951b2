"""The optimal-transport map between two Gaussians: the least move that takes mean and covariance along.

From N(m, A) to N(n, B) it is x → n + T (x − m) with T = A^(−1/2) (A^(1/2) B A^(1/2))^(1/2) A^(−1/2) (Peyré and Cuturi
2019, remark 2.31). At weight alpha between 0 and 1, (1 − alpha) x + alpha T(x) is McCann's interpolation: on the way
the tokens are Gaussian too, at every alpha the nearest to both ends.

Shapes: ``D`` hidden size.
"""

from __future__ import annotations

import numpy as np

RANK = 1e-10
"""A direction whose variance is below this share of the largest is one in which there is nothing but rounding."""


def gaussian_transport(source_DD: np.ndarray, target_DD: np.ndarray) -> np.ndarray:
    """The symmetric matrix T with T A T = B, for the covariances A and B.

    Where A has no spread there is nothing to carry: such directions are left as they are, and T A T is B as seen from
    the directions that A has.

    >>> gaussian_transport(np.diag([4.0, 1.0]), np.diag([1.0, 9.0])).round(6).tolist()
    [[0.5, 0.0], [0.0, 3.0]]
    """
    values_D, vectors_DD = np.linalg.eigh((source_DD + source_DD.T) / 2)
    there_D = values_D > RANK * max(values_D[-1], 0.0)
    roots_R, basis_DR = np.sqrt(values_D[there_D]), vectors_DD[:, there_D]
    # In the directions that A has, where A is diagonal: nothing is divided by a variance that is not there.
    middle_RR = roots_R[:, None] * (basis_DR.T @ target_DD @ basis_DR) * roots_R
    inner_RR = _root(middle_RR) / roots_R / roots_R[:, None]
    whole_DD: np.ndarray = np.eye(len(source_DD)) + basis_DR @ (inner_RR - np.eye(len(roots_R))) @ basis_DR.T
    symmetric_DD: np.ndarray = (whole_DD + whole_DD.T) / 2
    return symmetric_DD


def _root(matrix_RR: np.ndarray) -> np.ndarray:
    """The square root of a symmetric matrix without negative eigenvalues, but for rounding."""
    values_R, vectors_RR = np.linalg.eigh((matrix_RR + matrix_RR.T) / 2)
    root_RR: np.ndarray = (vectors_RR * np.sqrt(values_R.clip(min=0))) @ vectors_RR.T
    return root_RR
