"""Small encoders of every kind, and the means of their languages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM

from isoglot.model import Encoder, EncoderLike, load_encoder
from isoglot.steer import LanguageMeans
from isoglot.vocab import train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL

ENGLISH = "the cat sleep ##s ##ing a small dog see big house and old woman give girl red apple yes .".split()
FRENCH = "le chat dor ##t un petit chien voit grande maison et vieille femme donne fille rouge pomme oui".split()
TEXTS = {
    "en": ["the cat sleeps.", "a small dog sees the big house and the old woman gives the girl a red apple.", "yes"],
    "fr": ["le chat dort.", "un petit chien voit la grande maison et la vieille femme donne une pomme rouge.", "oui"],
}


def shaken(model: Any) -> Any:
    """The model with noise in every parameter, in evaluation mode."""
    chance = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=chance) * 0.1)
    return model.eval()


def saved(model: Any, folder: Path) -> Path:
    """The model with a tokenizer of a few pieces, as Hugging Face saves them."""
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *ENGLISH, *FRENCH))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def texts() -> dict[str, list[str]]:
    """A few sentences of English and French."""
    return TEXTS


@pytest.fixture(scope="session")
def ours(nano_encoder, small_texts) -> Encoder:
    """English and French with all layers shared."""
    vocabulary = train_vocabulary(small_texts, mode="joint", size=360, coverage=1.0)
    found: Encoder = shaken(nano_encoder(vocabulary, "modern"))
    return found


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> EncoderLike:
    """A BERT, as an encoder of ours."""
    config = BertConfig(
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=len(SPECIAL) + len(ENGLISH) + len(FRENCH),
        max_position_embeddings=40,
    )
    made: Any = BertForMaskedLM
    return load_encoder(saved(shaken(made(config)), tmp_path_factory.mktemp("bert")), device="cpu")


@pytest.fixture(scope="session")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> EncoderLike:
    """A wrapped DistilBERT with its head."""
    config = DistilBertConfig(
        dim=32,
        hidden_dim=48,
        n_layers=3,
        n_heads=4,
        vocab_size=len(SPECIAL) + len(ENGLISH) + len(FRENCH),
        max_position_embeddings=40,
    )
    made: Any = DistilBertForMaskedLM
    return load_encoder(saved(shaken(made(config)), tmp_path_factory.mktemp("distil")), device="cpu")


@pytest.fixture(params=["ours", "imported", "hooked"])
def encoder(request: pytest.FixtureRequest) -> EncoderLike:
    """Each kind in turn."""
    found: EncoderLike = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def means(encoder: EncoderLike) -> LanguageMeans:
    """The means of the encoder."""
    return LanguageMeans.fit(encoder, TEXTS)
