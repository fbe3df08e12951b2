"""New text in, and predictions as files hold them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from isoglot.text.formats.conll import read_conllu
from isoglot.transfer.predict import as_json, of_line, read_unlabeled, tree_of, write_predictions
from isoglot.transfer.tasks.task import Parsed, Passage, Tagged, find_task
from tests.errors import raises

TREE = (
    "# text = du lit.\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t3\tcase\t3:case\t_\n2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_\n"
    "3\tlit\tlit\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No\n3.1\tvu\t_\t_\t_\t_\t_\t_\t3:acl\t_\n4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n"
)


def test_words_and_blanks_are_those_of_the_text():
    found = of_line(find_task("ner"), "Eva lebt (noch).", "de")
    assert found == Tagged(("Eva", "lebt", "(", "noch", ")", "."), blanks=(True, True, False, False, False, False))
    assert of_line(find_task("parse"), "我！", "zh") == Parsed(("我", "！"), blanks=(False, False))


def test_a_treebank_keeps_all_but_its_heads(tmp_path: Path):
    (tmp_path / "a.conllu").write_text(TREE)
    task = find_task("parse")
    (example,) = read_unlabeled(task, tmp_path / "a.conllu", "fr")
    (tmp_path / "a.txt").write_text(TREE)
    assert read_unlabeled(task, tmp_path / "a.txt", "fr") == [example]
    assert isinstance(example, Parsed)
    assert example.blanks == (True, True, False, True)
    (before,) = read_conllu(tmp_path / "a.conllu")
    predicted = Parsed(example.words, (0, 1, 2, 3), ("root", "det", "obj", "punct"), example.blanks, example.tree)
    assert write_predictions(tmp_path / "b.conllu", task, [predicted], "conllu") == 1
    (after,) = read_conllu(tmp_path / "b.conllu")
    assert (after.multiwords, after.comments) == (before.multiwords, before.comments)
    assert after.empties == (replace(before.empties[0], deps="_"),)
    assert {word.deps for word in after.words} == {"_"}  # those of the file are of its own tree
    assert [(word.head, word.deprel, word.upos) for word in after.words] == [
        (0, "root", "ADP"), (1, "det", "DET"), (2, "obj", "NOUN"), (3, "punct", "PUNCT")
    ]  # fmt: skip
    tags = read_unlabeled(find_task("pos"), tmp_path / "a.conllu", "fr")
    assert tags == [Tagged(("de", "le", "lit", "."), blanks=(True, True, False, True), tree=before)]


def test_tags_in_columns(tmp_path: Path):
    ner, pos = find_task("ner"), find_task("pos")
    found = [Tagged(("Eva", "."), ("B-PER", "O"), (False, False)), Tagged(("Ja",), ("O",))]
    write_predictions(tmp_path / "a", ner, found, "bio")
    assert (tmp_path / "a").read_text() == "Eva\tB-PER\n.\tO\n\nJa\tO\n"
    write_predictions(tmp_path / "a", ner, found[:1], "conllu")
    assert (tmp_path / "a").read_text() == (
        "1\tEva\t_\t_\t_\t_\t_\t_\t_\tEntity=B-PER|SpaceAfter=No\n2\t.\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n\n"
    )
    write_predictions(tmp_path / "a", pos, [Tagged(("Ja",), ("INTJ",))], "conllu")
    assert (tmp_path / "a").read_text() == "1\tJa\t_\tINTJ\t_\t_\t_\t_\t_\t_\n\n"
    assert write_predictions(tmp_path / "a", ner, found, "json") == 2
    assert [json.loads(line)["tags"] for line in (tmp_path / "a").read_text().splitlines()] == [["B-PER", "O"], ["O"]]


def test_tags_in_a_treebank_that_keeps_all_else(tmp_path: Path):
    (tmp_path / "a.conllu").write_text(TREE.replace("SpaceAfter=No", "Entity=(1)|SpaceAfter=No"))
    (before,) = read_conllu(tmp_path / "a.conllu")
    for name, tags in (("pos", ("X", "DET", "X", "X")), ("ner", ("O", "O", "B-LOC", "O"))):
        task = find_task(name)
        (example,) = read_unlabeled(task, tmp_path / "a.conllu", "fr")
        assert isinstance(example, Tagged)
        write_predictions(tmp_path / "b.conllu", task, [replace(example, tags=tags)], "conllu")
        (after,) = read_conllu(tmp_path / "b.conllu")
        assert [word.upos for word in after.words] == [*(tags if name == "pos" else ("ADP", "DET", "NOUN", "PUNCT"))]
        assert after.words[2].misc == f"Entity={'(1)' if name == 'pos' else 'B-LOC'}|SpaceAfter=No"
        same = [
            replace(word, upos=was.upos, misc=was.misc) for word, was in zip(after.words, before.words, strict=True)
        ]
        assert replace(after, words=tuple(same)) == before


@pytest.mark.parametrize("name", ["ner", "pos", "parse"])
def test_tags_that_were_written_are_read_again(name, tmp_path: Path):
    """A file without heads is words to tag and to parse, and to learn parts of speech from."""
    path = tmp_path / "tags.conllu"
    write_predictions(path, find_task("pos"), [Tagged(("Ja", "."), ("INTJ", "PUNCT"), (False, True))], "conllu")
    (found,) = read_unlabeled(find_task(name), path, "de")
    assert isinstance(found, (Tagged, Parsed))
    assert (found.words, found.blanks) == (("Ja", "."), (False, True))
    assert find_task("pos").read(path, "de").examples[0].tags == ("INTJ", "PUNCT")
    with raises("input.malformed-line", "tags.conllu", "'_'", line=1):
        find_task("parse").read(path, "de")


def test_json_and_trees():
    assert json.loads(as_json(Passage(("a", "b"), "neutral"))) == {"texts": ["a", "b"], "label": "neutral"}
    assert json.loads(as_json(Parsed(("a",), (0,), ("root",)))) == {"words": ["a"], "heads": [0], "relations": ["root"]}
    (word,) = tree_of(Parsed(("a",), (0,), ("root",))).words
    assert (word.form, word.head, word.deprel, word.misc) == ("a", 0, "root", "_")


@pytest.mark.parametrize("text", ["Eva\tB-PER\n.\tO\n\nJa\tO\n", "de:Eva\tx\tB-PER\nde:.\tx\tO\n\n\nde:Ja\ty\tO\n"])
def test_columns_are_words_and_not_sentences(text, tmp_path: Path):
    (tmp_path / "test.tsv").write_text(text)
    for name, kind in (("ner", Tagged), ("pos", Tagged), ("parse", Parsed)):
        found = read_unlabeled(find_task(name), tmp_path / "test.tsv", "de")
        assert found == [kind(("Eva", ".")), kind(("Ja",))]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("the DET\ncat NOUN\n\nit PRON\n", 2),
        ("-DOCSTART- -X- O O\n\nEva NNP B-NP B-PER\nlebt VBZ B-VP O\n", 4),
        ("Eva   B-PER\nlebt  O\n", 2),
        ("Eva lebt.\n\nSie schläft.\n", 0),
        ("Eva lebt.\nSie schläft.\n", 0),
        ("Ja.\nNein.\n\nDoch.\n", 0),
        ("Eva lebt.\nJa.\n\nSie schläft.\n", 0),
        ("Meine Blutgruppe ist 0\n", 0),
        ("My group is O\n", 0),
    ],
)
def test_text_that_looks_like_columns_is_told(text: str, columns: int, tmp_path: Path):
    path, told = tmp_path / "new.txt", list[str]()
    path.write_text(text)
    lines = [line for line in text.splitlines() if line]
    assert len(read_unlabeled(find_task("ner"), path, "de", say=told.append)) == len(lines)
    line = f"{path}: {columns} words a line, each read as a sentence; if they are columns, put tabs between them"
    assert told == ([line] if columns else [])


def test_blank_lines_of_a_text_are_counted(tmp_path: Path):
    (tmp_path / "a.txt").write_text("Ja.\n\n  \nNein.\n")
    counts: Counter[str] = Counter()
    assert len(read_unlabeled(find_task("parse"), tmp_path / "a.txt", "de", counts=counts)) == 2
    assert counts == {"blank, left out": 2}


def test_what_is_wrong(tmp_path: Path):
    with raises("config.not-supported"):
        write_predictions(tmp_path / "a", find_task("nli"), [], "bio")
    (tmp_path / "a.txt").write_text("\n")
    with raises("input.empty", "a.txt"):
        read_unlabeled(find_task("ner"), tmp_path / "a.txt", "en")
    with raises("input.malformed-line", "a.txt", "''", line=1):
        read_unlabeled(find_task("topic"), tmp_path / "a.txt", "en")
    (tmp_path / "a.txt").write_text("Ja.\nEva\tB-PER\n")
    with raises("input.malformed-line", "a.txt", "'Eva\\tB-PER'", line=2):
        read_unlabeled(find_task("ner"), tmp_path / "a.txt", "en")
    with raises("input.empty"):
        of_line(find_task("ner"), "  ", "en")
