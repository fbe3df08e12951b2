from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    ModernBertConfig,
    ModernBertForMaskedLM,
    ModernBertModel,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaModel,
)

from isoglot.model import Encoder, load_encoder, make_batch, save_encoder
from isoglot.model.hf.export import export_to_hf
from isoglot.model.hf.import_weights import encoder_from_hf, obstacles
from tests.errors import raises

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
ROBERTA = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")


@pytest.fixture
def same(sentences):
    """``same(encoder, model)``: the encoder's numbers are the model's at every real token of a padded batch."""

    def check(encoder, model) -> None:
        batch = make_batch(encoder.vocabulary, sentences, length=encoder.max_length)
        assert not batch.full
        at = batch.mask_BT
        with torch.no_grad():
            theirs = model(input_ids=batch.ids_BT, attention_mask=at.long(), output_hidden_states=True)
            last = model.base_model(input_ids=batch.ids_BT, attention_mask=at.long()).last_hidden_state
            ours = encoder.layers(batch)
            pairs = [*zip(ours[:-1], theirs.hidden_states[:-1], strict=True), (ours[-1], last)]
            if hasattr(theirs, "logits"):
                logits = encoder.logits(ours[-1])
                pairs.append((logits, theirs.logits[..., : logits.shape[-1]]))
        assert max(float((one[at] - two[at]).abs().max()) for one, two in pairs) < 1e-4

    return check


def made(kind: Any, config: Any, shake: Any) -> Any:
    torch.manual_seed(0)
    model = kind(config)
    shake(model)
    return model


def opened(folder: Path) -> Encoder:
    encoder = load_encoder(folder, device="cpu")
    assert isinstance(encoder, Encoder)
    return encoder


def bert(**changes: Any) -> BertConfig:
    return BertConfig(**SMALL, vocab_size=22, max_position_embeddings=40, **changes)


def roberta(kind: Any = RobertaConfig, **changes: Any) -> Any:
    return kind(**SMALL, vocab_size=22, max_position_embeddings=40, pad_token_id=0, **changes)


def modern(**changes: Any) -> ModernBertConfig:
    values = {
        "local_attention": 6,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 9000.0,
        "local_rope_theta": 70.0,
    }
    shape = {**SMALL, "num_hidden_layers": 5, "vocab_size": 22, "max_position_embeddings": 40, "pad_token_id": 0}
    special = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    return ModernBertConfig(**{**values, **shape, **special, **changes})


def test_bert(hf_folder, same, shake):
    model = made(BertForMaskedLM, bert(), shake)
    encoder = opened(hf_folder(model))
    same(encoder, model)
    assert (encoder.max_length, encoder.vocabulary.mode) == (40, "given")


def test_bert_with_the_head_of_the_next_sentence_too(hf_folder, same, shake, tmp_path: Path):
    folder = hf_folder(made(BertForPreTraining, bert(), shake))
    same(opened(folder), AutoModelForMaskedLM.from_pretrained(folder).eval())


@pytest.mark.parametrize(
    ("config", "kind"), [(RobertaConfig, RobertaForMaskedLM), (XLMRobertaConfig, XLMRobertaForMaskedLM)]
)
def test_roberta_and_xlm_r(hf_folder, same, shake, config, kind):
    model = made(kind, roberta(config, type_vocab_size=1), shake)
    encoder = opened(hf_folder(model, special=ROBERTA))
    same(encoder, model)
    assert encoder.max_length == 39  # positions begin after the padding's id


def test_modernbert_with_neighborhoods(hf_folder, same, shake):
    model = made(ModernBertForMaskedLM, modern(), shake)
    encoder = opened(hf_folder(model))
    same(encoder, model)
    assert [encoder.config.is_local(layer) for layer in range(5)] == [False, True, True, False, True]
    assert (encoder.config.rotary_base, encoder.config.local_rotary_base) == (9000, 70)


