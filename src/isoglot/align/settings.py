"""How an alignment is made and scored: which map, after which normalising, on which split, by which retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.seeds import LARGEST_SEED

if TYPE_CHECKING:
    from isoglot.align.estimator import PairMap, Step

MapMethod = Literal["procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning"]
"""``procrustes``: a rotation; ``least-squares`` and ``ridge``: any matrix, spaces of any width; ``cca``: the directions
both agree on; ``rcsls``: learned for CSLS itself; ``refinement``: Procrustes on the dictionary it induces itself;
``self-learning``: the same from a few pairs, with chance."""
Normalise = Literal["none", "centre", "unit", "iterative"]
"""Before the map, each space by itself: nothing, zero mean, unit length, or both at once (Zhang et al. 2019)."""


class AlignConfig(Config):
    """The defaults are the first paper's: iterative normalisation, Procrustes, CSLS with K = 10."""

    method: MapMethod = "procrustes"
    """The map that is fitted in every layer."""

    normalise: Normalise = "iterative"
    """What both spaces go through before the map."""

    options: dict[str, int | float | str | bool | None] = Field(default_factory=dict)
    """Options of the map by name, such as the penalty of ridge."""

    retrieval: Literal["cosine", "csls", "inverted_softmax", "ratio", "distance"] = "csls"
    """How neighbours are chosen when the map is scored."""

    neighbourhood: int = Field(10, ge=1)
    """The K of CSLS and of the margins."""

    test_share: float = Field(0.2, gt=0, lt=1)
    """The share held out for scoring, where no test is given."""

    test_limit: int = Field(5000, ge=1)
    """Pairs to score on at most; of more, some are drawn."""

    resamples: int = Field(1000, ge=1)
    """Bootstrap resamples for the intervals."""

    allow_leak: bool = False
    """Whether what was trained on may be scored on."""

    leave_out_known: bool = False
    """Whether source words of a test that pretraining knew a translation of are left out; else they are refused."""

    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """Decides the split and every draw."""


def make_map(config: AlignConfig) -> PairMap:
    """The map as the config says, not fitted: one file, normalising included.

    >>> make_map(AlignConfig(method="ridge", normalise="centre", options={"penalty": 0.1}))
    Steps(steps=[Center(), Ridge(penalty=0.1)])

    Raises:
        ConfigError: The map has no such option.
    """
    from isoglot import align

    kinds: dict[MapMethod, type[PairMap]] = {
        "procrustes": align.Procrustes,
        "least-squares": align.LeastSquares,
        "ridge": align.Ridge,
        "cca": align.CCA,
        "rcsls": align.RCSLS,
        "refinement": align.Refinement,
        "self-learning": align.SelfLearning,
    }
    steps: dict[Normalise, list[type[Step]]] = {
        "none": [],
        "centre": [align.Center],
        "unit": [align.UnitLength],
        "iterative": [align.IterativeNormalization],
    }
    made = kinds[config.method]()
    if config.method == "self-learning":
        # A layer norm leaves states one direction short of their width, and reweighting needs all of them.
        made.set_params(seed=config.seed, final="orthogonal")
    made.set_params(**config.options)
    before = [step() for step in steps[config.normalise]]
    return align.Steps([*before, made]) if before else made
