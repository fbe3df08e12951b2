"""Loops compiled by numba where it is installed; without it they run as they stand, a hundred times slower."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar, cast

from isoglot.core.parts import import_part

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., object]")

COMPILED = find_spec("numba") is not None
"""Whether loops are compiled."""

_SUMS_IN_ANY_ORDER = {"reassoc", "contract", "arcp", "nsz"}  # but infinities and what is no number stay what they are


def compiled(function: F) -> F:
    """The function compiled, the machine code kept on the disk; as it is where numba is missing."""
    if not COMPILED:
        return function
    return cast("F", import_part("numba").njit(cache=True, nogil=True)(function))


def compiled_loosely(function: F) -> F:
    """The same where sums may be taken in any order, so that they go through the processor's wide registers.

    The order is the compiler's and always the same: so are the bits, on one machine.
    """
    if not COMPILED:
        return function
    make = import_part("numba").njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS_IN_ANY_ORDER)
    return cast("F", make(function))
