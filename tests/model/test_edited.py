"""What a layer gives can be changed while a block lasts, in every kind of encoder."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
import torch
import transformers as hf
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

from isoglot.model import Encoder, HookedEncoder, encoder_config, encoder_from_hf, make_batch
from isoglot.represent import extract
from isoglot.vocab import Vocabulary
from tests.errors import raises

# DeBERTa compiles a few functions when it is imported, in a way that torch is giving up
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
PLACES: dict[str, Any] = {"max_position_embeddings": 40, "vocab_size": 22}
DISTIL: dict[str, Any] = {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48}
CONVOLUTION: dict[str, Any] = {"conv_kernel_size": 3, "conv_act": "gelu"}
KINDS = ("ours", "private", "pre-norm", "bert", "distilbert", "electra", "deberta-v2", "modernbert hooked")


def double(hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    assert hidden.shape[:2] == ids.shape
    return hidden * 2 + ids[..., None] % 3


def plus(hidden: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return hidden + 0.3


@pytest.fixture(params=KINDS)
def encoder(request: pytest.FixtureRequest, encoders, hf_folder, shake) -> Any:
    kind = request.param
    if kind in ("ours", "private", "pre-norm"):
        preset, plan = (
            ("modern", "default") if kind == "pre-norm" else ("paper", "1" if kind == "private" else "default")
        )
        return encoders(preset, plan)
    configs: dict[str, Any] = {
        "bert": lambda: hf.BertConfig(**SMALL, **PLACES),
        "distilbert": lambda: hf.DistilBertConfig(**DISTIL, **PLACES),
        "electra": lambda: hf.ElectraConfig(**SMALL, **PLACES, embedding_size=16),
        "deberta-v2": lambda: hf.DebertaV2Config(**SMALL, **PLACES, relative_attention=True, **CONVOLUTION),
        "modernbert hooked": lambda: hf.ModernBertConfig(
            **SMALL, **PLACES, pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3
        ),
    }
    torch.manual_seed(0)
    made: Any = AutoModelForMaskedLM
    model = made.from_config(configs[kind]())
    shake(model)
    vocabulary = Vocabulary.from_tokenizer(hf_folder(model))
    return encoder_from_hf(model, vocabulary) if kind == "bert" else HookedEncoder(model, vocabulary)


@pytest.fixture
def batch(encoder, sentences):
    return make_batch(encoder.vocabulary, sentences, "en", length=encoder.max_length)


def by_hand(encoder, batch, edits: list[tuple[int, Any]]) -> list[torch.Tensor]:
    """The layers with edits, made with nothing but ``layers`` and ``run_from``."""
    found = [encoder.layers(batch, "en")[0]]
    for layer in range(encoder.depth + 1):
        if layer:
            found.append(encoder.run_from(layer - 1, found[-1], batch, "en", to=layer))
        for at, change in edits:
            if at == layer:
                found[-1] = change(found[-1], batch.ids_BT)
    return found


@torch.no_grad()
def test_an_edit_is_what_is_done_by_hand_and_leaving_undoes_it(encoder, batch):
    at = batch.mask_BT
    before = encoder.layers(batch, "en")
    last = encoder.depth
    for edits in ([(0, double)], [(1, double)], [(last, double)], [(1, plus), (1, double), (0, double), (last, plus)]):
        wanted = by_hand(encoder, batch, edits)
        with ExitStack() as block:
            for layer, change in edits:
                block.enter_context(encoder.edited(layer, change))
            found = encoder.layers(batch, "en")
            passed = encoder.run_from(0, found[0], batch, "en")
            for start in range(last + 1):
                for end in range(start, last + 1):
                    gone = encoder.run_from(start, found[start], batch, "en", to=end)
                    torch.testing.assert_close(gone[at], found[end][at], atol=1e-5, rtol=1e-5)
            logits = encoder.logits(found[-1], "en")
        assert len(found) == last + 1
        for one, two in zip(found, wanted, strict=True):
            torch.testing.assert_close(one[at], two[at], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(passed[at], found[-1][at], atol=1e-5, rtol=1e-5)
        assert torch.equal(encoder.logits(found[-1], "en"), logits)  # scores are of what they are given
        assert all(torch.equal(one, two) for one, two in zip(encoder.layers(batch, "en"), before, strict=True))


@torch.no_grad()
def test_edits_follow_one_another_in_the_order_they_were_entered(encoder, batch):
    first = encoder.layers(batch, "en")[1]
    with encoder.edited(1, plus), encoder.edited(1, double):
        assert torch.equal(encoder.layers(batch, "en")[1], double(first + 0.3, batch.ids_BT))
    with encoder.edited(1, double), encoder.edited(1, plus):
        assert torch.equal(encoder.layers(batch, "en")[1], double(first, batch.ids_BT) + 0.3)
    outer, inner = encoder.edited(1, plus), encoder.edited(1, plus)  # the same change twice, left in the order entered
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert torch.equal(encoder.layers(batch, "en")[1], first + 0.3)
    inner.__exit__(None, None, None)
    assert torch.equal(encoder.layers(batch, "en")[1], first)


@torch.no_grad()
def test_an_error_undoes_it_too(encoder, batch):
    before = encoder.layers(batch, "en")

    def broken(hidden: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError

    for layer in (0, 1, encoder.depth):
        with pytest.raises(ZeroDivisionError), encoder.edited(1, plus), encoder.edited(layer, broken):
            encoder.layers(batch, "en")
        with pytest.raises(KeyboardInterrupt), encoder.edited(layer, plus):
            raise KeyboardInterrupt
        assert all(torch.equal(one, two) for one, two in zip(encoder.layers(batch, "en"), before, strict=True))
    with encoder.edited(1, broken):  # a layer that is not passed is not edited
        assert torch.equal(encoder.run_from(1, before[1], batch, "en"), before[-1])


def test_what_cannot_be_edited_is_refused(encoder, batch):
    for layer in (-1, encoder.depth + 1):
        with raises("config.unknown-layer", layer), encoder.edited(layer, plus):
            pass
    with (
        encoder.edited(1, lambda hidden, _: hidden[:, :1]),
        raises("config.other-size", "(3, 1, 32)"),
    ):
        encoder.layers(batch, "en")


@pytest.mark.parametrize("plan", ["default", "emb,1"])
def test_training_and_extraction_see_it(encoders, sentences, plan: str):
    encoder = encoders("paper", plan)
    batch = make_batch(encoder.vocabulary, sentences, "en")
    for layer in range(encoder.depth + 1):
        before = extract(encoder, sentences, language="en")
        with encoder.edited(layer, plus), torch.no_grad():
            wanted = encoder.layers(batch, "en")
            found = encoder.hidden(batch.ids_BT, "en", mask_BT=batch.mask_BT)
            assert torch.equal(found, wanted[-1])
            vectors = extract(encoder, sentences, language="en")
            coarse = extract(encoder, sentences, language="en", precision="bfloat16")
        means = torch.stack([wanted[layer][row, 1 : int(batch.mask_BT[row].sum()) - 1].mean(0) for row in range(3)])
        torch.testing.assert_close(torch.from_numpy(vectors[layer]), means, atol=1e-5, rtol=0)
        torch.testing.assert_close(torch.from_numpy(coarse[layer]), means, atol=0.1, rtol=0.1)
        assert abs(before[layer] - vectors[layer]).mean() > 0.2
    hidden = encoder.hidden(batch.ids_BT, "en", mask_BT=batch.mask_BT)
    hidden.sum().backward()  # nothing is left behind


def test_gradients_go_through_an_edit(encoder, batch):
    with encoder.edited(1, double):
        encoder.layers(batch, "en")[-1].square().sum().backward()
    assert any(part.grad is not None and bool(part.grad.any()) for part in encoder.parameters())


def test_a_compiled_encoder_is_compiled_again_for_an_edit_and_only_then():
    encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=50, languages=("en", "fr"))).eval()
    graphs = []

    def backend(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(encoder, backend=backend)
    ids, at = torch.arange(5, 17).view(2, 6), torch.tensor([[1], [2]])
    with torch.no_grad():
        before = compiled(ids, at, ids.gather(1, at), "en")
        assert len(graphs) == 1
        for layer in (0, 2):
            with encoder.edited(layer, double):
                assert torch.allclose(
                    compiled(ids, at, ids.gather(1, at), "en"), encoder(ids, at, ids.gather(1, at), "en")
                )
                assert not torch.equal(compiled(ids, at, ids.gather(1, at), "en"), before)
            count = len(graphs)
            assert torch.equal(compiled(ids, at, ids.gather(1, at), "en"), before)
            assert len(graphs) == count  # what was compiled without an edit is still there


@torch.no_grad()
@pytest.mark.parametrize("layer", range(4))
def test_a_head_on_a_hooked_model_sees_it(hf_folder, shake, sentences, layer: int):
    torch.manual_seed(0)
    made: Any = AutoModelForSequenceClassification
    model = made.from_config(hf.DistilBertConfig(**DISTIL, **PLACES))
    shake(model)
    encoder = HookedEncoder(model, Vocabulary.from_tokenizer(hf_folder(model)))
    batch = make_batch(encoder.vocabulary, sentences)
    ids, mask = batch.ids_BT, batch.mask_BT.long()
    before = model(input_ids=ids, attention_mask=mask).logits
    with encoder.edited(layer, double):
        found = model(input_ids=ids, attention_mask=mask).logits
        as_tuple = model(input_ids=ids, attention_mask=mask, return_dict=False)[0]
        last = encoder.layers(batch)[-1]
        with raises("config.not-supported"):
            model(inputs_embeds=torch.zeros(1, 3, 32))
    wanted = model.classifier(torch.relu(model.pre_classifier(last[:, 0])))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    torch.testing.assert_close(as_tuple, wanted, atol=1e-5, rtol=0)
    assert not torch.allclose(found, before, atol=1e-3)
    assert torch.equal(model(input_ids=ids, attention_mask=mask).logits, before)
