"""Token translation: the best token at every position after a shift, and never a special one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.model import Encoder, EncoderLike, make_batch
from isoglot.model.hf.hooked import HookedEncoder
from isoglot.steer import LanguageMeans, ShiftOptions, TokenSets, TranslationOptions, shift, translate_tokens
from isoglot.steer import shifted_decoding as decode
from isoglot.vocab import train_vocabulary
from tests.errors import raises


@pytest.fixture
def sets(encoder: EncoderLike, texts) -> TokenSets:
    return TokenSets.from_text(encoder.vocabulary, texts)


@torch.inference_mode()
def plain(encoder: EncoderLike, hidden: torch.Tensor, language: str | None) -> torch.Tensor:
    logits = encoder.logits(hidden, language)
    logits[..., list(encoder.vocabulary.special.values())] = -torch.inf
    return logits.argmax(dim=-1)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 1.0, 2.5])
@pytest.mark.parametrize("layer", [0, 1, -2, -1])
@torch.inference_mode()
def test_it_is_what_the_shifted_encoder_gives(encoder: EncoderLike, means, texts, alpha, layer):
    made = translate_tokens(encoder, texts["en"], "en", "fr", means, alpha=alpha, layer=layer)
    for sentence, given, found in zip(texts["en"], made.given, made.made, strict=True):
        batch = make_batch(encoder.vocabulary, [sentence], "en", length=encoder.max_length)
        with shift(encoder, means, "en", "fr", alpha=alpha, layers=layer):
            last = encoder.layers(batch, "en")[-1][0, 1:-1]
        assert batch.ids_BT[0, 1:-1].tolist() == given.tolist()
        assert plain(encoder, last, "fr").tolist() == found.tolist()


def test_no_special_token_goes_in_or_comes_out(encoder: EncoderLike, means, texts):
    special = list(encoder.vocabulary.special.values())
    made = translate_tokens(encoder, texts["en"], "en", "fr", means, alpha=3)
    for given, found in zip(made.given, made.made, strict=True):
        assert len(given) == len(found)
        assert not np.isin(found, special).any()
        assert not np.isin(given, [encoder.vocabulary.special[name] for name in ("[CLS]", "[SEP]", "[PAD]")]).any()


def test_batches_do_not_matter(encoder: EncoderLike, means, texts):
    one, other = (
        translate_tokens(
            encoder, texts["en"], "en", "fr", means, alpha=1, options=TranslationOptions(batch_tokens=size)
        )
        for size in (1, 500)
    )
    assert all((a == b).all() for a, b in zip(one.made, other.made, strict=True))


def test_the_encoder_is_left_as_it_was(encoder: Any, means, texts):
    encoder.train()
    before = [part.training for part in encoder.modules()]
    translate_tokens(encoder, texts["en"], "en", "fr", means, alpha=1)
    assert [part.training for part in encoder.modules()] == before
    encoder.eval()


def test_tokens_say_whose_they_are(encoder: EncoderLike, means, texts, sets: TokenSets):
    made = translate_tokens(encoder, texts["en"], "en", "fr", means, alpha=2, layer=-1, sets=sets)
    english, french = sets.mask("en"), sets.mask("fr")
    for number in range(len(made)):
        for token, index in zip(made.tokens(number), made.made[number], strict=True):
            whose = {(0, 0): "neither", (1, 0): "source", (0, 1): "target", (1, 1): "both"}
            assert token.belongs == whose[int(english[index]), int(french[index])]
            assert token.switched == (token.belongs == "target")
            assert token.begins == encoder.vocabulary.starts[index]
    assert made.texts[2] == encoder.vocabulary.decode(made.made[2])
    assert made.sources[2] == "yes"


def test_pieces_that_continue_a_word_are_joined(imported, texts):
    """WordPiece marks them with ``##``, which is no part of a text."""
    means = LanguageMeans.fit(imported, texts)
    made = translate_tokens(imported, texts["en"], "en", "fr", means, alpha=0.5)
    continuing = np.flatnonzero([piece.startswith("##") for piece in imported.vocabulary.pieces])
    row = np.concatenate([continuing[:1], made.given[0], continuing])
    made = replace(made, given=[row], made=[row])
    assert [token.made for token in made.tokens(0)] == ["s", "the", "cat", "sleep", "s", ".", "s", "ing", "t"]
    assert (made.texts, made.sources) == (["s the cat sleeps.singt"],) * 2
    assert "".join(" " * token.begins + token.made for token in made.tokens(0)) == "s the cat sleeps .singt"


