"""``isoglot study`` and ``isoglot report``: a table or a figure of a paper, from text to verdicts, and its page."""

from __future__ import annotations

import webbrowser
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.declaration import INPUT, RUN, argument, command, option, verb
from isoglot.cli.inputs import Files
from isoglot.cli.options import OUT, Device, OptionalOut, Settings, Weights, open_run
from isoglot.cli.output import Output, page_facts
from isoglot.core.errors import IsoglotError

if TYPE_CHECKING:
    from isoglot.study.build import BuiltStudy
    from isoglot.study.engines import RunOptions
    from isoglot.study.study import Study

app = typer.Typer()

RecipeArgument = Annotated[str, argument("RECIPE", "A name (isoglot study list), or the path of a .toml file.")]
StudyArgument = Annotated[Path, argument("STUDY", "The --out of isoglot study run.")]
_OUT = option("DIR", OUT)  # several processes may work on one study: no lock
StudyOut = Annotated[Path, _OUT]


@dataclass(frozen=True)
class StudyInput:
    """The data of a study.

    Options:
        parallel: Test sentences that correspond: a table, a folder of Tatoeba's, or en-de.en=FILE and en-de.de=FILE.
        dictionary: A MUSE dictionary: en-de.train=FILE, en-de.test=FILE.
        treebank: CoNLL-U: en.train=FILE, en.dev=FILE, de.test=FILE; or a folder that has them.
        segment: Segment text into words first, everywhere: zh=jieba, en=moses.
        model: Measure this encoder instead of pretraining one. {MODEL}
    """

    SECTION: ClassVar[str] = INPUT
    text: Annotated[Files, option("LANG=PATH", "Text to train on; repeat for each file.")] = None
    other_text: Annotated[Files, option("LANG=PATH", "Text of another domain.")] = None
    parallel: Annotated[Files, option("PAIR=PATH")] = None
    map_parallel: Annotated[Files, option("PAIR=PATH", "Likewise, to fit maps on.")] = None
    dictionary: Annotated[Files, option("PAIR.SPLIT=PATH")] = None
    treebank: Annotated[Files, option("LANG[.SPLIT]=PATH")] = None
    ner: Annotated[Files, option("LANG[.SPLIT]=PATH", "Named entities, likewise.")] = None
    nli: Annotated[Files, option("LANG[.SPLIT]=PATH", "Inference pairs, likewise.")] = None
    data: Annotated[Path | None, option("TOML", "A file that names all of these.")] = None
    segment: Annotated[Files, option("LANG=METHOD")] = None
    keep_test_sentences: Annotated[bool, option(text="Leave test sentences in the training text.")] = False
    model: Annotated[str | None, option("MODEL", callback=open_run)] = None
    weights: Weights = "best"


@dataclass(frozen=True)
class StudySize:
    """Which part of a study is run, and how large."""

    SECTION: ClassVar[str] = "Size"
    pair: Annotated[Files, option("PAIR", "Languages, such as en-de. May be repeated.")] = None
    scale: Annotated[str | None, option("NAME", "nano, thumbnail, minutes, hour or paper.")] = None
    seeds: Annotated[int | None, option(text="Random seeds per arm.", min=1, max=100)] = None
    arm: Annotated[Files, option("NAME", "Run this arm alone. May be repeated.")] = None
    settings: Settings = None

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
    """How a step is run.

    Options:
        keep: results: remove encoders and shards once nothing needs them; packed: keep encoders, a fifth as large.
    """

    SECTION: ClassVar[str] = RUN
    gpus: Annotated[int, option(text="GPUs of a training step (torchrun).", min=1, max=1024)] = 1
    keep: Literal["all", "packed", "results"] = "all"
    stop_after: Annotated[str | None, option("TIME", "End cleanly after 25m, 2h …")] = None
    device: Device = "auto"

    def options(self, **more: Any) -> RunOptions:  # noqa: ANN401 - options of an engine
        """The same for an engine."""
        from isoglot.pretrain.schedule import parse_duration
        from isoglot.study.engines import RunOptions

        seconds = None if self.stop_after is None else parse_duration(self.stop_after, "--stop-after")
        return RunOptions(device=self.device, gpus=self.gpus, keep=self.keep, stop_after=seconds, **more)