@pytest.mark.parametrize(
    "changes",
    [
        {"global_attn_every_n_layers": 1},
        {"decoder_bias": False},
        dict.fromkeys(("norm_bias", "attention_bias", "mlp_bias", "classifier_bias"), True),
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_other_modernberts(hf_folder, same, shake, changes):
    model = made(ModernBertForMaskedLM, modern(**changes), shake)
    same(opened(hf_folder(model)), model)


@pytest.mark.parametrize(
    ("kind", "config"), [(BertModel, bert()), (XLMRobertaModel, roberta(XLMRobertaConfig)), (ModernBertModel, modern())]
)
def test_a_model_without_a_head_has_no_logits(hf_folder, same, shake, tmp_path: Path, kind, config):
    model = made(kind, config, shake)
    encoder = opened(hf_folder(model))
    same(encoder, model)
    save_encoder(encoder, tmp_path / "ours")
    for one in (encoder, opened(tmp_path / "ours")):
        with raises("config.not-supported"):
            one.logits(torch.zeros(1, 32))


@pytest.mark.parametrize(
    ("kind", "config"), [(BertForMaskedLM, bert), (RobertaForMaskedLM, roberta), (ModernBertForMaskedLM, modern)]
)
def test_a_softmax_with_a_matrix_of_its_own(hf_folder, same, shake, tmp_path: Path, kind, config):
    model = made(kind, config(tie_word_embeddings=False), shake)
    encoder = opened(hf_folder(model))
    assert encoder.config.softmax == "untied"
    same(encoder, model)


def test_rows_that_no_piece_has_are_left_out(hf_folder, same, shake):
    model = made(BertForMaskedLM, BertConfig(**SMALL, vocab_size=30), shake)
    encoder = opened(hf_folder(model))
    assert encoder.config.vocabulary_size == len(encoder.vocabulary) == 22
    same(encoder, model)


def test_a_tokenizer_larger_than_the_model_is_refused(hf_folder, shake):
    folder = hf_folder(made(BertForMaskedLM, bert(), shake), more=("one", "two"))
    with raises("config.other-size", 24, 22):
        load_encoder(folder)


def test_weights_of_half_precision_become_float32(hf_folder, same, shake):
    model = made(BertForMaskedLM, bert(), shake).to(torch.bfloat16)
    encoder = opened(hf_folder(model))
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}
    same(encoder, model.float())


@pytest.mark.parametrize("preset", ["paper", "modern"])
@pytest.mark.parametrize("softmax", ["tied", "untied", "none"])
def test_ours_goes_there_and_comes_back_bit_by_bit(encoders, tmp_path: Path, preset: str, softmax: str):
    window = {"local_window": 6, "global_every": 2} if preset == "modern" else {}
    encoder = encoders(preset, mode="joint", softmax=softmax, layers=3, **window)
    back = opened(export_to_hf(encoder, tmp_path / "hf")[0].parent)
    before, after = encoder.state_dict(), back.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    changed = {"languages": (), "plan": "default"}
    assert encoder.config.model_copy(update=changed) == back.config


@pytest.mark.parametrize(("kind", "config"), [(BertForMaskedLM, bert), (ModernBertForMaskedLM, modern)])
def test_theirs_comes_here_and_goes_back_bit_by_bit(hf_folder, shake, tmp_path: Path, kind, config):
    model = made(kind, config(), shake)
    files = export_to_hf(opened(hf_folder(model)), tmp_path / "again")
    after = kind.from_pretrained(files[0].parent).state_dict()
    before = model.state_dict()
    assert before.keys() == after.keys()
    differ = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    folded = ("position_embeddings.weight", "token_type_embeddings.weight")
    assert differ == ({f"bert.embeddings.{name}" for name in folded} if kind is BertForMaskedLM else set())
    if differ:
        one, two = (s["bert.embeddings.position_embeddings.weight"] for s in (before, after))
        assert torch.equal(one + before["bert.embeddings.token_type_embeddings.weight"][0], two)


def test_what_cannot_be_imported_is_named():
    assert obstacles(bert()) == obstacles(roberta()) == obstacles(modern()) == []
    assert obstacles(bert(hidden_act="relu")) == ["hidden_act=relu"]
    assert obstacles(bert(position_embedding_type="relative_key")) == ["position_embedding_type=relative_key"]
    assert obstacles(modern(mlp_bias=True, hidden_activation="silu")) == ["hidden_activation=silu", "mlp_bias=True"]
    assert obstacles(transformers.DistilBertConfig()) == ["model_type=distilbert"]
    with raises("config.not-supported", "hidden_act=relu"):
        encoder_from_hf(made(BertForMaskedLM, bert(hidden_act="relu"), lambda _: None))
