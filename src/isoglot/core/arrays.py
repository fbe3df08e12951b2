"""The two matrices at the door: arrays or tensors of any float type in, checked float32 rows out.

Shape legend: ``N`` rows, ``M`` rows of the other matrix, ``D`` hidden size.

Rows in, rows out: NumPy arrays and torch tensors alike, checked once at the door.

Inside this room everything is torch. What comes in is shown to torch without a copy where that can be, and results go
back as the kind, type and device that came in. Nothing here writes into what was given.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

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
    X_ND, Y_MD = _float32_rows(X, "X", unit=unit, place=place), _float32_rows(Y, "Y", unit=unit, place=place)
    largest = 1.0 if unit else max(abs(float(end)) for rows in (X_ND, Y_MD) for end in rows.aminmax())
    if largest and not 1 / _RANGE < largest < _RANGE:
        raise InputError(
            f"the largest number is {largest:.1e}, which float32 cannot square well", remedy="divide X and Y by it"
        )
    return X_ND, Y_MD


def _float32_rows(matrix: Matrix, name: str, *, unit: bool, place: torch.device | str) -> torch.Tensor:
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


Array = np.ndarray | torch.Tensor
ArrayT = TypeVar("ArrayT", np.ndarray, torch.Tensor)


def take_rows(X: Array, name: str = "X", *, width: int | None = None) -> torch.Tensor:
    """The rows as a tensor: float64 stays, every other float type becomes float32.

    Args:
        X: N × D.
        name: What error messages call it.
        width: The number of columns it must have.

    Raises:
        InputError: It is no matrix of finite floats, has no rows, or another number of columns.
    """
    if not isinstance(X, np.ndarray | torch.Tensor):
        raise InputError(f"{name} is a {type(X).__name__}", remedy="give a NumPy array or a torch tensor")
    if X.ndim != 2:
        raise InputError(f"{name} has {X.ndim} dimensions", remedy="give items as rows, features as columns")
    floats = X.is_floating_point() if isinstance(X, torch.Tensor) else X.dtype.kind == "f"
    if not floats:
        raise InputError(f"{name} holds {X.dtype}, not floats", remedy="convert it to float32")
    rows_ND = to_tensor(X, name)
    if rows_ND.dtype != torch.float64:
        rows_ND = rows_ND.float()
    count, columns = rows_ND.shape
    if not count or not columns:
        raise InputError(
            f"{name} is empty: {count} rows, {columns} columns", remedy="give at least one item", code="input.empty"
        )
    if width is not None and columns != width:
        raise InputError(
            f"{name} has {columns} columns where {width} were fitted", remedy="give the space it was made for"
        )
    bad = ~torch.isfinite(rows_ND).all(dim=1)
    if bad.any():
        raise InputError(
            f"{_rows(bad, name)} not finite",
            remedy="leave such rows out, with those they are paired with",
            code="input.not-finite",
        )
    return rows_ND


def refuse_zeros(rows_ND: torch.Tensor, name: str = "X") -> None:
    """Refuse rows without a direction: a zero vector has no length 1, no cosine, and usually stands for a missing word.

    Raises:
        InputError: There is one; the message has its number, from 0.
    """
    bad = ~rows_ND.any(dim=1)
    if bad.any():
        raise InputError(f"{_rows(bad, name)} all zeros", remedy="leave such rows out, with those they are paired with")


def refuse_large(rows_ND: torch.Tensor, name: str = "X") -> None:
    """Refuse rows to learn from with numbers beyond float32: products of their squares may be no numbers at all.

    Raises:
        InputError: There is one; the message has its number, from 0.
    """
    bad = ~torch.isfinite(rows_ND.float()).all(dim=1)
    if bad.any():
        raise InputError(f"{_rows(bad, name)} too large for float32", remedy="divide all rows by one number")


def take_pairs(X: Array, Y: Array, pairs: Array | None) -> torch.Tensor:
    """Which row of X goes with which of Y, P × 2; None takes them row by row.

    Raises:
        InputError: The numbers of rows differ, or the pairs are no pairs of row numbers.
    """
    rows, others = len(X), len(Y)
    if pairs is None:
        if rows != others:
            raise InputError(
                f"X has {rows} rows and Y {others}",
                remedy="give one row of Y for each of X, or pairs=",
                code="input.row-count",
            )
        return torch.arange(rows)[:, None].expand(rows, 2)
    pairs_P2 = to_tensor(pairs).cpu()
    if pairs_P2.ndim != 2 or pairs_P2.shape[1] != 2 or pairs_P2.is_floating_point() or pairs_P2.dtype == torch.bool:
        raise InputError(
            f"pairs is {tuple(pairs_P2.shape)} of {pairs_P2.dtype}",
            remedy="give whole numbers, a row of X and one of Y a line",
        )
    if not len(pairs_P2):
        raise InputError("there are no pairs", remedy="give at least one row of X with its row of Y")
    for column, (name, count) in enumerate((("X", rows), ("Y", others))):
        low, high = int(pairs_P2[:, column].min()), int(pairs_P2[:, column].max())
        if low < 0 or high >= count:
            wrong = low if low < 0 else high
            raise InputError(f"the pairs name row {wrong} of {name}, which has {count}", remedy="count rows from 0")
    return pairs_P2.long()


def give_back(result: torch.Tensor, like: ArrayT) -> ArrayT:
    """The result as the kind, float type and device of what came in."""
    if isinstance(like, torch.Tensor):
        return result.to(like.device, like.dtype)
    return result.cpu().numpy().astype(like.dtype, copy=False)


def keep(result: torch.Tensor, like: Array) -> Array:
    """A learned tensor as the library and float type of what it was learned from, float32 at least."""
    dtype = result.dtype
    if result.is_floating_point():
        dtype = torch.float64 if like.dtype in (torch.float64, np.float64) else torch.float32
    if isinstance(like, torch.Tensor):
        return result.to(like.device, dtype).contiguous()
    return result.to("cpu", dtype).contiguous().numpy()


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """In float64, where the device has it: sums over rows and small matrices are worked out in it."""
    return tensor if tensor.device.type == "mps" else tensor.double()


def unit(rows_ND: torch.Tensor) -> torch.Tensor:
    """The rows with length 1; none may be zero."""
    # Divided by the largest number first: the square of 1e-30 is no float32.
    rows_ND = rows_ND / rows_ND.abs().amax(dim=1, keepdim=True)
    unit_ND: torch.Tensor = rows_ND / rows_ND.norm(dim=1, keepdim=True)
    return unit_ND


def _rows(bad: torch.Tensor, name: str) -> str:
    first, count = int(bad.nonzero()[0]), int(bad.sum())
    return f"row {first} of {name} is" if count == 1 else f"{count} rows of {name}, the first {first}, are"
