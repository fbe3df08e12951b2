"""``isoglot static``, and that other verbs take what it makes."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from isoglot.languages import documents
from isoglot.text.formats.word_vectors import read_vectors


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with vocabulary, shards and GloVe vectors, made by the commands."""
    from isoglot.cli.main import main

    folder = tmp_path_factory.mktemp("made")
    texts = []
    for code in ("en", "fr"):
        path = folder / f"{code}.txt"
        found = islice(documents(code, seed=1), 40)
        path.write_text("\n\n".join("\n".join(s.text for s in one) for one in found) + "\n", encoding="utf-8")
        texts += ["--text", f"{code}={path}"]
    assert main(["vocab", "train", *texts, "--size", "600", "--out", f"{folder}/vocab", "--quiet"]) == 0
    assert main(["shards", "build", *texts, "--vocab", f"{folder}/vocab", "--quiet", "--out", f"{folder}/shards"]) == 0
    return folder


@pytest.fixture(scope="module")
def train(made: Path) -> list[str]:
    named = [word for code in ("en", "fr") for word in ("--shards", f"{code}={made}/shards/{code}")]
    small = ["--dimensions", "16", "--epochs", "3", "--window", "5", "--set", "min_count=2"]
    return ["static", "train", "glove", *named, "--vocab", f"{made}/vocab", *small]


@pytest.fixture(scope="module")
def model(made: Path, train: list[str]) -> Path:
    from isoglot.cli.main import main

    assert main([*train, "--out", f"{made}/glove", "--quiet"]) == 0
    return made / "glove"


def test_training_says_what_it_did_and_goes_on(isoglot, train, tmp_path: Path):
    first = isoglot(*train, "--out", f"{tmp_path}/out", "--json", "--quiet")
    assert (first.code, first.err) == (0, "")
    facts = json.loads(first.out)
    assert (facts["method"], facts["dimensions"], facts["window"], len(facts["losses"])) == ("glove", 16, 5, 3)
    index = json.loads((tmp_path / "out" / "static.json").read_text())
    assert facts == {"out": f"{tmp_path}/out", **index["about"]}
    assert (facts["vectors"], facts["known"]) == ("sum", index["known"])
    again = isoglot(*train, "--out", f"{tmp_path}/out")
    again.failed("config.run-exists", "--resume")
    resumed = isoglot(*train, "--out", f"{tmp_path}/out", "--resume", "--json")
    assert json.loads(resumed.out) == facts
    shown = isoglot(*train, "--out", f"{tmp_path}/other", "--seed", "2")
    assert "epoch 3 of 3: " in shown.err
    assert "loss" in shown.out


def test_errors_are_one_line(isoglot, train, made: Path, tmp_path: Path):
    bad = isoglot(*train, "--out", f"{tmp_path}/out", "--set", "x_max=-1")
    bad.failed("config.invalid-value", "--set", "x_max=-1", "x_max", -1)
    unknown = isoglot(*train, "--out", f"{tmp_path}/out", "--set", "negative=5")
    unknown.failed("config.unknown-key", "'negative'")
    twice = isoglot(*train, "--shards", f"en={made}/shards/fr", "--out", f"{tmp_path}/out")
    twice.failed("config.duplicate", "en")


def test_vectors_of_words(isoglot, model: Path, tmp_path: Path):
    (tmp_path / "words.txt").write_text("the\nunbelievable\n\nthe\n")
    run = isoglot(
        "static",
        "vectors",
        str(model),
        "--words",
        f"{tmp_path}/words.txt",
        "--lang",
        "en",
        "--out",
        f"{tmp_path}/en.vec",
    )
    assert (run.code, run.out) == (0, f"{tmp_path}/en.vec: 2 words of 2 asked for, 16 dimensions\n")
    assert read_vectors(tmp_path / "en.vec").words == ["the", "unbelievable"]
    whole = isoglot(
        "static", "vectors", str(model), "--lang", "en", "--out", f"{tmp_path}/all.vec", "--first", "30", "--json"
    )
    assert json.loads(whole.out) == {"out": f"{tmp_path}/all.vec", "words": 30, "dimensions": 16}
    cut = isoglot(
        "static", "vectors", f"{tmp_path}/en.vec", "--same-as", f"{tmp_path}/all.vec", "--out", f"{tmp_path}/cut.vec"
    )
    assert cut.code == 0
    assert read_vectors(tmp_path / "cut.vec").words == ["the"]


