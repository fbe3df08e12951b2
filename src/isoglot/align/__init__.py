"""One space from two: Procrustes and its rivals, with a dictionary or without; and which word is which in bitext."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.align.aligner_file import load_aligner
    from isoglot.align.bitext import Bitext, builtin_bitext, linked_bitext, read_bitext
    from isoglot.align.cca import CCA
    from isoglot.align.diagonal import WordAlignConfig
    from isoglot.align.embeddings import align_embeddings
    from isoglot.align.encoder_aligner import EncoderAligner, fit_encoder_aligner
    from isoglot.align.encoder_links import EncoderLinksConfig
    from isoglot.align.estimator import Estimator, NotFittedError, PairMap, Step
    from isoglot.align.generalized import GeneralizedProcrustes
    from isoglot.align.graft import map_hidden, run_mapped
    from isoglot.align.induced import InducedConfig, induce_dictionary
    from isoglot.align.linear import LeastSquares, Ridge
    from isoglot.align.link_scores import LinkScores, score_links
    from isoglot.align.map_file import load_map
    from isoglot.align.moments import PairMoments
    from isoglot.align.normalize import Center, IterativeNormalization, UnitLength
    from isoglot.align.procrustes import Procrustes
    from isoglot.align.rcsls import RCSLS
    from isoglot.align.refinement import Refinement
    from isoglot.align.result import Alignment, LayerAlignment
    from isoglot.align.seed_pairs import dictionary_pairs, identical_pairs, numeral_pairs
    from isoglot.align.self_learning import SelfLearning
    from isoglot.align.sentences import align_sentences
    from isoglot.align.settings import AlignConfig, make_map
    from isoglot.align.steps import Steps
    from isoglot.align.symmetry import symmetrise
    from isoglot.align.whitening import Whiten
    from isoglot.align.word_aligner import WordAligner, train_aligner
    from isoglot.align.word_types import align_types
    from isoglot.align.words import align_words

_HOMES = {
    "AlignConfig": "settings",
    "Alignment": "result",
    "Bitext": "bitext",
    "CCA": "cca",
    "Center": "normalize",
    "EncoderAligner": "encoder_aligner",
    "EncoderLinksConfig": "encoder_links",
    "Estimator": "estimator",
    "GeneralizedProcrustes": "generalized",
    "InducedConfig": "induced",
    "IterativeNormalization": "normalize",
    "LayerAlignment": "result",
    "LeastSquares": "linear",
    "LinkScores": "link_scores",
    "NotFittedError": "estimator",
    "PairMap": "estimator",
    "PairMoments": "moments",
    "Procrustes": "procrustes",
    "RCSLS": "rcsls",
    "Refinement": "refinement",
    "Ridge": "linear",
    "SelfLearning": "self_learning",
    "Step": "estimator",
    "Steps": "steps",
    "UnitLength": "normalize",
    "Whiten": "whitening",
    "WordAlignConfig": "diagonal",
    "WordAligner": "word_aligner",
    "align_embeddings": "embeddings",
    "align_sentences": "sentences",
    "align_types": "word_types",
    "align_words": "words",
    "builtin_bitext": "bitext",
    "dictionary_pairs": "seed_pairs",
    "fit_encoder_aligner": "encoder_aligner",
    "identical_pairs": "seed_pairs",
    "induce_dictionary": "induced",
    "linked_bitext": "bitext",
    "load_aligner": "aligner_file",
    "load_map": "map_file",
    "make_map": "settings",
    "map_hidden": "graft",
    "numeral_pairs": "seed_pairs",
    "read_bitext": "bitext",
    "run_mapped": "graft",
    "score_links": "link_scores",
    "symmetrise": "symmetry",
    "train_aligner": "word_aligner",
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
