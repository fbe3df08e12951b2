"""``isoglot text``: clean, split, segment and code-switch text; find test sentences in it; read Wikipedia dumps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import option, parse_named, parse_pairs
from isoglot.cli.options import MAX_LINE, FileOut, MaxLine, OptionalOut, Out, Seed, Settings, verb
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded, refuse_overwriting
from isoglot.core.errors import ConfigError
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.core.config import Config

app = typer.Typer(
    help="Clean, split, segment and switch text; read Wikipedia dumps; find test sentences; move entity labels.",
    no_args_is_help=True,
)

Text = Annotated[
    list[str], option("--text", "LANG=PATH", "The text of a language: plain, .bz2, .gz, .xz or .zst. May be repeated.")
]
SkipBad = Annotated[int, option("--skip-bad", "N", "Skip up to N malformed lines or sentences a language.", min=0)]
Workers = Annotated[int, option("--workers", "N", "Processes that share the work.", min=1, max=256)]
SegmentOption = Annotated[
    Literal["auto", "unicode", "moses", "jieba", "thai", "blanks", "characters"],
    typer.Option("--segment", help="How words are found; auto is unicode, but jieba for Chinese and thai for Thai."),
]


@dataclass(frozen=True)
class Texts:
    """Text of one or more languages."""

    text: Text
    skip_bad: SkipBad = 0
    max_line: MaxLine = MAX_LINE


@dataclass(frozen=True)
class RewrittenTexts(Texts):
    """Text of one or more languages that is written anew, one file per language."""

    workers: Workers = 1
    compress: Annotated[
        Literal["none", "gz", "xz", "zst"],
        typer.Option("--compress", help="How the text that is written is compressed."),
    ] = "none"


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
    """Record of text from elsewhere that no dictionary went into it: no word was replaced by its translation.

    The record is FILE.provenance.json, beside the text. Text that isoglot writes has one already. A text without a
    record is of unknown provenance, and every score of words of what is trained on it says so.
    """
    from isoglot.text.provenance import declare as record

    written = [str(record(path)) for paths in parse_named(text).values() for path in paths]
    output.result({"records": written}, "\n".join(f"{path} written" for path in written))


@verb(app, "sentences", example="text sentences --text de=de.txt --out sentences/")
def sentences(*, texts: RewrittenTexts, out: Out, output: Output) -> None:
    """Write one sentence a line; documents stay apart."""
    from isoglot.text.cleaning.sentence_splitter import LineSplitter
    from isoglot.text.stream import rewrite

    job = _Job(texts, out, output)
    job.run(lambda language, paths, target, **how: rewrite(paths, target, LineSplitter(language), **how))


@verb(app, "segment", example="text segment --text zh=zh.txt --segment jieba --out words/")
def segment(*, texts: RewrittenTexts, out: Out, segment: SegmentOption = "auto", output: Output) -> None:
    """Write text with one blank between words and signs."""
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
    dictionary: Annotated[
        list[str],
        option(
            "--dictionary", "FROM-TO=PATH", "Words and translations; serves text of either language. May be repeated."
        ),
    ],
    segment: SegmentOption = "auto",
    settings: Settings = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Replace words by their translations: the extra anchors of the first paper.

    Settings: rate (0.3 of the words with an entry), cap (0.15 of a batch's words; 1 is no limit) and batch_lines.
    LANG.txt.provenance.json records the dictionaries, so that no score is taken on words seen here;
    LANG.translations.tsv says how often each translation was drawn.
    """
    from isoglot.core.config import build_config
    from isoglot.text.code_switching import SwitchConfig, Switcher, switch_files, write_translations

    chosen = {} if segment == "auto" else {"segment": segment}
    config = build_config(SwitchConfig, values=chosen, settings=settings or ())
    pairs = parse_pairs(dictionary, "--dictionary")
    switcher = Switcher.read(pairs, rate=config.rate, cap=config.cap, seed=seed)
    how: dict[str, Any] = {"batch_lines": config.batch_lines, "method": config.segment}

    def work(language: str, paths: list[Path], target: Path, **also: Any) -> Any:  # noqa: ANN401 - as _Job.run
        report = switch_files(paths, target, language, switcher, **how, **also)
        write_translations(target.with_name(f"{language}.translations.tsv"), report)
        return report

    inputs = [path for paths in pairs.values() for path in paths]
    _Job(texts, out, output, config=config, seed=seed, inputs=inputs).run(work)


