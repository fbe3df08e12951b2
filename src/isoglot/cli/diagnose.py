"""``isoglot diagnose``: how well the languages of an encoder share a space, and what would improve it for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import CslsFrom, Langs, MeansFrom, ParallelSets, parse_estimates, parse_langs, read_sets
from isoglot.cli.options import (
    Debug,
    Device,
    Json,
    LayerList,
    ModelArgument,
    OptionalOut,
    Quiet,
    Seed,
    SentencePoolOfModel,
    Settings,
    Weights,
    parse_layers,
)
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import files_of, recorded, write_all
from isoglot.core.progress import counted
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from isoglot.diagnose import Checkup, Finding

EXAMPLE = "Example: isoglot diagnose MODEL --parallel en=a.txt --parallel de=b.txt --out report/"
PAGE, DATA = "index.html", "diagnosis.json"


def diagnose(
    model: ModelArgument = "isoglot-mini",
    parallel: ParallelSets = None,
    langs: Langs = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences", metavar="N", min=1, help="The first N. Default: 500 built-in sentences, or 2,000 of files."
        ),
    ] = None,
    layers: LayerList = "all",
    pool: SentencePoolOfModel = None,
    pivot: Annotated[
        str | None,
        typer.Option("--pivot", metavar="LANG", help="Only pairs with this language. Default: every pair."),
    ] = None,
    means_from: MeansFrom = None,
    csls_from: CslsFrom = "folds",
    settings: Settings = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check an encoder: which layer to use, which languages are poorly aligned, what would improve it for free.

    Measures every layer and pair of languages: retrieval (as it is, means removed, CSLS, both, trimmed, mapped), CKA
    with its null distribution, language probes, anisotropy, hubness, and tokenizer statistics. Without --parallel,
    built-in sentences are used. By default everything that is estimated for a sentence, its language's mean included,
    comes from other sentences.

    --out receives a page, index.html, and every number in diagnosis.json. --set reaches folds, resamples and draws.
    """
    from dataclasses import asdict

    from isoglot.compare.parallel_sentences import SENTENCES, builtin_languages_of, builtin_set
    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.core.language_codes import language_code
    from isoglot.diagnose import DiagnoseConfig, all_findings
    from isoglot.diagnose import diagnose as check_up
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.diagnosis import diagnosis_page
    from isoglot.represent.extraction import sentence_pool

    output = Output(json=json, quiet=quiet)
    chosen = parse_layers(layers)
    values = {"seed": seed, "pivot": None if pivot is None else language_code(pivot)}
    config = build_config(DiagnoseConfig, values=values, settings=settings or ())
    asked = parse_estimates(means_from, csls_from, folds=config.folds)
    given = read_sets(parallel, langs, sentences or MOST) if parallel else []
    encoder = load_encoder(model, device=device)
    pool = pool or sentence_pool(encoder)
    sets = given
    if not sets:
        sets = [builtin_set(parse_langs(langs) or builtin_languages_of(encoder), sentences or SENTENCES, seed=seed)]
    where = str(choose_device(device))
    files: list[Path] = []
    languages = dict.fromkeys(code for one in sets for code in one.sentences)
    with recorded(out, [*files_of(parallel), *asked.files], seed=seed, config=config, device=where) as run:
        found = check_up(
            encoder,
            sets,
            layers=chosen,
            pool=pool,
            config=config,
            estimates=asked.estimates,
            others=asked.others(encoder, languages, layers=chosen, pool=pool, progress=output.progress),
            name=model,
            progress=output.progress,
        )
        said = all_findings(found)
        value = {**found.as_dict(), "findings": [asdict(each) for each in said]}
        if out is not None and run is not None:
            files = [out / PAGE, out / DATA]
            facts = [
                *page_facts(),
                f"isoglot {run.versions['isoglot']}, torch {run.versions.get('torch')}, on {where}",
            ]
            write_all(run, DATA, value, {PAGE: diagnosis_page(found, facts=facts)})
    output.result(value | {"files": [str(path) for path in files]}, _summary(found, said))
    if files:
        output.say(f"Open {files[0].resolve()} in a browser; every number is in {files[1]}")


def _summary(found: Checkup, said: Sequence[Finding]) -> RenderableType:
    """The findings in words, and a line of figures for every layer."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    from isoglot.report.diagnosis import SIGNS, TOPICS, WAY_NAMES, top_words

    words = RichTable(box=None, padding=(0, 1, 0, 0), show_header=False)
    words.add_column(no_wrap=True)
    words.add_column()
    words.add_column(overflow="fold")
    for number, each in enumerate(said):
        new = number == 0 or said[number - 1].topic != each.topic
        words.add_row(Text(TOPICS[each.topic] if new else ""), SIGNS[each.tone], Text(each.text))
    columns = [Column("layer"), *(Column(name, title=name, scale=100, format=".1f") for name in WAY_NAMES.values())]
    columns += [Column("CKA", kind="number", format=".2f"), Column("probe", scale=100, format=".1f")]
    rows = [
        (one.layer, *(one.found[way].value for way in WAY_NAMES), one.cka, one.probe.linear.value)
        for one in found.layers
    ]
    best = tuple(place for place, one in enumerate(found.layers) if one.layer == found.best.layer)
    figures = Table(tuple(columns), tuple(rows), bold_rows=best)
    note = f"P@1 in %, the mean over {counted(len(found.pairs), 'pairs')}; the language probe in %"
    return Group(words, Text(), figures, Text(note), Text(top_words(found)), *(Text(each) for each in found.remarks))
