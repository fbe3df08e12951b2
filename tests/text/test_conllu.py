from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
from isoglot.text.formats.conllu import NO_HEAD, EmptyNode, MultiwordToken, Tree, TreeWord, read_conllu, write_conllu

EXAMPLE = """\
# sent_id = 1
# text = Il parle du chat et moi du chien.
1\tIl\til\tPRON\t_\tGender=Masc|Number=Sing\t2\tnsubj\t2:nsubj\t_
2\tparle\tparler\tVERB\t_\t_\t0\troot\t0:root\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\tAlt=d u
3\tde\tde\tADP\t_\t_\t5\tcase\t5:case\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t5:det\t_
5\tchat\tchat\tNOUN\t_\t_\t2\tobl\t2:obl\t_
6\tet\tet\tCCONJ\t_\t_\t7\tcc\t7.1:cc\t_
7\tmoi\tmoi\tPRON\t_\t_\t2\tconj\t7.1:nsubj\t_
7.1\tparle\tparler\tVERB\t_\t_\t_\t_\t2:conj\t_
8-9\tdu\t_\t_\t_\tTypo=Yes\t_\t_\t_\t_
8\tde\tde\tADP\t_\t_\t10\tcase\t10:case\t_
9\tle\tle\tDET\t_\t_\t10\tdet\t10:det\t_
10\tchien\tchien\tNOUN\t_\t_\t7\torphan\t7.1:obl\tSpaceAfter=No
11\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_

# sent_id = 2
0.1\tIl\til\tPRON\t_\t_\t_\t_\t1:nsubj\t_
1\t20 000\t20 000\tNUM\t_\t_\t0\troot\t0:root\t_

"""


def test_everything_is_kept(tmp_path: Path):
    path = tmp_path / "a.conllu"
    path.write_text(EXAMPLE)
    first, second = read_conllu(path)
    assert [word.form for word in first.words] == "Il parle de le chat et moi de le chien .".split()
    assert [word.head for word in first.words] == [2, 0, 5, 5, 2, 7, 2, 10, 10, 7, 2]
    assert first.words[0] == TreeWord(1, "Il", "il", "PRON", "_", "Gender=Masc|Number=Sing", 2, "nsubj", "2:nsubj")
    assert first.multiwords == (
        MultiwordToken(3, 4, "du", misc="Alt=d u"),
        MultiwordToken(8, 9, "du", feats="Typo=Yes"),
    )
    assert first.empties == (EmptyNode(7, 1, "parle", "parler", "VERB", deps="2:conj"),)
    assert first.value("text") == "Il parle du chat et moi du chien."
    assert first.value("genre") is None
    assert second.empties[0].after == 0
    assert second.words[0].form == "20 000"
    assert write_conllu(tmp_path / "b.conllu", [first, second]) == 2
    assert (tmp_path / "b.conllu").read_text() == EXAMPLE