@verb(app, "overlap", example="text overlap --text en=en.txt --test en=test.conllu --remove --out without/")
def overlap(
    *,
    texts: RewrittenTexts,
    test: Annotated[
        list[str],
        option(
            "--test", "LANG=PATH", "A test set: text, table, CoNLL-U, tagged words or inference pairs. May be repeated."
        ),
    ],
    layout: Annotated[
        Literal["auto", "plain", "parallel", "conllu", "tagged", "inference"],
        typer.Option("--layout", help="How the test sets are written; auto looks at their names and first lines."),
    ] = "auto",
    columns: Annotated[
        str | None, option("--columns", "CODES", "The languages of tables without a header: en,fr,de.")
    ] = None,
    shortest: Annotated[
        int,
        typer.Option("--shortest", min=1, help="Letters a test sentence must have; a Chinese character counts three."),
    ] = 12,
    remove: Annotated[
        bool, typer.Option("--remove", help="Write the text without the test sentences to --out.")
    ] = False,
    out: OptionalOut = None,
    output: Output,
) -> None:
    """Count the test sentences found in training text, as whole lines and inside paragraphs."""
    from isoglot.text.cleaning.overlap import OverlapFinder, find_overlap

    if remove and out is None:
        raise ConfigError(
            "--remove writes text, and there is no --out", "name a folder: --out without/", "missing-option"
        )
    tests = parse_named(test, "--test")
    job = _Job(texts, out, output, inputs=[path for paths in tests.values() for path in paths], writes=remove)
    for code in sorted(set(tests) - set(job.files)):
        remedy = f"give --text {code}=file.txt as well"
        raise ConfigError(f"--test {code}=… has no text", remedy, "missing-data")
    chosen = None if layout == "auto" else layout
    given = columns.split(",") if columns else None

    def work(language: str, paths: list[Path], target: Path | None, **how: Any) -> Any:  # noqa: ANN401 - as _Job.run
        found = OverlapFinder.read(tests.get(language, []), language, shortest=shortest, layout=chosen, columns=given)
        return find_overlap(paths, found, target=target, **how)

    job.run(work)


@verb(app, "realign-ner", example="text realign-ner --text zh=dev.tsv --segment jieba --out words/")
def realign_ner(
    *,
    texts: Texts,
    out: Out,
    segment: SegmentOption = "auto",
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Tokens have their language before them, as in zh:北.")
    ] = False,
    output: Output,
) -> None:
    """Segment tagged sentences anew and move the BIO labels to the new words; each file keeps its name.

    A label that covers part of a word gets the whole word; where two want one word, the longer part has it.
    """
    from isoglot.text.cleaning.realign_entities import realign_file

    def work(language: str, paths: list[Path], target: Path, **how: Any) -> Any:  # noqa: ANN401 - as _Job.run
        method = None if segment == "auto" else segment
        return realign_file(paths[0], target, language, method=method, prefix=language if prefix else None, **how)

    _Job(texts, out, output, by_file=True).run(work)


