"""The four uses: a planted rotation is found from held-in pairs and holds on held-out ones; nothing leaks."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.align import (
    AlignConfig,
    Alignment,
    Bitext,
    align_embeddings,
    align_sentences,
    align_types,
    align_words,
    builtin_bitext,
    load_map,
)
from isoglot.align.layer_maps import layer_pairs
from isoglot.core.files import read_json
from isoglot.languages import documents
from isoglot.model import Encoder
from isoglot.model.protocol import EncoderLike
from isoglot.represent import embedding_rows
from isoglot.text.formats.dictionary import Entry
from isoglot.text.provenance import Provenance, use_entries
from tests.errors import raises

PAIR = ("en", "fr")
QUICK = AlignConfig(normalize="none", resamples=10)


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    made = (sentence.text for document in documents("en", seed=3) for sentence in document)
    return list(dict.fromkeys(islice(made, 160)))


@pytest.fixture(scope="module")
def token_lists() -> list[list[str]]:
    made = (sentence.tokens() for document in documents("en", seed=3) for sentence in document)
    return list(islice(made, 60))


def words_of_one_piece(encoder: Encoder) -> list[Entry]:
    made = (word for document in islice(documents("en", seed=1), 40) for each in document for word in each.tokens())
    return [Entry(word, word) for word in embedding_rows(encoder, list(dict.fromkeys(made)), "en").words]


def check_planted(result: Alignment, turned) -> None:
    """Before, hardly a pair is found; after, all: and each map is the rotation of its layer."""
    assert [each.layer for each in result.layers] == [0, 1, 2]
    for each in result.layers:
        before, after = result.scores(each, "before"), result.scores(each, "after")
        assert before is not None
        assert after is not None
        assert before.precision[1].value < 0.3
        assert after.precision[1].value > 0.95
        assert each.layer is not None
        np.testing.assert_allclose(matrix(each.mapping), turned.turns[each.layer].numpy(), atol=1e-3)


def matrix(mapping) -> np.ndarray:
    return np.asarray(mapping.W_)


def test_sentences(encoder, turned, sentences, tmp_path: Path):
    pairs = [(sentence, sentence) for sentence in sentences]
    result = align_sentences(encoder, turned, pairs, languages=PAIR, config=QUICK, scratch=tmp_path)
    check_planted(result, turned)
    assert result.train + result.test == len(pairs)
    assert abs(result.test / len(pairs) - 0.2) < 0.02
    same = align_sentences(encoder, turned, pairs, languages=PAIR, config=QUICK)
    assert same.as_dict() == result.as_dict()
    other = AlignConfig(normalize="none", resamples=10, seed=1)
    again = align_sentences(encoder, turned, pairs, languages=PAIR, config=other, layers=[-1])
    assert [each.layer for each in again.layers] == [2]
    assert not np.array_equal(matrix(again.layers[0].mapping), matrix(result.layers[2].mapping))


@pytest.mark.parametrize(
    ("method", "normalize"),
    [("procrustes", "iterative"), ("ridge", "center"), ("cca", "unit"), ("rcsls", "unit"), ("self-learning", "center")],
)
def test_every_method_finds_the_rotation(encoder, turned, sentences, method, normalize):
    every: dict[str, dict[str, Any]] = {"ridge": {"penalty": 1e-3}, "cca": {"penalty": 0.01}, "rcsls": {"rounds": 20}}
    config = AlignConfig(method=method, normalize=normalize, options=every.get(method, {}), resamples=10)
    pairs = [(sentence, sentence) for sentence in sentences]
    result = align_sentences(encoder, turned, pairs, languages=PAIR, config=config, layers=[1])
    assert result.layers[0].after.of("csls").precision[1].value > 0.95


def test_words(encoder, turned, token_lists):
    links = [[(place, place) for place in range(len(words))] for words in token_lists]
    bitext = Bitext(source=token_lists, target=token_lists, links=links)
    result = align_words(encoder, turned, bitext, languages=PAIR, config=QUICK, layers=[1, 2])
    for each in result.layers:
        assert each.layer is not None
        assert each.after.of("csls").precision[1].value > 0.95
        np.testing.assert_allclose(matrix(each.mapping), turned.turns[each.layer].numpy(), atol=1e-3)
    assert result.facts["sentences"]["train"] > result.facts["sentences"]["test"] > 0
    few = AlignConfig(normalize="none", resamples=10, test_limit=20)
    limited = align_words(encoder, turned, bitext, languages=PAIR, config=few, layers=[1])
    assert 10 <= limited.layers[0].after.of("csls").queries <= 20


def test_types(encoder, turned, token_lists):
    known = sorted({word for words in token_lists for word in words})
    entries = [Entry(word, word) for word in [*known, "zebra-of-nowhere"]]
    texts = (token_lists, token_lists)
    result = align_types(encoder, turned, texts, entries, languages=PAIR, config=QUICK, case="keep")
    check_planted(result, turned)
    assert result.facts["missing"] == [1, 1]
    coverage = result.facts["dictionary"]
    assert (coverage["entries_found"], coverage["entries"]) == (len(known), len(known) + 1)


def test_embeddings(encoder, turned_table):
    other, turn = turned_table
    entries = [*words_of_one_piece(encoder), Entry("unbelievablyzq", "incroyablementzq")]
    result = align_embeddings(encoder, other, entries, languages=PAIR, config=QUICK)
    (only,) = result.layers
    assert (only.layer, only.file) == (None, "map.safetensors")
    np.testing.assert_allclose(matrix(only.mapping), turn.numpy(), atol=1e-3)
    assert only.after.of("csls").precision[1].value == 1.0
    assert result.facts["missing"] == [1, 1]


def test_a_given_test_is_the_test(encoder, turned_table):
    entries = words_of_one_piece(encoder)
    result = align_embeddings(encoder, turned_table[0], entries[5:], entries[:5], languages=PAIR, config=QUICK)
    assert (result.train, result.test, result.facts["leaked"]) == (len(entries) - 5, 5, 0)


def test_files(encoder, turned, sentences, tmp_path: Path):
    pairs = [(sentence, sentence) for sentence in sentences]
    result = align_sentences(encoder, turned, pairs, languages=PAIR, config=QUICK)
    files = result.save(tmp_path / "map")
    assert sorted(path.name for path in files) == [
        "layer-0.safetensors",
        "layer-1.safetensors",
        "layer-2.safetensors",
        "metrics.csv",
        "metrics.json",
    ]
    mapping = load_map(tmp_path / "map" / "layer-1.safetensors")
    np.testing.assert_array_equal(mapping.W_, matrix(result.layers[1].mapping))
    written = read_json(tmp_path / "map" / "metrics.json")
    assert written["pairs"] == {"train": result.train, "test": result.test}
    assert written["layers"][2]["after"][0]["p@1"]["value"] > 0.95
    with (tmp_path / "map" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 2
    assert {(row["from"], row["to"]) for row in rows} == {("en", "fr"), ("fr", "en")}
    assert float(rows[-1]["p@1"]) > 0.95


def test_built_in_gold_is_a_bitext():
    train, test = (builtin_bitext(PAIR, 50, split=split, seed=1) for split in ("train", "test"))
    assert not {" ".join(words) for words in train.source} & {" ".join(words) for words in test.source}
    for number in range(50):
        links = train.kept(number, "one")
        assert set(links) <= set(train.kept(number, "all"))
        assert len({link[0] for link in links}) == len({link[1] for link in links}) == len(links)
        assert all(a < len(train.source[number]) and b < len(train.target[number]) for a, b in links)


# --- leaks ---


def test_a_word_in_both_dictionaries_is_refused(encoder):
    entries = words_of_one_piece(encoder)
    first, second = sorted(entry.source for entry in entries[:2])
    with raises("input.leak", "2 of 2", repr(first), repr(second)):
        align_embeddings(encoder, encoder, entries, entries[:2], languages=PAIR, config=QUICK)
    leaky = AlignConfig(normalize="none", resamples=10, allow_leak=True)
    result = align_embeddings(encoder, encoder, entries, entries[:2], languages=PAIR, config=leaky)
    assert result.facts["leaked"] == 2


def given(words: set[str]) -> Provenance:
    """What trained on a dictionary of these words."""
    return Provenance(dictionaries=(use_entries(*PAIR, [Entry(word, word) for word in sorted(words)]),))


def test_a_word_that_pretraining_knew_is_refused_and_never_held_out(encoder):
    entries = words_of_one_piece(encoder)
    seen = {entry.source for entry in entries[:-20]}
    known = {entries[-1].source.capitalize()}  # these entries have no capitals, so that case does not count
    parts = (entries[:-20], entries[-20:])
    with raises("input.leak", "1 of 20", repr(entries[-1].source)):
        align_embeddings(encoder, encoder, *parts, languages=PAIR, config=QUICK, training=given(known))
    without = AlignConfig(normalize="none", resamples=10, leave_out_known=True)
    result = align_embeddings(encoder, encoder, *parts, languages=PAIR, config=without, training=given(known))
    assert (result.test, result.facts["left_out_known"], result.facts["leaked_to_pretraining"]) == (19, 1, 0)
    result = align_embeddings(encoder, encoder, entries, languages=PAIR, config=QUICK, training=given(seen))
    assert result.test == 20
    with raises("input.too-few"):
        align_embeddings(encoder, encoder, entries[:-20], languages=PAIR, config=QUICK, training=given(seen))


def test_a_sentence_in_both_is_refused_on_either_side(encoder, sentences):
    train = [(sentence, sentence) for sentence in sentences[:50]]
    test = [("Something else.", sentences[0]), ("And more.", "Et plus.")]
    with raises("input.leak", "1", "2"):
        align_sentences(encoder, encoder, train, test, languages=PAIR, config=QUICK)
    leaky = AlignConfig(normalize="none", resamples=10, allow_leak=True)
    assert align_sentences(encoder, encoder, train, test, languages=PAIR, config=leaky).facts["leaked"] == 1


def test_what_comes_again_is_neither_learned_from_nor_scored_on(encoder, turned, sentences):
    pairs = [(sentence, sentence) for sentence in sentences[:60]]
    once = align_sentences(encoder, turned, pairs, languages=PAIR, config=QUICK, layers=[1])
    again = align_sentences(
        encoder, turned, [*pairs, ("Other.", sentences[0]), *pairs], languages=PAIR, config=QUICK, layers=[1]
    )
    assert (once.facts["repeated"], again.facts["repeated"]) == (0, 61)
    assert (once.train, once.test, once.layers[0].after) == (again.train, again.test, again.layers[0].after)
    tested = align_sentences(encoder, turned, pairs[:40], pairs[40:] * 2, languages=PAIR, config=QUICK, layers=[1])
    assert (tested.train, tested.test, tested.facts["repeated"]) == (40, 20, 20)


# --- what will not do ---


def test_nothing_of_the_dictionary_is_found(encoder, token_lists):
    known = token_lists[0][0]
    entries = [Entry(known, "nulle-part"), Entry("nowhere-else", token_lists[0][1])]
    with raises("input.no-match", "1 of 2"):
        align_types(encoder, encoder, (token_lists, token_lists), entries, languages=PAIR, config=QUICK, case="keep")


@pytest.mark.parametrize(
    ("options", "code", "value"),
    [
        ({"method": "ridge", "options": {"penalti": 1}}, "config.unknown-name", "'penalti'"),
        ({"method": "ridge", "options": {"penalty": -1}}, "config.invalid-value", "penalty = -1"),
    ],
)
def test_options_of_the_map(encoder, sentences, options, code, value):
    pairs = [(sentence, sentence) for sentence in sentences]
    with raises(code, value):
        align_sentences(encoder, encoder, pairs, languages=PAIR, config=AlignConfig(**options))


class Wider(EncoderLike):
    """An encoder that is twice as wide and a layer deeper than another."""

    def __init__(self, inner: Encoder) -> None:
        vars(self).update(inner=inner, hidden_size=inner.hidden_size * 2, depth=inner.depth + 1)

    def __getattr__(self, name: str):
        return getattr(self.inner, name)

    def layers(self, batch, language=None):
        found = self.inner.layers(batch, language)
        return tuple(torch.cat([hidden, -hidden], dim=-1) for hidden in (*found, found[-1]))


def test_widths(encoder, sentences):
    pairs = [(sentence, sentence) for sentence in sentences]
    with raises("config.other-size", 32, 64, "procrustes"):
        align_sentences(encoder, Wider(encoder), pairs, languages=PAIR, config=QUICK)
    config = AlignConfig(method="least-squares", normalize="center", resamples=10)
    result = align_sentences(encoder, Wider(encoder), pairs, languages=PAIR, config=config)
    assert [each.before for each in result.layers] == [None] * 3
    assert result.layers[1].after.of("csls").precision[1].value > 0.95


def test_layers_of_two_depths(encoder):
    wider = Wider(encoder)
    assert layer_pairs("all", encoder, wider) == [(0, 0), (1, 1), (2, 2)]
    assert layer_pairs([0, -1], encoder, wider) == [(0, 0), (2, 3)]
    with raises("config.unknown-layer", "3"):
        layer_pairs([3], encoder, wider)


def test_bad_rows_name_their_layer(encoder, turned, sentences):
    class Broken(EncoderLike):
        def __getattr__(self, name: str):
            return getattr(turned, name)

        def layers(self, batch, language=None):
            found = turned.layers(batch, language)
            return (found[0], torch.zeros_like(found[1]), found[2])

    pairs = [(sentence, sentence) for sentence in sentences]
    with raises("input.zero-row", "1", "0"):
        align_sentences(encoder, Broken(), pairs, languages=PAIR, config=QUICK)


def test_no_links(encoder, token_lists):
    bitext = Bitext(source=token_lists, target=token_lists, links=[[] for _ in token_lists])
    with raises("input.no-match"):
        align_words(encoder, encoder, bitext, languages=PAIR, config=QUICK)
