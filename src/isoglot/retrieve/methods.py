"""Nearest-neighbor methods: plain search, and four corrections for hubs.

A hub is a vector close to many others; high-dimensional spaces have some, and plain nearest neighbor retrieves them far
too often. Each correction compares a similarity with how close the two vectors are to everything else:

- ``cosine``: no correction.
- ``csls``: 2 cos(x, y) - r(x) - r(y), r the mean similarity to the K nearest of the other side (Conneau et al. 2018).
- ``inverted_softmax``: the probability of x given y instead of y given x (Smith et al. 2017).
- ``ratio``: cos(x, y) divided by the mean of r(x) and r(y) (Artetxe & Schwenk 2019).
- ``distance``: cos(x, y) minus that mean, half of CSLS for the same K (Artetxe & Schwenk 2019).
- ``euclidean``: minus the distance between the vectors; no correction.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` hidden size, ``K`` neighbors.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import torch

from isoglot.core.arrays import Array, full_precision, in_library_of, paired_rows
from isoglot.core.errors import ConfigError, check_name, check_range
from isoglot.core.progress import SILENT, Progress
from isoglot.retrieve.search import (
    DENSE,
    ScoringRule,
    TopK,
    block_shape,
    blocks,
    dense_products,
    dense_ranks,
    dense_scores,
    dense_top,
    ranks,
    search,
    search_both,
)

Method = Literal["cosine", "csls", "inverted_softmax", "ratio", "distance", "euclidean"]
METHODS: tuple[Method, ...] = get_args(Method)
Direction = Literal["forward", "backward"]
"""``forward``: queries from X, answers from Y; ``backward``: the reverse."""
NEIGHBORHOOD = 10
SHARPNESS = 30.0


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The best rows of Y for every row of X, best first; ties by lower row number.

    ``indices_NK`` is int64, ``scores_NK`` float32; tensors if X was one, else arrays.

    >>> import numpy as np
    >>> found = nearest(np.eye(2), np.array([[0.0, 2.0], [3.0, 0.0]]), k=2)
    >>> found
    Neighbors(2 queries, 2 neighbors each)
    >>> found.indices_NK.tolist(), found.scores_NK.tolist()
    ([[1, 0], [0, 1]], [[1.0, 0.0], [1.0, 0.0]])
    """

    indices_NK: Any
    scores_NK: Any

    def __len__(self) -> int:
        return len(self.indices_NK)

    def __repr__(self) -> str:
        return f"Neighbors({len(self):,} queries, {self.indices_NK.shape[1]} neighbors each)"