@dataclass(frozen=True)
class Cluster:
    """Options of engines of clusters.

    Options:
        sbatch: slurm: any option of sbatch, as --sbatch "--account=x". May be repeated.
    """

    SECTION: ClassVar[str] = "Cluster"
    partition: Annotated[str | None, option("NAME", "slurm: partition of the jobs.")] = None
    time: Annotated[str | None, option("TIME", "slurm: time limit of a job, as 4:00:00.")] = None
    sbatch: Annotated[Files, option("OPTION")] = None
    wait: Annotated[bool, option(text="slurm: wait until the jobs have ended.")] = False
    address: Annotated[str | None, option("HOST:PORT", "ray: head of the cluster, or auto.")] = None


@dataclass(frozen=True)
class Engine:
    """What runs the steps.

    Options:
        workers: Processes; default: one per GPU.
        trainings: Encoders that are trained at a time on a GPU, while other workers measure; default: any number.
    """

    SECTION: ClassVar[str] = RUN
    engine: Annotated[Literal["local", "slurm", "ray"], option(text="What runs the steps.")] = "local"
    workers: Annotated[int | None, option(min=1, max=1024)] = None
    trainings: Annotated[int | None, option(min=1, max=1024)] = None

    def options(self, how: StepRun, cluster: Cluster) -> RunOptions:
        """All options of the engine, which are refused before anything is written."""
        from isoglot.study.engines import ClusterOptions, check_engine

        of_cluster = ClusterOptions(**asdict(cluster) | {"sbatch": tuple(cluster.sbatch or ())})
        options = how.options(workers=self.workers, trainings=self.trainings, cluster=of_cluster)
        check_engine(self.engine, options)
        return options


@verb(app, "list", example="study list")
def list_(*, output: Output) -> None:
    """List the recipes, the scales, and the expected numbers that study verify --against can compare with."""
    from isoglot.report.terminal.study_results import recipes_result

    output.print(recipes_result())


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
    by: Engine,
    how: StepRun,
    cluster: Cluster,
    output: Output,
) -> None:
    """Run every step of a study that is not there yet. It may be killed at any moment; the same command resumes.

    --set changes a setting of the scale: --set tokens=50000000, --set tasks.ner.settings.epochs=2.
    """
    from isoglot.study.study import Study

    options = by.options(how, cluster)
    study = Study.create(out, size.build(recipe, given))
    for reason in study.left_out:
        output.remark(f"left out: {reason}")
    _finish(study, study, by, options, output)


@verb(app, "resume", example="study resume studies/first --arm default")
def resume(
    *,
    study: StudyArgument,
    arm: Annotated[Files, option("NAME", section="Size")] = None,
    prepare: Annotated[bool, option(section="Size")] = False,
    by: Engine,
    how: StepRun,
    cluster: Cluster,
    output: Output,
) -> None:
    """Run what is missing of a planned study, or a part of it; also on another machine that its folder was copied to.

    It needs data files only for steps that read them, at the paths where they were.

    Options:
        arm: Run this arm alone. May be repeated.
        prepare: Run only steps that need no GPU: text, vocabularies, shards, static vectors.
    """
    from isoglot.study.study import Study

    options = by.options(how, cluster)
    whole = Study.open(study)
    _finish(whole, whole.part(arm or (), prepare=prepare), by, options, output)


def _finish(whole: Study, part: Study, by: Engine, options: RunOptions, output: Output) -> None:
    """Run a study or a part of it, and show what there is of the whole."""
    from isoglot.report.terminal.study_results import finished_result
    from isoglot.study.engines import run_study

    result = run_study(part, by.engine, options, progress=output.progress, say=output.remark)
    output.say(result.in_words())
    output.print(finished_result(whole, result, facts=page_facts()))
    if result.failed:
        problem = f"{len(result.failed)} steps failed; the first: {next(iter(result.failed.values()))}"
        raise IsoglotError(problem, f"isoglot study status {whole.out} lists them; the same command tries again")


