"""How alike two spaces are: CKA and its rivals, each with what it means and what it does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.cca import pwcca, svcca
    from isoglot.compare.declaration import INVARIANCES, Invariance, Measure
    from isoglot.compare.dissimilarity import rsa
    from isoglot.compare.kernel_alignment import cka, paper_cka, rbf_cka
    from isoglot.compare.measure import MEASURES, Score, compute, find_measure
    from isoglot.compare.neighbours import mutual_knn
    from isoglot.compare.neurons import anc
    from isoglot.compare.shape import procrustes_distance
    from isoglot.compare.spectral import spectral_similarity

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
    "anc": "neurons",
    "mutual_knn": "neighbours",
    "procrustes_distance": "shape",
    "pwcca": "cca",
    "rsa": "dissimilarity",
    "spectral_similarity": "spectral",
    "svcca": "cca",
}

__all__ = [
    "INVARIANCES",
    "MEASURES",
    "Invariance",
    "Measure",
    "Score",
    "anc",
    "cka",
    "compute",
    "find_measure",
    "mutual_knn",
    "paper_cka",
    "procrustes_distance",
    "pwcca",
    "rbf_cka",
    "rsa",
    "spectral_similarity",
    "svcca",
]

__getattr__ = lazy_exports(__name__, _HOMES)
