"""One space from two: Procrustes and its rivals, the steps before them, and what is learned without a dictionary."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoglot.align.cca import CCA
    from isoglot.align.diagnosis import Diagnosis, diagnose_matrix
    from isoglot.align.estimator import Estimator, NotFittedError, PairMap, Step
    from isoglot.align.generalized import GeneralizedProcrustes
    from isoglot.align.linear import LeastSquares, Ridge
    from isoglot.align.map_file import load_map
    from isoglot.align.moments import PairMoments
    from isoglot.align.normalise import Center, IterativeNormalization, UnitLength
    from isoglot.align.procrustes import Procrustes
    from isoglot.align.rcsls import RCSLS
    from isoglot.align.refinement import Refinement
    from isoglot.align.seed_pairs import dictionary_pairs, identical_pairs, numeral_pairs
    from isoglot.align.self_learning import SelfLearning
    from isoglot.align.steps import Steps
    from isoglot.align.whitening import Whiten

_HOMES = {
    "CCA": "cca",
    "Center": "normalise",
    "Diagnosis": "diagnosis",
    "Estimator": "estimator",
    "GeneralizedProcrustes": "generalized",
    "IterativeNormalization": "normalise",
    "LeastSquares": "linear",
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
    "UnitLength": "normalise",
    "Whiten": "whitening",
    "diagnose_matrix": "diagnosis",
    "dictionary_pairs": "seed_pairs",
    "identical_pairs": "seed_pairs",
    "load_map": "map_file",
    "numeral_pairs": "seed_pairs",
}

__all__ = [
    "CCA",
    "RCSLS",
    "Center",
    "Diagnosis",
    "Estimator",
    "GeneralizedProcrustes",
    "IterativeNormalization",
    "LeastSquares",
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
    "diagnose_matrix",
    "dictionary_pairs",
    "identical_pairs",
    "load_map",
    "numeral_pairs",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - torch is imported only when something of this room is used
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f"isoglot.align.{_HOMES[name]}"), name)
