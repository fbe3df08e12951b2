"""Analysis of variance of a factorial experiment in blocks, where not every combination of levels exists.

Every block (a seed) has one value of every cell (a combination of levels). The model has a mean for every cell and an
effect for every block, so the error is what is left of a cell in a block, with (C - 1)(B - 1) degrees of freedom.

Sums of squares are of type II: a term is compared with all main effects and two-way interactions that do not contain
it. They are differences of two fits, so they do not depend on how levels are coded and are defined where cells are
missing; type III is neither there. Where all cells exist, types I, II and III are the same. Where some are missing,
factors are correlated, and what differs between cells but belongs to no single term is the ``overlap``. Three-way
interactions and higher ones are one term.

``eta`` is a term's share of the total sum of squares. ``omega`` corrects it for what chance alone would give, and is
negative as often as not where there is no effect. Its interval is a bootstrap over blocks. With few blocks plain
percentiles are too narrow, so they are widened by Student's t (Hesterberg 2015, "What teachers should know about the
bootstrap"); and they are taken around ``omega``, because a resample estimates the ``eta`` of the blocks that it was
drawn from.

Shapes: C cells, B blocks, R resamples, T terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import copysign, erf, inf, isfinite, nan, sqrt
from typing import TYPE_CHECKING

from isoglot.core.distributions import f_tail, t_interval, t_quantile, t_tail
from isoglot.core.errors import InputError, shown
from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

RESAMPLES = 2000
HIGHER, OVERLAP, BLOCK, RESIDUAL = "three-way and higher", "overlap", "block", "residual"
_MOST_FLIPS = 14  # blocks whose sign flips are enumerated


@dataclass(frozen=True)
class BlockedTable:
    """A value of every cell in every block.

    Attributes:
        cells: The level of each factor, for each cell.
        blocks: The blocks' names.
        values_CB: The values.

    Raises:
        InputError: There are fewer than two cells or blocks, a cell comes twice, or a value is missing or not finite.
    """

    cells: tuple[Mapping[str, str], ...]
    blocks: tuple[str | int, ...]
    values_CB: np.ndarray

    def __post_init__(self) -> None:
        shape = len(self.cells), len(self.blocks)
        if self.values_CB.shape != shape or min(shape) < 2:
            problem = f"values of shape {self.values_CB.shape} for {shape[0]} cells and {shape[1]} blocks"
            remedy = "give one value for each, and at least 2 cells and 2 blocks"
            raise InputError(problem, remedy, "shape")
        if len({tuple(cell.items()) for cell in self.cells}) < len(self.cells):
            raise InputError("a combination of levels comes twice", "give each cell once", "duplicate")
        for cell, values in zip(self.cells, self.values_CB.tolist(), strict=True):
            if not all(map(isfinite, values)):
                raise InputError(
                    f"cell {shown(dict(cell))} has a value that is not finite", "leave it out", "not-finite"
                )

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of the factors."""
        return tuple(self.cells[0])

    def levels(self, *factors: str) -> list[tuple[str, ...]]:
        """The combinations of levels of some factors, in order of appearance."""
        return list(dict.fromkeys(tuple(cell[name] for name in factors) for cell in self.cells))

    def without(self, factor: str, level: str) -> BlockedTable:
        """The cells that do not have a level."""
        kept = [number for number, cell in enumerate(self.cells) if cell[factor] != level]
        return BlockedTable(tuple(self.cells[number] for number in kept), self.blocks, self.values_CB[kept])


