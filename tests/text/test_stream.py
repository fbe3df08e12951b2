from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.cleaning.sentence_splitter import LineSplitter
from isoglot.text.provenance import Provenance
from isoglot.text.stream import read_stream, rewrite, stream_writer

streams = st.lists(st.sampled_from(["a", "b c", "", " "]), max_size=12)


@given(streams, streams)
def test_one_blank_line_between_documents(tmp_path_factory, one: list[str], two: list[str]):
    folder = tmp_path_factory.getbasetemp()
    for name, lines in (("1.txt", one), ("2.txt", two)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    stream = list(read_stream([folder / "1.txt", folder / "2.txt"]))
    assert [line for line in stream if line] == [line for line in one + two if line.strip()]
    assert stream[:1] != [""]
    assert not stream or stream[-1] == ""
    assert not any(first == second == "" for first, second in pairwise(stream))
    with stream_writer(folder / "3.txt", Provenance()) as writer:
        writer.write_all(stream)
    assert list(read_stream([folder / "3.txt"])) == stream
    assert writer.documents == stream.count("")


def test_rewriting_keeps_documents_apart(tmp_path: Path):
    (tmp_path / "a.txt").write_text("It rains. It pours.\n\nYes.\n")
    for workers in (1, 2):
        target = tmp_path / f"{workers}.txt"
        report = rewrite([tmp_path / "a.txt"], target, LineSplitter("en"), workers=workers)
        assert target.read_text() == "It rains.\nIt pours.\n\nYes.\n"
        assert report.facts() == {"lines": 2, "written": 3, "words": 5, "documents": 2, "skipped": 0}
