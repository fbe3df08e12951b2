"""``isoglot rank``: which encoders find more translations, and which cannot be told apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.inputs import Langs, ParallelSets, parse_langs, read_sets
from isoglot.cli.options import MODEL, Device, OptionalOut, Seed, SentencePoolOfModel, Settings, Weights, open_runs
from isoglot.cli.output import Output
from isoglot.cli.run_files import files_of, publish

if TYPE_CHECKING:
    from isoglot.report.results import Rendering

EXAMPLE = "Example: isoglot rank MODEL_A MODEL_B MODEL_C --parallel en=a.txt --parallel de=b.txt --out ranked/"
Models = Annotated[
    list[str], typer.Argument(metavar="MODEL...", callback=open_runs, show_default=False, help=f"{MODEL} Two or more.")
]


def rank(
    *,
    models: Models,
    parallel: ParallelSets = None,
    langs: Langs = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences", metavar="N", min=1, help="The first N. Default: 500 built-in sentences, or 2,000 of files."
        ),
    ] = None,
    layer: Annotated[
        int | None,
        typer.Option(
            "--layer", metavar="N", help="The layer of every model, -1 for the last. Default: the best of each."
        ),
    ] = None,
    pool: SentencePoolOfModel = None,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="How translations are searched for: cosine, csls, …")
    ] = "cosine",
    center: Annotated[
        Literal["none", "mean"], typer.Option("--center", help="mean: each language's mean removed.")
    ] = "none",
    over: Annotated[
        Literal["auto", "sentences", "languages"],
        typer.Option(
            "--over",
            help="What a difference has to hold for: other sentences, or other sentences and languages. auto: "
            "languages too if there are five or more.",
        ),
    ] = "auto",
    settings: Settings = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Rank encoders on the same parallel sentences: which are better, and which cannot be told apart.

    The score is the share of translations found, the mean of both directions and all pairs of languages, each model in
    the layer that is best for it on the other half of the sentences. Differences are tested in pairs, by a bootstrap
    over sentences and, with five or more, languages, and corrected for the number of pairs of models (Holm). Models
    that share a letter cannot be told apart.

    --out receives a page, index.html, and every number in ranking.json. --set reaches resamples and folds.
    """
    from isoglot.compare.parallel_sentences import SENTENCES, builtin_languages_of, builtin_set
    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.diagnose import RankConfig, rank_models
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.ranking import ranking_result

    values = {"layer": layer, "method": method, "center": center, "over": over, "seed": seed}
    config = build_config(RankConfig, values=values, settings=settings or ())
    sets = read_sets(parallel, langs, sentences or MOST) if parallel else []
    if not sets:
        codes = parse_langs(langs) or builtin_languages_of(load_encoder(models[0], device=device))
        sets = [builtin_set(codes, sentences or SENTENCES, seed=seed)]

    def work(_: Path | None) -> Rendering:
        loaded = ((name, load_encoder(name, device=device)) for name in models)
        return ranking_result(rank_models(loaded, sets, pool=pool, config=config, progress=output.progress))

    where = str(choose_device(device))
    publish(output, out, work, name="ranking.json", inputs=files_of(parallel), seed=seed, device=where, config=config)
