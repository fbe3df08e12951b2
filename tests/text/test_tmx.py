"""Translation memories."""

from __future__ import annotations

from pathlib import Path
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import StorageError
from isoglot.text.formats.tmx import read_tmx, write_tmx
from tests.errors import raises

sentences = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=20).map(
    lambda text: " ".join(text.split())
)


@given(rows=st.lists(st.fixed_dictionaries({"en": sentences, "de": sentences}), max_size=5))
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_round_trip_and_an_independent_parser(tmp_path_factory: pytest.TempPathFactory, suffix: str, rows):
    path = tmp_path_factory.getbasetemp() / f"a.tmx{suffix}"
    assert write_tmx(path, ["en", "de"], rows) == len(rows)
    assert list(read_tmx(path)) == rows
    if not suffix:
        parsed = minidom.parse(str(path))  # noqa: S318
        assert len(parsed.getElementsByTagName("tu")) == len(rows)


def test_markup_languages_and_encodings(tmp_path: Path):
    text = (
        '<?xml version="1.0" encoding="{}"?>\n<tmx version="1.1"><header/><body><tu>\n'
        '<tuv lang="EN-US"><seg>A <bpt i="1">b</bpt>old\n  word é</seg></tuv><tuv xml:lang="deu"><seg>x</seg></tuv>'
        "</tu></body></tmx>"
    )
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        (tmp_path / encoding).write_bytes(text.format(encoding).encode(encoding))
        assert list(read_tmx(tmp_path / encoding)) == [{"en-US": "A bold word é", "de": "x"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<tmx>\n<body>\n<tu>\n", ("input.malformed-xml", "a.tmx:4", "1")),
        ("<tmx>\n</body>", ("input.malformed-xml", "a.tmx:2", "3")),
        ("", ("input.malformed-xml", "a.tmx:1", "1")),
        ("<tmx>\n<tu>\n</tu></tmx>", ("input.empty", "a.tmx:3")),
        ('<tmx>\n<tu><tuv xml:lang="qq"><seg>a</seg></tuv></tu></tmx>', ("input.malformed-xml", "a.tmx:2", "'qq'")),
        ("<tmx><tu><tuv><seg>a</seg></tuv></tu></tmx>", ("input.malformed-xml", "''")),
        ('<?xml version="1.0" encoding="klingon"?><tmx/>', ("input.malformed-xml",)),
    ],
)
def test_malformed(tmp_path: Path, text: str, expected: tuple[str, ...]):
    (tmp_path / "a.tmx").write_text(text)
    with raises(*expected):
        list(read_tmx(tmp_path / "a.tmx"))


def test_refused_when_writing(tmp_path: Path):
    with raises("input.not-writable", 1, "'de'"):
        write_tmx(tmp_path / "a", ["en", "de"], [{"en": "a"}])
    with raises("input.not-writable", "'a\\x01'"):
        write_tmx(tmp_path / "a", ["en"], [{"en": "a\x01"}])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError):
        list(read_tmx(tmp_path / "nowhere.tmx"))
