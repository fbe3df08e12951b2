"""``isoglot vocab``, ``isoglot shards`` and ``isoglot anchors`` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.core.files import read_json
from isoglot.vocab import Shards, Vocabulary, train_vocabulary


@pytest.fixture(scope="module")
def named(texts) -> list[str]:
    return [part for code in ("en", "fr") for part in ("--text", f"{code}={texts[code][0]}")]


@pytest.fixture
def vocabulary(trained, tmp_path: Path) -> Path:
    trained("union").save(tmp_path / "v")
    return tmp_path / "v"


def test_train_and_inspect(isoglot, named, tmp_path: Path):
    out = tmp_path / "v"
    result = isoglot(
        "vocab", "train", *named, "--mode", "union", "--size", "600", "--out", str(out), "--json", "--quiet"
    )
    assert (result.code, result.err) == (0, "")
    facts = json.loads(result.out)
    assert facts["languages"] == {"en": 600, "fr": 600}
    assert facts["size"] == 1200 - 5 - facts["anchors"]["en-fr"]
    record = read_json(out / "run.json")
    assert record["status"] == "finished"
    assert len(record["inputs"]) == 2
    assert "en/tokenizer.json" in record["outputs"]
    shown = isoglot("vocab", "inspect", str(out), "--encode", "The cat sleeps.", "--lang", "en")
    assert shown.code == 0
    assert "decoded: The cat sleeps." in shown.out
    assert "Shared subwords have one id in both; isoglot anchors counts those that occur in text of both." in shown.out
    encoded = json.loads(isoglot("vocab", "inspect", str(out), "--encode", "a b", "--lang", "en", "--json").out)[
        "encoded"
    ]
    assert [entry["piece"] for entry in encoded] == ["▁a", "▁b"]
    any_tokenizer = json.loads(isoglot("vocab", "inspect", str(out / "en" / "tokenizer.json"), "--json").out)
    assert any_tokenizer["mode"] == "given"


def test_a_vocabulary_is_not_written_over_another(isoglot, named, vocabulary: Path):
    before = {path: path.read_bytes() for path in vocabulary.rglob("*") if path.is_file()}
    result = isoglot("vocab", "train", *named, "--size", "600", "--out", str(vocabulary))
    assert (result.code, result.out) == (2, "")
    result.failed("config.run-exists", vocabulary)
    assert {path: path.read_bytes() for path in vocabulary.rglob("*") if path.is_file()} == before


def test_train_graded(isoglot, named, tmp_path: Path):
    command = ("vocab", "train", *named, "--mode", "graded", "--size", "600", "--out", str(tmp_path / "v"), "--quiet")
    assert isoglot(*command, "--keep", "band", "--band", "1-10").code == 0
    assert len(Vocabulary.load(tmp_path / "v").anchors("en", "fr")) == 10
    isoglot(*command, "--keep", "band", "--band", "10").failed("config.malformed-option", "--band", "'10'")
    isoglot(*command, "--band", "1-10").failed("config.conflicting-options", "--band", "--dictionary", "--keep")


def test_build_check_and_stats(isoglot, named, vocabulary: Path, tmp_path: Path):
    out = tmp_path / "s"
    command = ("shards", "build", *named, "--vocab", str(vocabulary), "--dev-share", "0.1", "--quiet", "--json")
    built = isoglot(*command, "--out", str(out))
    assert (built.code, built.err) == (0, "")
    facts = json.loads(built.out)
    assert [found["folder"] for found in facts] == [str(out / "en"), str(out / "fr")]
    assert read_json(out / "run.json")["status"] == "finished"
    checked = isoglot("shards", "check", str(out / "en"), str(out / "fr"), "--vocab", str(vocabulary))
    assert checked.code == 0
    tokens = sum(counts["tokens"] for counts in facts[0]["counts"].values())
    assert checked.out.startswith(f"{out / 'en'}: sound, {tokens:,} tokens\n")
    counted = json.loads(isoglot("shards", "stats", str(out / "en"), "--json").out)
    assert 100 < counted[0]["types"] <= 700
    assert "x 256" in isoglot("shards", "stats", str(out / "en")).out
    with (out / "en" / "train.ids.bin").open("r+b") as file:
        file.truncate(100)
    refused = isoglot("shards", "check", str(out / "en"))
    refused.failed("corrupt-file.size", out, 100)


def test_one_language_goes_to_the_folder_itself(isoglot, texts, vocabulary: Path, tmp_path: Path):
    command = ("shards", "build", "--text", f"en={texts['en'][0]}", "--vocab", str(vocabulary), "--quiet")
    assert isoglot(*command, "--sentences", "50", "--out", str(tmp_path / "en")).code == 0
    assert isoglot(*command, "--out", str(tmp_path / "en")).code == 2
    assert isoglot(*command, "--restart", "--out", str(tmp_path / "en")).code == 0
    assert Shards.open(tmp_path / "en").index["sentences_asked"] is None


def test_anchors_from_the_sample_text_and_shards(isoglot, texts, named, vocabulary: Path, tmp_path: Path):
    isoglot("shards", "build", *named, "--vocab", str(vocabulary), "--out", str(tmp_path / "s"), "--quiet")
    shards = [part for code in ("en", "fr") for part in ("--shards", f"{code}={tmp_path}/s/{code}")]
    (tmp_path / "d.txt").write_text("table table\n")
    reports = []
    for source in (named, shards):
        result = isoglot("anchors", "--vocab", str(vocabulary), *source, "--json", "--quiet")
        assert (result.code, result.err) == (0, "")
        reports.append(json.loads(result.out))
    assert reports[0] == reports[1]
    out = tmp_path / "report"
    dictionary = ("--dictionary", f"en-fr={tmp_path}/d.txt")
    result = isoglot("anchors", "--vocab", str(vocabulary), *dictionary, "--out", str(out))
    assert result.code == 0
    anchors = read_json(out / "anchors.json")["pairs"][0]["anchors"]
    assert f"en-fr: {anchors:,} anchors (subwords that occur in text of both); " in result.out
    assert "\nCounted in " in result.out
    often = isoglot("anchors", "--vocab", str(vocabulary), "--at-least", "9").out
    assert " anchors (subwords that occur in text of both 9 times or more); " in often
    assert "true friends" in result.out
    assert {path.name for path in out.iterdir()} == {
        "anchors.json",
        "index.html",
        "vega.js",
        "figures",
        "tables",
        "run.json",
    }
    assert [pair["languages"] for pair in read_json(out / "anchors.json")["pairs"]] == [
        ["en", "fr"],
        ["en", "de"],
        ["fr", "de"],
    ]


def test_what_is_wrong_is_said(isoglot, texts, named, vocabulary: Path, tmp_path: Path):
    isoglot("shards", "build", *named, "--vocab", str(vocabulary), "--out", str(tmp_path / "s"), "--quiet")
    wrong = isoglot("anchors", "--vocab", str(vocabulary), "--shards", f"fr={tmp_path}/s/en")
    wrong.failed("config.other-language", tmp_path, "en", "fr")
    both = isoglot("anchors", "--vocab", str(vocabulary), *named, "--shards", f"en={tmp_path}/s/en")
    both.failed("config.conflicting-options", "--shards", "--text")
    absent = isoglot("vocab", "inspect", "./no/such/folder")
    assert (absent.code, absent.err) == (
        2,
        "isoglot: ./no/such/folder: no such tokenizer; check the spelling of the path\n",
    )


def test_an_encoder_s_vocabulary_can_be_inspected_by_its_name(isoglot, tmp_path: Path):
    """The vocabulary of a packed encoder is compressed, the bundled one's too."""
    facts = json.loads(isoglot("vocab", "inspect", "--vocab", "isoglot-mini", "--json").out)
    assert (facts["size"], list(facts["languages"])) == (32_000, ["en", "fr", "de", "ru", "zh"])
    assert json.loads(isoglot("vocab", "inspect", "isoglot-mini", "--json").out) == facts
    nothing = isoglot("vocab", "inspect")
    assert (nothing.code, nothing.err) == (
        2,
        "isoglot: no vocabulary is named; give one: isoglot vocab inspect isoglot-mini\n",
    )
    assert isoglot("vocab", "inspect", "a", "--vocab", "b").code == 2


@pytest.mark.parametrize("languages", [("en",), ("en", "fr")])
def test_sharing_is_explained_where_there_is_somebody_to_share_with(isoglot, texts, tmp_path: Path, languages):
    files = {code: texts[code] for code in languages}
    train_vocabulary(files, mode="joint", size=500).save(tmp_path / "vocabulary")
    shown = isoglot("vocab", "inspect", str(tmp_path / "vocabulary"))
    assert shown.code == 0
    assert ("Shared subwords" in shown.out) == (len(languages) > 1)
