"""``isoglot text``: clean, split, segment and switch text; find test sentences in it; read Wikipedia dumps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.options import MAX_LINE, Debug, FileOut, Json, MaxLine, OptionalOut, Out, Quiet, Seed, Settings
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import RenderableType

    from isoglot.core.config import Config
    from isoglot.text.formats.malformed import Skip

app = typer.Typer(
    help="Clean, split, segment and switch text; read Wikipedia dumps; find test sentences; move entity labels.",
    no_args_is_help=True,
)

Text = Annotated[
    list[str],
    typer.Option(
        "--text", metavar="LANG=PATH", help="The text of a language: plain, .bz2, .gz, .xz or .zst. May be repeated."
    ),
]
SkipBad = Annotated[
    int, typer.Option("--skip-bad", metavar="N", min=0, help="Skip up to N malformed lines or sentences a language.")
]
Workers = Annotated[int, typer.Option("--workers", metavar="N", min=1, max=256, help="Processes that share the work.")]
Compress = Annotated[
    Literal["none", "gz", "xz", "zst"], typer.Option("--compress", help="How the text that is written is compressed.")
]
WordMethod = Literal["auto", "unicode", "moses", "jieba", "thai", "blanks", "characters"]
SegmentOption = Annotated[
    WordMethod,
    typer.Option("--segment", help="How words are found; auto is unicode, but jieba for Chinese and thai for Thai."),
]


@app.command("clean", epilog="Example: isoglot text clean --text en=en.txt.xz --out clean/ --set min_characters=20")
def clean(
    text: Text,
    out: Out,
    settings: Settings = None,
    skip_bad: SkipBad = 0,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    compress: Compress = "none",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Normalize text (NFKC, control characters, white space) and drop lines in other scripts and seen before.

    Settings: min_script_share of letters in the language's scripts, min_characters, max_characters, and
    deduplicate, which is line, document or none.
    """
    from isoglot.core.config import build_config
    from isoglot.text.cleaning.clean import CleanConfig, clean_files

    config = build_config(CleanConfig, settings=settings or ())

    def work(language: str, paths: list[Path], target: Path, skip: Skip, output: Output) -> dict[str, Any]:
        return clean_files(
            paths, target, language, config, workers=workers, skip=skip, progress=output.progress
        ).facts()

    _each_language(Output(json=json, quiet=quiet), text, out, work, config=config, skip_bad=skip_bad, compress=compress)


