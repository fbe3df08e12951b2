"""Rows of pairs: every pair once a round, both directions, positions and languages by sentence."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError
from isoglot.languages import parallel
from isoglot.model.plan import SharingPlan
from isoglot.pretrain.pairs import PairRows, Pairs, check_pairs, cut_evenly
from isoglot.text.parallel import read_parallel, write_parallel
from isoglot.vocab import Vocabulary, train_vocabulary

ROWS = [{"en": one.text, "fr": other.text} for one, other in islice(parallel(["en", "fr"], seed=3), 101)]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    folder = tmp_path_factory.mktemp("texts")
    for language in ("en", "fr"):
        (folder / language).write_text("\n".join(row[language] for row in ROWS) + "\n", encoding="utf-8")
    return train_vocabulary({code: [folder / code] for code in ("en", "fr")}, mode="union", size=500, coverage=1.0)


def sentences(vocabulary: Vocabulary, rows: PairRows, row: int) -> list[tuple[int, list[int]]]:
    """The (language, ids) of the two sentences of a row, which must be framed as it should be."""
    special = vocabulary.special
    size = int(rows.mask_BT[row].sum())
    ids, positions, languages = (
        some[row, :size].tolist() for some in (rows.ids_BT, rows.positions_BT, rows.languages_BT)
    )
    candidates = rows.candidates_BT[row].tolist()
    assert rows.ids_BT[row, size:].eq(special["[PAD]"]).all()
    assert not rows.mask_BT[row, size:].any()
    assert not any(candidates[size:])
    middle = ids.index(special["[SEP]"])
    assert ids[0] == special["[CLS]"]
    assert ids[-1] == special["[SEP]"]
    assert candidates[:size] == [index not in (0, middle, size - 1) for index in range(size)]
    assert positions == [*range(middle + 1), *range(size - middle - 1)]
    first, second = languages[: middle + 1], languages[middle + 1 :]
    assert len(set(first)) == len(set(second)) == 1
    return [(first[0], ids[1:middle]), (second[0], ids[middle + 1 : -1])]


def test_rows_are_the_pairs_in_either_direction(vocabulary: Vocabulary, tmp_path: Path):
    write_parallel(tmp_path / "pairs.tsv", ["en", "fr"], ROWS)
    stream = Pairs(read_parallel(tmp_path / "pairs.tsv"), vocabulary, ["en", "fr"], length=200)
    assert (len(stream), stream.cut, stream.left_out) == (101, 0, 0)
    rows = stream.take(0, 101)
    assert rows.ids_BT.shape == (101, 200)
    assert rows.ids_BT.dtype == torch.int64
    found = [sentences(vocabulary, rows, row) for row in range(101)]
    assert 30 < sum(one[0][0] for one in found) < 71  # French first
    expected = [[(0, vocabulary.encode(row["en"], "en")), (1, vocabulary.encode(row["fr"], "fr"))] for row in ROWS]
    assert sorted(sorted(one) for one in found) == sorted(expected)


def test_the_stream_goes_on_in_another_order_and_depends_on_the_number_alone(vocabulary: Vocabulary):
    stream = Pairs(ROWS, vocabulary, ["en", "fr"], length=200, seed=4)
    long = stream.take(0, 303).ids_BT
    assert torch.equal(stream.take(90, 40).ids_BT, long[90:130])
    assert torch.equal(stream.take(torch.tensor(90), 40).ids_BT, long[90:130])
    rounds = [{frozenset(row) for row in part.tolist()} for part in long.split(101)]
    assert rounds[0] == rounds[1] == rounds[2]
    assert not torch.equal(long[:101], long[101:202])
    assert not torch.equal(Pairs(ROWS, vocabulary, ["en", "fr"], length=200, seed=5).take(0, 101).ids_BT, long[:101])


def test_long_pairs_are_cut_and_far_longer_ones_left_out(vocabulary: Vocabulary):
    stream = Pairs(ROWS, vocabulary, ["en", "fr"], length=24)
    totals = [len(vocabulary.encode(row["en"], "en")) + len(vocabulary.encode(row["fr"], "fr")) for row in ROWS]
    assert stream.left_out == sum(total > 42 for total in totals) > 0
    assert stream.cut == sum(21 < total <= 42 for total in totals) > 0
    rows = stream.take(0, len(stream))
    for row in range(len(stream)):
        sentences(vocabulary, rows, row)
    assert int(rows.mask_BT.all(1).sum()) >= stream.cut


@given(st.integers(1, 99), st.integers(1, 99), st.integers(2, 99))
def test_cutting_fills_the_row_and_spares_the_shorter(size: int, other: int, room: int):
    kept, rest = cut_evenly(size, other, room)
    assert kept + rest == min(size + other, room)
    assert 1 <= kept <= size
    assert 1 <= rest <= other
    assert kept == size or kept >= room // 2
    assert rest == other or rest >= room // 2


def test_three_languages_make_three_pairs_and_gaps_are_left_out(vocabulary: Vocabulary):
    rows = [{"eng": "a cat", "fr": "un chat"}, {"en": "a dog", "fr": ""}, {"fr": "le chien"}]
    assert len(Pairs(rows, vocabulary, ["fr", "en"], length=40)) == 1
    joint = Vocabulary(mode="joint", languages=["en", "fr", "de"], views={"": vocabulary.view("en")})
    stream = Pairs([{"en": "a cat", "fr": "a dog", "de": "a cat"}], joint, ["en", "fr", "de"], length=40)
    found = {frozenset(row) for row in stream.take(0, 3).languages_BT.tolist()}
    assert found == {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 2))}


def test_refusals(vocabulary: Vocabulary):
    with pytest.raises(ConfigError, match=r"parallel text in 'de', which is not learned"):
        Pairs([{"en": "a", "de": "b"}], vocabulary, ["en", "fr"], length=40)
    with pytest.raises(ConfigError, match=r"no pair of sentences fits a row of 40 \(0 are left out\)"):
        Pairs([], vocabulary, ["en", "fr"], length=40)
    with pytest.raises(ConfigError, match=r"no pair fits a row of 4"):
        Pairs(ROWS, vocabulary, ["en", "fr"], length=4)
    check_pairs(SharingPlan.parse("default"))
    for plan in ("sep-emb", "3", "transform"):
        with pytest.raises(ConfigError, match=r"a pair is in two languages at once"):
            check_pairs(SharingPlan.parse(plan))
