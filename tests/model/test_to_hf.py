from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast

from isoglot.core.errors import ConfigError, StorageError
from isoglot.core.files import write_bytes
from isoglot.model import Encoder, encoder_config, make_batch
from isoglot.model.head import ABSENT
from isoglot.model.to_hf import export_to_hf, hf_family

PAPER = [
    "default",
    "sep-emb",
    "sep-l1-3",
    "sep-l1-6",
    "sep-emb+l1-3",
    "sep-emb+l1-6",
    "emb",
    "softmax",
    "pos,transform",
    "emb,softmax,7",
]
MODERN = ["default", "emb,softmax", "1-3", "1-6", "emb,1-3,softmax", "emb,1-6,softmax", "emb", "softmax,transform", "7"]


def deviation(encoder: Encoder, folder: Path, sentences, language: str) -> float:
    """The largest difference of any logit or hidden state at a real token."""
    model = AutoModelForMaskedLM.from_pretrained(folder)
    batch = make_batch(encoder.vocabulary, sentences, language, length=encoder.length)
    assert not batch.full
    with torch.no_grad():
        theirs = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long(), output_hidden_states=True)
        ours = encoder.layers(batch, language)
        logits = encoder.logits(ours[-1], language)
    at = batch.mask_BT
    last = model.base_model(input_ids=batch.ids_BT, attention_mask=at.long()).last_hidden_state
    pairs = [*zip(ours[:-1], theirs.hidden_states[:-1], strict=True), (ours[-1], last), (logits, theirs.logits)]
    return max(float((one[at] - two[at]).detach().abs().max()) for one, two in pairs)


@pytest.mark.parametrize(
    ("preset", "plan"), [*(("paper", plan) for plan in PAPER), *(("modern", plan) for plan in MODERN)]
)
def test_every_view_of_every_plan_gives_the_same_numbers(encoders, sentences, tmp_path: Path, preset: str, plan: str):
    encoder = encoders(preset, plan, layers=7)
    export_to_hf(encoder, tmp_path / "hf", "fr")
    assert deviation(encoder, tmp_path / "hf", sentences, "fr") < 1e-4


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("plan", ["default", "emb,softmax", "emb", "softmax"])
@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_the_vector_of_the_language_goes_along(
    encoders, sentences, tmp_path: Path, preset: str, plan: str, language: str
):
    encoder = encoders(preset, plan, language_embeddings="added")
    export_to_hf(encoder, tmp_path / "hf", language)
    assert deviation(encoder, tmp_path / "hf", sentences, language) < 1e-4


@pytest.mark.parametrize("bias", ["all", "none"])
def test_neighbourhoods_and_biases_of_modernbert(encoders, sentences, tmp_path: Path, bias: str):
    encoder = encoders("modern", layers=4, local_window=4, global_every=3, bias=bias)
    export_to_hf(encoder, tmp_path / "hf", "en")
    assert deviation(encoder, tmp_path / "hf", sentences, "en") < 1e-4


@pytest.mark.parametrize("mode", ["joint", "union", "disjoint"])
@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_the_tokenizer_gives_the_ids_of_our_batches(encoders, sentences, tmp_path: Path, preset: str, mode: str):
    encoder = encoders(preset, mode=mode)
    export_to_hf(encoder, tmp_path / "hf", "fr")
    batch = make_batch(encoder.vocabulary, sentences, "fr", length=encoder.length)
    for tokenizer in (
        AutoTokenizer.from_pretrained(tmp_path / "hf"),
        PreTrainedTokenizerFast.from_pretrained(tmp_path / "hf"),
    ):
        given = tokenizer(list(sentences), padding=True, return_tensors="pt")
        assert torch.equal(given["input_ids"], batch.ids_BT)
        assert torch.equal(given["attention_mask"].bool(), batch.mask_BT)
        assert tokenizer.model_max_length == encoder.length
        assert tokenizer.mask_token_id == encoder.vocabulary.special["[MASK]"]
        AutoModelForMaskedLM.from_pretrained(tmp_path / "hf")(**given)  # takes what the tokenizer gives


def test_ids_that_a_language_does_not_have(encoders, tmp_path: Path):
    encoder = encoders("paper", "sep-emb", mode="disjoint")
    export_to_hf(encoder, tmp_path / "hf", "fr")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hf")
    foreign = int(next(i for i in encoder.vocabulary.ids_of("en") if i not in encoder.vocabulary.ids_of("fr")))
    table = model.get_input_embeddings().weight
    assert torch.equal(table[foreign], table[encoder.config.unk_id])
    assert float(model(torch.tensor([[2, 7, 3]])).logits[0, 1, foreign].detach()) == ABSENT
    assert model.config.tie_word_embeddings


