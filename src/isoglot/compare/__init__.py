"""How alike two spaces are: CKA and its rivals, each with what it means and what it does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.cka_inference import Judged, judge, judge_layers
    from isoglot.compare.emergence import Emergence, SimilarityProbe, trace_emergence
    from isoglot.compare.encoders import Comparison, compare_models
    from isoglot.compare.figure7 import Figure7, Figure7Config, measure_figure7, read_figure7
    from isoglot.compare.figure7_claims import claims
    from isoglot.compare.floor import placed, random_encoder_like
    from isoglot.compare.layer_grid import CKAFitter, CKAGrid, layer_cka, stream_layer_cka
    from isoglot.compare.measures.cca import mean_canonical_correlation, pwcca, svcca
    from isoglot.compare.measures.cka import cka, paper_cka, rbf_cka
    from isoglot.compare.measures.declaration import INVARIANCES, Invariance, Measure
    from isoglot.compare.measures.neighbors import mutual_knn
    from isoglot.compare.measures.neurons import anc
    from isoglot.compare.measures.procrustes_distance import procrustes_distance
    from isoglot.compare.measures.registry import MEASURES, Score, compute, find_measure
    from isoglot.compare.measures.rsa import rsa
    from isoglot.compare.measures.spectral import spectral_similarity
    from isoglot.compare.parallel_sentences import builtin_pairs
    from isoglot.compare.top_components import without_top

# No module has the name of a function: once imported, the module would stand in the function's place.
_HOMES = {
    "CKAFitter": "layer_grid",
    "CKAGrid": "layer_grid",
    "Comparison": "encoders",
    "Emergence": "emergence",
    "Figure7": "figure7",
    "Figure7Config": "figure7",
    "INVARIANCES": "measures.declaration",
    "Invariance": "measures.declaration",
    "Judged": "cka_inference",
    "MEASURES": "measures.registry",
    "Measure": "measures.declaration",
    "Score": "measures.registry",
    "SimilarityProbe": "emergence",
    "anc": "measures.neurons",
    "builtin_pairs": "parallel_sentences",
    "cka": "measures.cka",
    "claims": "figure7_claims",
    "compare_models": "encoders",
    "compute": "measures.registry",
    "find_measure": "measures.registry",
    "judge": "cka_inference",
    "judge_layers": "cka_inference",
    "layer_cka": "layer_grid",
    "mean_canonical_correlation": "measures.cca",
    "measure_figure7": "figure7",
    "mutual_knn": "measures.neighbors",
    "paper_cka": "measures.cka",
    "placed": "floor",
    "procrustes_distance": "measures.procrustes_distance",
    "pwcca": "measures.cca",
    "random_encoder_like": "floor",
    "rbf_cka": "measures.cka",
    "read_figure7": "figure7",
    "rsa": "measures.rsa",
    "spectral_similarity": "measures.spectral",
    "stream_layer_cka": "layer_grid",
    "svcca": "measures.cca",
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
