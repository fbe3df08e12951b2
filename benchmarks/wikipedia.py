"""How fast and how clean a Wikipedia dump becomes text, beside other extractors.

Without arguments: a synthetic dump of built-in English with infoboxes, tables, footnotes, files and links around it, so
that it is known which words are text. ``--dump FILE`` takes a real dump instead. mwparserfromhell and gensim's
``filter_wiki`` stand beside ours where they are installed; the target is to be faster than each of them.
"""

from __future__ import annotations

import argparse
import bz2
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

from isoglot.core.table import Column, Table
from isoglot.languages import documents
from isoglot.text.formats.wikipedia import Page, Site, WikipediaReport, read_pages
from isoglot.text.formats.wikitext import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|'''|<ref|\bthumb\||\|\s*(?:align|style|class)\s*=")


INFOBOX = """{{Infobox thing
| name = Thing
| image = [[File:A.jpg|thumb|A [[lump]] of it]]
| x = {{convert|1|m}}
}}
"""
TABLE = """{| class="wikitable"
! Year !! Count
|-
| 1999 || {{nowrap|12}}
|-
| 2000 || [[13]]
|}
"""
NOTE = "<ref name=a>{{cite web|url=http://a.example/b|title=[[Note]] {{lang|fr|mot}}}}</ref>"
STYLES = ("[[{}]]", "[[Thing in the world|{}]]", "''{}''", "'''{}'''")


def marked_up(sentences: list[str], rng: np.random.Generator) -> str:
    """An article of the sentences, with the kinds of markup that articles have."""
    paragraphs = []
    for start in range(0, len(sentences), 5):
        words = " ".join(sentences[start : start + 5]).split(" ")
        for place in rng.permutation(len(words))[: len(words) // 8]:
            words[place] = STYLES[rng.integers(4)].format(words[place])
        for place in rng.permutation(len(words))[: len(words) // 20]:
            words[place] += NOTE
        paragraphs.append(" ".join(words))
    return INFOBOX + "\n\n== Part ==\n".join(paragraphs) + f"\n{TABLE}\n[[Category:Things]]\n"


def synthetic(path: Path, size: int) -> str:
    """Write a dump of about that many bytes; returns the text that was marked up."""
    rng, done, kept = np.random.default_rng(0), 0, []
    with bz2.open(path, "wt", encoding="utf-8") as file:
        file.write('<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>\n')
        for number, document in enumerate(documents("en", seed=1)):
            sentences = [sentence.text for sentence in document] * 8
            kept += sentences
            text = marked_up(sentences, rng)
            done += len(text)
            page = f"<title>Page {number}</title><ns>0</ns><revision><text>{escape(text)}</text></revision>"
            file.write(f"<page>{page}</page>\n")
            if done >= size:
                break
        file.write("</mediawiki>\n")
    return " ".join(kept)


def extractors() -> dict[str, Callable[[str], str]]:
    """Ours, and others that are installed."""
    found: dict[str, Callable[[str], str]] = {"isoglot": lambda markup: "\n".join(plain_text(markup))}
    try:
        parser = import_module("mwparserfromhell")
        found["mwparserfromhell"] = lambda markup: str(parser.parse(markup).strip_code())
    except ImportError:
        print("mwparserfromhell is not installed")
    try:
        found["gensim"] = import_module("gensim.corpora.wikicorpus").filter_wiki
    except ImportError:
        print("gensim is not installed")
    return found


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def compared(pages: list[Page], reference: str | None) -> Table:
    """Speed, and what is left of the markup, of every extractor."""
    size = sum(len(page.markup.encode()) for page in pages) / 1e6
    rows = []
    for name, extract in extractors().items():
        seconds = []
        for _ in range(2):
            start = time.process_time()
            texts = [extract(page.markup) for page in pages]
            seconds.append(time.process_time() - start)
        text = "\n".join(texts)
        row: dict[str, object] = {"extractor": name, "speed": size / min(seconds), "left": len(MARKUP.findall(text))}
        if reference is not None:
            true, found = words(reference), words(text)
            right = (true & found).total()
            row |= {"precision": right / max(found.total(), 1), "recall": right / true.total()}
        rows.append(row)
    ours = rows[0]["speed"]
    columns = [
        Column("extractor"),
        Column("speed", unit="MB/s", format=".2f", best="max"),
        Column("ratio", title="ours is so many times as fast", format=".1f"),
        Column("left", title="signs of markup left", best="min"),
    ]
    if reference is not None:
        columns += [Column(name, title=f"words, {name}", format=".4f", best="max") for name in ("precision", "recall")]
    rows = [{**row, "ratio": ours / row["speed"]} for row in rows]  # type: ignore[operator]
    return Table.from_rows(rows, columns, caption=f"{len(pages):,} articles, {size:.1f} MB of markup")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", type=Path, help="a pages-articles dump. Default: a synthetic one")
    parser.add_argument("--megabytes", type=float, default=4, help="size of the synthetic dump")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.dump or Path(folder, "dump.xml.bz2")
        reference = None if options.dump else synthetic(path, int(options.megabytes * 1e6))
        pages = list(read_pages(path, Site(), WikipediaReport()))
        table = compared(pages, reference)
        print(table)
        command = [sys.executable, "-m", "isoglot", "text", "wikipedia", str(path), "--out", f"{folder}/text.txt"]
        subprocess.run([*command, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        speed = path.stat().st_size / 1e6 / used.ru_utime
        print(f"the whole verb in one process, its start included: {speed:.2f} MB of the compressed dump a second")
    slower = [row["extractor"] for row in table.dicts() if isinstance(row["ratio"], float) and row["ratio"] < 1]
    if slower:
        print(f"below target: not as fast as {', '.join(map(str, slower))}")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
