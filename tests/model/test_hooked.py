from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from isoglot.model import Encoder, load_encoder, make_batch, save_encoder
from isoglot.model.hf.export import export_to_hf
from isoglot.model.hf.hooked import HookedEncoder
from isoglot.model.hf.import_weights import encoder_from_hf
from isoglot.model.protocol import Batch
from isoglot.vocab import Vocabulary
from isoglot.vocab.word_reader import Reader
from tests.errors import raises

# DeBERTa compiles a few functions when it is imported, in a way that torch is giving up
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
PLACES: dict[str, Any] = {"max_position_embeddings": 40, "vocab_size": 22}
DISENTANGLED: dict[str, Any] = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}
CONVOLUTION: dict[str, Any] = {"conv_kernel_size": 3, "conv_act": "gelu"}
UNTIED: dict[str, Any] = {"tie_word_embeddings": False}  # transformers 4 ties a wrong matrix of that head
XLM: dict[str, Any] = {
    "emb_dim": 32,
    "n_layers": 3,
    "n_heads": 4,
    **PLACES,
    "n_words": 22,
    "pad_index": 0,
    "pad_token_id": 0,
}
T5: dict[str, Any] = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4, "vocab_size": 22}
DECODER: dict[str, Any] = {**SMALL, "vocab_size": 30, "num_key_value_heads": 2, "pad_token_id": 0}
BART: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, **PLACES, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
    "decoder_start_token_id": 3, "forced_eos_token_id": 3,
}  # fmt: skip
OTHERS: dict[str, Callable[[], Any]] = {
    "t5": lambda: hf.T5Config(**T5),
    "umt5": lambda: hf.UMT5Config(**T5),
    "mt5": lambda: hf.MT5Config(**T5),
    "bart": lambda: hf.BartConfig(**BART),
    "m2m100": lambda: hf.M2M100Config(**BART),
    "qwen2": lambda: hf.Qwen2Config(**DECODER),
    "llama": lambda: hf.LlamaConfig(**DECODER),
}
CONFIGS: dict[str, Callable[[], Any]] = {
    "bert": lambda: hf.BertConfig(**SMALL, **PLACES),
    "bert of another activation": lambda: hf.BertConfig(**SMALL, **PLACES, hidden_act="relu"),
    "distilbert": lambda: hf.DistilBertConfig(dim=32, n_layers=3, n_heads=4, hidden_dim=48, **PLACES),
    "electra": lambda: hf.ElectraConfig(**SMALL, **PLACES, embedding_size=32),
    "electra with a projection": lambda: hf.ElectraConfig(**SMALL, **PLACES, embedding_size=16),
    "deberta-v2": lambda: hf.DebertaV2Config(**SMALL, **PLACES, **DISENTANGLED),
    "deberta-v2 with a convolution": lambda: hf.DebertaV2Config(**SMALL, **PLACES, **DISENTANGLED, **CONVOLUTION),
    "deberta-v2 with its later head": lambda: hf.DebertaV2Config(
        **SMALL, **PLACES, **DISENTANGLED, legacy=False, **UNTIED
    ),
    "albert": lambda: hf.AlbertConfig(**SMALL, **PLACES, embedding_size=16),
    "albert of two groups": lambda: hf.AlbertConfig(**SMALL, **PLACES, embedding_size=16, num_hidden_groups=2),
    "xlm": lambda: hf.XLMConfig(**XLM),
    "modernbert": lambda: hf.ModernBertConfig(
        **SMALL, **PLACES, pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3
    ),
}


@pytest.fixture(params=CONFIGS)
def config(request: pytest.FixtureRequest):
    return CONFIGS[request.param]()


def made(kind: Any, config: Any, shake: Any) -> Any:
    torch.manual_seed(0)
    model = kind.from_config(config)
    shake(model)
    return model


