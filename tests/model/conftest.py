"""Vocabularies of the built-in languages, and encoders in which every number matters."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from isoglot.model import Encoder, encoder_config
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL

SENTENCES = ("The cat sleeps.", "A small dog sees the big house and the old woman gives the girl a red apple.", "Yes")


@pytest.fixture(scope="session")
def vocabularies(small_texts):
    """``vocabularies(mode)``: a small vocabulary of English and French."""

    @cache
    def train(mode: str = "union") -> Vocabulary:
        return train_vocabulary(small_texts, mode=mode, size=360, coverage=1.0)

    return train


@pytest.fixture(scope="session")
def encoders(vocabularies):
    """``encoders(preset, plan, mode, **changes)``: an encoder far from its initial values, so that none can hide."""

    def build(preset: str = "paper", plan: str = "default", mode: str = "union", **changes) -> Encoder:
        vocabulary = vocabularies(mode)
        config = encoder_config(
            preset,  # type: ignore[arg-type]
            "nano",
            vocabulary_size=len(vocabulary),
            languages=("en", "fr"),
            plan=plan,
            pad_id=vocabulary.special["[PAD]"],
            unk_id=vocabulary.special["[UNK]"],
            **changes,
        )
        encoder = Encoder(config, vocabulary)
        _shake(encoder)
        return encoder

    return build


def _shake(model: torch.nn.Module) -> None:
    """Add noise to every parameter, and switch to evaluation."""
    chance = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=chance) * 0.1)
    model.eval()


@pytest.fixture(scope="session")
def shake():
    """Noise in every parameter of a model."""
    return _shake


@pytest.fixture(scope="session")
def sentences() -> tuple[str, ...]:
    """Three sentences of different lengths."""
    return SENTENCES


@pytest.fixture(scope="session")
def words() -> tuple[str, ...]:
    """The words that the tokenizer of :func:`hf_folder` knows."""
    return tuple("the cat sleeps a small dog sees big house and old woman gives girl red apple yes".split())


@pytest.fixture
def hf_folder(tmp_path, words):
    """``hf_folder(model)``: the model and a tokenizer of 5 special tokens and the words, as Hugging Face saves them."""

    def save(model, name: str = "model", special: tuple[str, ...] = SPECIAL, more: tuple[str, ...] = ()):
        pieces = {piece: index for index, piece in enumerate((*special, *words, *more))}
        tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=special[SPECIAL.index("[UNK]")]))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.add_special_tokens(list(special))
        pad, unknown, first, last, mask = special
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} $B:1 {last}:1",
            special_tokens=[(first, 2), (last, 3)],
        )
        folder = tmp_path / name
        model.save_pretrained(folder)
        kind: Any = PreTrainedTokenizerFast
        kind(
            tokenizer_object=tokenizer,
            pad_token=pad,
            unk_token=unknown,
            cls_token=first,
            sep_token=last,
            mask_token=mask,
        ).save_pretrained(folder)
        return folder

    return save
