"""A Wikipedia dump as text: a hand-written dump, every compression, and what is no dump."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tracemalloc
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
import zstandard
from typer.testing import CliRunner

from isoglot.cli.main import app
from isoglot.text.formats.lines import set_longest_line
from isoglot.text.formats.wikipedia import Site, WikipediaReport, extract_wikipedia, read_pages
from isoglot.text.provenance import read_provenance
from tests.errors import raises

IRON = """{{Infobox element|name=Iron|image=[[File:Iron.jpg|thumb|A [[lump]]]]}}
'''Iron''' is a [[chemical element|element]].<ref>{{cite book|title=A}}</ref> Dr. Smith likes it.
{| class="wikitable"
| 1 || 2
|}
== History ==
It was known early. It rusts &lt;i&gt;slowly&lt;/i&gt;&nbsp;& surely.
* See [[Steel]]
[[Category:Elements]]"""


def page(title: str, text: str, *, namespace: int = 0, redirect: str = "") -> str:
    moved = f'<redirect title="{redirect}" />' if redirect else ""
    return (
        f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>1</id>{moved}<revision><id>2</id><contributor>"
        f"<username>A</username></contributor><comment>c &amp; d</comment><text bytes='9' xml:space='preserve'>"
        f"{escape(text)}</text></revision></page>\n"
    )


def dump(*pages: str, language: str = ' xml:lang="en"') -> bytes:
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11"{language}>\n<siteinfo>'
        "<sitename>Wikipedia</sitename><dbname>enwiki</dbname><namespaces><namespace key='-2'>Media</namespace>"
        "<namespace key='0' /><namespace key='6'>Bilddatei</namespace></namespaces></siteinfo>\n"
        f"{''.join(pages)}</mediawiki>\n"
    ).encode()


PAGES = [
    page("Iron", IRON),
    page("Ferrum", "#REDIRECT [[Iron]]", redirect="Iron"),
    page("Talk:Iron", "Talk is cheap.", namespace=1),
    page("Iron (disambiguation)", "Iron may be many things in many places."),
    page("Mercury", "'''Mercury''' may be:\n* A planet.\n{{disambiguation|geo}}"),
    page("List of metals", "There are many metals in the list of them."),
    page("Tin", "Tin is a metal."),
    page(
        "Gold",
        "[[Bilddatei:Gold.jpg|A nugget]]Gold is a metal. {{Disambiguation needed}} People pay for it. 3 < 4 & so on.",
    ),
]
TEXT = """Iron is a element.
Dr. Smith likes it.
It was known early.
It rusts <i>slowly</i> & surely.

Gold is a metal.
People pay for it.
3 < 4 & so on.
"""


def written(tmp_path: Path, content: bytes, name: str = "dump.xml", **options) -> tuple[str, WikipediaReport]:
    (tmp_path / name).write_bytes(content)
    report = extract_wikipedia(tmp_path / name, tmp_path / "en.txt", min_words=options.pop("min_words", 6), **options)
    return (tmp_path / "en.txt").read_text("utf-8"), report


def test_articles_become_documents_of_sentences(tmp_path: Path):
    text, report = written(tmp_path, dump(*PAGES))
    assert text == TEXT
    assert report.facts() == {
        "language": "en", "pages": 8, "articles": 2, "sentences": 7, "words": 31, "other_namespaces": 1, "redirects": 1,
        "disambiguation": 2, "lists": 1, "short": 1,
    }  # fmt: skip
    assert report.words == len(text.split())


def in_two_streams(content: bytes) -> bytes:
    return bz2.compress(content[:700]) + bz2.compress(content[700:])


@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        (".bz2", bz2.compress),
        (".bz2", in_two_streams),
        (".gz", gzip.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.compress),
    ],
)
def test_compressed_dumps(tmp_path: Path, ending: str, pack):
    assert written(tmp_path, pack(dump(*PAGES)), f"dump.xml{ending}")[0] == TEXT


def test_two_processes_write_the_same(tmp_path: Path):
    pages = [page(f"Iron {number}", IRON * 40) for number in range(60)]  # several chunks
    alone, report = written(tmp_path, dump(*pages))
    assert report.articles == 60
    assert written(tmp_path, dump(*pages), workers=2)[0] == alone


def test_the_record_names_the_dump_and_no_dictionary(tmp_path: Path):
    written(tmp_path, dump(*PAGES))
    found = read_provenance(tmp_path / "en.txt")
    assert found is not None
    assert found.facts() == {
        "sources": [
            {
                "file": "dump.xml",
                "known": True,
                "steps": [{"step": "wikipedia", "language": "en", "site": "enwiki"}],
            }
        ],
        "dictionaries": [],
    }


def test_limits(tmp_path: Path):
    assert written(tmp_path, dump(*PAGES), max_articles=1)[0] == TEXT.partition("\n\n")[0] + "\n"
    text, report = written(tmp_path, dump(*PAGES), max_sentences=5)
    assert text == TEXT.partition("People")[0]
    assert (report.articles, report.sentences, report.words) == (2, 5, len(text.split()))
    assert written(tmp_path, dump(*PAGES), min_words=0)[1].short == 0


def test_a_language_without_blanks_is_split_by_its_stops_and_counted_by_characters(tmp_path: Path):
    text, report = written(tmp_path, dump(page("铁", "'''铁'''是\n金属。它会生锈。")), language="zh", min_words=8)
    assert text == "铁是金属。\n它会生锈。\n"
    assert report.words == 10


def test_the_language_is_the_dumps_own_or_the_one_that_is_given(tmp_path: Path):
    german = dump(page("Eisen", "Am 3. Mai kam das Eisen. Es blieb."), language=' xml:lang="de"')
    assert written(tmp_path, german)[0] == "Am 3. Mai kam das Eisen.\nEs blieb.\n"
    assert written(tmp_path, german, language="en")[1].language == "en"
    with raises("config.missing-option"):
        written(tmp_path, dump(*PAGES, language=""))


LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE mediawiki [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<mediawiki xml:lang="en"><page><title>&c;</title><ns>0</ns><revision><text>&c;</text></revision></page></mediawiki>
"""


