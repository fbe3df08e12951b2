from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.parallel import GoldLinks, Links, read_gold, read_pharaoh, write_pharaoh
from tests.errors import raises

positions = st.integers(0, 10**9 - 1)


@given(st.lists(st.lists(st.tuples(positions, positions))))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, alignments: list[Links]):
    path = tmp_path_factory.getbasetemp() / "a.pharaoh"
    assert write_pharaoh(path, iter(alignments)) == len(alignments)
    assert list(read_pharaoh(path)) == alignments


def test_layout(tmp_path: Path):
    write_pharaoh(tmp_path / "a", [[(0, 0), (1, 2)], [], {(3, 4)}])
    assert (tmp_path / "a").read_text() == "0-0 1-2\n\n3-4\n"


@pytest.mark.parametrize("word", ["0", "0-", "-1-2", "0-1-2", "a-b", "0p1", "٣-٣", "0–1", "1" * 5000 + "-1"])
def test_malformed(tmp_path: Path, word: str):
    (tmp_path / "a").write_text(f"0-0\n1-1 {word}\n")
    with raises("input.malformed-line"):
        list(read_pharaoh(tmp_path / "a"))


def test_possible_links_are_for_gold(tmp_path: Path):
    (tmp_path / "a").write_text("0-0 1?2 3-1\n\n4?4\n")
    assert list(read_gold(tmp_path / "a")) == [GoldLinks([(0, 0), (3, 1)], [(1, 2)]), ([], []), ([], [(4, 4)])]
    with raises("input.malformed-line", "'1?2'"):
        list(read_pharaoh(tmp_path / "a"))


def test_refused(tmp_path: Path):
    with raises("input.not-writable", 1, "(0, -1)"):
        write_pharaoh(tmp_path / "a", [[(0, -1)]])
    assert not list(tmp_path.iterdir())
