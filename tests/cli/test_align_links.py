"""``isoglot align links`` and ``isoglot align dictionary``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.align.bitext import read_bitext
from isoglot.core.files import read_json
from isoglot.text.dictionary import read_dictionary

ENGLISH = ["the house is big", "the book is red", "a house", "", "a red book", "the big house"]
GERMAN = ["das haus ist groß", "das buch ist rot", "ein haus", "leer", "ein rotes buch", "das große haus"]


@pytest.fixture
def bitext(tmp_path: Path) -> list[str]:
    for code, lines in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"{code}.txt").write_text("\n".join(lines * 5) + "\n")
    return [part for code in ("en", "de") for part in ("--parallel", f"{code}={tmp_path}/{code}.txt")]


def test_links_words_and_aligner_are_written_and_used_again(isoglot, bitext: list[str], tmp_path: Path):
    out = tmp_path / "links"
    result = isoglot("align", "links", *bitext, "--out", out, "--json", "--quiet")
    assert (result.code, result.err) == (0, "")
    facts = json.loads(result.out)
    assert facts["pairs"] == {"pairs": 30, "blank": 0, "one_sided": 5, "overlong": 0, "used": 25}
    assert facts == {"out": str(out), **read_json(out / "metrics.json")}
    assert read_json(out / "run.json")["status"] == "finished"
    read = read_bitext({"en": out / "en.txt", "de": out / "de.txt"}, ("en", "de"), out / "links.txt")
    assert read.links[0] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert read.links[3] == []
    gold = out / "links.txt"
    again = isoglot("align", "links", *bitext, "--aligner", out, "--gold", gold, "--out", tmp_path / "again", "--json")
    assert json.loads(again.out)["scores"]["aer"] == 0
    assert (tmp_path / "again" / "links.txt").read_text() == gold.read_text()
    assert not (tmp_path / "again" / "aligner.safetensors").exists()


def test_a_dictionary_each_way(isoglot, bitext: list[str], tmp_path: Path):
    out = tmp_path / "words"
    result = isoglot("align", "dictionary", *bitext, "--out", out)
    assert result.code == 0
    assert "en-de: " in result.out
    found = {entry.source: entry.target for entry in reversed(list(read_dictionary(out / "de-en.tsv")))}
    assert (found["haus"], found["buch"], found["das"]) == ("house", "book", "the")
    first = next(iter(read_dictionary(out / "en-de.tsv")))
    assert (first.source, first.target, first.weight) == ("house", "haus", 15.0)
    strict = isoglot("align", "dictionary", *bitext, "--out", out, "--set", "keep.least_count=11", "--json", "--quiet")
    assert json.loads(strict.out)["en-de"]["words"] < len(found)


def test_built_in_gold_is_scored(isoglot, tmp_path: Path):
    result = isoglot("align", "links", "--langs", "en,fr", "--sentences", "300", "--out", tmp_path, "--quiet")
    assert result.code == 0
    assert "AER 0." in result.out


def test_two_languages_of_a_table(isoglot, tmp_path: Path):
    table = tmp_path / "all.tsv"
    rows = zip(ENGLISH, ["x"] * 6, GERMAN, strict=True)
    table.write_text("en\tfr\tde\n" + "".join("\t".join(row) + "\n" for row in rows))
    command = ["align", "links", "--parallel", table, "--out", tmp_path / "out"]
    assert "--parallel names en, fr, de; name two languages" in isoglot(*command).err
    assert "all.tsv has no ru; it has en, fr, de" in isoglot(*command, "--langs", "en,ru").err
    assert isoglot(*command, "--langs", "de,en").code == 0
    assert (tmp_path / "out" / "de.txt").read_text().splitlines()[0] == GERMAN[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["links"], "--parallel is missing; give --parallel en=a.txt"),
        (
            ["links", "--langs", "en,fr", "--parallel", "en=x"],
            "--langs chooses from a table; leave it out: the files name theirs",
        ),
        (["links", "--langs", "en,fr", "--aligner", "x", "--set", "null=0.1"], "--set and --aligner together"),
        (["links", "--langs", "en,fr", "--set", "nul=0.1"], "unknown key 'nul'; did you mean 'null'?"),
        (
            ["dictionary", "--langs", "en,fr", "--aligner", "x", "--set", "keep.case=keep", "--set", "align.null=0.5"],
            "--set align.… and --aligner together; an aligner has its settings: leave --set align.… out",
        ),
        (["links", "--langs", "en,eng"], "--langs 'en,eng' is en twice; name two languages: --langs en,fr"),
        (
            ["links", "--langs", "en,fr", "--gold", "x"],
            "--gold with built-in sentences; leave it out: they have their own, and are scored on it",
        ),
        (["dictionary", "--langs", "en,fr", "--links", "x"], "--links with --aligner or built-in sentences"),
    ],
)
def test_what_is_refused(isoglot, tmp_path: Path, more: list[str], message: str):
    result = isoglot("align", *more, "--out", tmp_path / "out")
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_an_aligner_of_other_languages_is_refused(isoglot, bitext: list[str], tmp_path: Path):
    isoglot("align", "links", "--langs", "en,fr", "--sentences", "50", "--out", tmp_path / "fr")
    result = isoglot("align", "links", *bitext, "--aligner", tmp_path / "fr", "--out", tmp_path / "de")
    assert result.code == 2
    assert "the aligner is for en and fr, the text is en and de" in result.err
    (tmp_path / "few.txt").write_text("0-0\n")
    result = isoglot("align", "dictionary", *bitext, "--links", tmp_path / "few.txt", "--out", tmp_path / "de")
    assert "few.txt: 1 lines of links for 30 sentence pairs" in result.err


def test_the_record_has_the_settings_of_the_aligner(isoglot, bitext: list[str], tmp_path: Path):
    isoglot("align", "links", *bitext, "--set", "null=0.3", "--out", tmp_path / "made")
    used = [*bitext, "--aligner", tmp_path / "made"]
    assert isoglot("align", "links", *used, "--out", tmp_path / "links").code == 0
    assert read_json(tmp_path / "links" / "run.json")["config"]["null"] == 0.3
    assert isoglot("align", "dictionary", *used, "--set", "keep.case=keep", "--out", tmp_path / "words").code == 0
    config = read_json(tmp_path / "words" / "run.json")["config"]
    assert (config["align"]["null"], config["keep"]["case"]) == (0.3, "keep")


def test_gold_is_checked_before_anything_is_learned(
    isoglot, bitext: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("isoglot.cli.align_links._learned", lambda *_, **__: pytest.fail("it learned"))
    (tmp_path / "few.txt").write_text("0-0\n")
    result = isoglot("align", "links", *bitext, "--gold", tmp_path / "few.txt", "--out", tmp_path / "out")
    assert result.code == 2
    assert "few.txt: 1 lines of links for 30 sentence pairs; give one line of links" in result.err
    assert len(result.err.splitlines()) == 1


def test_the_first_sentences_of_files(isoglot, bitext: list[str], tmp_path: Path):
    gold = tmp_path / "gold.txt"
    gold.write_text(("0-0\n" * 3 + "\n" + "0-0\n" * 2) * 5)
    cut = [*bitext, "--sentences", "6", "--json", "--quiet"]
    result = isoglot("align", "links", *cut, "--gold", gold, "--out", tmp_path / "links")
    assert json.loads(result.out)["pairs"]["pairs"] == 6
    assert (tmp_path / "links" / "en.txt").read_text().splitlines() == ENGLISH
    assert len((tmp_path / "links" / "links.txt").read_text().splitlines()) == 6
    for more in ([], ["--links", gold]):
        result = isoglot("align", "dictionary", *cut, *more, "--out", tmp_path / "words")
        assert json.loads(result.out)["pairs"] == 6
