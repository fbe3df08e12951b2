"""isoglot-mini as it is in the package: small, whole, in five languages, and it does what the verbs ask of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch

from isoglot.languages.builtin import builtin_pairs
from isoglot.model import Encoder, load_encoder, make_batch
from isoglot.model.folder import folder_size, open_encoder, read_about, read_index
from isoglot.model.hf.export import export_to_hf
from isoglot.model.load import EMBEDDED, EMBEDDED_FOLDER
from isoglot.represent import extract
from isoglot.steer import LanguageMeans, TokenSets
from isoglot.steer.language_files import own_known
from isoglot.text.provenance import without_words

LANGUAGES = ("en", "fr", "de", "ru", "zh")
SENTENCES = (
    "The government must protect the rights of all citizens.",
    "Le président a répondu à la question de la commission hier.",
    "Die Stadt liegt am Fluss.",
    "Он долго стоял у окна и смотрел на пустую улицу, но никто не шёл.",
    "这个城市在河边。",
)
ENGLISH = (
    SENTENCES[0],
    "The city lies on the river and has a large church.",
    "We must find a solution for the new problems of Europe.",
    "In the following year he was a member of the national team.",
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    found = load_encoder(EMBEDDED, device="cpu")
    assert isinstance(found, Encoder)
    return found


@pytest.fixture(scope="module")
def known() -> tuple[LanguageMeans, TokenSets]:
    found = own_known(EMBEDDED)
    assert found is not None
    return found


def test_it_is_what_it_is_said_to_be(encoder: Encoder):
    assert folder_size(EMBEDDED_FOLDER) <= 20_000_000
    assert sum(parameter.numel() for parameter in encoder.parameters()) == 26_630_144
    assert (encoder.depth, encoder.hidden_size, len(encoder.vocabulary)) == (8, 384, 32_000)
    assert encoder.config.languages == encoder.vocabulary.languages == LANGUAGES
    assert not encoder.training
    assert all(tensor.isfinite().all() for tensor in encoder.state_dict().values())


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from strings(key)
            yield from strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def test_it_does_not_tell_whose_machine_it_was_made_on(encoder: Encoder, known: tuple[LanguageMeans, TokenSets]):
    means, _ = known
    about = read_about(EMBEDDED_FOLDER)
    given = [without_words(encoder.provenance.dictionaries), [one.facts() for one in encoder.provenance.sources]]
    moments = [each.about for each in means.moments.values()]
    facts = list(strings([read_index(EMBEDDED_FOLDER), about, given, encoder.vocabulary.about, means.about, moments]))
    assert EMBEDDED in facts  # the means' name for it: it is the facts that were looked at
    assert [fact for fact in facts if set(fact) & set("/\\~@")] == []


def test_its_means_and_token_sets_are_its_own(encoder: Encoder, known: tuple[LanguageMeans, TokenSets]):
    means, sets = known
    means.check_encoder(encoder)
    sets.check_vocabulary(encoder.vocabulary)
    assert tuple(means.languages) == tuple(sets.sizes) == LANGUAGES
    assert min(means.count(code) for code in LANGUAGES) > 50_000
    for layer in range(encoder.depth + 1):
        means_CD = np.stack([means.mean(code, layer) for code in LANGUAGES])
        assert means_CD.shape == (5, 384)
        assert np.linalg.norm(means_CD[:, None] - means_CD[None], axis=-1)[~np.eye(5, dtype=bool)].min() > 0


@torch.no_grad()
def test_transformers_opens_it_and_says_the_same(encoder: Encoder, isoglot, tmp_path: Path):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    found = isoglot("export", EMBEDDED, str(tmp_path / "hf"), "--json")
    assert (found.code, json.loads(found.out)["architecture"]) == (0, "ModernBertForMaskedLM")
    again = load_encoder(tmp_path / "hf", device="cpu")
    assert again.provenance == encoder.provenance == again.vocabulary.provenance
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hf", attn_implementation="sdpa").eval()
    assert type(model).__name__ == "ModernBertForMaskedLM"
    batch = make_batch(encoder.vocabulary, SENTENCES)
    assert not batch.mask_BT.all()  # rows of different lengths, so most are padded
    theirs = AutoTokenizer.from_pretrained(tmp_path / "hf")(list(SENTENCES), padding=True, return_tensors="pt")
    assert torch.equal(theirs["input_ids"], batch.ids_BT)
    assert torch.equal(theirs["attention_mask"].bool(), batch.mask_BT)
    theirs_BTV = model(input_ids=theirs["input_ids"], attention_mask=theirs["attention_mask"]).logits
    ours_BTV = encoder.logits(encoder.layers(batch)[-1])
    assert ours_BTV[batch.mask_BT].std() > 1
    torch.testing.assert_close(theirs_BTV[batch.mask_BT], ours_BTV[batch.mask_BT], atol=1e-4, rtol=1e-4)


def test_packed_again_it_is_the_same_bytes(isoglot, tmp_path: Path):
    again = tmp_path / EMBEDDED  # its means have the folder's name in them
    found = json.loads(isoglot("export", EMBEDDED, str(again), "--format", "packed", "--json").out)
    assert (found["error"], found["size"]) == (0.0, folder_size(EMBEDDED_FOLDER))
    assert found["means"] == list(LANGUAGES)
    names = {path.relative_to(EMBEDDED_FOLDER) for path in EMBEDDED_FOLDER.rglob("*") if path.is_file()}
    assert {path.relative_to(again) for path in again.rglob("*") if path.is_file()} == names
    for name in names:
        assert (again / name).read_bytes() == (EMBEDDED_FOLDER / name).read_bytes(), name


def test_english_becomes_german_tokens(isoglot, tmp_path: Path):
    """Of the tokens that only one of both languages has, 0.92 are German at alpha 2."""
    (tmp_path / "en.txt").write_text("".join(f"{sentence}\n" for sentence in ENGLISH))
    given = ("--text", str(tmp_path / "en.txt"), "--from", "en", "--to", "de", "--alpha", "0", "--alpha", "2")
    found = isoglot("steer", "translate", *given, "--json", "--quiet")
    assert (found.code, found.err) == (0, "")
    value = json.loads(found.out)
    assert (value["model"], value["means"]) == (EMBEDDED, f"stored with {EMBEDDED}")
    before, after = (scores["convert_rate"] for scores in value["scores"])
    assert before < 0.05
    assert after > 0.5
    assert "Regierung" in value["sentences"][0]["outputs"][1]["text"]


@pytest.mark.parametrize(("code", "least"), [("de", 0.6), ("ru", 0.2)])
def test_translations_are_found_among_built_in_sentences(encoder: Encoder, code: str, least: float):
    """P@1 in the last layer with each language's mean removed: 0.785 for German and 0.34 for Russian; chance is 0.01."""
    vectors = []
    for language, sentences in zip(("en", code), zip(*builtin_pairs(("en", code), 100), strict=True), strict=True):
        found_ND = extract(encoder, list(sentences), layers=[encoder.depth], language=language)[encoder.depth]
        centered_ND = np.asarray(found_ND) - np.asarray(found_ND).mean(axis=0)
        vectors.append(centered_ND / np.linalg.norm(centered_ND, axis=1, keepdims=True))
    cosines_NN = vectors[0] @ vectors[1].T
    right = [(cosines_NN.argmax(axis=axis) == np.arange(100)).mean() for axis in (0, 1)]
    assert np.mean(right) > least


