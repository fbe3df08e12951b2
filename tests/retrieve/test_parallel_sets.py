"""Parallel sentences from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.retrieve.parallel_sets import aligned_set
from tests.errors import raises

if TYPE_CHECKING:
    from pathlib import Path


def files(folder: Path, **texts: str) -> dict[str, Path]:
    paths = {code: folder / f"{code}.txt" for code in texts}
    for code, path in paths.items():
        path.write_text(texts[code], encoding="utf-8")
    return paths


def test_the_first_rows_alone(tmp_path: Path):
    paths = files(tmp_path, en="a\nb\nc\n", de="d\ne\nf\n")
    found = aligned_set(paths, limit=2)
    assert found.name == f"{paths['en']}, {paths['de']}"
    assert found.sentences == {"en": ["a", "b"], "de": ["d", "e"]}


def test_rows_that_repeat_a_sentence_are_left_out_and_counted(tmp_path: Path):
    found = aligned_set(files(tmp_path, en="a\nb\na \n\nc\n", de="d\ne\nf\ng\ne\n")).without_repeats()
    assert (found.sentences, found.numbers) == ({"en": ["a", "b"], "de": ["d", "e"]}, [1, 2])
    both = f"{tmp_path}/en.txt, {tmp_path}/de.txt"
    assert found.remarks == [
        f"1 row of {both} left out because a sentence is blank",
        f"2 rows of {both} left out because a sentence repeats one of an earlier row",
    ]


def test_files_that_do_not_go_together_are_refused_wherever_that_shows(tmp_path: Path):
    paths = files(tmp_path, en="a\nb\nc\n", de="d\ne\n")
    with raises("input.line-count", paths["en"], paths["de"], 3, 2):
        aligned_set(paths, limit=1)