@pytest.fixture
def batches(hf_folder, shake, sentences) -> tuple[Batch, Batch]:
    """A padded batch, and one of other words with the same padding."""
    folder = hf_folder(made(AutoModel, CONFIGS["bert"](), shake), "any")
    batch = make_batch(Vocabulary.from_tokenizer(folder), sentences)
    other = torch.where(batch.ids_BT > 4, 26 - batch.ids_BT, batch.ids_BT)
    assert not batch.full
    assert not torch.equal(other, batch.ids_BT)
    return batch, Batch(other, batch.mask_BT, batch.starts_BT)


@torch.no_grad()
def test_layers_and_logits_are_the_models_own(config, batches, shake):
    model = made(AutoModelForMaskedLM, config, shake)
    encoder = HookedEncoder(model)
    batch, _ = batches
    theirs = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long(), output_hidden_states=True)
    layers = encoder.layers(batch)
    assert (encoder.depth, encoder.hidden_size, len(layers)) == (3, 32, 4)
    assert all(torch.equal(one, two) for one, two in zip(layers[:-1], theirs.hidden_states[:-1], strict=True))
    torch.testing.assert_close(encoder.logits(layers[-1]), theirs.logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(encoder.logits(layers[-1][1, 2]), theirs.logits[1, 2], atol=1e-5, rtol=0)
    again = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long())
    assert torch.equal(again.logits, theirs.logits)  # nothing is left behind


@torch.no_grad()
def test_what_goes_on_from_a_layer_is_what_was_put_there(config, batches, shake):
    encoder = HookedEncoder(made(AutoModelForMaskedLM, config, shake))
    batch, other = batches
    layers = encoder.layers(batch)
    at = batch.mask_BT
    for which in (batch, other):  # the words of the batch itself must not matter
        for start in range(4):
            for end in range(start, 4):
                found = encoder.run_from(start, layers[start], which, to=end)
                torch.testing.assert_close(found[at], layers[end][at], atol=1e-6, rtol=0)
            assert torch.equal(encoder.run_from(start, layers[start], batch), layers[-1])


