"""Words spelled as their translation is are told apart from the others."""

from __future__ import annotations

from typing import get_args

import numpy as np

from isoglot.retrieve import Gold, score_retrieval
from isoglot.retrieve.dictionaries import score_dictionary
from isoglot.retrieve.layer_scores import VectorSet
from isoglot.retrieve.methods import Direction
from isoglot.retrieve.metrics import SpelledAlike
from isoglot.retrieve.results import metrics_csv
from isoglot.text.formats.dictionary import Entry

SOURCE, TARGET = ["hotel", "cat", "dog"], ["hotel", "herberge", "katze", "hund"]
ENTRIES = [Entry("hotel", "hotel"), Entry("hotel", "herberge"), Entry("cat", "katze"), Entry("dog", "hund")]
X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0.1, 1]])
Y = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0, 1]])  # the cat is where the dog is


def test_the_second_figure_leaves_out_every_word_with_a_translation_spelt_the_same():
    source, target = (
        VectorSet(name="en", layers={None: X}, items=SOURCE),
        VectorSet(name="de", layers={None: Y}, items=TARGET),
    )
    pair = score_dictionary(source, target, ENTRIES, "d.txt")
    forward, backward = (pair.of(None, "none").of("cosine", way).as_dict() for way in get_args(Direction))
    assert (forward["queries"], forward["p@1"]["value"]) == (3, 2 / 3)
    assert (forward["other_spelling_queries"], forward["other_spelling_p@1"]["value"]) == (2, 1 / 2)
    assert (backward["other_spelling_queries"], backward["other_spelling_p@1"]["value"]) == (3, 2 / 3)


def test_where_all_are_spelt_the_same_there_is_no_second_figure():
    alike = SpelledAlike(np.arange(3), np.array([], dtype=int))
    scores = score_retrieval(X, X, methods=("cosine",), alike=alike, resamples=10)
    assert scores.of("cosine").other_spelling == (0, None)
    assert scores.of("cosine").as_dict()["other_spelling_p@1"] is None
    assert scores.of("cosine", "backward").as_dict()["other_spelling_queries"] == 3
    assert score_retrieval(X, X, Gold.one_to_one(3), resamples=10).of("cosine").other_spelling is None


def test_a_table_holds_pairs_with_and_without_a_second_figure():
    same = VectorSet(name="a", layers={None: X}, items=SOURCE), VectorSet(name="b", layers={None: X}, items=SOURCE)
    other = VectorSet(name="a", layers={None: X}, items=SOURCE), VectorSet(name="b", layers={None: Y}, items=TARGET)
    pairs = [
        score_dictionary(*same, [Entry(word, word) for word in SOURCE], "d.txt"),
        score_dictionary(*other, ENTRIES, "d.txt"),
    ]
    head, *lines = metrics_csv(pairs).splitlines()
    assert head.endswith(
        "hubness,other_spelling_queries,other_spelling_p@1,other_spelling_p@1_low,other_spelling_p@1_high"
    )
    assert lines[0].endswith(",0,,,")
    assert lines[-1].split(",")[-4] == "3"