@dataclass(frozen=True, kw_only=True)
class Term:
    """A row of the ANOVA table.

    Attributes:
        name: Factors with a colon between them, ``three-way and higher``, ``overlap``, ``block`` or ``residual``.
        freedom: Degrees of freedom.
        sum_squares: Sum of squares.
        f: F statistic, the ratio of its mean square to that of the residual; like p, NaN for the last three.
        p: p-value of the F test.
        eta: Share of the total sum of squares (eta squared).
        omega: The share corrected for what chance alone would give (omega squared).
        interval: 95 % interval of ``omega``, from 0 up.
    """

    name: str
    freedom: int
    sum_squares: float
    f: float = nan
    p: float = nan
    eta: float
    omega: float = nan
    interval: tuple[float, float] = (nan, nan)


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A weighted sum of cells, tested over blocks.

    Attributes:
        name: What it is, in words.
        estimate: The mean over blocks.
        interval: 95 % confidence interval, by Student's t over the blocks.
        t: t statistic.
        p: Two-sided p-value, by Student's t with as many degrees of freedom as blocks less one.
        p_flips: Two-sided p-value of the exact sign-flip permutation test over blocks; NaN with more than 14 blocks.
        by_block: The weighted sum of each block.
    """

    name: str
    estimate: float
    interval: tuple[float, float]
    t: float
    p: float
    p_flips: float
    by_block: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class LevelMean:
    """The mean of a level, or of a combination of levels, over cells that exist at all levels.

    The interval (95 %, Student's t) is of its difference from the mean over the levels, block by block, put around the
    mean: what blocks have in common does not widen it.
    """

    levels: tuple[str, ...]
    mean: float
    interval: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class VarianceAnalysis:
    """An ANOVA table and the means of all levels.

    Attributes:
        mean: Mean of all values.
        cells: Number of cells.
        blocks: Number of blocks.
        terms: Rows of the table.
        main: The level means of each factor.
    """

    mean: float
    cells: int
    blocks: int
    terms: tuple[Term, ...]
    main: Mapping[str, tuple[LevelMean, ...]]

    def term(self, *factors: str) -> Term:
        """The term of some factors, in any order.

        Raises:
            InputError: There is no such term.
        """
        wanted = set(factors)
        for term in self.terms:
            if set(term.name.split(":")) == wanted:
                return term
        raise InputError(
            f"no term {shown(':'.join(factors))}", f"one of {', '.join(t.name for t in self.terms)}", "unknown-column"
        )


def analyze(table: BlockedTable, *, seed: int = 0, resamples: int = RESAMPLES) -> VarianceAnalysis:
    """Test every main effect and two-way interaction, and estimate its share of the variance.

    The p-values take errors to be normal and equally large in all cells. Where they are not, as for precision near 0 or
    1, they are approximate; :func:`contrast` needs neither equal errors nor, for ``p_flips``, normal ones.

    >>> import numpy as np
    >>> cells = tuple({"anchors": a, "order": o} for a in ("none", "all") for o in ("same", "mirrored"))
    >>> values = np.array([[1.0, 1.2, 1.1], [1.1, 1.0, 1.2], [3.0, 3.1, 3.1], [3.1, 3.2, 3.0]])
    >>> found = analyze(BlockedTable(cells, (0, 1, 2), values))
    >>> [(term.name, term.freedom, round(term.eta, 3)) for term in found.terms[:3]]
    [('anchors', 1, 0.994), ('order', 1, 0.0), ('anchors:order', 1, 0.0)]
    """
    bases = term_bases(table)
    terms = _tested(table, bases, seed, resamples)
    cells, blocks = table.values_CB.shape
    _, *others = sums_of_squares(table.values_CB, bases)
    residual, block, total = map(float, others)
    rest = [(BLOCK, blocks - 1, block), (RESIDUAL, (cells - 1) * (blocks - 1), residual)]
    if any(abs(one.T @ other).max() >= 1e-9 for one, other in combinations(bases.values(), 2)):
        rest.insert(0, (OVERLAP, 0, total - block - residual - sum(term.sum_squares for term in terms)))
    terms += [
        Term(name=name, freedom=freedom, sum_squares=square, eta=_ratio(square, total, empty=0.0))
        for name, freedom, square in rest
    ]
    return VarianceAnalysis(
        mean=float(table.values_CB.mean()),
        cells=cells,
        blocks=blocks,
        terms=tuple(terms),
        main={factor: level_means(table, factor) for factor in table.factors},
    )


def _tested(table: BlockedTable, bases: Mapping[str, np.ndarray], seed: int, resamples: int) -> list[Term]:
    import numpy as np

    cells, blocks = table.values_CB.shape
    error_freedom = (cells - 1) * (blocks - 1)
    sums, residual, _, total = sums_of_squares(table.values_CB, bases)
    drawn_RB = random_stream(seed, "variance", "blocks").integers(0, blocks, (resamples, blocks))
    drawn_RB = drawn_RB[(drawn_RB != drawn_RB[:, :1]).any(axis=1)]  # one block alone has no error to estimate
    sums_R, residual_R, _, total_R = sums_of_squares(np.moveaxis(table.values_CB[:, drawn_RB], 1, 0), bases)
    tail = _expanded_tail(blocks)
    terms = []
    for name, basis in bases.items():
        freedom, square = basis.shape[1], float(sums[name])
        f = _ratio(square / freedom, float(residual) / error_freedom)
        eta = _ratio(square, float(total), empty=0.0)
        omega = float(_omega(sums[name], freedom, residual, error_freedom, total))
        omega_R = _omega(sums_R[name], freedom, residual_R, error_freedom, total_R)
        low, high = (max(0.0, omega + float(np.quantile(omega_R, at)) - eta) for at in (tail, 1 - tail))
        terms.append(
            Term(
                name=name,
                freedom=freedom,
                sum_squares=square,
                f=f,
                p=f_tail(f, freedom, error_freedom),
                eta=eta,
                omega=omega,
                interval=(low, high),
            )
        )
    return terms


def _omega(square: np.ndarray, freedom: int, residual: np.ndarray, error_freedom: int, total: np.ndarray) -> np.ndarray:
    import numpy as np

    error = residual / error_freedom
    whole = total + error
    return np.asarray((square - freedom * error) / np.where(whole > 0, whole, 1.0))


def _ratio(one: float, other: float, *, empty: float = nan) -> float:
    """A ratio; where there is nothing to divide by, infinity, or ``empty`` if there is nothing to divide."""
    if other > 0:
        return one / other
    return inf if one > 0 else empty


def _expanded_tail(blocks: int) -> float:
    """The share that a percentile interval leaves out at each end for its mean to have Student's coverage."""
    wide = sqrt(blocks / (blocks - 1)) * t_quantile(0.975, blocks - 1)
    return 0.5 * (1 - erf(wide / sqrt(2)))


# --- sums of squares ---


def term_bases(table: BlockedTable) -> dict[str, np.ndarray]:
    """For each term an orthonormal basis of what it adds to a fit of cells, C x its degrees of freedom.

    Terms without degrees of freedom, because their cells are missing, are left out.
    """
    import numpy as np

    factors = [name for name in table.factors if len(table.levels(name)) > 1]
    terms = [(name,) for name in factors] + list(combinations(factors, 2))
    bases = {}
    for term in terms:
        others = _span([_indicators(table, other) for other in terms if not set(term) <= set(other)], len(table.cells))
        bases[":".join(term)] = _beyond(_indicators(table, term), others)
    every = _span([_indicators(table, term) for term in terms], len(table.cells))
    bases[HIGHER] = _beyond(np.eye(len(table.cells)), every)
    return {name: basis for name, basis in bases.items() if basis.shape[1]}


def _indicators(table: BlockedTable, factors: tuple[str, ...]) -> np.ndarray:
    import numpy as np

    rows = [tuple(cell[name] for name in factors) for cell in table.cells]
    levels = table.levels(*factors)
    return np.array([[float(row == level) for level in levels] for row in rows])


def _span(parts: Sequence[np.ndarray], cells: int) -> np.ndarray:
    """An orthonormal basis of the columns of all parts and a constant."""
    import numpy as np

    return _beyond(np.hstack([np.ones((cells, 1)), *parts]), np.zeros((cells, 0)))


def _beyond(columns: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the columns have that a basis has not."""
    import numpy as np

    left, values, _ = np.linalg.svd(columns - basis @ (basis.T @ columns), full_matrices=False)
    return np.asarray(left[:, values > 1e-9 * max(1.0, np.abs(columns).sum())])


def sums_of_squares(
    values_xCB: np.ndarray, bases: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Sums of squares of each term, the residual, the blocks and in total, for one table or a stack (``x``) of them.

    Every block has every cell, so terms are fitted to the cells' means.
    """
    blocks, cells = values_xCB.shape[-1], values_xCB.shape[-2]
    means_xC = values_xCB.mean(axis=-1)
    mean_x = means_xC.mean(axis=-1)
    block_xB = values_xCB.mean(axis=-2) - mean_x[..., None]
    around_xCB = values_xCB - mean_x[..., None, None]
    error_xCB = values_xCB - means_xC[..., None] - block_xB[..., None, :]
    terms = {name: blocks * ((means_xC @ basis) ** 2).sum(axis=-1) for name, basis in bases.items()}
    residual_x, total_x = ((some_xCB**2).sum(axis=(-2, -1)) for some_xCB in (error_xCB, around_xCB))
    return terms, residual_x, cells * (block_xB**2).sum(axis=-1), total_x


# --- contrasts and means ---


def contrast(table: BlockedTable, weights: Sequence[float], name: str) -> Contrast:
    """Test whether a weighted sum of cells is 0.

    It is computed in every block, and the blocks are compared with their own spread: cells may differ in their errors.

    Args:
        table: The values.
        weights: One for each cell; they should add up to 0.
        name: What it is, in words.

    Raises:
        InputError: The weights do not fit the cells, or do not add up to 0.
    """
    import numpy as np

    if len(weights) != len(table.cells) or abs(sum(weights)) > 1e-9 or not any(weights):
        problem = f"contrast {shown(name)}: {len(weights)} weights that add up to {sum(weights):g}"
        remedy = f"give a weight for each of {len(table.cells)} cells, not all 0, that add up to 0"
        raise InputError(problem, remedy, "out-of-range")
    values = (np.asarray(weights) @ table.values_CB).tolist()
    estimate = sum(values) / len(values)
    low, high = t_interval(values)
    freedom = len(values) - 1
    size = _ratio(abs(estimate) * t_quantile(0.975, freedom), (high - low) / 2, empty=0.0)
    t = copysign(size, estimate)
    return Contrast(
        name=name,
        estimate=estimate,
        interval=(low, high),
        t=t,
        p=2 * t_tail(abs(t), freedom),
        p_flips=_flipped(values),
        by_block=tuple(values),
    )


def _flipped(values: Sequence[float]) -> float:
    import numpy as np

    count = len(values)
    if count > _MOST_FLIPS:
        return nan
    signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    sums = np.abs(signs @ np.array(values))
    return float((sums >= sums[0] * (1 - 1e-12)).mean())


def level_means(table: BlockedTable, *factors: str) -> tuple[LevelMean, ...]:
    """The mean of each level of a factor, or of each combination of levels of several, over comparable cells.

    Comparable are cells whose levels of the other factors exist with every combination. So the means of anchors leave
    out the arm with separate embeddings, which has one level of it.
    """
    import numpy as np

    levels = table.levels(*factors)
    rest = [name for name in table.factors if name not in factors]
    where: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {level: {} for level in levels}
    for number, cell in enumerate(table.cells):
        where[tuple(cell[name] for name in factors)][tuple(cell[name] for name in rest)] = number
    common = sorted(set.intersection(*(set(found) for found in where.values())))
    if not common:
        problem = f"no cells to compare the levels of {' x '.join(factors)} on"
        remedy = "no other combination has all of them"
        raise InputError(problem, remedy, "empty")
    means_LB = np.array([table.values_CB[[where[level][key] for key in common]].mean(axis=0) for level in levels])
    middle, found = float(means_LB.mean()), []
    for level, apart_B in zip(levels, means_LB - means_LB.mean(axis=0), strict=True):
        low, high = t_interval(apart_B.tolist())
        mean = middle + float(apart_B.mean())
        found.append(LevelMean(levels=level, mean=mean, interval=(middle + low, middle + high)))
    return tuple(found)
