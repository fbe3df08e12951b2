"""Retrieval by layer as a picture: one pair, some, many."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.report.mixed_retrieval import mixed_page
from isoglot.report.retrieval import estimates_in_words, finding, retrieval_figure, retrieval_page, sureness
from isoglot.retrieve import MixedRetrieval, PairScores, RetrievalConfig, VectorSet, score_layers, score_mixed

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
        (1, {"cosine", "cosine, centered", "csls", "csls, centered"}),
        (3, {"en-l0", "en-l1", "en-l2"}),
        (7, {"cosine", "cosine, centered", "csls", "csls, centered"}),
    ],
)
def test_lines_are_named(count: int, names: set[str]):
    pairs = [pair(f"l{number}", number / 4) for number in range(count)]
    figure = retrieval_figure(pairs)
    assert {row["s"] for row in figure.spec["data"]["values"]} == names
    assert figure.title == finding(pairs)
    assert finding(pairs[:1]) == TITLE
    assert finding(pairs).startswith(TITLE)
    assert sureness(pairs) == "95 % interval of the highest: 100.0 to 100.0, the best of 12 on the same data"
    assert sureness(pairs) in figure.caption
    assert "means estimated on other sentences of the same set (5 folds)" in estimates_in_words(pairs)
    assert "csls neighborhoods made of other sentences of the same set (5 folds)" in estimates_in_words(pairs)


def test_the_page_in_a_browser(seen):
    page = retrieval_page([pair("l0", 0.0), pair("l1", 0.3)], remarks=["<b>"], facts=["isoglot retrieve"])
    assert "&lt;b&gt;" in page.html()
    seen(page)


def test_one_pool_of_all_languages_in_a_browser(seen):
    X = np.random.default_rng(0).normal(size=(20, 6))
    sides = {code: VectorSet(name=code, layers={0: X + at, 1: X}) for at, code in enumerate(("en", "fr", "de"))}
    found = MixedRetrieval(pools=(score_mixed(sides, RetrievalConfig(resamples=5)),), facts={}, remarks=("<b>",))
    page = mixed_page(found, facts=["isoglot retrieve"])
    assert "&lt;b&gt;" in page.html()
    assert "Layer 0 finds a translation first for 100.0 % of queries by cosine, centered" in page.html()
    seen(page)


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
