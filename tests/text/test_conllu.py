from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
from isoglot.text.formats.conll import NO_HEAD, EmptyNode, MultiwordToken, Tree, TreeWord, read_conllu, write_conllu
from tests.errors import raises

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


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["1\tx"], ("input.malformed-line", "a.conllu:1", "2", "10")),
        (["1 x"], ("input.malformed-line", "a.conllu:1", "1", "10")),
        ([word(1) + "\t"], ("input.malformed-line", "a.conllu:1", "11", "10")),
        ([word(1, form="")], ("input.malformed-line", "a.conllu:1", "FORM")),
        ([word(1, deprel="a b")], ("input.malformed-line", "a.conllu:1", "DEPREL", "'a b'")),
        (["# c", word(1), "# d"], ("input.malformed-line", "a.conllu:3")),
        (["# c"], ("input.malformed-line", "a.conllu:1")),
        ([word(2)], ("input.malformed-line", "a.conllu:1", "2", "1")),
        ([word("a")], ("input.malformed-line", "a.conllu:1", "'a'")),
        ([word("01")], ("input.malformed-line", "a.conllu:1", "'01'")),
        ([word(1, "_")], ("input.malformed-line", "a.conllu:1", "'_'")),
        ([word(1, "-1")], ("input.malformed-line", "a.conllu:1", "'-1'")),
        ([word("2-3", "_"), word(1)], ("input.malformed-line", "a.conllu:1", "2-3", "1")),
        ([word("1-2", "_"), word(1), word("2-3", "_")], ("input.malformed-line", "a.conllu:3", "2-3", "2")),
        (
            [word("1-2", "_"), word(1), word("2-3", "_"), word(2, 1), word(3, 1)],
            ("input.malformed-line", "a.conllu:3", "2-3", "2"),
        ),
        ([word("1-2", 0)], ("input.malformed-line", "a.conllu:1", "HEAD", "'0'", "1-2")),
        (
            [word("1-2", "_"), word(1)],
            ("input.malformed-line", "a.conllu:2", "1", "1-2"),
        ),
        ([word(1), word("1.2", "_")], ("input.malformed-line", "a.conllu:2", "1.2", "1")),
        ([word("1-1", "_"), word("0.1", "_")], ("input.malformed-line", "a.conllu:2", "0.1", "0")),
        ([word(1), word("1.1", 1)], ("input.malformed-line", "a.conllu:2", "HEAD", "'1'", "1.1")),
        (
            ["# c", word(1), word(2, 3)],
            ("input.malformed-line", "a.conllu:3", "2", "3"),
        ),
        ([word(1), word(2, 1), word(3)], ("input.malformed-line", "a.conllu:3", "3", "1")),
        ([word(1), word(2, 3), word(3, 2)], ("input.malformed-line", "a.conllu:2", "2")),
        ([word(1, 1)], ("input.malformed-line", "a.conllu:1", "1")),
        ([word(1, 2), word(2, 3), word(3, 2)], ("input.malformed-line", "a.conllu:2", "2")),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text("\n".join(lines) + "\n\n")
    with raises(*expected):
        list(read_conllu("a.conllu"))


GOOD = Tree((TreeWord(1, "a"), TreeWord(2, "b", head=1)))


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (Tree(()), ("input.malformed-line",)),
        (Tree((TreeWord(1, "a\tb"),)), ("input.malformed-line", "11")),
        (Tree((TreeWord(1, "a\nb"),)), ("input.not-writable", "'\\n'", "'1\\ta\\nb\\t_\\t_\\t_\\t_\\t0\\t_\\t_\\t_'")),
        (Tree((TreeWord(1, ""),)), ("input.malformed-line", "FORM")),
        (Tree((TreeWord(2, "a"),)), ("input.malformed-line", "2", "1")),
        (Tree((TreeWord(1, "a", head=1),)), ("input.malformed-line",)),
        (replace(GOOD, comments=("text",)), ("input.malformed-line", "1")),
        (replace(GOOD, multiwords=(MultiwordToken(7, 8, "c"),)), ("input.not-writable", "2")),
        (replace(GOOD, multiwords=(MultiwordToken(1, 1, "c"), MultiwordToken(1, 2, "c"))), ("input.not-writable",)),
        (replace(GOOD, multiwords=(MultiwordToken(1, 3, "c"),)), ("input.malformed-line", "1-3")),
        (replace(GOOD, empties=(EmptyNode(2, 2),)), ("input.malformed-line", "2.2", "2")),
    ],
)
def test_refused(tmp_path: Path, bad: Tree, expected: tuple[str, ...]):
    with raises(*expected) as caught:
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
    with raises("input.malformed-line", "tags.conllu", "'_'", line=1):
        list(read_conllu(path))


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (("_", 0), ("input.malformed-line", "a.conllu:2", "'0'")),
        ((0, "_"), ("input.malformed-line", "a.conllu:2", "'_'")),
        (("_", "-1"), ("input.malformed-line", "a.conllu:2", "'-1'")),
    ],
)
def test_all_heads_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heads, expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text("".join(word(place, head) + "\n" for place, head in enumerate(heads, start=1)))
    with raises(*expected):
        list(read_conllu("a.conllu", heads="optional"))
