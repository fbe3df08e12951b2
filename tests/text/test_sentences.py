from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError
from isoglot.text.cleaning.sentence_splitter import LineSplitter, sentence_spans, split_sentences

pieces = st.sampled_from(
    [". ", "... ", "! ", '." ', "?) ", "。", "！", "？」", "।", " ", "\t", "\n", "Dr. ", "3. Mai", "3.5", "z. B. ", "т. д. ", "Он", "The", "er", "«", "» ", "A. ", "—", "1. "]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=4), max_size=20).map("".join)


@given(texts, st.sampled_from(["en", "fr", "de", "ru", "zh", "hi", "th"]))
def test_nothing_is_lost(text: str, language: str):
    spans = sentence_spans(text, language)
    end = 0
    for start, stop in spans:
        assert text[end:start].strip() == ""
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert text[end:].strip() == ""
    assert "".join("".join(split_sentences(text, language)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Mr. Smith met Dr. Jones at 3 p.m. in Washington. | They left."),
        ("en", "It cost $3.5 million. | No. 5 was best. | He said no. | Then he left."),
        ("en", "J. R. R. Tolkien wrote it. | He lived in the U.S. until 1990. | The end."),
        ("en", "“Stop!” she said. | “Why?” | Nobody (not even Tom) knew."),
        ("en", "She left. | (He stayed.) | [All did.] | End."),
        ("en", "Fruit, e.g. apples, etc. are good. | Vol. 3 is out."),
        ("en", "What?! | Wait... what? | Wait… | Now."),
        ("en", "1. First point. | Visit www.example.com for more. | Bye."),
        ("fr", "M. Dupont est venu. | Mme Curie aussi. | Voir p. 12 et art. 5 de la loi."),
        ("fr", "Il a dit « Non. » | Elle est partie à 8 h. 30. | En 52 av. J.-C. César vint."),
        ("de", "Am 3. Mai 1990 kam er z. B. nach Berlin. | Das war im 19. Jahrhundert so. | Ende."),
        ("de", "Das ist so. | Er wohnt in der Hauptstr. 5 bei Dr. Müller. | Im Jahr 1990. | Dann ging er."),
        ("de", "Kaiser Wilhelm II. Majestät schwieg. | Sie kostet 5 Mio. Euro usw. | Gut."),
        ("ru", "В 1941 г. Германия напала. | А. С. Пушкин родился в Москве. | И т. д. | Вот."),
        ("ru", "— Да! — сказал он. | — Нет. | Это стоит 5 руб. 30 коп. | Всё."),
        ("zh", "他说：“你好。”|她走了吗？！|我不知道!|3.5元的U.S.书。"),
        ("ja", "「はい。」|彼は来た。|本当？"),
        ("hi", "वह आया। | वह गया।"),
        ("ar", "هل جاء؟ | نعم."),
        ("el", "Ήρθε. | Ναι!"),
        ("sw", "Alikuja. | Aliondoka."),
    ],
)
def test_textbook_cases(language: str, text: str):
    gold = [piece.strip() for piece in text.split("|")]
    joined = ("" if language in ("zh", "ja") else " ").join(gold)
    assert split_sentences(joined, language) == gold


@pytest.mark.parametrize("bad", [". " * 60_000, "." * 120_000, "A. " * 40_000, "。」" * 60_000, "!" * 120_000, "»" * 90_000, "! " * 60_000])  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh"])
def test_time_grows_with_the_length_only(bad: str, language: str):
    start = time.perf_counter()
    split_sentences(bad, language)
    assert (
        time.perf_counter() - start < 5
    )  # takes 0.4 s at most; twice as much text would take four times, were it quadratic


def test_lines_of_a_stream():
    assert LineSplitter("en")(["It rains. It pours.", "", "Yes."]) == ["It rains.", "It pours.", "", "Yes."]


def test_nothing_but_white_space():
    assert split_sentences(" \t", "en") == []
    with pytest.raises(ConfigError):
        split_sentences("a", "nolanguage")
