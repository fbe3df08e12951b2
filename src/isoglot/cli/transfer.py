"""``isoglot transfer``: learn a task in one language, test it in others, and use what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.inputs import Langs, parse_langs
from isoglot.cli.options import Debug, Device, Json, ModelOption, OptionalOut, Quiet, Seed, Settings, Weights
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.cli.transfer_data import (
    FILES,
    AllowLeak,
    Resume,
    Seeds,
    read_sets,
)
from isoglot.cli.transfer_map import map_
from isoglot.cli.transfer_shift import shift
from isoglot.cli.transfer_use import compare, predict, score
from isoglot.core.errors import ConfigError
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.cli.transfer_data import Files
    from isoglot.transfer import Task
    from isoglot.transfer.experiment import Outcome

app = typer.Typer(
    help="Learn a task in one language and test it in others, zero-shot.",
    epilog="Example: isoglot transfer ner --model MODEL --train en=train.tsv --dev en=dev.tsv --test de=test.tsv",
    no_args_is_help=True,
)

Train = Annotated[
    list[str] | None,
    typer.Option("--train", metavar=FILES, help="Examples to learn from; left out: built-in ones. May be repeated."),
]
Dev = Annotated[
    list[str] | None,
    typer.Option(
        "--dev", metavar=FILES, help="Examples to choose by: of the training language; of test languages, an oracle."
    ),
]
Test = Annotated[
    list[str] | None,
    typer.Option("--test", metavar=FILES, help="Examples to test on; left out: built-in ones. May be repeated."),
]
RecipeName = Annotated[
    str, typer.Option("--recipe", metavar="RECIPE", help="default, head, micro, wu2020/ner…, or a .toml file.")
]
Sentences = Annotated[
    int | None,
    typer.Option(
        "--sentences",
        metavar="N",
        min=10,
        help="The first N training examples. Default: 2,000 built-in ones (and a fifth to test on), or all of files.",
    ),
]


_TASKS = {
    "nli": "Natural language inference: premise, hypothesis and label with tabs between, or XNLI's JSON lines.",
    "ner": "Named entities: a token and its BIO tag a line, as in WikiAnn.",
    "parse": "Dependency parsing: treebanks in CoNLL-U.",
    "pos": "Parts of speech: the column UPOS of treebanks in CoNLL-U.",
    "topic": "Topics: a text and its topic a line, with a tab between.",
}


TaskFile = Annotated[Path, typer.Argument(metavar="FILE", help="A Python file that registers a task.")]


def _verb(name: str) -> Callable[..., None]:
    """The verb of a task: all have the same options."""

    def verb(
        model: ModelOption = "isoglot-mini",
        train: Train = None,
        dev: Dev = None,
        test: Test = None,
        recipe: RecipeName = "default",
        seeds: Seeds = 1,
        langs: Langs = None,
        sentences: Sentences = None,
        allow_leak: AllowLeak = False,
        resume: Resume = False,
        settings: Settings = None,
        out: OptionalOut = None,
        weights: Weights = "best",
        device: Device = "auto",
        seed: Seed = 0,
        json: Json = False,
        quiet: Quiet = False,
        debug: Debug = False,
    ) -> None:
        from isoglot.transfer import find_task

        output, task = Output(json=json, quiet=quiet), find_task(name)
        _run(
            task,
            output,
            model=model,
            files=(train, dev, test),
            langs=langs,
            sentences=sentences,
            recipe=recipe,
            seeds=seeds,
            allow_leak=allow_leak,
            resume=resume,
            settings=settings or [],
            out=out,
            device=device,
            seed=seed,
        )

    return verb


def own(
    file: TaskFile,
    model: ModelOption = "isoglot-mini",
    train: Train = None,
    dev: Dev = None,
    test: Test = None,
    recipe: RecipeName = "default",
    seeds: Seeds = 1,
    langs: Langs = None,
    sentences: Sentences = None,
    allow_leak: AllowLeak = False,
    resume: Resume = False,
    settings: Settings = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """A task of your own, in one small Python file: see isoglot/transfer/topic.py and pos.py for two."""
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    output, task = Output(json=json, quiet=quiet), load_task_file(file)
    with of_task_file(file):
        _run(
            task,
            output,
            model=model,
            files=(train, dev, test),
            langs=langs,
            sentences=sentences,
            recipe=recipe,
            seeds=seeds,
            allow_leak=allow_leak,
            resume=resume,
            settings=settings or [],
            out=out,
            device=device,
            seed=seed,
            task_file=file,
        )


_EXAMPLES = {
    "compare": "isoglot transfer compare runs/shared runs/separated",
    "nli": "isoglot transfer nli --model MODEL --train en=train.tsv --dev en=dev.tsv --test de=test.tsv",
    "ner": "isoglot transfer ner --model MODEL --train en=train.tsv --dev en=dev.tsv --test de=test.tsv",
    "parse": "isoglot transfer parse --model MODEL --train en=train.conllu --dev en=dev.conllu --test fr=test.conllu",
    "pos": "isoglot transfer pos --model MODEL --train en=train.conllu --dev en=dev.conllu --test fr=test.conllu",
    "map": "isoglot transfer map parse --model runs/en --other de=runs/de --bilingual runs/en-de --out runs/map",
    "shift": "isoglot transfer shift runs/nli --test de=de.tsv --alpha 0.5,1,2 --text en=a.txt --text de=b.txt",
    "topic": "isoglot transfer topic --model MODEL --langs de --recipe head",
    "own": "isoglot transfer own mood.py --model MODEL --train en=train.tsv --dev en=dev.tsv --test de=test.tsv",
    "score": "isoglot transfer score parse gold.conllu predicted.conllu --lang de",
    "predict": 'isoglot transfer predict "Eva lebt in Bonn." --model runs/ner --lang de',
}
for _name, _meaning in _TASKS.items():
    app.command(_name, help=_meaning, epilog=f"Example: {_EXAMPLES[_name]}")(_verb(_name))
app.command("own", epilog=f"Example: {_EXAMPLES['own']}")(own)
app.command("compare", epilog=f"Example: {_EXAMPLES['compare']}")(compare)
app.command("map", epilog=f"Example: {_EXAMPLES['map']}")(map_)
app.command("shift", epilog=f"Example: {_EXAMPLES['shift']}")(shift)
app.command("predict", epilog=f"Example: {_EXAMPLES['predict']}")(predict)
app.command("score", epilog=f"Example: {_EXAMPLES['score']}")(score)


# --- learning ---


def _run(
    task: Task[Any],
    output: Output,
    *,
    model: str,
    files: Files,
    langs: str | None,
    sentences: int | None,
    recipe: str,
    seeds: int,
    allow_leak: bool,
    resume: bool,
    settings: list[str],
    out: Path | None,
    device: str,
    seed: int,
    task_file: Path | None = None,
) -> None:
    from rich.console import Group
    from rich.text import Text

    from isoglot.core.config import build_config, load_recipe
    from isoglot.model import load_encoder
    from isoglot.transfer import TuneConfig
    from isoglot.transfer.experiment import check_experiment, run_experiment
    from isoglot.transfer.tasks.builtin_data import completed_splits

    config = build_config(
        TuneConfig, recipe=load_recipe(recipe, room="transfer"), values={"seed": seed}, settings=settings
    )
    chosen = parse_langs(langs)
    _check_files(*files, chosen)
    encoder = load_encoder(model, device=device)
    given = read_sets(task, files, sentences)
    known = encoder.vocabulary.languages
    train, dev, test = completed_splits(task, given, known, languages=chosen, count=sentences)
    named = [Path(data.file) for some in (train, dev, test) for data in some.values() if data.file]
    # What is refused leaves the folder, and the record of what ran there, as it was.
    check_experiment(encoder, task, train, dev, test, config, out, seeds=seeds, resume=resume, allow_leak=allow_leak)
    where = str(encoder.device)
    record = recorded(out, named, seed=seed, device=where, config=config, kind="in place")
    with output.resumable(out), record as run:
        done = run_experiment(
            encoder,
            task,
            train,
            dev,
            test,
            config,
            out,
            seeds=seeds,
            source=model,
            resume=resume,
            allow_leak=allow_leak,
            progress=output.progress,
            say=output.remark,
        )
        if run is not None and out is not None:
            for file in ("result.json", "result.csv", "sentences.safetensors"):
                run.add_output(out / file)
    output.result(done.facts(), Group(Text(f"{done.learned.finding()}\n"), _table(task, done)))
    if out is not None:
        output.say(f"\nUse it: {_predict_command(done, out, next(iter(test)), task_file)}")


def _check_files(train: list[str] | None, dev: list[str] | None, test: list[str] | None, langs: list[str]) -> None:
    """Files of training without files to choose by are a mistake; what is built in is not like the user's data."""
    if train and not dev:
        raise ConfigError(
            "--dev is missing", remedy="an epoch is chosen by it: --dev en=dev.tsv", code="config.missing-option"
        )
    if train and not test and not langs:
        raise ConfigError(
            "--test is missing", remedy="name what to test on: --test de=test.tsv", code="config.missing-option"
        )
    if dev and not train:
        raise ConfigError(
            "--train is missing", remedy="name what to learn from: --train en=train.tsv", code="config.missing-option"
        )


