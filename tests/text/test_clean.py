from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.config import build_config
from isoglot.text.cleaning.clean import ChunkCleaner, CleanConfig, clean_files, clean_line
from isoglot.text.formats.lines import Skip
from tests.errors import raises

odd = st.sampled_from(
    list("\x00\x07\t\x1c\x7f\x85\xa0\xad\u200b\u200c\u200d\u200e\u2028\u3000\ufeff\uffff\ue000ﬁ½№ｅé\u0301¨，？… ")
)
lines = st.text(odd | st.characters(exclude_categories=["Cs"]), max_size=30)


@given(lines)
def test_clean_means_clean(line: str):
    cleaned = clean_line(line)
    assert unicodedata.is_normalized("NFKC", cleaned)
    assert cleaned == " ".join(cleaned.split())
    assert not any(unicodedata.category(sign) == "Cc" for sign in cleaned)
    assert clean_line(cleaned) == cleaned


@given(st.text(st.characters(categories=["Co"])))
def test_private_scripts_survive(line: str):
    assert clean_line(line) == line


@given(st.text(st.sampled_from("aé\u0301，？！（）：；％～／ｅ½ ")))
def test_the_short_cut_for_chinese_is_nfkc(line: str):
    assert clean_line(line) == " ".join(unicodedata.normalize("NFKC", line).split())


@pytest.mark.parametrize(
    ("line", "cleaned"),
    [
        ("  a \t b ", "a b"),
        ("co\u00adop", "coop"),
        ("e\u200b\u0301", "é"),  # what stood apart composes
        ("می\u200cخواهم", "می\u200cخواهم"),  # a joiner spells Persian
        ("ＡＢＣ，１２３", "ABC,123"),
        ("a\u2028b", "a b"),
        ("\ufeffa", "a"),
    ],
)
def test_textbook_cases(line: str, cleaned: str):
    assert clean_line(line) == cleaned


def write(path: Path, *documents: list[str]) -> Path:
    path.write_text("\n\n".join("\n".join(document) for document in documents) + "\n", encoding="utf-8")
    return path


def test_every_line_is_accounted_for(tmp_path: Path):
    source = write(
        tmp_path / "a.txt",
        ["Hello  world", "Hello world", "Привет, мир", "\u200b"],
        ["ok", "far too long for us, we think", "Hello\u00a0world"],
        ["Привет"],
    )
    config = CleanConfig(min_characters=3, max_characters=20)
    report = clean_files([source], tmp_path / "b.txt", "en", config).facts()
    assert (tmp_path / "b.txt").read_text() == "Hello world\n"
    assert report["dropped"] == {"empty": 1, "short": 1, "long": 1, "script": 2, "duplicate": 2}
    assert report["lines"] == 8 == report["kept"] + sum(report["dropped"].values())
    assert (report["documents"], report["documents_kept"]) == (3, 1)
    assert report["characters_kept"] == len("Hello world")


def test_documents_seen_before(tmp_path: Path):
    source = write(tmp_path / "a.txt", ["one", "two"], ["one", "three"], ["one ", " two"])
    report = clean_files([source, source], tmp_path / "b.txt", "en", CleanConfig(deduplicate="document"))
    assert (tmp_path / "b.txt").read_text() == "one\ntwo\n\none\nthree\n"
    assert (report.documents, report.documents_kept, report.duplicate_documents) == (6, 2, 4)
    assert report.dropped["duplicate"] == 8
    clean_files([source], tmp_path / "c.txt", "en", CleanConfig(deduplicate="none"))
    assert (tmp_path / "c.txt").read_text() == "one\ntwo\n\none\nthree\n\none\ntwo\n"


@given(st.lists(lines.filter(lambda line: not line.isspace()), max_size=8), st.integers(1, 3))
def test_chunks_do_not_matter(texts: list[str], size: int):
    clean = ChunkCleaner("en", CleanConfig())
    whole = clean(texts)
    parts = [clean(texts[start : start + size]) for start in range(0, len(texts), size)]
    assert whole.lines == [line for part in parts for line in part.lines]
    assert whole.fates == b"".join(part.fates for part in parts)


def test_two_processes_write_the_same_bytes(tmp_path: Path):
    source = write(
        tmp_path / "a.txt", *([f"line {number % 700}  of {document}" for number in range(900)] for document in range(9))
    )
    one = clean_files([source], tmp_path / "1.txt", "en", CleanConfig())
    two = clean_files([source], tmp_path / "2.txt", "en", CleanConfig(), workers=2)
    assert (tmp_path / "1.txt").read_bytes() == (tmp_path / "2.txt").read_bytes()
    assert one == two
    assert one.kept == 700 * 9


def test_bad_lines(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"good\n\xff\nfine\n")
    with raises("input.not-utf8", "a.txt", "ff", line=2):
        clean_files([tmp_path / "a.txt"], tmp_path / "b.txt", "en", CleanConfig())
    assert not (tmp_path / "b.txt").exists()
    skip = Skip(1)
    report = clean_files([tmp_path / "a.txt"], tmp_path / "b.txt", "en", CleanConfig(), skip=skip)
    assert (report.kept, report.skipped) == (2, 1)


def test_limits_that_contradict():
    with raises("config.invalid-value"):
        build_config(CleanConfig, settings=["min_characters=5", "max_characters=4"])
    assert build_config(CleanConfig, settings=["min_characters=5", "max_characters=5"]).max_characters == 5
