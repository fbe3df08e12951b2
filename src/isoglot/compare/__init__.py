"""How alike two spaces are: CKA and its rivals, each with what it means and what it does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.declaration import INVARIANCES, Invariance, Measure
    from isoglot.compare.kernel_alignment import cka, paper_cka, rbf_cka
    from isoglot.compare.measure import MEASURES, Score, compute, find_measure

# No module has the name of a function: once imported, the module would stand in the function's place.
_HOMES = {
    "INVARIANCES": "declaration",
    "Invariance": "declaration",
    "MEASURES": "measure",
    "Measure": "declaration",
    "Score": "measure",
    "cka": "kernel_alignment",
    "compute": "measure",
    "find_measure": "measure",
    "paper_cka": "kernel_alignment",
    "rbf_cka": "kernel_alignment",
}

__all__ = [
    "INVARIANCES",
    "MEASURES",
    "Invariance",
    "Measure",
    "Score",
    "cka",
    "compute",
    "find_measure",
    "paper_cka",
    "rbf_cka",
]

__getattr__ = lazy_exports(__name__, _HOMES)