cells = st.text(st.characters(exclude_categories=["Cs", "Z"], exclude_characters="\n\r\0\t"), min_size=1)
with_blanks = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t"), min_size=1)
comments = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0")).map(lambda text: f"#{text}")


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any tree: heads point at words drawn earlier, in a random order."""
    size = draw(st.integers(1, 6))
    order = draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0} | {order[i]: order[draw(st.integers(0, i - 1))] for i in range(1, size)}
    words = [
        TreeWord(i, draw(with_blanks), draw(with_blanks), draw(cells), draw(cells), draw(cells), heads[i], draw(cells),
                 draw(cells), draw(with_blanks))
        for i in range(1, size + 1)
    ]  # fmt: skip
    multiwords = []
    at = 1
    while at < size and draw(st.booleans()):
        first = draw(st.integers(at, size))
        last = draw(st.integers(first, size))
        multiwords.append(MultiwordToken(first, last, draw(with_blanks), draw(cells), draw(with_blanks)))
        at = last + 1
    empties = [
        EmptyNode(after, index, draw(with_blanks), deps=draw(cells))
        for after in range(size + 1)
        for index in range(1, draw(st.integers(0, 2)) + 1)
    ]
    return Tree(tuple(words), tuple(multiwords), tuple(empties), tuple(draw(st.lists(comments, max_size=2))))


@given(st.lists(trees(), max_size=3))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, bank: list[Tree]):
    path = tmp_path_factory.getbasetemp() / "a.conllu"
    assert write_conllu(path, iter(bank)) == len(bank)
    assert list(read_conllu(path)) == bank
    before = path.read_bytes()
    write_conllu(path, list(read_conllu(path)))
    assert path.read_bytes() == before


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_what_is_read_is_a_tree(tmp_path_factory: pytest.TempPathFactory, heads: list[int]):
    """Any heads at all: accepted exactly when every word reaches the one root."""

    def reaches_root(word: int) -> bool:
        for _ in heads:
            word = heads[word - 1]
            if word == 0:
                return True
            if word > len(heads):
                return False
        return False

    path = tmp_path_factory.getbasetemp() / "heads.conllu"
    path.write_text("".join(f"{i}\tx\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for i, head in enumerate(heads, start=1)))
    good = heads.count(0) == 1 and all(reaches_root(word) for word in range(1, len(heads) + 1))
    if good:
        assert [word.head for word in next(read_conllu(path)).words] == heads
    else:
        with pytest.raises(InputError):
            next(read_conllu(path))


def word(name: object, head: object = 0, form: str = "x", deprel: str = "_") -> str:
    return f"{name}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_"


RANGES = "put a range right before its first word; ranges do not overlap"
EMPTIES = "put it right after its word, before any range, numbered from .1"
CYCLE = "hang every word under the root, directly or through others"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\tx"], "1: 2 columns where CoNLL-U has 10; separate the columns with one tab each"),
        (["1 x"], "1: 1 column where CoNLL-U has 10; separate the columns with one tab each"),
        ([word(1) + "\t"], "1: 11 columns where CoNLL-U has 10; separate the columns with one tab each"),
        ([word(1, form="")], "1: the column FORM is empty; write _ where nothing is known"),
        ([word(1, deprel="a b")], "1: a blank in DEPREL: 'a b'; only FORM, LEMMA and MISC may have blanks"),
        (["# c", word(1), "# d"], "3: a comment among the words; put comments before the first word"),
        (["# c"], "1: a sentence without words; remove it, its comments too"),
        ([word(2)], "1: word 2 where 1 is due; number the words from 1 without gaps"),
        ([word("a")], "1: 'a' is not an id; write 1 for a word, 1-2 for a range, 1.1 for an empty node"),
        ([word("01")], "1: '01' is not an id; write 1 for a word, 1-2 for a range, 1.1 for an empty node"),
        ([word(1, "_")], "1: the head '_' is not a number; give the id of the head, 0 for the root"),
        ([word(1, "-1")], "1: the head '-1' is not a number; give the id of the head, 0 for the root"),
        ([word("2-3", "_"), word(1)], f"1: the range 2-3 before word 1; {RANGES}"),
        ([word("1-2", "_"), word(1), word("2-3", "_")], f"3: the range 2-3 before word 2; {RANGES}"),
        ([word("1-2", 0)], "1: HEAD is '0' in 1-2; write _ in LEMMA, UPOS, XPOS, HEAD, DEPREL, DEPS there"),
        (
            [word("1-2", "_"), word(1)],
            "2: the sentence ends at word 1, inside the range 1-2; end the range at a word of the sentence",
        ),
        ([word(1), word("1.2", "_")], f"2: the empty node 1.2 after word 1; {EMPTIES}"),
        ([word("1-1", "_"), word("0.1", "_")], f"2: the empty node 0.1 after word 0; {EMPTIES}"),
        ([word(1), word("1.1", 1)], "2: HEAD is '1' in 1.1; write _ in HEAD, DEPREL there"),
        (
            ["# c", word(1), word(2, 3)],
            "3: word 2 has head 3 in a sentence of 2 words; give a head from 1 to 2, or 0 for the root",
        ),
        ([word(1), word(2, 1), word(3)], "3: word 3 is a second root, after word 1; give head 0 to one word"),
        ([word(1), word(2, 3), word(3, 2)], f"2: the heads from word 2 on lead back to it; {CYCLE}"),
        ([word(1, 1)], f"1: the heads from word 1 on lead back to it; {CYCLE}"),
        ([word(1, 2), word(2, 3), word(3, 2)], f"2: the heads from word 2 on lead back to it; {CYCLE}"),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], message: str):
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text("\n".join(lines) + "\n\n")
    with pytest.raises(InputError) as caught:
        list(read_conllu("a.conllu"))
    assert str(caught.value) == f"a.conllu:{message}"


GOOD = Tree((TreeWord(1, "a"), TreeWord(2, "b", head=1)))


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (Tree(()), "a sentence without words"),
        (Tree((TreeWord(1, "a\tb"),)), "11 columns"),
        (Tree((TreeWord(1, "a\nb"),)), "inside"),
        (Tree((TreeWord(1, ""),)), "the column FORM is empty"),
        (Tree((TreeWord(2, "a"),)), "word 2 where 1 is due"),
        (Tree((TreeWord(1, "a", head=1),)), "lead back to it"),
        (replace(GOOD, comments=("text",)), "1 column where"),
        (replace(GOOD, multiwords=(MultiwordToken(7, 8, "c"),)), "of tree 2 stands at no word, or where another does"),
        (replace(GOOD, multiwords=(MultiwordToken(1, 1, "c"), MultiwordToken(1, 2, "c"))), "where another does"),
        (replace(GOOD, multiwords=(MultiwordToken(1, 3, "c"),)), "inside the range 1-3"),
        (replace(GOOD, empties=(EmptyNode(2, 2),)), "the empty node 2.2 after word 2"),
    ],
)
def test_refused(tmp_path: Path, bad: Tree, problem: str):
    with pytest.raises(InputError, match=problem) as caught:
        write_conllu(tmp_path / "a.conllu", [GOOD, bad])
    assert caught.value.line is not None
    assert not list(tmp_path.iterdir())


def test_deep_trees_are_fine(tmp_path: Path):
    chain = Tree(tuple(TreeWord(i, "x", head=i - 1) for i in range(1, 5001)))
    write_conllu(tmp_path / "a.conllu", [chain])
    assert next(read_conllu(tmp_path / "a.conllu")) == chain


def test_a_sentence_may_do_without_heads_where_that_is_allowed(tmp_path: Path):
    path = tmp_path / "tags.conllu"
    tree = Tree((TreeWord(1, "a", upos="X", head=NO_HEAD), TreeWord(2, "b", head=NO_HEAD)))
    assert write_conllu(path, [tree, Tree((TreeWord(1, "c"),))]) == 2
    assert path.read_text().startswith("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t")
    assert list(read_conllu(path, heads="optional")) == [tree, Tree((TreeWord(1, "c"),))]
    with pytest.raises(InputError, match=r"tags.conllu:1: the head '_' is not a number"):
        list(read_conllu(path))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (("_", 0), "2: the head '0' behind a word without one; give all or none"),
        ((0, "_"), "2: the head '_' behind a word with one; give all or none"),
        (("_", "-1"), "2: the head '-1' is not a number; give the id of the head, 0 for the root"),
    ],
)
def test_all_heads_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heads, message):
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text("".join(word(place, head) + "\n" for place, head in enumerate(heads, start=1)))
    with pytest.raises(InputError) as caught:
        list(read_conllu("a.conllu", heads="optional"))
    assert str(caught.value) == f"a.conllu:{message}"
