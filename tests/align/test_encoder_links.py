"""Links read off an encoder's vectors: the rules by hand and against a plain loop, batches, choices, files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align import EncoderAligner, EncoderLinksConfig, fit_encoder_aligner, load_aligner, train_aligner
from isoglot.align.words.bitext import PairCounts, builtin_bitext
from isoglot.align.words.encoder_aligner import PairedWords
from isoglot.align.words.encoder_links import (
    THRESHOLDS,
    Center,
    LinkSettings,
    Rule,
    WordVectors,
    argmax_links,
    probabilities,
    similarities,
    softmax_links,
    symmetrized,
)
from isoglot.align.words.links import METHODS, Symmetry, score_links, symmetrize
from isoglot.core.config import build_config
from isoglot.model import Encoder, TableEncoder, save_encoder
from isoglot.model.protocol import EncoderLike
from isoglot.model.static_table import save_table
from isoglot.represent import extract
from isoglot.vocab import train_vocabulary
from tests.errors import raises


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def table(small_texts) -> TableEncoder:
    """Random static vectors of a joint vocabulary: every piece is like itself alone."""
    vocabulary = train_vocabulary(small_texts, mode="joint", size=1000, coverage=1.0)
    known = torch.ones(len(vocabulary), dtype=torch.bool)
    known[list(vocabulary.special.values())] = False
    vectors = torch.randn(len(vocabulary), 48, generator=torch.Generator().manual_seed(0))
    return TableEncoder(vectors, known, vocabulary)


@pytest.fixture(scope="module")
def pairs() -> list[tuple[list[str], list[str]]]:
    bitext = builtin_bitext(("en", "fr"), 60)
    return list(zip(bitext.source, bitext.target, strict=True))


def of(values: list[list[float]]) -> WordVectors:
    """One pair in one layer whose similarities (products) are these: the target's words are unit vectors."""
    matrix = torch.tensor(values)
    words = matrix.shape
    return WordVectors(matrix[None, None], torch.eye(words[1])[None, None], torch.tensor([words]))


def listed(links) -> tuple[list[tuple[int, int]], ...]:
    return tuple([(i, j) for i, j in side[0, 0].nonzero().tolist()] for side in links)


# --- the rules by hand ---


def test_argmax_is_mutual_best():
    found = similarities(of([[0.9, 0.8, 0.1], [0.7, 0.2, 0.3]]), kind="dot")
    links = argmax_links(found)
    # Target words choose 0, 0 and 1; source words choose 0 and 0. Both say 0-0 alone.
    assert listed(links) == ([(0, 0), (0, 1), (1, 2)], [(0, 0), (1, 0)])
    assert symmetrized(links, "intersection") == [[[(0, 0)]]]
    assert symmetrized(links, "union") == [[[(0, 0), (0, 1), (1, 0), (1, 2)]]]


