"""``isoglot retrieve``: from models and from vectors, and what it says when it cannot."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from isoglot.align import Center, Procrustes
from isoglot.core.files import read_json
from isoglot.model import Encoder, encoder_config, load_encoder, save_encoder
from isoglot.represent import extract
from isoglot.retrieve import precision_at_k, retrieve
from isoglot.text.vectors import write_vectors
from isoglot.vocab import Vocabulary, build_shards
from isoglot.vocab.scheme import SPECIAL

EN = ["the cat sleeps", "the dog eats", "a cat eats", "a dog sleeps", "the dog sleeps", "a cat sleeps"]
FR = ["le chat dort", "le chien mange", "un chat mange", "un chien dort", "le chien dort", "un chat dort"]
WORDS = {"the": "le", "cat": "chat", "dog": "chien", "sleeps": "dort", "eats": "mange", "a": "un"}
QUICK = ("--device", "cpu", "--resamples", "20")


def seen(source: list[str], target: list[str]) -> dict[str, object]:
    """A dictionary as models, vocabularies and shards keep it."""
    names = {"source": "en", "target": "fr", "file": "d.txt", "sha256": "0"}
    return {**names, "source_words": source, "target_words": target}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of English and French on disk, with parallel text, a table, Tatoeba's layout and a dictionary."""
    folder: Path = tmp_path_factory.mktemp("retrieve")
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *WORDS, *WORDS.values()))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr", "de"])
    config = encoder_config("paper", "nano", vocabulary_size=len(pieces), languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), folder / "model")
    (folder / "a.txt").write_text("\n".join(EN) + "\n")
    (folder / "b.txt").write_text("\n".join(FR) + "\n")
    rows = [f"{en}\t{fr}\t{en}" for en, fr in zip(EN, FR, strict=True)]
    (folder / "table.tsv").write_text("\n".join(["eng\tfra\tdeu", *rows[:3], "a cat\t \ta cat", *rows[3:]]) + "\n")
    (folder / "tatoeba").mkdir()
    (folder / "tatoeba" / "tatoeba.fra-eng.eng").write_text("\n".join(EN) + "\n")
    (folder / "tatoeba" / "tatoeba.fra-eng.fra").write_text("\n".join(FR) + "\n")
    (folder / "en-fr.txt").write_text("".join(f"{en} {fr}\n" for en, fr in WORDS.items()) + "bird oiseau\n")
    X = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0].astype(np.float32)
    names = [f"w{row}" for row in range(12)]
    write_vectors(folder / "x.vec", names, X)
    write_vectors(folder / "y.vec", [name.upper() for name in names], X @ turn)
    (folder / "w.txt").write_text("".join(f"{name} {name.upper()}\n" for name in names[6:]))
    Procrustes().fit(X[:6], X[:6] @ turn).save(folder / "map.safetensors")
    np.save(folder / "x.npy", X)
    np.save(folder / "layers.npy", np.stack([np.roll(X, 1, axis=0), X]))
    return folder


