"""The analysis of variance agrees with statsmodels, finds effects that are there and none that are not."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from isoglot.core.distributions import f_tail, t_interval, t_quantile, t_tail
from isoglot.core.errors import InputError
from isoglot.study.factorial.design import CELLS, FACTORS
from isoglot.study.factorial.variance import (
    HIGHER,
    OVERLAP,
    BlockedTable,
    analyze,
    contrast,
    level_means,
    sums_of_squares,
    term_bases,
)
from tests.errors import raises

DESIGN = tuple({name: str(level) for name, level in cell.levels.items()} for cell in CELLS)
BLOCKS = tuple(range(8))


def table_of(effect=lambda cell: 0.0, *, noise: float = 1.0, seed: int = 0, cells=DESIGN) -> BlockedTable:
    stream = np.random.default_rng(seed)
    means = np.array([effect(cell) for cell in cells])
    values = means[:, None] + 0.5 * stream.normal(size=(1, 8)) + noise * stream.normal(size=(len(cells), 8))
    return BlockedTable(cells, BLOCKS, values)


def effect(cell: Mapping[str, str]) -> float:
    found = {"none": 0.0, "fifth": 0.6, "all": 1.5}[cell["anchors"]] + 0.8 * (cell["sharing"] == "all")
    return found + 1.0 * (cell["order"] == "mirrored") * (cell["anchors"] != "none")


# --- beside scipy and statsmodels ---


@pytest.mark.parametrize(("numerator", "denominator"), list(product([1, 2, 4, 18, 41], [1, 7, 30, 287])))
def test_tails_are_scipys(numerator: int, denominator: int):
    for f in (0.0, 0.01, 0.3, 1.0, 3.3, 20.0, 200.0):
        assert f_tail(f, numerator, denominator) == pytest.approx(stats.f.sf(f, numerator, denominator), rel=1e-10)
    assert t_tail(2.0, denominator) == pytest.approx(stats.t.sf(2.0, denominator), rel=1e-10)
    assert t_quantile(0.975, denominator) == pytest.approx(stats.t.ppf(0.975, denominator), rel=1e-10)


def test_the_interval_of_a_mean_is_scipys():
    values = [0.3, 1.7, -0.2, 0.9]
    wanted = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert t_interval(values) == pytest.approx(wanted)
    assert t_interval([1.0]) == (-np.inf, np.inf)


def as_rows(table: BlockedTable) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {"y": table.values_CB.ravel().tolist(), "block": list(BLOCKS) * len(table.cells)}
    return rows | {name: [cell[name] for cell in table.cells for _ in BLOCKS] for name in FACTORS}


def fitted(formula: str, rows: dict[str, list[Any]]):
    pandas, formulas = pytest.importorskip("pandas"), pytest.importorskip("statsmodels.formula.api")
    return formulas.ols(formula, pandas.DataFrame(rows)).fit()


def test_a_complete_crossing_is_as_in_statsmodels():
    """Without separate embeddings all cells exist, and every type of sums of squares is the same."""
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    table = table_of(effect).without("sharing", "sep-emb")
    wanted = anova(fitted("y ~ sharing * anchors * order * domain + C(block)", as_rows(table)))
    found = analyze(table, resamples=10)
    for term in found.terms:
        if term.name == HIGHER:
            rows = [name for name in wanted.index if name.count(":") >= 2]
            assert (term.freedom, term.sum_squares) == pytest.approx(
                (wanted.loc[rows, "df"].sum(), wanted.loc[rows, "sum_sq"].sum())
            )
            continue
        row = wanted.loc[{"block": "C(block)", "residual": "Residual"}.get(term.name, term.name)]
        assert (term.freedom, term.sum_squares) == pytest.approx((row["df"], row["sum_sq"]))
        assert term.eta == pytest.approx(row["sum_sq"] / wanted["sum_sq"].sum())
        if term.name not in {"block", "residual"}:
            assert term.name != OVERLAP
            assert (term.f, term.p) == pytest.approx((row["F"], row["PR(>F)"]), rel=1e-8)


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
def test_the_study_s_crossing_is_as_in_statsmodels():
    """Type II by its definition: the fit with the term against the fit without, for every term of the 42 cells."""
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    table = table_of(effect, seed=1)
    rows = as_rows(table)
    found = analyze(table, resamples=10)
    names = [*FACTORS, *map(":".join, combinations(FACTORS, 2))]
    for name in names:
        others = [other for other in names if not set(name.split(":")) <= set(other.split(":"))]
        fits = [fitted(f"y ~ {' + '.join([*terms, 'C(block)'])}", rows) for terms in (others, [*others, name])]
        compared = anova(*fits).iloc[1]
        term = found.term(*name.split(":"))
        assert (term.freedom, term.sum_squares) == pytest.approx((compared["df_diff"], compared["ss_diff"]))
    cells = fitted("y ~ sharing:anchors:order:domain + C(block)", rows)
    assert (found.terms[-1].freedom, found.terms[-1].sum_squares) == pytest.approx((cells.df_resid, cells.ssr))
    # 7 + 16 + 18 between cells, of 41: what sharing and anchors have in common has no degree of freedom of its own
    assert sum(term.freedom for term in found.terms) == 42 * 8 - 1
    assert sum(term.eta for term in found.terms) == pytest.approx(1)
    assert found.term(OVERLAP).eta > 0.01


# --- planted effects, and none ---


def test_planted_effects_are_found_where_they_are():
    found = analyze(table_of(effect, noise=0.5))
    strong = {term.name for term in found.terms if term.p < 1e-4}
    assert strong == {"sharing", "anchors", "order", "anchors:order"}
    assert all(found.term(*name.split(":")).interval[0] > 0 for name in strong)
    assert found.term("domain").interval[0] == 0
    largest = max(found.terms[:-2], key=lambda term: term.omega)
    assert largest.name == "anchors"


def test_shares_without_noise_are_those_of_the_effects():
    """Two effects of 3 : 1 in sums of squares, on a complete crossing: shares of 0.75 and 0.25, and nothing else."""
    cells = tuple({"anchors": a, "order": o} for a in ("none", "all") for o in ("same", "mirrored"))
    means = np.array([(3**0.5 if c["anchors"] == "all" else 0) + (1 if c["order"] == "mirrored" else 0) for c in cells])
    found = analyze(BlockedTable(cells, BLOCKS, np.repeat(means[:, None], 8, axis=1)))
    assert [round(term.omega, 9) for term in found.terms[:3]] == [0.75, 0.25, 0.0]
    assert [term.p for term in found.terms[:2]] == [0.0, 0.0]


def test_without_effects_five_in_a_hundred_are_found():
    """2,000 experiments at once; the standard error of a rate of 5 % is 0.5 points."""
    bases = term_bases(table_of())
    stream = np.random.default_rng(0)
    sums, residual, _, _ = sums_of_squares(stream.normal(size=(2000, 42, 8)) + stream.normal(size=(2000, 1, 8)), bases)
    for name, basis in bases.items():
        f = (sums[name] / basis.shape[1]) / (residual / 287)
        rate = (f > stats.f.isf(0.05, basis.shape[1], 287)).mean()
        assert 0.03 < rate < 0.07, name


def test_a_contrast_keeps_its_level_where_cells_differ_in_their_errors():
    stream = np.random.default_rng(1)
    spread = np.linspace(0.01, 3, 42)[:, None]
    weights = np.array([1.0, -1.0] * 21)
    found = [
        contrast(BlockedTable(DESIGN, BLOCKS, spread * stream.normal(size=(42, 8))), weights.tolist(), "c")
        for _ in range(600)
    ]
    assert 0.03 < np.mean([one.p < 0.05 for one in found]) < 0.075
    assert 0.03 < np.mean([one.p_flips < 0.05 for one in found]) < 0.075
    assert np.mean([one.interval[0] <= 0 <= one.interval[1] for one in found]) == np.mean(
        [one.p >= 0.05 for one in found]
    )


def test_intervals_cover_the_share_that_was_planted():
    """At 8 blocks; plain percentiles cover it in 86 to 90 % of experiments."""
    cells = tuple(cell for cell in DESIGN if cell["sharing"] == "all" and cell["domain"] == "same")
    means = np.array([effect(cell) for cell in cells])
    bases = term_bases(table_of(cells=cells))
    total = means.var() + 0.5**2 + 1
    covered = []
    for seed in range(120):
        found = analyze(table_of(effect, seed=seed, cells=cells), resamples=200).term("anchors")
        share = ((means @ bases["anchors"]) ** 2).sum() / len(cells) / total
        covered.append(found.interval[0] <= share <= found.interval[1])
    assert np.mean(covered) > 0.9


# --- contrasts and means ---


def test_a_contrast_is_a_paired_t_test():
    table = table_of(effect, seed=3)
    weights = [0.0] * 42
    weights[4], weights[9] = 1.0, -1.0
    found = contrast(table, weights, "one cell against another")
    wanted = stats.ttest_rel(table.values_CB[4], table.values_CB[9])
    assert (found.t, found.p) == pytest.approx((wanted.statistic, wanted.pvalue))
    assert found.interval == pytest.approx(wanted.confidence_interval(0.95))
    flips = stats.permutation_test(
        (table.values_CB[4], table.values_CB[9]),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert found.p_flips == pytest.approx(flips.pvalue)


def test_levels_are_compared_on_cells_that_all_of_them_have():
    table = BlockedTable(DESIGN, BLOCKS, np.repeat(np.array([effect(cell) for cell in DESIGN])[:, None], 8, axis=1))
    assert [(one.levels, round(one.mean, 9)) for one in level_means(table, "sharing")] == [
        (("all",), 0.8),
        (("sep-emb",), 0.0),
        (("all-but-top",), 0.0),
    ]
    means = {one.levels: one.mean for one in level_means(table, "anchors", "order")}
    assert means["fifth", "mirrored"] - means["fifth", "same"] == pytest.approx(1.0)
    assert means["none", "mirrored"] - means["none", "same"] == pytest.approx(0.0)
    nested = ({"sharing": "all", "anchors": "none"}, {"sharing": "sep-emb", "anchors": "fifth"})
    with raises("input.empty"):
        level_means(BlockedTable(nested, BLOCKS, np.zeros((2, 8))), "sharing")


def test_blocks_in_common_do_not_widen_the_interval_of_a_level():
    table = table_of(effect, noise=1e-6)
    shifted = BlockedTable(table.cells, BLOCKS, table.values_CB + 100 * np.arange(8))
    assert all(high - low < 1e-5 for low, high in (one.interval for one in level_means(shifted, "order")))


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        (np.zeros((42, 7)), DESIGN),
        (np.full((42, 8), np.nan), DESIGN),
        (np.zeros((42, 8)), (DESIGN[0], *DESIGN[:41])),
    ],
)
def test_a_table_that_is_not_whole_is_refused(values: np.ndarray, cells):
    with pytest.raises(InputError):
        BlockedTable(cells, BLOCKS, values)


def test_weights_that_compare_nothing_are_refused():
    for weights in ([1.0] * 42, [0.0] * 42, [1.0, -1.0]):
        with raises("input.out-of-range", "'c'"):
            contrast(table_of(), weights, "c")