def test_softmax_keeps_what_both_directions_have_above_the_threshold():
    logits = [[math.log(3), math.log(3), math.log(1)], [math.log(1), math.log(1), math.log(4)]]
    found = similarities(of([[x / 2 for x in row] for row in logits]), kind="dot")
    over_source, over_target = probabilities(found, 0.5)
    # Columns sum to 4, 4 and 5; rows to 7 and 6.
    torch.testing.assert_close(over_source[0, 0], torch.tensor([[3 / 4, 3 / 4, 1 / 5], [1 / 4, 1 / 4, 4 / 5]]))
    torch.testing.assert_close(over_target[0, 0], torch.tensor([[3 / 7, 3 / 7, 1 / 7], [1 / 6, 1 / 6, 4 / 6]]))
    both = (over_source, over_target)
    assert symmetrized(softmax_links(both, 0.4), "intersection") == [[[(0, 0), (0, 1), (1, 2)]]]
    assert symmetrized(softmax_links(both, 0.5), "intersection") == [[[(1, 2)]]]
    assert symmetrized(softmax_links(both, 0.5), "union") == [[[(0, 0), (0, 1), (1, 2)]]]
    assert symmetrized(softmax_links(both, 0.15), "intersection") == [[[(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]]]
    assert symmetrized(softmax_links(both, 0.9), "union") == [[[]]]


def test_of_equals_the_nearest_to_the_diagonal():
    found = similarities(of([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), kind="dot")
    assert symmetrized(argmax_links(found), "intersection") == [[[(0, 0), (1, 1), (2, 2)]]]


def test_a_word_without_a_vector_has_no_links():
    found = similarities(of([[0.0, 0.0], [-1.0, -2.0]]), kind="dot")
    assert listed(argmax_links(found)) == ([(1, 0), (1, 1)], [(1, 0)])
    over = probabilities(found, 1.0)
    assert not torch.stack(over)[:, 0, 0, 0].any()
    assert torch.isfinite(torch.stack(over)).all()
    means = (torch.full((1, 2), 5.0), torch.zeros(1, 2))
    assert not similarities(of([[0.0, 0.0], [1.0, 2.0]]), means).real_LPMN[0, 0, 0].any()


def test_products_and_cosines_differ_by_length():
    words = of([[3.0, 0.0], [2.0, 0.5]])
    assert similarities(words, kind="dot").values_LPMN[0, 0].tolist() == [[3.0, 0.0], [2.0, 0.5]]
    torch.testing.assert_close(
        similarities(words).values_LPMN[0, 0], torch.tensor([[1.0, 0.0], [2 / 4.25**0.5, 0.5 / 4.25**0.5]])
    )


# --- a plain loop ---


def plain_links(
    X: np.ndarray, Y: np.ndarray, config: EncoderLinksConfig, layer_way: LinkSettings, method: Symmetry
) -> list[tuple[int, int]]:
    """What the rules say, word by word."""
    cos = [[float(x @ y) / (float(x @ x) * float(y @ y)) ** 0.5 for y in Y] for x in X]
    m, n = len(X), len(Y)
    forward: set[tuple[int, int]] = set()
    backward: set[tuple[int, int]] = set()
    if layer_way.rule == "argmax":
        for j in range(n):
            forward.add((max(range(m), key=lambda i: cos[i][j]), j))
        for i in range(m):
            backward.add((i, max(range(n), key=lambda j: cos[i][j])))
    else:
        power = [[math.exp(cos[i][j] / config.temperature) for j in range(n)] for i in range(m)]
        for i in range(m):
            for j in range(n):
                if power[i][j] / sum(power[k][j] for k in range(m)) > (layer_way.threshold or 0):
                    forward.add((i, j))
                if power[i][j] / sum(power[i]) > (layer_way.threshold or 0):
                    backward.add((i, j))
    return symmetrize(forward, backward, method)


@pytest.mark.parametrize("rule", ["argmax", "softmax"])
@pytest.mark.parametrize("center", ["mean", "none"])
def test_it_agrees_with_a_plain_loop(encoder: Encoder, pairs, rule: Rule, center: Center):
    config = EncoderLinksConfig(layer=1, rule=rule, center=center, temperature=0.2)
    aligner = fit_encoder_aligner(encoder, pairs, config=config, languages=("en", "fr"))
    vectors = [
        extract(encoder, [pair[side] for pair in pairs], layers=[1], pool="words", language=code)
        for side, code in enumerate(("en", "fr"))
    ]
    means = [each[1].mean(axis=0, dtype=np.float64) if center == "mean" else 0.0 for each in vectors]
    for method in METHODS:
        found = aligner.align(pairs[:15], method)
        for number in range(15):
            X, Y = (each.sentence(number, 1).astype(float) - mean for each, mean in zip(vectors, means, strict=True))
            assert found[number] == plain_links(X, Y, config, aligner.way, method)


@settings(max_examples=5)
@given(order=st.permutations(range(20)), size=st.integers(1, 20))
def test_a_batch_is_what_its_pairs_are_one_by_one(encoder: Encoder, pairs, order: list[int], size: int):
    aligner = fit_encoder_aligner(encoder, pairs, config=EncoderLinksConfig(layer=2), languages=("en", "fr"))
    chosen = [pairs[number] for number in order[:size]]
    assert aligner.align(chosen) == [aligner.align([pair])[0] for pair in chosen]


def test_chunks_change_nothing(encoder: Encoder, pairs, monkeypatch: pytest.MonkeyPatch):
    aligner = fit_encoder_aligner(encoder, pairs, config=EncoderLinksConfig(layer=1), languages=("en", "fr"))
    whole = aligner.align(pairs)
    monkeypatch.setattr("isoglot.align.words.encoder_aligner._NUMBERS", 50 * encoder.hidden_size)
    monkeypatch.setattr("isoglot.align.words.encoder_aligner._BATCH_NUMBERS", 40 * encoder.hidden_size)
    assert aligner.align(pairs) == whole


def test_batches_hold_every_pair_once(encoder: Encoder, pairs, monkeypatch: pytest.MonkeyPatch):
    words = PairedWords(encoder, pairs, languages=("en", "fr"))
    monkeypatch.setattr("isoglot.align.words.encoder_aligner._BATCH_NUMBERS", 2000 * encoder.hidden_size)
    seen = []
    for which, batch in words.batches():
        seen += which
        assert batch.source_LPMD.shape[:2] == (3, len(which))
        for place, number in enumerate(which):
            sizes = [len(side) for side in pairs[number]]
            assert batch.sizes_P2[place].tolist() == sizes
            assert not batch.source_LPMD[:, place, sizes[0] :].any()
            assert batch.target_LPND[:, place, : sizes[1]].any(dim=-1).all()
    assert sorted(seen) == list(range(len(pairs)))


# --- what it must find ---


@pytest.mark.parametrize("rule", ["argmax", "softmax"])
def test_identical_sentences_align_on_the_diagonal(encoder: Encoder, table: TableEncoder, pairs, rule: Rule):
    same = [(pair[0], pair[0]) for pair in pairs]
    for each, layers in ((encoder, (0, 2)), (table, (0,))):
        for layer in layers:
            # By softmax, two uses of a static word link to both.
            config = EncoderLinksConfig(layer=layer, rule=rule, temperature=0.02)
            aligner = fit_encoder_aligner(each, same, config=config, languages=("en", "en"))
            for pair, links in zip(same, aligner.align(same), strict=True):
                diagonal = [(place, place) for place in range(len(pair[0]))]
                once = len(set(pair[0])) == len(pair[0])
                if once or rule == "argmax":
                    assert links == diagonal
                else:
                    assert set(links) >= set(diagonal)


@settings(max_examples=20)
@given(data=st.data())
def test_a_planted_permutation_is_recovered(table: TableEncoder, pairs, data: st.DataObject):
    words = list(dict.fromkeys(word for pair in pairs for word in pair[0]))[:40]
    made, gold = [], []
    for _ in range(4):
        source = data.draw(st.lists(st.sampled_from(words), min_size=1, max_size=12, unique=True))
        order = data.draw(st.permutations(range(len(source))))
        made.append((source, [source[place] for place in order]))
        gold.append(sorted((place, at) for at, place in enumerate(order)))
    for rule in ("argmax", "softmax"):
        config = EncoderLinksConfig(rule=rule, center="none")
        assert fit_encoder_aligner(table, made, config=config, languages=("en", "en")).align(made) == gold


def test_means_that_hide_translations_are_removed(table: TableEncoder, pairs):
    """A vector that a language adds to all its words makes words alike; without the means it is as it was."""

    class Shifted(TableEncoder):
        def layers(self, batch, language=None):
            (hidden,) = super().layers(batch, language)
            return (hidden + (50.0 if language == "en" else -50.0) * torch.linspace(-1, 2, 48),)

    shifted = Shifted(table.weight, table.known, table.vocabulary)
    words = [[word for word in pair[0] if word.isalpha()] for pair in pairs]  # a sign at the end has no blank before it
    same = [(each, each[::-1]) for each in words]
    gold = [[(place, len(pair[0]) - 1 - place) for place in range(len(pair[0]))] for pair in same]
    scores = {}
    for center in ("mean", "none"):
        config = EncoderLinksConfig(rule="argmax", center=center)
        found = fit_encoder_aligner(shifted, same, config=config, languages=("en", "fr")).align(same)
        scores[center] = score_links(found, gold).f1
    assert scores["mean"] > 0.95
    assert scores["none"] < 0.85
    chosen = fit_encoder_aligner(shifted, same, gold, EncoderLinksConfig(rule="argmax"), languages=("en", "fr"))
    assert chosen.way.center == "mean"


# --- choosing ---


def test_the_best_layer_is_chosen_and_every_layer_reported(encoder: Encoder, pairs, tmp_path: Path):
    same = [(pair[0], pair[0]) for pair in pairs]
    gold = [[(place, place) for place in range(len(pair[0]))] for pair in same]

    noise = torch.Generator().manual_seed(1)

    class Spoiled(EncoderLike):
        """Whose layers but the second say nothing of what is read."""

        def __getattr__(self, name: str):
            return getattr(encoder, name)

        def layers(self, batch, language=None):
            found = encoder.layers(batch, language)
            return tuple(
                hidden if layer == 1 else torch.randn(hidden.shape, generator=noise)
                for layer, hidden in enumerate(found)
            )

    aligner = fit_encoder_aligner(Spoiled(), same, gold, languages=("en", "en"), scratch=tmp_path)
    choice = aligner.choice
    assert choice is not None
    assert (aligner.way.layer, choice.pairs) == (1, 60)
    assert len(choice.tried) == 3 * 2 * (1 + len(THRESHOLDS))
    assert [each.way.layer for each in choice.of_layers("softmax", "mean")] == [0, 1, 2]
    assert choice.chosen.scores.error_rate == min(each.scores.error_rate for each in choice.tried)
    given = EncoderLinksConfig(layer=2, rule="softmax", threshold=0.07, center="none")
    fixed = fit_encoder_aligner(Spoiled(), same, gold, given, languages=("en", "en"))
    assert fixed.way.facts() == {"layer": 2, "rule": "softmax", "threshold": 0.07, "center": "none"}
    assert fixed.means_2D is None


def test_what_is_reported_is_what_links_then_score(encoder: Encoder):
    bitext = builtin_bitext(("en", "fr"), 80, split="dev")
    pairs = list(zip(bitext.source, bitext.target, strict=True))
    aligner = fit_encoder_aligner(encoder, pairs, bitext.links, languages=("en", "fr"))
    assert aligner.choice is not None
    assert score_links(aligner.align(pairs), bitext.links) == aligner.choice.chosen.scores
    sure = [each[::2] for each in bitext.links]
    both = fit_encoder_aligner(encoder, pairs, sure, possible=bitext.links, languages=("en", "fr"))
    assert both.choice is not None
    assert both.choice.chosen.scores == score_links(both.align(pairs), sure, bitext.links)
    assert both.choice.chosen.scores.hit_sure < both.choice.chosen.scores.hit_possible


def test_odd_pairs_are_counted_and_have_no_links(encoder: Encoder, pairs):
    odd = [([], []), (["a"], []), pairs[0], (["a"] * 101, ["a"])]
    aligner = fit_encoder_aligner(encoder, odd, config=EncoderLinksConfig(layer=1), languages=("en", "fr"))
    counts = PairCounts()
    found = list(aligner.stream(odd, counts=counts))
    assert counts.facts() == {"pairs": 4, "blank": 1, "one_sided": 1, "overlong": 1, "used": 1}
    assert [bool(links) for links in found] == [False, False, True, False]
    assert aligner.align([]) == []


# --- files ---


def test_it_is_saved_and_applied_to_new_pairs(encoder: Encoder, table: TableEncoder, pairs, tmp_path: Path):
    save_encoder(encoder, tmp_path / "model")
    save_table(table, tmp_path / "static")
    for each, folder in ((encoder, "model"), (table, "static")):
        config = EncoderLinksConfig(layer=0, pool="word-first")
        made = fit_encoder_aligner(
            each, pairs[:30], config=config, languages=("en", "fr"), model=str(tmp_path / folder)
        )
        made.save(tmp_path / "saved")
        for read in (load_aligner(tmp_path / "saved", device="cpu"), EncoderAligner.load(tmp_path / "saved", each)):
            assert isinstance(read, EncoderAligner)
            assert read.align(pairs[30:]) == made.align(pairs[30:])
            assert (read.config, read.languages, read.facts()) == (made.config, ("en", "fr"), made.facts())


def test_files_of_another_kind_or_encoder_are_refused(encoder: Encoder, table: TableEncoder, pairs, tmp_path: Path):
    made = fit_encoder_aligner(encoder, pairs, config=EncoderLinksConfig(layer=0), languages=("en", "fr"), model="x/y")
    file = made.save(tmp_path / "one")
    with raises("config.other-encoder"):
        EncoderAligner.load(file, table)
    train_aligner(pairs).save(tmp_path / "two")
    with raises("input.unknown-format"):
        EncoderAligner.load(tmp_path / "two", encoder)
    with raises("config.not-supported"):
        load_aligner(tmp_path / "two", model="x")
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(bytes(data))
    with raises("corrupt-file.hash"):
        EncoderAligner.load(file, encoder)


# --- what will not do ---


def test_what_is_refused(encoder: Encoder, pairs):
    def fit(given: Any = pairs, gold: Any = None, **settings: Any) -> EncoderAligner:
        return fit_encoder_aligner(encoder, given, gold, EncoderLinksConfig(**settings), languages=("en", "fr"))

    with raises("config.missing-data"):
        fit()
    with raises("config.unknown-layer", "3"):
        fit(layer=3)
    with raises("input.line-count", "59", "60"):
        fit(gold=[[(0, 0)]] * 59)
    with raises("input.out-of-range", "99-0", "1"):
        fit(gold=[[(99, 0)]] * 60)
    with raises("input.empty"):
        fit(gold=[[]] * 60)
    with raises("input.no-match", "1", "0"):
        fit([(["a"], [])], layer=1)
    with raises("input.empty"):
        fit([], layer=1)
    with raises("config.unknown-name", "'both'"):
        fit(layer=1).align(pairs, "both")  # type: ignore[arg-type]
    with raises("config.invalid-value", "0.1"):
        build_config(EncoderLinksConfig, settings=["rule=argmax", "threshold=0.1"])
    assert build_config(EncoderLinksConfig, settings=["layer=-1"]).layer == -1
    assert fit(layer=-1).way.layer == 2
