"""``isoglot study``: a table or a figure of a paper, from text to verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.options import MODEL, OUT, SET, Debug, Device, Json, Quiet, Weights, open_run
from isoglot.cli.output import Output

if TYPE_CHECKING:
    from isoglot.study.build import StudyOptions
    from isoglot.study.data import StudyData
    from isoglot.study.engines import EngineName, RunOptions
    from isoglot.study.study import Study

app = typer.Typer(
    help="A table or a figure of a paper, from text to verdicts: plan, run, resume, verify, merge.",
    no_args_is_help=True,
)

RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A name (isoglot study list), or the path of a .toml file.")
]
StudyArgument = Annotated[Path, typer.Argument(metavar="STUDY", help="The --out of isoglot study run.")]
_OUT = typer.Option("--out", metavar="DIR", help=OUT)  # several processes may work on one study: no lock
StudyOut = Annotated[Path, _OUT]
_INPUT, _SIZE, _RUNNING, _CLUSTER = "Input", "Size", "Running", "Cluster"
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="LANG=PATH", rich_help_panel=_INPUT, help="Text to train on; repeat for each file."),
]
OtherText = Annotated[
    list[str] | None,
    typer.Option("--other-text", metavar="LANG=PATH", rich_help_panel=_INPUT, help="Text of another domain."),
]
Parallel = Annotated[
    list[str] | None,
    typer.Option(
        "--parallel",
        metavar="PAIR=PATH",
        rich_help_panel=_INPUT,
        help="Test sentences that correspond: a table, a folder of Tatoeba's, or en-de.en=FILE and en-de.de=FILE.",
    ),
]
MapParallel = Annotated[
    list[str] | None,
    typer.Option("--map-parallel", metavar="PAIR=PATH", rich_help_panel=_INPUT, help="Likewise, to fit maps on."),
]
Dictionary = Annotated[
    list[str] | None,
    typer.Option(
        "--dictionary",
        metavar="PAIR.SPLIT=PATH",
        rich_help_panel=_INPUT,
        help="A MUSE dictionary: en-de.train=FILE, en-de.test=FILE.",
    ),
]
Treebank = Annotated[
    list[str] | None,
    typer.Option(
        "--treebank",
        metavar="LANG[.SPLIT]=PATH",
        rich_help_panel=_INPUT,
        help="CoNLL-U: en.train=FILE, en.dev=FILE, de.test=FILE; or a folder that has them.",
    ),
]
Ner = Annotated[
    list[str] | None,
    typer.Option("--ner", metavar="LANG[.SPLIT]=PATH", rich_help_panel=_INPUT, help="Named entities, likewise."),
]
Nli = Annotated[
    list[str] | None,
    typer.Option("--nli", metavar="LANG[.SPLIT]=PATH", rich_help_panel=_INPUT, help="Inference pairs, likewise."),
]
DataFile = Annotated[
    Path | None,
    typer.Option("--data", metavar="TOML", rich_help_panel=_INPUT, help="A file that names all of these."),
]
Segment = Annotated[
    list[str] | None,
    typer.Option(
        "--segment",
        metavar="LANG=METHOD",
        rich_help_panel=_INPUT,
        help="Segment text into words first, everywhere: zh=jieba, en=moses.",
    ),
]
KeepTests = Annotated[
    bool,
    typer.Option("--keep-test-sentences", rich_help_panel=_INPUT, help="Leave test sentences in the training text."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        rich_help_panel=_INPUT,
        callback=open_run,
        help=f"Measure this encoder instead of pretraining one. {MODEL}",
    ),
]
Pair = Annotated[
    list[str] | None,
    typer.Option("--pair", metavar="PAIR", rich_help_panel=_SIZE, help="Languages, such as en-de. May be repeated."),
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="NAME", rich_help_panel=_SIZE, help="nano, thumbnail, minutes, hour or paper."),
]
Seeds = Annotated[
    int | None, typer.Option("--seeds", min=1, max=100, rich_help_panel=_SIZE, help="Encoders of each arm.")
]
Arm = Annotated[
    list[str] | None,
    typer.Option("--arm", metavar="NAME", rich_help_panel=_SIZE, help="Run this arm alone. May be repeated."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", rich_help_panel=_SIZE, help=SET),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=1024, rich_help_panel=_RUNNING, help="Processes; default: one per GPU."),
]
Keep = Annotated[
    Literal["all", "packed", "results"],
    typer.Option(
        "--keep",
        rich_help_panel=_RUNNING,
        help="results: remove encoders and shards once nothing needs them; packed: keep encoders, a fifth as large.",
    ),
]
StopAfter = Annotated[
    str | None,
    typer.Option("--stop-after", metavar="TIME", rich_help_panel=_RUNNING, help="End cleanly after 25m, 2h …"),
]
Engine = Annotated[
    Literal["local", "slurm", "ray"],
    typer.Option("--engine", rich_help_panel=_RUNNING, help="What runs the steps."),
]


Gpus = Annotated[
    int, typer.Option("--gpus", min=1, max=1024, rich_help_panel=_RUNNING, help="GPUs of a training step (torchrun).")
]
Partition = Annotated[
    str | None,
    typer.Option("--partition", metavar="NAME", rich_help_panel=_CLUSTER, help="slurm: partition of the jobs."),
]
TimeLimit = Annotated[
    str | None,
    typer.Option("--time", metavar="TIME", rich_help_panel=_CLUSTER, help="slurm: time limit of a job, as 4:00:00."),
]
Sbatch = Annotated[
    list[str] | None,
    typer.Option(
        "--sbatch",
        metavar="OPTION",
        rich_help_panel=_CLUSTER,
        help='slurm: any option of sbatch, as --sbatch "--account=x". May be repeated.',
    ),
]
Wait = Annotated[bool, typer.Option("--wait", rich_help_panel=_CLUSTER, help="slurm: wait until the jobs have ended.")]
Address = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT", rich_help_panel=_CLUSTER, help="ray: head of the cluster, or auto."),
]


def _data(recipe: str, file: Path | None, **options: list[str] | None) -> StudyData:
    from isoglot.study.data import study_data

    return study_data(recipe, file, {name.replace("_", "-"): values or [] for name, values in options.items()})


def _options(
    pair: list[str] | None,
    scale: str | None,
    settings: list[str] | None,
    seeds: int | None,
    arm: list[str] | None,
    segment: list[str] | None,
    keep_tests: bool,
    model: str | None,
) -> StudyOptions:
    from isoglot.study.build import StudyOptions
    from isoglot.study.data import named_values, pair_name

    return StudyOptions(
        scale=scale,
        scale_settings=tuple(settings or ()),
        pairs=tuple(map(pair_name, pair or ())),
        seeds=seeds,
        arms=tuple(arm or ()),
        keep_test_sentences=keep_tests,
        segmentation=named_values("segment", segment or ()),
        model=model,
    )


@app.command("list", epilog="Example: isoglot study list")
def list_(json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """List the recipes and the scales."""
    from rich.table import Table

    from isoglot.study.recipe import load_scale, load_study, scale_names, study_names

    recipes = {name: load_study(name)[1].title for name in study_names()}
    scales = {name: load_scale(name).meaning for name in scale_names()}
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for title, found in (("Recipes", recipes), ("Scales", scales)):
        table.add_row(title, "")
        for name, meaning in found.items():
            table.add_row(f"  {name}", meaning)
    Output(json=json, quiet=quiet).result({"recipes": recipes, "scales": scales}, table)


@app.command("plan", epilog="Example: isoglot study plan table1 --text en=en.txt --text de=de.txt --scale hour")
def plan(
    recipe: RecipeArgument,
    text: Text = None,
    other_text: OtherText = None,
    parallel: Parallel = None,
    map_parallel: MapParallel = None,
    dictionary: Dictionary = None,
    treebank: Treebank = None,
    ner: Ner = None,
    nli: Nli = None,
    data: DataFile = None,
    segment: Segment = None,
    keep_test_sentences: KeepTests = False,
    model: Model = None,
    weights: Weights = "best",
    pair: Pair = None,
    scale: Scale = None,
    seeds: Seeds = None,
    arm: Arm = None,
    settings: Settings = None,
    out: Annotated[Path | None, _OUT] = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show steps, tokens, time, disk and memory of a study, and test data in the training text; nothing is run.

    With --out, steps that are in that folder count as done. --set changes a setting of the scale: tokens=50000000.
    """
    from isoglot.study.build import build_study
    from isoglot.study.plan import estimate

    output = Output(json=json, quiet=quiet)
    files = _data(
        recipe,
        data,
        text=text,
        other_text=other_text,
        parallel=parallel,
        map_parallel=map_parallel,
        dictionary=dictionary,
        treebank=treebank,
        ner=ner,
        nli=nli,
    )
    options = _options(pair, scale, settings, seeds, arm, segment, keep_test_sentences, model)
    built = build_study(recipe, files, options)
    found = estimate(built, out=out, device=device, progress=output.progress)
    output.result(found.as_dict(), found.table().rich())


