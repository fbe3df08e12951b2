"""From trained cells to the stated contrast."""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pytest

from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError, InputError
from isoglot.study.factorial.design import CELLS, FactorialCell
from isoglot.study.factorial.outcomes import (
    DEV_P1,
    TEST_P1,
    CellRun,
    analyze_factorial,
    outcome_numbers,
    runs_of,
    variance_table,
)
from isoglot.study.factorial.training import FactorialConfig, train_cell
from isoglot.study.numbers import Number, Numbers

MOMENTS = (0, 1000, 2000, 4000)


def made_up(extra: float = 0.0, *, seeds: int = 4, noise: float = 0.02, cells=CELLS) -> Numbers:
    """Runs that rise to 0.3, and with one word in five to 0.4, and by ``extra`` more where word order differs."""
    stream = np.random.default_rng(7)
    numbers = []
    for seed in range(seeds):
        block = 0.05 * stream.normal()
        for cell in cells:
            end = {"none": 0.3, "fifth": 0.4, "all": 0.98}[cell.anchors] + block + noise * stream.normal()
            end += extra * (cell.anchors == "fifth" and cell.order != "same") - 0.1 * (cell.sharing == "sep-emb")
            floor = {"none": 0.0, "fifth": 0.15, "all": 0.97}[cell.anchors]
            for tokens in MOMENTS:
                value = floor + (end - floor) * tokens / MOMENTS[-1]
                at = {"arm": cell.name, **cell.levels, "seed": seed, "tokens": tokens}
                for layer, share in ((0, 0.5), (1, 1.0)):
                    numbers += [Number(measure, share * value, at | {"layer": layer}) for measure in (TEST_P1, DEV_P1)]
    return Numbers(numbers)


def test_the_stated_contrast_finds_what_was_planted_and_nothing_where_there_is_nothing():
    found, none = (analyze_factorial(made_up(extra)) for extra in (0.1, 0.0))
    assert found.p1.stated.interval[0] < 0.1 < found.p1.stated.interval[1]
    assert found.p1.stated.p < 0.01
    assert none.p1.stated.p > 0.05
    assert found.p1.variance.term("anchors", "order").p < 0.001 < none.p1.variance.term("anchors", "order").p
    assert found.tokens.stated.estimate < -0.1  # sooner
    assert found.p1.without_all.cells == 30
    means = {one.levels: one.mean for one in found.untrained}
    assert means["fifth", "mirrored"] == pytest.approx(0.15)


def test_the_contrast_is_a_difference_of_differences():
    """Of cell means alone: (fifth - none with other orders) - (fifth - none with the same)."""
    result = analyze_factorial(made_up(0.1))
    mean = {one.levels: one.mean for one in result.p1.interaction}
    gains = {order: mean["fifth", order] - mean["none", order] for order in ("same", "verb-last", "mirrored")}
    assert result.p1.stated.estimate == pytest.approx((gains["verb-last"] + gains["mirrored"]) / 2 - gains["same"])


def test_a_threshold_that_is_never_reached_or_always():
    result = analyze_factorial(made_up(noise=0.0), threshold=0.5)
    assert {how: result.share_censored(how) for how in ("never", "before")} == {"never": 30 / 42, "before": 12 / 42}
    assert result.censored["all_none_same_same"] == {"never": 1.0, "before": 0.0}
    assert set(result.tokens.table.values_CB.ravel()) == {log2(1000), log2(4000)}
    numbers = outcome_numbers(result).select("tokens_to_threshold", anchors="all", order="same")
    assert {number.value for number in numbers} == {1000.0}


def test_the_layer_is_chosen_on_other_sentences():
    at = {**CELLS[0].levels, "seed": 0, "tokens": 10}
    numbers = [
        Number(measure, value, at | {"layer": layer})
        for layer, (dev, test) in enumerate(((0.1, 0.9), (0.4, 0.2), (0.4, 0.6)))
        for measure, value in ((DEV_P1, dev), (TEST_P1, test))
    ]
    assert runs_of(Numbers(numbers)) == [CellRun(cell=CELLS[0], seed=0, moments=((10, 0.2),))]
    with pytest.raises(InputError, match="sentence_p1_dev"):
        runs_of(Numbers(numbers[1:]))


def test_a_block_that_lacks_a_cell_is_left_out():
    numbers = made_up(seeds=3)
    short = Numbers(one for one in numbers if (one.at["arm"], one.at["seed"]) != (CELLS[7].name, 1))
    result = analyze_factorial(short)
    assert (result.seeds, result.left_out) == ((0, 2), (1,))
    with pytest.raises(InputError, match="1 of 2 seeds have all 42 cells"):
        analyze_factorial(Numbers(one for one in short if one.at["seed"] != 2))
    longer = Numbers(
        [
            *numbers,
            *(Number(m, 0.5, {**CELLS[0].levels, "seed": 0, "layer": 0, "tokens": 9000}) for m in (TEST_P1, DEV_P1)),
        ]
    )
    with pytest.raises(InputError, match="4,000 to 9,000 tokens"):
        analyze_factorial(longer)


def test_the_table_of_variances():
    table = variance_table(analyze_factorial(made_up()).p1.variance)
    assert [row[0] for row in table.rows[:2]] == ["sharing", "anchors"]
    assert "residual" in table.text()


def test_a_cell_is_trained_from_text_to_numbers(tmp_path: Path):
    cell = FactorialCell(sharing="all-but-top", anchors="fifth", order="verb-last", domain="other")
    config = FactorialConfig(sentences=1500, pieces=400, tested=20, budget="4steps")
    numbers = train_cell(cell, tmp_path / "run", config, seed=1, device="cpu")
    (run,) = runs_of(numbers)
    assert (run.cell, run.seed) == (cell, 1)
    assert [tokens for tokens, _ in run.moments] == [0, 4 * 64 * 30]
    assert numbers.select("anchors").one.value > 20
    assert all(1 < number.value < 4 for number in numbers.select("fertility"))


def test_a_budget_of_time_would_let_cells_read_unequal_text():
    with pytest.raises(ConfigError, match="tokens or steps"):
        build_config(FactorialConfig, values={"budget": "20s"})
