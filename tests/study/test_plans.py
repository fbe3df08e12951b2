"""Studies of a user's own: arms in a TOML file, tests between them, arms that are too young."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData, study_data
from isoglot.study.numbers import Coordinate, Number, Numbers
from isoglot.study.recipe import load_study
from isoglot.study.study import Study
from isoglot.study.tables.arm_tests import arm_differences, arm_table, paired_test, young_arms
from tests.errors import raises

PLAN = """
title = "Mine"
measures = ["retrieval"]
pairs = ["en-de"]
scale = "nano"
budget = "3000tokens"
data = {text = {en = "en.txt", de = "de.txt"}, parallel = {en-de = "pairs.tsv"}}

[arms.one]
[arms.two]
recipe = "micro"
settings = {batch = {size = 16}}
"""


class Measured(Study):
    """A study whose numbers are given."""

    def __init__(self, given: list[Number], **about: object) -> None:
        super().__init__(Path("none"), {"arms": {"a": "A", "b": "B"}, "baseline": "a", **about}, [], [])
        self.given = given

    def numbers(self) -> Numbers:
        return Numbers(self.given)


def scores(arm: str, values: list[float], draws: np.ndarray | None = None, **at: str) -> list[Number]:
    """NER scores of an arm, one a seed."""
    return [
        Number(
            "ner",
            value,
            {"arm": arm, "pair": "en-de", "language": "de", "seed": seed, **at},
            () if draws is None else tuple((value + draws).tolist()),
            "" if draws is None else "items",
        )
        for seed, value in enumerate(values)
    ]


def test_without_test_items_it_is_the_paired_t_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    for count in (2, 3, 8):
        ones, others = rng.normal(1, 1, count), rng.normal(0, 1, count)
        value, half, p = paired_test(ones.tolist(), others.tolist())
        theirs = stats.ttest_rel(ones, others)
        assert p == pytest.approx(theirs.pvalue, rel=1e-6)
        low, high = theirs.confidence_interval(0.95)
        assert (value - half, value + half) == pytest.approx((low, high), rel=1e-6)


def test_one_seed_is_tested_over_items_alone() -> None:
    draws = np.random.default_rng(0).normal(0, 2, (1, 2000))
    value, half, p = paired_test([5.0], [1.0], draws)
    assert value == 4.0
    assert half == pytest.approx(1.96 * draws.std(), rel=1e-3)
    assert 0.03 < p < 0.06


def test_the_false_positive_rate_is_that_of_the_level() -> None:
    # Items and seeds vary, arms do not differ: 5 % of tests may say so.
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(600):
        items = rng.normal(0, 1, 100)  # effect of every item on the difference, for all seeds
        seeds = rng.normal(0, 0.15, 4)
        per_seed = items[None] + seeds[:, None] + rng.normal(0, 1, (4, 100))
        drawn = rng.multinomial(100, [0.01] * 100, size=200)
        draws_SR = per_seed @ drawn.T / 100
        wrong += paired_test(per_seed.mean(axis=1).tolist(), [0.0] * 4, draws_SR)[2] < 0.05
    assert wrong / 600 < 0.07


def test_p_values_are_corrected_over_the_table() -> None:
    noise = np.random.default_rng(0).normal(0, 1, 200)
    numbers = [*scores("a", [50.0, 51.0, 50.5], noise), *scores("b", [60.0, 61.2, 60.4], noise)]
    english = [Number(one.measure, 70.0 + one.value / 1e3, {**one.at, "language": "en"}) for one in numbers]
    german, other = arm_differences(Measured(numbers + english))
    assert german.verdict == "higher"
    assert german.value == pytest.approx(10.0333, abs=1e-3)
    small, large = sorted([german, other], key=lambda one: one.p)
    assert small.corrected == pytest.approx(2 * small.p)
    assert large.corrected == pytest.approx(max(2 * small.p, large.p))


def test_items_that_differ_are_not_paired() -> None:
    noise = np.random.default_rng(0).normal(0, 1, 200)
    others = [Number(one.measure, one.value, one.at, one.draws, "other items") for one in scores("b", [60.0], noise)]
    (found,) = arm_differences(Measured([*scores("a", [50.0], noise), *others]))
    assert np.isnan(found.p)
    assert found.verdict == "undecided"
    assert "One seed" in arm_table(Measured([*scores("a", [50.0], noise), *others])).text()


def test_arms_at_their_floor_or_still_learning_are_too_young() -> None:
    floor = scores("a", [40.0], variant="untrained")
    assert young_arms(Measured([*scores("a", [60.0]), *floor])) == []
    (warning,) = young_arms(Measured([*scores("a", [45.0]), *floor]))
    assert "untrained" in warning

    def curve(end: float) -> list[Number]:
        at: dict[str, Coordinate] = {"arm": "a", "pair": "en-de", "seed": 0, "language": "en"}
        values = {25: 300.0, 50: 100.0, 100: end}
        return [Number("perplexity_over_training", value, {**at, "tokens": n}) for n, value in values.items()]

    at: dict[str, Coordinate] = {"arm": "a", "pair": "en-de", "seed": 0, "language": "en"}
    for perplexity, warnings in ((50.0, 0), (500.0, 1)):
        numbers = [Number("perplexity", perplexity, at), Number("ids_read", 1000, at)]
        assert len(young_arms(Measured(numbers))) == warnings
    assert young_arms(Measured(curve(80.0))) == []
    assert "fell by 40%" in young_arms(Measured(curve(60.0)))[0]


def test_a_file_names_its_data_relative_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("en.txt", "de.txt"):
        (tmp_path / "mine" / name).write_text("One sentence of text.\n" * 3000)
    (tmp_path / "mine" / "pairs.tsv").write_text("en\tde\nOne\tEins\n")
    path = tmp_path / "mine" / "plan.toml"
    path.write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    data = study_data("mine/plan.toml")
    assert data.text["en"][0].path == str(tmp_path / "mine" / "en.txt")
    (tmp_path / "fr.txt").write_text("Une phrase.\n")
    (tmp_path / "data.toml").write_text('[text]\nde = "fr.txt"\n')
    over = study_data("mine/plan.toml", "data.toml", {"text": ["en=fr.txt"]})
    assert {one.path for files in over.text.values() for one in files} == {str(tmp_path / "fr.txt")}
    built = build_study("mine/plan.toml", data)
    assert (built.scale_name, built.pairs) == ("nano", ("en-de",))
    one, two = (step for step in built.steps if step.kind == "pretrain")
    assert two.settings["config"]["batch"]["size"] == 16
    assert one.settings["config"]["budget"] == two.settings["config"]["budget"] == "3000tokens"
    (tmp_path / "mine" / "named.toml").write_text(PLAN.replace(PLAN.split("\n")[6], 'data = "../data.toml"'))
    assert Path(study_data("mine/named.toml").text["de"][0].path).resolve() == (tmp_path / "fr.txt").resolve()


def test_what_is_wrong_in_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    with raises("storage.not-found", "en.txt"):
        study_data(str(path))
    path.write_text(PLAN.replace("recipe =", "receipt ="))
    with raises("config.unknown-key", "'arms.two.receipt'"):
        load_study(str(path))
    path.write_text('title = "x"\nmeasures = ["ner"]\nfrozen = {upper = "l9-a"}\n[arms.default]\n')
    with raises("config.malformed-option", "'l9-a'"):
        load_study(str(path))
    path.write_text('title = "x"\nmeasures = ["retrieval"]\n[data.texts]\nen = "a"\n[arms.one]\n')
    with raises("config.unknown-key"):
        study_data(str(path))


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ('budget = "8m"', ["'8m'"]),
        ('budget = "0tokens"', ["'0tokens'"]),
        ('budget = "much"', ["'much'"]),
        ('baseline = "tow"', ["'tow'"]),
        ('measures = ["speed"]', ["'speed'", "measures"]),
    ],
)
def test_a_setting_that_would_spoil_the_comparison_is_refused(tmp_path: Path, line: str, values: list[str]) -> None:
    """Arms that read for a time read different amounts; a baseline that is not there leaves nothing to compare with."""
    measures = "" if line.startswith("measures") else 'measures = ["retrieval"]\n'
    (tmp_path / "plan.toml").write_text(
        f'title = "x"\n{measures}{line}\n[arms.default]\n[arms.two]\nplan = "sep-emb"\n'
    )
    with raises("config.invalid-value", *values):
        load_study(str(tmp_path / "plan.toml"))


def test_the_example_can_be_planned() -> None:
    built = build_study("plans", StudyData(), StudyOptions(scale="nano", seeds=1))
    assert {one.at["arm"] for one in built.measurements} == {"default", "no-anchors", "top-shared"}
