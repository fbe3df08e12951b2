"""Configuration of an alignment: map, normalization, split and evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from isoglot.core.config import Config, parse_setting
from isoglot.core.errors import ConfigError
from isoglot.core.rng import LARGEST_SEED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.align.maps.estimator import PairMap, Step

MapMethod = Literal[
    "procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning", "vecmap", "mini-vec2vec"
]
"""``procrustes``: a rotation; ``least-squares`` and ``ridge``: any matrix, spaces of any width; ``cca``: shared
directions; ``rcsls``: optimized for CSLS; ``refinement``: Procrustes on the dictionary it induces; ``self-learning``:
the same from a few pairs, with random dropping; ``vecmap``: self-learning from no pairs; ``mini-vec2vec``: clusters
matched without pairs.
"""
UNSUPERVISED = ("vecmap", "mini-vec2vec")
"""Methods that ignore pairs; these are only scored on."""
Normalize = Literal["none", "center", "unit", "unit-center-unit", "iterative"]
"""Normalization of each space before the map: none, zero mean, unit length, unit length before and after zero mean (the
default of vecmap; Artetxe et al. 2018), or both at once (Zhang et al. 2019).
"""
Candidates = Literal["all", "gold"]
"""``all``: every word of the target's vocabulary; ``gold``: only the target words of the test."""


class AlignConfig(Config):
    """Defaults of Wu et al. (2020): iterative normalization, Procrustes, CSLS with K = 10.

    For self-learning and unsupervised maps the default normalization is vecmap's.

    >>> AlignConfig().normalize, AlignConfig(method="self-learning").normalize
    ('iterative', 'unit-center-unit')
    """

    method: MapMethod = "procrustes"
    """The map that is fitted in every layer."""

    normalize: Normalize = "iterative"
    """Normalization before the map; default ``iterative``, and ``unit-center-unit`` for self-learning and unsupervised
    maps.
    """

    options: dict[str, int | float | str | bool | None] = Field(default_factory=dict)
    """Options of the map by name, such as the penalty of ridge."""

    normalization: dict[str, int | float | str | bool | None] = Field(default_factory=dict)
    """Options of the normalization by name: rounds and tolerance of the iterative one."""

    disjoint: bool = False
    """Whether an unsupervised map of parallel text sees the source of the first half of the pairs and the target of the
    second, and so no sentence with its translation.
    """

    max_vocabulary: int | None = Field(None, ge=1)
    """Maximum number of words per side, the most frequent ones, beside the dictionaries'; default 200,000 rows of
    vectors (MUSE's), and 50,000 words of a text, of which every layer is held in memory.
    """

    candidates: Candidates = "all"
    """Candidates for the translation of a word: the whole target vocabulary, as in MUSE, or the target words of the
    test, as in Liu et al. (2020).
    """

    retrieval: Literal["cosine", "csls", "inverted_softmax", "ratio", "distance"] = "csls"
    """Scoring method of the evaluation."""

    neighborhood: int = Field(10, ge=1)
    """K of CSLS and of the margins."""

    test_share: float = Field(0.2, gt=0, lt=1)
    """Share held out for scoring, if no test is given."""

    test_limit: int = Field(5000, ge=1)
    """Maximum number of pairs to score on; a larger test is sampled."""

    resamples: int = Field(1000, ge=1, le=1_000_000)
    """Bootstrap resamples of the intervals."""

    allow_leak: bool = False
    """Whether training data may be scored on."""

    leave_out_known: bool = False
    """Leave out source words of a test that pretraining knew a translation of, instead of raising an error."""

    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """Random seed of the split and of every draw."""

    @model_validator(mode="before")
    @classmethod
    def _normalized_by_default(cls, values: Any) -> Any:  # noqa: ANN401 - what pydantic is given
        if not isinstance(values, dict) or values.get("normalize") is not None:
            return values
        return values | {"normalize": default_normalize(values.get("method"))}


def default_normalize(method: Any) -> Normalize:  # noqa: ANN401 - not validated yet
    """Default normalization of a map."""
    return "unit-center-unit" if method in ("self-learning", *UNSUPERVISED) else "iterative"


def spell_out(settings: Iterable[str], method: str, normalize: str | None) -> list[str]:
    """Settings ``key=value`` with options of the map and of the normalization under their full names.

    >>> spell_out(["cutoff=4000", "seed=1"], "refinement", None)
    ['options.cutoff=4000', 'seed=1']
    >>> spell_out(["rounds=5"], "procrustes", "iterative")
    ['normalization.rounds=5']

    Raises:
        ConfigError: The map and the normalization both have such an option.
    """
    given = [(parse_setting(setting)[0], setting) for setting in settings]
    for path, setting in given:
        value = parse_setting(setting)[1]
        method = value if path == ("method",) else method
        normalize = value if path == ("normalize",) else normalize
    homes: dict[str, list[str]] = {}
    steps = _STEPS.get(normalize or default_normalize(method), ())
    for home, kind in (("options", _MAPS.get(method)), *(("normalization", step) for step in steps)):
        for name in () if kind is None else _estimator(kind).get_params():
            homes.setdefault(name, []).append(home)
    found = []
    for path, setting in given:
        here = homes.get(path[0], []) if len(path) == 1 and path[0] not in AlignConfig.model_fields else []
        if len(here) > 1:
            problem = f"{setting}: both {method} and its normalization have {path[0]}"
            remedy = f"write {' or '.join(f'{home}.{setting}' for home in here)}"
            raise ConfigError(problem, remedy, "conflicting-options")
        found.append(f"{here[0]}.{setting}" if here else setting)
    return found


_MAPS = {
    "procrustes": "Procrustes",
    "least-squares": "LeastSquares",
    "ridge": "Ridge",
    "cca": "CCA",
    "rcsls": "RCSLS",
    "refinement": "Refinement",
    "self-learning": "SelfLearning",
    "vecmap": "Vecmap",
    "mini-vec2vec": "MiniVec2Vec",
}
_STEPS = {
    "none": (),
    "center": ("Center",),
    "unit": ("UnitLength",),
    "unit-center-unit": ("UnitLength", "Center", "UnitLength"),
    "iterative": ("IterativeNormalization",),
}


def _estimator(name: str) -> Any:  # noqa: ANN401 - a map or a step
    from isoglot import align

    return getattr(align, name)()


def make_map(config: AlignConfig) -> PairMap:
    """Unfitted map of a config, normalization included.

    Args:
        config: Method, normalization and their options.

    >>> make_map(AlignConfig(method="ridge", normalize="center", options={"penalty": 0.1}))
    Steps(steps=[Center(), Ridge(penalty=0.1)])

    Returns:
        An estimator without learned attributes.

    Raises:
        ConfigError: The map or the normalization has no such option, or its value is invalid.
    """
    from isoglot.align.maps.steps import Steps

    made: PairMap = _estimator(_MAPS[config.method])
    if "seed" in made.get_params():
        made.set_params(seed=config.seed)
    made.set_params(**config.options).check_options()
    steps: list[Step] = [_estimator(step) for step in _STEPS[config.normalize]]
    known = {name for step in steps for name in step.get_params()}
    if not known and config.normalization:
        problem = f"normalization {config.normalize} has no options ({', '.join(config.normalization)})"
        remedy = "choose one that has options, such as iterative, or remove them"
        raise ConfigError(problem, remedy, "conflicting-options")
    for step in steps:
        step.set_params(**config.normalization).check_options()
    return Steps([*steps, made]) if steps else made
