"""Small encoders of every kind: ours with private parts, an imported BERT, a wrapped DistilBERT."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertModel

from isoglot.languages import documents
from isoglot.model import Encoder, EncoderLike, load_encoder
from isoglot.vocab import train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL

PIECES = "the cat sleep ##s ##ing a small dog see big house and old woman give girl red apple yes . un ##happy".split()


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Built-in English of many lengths, the longest not first."""
    made = (sentence.text for document in documents("en", seed=3) for sentence in document)
    found = list(islice(made, 40))
    return [*found[:5], " ".join(found[5:8]), *found[8:20], "Yes", *found[20:]]


@pytest.fixture(scope="session")
def ours(nano_encoder, small_texts) -> Encoder:
    """English and French with embeddings, positions and the first layer to themselves."""
    vocabulary = train_vocabulary(small_texts, mode="union", size=360, coverage=1.0)
    found: Encoder = shaken(nano_encoder(vocabulary, "paper", plan="emb,pos,1"))
    return found


def shaken(model: Any) -> Any:
    """The model with noise in every parameter, in evaluation mode."""
    chance = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=chance) * 0.1)
    return model.eval()


def saved(model: Any, folder: Path) -> Path:
    """The model with a tokenizer of a few pieces, as Hugging Face saves them."""
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate((*SPECIAL, *PIECES))}, unk_token=SPECIAL[1])
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of three layers."""
    config = BertConfig(
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=len(SPECIAL) + len(PIECES),
        max_position_embeddings=40,
    )
    made: Any = BertForMaskedLM
    return saved(shaken(made(config)), tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def imported(bert_folder: Path) -> EncoderLike:
    """The BERT, as an encoder of ours."""
    return load_encoder(bert_folder, device="cpu")


@pytest.fixture(scope="session")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> EncoderLike:
    """A wrapped DistilBERT."""
    config = DistilBertConfig(
        dim=32, hidden_dim=48, n_layers=2, n_heads=4, vocab_size=len(SPECIAL) + len(PIECES), max_position_embeddings=64
    )
    return load_encoder(saved(shaken(DistilBertModel(config)), tmp_path_factory.mktemp("distil")), device="cpu")


@pytest.fixture(params=["ours", "imported", "hooked"])
def encoder(request: pytest.FixtureRequest) -> EncoderLike:
    """Each kind in turn; the language to name is English."""
    found: EncoderLike = request.getfixturevalue(request.param)
    return found
