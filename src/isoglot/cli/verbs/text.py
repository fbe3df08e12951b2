"""``isoglot text``: clean, split, segment and code-switch text; find test sentences in it; read Wikipedia dumps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.declaration import argument, option, verb
from isoglot.cli.inputs import files_of, parse_named, parse_pairs, refuse_without
from isoglot.cli.options import MAX_LINE, FileOut, MaxLine, OptionalOut, Out, Seed, Settings, SkipBad
from isoglot.cli.output import Output
from isoglot.cli.run_files import publish, refuse_overwriting
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.core.config import Config
    from isoglot.report.results import Rendering

app = typer.Typer()

Text = Annotated[
    list[str], option("LANG=FILE", "The text of a language: plain, .bz2, .gz, .xz or .zst. May be repeated.")
]
Workers = Annotated[int, option("N", "Number of processes.", min=1, max=256)]
SegmentOption = Annotated[
    Literal["auto", "unicode", "moses", "jieba", "thai", "blanks", "characters"],
    option(text="Word segmentation; auto: unicode, but jieba for Chinese and thai for Thai."),
]


@dataclass(frozen=True)
class Texts:
    """Text of one or more languages."""

    text: Text
    skip_bad: SkipBad = 0
    max_line: MaxLine = MAX_LINE


@dataclass(frozen=True)
class RewrittenTexts(Texts):
    """Text of one or more languages that is written anew, one file per language.

    Options:
        compress: Compression of the text that is written.
    """

    workers: Workers = 1
    compress: Literal["none", "gz", "xz", "zst"] = "none"


@verb(app, "clean", example="text clean --text en=en.txt.xz --out clean/ --set min_characters=20")
def clean(*, texts: RewrittenTexts, out: Out, settings: Settings = None, output: Output) -> None:
    """Normalize text (NFKC, control characters, white space) and drop lines in other scripts and seen before.

    Settings: min_script_share of letters in the language's scripts, min_characters, max_characters, and
    deduplicate, which is line, document or none.
    """
    from isoglot.core.config import build_config
    from isoglot.text.cleaning.clean import CleanConfig, clean_files

    config = build_config(CleanConfig, settings=settings or ())
    job = _Job(texts, out, output, config=config)
    job.run(lambda language, paths, target, **how: clean_files(paths, target, language, config, **how))


@verb(app, "declare", example="text declare --text en=wiki.en.txt.xz")
def declare(*, text: Text, output: Output) -> None:
    """Declare that text from elsewhere is not code-switched: no word was replaced by its translation.

    The record is FILE.provenance.json, beside the text. Text that isoglot writes has one already. A text without a
    record is of unknown provenance, and every score of words of what is trained on it says so.
    """
    from isoglot.text.provenance import declare as record

    written = [str(record(path)) for paths in parse_named(text).values() for path in paths]
    output.result({"records": written}, "\n".join(f"{path} written" for path in written))


@verb(app, "sentences", example="text sentences --text de=de.txt --out sentences/")
def sentences(*, texts: RewrittenTexts, out: Out, output: Output) -> None:
    """Write one sentence per line, with a blank line between documents."""
    from isoglot.text.cleaning.sentence_splitter import LineSplitter
    from isoglot.text.stream import rewrite

    job = _Job(texts, out, output)
    job.run(lambda language, paths, target, **how: rewrite(paths, target, LineSplitter(language), **how))


@verb(app, "segment", example="text segment --text zh=zh.txt --segment jieba --out words/")
def segment(*, texts: RewrittenTexts, out: Out, segment: SegmentOption = "auto", output: Output) -> None:
    """Write text with one space between words and punctuation marks."""
    from isoglot.text.cleaning.segmentation import LineSegmenter
    from isoglot.text.stream import rewrite

    method = None if segment == "auto" else segment
    job = _Job(texts, out, output)
    job.run(lambda language, paths, target, **how: rewrite(paths, target, LineSegmenter(language, method), **how))


@verb(app, "switch", example="text switch --text en=en.txt --dictionary en-fr=en-fr.txt --out switched/")
def switch(
    *,
    texts: RewrittenTexts,
    out: Out,
    dictionary: Annotated[list[str], option("FROM-TO=FILE")],
    segment: SegmentOption = "auto",
    settings: Settings = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Replace words by their translations: the extra anchors of the first paper.

    Settings: rate (0.3 of the words with an entry), cap (0.15 of a batch's words; 1 is no limit) and batch_lines.
    LANG.txt.provenance.json records the dictionaries, so that no score is taken on words seen here;
    LANG.translations.tsv says how often each translation was drawn.

    Options:
        dictionary: Words and translations; serves text of either language. May be repeated.
    """
    from isoglot.core.config import build_config
    from isoglot.text.code_switching import SwitchConfig, Switcher, switch_files, write_translations

    chosen = {} if segment == "auto" else {"segment": segment}
    config = build_config(SwitchConfig, values=chosen, settings=settings or ())
    switcher = Switcher.read(parse_pairs(dictionary), rate=config.rate, cap=config.cap, seed=seed)
    how: dict[str, Any] = {"batch_lines": config.batch_lines, "method": config.segment}

    def work(language: str, paths: list[Path], target: Path, **also: Any) -> Any:  # noqa: ANN401 - as _Job.run
        report = switch_files(paths, target, language, switcher, **how, **also)
        write_translations(target.with_name(f"{language}.translations.tsv"), report)
        return report

    _Job(texts, out, output, config=config, seed=seed, inputs=files_of(dictionary)).run(work)


