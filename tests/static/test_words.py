"""Vectors of words, and baselines cut to the same words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from isoglot.model import TableEncoder
from isoglot.model.protocol import TokenTable
from isoglot.represent import embedding_rows, word_types
from isoglot.static import baseline, same_words, word_vectors
from isoglot.static.vectors_of_words import own_words
from isoglot.text.formats.word_vectors import Vectors, write_vectors
from tests.errors import raises


@pytest.fixture
def table(given) -> TableEncoder:
    _, vocabulary = given
    known = torch.ones(len(vocabulary), dtype=torch.bool)
    known[list(vocabulary.special.values())] = False
    torch.manual_seed(0)
    return TableEncoder(torch.randn(len(vocabulary), 6), known, vocabulary)


def test_a_word_is_the_mean_of_its_subwords(table: TableEncoder):
    words = ["the", "unbelievable", "a"]
    found = word_vectors(table, [*words, "the"], "en")
    assert found.words == words
    for word, row in zip(words, found.matrix_ND, strict=True):
        ids = table.vocabulary.encode(word, "en")
        np.testing.assert_allclose(row, table.weight[ids].mean(dim=0).numpy(), rtol=1e-5)
    assert len(table.vocabulary.encode("unbelievable", "en")) > 1


def test_subwords_without_a_vector_do_not_count(table: TableEncoder):
    first, *rest = table.vocabulary.encode("unbelievable", "en")
    table.known[first] = False
    np.testing.assert_allclose(
        word_vectors(table, ["unbelievable"], "en").matrix_ND[0], table.weight[rest].mean(dim=0).numpy(), rtol=1e-5
    )
    table.known[:] = False
    with raises("input.no-match", 1):
        word_vectors(table, ["unbelievable"], "en")


def test_row_0_of_a_table_is_a_vector_like_any_other(table: TableEncoder, monkeypatch: pytest.MonkeyPatch):
    (index,) = table.vocabulary.encode("the", "en")
    whole, expected = table.token_table("en"), word_vectors(table, ["the"], "en")
    rows_V = np.where(whole.rows_V >= 0, (whole.rows_V - index) % len(whole.rows_V), -1)
    rolled = TokenTable(whole.weight_RD.roll(-index, 0), rows_V)
    monkeypatch.setattr(TableEncoder, "token_table", lambda self, language=None: rolled)
    np.testing.assert_array_equal(word_vectors(table, ["the"], "en").matrix_ND, expected.matrix_ND)


def test_without_words_all_of_the_language_that_are_one_subword(table: TableEncoder):
    found = word_vectors(table, None, "fr")
    assert found.words == own_words(table, "fr")
    assert all(len(table.vocabulary.encode(word, "fr")) == 1 for word in found.words[:20])
    counts = table.vocabulary.counts("fr")
    assert counts is not None
    ranks = [counts[table.vocabulary.encode(word, "fr")[0]] for word in found.words[:20]]
    assert ranks == sorted(ranks, reverse=True)


def test_downstream_has_the_same_vectors(table: TableEncoder):
    """Words over contexts, and rows of the embedding matrix, are what the table says."""
    words = ["the", "unbelievable"]
    mine = word_vectors(table, words, "en")
    met = word_types(table, [["the", "unbelievable", "the"]], words, language="en")
    np.testing.assert_allclose(met[0], mine.matrix_ND, rtol=1e-5)
    rows = embedding_rows(table, words, "en")
    assert rows.words == ("the",)
    np.testing.assert_array_equal(rows.vectors_ND[0], mine.matrix_ND[0])


def test_a_baseline_is_the_first_vectors_of_a_file(tmp_path: Path):
    write_vectors(tmp_path / "a.vec", ["x", "y", "z"], np.arange(6, dtype=np.float32).reshape(3, 2))
    found = baseline(tmp_path / "a.vec", 2)
    assert (found.words, found.matrix_ND.tolist()) == (["x", "y"], [[0.0, 1.0], [2.0, 3.0]])
    (tmp_path / "b.vec").write_text("")
    with raises("input.empty", "b.vec"):
        baseline(tmp_path / "b.vec")


def test_no_common_word_is_one_line():
    with raises("input.no-match", 1, 2):
        same_words(Vectors(["a"], np.eye(1)), ["b", "c"])
