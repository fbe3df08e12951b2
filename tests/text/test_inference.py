from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.nli import LABELS, Pair, numbered_inference, read_inference, write_inference
from tests.errors import raises

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t"), min_size=1).filter(
    lambda text: not text.isspace()
)


@given(st.lists(st.builds(Pair, texts, texts, st.sampled_from(LABELS))))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]):
    path = tmp_path_factory.getbasetemp() / "nli.tsv"
    assert write_inference(path, iter(pairs)) == len(pairs)
    assert list(read_inference(path)) == pairs


@pytest.mark.parametrize("header", ["", "premise\thypothesis\tlabel\n", "premise\thypo\tlabel\n", "a\tb\tgold_label\n"])
def test_header_is_optional_and_contradictory_understood(tmp_path: Path, header: str):
    (tmp_path / "a.tsv").write_text(f"{header}A.\tB.\tcontradictory\nC.\tD.\tneutral\n")
    assert list(read_inference(tmp_path / "a.tsv")) == [
        Pair("A.", "B.", "contradiction"),
        Pair("C.", "D.", "neutral"),
    ]


def test_layout(tmp_path: Path):
    write_inference(tmp_path / "a.tsv", [Pair("A.", "B.", "entailment")])
    assert (tmp_path / "a.tsv").read_text() == "premise\thypothesis\tlabel\nA.\tB.\tentailment\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb\n", ("input.column-count", "a.tsv:1", "'a\\tb'")),
        ("a\tb\tneutral\n\n", ("input.column-count", "a.tsv:2", "''")),
        ("a\t \tneutral\n", ("input.empty", "a.tsv:1")),
        ("a\tb\tentail\n", ("input.unknown-label", "a.tsv:1", "'entail'")),
        ("a\tb\t-\n", ("input.unknown-label", "a.tsv:1", "'-'")),
        ("a\tb\tneutral\na\tb\tlabel\n", ("input.unknown-label", "a.tsv:2", "'label'")),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text(text)
    with raises(*expected):
        list(read_inference("a.tsv"))


def test_refused(tmp_path: Path):
    with raises("input.not-writable", "a.tsv", 1, line=2):
        write_inference(tmp_path / "a.tsv", [Pair("a", "", "neutral")])
    with raises("input.not-writable", "'yes'"):
        write_inference(tmp_path / "a.tsv", [Pair("a", "b", "yes")])  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_json_lines(tmp_path: Path):
    path = tmp_path / "xnli.dev.jsonl"
    rows = [
        '{"language": "en", "sentence1": "a", "sentence2": "b", "gold_label": "neutral", "x": 1}',
        '{"language": "zho", "sentence1": "c", "sentence2": "d", "gold_label": "contradictory"}',
    ]
    path.write_text("\n".join(rows) + "\n")
    assert [pair.premise for pair in read_inference(path)] == ["a", "c"]
    assert [pair.label for pair in read_inference(path, language="zh")] == ["contradiction"]


@pytest.mark.parametrize(
    "line", ["{", "3", "[]", '{"sentence1": "a"}', '{"sentence1": 1, "sentence2": 2, "gold_label": 3}']
)
def test_malformed_json_lines(tmp_path: Path, line: str):
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n")
    with raises("input.malformed-line", "a.jsonl", line=1):
        list(read_inference(path))


PUBLISHED = (
    "language\tgold_label\tsentence1_parse\tsentence1\tsentence2\tpairID\tmatch\n"
    "de\tneutral\t\ta\tb\t1\tTrue\nzho\tcontradiction\t\tc\td\t1\tTrue\nde\tentailment\t\te\tf\t2\tTrue\n"
)


def test_a_table_as_xnli_is_published(tmp_path: Path):
    path = tmp_path / "xnli.dev.tsv"
    path.write_text(PUBLISHED)
    assert [pair.premise for pair in read_inference(path)] == ["a", "c", "e"]
    assert list(read_inference(path, language="deu")) == [Pair("a", "b", "neutral"), Pair("e", "f", "entailment")]
    assert [number for number, _ in numbered_inference(path, language="zh")] == [3]
    path.write_text(PUBLISHED.replace("\tTrue", "", 1))
    with raises("input.column-count", "xnli.dev.tsv", line=2):
        list(read_inference(path))
    path.write_text("")
    assert list(read_inference(path)) == []