@torch.no_grad()
def test_padding_does_not_matter(config, batches, shake):
    encoder = HookedEncoder(made(AutoModelForMaskedLM, config, shake))
    batch, _ = batches
    length = int(batch.mask_BT[0].sum())
    alone = Batch(batch.ids_BT[:1, :length], batch.mask_BT[:1, :length], batch.starts_BT[:1, :length], full=True)
    for one, two in zip(encoder.layers(batch), encoder.layers(alone), strict=True):
        torch.testing.assert_close(one[:1, :length], two, atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_the_wrapper_and_the_import_agree(name: str, batches, shake):
    model = made(AutoModelForMaskedLM, CONFIGS[name](), shake)
    hooked, imported = HookedEncoder(model), encoder_from_hf(model)
    batch, _ = batches
    hidden = torch.randn(*batch.ids_BT.shape, 32)
    at = batch.mask_BT
    for start in range(4):
        for end in range(start, 4):
            one, two = (encoder.run_from(start, hidden, batch, to=end) for encoder in (hooked, imported))
            torch.testing.assert_close(one[at], two[at], atol=1e-4, rtol=0)
    torch.testing.assert_close(hooked.logits(hidden), imported.logits(hidden), atol=1e-4, rtol=0)
    assert (hooked.hidden_size, hooked.depth, hooked.max_length) == (
        imported.hidden_size,
        imported.depth,
        imported.max_length,
    )


@pytest.mark.parametrize(
    "name", ["bert", "bert of another activation", "electra", "albert", "distilbert", "modernbert"]
)
@torch.no_grad()
def test_the_second_of_two_texts_is_another_segment(name: str, hf_folder, shake, sentences, tmp_path: Path):
    """Imported, saved, exported or wrapped: what comes out of a pair is what transformers gives, padding among it."""
    model = made(AutoModelForMaskedLM, CONFIGS[name](), shake)
    folder = hf_folder(model, name)
    settings = folder / "tokenizer_config.json"
    names = ["input_ids", "token_type_ids", "attention_mask"]
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"model_input_names": names}))
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(list(sentences), list(reversed(sentences)), padding=True, return_tensors="pt")
    taken = inspect.signature(model.forward).parameters
    states = model(**{key: value for key, value in inputs.items() if key in taken}, output_hidden_states=True)
    at = inputs["attention_mask"].bool()
    encoders = [load_encoder(folder, device="cpu"), HookedEncoder(model, Vocabulary.from_tokenizer(folder))]
    if isinstance(encoders[0], Encoder):
        save_encoder(encoders[0], tmp_path / "saved")
        exported = export_to_hf(encoders[0], tmp_path / "exported")[0].parent
        encoders += [load_encoder(place, device="cpu") for place in (tmp_path / "saved", exported)]
    for encoder in encoders:
        reader = Reader(encoder.vocabulary, None, 40)
        pairs = zip(reader.texts(sentences), reader.texts(sentences[::-1]), strict=True)
        rows = [reader.framed(one, other).tolist() for one, other in pairs]
        ids = [row + [encoder.vocabulary.pad_id] * (at.shape[1] - len(row)) for row in rows]
        found = encoder.layers(Batch(torch.tensor(ids), at, torch.zeros_like(at)))
        torch.testing.assert_close(found[0][at], states.hidden_states[0][at], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(encoder.logits(found[-1])[at], states.logits[at], atol=1e-4, rtol=1e-4)


def test_gradients_reach_what_was_put_in(batches, shake):
    encoder = HookedEncoder(made(AutoModelForMaskedLM, CONFIGS["deberta-v2"](), shake))
    hidden = encoder.layers(batches[0])[1].detach().requires_grad_()
    encoder.run_from(1, hidden, batches[0]).square().sum().backward()
    assert hidden.grad is not None
    assert float(hidden.grad.abs().sum()) > 0


@pytest.mark.parametrize("name", ["distilbert", "electra with a projection", "deberta-v2"])
@pytest.mark.parametrize("head", [AutoModelForMaskedLM, AutoModel])
def test_a_folder_is_wrapped_with_its_head_or_without(name: str, head, hf_folder, sentences, shake):
    model = made(head, CONFIGS[name](), shake)
    encoder = load_encoder(hf_folder(model), device="cpu")
    assert isinstance(encoder, HookedEncoder)
    batch = make_batch(encoder.vocabulary, sentences, length=encoder.max_length)
    last = encoder.layers(batch)[-1]
    theirs = model.base_model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long()).last_hidden_state
    assert torch.equal(last, theirs)
    if head is AutoModelForMaskedLM:
        assert encoder.logits(last).shape == (*batch.ids_BT.shape, len(encoder.vocabulary))
    else:
        with raises("config.not-supported"):
            encoder.logits(last)


def test_pieces_without_a_name_have_no_logits(hf_folder, shake):
    model = made(AutoModelForMaskedLM, hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, vocab_size=30), shake)
    encoder = load_encoder(hf_folder(model), device="cpu")
    assert encoder.logits(torch.zeros(5, 32)).shape == (5, 22)
    with raises("config.other-size", 31, 30):
        load_encoder(hf_folder(model, more=tuple("bcefghijk")), device="cpu")


def test_positions_that_begin_later_make_it_shorter(shake):
    config = hf.RobertaConfig(**SMALL, **PLACES, hidden_act="relu")
    assert HookedEncoder(made(AutoModelForMaskedLM, config, shake)).max_length == 38


def test_what_cannot_be_run_or_edited_is_refused(shake, monkeypatch):
    with raises("config.not-supported"):
        HookedEncoder(made(AutoModel, hf.T5Config(**T5), shake))
    bert = made(AutoModelForMaskedLM, CONFIGS["bert of another activation"](), shake)
    inner = bert.bert.encoder.forward

    def forward(hidden_states: torch.Tensor, *given: Any, **named: Any) -> Any:
        output = inner(hidden_states, *given, **named)
        output["last_hidden_state"] = output["last_hidden_state"] + hidden_states  # past all layers
        return output

    monkeypatch.setattr(bert.bert.encoder, "forward", forward)
    with raises("config.not-supported", 1):
        HookedEncoder(bert)