@verb(app, "overlap", example="text overlap --text en=en.txt --test en=test.conllu --remove --out without/")
def overlap(
    *,
    texts: RewrittenTexts,
    test: Annotated[list[str], option("LANG=FILE")],
    layout: Literal["auto", "plain", "parallel", "conllu", "tagged", "inference"] = "auto",
    columns: Annotated[str | None, option("CODES", "The languages of tables without a header: en,fr,de.")] = None,
    shortest: Annotated[int, option(min=1)] = 12,
    remove: Annotated[bool, option(text="Write the text without the test sentences to --out.")] = False,
    out: OptionalOut = None,
    output: Output,
) -> None:
    """Count the test sentences found in training text, as whole lines and inside paragraphs.

    Options:
        test: A test set: text, table, CoNLL-U, tagged words or inference pairs. May be repeated.
        layout: Format of the test sets; auto: by their names and first lines.
        shortest: Minimum number of letters of a test sentence; a Chinese character counts as three.
    """
    from isoglot.text.cleaning.overlap import OverlapFinder, find_overlap

    refuse_without({"--remove": remove and out is None}, "--out", remedy="name a folder: --out without/")
    tests = parse_named(test, "--test")
    for code in sorted(set(tests) - set(parse_named(texts.text))):
        raise ConfigError(f"--test {code}=… has no text", f"give --text {code}=file.txt as well", "missing-data")
    how: dict[str, Any] = {"shortest": shortest, "layout": None if layout == "auto" else layout}
    how["columns"] = columns.split(",") if columns else None

    def work(language: str, paths: list[Path], target: Path | None, **also: Any) -> Any:  # noqa: ANN401 - as _Job.run
        found = OverlapFinder.read(tests.get(language, []), language, **how)
        return find_overlap(paths, found, target=target, **also)

    _Job(texts, out, output, inputs=files_of(test), writes=remove).run(work)


@verb(app, "realign-ner", example="text realign-ner --text zh=dev.tsv --segment jieba --out words/")
def realign_ner(
    *,
    texts: Texts,
    out: Out,
    segment: SegmentOption = "auto",
    prefix: Annotated[bool, option(text="Tokens have their language before them, as in zh:北.")] = False,
    output: Output,
) -> None:
    """Segment tagged sentences anew and move the BIO labels to the new words; each file keeps its name.

    A label that covers part of a word gets the whole word; where two want one word, the longer part has it.
    """
    from isoglot.text.cleaning.realign_entities import realign_file

    method = None if segment == "auto" else segment

    def work(language: str, paths: list[Path], target: Path, **how: Any) -> Any:  # noqa: ANN401 - as _Job.run
        return realign_file(paths[0], target, language, method=method, prefix=language if prefix else None, **how)

    _Job(texts, out, output, by_file=True).run(work)


@verb(app, "wikipedia", example="text wikipedia enwiki-latest-pages-articles.xml.bz2 --out en.txt")
def wikipedia(
    *,
    dump: Annotated[Path, argument("DUMP", "A pages-articles dump: .xml, plain or as .bz2, .gz, .xz or .zst.")],
    out: FileOut,
    lang: Annotated[str | None, option("LANG", name=("--lang", "--language"))] = None,
    min_words: Annotated[int, option(min=0)] = 50,
    max_articles: Annotated[int | None, option("N", "Stop after N articles.", min=1)] = None,
    sentences: Annotated[int | None, option("N", "Stop after N sentences.", min=1)] = None,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    output: Output,
) -> None:
    """Write the articles of a Wikipedia dump as text: one sentence per line, a blank line between articles.

    Templates, tables, footnotes, files, formulas and headings are removed; redirects, disambiguation pages and lists
    are skipped. The dump is read as a stream. --out may end in .txt, .txt.bz2, .txt.gz, .txt.xz or .txt.zst.

    Options:
        lang: Language of the text. Default: the dump's own.
        min_words: Skip articles with fewer words (characters in Chinese or Thai).
    """
    from isoglot.report.terminal.listings import reports_table
    from isoglot.text.formats.wikipedia import extract_wikipedia

    refuse_overwriting([out], [dump])
    limits: dict[str, Any] = {"min_words": min_words, "max_articles": max_articles, "max_sentences": sentences}
    report = extract_wikipedia(dump, out, lang, **limits, workers=workers, progress=output.progress).facts()
    output.result({"out": str(out), **report}, reports_table({str(out): report}))


# --- shared by the verbs ---


@dataclass(frozen=True)
class _Job:
    """Work on the text of each language, or on each file (``by_file``), with a run record and a report."""

    texts: Texts
    out: Path | None
    output: Output
    config: Config | None = None
    seed: int = 0
    inputs: Sequence[Path] = ()
    writes: bool = True
    by_file: bool = False

    def run(self, work: Callable[..., Any]) -> None:
        """Call ``work(language, paths, target, ...)``, which returns a report, for each of them; show the reports."""
        from isoglot.report.terminal.listings import reports_result
        from isoglot.text.stream import named_targets, rewrite_all

        files, output = parse_named(self.texts.text), self.output
        named = named_targets(files, by_file=self.by_file, compress=getattr(self.texts, "compress", "none"))
        how: dict[str, Any] = {"skip_bad": self.texts.skip_bad, "say": output.say, "progress": output.progress}
        how |= {"workers": self.texts.workers} if isinstance(self.texts, RewrittenTexts) else {}
        read = [*self.inputs, *(path for paths in files.values() for path in paths)]
        if self.out is not None and self.writes:
            refuse_overwriting([self.out / name for name in named], read)

        def job(folder: Path | None) -> Rendering:
            reports = rewrite_all(named, work, folder if self.writes else None, **how)
            return reports_result(reports if self.by_file else {named[name][0]: one for name, one in reports.items()})

        facts: dict[str, Any] = {"config": self.config, "writes": [*named, "report.json"]}
        publish(output, self.out, job, bare=True, inputs=read, seed=self.seed, **facts)
