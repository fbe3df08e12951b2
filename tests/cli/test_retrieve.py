"""``isoglot retrieve``: from models and from vectors."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest

from isoglot.align import Procrustes
from isoglot.core.files import read_json
from isoglot.model import Encoder, encoder_config, load_encoder, save_encoder
from isoglot.represent import extract
from isoglot.retrieve import precision_at_k, retrieve
from isoglot.vocab import Vocabulary, build_shards
from tests.cli.retrieve_data import ALIGNED, EN, FR, VECTORS
from tests.given_words import given_words


def test_sentences_of_a_model(sentences, tmp_path: Path, retrieve_folder: Path):
    own = ("--means-from", "own", "--csls-from", "own")
    result = sentences(*ALIGNED, *own, "--out", str(tmp_path / "out"))
    assert result.code == 0
    assert "means estimated on the searched rows themselves" in result.out
    assert "P@1 in %: en to fr / fr to en" in result.out
    assert "cosine, centered" in result.out
    out = tmp_path / "out"
    assert read_json(out / "run.json")["status"] == "finished"
    assert {"a.txt", "b.txt", "model/encoder.json"} < set(read_json(out / "run.json")["inputs"])
    metrics = read_json(out / "metrics.json")
    assert (metrics["kind"], metrics["model"], metrics["pool"]) == ("sentences", "model", "mean")
    (pair,) = metrics["pairs"]
    assert [(each["layer"], each["center"]) for each in pair["layers"]] == [
        (layer, center) for layer in (0, 1, 2) for center in ("none", "mean")
    ]
    encoder = load_encoder(retrieve_folder / "model", device="cpu")
    X, Y = (extract(encoder, text, language=code)[2] for text, code in ((EN, "en"), (FR, "fr")))
    for center, A, B in (("none", X, Y), ("mean", X - X.mean(0), Y - Y.mean(0))):
        scores = next(each["scores"] for each in pair["layers"] if (each["layer"], each["center"]) == (2, center))
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
    assert "P@1 is highest in layer" in (out / "index.html").read_text()
    assert read_json(out / "figures" / "layers.vl.json")["layer"]


def test_means_come_from_other_sentences_unless_told(sentences, tmp_path: Path, retrieve_folder: Path):
    """Six sentences and five folds; other text has means of its own, and its sentences make neighborhoods."""
    shown = sentences(*ALIGNED, "--layers", "0")
    assert "centered: each language's mean removed, means estimated on other sentences of the same set" in shown.out
    texts = []
    for code, text in (("en", EN), ("fr", FR)):
        (tmp_path / f"{code}.txt").write_text("\n".join([*text[::2], "", text[1]]) + "\n")
        texts += ["--means-from", f"{code}={tmp_path / code}.txt"]
    chosen = ("--layers", "2", "--json", "-q", "--out", str(tmp_path / "out"))
    result = sentences(*ALIGNED, *texts, "--csls-from", "text", *chosen)
    (pair,) = json.loads(result.out)["pairs"]
    assert (pair["estimates"]["means"], pair["estimates"]["neighborhoods"]) == ("given", "given")
    assert str(tmp_path / "en.txt") in pair["estimates"]["origin"]
    assert str(tmp_path / "fr.txt") in read_json(tmp_path / "out" / "run.json")["inputs"]
    encoder = load_encoder(retrieve_folder / "model", device="cpu")
    X, Y = (extract(encoder, text, language=code)[2] for text, code in ((EN, "en"), (FR, "fr")))
    A, B = (
        side - extract(encoder, [*text[::2], text[1]], language=code)[2].mean(axis=0)
        for side, text, code in ((X, EN, "en"), (Y, FR, "fr"))
    )
    scores = next(each["scores"] for each in pair["layers"] if each["center"] == "mean")
    ways = {(each["method"], each["direction"]): each for each in scores}
    assert ways["cosine", "forward"]["p@1"]["value"] == pytest.approx(precision_at_k(retrieve(A, B, "cosine", k=1)))


def test_means_of_a_folder(isoglot, sentences, tmp_path: Path, retrieve_folder: Path):
    fitted = isoglot(
        "steer", "fit", "model", "--text", "en=a.txt", "--text", "fr=b.txt", "--out", str(tmp_path / "means")
    )
    assert fitted.code == 0
    found = sentences(*ALIGNED, "--means-from", str(tmp_path / "means"), "--layers", "2", "--json", "-q")
    assert json.loads(found.out)["pairs"][0]["estimates"]["means"] == "given"
    first = sentences(*ALIGNED, "--means-from", str(tmp_path / "means"), "--pool", "first")
    first.failed("config.conflicting-options", "--pool")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--means-from", "fold"), "--means-from 'fold': no such source or folder; did you mean 'folds'?"),
        (("--means-from", "en=a.txt"), "--means-from has nothing of fr; give its text: --means-from fr=FILE"),
        (("--csls-from", "text"), "--csls-from text needs text; name it: --means-from en=FILE --means-from de=FILE"),
        (("--means-from", "en=no.txt"), "--means-from 'en=no.txt': no such file; check the spelling of the path"),
    ],
)
def test_a_source_of_means_that_is_none_is_one_line(sentences, options: tuple[str, ...], line: str):
    assert sentences(*ALIGNED, *options, "--quiet") == (2, "", f"isoglot: {line}\n")


def test_same_seed_same_bytes(sentences, tmp_path: Path):
    for name in ("one", "two"):
        assert sentences(*ALIGNED, "--seed", "3", "--pairs", "all", "--out", str(tmp_path / name)).code == 0
    for file in ("metrics.json", "metrics.csv", "pairs.tsv", "figures/layers.vl.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert len((tmp_path / "one" / "pairs.tsv").read_text().splitlines()) == 1 + 12 * 3 * 2 * 2


def test_one_method_and_center_as_json(sentences):
    result = sentences(*ALIGNED, "--layers", "-1", "--method", "ratio", "--center", "mean", "--quiet", "--json")
    assert (result.code, result.err) == (0, "")
    (pair,) = json.loads(result.out)["pairs"]
    assert [(each["layer"], each["center"]) for each in pair["layers"]] == [(2, "mean")]
    assert [each["method"] for each in pair["layers"][0]["scores"]] == ["ratio", "ratio"]


def test_the_same_sentences_twice_are_those_sentences(sentences, retrieve_folder: Path, tmp_path: Path):
    named = []
    for code, name in (("en", "a.txt"), ("fr", "b.txt")):
        (tmp_path / name).write_text((retrieve_folder / name).read_text() * 2)
        named += ["--parallel", f"{code}={tmp_path / name}"]
    once = sentences(*ALIGNED, "--json")
    twice = sentences("model", *named, "--json")
    facts = json.loads(twice.out)
    assert facts["pairs"] == json.loads(once.out)["pairs"]
    assert facts["repeated"] == {f"{tmp_path}/a.txt, {tmp_path}/b.txt": 6}
    shown = sentences("model", *named)
    said = f"6 rows of {tmp_path}/a.txt, {tmp_path}/b.txt left out because a sentence repeats one of an earlier row"
    assert said in " ".join(shown.out.split())


def test_as_many_built_in_sentences_as_asked_for(sentences):
    facts = json.loads(sentences("model", "--sentences", "100", "--layers", "0", "--json", "-q").out)
    assert [(pair["target"], pair["target_rows"]) for pair in facts["pairs"]] == [("fr", 100), ("de", 100)]
    assert facts["repeated"] == {}


def test_sentences_that_are_cut_are_counted(sentences, tmp_path: Path):
    for code, text in (("en", EN), ("fr", FR)):
        (tmp_path / code).write_text("\n".join([*text, f"{text[0]} " * (300 if code == "en" else 2)]) + "\n")
    named = [word for code in ("en", "fr") for word in ("--parallel", f"{code}={tmp_path / code}")]
    result = sentences("model", *named, "--out", str(tmp_path / "out"))
    assert "Longer than the model takes, and cut: 1 of 7 en sentences" in result.out
    (pair,) = read_json(tmp_path / "out" / "metrics.json")["pairs"]
    assert (pair["source_cut"], pair["target_cut"]) == (1, 0)


def test_sentences_that_are_cut_are_said_once(isoglot, sentences, tmp_path: Path):
    long = f"{EN[0]} " * 300
    named = []
    for code, text in (("en", EN), ("fr", FR), ("de", [sentence.upper() for sentence in EN])):
        (tmp_path / code).write_text("\n".join([*text, long if code == "en" else text[0] * 2]) + "\n")
        named += ["--parallel", f"{code}={tmp_path / code}"]
    three = sentences("model", *named, "--layers", "0", "--center", "none").out
    assert three.count("Longer than the model takes, and cut: 1 of 7 en sentences") == 1
    vectors = []
    for option, code in (("--source", "en"), ("--target", "fr")):
        vectors += [option, str(tmp_path / f"{code}.safetensors")]
        isoglot("encode", "model", "--text", str(tmp_path / code), "--out", vectors[-1], "--device", "cpu")
    for first in ((), ("--sentences", "3")):
        said = "Longer than the model takes, and cut: 1 of 7 en.safetensors sentences"
        assert sentences(*vectors, *first).out.count(said) == 1


def test_a_table_two_by_two_without_blank_rows(sentences, tmp_path: Path):
    result = sentences("model", "--parallel", "table.tsv", "--out", str(tmp_path / "out"), "--json", "-q")
    facts = json.loads(result.out)
    assert [(pair["source"], pair["target"]) for pair in facts["pairs"]] == [("en", "fr"), ("en", "de"), ("fr", "de")]
    assert facts["left_out"] == {"table.tsv": 1}
    assert facts["pairs"][1]["best"]["value"] == 1.0  # the same sentences under another name
    lines = (tmp_path / "out" / "pairs.tsv").read_text().splitlines()
    assert [line.split("\t")[5] for line in lines[1:7]] == ["2", "3", "4", "6", "7", "8"]
    shown = sentences("model", "--parallel", "table.tsv", "--langs", "de,en", "--quiet")
    assert "de to en / en to de" in shown.out
    assert "1 row of table.tsv left out because a sentence is blank" not in shown.out
    both = sentences("model", "--parallel", "table.tsv", "--langs", "fr,en", "--sentences", "4", "--quiet")
    assert "1 row of table.tsv left out because a sentence is blank" in both.out


def test_a_table_without_names(sentences, retrieve_folder: Path, tmp_path: Path):
    (retrieve_folder / "bare.tsv").write_text("".join(f"{en}\t{fr}\n" for en, fr in zip(EN, FR, strict=True)))
    bare = ("model", "--parallel", "bare.tsv")
    assert sentences(*bare, "--langs", "en,fr", "--out", str(tmp_path / "out"), "--quiet").code == 0
    assert (tmp_path / "out" / "pairs.tsv").read_text().splitlines()[1].split("\t")[5] == "1"
    sentences(*bare).failed("input.malformed-line", "bare.tsv", line=1)
    sentences(*bare, "--langs", "en,fr,de").failed("input.column-count", "bare.tsv", 2, 3, "en", "fr", "de", line=1)


@pytest.mark.parametrize(("langs", "said"), [("fr", "fr-en"), ("en,fr", "en-fr"), ("fra,eng", "fr-en")])
def test_tatoeba_keeps_the_order_of_languages(sentences, langs: str, said: str):
    result = sentences("model", "--parallel", "tatoeba", "--langs", langs, "--quiet")
    assert f"of {said} translations" in result.out
    assert f"P@1 in %: {' to '.join(said.split('-'))} / " in result.out


def test_sentences_from_vectors(isoglot, sentences, retrieve_folder: Path, tmp_path: Path):
    same = sentences("--source", "x.npy", "--target", "layers.npy", "--layers", "-1", "--json", "-q")
    (pair,) = json.loads(same.out)["pairs"]
    assert (pair["source"], pair["target"], pair["best"]["value"]) == ("x.npy", "layers.npy", 1.0)
    both = sentences("--source", "layers.npy", "--target", "layers.npy", "--figure", str(tmp_path / "f.html"), "-q")
    assert (
        "Layer 0 finds 100.0 % of layers.npy-layers.npy translations by cosine among 12 candidates; whether layer 1 is as"
        in " ".join(both.out.split())
    )
    assert "\n95 % interval of the highest: 100.0 to 100.0, the best of 8 on the same data; chance 8.3 %\n" in both.out
    assert "vegaEmbed" in (tmp_path / "f.html").read_text()
    for name, text in (("en", "a.txt"), ("fr", "b.txt")):
        out = str(tmp_path / f"{name}.safetensors")
        assert isoglot("encode", "model", "--text", text, "--out", out, "--device", "cpu").code == 0
    options = ("--source", str(tmp_path / "en.safetensors"), "--target", str(tmp_path / "fr.safetensors"))
    vectors = json.loads(sentences(*options, "--json", "-q").out)["pairs"][0]["layers"]
    assert vectors == json.loads(sentences(*ALIGNED, "--json", "-q").out)["pairs"][0]["layers"]


def test_words_through_a_map(words, tmp_path: Path, retrieve_folder: Path):
    mapping = Procrustes.load(retrieve_folder / "map.safetensors")
    mapping.save(tmp_path)
    mapping.save(tmp_path / "layer" / "layer-3.safetensors")
    for option in (str(retrieve_folder / "map.safetensors"), str(tmp_path), str(tmp_path / "layer")):
        result = words(*VECTORS, "--map", option, "--center", "none", "--out", str(tmp_path / "out"))
        assert result.code == 0
        assert "vectors  100.0 / 100.0  100.0 / 100.0" in result.out
        assert "x.vec-y.vec: 6 of 6 entries have both words (6 of 6 source words)" in result.out
        both = "100.0 % / 100.0 % of 12 / 12 words"  # 6 source words, 6 target words
        assert f"x.vec-y.vec, all entries / spelled differently, words of both sides: {both}" in result.out
    metrics = read_json(tmp_path / "out" / "metrics.json")["pairs"][0]
    assert metrics["coverage"]["entries_found"] == 6
    assert metrics["layers"][0]["scores"][0]["candidates"] == 12
    assert not (tmp_path / "out" / "figures").exists()
    gold = words(*VECTORS[:-1], "en-fr=w.txt", "--candidates", "gold", "--json", "-q")
    assert json.loads(gold.out)["pairs"][0]["layers"][0]["scores"][0]["candidates"] == 6


def test_a_map_for_each_layer(sentences, retrieve_folder: Path, tmp_path: Path):
    X = np.load(retrieve_folder / "layers.npy")
    turns = [np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0].astype(np.float32) for seed in (2, 3)]
    turned = np.stack([rows @ turn for rows, turn in zip(X, turns, strict=True)])
    np.save(retrieve_folder / "turned.npy", turned)
    for layer in (0, 1):
        Procrustes().fit(X[layer], turned[layer]).save(tmp_path / f"layer-{layer}.safetensors")
    options = ("--source", "layers.npy", "--target", "turned.npy", "--center", "none", "--method", "cosine", "-q")
    assert "100.0 / 100.0" not in sentences(*options).out
    assert sentences(*options, "--map", str(tmp_path)).out.count("100.0 / 100.0") == 2


def test_words_of_a_model(words, tmp_path: Path):
    common = ("model", "--dictionary", "en-fr=en-fr.txt")
    text = ("--text", "en=a.txt", "--text", "fr=b.txt")
    result = words(*common, *text, "--out", str(tmp_path / "out"))
    assert result.code == 0
    assert "en-fr: 6 of 7 entries have both words (6 of 7 source words)" in result.out
    metrics = read_json(tmp_path / "out" / "metrics.json")
    assert [each["layer"] for each in metrics["pairs"][0]["layers"]] == [0, 0, 1, 1, 2, 2]
    assert (tmp_path / "out" / "figures" / "layers.vl.json").exists()
    rows = words(*common, "--words-as", "embeddings", "--quiet", "--json")
    (pair,) = json.loads(rows.out)["pairs"]
    assert [each["layer"] for each in pair["layers"]] == [None, None]
    assert pair["coverage"]["entries_found"] == 6


def test_two_dictionaries_do_not_change_each_other(words, retrieve_folder: Path):
    (retrieve_folder / "en-de.txt").write_text("cat cat\ndog dog\n")
    text = ("--text", "en=a.txt", "--text", "fr=b.txt", "--text", "de=a.txt")
    one = ("model", "--dictionary", "en-fr=en-fr.txt", *text, "--json", "-q")
    both = json.loads(words(*one, "--dictionary", "en-de=en-de.txt").out)["pairs"]
    assert both[0] == json.loads(words(*one).out)["pairs"][0]
    assert both[1]["coverage"]["entries"] == 2


def test_two_dictionaries_of_one_pair_are_one(words, retrieve_folder: Path):
    lines = (retrieve_folder / "en-fr.txt").read_text().splitlines(keepends=True)
    (retrieve_folder / "first.txt").write_text("".join(lines[:3]))
    (retrieve_folder / "rest.txt").write_text("".join(lines[3:]))
    common = ("model", "--words-as", "embeddings", "--json", "-q")
    parts = words(*common, "--dictionary", "en-fr=first.txt", "--dictionary", "eng-fra=rest.txt")
    assert json.loads(parts.out) == json.loads(words(*common, "--dictionary", "en-fr=en-fr.txt").out)


def test_words_training_was_given_are_refused(words, retrieve_folder: Path, tmp_path: Path):
    encoder = load_encoder(retrieve_folder / "model", device="cpu")
    assert isinstance(encoder, Encoder)
    encoder.provenance = given_words(["dog", "cat", "a", "eats", "zebra"], ["chien"])
    save_encoder(encoder, tmp_path / "trained")
    options = (str(tmp_path / "trained"), "--words-as", "embeddings", "--dictionary", "en-fr=en-fr.txt")
    result = words(*options)
    assert (result.code, result.out) == (2, "")
    result.failed("input.leak", "en-fr.txt", 4, 7, "'cat'", "'dog'", "'eats'")
    assert words(*options, "--allow-leak").code == 0
    both = words(*options, "--allow-leak", "--leave-out-known")
    both.failed("config.conflicting-options", "--leave-out-known", "--allow-leak")
    rest = words(*options, "--leave-out-known")
    assert "en-fr: 4 source words left out: known from training" in rest.out
    rest = json.loads(words(*options, "--leave-out-known", "--json").out)
    assert rest["left_out_known"] == {"en-fr": 4}
    assert rest["pairs"][0]["coverage"]["sources"] == 3
    (retrieve_folder / "known.txt").write_text("dog chien\ncat chat\n")
    none = words(*options[:-1], "en-fr=known.txt", "--leave-out-known")
    none.failed("input.leak", "known.txt", 2)
    (retrieve_folder / "new.txt").write_text("the le\n")
    two = words(*options[:-1], "en-fr=new.txt", "--dictionary", "en-fr=known.txt")
    two.failed("input.leak", "new.txt", "known.txt", 2, 3)
    encoder.provenance = given_words(["Dog", "CAT"], ["chien"])
    save_encoder(encoder, tmp_path / "capitals")
    capitals = (str(tmp_path / "capitals"), *options[1:])
    words(*capitals).failed("input.leak", 2, 7, "'cat'", "'dog'")
    (retrieve_folder / "fr-en.txt").write_text("chien dog\nchat cat\n")
    words(*options[:-1], "fr-en=fr-en.txt").failed("input.leak", 1, 2, "'chien'")


def test_words_of_the_vocabulary_and_the_shards_are_refused(words, retrieve_folder: Path, tmp_path: Path):
    vocabulary = Vocabulary.from_tokenizer(retrieve_folder / "tokenizer.json", ["en", "fr", "de"])
    vocabulary.about["provenance"] = given_words(["the"], ["le"]).facts()
    config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), tmp_path / "graded")
    rest = ("--words-as", "embeddings", "--dictionary", "en-fr=en-fr.txt")
    seen = ("input.leak", "en-fr.txt", "1 of 7", "'the'")
    words(str(tmp_path / "graded"), *rest).failed(*seen)
    build_shards([retrieve_folder / "a.txt"], vocabulary, "en", tmp_path / "shards")
    shards = ("--shards", f"en={tmp_path / 'shards'}")
    assert words("model", *rest).code == 0
    words("model", *rest, *shards).failed(*seen)


def test_one_pool_of_all_languages(sentences, tmp_path: Path):
    out = tmp_path / "out"
    result = sentences(*ALIGNED, "--candidates", "mixed", "--pairs", "all", "--out", str(out))
    assert result.code == 0
    assert "own language first, %: en, fr" in result.out
    metrics = read_json(out / "metrics.json")
    (pool,) = metrics["pools"]
    assert (metrics["kind"], pool["languages"], pool["candidates"]) == (
        "mixed",
        ["en", "fr"],
        2 * pool["sentences"] - 1,
    )
    assert len(pool["scores"]) == len(list(csv.DictReader((out / "metrics.csv").read_text().splitlines()))) == 12
    found = list(csv.DictReader((out / "pairs.tsv").read_text().splitlines(), delimiter="\t"))
    assert len(found) == 12 * 2 * pool["sentences"]
    assert not any((row["source"], row["source_line"]) == (row["target"], row["predicted_line"]) for row in found)
    shares = pool["scores"][0]
    own = [row for row in found[: 2 * pool["sentences"]] if row["source"] == row["target"]]
    assert len(own) / (2 * pool["sentences"]) == pytest.approx(shares["own_language"]["value"])
    assert "Language of the nearest neighbor" in (out / "index.html").read_text()
    refused = sentences(*ALIGNED, "--candidates", "mixed", "--method", "ratio")
    assert (refused.code, "ratio" in refused.err) == (2, True)