@app.command("declare", epilog="Example: isoglot text declare --text en=wiki.en.txt.xz")
def declare(text: Text, json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Record of text from elsewhere that no dictionary went into it: no word was replaced by its translation.

    The record is FILE.provenance.json, beside the text. Text that isoglot writes has one already. A text without a
    record is of unknown provenance, and every score of words of what is trained on it says so.
    """
    from rich.text import Text as Line

    from isoglot.cli.inputs import parse_named
    from isoglot.text.provenance import declare as record

    paths = [path for paths in parse_named(text).values() for path in paths]
    written = [str(record(path)) for path in paths]
    Output(json=json, quiet=quiet).result({"records": written}, Line("\n".join(f"{path} written" for path in written)))


@app.command("sentences", epilog="Example: isoglot text sentences --text de=de.txt --out sentences/")
def sentences(
    text: Text,
    out: Out,
    skip_bad: SkipBad = 0,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    compress: Compress = "none",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write one sentence a line; documents stay apart."""
    from isoglot.text.cleaning.sentence_splitter import LineSplitter
    from isoglot.text.stream import rewrite

    def work(language: str, paths: list[Path], target: Path, skip: Skip, output: Output) -> dict[str, Any]:
        splitter = LineSplitter(language)
        return rewrite(paths, target, splitter, workers=workers, skip=skip, progress=output.progress).facts()

    _each_language(Output(json=json, quiet=quiet), text, out, work, skip_bad=skip_bad, compress=compress)


@app.command("segment", epilog="Example: isoglot text segment --text zh=zh.txt --segment jieba --out words/")
def segment(
    text: Text,
    out: Out,
    segment: SegmentOption = "auto",
    skip_bad: SkipBad = 0,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    compress: Compress = "none",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write text with one blank between words and signs."""
    from isoglot.text.cleaning.segmentation import LineSegmenter
    from isoglot.text.stream import rewrite

    def work(language: str, paths: list[Path], target: Path, skip: Skip, output: Output) -> dict[str, Any]:
        segmenter = LineSegmenter(language, None if segment == "auto" else segment)
        return rewrite(paths, target, segmenter, workers=workers, skip=skip, progress=output.progress).facts()

    _each_language(Output(json=json, quiet=quiet), text, out, work, skip_bad=skip_bad, compress=compress)


@app.command(
    "switch", epilog="Example: isoglot text switch --text en=en.txt --dictionary en-fr=en-fr.txt --out switched/"
)
def switch(
    text: Text,
    out: Out,
    dictionary: Annotated[
        list[str],
        typer.Option(
            "--dictionary",
            metavar="FROM-TO=PATH",
            help="Words and translations; serves text of either language. May be repeated.",
        ),
    ],
    segment: SegmentOption = "auto",
    settings: Settings = None,
    seed: Seed = 0,
    skip_bad: SkipBad = 0,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    compress: Compress = "none",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Replace words by their translations: the extra anchors of the first paper.

    Settings: rate (0.3 of the words with an entry), cap (0.15 of a batch's words; 1 is no limit) and batch_lines.
    LANG.txt.provenance.json records the dictionaries, so that no score is taken on words seen here;
    LANG.translations.tsv says how often each translation was drawn.
    """
    from isoglot.cli.inputs import parse_pairs
    from isoglot.core.config import build_config
    from isoglot.core.errors import InputError
    from isoglot.text.code_switching import SwitchConfig, Switcher, switch_files, write_translations
    from isoglot.text.formats.dictionary import read_dictionary
    from isoglot.text.provenance import use_dictionary

    output = Output(json=json, quiet=quiet)
    values: dict[str, Any] = {} if segment == "auto" else {"segment": segment}
    config = build_config(SwitchConfig, values=values, settings=settings or ())
    pairs = parse_pairs(dictionary, "--dictionary")
    entries = {pair: [entry for path in paths for entry in read_dictionary(path)] for pair, paths in pairs.items()}
    for pair, found in entries.items():
        if not found:
            raise InputError(
                "no entries", remedy="name a dictionary that has some", code="input.empty", file=pairs[pair][0]
            )
    used = [
        each
        for pair, paths in pairs.items()
        for path in paths
        for each in use_dictionary(*pair, path, read_dictionary(path))
    ]
    switcher = Switcher(entries, rate=config.rate, cap=config.cap, seed=seed, used=used)

    def work(language: str, paths: list[Path], target: Path, skip: Skip, output: Output) -> dict[str, Any]:
        report = switch_files(
            paths,
            target,
            language,
            switcher,
            batch_lines=config.batch_lines,
            method=config.segment,
            workers=workers,
            skip=skip,
            progress=output.progress,
        )
        write_translations(target.with_name(f"{language}.translations.tsv"), report)
        return report.facts()

    inputs = [path for paths in pairs.values() for path in paths]
    _each_language(
        output, text, out, work, config=config, seed=seed, skip_bad=skip_bad, compress=compress, inputs=inputs
    )


@app.command(
    "overlap", epilog="Example: isoglot text overlap --text en=en.txt --test en=test.conllu --remove --out without/"
)
def overlap(
    text: Text,
    test: Annotated[
        list[str],
        typer.Option(
            "--test",
            metavar="LANG=PATH",
            help="A test set: text, table, CoNLL-U, tagged words or inference pairs. May be repeated.",
        ),
    ],
    layout: Annotated[
        Literal["auto", "plain", "parallel", "conllu", "tagged", "inference"],
        typer.Option("--layout", help="How the test sets are written; auto looks at their names and first lines."),
    ] = "auto",
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="CODES", help="The languages of tables without a header: en,fr,de."),
    ] = None,
    shortest: Annotated[
        int,
        typer.Option("--shortest", min=1, help="Letters a test sentence must have; a Chinese character counts three."),
    ] = 12,
    remove: Annotated[
        bool, typer.Option("--remove", help="Write the text without the test sentences to --out.")
    ] = False,
    out: OptionalOut = None,
    skip_bad: SkipBad = 0,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    compress: Compress = "none",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Count the test sentences found in training text, as whole lines and inside paragraphs."""
    from isoglot.cli.inputs import parse_named
    from isoglot.core.errors import ConfigError, InputError
    from isoglot.text.cleaning.overlap import OverlapFinder, find_overlap
    from isoglot.text.formats.test_sentences import held_out_sentences

    if remove and out is None:
        raise ConfigError(
            "--remove writes text, and there is no --out",
            remedy="name a folder: --out without/",
            code="config.missing-option",
        )
    tests = parse_named(test, "--test")
    texts = parse_named(text)
    unused = sorted(set(tests) - set(texts))
    if unused:
        raise ConfigError(
            f"--test {unused[0]}=… has no text",
            remedy=f"give --text {unused[0]}=file.txt as well",
            code="config.missing-data",
        )

    def work(language: str, paths: list[Path], target: Path | None, skip: Skip, output: Output) -> dict[str, Any]:
        given = columns.split(",") if columns else None
        sets = {
            str(path): held_out_sentences(path, language, layout=None if layout == "auto" else layout, columns=given)
            for path in tests.get(language, [])
        }
        finder = OverlapFinder(sets, language, shortest=shortest)
        for path in tests.get(language, []):
            if not finder.items[str(path)]:
                raise InputError("no sentences", remedy="name a test set that has some", code="input.empty", file=path)
        report = find_overlap(paths, finder, target=target, workers=workers, skip=skip, progress=output.progress)
        return report.facts()

    _each_language(
        Output(json=json, quiet=quiet),
        text,
        out,
        work,
        skip_bad=skip_bad,
        compress=compress,
        inputs=[path for paths in tests.values() for path in paths],
        writes=remove,
    )


@app.command("realign-ner", epilog="Example: isoglot text realign-ner --text zh=dev.tsv --segment jieba --out words/")
def realign_ner(
    text: Text,
    out: Out,
    segment: SegmentOption = "auto",
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Tokens have their language before them, as in zh:北.")
    ] = False,
    skip_bad: SkipBad = 0,
    max_line: MaxLine = MAX_LINE,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Segment tagged sentences anew and move the BIO labels to the new words; each file keeps its name.

    A label that covers part of a word gets the whole word; where two want one word, the longer part has it.
    """
    from isoglot.text.cleaning.realign_entities import realign_file

    def work(language: str, paths: list[Path], target: Path, skip: Skip, output: Output) -> dict[str, Any]:
        return realign_file(
            paths[0],
            target,
            language,
            method=None if segment == "auto" else segment,
            prefix=language if prefix else None,
            skip=skip,
            progress=output.progress,
        ).facts()

    _each_language(Output(json=json, quiet=quiet), text, out, work, skip_bad=skip_bad, by_file=True)


@app.command("wikipedia", epilog="Example: isoglot text wikipedia enwiki-latest-pages-articles.xml.bz2 --out en.txt")
def wikipedia(
    dump: Annotated[
        Path,
        typer.Argument(metavar="DUMP", help="A pages-articles dump: .xml, plain or as .bz2, .gz, .xz or .zst."),
    ],
    out: FileOut,
    lang: Annotated[
        str | None,
        typer.Option("--lang", "--language", metavar="LANG", help="Language of the text. Default: the dump's own."),
    ] = None,
    min_words: Annotated[
        int, typer.Option("--min-words", min=0, help="Skip articles with fewer words (characters in Chinese or Thai).")
    ] = 50,
    max_articles: Annotated[
        int | None, typer.Option("--max-articles", metavar="N", min=1, help="Stop after N articles.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", metavar="N", min=1, help="Stop after N sentences.")
    ] = None,
    max_line: MaxLine = MAX_LINE,
    workers: Workers = 1,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the articles of a Wikipedia dump as text: one sentence a line, a blank line between articles.

    Templates, tables, footnotes, files, formulas and headings are removed; redirects, disambiguation pages and lists
    are skipped. The dump is read as a stream. --out may end in .txt, .txt.bz2, .txt.gz, .txt.xz or .txt.zst.
    """
    from isoglot.cli.run_files import refuse_overwriting
    from isoglot.text.formats.wikipedia import extract_wikipedia

    output = Output(json=json, quiet=quiet)
    refuse_overwriting([out], [dump])
    report = extract_wikipedia(
        dump,
        out,
        lang,
        min_words=min_words,
        max_articles=max_articles,
        max_sentences=sentences,
        workers=workers,
        progress=output.progress,
    ).facts()
    output.result({"out": str(out), **report}, _table({str(out): report}))


# --- what the commands share ---


def _each_language(
    output: Output,
    text: Sequence[str],
    out: Path | None,
    work: Callable[..., dict[str, Any]],
    *,
    config: Config | None = None,
    seed: int = 0,
    skip_bad: int = 0,
    compress: str = "none",
    inputs: Sequence[Path] = (),
    writes: bool = True,
    by_file: bool = False,
) -> None:
    """Do the work on the files of each language (or on each file), keep the run record and show the reports."""
    from isoglot.cli.inputs import parse_named
    from isoglot.core.files import write_json
    from isoglot.text.formats.malformed import Skip

    texts = parse_named(list(text))
    ending = ".txt" if compress == "none" else f".txt.{compress}"
    jobs = (
        [(path.name, language, [path]) for language, paths in texts.items() for path in paths]
        if by_file
        else [(language + ending, language, paths) for language, paths in texts.items()]
    )
    _refuse_clashes([name for name, _, _ in jobs], texts, out if writes else None)
    reports: dict[str, dict[str, Any]] = {}
    read = [*inputs, *(path for paths in texts.values() for path in paths)]
    with recorded(out, read, seed=seed, config=config, writes=[*(name for name, _, _ in jobs), "report.json"]) as run:
        for name, language, paths in jobs:
            skip = Skip(skip_bad)
            target = run.folder / name if run is not None and writes else None
            report = work(language, paths, target, skip, output)
            reports[name if by_file else language] = report | {"skipped": skip.count}
            if skip.first is not None:
                output.say(f"{language}: {skip.count} skipped, the first: {skip.first}")
        if run is not None:
            write_json(run.folder / "report.json", reports)
    output.result(reports, _table(reports))


def _refuse_clashes(names: Sequence[str], texts: Mapping[str, Sequence[Path]], out: Path | None) -> None:
    """What is read must not be written, and nothing twice."""
    from isoglot.cli.run_files import refuse_overwriting
    from isoglot.core.errors import ConfigError

    if out is None:
        return
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"two files are named {name}",
                remedy="do them one at a time, into folders of their own",
                code="config.duplicate",
            )
    refuse_overwriting((out / name for name in names), (path for paths in texts.values() for path in paths))


def _table(reports: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """Reports side by side: a column for each."""
    flat = [dict(_flat(report)) for report in reports.values()]
    names = dict.fromkeys(name for report in flat for name in report)
    return Table.from_cells(["", *reports], [[name, *(_number(report.get(name)) for report in flat)] for name in names])


def _flat(report: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    rows = []
    for key, value in report.items():
        rows += (
            _flat(value, f"{before}{key} ")
            if isinstance(value, dict)
            else [(f"{before}{key}".replace("_", " "), value)]
        )
    return rows


def _number(value: Any) -> str:  # noqa: ANN401 - whatever a report has
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)
