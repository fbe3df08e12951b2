"""``isoglot diagnose``: how well the languages of an encoder share a space, and what would improve it for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import CslsFrom, Langs, MeansFrom, ParallelSets, parse_estimates, parse_langs, read_sets
from isoglot.cli.options import (
    Device,
    LayerList,
    ModelArgument,
    OptionalOut,
    Seed,
    SentencePoolOfModel,
    Settings,
    Weights,
    parse_layers,
)
from isoglot.cli.output import Output
from isoglot.cli.run_files import files_of, publish

if TYPE_CHECKING:
    from isoglot.report.results import Rendering

EXAMPLE = "Example: isoglot diagnose MODEL --parallel en=a.txt --parallel de=b.txt --out report/"


def diagnose(
    *,
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
    output: Output,
) -> None:
    """Check an encoder: which layer to use, which languages are poorly aligned, what would improve it for free.

    Measures every layer and pair of languages: retrieval (as it is, means removed, CSLS, both, trimmed, mapped), CKA
    with its null distribution, language probes, anisotropy, hubness, and tokenizer statistics. Without --parallel,
    built-in sentences are used. By default everything that is estimated for a sentence, its language's mean included,
    comes from other sentences.

    --out receives a page, index.html, and every number in diagnosis.json. --set reaches folds, resamples and draws.
    """
    from isoglot.compare.parallel_sentences import SENTENCES, builtin_languages_of, builtin_set
    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.core.language_codes import language_code
    from isoglot.diagnose import DiagnoseConfig
    from isoglot.diagnose import diagnose as check_up
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.results import diagnosis_result
    from isoglot.represent.extraction import sentence_pool

    chosen = parse_layers(layers)
    values = {"seed": seed, "pivot": None if pivot is None else language_code(pivot)}
    config = build_config(DiagnoseConfig, values=values, settings=settings or ())
    asked = parse_estimates(means_from, csls_from, folds=config.folds)
    given = read_sets(parallel, langs, sentences or MOST) if parallel else []
    encoder = load_encoder(model, device=device)
    own = sentence_pool(encoder, pool)
    codes = parse_langs(langs)
    sets = given or [builtin_set(codes or builtin_languages_of(encoder), sentences or SENTENCES, seed=seed)]
    languages = dict.fromkeys(code for one in sets for code in one.sentences)

    def work(_: Path | None) -> Rendering:
        found = check_up(
            encoder,
            sets,
            layers=chosen,
            pool=own,
            config=config,
            estimates=asked.estimates,
            others=asked.others(encoder, languages, layers=chosen, pool=own, progress=output.progress),
            name=model,
            progress=output.progress,
        )
        return diagnosis_result(found, where)

    where, inputs = str(choose_device(device)), [*files_of(parallel), *asked.files]
    publish(output, out, work, name="diagnosis.json", inputs=inputs, seed=seed, device=where, config=config)
