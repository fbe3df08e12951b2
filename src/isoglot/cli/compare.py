"""``isoglot compare``: how alike two encoders arrange the same sentences, layer by layer, and what that is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from isoglot.cli.inputs import Langs, read_sets, two_langs
from isoglot.cli.options import (
    MODEL,
    Debug,
    Device,
    Json,
    LayerList,
    OptionalOut,
    Quiet,
    Seed,
    SentencePool,
    Settings,
    Weights,
    open_run,
    parse_layers,
)
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import files_of, place, recorded, write_all
from isoglot.core.errors import ConfigError
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

    from isoglot.compare.emergence import Emergence
    from isoglot.compare.encoders import Comparison, LayerMeasurement
    from isoglot.compare.figure7 import Figure7
    from isoglot.compare.parallel_sentences import SentencePair


class _Default(TyperGroup):
    """A group whose first word may be left out: what is none of its verbs goes to the default one."""

    default_verb = "models"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own click is private
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [self.default_verb, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Default,
    no_args_is_help=True,
    help="How alike two encoders, or two languages in one, arrange the same sentences: by CKA and its rivals, with "
    "null, interval, floor and ceiling.\n\nisoglot compare A B is short for isoglot compare models A B.",
    epilog="Examples:\n\nisoglot compare A B --parallel en=a.txt --parallel fr=b.txt --out compared/\n\n"
    "isoglot compare grid figure7.toml --out grid/\n\n"
    "isoglot compare emergence runs/en-fr --parallel en=a.txt --parallel fr=b.txt --out curve/",
)

Parallel = Annotated[
    list[str] | None,
    typer.Option(
        "--parallel",
        metavar="LANG=FILE",
        help="Sentences line by line; twice, the first side's first. Or one table.tsv. Default: built-in ones.",
    ),
]
Count = Annotated[
    int | None,
    typer.Option(
        "--sentences",
        metavar="N",
        min=4,
        max=1_000_000,
        help="The first N. Default: 500 built-in ones, or all of files.",
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", metavar="NAME", help="paper-cka, cka, debiased-cka, procrustes, rsa…, or all. Repeated."),
]


@app.command(
    "models",
    epilog="Example: isoglot compare models A B --parallel en=a.txt --parallel fr=b.txt --out compared/; in short: "
    "isoglot compare A B …",
)
def models(
    one: Annotated[
        str | None, typer.Argument(metavar="MODEL_A", callback=open_run, help=f"Reads the first language. {MODEL}")
    ] = None,
    other: Annotated[
        str | None,
        typer.Argument(metavar="MODEL_B", callback=open_run, help="Reads the second. Default: MODEL_A reads both."),
    ] = None,
    parallel: Parallel = None,
    langs: Langs = None,
    sentences: Count = None,
    measure: Measures = None,
    layers: LayerList = "all",
    floor: Annotated[
        Literal["random", "none"],
        typer.Option("--floor", help="An untrained encoder on the second side, to hold values against; or none."),
    ] = "random",
    ceiling: Annotated[
        str | None,
        typer.Option(
            "--ceiling",
            metavar="MODEL",
            callback=open_run,
            help="MODEL_A trained from another seed: as alike as can be.",
        ),
    ] = None,
    without_top: Annotated[
        int, typer.Option("--without-top", metavar="K", min=0, help="Also without the K strongest directions; 0: not.")
    ] = 1,
    rows: Annotated[
        int,
        typer.Option("--rows", min=4, max=10_000, help="Sentences for nulls and intervals; of more, some are drawn."),
    ] = 2000,
    draws: Annotated[int, typer.Option("--draws", min=20, max=100_000, help="Random pairings behind each null.")] = 200,
    pool: SentencePool = "mean",
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare two encoders, or two languages in one, on sentences that say the same.

    Gives CKA of every layer with every layer in three forms, and any measures layer by layer.

    --out gets compare.json, measures.csv, grid.svg and index.html. A folder called grid or emergence is ./grid here.
    """
    from isoglot.compare.encoders import DEFAULT_MEASURES, chosen_measures, compare_models
    from isoglot.compare.floor import random_encoder_like
    from isoglot.compare.parallel_sentences import SENTENCES, check_count, default_languages
    from isoglot.model import load_encoder
    from isoglot.model.load import EMBEDDED
    from isoglot.report.compare import comparison_page, comparison_svg, findings

    output = Output(json=json, quiet=quiet)
    chosen = chosen_measures(measure or DEFAULT_MEASURES)
    numbers = parse_layers(layers)
    given = _given(parallel, langs, sentences)
    count = sentences or SENTENCES
    check_count(count if given is None else len(given[1]), chosen)
    check_count(rows, chosen, option="--rows:")
    first, second = one or EMBEDDED, other or one or EMBEDDED
    encoder = load_encoder(first, device=device)
    partner = encoder if second == first else load_encoder(second, device=device)
    twin = None if ceiling is None else load_encoder(ceiling, device=device)
    languages, pairs = given or _made(langs or default_languages(encoder, partner), count, seed)
    with recorded(out, files_of(parallel), seed=seed, device=str(encoder.device)) as run:
        result = compare_models(
            encoder,
            partner,
            pairs,
            languages,
            names=(first, second),
            measures=chosen,
            layers=numbers,
            floor=random_encoder_like(partner, seed=seed) if floor == "random" else None,
            ceiling=twin,
            ceiling_name=ceiling or "",
            top=without_top,
            rows=rows,
            draws=draws,
            pool=pool,
            seed=seed,
            progress=output.progress,
        )
        if run is not None and out is not None:
            texts = {
                "index.html": comparison_page(result, facts=page_facts()),
                "grid.svg": comparison_svg(result),
                "measures.csv": Table.from_rows([each.as_dict() for each in result.measured]).csv(),
            }
            write_all(run, "compare.json", result.as_dict(), texts)
    output.result({**place(out), **result.as_dict()}, _table(result))
    output.say("\n".join(["", *(text for text in findings(result) if text)]))
    _say_page(output, out, "index.html")


