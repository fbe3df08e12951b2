"""``isoglot compare``: how alike two encoders arrange the same sentences, layer by layer, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer
from typer.core import TyperGroup

from isoglot.cli.inputs import Langs, option, read_sets, two_langs
from isoglot.cli.options import (
    INPUT,
    MODEL,
    Device,
    LayerList,
    ModelRun,
    OptionalOut,
    Seed,
    SentencePool,
    Settings,
    open_run,
    parse_layers,
    sentence_count,
    verb,
)
from isoglot.cli.output import Output
from isoglot.cli.run_files import files_of, publish
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.parallel_sentences import SentencePair
    from isoglot.model import EncoderLike
    from isoglot.report.results import Rendering


class _Default(TyperGroup):
    """A group whose first word may be left out: what is none of its verbs goes to the default one."""

    default_verb = "models"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own click is private
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [self.default_verb, *args]
        return super().parse_args(ctx, args)


_EMERGENCE = "compare emergence runs/en-fr --parallel en=a.txt --parallel fr=b.txt --out curve/"
app = typer.Typer(
    cls=_Default,
    no_args_is_help=True,
    help="How alike two encoders, or two languages in one, arrange the same sentences: by CKA and its rivals, with "
    "null, interval, floor and ceiling.\n\nisoglot compare A B is short for isoglot compare models A B.",
    epilog="Examples:\n\nisoglot compare A B --parallel en=a.txt --parallel fr=b.txt --out compared/\n\n"
    f"isoglot compare grid figure7.toml --out grid/\n\nisoglot {_EMERGENCE}",
)


@dataclass(frozen=True)
class Sentences:
    """Sentences of two languages, and what they are measured by."""

    SECTION: ClassVar[str] = INPUT
    parallel: Annotated[
        list[str] | None,
        option(
            "--parallel",
            "LANG=FILE",
            "Sentences line by line; twice, the first side's first. Or one table.tsv. Default: built-in ones.",
        ),
    ] = None
    langs: Langs = None
    sentences: Annotated[
        int | None, sentence_count("The first N. Default: 500 built-in ones, or all of files.", least=4, most=1_000_000)
    ] = None
    measure: Annotated[
        list[str] | None,
        option("--measure", "NAME", "paper-cka, cka, debiased-cka, procrustes, rsa…, or all. May be repeated."),
    ] = None

    def read(self, default: Sequence[str]) -> tuple[list[str], list[SentencePair], tuple[str, str] | None]:
        """Measures, sentences of files, and their languages; no sentences if none are given."""
        from isoglot.compare.encoders import chosen_measures
        from isoglot.compare.parallel_sentences import SENTENCES, check_count

        measures = chosen_measures(self.measure or default)
        if not self.parallel:
            check_count(self.sentences or SENTENCES, measures)
            return measures, [], two_langs(self.langs) if self.langs else None
        sets = read_sets(self.parallel, self.langs, self.sentences)
        codes = list(dict.fromkeys(code for one in sets for code in one.sentences))
        if len(codes) != 2:
            raise ConfigError(
                f"--parallel names {', '.join(codes)}",
                "name two languages, the first side's first: --parallel en=a.txt --parallel fr=b.txt",
                "other-language",
            )
        pairs = list(zip(*(sets[0].sentences[code] for code in codes), strict=True))
        check_count(len(pairs), measures)
        return measures, pairs, (codes[0], codes[1])

    def pairs(
        self,
        given: list[SentencePair],
        languages: tuple[str, str] | None,
        encoders: tuple[EncoderLike, EncoderLike],
        seed: int,
    ) -> tuple[tuple[str, str], list[SentencePair]]:
        """Languages and sentences: those given, else built-in ones."""
        from isoglot.compare.parallel_sentences import SENTENCES, comparison_pairs

        if given and languages is not None:
            return languages, given
        return comparison_pairs(*encoders, self.sentences or SENTENCES, languages=languages, seed=seed)


@verb(
    app,
    "models",
    example="compare models A B --parallel en=a.txt --parallel fr=b.txt --out compared/; in short: isoglot compare A B "
    "…",
)
def models(
    *,
    one: Annotated[
        str | None, typer.Argument(metavar="MODEL_A", callback=open_run, help=f"Reads the first language. {MODEL}")
    ] = None,
    other: Annotated[
        str | None,
        typer.Argument(metavar="MODEL_B", callback=open_run, help="Reads the second. Default: MODEL_A reads both."),
    ] = None,
    sentences: Sentences = Sentences(),  # noqa: B008 - frozen
    layers: LayerList = "all",
    floor: Annotated[
        Literal["random", "none"],
        typer.Option("--floor", help="Untrained encoder on the second side, as a reference; or none."),
    ] = "random",
    ceiling: Annotated[
        str | None,
        option("--ceiling", "MODEL", "MODEL_A trained from another seed, as the other reference.", callback=open_run),
    ] = None,
    without_top: Annotated[int, option("--without-top", "K", "Also without the K top components; 0: not.", min=0)] = 1,
    rows: Annotated[
        int, typer.Option("--rows", min=4, max=10_000, help="Sentences for nulls and intervals; of more, a sample.")
    ] = 2000,
    draws: Annotated[int, typer.Option("--draws", min=20, max=100_000, help="Random pairings of each null.")] = 200,
    pool: SentencePool = "mean",
    run: ModelRun,
) -> None:
    """Compare two encoders, or two languages in one, on sentences that say the same.

    Gives CKA of every layer with every layer in three forms, and any measures layer by layer.

    --out gets compare.json, measures.csv and index.html. A folder called grid or emergence is ./grid here.
    """
    from isoglot.compare.encoders import DEFAULT_MEASURES, CompareConfig, compare_models, random_encoder_like
    from isoglot.model import load_encoder
    from isoglot.model.load import EMBEDDED
    from isoglot.report.results import comparison_result

    measures, given, named = sentences.read(DEFAULT_MEASURES)
    numbers = parse_layers(layers)
    first, second = one or EMBEDDED, other or one or EMBEDDED
    encoder = load_encoder(first, device=run.device)
    partner = encoder if second == first else load_encoder(second, device=run.device)
    twin = None if ceiling is None else load_encoder(ceiling, device=run.device)
    languages, pairs = sentences.pairs(given, named, (encoder, partner), run.seed)
    config = CompareConfig(
        measures=measures, layers=numbers, top=without_top, rows=rows, draws=draws, pool=pool, seed=run.seed
    )

    def work(_: Path | None) -> Rendering:
        found = compare_models(
            encoder,
            partner,
            pairs,
            languages,
            config,
            names=(first, second),
            floor=random_encoder_like(partner, seed=run.seed) if floor == "random" else None,
            ceiling=twin,
            ceiling_name=ceiling or "",
            progress=run.progress,
        )
        return comparison_result(found)

    inputs, where = files_of(sentences.parallel), str(encoder.device)
    publish(run, run.out, work, name="compare.json", inputs=inputs, seed=run.seed, device=where)


@verb(app, "grid", example="compare grid figure7.toml --out grid/")
def grid(
    *,
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="Columns of languages with the models of each row.")
    ],
    out: OptionalOut = None,
    settings: Settings = None,
    device: Device = "auto",
    output: Output,
) -> None:
    r"""Figure 7 of Wu et al. (2020): pairs of languages × layers × {bilingual, monolingual, random}.

    The TOML file has a [\[columns]] table for each pair: languages = ["en", "fr"], bilingual = "runs/en-fr",
    monolingual = ["runs/en", "runs/fr"], and files = { en = "a.txt", fr = "b.txt" } unless the sentences are built-in.
    Paths are relative to the file. Cells without models stay empty; a model that was trained on other languages than
    those of its row is refused, and one without a record of its languages is named.

    With test = { en = "c.txt", fr = "d.txt" }, such as Tatoeba's, its sentences are retrieved by cosine after a
    rotation fitted on those of files (Figure 6 of the paper), and CKA is correlated with P@1 over layers.

    --out gets figure7.json, figure7.csv and index.html.
    """
    from isoglot.compare.figure7 import measure_figure7, read_figure7
    from isoglot.core.devices import choose_device
    from isoglot.report.results import figure7_result

    config = read_figure7(spec, settings or ())

    def work(_: Path | None) -> Rendering:
        return figure7_result(measure_figure7(config, folder=spec.parent, device=device, progress=output.progress))

    run: dict[str, Any] = {"seed": config.seed, "config": config, "device": str(choose_device(device))}
    publish(output, out, work, name="figure7.json", inputs=[spec], **run)


@verb(app, "emergence", example=_EMERGENCE)
def emergence(
    *,
    run_folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder written by isoglot pretrain, with its checkpoints.")
    ],
    sentences: Sentences = Sentences(),  # noqa: B008 - frozen
    layers: LayerList = "all",
    pool: SentencePool = "mean",
    out: OptionalOut = None,
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Compute measures at every checkpoint of a training run, as a curve.

    A run keeps its two newest checkpoints: train with --set checkpoints.every=100 --set checkpoints.keep=1000 to keep
    one of every hundred steps.

    --out gets emergence.json, emergence.csv and index.html.
    """
    from isoglot.compare.emergence import open_run, trace_emergence
    from isoglot.core.devices import choose_device
    from isoglot.report.results import emergence_result

    measures, given, named = sentences.read(["debiased-cka"])
    numbers = parse_layers(layers)
    encoder = open_run(run_folder)
    languages, pairs = sentences.pairs(given, named, (encoder, encoder), seed)

    def work(_: Path | None) -> Rendering:
        found = trace_emergence(
            run_folder,
            pairs,
            languages,
            measures=measures,
            layers=numbers,
            pool=pool,
            device=device,
            seed=seed,
            progress=output.progress,
        )
        return emergence_result(found)

    inputs, where = files_of(sentences.parallel), str(choose_device(device))
    publish(output, out, work, name="emergence.json", inputs=inputs, seed=seed, device=where)
