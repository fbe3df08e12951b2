"""From the numbers of trained cells to the outcomes of the study and their analysis.

Two outcomes: ``p1``, sentence retrieval at the end of training, and ``tokens``, how much text it took to reach a
threshold. The layer is chosen at each moment on other sentences than it is scored on.

**Censoring.** Every run has the same budget. A run that does not reach the threshold counts with the whole budget, one
that is above it at the first measurement counts with that moment, and the logarithm of this number is analyzed: the
restricted time, which is known for every run, so that nothing is imputed and no run is left out. Its means are lower
bounds where runs end too early; the share of such runs is reported for every cell.

**The contrast that was stated before any run**: does overlap help more where word order differs? K et al. (2020) and Wu
et al. (2020) found that overlap hardly matters; Deshpande et al. (2022) that it does where word order differs. It is
the gain of one word in five over none, with another word order (mean of verb-last and mirrored) less with the same,
over the plans that share ids and the domains. ``all`` has no part in it: there an untrained encoder finds nearly
every pair by its spelling. At one word in five it finds some, about as many in one word order as in another, which
cancels. All other p-values are exploratory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, log2
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import InputError
from isoglot.core.table import Column, Table
from isoglot.study.factorial.design import CELLS, FACTORS, FactorialCell
from isoglot.study.factorial.variance import (
    RESAMPLES,
    BlockedTable,
    Contrast,
    LevelMean,
    VarianceAnalysis,
    analyze,
    contrast,
    level_means,
)
from isoglot.study.tables.layer_tables import Censored, tokens_to_threshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.study.numbers import Numbers

TEST_P1, DEV_P1 = "sentence_p1", "sentence_p1_dev"
"""Measures of a trained cell: P@1 of a layer on the test sentences, and on those that choose the layer."""
THRESHOLD = 0.2
"""P@1 above what an untrained encoder finds where one word in five is an anchor."""
STATED = "gain of one word in five over no anchors: another word order less the same"


@dataclass(frozen=True, kw_only=True)
class CellRun:
    """A cell in a block: P@1 of its encoder over training.

    Attributes:
        cell: The cell.
        seed: The block.
        moments: Tokens and P@1 of the chosen layer, by tokens; 0 tokens where the untrained encoder was measured.
    """

    cell: FactorialCell
    seed: int
    moments: tuple[tuple[int, float], ...]

    @property
    def p1(self) -> float:
        """P@1 at the end."""
        return self.moments[-1][1]

    @property
    def untrained(self) -> float | None:
        """P@1 of the untrained encoder: what spelling alone finds."""
        return self.moments[0][1] if self.moments[0][0] == 0 else None

    def tokens_to(self, threshold: float) -> tuple[float, Censored]:
        """Tokens until P@1 reaches a threshold for the first time, and how that is censored.

        >>> run = CellRun(cell=CELLS[0], seed=0, moments=((0, 0.0), (1000, 0.1), (4000, 0.3)))
        >>> run.tokens_to(0.2)
        (2000.0, '')
        """
        return tokens_to_threshold(self.moments, threshold)


def runs_of(numbers: Numbers) -> list[CellRun]:
    """The runs that numbers are of, with the layer of every moment chosen by :data:`DEV_P1`.

    Raises:
        InputError: A moment has no number to choose the layer by, or a run has no measurement after training.
    """
    found: dict[tuple[FactorialCell, int], dict[int, dict[int, dict[str, float]]]] = {}
    for number in numbers:
        if number.measure in (TEST_P1, DEV_P1):
            at = number.at
            cell = FactorialCell(**{factor: at[factor] for factor in FACTORS})  # type: ignore[arg-type]
            moment = found.setdefault((cell, int(at["seed"])), {}).setdefault(int(at["tokens"]), {})
            moment.setdefault(int(at["layer"]), {})[number.measure] = number.value
    runs = []
    for (cell, seed), moments in found.items():
        if not any(moments):
            raise InputError(f"{cell.name}, seed {seed}: measured before training only", "train it", "too-few")
        for tokens, layers in moments.items():
            if any(len(values) < 2 for values in layers.values()):
                problem = f"{cell.name}, seed {seed}, {tokens} tokens: {TEST_P1} or {DEV_P1} is missing"
                remedy = "give both for every layer"
                raise InputError(problem, remedy, "too-few")
        curve = tuple((tokens, _chosen(moments[tokens])) for tokens in sorted(moments))
        runs.append(CellRun(cell=cell, seed=seed, moments=curve))
    return runs


def _chosen(layers: dict[int, dict[str, float]]) -> float:
    """P@1 of the layer that does best on the other sentences; the lowest of several."""
    best = max(sorted(layers), key=lambda layer: layers[layer][DEV_P1])
    return layers[best][TEST_P1]


# --- the analysis ---


@dataclass(frozen=True, kw_only=True)
class OutcomeAnalysis:
    """The analysis of one outcome.

    Attributes:
        outcome: ``p1``: P@1 from 0 to 1; ``tokens``: log2 of tokens to the threshold, restricted to the measured span.
        table: The outcome of every cell in every block.
        variance: Its analysis of variance.
        without_all: The same without the cells in which all words are anchors, where spelling finds the pairs; None if
            there are no such cells.
        stated: The contrast that was stated before any run.
        interaction: Means of anchors by word order, over the plans that share ids.
    """

    outcome: Literal["p1", "tokens"]
    table: BlockedTable
    variance: VarianceAnalysis
    without_all: VarianceAnalysis | None
    stated: Contrast
    interaction: tuple[LevelMean, ...]


@dataclass(frozen=True, kw_only=True)
class FactorialResult:
    """Analysis of the factorial study.

    Attributes:
        seeds: Blocks in which every cell was trained.
        left_out: Blocks that lack a cell.
        budget: Tokens an encoder was trained on.
        threshold: P@1 whose first crossing is timed.
        p1: Analysis of P@1 at the end.
        tokens: Analysis of the tokens to the threshold.
        untrained: P@1 of untrained encoders by anchors and word order; empty where they were not measured.
        censored: For every cell the share of runs that never reached the threshold, and of those that began above it.
    """

    seeds: tuple[int, ...]
    left_out: tuple[int, ...]
    budget: int
    threshold: float
    p1: OutcomeAnalysis
    tokens: OutcomeAnalysis
    untrained: tuple[LevelMean, ...]
    censored: dict[str, dict[str, float]]

    def share_censored(self, how: Literal["never", "before"]) -> float:
        """The share of all runs."""
        return sum(shares[how] for shares in self.censored.values()) / len(self.censored)


def analyze_factorial(
    numbers: Numbers, *, threshold: float = THRESHOLD, seed: int = 0, resamples: int = RESAMPLES
) -> FactorialResult:
    """Analyze both outcomes over the blocks that have every cell that any block has.

    Args:
        numbers: Of :data:`TEST_P1` and :data:`DEV_P1`, with the coordinates of a cell, seed, layer and tokens.
        threshold: P@1 whose first crossing is timed.
        seed: For the bootstrap.
        resamples: Bootstrap resamples of the intervals of shares.

    Raises:
        InputError: Fewer than two blocks have all cells, the cells lack those of the stated contrast, or runs differ in
            their numbers of tokens.
    """
    runs = {(run.cell, run.seed): run for run in runs_of(numbers)}
    cells, seeds, whole = _whole_blocks(runs)
    if len(whole) < 2:
        problem = f"{len(whole)} of {len(seeds)} seeds have all {len(cells)} cells"
        remedy = "an analysis over blocks needs at least 2: run the missing cells"
        raise InputError(problem, remedy, "too-few")
    by_cell = [[runs[cell, one] for one in whole] for cell in cells]
    ends = {run.moments[-1][0] for row in by_cell for run in row}
    if len(ends) > 1:
        problem = f"encoders were trained on {min(ends):,} to {max(ends):,} tokens"
        remedy = "compare runs of one budget"
        raise InputError(problem, remedy, "other-data")
    p1 = [[run.p1 for run in row] for row in by_cell]
    timed = [[run.tokens_to(threshold) for run in row] for row in by_cell]
    logs = [[log2(tokens) for tokens, _ in row] for row in timed]
    floors = [[run.untrained for run in row] for row in by_cell]
    known = [[floor for floor in row if floor is not None] for row in floors]
    return FactorialResult(
        seeds=tuple(whole),
        left_out=tuple(one for one in seeds if one not in whole),
        budget=ends.pop(),
        threshold=threshold,
        p1=_analyzed("p1", _table(cells, whole, p1), seed, resamples),
        tokens=_analyzed("tokens", _table(cells, whole, logs), seed, resamples),
        untrained=level_means(_table(cells, whole, known), "anchors", "order") if known == floors else (),
        censored={
            cell.name: {how: sum(one == how for _, one in row) / len(row) for how in ("never", "before")}
            for cell, row in zip(cells, timed, strict=True)
        },
    )


def _whole_blocks(runs: Iterable[tuple[FactorialCell, int]]) -> tuple[list[FactorialCell], list[int], list[int]]:
    """The cells of a study, its blocks, and the blocks that have all of its cells."""
    there = set(runs)
    trained = {cell for cell, _ in there}
    cells = [cell for cell in CELLS if cell in trained]
    seeds = sorted({one for _, one in there})
    return cells, seeds, [one for one in seeds if all((cell, one) in there for cell in cells)]


def stated_weights(table: BlockedTable) -> list[float]:
    """The weights of the stated contrast.

    Raises:
        InputError: There are not its cells: with and without anchors, in the same and in another word order.
    """
    gain = {"none": -1.0, "fifth": 1.0}
    mine = [cell for cell in table.cells if cell["sharing"] != "sep-emb" and cell["anchors"] in gain]
    orders = {cell["order"] for cell in mine}
    arms = {(cell["sharing"], cell["domain"]) for cell in mine}
    if len(orders) < 2 or "same" not in orders or len(mine) < 2 * len(orders) * len(arms):
        problem = "the stated contrast lacks some of its cells"
        remedy = "run no anchors and one word in five, each in the same word order and in another"
        raise InputError(problem, remedy, "too-few")
    order = {one: -1.0 if one == "same" else 1 / (len(orders) - 1) for one in orders}
    return [gain[cell["anchors"]] * order[cell["order"]] / len(arms) if cell in mine else 0.0 for cell in table.cells]


def _table(cells: Sequence[FactorialCell], seeds: Sequence[int], values: Sequence[Sequence[float]]) -> BlockedTable:
    import numpy as np

    levels = tuple({name: str(level) for name, level in cell.levels.items()} for cell in cells)
    return BlockedTable(levels, tuple(seeds), np.array(values, dtype=float))


def _analyzed(outcome: Literal["p1", "tokens"], table: BlockedTable, seed: int, resamples: int) -> OutcomeAnalysis:
    without_all, cells = table.without("anchors", "all"), len(table.cells)
    return OutcomeAnalysis(
        outcome=outcome,
        table=table,
        variance=analyze(table, seed=seed, resamples=resamples),
        without_all=analyze(without_all, seed=seed, resamples=resamples) if len(without_all.cells) < cells else None,
        stated=contrast(table, stated_weights(table), STATED),
        interaction=level_means(table.without("sharing", "sep-emb"), "anchors", "order"),
    )


# --- tables ---


def factorial_table(numbers: Numbers, *, threshold: float = THRESHOLD) -> Table:
    """The table of variances of P@1 with the stated contrast; before two blocks are complete, the cells so far."""
    try:
        result = analyze_factorial(numbers, threshold=threshold)
    except InputError as error:
        if error.code != "input.too-few":
            raise
        return cell_table(runs_of(numbers), threshold=threshold)
    stated = result.p1.stated
    low, high = (100 * value for value in stated.interval)
    points = f"{100 * stated.estimate:+.1f} points [{low:+.1f}, {high:+.1f}], t = {stated.t:.2f}, p = {stated.p:.2g}"
    return replace(
        variance_table(result.p1.variance, f"Variance of P@1 over {len(result.seeds)} seeds"),
        footnotes=(f"Stated beforehand: {stated.name}: {points}.",),
    )


def cell_table(runs: Sequence[CellRun], *, threshold: float = THRESHOLD) -> Table:
    """Means over seeds of every cell that has been trained."""
    rows = []
    for cell in CELLS:
        mine = [run for run in runs if run.cell == cell]
        if mine:
            floors = [run.untrained for run in mine if run.untrained is not None]
            timed = [run.tokens_to(threshold) for run in mine]
            rows.append(
                {
                    **cell.levels,
                    "seeds": len(mine),
                    "untrained": sum(floors) / len(floors) if floors else None,
                    "p1": sum(run.p1 for run in mine) / len(mine),
                    "tokens": 2 ** (sum(log2(tokens) for tokens, _ in timed) / len(timed)),
                    "never": sum(how == "never" for _, how in timed),
                }
            )
    return Table.from_rows(
        rows,
        [
            *FACTORS,
            "seeds",
            Column("untrained", unit="%", scale=100, format=".1f"),
            Column("p1", title="P@1", unit="%", scale=100, format=".1f"),
            Column(
                "tokens",
                title=f"tokens to {100 * threshold:.0f} %",
                unit="M",
                scale=1e-6,
                format=".2f",
                note="geometric mean; a run that never reaches it counts with its whole budget",
            ),
            Column("never", title="never reached"),
        ],
    )


def variance_table(analysis: VarianceAnalysis, caption: str = "") -> Table:
    """The table of variances, with shares in percent."""
    rows = [
        {
            "term": term.name,
            "df": term.freedom,
            "sum_squares": term.sum_squares,
            "f": None if isnan(term.f) else term.f,
            "p": None if isnan(term.p) else term.p,
            "eta": term.eta,
            "omega": None if isnan(term.omega) else term.omega,
            "omega_low": None if isnan(term.omega) else term.interval[0],
            "omega_high": None if isnan(term.omega) else term.interval[1],
        }
        for term in analysis.terms
    ]
    return Table.from_rows(
        rows,
        [
            Column("term"),
            Column("df"),
            Column("sum_squares", format=".4g"),
            Column("f", title="F", format=".2f"),
            Column("p", format=".2g", note="exploratory: only the contrast was stated beforehand"),
            Column("eta", title="η²", unit="%", scale=100, format=".1f"),
            Column("omega", title="ω²", unit="%", scale=100, format=".1f", note="95 % bootstrap interval over blocks"),
        ],
        caption=caption,
    )
