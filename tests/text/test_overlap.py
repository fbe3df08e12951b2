from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.cleaning.overlap import (
    OverlapFinder,
    find_overlap,
    guess_layout,
    held_out_sentences,
    sentence_key,
    without,
)
from tests.errors import raises

CONLLU = "# text = Cats sleep all day long.\n" + "".join(
    f"{number}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"
    for number, (form, head) in enumerate(
        [("Cats", 2), ("sleep", 0), ("all", 4), ("day", 2), ("long", 4), (".", 2)], start=1
    )
)


def test_what_does_not_count():
    assert sentence_key("Le  CHAT, dort.") == sentence_key("le chat dort")
    assert sentence_key("ﬁn") == sentence_key("fin")
    assert sentence_key("कि") != sentence_key("क")  # a vowel sign counts
    assert sentence_key("\ue000 \U000f0061") == "\ue000\U000f0061"
    assert sentence_key("a_b") == "ab"


sentences = st.lists(st.sampled_from(["One cat sleeps here.", "Two dogs run there!", "Three birds sing now?", "Four fish swim away."]), min_size=1, max_size=6)  # fmt: skip


@given(sentences, st.sets(st.integers(0, 3), max_size=2))
def test_what_is_removed_is_no_longer_found(parts: list[str], chosen: set[int]):
    known = ["One cat sleeps here.", "Two dogs run there!", "Three birds sing now?", "Four fish swim away."]
    tests = [known[number] for number in sorted(chosen)]
    finder = OverlapFinder({"a": tests}, "en")
    line = " ".join(parts)
    hits = finder.find(line)
    assert len(hits) == sum(part in tests for part in parts)
    rest = without(line, hits)
    assert rest == " ".join(part for part in parts if part not in tests)
    assert finder.find(rest) == []


def test_items_of_several_sentences():
    finder = OverlapFinder({"a": ["It rains a lot. She stays at home."]}, "en")
    assert not finder.find("It rains a lot. He stays at home.")
    hits = finder.find("Well, yes. It rains a lot. She stays at home. So do I.")
    assert without("Well, yes. It rains a lot. She stays at home. So do I.", hits) == "Well, yes. So do I."


def test_short_sentences_are_left_alone():
    finder = OverlapFinder({"a": ["Yes, please.", "我不知道。", "我们现在就去吧。"]}, "zh")
    assert finder.short["a"] == 1  # nine letters; a Chinese character counts three
    assert not finder.find("Yes, please.")
    assert finder.find("我不知道。")


def files(folder: Path) -> dict[str, Path]:
    contents = {
        "plain.txt": "Cats sleep all day long.\nDogs bark at the moon.\n",
        "table.tsv": "en\tfr\nCats sleep all day long.\tLes chats dorment.\n",
        "test.conllu": CONLLU + "\n",
        "tagged.tsv": "Cats\tB-X\nsleep\tO\nall\tO\nday\tO\nlong\tO\n.\tO\n",
        "prefixed.tsv": "en:Cats\tB-X\nen:sleep\tO\nen:all\tO\nen:day\tO\nen:long\tO\nen:.\tO\n",
        "conll.txt": "-DOCSTART- -X- O O\n\nCats NNS B-NP B-X\nsleep VB B-VP O\nall DT B-NP O\nday NN I-NP O\nlong RB B-ADVP O\n. . O O\n",
        "blanks.txt": "Cats B-X\nsleep O\nall O\nday O\nlong O\n. O\n",
        "xnli.tsv": "language\tgold_label\tsentence1\tsentence2\tpairID\nfr\tneutral\tLes chats dorment.\tNon.\t1\n"
        "en\tneutral\tCats sleep all day long.\tDogs bark at the moon.\t1\n",
        "nli.tsv": "Cats sleep all day long.\tDogs bark at the moon.\tneutral\n",
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    return {name: folder / name for name in contents}


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("plain.txt", "plain"),
        ("table.tsv", "parallel"),
        ("test.conllu", "conllu"),
        ("tagged.tsv", "tagged"),
        ("prefixed.tsv", "tagged"),
        ("conll.txt", "tagged"),
        ("blanks.txt", "tagged"),
        ("xnli.tsv", "inference"),
        ("nli.tsv", "inference"),
    ],
)
def test_every_kind_of_test_set(tmp_path: Path, name: str, layout: str):
    path = files(tmp_path)[name]
    found = list(held_out_sentences(path, "en"))
    assert sentence_key(found[0]) == "catssleepalldaylong"
    assert guess_layout(path) == layout


@pytest.mark.parametrize("text", ["", "\n", "My blood group is O\n", "Take vitamin B-12\n\nIt is good for you.\nO\n"])
def test_a_sentence_may_end_like_a_tag(tmp_path: Path, text: str):
    (tmp_path / "a.txt").write_text(text)
    assert guess_layout(tmp_path / "a.txt") == "plain"
    assert list(held_out_sentences(tmp_path / "a.txt", "en")) == [line for line in text.splitlines() if line]


def test_tables_without_a_header_and_without_the_language(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("one\tun\n\tdeux\n")
    assert list(held_out_sentences(tmp_path / "a.tsv", "en", columns=["en", "fr"])) == ["one"]
    with raises("config.unknown-language", "a.tsv", "'de'"):
        list(held_out_sentences(tmp_path / "a.tsv", "de", columns=["en", "fr"]))
    with raises("input.malformed-line", "a.tsv", line=1):
        list(held_out_sentences(tmp_path / "a.tsv", "de", layout="plain"))


def test_words_of_chinese_tagged_files_join(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("北\tB-LOC\n京\tI-LOC\n")
    assert list(held_out_sentences(tmp_path / "a.tsv", "zh")) == ["北京"]


def test_files(tmp_path: Path):
    tests = files(tmp_path)
    text = "Cats sleep all day long.\nMany say that. Dogs bark at the moon. It is so.\n\nCATS sleep all day long!\n\nNothing here.\n"
    (tmp_path / "text.txt").write_text(text)
    sets = {name: held_out_sentences(path, "en") for name, path in tests.items()}
    finder = OverlapFinder(sets, "en")
    one = find_overlap([tmp_path / "text.txt"], finder, target=tmp_path / "1.txt")
    two = find_overlap([tmp_path / "text.txt"], finder, target=tmp_path / "2.txt", workers=2)
    assert one == two == find_overlap([tmp_path / "text.txt"], finder)
    assert (one.lines, one.lines_with, one.whole, one.inside) == (4, 3, 2, 1)
    assert one.sets["plain.txt"] == {"sentences": 2, "short": 0, "found": 2}
    assert one.sets["tagged.tsv"] == {"sentences": 1, "short": 0, "found": 1}
    assert (tmp_path / "1.txt").read_text() == "Many say that. It is so.\n\nNothing here.\n"
    assert (tmp_path / "1.txt").read_bytes() == (tmp_path / "2.txt").read_bytes()
    assert find_overlap([tmp_path / "1.txt"], finder).lines_with == 0
