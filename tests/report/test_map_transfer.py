"""Map transfer as a picture: a named curve for each way to read a language, and what it came to as the title."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoglot.report.transfer import curves, map_finding, map_transfer_figure
from isoglot.transfer.map_protocol import Arm, LayerScore, MapTransfer
from isoglot.transfer.scoring.significance import estimate

SCORES: dict[tuple[str, str, Arm], list[int]] = {
    ("monolingual", "en", "source"): [60, 70, 80],
    ("monolingual", "de", "unmapped"): [5, 4, 3],
    ("monolingual", "de", "mapped"): [30, 50, 40],
    ("bilingual", "en", "source"): [61, 71, 79],
    ("bilingual", "de", "unmapped"): [45, 55, 65],
    ("bilingual", "de", "mapped"): [44, 54, 64],
}


def outcome(*left_out: tuple[str, Arm]) -> MapTransfer:
    lines = [
        LayerScore(models, code, arm, layer, estimate(np.array([[1, 1]] * right + [[0, 1]] * (100 - right)), draws=50))
        for (models, code, arm), scores in SCORES.items()
        for layer, right in enumerate(scores)
        if (models, arm) not in left_out
    ]
    return MapTransfer("parse", "las", "en", "test", (0, 1, 2), (), tuple(lines), ())


def test_every_way_has_its_curve():
    found = curves(outcome(), "de")
    assert list(found) == [
        "en itself",
        "de, mapped",
        "de, bilingual",
        "de, bilingual, mapped",
        "de, no map",
        "en itself, bilingual",
    ]
    assert found["de, mapped"] == {0: 30.0, 1: 50.0, 2: 40.0}
    assert found["en itself"] == {0: 60.0, 1: 70.0, 2: 80.0}


@pytest.mark.parametrize(
    ("left_out", "title"),
    [
        (
            (),
            "de through a map: 50.0 in layer 1, the best by test; 4.0 without it; bilingual 65.0 in layer 2, its best",
        ),
        (
            (("monolingual", "unmapped"), ("bilingual", "unmapped")),
            "de through a map: 50.0 in layer 1, the best by test",
        ),
        ((("monolingual", "mapped"),), "en read off the layers of another model of de, without a map"),
    ],
)
def test_the_title_is_the_finding(left_out, title):
    result = outcome(*left_out)
    assert map_finding(result, "de") == title
    figure = map_transfer_figure(result, "de")
    assert figure.title == title
    assert len({row["s"] for row in figure.spec["data"]["values"]}) == 6 - len(left_out)


def test_one_layer_is_not_called_the_best():
    result = outcome()
    one = replace(result, layers=(1,), lines=tuple(line for line in result.lines if line.layer == 1))
    assert map_finding(one, "de") == "de through a map: 50.0 in layer 1; 4.0 without it; bilingual 55.0 in layer 1"
