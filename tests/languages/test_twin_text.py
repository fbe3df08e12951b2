"""Twins of files."""

from __future__ import annotations

from pathlib import Path

from isoglot.languages.twins import twin_files, unshift
from isoglot.text.formats.lines import Skip
from isoglot.text.formats.parallel import read_pharaoh
from tests.errors import raises

TEXT = "The cat sees a dog.\nIt sleeps.\n\nA dog!\n"


def test_the_twin_has_the_texts_lines_and_documents(tmp_path: Path):
    (tmp_path / "en.txt").write_text(TEXT)
    target, links = tmp_path / "twin.txt", tmp_path / "twin.align"
    report = twin_files([tmp_path / "en.txt"], target, "en", "shift", alignment=links)
    lines = target.read_text().split("\n")
    assert [" ".join(unshift(word) for word in line.split(" ") if word) for line in lines] == [
        "The cat sees a dog .",
        "It sleeps .",
        "",
        "A dog !",
        "",
    ]
    assert list(read_pharaoh(links)) == [[(i, i) for i in range(size)] for size in (6, 3, 3)]
    assert (report.written, report.words, report.documents) == (3, 12, 2)


def test_another_order_keeps_the_words(tmp_path: Path):
    (tmp_path / "en.txt").write_text(TEXT)
    twin_files([tmp_path / "en.txt"], tmp_path / "twin.txt", "en", "order", alignment=tmp_path / "links")
    assert (tmp_path / "twin.txt").read_text() == "dog a sees cat The .\nsleeps It .\n\ndog A !\n"
    assert next(read_pharaoh(tmp_path / "links"))[0] == (0, 4)


def test_frequency_reads_the_text_twice_and_skips_as_often(tmp_path: Path):
    (tmp_path / "en.txt").write_bytes(b"a b\n\xff\nb b\n")
    skip = Skip(1)
    report = twin_files([tmp_path / "en.txt"], tmp_path / "twin.txt", "en", "frequency", skip=skip)
    assert set((tmp_path / "twin.txt").read_text().split()) <= {"a", "b"}
    assert report.skipped == 1
    with raises("input.not-utf8", "en.txt", line=2):
        twin_files([tmp_path / "en.txt"], tmp_path / "other.txt", "en", "frequency")
    assert not (tmp_path / "other.txt").exists()


def test_an_order_that_needs_trees(tmp_path: Path):
    (tmp_path / "en.txt").write_text(TEXT)
    with raises("config.not-supported"):
        twin_files([tmp_path / "en.txt"], tmp_path / "twin.txt", "en", "order", order="verb-last")
    assert not (tmp_path / "twin.txt").exists()
