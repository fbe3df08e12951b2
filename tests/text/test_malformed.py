"""Whatever is in a file, a reader gives records or one InputError that names file and line; never anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
from isoglot.text.formats.conll import read_conllu, read_tagged
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.nli import read_inference
from isoglot.text.formats.parallel import read_aligned, read_gold, read_parallel, read_pharaoh
from isoglot.text.formats.plain import read_documents
from tests.errors import raises

Reader = Callable[[Path], Iterator[Any]]

READERS: dict[str, Reader] = {
    "lines": read_lines,
    "plain": read_documents,
    "parallel": read_parallel,
    "parallel without header": lambda path: read_parallel(path, languages=["en", "fr"]),
    "aligned": lambda path: read_aligned({"en": path, "fr": path}),
    "pharaoh": read_pharaoh,
    "gold": read_gold,
    "dictionary": read_dictionary,
    "conllu": read_conllu,
    "columns": read_tagged,
    "columns with prefix": lambda path: read_tagged(path, prefix="en"),
    "inference": read_inference,
}

# Pieces of every format, so that files get past their first column.
PIECES = [
    "\t", "\n", "\n\n", "\r\n", "\r", " ", "\0", "\ufeff", "\u2028", "_", "#", "# text = a\n", "en\tfr\n", "a\tb\n", "0-0", "1-2", "1?2",
    "9" * 5000, "1e999", "0.5", "nan", "-", "O", "B-PER", "en:", "a\tneutral", "label", "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n",
    "2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n", "1-2\tc\t_\t_\t_\t_\t_\t_\t_\t_\n", "1.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n",
]  # fmt: skip
pieces = st.lists(st.sampled_from([piece.encode() for piece in PIECES]) | st.binary(max_size=4), max_size=12)
contents = st.binary(max_size=60) | pieces.map(b"".join)


@pytest.mark.parametrize("name", READERS)
@given(data=contents)
@example(data=b"")
@example(data=b"\xef\xbb\xbf")
@example(data=b"\n")
@example(data=b"\0")
@example(data=b"\xff\xfea\0")
@example(data=b"1\ta\tb\r\n")
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes):
    path = tmp_path_factory.getbasetemp() / "any.bytes"
    path.write_bytes(data)
    try:
        list(READERS[name](path))
    except InputError as error:
        assert error.file == str(path)
        assert error.line is not None
        assert 1 <= error.line <= data.count(b"\n") + 1
        assert "\n" not in str(error)


@pytest.mark.parametrize("name", READERS)
def test_windows_files_read_like_others(tmp_path: Path, name: str):
    plain = {
        "conllu": "# c\n1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n1\tb\t_\t_\t_\t_\t0\t_\t_\t_\n\n",
        "columns": "a\tO\n\nb\tB-X\n",
        "columns with prefix": "en:a\tO\n\nen:b\tB-X\n",
        "inference": "a\tb\tneutral\n",
        "parallel": "en\tfr\na\tb\n",
        "parallel without header": "a\tb\n",
        "pharaoh": "0-0 1-1\n",
        "gold": "0-0 1?1\n",
        "dictionary": "a b\nc d\n",
    }.get(name, "a\n\nb\n")
    (tmp_path / "a").write_bytes(plain.encode())
    (tmp_path / "b").write_bytes(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode())
    records = list(READERS[name](tmp_path / "a"))
    assert records
    assert list(READERS[name](tmp_path / "b")) == records


@pytest.mark.parametrize("name", sorted(set(READERS) - {"parallel"}))
def test_an_empty_file_has_no_records(tmp_path: Path, name: str):
    (tmp_path / "a").write_bytes(b"")
    assert list(READERS[name](tmp_path / "a")) == []


@pytest.mark.parametrize("name", READERS)
def test_reading_streams(tmp_path: Path, name: str):
    """The first record comes before the file ends: what follows it may be garbage."""
    start = {
        "conllu": "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n",
        "columns": "a\tO\n\n",
        "columns with prefix": "en:a\tO\n\n",
        "inference": "a\tb\tneutral\n",
        "parallel": "en\tfr\na\tb\n",
        "parallel without header": "a\tb\n",
        "pharaoh": "0-0 1-1\n",
        "gold": "0-0 1?1\n",
        "dictionary": "a b\n",
    }.get(name, "a\n\n")
    (tmp_path / "a").write_bytes(start.encode() + b"\xff")
    records = READERS[name](tmp_path / "a")
    next(records)
    with raises("input.not-utf8", "ff"):
        list(records)
