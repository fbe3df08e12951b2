"""No way from code-switched text to a score of words loses which words training was given, or it is said to be unknown."""

from __future__ import annotations

import json
import lzma
import shutil
from itertools import islice
from pathlib import Path

import pytest

from isoglot.languages import documents
from isoglot.model import save_encoder
from isoglot.model.folder import open_encoder
from isoglot.text.provenance import declare, provenance_of
from isoglot.vocab import train_vocabulary

UNKNOWN = "provenance unknown: "
PRETRAIN = (
    *("pretrain", "micro", "--budget", "2steps", "--device", "cpu", "--set", "model.size=nano"),
    *(
        "--set",
        "batch.size=4",
        "--set",
        "batch.sequence_length=16",
        "--set",
        "log.peak=off",
        "--set",
        "evaluation.every=0",
    ),
)
WORD2VEC = ("static", "train", "word2vec", "--dimensions", "8", "--epochs", "1", "--set", "min_count=1")
WAYS = ("clean", "sentences", "segment", "overlap", "twin", "cp", "xz", "as it is")


@pytest.fixture(scope="module")
def known_model(nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose vocabulary and weights were given no dictionary."""
    folder: Path = tmp_path_factory.mktemp("known")
    for code in ("en", "fr"):
        write_text(folder / f"{code}.txt", code)
    texts = {code: [folder / f"{code[:2]}.txt"] for code in ("en", "fr", "en-x-order")}
    encoder = nano_encoder(train_vocabulary(texts, mode="joint", size=600), "paper")
    encoder.provenance = encoder.vocabulary.provenance
    save_encoder(encoder, folder / "model")
    return folder / "model"


def write_text(path: Path, language: str) -> None:
    lines = [sentence.text for document in islice(documents(language, seed=1), 30) for sentence in document]
    path.write_text("\n".join(lines) + "\n")
    declare(path)


@pytest.fixture
def switched(isoglot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """English text that was code-switched by a dictionary with *cat*, French text as it was exported, and a test."""
    monkeypatch.chdir(tmp_path)
    for code in ("en", "fr"):
        write_text(Path(f"{code}.txt"), code)
    Path("en-fr.txt").write_text("cat chat\n")
    switch = ("text", "switch", "--text", "en=en.txt", "--dictionary", "en-fr=en-fr.txt", "--set", "rate=1", "-q")
    assert isoglot(*switch, "--set", "cap=1", "--out", "switched").code == 0
    Path("test.txt").write_text("cat chat\nthe le\n")
    Path("seen.conllu").write_text("nothing that is in it\n")
    return Path("switched/en.txt")


def derive(isoglot, way: str, text: Path) -> tuple[str, Path]:
    """The language and the text that comes out of one of the ways."""
    named = ("--text", f"en={text}", "--out", way, "-q")
    if way in ("clean", "sentences", "segment"):
        assert isoglot("text", way, *named).code == 0
    elif way == "overlap":
        assert isoglot("text", "overlap", "--test", "en=seen.conllu", "--layout", "plain", "--remove", *named).code == 0
    elif way == "twin":
        assert isoglot("languages", "twin", "--kind", "order", *named).code == 0
        return "en-x-order", Path("twin/en-x-order.txt")
    elif way == "cp":
        return "en", Path(shutil.copy(text, "copied.txt"))
    elif way == "xz":
        packed = text.with_name("en.txt.xz")
        packed.write_bytes(lzma.compress(text.read_bytes()))
        text.unlink()
        return "en", packed
    else:
        return "en", text
    return "en", Path(way, "en.txt")


def learn(isoglot, text: Path, *verb: str) -> Path:
    """Learn from a text and French, by every verb on the way; returns the model."""
    shards = []
    assert isoglot("vocab", "train", *texts_of(text), "--size", "600", "--out", "vocab", "-q").code == 0
    for code, path in (("en", text), ("fr", "fr.txt")):
        built = isoglot("shards", "build", "--text", f"{code}={path}", "--vocab", "vocab", "--out", f"s/{code}", "-q")
        assert built.code == 0, built.err
        shards += ["--shards", f"{code}=s/{code}"]
    learned = isoglot(*(verb or PRETRAIN), *shards, "--vocab", "vocab", "--out", "model", "-q")
    assert learned.code == 0, learned.err
    return Path("model")


def texts_of(text: Path) -> tuple[str, ...]:
    return ("--text", f"en={text}", "--text", "fr=fr.txt")


def score(isoglot, model: str | Path, language: str, *more: str):
    quick = ("--method", "cosine", "--center", "none", "--resamples", "10")
    options = ("--words-as", "embeddings", "--dictionary", f"{language}:fr=test.txt", *quick, *more)
    return isoglot("retrieve", "words", str(model), *options)


@pytest.mark.parametrize("way", WAYS)
def test_a_text_that_was_switched_leaks_no_words(isoglot, known_model: Path, switched: Path, way: str):
    language, text = derive(isoglot, way, switched)
    vocab = str(known_model / "vocabulary")
    if way == "segment":  # a vocabulary goes with text that is segmented as its own was
        vocab = "vocab"
        made = isoglot("vocab", "train", "--text", f"en={text}", "--size", "600", "--out", vocab, "-q")
        assert made.code == 0, made.err
    built = isoglot("shards", "build", "--text", f"{language}={text}", "--vocab", vocab, "--out", "s", "-q")
    assert built.code == 0, built.err
    trained_on = ("--shards", f"{language}=s")
    found = score(isoglot, known_model, language, *trained_on)
    if way == "cp":
        assert found.code == 0
        assert f"{UNKNOWN}copied.txt has no record" in found.out
        facts = json.loads(score(isoglot, known_model, language, *trained_on, "--json").out)
        assert facts["leak_check"]["provenance_unknown"] == ["copied.txt"]
    else:
        assert (found.code, found.out) == (2, "")
        found.failed("input.leak", "1 of 2", "'cat'")


def test_a_training_run_leaks_no_words(isoglot, switched: Path):
    score(isoglot, learn(isoglot, switched), "en").failed("input.leak", "1 of 2", "'cat'")


def test_what_is_made_of_a_model_leaks_no_words(isoglot, known_model: Path, switched: Path):
    encoder = open_encoder(known_model)
    encoder.provenance = provenance_of(switched)
    save_encoder(encoder, "model")
    model = Path("model")
    assert isoglot("export", str(model), "packed", "--format", "packed", "-q").code == 0
    assert isoglot("export", str(model), "hf", "-q").code == 0
    for made in ("packed", "hf"):
        score(isoglot, made, "en").failed("input.leak", "1 of 2", "'cat'")
    Path("words.txt").write_text("the\na\n")
    encode = ("encode", str(model), "--text", "words.txt", "--lang", "en", "--layers", "-1", "--pool", "mean", "-q")
    for out in ("x.vec", "x.safetensors", "x"):
        made = isoglot(*encode, "--out", out)
        assert made.code == 0, made.err
    for out in ("x.safetensors", "x"):
        assert "cat" not in Path(out if out.endswith("s") else "x/representations.json").read_text("latin-1")
    bare = isoglot("encode", str(model), "--pool", "embeddings", "--lang", "en", "--out", "bare.vec", "-q")
    assert bare.code == 0, bare.err
    assert provenance_of("bare.vec").words("en") == {"cat"}
    for file in ("bare.vec", "x.vec"):
        vectors = ("retrieve", "words", "--source", file, "--target", file, "--dictionary", "en-fr=test.txt")
        found = isoglot(*vectors)
        assert (found.code, found.out) == (2, "")
        found.failed("input.leak", "1 of 2", "'cat'")
    Path("x.vec.provenance.json").unlink()
    Path("same.txt").write_text("the the\na a\n")
    assert f"{UNKNOWN}x.vec has no record" in isoglot(*vectors[:-1], "same.txt").out
    # What says which words were given cannot be taken away.
    Path("packed/provenance.json.zst").unlink()
    Path("hf/isoglot_provenance.json").unlink()
    for made in ("packed", "hf"):
        found = score(isoglot, made, "en")
        assert (found.code, found.out) == (2, "")
        found.failed("corrupt-file.missing-part")


def test_static_vectors_leak_no_words(isoglot, switched: Path):
    pytest.importorskip("gensim")
    model = learn(isoglot, switched, *WORD2VEC)
    score(isoglot, model, "en").failed("input.leak", "1 of 2", "'cat'")
    assert isoglot("static", "vectors", str(model), "--lang", "en", "--out", "en.vec", "-q").code == 0
    assert provenance_of("en.vec").words("en") == {"cat"}
    assert isoglot("encode", str(model), "--pool", "embeddings", "--lang", "en", "--out", "bare.vec", "-q").code == 0
    for file in ("en.vec", "bare.vec"):
        vectors = ("retrieve", "words", "--source", file, "--target", file, "--dictionary", "test.txt")
        isoglot(*vectors).failed("input.leak", "1 of 2", "'cat'")
    (model / "provenance.json").unlink()
    score(isoglot, model, "en").failed("corrupt-file.missing-part")


def test_a_model_without_any_dictionary_says_so(isoglot, known_model: Path, switched: Path):
    found = score(isoglot, known_model, "en")
    assert found.code == 0
    assert "training was given no dictionary" in found.out
    assert json.loads(score(isoglot, known_model, "en", "--json").out)["leak_check"] == {
        "checked": True,
        "dictionaries": [],
        "provenance_unknown": [],
        "sentence": "training was given no dictionary",
    }


def test_a_text_is_declared_once(isoglot, switched: Path):
    Path("en.txt.provenance.json").unlink()
    assert isoglot("text", "declare", "--text", "en=en.txt").code == 0
    assert provenance_of("en.txt").unknown == ()
    twice = isoglot("text", "declare", "--text", "en=en.txt")
    assert (twice.code, twice.out) == (2, "")
    assert isoglot("text", "declare", "--text", f"en={switched}").code == 2
    Path("en.txt").write_text("Another text.\n")
    changed = isoglot("text", "clean", "--text", "en=en.txt", "--out", "c")
    changed.failed("corrupt-file.hash", "en.txt.provenance.json")


def test_an_induced_dictionary_hands_on_what_went_into_its_bitext(isoglot, switched: Path):
    """Bitext that was code-switched by *cat* gives a dictionary; text that is code-switched by that has seen *cat*."""
    same = [f"en={switched}", f"fr={switched}"]
    parallel = [word for each in same for word in ("--parallel", each)]
    assert isoglot("align", "dictionary", *parallel, "--out", "induced", "-q").code == 0
    switch = (
        "text",
        "switch",
        "--text",
        "fr=fr.txt",
        "--dictionary",
        "en-fr=induced/en-fr.tsv",
        "-q",
        "--out",
        "again",
    )
    assert isoglot(*switch).code == 0
    used = provenance_of(Path("again/fr.txt")).dictionaries
    assert [each.file for each in used] == ["en-fr.tsv", "en-fr.txt"]
    assert used[1].source_words == {"cat"}
    with Path("induced/en-fr.tsv").open("a") as file:
        file.write("dog\tchien\t1\n")
    changed = isoglot(*switch)
    changed.failed("corrupt-file.hash", "en-fr.tsv.provenance.json")
