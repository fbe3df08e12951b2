"""One text, one tokenization: a text has the same ids in shards, tasks, maps and sentence files."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isoglot.languages import documents
from isoglot.languages.sentence import written_words
from isoglot.represent.sentences import RowMaker
from isoglot.text.cleaning.clean import CleanConfig, clean_files, clean_line
from isoglot.text.cleaning.processing import Segmentation, TextProcessing, check_as_written
from isoglot.text.cleaning.segmentation import LineSegmenter, Words, split_words
from isoglot.text.stream import rewrite
from isoglot.transfer.tasks.task import Labels, Tagged
from isoglot.transfer.tasks.word_tasks import Entities
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary
from isoglot.vocab.word_reader import Reader, usual_blanks
from tests.errors import raises

LANGUAGES = ("en", "de", "fr", "ru", "zh")
PAPER: dict[str, Segmentation] = {"en": "moses", "de": "moses", "fr": "moses", "ru": "moses", "zh": "jieba"}
SEGMENTATIONS: dict[str, dict[str, Segmentation]] = {
    "as written": {},
    "unicode": dict.fromkeys(LANGUAGES, "unicode"),
    "paper": PAPER,
}


def needs_libraries() -> None:
    pytest.importorskip("sacremoses")
    pytest.importorskip("rjieba")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Text of five built-in languages as it is written."""
    folder = tmp_path_factory.mktemp("raw")
    for code in LANGUAGES:
        made = (sentence.text for document in islice(documents(code, seed=2), 40) for sentence in document)
        (folder / f"{code}.txt").write_text("\n".join(made) + "\n", encoding="utf-8")
    return {code: folder / f"{code}.txt" for code in LANGUAGES}


@pytest.fixture(scope="module")
def vocabulary(raw):
    """``vocabulary("paper")``: a joint vocabulary that segments text as that."""

    @cache
    def train(name: str) -> Vocabulary:
        if name == "paper":
            needs_libraries()
        texts = {code: [path] for code, path in raw.items()}
        return train_vocabulary(texts, mode="joint", size=1500, segmentation=SEGMENTATIONS[name])

    return train


# --- the text ---

ANY = st.text(st.sampled_from("abZ .,'&<№ﬁ，。中国的首都１\u0301\u200b\u3000½\t-ßéка"), max_size=30)


@example(text="ﬁ\u0301", clean=True, method="none")  # two characters of two, and not one of each
@example(text="½", clean=True, method="unicode")
@settings(max_examples=60)
@given(text=ANY, clean=st.booleans(), method=st.sampled_from(["none", "unicode", "moses", "jieba", "characters"]))
def test_processing_inserts_blanks_and_knows_where_characters_were(text: str, clean: bool, method: Segmentation):
    needs_libraries()
    processing = TextProcessing("zh", clean, method)
    traced = processing.traced(text)
    assert traced.text == processing(text)
    wanted = clean_line(text) if clean else text
    if method != "none":
        assert "".join(traced.text.split()) == "".join(wanted.split())  # no escapes, nothing lost
    assert len(traced.begins) == len(traced.ends) == len(traced.text)
    assert list(traced.begins) == sorted(traced.begins)
    for character, begin, end in zip(traced.text, traced.begins, traced.ends, strict=True):
        if not character.isspace():
            there = clean_line(text[begin:end]) if clean else text[begin:end]
            assert character in there


def test_words_know_the_blanks_of_their_text():
    text = "He (Jo) can't  pay $3."
    words = split_words(text, "en")
    assert "".join(word + " " * blank for word, blank in zip(words, words.blanks, strict=True)) == " ".join(
        text.split()
    )
    assert split_words(" ", "en") == []


# --- the theorem ---


