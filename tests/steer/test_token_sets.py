"""Which tokens are whose."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import IsoglotError
from isoglot.model import Encoder
from isoglot.steer import LanguageMeans, TokenSets, translate_tokens
from isoglot.vocab import build_shards
from tests.errors import raises


@pytest.fixture(scope="session")
def vocabulary(ours: Encoder):
    return ours.vocabulary


def lines(paths) -> list[str]:
    return [line for path in paths for line in path.read_text().splitlines() if line]


def test_a_set_is_what_was_met_often_enough(vocabulary, small_texts):
    texts = {code: lines(paths) for code, paths in small_texts.items()}
    sets = TokenSets.from_text(vocabulary, texts, threshold=3)
    for code, some in texts.items():
        met = Counter(index for line in some for index in vocabulary.encode(line, code))
        assert sets.ids(code).tolist() == sorted(index for index, count in met.items() if count >= 3)
        assert sets.text_tokens[code] == sum(met.values())
        assert sets.sizes[code] == len(sets.ids(code))
    both = set(sets.ids("en")) & set(sets.ids("fr"))
    assert set(sets.shared("en", "fr")) == both
    assert sets.overlaps() == {("en", "fr"): len(both)}
    assert set(np.flatnonzero(sets.only("fr", but_not="en"))) == set(sets.ids("fr")) - both


def test_a_file_of_lines_and_shards_say_the_same(vocabulary, small_texts, tmp_path):
    by_text = TokenSets.from_text(vocabulary, {code: paths[0] for code, paths in small_texts.items()}, threshold=2)
    shards = {code: build_shards(paths, vocabulary, code, tmp_path / code) for code, paths in small_texts.items()}
    by_counts = TokenSets.from_counts(vocabulary, {code: one.counts() for code, one in shards.items()}, threshold=2)
    for code in small_texts:
        assert (by_text.counts[code] == by_counts.counts[code]).all()


def test_special_tokens_are_of_no_language(vocabulary):
    sets = TokenSets.from_counts(vocabulary, {"en": np.full(len(vocabulary), 5)})
    assert not sets.mask("en")[list(vocabulary.special.values())].any()
    assert sets.sizes["en"] == len(vocabulary) - len(vocabulary.special)


def test_a_vocabulary_knows_the_text_it_was_made_from(vocabulary, imported):
    known = TokenSets.from_vocabulary(vocabulary)
    assert known is not None
    assert known.languages == ("en", "fr")
    assert TokenSets.from_vocabulary(imported.vocabulary) is None


def test_the_threshold_grows_with_the_smallest_text():
    assert TokenSets({"en": np.array([900_000, 1]), "de": np.array([299_000, 3])}).threshold == 3
    assert TokenSets({"en": np.array([900_000, 1]), "de": np.array([10, 3])}).threshold == 1


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(1, 9))
def test_a_higher_threshold_only_takes_away(counts, threshold):
    low = TokenSets({"en": np.array(counts)}, threshold=threshold)
    high = low.with_threshold(threshold + 1)
    assert not (high.mask("en") & ~low.mask("en")).any()


def test_written_and_read_it_is_the_same(vocabulary, small_texts, tmp_path):
    sets = TokenSets.from_text(vocabulary, {code: paths[0] for code, paths in small_texts.items()}, threshold=2)
    sets.save(tmp_path / "sets.json")
    found = TokenSets.load(tmp_path / "sets.json")
    assert found.about() == sets.about()
    assert all((found.counts[code] == sets.counts[code]).all() for code in sets.languages)
    found.check_vocabulary(vocabulary)


@pytest.mark.parametrize("text", ["[]", '{"format": 1, "kind": "token sets"}', '{"format": 9, "kind": "token sets"}'])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(IsoglotError) as caught:
        TokenSets.load(path)
    assert caught.value.code in ("corrupt-file.hash", "input.unknown-format")
    assert caught.value.file == str(path)


def test_a_language_without_one_token_is_refused(imported, texts):
    with raises("config.missing-data", "ru"):
        TokenSets.from_text(imported.vocabulary, {"en": texts["en"], "ru": ["Да", "Нет"]})
    with raises("config.missing-data", "en", 50):
        TokenSets.from_text(imported.vocabulary, texts, threshold=50)
    high = TokenSets.from_text(imported.vocabulary, texts).with_threshold(50)
    with raises("config.missing-data", "en", 50):
        translate_tokens(imported, texts["en"], "en", "fr", LanguageMeans.fit(imported, texts), sets=high)


def test_what_is_not_there_is_said_in_one_line(vocabulary, imported):
    sets = TokenSets({"en": np.array([1, 1]), "de": np.array([0, 1])})
    with raises("config.unknown-name", "'fr'"):
        sets.mask("fr")
    with raises("config.invalid-value", 0):
        sets.with_threshold(0)
    with raises("config.other-vocabulary"):
        sets.check_vocabulary(vocabulary)
    with raises("config.unknown-name", 2):
        sets.check_ids(np.array([0, 2]))
    with raises("config.other-size", 2, "en"):
        TokenSets.from_counts(vocabulary, {"en": np.array([1, 1])})
    with raises("config.missing-data"):
        TokenSets({})
    with raises("input.empty"):
        TokenSets.from_text(vocabulary, {"en": []})
