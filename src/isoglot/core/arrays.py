"""Input arrays: NumPy arrays, torch tensors and lists in, checked tensors out, results as what came in.

Computation is in torch. Arrays and tensors are shared without a copy where possible and never written to.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import torch

from isoglot.core.errors import InputError, check_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array: TypeAlias = "np.ndarray | torch.Tensor"
ArrayLike: TypeAlias = "Array | Sequence[Sequence[float]]"
"""What public functions accept: nested lists count as NumPy arrays."""
ArrayT = TypeVar("ArrayT", np.ndarray, torch.Tensor)

_CHUNK = 1024  # rows converted to float64 at a time, so that they stay in the cache
_LARGEST = torch.finfo(torch.float32).max
_RANGE = 1e15  # between its inverse and itself, sums of squares are far from the limits of float32 (1e-38, 1e38)


# --- input ---


def to_tensor(value: ArrayLike | Sequence[float], name: str = "the array") -> torch.Tensor:
    """Convert an array or nested lists to a tensor, sharing memory where possible.

    >>> to_tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]

    Args:
        value: An array, a tensor or (nested) lists of numbers.
        name: What error messages call it.

    Raises:
        InputError: It is none of these, the lists have unequal lengths, or torch has no such type (long double).
    """
    if isinstance(value, torch.Tensor):
        return value.detach()
    if not isinstance(value, np.ndarray | list | tuple):
        raise InputError(f"{name} is a {type(value).__name__}", "give an array, a tensor or a list of lists", "type")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:  # lists of unequal lengths, or of tensors on a GPU
        raise InputError(f"{name} is no regular array", "give rows of one length", "ragged") from error
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    with warnings.catch_warnings():  # a memory-mapped file is not writable; we do not write
        warnings.simplefilter("ignore", UserWarning)
        try:
            return torch.from_numpy(native)
        except TypeError as error:
            raise InputError(f"{name} holds {array.dtype}", "convert it to float32", "type") from error


def to_matrix(X: ArrayLike, name: str = "X") -> torch.Tensor:
    """Convert to a matrix of real numbers, N × D, whatever their type; see :func:`to_tensor`.

    Raises:
        InputError: It is not a matrix of integers or floats, or it is empty.
    """
    matrix_ND = to_tensor(X, name)
    if matrix_ND.ndim != 2:
        raise InputError(f"{name} has {matrix_ND.ndim} dimensions", "give items as rows, features as columns", "shape")
    if matrix_ND.dtype == torch.bool or matrix_ND.is_complex():
        raise InputError(f"{name} holds {matrix_ND.dtype}", "convert it to float32", "type")
    if not matrix_ND.numel():
        rows, columns = matrix_ND.shape
        raise InputError(f"{name} is empty: {rows} rows, {columns} columns", "give at least one item", "empty")
    return matrix_ND


def take_rows(X: ArrayLike, name: str = "X", *, width: int | None = None) -> torch.Tensor:
    """Convert to a matrix of finite floats: float32 from smaller floats, float64 from integers; float64 stays.

    Args:
        X: N × D.
        name: What error messages call it.
        width: The number of columns it must have.

    Raises:
        InputError: It is not a matrix of finite numbers, is empty, or has another number of columns.
    """
    rows_ND = to_matrix(X, name)
    rows_ND = rows_ND.to(_dtype(rows_ND))
    if width is not None and rows_ND.shape[1] != width:
        problem = f"{name} has {rows_ND.shape[1]} columns where {width} were fitted"
        raise InputError(problem, "give the space it was made for", "shape")
    bad_N = ~torch.isfinite(rows_ND).all(dim=1)
    if bad_N.any():
        raise InputError(f"{_rows(bad_N, name)} not finite", _REMOVE, "not-finite")
    return rows_ND


def take_same_rows(X: ArrayLike, Y: ArrayLike) -> tuple[torch.Tensor, torch.Tensor]:
    """:func:`take_rows` of two matrices with one row per item in both.

    Raises:
        InputError: One of them is invalid, or the numbers of rows differ.
    """
    X_ND, Y_NE = take_rows(X), take_rows(Y, "Y")
    check_counts("rows", {"X": len(X_ND), "Y": len(Y_NE)}, "give the same items in the same order")
    return X_ND, Y_NE


def paired_rows(
    X: ArrayLike, Y: ArrayLike, *, unit: bool, device: str | torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two matrices of one space as float32 on one device; large and memory-mapped input is converted in chunks.

    Args:
        X: N × D.
        Y: M × D.
        unit: Whether to divide rows by their length; a row of zeros is then invalid.
        device: Where to compute. Default: the device of X.

    Raises:
        InputError: Not a matrix, empty, different numbers of columns, a number that is not finite, a row of zeros; or
            the numbers are too small or too large to be squared.
    """
    x_ND, y_MD = to_matrix(X, "X"), to_matrix(Y, "Y")
    if x_ND.shape[1] != y_MD.shape[1]:
        raise InputError(f"X has {x_ND.shape[1]} columns and Y {y_MD.shape[1]}", "give vectors of one space", "shape")
    place = torch.device(device) if device is not None else x_ND.device
    X_ND, Y_MD = _float32_rows(x_ND, "X", unit=unit, place=place), _float32_rows(y_MD, "Y", unit=unit, place=place)
    largest = 1.0 if unit else max(abs(float(end)) for rows in (X_ND, Y_MD) for end in rows.aminmax())
    if largest and not 1 / _RANGE < largest < _RANGE:
        problem = f"the largest number is {largest:.1e}, whose square float32 cannot hold precisely"
        raise InputError(problem, "divide X and Y by it", "too-large")
    return X_ND, Y_MD


