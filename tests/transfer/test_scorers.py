"""Our scores beside those of others: seqeval's F1 of spans, and attachment scores counted from the files themselves.

Where udtools is installed (the shared task's own evaluation; it is no part of ``make``), it is asked too.
"""

from __future__ import annotations

import random
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.text.formats.conll import EmptyNode, MultiwordToken, Tree, TreeWord, read_conllu, write_conllu
from isoglot.transfer.scoring.metrics import repaired, span_score, spans, tree_score

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-a-b", "I-a-b"]
pairs = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=9), min_size=1, max_size=6
)


# --- entities ---


def both_sides(sentences: list[list[tuple[str, str]]]) -> tuple[list[list[str]], list[list[str]]]:
    return [[one for one, _ in each] for each in sentences], [[other for _, other in each] for each in sentences]


def scores(found: Any) -> list[float]:
    return [found.precision, found.recall, found.f1]


@settings(deadline=None, max_examples=50)
@given(pairs)
def test_span_scores_are_those_of_seqeval(sentences):
    """Tags at random: most are no proper BIO."""
    metrics = pytest.importorskip("seqeval.metrics")
    gold, predicted = both_sides(sentences)
    ours = span_score(gold, predicted)
    theirs = metrics.classification_report(gold, predicted, output_dict=True, zero_division=0) if ours.by_kind else {}
    averages = {"micro avg", "macro avg", "weighted avg"}
    assert set(ours.by_kind) == set(theirs) - averages
    for name, found in {**ours.by_kind, **({"micro avg": ours.counts} if theirs else {})}.items():
        rounded = [100 * theirs[name][key] for key in ("precision", "recall", "f1-score")]
        assert scores(found) == pytest.approx(rounded)


@given(pairs)
def test_spans_are_those_of_seqeval(sentences):
    labels = pytest.importorskip("seqeval.metrics.sequence_labeling")
    for tags, _ in zip(*both_sides(sentences), strict=True):
        assert spans(tags) == [(first, last + 1, kind) for kind, first, last in labels.get_entities(tags)]


@settings(deadline=None)
@given(pairs)
def test_repaired_tags_are_the_same_spans_in_seqevals_strict_mode(sentences):
    """In which a span must begin with B-: nothing that the repair leaves is lost there."""
    metrics, schemes = pytest.importorskip("seqeval.metrics"), pytest.importorskip("seqeval.scheme")
    gold, predicted = ([repaired(tags) for tags in side] for side in both_sides(sentences))
    ours = span_score(gold, predicted)
    if not ours.by_kind:
        return
    strict = {"mode": "strict", "scheme": schemes.IOB2, "zero_division": 0}
    theirs = [score(gold, predicted, **strict) for score in (metrics.precision_score, metrics.recall_score)]
    assert scores(ours.counts) == pytest.approx(
        [100 * one for one in (*theirs, metrics.f1_score(gold, predicted, **strict))]
    )


@given(st.lists(st.sampled_from(TAGS), max_size=12))
def test_the_repair_by_another_way(tags):
    """A run is what stands between two O, or begins with B: one span of its last kind."""
    letters = "".join(tag[0] for tag in tags)
    runs = [run.span() for run in re.finditer("BI*|I+", letters)]
    expected = [(start, stop, tags[stop - 1][2:]) for start, stop in runs]
    assert spans(repaired(tags)) == expected


# --- trees ---


def random_tree(size: int, chance: random.Random) -> list[int]:
    order = list(range(1, size + 1))
    chance.shuffle(order)
    heads = dict(zip(order, [0, *(chance.choice(order[:place]) for place in range(1, len(order)))], strict=True))
    return [heads[word] for word in sorted(heads)]


def treebank(seed: int) -> tuple[list[Tree], list[Tree]]:
    """Trees, and others over the same words, with subtypes, multiword tokens and empty nodes."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    relations = ["nsubj", "nsubj:pass", "punct", "obl", "obl:arg"]
    made: tuple[list[Tree], list[Tree]] = ([], [])
    for _ in range(chance.randint(1, 6)):
        size = chance.randint(1, 9)
        heads = random_tree(size, chance)
        other = heads if chance.random() < 0.5 else random_tree(size, chance)
        tokens = (MultiwordToken(1, 2, "ab"),) if size > 1 and chance.random() < 0.5 else ()
        empties = (EmptyNode(1, 1, "e"),) if chance.random() < 0.3 and not tokens else ()
        for side, some in zip(made, (heads, other), strict=True):
            words = [
                TreeWord(place, "ab"[place % 2], head=head, deprel=chance.choice(relations) if head else "root")
                for place, head in enumerate(some, start=1)
            ]
            side.append(Tree(tuple(words), tokens, empties))
    return made


def counted(gold: Path, predicted: Path) -> dict[Any, float]:
    """F1 of (word, head) and (word, head, universal relation), as the shared task defines them, from lines of files."""

    def words(path: Path) -> list[tuple[Any, ...]]:
        lines = [line.split("\t") for line in path.read_text().splitlines()]
        return [(number, *cells) for number, cells in enumerate(lines) if cells[0].isdigit()]

    sides = words(gold), words(predicted)
    found = {}
    punctuation = {cells[0] for cells in sides[0] if cells[8] == "punct"}
    for name, columns, left_out in (
        ("uas", (0, 7), set()),
        ("las", (0, 7, 8), set()),
        ("uas_no_punct", (0, 7), punctuation),
        ("las_no_punct", (0, 7, 8), punctuation),
    ):
        one, other = (
            {tuple(str(cells[c]).split(":")[0] for c in columns) for cells in side if cells[0] not in left_out}
            for side in sides
        )
        total = len(one) + len(other)
        found[name] = 100 * 2 * len(one & other) / total if total else 0.0
    return found


@pytest.fixture
def files(tmp_path: Path):
    """``files(seed)``: a treebank and another parse of it."""

    def make(seed: int) -> tuple[Path, Path]:
        paths = tmp_path / f"gold-{seed}.conllu", tmp_path / f"predicted-{seed}.conllu"
        for path, trees in zip(paths, treebank(seed), strict=True):
            write_conllu(path, trees)
        return paths

    return make


def test_attachment_scores_are_those_counted_from_the_files(files):
    different = set()
    for seed in range(60):
        gold, predicted = files(seed)
        ours = tree_score(read_conllu(gold), read_conllu(predicted))
        expected = counted(gold, predicted)
        assert {name: ours.value(name) for name in expected} == pytest.approx(expected)
        different.add(tuple(expected.values()))
    assert len(different) > 30  # not all of them 0, or 100


def test_attachment_scores_are_those_of_the_shared_task(files):
    official = pytest.importorskip("udtools.udeval")
    for seed in range(60):
        gold, predicted = files(seed)
        theirs = official.evaluate(
            *(official.load_conllu(StringIO(path.read_text()), path, {}) for path in (gold, predicted))
        )
        ours = tree_score(read_conllu(gold), read_conllu(predicted))
        assert (ours.value("uas"), ours.value("las")) == pytest.approx((100 * theirs["UAS"].f1, 100 * theirs["LAS"].f1))
