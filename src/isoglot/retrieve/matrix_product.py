"""Matrix products of a search on the CPU, by torch's or NumPy's BLAS, whichever is faster on this machine.

torch ships MKL, which is slow on some AMD processors; NumPy ships OpenBLAS. On one thread of an AMD EPYC, OpenBLAS
0.3.31 reaches 91 GFLOP/s for blocks of 300 columns and MKL (torch 2.13) 63. The first blocks of a large search are
computed by each in turn, the rest by the faster one; the choice is kept for the process. The search allows for the
rounding of both, so results do not depend on it.

NumPy is used only where its number of threads can be set to torch's: a user who limits threads means both.

Processors with bfloat16 instructions (AVX-512 BF16, AMX) multiply in bfloat16 several times as fast: one thread of an
EPYC with 500 GFLOP/s. A search may start with such products (:func:`multiply_rounded`) if it allows for their errors
(:func:`rounding_errors`).

Shape legend: ``B`` × ``C`` a block, ``N`` rows, ``D`` columns.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

Library = Literal["torch", "numpy"]

_LARGE = 10**8
"""Multiplications per block from which on its time is measured: some milliseconds."""
_ROUNDS = 3
_TIMES: dict[tuple[int, int], dict[Library, list[float]]] = {}  # by threads and columns: seconds a multiplication
ROUNDING = 2.0**-8
"""Rounding to bfloat16 changes a number by at most this share of it."""
_GAIN = 1.5
"""How many times as fast as float32 bfloat16 has to be, because what it finds is computed again."""


def multiply(X_BD: torch.Tensor, Y_CD: torch.Tensor, out_BC: torch.Tensor) -> None:
    """Write X Yᵀ into ``out_BC``."""
    columns = X_BD.shape[1]
    blas = _openblas() if X_BD.device.type == "cpu" and X_BD.dtype == torch.float32 else None
    if blas is None:
        torch.mm(X_BD, Y_CD.T, out=out_BC)
        return
    threads = torch.get_num_threads()
    times = _TIMES.setdefault((threads, columns), {"torch": [], "numpy": []})
    library = faster(times)
    if library is None and len(X_BD) * len(Y_CD) * columns < _LARGE:
        library = "torch"
    if library is not None:
        _product(library, X_BD, Y_CD, out_BC, blas, threads)
        return
    tried: Library = "torch" if len(times["torch"]) <= len(times["numpy"]) else "numpy"  # in turn
    clock = time.perf_counter if threads > 1 else time.thread_time  # does not count the time of other programs
    start = clock()
    _product(tried, X_BD, Y_CD, out_BC, blas, threads)
    times[tried].append((clock() - start) / (len(X_BD) * len(Y_CD) * columns))


def faster(times: dict[Library, list[float]]) -> Library | None:
    """The library with the best round; None before each has had enough rounds.

    >>> faster({"torch": [2.0, 2.0, 9.0], "numpy": [3.0, 3.0, 1.0]}), faster({"torch": [1.0], "numpy": []})
    ('numpy', None)
    """
    if min(map(len, times.values())) < _ROUNDS:
        return None
    return min(times, key=lambda name: min(times[name]))


def _product(
    library: Library, X_BD: torch.Tensor, Y_CD: torch.Tensor, out_BC: torch.Tensor, blas: _OpenBLAS, threads: int
) -> None:
    if library == "torch":
        torch.mm(X_BD, Y_CD.T, out=out_BC)
        return
    with blas.threads(threads):
        np.matmul(X_BD.numpy(), Y_CD.numpy().T, out=out_BC.numpy())


def multiply_rounded(X_BD: torch.Tensor, Y_CD: torch.Tensor, out_BC: torch.Tensor) -> None:
    """Write X Yᵀ in bfloat16: both are rounded, sums are float32, and the result is rounded."""
    out_BC.copy_(torch.mm(X_BD.bfloat16(), Y_CD.bfloat16().T))


def rounding_errors(rows_ND: torch.Tensor) -> torch.Tensor:
    """Distance of every row from itself rounded to bfloat16."""
    return torch.cat([(part - part.bfloat16()).norm(dim=1) for part in rows_ND.split(4096)])


def rounding_pays(columns: int, device: torch.device) -> bool:
    """Whether bfloat16 is so much faster here that a search should start with it; measured once."""
    return device.type == "cpu" and _rounding_pays(columns, torch.get_num_threads())


@cache
def _rounding_pays(columns: int, threads: int) -> bool:
    X_BD, Y_CD, out_BC = torch.ones(512, columns), torch.ones(1024, columns), torch.empty(512, 1024)
    clock = time.perf_counter if threads > 1 else time.thread_time
    best = {multiply: float("inf"), multiply_rounded: float("inf")}
    for _ in range(2 * _ROUNDS + 1):  # so that float32 is measured with the faster library, too
        for product, seconds in best.items():
            start = clock()
            product(X_BD, Y_CD, out_BC)
            best[product] = min(seconds, clock() - start)
    return best[multiply] > _GAIN * best[multiply_rounded]


@contextmanager
def one_numpy_thread() -> Iterator[None]:
    """Compute NumPy's matrix products in one thread for the duration of the block, where that can be set."""
    blas = _openblas()
    with nullcontext() if blas is None else blas.threads(1):
        yield


class _OpenBLAS:
    """NumPy's OpenBLAS, whose number of threads can be set."""

    def __init__(self, path: Path, prefix: str, suffix: str) -> None:
        library = ctypes.CDLL(str(path))
        self._set = getattr(library, f"{prefix}openblas_set_num_threads{suffix}")
        self._get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}")

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Use ``count`` threads for the duration of the block."""
        before = self._get()
        if before != count:
            self._set(count)
        try:
            yield
        finally:
            if before != count:
                self._set(before)


@cache
def _openblas() -> _OpenBLAS | None:
    """The OpenBLAS of NumPy's wheel; None if NumPy uses another library."""
    for path in sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("lib*openblas*")):
        for prefix in ("scipy_", ""):
            for suffix in ("64_", ""):
                try:
                    return _OpenBLAS(path, prefix, suffix)
                except (AttributeError, OSError):
                    continue
    return None
