"""Shift transfer: where a language is the other plus a vector, taking that away restores everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.core.config import build_config
from isoglot.model import Encoder, EncoderLike
from isoglot.steer import LanguageMeans
from isoglot.steer.shifts import ShiftOptions
from isoglot.transfer import Data, Task, TuneConfig, Tuned, evaluate, find_task, fine_tune, load_tuned
from isoglot.transfer.shift_protocol import GRID, lowest_tuned, shift_transfer
from tests.errors import raises

OTHER = "en-x-shift"


def planted(nano: Any) -> Encoder:
    """An encoder that reads English as another language just as it does, plus a vector behind layer 1."""
    encoder: Encoder = nano("1")
    block: Any = encoder.blocks[0]
    own, other = block.of("en"), block.of(OTHER)
    other.load_state_dict(own.state_dict())
    last = [part for part in other.modules() if isinstance(part, torch.nn.LayerNorm)][-1]
    vector_D = torch.randn(encoder.hidden_size, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        last.bias.add_(8 * vector_D / vector_D.norm())
    return encoder


def learned(
    nano: Any, name: str, *settings: str, out: Path | None = None, count: int = 250
) -> tuple[Tuned, Data[Any], Data[Any]]:
    """A task learned in English, and examples of it."""
    task = find_task(name)
    config = build_config(
        TuneConfig,
        settings=[
            "epochs=6",
            "batch_size=16",
            "encoder_learning_rate=2e-3",
            "head_learning_rate=5e-3",
            "head.arc_size=32",
            *settings,
        ],
    )
    train, dev, test = task.builtin("en", "train", count), task.builtin("en", "dev", 60), task.builtin("en", "test", 80)
    return fine_tune(planted(nano), task, {"en": train}, {"en": dev}, config, out), dev, test


def means_of(encoder: EncoderLike, task: Task[Any], data: Data[Any]) -> LanguageMeans:
    """Of the same sentences in both languages."""
    texts = [text for one in data.examples for text in (one.texts if task.name == "nli" else [" ".join(one.words)])]
    return LanguageMeans.fit(encoder, {"en": texts, OTHER: texts})


@pytest.mark.parametrize("name", ["nli", "ner", "parse"])
def test_what_was_planted_is_undone(name, nano):
    tuned, dev, test = learned(nano, name)
    means = means_of(tuned.encoder, tuned.task, dev)
    both = {"en": test, OTHER: test}
    plain = evaluate(tuned, tuned.task, both)
    found = shift_transfer(tuned, both, means, dev={OTHER: dev}, choose="dev", alphas=[-1, 0.25, 0.5, 1, 1.5], layers=1)
    assert found.source == "en"
    for code in both:  # alpha 0 is plain transfer, to the sentence
        np.testing.assert_array_equal(found.baselines[code].scores.ratio_S2, plain[code].scores.ratio_S2)
    (row,) = found.rows
    assert (row.language, row.layer, row.alpha, row.chosen_by, row.zero_shot) == (
        OTHER,
        1,
        1.0,
        "target dev set",
        False,
    )
    np.testing.assert_array_equal(row.test.scores.ratio_S2, plain["en"].scores.ratio_S2)
    assert row.comparison.difference.value == pytest.approx(plain["en"].scores.main - plain[OTHER].scores.main)
    assert row.comparison.difference.value > 3
    assert set(row.tried) == {-1, 0, 0.25, 0.5, 1, 1.5}
    assert row.facts()["zero_shot"] is False
    # The encoder is as it was.
    again = evaluate(tuned, tuned.task, both)
    np.testing.assert_array_equal(again[OTHER].scores.ratio_S2, plain[OTHER].scores.ratio_S2)


def test_every_alpha_that_is_given_and_the_rule(nano):
    tuned, dev, test = learned(nano, "ner", "epochs=4")
    means = means_of(tuned.encoder, tuned.task, dev)
    given = shift_transfer(tuned, {OTHER: test}, means, choose="given", alphas=[0, 0.5, 1], layers=[1, 2])
    assert [(row.layer, row.alpha, row.chosen_by) for row in given.rows] == [
        (1, 0.5, "given"),
        (1, 1.0, "given"),
        (2, 0.5, "given"),
        (2, 1.0, "given"),
    ]
    assert all(row.p_corrected >= row.comparison.p for row in given.rows)
    assert given.facts()["baselines"][0]["alpha"] == 0
    rule = shift_transfer(tuned, {OTHER: test}, means, choose="rule")
    (row,) = rule.rows
    assert (row.layer, row.chosen_by, row.zero_shot) == (1, "nearest-mean", True)  # half-way up of 2
    assert 0.5 < row.alpha < 1.5
    assert row.comparison.difference.value > 0


def test_dev_may_choose_no_shift(nano):
    """In a language that is read as English is, a shift by 0 is what dev chooses, and nothing changes."""
    tuned, dev, test = learned(nano, "pos", "epochs=1", count=60)
    means = means_of(tuned.encoder, tuned.task, dev)
    means.moments["zh"] = means.moments[OTHER]
    found = shift_transfer(tuned, {"zh": test}, means, dev={"zh": dev}, alphas=[-40, 40], layers=1)
    (row,) = found.rows
    assert (row.alpha, row.comparison.difference.value, row.comparison.p) == (0.0, 0.0, 1.0)


def test_means_of_the_encoder_before_will_do_where_nothing_has_changed(nano, tmp_path: Path):
    """The paper's case: the means of layer 6 of a model whose first six are frozen."""
    before = planted(nano)
    task = find_task("pos")
    dev = task.builtin("en", "dev", 20)
    means = means_of(before, task, dev)
    learned(nano, "pos", "epochs=1", "tune=top-1", out=tmp_path / "top", count=40)
    tuned = load_tuned(tmp_path / "top", device="cpu")
    assert lowest_tuned(tuned) == 2
    found = shift_transfer(tuned, {OTHER: dev}, means, choose="given", alphas=[1], layers=1)
    assert "stayed as they were" in found.means
    own = shift_transfer(tuned, {OTHER: dev}, means_of(tuned.encoder, task, dev), choose="given", alphas=[1], layers=1)
    assert own.means == "of the fine-tuned encoder"
    np.testing.assert_array_equal(found.rows[0].test.scores.ratio_S2, own.rows[0].test.scores.ratio_S2)
    with raises("config.other-encoder", 2):
        shift_transfer(tuned, {OTHER: dev}, means, choose="given", alphas=[1], layers="all")
    shift_transfer(
        tuned, {OTHER: dev}, means, choose="given", alphas=[1], layers=2, options=ShiftOptions(other_encoder="allow")
    )
    other = means_of(nano(), task, dev)
    with raises("config.other-encoder"):
        shift_transfer(tuned, {OTHER: dev}, other, choose="given", alphas=[1], layers=1)
    head, *_ = learned(nano, "pos", "epochs=1", "tune=head", count=40)
    assert lowest_tuned(head) == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"test": ["en"]}, ("config.missing-data",)),
        ({}, ("config.missing-data",)),
        ({"test": ["zh"], "choose": "rule"}, ("config.unknown-name", "'zh'")),
        ({"choose": "given", "alphas": [1, 1]}, ("config.invalid-value", "1")),
        ({"choose": "given", "alphas": [float("nan")]}, ("config.invalid-value", "nan")),
        ({"choose": "given", "alphas": [0]}, ("config.invalid-value", "0")),
        ({"choose": "best"}, ("config.unknown-name", "'best'")),
        ({"choose": "rule", "layers": 3}, ("config.unknown-layer", "3")),
    ],
)
def test_what_will_not_do(options, expected: tuple[str, ...], nano):
    tuned, dev, test = learned(nano, "pos", "epochs=1", count=40)
    means = means_of(tuned.encoder, tuned.task, dev)
    codes = options.pop("test", [OTHER])
    with raises(*expected):
        shift_transfer(tuned, dict.fromkeys(codes, test), means, **options)


def test_the_default_grid_has_the_papers_weights():
    table_4 = (1.5, 0.2, 1.0, 0.9, 0.7, 0.3, 1.0, 0.4, 0.4, 0.5, 2.0)  # de es ar el fr hi ru th tr vi zh
    assert set(table_4) <= set(GRID)
    assert list(GRID) == sorted(set(GRID))