@torch.no_grad()
@pytest.mark.parametrize("name", OTHERS)
def test_encoders_of_translators_and_decoders_have_their_layers(name: str, hf_folder, shake, batches):
    model = made(AutoModel, OTHERS[name](), shake)
    encoder = load_encoder(hf_folder(model), device="cpu")
    assert isinstance(encoder, HookedEncoder)
    batch, other = batches
    theirs = model.get_encoder() if model.config.is_encoder_decoder else model
    output = theirs(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long(), output_hidden_states=True)
    layers = encoder.layers(batch)
    assert (encoder.depth, encoder.hidden_size) == (3, 32)
    expected = (*output.hidden_states[:-1], output.last_hidden_state)
    assert all(torch.equal(one, two) for one, two in zip(layers, expected, strict=True))
    at = batch.mask_BT
    for start in range(4):
        for end in range(start, 4):
            found = encoder.run_from(start, layers[start], other, to=end)
            torch.testing.assert_close(found[at], layers[end][at], atol=1e-5, rtol=0)
    with raises("config.not-supported"):
        encoder.logits(layers[-1])


@torch.no_grad()
def test_an_encoder_saved_without_its_decoder(hf_folder, sentences, shake):
    model = made(hf.AutoModelForTextEncoding, hf.T5Config(**T5), shake)
    encoder = load_encoder(hf_folder(model), device="cpu")
    batch = make_batch(encoder.vocabulary, sentences)
    theirs = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long()).last_hidden_state
    assert torch.equal(encoder.layers(batch)[-1], theirs)


@torch.no_grad()
def test_edits_are_in_the_residual_stream(config, batches, shake):
    """An edit at any layer gives the logits that the model gives from the edited state, whoever runs it."""
    model = made(AutoModelForMaskedLM, config, shake)
    encoder, (batch, other) = HookedEncoder(model), batches
    put = encoder.layers(other)
    inputs = {"input_ids": batch.ids_BT, "attention_mask": batch.mask_BT.long()}
    expected = model(**inputs | {"input_ids": other.ids_BT}).logits
    at = batch.mask_BT
    for layer in range(4):

        def to_other(_: torch.Tensor, __: torch.Tensor, state: torch.Tensor = put[layer]) -> torch.Tensor:
            return state.clone()

        with encoder.edited(layer, to_other):
            torch.testing.assert_close(model(**inputs).logits[at], expected[at], atol=1e-5, rtol=0)
            torch.testing.assert_close(encoder.layers(batch)[-1][at], put[-1][at], atol=1e-5, rtol=0)


@torch.no_grad()
def test_xlm_is_told_the_language(batches, shake):
    names: dict[str, Any] = {
        "n_langs": 2,
        "use_lang_emb": True,
        "lang2id": {"en": 0, "fr": 1},
        "id2lang": {0: "en", 1: "fr"},
    }
    model = made(AutoModelForMaskedLM, hf.XLMConfig(**XLM, **names), shake)
    encoder, batch = HookedEncoder(model), batches[0]
    for number, code in enumerate(("en", "fra")):
        langs = torch.full_like(batch.ids_BT, number)
        theirs = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long(), langs=langs)
        torch.testing.assert_close(encoder.logits(encoder.layers(batch, code)[-1]), theirs.logits, atol=1e-5, rtol=0)
        middle = encoder.layers(batch, code)[1]
        assert torch.equal(encoder.run_from(1, middle, batch, code), encoder.layers(batch, code)[-1])
    with raises("config.unknown-name"):
        encoder.layers(batch)
    with raises("config.unknown-name", "'de'"):
        encoder.layers(batch, "de")


def test_no_such_layer_and_no_vocabulary(batches, shake):
    encoder = HookedEncoder(made(AutoModelForMaskedLM, CONFIGS["bert"](), shake))
    with raises("config.unknown-layer", 2, 1):
        encoder.run_from(2, torch.zeros(1, 1, 32), batches[0], to=1)
    with raises("config.not-supported"):
        _ = encoder.vocabulary
