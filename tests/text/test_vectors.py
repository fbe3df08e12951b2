"""Word vectors as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isoglot.text.formats.word_vectors import read_vectors, write_vectors
from tests.errors import raises

words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6)
numbers = st.floats(-1024, 1024, width=32)


@given(data=st.data(), names=st.lists(words, min_size=1, max_size=6, unique=True), width=st.integers(2, 5))
def test_round_trip_to_the_bit(tmp_path_factory: pytest.TempPathFactory, data, names: list[str], width: int):
    matrix_ND = data.draw(arrays(np.float32, (len(names), width), elements=numbers))
    path = tmp_path_factory.getbasetemp() / "a.vec"
    assert write_vectors(path, names, matrix_ND) == len(names)
    read = read_vectors(path)
    assert read.words == names
    np.testing.assert_array_equal(read.matrix_ND, matrix_ND)
    assert read.matrix_ND.dtype == np.float32


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_with_and_without_a_header_limits_blanks_and_doubles(tmp_path: Path, header: str):
    path = tmp_path / "a.vec"
    path.write_text(f"{header}a 1 2 \nnew york 3 4\na 5 6\nb 7e0 -8\n")
    read = read_vectors(path)
    assert read.words == ["a", "new york", "b"]
    np.testing.assert_array_equal(read.matrix_ND, [[1, 2], [3, 4], [7, -8]])
    assert read_vectors(path, limit=2).words == ["a", "new york"]
    assert len(read) == 3


def test_an_empty_file(tmp_path: Path):
    (tmp_path / "a.vec").write_text("")
    assert len(read_vectors(tmp_path / "a.vec")) == 0


@pytest.mark.parametrize("line", ["b 1", "b 1 x", "b 1 nan", "b 1 inf", "b 1 1e39", "b", "", "1 2"])
def test_malformed(tmp_path: Path, line: str):
    path = tmp_path / "a.vec"
    path.write_text(f"a 1 2\n{line}\n")
    with raises("input.malformed-line", "a.vec", line=2):
        read_vectors(path)


def test_refused_when_writing(tmp_path: Path):
    for names, matrix in ((["a"], np.zeros((2, 2))), (["a b"], np.zeros((1, 2))), (["a"], np.full((1, 2), np.nan))):
        with raises("input.not-writable"):
            write_vectors(tmp_path / "a.vec", names, matrix)
    assert list(tmp_path.iterdir()) == []
