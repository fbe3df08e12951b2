from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
from isoglot.text.formats.lines import line_writer, read_blocks, read_lines
from tests.errors import raises

line_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"))


def write(path: Path, lines: list[str]) -> None:
    with line_writer(path) as writer:
        for line in lines:
            writer.write(line)


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz", ".xz", ".zst"])
@given(lines=st.lists(line_texts))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, suffix: str, lines: list[str]):
    path = tmp_path_factory.mktemp("lines") / f"a.txt{suffix}"
    write(path, lines)
    assert list(read_lines(path)) == list(enumerate(lines, start=1))


def test_the_same_text_compresses_to_the_same_bytes(tmp_path: Path):
    write(tmp_path / "a.gz", ["x"])
    write(tmp_path / "b.gz", ["x"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"x\n"
    write(tmp_path / "a.xz", ["x"])
    assert lzma.decompress((tmp_path / "a.xz").read_bytes()) == b"x\n"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", [""]),
        ("a\u2028b\x0cc\x85d\x1ce\n".encode(), ["a\u2028b\x0cc\x85d\x1ce"]),
    ],
)
def test_line_ends_and_byte_order_marks(tmp_path: Path, data: bytes, lines: list[str]):
    (tmp_path / "a.txt").write_bytes(data)
    assert [line for _, line in read_lines(tmp_path / "a.txt")] == lines


def test_a_text_that_begins_with_a_byte_order_mark_keeps_it(tmp_path: Path):
    write(tmp_path / "a.txt", ["\ufeffa", "\ufeffb"])
    assert (tmp_path / "a.txt").read_bytes() == "\ufeff\ufeffa\n\ufeffb\n".encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"ok\nab\xffc\n", ("input.not-utf8", "a.txt:2")),
        (b"ok\n\xe2\x82", ("input.not-utf8", "a.txt:2")),
        (b"\xed\xa0\x80\n", ("input.not-utf8", "a.txt:1")),
        (b"a\0b\n", ("input.malformed-line", "a.txt:1", "NUL")),
        (
            b"\n\na\rb\n",
            ("input.malformed-line", "a.txt:3"),
        ),
    ],
)
def test_what_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(data)
    with raises(*expected):
        list(read_lines("a.txt"))


def test_lines_before_the_bad_one_are_read(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"a\nb\n\xff\n")
    lines = read_lines(tmp_path / "a.txt")
    assert next(lines) == (1, "a")
    assert next(lines) == (2, "b")
    with pytest.raises(InputError):
        next(lines)


@pytest.mark.parametrize("suffix", [".bz2", ".gz", ".xz", ".zst"])
def test_damaged_compression_names_the_line_reached(tmp_path: Path, suffix: str):
    path = tmp_path / f"a{suffix}"
    write(path, [str(i * i) for i in range(50_000)])
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"plain text\n", whole[:200] + bytes(200) + whole[400:]):
        path.write_bytes(data)
        with raises("input.damaged-compression") as caught:
            list(read_lines(path))
        assert caught.value.line
    path.write_bytes(b"")
    try:
        assert list(read_lines(path)) == []  # gzip takes nothing for an empty text, xz does not
    except InputError as error:
        assert error.line == 1


def test_a_pipe_that_was_read_does_not_seem_empty():
    read, write = os.pipe()
    os.write(write, b"one\ntwo\n")
    os.close(write)
    assert list(read_lines(f"/dev/fd/{read}")) == [(1, "one"), (2, "two")]
    with raises("input.pipe", f"/dev/fd/{read}"):
        list(read_lines(f"/dev/fd/{read}"))
    os.close(read)


def test_a_file_that_is_not_there(tmp_path: Path):
    with raises("storage.not-found"):
        next(read_lines(tmp_path / "none.txt"))
    with raises("storage.is-folder"):
        next(read_lines(tmp_path))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a\nb", ("input.not-writable", "a.txt:2", "'\\n'", "'a\\nb'")),
        ("a\rb", ("input.not-writable", "a.txt:2", "'\\r'", "'a\\rb'")),
        ("a\0b", ("input.not-writable", "a.txt:2", "'\\x00'", "'a\\x00b'")),
        ("a\ud800b", ("input.not-writable", "a.txt:2", "'\\ud800'", "'a\\ud800b'")),
    ],
)
def test_what_cannot_be_read_back_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: tuple[str, ...]
):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("old")
    with raises(*expected):
        write(Path("a.txt"), ["fine", line])
    assert Path("a.txt").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


def test_cells(tmp_path: Path):
    with line_writer(tmp_path / "a.tsv") as writer:
        writer.write_cells("a", "b c", "")
        with raises("input.not-writable", "a.tsv", "'x\\ty'", line=2):
            writer.write_cells("x\ty")
    assert (tmp_path / "a.tsv").read_text() == "a\tb c\t\n"


def test_blocks(tmp_path: Path):
    (tmp_path / "a.txt").write_text("\n \na\nb\n\n\t\n\nc")
    assert list(read_blocks(tmp_path / "a.txt")) == [[(3, "a"), (4, "b")], [(8, "c")]]