@pytest.fixture
def sentences(isoglot, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    return lambda *options: isoglot("retrieve", "sentences", *QUICK, *options)


@pytest.fixture
def words(isoglot, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    return lambda *options: isoglot("retrieve", "words", *QUICK, *options)


ALIGNED = ("--model", "model", "--parallel", "en=a.txt", "--parallel", "fr=b.txt")


def test_sentences_of_a_model(sentences, tmp_path: Path, folder: Path):
    result = sentences(*ALIGNED, "--out", str(tmp_path / "out"))
    assert result.code == 0
    assert "P@1 in %: en to fr / fr to en" in result.out
    assert "cosine, centred" in result.out
    out = tmp_path / "out"
    assert read_json(out / "run.json")["status"] == "finished"
    assert set(read_json(out / "run.json")["inputs"]) == {"a.txt", "b.txt", "model/encoder.json"}
    metrics = read_json(out / "metrics.json")
    assert (metrics["kind"], metrics["model"], metrics["pool"]) == ("sentences", "model", "mean")
    (pair,) = metrics["pairs"]
    assert [(each["layer"], each["centre"]) for each in pair["layers"]] == [
        (layer, centre) for layer in (0, 1, 2) for centre in ("none", "mean")
    ]
    encoder = load_encoder(folder / "model", device="cpu")
    X, Y = (extract(encoder, text, language=code)[2] for text, code in ((EN, "en"), (FR, "fr")))
    for centre, A, B in (("none", X, Y), ("mean", X - X.mean(0), Y - Y.mean(0))):
        scores = next(each["scores"] for each in pair["layers"] if (each["layer"], each["centre"]) == (2, centre))
        ways = {(each["method"], each["direction"]): each for each in scores}
        assert ways["csls", "forward"]["p@1"]["value"] == pytest.approx(precision_at_k(retrieve(A, B, "csls", k=1)))
        assert ways["cosine", "backward"]["p@1"]["value"] == pytest.approx(
            precision_at_k(retrieve(B, A, "cosine", k=1))
        )
        assert {"p@5", "p@10", "mrr", "hubness"} <= set(ways["csls", "forward"])
    rows = list(csv.DictReader((out / "metrics.csv").read_text().splitlines()))
    assert len(rows) == 3 * 2 * 2 * 2
    assert {(row["source"], row["target"]) for row in rows} == {("en", "fr"), ("fr", "en")}
    found = [line.split("\t") for line in (out / "pairs.tsv").read_text().splitlines()]
    assert len(found) == 1 + 12
    assert found[1][5:7] == ["1", EN[0]]
    assert all((cells[5] == cells[7]) == (cells[-1] == "yes") == (cells[-2] == "1") for cells in found[1:])
    drawing = ET.fromstring((out / "layers.svg").read_text())  # noqa: S314 - our own file
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"


def test_same_seed_same_bytes(sentences, tmp_path: Path):
    for name in ("one", "two"):
        assert sentences(*ALIGNED, "--seed", "3", "--pairs", "all", "--out", str(tmp_path / name)).code == 0
    for file in ("metrics.json", "metrics.csv", "pairs.tsv", "layers.svg"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert len((tmp_path / "one" / "pairs.tsv").read_text().splitlines()) == 1 + 12 * 3 * 2 * 2


def test_one_method_and_centre_as_json(sentences):
    result = sentences(*ALIGNED, "--layers", "-1", "--method", "ratio", "--centre", "mean", "--quiet", "--json")
    assert (result.code, result.err) == (0, "")
    (pair,) = json.loads(result.out)["pairs"]
    assert [(each["layer"], each["centre"]) for each in pair["layers"]] == [(2, "mean")]
    assert [each["method"] for each in pair["layers"][0]["scores"]] == ["ratio", "ratio"]


def test_the_same_sentences_twice_are_those_sentences(sentences, folder: Path, tmp_path: Path):
    named = []
    for code, name in (("en", "a.txt"), ("fr", "b.txt")):
        (tmp_path / name).write_text((folder / name).read_text() * 2)
        named += ["--parallel", f"{code}={tmp_path / name}"]
    once = sentences(*ALIGNED, "--json")
    twice = sentences("--model", "model", *named, "--json")
    facts = json.loads(twice.out)
    assert facts["pairs"] == json.loads(once.out)["pairs"]
    assert facts["repeated"] == {f"{tmp_path}/a.txt, {tmp_path}/b.txt": 6}
    shown = sentences("--model", "model", *named)
    said = f"6 rows of {tmp_path}/a.txt, {tmp_path}/b.txt left out for a sentence of an earlier one"
    assert said in " ".join(shown.out.split())


def test_as_many_built_in_sentences_as_asked_for(sentences):
    facts = json.loads(sentences("--model", "model", "--sentences", "100", "--layers", "0", "--json", "-q").out)
    assert [(pair["target"], pair["target_rows"]) for pair in facts["pairs"]] == [("fr", 100), ("de", 100)]
    assert facts["repeated"] == {}


def test_sentences_that_are_cut_are_counted(sentences, tmp_path: Path):
    for code, text in (("en", EN), ("fr", FR)):
        (tmp_path / code).write_text("\n".join([*text, f"{text[0]} " * (300 if code == "en" else 2)]) + "\n")
    named = [word for code in ("en", "fr") for word in ("--parallel", f"{code}={tmp_path / code}")]
    result = sentences("--model", "model", *named, "--out", str(tmp_path / "out"))
    assert "Longer than the model takes, and cut: 1 of 7 en sentences" in result.out
    (pair,) = read_json(tmp_path / "out" / "metrics.json")["pairs"]
    assert (pair["source_cut"], pair["target_cut"]) == (1, 0)


def test_sentences_that_are_cut_are_said_once(isoglot, sentences, tmp_path: Path):
    long = f"{EN[0]} " * 300
    named = []
    for code, text in (("en", EN), ("fr", FR), ("de", [sentence.upper() for sentence in EN])):
        (tmp_path / code).write_text("\n".join([*text, long if code == "en" else text[0] * 2]) + "\n")
        named += ["--parallel", f"{code}={tmp_path / code}"]
    three = sentences("--model", "model", *named, "--layers", "0").out
    assert three.count("Longer than the model takes, and cut: 1 of 7 en sentences") == 1
    vectors = []
    for option, code in (("--source", "en"), ("--target", "fr")):
        vectors += [option, str(tmp_path / f"{code}.safetensors")]
        isoglot("encode", "model", "--text", str(tmp_path / code), "--out", vectors[-1], "--device", "cpu")
    for first in ((), ("--sentences", "3")):
        said = "Longer than the model takes, and cut: 1 of 7 en.safetensors sentences"
        assert sentences(*vectors, *first).out.count(said) == 1


def test_a_table_two_by_two_without_blank_rows(sentences, tmp_path: Path):
    result = sentences("--model", "model", "--parallel", "table.tsv", "--out", str(tmp_path / "out"), "--json", "-q")
    facts = json.loads(result.out)
    assert [(pair["source"], pair["target"]) for pair in facts["pairs"]] == [("en", "fr"), ("en", "de"), ("fr", "de")]
    assert facts["left_out"] == {"table.tsv": 1}
    assert facts["pairs"][1]["best"]["value"] == 1.0  # the same sentences under another name
    lines = (tmp_path / "out" / "pairs.tsv").read_text().splitlines()
    assert [line.split("\t")[5] for line in lines[1:7]] == ["2", "3", "4", "6", "7", "8"]
    shown = sentences("--model", "model", "--parallel", "table.tsv", "--langs", "de,en", "--quiet")
    assert "de to en / en to de" in shown.out
    assert "1 row of table.tsv left out for a blank sentence" not in shown.out
    both = sentences("--model", "model", "--parallel", "table.tsv", "--langs", "fr,en", "--sentences", "4", "--quiet")
    assert "1 row of table.tsv left out for a blank sentence" in both.out


def test_a_table_without_names(sentences, folder: Path, tmp_path: Path):
    (folder / "bare.tsv").write_text("".join(f"{en}\t{fr}\n" for en, fr in zip(EN, FR, strict=True)))
    bare = ("--model", "model", "--parallel", "bare.tsv")
    assert sentences(*bare, "--langs", "en,fr", "--out", str(tmp_path / "out"), "--quiet").code == 0
    assert (tmp_path / "out" / "pairs.tsv").read_text().splitlines()[1].split("\t")[5] == "1"
    assert "bare.tsv:1: the header " in sentences(*bare).err
    assert sentences(*bare, "--langs", "en,fr,de").err == (
        "isoglot: bare.tsv:1: 2 columns for 3 languages (en, fr, de); separate the columns with one tab each\n"
    )


@pytest.mark.parametrize(("langs", "said"), [("fr", "fr-en"), ("en,fr", "en-fr"), ("fra,eng", "fr-en")])
def test_tatoeba_keeps_the_order_of_languages(sentences, langs: str, said: str):
    result = sentences("--model", "model", "--parallel", "tatoeba", "--langs", langs, "--quiet")
    assert f"of {said} translations" in result.out
    assert f"P@1 in %: {' to '.join(said.split('-'))} / " in result.out


def test_sentences_from_vectors(isoglot, sentences, folder: Path, tmp_path: Path):
    same = sentences("--source", "x.npy", "--target", "layers.npy", "--layers", "-1", "--json", "-q")
    (pair,) = json.loads(same.out)["pairs"]
    assert (pair["source"], pair["target"], pair["best"]["value"]) == ("x.npy", "layers.npy", 1.0)
    both = sentences("--source", "layers.npy", "--target", "layers.npy", "--figure", str(tmp_path / "f.svg"), "-q")
    assert "Layer 0 finds 100.0 % of layers.npy-layers.npy translations by cosine; layer 1 is as good" in both.out
    assert "\n95 % interval 100.0 to 100.0, the best of 8 on the same data; chance 8.3 %\n" in both.out
    assert (tmp_path / "f.svg").exists()
    for name, text in (("en", "a.txt"), ("fr", "b.txt")):
        out = str(tmp_path / f"{name}.safetensors")
        assert isoglot("encode", "model", "--text", text, "--out", out, "--device", "cpu").code == 0
    options = ("--source", str(tmp_path / "en.safetensors"), "--target", str(tmp_path / "fr.safetensors"))
    vectors = json.loads(sentences(*options, "--json", "-q").out)["pairs"][0]["layers"]
    assert vectors == json.loads(sentences(*ALIGNED, "--json", "-q").out)["pairs"][0]["layers"]


VECTORS = ("--source", "x.vec", "--target", "y.vec", "--dictionary", "w.txt")


def test_words_through_a_map(words, tmp_path: Path, folder: Path):
    mapping = Procrustes.load(folder / "map.safetensors")
    mapping.save(tmp_path)
    mapping.save(tmp_path / "layer" / "layer-3.safetensors")
    for option in (str(folder / "map.safetensors"), str(tmp_path), str(tmp_path / "layer")):
        result = words(*VECTORS, "--map", option, "--centre", "none", "--out", str(tmp_path / "out"))
        assert result.code == 0
        assert "vectors  100.0 / 100.0  100.0 / 100.0" in result.out
        assert "x.vec-y.vec: 6 of 6 entries have both words (6 of 6 source words)" in result.out
        both = "100.0 % / 100.0 % of 12 / 12 words"  # 6 source words, 6 target words
        assert f"x.vec-y.vec, all entries / spelt differently, words of both sides: {both}" in result.out
    metrics = read_json(tmp_path / "out" / "metrics.json")["pairs"][0]
    assert metrics["coverage"]["entries_found"] == 6
    assert metrics["layers"][0]["scores"][0]["candidates"] == 12
    assert not (tmp_path / "out" / "layers.svg").exists()
    gold = words(*VECTORS[:-1], "en-fr=w.txt", "--candidates", "gold", "--json", "-q")
    assert json.loads(gold.out)["pairs"][0]["layers"][0]["scores"][0]["candidates"] == 6


def test_a_map_for_each_layer(sentences, folder: Path, tmp_path: Path):
    X = np.load(folder / "layers.npy")
    turns = [np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0].astype(np.float32) for seed in (2, 3)]
    turned = np.stack([rows @ turn for rows, turn in zip(X, turns, strict=True)])
    np.save(folder / "turned.npy", turned)
    for layer in (0, 1):
        Procrustes().fit(X[layer], turned[layer]).save(tmp_path / f"layer-{layer}.safetensors")
    options = ("--source", "layers.npy", "--target", "turned.npy", "--centre", "none", "--method", "cosine", "-q")
    assert "100.0 / 100.0" not in sentences(*options).out
    assert sentences(*options, "--map", str(tmp_path)).out.count("100.0 / 100.0") == 2


def test_words_of_a_model(words, tmp_path: Path):
    common = ("--model", "model", "--dictionary", "en-fr=en-fr.txt")
    text = ("--text", "en=a.txt", "--text", "fr=b.txt")
    result = words(*common, *text, "--out", str(tmp_path / "out"))
    assert result.code == 0
    assert "en-fr: 6 of 7 entries have both words (6 of 7 source words)" in result.out
    metrics = read_json(tmp_path / "out" / "metrics.json")
    assert [each["layer"] for each in metrics["pairs"][0]["layers"]] == [0, 0, 1, 1, 2, 2]
    assert (tmp_path / "out" / "layers.svg").exists()
    rows = words(*common, "--words-as", "embeddings", "--quiet", "--json")
    (pair,) = json.loads(rows.out)["pairs"]
    assert [each["layer"] for each in pair["layers"]] == [None, None]
    assert pair["coverage"]["entries_found"] == 6


def test_two_dictionaries_do_not_change_each_other(words, folder: Path):
    (folder / "en-de.txt").write_text("cat cat\ndog dog\n")
    text = ("--text", "en=a.txt", "--text", "fr=b.txt", "--text", "de=a.txt")
    one = ("--model", "model", "--dictionary", "en-fr=en-fr.txt", *text, "--json", "-q")
    both = json.loads(words(*one, "--dictionary", "en-de=en-de.txt").out)["pairs"]
    assert both[0] == json.loads(words(*one).out)["pairs"][0]
    assert both[1]["coverage"]["entries"] == 2


def test_two_dictionaries_of_one_pair_are_one(words, folder: Path):
    lines = (folder / "en-fr.txt").read_text().splitlines(keepends=True)
    (folder / "first.txt").write_text("".join(lines[:3]))
    (folder / "rest.txt").write_text("".join(lines[3:]))
    common = ("--model", "model", "--words-as", "embeddings", "--json", "-q")
    parts = words(*common, "--dictionary", "en-fr=first.txt", "--dictionary", "eng-fra=rest.txt")
    assert json.loads(parts.out) == json.loads(words(*common, "--dictionary", "en-fr=en-fr.txt").out)


REMEDY = "give --leave-out-known or --allow-leak"


def test_words_training_was_given_are_refused(words, folder: Path, tmp_path: Path):
    encoder = load_encoder(folder / "model", device="cpu")
    assert isinstance(encoder, Encoder)
    about = {"dictionaries": [seen(["dog", "cat", "a", "eats", "zebra"], ["chien"])]}
    save_encoder(encoder, tmp_path / "trained", about=about)
    options = ("--model", str(tmp_path / "trained"), "--words-as", "embeddings", "--dictionary", "en-fr=en-fr.txt")
    result = words(*options)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "isoglot: en-fr.txt: training has seen 4 of 7 source words of the dictionary, such as 'cat', 'dog', 'eats'; "
        f"{REMEDY}\n"
    )
    assert words(*options, "--allow-leak").code == 0
    both = words(*options, "--allow-leak", "--leave-out-known")
    assert both.err == "isoglot: --leave-out-known and --allow-leak exclude each other; give one of them\n"
    rest = words(*options, "--leave-out-known")
    assert "en-fr: 4 source words left out: known from training" in rest.out
    rest = json.loads(words(*options, "--leave-out-known", "--json").out)
    assert rest["left_out_known"] == {"en-fr": 4}
    assert rest["pairs"][0]["coverage"]["sources"] == 3
    (folder / "known.txt").write_text("dog chien\ncat chat\n")
    none = words(*options[:-1], "en-fr=known.txt", "--leave-out-known")
    assert none.err == "isoglot: known.txt: training has seen all 2 source words of the dictionary; score on others\n"
    (folder / "new.txt").write_text("the le\n")
    two = words(*options[:-1], "en-fr=new.txt", "--dictionary", "en-fr=known.txt")
    assert two.err.startswith("isoglot: new.txt, known.txt: training has seen 2 of 3 source words of the dictionary")
    about = {"dictionaries": [seen(["Dog", "CAT"], ["chien"])]}
    save_encoder(encoder, tmp_path / "capitals", about=about)
    capitals = (*options[:1], str(tmp_path / "capitals"), *options[2:])
    assert "seen 2 of 7 source words of the dictionary, such as 'cat', 'dog'; " in words(*capitals).err
    (folder / "fr-en.txt").write_text("chien dog\nchat cat\n")
    assert (
        "seen 1 of 2 source words of the dictionary, such as 'chien'; " in words(*options[:-1], "fr-en=fr-en.txt").err
    )


def test_words_of_the_vocabulary_and_the_shards_are_refused(words, folder: Path, tmp_path: Path):
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr", "de"])
    vocabulary.about["dictionaries"] = [seen(["the"], ["le"])]
    config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), tmp_path / "graded")
    rest = ("--words-as", "embeddings", "--dictionary", "en-fr=en-fr.txt")
    line = "isoglot: en-fr.txt: training has seen 1 of 7 source words of the dictionary, such as 'the'; "
    assert words("--model", str(tmp_path / "graded"), *rest).err == f"{line}{REMEDY}\n"
    build_shards([folder / "a.txt"], vocabulary, "en", tmp_path / "shards")
    shards = ("--shards", f"en={tmp_path / 'shards'}")
    assert words("--model", "model", *rest).code == 0
    assert words("--model", "model", *rest, *shards).err == f"{line}{REMEDY}\n"


