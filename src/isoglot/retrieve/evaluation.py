"""Evaluation of a retrieval: every method in both directions, with intervals and hubness.

Shape legend: ``Q`` queries, ``K`` neighbors, ``P`` gold pairs, ``F`` metrics.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import torch

from isoglot.core.arrays import Array, ArrayLike, paired_rows
from isoglot.core.errors import ConfigError, check_name
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.retrieve.estimates import (
    CROSS_FITTED,
    OWN,
    Center,
    Estimates,
    OtherText,
    QueryGroup,
    SearchInputs,
    SearchView,
    views,
)
from isoglot.retrieve.methods import (
    NEIGHBORHOOD,
    SHARPNESS,
    Direction,
    Method,
    NeighborhoodPool,
    PairSearch,
    check_options,
)
from isoglot.retrieve.metrics import (
    Gold,
    Interval,
    OtherSpelling,
    SpelledAlike,
    best_ranks,
    bootstrap,
    fitting,
    hubness,
    other_spelling,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


Candidates = Literal["gold", "all"]

ALL: tuple[Method, ...] = ("cosine", "csls", "inverted_softmax", "ratio", "distance")
NEIGHBORHOOD_METHODS: tuple[Method, ...] = ("csls", "ratio", "distance")
"""Methods that compare a similarity with those of the neighborhood."""
CUTS = (1, 5, 10)


@dataclass(frozen=True, kw_only=True)
class MethodScores:
    """Scores of one method in one direction, and the retrieved rows.

    Attributes:
        method: Scoring method.
        direction: ``forward``: queries from X, answers from Y. ``backward``: the reverse.
        queries: Number of queries.
        candidates: Number of candidates.
        neighborhood: K of CSLS and of the margins; None for other methods.
        precision: P@1, P@5 and P@10 by k: the share of queries with a correct row among the k best.
        mrr: Mean of 1 / rank over gold pairs.
        best_mrr: Mean over queries of 1 / rank of their best correct row.
        hubness: Skewness of how often each candidate is among the 10 best.
        queries_Q: Row numbers of the queries.
        found_QK: Their best rows on the other side, best first.
        scores_QK: Scores of those.
        ranks_Q: Rank of the best correct row of each query.
        other_spelling: For words: P@1 of those without a translation of the same spelling.

    >>> import numpy as np
    >>> scores = score_retrieval(np.eye(3), np.eye(3)[[0, 2, 1]]).of("cosine", "backward")
    >>> round(scores.precision[1].value, 3), scores.found_QK[:, 0].tolist(), scores.how
    (0.333, [0, 2, 1], 'cosine among 3 candidates')
    """

    method: Method
    direction: Direction
    queries: int
    candidates: int
    precision: dict[int, Interval]
    mrr: Interval
    best_mrr: Interval
    hubness: float
    queries_Q: np.ndarray = field(repr=False, compare=False)
    found_QK: np.ndarray = field(repr=False, compare=False)
    scores_QK: np.ndarray = field(repr=False, compare=False)
    ranks_Q: np.ndarray = field(repr=False, compare=False)
    neighborhood: int | None = None
    other_spelling: OtherSpelling | None = None

    def __repr__(self) -> str:
        scores = f"P@1 {self.precision[1].value:.3f}, MRR {self.mrr.value:.3f}, {self.queries:,} queries"
        return f"MethodScores({self.method}, {self.direction}, {scores}, {self.candidates:,} candidates)"

    @property
    def how(self) -> str:
        """Method with its K and the number of candidates, as text."""
        names = {"csls": "CSLS", "inverted_softmax": "inverted softmax", "ratio": "ratio margin", "distance": "margin"}
        K = "" if self.neighborhood is None else f" (K = {self.neighborhood})"
        return f"{names.get(self.method, self.method)}{K} among {counted(self.candidates, 'candidates')}"

    def as_dict(self) -> dict[str, Any]:
        """Scores as JSON."""
        figures = {f"p@{k}": asdict(interval) for k, interval in self.precision.items()}
        names = ("method", "neighborhood", "direction", "queries", "candidates")
        head = {name: getattr(self, name) for name in names}
        figures |= {"mrr": asdict(self.mrr), "best_mrr": asdict(self.best_mrr)}
        return head | figures | {"hubness": self.hubness} | self._spelling()

    def _spelling(self) -> dict[str, Any]:
        if self.other_spelling is None:
            return {}
        queries, found = self.other_spelling
        return {"other_spelling_queries": queries, "other_spelling_p@1": None if found is None else asdict(found)}


@dataclass(frozen=True)
class RetrievalScores:
    """Scores of all methods and directions.

    >>> import numpy as np
    >>> found = score_retrieval(np.eye(3), np.eye(3), methods=["cosine", "csls"])
    >>> [(scores.method, scores.direction) for scores in found.methods]
    [('cosine', 'forward'), ('cosine', 'backward'), ('csls', 'forward'), ('csls', 'backward')]
    >>> found.of("csls").precision[1].value
    1.0
    """

    methods: tuple[MethodScores, ...]

    def of(self, method: Method, direction: Direction = "forward") -> MethodScores:
        """Scores of one method in one direction.

        Raises:
            KeyError: It was not evaluated.
        """
        for scores in self.methods:
            if (scores.method, scores.direction) == (method, direction):
                return scores
        raise KeyError((method, direction))

    def as_dict(self) -> dict[str, Any]:
        """Scores as JSON."""
        return {"scores": [scores.as_dict() for scores in self.methods]}


@dataclass(frozen=True, kw_only=True)
class RetrievalConfig:
    """How translations are searched for and scored.

    Attributes:
        methods: Scoring methods; they are scored in the order of :data:`isoglot.retrieve.methods.METHODS`.
        centers: Whether to subtract each side's mean; several are scored separately.
        estimates: Source of means and of the CSLS neighborhoods of candidates. Default: both are cross-fitted. The
            inverted softmax always uses the rows themselves.
        candidates: ``gold``: only rows of gold pairs are queries and candidates, as in Liu et al. (2020). ``all``:
            every row is a candidate, as in MUSE (200,000 words).
        directions: ``forward``, ``backward`` or both.
        neighborhood: K of CSLS and of the margins.
        sharpness: Factor in the exponent of the inverted softmax.
        resamples: Bootstrap resamples of the intervals.
        seed: Random seed of the intervals, the folds, and the halves for choosing the best layer.

    >>> RetrievalConfig(resamples=200).resamples
    200

    Raises:
        ConfigError: A value is invalid.
    """

    methods: Sequence[Method] = ("cosine", "csls")
    centers: Sequence[Center] = get_args(Center)
    estimates: Estimates = CROSS_FITTED
    candidates: Candidates = "gold"
    directions: Sequence[Direction] = get_args(Direction)
    neighborhood: int = NEIGHBORHOOD
    sharpness: float = SHARPNESS
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check_name("candidates", self.candidates, get_args(Candidates))
        for name, kind in (("method", Method), ("center", Center), ("direction", Direction)):
            given, known = getattr(self, f"{name}s"), get_args(kind)
            for value in given:
                check_name(name, value, known)
            object.__setattr__(self, f"{name}s", tuple(each for each in known if each in given))
        check_options("cosine", 1, self.neighborhood, self.sharpness)


ROWS_THEMSELVES = RetrievalConfig(methods=ALL, estimates=OWN)
"""All methods but the Euclidean one, with means and neighborhoods of the searched rows themselves."""


def score_retrieval(
    X: ArrayLike,
    Y: ArrayLike,
    gold: Gold | None = None,
    config: RetrievalConfig = ROWS_THEMSELVES,
    *,
    center: Center = "none",
    others: tuple[OtherText, OtherText] = (OtherText(), OtherText()),
    names: tuple[str, str] = ("X", "Y"),
    alike: SpelledAlike | None = None,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
    **options: Any,  # noqa: ANN401 - fields of the config
) -> RetrievalScores:
    """Score two matrices of one space by every method, in both directions.

    Args:
        X: N × D.
        Y: M × D.
        gold: Correct pairs. Default: row i belongs to row i.
        config: How to search and score, but for the centering; computations that methods share are done once.
        center: Whether to subtract each side's mean.
        others: Mean and rows of either side from other text, for ``estimates`` of kind ``given``.
        names: Names of the sides in error messages.
        alike: Rows with a correct row of the same spelling: a second P@1 leaves them out.
        device: Where to compute. Default: the device of X.
        progress: Progress in rows.
        **options: Fields of the config to replace, such as ``methods=["csls"]``.

    Returns:
        Scores of every method, in both directions.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 8))
    >>> type(score_retrieval(X, X + 0.01, resamples=20)).__name__
    'RetrievalScores'

    Raises:
        InputError: The matrices are invalid, or the gold does not fit them.
        ConfigError: An option is invalid.
    """
    config = replace(config, **options)
    sides = _array(X), _array(Y)
    gold = fitting(gold, len(X), len(Y))
    rows_X, rows_Y = np.arange(len(X)), np.arange(len(Y))
    if config.candidates == "gold" and len(gold.sources) + len(gold.targets) < len(X) + len(Y):
        rows_X, rows_Y = gold.sources, gold.targets
        inner = (np.searchsorted(rows, side) for rows, side in zip((rows_X, rows_Y), gold.pairs_P2.T, strict=True))
        gold = Gold(np.stack(list(inner), axis=1))
    inputs = SearchInputs(sides, (rows_X, rows_Y), names, others)
    seen = views(inputs, gold, center, config.estimates, seed=config.seed)
    results = []
    for unit in (True, False):
        chosen = [method for method in config.methods if (method != "euclidean") is unit]
        if not chosen:
            continue
        search = _Search(seen, gold, config, unit, device, progress)
        for method, direction in product(chosen, config.directions):
            scored = _score(search.found(method, direction), gold, method, direction, config)
            asked, answers = (rows_X, rows_Y) if direction == "forward" else (rows_Y, rows_X)
            scored = replace(scored, queries_Q=asked[scored.queries_Q], found_QK=answers[scored.found_QK])
            if alike is not None:
                rows = alike.source_rows if direction == "forward" else alike.target_rows
                other = other_spelling(
                    scored.queries_Q, scored.ranks_Q, rows, resamples=config.resamples, seed=config.seed
                )
                scored = replace(scored, other_spelling=other)
            results.append(scored)
    return RetrievalScores(tuple(results))


def _array(X: ArrayLike) -> Array:
    return X if isinstance(X, np.ndarray | torch.Tensor) else np.asarray(X)


class _Found(NamedTuple):
    """Best answers to every query, their scores, the rank of every gold pair, and the number of candidates."""

    indices_QK: np.ndarray
    scores_QK: np.ndarray
    ranks_P: np.ndarray
    candidates: int
    neighborhood: int


class _Search:
    """Every method over all views; shared intermediate results of a view are computed once."""

    def __init__(
        self,
        seen: Sequence[SearchView],
        gold: Gold,
        config: RetrievalConfig,
        unit: bool,
        device: str | torch.device | None,
        progress: Progress,
    ) -> None:
        self.gold, self.estimates = gold, config.estimates
        self.parts: list[tuple[PairSearch, QueryGroup, NeighborhoodPool | None]] = []
        for view in seen:
            X_ND, Y_MD = paired_rows(view.X, view.Y, unit=unit, device=device)
            rules = PairSearch(
                X_ND,
                Y_MD,
                neighborhood=config.neighborhood,
                sharpness=config.sharpness,
                asked_only=set(config.methods) <= {"cosine", "euclidean"},
                progress=progress,
            )
            self.parts += [(rules, part, self._apart(rules, view, part) if unit else None) for part in view.parts]

    def _apart(self, rules: PairSearch, view: SearchView, part: QueryGroup) -> NeighborhoodPool | None:
        sides = (rules.X_ND, rules.Y_MD)
        match self.estimates.neighborhoods:
            case "own":
                return None
            case "folds":  # a single gold pair has no other folds
                return None if part.sources_N.all() else apart_from(part, sides, self.gold)
            case "given":
                if view.others[0] is None or view.others[1] is None:
                    raise ConfigError(
                        "there are no rows from other text for the neighborhoods",
                        "give text of both languages",
                        "missing-data",
                    )
                pools = paired_rows(view.others[0], view.others[1], unit=True, device=sides[0].device)
                none_E2 = torch.zeros(0, 2, dtype=torch.int64, device=sides[0].device)
                return NeighborhoodPool(pools, (none_E2, none_E2))

    def found(self, method: Method, direction: Direction) -> _Found:
        """Answers to every query, in the order of the gold."""
        side = 0 if direction == "forward" else 1
        gold = self.gold if direction == "forward" else self.gold.turned()
        answers = self.parts[0][0].Y_MD if direction == "forward" else self.parts[0][0].X_ND
        width = min(max(CUTS), len(answers))
        found = _Found(
            np.zeros((len(gold.sources), width), dtype=np.int64),
            np.zeros((len(gold.sources), width), dtype=np.float32),
            np.zeros(len(gold), dtype=np.int64),
            len(answers),
            self.parts[0][0].neighborhood,
        )
        for rules, part, apart in self.parts:
            own = rules.apart(apart)
            asked_Q, asked_P = part[side][gold.sources], part[side][gold.pairs_P2[:, 0]]
            rows_Q, pairs_P2 = (
                torch.from_numpy(each).to(answers.device) for each in (gold.sources[asked_Q], gold.pairs_P2[asked_P])
            )
            top = own.best(method, direction, max(CUTS), rows_Q)
            found.indices_QK[asked_Q] = top.indices_NK.cpu().numpy()
            found.scores_QK[asked_Q] = top.scores_NK.cpu().numpy()
            found.ranks_P[asked_P] = own.ranks(method, direction, pairs_P2).cpu().numpy()
        return found


def apart_from(part: QueryGroup, sides: tuple[torch.Tensor, torch.Tensor], gold: Gold) -> NeighborhoodPool:
    """Rows outside a group of queries, for the neighborhoods of its candidates, without their translations."""
    pools, partners, places = [], [], []
    for side, mask in enumerate(part):
        kept = np.flatnonzero(~mask)
        place = np.full(len(mask), -1)
        place[kept] = np.arange(len(kept))
        pairs_P2 = np.stack([gold.pairs_P2[:, 1 - side], place[gold.pairs_P2[:, side]]], axis=1)
        places.append(torch.from_numpy(kept).to(sides[side].device))
        pools.append(sides[side][places[side]])
        partners.append(torch.from_numpy(pairs_P2[pairs_P2[:, 1] >= 0]).to(sides[side].device))
    return NeighborhoodPool((pools[0], pools[1]), (partners[0], partners[1]), (places[0], places[1]))


def _score(found: _Found, gold: Gold, method: Method, direction: Direction, config: RetrievalConfig) -> MethodScores:
    gold = gold if direction == "forward" else gold.turned()
    ranks_P = found.ranks_P
    ranks_Q = best_ranks(ranks_P, gold)

    starts = np.searchsorted(gold.pairs_P2[:, 0], gold.sources)
    ones_Q = np.ones(len(ranks_Q))
    hits = [ranks_Q <= k for k in CUTS]
    sums_QF = np.stack([*hits, np.add.reduceat(1 / ranks_P, starts), 1 / ranks_Q], axis=1)
    pairs_Q = np.diff(np.append(starts, len(ranks_P)))
    counts_QF = np.stack([*(ones_Q for _ in CUTS), pairs_Q, ones_Q], axis=1)
    *precision, mrr, best_mrr = bootstrap(sums_QF, counts_QF, resamples=config.resamples, seed=config.seed)
    scores_QK = found.scores_QK
    if method == "euclidean":
        scores_QK = -np.sqrt(np.maximum(-scores_QK, 0))
    return MethodScores(
        method=method,
        direction=direction,
        queries=len(ranks_Q),
        candidates=found.candidates,
        neighborhood=found.neighborhood if method in NEIGHBORHOOD_METHODS else None,
        precision=dict(zip(CUTS, precision, strict=True)),
        mrr=mrr,
        best_mrr=best_mrr,
        hubness=hubness(found.indices_QK, found.candidates),
        queries_Q=gold.sources,
        found_QK=found.indices_QK,
        scores_QK=scores_QK,
        ranks_Q=ranks_Q,
    )
