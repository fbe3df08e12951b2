"""Long pages as several: no page of the site has many more than 1,500 words.

A Markdown file that grew over that is divided at its headings, and where a section alone is longer, between its paragraphs or
the rows of its table. The first part keeps the name of the page and lists the others; links to a heading that moved follow it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIMIT = 1500
FENCE = re.compile(r"^(```.*?^```|\$\$.*?^\$\$)", flags=re.DOTALL | re.MULTILINE)


class Part(NamedTuple):
    """One page of several: its name, its title and its text without the title."""

    name: str
    title: str
    text: str


def words(text: str) -> int:
    """Words of a page's prose and tables: code, formulas, addresses and numbers are not counted."""
    text = re.sub(r"\]\([^)\s]*\)", "]", FENCE.sub("", text))
    return sum(1 for word in text.split() if re.search(r"[^\W\d_]{2}", word))


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower()).replace(" ", "-")


def parts(name: str, text: str) -> list[Part]:
    """A page divided into parts of at most about ``LIMIT`` words; a page that is short enough is one part."""
    title, body = re.match(r"# ([^\n]+)\n(.*)", text, flags=re.DOTALL).groups()  # type: ignore[union-attr]
    if words(body) <= LIMIT * 1.07:
        return [Part(name, title, body)]
    pages: list[tuple[list[str], str]] = []
    for heading, section in _sections(body):
        for number, piece in enumerate(_pieces(section)):
            label = heading
            if number:
                below = re.match(r"\s*### ([^\n]+)\n", piece)
                label = below[1] if below else f"{heading}, continued"
                piece = piece[below.end() :] if below else piece  # noqa: PLW2901 - its heading is the page's title
            if pages and not number and words(pages[-1][1]) + words(piece) <= LIMIT:
                pages[-1][0].append(label)
                pages[-1] = (pages[-1][0], f"{pages[-1][1]}\n{_headed(label, piece)}")
            else:
                pages.append(([label], _headed(label, piece)))
    first, *rest = pages
    found = [Part(name, title, first[1])]
    for number, (labels, piece) in enumerate(rest, 2):
        alone = len(labels) == 1
        found.append(Part(f"{name}.{number}", _title(labels), _raised(piece.partition("\n")[2]) if alone else piece))
    return found


def _raised(text: str) -> str:
    """A section without its heading: those below it move up by one level."""
    return _outside_code(text, lambda prose: re.sub(r"^#(#{2,} )", r"\1", prose, flags=re.MULTILINE))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "".join(each if FENCE.match(each) else change(each) for each in FENCE.split(text))


def _title(labels: list[str]) -> str:
    joined = " · ".join(labels)
    return joined if len(joined) <= 70 else f"{labels[0]} to {labels[-1]}"


def _headed(label: str, piece: str) -> str:
    return f"## {label}\n{piece}" if label else piece


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """What stands before the first heading of the second level, under an empty name, and every section."""
    hidden = FENCE.sub(lambda found: re.sub(r"^#", "\0", found[0], flags=re.MULTILINE), body)
    before, *rest = re.split(r"^## ", hidden, flags=re.MULTILINE)
    yield "", before.replace("\0", "#")
    for section in rest:
        heading, _, text = section.replace("\0", "#").partition("\n")
        yield heading.strip(), text


def _pieces(section: str) -> Iterator[str]:
    """A section as pieces of at most about ``LIMIT`` words."""
    if words(section) <= LIMIT:
        yield section
        return
    piece: list[str] = []
    blocks = re.split(r"^(?=### )", section, flags=re.MULTILINE) if "\n### " in section else [section]
    for block in (part for each in blocks for part in ([each] if words(each) <= LIMIT else _blocks(each))):
        if (before := words("\n".join(piece))) > 0 and before + words(block) > LIMIT:
            yield "\n".join(piece)
            piece = []
        piece.append(block)
    yield "\n".join(piece)


def _blocks(section: str) -> Iterator[str]:
    """Paragraphs, items of lists and tables; a long table as several with the same head."""
    hidden = FENCE.sub(lambda found: found[0].replace("\n", "\0"), section)
    for found in re.split(r"\n(?=\n)|\n(?=[-*] )", hidden):
        block = found.replace("\0", "\n")
        lines = block.strip().splitlines()
        if len(lines) > 8 and all(line.startswith("|") for line in lines) and words(block) > LIMIT // 2:
            head, rows = lines[:2], lines[2:]
            share = max(1, len(rows) * (LIMIT // 2) // words(block))
            yield from ("\n" + "\n".join([*head, *rows[at : at + share]]) for at in range(0, len(rows), share))
        else:
            yield block


def divided(docs: Path) -> dict[str, list[Part]]:
    """The parts of every page that is longer than one, by the page's name below ``docs``."""
    found = {}
    for folder in (docs, docs / "project", docs / "reference"):
        for path in sorted(folder.glob("*.md")):
            text = path.read_text(encoding="utf-8")
            if "." not in path.stem and text.startswith("# ") and len(pages := parts(path.stem, text)) > 1:
                found[path.relative_to(docs).with_suffix("").as_posix()] = pages
    return found


def write_parts(docs: Path, pages: dict[str, list[Part]]) -> None:
    """Write all parts but the first, and remove those that an earlier build wrote and this one has not."""
    made = {(docs / page).with_name(f"{each.name}.md"): each for page, found in pages.items() for each in found[1:]}
    for path in {*docs.glob("*.*.md"), *docs.glob("project/*.*.md"), *docs.glob("reference/*.*.md")} - set(made):
        path.unlink()
    for path, each in made.items():
        text = f"# {each.title}\n{each.text}"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def first_page(pages: list[Part]) -> str:
    """The page that keeps the name: its own part, and the list of the others."""
    first, *rest = pages
    listed = "\n".join(f"- [{each.title}]({each.name}.md)" for each in rest)
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(each.name for each in rest), "```"])
    head, below, after = first.text.partition("\n## ")
    return f"# {first.title}\n{head}\n\nOn further pages:\n\n{listed}\n\n{toctree}\n{below}{after}"


def moved(pages: dict[str, list[Part]]) -> dict[tuple[str, str], str]:
    """(file name, anchor) to the file name of the part that has the heading now."""
    return {
        (f"{part[0].name}.md", anchor(heading)): f"{each.name}.md"
        for part in pages.values()
        for each in part[1:]
        for heading in [each.title, *re.findall(r"^#{2,4} (.+)$", each.text, flags=re.MULTILINE)]
    }


def followed(text: str, places: dict[tuple[str, str], str]) -> str:
    """Links to headings that moved to another part, as they are on the site."""

    def link(found: re.Match[str]) -> str:
        folder, file, part = found.groups()
        place = places.get((file, part))
        return f"]({folder}{place}#{part})" if place else found[0]

    return re.sub(r"\]\(((?:[\w.-]+/)*)([\w.-]+\.md)#([\w-]+)\)", link, text)
