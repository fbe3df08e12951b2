"""Retrieval by layer as a picture: one pair, some, many."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from isoglot.report.retrieval import finding, retrieval_svg, sureness
from isoglot.retrieve import PairScores, VectorSet, score_layers

TITLE = (
    "Layer 0 finds 100.0 % of en-l0 translations by cosine among 20 candidates; whether layers 1 and 2 are as good these "
    "rows cannot tell"
)


def pair(name: str, noise: float) -> PairScores:
    stream = np.random.default_rng(3)
    X, other = stream.normal(size=(2, 3, 20, 6)).astype(np.float32)
    source = VectorSet(name="en", layers=dict(enumerate(X)))
    return score_layers(source, VectorSet(name=name, layers=dict(enumerate(X + noise * other))), resamples=2)


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (1, {"cosine", "cosine, centered", "csls", "csls, centered", "chance"}),
        (3, {"en-l0", "en-l1", "en-l2", "chance"}),
        (7, {"cosine", "cosine, centered", "csls", "csls, centered", "chance"}),
    ],
)
def test_lines_are_named(count: int, names: set[str]):
    pairs = [pair(f"l{number}", number / 4) for number in range(count)]
    drawing = ET.fromstring(retrieval_svg(pairs))  # noqa: S314 - our own drawing
    texts = [(text.get("class"), text.text) for text in drawing.findall(".//{*}text")]
    assert {text for kind, text in texts if kind == "name"} == names
    assert " ".join(text or "" for kind, text in texts if kind == "title") == finding(pairs)
    assert finding(pairs[:1]) == TITLE
    assert finding(pairs).startswith(TITLE)
    note = " ".join(text or "" for kind, text in texts if kind == "note")
    assert sureness(pairs) == "95 % interval 100.0 to 100.0, the best of 12 on the same data"
    assert note.startswith(f"{sureness(pairs)}; ")
    assert "means estimated on other sentences of the same set (5 folds)" in note
    assert "csls neighborhoods made of other sentences of the same set (5 folds)" in note


def test_the_best_layer_of_each_pair_is_named_where_they_differ():
    X = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)
    noise = np.random.default_rng(1).normal(size=X.shape).astype(np.float32)
    source = VectorSet(name="en", layers={0: X, 1: X})
    german, spanish = (
        score_layers(source, VectorSet(name=code, layers={good: X, 1 - good: X + 2 * noise}), resamples=20)
        for code, good in (("de", 1), ("es", 0))
    )
    assert finding([german, spanish]).endswith("The best layer differs: 0 for en-es and 1 for en-de")
    assert "differs" not in finding([german])
    assert "chosen on half of the rows and scored on the others, both ways: 100.0 %" in sureness([german])