def test_vectors_errors(isoglot, made: Path, tmp_path: Path):
    other = isoglot("static", "vectors", f"{made}/vocab", "--out", f"{tmp_path}/x.vec")
    assert (other.code, other.err) == (
        2,
        f"isoglot: {made}/vocab holds no static vectors; make them with isoglot static train\n",
    )
    folder = isoglot("static", "vectors", f"{made}/vocab", "--out", f"{tmp_path}/x")
    folder.failed("config.malformed-option", tmp_path, "--out", ".vec")


def test_a_file_without_words_is_named(isoglot, model: Path, tmp_path: Path):
    (tmp_path / "words.txt").write_text("\n \n")
    found = isoglot("static", "vectors", str(model), "--words", f"{tmp_path}/words.txt", "--out", f"{tmp_path}/x.vec")
    assert (found.code, found.err) == (2, f"isoglot: {tmp_path}/words.txt: there are no words; write one per line\n")


def test_other_verbs_take_it_as_an_encoder(isoglot, model: Path, tmp_path: Path):
    for code, lines in (
        ("en", "the cat sees a dog\na girl\nthe house\n"),
        ("fr", "le chat voit un chien\nune fille\nla maison\n"),
    ):
        (tmp_path / code).write_text(lines)
    (tmp_path / "dictionary").write_text("the le\na un\nthe la\nof de\nin dans\nand et\nis est\n")
    parallel = ["--parallel", f"en={tmp_path}/en", "--parallel", f"fr={tmp_path}/fr"]
    found = isoglot(
        "retrieve",
        "sentences",
        str(model),
        *parallel,
        "--resamples",
        "10",
        "--json",
        "--quiet",
        "--device",
        "cpu",
    )
    assert (found.code, found.err) == (0, "")
    assert {layer["layer"] for layer in json.loads(found.out)["pairs"][0]["layers"]} == {0}
    words = ["--dictionary", f"en-fr={tmp_path}/dictionary", "--words-as", "embeddings", "--resamples", "10"]
    found = isoglot("retrieve", "words", str(model), *words, "--json", "--quiet", "--device", "cpu")
    assert (found.code, found.err) == (0, "")
    align = ["align", "embeddings", str(model), "--dictionary", f"en-fr={tmp_path}/dictionary"]
    found = isoglot(*align, "--out", f"{tmp_path}/map", "--json", "--quiet", "--device", "cpu")
    assert (found.code, found.err) == (0, "")
    encoded = ["encode", str(model), "--text", f"{tmp_path}/en", "--lang", "en", "--out", f"{tmp_path}/en.safetensors"]
    assert isoglot(*encoded, "--quiet", "--device", "cpu").code == 0


def test_static_vectors_can_be_steered(isoglot, model: Path):
    given = ("steer", "translate", "The girl sees a cat.", "--from", "en", "--to", "fr", "--learn-from", "30")
    found = isoglot(*given, "--model", str(model), "--layer", "0", "--alpha", "1", "--json", "-q")
    assert (found.code, found.err) == (0, "")
    assert json.loads(found.out)["model"] == str(model)
    swept = isoglot("steer", "sweep", str(model), "--sentences", "4", "--alpha", "1", "--json", "-q")
    assert (swept.code, swept.err) == (0, "")
    assert json.loads(swept.out)["masked"] == {}


@pytest.mark.parametrize("layout", ["hf", "packed"])
def test_static_vectors_are_not_for_export(isoglot, model: Path, tmp_path: Path, layout: str):
    found = isoglot("export", str(model), str(tmp_path / "to"), "--format", layout)
    assert (found.code, found.out) == (2, "")
    found.failed("config.not-supported", model, "--words")
    assert not (tmp_path / "to").exists()
