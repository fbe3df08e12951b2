"""From trained cells to the stated contrast."""

from __future__ import annotations

from collections import Counter
from math import log2
from pathlib import Path

import numpy as np
import pytest

from isoglot.core.progress import SILENT
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData
from isoglot.study.factorial.design import CELLS
from isoglot.study.factorial.outcomes import (
    DEV_P1,
    TEST_P1,
    CellRun,
    analyze_factorial,
    factorial_table,
    runs_of,
    variance_table,
)
from isoglot.study.numbers import Number, Numbers
from isoglot.study.recipe import load_study
from isoglot.study.study import Study
from isoglot.study.tables.results import result_table
from tests.errors import raises

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
    found, none = (analyze_factorial(made_up(extra), threshold=0.25, resamples=100) for extra in (0.1, 0.0))
    assert found.p1.stated.interval[0] < 0.1 < found.p1.stated.interval[1]
    assert found.p1.stated.p < 0.01
    assert none.p1.stated.p > 0.05
    assert found.p1.variance.term("anchors", "order").p < 0.001 < none.p1.variance.term("anchors", "order").p
    assert found.tokens.stated.estimate < -0.1  # sooner
    assert found.p1.without_all is not None
    assert found.p1.without_all.cells == 30
    means = {one.levels: one.mean for one in found.untrained}
    assert means["fifth", "mirrored"] == pytest.approx(0.15)


def test_the_contrast_is_a_difference_of_differences():
    """Of cell means alone: (fifth - none with other orders) - (fifth - none with the same)."""
    result = analyze_factorial(made_up(0.1), resamples=100)
    mean = {one.levels: one.mean for one in result.p1.interaction}
    gains = {order: mean["fifth", order] - mean["none", order] for order in ("same", "verb-last", "mirrored")}
    assert result.p1.stated.estimate == pytest.approx((gains["verb-last"] + gains["mirrored"]) / 2 - gains["same"])


def test_a_threshold_that_is_never_reached_or_always():
    result = analyze_factorial(made_up(noise=0.0), threshold=0.5, resamples=100)
    assert {how: result.share_censored(how) for how in ("never", "before")} == {"never": 30 / 42, "before": 12 / 42}
    assert result.censored["all_none_same_same"] == {"never": 1.0, "before": 0.0}
    assert set(result.tokens.table.values_CB.ravel()) == {log2(1000), log2(4000)}


def test_the_layer_is_chosen_on_other_sentences():
    at = {**CELLS[0].levels, "seed": 0, "tokens": 10}
    numbers = [
        Number(measure, value, at | {"layer": layer})
        for layer, (dev, test) in enumerate(((0.1, 0.9), (0.4, 0.2), (0.4, 0.6)))
        for measure, value in ((DEV_P1, dev), (TEST_P1, test))
    ]
    assert runs_of(Numbers(numbers)) == [CellRun(cell=CELLS[0], seed=0, moments=((10, 0.2),))]
    with raises("input.too-few", "sentence_p1_dev"):
        runs_of(Numbers(numbers[1:]))


def test_a_block_that_lacks_a_cell_is_left_out():
    numbers = made_up(seeds=3)
    short = Numbers(one for one in numbers if (one.at["arm"], one.at["seed"]) != (CELLS[7].name, 1))
    result = analyze_factorial(short, resamples=100)
    assert (result.seeds, result.left_out) == ((0, 2), (1,))
    with raises("input.too-few", 1, 2, 42):
        analyze_factorial(Numbers(one for one in short if one.at["seed"] != 2))
    longer = Numbers(
        [
            *numbers,
            *(Number(m, 0.5, {**CELLS[0].levels, "seed": 0, "layer": 0, "tokens": 9000}) for m in (TEST_P1, DEV_P1)),
        ]
    )
    with raises("input.other-data", "4,000", "9,000"):
        analyze_factorial(longer)


def test_the_table_of_variances():
    numbers = made_up()
    table = factorial_table(numbers)
    assert table.columns == variance_table(analyze_factorial(numbers, resamples=100).p1.variance).columns
    assert [row[0] for row in table.rows[:2]] == ["sharing", "anchors"]
    assert "Stated beforehand" in table.footnotes[0]
    cells = factorial_table(Numbers(one for one in numbers if one.at["seed"] == 0))
    assert len(cells.rows) == 42


# --- as a study ---

TINY = ("tokens=2000", "moments=1", "builtin_sentences=1000", "pairs=20", "settings.model.layers=2")


def options(*arms: str, seeds: int | None = None) -> StudyOptions:
    return StudyOptions(scale="nano", scale_settings=TINY, arms=arms, seeds=seeds)


def test_a_block_is_42_encoders_on_19_texts():
    """English is one text; the twin has one for each of 9 shares and orders and 2 domains, whatever is shared."""
    assert load_study("factorial")[1].seeds == 8
    built = build_study("factorial", StudyData(), options(seeds=1))
    kinds = Counter(step.kind for step in built.steps)
    assert kinds == {"twin-text": 19, "vocabulary": 18, "shards": 36, "pretrain": 84, "twin-retrieval": 42}
    trained = [step for step in built.steps if step.kind == "pretrain" and step.tokens]
    assert len({step.tokens for step in trained}) == 1
    configs = [step.settings["config"] for step in trained]
    assert all(config["masking"]["random_from"] == "language" for config in configs)
    differ = [{**config, "model": {**config["model"], "plan": ""}} for config in configs]
    assert all(config == differ[0] for config in differ)
    assert {config["model"].get("plan", "default") for config in configs} == {"default", "sep-emb", "2"}


def test_a_cell_is_trained_from_text_to_numbers(tmp_path: Path):
    """In this process, step by step."""
    name = "all-but-top_fifth_verb-last_other"
    study = Study.create(tmp_path, build_study("factorial", StudyData(), options(name, seeds=1)))
    for step in study.steps.values():
        study.store.run(step, device="cpu", progress=SILENT)
    (run,) = runs_of(study.numbers())
    assert (run.cell.name, run.seed) == (name, 0)
    assert run.moments[-1][0] == study.numbers().select("training_tokens").one.value
    assert run.untrained is not None
    (row,) = result_table(study).rows
    assert row[:4] == ("all-but-top", "fifth", "verb-last", "other")


def test_an_unknown_cell_is_refused():
    with raises("config.unknown-name", "all_none_same_same"):
        build_study("factorial", StudyData(), options("all_none_same_sane"))