@app.command("grid", epilog="Example: isoglot compare grid figure7.toml --out grid/")
def grid(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="Columns of languages with the models of each row.")
    ],
    out: OptionalOut = None,
    settings: Settings = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    r"""The first paper's Figure 7: pairs of languages × layers × {bilingual, monolingual, random}.

    The TOML file has a [\[columns]] table for each pair: languages = ["en", "fr"], bilingual = "runs/en-fr",
    monolingual = ["runs/en", "runs/fr"], and files = { en = "a.txt", fr = "b.txt" } where the sentences are not
    built-in. Paths begin beside the file. What is not there stays empty; a model that was trained on other languages
    than its row is about is refused, and one that does not say is named.

    With test = { en = "c.txt", fr = "d.txt" }, such as Tatoeba's, its sentences are looked for by cosine after a
    rotation fitted on those of files (the paper's Figure 6), which CKA is then correlated with over layers.

    --out gets figure7.json, figure7.csv, figure7.svg and index.html.
    """
    from isoglot.compare.figure7 import measure_figure7, read_figure7
    from isoglot.compare.figure7_claims import claims
    from isoglot.core.devices import choose_device
    from isoglot.report.figure7 import cut_words, figure7_finding, figure7_page, figure7_svg, untold_words

    output = Output(json=json, quiet=quiet)
    config = read_figure7(spec, settings or ())
    with recorded(out, [spec], seed=config.seed, config=config, device=str(choose_device(device))) as run:
        figure = measure_figure7(config, folder=spec.parent, device=device, progress=output.progress)
        found = claims(figure)
        value = {**figure.as_dict(), "claims": [claim.as_dict() for claim in found]}
        if run is not None and out is not None:
            texts = {
                "index.html": figure7_page(figure, found, facts=page_facts()),
                "figure7.svg": figure7_svg(figure),
                "figure7.csv": Table.from_rows(figure.as_rows()).csv(),
            }
            write_all(run, "figure7.json", value, texts)
    output.result({**place(out), **value}, _figure7_table(figure))
    output.say("\n".join(["", *(f"{column}, {row} is empty: {why}" for (column, row), why in figure.empty.items())]))
    output.say("\n".join([*untold_words(figure), *cut_words(figure), figure7_finding(figure, found)]))
    _say_page(output, out, "index.html")


