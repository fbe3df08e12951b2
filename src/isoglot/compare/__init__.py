"""How alike two spaces are: CKA and its rivals, each with what it means and what it does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.cca import mean_canonical_correlation, pwcca, svcca
    from isoglot.compare.declaration import INVARIANCES, Invariance, Measure
    from isoglot.compare.dissimilarity import rsa
    from isoglot.compare.emergence import Emergence, SimilarityProbe, trace_emergence
    from isoglot.compare.figure7 import Figure7, Figure7Config, measure_figure7, read_figure7
    from isoglot.compare.figure7_claims import claims
    from isoglot.compare.floor import placed, random_encoder_like
    from isoglot.compare.judged import Judged, judge, judge_layers
    from isoglot.compare.kernel_alignment import cka, paper_cka, rbf_cka
    from isoglot.compare.layer_grid import CKAFitter, CKAGrid, layer_cka
    from isoglot.compare.layer_stream import stream_layer_cka
    from isoglot.compare.measure import MEASURES, Score, compute, find_measure
    from isoglot.compare.models import Comparison, compare_models
    from isoglot.compare.neighbors import mutual_knn
    from isoglot.compare.neurons import anc
    from isoglot.compare.sentences import builtin_pairs
    from isoglot.compare.shape import procrustes_distance
    from isoglot.compare.spectral import spectral_similarity
    from isoglot.compare.top_components import without_top

# No module has the name of a function: once imported, the module would stand in the function's place.
_HOMES = {
    "CKAFitter": "layer_grid",
    "CKAGrid": "layer_grid",
    "Comparison": "models",
    "Emergence": "emergence",
    "Figure7": "figure7",
    "Figure7Config": "figure7",
    "INVARIANCES": "declaration",
    "Invariance": "declaration",
    "Judged": "judged",
    "MEASURES": "measure",
    "Measure": "declaration",
    "Score": "measure",
    "SimilarityProbe": "emergence",
    "anc": "neurons",
    "builtin_pairs": "sentences",
    "cka": "kernel_alignment",
    "claims": "figure7_claims",
    "compare_models": "models",
    "compute": "measure",
    "find_measure": "measure",
    "judge": "judged",
    "judge_layers": "judged",
    "layer_cka": "layer_grid",
    "mean_canonical_correlation": "cca",
    "measure_figure7": "figure7",
    "mutual_knn": "neighbors",
    "paper_cka": "kernel_alignment",
    "placed": "floor",
    "procrustes_distance": "shape",
    "pwcca": "cca",
    "random_encoder_like": "floor",
    "rbf_cka": "kernel_alignment",
    "read_figure7": "figure7",
    "rsa": "dissimilarity",
    "spectral_similarity": "spectral",
    "stream_layer_cka": "layer_stream",
    "svcca": "cca",
    "trace_emergence": "emergence",
    "without_top": "top_components",
}

__all__ = [
    "INVARIANCES",
    "MEASURES",
    "CKAFitter",
    "CKAGrid",
    "Comparison",
    "Emergence",
    "Figure7",
    "Figure7Config",
    "Invariance",
    "Judged",
    "Measure",
    "Score",
    "SimilarityProbe",
    "anc",
    "builtin_pairs",
    "cka",
    "claims",
    "compare_models",
    "compute",
    "find_measure",
    "judge",
    "judge_layers",
    "layer_cka",
    "mean_canonical_correlation",
    "measure_figure7",
    "mutual_knn",
    "paper_cka",
    "placed",
    "procrustes_distance",
    "pwcca",
    "random_encoder_like",
    "rbf_cka",
    "read_figure7",
    "rsa",
    "spectral_similarity",
    "stream_layer_cka",
    "svcca",
    "trace_emergence",
    "without_top",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
