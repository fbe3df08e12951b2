"""Text of a Wikipedia dump: the articles of ``enwiki-…-pages-articles.xml.bz2``, one sentence per line.

The dump is streamed; only a few pages are in memory at a time. Redirects, disambiguation
pages, lists and pages outside the article namespace are skipped. An article is a document: a blank line ends it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from isoglot.core.errors import ConfigError, InputError, IsoglotError, shown
from isoglot.core.files import storage_error
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.cleaning.sentence_splitter import split_sentences
from isoglot.text.formats.lines import damaged, damaged_file, longest_line, open_to_read, stored_position, too_long
from isoglot.text.formats.wikitext import FILE_NAMESPACES, plain_text
from isoglot.text.provenance import Provenance, Source, Step, read_provenance
from isoglot.text.stream import Report, chunks_of, map_chunks, stream_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_PART = 1 << 16
_CHUNK = 1 << 19  # characters of markup in a chunk
_FILE_KEYS = {"-2", "6", "14"}  # namespaces of media, files and categories

_DISAMBIGUATION_TITLE = re.compile(
    r"\((?:disambiguation|Begriffsklärung|homonymie|значения|значення|消歧义|消歧義|曖昧さ回避|desambiguación|"
    r"desambiguação|disambigua|doorverwijspagina|ujednoznacznienie|توضيح|동음이의)\)$"
)
# Only templates of whole pages: hatnotes, such as Begriffsklärungshinweis, occur in articles.
_DISAMBIGUATION = re.compile(
    r"\{\{\s*(?:disamb(?:ig(?:uation)?)?(?: page| cleanup)?|dab|hndis|geodis|begriffsklärung|homonymie|paronymie|"
    r"неоднозначность|многозначность|неодн|消歧义|消歧義|(?:[人地]名の)?曖昧さ回避|aimai|desambiguación|desambiguação|"
    r"disambigua|dp|ujednoznacznienie|توضيح|동음이의)\s*[|}]",
    re.IGNORECASE,
)
_LIST_TITLE = re.compile(
    r"(?:Lists?|Index|Outline) of\b|Listes? (?:der|des|von|de|d[’'])|Lista d[aeio]|Lijst van\b|Спис(?:ок|ки)\b|"
    r"Перелік\b|قائمة\b|.*(?:列表|一覧|목록)$"
)


class Page(NamedTuple):
    """Page of the article namespace that is not a redirect."""

    title: str
    markup: str


@dataclass
class Site:
    """Header of a dump."""

    language: str = ""
    name: str = ""  # name of the database, such as ``enwiki``
    files: set[str] = field(default_factory=set)  # names of the namespaces of files and categories, in lower case


@dataclass
class WikipediaReport(Report):
    """Counts of what was read, skipped and written."""

    language: str = ""
    pages: int = 0  # pages of any kind
    articles: int = 0  # written
    sentences: int = 0
    words: int = 0  # blank-separated words; characters in languages without blanks
    other_namespaces: int = 0
    redirects: int = 0
    disambiguation: int = 0
    lists: int = 0
    short: int = 0  # articles with too few words


def extract_wikipedia(
    path: str | Path,
    target: str | Path,
    language: str | None = None,
    *,
    min_words: int = 50,
    max_articles: int | None = None,
    max_sentences: int | None = None,
    workers: int = 1,
    progress: Progress = SILENT,
) -> WikipediaReport:
    """Write the text of a dump's articles, one sentence per line, with blank lines between articles.

    Args:
        path: A ``pages-articles`` dump: XML, plain or .bz2 (multistream too), .gz, .xz or .zst.
        target: The text, which is written atomically with its provenance.
        language: Language of the sentences. Default: the one that the dump names.
        min_words: Articles with fewer words are skipped. In languages without blanks, characters are counted.
        max_articles: Maximum number of articles.
        max_sentences: Maximum number of sentences.
        workers: Number of processes that parse markup; the current one decompresses and parses XML.
        progress: Progress reporter, in bytes of the dump.

    Raises:
        ConfigError: The dump names no known language, and none was given.
        InputError: It is not a dump, is damaged, or declares entities.
        StorageError: It cannot be read, or the text cannot be written.
    """
    report, site = WikipediaReport(), Site()
    with progress.task("read " + Path(path).name, total=_size(path), unit="bytes") as task:
        pages = read_pages(path, site, report, advance=task.advance)
        first = next(pages, None)
        report.language = _language(language, site, path)
        work = ArticleWork(report.language, frozenset(FILE_NAMESPACES | site.files), min_words)
        made = _provenance(path, {"step": "wikipedia", "language": report.language, "site": site.name})
        pages = chain(() if first is None else (first,), pages)
        chunks = chunks_of(pages, characters=_CHUNK, length=lambda page: len(page.markup))
        with stream_writer(target, made) as writer:
            for found in map_chunks(work, chunks, workers=workers):
                for article in found:
                    setattr(report, article.kind, getattr(report, article.kind) + 1)
                    kept = article.sentences[: None if max_sentences is None else max_sentences - report.sentences]
                    writer.write_all([*kept, ""])
                    report.sentences += len(kept)
                    report.words += article.words if len(kept) == len(article.sentences) else work.count(kept)
                    if report.articles == max_articles or report.sentences == max_sentences:
                        return report
            if not report.articles:
                problem = f"no articles of {min_words} words or more among {report.pages:,} pages"
                raise InputError(problem, "name a pages-articles dump, or ask for fewer words", "empty", file=path)
    return report


def _language(given: str | None, site: Site, path: str | Path) -> str:
    if given is None and not site.language:
        raise ConfigError(f"{path} does not name its language", "give the language of the text", "missing-option")
    return language_code(given or site.language)


def _provenance(path: str | Path, step: Step) -> Provenance:
    """The dump's provenance with one more step; a dump without a record was written without dictionaries."""
    known = read_provenance(path) or Provenance((Source(Path(path).name),))
    return replace(known, sources=tuple(replace(one, steps=(*one.steps, step)) for one in known.sources))