def test_the_words_it_was_given_are_known_and_no_test_of_it(isoglot, tmp_path: Path):
    provenance = open_encoder(EMBEDDED_FOLDER).provenance
    assert provenance.unknown == ()
    pairs = {(one.source, one.target) for one in provenance.dictionaries}
    assert pairs == {(one, other) for one in LANGUAGES for other in LANGUAGES if one != other}
    for one in provenance.dictionaries:
        assert min(len(one.source_words), len(one.target_words)) > 1000
        assert provenance.words(one.source) >= one.source_words
    assert len(provenance.packed) < 250_000  # in the header of every file of vectors
    english = sorted(provenance.words("en"))
    file = tmp_path / "en-de.txt"
    file.write_text(f"{english[0]} eins\n{english[1]} zwei\nzyzzyva Rüsselkäfer\n")
    found = isoglot("retrieve", "words", "--dictionary", f"en-de={file}", "--words-as", "embeddings")
    assert (found.code, found.out) == (2, "")
    found.failed("input.leak", file, f"{english[0]!r}", f"{english[1]!r}", 2, 3)


def test_exported_it_fills_masks(encoder: Encoder, tmp_path: Path):
    from transformers import pipeline

    export_to_hf(encoder, tmp_path)
    fill = pipeline("fill-mask", model=str(tmp_path), device="cpu")
    for text, word in (
        ("The European [MASK] must protect the rights of all citizens.", "Union"),
        ("[MASK] European Union must protect the rights of all citizens.", "The"),
    ):
        best = fill(text)[0]
        assert best["token_str"] == word
        assert best["sequence"] == text.replace("[MASK]", word)
