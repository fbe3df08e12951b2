"""How alike two spaces are: CKA and its rivals, each with what it means and what it does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.cca import pwcca, svcca
    from isoglot.compare.declaration import INVARIANCES, Invariance, Measure
    from isoglot.compare.dissimilarity import rsa
    from isoglot.compare.floor import placed, random_encoder_like
    from isoglot.compare.judged import Judged, judge, judge_layers
    from isoglot.compare.kernel_alignment import cka, paper_cka, rbf_cka
    from isoglot.compare.layer_grid import CKAFitter, CKAGrid, layer_cka
    from isoglot.compare.measure import MEASURES, Score, compute, find_measure
    from isoglot.compare.neighbours import mutual_knn
    from isoglot.compare.neurons import anc
    from isoglot.compare.shape import procrustes_distance
    from isoglot.compare.spectral import spectral_similarity
    from isoglot.compare.top_components import without_top

# No module has the name of a function: once imported, the module would stand in the function's place.
_HOMES = {
    "CKAFitter": "layer_grid",
    "CKAGrid": "layer_grid",
    "INVARIANCES": "declaration",
    "Invariance": "declaration",
    "Judged": "judged",
    "MEASURES": "measure",
    "Measure": "declaration",
    "Score": "measure",
    "anc": "neurons",
    "cka": "kernel_alignment",
    "compute": "measure",
    "find_measure": "measure",
    "judge": "judged",
    "judge_layers": "judged",
    "layer_cka": "layer_grid",
    "mutual_knn": "neighbours",
    "paper_cka": "kernel_alignment",
    "placed": "floor",
    "procrustes_distance": "shape",
    "pwcca": "cca",
    "random_encoder_like": "floor",
    "rbf_cka": "kernel_alignment",
    "rsa": "dissimilarity",
    "spectral_similarity": "spectral",
    "svcca": "cca",
    "without_top": "top_components",
}

__all__ = [
    "INVARIANCES",
    "MEASURES",
    "CKAFitter",
    "CKAGrid",
    "Invariance",
    "Judged",
    "Measure",
    "Score",
    "anc",
    "cka",
    "compute",
    "find_measure",
    "judge",
    "judge_layers",
    "layer_cka",
    "mutual_knn",
    "paper_cka",
    "placed",
    "procrustes_distance",
    "pwcca",
    "random_encoder_like",
    "rbf_cka",
    "rsa",
    "spectral_similarity",
    "svcca",
    "without_top",
]

__getattr__ = lazy_exports(__name__, _HOMES)
