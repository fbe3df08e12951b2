"""``run.json`` names every file that a verb read: what was opened, against what was recorded."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from isoglot.core.files import file_hash, read_json
from isoglot.model import Encoder, encoder_config, save_encoder
from isoglot.vocab import train_vocabulary

EN = [
    f"The {size} {animal} sees a dog ."
    for size in ("small", "large", "old")
    for animal in ("cat", "cow", "goat", "hen")
]
FR = [
    f"Le {animal} {size} voit un chien ."
    for size in ("petit", "grand", "vieux")
    for animal in ("chat", "boeuf", "bouc", "coq")
]

OPENED: list[str] = []
WATCHING: list[bool] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Python tells an audit hook of everything that it opens; what Rust opens, as safetensors, it is not told of."""
    if event == "open" and WATCHING and isinstance(arguments[0], (str, bytes, os.PathLike)):
        mode, flags = arguments[1:3]
        if not flags & (os.O_WRONLY | os.O_RDWR) if mode is None else "r" in mode and "+" not in mode:
            OPENED.append(os.path.realpath(os.fsdecode(arguments[0])))


@pytest.fixture
def opened():
    """The files that are opened while a test runs; a hook cannot be taken away, only told to be still."""
    if not OPENED:
        sys.addaudithook(_watch)
    OPENED[:] = [""]
    WATCHING.append(True)
    yield OPENED
    WATCHING.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of two languages, with text in every form that verbs take."""
    folder: Path = tmp_path_factory.mktemp("inputs")
    texts = {"en": folder / "a.txt", "fr": folder / "b.txt"}
    for path, lines in zip(texts.values(), (EN, FR), strict=True):
        path.write_text("\n".join(lines) + "\n")
    vocabulary = train_vocabulary({code: [path] for code, path in texts.items()}, mode="joint", size=400, coverage=1.0)
    config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), folder / "model")
    rows = ["en\tfr", *("\t".join(pair) for pair in zip(EN, FR, strict=True))]
    (folder / "table.tsv").write_text("\n".join(rows) + "\n")
    (folder / "dictionary.txt").write_text(
        "cat chat\ncow boeuf\ngoat bouc\nhen coq\ndog chien\nsmall petit\nold vieux\n"
    )
    (folder / "tatoeba").mkdir()
    (folder / "tatoeba" / "tatoeba.fra-eng.eng").write_text("\n".join(EN) + "\n")
    (folder / "tatoeba" / "tatoeba.fra-eng.fra").write_text("\n".join(FR) + "\n")
    (folder / "figure7.toml").write_text(
        'sentences = 12\n[[columns]]\nlanguages = ["en", "fr"]\nbilingual = "model"\nrandom = "none"\n'
        'files = { en = "a.txt", fr = "b.txt" }\n'
    )
    return folder


PAIR = ("--parallel", "en=a.txt", "--parallel", "fr=b.txt")
DICTIONARY = ("--dictionary", "en-fr=dictionary.txt")
TEXT = ("--text", "en=a.txt", "--text", "fr=b.txt")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("diagnose", "model", *PAIR, "--set", "resamples=10", "--set", "draws=20"), {"a.txt", "b.txt"}),
        (
            ("diagnose", "model", "--parallel", "tatoeba", "--langs", "fr", "--set", "resamples=10"),
            {"tatoeba/tatoeba.fra-eng.eng"},
        ),
        (
            ("retrieve", "sentences", "model", "--parallel", "tatoeba", "--langs", "fr"),
            {"tatoeba/tatoeba.fra-eng.fra"},
        ),
        (("retrieve", "sentences", "model", "--parallel", "table.tsv"), {"table.tsv"}),
        (("retrieve", "words", "model", *DICTIONARY, *TEXT), {"dictionary.txt", "b.txt"}),
        (("compare", "model", *PAIR), {"a.txt", "b.txt"}),
        (("compare", "grid", "figure7.toml"), {"figure7.toml", "a.txt", "b.txt"}),
        (("align", "sentences", "model", *PAIR), {"a.txt", "b.txt"}),
        (("steer", "fit", "model", *TEXT), {"a.txt", "b.txt"}),
    ],
    ids=lambda each: " ".join(each[:4]) if isinstance(each, tuple) else "",
)
def test_every_file_that_was_opened_is_recorded(
    isoglot, opened, folder: Path, tmp_path: Path, monkeypatch, words: tuple[str, ...], named: set[str]
):
    monkeypatch.chdir(folder)
    out = tmp_path / "out"
    result = isoglot(*words, "--device", "cpu", "--out", str(out), "--quiet")
    assert (result.code, result.err) == (0, "")
    ours = {path for path in opened if Path(path).is_file() and Path(path).is_relative_to(folder.resolve())}
    inputs = read_json(out / "run.json")["inputs"]
    recorded = {str((folder / path).resolve()) for path in inputs}
    assert ours - recorded == set()
    assert {str((folder / name).resolve()) for name in named} <= recorded
    if "model" in words:
        assert str(folder.resolve() / "model" / "encoder.json") in recorded
        assert any(path.endswith(".safetensors") for path in recorded)
    for path, facts in inputs.items():
        assert facts["sha256"] == file_hash(folder / path)


def test_nothing_of_an_earlier_command_is_recorded(isoglot, folder: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(folder)
    isoglot("text", "clean", "--text", "en=b.txt", "--out", str(tmp_path / "clean"), "--quiet")
    isoglot("steer", "fit", "model", "--text", "en=a.txt", "--out", str(tmp_path / "out"), "--device", "cpu", "--quiet")
    assert "b.txt" not in read_json(tmp_path / "out" / "run.json")["inputs"]
