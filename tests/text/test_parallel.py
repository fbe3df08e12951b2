from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError, InputError
from isoglot.text.formats.parallel import read_aligned, read_parallel, tatoeba_files, write_parallel

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t"))
languages = st.lists(st.sampled_from(["en", "fr", "de", "zh-Hans", "en-x-shift"]), min_size=1, unique=True)
tables = languages.flatmap(
    lambda names: st.tuples(st.just(names), st.lists(st.fixed_dictionaries(dict.fromkeys(names, cells))))
)


@given(tables)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], list[dict[str, str]]]):
    path = tmp_path_factory.getbasetemp() / "parallel.tsv"
    names, rows = table
    assert write_parallel(path, names, iter(rows)) == len(rows)
    assert list(read_parallel(path)) == rows


def test_codes_become_canonical_and_extra_languages_are_left_out(tmp_path: Path):
    path = tmp_path / "a.tsv"
    write_parallel(path, ["deu", "en"], [{"en": "cat", "deu": "Katze", "fr": "chat"}])
    assert path.read_text() == "de\ten\nKatze\tcat\n"
    path.write_text("DEU\tcmn\nKatze\t猫\n")
    assert list(read_parallel(path)) == [{"de": "Katze", "zh": "猫"}]


def test_without_header(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("cat\tchat\ndog\tchien\n")
    rows = list(read_parallel(tmp_path / "a.tsv", languages=["en", "fra"]))
    assert rows == [{"en": "cat", "fr": "chat"}, {"en": "dog", "fr": "chien"}]


HEADER_REMEDY = "name the language of each column in the first line, as in en<tab>fr; or give languages yourself"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"a.tsv:1: the header '': '' is not a language code; {HEADER_REMEDY}"),
        ("a cat\tfr\n", rf"a.tsv:1: the header 'a cat\tfr': 'a cat' is not a language code; {HEADER_REMEDY}"),
        ("en\teng\n", rf"a.tsv:1: the header 'en\teng': the language 'en' is there twice; {HEADER_REMEDY}"),
        ("en\tfr\na\tb\nc\n", "a.tsv:3: 1 column for 2 languages (en, fr); separate the columns with one tab each"),
        ("en\na\tb\n", "a.tsv:2: 2 columns for 1 language (en); separate the columns with one tab each"),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_parallel("a.tsv"))
    assert str(caught.value) == message


def test_refused(tmp_path: Path):
    path = tmp_path / "a.tsv"
    with pytest.raises(InputError, match=r"a\.tsv:3: not written: row 2 has no 'fr'; give every row every language"):
        write_parallel(path, ["en", "fr"], [{"en": "a", "fr": "b"}, {"en": "a"}])
    with pytest.raises(InputError, match="a tab inside"):
        write_parallel(path, ["en"], [{"en": "a\tb"}])
    with pytest.raises(ConfigError, match="no languages; name at least one"):
        write_parallel(path, [], [])
    with pytest.raises(ConfigError, match="the language 'en' is there twice"):
        write_parallel(path, ["en", "eng"], [])
    assert not list(tmp_path.iterdir())


def test_aligned_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("cat\n\ndog\n")
    Path("a.fr").write_text("chat\n\nchien")
    rows = [{"en": "cat", "fr": "chat"}, {"en": "", "fr": ""}, {"en": "dog", "fr": "chien"}]
    assert list(read_aligned({"eng": "a.en", "fr": Path("a.fr")})) == rows
    with pytest.raises(ConfigError, match="no languages"):
        list(read_aligned({}))


@pytest.mark.parametrize(("first", "second", "third"), [(5, 3, 3), (3, 5, 3), (3, 5, 7), (5, 5, 3)])
def test_unequal_lengths_name_both_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, second: int, third: int
):
    monkeypatch.chdir(tmp_path)
    counts = {"en": first, "fr": second, "de": third}
    for language, count in counts.items():
        Path(f"a.{language}").write_text("x\n" * count)
    rows = read_aligned({language: f"a.{language}" for language in counts})
    assert [next(rows) for _ in range(3)] == [dict.fromkeys(counts, "x")] * 3
    with pytest.raises(InputError) as caught:
        next(rows)
    longer = next(language for language, count in counts.items() if count > 3)
    shortest = next(language for language, count in counts.items() if count == 3)
    assert str(caught.value) == (
        f"a.{longer}:4: {counts[longer]} lines, but a.{shortest} has 3; "
        "aligned files have the same sentence on the same line: find where one is missing"
    )


def test_tatoeba_files_are_found_by_language(tmp_path: Path):
    for name in ("tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng", "tatoeba.cmn-eng.cmn", "tatoeba.cmn-eng.eng"):
        (tmp_path / name).write_text(f"{name[-3:]}\n")
    assert list(read_aligned(tatoeba_files(tmp_path, "zh"))) == [{"zh": "cmn", "en": "eng"}]
    with pytest.raises(InputError, match="no Tatoeba test set of 'fr'; there should be"):
        tatoeba_files(tmp_path, "fr")
