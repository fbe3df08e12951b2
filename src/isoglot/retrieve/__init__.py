"""Retrieval: whose nearest neighbor is whose, how often it is the right one, and how hubs get in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.retrieve.dictionaries import score_dictionary
    from isoglot.retrieve.evaluation import MethodScores, RetrievalScores, score_retrieval
    from isoglot.retrieve.gold import Gold
    from isoglot.retrieve.layer_scores import PairScores, Side, score_layers
    from isoglot.retrieve.methods import Neighbors, csls, inverted_softmax, margin, nearest, retrieve
    from isoglot.retrieve.metrics import Interval, gold_ranks, hubness, mean_reciprocal_rank, precision_at_k
    from isoglot.retrieve.vector_files import read_side

_HOMES = {
    "score_dictionary": "dictionaries",
    "Gold": "gold",
    "PairScores": "layer_scores",
    "Side": "layer_scores",
    "score_layers": "layer_scores",
    "Neighbors": "methods",
    "csls": "methods",
    "inverted_softmax": "methods",
    "margin": "methods",
    "nearest": "methods",
    "retrieve": "methods",
    "Interval": "metrics",
    "gold_ranks": "metrics",
    "hubness": "metrics",
    "mean_reciprocal_rank": "metrics",
    "precision_at_k": "metrics",
    "MethodScores": "evaluation",
    "RetrievalScores": "evaluation",
    "score_retrieval": "evaluation",
    "read_side": "vector_files",
}

__all__ = [
    "Gold",
    "Interval",
    "MethodScores",
    "Neighbors",
    "PairScores",
    "RetrievalScores",
    "Side",
    "csls",
    "gold_ranks",
    "hubness",
    "inverted_softmax",
    "margin",
    "mean_reciprocal_rank",
    "nearest",
    "precision_at_k",
    "read_side",
    "retrieve",
    "score_dictionary",
    "score_layers",
    "score_retrieval",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
