"""Built-in sentences that say the same twice."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.compare.measures.registry import MEASURES, compute
from isoglot.compare.parallel_sentences import check_count, default_languages, language_for
from isoglot.core.errors import InputError
from isoglot.languages import twin
from isoglot.languages.builtin import builtin_pairs
from isoglot.model import Encoder, encoder_config
from isoglot.vocab import train_vocabulary
from tests.errors import raises


def test_pairs_differ_and_do_not_depend_on_the_other_language():
    french, chinese = builtin_pairs(("en", "fr"), 40), builtin_pairs(("eng", "zho"), 40)
    assert [pair[0] for pair in french] == [pair[0] for pair in chinese]
    assert len({pair[0] for pair in french}) == 40
    assert builtin_pairs(("en", "fr"), 40, seed=1) != french


def test_one_language_twice_is_paraphrased():
    for other in ("en", "en-x-two"):
        pairs = builtin_pairs(("en", other), 20)
        assert all(one != two for one, two in pairs)
    with raises("config.other-language"):
        builtin_pairs(("en", "fr"), 20, kind="paraphrases")


def test_a_twin_says_the_same_word_by_word():
    for one, other in builtin_pairs(("en", "en-x-shift"), 5):
        assert other == " ".join(next(twin([one.split()], "shift")).tokens)
    assert builtin_pairs(("en", "en-x-shift"), 5, kind="paraphrases") != builtin_pairs(("en", "en-x-shift"), 5)
    with raises("config.other-language"):
        builtin_pairs(("en", "en-x-freq"), 5)
    with raises("config.built-in-language", "'sw'"):
        builtin_pairs(("en", "sw"), 5)


def test_too_few_are_counted():
    for count in (0, 1, 3):
        with raises("input.too-few", count, 4):
            check_count(count)
    check_count(4)


def test_too_few_for_a_measure_are_counted_too():
    for count, measures, values in (
        (3, ["cka", "mutual-knn"], (4, 12, "mutual-knn")),
        (3, ["cka"], (4,)),
        (11, ["mutual-knn"], (12, "mutual-knn")),
        (11, ["cka", "mutual-knn", "spectral"], (12, "mutual-knn", "spectral")),
    ):
        with raises("input.too-few", count, *values):
            check_count(count, measures)
    check_count(12, list(MEASURES))


def test_only_measures_that_need_more_sentences_are_named():
    with pytest.raises(InputError) as found:
        check_count(4, ["procrustes", "mutual-knn"])
    assert "mutual-knn" in str(found.value)
    assert "procrustes" not in str(found.value)


@pytest.mark.parametrize("name", MEASURES)
def test_the_fewest_that_a_measure_says_are_enough(name):
    fewest = MEASURES[name].fewest
    X, Y = np.random.default_rng(0).normal(size=(2, fewest, 3))
    assert np.isfinite(compute(name, X, Y).value)


def test_an_encoder_reads_english_under_a_second_name(small_texts):
    vocabulary = train_vocabulary({"en": small_texts["en"]}, mode="joint", size=400, coverage=1.0)
    english = Encoder(encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en",)), vocabulary)
    assert language_for(english, "en-x-two") == "en"
    assert language_for(english, "en-x-shift") == "en-x-shift"  # another script is another language
    assert language_for(english, "fr") == "fr"
    assert default_languages(english, english) == ("en", "en-x-two")
    both = Encoder(
        encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "en-x-two")), vocabulary
    )
    assert language_for(both, "en-x-two") == "en-x-two"
    assert default_languages(both, both) == ("en", "en-x-two")