def _size(path: str | Path) -> int | None:
    try:
        return Path(path).stat().st_size if Path(path).is_file() else None
    except OSError:
        return None  # opening it will report why


# --- the dump ---


def read_pages(
    path: str | Path, site: Site, report: WikipediaReport, *, advance: Callable[[int], None] = lambda _: None
) -> Iterator[Page]:
    """Read the articles of a dump; one page is in memory at a time.

    Args:
        path: The dump, compressed or not.
        site: Filled in before the first page.
        report: Counter of pages, redirects and pages of other namespaces.
        advance: Called with the number of bytes read.

    Raises:
        InputError: It is not a dump, is damaged, or declares entities.
        StorageError: It cannot be read.
    """
    reader = _DumpReader(path, site, report)
    done = 0
    try:
        with open_to_read(Path(path)) as file:
            for part in _parts(file):
                yield from reader.feed(part)
                now = stored_position(file)
                advance(now - done)
                done = now
    except IsoglotError:
        raise
    except expat.ExpatError as error:
        problem = f"malformed XML: {expat.ErrorString(error.code)}"
        line, column = error.lineno, error.offset + 1
        raise _malformed(problem, path, line=line, column=column) from error
    except (LookupError, ValueError) as error:
        raise _malformed("not in the declared encoding", path) from error
    except damaged() as error:
        raise damaged_file(error, path) from error
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def _malformed(problem: str, path: str | Path, **place: int) -> InputError:
    return InputError(problem, remedy="download the dump again", code="input.malformed-xml", file=path, **place)


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    while part := file.read(_PART):
        yield part
    yield b""


