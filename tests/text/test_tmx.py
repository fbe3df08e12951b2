"""Translation memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import StorageError
from isoglot.text.cleaning.overlap import held_out_sentences
from isoglot.text.formats.lines import Skip, line_writer
from isoglot.text.formats.parallel import read_parallel, read_tmx
from tests.errors import raises

sentences = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=20).map(
    lambda text: " ".join(text.split())
)


def write_memory(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    with line_writer(path) as writer:
        writer.write('<?xml version="1.0" encoding="UTF-8"?><tmx version="1.4"><header srclang="en"/><body>')
        for row in rows:
            sides = (f'<tuv xml:lang="{code}"><seg>{escape(row[code])}</seg></tuv>' for code in row)
            writer.write(f"<tu>{''.join(sides)}</tu>")
        writer.write("</body></tmx>")


@given(rows=st.lists(st.fixed_dictionaries({"en": sentences, "de": sentences}), max_size=5))
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_memory_is_read_as_parallel_text(tmp_path_factory: pytest.TempPathFactory, suffix: str, rows):
    path = tmp_path_factory.getbasetemp() / f"a.tmx{suffix}"
    write_memory(path, rows)
    assert list(read_tmx(path)) == rows == list(read_parallel(path))
    assert list(held_out_sentences(path, "de")) == [row["de"] for row in rows if row["de"]]


def test_every_unit_has_the_languages_of_the_first(tmp_path: Path):
    path = tmp_path / "a.tmx"
    write_memory(path, [{"en": "a", "de": "b"}, {"fr": "c", "de": "d", "en": "e"}, {"en": "f"}])
    with raises("input.malformed-xml", "de", file=path, line=4):
        list(read_tmx(path))
    skip = Skip(1)
    assert list(read_parallel(path, skip=skip)) == [{"en": "a", "de": "b"}, {"en": "e", "de": "d"}]
    assert skip.count == 1


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
    ("text", "line", "value"),
    [
        ("<tmx>\n<body>\n<tu>\n", 4, ""),
        ("<tmx>\n</body>", 2, ""),
        ("", 1, ""),
        ("<tmx>\n<tu>\n</tu></tmx>", 3, ""),
        ('<tmx>\n<tu><tuv xml:lang="qq"><seg>a</seg></tuv></tu></tmx>', 2, "'qq'"),
        ("<tmx><tu><tuv><seg>a</seg></tuv></tu></tmx>", 1, "''"),
        ('<?xml version="1.0" encoding="klingon"?><tmx/>', 1, ""),
    ],
)
def test_malformed(tmp_path: Path, text: str, line: int, value: str):
    path = tmp_path / "a.tmx"
    path.write_text(text)
    with raises("input.malformed-xml", value, file=path, line=line):
        list(read_tmx(path))


def test_a_missing_file(tmp_path: Path):
    with pytest.raises(StorageError):
        list(read_tmx(tmp_path / "nowhere.tmx"))
