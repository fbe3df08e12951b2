"""Text of the built-in languages, and vocabularies trained on it once."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from isoglot.languages import documents
from isoglot.vocab import Grading, Vocabulary, train_vocabulary

LANGUAGES = ("en", "fr", "de")


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """A file of 120 documents for each of three languages."""
    folder = tmp_path_factory.mktemp("texts")
    named = {}
    for language in LANGUAGES:
        path = folder / f"{language}.txt"
        made = islice(documents(language, seed=1), 120)
        path.write_text("\n\n".join("\n".join(s.text for s in document) for document in made) + "\n", encoding="utf-8")
        named[language] = [path]
    return named


@pytest.fixture(scope="session")
def lines(texts) -> dict[str, list[str]]:
    """The sentences of each of them."""
    return {code: paths[0].read_text(encoding="utf-8").split("\n") for code, paths in texts.items()}


@pytest.fixture(scope="session")
def trained(texts):
    """``trained(mode, model)``: a vocabulary of the three languages; every character has a piece."""

    @cache
    def train(mode: str, model: str = "bpe") -> Vocabulary:
        grading = Grading(keep="band", band=(1, 30)) if mode == "graded" else None
        return train_vocabulary(texts, mode=mode, size=700, model=model, coverage=1.0, grading=grading)

    return train
