from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.parallel import read_aligned, read_parallel, tatoeba_files, write_parallel
from tests.errors import raises

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("input.malformed-line", "a.tsv:1", "''")),
        ("a cat\tfr\n", ("input.malformed-line", "a.tsv:1", "'a cat\\tfr'", "'a cat'")),
        ("en\teng\n", ("input.malformed-line", "a.tsv:1", "'en\\teng'", "'en'")),
        ("en\tfr\na\tb\nc\n", ("input.column-count", "a.tsv:3", "1", "2", "en", "fr")),
        ("en\na\tb\n", ("input.column-count", "a.tsv:2", "2", "1", "en")),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text(text)
    with raises(*expected):
        list(read_parallel("a.tsv"))


def test_refused(tmp_path: Path):
    path = tmp_path / "a.tsv"
    with raises("input.not-writable", "a.tsv", 2, "'fr'", line=3):
        write_parallel(path, ["en", "fr"], [{"en": "a", "fr": "b"}, {"en": "a"}])
    with raises("input.not-writable", "'a\\tb'"):
        write_parallel(path, ["en"], [{"en": "a\tb"}])
    with raises("config.missing-data"):
        write_parallel(path, [], [])
    with raises("config.duplicate", "'en'"):
        write_parallel(path, ["en", "eng"], [])
    assert not list(tmp_path.iterdir())


def test_aligned_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("cat\n\ndog\n")
    Path("a.fr").write_text("chat\n\nchien")
    rows = [{"en": "cat", "fr": "chat"}, {"en": "", "fr": ""}, {"en": "dog", "fr": "chien"}]
    assert list(read_aligned({"eng": "a.en", "fr": Path("a.fr")})) == rows
    with raises("config.missing-data"):
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
    longer = next(language for language, count in counts.items() if count > 3)
    shortest = next(language for language, count in counts.items() if count == 3)
    with raises("input.line-count", counts[longer], f"a.{shortest}", 3, file=f"a.{longer}", line=4):
        next(rows)


def test_tatoeba_files_are_found_by_language(tmp_path: Path):
    for name in ("tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng", "tatoeba.cmn-eng.cmn", "tatoeba.cmn-eng.eng"):
        (tmp_path / name).write_text(f"{name[-3:]}\n")
    assert list(read_aligned(tatoeba_files(tmp_path, "zh"))) == [{"zh": "cmn", "en": "eng"}]
    with raises("input.empty", "'fr'"):
        tatoeba_files(tmp_path, "fr")
