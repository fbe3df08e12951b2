from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from isoglot.model import Encoder, EncoderLike
from isoglot.model.protocol import TokenTable
from isoglot.represent import Representations, embedding_rows, extract, word_types
from isoglot.represent.sentences import RowMaker, TokenRows
from isoglot.vocab.word_reader import Pieces
from tests.errors import raises

CORPUS = [
    "the unhappy cat sees the dog".split(),
    "yes".split(),
    "The cat gives a dog the red apple".split(),
    "a big house".split(),
]


@pytest.mark.parametrize("subwords", ["mean", "first"])
def test_types_are_means_over_contexts(encoder: EncoderLike, subwords):
    words = ["cat", "zebra", "the", "unhappy", "dog"]
    found = word_types(encoder, CORPUS, words, subwords=subwords, language="en", batch_tokens=30, chunk=3)
    assert found.words == ("cat", "the", "unhappy", "dog")
    assert found.missing == ("zebra",)
    assert found.counts is not None
    assert found.counts.tolist() == [2, 3, 1, 2]
    every = extract(encoder, CORPUS, pool="words" if subwords == "mean" else "word-first", language="en")
    flat = [word for sentence in CORPUS for word in sentence]
    for row, word in enumerate(found.words):
        at = [place for place, other in enumerate(flat) if other == word]
        for layer in found:
            np.testing.assert_allclose(found[layer][row], every[layer][at].mean(axis=0), atol=2e-5)


def test_case_and_contexts(imported: EncoderLike):
    found = word_types(imported, CORPUS, ["the"], case="lower")
    assert found.counts is not None
    assert found.counts.tolist() == [4]
    first = word_types(imported, CORPUS, ["the"], case="lower", contexts=1)
    assert first.counts is not None
    assert first.counts.tolist() == [2]  # both of the first sentence
    np.testing.assert_allclose(
        first[-1][0], extract(imported, CORPUS[:1], pool="words")[-1][[0, 4]].mean(axis=0), atol=1e-5
    )


def test_long_sentences_lose_no_word(imported: EncoderLike):
    long = ["cat dog " * 40]
    found = word_types(imported, long, ["cat", "dog"])
    assert found.counts is not None
    assert (found.counts.tolist(), found.header["split"]) == ([40, 40], 1)


def test_types_are_saved_with_their_words(imported: EncoderLike, tmp_path: Path):
    from isoglot.text.formats.word_vectors import read_vectors

    found = word_types(imported, CORPUS, ["the", "x", "cat"], layers=[-1])
    for name in ("types.safetensors", "types"):
        found.save(tmp_path / name)
        again = Representations.open(tmp_path / name)
        assert (again.words, again.missing) == (("the", "cat"), ("x",))
        np.testing.assert_array_equal(again.counts, found.counts)
        np.testing.assert_array_equal(again[-1], found[-1])
    found.save(tmp_path / "types.vec")
    vectors = read_vectors(tmp_path / "types.vec")
    assert vectors.words == ["the", "cat"]
    np.testing.assert_array_equal(vectors.matrix_ND, found[-1])
    with raises("config.not-supported", "4"):
        word_types(imported, CORPUS, ["the"]).save(tmp_path / "all.vec")
    with raises("config.missing-data"):
        extract(imported, ["the cat"], layers=[0]).save(tmp_path / "x.vec")


def test_words_that_are_not_there(imported: EncoderLike):
    with raises("input.no-match", 2, 4):
        word_types(imported, CORPUS, ["zebra", "lion"])
    with raises("config.duplicate", "'cat'"):
        word_types(imported, CORPUS, ["cat", "dog", "cat"])


def test_rows_of_the_matrix(imported: EncoderLike, hooked: EncoderLike):
    words = ["cat", "unhappy", "zebra", "house"]
    for encoder in (imported, hooked):
        found = embedding_rows(encoder, words)
        assert (found.words, found.missing) == (("cat", "house"), ("unhappy", "zebra"))
        index = encoder.vocabulary.encode("cat")[0]
        table = (
            encoder.embedding.tokens.of(None) if isinstance(encoder, Encoder) else encoder.model.get_input_embeddings()  # type: ignore[attr-defined]
        )
        np.testing.assert_array_equal(found.vectors_ND[0], table.weight[index].detach().numpy())
    with raises("input.no-match", "1"):
        embedding_rows(imported, ["zebra"])


