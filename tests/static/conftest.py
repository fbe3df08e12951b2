"""Shards of two built-in languages with a small joint vocabulary."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from isoglot.languages import documents
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Shards], Vocabulary]:
    folder = tmp_path_factory.mktemp("static")
    texts: dict[str, list[Path]] = {}
    for code in ("en", "fr"):
        path = folder / f"{code}.txt"
        found = islice(documents(code, seed=1), 30)
        path.write_text("\n\n".join("\n".join(s.text for s in one) for one in found) + "\n", encoding="utf-8")
        texts[code] = [path]
    vocabulary = train_vocabulary(texts, mode="joint", size=400)
    vocabulary.save(folder / "vocab")
    made = {code: build_shards(paths, vocabulary, code, folder / code, dev_share=0.1) for code, paths in texts.items()}
    return made, vocabulary
