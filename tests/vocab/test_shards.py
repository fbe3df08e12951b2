from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.artifact import write_sealed
from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json
from isoglot.text.formats.dictionary import Entry
from isoglot.text.provenance import Provenance, use_dictionary, write_provenance
from isoglot.vocab import Shards, Vocabulary, build_shards, shard_build, train_vocabulary
from isoglot.vocab.shard_build import held_out_share, split_of, workers_for
from isoglot.vocab.shards import Windows
from tests.errors import raises
from tests.given_words import given_words


@pytest.fixture(scope="module")
def built(trained, texts, tmp_path_factory) -> Shards:
    folder = tmp_path_factory.mktemp("shards")
    return build_shards(texts["en"], trained("joint"), "en", folder, dev_share=0.2, seed=3)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_ids_are_those_of_the_sentences_in_order(built: Shards, trained, lines):
    vocabulary = trained("joint")
    wanted: dict[str, list[list[int]]] = {"train": [], "dev": []}
    documents: dict[str, list[int]] = {"train": [], "dev": []}
    for document in "\n".join(lines["en"]).strip().split("\n\n"):
        sentences = document.split("\n")
        split = split_of(sentences[0], 0.2, 3)
        wanted[split] += [vocabulary.encode(sentence, "en") for sentence in sentences]
        documents[split].append(len(sentences))
    for split in ("train", "dev"):
        assert [ids.tolist() for ids in built.sentences(split)] == wanted[split]
        assert built.document_lengths(split).tolist() == documents[split]
        assert built.index["counts"][split] == {
            "tokens": sum(map(len, wanted[split])),
            "sentences": len(wanted[split]),
            "documents": len(documents[split]),
        }
    assert 0.1 < len(documents["dev"]) / 120 < 0.3
    first = next(built.sentences())
    assert vocabulary.decode(first) in lines["en"]


def test_what_the_index_says(built: Shards, trained, texts):
    from isoglot.core.files import file_hash

    assert (built.language, built.window, built.ids().dtype) == ("en", 256, np.dtype("<u2"))
    assert built.index["vocabulary"] == {"hash": trained("joint").hash, "size": len(trained("joint"))}
    assert built.index["sources"] == [{"file": "en.txt", "sha256": file_hash(texts["en"][0])}]
    assert built.counts().sum() == len(built.ids()) + len(built.ids("dev"))
    built.check_vocabulary(trained("joint"))
    with raises("config.other-vocabulary"):
        built.check_vocabulary(trained("union"))


# --- windows ---