def _predict_command(done: Outcome, out: Path, language: str, task_file: Path | None) -> str:
    """The command that uses the best model, which works when pasted."""
    import shlex

    from isoglot.transfer.tasks.classification import Classification

    task = done.best.task
    pair = isinstance(task, Classification) and task.texts == 2
    text = "$'First text.\\tSecond text.'" if pair else "'Some text.'"
    own = "" if task_file is None else f" --task {shlex.quote(str(task_file))}"
    return f"isoglot transfer predict {text} --model {shlex.quote(str(out))} --lang {language}{own}"


def _table(task: Task[Any], done: Outcome) -> Table:
    every = [name for name in done.lines[0].others if all(name in line.others for line in done.lines)]
    others = [name for name in every if " " not in name]
    several = any(line.facts()["seeds"] > 1 for line in done.lines)
    heads = ["language", "chosen by", task.metric, "95 % over sentences", *["over seeds"] * several, *others]
    words = {
        "source dev": f"{done.languages[0]} dev",
        "oracle": "its own dev (not zero-shot)",
        "averaged": "nobody: weights averaged",
    }
    rows: list[list[str]] = []
    before = None
    for line in done.lines:
        facts = line.facts()
        cells = ["" if line.language == before else line.language, words[line.way], f"{facts['score']:.1f}"]
        cells.append(f"{facts['low']:.1f} – {facts['high']:.1f}")
        cells += [f"± {facts['seed_deviation']:.1f}"] * several
        rows.append([*cells, *(f"{line.others[name]:.1f}" for name in others)])
        before = line.language
    return Table.from_cells(heads, rows, align="llr")
