"""``isoglot retrieve words`` among whole vocabularies, of several models and of static vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from isoglot.core.files import read_json
from isoglot.model import TableEncoder
from isoglot.model.static_table import save_table
from isoglot.text.formats.word_vectors import write_vectors
from isoglot.vocab import Vocabulary
from tests.cli.retrieve_data import VECTORS

TEXT = ("--text", "en=a.txt", "--text", "fr=b.txt")


@pytest.fixture
def static(retrieve_folder: Path) -> str:
    """Static vectors of the words that the encoder has; ``cat`` has none."""
    vocabulary = Vocabulary.from_tokenizer(retrieve_folder / "tokenizer.json", ["en", "fr", "de"])
    known = torch.ones(len(vocabulary), dtype=torch.bool)
    known[[*vocabulary.special.values(), *vocabulary.encode("cat", "en")]] = False
    vectors = torch.randn(len(vocabulary), 8, generator=torch.Generator().manual_seed(0))
    save_table(TableEncoder(vectors, known, vocabulary), retrieve_folder / "static")
    return "static"


@pytest.fixture
def few(retrieve_folder: Path) -> str:
    """A dictionary of half of the words."""
    (retrieve_folder / "few.txt").write_text("cat chat\ndog chien\na un\n")
    return "few.txt"


def test_candidates_are_all_words_of_the_text(words, few: str):
    common = ("model", "--dictionary", f"en-fr={few}", *TEXT, "--json", "-q")
    found = {
        name: json.loads(words(*common, "--candidates", name).out)["pairs"][0]["layers"][0]["scores"][0]
        for name in ("all", "gold")
    }
    assert (found["all"]["queries"], found["all"]["candidates"]) == (3, 6)
    assert (found["gold"]["queries"], found["gold"]["candidates"]) == (3, 3)
    capped = json.loads(words(*common, "--vocabulary", "1").out)["pairs"][0]["layers"][0]["scores"][0]
    assert capped["candidates"] in (3, 4)  # the dictionary's, and the most frequent word
    csls = json.loads(words(*common).out)["pairs"][0]["layers"][0]["scores"]
    assert {(each["method"], each["neighborhood"]) for each in csls} == {("cosine", None), ("csls", 10)}


def test_candidates_are_all_words_of_one_subword(words, few: str):
    common = ("model", "--dictionary", f"en-fr={few}", "--words-as", "embeddings", "--json", "-q")
    scores = json.loads(words(*common).out)["pairs"][0]["layers"][0]["scores"][0]
    assert scores["candidates"] == 12  # a tokenizer from elsewhere does not say which words are whose


@pytest.mark.parametrize("text", [(), TEXT], ids=["no text", "text"])
def test_static_vectors_are_a_model_and_words_without_a_vector_are_counted(words, static: str, text: tuple[str, ...]):
    common = (static, "--dictionary", "en-fr=en-fr.txt", *text)
    result = words(*common)
    assert (result.code, result.err.count("isoglot:")) == (0, 0)
    assert "left out: no vector" in result.out
    (pair,) = json.loads(words(*common, "--json", "-q").out)["pairs"]
    assert pair["coverage"]["entries_found"] == 5  # without cat and bird
    assert pair["without_vector"]["source"] == (1 if text else 2)
    assert [each["layer"] for each in pair["layers"]] == [0, 0]


def test_zeros_of_a_file_are_left_out_and_counted(words, retrieve_folder: Path):
    X = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    X[7] = 0
    write_vectors(retrieve_folder / "zero.vec", [f"w{row}" for row in range(12)], X)
    (pair,) = json.loads(words("--source", "zero.vec", *VECTORS[2:], "--json", "-q").out)["pairs"]
    assert pair["without_vector"] == {"source": 1, "target": 0}
    assert (pair["coverage"]["entries_found"], pair["coverage"]["entries"]) == (5, 6)


def test_models_are_scored_on_the_same_entries(words, static: str, tmp_path: Path):
    both = ("model", static, "--dictionary", "en-fr=en-fr.txt", *TEXT)
    result = words(*both, "--out", str(tmp_path / "out"))
    assert "en-fr: all models are scored on the 5 entries that every one has (model 6, static 5)" in result.out
    metrics = read_json(tmp_path / "out" / "metrics.json")
    assert metrics["models"] == ["model", "static"]
    assert metrics["entries_found"] == {"en-fr": {"model": 6, "static": 5, "in_all": 5}}
    assert [pair["model"] for pair in metrics["pairs"]] == ["model", "static"]
    for pair in metrics["pairs"]:
        assert {(each["queries"], each["candidates"]) for each in pair["layers"][0]["scores"]} == {(5, 5), (5, 6)}
    lines = (tmp_path / "out" / "metrics.csv").read_text().splitlines()
    assert lines[0].startswith("model,source,target,layer")
    refused = words(*both, "--map", "map.safetensors")
    refused.failed("config.conflicting-options", "--map")


def test_mrr_stands_beside_p_at_1(words, tmp_path: Path):
    result = words(*VECTORS, "--map", "map.safetensors", "--center", "none", "--out", str(tmp_path / "out"))
    assert "P@1 in %: x.vec to y.vec / y.vec to x.vec" in result.out
    assert "MRR: x.vec to y.vec / y.vec to x.vec" in result.out
    assert "vectors  1.000 / 1.000  1.000 / 1.000" in result.out
    said = "The vectors find 100.0 % (MRR 1.000) of x.vec-y.vec translations by cosine among 12 candidates"
    assert said in result.out
