"""``isoglot fix``: choose a fix of sentence vectors without training, and write the model with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.inputs import Langs, ParallelSets, parse_langs, parse_named, parse_tasks, read_sets
from isoglot.cli.options import Device, ModelArgument, OptionalOut, Seed, Settings, Weights
from isoglot.cli.output import Output
from isoglot.cli.run_files import files_of, publish

if TYPE_CHECKING:
    from isoglot.report.results import Rendering

EXAMPLE = "Example: isoglot fix MODEL --parallel en=a.txt --parallel de=b.txt --out fixed/"


def fix(
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
    pool: Annotated[
        Literal["mean-all", "first", "cls", "last", "max", "weighted", "model"] | None,
        typer.Option(
            "--pool",
            help="A sentence is the mean of all its tokens, its first (also cls) or last token, the maximum over its "
            "tokens, their mean weighted by position, or what the modules of a sentence-transformers model make of it, "
            "which nothing else can replace. Special tokens count. Default: model where there are such modules, else "
            "mean-all.",
        ),
    ] = None,
    means_from: Annotated[
        list[str] | None,
        typer.Option(
            "--means-from",
            metavar="LANG=FILE",
            help="Other text for means and covariances. May be repeated. Default: other sentences of the set.",
        ),
    ] = None,
    evaluate: Annotated[
        list[str] | None,
        typer.Option(
            "--eval",
            metavar="[FROM-TO=]PATH",
            help="Your own queries and documents, before and after: a TSV of pairs, or a folder with queries.tsv, "
            "documents.tsv and qrels.txt. With the languages of both, such as ru-en=pairs.tsv. May be repeated.",
        ),
    ] = None,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Also write the model with its fix as ONNX, checked with onnxruntime.")
    ] = False,
    settings: Settings = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Improve the sentence vectors of a model without training, and write it as a sentence-transformers folder.

    Tries removing the strongest directions, LSAR, LEACE and whitening, chooses by cross-validation, and shows what the
    fix gains for each pair of languages, in one pool of all languages, and costs each language alone. A model without
    sentence-transformers modules may lose its last layers. The model is written if the gain is sure and no --eval is
    surely worse; --set method=leace writes that one in any case. --set languages=known also tries what needs the
    language of a text, which is then given as encode(texts, task="de"). Without --parallel, built-in sentences are
    used.
    """
    from isoglot.compare.parallel_sentences import SENTENCES, builtin_languages_of, builtin_set
    from isoglot.core.config import build_config
    from isoglot.diagnose.repair.choice import FixConfig
    from isoglot.diagnose.repair.fixing import fix as fix_model
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.fix import fix_result

    config = build_config(FixConfig, values={"seed": seed, "onnx": onnx}, settings=settings or ())
    others = parse_named(means_from, "--means-from") if means_from else {}
    tasks = parse_tasks(evaluate or [])
    if parallel:
        sets = read_sets(parallel, langs, sentences or MOST)
    else:
        codes = parse_langs(langs) or builtin_languages_of(load_encoder(model, device=device))
        sets = [builtin_set(codes, sentences or SENTENCES, seed=seed)]

    def work(folder: Path | None) -> Rendering:
        found = fix_model(
            model,
            sets,
            pool=pool,
            config=config,
            means_from=others,
            tasks=tasks,
            out=folder,
            device=device,
            progress=output.progress,
        )
        return fix_result(found)

    inputs = [*files_of(parallel), *files_of(means_from), *files_of(evaluate)]
    publish(output, out, work, name="fix.json", inputs=inputs, seed=seed, device=device, config=config)