def test_row_0_of_the_matrix_is_a_word_like_any_other(imported: EncoderLike, monkeypatch: pytest.MonkeyPatch):
    index = imported.vocabulary.encode("cat")[0]
    whole, expected = imported.token_table(None), embedding_rows(imported, ["cat"])
    rows_V = np.where(whole.rows_V >= 0, (whole.rows_V - index) % len(whole.rows_V), -1)
    rolled = TokenTable(whole.weight_RD.detach().roll(-index, 0), rows_V)
    monkeypatch.setattr(type(imported), "token_table", lambda self, language=None: rolled)
    assert embedding_rows(imported, ["cat"]).words == ("cat",)
    np.testing.assert_array_equal(embedding_rows(imported, ["cat"]).vectors_ND, expected.vectors_ND)


def test_rows_of_a_private_matrix(ours: Encoder):
    vocabulary = ours.vocabulary
    english = vocabulary.ids_of("en")
    word = next(
        word
        for index in english.tolist()
        if (word := vocabulary.word(index)) and vocabulary.encode(word, "en") == [index] and len(word) > 2
    )
    found = embedding_rows(ours, [word], "eng")
    row = int(np.searchsorted(ours.member_ids()["en"], vocabulary.encode(word, "en")[0]))
    np.testing.assert_array_equal(found.vectors_ND[0], ours.embedding.tokens.of("en").weight[row].detach().numpy())
    with raises("config.missing-option"):
        embedding_rows(ours, [word])
    with raises("config.not-supported"):
        embedding_rows(Foreign(ours), [word])


class Foreign(EncoderLike):
    """An encoder of somebody else's: it has what the protocol asks for and no more."""

    def __init__(self, inner: Encoder) -> None:
        names = ("vocabulary", "hidden_size", "depth", "max_length", "device", "layers", "provenance")
        vars(self).update({name: getattr(inner, name) for name in names})


def test_an_encoder_that_is_no_module(ours: Encoder):
    foreign = Foreign(ours)
    found = extract(foreign, ["The cat sleeps."], language="en")
    np.testing.assert_allclose(found.stacked(), extract(ours, ["The cat sleeps."], language="en").stacked(), atol=1e-6)
    assert found.header["encoder_sha256"] is None
    with raises("config.not-supported", "bfloat16"):
        extract(foreign, ["a"], language="en", precision="bfloat16")


def test_words_for_a_tokenizer_of_bytes(ours: Encoder, tmp_path: Path):
    """As RoBERTa's: a word inside a sentence has its blank, the first has none."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    from isoglot.model import encoder_config
    from isoglot.represent.sentences import RowMaker
    from isoglot.vocab import Vocabulary

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġ", "a", "b", "c", "ab", "Ġc"]
    tokenizer = Tokenizer(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, [("a", "b"), ("Ġ", "c")], unk_token=pieces[3])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(pieces[:5])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(tmp_path / "tokenizer.json")
    maker = RowMaker(vocabulary, None, "words", 10)
    rows = maker.rows([["ab", "c", "ab"]])
    assert rows.ids[0].tolist() == vocabulary.encode("ab c ab")
    assert rows.starts[0].tolist() == [0, 1, 3]  # the blank before the last is a token without letters
    assert rows.lengths[0].tolist() == [1, 1, 1]
    config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), pad_id=1, unk_id=3)
    found = embedding_rows(Encoder(config, vocabulary), ["c", "ab"])
    assert (found.words, found.missing) == (("c",), ("ab",))


def test_a_word_behind_more_marks_than_fit_is_read_at_the_last_token_that_does():
    """Marks before the first word belong to its window: eight tokens, the word at the seventh, room for five."""
    rows, maker = TokenRows(special=0), SimpleNamespace(room=5)
    pieces = Pieces(np.arange(8), np.array([6]), np.array([8]), unread=0, joined=0)
    RowMaker._add_windows(maker, rows, pieces)  # type: ignore[arg-type]
    assert [each.tolist() for each in (*rows.ids, *rows.starts, *rows.lengths)] == [[0, 1, 2, 3, 4], [4], [1]]
    assert rows.events["cut"] == 1
