from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from isoglot.core.config import build_config
from isoglot.explore.views import ExploredModel
from isoglot.languages import documents
from isoglot.model import load_encoder
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.text.formats.plain import write_documents
from isoglot.vocab import build_shards, train_vocabulary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def mini() -> ExploredModel:
    return ExploredModel("isoglot-mini", load_encoder("isoglot-mini", device="cpu"))


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two checkpoints of a run."""
    folder = tmp_path_factory.mktemp("checkpoints")
    texts = {code: [folder / f"{code}.txt"] for code in ("en", "fr")}
    for code, (path,) in texts.items():
        write_documents(path, ([each.text for each in document] for document in islice(documents(code, seed=1), 30)))
    vocabulary = train_vocabulary(texts, mode="joint", size=400, coverage=1.0)
    shards = {
        code: build_shards(paths, vocabulary, code, folder / code, window=32, dev_share=0.2)
        for code, paths in texts.items()
    }
    settings = ["model.size=nano", "model.max_length=16", "batch.size=8", "budget=4steps", "evaluation.sequences=4"]
    settings += ["checkpoints.every=2", "log.peak=off"]
    pretrain(build_config(PretrainConfig, settings=settings), shards, vocabulary, folder / "run", device="cpu")
    return sorted((folder / "run" / "checkpoints").iterdir())