class _DumpReader:
    """Incremental parser of dumps.

    Document type declarations, which could declare entities, are rejected: dumps have none.
    """

    def __init__(self, path: str | Path, site: Site, report: WikipediaReport) -> None:
        self._path, self._site, self._report = path, site, report
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._root: str | None = None
        self._text: list[str] | None = None  # text of the open element, if it is needed
        self._size = 0  # characters of the current page
        self._page: dict[str, str] = {}
        self._key = ""
        self._found: list[Page] = []

    def feed(self, part: bytes) -> list[Page]:
        """The pages that end in a chunk; an empty chunk ends the dump."""
        self._parser.Parse(part, not part)
        self._size += len(part)  # an unclosed tag has no characters
        if self._size > longest_line() + _PART:
            raise too_long(self._path, self._parser.CurrentLineNumber, "page")
        found, self._found = self._found, []
        if found:
            self._size = 0
        return found

    def _doctype(self, *_: Any) -> None:  # noqa: ANN401 - expat's own
        problem = "a document type declaration, which may declare unlimited entities"
        remedy = "name a dump as Wikimedia publishes it"
        raise InputError(problem, remedy, "malformed-xml", file=self._path, line=self._parser.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._root is None:
            self._root = name
            if name != "mediawiki":
                raise InputError(
                    f"not a Wikipedia dump: it begins with {shown(name)}",
                    "name a pages-articles.xml file",
                    "unknown-format",
                    file=self._path,
                    line=self._parser.CurrentLineNumber,
                )
            self._site.language = attributes.get("xml:lang", "")
        elif name == "page":
            self._page, self._size = {}, 0
        elif name == "redirect":
            self._page["redirect"] = attributes.get("title", "")
        elif name == "namespace":
            self._key = attributes.get("key", "")
        self._text = [] if name in _WANTED else None

    def _characters(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def _end(self, name: str) -> None:
        text = "" if self._text is None else "".join(self._text)
        self._text = None
        if name == "dbname":
            self._site.name = text
        elif name == "namespace" and self._key in _FILE_KEYS:
            self._site.files.add(text.lower())
        elif name == "page":
            self._finish()
        elif name in _WANTED:
            self._page[name] = text

    def _finish(self) -> None:
        page = self._page
        self._report.pages += 1
        if page.get("ns", "0").strip() != "0":
            self._report.other_namespaces += 1
        elif "redirect" in page:
            self._report.redirects += 1
        elif page.get("title") and page.get("text"):
            self._found.append(Page(page["title"], page["text"]))
        self._page = {}


_WANTED = frozenset(("title", "ns", "text", "dbname", "namespace"))


# --- the articles ---


class Article(NamedTuple):
    """Result for a page."""

    kind: str  # field of the report to count it in: ``articles``, or the reason why it is skipped
    sentences: list[str]
    words: int


@dataclass(frozen=True)
class ArticleWork:
    """Sentences of pages; a worker's share of the work.

    Args:
        language: Language of the sentences.
        files: Lower-case names of the namespaces whose links show no text.
        min_words: Articles with fewer words are skipped.
    """

    language: str
    files: frozenset[str]
    min_words: int

    def __call__(self, pages: list[Page]) -> list[Article]:
        """The result for each page."""
        return [self._article(page) for page in pages]

    def _article(self, page: Page) -> Article:
        if _DISAMBIGUATION_TITLE.search(page.title) or _DISAMBIGUATION.search(page.markup):
            return Article("disambiguation", [], 0)
        if _LIST_TITLE.match(page.title):
            return Article("lists", [], 0)
        paragraphs = plain_text(page.markup, files=self.files, joint=" " if self._blanks else "")
        split = (one for text in paragraphs for one in split_sentences(text, self.language))
        sentences = [one for one in split if any(sign.isalnum() for sign in one)]
        words = self.count(sentences)
        return Article("articles", sentences, words) if words >= self.min_words else Article("short", [], 0)

    @property
    def _blanks(self) -> bool:
        return written_with_blanks(self.language)

    def count(self, sentences: list[str]) -> int:
        """Words, or characters in languages without blanks."""
        return sum(len(one.split()) if self._blanks else len(one) for one in sentences)
