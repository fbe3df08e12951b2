"""Similarity of representations: CKA and other measures, with null, interval, floor and ceiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.cka_inference import CkaEstimate as CkaEstimate
    from isoglot.compare.cka_inference import judge as judge
    from isoglot.compare.emergence import Emergence as Emergence
    from isoglot.compare.emergence import SimilarityProbe as SimilarityProbe
    from isoglot.compare.emergence import trace_emergence as trace_emergence
    from isoglot.compare.encoders import CompareConfig as CompareConfig
    from isoglot.compare.encoders import Comparison as Comparison
    from isoglot.compare.encoders import compare_models as compare_models
    from isoglot.compare.encoders import placed as placed
    from isoglot.compare.encoders import random_encoder_like as random_encoder_like
    from isoglot.compare.figure7 import Figure7 as Figure7
    from isoglot.compare.figure7 import Figure7Config as Figure7Config
    from isoglot.compare.figure7 import measure_figure7 as measure_figure7
    from isoglot.compare.figure7 import read_figure7 as read_figure7
    from isoglot.compare.figure7_claims import claims as claims
    from isoglot.compare.layer_grid import CKAFitter as CKAFitter
    from isoglot.compare.layer_grid import CKAGrid as CKAGrid
    from isoglot.compare.layer_grid import layer_cka as layer_cka
    from isoglot.compare.layer_grid import stream_layer_cka as stream_layer_cka
    from isoglot.compare.measures.cca import anc as anc
    from isoglot.compare.measures.cca import mean_canonical_correlation as mean_canonical_correlation
    from isoglot.compare.measures.cca import pwcca as pwcca
    from isoglot.compare.measures.cca import svcca as svcca
    from isoglot.compare.measures.cka import cka as cka
    from isoglot.compare.measures.cka import paper_cka as paper_cka
    from isoglot.compare.measures.cka import rbf_cka as rbf_cka
    from isoglot.compare.measures.distances import distance_correlation as distance_correlation
    from isoglot.compare.measures.distances import gromov_wasserstein as gromov_wasserstein
    from isoglot.compare.measures.distances import procrustes_distance as procrustes_distance
    from isoglot.compare.measures.measure import INVARIANCES as INVARIANCES
    from isoglot.compare.measures.measure import SYMBOLS as SYMBOLS
    from isoglot.compare.measures.measure import Invariance as Invariance
    from isoglot.compare.measures.measure import Measure as Measure
    from isoglot.compare.measures.measure import without_top as without_top
    from isoglot.compare.measures.neighbors import mutual_knn as mutual_knn
    from isoglot.compare.measures.neighbors import spectral_similarity as spectral_similarity
    from isoglot.compare.measures.registry import MEASURES as MEASURES
    from isoglot.compare.measures.registry import Score as Score
    from isoglot.compare.measures.registry import compute as compute
    from isoglot.compare.measures.registry import find_measure as find_measure
    from isoglot.compare.measures.rsa import rsa as rsa
    from isoglot.compare.measures.topology import rtd as rtd
    from isoglot.languages.builtin import builtin_pairs as builtin_pairs

__getattr__, __dir__, __all__ = lazy_exports(__name__)