def shards_of(lines: list[str], vocabulary: Vocabulary, code: str, folder: Path) -> list[list[int]]:
    """The ids that pretraining gives to lines."""
    (folder / f"{code}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shards = build_shards([folder / f"{code}.txt"], vocabulary, code, folder / f"shards-{code}", dev_share=0)
    return [ids.tolist() for ids in shards.sentences()]


@pytest.mark.parametrize("name", SEGMENTATIONS)
def test_tasks_maps_and_sentences_have_the_ids_of_pretraining(vocabulary, tmp_path: Path, name: str):
    used = vocabulary(name)
    for code in LANGUAGES:
        made = [s for document in islice(documents(code, seed=9), 6) for s in document]
        wanted = shards_of([sentence.text for sentence in made], used, code, tmp_path)
        words = [written_words(sentence) for sentence in made]
        reader = Reader(used, code, 512)
        shared = reader.words(words, [each.blanks for each in words], joined="share")
        assert [pieces.ids_N.tolist() for pieces in shared] == wanted
        assert [ids.tolist() for ids in reader.texts([sentence.text for sentence in made])] == wanted
        sentences = RowMaker(used, code, "text", 512).rows([sentence.text for sentence in made])
        assert [ids.tolist() for ids in sentences.ids] == wanted
        tagger = [pieces.ids_N.tolist() for pieces in reader.words(words, [each.blanks for each in words])]
        in_context = RowMaker(used, code, "words", 512).rows(words)
        assert [ids.tolist() for ids in in_context.ids] == tagger


@pytest.mark.parametrize("name", SEGMENTATIONS)
def test_tokens_of_a_word_have_its_letters(vocabulary, name: str):
    used = vocabulary(name)
    for code in LANGUAGES:
        sentence = next(documents(code, seed=5))[0]
        words = written_words(sentence)
        pieces = Reader(used, code, 512).words([words], [words.blanks])[0]
        for word, first, end in zip(words, pieces.firsts_W, pieces.ends_W, strict=True):
            assert used.decode(pieces.ids_N[first:end]).replace(" ", "") == word


def test_a_word_in_a_map_is_read_as_written(vocabulary):
    """No blank before a full stop, nor between Chinese words: so it is in pretraining, and in the tasks."""
    used = vocabulary("as written")
    for words, text, code in ((["The", "cat", "sleeps", "."], "The cat sleeps.", "en"), (["我", "来"], "我来", "zh")):
        rows = RowMaker(used, code, "words", 64).rows([words])
        assert used.decode(rows.ids[0]) == text
    rows = RowMaker(used, "en", "words", 64).rows([Words(["can", "not", "."], [False, True, False])])
    assert used.decode(rows.ids[0]) == "cannot ."
    assert usual_blanks(["x", "."], "en-x-shift") == [True, True]  # twins are written so


def test_characters_with_labels_are_joined_and_segmented(vocabulary):
    """WikiAnn's Chinese: one character a token, no blanks."""
    used = vocabulary("paper")
    text = "中国的首都是北京。"
    tags = ("B-LOC", "I-LOC", "O", "O", "O", "O", "B-LOC", "I-LOC", "O")
    labels = Labels(("B-LOC", "I-LOC", "O"))
    rows = Entities().rows([Tagged(tuple(text), tags)], Reader(used, "zh", 64), labels, purpose="learn")
    (row,) = rows.rows
    assert row.ids_N[1:-1].tolist() == used.encode(text, "zh")
    assert used.processing("zh")(text) == "中国 的 首都 是 北京 。"
    assert row.targets_WK is not None
    found = [labels.names[number] for number in row.targets_WK[:, 0]]
    assert (found[0], found[-1], found.count("B-LOC")) == ("B-LOC", "O", 2)


# --- how it gets into the vocabulary ---


def segmented(path: Path, code: str, method, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    rewrite([path], folder / path.name, LineSegmenter(code, method))
    return folder / path.name


def test_text_segmented_before_and_text_segmented_here_are_the_same(raw, tmp_path: Path):
    needs_libraries()
    codes = ("en", "zh")
    before = {code: segmented(raw[code], code, PAPER[code], tmp_path / "words") for code in codes}
    here = train_vocabulary(
        {code: [raw[code]] for code in codes},
        mode="joint",
        size=1200,
        segmentation={code: PAPER[code] for code in codes},
    )
    recorded = train_vocabulary({code: [before[code]] for code in codes}, mode="joint", size=1200)
    assert recorded.hash == here.hash
    assert recorded.processing("zh") == TextProcessing("zh", segmentation="jieba")
    ids = [
        [one.tolist() for one in build_shards([path], here, "zh", tmp_path / name, dev_share=0).sentences()]
        for name, path in (("raw", raw["zh"]), ("segmented", before["zh"]))
    ]
    assert ids[0] == ids[1]
    assert here.encode(raw["zh"].read_text(encoding="utf-8").splitlines()[0], "zh") == ids[0][0]


def test_cleaned_text_makes_a_vocabulary_that_cleans(tmp_path: Path):
    raw = tmp_path / "zh.txt"
    raw.write_text("№１，我来了。\n我们去北京，好吗？\n" * 3, encoding="utf-8")
    clean_files([raw], tmp_path / "clean.txt", "zh", CleanConfig(deduplicate="none"))
    used = train_vocabulary({"zh": [tmp_path / "clean.txt"]}, mode="joint", size=300, coverage=1.0)
    assert used.processing("zh").clean
    assert used.encode("№１，我来", "zh") == used.encode("No1,我来", "zh")
    (found,) = Reader(used, "zh", 64).words([["№", "１", "，", "我", "来"]], [None], joined="share")
    assert found.ids_N.tolist() == used.encode("№１，我来", "zh")
    assert (np.diff(found.firsts_W) >= 0).all()


def test_what_was_segmented_otherwise_is_refused(raw, tmp_path: Path):
    words = segmented(raw["en"], "en", "unicode", tmp_path / "words")
    as_written = train_vocabulary({"en": [raw["en"]]}, mode="joint", size=600)
    with raises("config.mixed-processing"):
        build_shards([words], as_written, "en", tmp_path / "shards")
    with raises("config.mixed-processing", "en.txt"):
        train_vocabulary({"en": [words, raw["en"]]}, mode="joint", size=600)
    with raises("config.mixed-processing"):
        train_vocabulary({"en": [words]}, mode="joint", size=600, segmentation={"en": "characters"})
    with raises("config.other-language", "zh", "en"):
        train_vocabulary({"en": [raw["en"]]}, mode="joint", size=600, segmentation={"en": "jieba"})
    with raises("config.unknown-name"):
        train_vocabulary({"en": [raw["en"]]}, mode="joint", size=600, segmentation={"fr": "unicode"})
    with raises("config.mixed-processing"):
        check_as_written(words)


def test_shards_and_models_of_another_segmentation_do_not_match(vocabulary, tmp_path: Path, raw):
    one, other = vocabulary("as written"), vocabulary("unicode")
    same_views = Vocabulary(mode="joint", languages=one.languages, views={"": one.view()})
    cut = Vocabulary(
        mode="joint",
        languages=one.languages,
        views={"": one.view()},
        processing=[TextProcessing("zh", segmentation="jieba")],
    )
    assert one.hash == same_views.hash != cut.hash
    shards = build_shards([raw["en"]], one, "en", tmp_path / "shards")
    with raises("config.other-vocabulary"):
        Shards.open(shards.folder).check_vocabulary(other)


def test_it_is_saved_and_loaded(vocabulary, tmp_path: Path):
    used = vocabulary("unicode")
    used.save(tmp_path)
    again = Vocabulary.load(tmp_path)
    assert again.hash == used.hash
    assert all(again.processing(code) == used.processing(code) for code in LANGUAGES)
    assert again.observed({"en": np.ones(len(again))}).processing("en") == used.processing("en")


def test_the_language_must_be_named_where_text_is_segmented_by_it(vocabulary):
    with raises("config.missing-option"):
        vocabulary("unicode").encode("It rains.")
    assert vocabulary("unicode").encode("It rains.", "en-x-two") == vocabulary("unicode").encode("It rains.", "en")
    vocabulary("as written").encode("It rains.")