@pytest.mark.parametrize(
    ("name", "content", "code", "value"),
    [
        ("d.xml", LAUGHS, "input.malformed-xml", "d.xml"),
        ("d.xml", b"<html><body>no</body></html>", "input.unknown-format", "'html'"),
        ("d.xml", b"", "input.malformed-xml", "d.xml"),
        ("d.xml", dump(*PAGES)[:-20], "input.malformed-xml", "d.xml"),
        ("d.xml", dump(*PAGES).replace(b"</title>", b"</titel>", 1), "input.malformed-xml", "d.xml:3"),
        ("d.xml", b"<mediawiki>&undefined;</mediawiki>", "input.malformed-xml", "d.xml:1"),
        ("d.xml", b'<?xml version="1.0" encoding="klingon"?><mediawiki/>', "input.malformed-xml", "d.xml"),
        ("d.xml", dump(page("Talk:A", "b", namespace=1)), "input.empty", "d.xml"),
        ("d.xml.bz2", bz2.compress(dump(*PAGES))[:-20], "input.damaged-compression", "d.xml.bz2"),
        ("d.xml.bz2", dump(*PAGES), "input.damaged-compression", "d.xml.bz2"),
        (
            "d.xml.bz2",
            bz2.compress(dump(*PAGES)).replace(b"1AY&SY", b"1AY&SX"),
            "input.damaged-compression",
            "d.xml.bz2",
        ),
        ("d.xml.gz", gzip.compress(dump(*PAGES))[:-20], "input.damaged-compression", "d.xml.gz"),
        ("d.xml.xz", lzma.compress(dump(*PAGES))[:-20], "input.damaged-compression", "d.xml.xz"),
        ("d.xml.zst", zstandard.compress(dump(*PAGES))[:-5], "input.damaged-compression", "d.xml.zst"),
    ],
)
def test_what_is_no_dump_is_refused_in_a_line_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes, code: str, value: str
):
    with raises(code, name, value) as error:
        written(tmp_path, content, name)
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_page_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path):
    path = tmp_path / "dump.xml.gz"
    path.write_bytes(gzip.compress(dump(page("A", "a " * 2_000_000))))
    set_longest_line(1_000_000)
    try:
        with raises("input.line-length", "1,000,000"):
            list(read_pages(path, Site(), WikipediaReport()))
    finally:
        set_longest_line()


def test_memory_does_not_grow_with_the_dump(tmp_path: Path):
    path = tmp_path / "dump.xml.gz"
    path.write_bytes(gzip.compress(dump(*[page("A", "a [[b]] c. " * 1000)] * 400), 1))  # 4.4 MB
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_pages(path, Site(), WikipediaReport())) == 400
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_500_000


def test_progress_is_in_bytes_of_the_dump(tmp_path: Path):
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(bz2.compress(dump(*PAGES * 50)))
    seen: list[int] = []
    assert len(list(read_pages(path, Site(), WikipediaReport(), advance=seen.append))) == 300
    assert sum(seen) == path.stat().st_size


def test_the_verb(tmp_path: Path):
    (tmp_path / "dump.xml.bz2").write_bytes(bz2.compress(dump(*PAGES)))
    command = ["text", "wikipedia", str(tmp_path / "dump.xml.bz2"), "--out", str(tmp_path / "en.txt.gz"), "--json"]
    found = CliRunner().invoke(app, [*command, "--min-words", "6", "--quiet"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["articles"] == 2
    assert gzip.decompress((tmp_path / "en.txt.gz").read_bytes()).decode() == TEXT
