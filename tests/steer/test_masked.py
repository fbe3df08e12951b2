"""In which language a masked token is decoded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models

from isoglot.model import EncoderLike, make_batch
from isoglot.steer import LanguageMeans, TokenSets, masked_languages, shift
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from tests.errors import raises


@pytest.fixture
def sets(encoder: EncoderLike, texts) -> TokenSets:
    return TokenSets.from_text(encoder.vocabulary, texts)


def test_shares_add_up(encoder: EncoderLike, means, texts, sets):
    for alpha in (0.0, 1.0, -2.0):
        found = masked_languages(encoder, texts["en"] * 5, "en", sets, means=means, target="fr", alpha=alpha, layer=1)
        assert found.own + found.other + found.neither == pytest.approx(1)
        assert found.masked == 15
        assert found.languages["fr"] == found.other  # the only other language
        assert (found.layer, found.alpha) == (None if alpha == 0 else 1, alpha)
        assert found.as_dict()["threshold"] == 1


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@torch.inference_mode()
def test_it_is_what_the_model_puts_in_the_place(encoder: EncoderLike, means, alpha):
    """One token: there is only one place to mask."""
    vocabulary = encoder.vocabulary
    word = next(piece for piece in ("yes", "a") if len(vocabulary.encode(piece, "en")) == 1)
    batch = make_batch(vocabulary, [word], "en")
    batch.ids_BT[0, 1] = vocabulary.special["[MASK]"]
    with shift(encoder, means, "en", "fr", alpha=alpha, layers=1):
        logits = encoder.logits(encoder.layers(batch, "en")[-1], "en")[0, 1]
    logits[list(vocabulary.special.values())] = -torch.inf
    best = int(logits.argmax())
    for owner in ("en", "fr", None):
        counts = {code: np.zeros(len(vocabulary)) for code in ("en", "fr")}
        if owner is not None:
            counts[owner][best] = 1
        found = masked_languages(
            encoder, [word], "en", TokenSets(counts), means=means, target="fr", alpha=alpha, layer=1
        )
        assert (found.own, found.other, found.neither) == (owner == "en", owner == "fr", owner is None)


def test_one_token_of_each_sentence_is_masked_and_the_seed_chooses_it(encoder: EncoderLike, texts, sets):
    mask = encoder.vocabulary.special["[MASK]"]

    def places(seed: int) -> list[list[int]]:
        seen: list[torch.Tensor] = []

        def look(hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            seen.append(ids)
            return hidden

        with encoder.edited(0, look):
            masked_languages(encoder, [texts["en"][1]] * 20, "en", sets, seed=seed)
        return [place for ids in seen for place in (ids == mask).nonzero().tolist()]

    one = places(1)
    assert len(one) == 20
    assert len({place for _, place in one}) > 3
    assert places(1) == one
    assert places(2) != one


def test_above_a_shift_all_runs_as_the_target(nano_encoder, small_texts):
    """No token is of both, and each softmax has the tokens of its own language alone."""
    vocabulary = train_vocabulary(small_texts, mode="disjoint", size=360, coverage=1.0)
    encoder = nano_encoder(vocabulary, "paper", plan="emb,softmax").eval()
    texts = {code: paths[0].read_text().splitlines()[:20] for code, paths in small_texts.items()}
    means = LanguageMeans.fit(encoder, texts)
    counts = {code: np.zeros(len(vocabulary)) for code in texts}
    for code, count in counts.items():
        count[vocabulary.ids_of(code)] = 1
    sets = TokenSets.from_counts(vocabulary, counts)
    ran: list[tuple[int, str | None]] = []
    run_from = encoder.run_from

    def noted(layer, hidden, batch, language=None, to=None):
        ran.append((layer, language))
        return run_from(layer, hidden, batch, language, to)

    encoder.run_from = noted
    shifted = masked_languages(encoder, texts["en"], "en", sets, means=means, target="fra", alpha=1, layer=1)
    assert (shifted.own, shifted.other) == (0, 1)
    assert set(ran) == {(1, "fr")}
    assert masked_languages(encoder, texts["en"], "en", sets).own == 1


def test_a_vocabulary_without_a_mask_is_refused_in_one_line(encoder, texts, sets, tmp_path, monkeypatch):
    """Only where something is masked: token sets need no mask."""
    pieces = {piece: index for index, piece in enumerate((*SPECIAL[:4], "yes"))}
    made = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    made.add_special_tokens(list(SPECIAL[:4]))
    made.save(str(tmp_path / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(tmp_path / "tokenizer.json")
    assert TokenSets.from_text(vocabulary, {"en": ["yes"]}).languages == ("en",)
    monkeypatch.setattr(type(encoder), "vocabulary", vocabulary)
    with raises("config.not-supported"):
        masked_languages(encoder, texts["en"], "en", sets)


def test_bad_input_is_one_clear_line(encoder: EncoderLike, means, texts, sets):
    with raises("config.not-supported", 1):
        masked_languages(encoder, texts["en"], "en", sets, alpha=1)
    with raises("config.unknown-name", "'de'"):
        masked_languages(encoder, texts["en"], "de", sets)
    with raises("config.unknown-name", "'de'"):
        masked_languages(encoder, texts["en"], "en", sets, means=means, target="de", alpha=1)
    with raises("input.empty"):
        masked_languages(encoder, [], "en", sets)
