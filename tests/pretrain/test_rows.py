from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.pretrain.token_rows import Rows, Storage
from isoglot.vocab import Shards
from isoglot.vocab.external_tokenizer import RowLayout
from tests.errors import raises

LAYOUT = RowLayout((2,), (3,), (2,), (3,), (3,))


def written(folder: Path, train: np.ndarray, dev: np.ndarray | None = None) -> Shards:
    folder.mkdir(parents=True, exist_ok=True)
    train.tofile(folder / "train.ids.bin")
    (train[:0] if dev is None else dev).tofile(folder / "dev.ids.bin")
    return Shards(folder, {"language": "en", "dtype": train.dtype.str})


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    """A text in which every id is its own place, above 32,767 too."""
    folder = tmp_path_factory.mktemp("rows")
    return written(folder, np.arange(65_536, dtype="<u2"), np.arange(40_000, 40_105, dtype="<u2"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


def test_a_row_is_framed_text(shards: Shards):
    rows = Rows(shards, length=12, layout=LAYOUT)
    ids = rows.take(0, 50)
    assert (ids.shape, ids.dtype) == ((50, 12), torch.int64)
    assert bool((ids[:, 0] == 2).all())
    assert bool((ids[:, -1] == 3).all())
    steps = (ids[:, 2:-1] - ids[:, 1:-2]) % 65_536  # one after the other, around the end too
    assert bool((steps == 1).all())
    assert int(ids.max()) > 60_000


@given(tokens=st.integers(1, 300), length=st.integers(3, 20), seed=st.integers(0, 5), epoch=st.integers(0, 10**6))
def test_every_id_once_an_epoch_but_for_a_remainder_shorter_than_a_row(
    folder: Path, tokens: int, length: int, seed: int, epoch: int
):
    if tokens < length - 2:
        return
    rows = Rows(written(folder, np.arange(tokens, dtype="<u2")), length=length, layout=LAYOUT, seed=seed)
    assert rows.per_epoch == tokens // (length - 2)
    text = rows.take(epoch * rows.per_epoch, rows.per_epoch)[:, 1:-1].flatten()
    assert len(text.unique()) == len(text)
    assert tokens - len(text) < length - 2


@pytest.mark.parametrize("ahead", [5, 70_000])
def test_ids_read_ahead_are_those_that_follow(shards: Shards, ahead: int):
    short, long = (Rows(shards, length=12, layout=LAYOUT, ahead=more) for more in (0, ahead))
    assert long.per_epoch == short.per_epoch
    one, other = short.take(3, 40), long.take(3, 40)
    assert torch.equal(one[:, :-1], other[:, :11])
    assert other.shape == (40, 12 + ahead)
    assert bool(((other[:, 2:-1] - other[:, 1:-2]) % 65_536 == 1).all())


def test_each_epoch_has_windows_and_an_order_of_its_own(shards: Shards):
    rows = Rows(shards, length=66, layout=LAYOUT)
    epochs = [rows.take(epoch * rows.per_epoch, rows.per_epoch)[:, 1] for epoch in range(4)]
    for one in range(4):
        for other in range(one):
            assert not set(epochs[one].tolist()) & set(epochs[other].tolist())
            order = [torch.argsort(epochs[epoch]) for epoch in (one, other)]
            assert abs(float(torch.corrcoef(torch.stack(order).double())[0, 1])) < 4 / rows.per_epoch**0.5
    phases = {int(starts[0]) % 64 for starts in epochs}
    assert len(phases) > 1


@given(st.integers(0, 10**6), st.integers(0, 9000), st.integers(1, 12))
def test_a_row_is_known_by_its_number_alone(shards: Shards, first: int, more: int, count: int):
    walked, fresh = (Rows(shards, length=100, layout=LAYOUT, seed=1) for _ in range(2))
    walked.take(first, 3)
    taken = walked.take(first + more, count)
    assert torch.equal(taken, fresh.take(first + more, count))
    assert torch.equal(taken, torch.cat([fresh.take(first + more + row, 1) for row in range(count)]))


def test_a_batch_may_cross_from_one_epoch_into_the_next(shards: Shards):
    rows = Rows(shards, length=1002, layout=LAYOUT)
    assert rows.per_epoch == 65
    assert torch.equal(rows.take(60, 10), torch.cat([rows.take(60, 5), rows.take(65, 5)]))


def test_the_seed_changes_the_stream(shards: Shards):
    one, other = (Rows(shards, length=10, layout=LAYOUT, seed=seed).take(0, 20) for seed in (1, 2))
    assert not torch.equal(one, other)


@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
def test_ids_on_the_device_and_in_the_file_give_the_same_rows(tmp_path: Path, dtype: str):
    top = np.iinfo(dtype).max
    ids = np.random.default_rng(0).integers(0, top, 5000, dtype=dtype, endpoint=True)
    ids[7] = top
    text = written(tmp_path, ids, ids[:500])
    storages: tuple[Storage, ...] = ("device", "mapped", "auto")
    held = [Rows(text, length=34, layout=LAYOUT, storage=storage) for storage in storages]
    taken = [rows.take(100, 200) for rows in held]
    assert torch.equal(taken[0], taken[1])
    assert torch.equal(taken[0], taken[2])
    wanted = torch.from_numpy(ids.astype(np.int64))
    assert torch.equal(held[0].fixed(3)[:, 1:-1].flatten(), wanted[:96])
    assert int(held[0].take(0, held[0].per_epoch).min()) >= 0
    assert top in held[0].fixed(1)


def test_fixed_rows_are_the_first_of_the_text(shards: Shards):
    rows = Rows(shards, length=12, layout=LAYOUT, split="dev", seed=8)
    assert rows.fixed(2).tolist() == [[2, *range(start, start + 10), 3] for start in (40_000, 40_010)]
    assert rows.fixed(1000).shape == (10, 12)
    assert torch.equal(rows.fixed(5), Rows(shards, length=12, layout=LAYOUT, split="dev", seed=9).fixed(5))


def test_reading_leaves_the_file_as_it_was(tmp_path: Path):
    shards = written(tmp_path, np.arange(100, dtype="<u2"))
    before = (tmp_path / "train.ids.bin").read_bytes()
    rows = Rows(shards, length=12, layout=LAYOUT, storage="mapped")
    rows.take(0, 5).zero_()
    assert (tmp_path / "train.ids.bin").read_bytes() == before
    assert int(rows.take(0, 5).max()) > 0


def test_a_text_shorter_than_a_row_is_refused(tmp_path: Path):
    shards = written(tmp_path / "en", np.arange(1253, dtype="<u2"))
    assert Rows(shards, length=1255, layout=LAYOUT).take(5, 2).shape == (2, 1255)
    with raises("config.missing-data", tmp_path / "en", "1,253", "1,254"):
        Rows(shards, length=1256, layout=LAYOUT)
    with raises("config.missing-data", 0):
        Rows(shards, length=12, layout=LAYOUT, split="dev")
    with raises("config.invalid-value", 2):
        Rows(shards, length=2, layout=LAYOUT)


# --- separators ---


def in_sentences(folder: Path, documents: list[list[int]]) -> Shards:
    """A text in which every id is 10 + its place, in sentences of these lengths."""
    lengths = [length for document in documents for length in document]
    shards = written(folder, 10 + np.arange(sum(lengths), dtype="<u2"))
    np.array(lengths, dtype="<u4").tofile(folder / "train.sentences.bin")
    np.array([len(document) for document in documents], dtype="<u4").tofile(folder / "train.documents.bin")
    return shards


def spelled_out(documents: list[list[int]], separator: str) -> list[int]:
    """The stream with separators, written down one by one."""
    stream: list[int] = []
    place = 10
    for document in documents:
        for length in document:
            stream += range(place, place + length)
            place += length
            if separator == "sentence" and length:
                stream.append(3)
        if separator == "document" and any(document):
            stream.append(3)
    return stream


@given(
    documents=st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=6),
    separator=st.sampled_from(["none", "sentence", "document"]),
    length=st.integers(3, 9),
    storage=st.sampled_from(["device", "mapped"]),
)
def test_rows_are_cut_from_the_text_with_its_separators(
    folder: Path, documents: list[list[int]], separator: str, length: int, storage: Storage
):
    stream = spelled_out(documents, separator)
    if len(stream) < length - 2 or not any(map(any, documents)):
        return
    shards = in_sentences(folder, documents)
    rows = Rows(shards, length=length, layout=LAYOUT, separator=separator, storage=storage)  # type: ignore[arg-type]
    assert rows.tokens == len(stream)
    assert rows.fixed(1000)[:, 1:-1].flatten().tolist() == stream[: rows.per_epoch * (length - 2)]
    circle = stream + stream
    for row in rows.take(0, 3 * rows.per_epoch)[:, 1:-1].tolist():
        assert any(circle[start : start + length - 2] == row for start in range(len(stream)))
    epoch = rows.take(0, rows.per_epoch)[:, 1:-1].flatten()
    text = epoch[epoch != 3]
    assert len(text.unique()) == len(text)


# --- rows of sentences ---


def with_sentences(folder: Path, lengths: list[int]) -> Shards:
    """A text of sentences of these lengths, in which every id is its own place, from 5 on."""
    shards = written(folder, np.arange(5, 5 + sum(lengths), dtype="<u2"))
    np.array(lengths, dtype="<u4").tofile(folder / "train.sentences.bin")
    return shards


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30), length=st.integers(3, 14), seed=st.integers(0, 3))
def test_sentences_are_cut_by_themselves_and_every_id_comes_once_an_epoch(
    folder: Path, lengths: list[int], length: int, seed: int
):
    if not sum(lengths):
        return
    rows = Rows(with_sentences(folder, lengths), length=length, layout=LAYOUT, seed=seed, windows="sentences")
    ids = rows.take(0, rows.per_epoch)
    text = [row[row > 4].tolist() for row in ids]
    assert sorted(place for row in text for place in row) == list(range(5, 5 + sum(lengths)))
    assert rows.text_tokens(0, rows.per_epoch) == rows.tokens == sum(lengths)
    ends = np.cumsum(lengths) + 5
    for row, found in zip(ids.tolist(), text, strict=True):
        assert row == [2, *found, 3, *[0] * (length - 2 - len(found))]
        assert np.searchsorted(ends, found[0], side="right") == np.searchsorted(ends, found[-1], side="right")
    assert rows.text_tokens(1, 1) == len(rows.take(1, 1)[0][rows.take(1, 1)[0] > 4])
    assert torch.equal(rows.take(0, 1), ids[:1])


def test_only_whole_sentences_of_a_text_that_is_cut_are_read(tmp_path: Path):
    shards = with_sentences(tmp_path, [4, 4, 4])
    rows = Rows(shards, length=8, layout=LAYOUT, windows="sentences", limit=9)
    assert (rows.tokens, rows.sentences, rows.per_epoch) == (8, 2, 2)
    assert rows.fixed(9).tolist() == [[2, 5, 6, 7, 8, 3, 0, 0], [2, 9, 10, 11, 12, 3, 0, 0]]


def test_sentences_have_no_separators(tmp_path: Path):
    with raises("config.conflicting-options"):
        Rows(with_sentences(tmp_path, [9]), length=8, layout=LAYOUT, windows="sentences", separator="sentence")
