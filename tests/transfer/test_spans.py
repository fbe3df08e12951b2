"""Span F1 by the CoNLL script's definition, in cases worked by hand, and the repair of tags."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.transfer.scoring.metrics import EntitySpan, SpanCounts, repaired, span_score, spans
from tests.errors import raises

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
sentences = st.lists(st.sampled_from(TAGS), max_size=8)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", []),
        ("O", []),
        ("O O O", []),
        ("B-PER", [(0, 1, "PER")]),
        ("I-PER", [(0, 1, "PER")]),
        ("O B-PER I-PER O", [(1, 3, "PER")]),
        ("B-PER I-PER", [(0, 2, "PER")]),
        ("O I-PER I-PER", [(1, 3, "PER")]),
        ("B-PER B-PER", [(0, 1, "PER"), (1, 2, "PER")]),
        ("I-PER B-PER I-PER", [(0, 1, "PER"), (1, 3, "PER")]),
        ("B-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
        ("B-PER I-LOC I-PER", [(0, 1, "PER"), (1, 2, "LOC"), (2, 3, "PER")]),
        ("I-PER O I-PER", [(0, 1, "PER"), (2, 3, "PER")]),
        ("B-a-b I-a-b I-a", [(0, 2, "a-b"), (2, 3, "a")]),
    ],
)
def test_spans_as_the_conll_script_sees_them(tags, expected):
    assert spans(tags.split()) == [EntitySpan(*one) for one in expected]


@given(sentences)
def test_spans_are_disjoint_in_order_and_cover_what_is_not_outside(tags):
    found = spans(tags)
    covered = [place for span in found for place in range(span.start, span.stop)]
    assert covered == [place for place, tag in enumerate(tags) if tag != "O"]
    assert all({tags[place][2:] for place in range(span.start, span.stop)} == {span.kind} for span in found)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", ""),
        ("O I-PER O", "O B-PER O"),
        ("B-PER I-LOC I-ORG", "B-ORG I-ORG I-ORG"),  # the paper's own example
        ("I-PER I-LOC", "B-LOC I-LOC"),
        ("B-PER B-LOC I-ORG O I-PER", "B-PER B-ORG I-ORG O B-PER"),
        ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC"),
    ],
)
def test_repair(tags, expected):
    assert repaired(tags.split()) == expected.split()


@given(sentences)
def test_repair_gives_proper_bio_once_and_for_all(tags):
    fixed = repaired(tags)
    assert repaired(fixed) == fixed
    assert [tag == "O" for tag in fixed] == [tag == "O" for tag in tags]
    for before, tag in itertools.pairwise(["O", *fixed]):
        assert tag[0] != "I" or before[2:] == tag[2:]
    # A B stays a B: no two spans become one.
    assert all(tag[0] == "B" for tag, old in zip(fixed, tags, strict=True) if old[0] == "B")


@given(st.lists(sentences, max_size=5))
def test_gold_in_100_out(gold):
    score = span_score(gold, gold)
    there = sum(len(spans(tags)) for tags in gold)
    assert score.counts.f1 == score.counts.precision == score.counts.recall == (100.0 if there else 0.0)
    assert all(counts.f1 == 100.0 for counts in score.by_kind.values())


def test_a_case_by_hand():
    gold = ["B-PER I-PER O B-LOC", "O O", "", "B-ORG I-ORG I-ORG"]
    predicted = ["B-PER I-PER O B-ORG", "O B-LOC", "", "B-ORG I-ORG O"]
    score = span_score([one.split() for one in gold], [one.split() for one in predicted])
    assert score.counts_N3.tolist() == [[1, 2, 2], [0, 0, 1], [0, 0, 0], [0, 1, 1]]
    assert (score.counts.precision, score.counts.recall) == (25.0, 100 / 3)
    assert score.counts.f1 == pytest.approx(2 * 25 * (100 / 3) / (25 + 100 / 3))
    assert score.by_kind == {"LOC": SpanCounts(0, 1, 1), "ORG": SpanCounts(0, 1, 2), "PER": SpanCounts(1, 1, 1)}
    assert score.by_kind["LOC"].f1 == 0.0


@given(st.lists(st.integers(0, 8), min_size=1, max_size=5), st.data())
def test_f1_is_the_harmonic_mean_and_the_ratio_of_its_counts(lengths, data):
    tags = st.sampled_from(TAGS)
    gold, predicted = (
        [data.draw(st.lists(tags, min_size=length, max_size=length)) for length in lengths] for _ in range(2)
    )
    score = span_score(gold, predicted)
    both = score.counts.precision + score.counts.recall
    assert score.counts.f1 == pytest.approx(2 * score.counts.precision * score.counts.recall / both if both else 0.0)
    top, bottom = score.ratio_N2.sum(axis=0)
    assert score.counts.f1 == pytest.approx(100 * top / bottom if bottom else 0.0)
    assert sum(counts.right for counts in score.by_kind.values()) == score.counts.right
    swapped = span_score(predicted, gold)
    assert (swapped.counts.precision, swapped.counts.recall) == (score.counts.recall, score.counts.precision)


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([["O"]], [], ("input.row-count", "1", "0")),
        ([["O"], ["O"]], [["O"], []], ("input.row-count", "2", "1", "0")),
        ([["S-PER"]], [["O"]], ("input.malformed-line", "'S-PER'")),
        ([["O"]], [["B-"]], ("input.malformed-line", "'B-'")),
        ([["O"]], [[""]], ("input.malformed-line", "''")),
    ],
)
def test_refusals(gold, predicted, expected: tuple[str, ...]):
    with raises(*expected):
        span_score(gold, predicted)
