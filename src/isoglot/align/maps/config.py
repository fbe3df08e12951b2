"""How an alignment is made and scored: which map, after which normalizing, on which split, by which retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from isoglot.core.config import Config, parse_setting
from isoglot.core.errors import ConfigError
from isoglot.core.rng import LARGEST_SEED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.align.maps.estimator import PairMap, Step

MapMethod = Literal["procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning"]
"""``procrustes``: a rotation; ``least-squares`` and ``ridge``: any matrix, spaces of any width; ``cca``: the directions
both agree on; ``rcsls``: learned for CSLS itself; ``refinement``: Procrustes on the dictionary it induces itself;
``self-learning``: the same from a few pairs, with chance."""
Normalize = Literal["none", "center", "unit", "unit-center-unit", "iterative"]
"""Before the map, each space by itself: nothing, zero mean, unit length, unit length before and after zero mean (the
default of vecmap; Artetxe et al. 2018), or both at once (Zhang et al. 2019)."""
Candidates = Literal["all", "gold"]
"""``all``: every word of the target's vocabulary; ``gold``: only the target words of the test."""


class AlignConfig(Config):
    """The defaults are the first paper's: iterative normalization, Procrustes, CSLS with K = 10.

    Self-learning is normalized as vecmap does unless another normalization is chosen.

    >>> AlignConfig().normalize, AlignConfig(method="self-learning").normalize
    ('iterative', 'unit-center-unit')
    """

    method: MapMethod = "procrustes"
    """The map that is fitted in every layer."""

    normalize: Normalize = "iterative"
    """What both spaces go through before the map; by default ``iterative``, and ``unit-center-unit`` for
    self-learning."""

    options: dict[str, int | float | str | bool | None] = Field(default_factory=dict)
    """Options of the map by name, such as the penalty of ridge."""

    normalization: dict[str, int | float | str | bool | None] = Field(default_factory=dict)
    """Options of the normalization by name: rounds and tolerance of the iterative one."""

    max_vocabulary: int | None = Field(None, ge=1)
    """Words of a side at most, the most frequent ones, beside the dictionaries'; by default 200,000 rows of vectors
    (MUSE's), and 50,000 words of a text, of which every layer is held in memory."""

    candidates: Candidates = "all"
    """Where the translation of a word is looked for: among the whole target vocabulary, as MUSE does, or among the
    target words of the test alone, as Liu et al. (2020) do."""

    retrieval: Literal["cosine", "csls", "inverted_softmax", "ratio", "distance"] = "csls"
    """How neighbors are chosen when the map is scored."""

    neighborhood: int = Field(10, ge=1)
    """The K of CSLS and of the margins."""

    test_share: float = Field(0.2, gt=0, lt=1)
    """The share held out for scoring, where no test is given."""

    test_limit: int = Field(5000, ge=1)
    """Pairs to score on at most; of more, some are drawn."""

    resamples: int = Field(1000, ge=1, le=1_000_000)
    """Bootstrap resamples for the intervals."""

    allow_leak: bool = False
    """Whether what was trained on may be scored on."""

    leave_out_known: bool = False
    """Whether source words of a test that pretraining knew a translation of are left out; else they are refused."""

    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """Decides the split and every draw."""

    @model_validator(mode="before")
    @classmethod
    def _normalized_by_default(cls, values: Any) -> Any:  # noqa: ANN401 - what pydantic is given
        if not isinstance(values, dict) or values.get("normalize") is not None:
            return values
        return values | {"normalize": default_normalize(values.get("method"))}


def default_normalize(method: Any) -> Normalize:  # noqa: ANN401 - not validated yet
    """The normalization of a map for which none is chosen."""
    return "unit-center-unit" if method == "self-learning" else "iterative"


def spell_out(settings: Iterable[str], method: str, normalize: str | None) -> list[str]:
    """``key=value`` settings with the options of the map and of the normalization under their full names.

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
            names = " or ".join(f"--set {home}.{setting}" for home in here)
            raise ConfigError(
                f"--set {setting}: both {method} and its normalization have {path[0]}",
                remedy=f"write {names}",
                code="config.conflicting-options",
            )
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
    """The map as the config says, not fitted: one file, normalization included.

    >>> make_map(AlignConfig(method="ridge", normalize="center", options={"penalty": 0.1}))
    Steps(steps=[Center(), Ridge(penalty=0.1)])

    Raises:
        ConfigError: The map or the normalization has no such option, or not such a value of it.
    """
    from isoglot.align.maps.pipeline import Steps

    made: PairMap = _estimator(_MAPS[config.method])
    if config.method == "self-learning":
        made.set_params(seed=config.seed)
    made.set_params(**config.options).check_options()
    steps: list[Step] = [_estimator(step) for step in _STEPS[config.normalize]]
    known = {name for step in steps for name in step.get_params()}
    if not known and config.normalization:
        raise ConfigError(
            f"normalization {config.normalize} has no options ({', '.join(config.normalization)})",
            remedy="choose one that has, such as iterative, or leave them out",
            code="config.conflicting-options",
        )
    for step in steps:
        step.set_params(**config.normalization).check_options()
    return Steps([*steps, made]) if steps else made
