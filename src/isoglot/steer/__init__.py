"""Language as a direction that can be added, removed or swapped: means, shifts, erasers, token translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.steer.eraser import Eraser
    from isoglot.steer.leace import LEACE
    from isoglot.steer.lir import LIR
    from isoglot.steer.lsar import LSAR
    from isoglot.steer.mean_removal import MeanRemoval
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Shift, make_shift, shift

_HOMES = {
    "Eraser": "eraser",
    "LEACE": "leace",
    "LIR": "lir",
    "LSAR": "lsar",
    "LanguageMeans": "means",
    "MeanRemoval": "mean_removal",
    "Shift": "shifts",
    "make_shift": "shifts",
    "shift": "shifts",
}

__all__ = [
    "LEACE",
    "LIR",
    "LSAR",
    "Eraser",
    "LanguageMeans",
    "MeanRemoval",
    "Shift",
    "make_shift",
    "shift",
]

__getattr__ = lazy_exports(__name__, _HOMES)