@given(count=st.integers(0, 300), size=st.integers(1, 64))
def test_windows_keep_every_id(count: int, size: int):
    windows = Windows(np.arange(count), size)
    assert len(list(windows)) == len(windows)
    assert np.concatenate([np.zeros(0, int), *windows]).tolist() == list(range(count))
    assert all(len(window) == size for window in list(windows)[:-1])
    assert windows.full.shape == (count // size, size)
    assert windows.full.ravel().tolist() == list(range(count // size * size))


def test_short_and_long_windows_have_the_same_ids(built: Shards):
    streams = [np.concatenate(list(built.windows(size))) for size in (None, 20, 7)]
    assert all(np.array_equal(stream, built.ids()) for stream in streams)
    assert len(built.windows()[0]) == 256
    assert np.array_equal(built.windows(20)[-1], built.ids()[-(len(built.ids()) % 20 or 20) :])
    with pytest.raises(IndexError):
        built.windows()[len(built.windows())]
    with raises("config.invalid-value", 0):
        built.windows(0)


# --- the same bytes ---


def test_two_builds_are_the_same_bytes(built: Shards, trained, texts, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shard_build, "_BLOCK", 500)
    again = build_shards(texts["en"], trained("joint"), "en", tmp_path, dev_share=0.2, seed=3)
    assert contents(again.folder) == contents(built.folder)


@pytest.mark.parametrize("sentences", [1, 7, 100])
def test_fewer_sentences_are_a_prefix(built: Shards, trained, texts, tmp_path: Path, sentences: int):
    some = build_shards(texts["en"], trained("joint"), "en", tmp_path, dev_share=0.2, seed=3, sentences=sentences)
    total = 0
    for split in ("train", "dev"):
        for part in ("ids", "sentences"):
            name = f"{split}.{part}.bin"
            assert (built.folder / name).read_bytes().startswith((some.folder / name).read_bytes())
        total += some.index["counts"][split]["sentences"]
        assert some.document_lengths(split).sum() == some.index["counts"][split]["sentences"]
    assert total == sentences


def test_several_files_are_one_text(built: Shards, trained, lines, tmp_path: Path):
    documents = "\n".join(lines["en"]).strip().split("\n\n")
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("\n\n".join(documents[:50]) + "\n")
    paths[1].write_text("\n\n\n" + "\n\n".join(documents[50:]) + "\n")
    both = build_shards(paths, trained("joint"), "en", tmp_path / "out", dev_share=0.2, seed=3)
    for name in built.index["files"]:
        assert (both.folder / name).read_bytes() == (built.folder / name).read_bytes()


def test_a_text_without_blank_lines_has_documents(trained, lines, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shard_build, "LONGEST_DOCUMENT", 10)
    (tmp_path / "a.txt").write_text("\n".join(line for line in lines["en"] if line))
    shards = build_shards([tmp_path / "a.txt"], trained("joint"), "en", tmp_path / "out", dev_share=0.3)
    assert set(shards.document_lengths()[:-1].tolist()) == {10}
    assert 0 < shards.index["counts"]["dev"]["documents"] < shards.index["counts"]["train"]["documents"]


def test_another_seed_splits_otherwise():
    first = [split_of(str(number), 0.5, seed=0) for number in range(400)]
    second = [split_of(str(number), 0.5, seed=1) for number in range(400)]
    assert 140 < sum(a == b for a, b in zip(first, second, strict=True)) < 260
    larger = [split_of(str(number), 0.6, seed=0) for number in range(400)]
    assert all(b == "dev" for a, b in zip(first, larger, strict=True) if a == "dev")


# --- crashes ---

CRASH = """
import os, signal, sys
from isoglot.vocab import Vocabulary, build_shards, shard_build
text, vocabulary, out, moment = sys.argv[1:]
shard_build._BLOCK = shard_build._CHECKPOINT = 2000
calls = 0
def die_at(function):
    def call(*given, **options):
        global calls
        calls += 1
        if calls == int(moment):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **options)
    return call
shard_build.os.fsync = die_at(os.fsync)
shard_build.write_sealed = die_at(shard_build.write_sealed)
shard_build.write_index = die_at(shard_build.write_index)
build_shards([text], Vocabulary.load(vocabulary), "en", out, dev_share=0.2, seed=3)
"""


@pytest.mark.parametrize("moment", [1, 4, 10, 25, 60])
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    built: Shards, trained, texts, tmp_path: Path, moment: int, monkeypatch
):
    trained("joint").save(tmp_path / "v")
    out = tmp_path / "out"
    command = [sys.executable, "-c", CRASH, texts["en"][0], tmp_path / "v", out, str(moment)]
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert not (out / "index.json").exists()
    before = 0
    if moment > 1:
        with raises("storage.unfinished", out):
            Shards.open(out)
        before = read_json(out / "building.json")["state"]["done"]
        assert (before > 0) == (moment > 20)
        with (out / "train.ids.bin").open("ab") as file:
            file.write(b"half a block")  # what a crash may leave behind the journal's back
    done: list[int] = []
    append = shard_build._Writer.append

    def counted(writer, block, *rest):
        done.append(len(block))
        append(writer, block, *rest)

    monkeypatch.setattr(shard_build._Writer, "append", counted)
    finished = build_shards(texts["en"], trained("joint"), "en", out, dev_share=0.2, seed=3)
    assert contents(finished.folder) == contents(built.folder)
    assert sum(done) == sum(counts["sentences"] for counts in finished.index["counts"].values()) - before


@pytest.mark.parametrize("lost", ["emptied", "removed"])
def test_a_build_that_has_lost_what_it_wrote_does_not_go_on(trained, texts, tmp_path: Path, lost: str, monkeypatch):
    monkeypatch.setattr(shard_build, "_finish", None)
    with pytest.raises(TypeError):
        build_shards(texts["en"], trained("joint"), "en", tmp_path)
    monkeypatch.undo()
    ids = tmp_path / "train.ids.bin"
    size = ids.stat().st_size
    ids.unlink()
    if lost == "emptied":
        ids.touch()
    with raises("corrupt-file.size", ids, f"{size:,}", 0):
        build_shards(texts["en"], trained("joint"), "en", tmp_path)
    build_shards(texts["en"], trained("joint"), "en", tmp_path, resume=False)
    assert ids.stat().st_size == size


def test_a_finished_build_is_not_done_again(built: Shards, trained, texts, monkeypatch):
    monkeypatch.setattr(shard_build._Writer, "append", None)
    again = build_shards(texts["en"], trained("joint"), "en", built.folder, dev_share=0.2, seed=3)
    assert again.index == built.index


def test_shards_of_something_else_are_not_written_over(trained, texts, tmp_path: Path):
    build_shards(texts["en"], trained("joint"), "en", tmp_path)
    with raises("config.other-settings", tmp_path, 256, 20):
        build_shards(texts["en"], trained("joint"), "en", tmp_path, window=20)
    assert Shards.open(tmp_path).window == 256
    assert build_shards(texts["en"], trained("joint"), "en", tmp_path, window=20, resume=False).window == 20


# --- what is wrong is said ---


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-2]), "corrupt-file.size"),
        (lambda path: path.unlink(), "corrupt-file.size"),
        (lambda path: path.write_bytes(b"\xff" + path.read_bytes()[1:]), "corrupt-file.hash"),
    ],
)
@pytest.mark.parametrize("name", ["train.ids.bin", "dev.sentences.bin", "train.documents.bin"])
def test_a_damaged_file_is_refused(trained, texts, tmp_path: Path, name: str, damage, code: str):
    build_shards(texts["en"], trained("joint"), "en", tmp_path, dev_share=0.2)
    size = (tmp_path / name).stat().st_size
    damage(tmp_path / name)
    with raises(code, f"{size:,}", file=tmp_path / name):
        Shards.open(tmp_path)


