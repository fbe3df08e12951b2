"""The user's own queries and documents: read from a table or a collection, and scored before and after a fix."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isoglot.diagnose.repair.own_task import OwnTask, judged_scores, task_gain
from isoglot.text.formats.judged import read_judged
from tests.errors import raises


def test_a_table_of_pairs(tmp_path: Path):
    (tmp_path / "pairs.tsv").write_text("wo ist er\twhere is he\nwer\twho\n\nwer\twhich one\n")
    found = read_judged(tmp_path / "pairs.tsv")
    assert found.queries == ("wo ist er", "wer")
    assert found.documents == ("where is he", "who", "which one")
    assert found.relevant == ({0: 1}, {1: 1, 2: 1})


def collection(folder: Path, qrels: str = "1 0 b 2\n1 0 a 0\n2 0 a 1\n") -> Path:
    (folder / "queries.tsv").write_text("1\tone\n2\ttwo\n3\tnot judged\n")
    (folder / "documents.tsv").write_text("a\tfirst\nb\tsecond\n")
    (folder / "qrels.txt").write_text(qrels)
    return folder


def test_a_trec_collection(tmp_path: Path):
    found = read_judged(collection(tmp_path))
    assert found.queries == ("one", "two")
    assert found.relevant == ({1: 2}, {0: 1})


def test_a_beir_collection(tmp_path: Path):
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "one"}) + "\n")
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d", "title": "A", "text": "b"}) + "\n")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    found = read_judged(tmp_path)
    assert (found.queries, found.documents, found.relevant) == (("one",), ("A b",), ({0: 1},))


@pytest.mark.parametrize(
    ("qrels", "code", "value", "line"),
    [
        ("1 0 z 1\n", "input.no-match", "z", None),
        ("1 0 a 0\n", "input.empty", "relevant", None),
        ("1 0 a 1\n2 a\n", "input.column-count", "grade", 2),
        ("1 0 a one\n", "input.column-count", "grade", 1),
    ],
)
def test_bad_judgments_are_one_line(tmp_path: Path, qrels: str, code: str, value: str, line: int | None):
    file = tmp_path if line is None else tmp_path / "qrels.txt"
    with raises(code, value, file=file, line=line):
        read_judged(collection(tmp_path, qrels))


def test_a_table_with_other_columns_and_a_folder_without_queries_are_one_line(tmp_path: Path):
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\n")
    with raises("input.column-count", line=2):
        read_judged(tmp_path / "pairs.tsv")
    with raises("input.no-match", "queries.tsv"):
        read_judged(tmp_path)


def test_ndcg_is_that_of_its_definition():
    """Two relevant documents of grades 2 and 1 at ranks 2 and 4 of five."""
    documents = np.array([[0.9], [0.8], [0.7], [0.6], [0.5]], dtype=np.float32)
    (found,) = judged_scores(np.ones((1, 1), dtype=np.float32), documents, [{1: 2, 3: 1}])
    expected = (2 / np.log2(3) + 1 / np.log2(5)) / (2 / np.log2(2) + 1 / np.log2(3))
    assert found == pytest.approx([0, 1, expected])


def test_a_fix_that_breaks_the_task_is_surely_worse(tmp_path: Path):
    (tmp_path / "pairs.tsv").write_text("".join(f"q{n}\td{n}\n" for n in range(40)))
    task = OwnTask(read_judged(tmp_path / "pairs.tsv"))
    rows = np.eye(40, dtype=np.float32)
    worse = task_gain(task, (rows, rows), (rows, rows[::-1]), resamples=100)
    assert worse.is_worse
    assert (worse.before["first"].value, worse.after["first"].value) == pytest.approx((1, 0))
    assert not task_gain(task, (rows, rows[::-1]), (rows, rows), resamples=100).is_worse