@verb(app, "wikipedia", example="text wikipedia enwiki-latest-pages-articles.xml.bz2 --out en.txt")
def wikipedia(
    *,
    dump: Annotated[
        Path, typer.Argument(metavar="DUMP", help="A pages-articles dump: .xml, plain or as .bz2, .gz, .xz or .zst.")
    ],
    out: FileOut,
    lang: Annotated[
        str | None,
        typer.Option("--lang", "--language", metavar="LANG", help="Language of the text. Default: the dump's own."),
    ] = None,
    min_words: Annotated[
        int, typer.Option("--min-words", min=0, help="Skip articles with fewer words (characters in Chinese or Thai).")
    ] = 50,
    max_articles: Annotated[int | None, option("--max-articles", "N", "Stop after N articles.", min=1)] = None,
    sentences: Annotated[int | None, option("--sentences", "N", "Stop after N sentences.", min=1)] = None,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    output: Output,
) -> None:
    """Write the articles of a Wikipedia dump as text: one sentence a line, a blank line between articles.

    Templates, tables, footnotes, files, formulas and headings are removed; redirects, disambiguation pages and lists
    are skipped. The dump is read as a stream. --out may end in .txt, .txt.bz2, .txt.gz, .txt.xz or .txt.zst.
    """
    from isoglot.text.formats.wikipedia import extract_wikipedia

    refuse_overwriting([out], [dump])
    limits: dict[str, Any] = {"min_words": min_words, "max_articles": max_articles, "max_sentences": sentences}
    report = extract_wikipedia(dump, out, lang, **limits, workers=workers, progress=output.progress).facts()
    output.result({"out": str(out), **report}, _table({str(out): report}))


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

    @cached_property
    def files(self) -> dict[str, list[Path]]:
        """The files of each language."""
        return parse_named(self.texts.text)

    def run(self, work: Callable[..., Any]) -> None:
        """Call ``work(language, paths, target, ...)``, which returns a report, for each of them; show the reports."""
        from isoglot.core.files import write_json
        from isoglot.text.formats.lines import Skip

        named = self._named()
        reports: dict[str, dict[str, Any]] = {}
        how = {"workers": self.texts.workers} if isinstance(self.texts, RewrittenTexts) else {}
        read = [*self.inputs, *(path for paths in self.files.values() for path in paths)]
        writes = [*named, "report.json"]
        if self.out is not None and self.writes:
            refuse_overwriting([self.out / name for name in named], read)
        with recorded(self.out, read, seed=self.seed, config=self.config, writes=writes) as run:
            for name, (language, paths) in named.items():
                skip = Skip(self.texts.skip_bad)
                target = run.folder / name if run is not None and self.writes else None
                report = work(language, paths, target, skip=skip, progress=self.output.progress, **how)
                reports[name if self.by_file else language] = report.facts() | {"skipped": skip.count}
                if skip.first is not None:
                    self.output.say(f"{language}: {skip.count} skipped, the first: {skip.first}")
            if run is not None:
                write_json(run.folder / "report.json", reports)
        self.output.result(reports, _table(reports))

    def _named(self) -> dict[str, tuple[str, list[Path]]]:
        """The language and the files of what is written, by its name."""
        compress = getattr(self.texts, "compress", "none")
        ending = ".txt" if compress == "none" else f".txt.{compress}"
        found: dict[str, tuple[str, list[Path]]] = {}
        for code, paths in self.files.items():
            for name, used in [(path.name, [path]) for path in paths] if self.by_file else [(code + ending, paths)]:
                if name in found:
                    remedy = "do them one at a time, into folders of their own"
                    raise ConfigError(f"two files are named {name}", remedy, "duplicate")
                found[name] = code, used
        return found


def _table(reports: Mapping[str, Mapping[str, Any]]) -> Table:
    """Reports side by side: a column for each."""
    flat = [dict(_flat(report)) for report in reports.values()]
    names = dict.fromkeys(name for report in flat for name in report)
    return Table.from_cells(["", *reports], [[name, *(_number(report.get(name)) for report in flat)] for name in names])


def _flat(report: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in report.items():
        name = f"{before}{key}".replace("_", " ")
        rows += _flat(value, f"{name} ") if isinstance(value, dict) else [(name, value)]
    return rows


def _number(value: Any) -> str:  # noqa: ANN401 - whatever a report has
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)
