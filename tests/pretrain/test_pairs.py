"""Rows of pairs: every pair once a round, both directions, positions and languages by sentence."""

from __future__ import annotations

from functools import partial
from itertools import combinations, islice
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.languages import parallel
from isoglot.model.config import SharingPlan
from isoglot.model.folder import open_encoder
from isoglot.pretrain.batches import Batches
from isoglot.pretrain.distributed import World
from isoglot.pretrain.train import Stop, pretrain
from isoglot.pretrain.translation_pairs import PairRows, Pairs, check_pairs, cut_evenly
from isoglot.text.formats.parallel import read_parallel, write_parallel
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.errors import raises

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


def test_arrays_hold_what_lists_would(vocabulary: Vocabulary):
    """Rows with gaps, of two and three languages, made one by one."""
    joint = Vocabulary(mode="joint", languages=["en", "fr", "de"], views={"": vocabulary.view("en")})
    rows = [
        {"fr": row["fr"], "en": row["en"] if number % 3 else " "} | ({"de": row["en"]} if number % 2 else {})
        for number, row in enumerate(ROWS)
    ]
    room, codes, kept, cut = 27, ["en", "fr", "de"], [], 0
    for row in rows:
        for one, other in combinations([code for code, text in row.items() if text.strip()], 2):
            ids = [joint.encode(row[code], code) for code in (one, other)]
            if len(ids[0]) + len(ids[1]) <= 2 * room:
                sizes = [int(size) for size in cut_evenly(len(ids[0]), len(ids[1]), room)]
                cut += sizes != [len(some) for some in ids]
                sides = zip((one, other), ids, sizes, strict=True)
                kept.append([(codes.index(code), some[:size]) for code, some, size in sides])
    stream = Pairs(rows, joint, codes, length=room + 3)
    flat = stream._flat.tolist()
    found = [[(language, flat[at : at + size]) for language, at, size in pair] for pair in stream._pairs.tolist()]
    assert found == kept
    assert stream.cut == cut > 0


# --- rows of several lengths ---


def test_every_pair_is_in_the_shortest_rows_that_hold_it(vocabulary: Vocabulary):
    stream = Pairs(ROWS, vocabulary, ["en", "fr"], length=48)
    streams = stream.by_length([36, 24, 4])
    assert [one.length for one in streams] == [24, 36, 48]
    assert sum(map(len, streams)) == len(stream)
    shorter = 0
    found = []
    for one in streams:
        rows = one.take(0, len(one))
        assert rows.ids_BT.shape == (len(one), one.length)
        assert (rows.mask_BT.sum(1) > shorter).all()
        shorter = one.length
        found += [sorted(sentences(vocabulary, rows, row)) for row in range(len(one))]
    rows = stream.take(0, len(stream))
    assert sorted(found) == sorted(sorted(sentences(vocabulary, rows, row)) for row in range(len(stream)))


class Alone(World):
    """A process that does not wait for the others."""

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        return value


def batches_of(corpus, config, rank: int = 0, size: int = 1) -> Batches:
    world = Alone(rank=rank, size=size, device=torch.device("cpu"))
    return Batches(config, corpus.shards, corpus.vocabulary, length=config.model.max_length, world=world, parallel=ROWS)


def test_a_step_has_its_tokens_and_every_pair_comes_as_often(corpus, nano):
    batches = batches_of(corpus, nano("model.max_length=48", "batch.size=4", "pairs.share=1"))
    assert [one.length for one in batches.pairs] == [24, 40, 48]
    shapes = [tuple(batches.next(step, 0).masked.inputs_BT.shape) for step in range(400)]
    assert set(shapes) == {(8, 24), (4, 40), (4, 48)}
    rounds = [batches.pair_rows[str(one.length)] / len(one) for one in batches.pairs]
    assert sum(rows for rows, _ in shapes) == sum(batches.pair_rows.values())
    assert max(rounds) < 1.3 * min(rounds)


def test_processes_share_rows_of_any_length(corpus, nano):
    config = nano("model.max_length=24", "batch.size=4", "pairs.share=1", "batch.gradient_accumulation=1")
    whole, shares = batches_of(corpus, config), [batches_of(corpus, config, rank, 4) for rank in range(4)]
    for step in range(20):
        expected = whole.next(step, 0).masked
        parts = [one.next(step, 0).masked for one in shares]
        assert torch.equal(torch.cat([part.inputs_BT for part in parts]), expected.inputs_BT)
        assert torch.equal(torch.cat([part.targets_BK for part in parts]), expected.targets_BK)
    assert {len(part.inputs_BT) for part in parts} <= {1, 2}
    assert all(one.pair_rows == whole.pair_rows for one in shares)


def test_a_run_on_pairs_in_slices_ends_with_the_same_bits(tmp_path: Path, corpus, nano):
    config = nano(
        "model.max_length=48",
        "budget=6steps",
        "checkpoints.every=100",
        "evaluation.every=0",
        "pairs.share=0.8",
        "seed=3",
    )
    run = partial(pretrain, config, corpus.shards, corpus.vocabulary, device="cpu", parallel=ROWS, resume=True)
    ends = [run(tmp_path / "whole"), *(run(tmp_path / "cut", stop=Stop(0.0)) for _ in range(6))]
    assert ends[0].position.pair_rows == ends[-1].position.pair_rows
    assert sum(rows > 0 for rows in ends[0].position.pair_rows.values()) > 1
    one, other = (open_encoder(tmp_path / name / "last").state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_rows_that_were_counted_in_another_way_are_refused(corpus, nano):
    batches = batches_of(corpus, nano("model.max_length=48"))
    batches.restore_pairs(0)
    batches.restore_pairs({"24": 8, "40": 0, "48": 4})
    assert batches.pair_rows["24"] == 8
    for rows in (64, {"48": 4}):
        with raises("config.other-settings", "24, 40, 48"):
            batches.restore_pairs(rows)


def test_refusals(vocabulary: Vocabulary):
    with raises("config.unknown-name", "'de'"):
        Pairs([{"en": "a", "de": "b"}], vocabulary, ["en", "fr"], length=40)
    with raises("config.missing-data", 40, "(0 dropped)"):
        Pairs([], vocabulary, ["en", "fr"], length=40)
    with raises("config.missing-data", 4):
        Pairs(ROWS, vocabulary, ["en", "fr"], length=4)
    check_pairs(SharingPlan.parse("default"))
    for plan in ("sep-emb", "3", "transform"):
        with raises("config.not-supported"):
            check_pairs(SharingPlan.parse(plan))