def test_twice_is_the_same_bytes_and_other_files_stay(encoders, tmp_path: Path):
    encoder = encoders("modern", "emb,softmax")
    first = {path.name: path.read_bytes() for path in export_to_hf(encoder, tmp_path / "a", "fr")}
    (tmp_path / "a" / "README.md").write_text("mine")
    again = {path.name: path.read_bytes() for path in export_to_hf(encoder, tmp_path / "a", "fr")}
    assert first == again
    assert sorted(first) == [
        "config.json",
        "isoglot_provenance.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["README.md", *sorted(first)]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_with_something_else_in_it_is_refused(encoders, tmp_path: Path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(StorageError) as failure:
        export_to_hf(encoders(), tmp_path, "en")
    assert str(failure.value) == (
        f"{tmp_path}: there is something in this folder, and it is no earlier export; name a new folder or an empty one"
    )
    assert (tmp_path / "config.json").read_text() == "{}"
    with pytest.raises(StorageError, match="a file is in the way of a folder"):
        export_to_hf(encoders(), tmp_path / "config.json" / "hf", "en")
    with pytest.raises(StorageError, match="a file is in the way of a folder"):
        export_to_hf(encoders(), tmp_path / "config.json", "en")


def test_a_disk_that_fills_up_leaves_all_as_it_was(encoders, tmp_path: Path, monkeypatch):
    target = tmp_path / "hf"
    export_to_hf(encoders(), target, "en")
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    done: list[Path] = []

    def full(path, data):
        done.append(path)
        if len(done) == 3:
            raise OSError(28, "No space left on device")
        write_bytes(path, data)

    monkeypatch.setattr("isoglot.model.to_hf.write_bytes", full)
    for place in (target, tmp_path / "new"):
        done.clear()
        with pytest.raises(StorageError, match="the disk is full"):
            export_to_hf(encoders("modern"), place, "en")
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def test_what_hugging_face_does_not_have_is_named():
    config = encoder_config("paper", "nano", vocabulary_size=9, positions="rotary", bias="none")
    with pytest.raises(ConfigError) as failure:
        hf_family(config)
    assert str(failure.value) == (
        "Hugging Face has no such encoder (positions=rotary, bias=none is not BERT's way; "
        "norm=post, mlp=gelu is not MODERNBERT's way); "
        "export one with the norm, positions, mlp and bias of the preset paper or modern"
    )


def test_a_language_must_be_named_where_there_are_several_views(encoders, tmp_path: Path):
    with pytest.raises(ConfigError, match="a union vocabulary encodes by language and none is named"):
        export_to_hf(encoders(), tmp_path / "hf")
    for changes in ({"plan": "1"}, {"language_embeddings": "added"}):
        encoder = encoders(mode="joint", **changes)
        with pytest.raises(
            ConfigError, match=r"has parts for each language and none is named: .* choose one of en, fr"
        ):
            export_to_hf(encoder, tmp_path / "hf")
        with pytest.raises(ConfigError, match="and none for 'de'"):
            export_to_hf(encoder, tmp_path / "hf", "de")
    export_to_hf(encoders(mode="joint"), tmp_path / "hf")
    with pytest.raises(ConfigError, match="no vocabulary"):
        export_to_hf(Encoder(encoder_config("paper", "nano", vocabulary_size=9)), tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def test_an_encoder_without_a_softmax_becomes_a_model_without_a_head(encoders, sentences, tmp_path: Path):
    for preset in ("paper", "modern"):
        encoder = encoders(preset, softmax="none")
        export_to_hf(encoder, tmp_path / preset, "en")
        assert json.loads((tmp_path / preset / "config.json").read_text())["architectures"][0].endswith("BertModel")
        batch = make_batch(encoder.vocabulary, sentences, "en", length=encoder.length)
        model = AutoModel.from_pretrained(tmp_path / preset)
        last = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long()).last_hidden_state
        at = batch.mask_BT
        assert float((last - encoder.layers(batch, "en")[-1])[at].detach().abs().max()) < 1e-4


def test_a_head_without_a_transform_is_no_bert_and_is_refused():
    """XLM's head is the softmax alone; BERT's GELU cannot be made the identity."""
    config = encoder_config("paper", "nano", vocabulary_size=50, transform="none")
    with pytest.raises(ConfigError) as error:
        hf_family(config)
    assert "transform=none is not BERT's way" in error.value.problem
