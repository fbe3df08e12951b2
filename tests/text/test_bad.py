"""Malformed records: the first stops the reading, or so many are skipped and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from isoglot.core.errors import InputError
from isoglot.text.formats.conll import read_conllu, read_tagged
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.lines import Skip, read_lines
from isoglot.text.formats.nli import read_inference
from isoglot.text.formats.parallel import read_aligned, read_gold, read_parallel, read_pharaoh, read_tmx
from isoglot.text.formats.plain import read_documents
from isoglot.text.formats.word_vectors import read_vectors

TREE = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"

# Three good records with two bad ones among them, by reader.
FILES: dict[str, tuple[Callable[..., Iterator[Any]], bytes]] = {
    "lines": (read_lines, b"a\n\xff\nb\n\0\nc\n"),
    "plain": (read_documents, b"a\n\nb\n\xff\n\nc\n\n\xff\n\nd\n"),
    "parallel": (read_parallel, b"en\tfr\na\tb\nx\nc\td\n\xff\te\nf\tg\n"),
    "pharaoh": (read_pharaoh, b"0-0\nx\n1-1\n1?1\n2-2\n"),
    "gold": (read_gold, b"0-0\nx\n1?1\n1?\n2-2\n"),
    "dictionary": (read_dictionary, b"a b\nc\nd e\n\xff g\nh i\n"),
    "weighted": (read_dictionary, b"a\tb\t1\nc\td\tx\ne\tf\t2\ng\nh\ti\t3\n"),
    "conllu": (read_conllu, (TREE + "x\n\n" + TREE + "1\ta\n\n" + TREE).encode()),
    "columns": (read_tagged, b"a\tO\n\nb\n\nc\tO\nd\tO\n\n\xff\tO\ne\tO\n\nf\tO\n"),
    "inference": (read_inference, b"a\tb\tneutral\nx\nc\td\tneutral\ne\tf\tmaybe\ng\th\tneutral\n"),
    "tmx": (
        read_tmx,
        (
            b'<tmx><body>\n<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>\n<tu></tu>\n'
            b'<tu><tuv xml:lang="en"><seg>b</seg></tuv></tu>\n<tu><tuv xml:lang="xx"><seg>c</seg></tuv></tu>\n'
            b'<tu><tuv xml:lang="en"><seg>d</seg></tuv></tu>\n</body></tmx>\n'
        ),
    ),
    "vectors": (
        lambda path, **options: iter(read_vectors(path, **options).words),
        b"a 1 2\nb 1\nc 3 4\nd x y\ne 5 6\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_so_many_are_skipped_and_counted(tmp_path: Path, name: str):
    read, data = FILES[name]
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(InputError) as strict:
        list(read(path))
    assert strict.value.line is not None
    skip = Skip(2)
    assert len(list(read(path, skip=skip))) == 3
    assert skip.count == 2
    assert str(skip.first) == str(strict.value)
    with pytest.raises(InputError) as caught:
        list(read(path, skip=Skip(1)))
    assert caught.value.line is not None
    assert caught.value.line > strict.value.line


def test_aligned_files_stay_aligned(tmp_path: Path):
    (tmp_path / "en").write_bytes(b"a\n\xff\nc\n")
    (tmp_path / "fr").write_bytes(b"x\ny\nz\n")
    skip = Skip(5)
    rows = list(read_aligned({"en": tmp_path / "en", "fr": tmp_path / "fr"}, skip=skip))
    assert rows == [{"en": "a", "fr": "x"}, {"en": "c", "fr": "z"}]
    assert skip.count == 1


def test_a_line_of_fifty_megabytes(tmp_path: Path):
    path = tmp_path / "long"
    path.write_bytes(b"x" * 50_000_000 + b"\nshort\n")
    assert [len(line) for _, line in read_lines(path)] == [50_000_000, 5]
    with pytest.raises(InputError) as caught:
        list(read_dictionary(path))
    assert len(str(caught.value)) < 500
