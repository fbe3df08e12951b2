"""A small text of two built-in languages as shards, made once."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from isoglot.core.config import build_config
from isoglot.languages import documents
from isoglot.pretrain.config import PretrainConfig
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary


class Corpus(NamedTuple):
    """A vocabulary and the shards made with it."""

    folder: Path
    vocabulary: Vocabulary
    shards: dict[str, Shards]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """English and French, 60 documents each, a joint vocabulary of 400 pieces."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = {}
    for language in ("en", "fr"):
        path = folder / f"{language}.txt"
        made = islice(documents(language, seed=1), 60)
        path.write_text("\n\n".join("\n".join(s.text for s in document) for document in made) + "\n", encoding="utf-8")
        texts[language] = [path]
    vocabulary = train_vocabulary(texts, mode="joint", size=400, coverage=1.0)
    vocabulary.save(folder / "vocab")
    shards = {
        code: build_shards(paths, vocabulary, code, folder / code, window=32, dev_share=0.2)
        for code, paths in texts.items()
    }
    return Corpus(folder, vocabulary, shards)


@pytest.fixture
def nano():
    """``nano("optimizer.learning_rate=1e-3", …)``: the config of a run that takes a moment."""

    def make(*settings: str) -> PretrainConfig:
        small = [
            "model.size=nano",
            "model.max_length=16",
            "model.dropout=0.1",
            "batch.size=8",
            "budget=12steps",
            "optimizer.learning_rate=1e-3",
            "evaluation.every=5",
            "evaluation.sequences=8",
            "checkpoints.every=4",
            "log.every=2",
            "log.peak=off",
            "seed=7",
        ]
        return build_config(PretrainConfig, settings=[*small, *settings])

    return make