def _float32_rows(matrix_ND: torch.Tensor, name: str, *, unit: bool, place: torch.device) -> torch.Tensor:
    rows_ND = torch.empty(matrix_ND.shape, dtype=torch.float32, device=place)
    for first in range(0, len(matrix_ND), _CHUNK):
        chunk_CD = matrix_ND[first : first + _CHUNK].to(place, torch.float64)
        length_C = chunk_CD.norm(dim=1)
        # A float64 beyond float32 would become infinite; a row no longer than the limit has none.
        bad_C = ~(length_C <= _LARGEST)
        if bool(bad_C.any()):
            bad_C = ~(chunk_CD.abs() <= _LARGEST).all(dim=1)
        if bool(bad_C.any()):
            raise InputError(f"{_rows(bad_C, name, first)} not finite", _REMOVE, "not-finite")
        if unit and not bool(length_C.all()):
            raise InputError(f"{_rows(length_C == 0, name, first)} all zeros", _REMOVE, "zero-row")
        rows_ND[first : first + _CHUNK] = chunk_CD / length_C[:, None] if unit else chunk_CD
    return rows_ND


def take_pairs(X: ArrayLike, Y: ArrayLike, pairs: ArrayLike | None) -> torch.Tensor:
    """The pairs of row numbers of X and Y, P × 2; None pairs row i with row i.

    Raises:
        InputError: The numbers of rows differ, or the pairs are not pairs of row numbers.
    """
    rows, others = len(X), len(Y)
    if pairs is None:
        check_counts("rows", {"X": rows, "Y": others}, "give one row of Y for each of X, or pairs=")
        return torch.arange(rows)[:, None].expand(rows, 2)
    pairs_P2 = to_tensor(pairs, "pairs").cpu()
    if pairs_P2.ndim != 2 or pairs_P2.shape[1] != 2 or pairs_P2.is_floating_point() or pairs_P2.dtype == torch.bool:
        problem = f"pairs is {tuple(pairs_P2.shape)} of {pairs_P2.dtype}"
        raise InputError(problem, "give integers, a row of X and a row of Y for each pair", "type")
    if not len(pairs_P2):
        raise InputError("there are no pairs", "give at least one row of X with its row of Y", "empty")
    for column, (name, count) in enumerate((("X", rows), ("Y", others))):
        low, high = int(pairs_P2[:, column].min()), int(pairs_P2[:, column].max())
        if low < 0 or high >= count:
            wrong = low if low < 0 else high
            problem = f"the pairs name row {wrong} of {name}, which has {count}"
            raise InputError(problem, "count rows from 0", "out-of-range")
    return pairs_P2.long()