@pytest.mark.usefixtures("without_mini")
def test_sentences_that_cannot_be_compared_are_one_line(sentences, folder: Path, tmp_path: Path):
    (folder / "short.txt").write_text("le chat dort\nle chien mange\n")
    (folder / "blank.txt").write_text("\n" * 6)
    bad = np.ones((12, 5), dtype=np.float32)
    bad[4, 2] = np.nan
    np.save(folder / "nan.npy", bad)
    bad[4] = 0
    np.save(folder / "zero.npy", bad)
    np.save(folder / "one.npy", bad[:1])
    np.save(folder / "flat.npy", bad[:2])
    np.save(folder / "wide.npy", np.ones((12, 7), dtype=np.float32))
    np.save(folder / "whole.npy", np.ones((12, 7), dtype=np.int64))
    (folder / "junk.npy").write_bytes(b"no such thing")
    np.save(folder / "long.npy", np.ones((12, 5), dtype=np.longdouble))
    (folder / "torn.npy").write_bytes((folder / "x.npy").read_bytes()[:20])
    Center().fit(np.eye(5, dtype=np.float32)).save(folder / "centre.safetensors")
    model = ("--model", "model")
    cases = [
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "fr=short.txt"),
            "a.txt:3: 6 lines, but short.txt has 2; aligned files have the same sentence on the same line: find where one is missing",
        ),
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "fr=blank.txt"),
            "a.txt: no row has a sentence in all of en, fr; give at least one",
        ),
        (
            (*model, "--parallel", "en=a.txt"),
            "--parallel names one language, en; name two: --parallel en=a.txt --parallel de=b.txt",
        ),
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "en=b.txt"),
            "--parallel en=b.txt: en has a file already; join them into one",
        ),
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "table.tsv"),
            (
                "--parallel 'table.tsv' is a whole set, and there is more; name the language of a file: "
                "--parallel en=table.tsv; or give one table or folder"
            ),
        ),
        (
            (*model, "--parallel", "none.tsv"),
            "--parallel 'none.tsv': no such file; write en=file.txt, or name a table or folder",
        ),
        (
            (*model, "--parallel", "table.tsv", "--langs", "en,ru"),
            "table.tsv has no column ru; choose among en, fr, de",
        ),
        (
            (*model, "--parallel", "table.tsv", "--langs", "en"),
            "one language, en, of table.tsv; choose two among en, fr, de",
        ),
        ((*ALIGNED, "--langs", "en,fr"), "--langs chooses from a table or folder; leave it out: the files name theirs"),
        (
            (*model, "--parallel", "tatoeba"),
            "--parallel 'tatoeba' is a folder of test sets with English, and no language is chosen; choose some, such as --langs de,fr",
        ),
        (
            (*model, "--parallel", "tatoeba", "--langs", "de"),
            "tatoeba: no Tatoeba test set of 'de'; there should be tatoeba.xxx-eng.xxx and .eng",
        ),
        ((*ALIGNED, "--method", "clss"), "no --method 'clss'; did you mean 'csls'?"),
        ((*ALIGNED, "--centre", "median"), "no --centre 'median'; did you mean 'mean'?"),
        (
            (*ALIGNED, "--layers", "last"),
            "--layers 'last' is no list of numbers; write --layers all, or --layers 0,4,-1",
        ),
        (
            ("--model", "model", "--source", "x.npy", "--target", "x.npy"),
            "--model and --source FILE exclude each other; give vectors, or a model",
        ),
        (
            ("--source", "x.npy", "--target", "x.npy", "--pool", "first"),
            "--pool and --source FILE exclude each other; give vectors, or a model",
        ),
        (("--source", "x.npy"), "--source and --target go together; give both, or a --model"),
        (
            ("--source", "x.npy", "--target", "one.npy"),
            "x.npy has 12 rows, one.npy 1; row i of one must be the translation of row i of the other",
        ),
        (
            ("--source", "x.npy", "--target", "wide.npy"),
            "x.npy is 5 wide, wide.npy 7; give vectors of one space, or a map from one to the other",
        ),
        (("--source", "x.npy", "--target", "nan.npy"), "nan.npy: row 5 is not finite; leave it out on both sides"),
        (("--source", "zero.npy", "--target", "x.npy"), "zero.npy: row 5 is all zeros; leave it out on both sides"),
        (
            ("--source", "one.npy", "--target", "one.npy"),
            "one.npy has one row, and nothing is left of it without its mean; give more, or --centre none",
        ),
        (
            ("--source", "flat.npy", "--target", "flat.npy"),
            "flat.npy: row 1 is the mean of all rows, and nothing is left of it without; give --centre none",
        ),
        (
            ("--source", "x.npy", "--target", "layers.npy"),
            "no layer is in both: x.npy has no layer, layers.npy 0, 1; make both with the same --layers, or choose one layer of each",
        ),
        (
            ("--source", "layers.npy", "--target", "layers.npy", "--layers", "7"),
            "layer 7 is not here; choose one of 0, 1",
        ),
        (
            ("--source", "x.npy", "--target", "whole.npy"),
            "whole.npy: an array of int64 with the shape (12, 7); give float32, a row for each item: N x D, or layers x N x D",
        ),
        (
            ("--source", "x.npy", "--target", "long.npy"),
            f"long.npy: an array of {np.dtype(np.longdouble)} with the shape (12, 5); give float32, a row for each item: N x D, or layers x N x D",
        ),
        (
            ("--source", "x.npy", "--target", "no.npy"),
            "no.npy: cannot read: no such file or folder; check the spelling of the path",
        ),
        (
            ("--source", "layers.npy", "--target", "layers.npy", "--map", "map.safetensors"),
            "there is no map for layer 0 of layers.npy; choose --layers that have maps, or one layer and its map",
        ),
        (
            ("--source", "wide.npy", "--target", "wide.npy", "--map", "map.safetensors"),
            "the map is for 5 numbers, and wide.npy is 7 wide; give the vectors the map was made for",
        ),
        (
            ("--source", "x.npy", "--target", "x.npy", "--map", "centre.safetensors"),
            "centre.safetensors: a Center, where a map of two spaces is wanted; name one written by isoglot align",
        ),
    ]
    for options, message in cases:
        result = sentences(*options, "--quiet")
        assert (result.code, result.out, result.err) == (2, "", f"isoglot: {message}\n")
    for name in ("torn.npy", "junk.npy"):
        bad = sentences("--source", "x.npy", "--target", name, "--out", str(tmp_path / "out"))
        assert bad.err == f"isoglot: {name}: no whole NumPy array of numbers; write it with numpy.save\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.json"]
    assert read_json(tmp_path / "out" / "run.json")["status"] == "failed"
    assert "isoglot-mini does not come with this version" in sentences(*ALIGNED[2:]).err


