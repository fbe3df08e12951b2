"""Alignment of two spaces (Procrustes and other maps, with or without a dictionary), and word alignment of bitext."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.align.alignment import Alignment as Alignment
    from isoglot.align.alignment import LayerAlignment as LayerAlignment
    from isoglot.align.apply import map_hidden as map_hidden
    from isoglot.align.by_dictionary import align_embeddings as align_embeddings
    from isoglot.align.by_dictionary import align_types as align_types
    from isoglot.align.by_dictionary import dictionary_pairs as dictionary_pairs
    from isoglot.align.by_dictionary import identical_pairs as identical_pairs
    from isoglot.align.by_dictionary import numeral_pairs as numeral_pairs
    from isoglot.align.by_translation import align_sentences as align_sentences
    from isoglot.align.by_translation import align_words as align_words
    from isoglot.align.maps.closed_form import CCA as CCA
    from isoglot.align.maps.closed_form import LeastSquares as LeastSquares
    from isoglot.align.maps.closed_form import PairMoments as PairMoments
    from isoglot.align.maps.closed_form import Procrustes as Procrustes
    from isoglot.align.maps.closed_form import Ridge as Ridge
    from isoglot.align.maps.config import AlignConfig as AlignConfig
    from isoglot.align.maps.config import make_map as make_map
    from isoglot.align.maps.csls_maps import RCSLS as RCSLS
    from isoglot.align.maps.csls_maps import Refinement as Refinement
    from isoglot.align.maps.csls_maps import SelfLearning as SelfLearning
    from isoglot.align.maps.estimator import Estimator as Estimator
    from isoglot.align.maps.estimator import NotFittedError as NotFittedError
    from isoglot.align.maps.estimator import PairMap as PairMap
    from isoglot.align.maps.estimator import Step as Step
    from isoglot.align.maps.estimator import load_map as load_map
    from isoglot.align.maps.generalized_procrustes import GeneralizedProcrustes as GeneralizedProcrustes
    from isoglot.align.maps.steps import Center as Center
    from isoglot.align.maps.steps import IterativeNormalization as IterativeNormalization
    from isoglot.align.maps.steps import Steps as Steps
    from isoglot.align.maps.steps import UnitLength as UnitLength
    from isoglot.align.maps.steps import Whiten as Whiten
    from isoglot.align.maps.unsupervised import MiniVec2Vec as MiniVec2Vec
    from isoglot.align.maps.unsupervised import Vecmap as Vecmap
    from isoglot.align.new_rows import AlignedRows as AlignedRows
    from isoglot.align.new_rows import aligned_rows as aligned_rows
    from isoglot.align.words.bitext import Bitext as Bitext
    from isoglot.align.words.bitext import builtin_bitext as builtin_bitext
    from isoglot.align.words.bitext import linked_bitext as linked_bitext
    from isoglot.align.words.bitext import read_bitext as read_bitext
    from isoglot.align.words.diagonal_model import WordAlignConfig as WordAlignConfig
    from isoglot.align.words.encoder_aligner import EncoderAligner as EncoderAligner
    from isoglot.align.words.encoder_aligner import fit_encoder_aligner as fit_encoder_aligner
    from isoglot.align.words.encoder_links import EncoderLinksConfig as EncoderLinksConfig
    from isoglot.align.words.induced_dictionary import InducedConfig as InducedConfig
    from isoglot.align.words.induced_dictionary import induce_dictionary as induce_dictionary
    from isoglot.align.words.linking import BitextSource as BitextSource
    from isoglot.align.words.linking import bitext_dictionaries as bitext_dictionaries
    from isoglot.align.words.linking import link_bitext as link_bitext
    from isoglot.align.words.links import LinkScores as LinkScores
    from isoglot.align.words.links import score_links as score_links
    from isoglot.align.words.links import symmetrise as symmetrise
    from isoglot.align.words.links import symmetrize as symmetrize
    from isoglot.align.words.word_aligner import WordAligner as WordAligner
    from isoglot.align.words.word_aligner import load_aligner as load_aligner
    from isoglot.align.words.word_aligner import train_aligner as train_aligner

__getattr__, __dir__, __all__ = lazy_exports(__name__)
