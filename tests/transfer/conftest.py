"""A vocabulary of built-in English, its twin and Chinese, and small encoders for them."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"

from isoglot.languages import documents
from isoglot.languages.twins import as_twin
from isoglot.model import Encoder, encoder_config
from isoglot.vocab import Vocabulary, train_vocabulary

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES = ("en", "en-x-shift", "zh")


def line(sentence, language: str) -> str:
    """A sentence as it is written; English as its twin is, with blanks between all words."""
    tags = language.partition("-x-")[2]
    return sentence.text if language == "zh" else " ".join(as_twin(sentence.words, [tags] if tags else []))


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    """One for three languages, of 3,000 pieces."""
    folder = tmp_path_factory.mktemp("texts")
    texts: dict[str, list[Path]] = {}
    for seed, language in enumerate(LANGUAGES):
        path = folder / f"{language}.txt"
        made = islice(documents(language.partition("-x-")[0], seed=seed), 200)
        path.write_text("\n".join(line(s, language) for text in made for s in text) + "\n", encoding="utf-8")
        texts[language] = [path]
    return train_vocabulary(texts, mode="joint", size=3000)


@pytest.fixture
def nano(vocabulary):
    """``nano(plan="emb")``: an encoder that takes a moment."""

    def make(plan: str = "default", **changes: object) -> Encoder:
        special = vocabulary.special
        config = encoder_config(
            "paper",
            "nano",
            vocabulary_size=len(vocabulary),
            languages=LANGUAGES,
            plan=plan,
            pad_id=special["[PAD]"],
            unk_id=special["[UNK]"],
            **changes,
        )
        return Encoder(config, vocabulary, seed=1).eval()

    return make