def test_no_shards_and_no_text(trained, tmp_path: Path):
    with raises("storage.not-found", tmp_path):
        Shards.open(tmp_path)
    (tmp_path / "a.txt").write_text("\n \n")
    with raises("input.empty", tmp_path):
        build_shards([tmp_path / "a.txt"], trained("joint"), "en", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
    (tmp_path / "index.json").write_text("{}")
    with raises("input.unknown-format"):
        Shards.open(tmp_path)


def test_an_index_with_something_missing_is_refused(trained, texts, tmp_path: Path, each_damage):
    shards = build_shards(texts["en"], trained("joint"), "en", tmp_path, dev_share=0.2)
    for _ in each_damage(tmp_path / "index.json"):
        with suppress(IsoglotError):
            Shards.open(tmp_path).counts()
    write_sealed(tmp_path / "index.json", shards.index | {"files": {}})
    with raises("corrupt-file", tmp_path, "'files.train.ids.bin'"):
        Shards.open(tmp_path)


def test_a_journal_with_something_missing_is_refused(trained, texts, tmp_path: Path, each_damage):
    shards = build_shards(texts["en"], trained("joint"), "en", tmp_path / "whole")
    state = {"done": 0, "tokens": 0, "sizes": dict.fromkeys(shards.index["files"], 0), "open_document": {}}
    state["open_document"] = {"train": 0, "dev": 0}
    recipe = {key: value for key, value in shards.index.items() if key not in ("kind", "counts", "files")}
    journal = tmp_path / "out" / "building.json"
    journal.parent.mkdir()
    write_sealed(journal, {"recipe": recipe, "state": state})
    for _ in each_damage(journal):
        with pytest.raises(IsoglotError):
            build_shards(texts["en"], trained("joint"), "en", tmp_path / "out")
    assert build_shards(texts["en"], trained("joint"), "en", tmp_path / "out").index == shards.index
    write_sealed(journal, {})
    (tmp_path / "out" / "index.json").unlink()
    with raises("corrupt-file", "building.json", "'recipe'"):
        build_shards(texts["en"], trained("joint"), "en", tmp_path / "out")


def test_the_line_that_is_no_text_is_named(trained, tmp_path: Path):
    (tmp_path / "a.txt").write_text("a b\n" + "日" * 1_000_001 + "\n")
    with raises("input.line-length", "a.txt", "1,000,001", line=2):
        build_shards([tmp_path / "a.txt"], trained("joint"), "en", tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"window": 0}, ("config.invalid-value", "0")),
        ({"sentences": 0}, ("config.invalid-value", "0")),
        ({"dev_share": 1.0}, ("config.invalid-value", "1.0")),
    ],
)
def test_options_out_of_range(trained, texts, tmp_path: Path, options, expected: tuple[str, ...]):
    with raises(*expected):
        build_shards(texts["en"], trained("joint"), "en", tmp_path, **options)


