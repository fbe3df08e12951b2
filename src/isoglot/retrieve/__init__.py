"""Retrieval: nearest neighbors under several scoring methods, how often they are right, and hubness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.retrieve.dictionaries import score_dictionary as score_dictionary
    from isoglot.retrieve.evaluation import MethodScores as MethodScores
    from isoglot.retrieve.evaluation import RetrievalConfig as RetrievalConfig
    from isoglot.retrieve.evaluation import RetrievalScores as RetrievalScores
    from isoglot.retrieve.evaluation import score_retrieval as score_retrieval
    from isoglot.retrieve.layer_scores import PairScores as PairScores
    from isoglot.retrieve.layer_scores import VectorSet as VectorSet
    from isoglot.retrieve.layer_scores import score_layers as score_layers
    from isoglot.retrieve.methods import Neighbors as Neighbors
    from isoglot.retrieve.methods import csls as csls
    from isoglot.retrieve.methods import inverted_softmax as inverted_softmax
    from isoglot.retrieve.methods import margin as margin
    from isoglot.retrieve.methods import nearest as nearest
    from isoglot.retrieve.methods import retrieve as retrieve
    from isoglot.retrieve.metrics import Gold as Gold
    from isoglot.retrieve.metrics import Interval as Interval
    from isoglot.retrieve.metrics import gold_ranks as gold_ranks
    from isoglot.retrieve.metrics import hubness as hubness
    from isoglot.retrieve.metrics import mean_reciprocal_rank as mean_reciprocal_rank
    from isoglot.retrieve.metrics import precision_at_k as precision_at_k
    from isoglot.retrieve.mixed_pool import MixedPool as MixedPool
    from isoglot.retrieve.mixed_pool import MixedRetrieval as MixedRetrieval
    from isoglot.retrieve.mixed_pool import retrieve_mixed as retrieve_mixed
    from isoglot.retrieve.mixed_pool import score_mixed as score_mixed
    from isoglot.retrieve.results import Retrieval as Retrieval
    from isoglot.retrieve.sentences import retrieve_rows as retrieve_rows
    from isoglot.retrieve.sentences import retrieve_sentences as retrieve_sentences
    from isoglot.retrieve.vector_files import read_side as read_side
    from isoglot.retrieve.words import WordLookup as WordLookup
    from isoglot.retrieve.words import retrieve_word_vectors as retrieve_word_vectors
    from isoglot.retrieve.words import retrieve_words as retrieve_words

__getattr__, __dir__, __all__ = lazy_exports(__name__)
