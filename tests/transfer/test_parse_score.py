"""Attachment scores by the definition of the CoNLL 2018 shared task."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.conll import Tree, TreeWord, read_conllu
from isoglot.transfer.scoring.metrics import parse_score, tree_score
from tests.errors import raises

# "Du sel, elle mange.": a multiword token, an empty node, a subtype, punctuation.
GOLD = """\
# sent_id = salt
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
3\tsel\tsel\tNOUN\t_\t_\t6\tobl:arg\t_\t_
4\t,\t,\tPUNCT\t_\t_\t3\tpunct\t_\t_
5\telle\telle\tPRON\t_\t_\t6\tnsubj\t_\t_
5.1\tnon\tnon\tADV\t_\t_\t_\t_\t6:advmod\t_
6\tmange\tmanger\tVERB\t_\t_\t0\troot\t_\t_
7\t.\t.\tPUNCT\t_\t_\t6\tpunct\t_\t_

"""


@pytest.fixture
def gold(tmp_path):
    (tmp_path / "gold.conllu").write_text(GOLD, encoding="utf-8")
    return list(read_conllu(tmp_path / "gold.conllu"))


def changed(tree: Tree, **changes: tuple[int, str]) -> Tree:
    """The tree with other heads and relations: ``w4=(6, "punct")``."""
    found = {int(name[1:]): change for name, change in changes.items()}
    words = [
        replace(word, head=found[word.id][0], deprel=found[word.id][1]) if word.id in found else word
        for word in tree.words
    ]
    return replace(tree, words=tuple(words))


def test_gold_in_100_out(gold):
    score = tree_score(gold, gold)
    assert (
        score.value("uas"),
        score.value("las"),
        score.value("uas_no_punct"),
        score.value("las_no_punct"),
        score.no_tree,
    ) == (100, 100, 100, 100, 0)
    # Seven syntactic words: neither the range nor the empty node is one. Five are no punctuation.
    assert score.counts_N6.tolist() == [[7, 7, 7, 5, 5, 5]]


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"w3": (6, "obl:mod")}, [7, 7, 7, 5, 5, 5]),  # a subtype does not count
        ({"w3": (6, "obl")}, [7, 7, 7, 5, 5, 5]),
        ({"w3": (6, "obj")}, [7, 7, 6, 5, 5, 4]),
        ({"w3": (5, "obl:arg")}, [7, 6, 6, 5, 4, 4]),
        ({"w4": (6, "punct")}, [7, 6, 6, 5, 5, 5]),  # punctuation in the wrong place
        ({"w4": (3, "dep")}, [7, 7, 6, 5, 5, 5]),
        ({"w5": (6, "punct")}, [7, 7, 6, 5, 5, 4]),  # what is punctuation is the gold's to say
    ],
)
def test_one_change(gold, changes, counts):
    score = tree_score(gold, [changed(gold[0], **changes)])
    assert score.counts_N6.tolist() == [counts]
    assert score.value("las") == pytest.approx(100 * counts[2] / 7)
    assert score.value("uas_no_punct") == pytest.approx(100 * counts[4] / 5)


def test_heads_that_are_no_tree_are_counted_and_scored_word_by_word():
    gold_heads, labels = [[2, 0, 2]] * 4, [["a", "root", "b"]] * 4
    heads = [[2, 3, 2], [0, 0, 2], [2, 2, 2], [2, 0, 2]]  # a cycle without root, two roots, its own head, the gold
    score = parse_score(gold_heads, labels, heads, labels)
    assert score.no_tree == 3
    assert score.counts_N6[:, 1].tolist() == [2, 2, 2, 3]


def test_empty_sentences_and_empty_sets():
    assert parse_score([[], [0]], [[], ["root"]], [[], [0]], [[], ["root"]]).value("las") == 100.0
    assert parse_score([[], [0]], [[], ["root"]], [[], [0]], [[], ["root"]]).no_tree == 0
    nothing = parse_score([], [], [], [])
    assert (nothing.value("uas"), nothing.value("las_no_punct"), nothing.no_tree) == (0.0, 0.0, 0)
    only_punctuation = parse_score([[0]], [["punct"]], [[0]], [["punct"]])
    assert (only_punctuation.value("las"), only_punctuation.value("las_no_punct")) == (100.0, 0.0)


@given(st.lists(st.lists(st.integers(0, 5), min_size=5, max_size=5), min_size=1, max_size=6), st.data())
def test_scores_are_ratios_of_sums_over_sentences(heads, data):
    labels = [data.draw(st.lists(st.sampled_from(["a", "b:c", "b", "punct"]), min_size=5, max_size=5)) for _ in heads]
    gold_heads = [[2, 0, 2, 3, 3]] * len(heads)
    gold_labels = [["b", "root", "a:x", "punct", "b:d"]] * len(heads)
    score = parse_score(gold_heads, gold_labels, heads, labels)
    right = np.equal(heads, gold_heads)
    assert score.value("uas") == pytest.approx(100 * right.mean())
    assert score.value("uas_no_punct") == pytest.approx(100 * right[:, [0, 1, 2, 4]].mean())
    for name in ("uas", "las", "uas_no_punct", "las_no_punct"):
        top, bottom = score.ratio_N2(name).sum(axis=0)
        assert score.value(name) == pytest.approx(100 * top / bottom)
    assert score.value("las") <= score.value("uas")


def test_words_that_are_not_the_golds(gold):
    other = replace(gold[0], words=(*gold[0].words[:6], replace(gold[0].words[6], form="!")))
    short = replace(gold[0], words=gold[0].words[:6])
    unnamed = Tree((TreeWord(1, "Oui"),))
    with raises("input.other-data", 7, "'salt'", "'.'", "'!'"):
        tree_score(gold, [other])
    with raises("input.other-data", 7, "'salt'", "'.'"):
        tree_score(gold, [short])
    with raises("input.line-count", 1):
        tree_score(gold, [])
    with raises("input.line-count", 2):
        tree_score(gold, [*gold, unnamed])


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (
            ([[0]], [["r"]], [], []),
            ("input.row-count", "1 in gold labels", "0 in labels"),
        ),
        (
            ([[0]], [["r"]], [[0]], [[]]),
            ("input.row-count", "sentence 1", "0 in labels"),
        ),
        (
            ([[0]], [["r"]], [[2]], [["r"]]),
            ("input.out-of-range", "1", "2"),
        ),
        (
            ([[-1]], [["r"]], [[0]], [["r"]]),
            ("input.out-of-range", "1", "-1"),
        ),
    ],
)
def test_refusals(given_, expected: tuple[str, ...]):
    with raises(*expected):
        parse_score(*given_)
