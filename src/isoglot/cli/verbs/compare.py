"""``isoglot compare``: how alike two encoders arrange the same sentences, layer by layer, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer
from typer.core import TyperGroup

from isoglot.cli.declaration import INPUT, argument, option, verb
from isoglot.cli.inputs import Files, Langs, LayerList, files_of, parse_layers, read_sets, two_langs
from isoglot.cli.options import EMBEDDED, Device, ModelRun, OptionalOut, Run, SentencePool, Settings, open_run
from isoglot.cli.output import Output
from isoglot.cli.run_files import publish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.parallel_sentences import SentencePair
    from isoglot.model import EncoderLike


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
    help="Compare two encoders, or two languages in one, on the same sentences: CKA and other measures, with null "
    "distribution, interval, floor and ceiling.\n\nisoglot compare A B is short for isoglot compare models A B.",
    epilog="Examples:\n\nisoglot compare A B --parallel en=a.txt --parallel fr=b.txt --out compared/\n\n"
    f"isoglot compare grid figure7.toml --out grid/\n\nisoglot {_EMERGENCE}",
)


@dataclass(frozen=True)
class Sentences:
    """Sentences of two languages, and what they are measured by.

    Options:
        parallel: Sentences line by line; twice, the first side's first. Or one table.tsv. Default: built-in ones.
        sentences: The first N. Default: 500 built-in ones, or all of files.
        measure: paper-cka, cka, debiased-cka, procrustes, rsa…, or all. May be repeated.
    """

    SECTION: ClassVar[str] = INPUT
    parallel: Annotated[Files, option("LANG=FILE")] = None
    langs: Langs = None
    sentences: Annotated[int | None, option("N", min=4, max=1_000_000)] = None
    measure: Annotated[Files, option("NAME")] = None

    def read(self, default: Sequence[str]) -> tuple[list[str], list[SentencePair], tuple[str, str] | None]:
        """Measures, sentences of files, and their languages; no sentences if none are given."""
        from isoglot.compare.encoders import chosen_measures
        from isoglot.compare.parallel_sentences import SENTENCES, check_count, two_sides_of

        measures = chosen_measures(self.measure or default)
        if not self.parallel:
            check_count(self.sentences or SENTENCES, measures)
            return measures, [], two_langs(self.langs) if self.langs else None
        languages, pairs = two_sides_of(read_sets(self.parallel, self.langs, self.sentences))
        check_count(len(pairs), measures)
        return measures, pairs, languages

    def pairs(
        self, given: list[SentencePair], languages: tuple[str, str] | None, encoders: Sequence[EncoderLike], seed: int
    ) -> tuple[list[SentencePair], tuple[str, str]]:
        """Sentences and languages: those given, else built-in ones."""
        from isoglot.compare.parallel_sentences import SENTENCES, comparison_pairs

        if given and languages is not None:
            return given, languages
        one, other = encoders
        codes, pairs = comparison_pairs(one, other, self.sentences or SENTENCES, languages=languages, seed=seed)
        return pairs, codes


@verb(
    app,
    "models",
    example="compare models A B --parallel en=a.txt --parallel fr=b.txt --out compared/; in short: isoglot compare A B "
    "…",
)
def models(
    *,
    one: Annotated[str | None, argument("MODEL_A", callback=open_run)] = None,
    other: Annotated[str | None, argument("MODEL_B", callback=open_run)] = None,
    sentences: Sentences = Sentences(),  # noqa: B008 - frozen
    layers: LayerList = "all",
    floor: Literal["random", "none"] = "random",
    ceiling: Annotated[str | None, option("MODEL", callback=open_run)] = None,
    without_top: Annotated[int, option("K", "Also without the K top components; 0: not.", min=0)] = 1,
    rows: Annotated[int, option(min=4, max=10_000)] = 2000,
    draws: Annotated[int, option(text="Random pairings of each null distribution.", min=20, max=100_000)] = 200,
    pool: SentencePool = "mean",
    run: ModelRun,
) -> None:
    """Compare two encoders, or two languages in one, on sentences that say the same.

    Gives CKA of every layer with every layer in three forms, and any measures layer by layer.

    --out gets compare.json, measures.csv and index.html. A folder called grid or emergence is ./grid here.

    Options:
        one: Reads the first language. {MODEL}
        other: Reads the second. Default: MODEL_A reads both.
        floor: Untrained encoder on the second side, as a reference; or none.
        ceiling: MODEL_A trained from another seed, as the other reference.
        rows: Sentences for nulls and intervals; of more, a sample.
    """
    from isoglot.compare.encoders import DEFAULT_MEASURES, CompareConfig, compare_models, random_encoder_like
    from isoglot.model import load_encoder
    from isoglot.report.results import comparison_result

    measures, given, named = sentences.read(DEFAULT_MEASURES)
    options: dict[str, Any] = {"rows": rows, "draws": draws, "pool": pool, "seed": run.seed}
    config = CompareConfig(measures=measures, layers=parse_layers(layers), top=without_top, **options)
    names = one or EMBEDDED, other or one or EMBEDDED
    encoder = load_encoder(names[0], device=run.device)
    partner = encoder if names[1] == names[0] else load_encoder(names[1], device=run.device)
    twin = None if ceiling is None else load_encoder(ceiling, device=run.device)
    what = sentences.pairs(given, named, (encoder, partner), run.seed)
    how: dict[str, Any] = {"names": names, "ceiling": twin, "ceiling_name": ceiling or "", "progress": run.progress}
    how["floor"] = random_encoder_like(partner, seed=run.seed) if floor == "random" else None
    inputs = files_of(sentences.parallel)
    run.publish(
        lambda _: comparison_result(compare_models(encoder, partner, *what, config, **how)),
        "compare.json",
        inputs=inputs,
    )


@verb(app, "grid", example="compare grid figure7.toml --out grid/")
def grid(
    *,
    spec: Annotated[Path, argument("SPEC.toml", "Columns of languages with the models of each row.")],
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
    how: dict[str, Any] = {"folder": spec.parent, "device": device, "progress": output.progress}
    facts: dict[str, Any] = {"seed": config.seed, "config": config, "device": str(choose_device(device))}
    facts["inputs"] = [spec]
    publish(output, out, lambda _: figure7_result(measure_figure7(config, **how)), "figure7.json", **facts)


@verb(app, "emergence", example=_EMERGENCE)
def emergence(
    *,
    run_folder: Annotated[Path, argument("RUN", "Folder written by isoglot pretrain, with its checkpoints.")],
    sentences: Sentences = Sentences(),  # noqa: B008 - frozen
    layers: LayerList = "all",
    pool: SentencePool = "mean",
    run: Run,
) -> None:
    """Compute measures at every checkpoint of a training run, as a curve.

    A run keeps its two newest checkpoints: train with --set checkpoints.every=100 --set checkpoints.keep=1000 to keep
    one of every hundred steps.

    --out gets emergence.json, emergence.csv and index.html.
    """
    from isoglot.compare.emergence import open_run, trace_emergence
    from isoglot.report.results import emergence_result

    measures, given, named = sentences.read(["debiased-cka"])
    how: dict[str, Any] = {"measures": measures, "layers": parse_layers(layers), "pool": pool}
    encoder = open_run(run_folder)
    what = sentences.pairs(given, named, (encoder, encoder), run.seed)
    how |= {"device": run.device, "seed": run.seed, "progress": run.progress}
    inputs = files_of(sentences.parallel)
    run.publish(lambda _: emergence_result(trace_emergence(run_folder, *what, **how)), "emergence.json", inputs=inputs)