def refuse_zeros(rows_ND: torch.Tensor, name: str = "X") -> None:
    """Raise for rows of zeros: they have no direction, and usually stand for a missing word.

    Raises:
        InputError: There is one; the message has its number, from 0.
    """
    bad_N = ~rows_ND.any(dim=1)
    if bad_N.any():
        raise InputError(f"{_rows(bad_N, name)} all zeros", _REMOVE, "zero-row")


def refuse_large(rows_ND: torch.Tensor, name: str = "X") -> None:
    """Raise for training rows with numbers beyond float32: products of their squares may not be finite.

    Raises:
        InputError: There is one; the message has its number, from 0.
    """
    bad_N = ~torch.isfinite(rows_ND.float()).all(dim=1)
    if bad_N.any():
        raise InputError(f"{_rows(bad_N, name)} too large for float32", "divide all rows by one number", "too-large")


# --- output ---


def in_library_of(like: ArrayLike, result: torch.Tensor) -> Array:
    """Return a result in the library and on the device of ``like``; for lists, a NumPy array."""
    return result.to(like.device) if isinstance(like, torch.Tensor) else result.cpu().numpy()


def give_back(result: torch.Tensor, like: ArrayT) -> ArrayT:
    """Return a result as what came in: its library, device and float type."""
    if isinstance(like, torch.Tensor):
        return result.to(like.device, like.dtype if like.is_floating_point() else result.dtype)
    array = result.cpu().numpy()
    dtype = getattr(like, "dtype", array.dtype)  # lists have none
    return array.astype(dtype if dtype.kind == "f" else array.dtype, copy=False)


def keep(result: torch.Tensor, like: ArrayLike) -> Array:
    """Return a learned tensor in the library and float type of what it was learned from, float32 at least."""
    dtype = _dtype(like) if result.is_floating_point() else result.dtype
    return in_library_of(like, result.to(dtype).contiguous())


# --- numbers ---


@contextmanager
def full_precision() -> Iterator[None]:
    """Matrix products in true float32, whatever the caller chose for training: the tolerances here rely on it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """Convert to float64, for sums over rows and small matrices, where the device has it (MPS does not)."""
    return tensor if tensor.device.type == "mps" else tensor.double()


def unit(rows_ND: torch.Tensor) -> torch.Tensor:
    """Scale rows, none of them zero, to length 1."""
    # Divided by the largest number first: the square of 1e-30 underflows in float32.
    rows_ND = rows_ND / rows_ND.abs().amax(dim=1, keepdim=True)
    unit_ND: torch.Tensor = rows_ND / rows_ND.norm(dim=1, keepdim=True)
    return unit_ND


_REMOVE = "remove such rows and those they are paired with (rows count from 0)"


def _dtype(X: ArrayLike) -> torch.dtype:
    """The type to compute in: float32 for smaller floats, float64 for float64, integers and lists."""
    dtype = getattr(X, "dtype", np.dtype(float))
    name = getattr(dtype, "name", str(dtype)).removeprefix("torch.")
    return torch.float32 if name in ("bfloat16", "float16", "float32") else torch.float64


def _rows(bad_N: torch.Tensor, name: str, start: int = 0) -> str:
    first, count = start + int(bad_N.nonzero()[0]), int(bad_N.sum())
    return f"row {first} of {name} is" if count == 1 else f"{count} rows of {name}, the first {first}, are"