@verb(app, "status", example="study status studies/first")
def status(*, study: StudyArgument, output: Output) -> None:
    """Show what is done, running and failed, and why, and the time left."""
    from isoglot.study.plan import study_status
    from isoglot.study.study import Study

    found = study_status(Study.open(study))
    output.result(found.as_dict(), found.table())
    output.say(found.in_words())


@verb(app, "step", example="study step studies/first 8f0c2d")
def step(*, study: StudyArgument, key: Annotated[str, argument("KEY")], how: StepRun, output: Output) -> None:
    """Compute one step whose inputs are there; what jobs of a cluster call.

    The exit code is 75 if the step has paused, at a signal or after --stop-after: the same command resumes.

    Options:
        key: The step's key, or how it begins.
    """
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
def verify(*, study: StudyArgument, against: Annotated[str | None, option("NAME|FILE")] = None, output: Output) -> None:
    """Test every claim of the paper: on the paper's printed numbers, and on the study's.

    With --against a study of no paper is compared too, number by number.

    Options:
        against: Also: what differs from these numbers beyond its interval? Those of isoglot study list, or a file of
            study expected.
    """
    from isoglot.report.terminal.study_results import verified_result
    from isoglot.study.study import Study

    output.print(verified_result(Study.open(study), against))


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
    studies: Annotated[list[Path], argument("STUDY", "Studies to join.")],
    out: StudyOut,
    keep: Literal["all", "results"] = "all",
    output: Output,
) -> None:
    """Join the steps and the measurements of studies from several machines.

    Options:
        keep: results: copy records and numbers alone, without paths, as for a repository.
    """
    from isoglot.study.study import merge_studies

    merged, copied = merge_studies(studies, out, keep=keep)
    value = {"study": str(out), "copied": copied, "steps": dict(merged.counts())}
    output.result(value, f"{len(copied)} steps copied to {out}")


# --- isoglot report ---


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """Figures as files.

    Options:
        figures: Draw every figure as a file.
    """

    SECTION: ClassVar[str] = "Figures"
    figures: Annotated[Literal["svg", "png", "pdf"] | None, option("svg|png|pdf")] = None
    width: Annotated[str, option("LENGTH", "Width, such as 84mm, 240pt or 720px.")] = "720px"
    font_size: Annotated[float, option("POINTS", "Font size in points.")] = 9.0
    titles: Annotated[bool, option(text="With title and caption, or without.", name="--titles/--bare")] = True


@command("report studies/first --figures pdf --width 84mm --bare")
def report(
    *,
    folders: Annotated[list[Path], argument("FOLDER", "The --out of isoglot study run, or of another command.")],
    out: OptionalOut = None,
    drawing: FigureOptions,
    one_file: Annotated[bool, option(text="Write the page of a study as one file, to be sent or published.")] = False,
    open_: Annotated[bool, option(text="Open the page in a browser.")] = False,
    output: Output,
) -> None:
    """Write the results of a study as one page, index.html: tables beside the paper's, verdicts, figures, what ran.

    Without --out, it is written into the study's folder; several studies stand side by side in --out. --figures draws
    the figures of a study, or of any other result that has a page, into its folder figures.
    """
    from isoglot.report.rendering import Style
    from isoglot.report.terminal.study_results import write_report

    style = Style(width=drawing.width, font_size=drawing.font_size, titles=drawing.titles)
    how: dict[str, Any] = {"one_file": one_file, "figures": drawing.figures, "style": style, "facts": page_facts()}
    found = write_report(folders, out, **how)
    output.print(found)
    if open_:
        webbrowser.open(Path(found.value["page"]).resolve().as_uri())
