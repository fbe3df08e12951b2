"""``isoglot diagnose``: how well the languages of an encoder share a space, and what would improve it for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import (
    CslsFrom,
    Langs,
    MeansFrom,
    ParallelSets,
    is_path,
    parse_estimates,
    parse_langs,
    read_sets,
)
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
    from collections.abc import Callable

    from isoglot.diagnose.findings import Action
    from isoglot.model import EncoderLike
    from isoglot.report.results import Rendering
    from isoglot.represent.extraction import Pool

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

    A finding that something can be done about ends with the command. --out receives a page, index.html, and every
    number in diagnosis.json. --set reaches folds, resamples and draws.
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
        return diagnosis_result(found, where, commands)

    has_more = not given or max(map(len, given)) >= (sentences or MOST)
    texts = means_from if asked.texts else None
    commands = _commands(encoder, model, parallel, langs, sentences, pool, texts, has_more=has_more)
    where, inputs = str(choose_device(device)), [*files_of(parallel), *asked.files]
    publish(output, out, work, name="diagnosis.json", inputs=inputs, seed=seed, device=where, config=config)


def _commands(
    encoder: EncoderLike,
    model: str,
    parallel: list[str] | None,
    langs: str | None,
    sentences: int | None,
    pool: Pool | None,
    means_from: list[str] | None = None,
    *,
    has_more: bool = True,
) -> Callable[[Action], str | None]:
    """The command of each action on the same model and sentences; None where one of its inputs is not known."""
    import shlex

    from isoglot.core.errors import ConfigError
    from isoglot.diagnose.findings import FEWEST_TO_TRAIN, FIX_SETTINGS
    from isoglot.diagnose.repair.folder import fixed_pool
    from isoglot.text.formats.lines import read_lines

    texts = dict(value.split("=", 1) for value in parallel or () if not is_path(value))
    given = [word for value in parallel or () for word in ("--parallel", value)]
    given += [] if langs is None else ["--langs", langs]
    count = [] if sentences is None else ["--sentences", str(sentences)]
    pooled = [] if pool is None else ["--pool", pool]
    deployed = pooled
    try:
        fixed_pool(encoder, pool)
    except ConfigError:
        deployed = []
    can_be_fixed = encoder.depth > 0 and not encoder.has_private_parts

    def words(action: Action) -> list[str] | None:
        remedy, value = action
        if remedy == "csls":
            search = ["--layers", str(value), "--method", "csls"]
            return ["retrieve", "sentences", model, *given, *count, *pooled, *search]
        if remedy == "more":
            return ["diagnose", model, *given, "--sentences", str(value), *pooled] if has_more else None
        if remedy == "add-language":
            if value not in texts or value in encoder.languages or encoder.config is None:
                return None
            if sum(1 for _ in read_lines(texts[str(value)])) < FEWEST_TO_TRAIN:
                return None
            train = ["pretrain", "--add-language", str(value), "--model", model]
            return [*train, "--text", f"{value}={texts[value]}", "--out", f"with-{value}"]
        if not can_be_fixed:
            return None
        options = [word for value in means_from or () for word in ("--means-from", value)]
        options += [word for each in FIX_SETTINGS[remedy] for word in ("--set", each)]
        return ["fix", model, *given, *count, *deployed, *options, "--out", "fixed"]

    def command(action: Action) -> str | None:
        found = words(action)
        return None if found is None else shlex.join(["isoglot", *found])

    return command
