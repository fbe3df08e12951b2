from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.cleaning.realign_entities import Span, bio_spans, bio_tags, realign, realign_file
from isoglot.text.formats.conll import read_tagged
from tests.errors import raises

words = st.lists(st.text("abcdé北京", min_size=1, max_size=5), min_size=1, max_size=8)


@st.composite
def tagged(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """A sentence with well-formed BIO tags."""
    tokens = draw(words)
    cuts = draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    labels = draw(st.lists(st.sampled_from(["O", "PER", "LOC"]), min_size=len(tokens), max_size=len(tokens)))
    spans: list[Span] = []
    for place, (cut, label) in enumerate(zip(cuts, labels, strict=True)):
        if label == "O":
            continue
        if spans and spans[-1].end == place and spans[-1].label == label and not cut:
            spans[-1] = Span(spans[-1].start, place + 1, label)
        else:
            spans.append(Span(place, place + 1, label))
    return tokens, bio_tags(spans, len(tokens))


@st.composite
def resegmented(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    tokens, tags = draw(tagged())
    text = "".join(tokens)
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)))))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return tokens, tags, [piece for piece in pieces if piece]


@given(tagged())
def test_tags_and_spans_are_the_same_thing(sentence: tuple[list[str], list[str]]):
    _, tags = sentence
    assert bio_tags(bio_spans(tags), len(tags)) == tags


@given(tagged())
def test_to_characters_and_back_changes_nothing(sentence: tuple[list[str], list[str]]):
    tokens, tags = sentence
    characters = list("".join(tokens))
    fine, there = realign(tokens, tags, characters)
    back, again = realign(characters, fine, tokens)
    assert back == tags
    assert there.exact == there.spans == again.exact == again.spans == len(bio_spans(tags))
    assert there.lost == there.grown == 0


@given(resegmented())
def test_every_span_is_accounted_for(sentence: tuple[list[str], list[str], list[str]]):
    tokens, tags, pieces = sentence
    moved, report = realign(tokens, tags, pieces)
    assert len(moved) == len(pieces)
    assert report.spans == len(bio_spans(tags)) == report.exact + report.grown + report.lost
    kept = bio_spans(moved)
    assert len(kept) == report.spans - report.lost
    assert bio_tags(kept, len(moved)) == moved
    # what is not touched by a span has no label
    characters, _ = realign(tokens, tags, list("".join(tokens)))
    place = 0
    for piece, tag in zip(pieces, moved, strict=True):
        inside = characters[place : place + len(piece)]
        assert (tag == "O") == all(one == "O" for one in inside)
        place += len(piece)


@pytest.mark.parametrize(
    ("tokens", "tags", "pieces", "result", "counts"),
    [
        ("a b c", "B-X I-X O", ["ab", "c"], ["B-X", "O"], (1, 0, 0)),
        ("a b c", "B-X O O", ["ab", "c"], ["B-X", "O"], (0, 1, 0)),  # grows
        ("aa b", "B-X B-Y", ["aab"], ["B-X"], (0, 1, 1)),  # more of the word
        ("a b", "B-X B-Y", ["ab"], ["B-X"], (0, 1, 1)),  # the earlier
        ("a bb", "B-X B-Y", ["abb"], ["B-Y"], (0, 1, 1)),
        ("a bb c", "B-X B-Y I-Y", ["abb", "c"], ["B-Y", "I-Y"], (0, 1, 1)),
        ("a b", "I-X I-Y", ["a", "b"], ["B-X", "B-Y"], (2, 0, 0)),  # I without B
        ("a b", "O O", ["ab"], ["O"], (0, 0, 0)),
    ],
)
def test_the_rule(tokens: str, tags: str, pieces: list[str], result: list[str], counts: tuple[int, int, int]):
    moved, report = realign(tokens.split(), tags.split(), pieces)
    assert moved == result
    assert (report.exact, report.grown, report.lost) == counts


def test_another_text_is_refused():
    with raises("input.malformed-line", "'ac'", "'a b'"):
        realign(["a", "b"], ["O", "O"], ["ac"])
    with raises("input.row-count", 1, 2):
        realign(["a", "b"], ["O"], ["ab"])


def test_files_with_a_prefix(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("zh:北\tB-LOC\nzh:京\tI-LOC\nzh:。\tO\n\nzh:A\tB-PER\nzh:b\tI-PER\n")
    report = realign_file(tmp_path / "a.tsv", tmp_path / "b.tsv", "zh", method="unicode", prefix="zh")
    assert (report.sentences, report.spans, report.exact, report.words) == (2, 2, 2, 4)
    assert list(read_tagged(tmp_path / "b.tsv", prefix="zh")) == [
        [("北", "B-LOC"), ("京", "I-LOC"), ("。", "O")],
        [("Ab", "B-PER")],
    ]


def test_chinese_words(tmp_path: Path):
    pytest.importorskip("rjieba")
    (tmp_path / "a.tsv").write_text("我\tO\n来\tO\n到\tO\n北\tB-LOC\n京\tI-LOC\n")
    assert realign_file(tmp_path / "a.tsv", tmp_path / "b.tsv", "zh").exact == 1
    assert next(read_tagged(tmp_path / "b.tsv"))[-1] == ("北京", "B-LOC")
