"""The two matrices at the door: arrays or tensors of any float type in, checked float32 rows out.

Shape legend: ``N`` rows, ``M`` rows of the other matrix, ``D`` hidden size.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

Matrix: TypeAlias = "np.ndarray | torch.Tensor"

_CHUNK = 1024  # rows that are float64 at a time: they stay in the cache
_LARGEST = torch.finfo(torch.float32).max
_RANGE = 1e15  # sums of squares are far from the ends of float32 (1e-38, 1e38) below it, and above 1 over it


def paired_rows(
    X: Matrix, Y: Matrix, *, unit: bool, device: str | torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both matrices as float32 on one device, of unit length when ``unit``.

    Args:
        X: N × D.
        Y: M × D.
        unit: Whether rows are divided by their length (and a row of zeros is refused, which has no direction).
        device: Where to compute; by default where ``X`` is.

    Raises:
        InputError: Not a matrix, no rows, different widths, a number that is not finite, a row of zeros; or all numbers
            are too small or one too large to be squared.
    """
    for name, matrix in (("X", X), ("Y", Y)):
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InputError(
                f"{name} has the shape {tuple(matrix.shape)}", remedy="give a matrix with a row for each item"
            )
    if X.shape[1] != Y.shape[1]:
        raise InputError(f"X is {X.shape[1]} wide, Y {Y.shape[1]}", remedy="give vectors of one space")
    place = torch.device(device) if device is not None else X.device if isinstance(X, torch.Tensor) else "cpu"
    X_ND, Y_MD = _rows(X, "X", unit=unit, place=place), _rows(Y, "Y", unit=unit, place=place)
    largest = 1.0 if unit else max(abs(float(end)) for rows in (X_ND, Y_MD) for end in rows.aminmax())
    if largest and not 1 / _RANGE < largest < _RANGE:
        raise InputError(
            f"the largest number is {largest:.1e}, which float32 cannot square well", remedy="divide X and Y by it"
        )
    return X_ND, Y_MD


def _rows(matrix: Matrix, name: str, *, unit: bool, place: torch.device | str) -> torch.Tensor:
    tensor = to_tensor(matrix, name)
    rows_ND = torch.empty(tensor.shape, dtype=torch.float32, device=place)
    for first in range(0, len(tensor), _CHUNK):
        chunk_CD = tensor[first : first + _CHUNK].to(place, torch.float64)
        length_C = chunk_CD.norm(dim=1)
        # A float64 beyond float32 would become infinite below; a row that is not longer than that has none.
        bad_C = ~(length_C <= _LARGEST)
        if bool(bad_C.any()):
            bad_C = ~(chunk_CD.abs() <= _LARGEST).all(dim=1)
        if bool(bad_C.any()):
            row = first + int(bad_C.nonzero()[0, 0])
            raise InputError(
                f"row {row} of {name} has a number that is not finite",
                remedy="leave the row out (rows count from 0)",
                code="input.not-finite",
            )
        if unit and not bool(length_C.all()):
            row = first + int((length_C == 0).nonzero()[0, 0])
            raise InputError(
                f"row {row} of {name} is all zeros and has no direction", remedy="leave it out (rows count from 0)"
            )
        rows_ND[first : first + _CHUNK] = chunk_CD / length_C[:, None] if unit else chunk_CD
    return rows_ND


def to_tensor(value: Matrix, name: str = "it") -> torch.Tensor:
    """The same numbers as a tensor, shared where they can be.

    Args:
        value: Numbers.
        name: What error messages call them.

    Raises:
        InputError: They are of a type that torch does not have, such as NumPy's long double.
    """
    if isinstance(value, torch.Tensor):
        return value.detach()
    native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
    with warnings.catch_warnings():  # a memory-mapped file is not writable; we do not write
        warnings.simplefilter("ignore", UserWarning)
        try:
            return torch.from_numpy(native)
        except TypeError as error:
            raise InputError(f"{name} holds {value.dtype}", remedy="convert it to float32") from error


def like(result: torch.Tensor, model: Matrix) -> Matrix:
    """The result as the kind that came in: an array, or a tensor where the model is."""
    return result.to(model.device) if isinstance(model, torch.Tensor) else result.cpu().numpy()


@contextmanager
def full_precision() -> Iterator[None]:
    """Products in true float32, whatever the caller chose for training: the tolerances here count on it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