def test_without_token_sets_switched_is_another_token(imported, texts):
    means = LanguageMeans.fit(imported, texts)
    made = translate_tokens(imported, texts["en"], "en", "fr", means, alpha=2)
    assert made.sets is None
    for given, found, switched in zip(made.given, made.made, made.switched, strict=True):
        assert (switched == (given != found)).all()
    assert {token.belongs for token in made.tokens(0)} == {"unknown"}


def test_shared_tokens_can_stay(encoder: EncoderLike, means, texts, sets: TokenSets):
    """With every token shared and an alpha of 0 for those, nothing moves but special tokens."""
    every = {code: np.ones(len(encoder.vocabulary), dtype=int) for code in texts}
    alike = TokenSets.from_counts(encoder.vocabulary, every)
    options: dict[str, Any] = {"alpha": 3.0, "layer": -1, "sets": alike}
    still = ShiftOptions(shared_alpha=0.0, positions="tokens")
    made = translate_tokens(encoder, texts["en"], "en", "fr", means, options=TranslationOptions(shift=still), **options)
    plain = translate_tokens(encoder, texts["en"], "en", "fr", means, **(options | {"alpha": 0.0}))
    assert all((a == b).all() for a, b in zip(made.made, plain.made, strict=True))


def test_after_the_shift_the_parts_are_the_targets(nano_encoder, small_texts):
    vocabulary = train_vocabulary(small_texts, mode="disjoint", size=360, coverage=1.0)
    encoder = nano_encoder(vocabulary, "paper", plan="emb,softmax").eval()
    texts = {code: paths[0].read_text().splitlines()[:20] for code, paths in small_texts.items()}
    means = LanguageMeans.fit(encoder, texts)
    made = translate_tokens(encoder, texts["en"], "en", "fr", means, alpha=1, layer=1)
    assert np.isin(np.concatenate(made.made), vocabulary.ids_of("fr")).all()


@pytest.mark.parametrize("rows", [1, 7])
@torch.inference_mode()
def test_blocks_give_what_the_whole_gives(encoder: EncoderLike, monkeypatch, rows):
    hidden = torch.randn(23, encoder.hidden_size, generator=torch.Generator().manual_seed(1)) * 3
    expected = plain(encoder, hidden, "en")
    for scores in (1, 50, 2**20):
        monkeypatch.setattr("isoglot.model.modules._POSITIONS", rows)
        monkeypatch.setattr("isoglot.model.protocol._SCORES", scores)
        assert torch.equal(decode.best_tokens(encoder, hidden, "en"), expected)
    assert decode.best_tokens(encoder, hidden[:0], "en").tolist() == []


def test_an_encoder_without_a_softmax_is_refused(encoder: EncoderLike, hooked):
    decode.check_softmax(encoder)
    bare = HookedEncoder(hooked.model.base_model, hooked.vocabulary)
    with raises("config.not-supported"):
        decode.check_softmax(bare)


def test_of_equal_tokens_the_first_wins(ours: Encoder, monkeypatch):
    monkeypatch.setattr("isoglot.model.protocol._SCORES", 8)
    hidden = torch.zeros(2, ours.hidden_size)
    with torch.no_grad():
        weight, bias = ours.head.weight(None), ours.head.softmax.of(None).bias
        kept = weight.clone(), bias.clone()
        weight.zero_()
        bias.zero_()
        found = decode.best_tokens(ours, hidden)
        weight.copy_(kept[0])
        bias.copy_(kept[1])
    assert found.tolist() == [max(ours.vocabulary.special.values()) + 1] * 2


def test_bad_input_is_one_clear_line(encoder: EncoderLike, means, texts, sets: TokenSets):
    def refused(code: str, value: object, *arguments: Any, **options: Any) -> None:
        with raises(code, value) as caught:
            translate_tokens(encoder, *arguments, **options)
        assert "\n" not in str(caught.value)

    some = texts["en"]
    refused("config.unknown-name", "'de'", some, "en", "de", means)
    refused("config.unknown-layer", 99, some, "en", "fr", means, layer=99)
    refused("input.empty", "sentences", [], "en", "fr", means)
    refused("input.empty", 2, ["Yes", " "], "en", "fr", means)
    refused("config.other-language", "en", some, "en", "eng", means)
    refused("config.invalid-value", "nan", some, "en", "fr", means, alpha=float("nan"))
    refused("config.language-code", "'xx-yy-zz'", some, "en", "xx-yy-zz", means)
    lonely = TokenSets.from_counts(encoder.vocabulary, {"en": sets.counts["en"]})
    refused("config.unknown-name", "'fr'", some, "en", "fr", means, sets=lonely)
    foreign = TokenSets({"en": np.ones(3), "fr": np.ones(3)})
    refused("config.other-vocabulary", "token sets", some, "en", "fr", means, sets=foreign)
    refused("config.invalid-value", 9999, some, "en", "fr", means, options=TranslationOptions(length=9999))
