"""Static vectors as an encoder with layer 0 alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import torch

from isoglot.compare.encoders import random_encoder_like
from isoglot.core.artifact import write_index
from isoglot.core.errors import IsoglotError
from isoglot.model import TableEncoder, load_encoder, make_batch
from isoglot.model.static_table import open_table, save_table
from isoglot.represent import extract
from isoglot.steer.shifted_decoding import best_tokens, check_softmax
from isoglot.vocab import train_vocabulary
from tests.errors import raises


@pytest.fixture(scope="module")
def table(small_texts) -> TableEncoder:
    vocabulary = train_vocabulary(small_texts, mode="joint", size=400)
    known = torch.ones(len(vocabulary), dtype=torch.bool)
    known[list(vocabulary.special.values())] = False
    torch.manual_seed(0)
    return TableEncoder(torch.randn(len(vocabulary), 5), known, vocabulary, {"method": "by hand"})


def test_it_keeps_the_protocol(table: TableEncoder):
    batch = make_batch(table.vocabulary, ["the cat", "a"], "en")
    (hidden,) = table.layers(batch, "en")
    assert (table.depth, table.hidden_size, hidden.shape[-1]) == (0, 5, 5)
    assert torch.equal(hidden[:, 1:], table.weight[batch.ids_BT][:, 1:])
    assert (hidden[:, -1] == 0).all()  # neither [SEP] nor padding has a vector
    for row, sentence in enumerate(("the cat", "a")):  # [CLS] is the mean of its row
        ids = table.vocabulary.encode(sentence, "en")
        torch.testing.assert_close(hidden[row, 0], table.weight[ids].mean(dim=0))
    assert table.run_from(0, hidden, batch) is hidden
    assert table.logits(hidden).shape == (*batch.ids_BT.shape, len(table.vocabulary))
    with table.edited(0, lambda states, _: states + 1):
        assert torch.equal(table.layers(batch)[0], hidden + 1)
    assert torch.equal(table.layers(batch)[0], hidden)
    with raises("config.unknown-layer", 1):
        table.run_from(1, hidden, batch)


def test_it_has_scores_of_pieces_though_no_parameters(table: TableEncoder):
    check_softmax(table)
    check_softmax(TableEncoder(table.weight.bfloat16(), table.known, table.vocabulary))
    hidden = table.weight[table.known][:7]
    scores = table.logits(hidden).index_fill(1, torch.tensor(sorted(table.vocabulary.special.values())), -torch.inf)
    assert torch.equal(best_tokens(table, hidden), scores.argmax(dim=1))


def test_a_sentence_is_the_mean_of_its_subwords(table: TableEncoder):
    found = extract(table, ["the cat sees a dog"], language="en", pool="mean")
    ids = table.vocabulary.encode("the cat sees a dog", "en")
    torch.testing.assert_close(torch.from_numpy(found[0][0].copy()), table.weight[ids].mean(dim=0))


def test_an_untrained_one_has_the_same_words_and_other_vectors(table: TableEncoder):
    one, again, other = (random_encoder_like(table, seed=seed) for seed in (0, 0, 1))
    assert isinstance(one, TableEncoder)
    assert isinstance(again, TableEncoder)
    assert isinstance(other, TableEncoder)
    assert torch.equal(one.known, table.known)
    assert torch.equal(one.weight, again.weight)
    assert not torch.equal(one.weight, other.weight)
    assert not torch.equal(one.weight, table.weight)


def test_what_is_saved_is_loaded(table: TableEncoder, tmp_path: Path):
    save_table(table, tmp_path)
    found = load_encoder(tmp_path, device="cpu")
    assert isinstance(found, TableEncoder)
    assert torch.equal(found.weight, table.weight)
    assert torch.equal(found.known, table.known)
    assert found.about == {"method": "by hand"}
    assert found.vocabulary.hash == table.vocabulary.hash
    (tmp_path / "static.safetensors").write_bytes(b"no")
    with raises("corrupt-file.hash", "static.safetensors", 2):
        open_table(tmp_path)
    (tmp_path / "static.json").write_text("{}")
    with raises("input.unknown-format", 1):
        open_table(tmp_path)


def test_an_index_with_something_missing_is_refused(table: TableEncoder, tmp_path: Path, each_damage):
    save_table(table, tmp_path)
    for _ in each_damage(tmp_path / "static.json"):
        with suppress(IsoglotError):
            open_table(tmp_path)
    write_index(tmp_path / "static.json", "static vectors", 1, {})
    with raises("corrupt-file", "'vocabulary'"):
        open_table(tmp_path)


def test_what_is_no_table_is_refused(table: TableEncoder, tmp_path: Path):
    with raises("config.other-size", "(3, 2)", 400):
        TableEncoder(torch.zeros(3, 2), torch.ones(3, dtype=torch.bool), table.vocabulary)
    bad = TableEncoder(table.weight.clone(), table.known, table.vocabulary)
    bad.weight[7] = float("nan")
    with raises("input.not-finite"):
        save_table(bad, tmp_path)
