"""How sound a map is: how far from a rotation, and how much it magnifies errors.

Shape legend: ``D`` columns of the source, ``E`` of the target.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from isoglot.align.rows import Array, exact, take_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """The facts about a matrix W that maps rows: ``X @ W``."""

    orthogonality: float
    """the largest entry of WᵀW − I, or of WWᵀ − I for a wide W: 0 for a rotation or reflection"""
    largest: float
    """the largest singular value: how much a row can be stretched"""
    smallest: float
    """the smallest: how much it can be shrunk"""
    condition: float
    """the largest over the smallest: how much the way back can magnify errors; infinite where there is none"""
    rank: int
    """directions that survive"""
    handedness: int
    """1 for a rotation, −1 where there is a reflection in it, 0 where W is not square or has no inverse"""


def diagnose_matrix(W: Array) -> Diagnosis:
    """The facts about a matrix.

    >>> import numpy as np
    >>> facts = diagnose_matrix(np.diag([2.0, 1.0, -1.0]))
    >>> facts.condition, facts.handedness, facts.orthogonality
    (2.0, -1, 3.0)

    Raises:
        InputError: It is no matrix of finite floats.
    """
    given = take_rows(W, "W")
    W_DE = exact(given)
    D, E = W_DE.shape
    gram = W_DE.T @ W_DE if D >= E else W_DE @ W_DE.T
    values = torch.linalg.svdvals(W_DE)
    largest, smallest = float(values[0]), float(values[-1])
    floor = largest * max(D, E) * torch.finfo(given.dtype).eps  # the rounding of the type W came in
    rank = int((values > floor).sum())
    regular = D == E == rank
    return Diagnosis(
        orthogonality=float((gram - torch.eye(len(gram), dtype=gram.dtype, device=gram.device)).abs().max()),
        largest=largest,
        smallest=smallest,
        condition=largest / smallest if rank == len(values) else float("inf"),
        rank=rank,
        handedness=int(torch.linalg.slogdet(W_DE).sign) if regular else 0,
    )
