"""A table is no file of sentences: no label becomes text."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.languages.twins import twin_files
from isoglot.represent.sentences import read_sentences
from isoglot.retrieve.parallel_sets import aligned_set
from isoglot.text.cleaning.clean import CleanConfig, clean_files
from isoglot.text.cleaning.segmentation import LineSegmenter
from isoglot.text.cleaning.sentence_splitter import LineSplitter
from isoglot.text.code_switching import Switcher, switch_files
from isoglot.text.formats.dictionary import Entry
from isoglot.text.formats.lines import Skip
from isoglot.text.formats.parallel import read_aligned
from isoglot.text.formats.plain import first_sentences, read_sentence_lines
from isoglot.text.stream import read_stream, rewrite
from isoglot.vocab import build_shards, train_vocabulary
from tests.errors import raises

ROW = "It rains.\tThe sun shines.\tcontradiction\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "test-en.tsv"
    path.write_text(ROW * 3, encoding="utf-8")
    return path


def test_an_inference_table_is_refused_wherever_sentences_are_read(table: Path, tmp_path: Path):
    other = tmp_path / "de.txt"
    other.write_text("Es regnet.\n" * 3, encoding="utf-8")
    readers = (
        lambda: list(read_sentence_lines(table)),
        lambda: list(read_sentences(table, "text")),
        lambda: list(read_aligned({"en": table, "de": other})),
        lambda: aligned_set({"de": other, "en": table}),
        lambda: train_vocabulary({"en": [table]}, mode="joint", size=300),
        lambda: build_shards(
            [table], train_vocabulary({"de": [other]}, mode="joint", size=300, coverage=1.0), "de", tmp_path / "shards"
        ),
    )
    streams = (
        lambda: list(read_stream([table])),
        lambda: clean_files([table], tmp_path / "out.txt", "en", CleanConfig()),
        lambda: rewrite([table], tmp_path / "out.txt", LineSplitter("en")),
        lambda: rewrite([table], tmp_path / "out.txt", LineSegmenter("en")),
        lambda: switch_files([table], tmp_path / "out.txt", "en", Switcher({("en", "de"): [Entry("sun", "Sonne")]})),
        lambda: twin_files([table], tmp_path / "out.txt", "en", "shift"),
        lambda: first_sentences({"en": [other, table]}, 100),
    )
    for read in (*readers, *streams):
        with raises("input.malformed-line", "test-en.tsv", "'contradiction'", line=1):
            read()
    assert not (tmp_path / "out.txt").exists()


def test_rows_of_a_table_are_skipped_where_malformed_lines_may_be(table: Path):
    with table.open("a", encoding="utf-8") as file:
        file.write("It rains.\n")
    skip = Skip(3)
    assert list(read_stream([table], skip=skip)) == ["It rains.", ""]
    assert skip.count == 3


def test_any_other_tab_is_refused_in_sentences_and_left_in_running_text(tmp_path: Path):
    path = tmp_path / "en.txt"
    path.write_text("One.\nTwo\tthree.\n", encoding="utf-8")
    with raises("input.malformed-line", "en.txt", "'Two\\tthree.'", line=2):
        list(read_sentences(path, "text"))
    with raises("input.malformed-line", "en.txt", "'Two\\tthree.'", line=2):
        first_sentences({"en": [path]}, 100)
    assert list(read_stream([path])) == ["One.", "Two\tthree.", ""]
    assert len(train_vocabulary({"en": [path]}, mode="joint", size=290, coverage=1.0))