@app.command(
    "emergence",
    epilog="Example: isoglot compare emergence runs/en-fr --parallel en=a.txt --parallel fr=b.txt --out curve/",
)
def emergence(
    run_folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="What isoglot pretrain wrote, with its checkpoints.")
    ],
    parallel: Parallel = None,
    langs: Langs = None,
    sentences: Count = None,
    measure: Measures = None,
    layers: LayerList = "all",
    pool: SentencePool = "mean",
    out: OptionalOut = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Any measure over the checkpoints of a training run, as a curve.

    A run keeps its two newest checkpoints: train with --set checkpoints.every=100 --set checkpoints.keep=1000 to keep
    one of every hundred steps.

    --out gets emergence.json, emergence.csv, index.html, and emergence.svg of two checkpoints or more.
    """
    from isoglot.compare.emergence import KEEP_ALL, open_run, trace_emergence
    from isoglot.compare.encoders import chosen_measures
    from isoglot.compare.parallel_sentences import SENTENCES, check_count, default_languages
    from isoglot.core.devices import choose_device
    from isoglot.report.emergence import emergence_finding, emergence_page, emergence_svg
    from isoglot.represent.extraction import cut_in_words

    output = Output(json=json, quiet=quiet)
    chosen = chosen_measures(measure or ["debiased-cka"])
    numbers = parse_layers(layers)
    given = _given(parallel, langs, sentences)
    count = sentences or SENTENCES
    check_count(count if given is None else len(given[1]), chosen)
    encoder = open_run(run_folder)
    languages, pairs = given or _made(langs or default_languages(encoder, encoder), count, seed)
    with recorded(out, files_of(parallel), seed=seed, device=str(choose_device(device))) as run:
        result = trace_emergence(
            run_folder,
            pairs,
            languages,
            measures=chosen,
            layers=numbers,
            pool=pool,
            device=device,
            seed=seed,
            progress=output.progress,
        )
        if run is not None and out is not None:
            texts = {
                "index.html": emergence_page(result, facts=page_facts()),
                "emergence.csv": Table.from_rows(result.as_rows()).csv(),
            }
            if len(result.moments) > 1:
                texts["emergence.svg"] = emergence_svg(result)
            write_all(run, "emergence.json", result.as_dict(), texts)
    output.result({**place(out), **result.as_dict()}, _curve_table(result))
    output.say(
        "\n".join(["", emergence_finding(result), *cut_in_words(zip(languages, result.cut, strict=True), len(pairs))])
    )
    if len(result.moments) == 2:
        output.say(f"The run has kept two checkpoints; it keeps more with isoglot pretrain … {KEEP_ALL}")
    _say_page(output, out, "index.html")


# --- sentences ---


def _given(
    parallel: list[str] | None, langs: str | None, sentences: int | None
) -> tuple[tuple[str, str], list[SentencePair]] | None:
    """The sentences of files, or None."""
    if not parallel:
        return None
    sets = read_sets(parallel, langs, sentences)
    codes = list(dict.fromkeys(code for one in sets for code in one.sentences))
    if len(codes) != 2:
        raise ConfigError(
            f"--parallel names {', '.join(codes)}",
            remedy="name two languages, the first side's first: --parallel en=a.txt --parallel fr=b.txt",
            code="config.other-language",
        )
    first, second = (sets[0].sentences[code] for code in codes)
    return (codes[0], codes[1]), list(zip(first, second, strict=True))


def _made(languages: str | tuple[str, str], count: int, seed: int) -> tuple[tuple[str, str], list[SentencePair]]:
    """Built-in sentences of the languages that were named, or that the encoders have."""
    from isoglot.languages.builtin import builtin_pairs

    named = isinstance(languages, str)
    codes = two_langs(languages) if isinstance(languages, str) else languages
    try:
        return codes, builtin_pairs(codes, count, seed=seed)
    except ConfigError as error:
        if named:
            raise
        remedy = f"give --parallel {codes[0]}=FILE --parallel {codes[1]}=FILE"
        raise ConfigError(
            f"no built-in sentences of {' and '.join(codes)}: {error.problem}",
            remedy=remedy,
            code="config.built-in-language",
        ) from error


# --- what is written and shown ---


def _say_page(output: Output, out: Path | None, name: str) -> None:
    if out is not None:
        output.say(f"The page is {out / name}")


def _table(result: Comparison) -> Group:
    """Debiased CKA with all it is held against, then every measure's value."""
    from rich.console import Group

    from isoglot.report.compare import main_measure, number

    main = main_measure(result)
    held: list[tuple[str, str | None]] = [("95 % interval", None), ("random pairs", "null_mean"), ("floor", "floor")]
    held += [("ceiling", "ceiling"), ("place", "place"), (f"without top {result.top}", "without_top")]
    held = [column for column in held if _has(result, main, column[1])]
    shown: list[RenderableType] = []
    if main:
        title = next(measure.title for measure in result.measures if measure.name == main)
        rows = []
        for each in result.of(main):
            cells = [
                " to ".join(map(number, (each.low, each.high))) if field is None else number(getattr(each, field))
                for _, field in held
            ]
            rows.append([_layers_name(each), number(each.value), *cells])
        shown.append(Table.from_cells(["layer", title, *(name for name, _ in held)], rows))
    others = [measure for measure in result.measures if measure.name != main]
    if others:
        rows = [
            [_layers_name(row[0]), *("saturated" if each.saturated else number(each.value) for each in row)]
            for row in zip(*(result.of(measure.name) for measure in others), strict=True)
        ]
        second = Table.from_cells(["layer", *(measure.title for measure in others)], rows)
        shown += ["", second] if main else [second]
    return Group(*shown)


def _layers_name(each: LayerMeasurement) -> str:
    return str(each.layer) if each.layer == each.other_layer else f"{each.layer}, {each.other_layer}"


def _has(result: Comparison, main: str | None, field: str | None) -> bool:
    return main is not None and all(getattr(each, field or "low") is not None for each in result.of(main))


def _figure7_table(figure: Figure7) -> Table:
    from isoglot.report.compare import FORM_TITLES
    from isoglot.report.figure7 import averages_table

    head = ["average over layers ± half of its 95 % interval", *(column.title for column in figure.columns)]
    rows = [
        [f"{title}, {row[0]}", *row[1:]]
        for form, title in FORM_TITLES.items()
        for row in averages_table(figure, form)[1]
    ]
    return Table.from_cells(head, rows)


def _curve_table(result: Emergence) -> Table:
    shown = [(name, layer) for name in result.measures for layer in result.layers]
    columns = [Column(f"{name} {layer}", title=f"layer {layer}", above=name, format=".3f") for name, layer in shown]
    rows = [(moment.step, *(moment.values[name][layer] for name, layer in shown)) for moment in result.moments]
    return Table((Column("step", align="left"), *columns), tuple(rows))
