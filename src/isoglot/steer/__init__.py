"""Language as a direction that can be added, removed or swapped: means, shifts, erasers, token translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Shift, make_shift, shift

_HOMES = {
    "LanguageMeans": "means",
    "Shift": "shifts",
    "make_shift": "shifts",
    "shift": "shifts",
}

__all__ = [
    "LanguageMeans",
    "Shift",
    "make_shift",
    "shift",
]

__getattr__ = lazy_exports(__name__, _HOMES)