def test_dictionaries_of_vocabulary_and_text_are_passed_on(trained, texts, tmp_path: Path):
    text = tmp_path / "en.txt"
    text.write_bytes(texts["en"][0].read_bytes())
    (tmp_path / "d.txt").write_text("cat chat\n")
    (used_here,) = use_dictionary("en", "fr", tmp_path / "d.txt", [Entry("cat", "chat")])
    write_provenance(text, Provenance(dictionaries=(used_here,)))
    base = trained("joint")
    about = {**base.about, "provenance": given_words(["Kuh"], source="de").facts()}
    shaped = Vocabulary(mode="joint", languages=base.languages, views=base._views, about=about)
    shards = build_shards([text], shaped, "en", tmp_path / "out")
    assert [(used.source, used.file) for used in shards.provenance.dictionaries] == [
        ("de", "given.txt"),
        ("en", "d.txt"),
    ]
    assert shards.provenance.words("fr") == {"chat"}
    trained_on = train_vocabulary({"en": [text]}, mode="joint", size=600)
    assert trained_on.provenance.words("en") == {"cat"}


def test_processes_give_the_same_bytes(built: Shards, trained, texts, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shard_build, "_BLOCK", 2000)
    again = build_shards(texts["en"], trained("joint"), "en", tmp_path / "s", dev_share=0.2, seed=3, workers=2)
    assert contents(again.folder) == contents(built.folder)
    (tmp_path / "a.txt").write_text("a b\n" * 3000 + "日" * 1_000_001 + "\n")
    with raises("input.line-length", "a.txt", "1,000,001", line=3001):
        build_shards([tmp_path / "a.txt"], trained("joint"), "en", tmp_path / "out", workers=2)


def test_only_a_large_text_is_worth_processes(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    (tmp_path / "a.txt").write_bytes(b"a " * 100)
    assert workers_for([tmp_path / "a.txt"]) == 1
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(60_000_000)
    assert workers_for([tmp_path / "a.txt"]) == 4


def test_some_documents_are_held_out_whatever_the_text(lines, tmp_path: Path, trained):
    path = tmp_path / "en.txt"
    path.write_text(
        "\n\n".join("\n".join(lines["en"][start : start + 5]) for start in range(0, 200, 5)), encoding="utf-8"
    )
    share = held_out_share([path], seed=3)
    shards = build_shards([path], trained("joint"), "en", tmp_path / "shards", dev_share=share, seed=3)
    counts = {split: shards.index["counts"][split]["sentences"] for split in ("train", "dev")}
    assert counts["dev"] >= 20
    assert counts["dev"] <= counts["train"]
    path.write_text("\n".join(line for line in lines["en"][:200] if line), encoding="utf-8")
    with raises("input.too-few", "documents", file=path):
        held_out_share([path])
