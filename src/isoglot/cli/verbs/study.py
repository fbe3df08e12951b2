"""``isoglot study``: a table or a figure of a paper, from text to verdicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.inputs import option
from isoglot.cli.options import INPUT, MODEL, OUT, RUN, SET, Device, Weights, open_run, verb
from isoglot.cli.output import Output

if TYPE_CHECKING:
    from isoglot.study.build import BuiltStudy
    from isoglot.study.engines import RunOptions

app = typer.Typer(
    help="A table or a figure of a paper, from text to verdicts: plan, run, resume, verify, merge.",
    no_args_is_help=True,
)

RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A name (isoglot study list), or the path of a .toml file.")
]
StudyArgument = Annotated[Path, typer.Argument(metavar="STUDY", help="The --out of isoglot study run.")]
_OUT = option("--out", "DIR", OUT)  # several processes may work on one study: no lock
StudyOut = Annotated[Path, _OUT]
Files = list[str] | None


@dataclass(frozen=True)
class StudyInput:
    """The data of a study."""

    SECTION: ClassVar[str] = INPUT
    text: Annotated[Files, typer.Option(metavar="LANG=PATH", help="Text to train on; repeat for each file.")] = None
    other_text: Annotated[Files, typer.Option(metavar="LANG=PATH", help="Text of another domain.")] = None
    parallel: Annotated[
        Files,
        typer.Option(
            metavar="PAIR=PATH",
            help="Test sentences that correspond: a table, a folder of Tatoeba's, or en-de.en=FILE and en-de.de=FILE.",
        ),
    ] = None
    map_parallel: Annotated[Files, typer.Option(metavar="PAIR=PATH", help="Likewise, to fit maps on.")] = None
    dictionary: Annotated[
        Files, typer.Option(metavar="PAIR.SPLIT=PATH", help="A MUSE dictionary: en-de.train=FILE, en-de.test=FILE.")
    ] = None
    treebank: Annotated[
        Files,
        typer.Option(
            metavar="LANG[.SPLIT]=PATH",
            help="CoNLL-U: en.train=FILE, en.dev=FILE, de.test=FILE; or a folder that has them.",
        ),
    ] = None
    ner: Annotated[Files, typer.Option(metavar="LANG[.SPLIT]=PATH", help="Named entities, likewise.")] = None
    nli: Annotated[Files, typer.Option(metavar="LANG[.SPLIT]=PATH", help="Inference pairs, likewise.")] = None
    data: Annotated[Path | None, typer.Option(metavar="TOML", help="A file that names all of these.")] = None
    segment: Annotated[
        Files,
        typer.Option(metavar="LANG=METHOD", help="Segment text into words first, everywhere: zh=jieba, en=moses."),
    ] = None
    keep_test_sentences: Annotated[
        bool, typer.Option("--keep-test-sentences", help="Leave test sentences in the training text.")
    ] = False
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", callback=open_run, help=f"Measure this encoder instead of pretraining one. {MODEL}"
        ),
    ] = None
    weights: Weights = "best"


@dataclass(frozen=True)
class StudySize:
    """Which part of a study is run, and how large."""

    SECTION: ClassVar[str] = "Size"
    pair: Annotated[Files, typer.Option(metavar="PAIR", help="Languages, such as en-de. May be repeated.")] = None
    scale: Annotated[str | None, typer.Option(metavar="NAME", help="nano, thumbnail, minutes, hour or paper.")] = None
    seeds: Annotated[int | None, typer.Option(min=1, max=100, help="Encoders of each arm.")] = None
    arm: Annotated[Files, typer.Option(metavar="NAME", help="Run this arm alone. May be repeated.")] = None
    settings: Annotated[Files, option("--set", "KEY=VALUE", SET)] = None

    def build(self, recipe: str, given: StudyInput) -> BuiltStudy:
        """The steps of a study."""
        from isoglot.study.build import StudyOptions, build_study
        from isoglot.study.data import TABLES, named_values, pair_name, study_data

        files = {table: getattr(given, table.replace("-", "_")) or [] for table in TABLES}
        options = StudyOptions(
            scale=self.scale,
            scale_settings=tuple(self.settings or ()),
            pairs=tuple(map(pair_name, self.pair or ())),
            seeds=self.seeds,
            arms=tuple(self.arm or ()),
            keep_test_sentences=given.keep_test_sentences,
            segmentation=named_values("segment", given.segment or ()),
            model=given.model,
        )
        return build_study(recipe, study_data(recipe, given.data, files), options)


@dataclass(frozen=True)
class StepRun:
    """How a step is run."""

    SECTION: ClassVar[str] = RUN
    gpus: Annotated[int, typer.Option(min=1, max=1024, help="GPUs of a training step (torchrun).")] = 1
    keep: Annotated[
        Literal["all", "packed", "results"],
        typer.Option(
            help="results: remove encoders and shards once nothing needs them; packed: keep encoders, a fifth as large."
        ),
    ] = "all"
    stop_after: Annotated[str | None, typer.Option(metavar="TIME", help="End cleanly after 25m, 2h …")] = None
    device: Device = "auto"

    def options(self, **more: Any) -> RunOptions:  # noqa: ANN401 - options of an engine
        """The same for an engine."""
        from isoglot.pretrain.schedule import parse_duration
        from isoglot.study.engines import RunOptions

        seconds = None if self.stop_after is None else parse_duration(self.stop_after, "--stop-after")
        return RunOptions(device=self.device, gpus=self.gpus, keep=self.keep, stop_after=seconds, **more)


@dataclass(frozen=True)
class Cluster:
    """Options of engines of clusters."""

    SECTION: ClassVar[str] = "Cluster"
    partition: Annotated[str | None, typer.Option(metavar="NAME", help="slurm: partition of the jobs.")] = None
    time: Annotated[str | None, typer.Option(metavar="TIME", help="slurm: time limit of a job, as 4:00:00.")] = None
    sbatch: Annotated[
        Files,
        typer.Option(metavar="OPTION", help='slurm: any option of sbatch, as --sbatch "--account=x". May be repeated.'),
    ] = None
    wait: Annotated[bool, typer.Option("--wait", help="slurm: wait until the jobs have ended.")] = False
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="ray: head of the cluster, or auto.")] = None


@verb(app, "list", example="study list")
def list_(*, output: Output) -> None:
    """List the recipes, the scales, and the expected numbers that study verify --against can compare with."""
    from isoglot.core.table import Table
    from isoglot.study.recipe import load_scale, load_study, scale_names, study_names
    from isoglot.study.tables.results import expected_names

    recipes = {name: load_study(name)[1].title for name in study_names()}
    scales = {name: load_scale(name).meaning for name in scale_names()}
    rows = [["recipe", *one] for one in recipes.items()] + [["scale", *one] for one in scales.items()]
    rows += [["expected", name, f"numbers of results/{name} in the repository"] for name in expected_names()]
    shown = Table.from_cells(["", "name", "what it is"], rows, align="l")
    output.result({"recipes": recipes, "scales": scales, "expected": expected_names()}, shown)


@verb(app, "plan", example="study plan table1 --text en=en.txt --text de=de.txt --scale hour")
def plan(
    *,
    recipe: RecipeArgument,
    given: StudyInput,
    size: StudySize,
    out: Annotated[Path | None, _OUT] = None,
    device: Device = "auto",
    output: Output,
) -> None:
    """Show steps, tokens, time, disk and memory of a study, and test data in the training text; nothing is run.

    With --out, steps that are in that folder count as done. --set changes a setting of the scale: tokens=50000000.
    """
    from isoglot.study.plan import estimate

    found = estimate(size.build(recipe, given), out=out, device=device, progress=output.progress)
    output.result(found.as_dict(), found.table())


@verb(app, "run", example="study run table1 --scale nano --out studies/first")
def run(
    *,
    recipe: RecipeArgument,
    out: StudyOut,
    given: StudyInput,
    size: StudySize,
    engine: Annotated[
        Literal["local", "slurm", "ray"], typer.Option(rich_help_panel=RUN, help="What runs the steps.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, rich_help_panel=RUN, help="Processes; default: one per GPU.")
    ] = None,
    how: StepRun,
    cluster: Cluster,
    output: Output,
) -> None:
    """Run every step of a study that is not there yet. It may be killed at any moment; the same command resumes.

    --set changes a setting of the scale: --set tokens=50000000, --set tasks.ner.settings.epochs=2.
    """
    from isoglot.cli.verbs.report import finish_study
    from isoglot.study.engines import ClusterOptions, check_engine, run_study
    from isoglot.study.study import Study

    of_cluster = ClusterOptions(**asdict(cluster) | {"sbatch": tuple(cluster.sbatch or ())})
    options = how.options(workers=workers, cluster=of_cluster)
    check_engine(engine, options)
    study = Study.create(out, size.build(recipe, given))
    for reason in study.left_out:
        output.remark(f"left out: {reason}")
    result = run_study(study, engine, options, progress=output.progress, say=output.remark)
    finish_study(study, result, output)


@verb(app, "status", example="study status studies/first")
def status(*, study: StudyArgument, output: Output) -> None:
    """Show what is done, running and failed, and why, and the time left."""
    from isoglot.study.plan import study_status
    from isoglot.study.study import Study

    found = study_status(Study.open(study))
    output.result(found.as_dict(), found.table())
    output.say(found.in_words())


@verb(app, "step", example="study step studies/first 8f0c2d")
def step(
    *,
    study: StudyArgument,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The step's key, or how it begins.")],
    how: StepRun,
    output: Output,
) -> None:
    """Compute one step whose inputs are there; what jobs of a cluster call.

    The exit code is 75 if the step has paused, at a signal or after --stop-after: the same command resumes.
    """
    from isoglot.core.errors import IsoglotError
    from isoglot.study.engines.local import run_step
    from isoglot.study.engines.slurm import PAUSED
    from isoglot.study.study import Study

    opened = Study.open(study)
    one = opened.find(key)
    result = run_step(opened, one, how.options(), progress=output.progress, say=output.remark)
    if result.failed:
        raise IsoglotError(result.failed[one.key], remedy="the same command tries again")
    status = "done" if result.done else "paused"
    output.result({"key": one.key, "title": one.title, "status": status}, f"{one.title or one.key}: {status}")
    if not result.done:
        raise typer.Exit(PAUSED)


@verb(app, "verify", example="study verify studies/first --against expected.json")
def verify(
    *,
    study: StudyArgument,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Also: what differs from these numbers beyond its interval? Those of isoglot study list, or a file of "
            "study expected.",
        ),
    ] = None,
    output: Output,
) -> None:
    """Test every claim of the paper: on the paper's printed numbers, and on the study's.

    With --against a study of no paper is compared too, number by number.
    """
    from rich.console import Group

    from isoglot.study.claims import verdict_table
    from isoglot.study.study import Study
    from isoglot.study.tables.results import about_study, difference_table, study_differences, study_verdicts

    opened = Study.open(study)
    claims = against is None or opened.about.get("paper")  # numbers of other recipes can be compared as well
    verdicts = study_verdicts(opened) if claims else []
    shown: list[Any] = [verdict_table(verdicts)] if claims else [about_study(opened)]
    value: dict[str, Any] = {"about": opened.about, "verdicts": [one.as_json() for one in verdicts]}
    if against is not None:
        differences = study_differences(opened, verdicts, against)
        value["differences"] = [vars(one) for one in differences]
        shown.append(difference_table(differences))
    output.result(value, Group(*shown))


@verb(app, "expected", example="study expected studies/first > expected.json")
def expected(*, study: StudyArgument, output: Output) -> None:
    """Print the study's numbers with intervals, seeds, hashes and versions as JSON, for verify --against."""
    from isoglot.study.study import Study
    from isoglot.study.tables.results import study_expected

    Output(json=True, quiet=output.quiet).result(study_expected(Study.open(study)), "")


@verb(app, "figures", example="study figures studies/first")
def figures(*, study: StudyArgument, output: Output) -> None:
    """Write the figures of what a study has measured so far into its folder figures, as Vega-Lite specifications.

    isoglot report STUDY --figures pdf draws them.
    """
    from isoglot.report.study import write_figures
    from isoglot.study.study import Study

    paths = [str(path) for path in write_figures(Study.open(study))]
    output.result({"figures": paths}, "\n".join(paths) or "nothing has been measured that a figure shows")


@verb(app, "merge", example="study merge studies/a studies/b --out studies/ab")
def merge(
    *,
    studies: Annotated[list[Path], typer.Argument(metavar="STUDY", help="Studies to join.")],
    out: StudyOut,
    keep: Annotated[
        Literal["all", "results"],
        typer.Option(help="results: copy records and numbers alone, without paths, as for a repository."),
    ] = "all",
    output: Output,
) -> None:
    """Join the steps and the measurements of studies from several machines."""
    from isoglot.study.study import merge_studies

    merged, copied = merge_studies(studies, out, keep=keep)
    value = {"study": str(out), "copied": copied, "steps": dict(merged.counts())}
    output.result(value, f"{len(copied)} steps copied to {out}")
