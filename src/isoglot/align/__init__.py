"""One space from two: Procrustes and its rivals, with a dictionary or without; and which word is which in bitext."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.align.alignment import Alignment, LayerAlignment
    from isoglot.align.contextual_words import align_words
    from isoglot.align.dictionary_pairs import dictionary_pairs, identical_pairs, numeral_pairs
    from isoglot.align.embeddings import align_embeddings
    from isoglot.align.mapped_forward import map_hidden, run_mapped
    from isoglot.align.maps.cca import CCA
    from isoglot.align.maps.config import AlignConfig, make_map
    from isoglot.align.maps.estimator import Estimator, NotFittedError, PairMap, Step, load_map
    from isoglot.align.maps.generalized_procrustes import GeneralizedProcrustes
    from isoglot.align.maps.least_squares import LeastSquares, Ridge
    from isoglot.align.maps.normalization import Center, IterativeNormalization, UnitLength, Whiten
    from isoglot.align.maps.pair_moments import PairMoments
    from isoglot.align.maps.pipeline import Steps
    from isoglot.align.maps.procrustes import Procrustes
    from isoglot.align.maps.rcsls import RCSLS
    from isoglot.align.maps.self_learning import Refinement, SelfLearning
    from isoglot.align.sentences import align_sentences
    from isoglot.align.word_types import align_types
    from isoglot.align.words.bitext import Bitext, builtin_bitext, linked_bitext, read_bitext
    from isoglot.align.words.diagonal_model import WordAlignConfig
    from isoglot.align.words.encoder_aligner import EncoderAligner, fit_encoder_aligner
    from isoglot.align.words.encoder_links import EncoderLinksConfig
    from isoglot.align.words.induced_dictionary import InducedConfig, induce_dictionary
    from isoglot.align.words.link_scores import LinkScores, score_links
    from isoglot.align.words.symmetrization import symmetrise
    from isoglot.align.words.word_aligner import WordAligner, load_aligner, train_aligner

_HOMES = {
    "AlignConfig": "maps.config",
    "Alignment": "alignment",
    "Bitext": "words.bitext",
    "CCA": "maps.cca",
    "Center": "maps.normalization",
    "EncoderAligner": "words.encoder_aligner",
    "EncoderLinksConfig": "words.encoder_links",
    "Estimator": "maps.estimator",
    "GeneralizedProcrustes": "maps.generalized_procrustes",
    "InducedConfig": "words.induced_dictionary",
    "IterativeNormalization": "maps.normalization",
    "LayerAlignment": "alignment",
    "LeastSquares": "maps.least_squares",
    "LinkScores": "words.link_scores",
    "NotFittedError": "maps.estimator",
    "PairMap": "maps.estimator",
    "PairMoments": "maps.pair_moments",
    "Procrustes": "maps.procrustes",
    "RCSLS": "maps.rcsls",
    "Refinement": "maps.self_learning",
    "Ridge": "maps.least_squares",
    "SelfLearning": "maps.self_learning",
    "Step": "maps.estimator",
    "Steps": "maps.pipeline",
    "UnitLength": "maps.normalization",
    "Whiten": "maps.normalization",
    "WordAlignConfig": "words.diagonal_model",
    "WordAligner": "words.word_aligner",
    "align_embeddings": "embeddings",
    "align_sentences": "sentences",
    "align_types": "word_types",
    "align_words": "contextual_words",
    "builtin_bitext": "words.bitext",
    "dictionary_pairs": "dictionary_pairs",
    "fit_encoder_aligner": "words.encoder_aligner",
    "identical_pairs": "dictionary_pairs",
    "induce_dictionary": "words.induced_dictionary",
    "linked_bitext": "words.bitext",
    "load_aligner": "words.word_aligner",
    "load_map": "maps.estimator",
    "make_map": "maps.config",
    "map_hidden": "mapped_forward",
    "numeral_pairs": "dictionary_pairs",
    "read_bitext": "words.bitext",
    "run_mapped": "mapped_forward",
    "score_links": "words.link_scores",
    "symmetrise": "words.symmetrization",
    "train_aligner": "words.word_aligner",
}

__all__ = [
    "CCA",
    "RCSLS",
    "AlignConfig",
    "Alignment",
    "Bitext",
    "Center",
    "EncoderAligner",
    "EncoderLinksConfig",
    "Estimator",
    "GeneralizedProcrustes",
    "InducedConfig",
    "IterativeNormalization",
    "LayerAlignment",
    "LeastSquares",
    "LinkScores",
    "NotFittedError",
    "PairMap",
    "PairMoments",
    "Procrustes",
    "Refinement",
    "Ridge",
    "SelfLearning",
    "Step",
    "Steps",
    "UnitLength",
    "Whiten",
    "WordAlignConfig",
    "WordAligner",
    "align_embeddings",
    "align_sentences",
    "align_types",
    "align_words",
    "builtin_bitext",
    "dictionary_pairs",
    "fit_encoder_aligner",
    "identical_pairs",
    "induce_dictionary",
    "linked_bitext",
    "load_aligner",
    "load_map",
    "make_map",
    "map_hidden",
    "numeral_pairs",
    "read_bitext",
    "run_mapped",
    "score_links",
    "symmetrise",
    "train_aligner",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
