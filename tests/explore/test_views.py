"""Views compute what the library computes."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

import isoglot
from isoglot.align import Procrustes
from isoglot.explore import requests
from isoglot.explore.requests import CellRequest, CompareRequest, LensRequest, SpaceRequest, TurnRequest
from isoglot.explore.views import (
    ExploredModel,
    all_cells,
    behind_cell,
    compare,
    in_space,
    nearest_rows,
    projected,
    rotation_between,
)
from isoglot.languages.builtin import builtin_pairs
from isoglot.model import load_encoder
from isoglot.steer import LEACE
from tests.errors import raises

SENTENCE = "The government must protect all citizens."


def turned(mini: ExploredModel, **options: Any) -> dict[str, Any]:
    return mini.turn(TurnRequest(**{"text": SENTENCE, "source": "en", **options}))


@pytest.mark.parametrize(
    ("target", "alpha", "layer"), [("de", 2.5, 7), ("fr", 3.0, 7), ("zh", 3.0, 8), ("de", -1.0, 5)]
)
def test_a_turned_sentence_is_the_one_that_translate_gives(mini, target, alpha, layer):
    found = turned(mini, targets=[{"language": target, "alpha": alpha}], layer=layer)
    expected = isoglot.translate(SENTENCE, "en", target, alpha=alpha, layer=layer)
    assert found["output"] == str(expected)
    assert [token["candidates"][0]["text"] for token in found["tokens"]] == [each.made for each in expected.tokens(0)]
    assert [token["given"] for token in found["tokens"]] == [each.given for each in expected.tokens(0)]


def test_without_a_layer_it_is_the_measured_one(mini):
    assert turned(mini, targets=[{"language": "ru"}])["layer"] == mini.known.means.choice("en", "ru").layer


def test_a_shift_of_length_zero_and_no_target_change_nothing(mini):
    still = turned(mini, targets=[{"language": "de", "alpha": 0.0}], layer=7)
    assert still["output"] == turned(mini, layer=7)["output"] == SENTENCE


def test_two_targets_may_come_in_any_order(mini):
    both = [{"language": "de", "alpha": 1.5}, {"language": "fr", "alpha": 2.0}]
    one, other = turned(mini, targets=both, layer=8), turned(mini, targets=both[::-1], layer=8)
    assert one["output"] == other["output"]
    assert one["output"] not in {turned(mini, targets=[each], layer=8)["output"] for each in both}


def test_candidates_are_ordered_and_say_whose_they_are(mini):
    for token in turned(mini, targets=[{"language": "de", "alpha": 2.5}], layer=7)["tokens"]:
        chances = [each["probability"] for each in token["candidates"]]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1.0001
    words = {each["text"]: each["languages"] for each in token["candidates"]} | {
        each["text"]: each["languages"]
        for token in turned(mini, targets=[{"language": "de", "alpha": 2.5}], layer=7)["tokens"]
        for each in token["candidates"]
    }
    assert "de" in words["Regierung"]
    assert "en" not in words["Regierung"]


def test_words_of_the_dictionary_are_judged(mini):
    found = turned(mini, text="The dog sees the house.", targets=[{"language": "de", "alpha": 2.5}], layer=7)
    verdicts = {token["given"].strip(): token["right"] for token in found["tokens"]}
    assert verdicts["dog"] is not None
    assert verdicts["."] is None


def test_an_eraser_is_that_of_the_library(mini):
    found = turned(mini, method="leace", layer=6)
    encoder = mini.encoder
    passage = mini._passage(SENTENCE, "en")
    eraser = LEACE.from_means(mini.covariances, 6)
    with torch.inference_mode():
        hidden = eraser.change("en")(passage.states[6], passage.batch.ids_BT)
        logits = encoder.logits(encoder.run_from(6, hidden, passage.batch, "en"), "en")
        special = torch.tensor(sorted(encoder.vocabulary.special.values()))
        best = logits.index_fill(2, special, -torch.inf).argmax(-1)[0, passage.positions].numpy()
    assert found["output"] == encoder.vocabulary.decode(best)
    assert found["command"] is None


def test_the_last_layer_of_the_lens_says_the_sentence(mini):
    found = mini.lens(LensRequest(text=SENTENCE, source="en"))
    assert len(found["layers"]) == mini.encoder.depth + 1
    assert [token["candidates"][0]["text"] for token in found["layers"][-1]] == found["given"]
    assert [token["candidates"][0]["text"] for token in found["layers"][3]] != found["given"]


def test_the_space_has_the_neighbors_of_the_vectors(mini):
    found = mini.space(SpaceRequest(languages=["en", "de"], sentences=30))
    for layer in (0, 8):
        X, Y = (mini._vectors(tuple(found["texts"][code]), code)[layer] for code in ("en", "de"))
        X, Y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Y))
        nearest = (X @ Y.T).argmax(1)
        assert found["layers"][layer]["neighbors"]["en-de"] == nearest.tolist()
        assert found["layers"][layer]["precision"]["en-de"] == pytest.approx(
            (nearest == np.arange(30)).mean(), abs=1e-4
        )
        assert np.shape(found["layers"][layer]["points"]) == (60, 2)


@pytest.mark.parametrize("space", ["raw", "centered", "mapped"])
def test_own_sentences_are_points_and_have_neighbors(mini, space):
    there = mini.space(SpaceRequest(languages=["en", "de"], sentences=20))["texts"]["de"]
    own = [{"language": "de", "text": there[7]}, {"language": "fr", "text": "Le chien dort."}]
    found = mini.space(SpaceRequest(languages=["en", "de"], sentences=20, own=own, space=space))
    assert found["own"] == own[:1]  # French is not shown
    for layer in found["layers"]:
        assert len(layer["points"]) == 41
        (neighbors,) = layer["own"]
        assert neighbors["de"] == 7
    if space == "raw":
        assert all(layer["own"][0]["en"] == layer["neighbors"]["de-en"][7] for layer in found["layers"])


def test_checkpoints_are_models(checkpoints):
    first, last = (ExploredModel(str(path), load_encoder(path, device="cpu")) for path in checkpoints)
    assert first.languages == ("en", "fr")
    assert "known" not in first.about() | vars(first)  # no means are estimated before they are needed
    asked = CompareRequest(sentences=20, language="en", other_language="fr")
    assert compare(first, last, asked)["grid"] != compare(last, last, asked)["grid"]
    run = ExploredModel("run", load_encoder(checkpoints[0].parent.parent, weights="last", device="cpu"))
    assert compare(last, run, asked)["grid"] == compare(last, last, asked)["grid"]


def test_a_model_of_other_languages_is_refused(mini, monkeypatch):
    monkeypatch.setattr("isoglot.compare.parallel_sentences.builtin_languages_of", lambda _: [])
    with raises("config.built-in-language", "elsewhere"):
        ExploredModel("elsewhere", mini.encoder).languages  # noqa: B018


def test_centering_helps_where_languages_are_apart():
    chance = np.random.default_rng(0)
    meaning = chance.normal(size=(40, 12))
    away = 5 * chance.normal(size=12)
    rows = {
        "en": meaning + 0.3 * chance.normal(size=(40, 12)),
        "de": meaning + away + 0.3 * chance.normal(size=(40, 12)),
    }
    share = {}
    for space in ("raw", "centered"):
        seen = in_space(rows, space)
        share[space] = (seen.nearest("en", "de") == np.arange(40)).mean()
    assert share["centered"] > share["raw"]


def test_a_map_is_learned_outside_of_the_fold():
    chance = np.random.default_rng(1)
    rows = {"en": chance.normal(size=(20, 30)), "de": chance.normal(size=(20, 30))}
    changed = in_space(rows, "mapped").rows
    assert (nearest_rows(changed["de"], changed["en"]) == np.arange(20)).mean() < 0.5  # noise has no map


@settings(max_examples=30, deadline=None)
@given(arrays(np.float64, (6, 9), elements=st.floats(-3, 3)), st.integers(0, 1000))
def test_the_rotation_is_procrustes_on_what_the_pairs_determine(Y, seed):
    X = np.random.default_rng(seed).normal(size=(6, 9))
    assume(np.linalg.svd(X @ Y.T)[1][-1] > 1e-3)
    np.testing.assert_allclose(X @ rotation_between(X, Y), Procrustes().fit(X, Y).transform(X), atol=1e-6)


def test_a_projection_is_pca_up_to_rotation_and_scale():
    X = np.random.default_rng(0).normal(size=(50, 8)) * np.arange(8, 0, -1)
    centered = X - X.mean(0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    expected = centered @ vectors[:, ::-1][:, :2]
    found = projected(X, "pca", None)
    np.testing.assert_allclose(
        np.linalg.norm(found[:, None] - found, axis=-1) * np.sqrt((expected**2).sum(1).mean()),
        np.linalg.norm(expected[:, None] - expected, axis=-1),
        atol=1e-8,
    )


def test_the_grid_is_that_of_cka(mini):
    found = compare(mini, mini, CompareRequest(sentences=25, language="en", other_language="de"))
    english, german = zip(*builtin_pairs(("en", "de"), 25), strict=True)
    X, Y = mini._vectors(english, "en"), mini._vectors(german, "de")
    assert found["grid"][3][7] == pytest.approx(isoglot.cka(X[3], Y[7], debiased=True), abs=1e-4)
    assert np.shape(found["grid"]) == (9, 9)


def test_a_model_is_compared_with_itself_in_two_languages(mini):
    assert compare(mini, mini, CompareRequest(sentences=20))["languages"] == ["en", "fr"]


def test_behind_a_cell_of_a_layer_with_itself_all_agree(mini):
    asked = CellRequest(sentences=20, layer=5, other_layer=5, language="en", other_language="en")
    found = behind_cell(mini, mini, asked)
    assert [row["agreement"] for row in found["least"]] == [1.0] * 5


def test_every_cell_of_a_page_without_a_server_has_the_same_sentences(mini):
    asked = CellRequest(sentences=20, layer=5, other_layer=2)
    found, cells = behind_cell(mini, mini, asked), all_cells(mini, mini, CompareRequest(sentences=20))
    for kind, rows in zip(("most", "least"), cells["cells"][5][2], strict=True):
        assert found[kind] == [
            {"texts": [side[row] for side in cells["texts"]], "agreement": agreement} for row, agreement in rows
        ]


# --- commands: pasted into a shell, they compute what is seen ---


def pasted(isoglot, command: str, *more: str) -> Any:
    name, *words = shlex.split(command)
    assert name == "isoglot"
    place = words.index("--") if "--" in words else len(words)
    found = isoglot(*words[:place], "--json", "--quiet", *more, *words[place:])
    assert found.code == 0, found.err
    return json.loads(found.out)


@pytest.mark.parametrize(
    ("text", "alpha", "method"),
    [
        (SENTENCE, 2.5, "mean"),
        ("-1 'or' \"$HOME\" `ls`; --debug", -1.5, "norm-matched"),
        ("It's 1 € & more.", 0.5, "mean"),
    ],
)
def test_the_command_of_a_turned_sentence(mini, isoglot, text, alpha, method):
    found = turned(mini, text=text, targets=[{"language": "de", "alpha": alpha}], layer=7, method=method)
    assert pasted(isoglot, found["command"])["sentences"][0]["outputs"][0]["text"] == found["output"]


@pytest.mark.parametrize("space", ["raw", "centered"])
def test_the_command_of_the_space(mini, isoglot, space):
    found = mini.space(SpaceRequest(languages=["en", "de"], sentences=40, space=space))
    (pair,) = pasted(isoglot, found["command"], "--pairs", "none", "--resamples", "10")["pairs"]
    for layer in pair["layers"]:
        shares = {one["direction"]: one["p@1"]["value"] for one in layer["scores"]}
        precision = found["layers"][layer["layer"]]["precision"]
        assert shares == {"forward": precision["en-de"], "backward": precision["de-en"]}
    assert mini.space(SpaceRequest(languages=["en", "de"], sentences=20, space="mapped"))["command"] is None


def test_the_command_of_two_models(mini, isoglot):
    found = compare(mini, mini, CompareRequest(sentences=30, language="de", other_language="en"))
    made = pasted(isoglot, found["command"], "--draws", "20", "--floor", "none")
    assert made["grid"]["debiased"] == pytest.approx(np.array(found["grid"]), abs=1e-4)
    assert compare(mini, mini, CompareRequest(sentences=20, language="en", other_language="en"))["command"] is None


def test_work_that_nobody_waits_for_ends(mini):
    calls = iter([None, None, StopIteration])

    def check():
        if next(calls) is StopIteration:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        mini.space(SpaceRequest(sentences=20), check)


def test_what_is_not_there_is_refused(mini):
    with raises("config.unknown-language", "sw"):
        turned(mini, source="sw")
    with raises("config.unknown-layer", "99"):
        turned(mini, layer=99)


@pytest.mark.parametrize(
    "asked",
    [
        {"text": "x" * (requests.LONGEST_TEXT + 1), "source": "en"},
        {"text": "", "source": "en"},
        {"text": "a", "source": "../etc"},
        {"text": "a", "source": "en", "file": "/etc/passwd"},
        {"text": "a", "source": "en", "layer": -1},
        {"text": "a", "source": "en", "targets": [{"language": "de", "alpha": float("inf")}]},
        {"text": "a", "source": "en", "targets": [{"language": "de"}] * 3},
    ],
)
def test_requests_have_bounds(asked):
    with pytest.raises(ValidationError):
        TurnRequest(**asked)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "a\x00b", "\u202eabc", "  ", "🙂" * 100]
)
def test_hostile_text_is_text(mini, text):
    found = turned(mini, text=text, targets=[{"language": "de"}])
    assert found["tokens"]