def nearest(
    X: Array,
    Y: Array,
    k: int = 10,
    metric: Literal["cosine", "euclidean"] = "cosine",
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Neighbors:
    """The ``k`` nearest rows of Y for each row of X, exactly; all of Y if it has fewer.

    Args:
        X: N × D.
        Y: M × D.
        k: Number of neighbors.
        metric: ``cosine``, or ``euclidean`` (the score is minus the distance).
        device: Where to compute. Default: the device of X.
        progress: Progress in rows.

    Returns:
        Indices of rows of Y (N × k) and their scores (N × k), the best first.

    >>> import numpy as np
    >>> found = nearest(np.eye(2), np.array([[0.0, 2.0], [3.0, 0.1]]), k=1)
    >>> found.indices_NK.tolist()
    [[1], [0]]

    Raises:
        InputError: Invalid matrices: empty, different widths, a row that is not finite or all zeros.
        ConfigError: ``k`` is below 1, or the metric is unknown.
    """
    check_name("metric", metric, ("cosine", "euclidean"))
    return retrieve(X, Y, metric, k, device=device, progress=progress)


def csls(
    X: Array,
    Y: Array,
    k: int = 10,
    neighborhood: int = NEIGHBORHOOD,
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Neighbors:
    """The ``k`` best rows of Y by cross-domain similarity local scaling, 2 cos(x, y) - r(x) - r(y).

    Every similarity is computed once, for the means of both sides; only those that may still be chosen a second time.

    Args:
        X: N × D, the queries.
        Y: M × D, the candidates.
        k: Number of neighbors.
        neighborhood: Number of neighbors whose mean similarity is subtracted.
        device: Where to compute. Default: the device of X.
        progress: Progress in rows.

    Returns:
        Indices of rows of Y (N × k) and their scores (N × k), the best first.

    >>> import numpy as np
    >>> X, Y = np.eye(3), np.array([[0.0, 2, 0], [3, 0.1, 0], [0, 0, 1]])
    >>> csls(X, Y, k=1, neighborhood=1).indices_NK.tolist()
    [[1], [0], [2]]

    Raises:
        InputError: Invalid matrices: empty, different widths, a row that is not finite or all zeros.
        ConfigError: An option is out of range.
    """
    return retrieve(X, Y, "csls", k, neighborhood=neighborhood, device=device, progress=progress)


def inverted_softmax(
    X: Array,
    Y: Array,
    k: int = 10,
    sharpness: float = SHARPNESS,
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Neighbors:
    """The ``k`` best rows of Y by the log probability of x among all rows of X given y, softmax(sharpness · cos).

    Args:
        X: N × D, the queries.
        Y: M × D, the candidates.
        k: Number of neighbors.
        sharpness: Inverse temperature of the softmax.
        device: Where to compute. Default: the device of X.
        progress: Progress in rows.

    Returns:
        Indices of rows of Y (N × k) and their scores (N × k), the best first.

    >>> import numpy as np
    >>> X, Y = np.eye(3), np.array([[0.0, 2, 0], [3, 0.1, 0], [0, 0, 1]])
    >>> inverted_softmax(X, Y, k=1).indices_NK.tolist()
    [[1], [0], [2]]

    Raises:
        InputError: Invalid matrices: empty, different widths, a row that is not finite or all zeros.
        ConfigError: An option is out of range.
    """
    return retrieve(X, Y, "inverted_softmax", k, sharpness=sharpness, device=device, progress=progress)


def margin(
    X: Array,
    Y: Array,
    k: int = 10,
    form: Literal["ratio", "distance"] = "ratio",
    neighborhood: int = NEIGHBORHOOD,
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Neighbors:
    """The ``k`` best rows of Y by the margin of cos(x, y) over the two neighborhoods.

    Args:
        X: N × D.
        Y: M × D.
        k: Number of neighbors.
        form: ``ratio`` divides by the mean of r(x) and r(y); ``distance`` subtracts it.
        neighborhood: Number of neighbors r is the mean over.
        device: Where to compute. Default: the device of X.
        progress: Progress in rows.

    Returns:
        Indices of rows of Y (N × k) and their scores (N × k), the best first.

    >>> import numpy as np
    >>> X, Y = np.eye(3), np.array([[0.0, 2, 0], [3, 0.1, 0], [0, 0, 1]])
    >>> margin(X, Y, k=1, form="ratio", neighborhood=1).indices_NK.tolist()
    [[1], [0], [2]]

    Raises:
        InputError: Invalid matrices: empty, different widths, a row that is not finite or all zeros.
        ConfigError: An option is out of range.
    """
    check_name("margin", form, ("ratio", "distance"))
    return retrieve(X, Y, form, k, neighborhood=neighborhood, device=device, progress=progress)


def retrieve(
    X: Array,
    Y: Array,
    method: Method = "csls",
    k: int = 10,
    *,
    neighborhood: int = NEIGHBORHOOD,
    sharpness: float = SHARPNESS,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Neighbors:
    """The ``k`` best rows of Y for each row of X by any method.

    Args:
        X: N × D, the queries.
        Y: M × D, the candidates.
        method: Scoring method.
        k: Number of neighbors.
        neighborhood: For CSLS and margins.
        sharpness: For the inverted softmax.
        device: Where to compute. Default: the device of X.
        progress: Progress in rows.

    Returns:
        Indices of rows of Y (N × k) and their scores (N × k), the best first.

    >>> import numpy as np
    >>> X, Y = np.eye(3), np.array([[0.0, 2, 0], [3, 0.1, 0], [0, 0, 1]])
    >>> retrieve(X, Y, "cosine", k=1).indices_NK.tolist()
    [[1], [0], [2]]

    Raises:
        InputError: Invalid matrices: empty, different widths, a row that is not finite or all zeros.
        ConfigError: An option is out of range.
    """
    check_options(method, k, neighborhood, sharpness)
    X_ND, Y_MD = paired_rows(X, Y, unit=method != "euclidean", device=device)
    rules = PairSearch(X_ND, Y_MD, neighborhood=neighborhood, sharpness=sharpness, progress=progress)
    top = rules.best(method, "forward", k)
    scores_NK = -(-top.scores_NK).clamp(min=0).sqrt() if method == "euclidean" else top.scores_NK
    return Neighbors(in_library_of(X, top.indices_NK), in_library_of(X, scores_NK))


def check_options(method: str, k: int, neighborhood: int, sharpness: float) -> None:
    """Check the options of a search.

    Raises:
        ConfigError: The method is unknown, or a number is out of range.
    """
    check_name("method", method, METHODS)
    for name, value in (("k", k), ("neighborhood", neighborhood)):
        check_range(name, value, 1)
    if not 0 < sharpness < float("inf"):
        raise ConfigError(
            f"sharpness = {sharpness} is not positive", "give a number above 0, such as 30", "invalid-value"
        )


class NeighborhoodPool(NamedTuple):
    """Rows for the neighborhoods of candidates that are disjoint from some queries.

    Attributes:
        pools: Rows of X for the neighborhoods of Y, and rows of Y for those of X; float32, of unit length.
        partners: For each pool, (row of the other side, position in the pool) of translations, which do not count.
        places: Row numbers of the pools in X and in Y; None if they come from other text.
    """

    pools: tuple[torch.Tensor, torch.Tensor]
    partners: tuple[torch.Tensor, torch.Tensor]
    places: tuple[torch.Tensor, torch.Tensor] | None = None


class PairSearch:
    """Search between two matrices by every method, in both directions; shared intermediate results are computed once.

    Args:
        X_ND: Rows as returned by :func:`paired_rows`.
        Y_MD: As above.
        neighborhood: Number of neighbors r is the mean over.
        sharpness: Factor in the exponent of the inverted softmax.
        most: Largest score matrix that is stored; a larger one is computed in blocks, with the same results.
        asked_only: Compute cosines of the queries that are asked for alone, because no other method will need the rest.
        progress: Progress in rows.
    """

    def __init__(
        self,
        X_ND: torch.Tensor,
        Y_MD: torch.Tensor,
        *,
        neighborhood: int = NEIGHBORHOOD,
        sharpness: float = SHARPNESS,
        most: int = DENSE,
        asked_only: bool = False,
        progress: Progress = SILENT,
    ) -> None:
        self.X_ND, self.Y_MD = X_ND, Y_MD
        self.neighborhood, self.sharpness, self.progress = neighborhood, sharpness, progress
        # float64 is slow on most GPUs and missing on some.
        self._is_small = X_ND.device.type == "cpu" and len(X_ND) * len(Y_MD) <= most
        self._products: dict[Direction, torch.Tensor] = {}
        self._last: tuple[tuple[Method, Direction], torch.Tensor] | None = None
        self._both: tuple[TopK, TopK] | None = None
        self._masses: tuple[torch.Tensor, torch.Tensor] | None = None
        self._apart: NeighborhoodPool | None = None
        self._asked_only = asked_only
        self._asked: tuple[Direction, torch.Tensor, torch.Tensor] | None = None

    def apart(self, apart: NeighborhoodPool | None) -> PairSearch:
        """The same search with neighborhoods of candidates from other rows than the queries."""
        other = copy(self)
        other._apart, other._last = apart, None
        return other

    def best(self, method: Method, direction: Direction, k: int, asked_Q: torch.Tensor | None = None) -> TopK:
        """The ``k`` best answers to every query, or to some."""
        queries_ND, answers_MD = self._sides(direction)
        if self._is_small:
            if method == "cosine" and self._asked_only and asked_Q is not None:
                return dense_top(self._cosines(direction, asked_Q), k)
            if method == "cosine" and 1 < k <= self.neighborhood:  # a single neighbor needs no sorting
                top = self._tops[0 if direction == "forward" else 1]
                indices_NK, scores_NK = top.indices_NK[:, :k], top.scores_NK[:, :k]
                return TopK(indices_NK, scores_NK) if asked_Q is None else TopK(indices_NK[asked_Q], scores_NK[asked_Q])
            scores_NM = self._scores(method, direction)
            return dense_top(scores_NM if asked_Q is None else scores_NM[asked_Q], k)
        rule = self.rule(method, direction)
        if asked_Q is not None:
            queries_ND, rule = queries_ND[asked_Q], rule.of_rows(asked_Q)
        return search(queries_ND, answers_MD, k, rule, progress=self.progress)

    def ranks(self, method: Method, direction: Direction, pairs_P2: torch.Tensor) -> torch.Tensor:
        """For each pair of a query and an answer, the rank of the answer among all, from 1."""
        if self._is_small and method == "cosine" and self._asked_only:
            rows_U, places_P = pairs_P2[:, 0].unique(return_inverse=True)
            return dense_ranks(self._cosines(direction, rows_U), torch.stack([places_P, pairs_P2[:, 1]], dim=1))
        if self._is_small:
            return dense_ranks(self._scores(method, direction), pairs_P2)
        return ranks(*self._sides(direction), pairs_P2, self.rule(method, direction), progress=self.progress)

    def rule(self, method: Method, direction: Direction) -> ScoringRule:
        """Scoring rule of a method."""
        side = 0 if direction == "forward" else 1
        other = 1 - side
        match method:
            case "cosine":
                return ScoringRule()
            case "euclidean":  # minus the squared distance is 2 (xy - yy / 2) - xx
                own, their = ((self.X_ND, self.Y_MD)[which].double().square().sum(1) for which in (side, other))
                return ScoringRule(factor=2.0, shift_M=-their / 2, offset_N=-own)
            case "csls":
                shift_M, offset_N = -self._answer_means(direction) / 2, -self.means[side]
                return ScoringRule(factor=2.0, shift_M=shift_M, offset_N=offset_N, kept_NS=self._tops[side].kept_NS)
            case "distance":
                shift_M, offset_N = -self._answer_means(direction) / 2, -self.means[side] / 2
                return ScoringRule(shift_M=shift_M, offset_N=offset_N, kept_NS=self._tops[side].kept_NS)
            case "ratio":
                return ScoringRule(means_N=self.means[side], means_M=self._answer_means(direction))
            case "inverted_softmax":
                return ScoringRule(factor=self.sharpness, shift_M=-self.masses[other] / self.sharpness)

    @property
    def means(self) -> tuple[torch.Tensor, torch.Tensor]:
        """r(x) and r(y): mean similarity to the nearest rows of the other side, float64."""
        own, their = (top.scores_NK.double().mean(1) for top in self._tops)
        return own, their

    def _answer_means(self, direction: Direction) -> torch.Tensor:
        """Neighborhood means r of the candidates, float64: over the queries, or over the rows set apart."""
        side = 0 if direction == "forward" else 1
        if self._apart is None:
            return self.means[1 - side]
        answers_MD = self._sides(direction)[1]
        pool_PD, partners_E2 = self._apart.pools[side], self._apart.partners[side]
        # Extra neighbors for the translations of a candidate in the pool, which do not count.
        most = int(torch.bincount(partners_E2[:, 0]).max()) if len(partners_E2) else 0
        wanted = self.neighborhood + most
        if self._is_small:
            turned: Direction = "backward" if direction == "forward" else "forward"
            places = self._apart.places
            found = self._all_products(turned)[:, places[side]] if places else dense_products(answers_MD, pool_PD)
            top = dense_top(found.float(), wanted)
        else:
            top = search(answers_MD, pool_PD, wanted, ScoringRule(), progress=self.progress)
        scores_MK = top.scores_NK.double()
        if len(partners_E2):
            rows_M1 = torch.arange(len(answers_MD), device=answers_MD.device)[:, None]
            partners_E = partners_E2[:, 0] * len(pool_PD) + partners_E2[:, 1]
            own_MK = torch.isin(rows_M1 * len(pool_PD) + top.indices_NK, partners_E)
            scores_MK = scores_MK.masked_fill(own_MK, -torch.inf).sort(dim=1, descending=True).values
        scores_MK = scores_MK[:, : self.neighborhood]
        counts_M = scores_MK.isfinite().sum(dim=1).clamp(min=1)
        return scores_MK.masked_fill(scores_MK.isinf(), 0.0).sum(dim=1) / counts_M

    def _sides(self, direction: Direction) -> tuple[torch.Tensor, torch.Tensor]:
        return (self.X_ND, self.Y_MD) if direction == "forward" else (self.Y_MD, self.X_ND)

    def _cosines(self, direction: Direction, asked_Q: torch.Tensor) -> torch.Tensor:
        """Cosines of some queries and all answers, float32; the last ones are cached."""
        if self._asked is None or self._asked[0] != direction or not torch.equal(self._asked[1], asked_Q):
            queries_ND, answers_MD = self._sides(direction)
            scores_QM = dense_scores(dense_products(queries_ND[asked_Q], answers_MD), ScoringRule())
            self._asked = direction, asked_Q, scores_QM
        return self._asked[2]

    def _scores(self, method: Method, direction: Direction) -> torch.Tensor:
        """All scores, where the matrix is stored; the last one is cached."""
        if self._last is None or self._last[0] != (method, direction):
            self._last = (
                (method, direction),
                dense_scores(self._all_products(direction), self.rule(method, direction)),
            )
        return self._last[1]

    def _all_products(self, direction: Direction) -> torch.Tensor:
        """All products of queries and answers, float64."""
        if not self._products:
            self._products["forward"] = dense_products(self.X_ND, self.Y_MD)
        if direction not in self._products:
            self._products[direction] = self._products["forward"].T.contiguous()
        return self._products[direction]

    @property
    def _tops(self) -> tuple[TopK, TopK]:
        """Nearest rows of the other side, for both sides."""
        if self._both is None:
            if self._is_small:
                forward, backward = (
                    dense_top(self._scores("cosine", way), self.neighborhood) for way in get_args(Direction)
                )
                self._both = forward, backward
            else:
                self._both = search_both(self.X_ND, self.Y_MD, self.neighborhood, ScoringRule(), progress=self.progress)
        return self._both

    @property
    def masses(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-sum-exp of the similarities of each row, and of each column, float64."""
        if self._masses is None:
            device, shape = self.X_ND.device, block_shape(self.X_ND.device)
            mass_N, mass_M = (
                torch.full((len(side),), -torch.inf, dtype=torch.float64, device=device)
                for side in (self.X_ND, self.Y_MD)
            )
            with full_precision(), self.progress.task("softmax", total=len(self.X_ND), unit="rows") as task:
                for rows, columns, block_BC in blocks(self.X_ND, self.Y_MD, ScoringRule(), shape):
                    # logsumexp shifts by the maximum, so that nothing overflows or vanishes.
                    block_BC.mul_(self.sharpness)
                    mass_N[rows] = torch.logaddexp(mass_N[rows], block_BC.logsumexp(1).double())
                    mass_M[columns] = torch.logaddexp(mass_M[columns], block_BC.logsumexp(0).double())
                    task.advance(len(block_BC) if columns.stop == len(self.Y_MD) else 0)
            self._masses = mass_N, mass_M
        return self._masses
