"""``isoglot text`` from its options to its files, reports and run records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isoglot.cli.inputs import parse_pairs
from isoglot.core.files import read_json
from isoglot.text.provenance import read_provenance, record_path

COMMAND = [sys.executable, "-c", "from isoglot.__main__ import entry; entry()"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text(
        "The  cat sleeps here. The dog isn't here.\nThe  cat sleeps here. The dog isn't here.\n\nThe cat.\n"
    )
    Path("fr.txt").write_text("Le chat dort ici. Le chien n'est pas là.\n")
    Path("en-fr.txt").write_text("cat chat\ndog chien\nthe le\n")
    Path("empty.txt").write_text("")
    Path("ner.tsv").write_text("北\tB-LOC\n京\tI-LOC\n")
    return tmp_path


def outputs(folder: str) -> set[str]:
    """The files of a run; their hashes are in its record, and it has finished."""
    record = read_json(Path(folder) / "run.json")
    assert record["status"] == "finished"
    names = {Path(path).name for path in record["outputs"]}
    assert names | {"run.json"} == {path.name for path in Path(folder).iterdir()}
    texts = {name for name in names if not name.endswith(".provenance.json")}
    assert {record_path(name).name for name in texts if ".txt" in name} == names - texts
    assert record["inputs"]
    return texts


def test_clean(isoglot, folder: Path):
    result = isoglot("text", "clean", "--text", "en=en.txt", "--text", "fr=fr.txt", "--out", "out", "--json", "-q")
    report = json.loads(result.out)
    assert report["en"]["dropped"]["duplicate"] == 1
    assert report["fr"]["kept"] == 1
    assert Path("out/en.txt").read_text() == "The cat sleeps here. The dog isn't here.\n\nThe cat.\n"
    assert outputs("out") == {"en.txt", "fr.txt", "report.json"}
    assert read_json("out/report.json") == report
    assert read_json("out/run.json")["config"]["deduplicate"] == "line"


def test_clean_with_settings_files_and_compression(isoglot, folder: Path):
    arguments = ["--text", "eng=en.txt", "--text", "en=en-fr.txt", "--set", "deduplicate=none", "--compress", "gz"]
    result = isoglot("text", "clean", *arguments, "--out", "out")
    assert result.code == 0
    assert "clean en: " in result.err
    assert "duplicate" in result.out
    assert outputs("out") == {"en.txt.gz", "report.json"}


def test_sentences_and_words(isoglot, folder: Path):
    assert isoglot("text", "sentences", "--text", "en=en.txt", "--out", "s", "-q").code == 0
    assert Path("s/en.txt").read_text().startswith("The  cat sleeps here.\nThe dog isn't here.\n")
    assert isoglot("text", "segment", "--text", "en=s/en.txt", "--text", "fr=fr.txt", "--out", "w", "-q").code == 0
    assert Path("w/en.txt").read_text().startswith("The cat sleeps here .\nThe dog is n't here .\n")
    assert Path("w/fr.txt").read_text() == "Le chat dort ici . Le chien n' est pas là .\n"
    assert outputs("w") == {"en.txt", "fr.txt", "report.json"}


def test_switch(isoglot, folder: Path):
    arguments = ["--text", "en=en.txt", "--text", "fr=fr.txt", "--dictionary", "en-fr=en-fr.txt", "--set", "rate=1.0", "--set", "cap=1"]  # fmt: skip
    result = isoglot("text", "switch", *arguments, "--out", "out", "--json", "-q")
    report = json.loads(result.out)
    assert report["en"]["rate"] == report["fr"]["rate"] == 1.0
    assert Path("out/fr.txt").read_text() == "The cat dort ici. The dog n'est pas là.\n"
    assert outputs("out") == {
        "report.json",
        *(f"{code}{end}" for code in ("en", "fr") for end in (".txt", ".translations.tsv")),
    }
    assert "en-fr.txt" in read_json("out/run.json")["inputs"]
    record = read_provenance("out/fr.txt")
    assert record is not None
    assert record.words("en") == {"cat", "dog", "the"}


@pytest.mark.parametrize(
    ("pair", "languages"),
    [
        ("en-fr", ("en", "fr")),
        ("eng-zh-Hant", ("en", "zh-Hant")),
        ("zh-Hant-en", ("zh-Hant", "en")),
        ("en:en-x-shift", ("en", "en-x-shift")),
        ("en-x-shift:en", ("en-x-shift", "en")),
    ],
)
def test_pairs_of_languages(folder: Path, pair: str, languages: tuple[str, str]):
    assert parse_pairs([f"{pair}=en-fr.txt"]) == {languages: [Path("en-fr.txt")]}


def test_switch_keeps_to_its_seed(isoglot, folder: Path):
    Path("en.txt").write_text("the cat and the dog and the cat\n" * 50)
    texts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        isoglot(
            "text",
            "switch",
            "--text",
            "en=en.txt",
            "--dictionary",
            "en-fr=en-fr.txt",
            "--seed",
            str(seed),
            "--out",
            name,
            "-q",
        )
        texts.append(Path(name, "en.txt").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_overlap(isoglot, folder: Path):
    Path("test.txt").write_text("The cat sleeps here!\nNobody ever wrote this.\n")
    result = isoglot("text", "overlap", "--text", "en=en.txt", "--test", "en=test.txt", "--json", "-q")
    report = json.loads(result.out)["en"]
    assert report["sets"] == {"test.txt": {"sentences": 2, "short": 0, "found": 1}}
    assert (report["inside"], report["whole"]) == (2, 0)
    result = isoglot(
        "text", "overlap", "--text", "en=en.txt", "--test", "en=test.txt", "--remove", "--out", "out", "-q"
    )
    assert Path("out/en.txt").read_text() == "The dog isn't here.\nThe dog isn't here.\n\nThe cat.\n"
    assert "test.txt found" in result.out
    assert outputs("out") == {"en.txt", "report.json"}


def test_realign(isoglot, folder: Path):
    result = isoglot(
        "text", "realign-ner", "--text", "zh=ner.tsv", "--segment", "characters", "--out", "out", "--json", "-q"
    )
    assert json.loads(result.out)["ner.tsv"]["exact"] == 1
    assert Path("out/ner.tsv").read_text() == Path("ner.tsv").read_text()


def test_bad_lines_are_counted(isoglot, folder: Path):
    Path("bad.txt").write_bytes(b"good\n\xff\nfine\n")
    result = isoglot("text", "clean", "--text", "en=bad.txt", "--out", "out")
    assert (result.code, result.out) == (2, "")
    result.failed("input.not-utf8", "bad.txt", line=2)
    assert not Path("out").exists()
    result = isoglot("text", "clean", "--text", "en=bad.txt", "--skip-bad", "3", "--out", "out")
    assert "en: 1 skipped, the first: bad.txt:2: byte ff is not UTF-8" in result.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["clean", "--text", "en.txt", "--out", "out"], ("config.malformed-option", "--text", "'en.txt'", "language=path")),
        (["clean", "--text", "en=en.txt", "--out", "."], ("config.would-overwrite", "en.txt")),
        (["clean", "--text", "en=en.txt", "--out", "out", "--set", "min_script_share=2"], ("config.invalid-value", "min_script_share", "2", "1")),
        (["clean", "--text", "en=en.txt", "--out", "out", "--workers", "0"], ("usage", "'--workers'")),
        (["segment", "--text", "en=en.txt", "--out", "out", "--segment", "jieba"], ("config.other-language", "'jieba'", "zh", "en")),
        (["switch", "--text", "en=en.txt", "--dictionary", "fr=en-fr.txt", "--out", "out"], ("config.malformed-option", "'fr'")),
        (["switch", "--text", "en=en.txt", "--dictionary", "en-fr", "--out", "out"], ("config.malformed-option", "--dictionary", "'en-fr'", "to=path")),
        (["switch", "--text", "en=en.txt", "--dictionary", "en-fr=no.txt", "--out", "out"], ("config.missing-file", "--dictionary", "'en-fr=no.txt'")),
        (["switch", "--text", "en=en.txt", "--dictionary", "de-fr=en-fr.txt", "--out", "out"], ("config.missing-data", "'en'")),
        (["switch", "--text", "en=en.txt", "--dictionary", "en-fr=empty.txt", "--out", "out"], ("input.empty", "empty.txt")),
        (["overlap", "--text", "en=en.txt", "--test", "en=empty.txt"], ("input.empty", "empty.txt")),
        (["overlap", "--text", "en=en.txt", "--test", "en=en.txt", "--remove"], ("config.missing-option", "--remove", "--out")),
        (["overlap", "--text", "en=en.txt", "--test", "fr=fr.txt"], ("config.missing-data", "--test", "fr=…")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(isoglot, folder: Path, arguments: list[str], expected: tuple[str, ...]):
    result = isoglot("text", *arguments)
    assert (result.code, result.out) == (2, "")
    result.failed(*expected)
    assert len(result.err.splitlines()) == 1
    assert not list(Path().glob("out/*.t*"))


def test_ctrl_c_leaves_nothing(folder: Path):
    Path("long.txt").write_text(
        "".join(f"The cat number {number} sleeps here, and nobody knows why.\n" for number in range(400_000))
    )
    command = [*COMMAND, "text", "overlap", "--text", "en=long.txt", "--test", "en=en.txt", "--remove", "--out", "out", "--workers", "2"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        while not list(Path().glob(".out.new/.en.txt*")) and run.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(run.pid, signal.SIGINT)  # to the group, as a terminal does
        _, errors = run.communicate(timeout=30)
    assert run.returncode == 130
    assert errors.splitlines()[-1] == "isoglot: interrupted"
    assert "Traceback" not in errors
    assert not [path for path in Path().iterdir() if "out" in path.name]