@app.command("run", epilog="Example: isoglot study run table1 --scale nano --out studies/first")
def run(
    recipe: RecipeArgument,
    out: StudyOut,
    text: Text = None,
    other_text: OtherText = None,
    parallel: Parallel = None,
    map_parallel: MapParallel = None,
    dictionary: Dictionary = None,
    treebank: Treebank = None,
    ner: Ner = None,
    nli: Nli = None,
    data: DataFile = None,
    segment: Segment = None,
    keep_test_sentences: KeepTests = False,
    model: Model = None,
    weights: Weights = "best",
    pair: Pair = None,
    scale: Scale = None,
    seeds: Seeds = None,
    arm: Arm = None,
    settings: Settings = None,
    engine: Engine = "local",
    workers: Workers = None,
    gpus: Gpus = 1,
    keep: Keep = "all",
    stop_after: StopAfter = None,
    partition: Partition = None,
    time: TimeLimit = None,
    sbatch: Sbatch = None,
    wait: Wait = False,
    address: Address = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run every step of a study that is not there yet. It may be killed at any moment; the same command goes on.

    --set changes a setting of the scale: --set tokens=50000000, --set tasks.ner.settings.epochs=2.
    """
    from isoglot.study.build import build_study
    from isoglot.study.engines import ClusterOptions, RunOptions, check_engine
    from isoglot.study.study import Study

    output = Output(json=json, quiet=quiet)
    files = _data(
        recipe,
        data,
        text=text,
        other_text=other_text,
        parallel=parallel,
        map_parallel=map_parallel,
        dictionary=dictionary,
        treebank=treebank,
        ner=ner,
        nli=nli,
    )
    options = _options(pair, scale, settings, seeds, arm, segment, keep_test_sentences, model)
    how = RunOptions(
        device=device,
        workers=workers,
        gpus=gpus,
        keep=keep,
        stop_after=_seconds(stop_after),
        cluster=ClusterOptions(partition=partition, time=time, sbatch=tuple(sbatch or ()), wait=wait, address=address),
    )
    check_engine(engine, how)
    study = Study.create(out, build_study(recipe, files, options))
    for reason in study.left_out:
        output.remark(f"left out: {reason}")
    _run(study, engine, how, output)


def _run(study: Study, engine: EngineName, options: RunOptions, output: Output) -> None:
    import time

    from isoglot.cli.report import write_page
    from isoglot.core.errors import IsoglotError
    from isoglot.report.study_figures import FOLDER, write_figures
    from isoglot.study.engines import run_study

    start = time.monotonic()
    result = run_study(study, engine, options, progress=output.progress, say=output.remark)
    output.say(result.in_words(time.monotonic() - start))
    counts = dict(study.counts())
    figures, page = [str(path) for path in write_figures(study)], write_page(study)
    value = {"study": str(study.out), "steps": counts, "failed": result.failed, "figures": figures, "page": str(page)}
    output.result(value | ({"jobs": result.jobs} if result.jobs else {}), _shown_numbers(study))
    if figures:
        output.say(f"figures: {study.out / FOLDER}")
    output.say(f"page: {page}")
    if result.failed:
        first = next(iter(result.failed.values()))
        raise IsoglotError(
            f"{len(result.failed)} steps failed; the first: {first}",
            remedy=f"isoglot study status {study.out} lists them; the same command tries again",
        )


def _seconds(text: str | None) -> float | None:
    from isoglot.pretrain.schedule import parse_duration

    return None if text is None else parse_duration(text, "--stop-after")


@app.command("status", epilog="Example: isoglot study status studies/first")
def status(study: StudyArgument, json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Show what is done, running and failed, and why, and the time left."""
    from collections import Counter
    from dataclasses import asdict

    from rich.table import Table

    from isoglot.core.progress import duration
    from isoglot.study.engines.slurm import queued_jobs
    from isoglot.study.plan import time_left
    from isoglot.study.study import Study

    opened = Study.open(study)
    states = opened.states(queued_jobs(opened))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("step", "status", "time", "what", "where or error"):
        table.add_column(column, overflow="fold")
    for one in states:
        spent = duration(one.seconds) if one.seconds else ""
        table.add_row(one.step.key[:8], one.status, spent, one.step.title, one.error or one.where)
    counts = Counter(one.status for one in states)
    left = time_left(opened)
    value = {
        "about": opened.about,
        "counts": dict(counts),
        "time_left": asdict(left),
        "steps": [
            {"key": one.step.key, "kind": one.step.kind, "title": one.step.title, "status": one.status}
            | {name: text for name, text in (("error", one.error), ("where", one.where)) if text}
            for one in states
        ],
    }
    output = Output(json=json, quiet=quiet)
    output.result(value, table)
    words = [f"{count} {name}" for name, count in counts.items()]
    output.say(", ".join(words) + ("; " + left.in_words() if opened.needed() else ""))


@app.command("step", epilog="Example: isoglot study step studies/first 8f0c2d")
def step(
    study: StudyArgument,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The step's key, or how it begins.")],
    gpus: Gpus = 1,
    keep: Keep = "all",
    stop_after: StopAfter = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compute one step whose inputs are there; what jobs of a cluster call.

    The exit code is 75 if the step has paused, at a signal or after --stop-after: the same command goes on.
    """
    from rich.text import Text as RichText

    from isoglot.core.errors import IsoglotError
    from isoglot.study.engines import RunOptions
    from isoglot.study.engines.local import run_step
    from isoglot.study.engines.slurm import PAUSED
    from isoglot.study.study import Study

    output = Output(json=json, quiet=quiet)
    opened = Study.open(study)
    one = opened.find(key)
    how = RunOptions(device=device, gpus=gpus, keep=keep, stop_after=_seconds(stop_after))
    result = run_step(opened, one, how, progress=output.progress, say=output.remark)
    if result.failed:
        raise IsoglotError(result.failed[one.key], remedy="the same command tries again")
    status = "done" if result.done else "paused"
    output.result({"key": one.key, "title": one.title, "status": status}, RichText(f"{one.title or one.key}: {status}"))
    if not result.done:
        raise typer.Exit(PAUSED)


@app.command("verify", epilog="Example: isoglot study verify studies/first --against expected.json")
def verify(
    study: StudyArgument,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Also: what differs from these numbers beyond its interval?"),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Test every claim of the paper: on the paper's printed numbers, and on the study's.

    With --against a study of no paper is compared too, number by number.
    """
    from rich.console import Group

    from isoglot.study.claims import verdict_table
    from isoglot.study.study import Study
    from isoglot.study.tables.results import about_study, difference_table, study_differences, study_verdicts

    output, opened = Output(json=json, quiet=quiet), Study.open(study)
    claims = against is None or opened.about.get("paper")  # numbers of other recipes can be compared as well
    verdicts = study_verdicts(opened) if claims else []
    shown: list[Any] = [verdict_table(verdicts).rich()] if claims else [about_study(opened)]
    value: dict[str, Any] = {"about": opened.about, "verdicts": [one.as_json() for one in verdicts]}
    if against is not None:
        differences = study_differences(opened, verdicts, against)
        value["differences"] = [vars(one) for one in differences]
        shown.append(difference_table(differences).rich())
    output.result(value, Group(*shown))


@app.command("expected", epilog="Example: isoglot study expected studies/first > expected.json")
def expected(study: StudyArgument, json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Print the study's numbers with intervals, seeds, hashes and versions as JSON, for verify --against."""
    from isoglot.study.study import Study
    from isoglot.study.tables.results import study_expected

    Output(json=True, quiet=quiet).result(study_expected(Study.open(study)), "")


@app.command("figures", epilog="Example: isoglot study figures studies/first")
def figures(study: StudyArgument, json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Draw what a study has measured so far into its folder figures, as SVG files."""
    from rich.text import Text as RichText

    from isoglot.report.study_figures import write_figures
    from isoglot.study.study import Study

    paths = [str(path) for path in write_figures(Study.open(study))]
    shown = "\n".join(paths) or "nothing has been measured that a figure shows"
    Output(json=json, quiet=quiet).result({"figures": paths}, RichText(shown))


@app.command("merge", epilog="Example: isoglot study merge studies/a studies/b --out studies/ab")
def merge(
    studies: Annotated[list[Path], typer.Argument(metavar="STUDY…", help="Studies to join.")],
    out: StudyOut,
    keep: Annotated[
        Literal["all", "results"],
        typer.Option("--keep", help="results: copy records and numbers alone, without paths, as for a repository."),
    ] = "all",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Join the steps and the measurements of studies from several machines."""
    from rich.text import Text as RichText

    from isoglot.study.study import merge_studies

    merged, copied = merge_studies(studies, out, keep=keep)
    value = {"study": str(out), "copied": copied, "steps": dict(merged.counts())}
    Output(json=json, quiet=quiet).result(value, RichText(f"{len(copied)} steps copied to {out}"))


# --- shown ---


def _shown_numbers(study: Study) -> Any:  # noqa: ANN401 - what Rich can print
    from rich.console import Group

    from isoglot.study.tables.results import closing_tables

    tables = closing_tables(study)
    return Group(*(part for table in tables for part in ("", table.rich()))) if tables else "No results yet."