def test_words_that_cannot_be_compared_are_one_line(words, folder: Path):
    (folder / "none.txt").write_text("sky ciel\nw1 ciel\n")
    (folder / "empty.txt").write_text("")
    (folder / "foreign.txt").write_text("sky ciel\nsea mer\n")
    model = ("--model", "model", "--dictionary")
    text = ("--text", "en=a.txt", "--text", "fr=b.txt")
    need = (
        "--words-as contexts needs --text, and embeddings have no use for it; "
        "name the text of both languages: --text en=a.txt --text fr=b.txt; or --words-as embeddings"
    )
    cases = [
        (
            (*VECTORS[:-1], "none.txt"),
            "none.txt: no entry of the dictionary has both words: 1 of 2 source words and 0 of 1 target words have vectors; check the two languages",
        ),
        (
            (*VECTORS[:-1], "empty.txt"),
            "empty.txt: the dictionary has no entries; write source, a blank, target a line",
        ),
        ((*VECTORS, "--dictionary", "none.txt"), "two files of vectors have one dictionary; give --dictionary once"),
        (
            ("--source", "x.npy", "--target", "y.vec", "--dictionary", "w.txt"),
            "the rows of x.npy have no words; give a .vec, or what encode --pool types made",
        ),
        ((*VECTORS, *text), "--text and --source FILE exclude each other; give vectors, or a model"),
        *(
            ((*VECTORS, *option), f"{option[0]} and --source FILE exclude each other; give vectors, or a model")
            for option in (("--case", "keep"), ("--contexts", "3"), ("--words-as", "embeddings"), ("--allow-leak",))
        ),
        *(
            (
                (*model, "en-fr=en-fr.txt", "--words-as", "embeddings", *option),
                f"{option[0]} and --words-as embeddings exclude each other; leave it out: there is one row a word, from no text",
            )
            for option in (("--case", "keep"), ("--contexts", "4"), ("--layers", "1"), ("--rows", "3"))
        ),
        (
            ("--source", "empty.txt", "--target", "y.vec", "--dictionary", "w.txt"),
            "empty.txt: there are no vectors; write a word and its numbers a line",
        ),
        ((*model, "en-fr=en-fr.txt"), need),
        ((*model, "en-fr=en-fr.txt", "--words-as", "embeddings", *text), need),
        (
            (*model, "en-fr.txt", *text),
            "--dictionary 'en-fr.txt' names no languages; write --dictionary en-fr=en-fr.txt",
        ),
        ((*model, "en-fr=en-fr.txt", *text[:2]), "--text has no fr; name its text: --text fr=file.txt"),
        ((*model, "en-en=en-fr.txt", *text), "--dictionary en-en is of one language; name two"),
        (
            (*model, "en-fr=foreign.txt", *text),
            "a.txt: 0 of 2 words are in the 6 sentences; check that both are of one language, cut into words alike, and in the same case",
        ),
        (
            (*model, "en-fr=foreign.txt", "--words-as", "embeddings"),
            "0 of 2 words are one subword; use a larger vocabulary, or word types over contexts",
        ),
        (
            (*model, "en-fr=en-fr.txt", "--text", "en=empty.txt", "--text", "fr=b.txt"),
            "empty.txt: there is no sentence; give text with a sentence a line",
        ),
    ]
    for options, message in cases:
        result = words(*options, "--quiet")
        assert (result.code, result.out, result.err) == (2, "", f"isoglot: {message}\n")
