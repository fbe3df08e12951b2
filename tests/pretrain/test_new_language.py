"""A new language in encoders of each kind: what stays, what is learned, and what is reported."""

from __future__ import annotations

import json
import math
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from isoglot.align.new_rows import AlignedRows, aligned_rows, best_penalty
from isoglot.languages import documents
from isoglot.model import Encoder, load_encoder, make_batch
from isoglot.model.config import encoder_config
from isoglot.model.hf.import_weights import encoder_from_hf
from isoglot.pretrain import new_language
from isoglot.pretrain.new_language import (
    Added,
    NewFirst,
    add_language,
    add_language_config,
    grown_encoder,
    mean_rows,
)
from isoglot.pretrain.train import Stop
from isoglot.vocab import Vocabulary, extend_vocabulary
from tests.errors import raises

KINDS = ("ours", "bert", "xlm-r", "modernbert")
SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}


@pytest.fixture(scope="module")
def german(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("german") / "de.txt"
    made = islice(documents("de", seed=1), 60)
    path.write_text("\n\n".join("\n".join(s.text for s in document) for document in made) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def encoders(corpus):
    """``encoders(kind)``: an encoder of English and French, with random weights."""

    def make(kind: str, **changes: Any) -> Encoder:
        vocabulary = corpus.vocabulary
        if kind == "ours":
            shape = encoder_config(
                "paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"), max_length=16, **changes
            )
            return Encoder(shape, vocabulary).eval()
        folder = corpus.folder / "vocab"
        given = Vocabulary.from_tokenizer(folder / "tokenizer.json")
        common: dict[str, Any] = {
            **SMALL,
            "vocab_size": len(given) + 3,
            "pad_token_id": 0,
        }  # more rows than subwords, as in XLM-R
        torch.manual_seed(1)
        built: dict[str, tuple[Any, Any]] = {
            "bert": (BertForMaskedLM, BertConfig(**common, max_position_embeddings=16)),
            "xlm-r": (XLMRobertaForMaskedLM, XLMRobertaConfig(**common, max_position_embeddings=17)),
            "modernbert": (
                ModernBertForMaskedLM,
                ModernBertConfig(**common, max_position_embeddings=16, tie_word_embeddings=False),
            ),
        }
        model, config = built[kind]
        return encoder_from_hf(model(config), given)

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_a_grown_encoder_computes_what_it_did(encoders, kind: str, german: Path):
    encoder = encoders(kind)
    vocabulary = extend_vocabulary(encoder.vocabulary, "de", [german], size=500)
    grown = grown_encoder(encoder, vocabulary, "de", mean_rows())
    old, sentence = encoder.config.vocabulary_size, ["The cat sleeps."]
    assert grown.config.vocabulary_size == len(vocabulary) > old
    assert grown.languages == (("en", "fr", "de") if kind == "ours" else ())
    before = encoder.layers(make_batch(encoder.vocabulary, sentence, "en"), "en")
    after = grown.layers(make_batch(vocabulary, sentence, "en"), "en")
    assert all(torch.equal(one, two) for one, two in zip(before, after, strict=True))
    assert torch.allclose(grown.logits(after[-1], "en")[..., :old], encoder.logits(before[-1], "en"), atol=1e-6)
    untied = kind == "modernbert"
    assert ("head.softmax.shared.weight" in grown.state_dict()) == untied
    assert grown.layers(make_batch(vocabulary, ["Die Katze schläft."], "de"), "de")[-1].isfinite().all()


def test_mean_rows_have_the_mean_and_little_noise():
    table = torch.randn(500, 8) * torch.arange(1.0, 9.0) + 3
    rows = mean_rows(noise=0.1)(table, 4000)
    assert torch.allclose(rows.mean(0), table.mean(0), atol=0.1)
    assert torch.allclose(rows.std(0), 0.1 * table.std(0), rtol=0.1)
    assert torch.equal(rows, mean_rows(noise=0.1)(table, 4000))


def test_aligned_rows_recover_a_planted_map():
    torch.manual_seed(0)
    meaning = torch.randn(400, 10)
    table = meaning @ torch.randn(10, 24) + 2  # the encoder's rows of all subwords, of which it has the first 300
    static = meaning @ torch.linalg.qr(torch.randn(10, 10)).Q * 5
    known = torch.ones(400, dtype=torch.bool)
    known[350:] = False
    rows = AlignedRows(static, known, noise=0.0)
    found = rows(table[:300], 100)
    assert rows.explained[0] > 0.99
    assert torch.allclose(found[:50], table[300:350], atol=0.1)
    assert torch.allclose(found[50:], table[:300].mean(0).expand(50, -1))


def test_vectors_that_tell_nothing_leave_the_mean():
    torch.manual_seed(0)
    table, static = torch.randn(300, 24), torch.randn(400, 50)
    rows = AlignedRows(static, torch.ones(400, dtype=torch.bool), noise=0.0)
    assert torch.allclose(rows(table, 100), table.mean(0).expand(100, -1), atol=0.25)
    assert rows.explained[0] < 0.02
    few = AlignedRows(static, torch.arange(400) >= 290, noise=0.0)
    assert torch.equal(few(table, 100), mean_rows(noise=0.0)(table, 100))


def test_the_penalty_grows_with_the_noise():
    torch.manual_seed(0)
    x, w = torch.randn(60, 30), torch.randn(30, 5)
    clear, noisy = x @ w, x @ w + 20 * torch.randn(60, 5)
    assert best_penalty(x, clear)[0] < best_penalty(x, noisy)[0]


def test_encoders_that_cannot_grow(encoders, german: Path):
    private = encoders("ours", plan="sep-emb")
    vocabulary = extend_vocabulary(private.vocabulary, "de", [german], size=500)
    with raises("config.not-supported", "sep-emb"):
        grown_encoder(private, vocabulary, "de", mean_rows())
    with raises("config.not-supported", "head"):
        grown_encoder(encoders("ours", softmax="none"), vocabulary, "de", mean_rows())


def test_a_language_embedding_starts_at_the_mean(encoders, german: Path):
    encoder = encoders("ours", language_embeddings="added")
    vocabulary = extend_vocabulary(encoder.vocabulary, "de", [german], size=500)
    grown = grown_encoder(encoder, vocabulary, "de", mean_rows())
    vectors = [grown.embedding.language_vector(code) for code in ("en", "fr", "de")]
    assert torch.allclose(vectors[2], (vectors[0] + vectors[1]) / 2)


# --- training ---

QUICK = (
    "language.subwords=500",
    "batch.size=8",
    "budget=20steps",
    "evaluation.every=10",
    "evaluation.sequences=8",
    "checkpoints.every=5",
    "log.every=5",
    "log.peak=off",
    "precision=float32",
)
FASTER = (
    "batch.size=64",
    "budget=60steps",
    "evaluation.every=30",
    "optimizer.learning_rate=0.02",
    "language.freed_rate=0.5",
)


@pytest.fixture
def added(encoders, corpus, german: Path, tmp_path: Path):
    """``added(kind, "setting=…")``: German in an encoder of English and French, whose losses are watched."""

    def add(kind: str, *settings: str, name: str = "run", encoder: Encoder | None = None, **options: Any) -> Added:
        encoder = encoder or encoders(kind)
        config = add_language_config(encoder, "de", settings=[*QUICK, *settings])
        held_out = {"en": [corpus.folder / "en.txt"], "fr": [corpus.folder / "fr.txt"]}
        options = {"held_out": held_out, "device": "cpu", **options}
        return add_language(config, encoder, {"de": [german]}, tmp_path / name, **options)

    return add


def weights(folder: Path) -> dict[str, torch.Tensor]:
    encoder = load_encoder(folder, device="cpu")
    assert isinstance(encoder, Encoder)
    return encoder.state_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_the_body_is_frozen_to_the_bit_and_new_rows_are_learned(added, encoders, kind: str, tmp_path: Path):
    encoder = encoders(kind)
    done = added(kind, "language.frozen=1.0", "optimizer.kind=adamw", "optimizer.weight_decay=0.1", *FASTER)
    old, before, after = encoder.config.vocabulary_size, encoder.state_dict(), weights(tmp_path / "run" / "last")
    for name, tensor in before.items():
        same = after[name] if after[name].shape == tensor.shape else after[name][:old]
        assert torch.equal(same, tensor), name
    start = weights(tmp_path / "run" / "start")["embedding.tokens.shared.weight"]
    assert not torch.equal(after["embedding.tokens.shared.weight"][old:], start[old:])
    assert done.after["de"] < done.before["de"] - 0.02
    assert done.subwords["new"] == len(after["embedding.tokens.shared.weight"]) - old


@pytest.mark.parametrize("kind", KINDS)
def test_the_body_is_freed_for_the_second_phase(added, encoders, kind: str, tmp_path: Path):
    done = added(kind, *FASTER)
    before, after = encoders(kind).state_dict(), weights(tmp_path / "run" / "last")
    moved = [name for name in before if name.startswith("blocks.") and not torch.equal(after[name], before[name])]
    assert moved
    assert done.after["de"] < done.before["de"] - 0.5


def test_losses_before_are_those_of_the_encoder_as_it_was(added, encoders, tmp_path: Path, monkeypatch):
    """Measured by the encoder itself, on the input that the run measured on."""
    seen: list[Any] = []
    whole = new_language.LanguageAdder._losses_before

    def spied(self):
        seen.append(self.dev)
        return whole(self)

    monkeypatch.setattr(new_language.LanguageAdder, "_losses_before", spied)
    encoder = encoders("ours")
    done = added("ours", encoder=encoder)
    (dev,) = seen
    del dev.rows["de"]
    for code, loss in dev.losses(encoder).items():
        assert done.before[code] == pytest.approx(loss, abs=1e-4)
    assert set(done.before) == set(done.after) == {"de", "en", "fr"}


def test_a_rise_of_another_loss_is_reported(added, tmp_path: Path):
    said: list[str] = []
    settings = ("language.frozen=0.0", "language.freed_rate=1.0", "optimizer.learning_rate=0.02")
    done = added("ours", *settings, say=said.append)
    worse = [code for code in ("en", "fr") if done.after[code] > done.before[code] + 0.05]
    assert worse
    for code in worse:
        assert sum(f"loss of {code} has risen" in line for line in said) == 1
    facts = json.loads((tmp_path / "run" / "added.json").read_text())
    assert facts["after"] == pytest.approx(done.after)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["config"]["language"]["code"] == "de"
    assert any(name.endswith("de.txt") for name in record["inputs"])


def test_text_of_other_languages_is_trained_in_the_second_phase_only(added, encoders):
    done = added("ours", "sampling.exponent=0.0", held_out={}, name="alone")
    assert set(done.after) == {"de"}
    config = add_language_config(encoders("ours"), "sv", settings=QUICK)
    sampler = NewFirst({"sv": 10, "en": 1000}, config, until=0.5)
    assert {sampler.language(step, 0.4) for step in range(50)} == {"sv"}
    assert {sampler.language(step, 0.6) for step in range(50)} == {"sv", "en"}


@pytest.mark.parametrize("at", [5, 10, 14])
def test_a_resumed_run_ends_with_the_same_bits(added, at: int, tmp_path: Path):
    settings = ("optimizer.kind=adamw", "optimizer.weight_decay=0.1")
    added("ours", *settings, name="whole")
    stopped = added("ours", *settings, name="parts", stop=Stop(step=at))
    assert not stopped.run.finished
    done = added("ours", *settings, name="parts", resume=True)
    one, two = weights(tmp_path / "whole" / "last"), weights(tmp_path / "parts" / "last")
    assert done.run.finished
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_aligned_rows_are_used_and_kept(added, tmp_path: Path):
    pytest.importorskip("numba")
    made: list[AlignedRows] = []

    def rows(*given: Any) -> AlignedRows:
        made.append(aligned_rows(*given))
        return made[-1]

    added("ours", "budget=0steps", rows=rows)
    assert made[0].known_V.sum() > 100
    assert len(made[0].explained) == 1
    again = added("ours", "budget=0steps", rows=rows, resume=True)
    assert len(made) == 1  # the second call found them
    assert again.run.finished


def test_what_cannot_be_added_is_one_clear_line(added, encoders, corpus, german: Path, tmp_path: Path):
    encoder = encoders("ours")
    config = add_language_config(encoder, "deu", settings=QUICK)
    assert config.language.code == "de"
    with raises("config.missing-data", "de"):
        add_language(config, encoder, {"en": [german]}, tmp_path / "a", device="cpu")
    known = add_language_config(encoder, "fr", settings=QUICK)
    with raises("config.duplicate", "fr"):
        add_language(known, encoder, {"fr": [german]}, tmp_path / "b", device="cpu")
    with raises("config.conflicting-options", "model"):
        add_language_config(encoder, "de", settings=["model.layers=3"])
    one = tmp_path / "one.txt"
    one.write_text("\n".join(line for line in german.read_text().splitlines() if line), encoding="utf-8")
    with raises("input.too-few", "documents"):
        add_language(config, encoder, {"de": [one]}, tmp_path / "c", device="cpu")
    with raises("config.not-supported", "sep-emb"):
        added("ours", encoder=encoders("ours", plan="sep-emb"))
    added("ours", name="d")
    with raises("config.run-exists"):
        added("ours", name="d")
    with raises("config.other-settings", "language.frozen"):
        added("ours", "language.frozen=0.1", name="d", resume=True)
    assert math.isfinite(added("ours", name="d", resume=True).after["de"])
