"""``isoglot transfer``: train a task in one language, test it in others, and use the fine-tuned model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.inputs import Langs, is_table, one_each, option, parse_langs, parse_named
from isoglot.cli.options import (
    INPUT,
    MODEL,
    RUN,
    Device,
    LayerList,
    ModelArgument,
    OptionalFileOut,
    OptionalOut,
    Seed,
    Settings,
    Weights,
    open_named_runs,
    open_run,
    parse_layers,
    verb,
)
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import files_of, place, recorded, write_all
from isoglot.cli.verbs.align import Method, Normalize
from isoglot.cli.verbs.steer import ShiftKind, Where
from isoglot.core.errors import ConfigError, shown, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.align import AlignConfig
    from isoglot.core.run import RunRecord
    from isoglot.transfer import Task
    from isoglot.transfer.experiment import Outcome
    from isoglot.transfer.layer_maps import Bitexts
    from isoglot.transfer.map_protocol import MapTransfer
    from isoglot.transfer.shift_protocol import Choose, ShiftOutcome
    from isoglot.transfer.tasks.builtin_data import Splits

_FILES = "--train en=train.tsv --dev en=dev.tsv --test de=test.tsv"
_TREES = "--train en=train.conllu --dev en=dev.conllu --test fr=test.conllu"
app = typer.Typer(
    help="Train a task in one language and test it in others, zero-shot.",
    epilog=f"Example: isoglot transfer ner MODEL {_FILES}",
    no_args_is_help=True,
)
TASKS = {
    "nli": (f"MODEL {_FILES}", "Natural language inference: tab-separated premise, hypothesis and label, or XNLI."),
    "ner": (f"MODEL {_FILES}", "Named entities: one token and its BIO tag per line, as in WikiAnn."),
    "parse": (f"MODEL {_TREES}", "Dependency parsing: treebanks in CoNLL-U."),
    "pos": (f"MODEL {_TREES}", "Parts of speech: the column UPOS of treebanks in CoNLL-U."),
    "topic": ("MODEL --langs de --recipe head", "Topics: one tab-separated text and topic per line."),
}
"""Arguments of an example, and the help, of each built-in task."""
MOST_LINES = 10_000
"""Default maximum number of lines of --text per language."""


def _files(name: str, help_: str) -> Any:  # noqa: ANN401 - as typer.Option
    return option(name, "LANG=FILE", help_, rich_help_panel=INPUT)


Values = list[str] | None
Tests = Annotated[Values, _files("--test", "Test examples. Default: built-in ones. May be repeated.")]
_TASK = option("--task", "FILE", "Python file that registers your own task.", rich_help_panel=INPUT)
OwnTask = Annotated[Path | None, _TASK]
Tuned = Annotated[Path, typer.Argument(metavar="DIR", help="Fine-tuned model: the --out of isoglot transfer.")]


@dataclass(frozen=True)
class Examples:
    """Options of the examples to train and test on."""

    SECTION: ClassVar[str] = INPUT
    train: Annotated[Values, _files("--train", "Training examples. Default: built-in ones. May be repeated.")] = None
    dev: Annotated[Values, _files("--dev", "Dev examples: of the training language, and of others for the oracle.")] = (
        None
    )
    test: Tests = None
    sentences: Annotated[
        int | None,
        option("--sentences", "N", "Training examples. Default: all, or 2,000 (and a fifth to test on).", min=10),
    ] = None

    def read(self, task: Task[Any]) -> Splits:
        """Read the files."""
        from isoglot.transfer.tasks.builtin_data import read_splits

        options = {"--train": self.train, "--dev": self.dev, "--test": self.test}
        train, dev, test = (one_each(values, flag) if values else {} for flag, values in options.items())
        return read_splits(task, train, dev, test, self.sentences)


@dataclass(frozen=True)
class Learning:
    """Options of training."""

    SECTION: ClassVar[str] = RUN
    recipe: Annotated[str, option("--recipe", "RECIPE", "default, head, micro, wu2020/ner…, or a .toml file.")] = (
        "default"
    )
    seeds: Annotated[int, option("--seeds", "N", "Number of random seeds to train with.", min=1, max=1000)] = 1
    allow_leak: Annotated[
        bool, typer.Option("--allow-leak", help="Accept dev and test examples even if nearly all are in training too.")
    ] = False
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False
    settings: Settings = None
    out: OptionalOut = None
    weights: Weights = "best"
    device: Device = "auto"
    seed: Seed = 0

    def config(self, kind: type[Any]) -> Any:  # noqa: ANN401 - of the given class
        """Config of a class, from the recipe and settings."""
        from isoglot.core.config import build_config, load_recipe

        recipe = load_recipe(self.recipe, room="transfer")
        return build_config(kind, recipe=recipe, values={"seed": self.seed}, settings=self.settings or [])

    @property
    def run(self) -> dict[str, Any]:
        """Arguments that all runs share."""
        return {"seeds": self.seeds, "resume": self.resume, "allow_leak": self.allow_leak}


def _learn(
    name: str | Path, model: str, examples: Examples, langs: str | None, learning: Learning, output: Output
) -> None:
    """Run an experiment with a built-in task, or with that of a file."""
    from rich.console import Group

    from isoglot.model import load_encoder
    from isoglot.report.transfer import outcome_page
    from isoglot.transfer import TuneConfig, find_task
    from isoglot.transfer.experiment import run_experiment
    from isoglot.transfer.tasks.builtin_data import completed_splits
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    file, out = name if isinstance(name, Path) else None, learning.out
    with of_task_file(file):
        task = find_task(str(name)) if file is None else load_task_file(file)
        config, chosen = learning.config(TuneConfig), parse_langs(langs)
        given = examples.read(task)
        encoder = load_encoder(model, device=learning.device)
        known, count = encoder.vocabulary.languages, examples.sentences
        sets = completed_splits(task, given, known, languages=chosen, count=count)
        where = str(encoder.device)
        record = recorded(out, sets.files(), seed=learning.seed, device=where, config=config, kind="in place")
        told: dict[str, Any] = learning.run | {"record": record, "progress": output.progress, "say": output.remark}
        told["page"] = lambda done: outcome_page(done, facts=page_facts()).files()
        with output.resumable(out):
            done = run_experiment(encoder, task, *sets, config=config, out=out, source=model, **told)
    output.result(done.facts(), Group(f"{done.learned.finding()}\n", done.table()))
    if out is not None:
        output.say(
            f"\nThe page is {out / 'index.html'}\nUse it: {_predict_command(done, out, next(iter(sets.test)), file)}"
        )


def _predict_command(done: Outcome, out: Path, language: str, task_file: Path | None) -> str:
    """The command that uses the best model; it can be pasted."""
    import shlex

    text = "$'First text.\\tSecond text.'" if getattr(done.best.task, "texts", 1) == 2 else "'Some text.'"
    own = "" if task_file is None else f" --task {shlex.quote(str(task_file))}"
    return f"isoglot transfer predict {shlex.quote(str(out))} {text} --lang {language}{own}"


def _task_verb(name: str, example: str, help_: str) -> None:
    """Register the verb of a built-in task; all have the same options."""

    def learn(
        model: ModelArgument = "isoglot-mini",
        *,
        examples: Examples,
        langs: Langs = None,
        learning: Learning,
        output: Output,
    ) -> None:
        _learn(name, model, examples, langs, learning, output)

    learn.__doc__ = help_
    verb(app, name, example=f"transfer {name} {example}")(learn)


for _name, (_example, _help) in TASKS.items():
    _task_verb(_name, _example, _help)


@verb(app, "own", example=f"transfer own MODEL --task mood.py {_FILES}")
def own(
    model: ModelArgument = "isoglot-mini",
    *,
    task: Annotated[Path, _TASK],
    examples: Examples,
    langs: Langs = None,
    learning: Learning,
    output: Output,
) -> None:
    """Train a task of your own, defined in a small Python file: see docs/TRANSFER.md."""
    _learn(task, model, examples, langs, learning, output)


# --- through a map ---


@dataclass(frozen=True)
class Mapping:
    """Options of the models and the maps between them."""

    SECTION: ClassVar[str] = "Models and maps"
    other: Annotated[
        list[str],
        option("--other", "LANG=MODEL", "Model of a test language. May be repeated.", callback=open_named_runs),
    ]
    bilingual: Annotated[
        str | None, option("--bilingual", "MODEL", "One model of all languages, to compare with.", callback=open_run)
    ] = None
    maps: Annotated[Values, option("--maps", "LANG=DIR", "Maps of a test language, written by isoglot align.")] = None
    bilingual_maps: Annotated[Values, option("--bilingual-maps", "LANG=DIR", "The same for the bilingual model.")] = (
        None
    )
    parallel: Annotated[
        Values, option("--parallel", "LANG=FILE", "Aligned sentences, or a table, to fit maps. Default: built-in ones.")
    ] = None
    links: Annotated[
        Values, option("--links", "LANG=FILE", "Word alignments (0-0 1-2), the test language first. Default: learned.")
    ] = None
    pairs: Annotated[
        int | None, option("--pairs", "N", "Number of sentence pairs. Default: all, or 2,000 built-in.", min=2)
    ] = None
    layers: LayerList = "all"
    method: Method = "procrustes"
    normalize: Normalize = None

    def models(self) -> dict[str, str]:
        """Model of each test language, from ``de=runs/de``."""
        from isoglot.core.language_codes import language_code

        found: dict[str, str] = {}
        for value in self.other:
            code, equals, where = (part.strip() for part in value.partition("="))
            if not equals or not code or not where:
                problem, remedy = f"--other {shown(value)} is not language=model", "write it as --other de=MODEL"
                raise ConfigError(problem, remedy, "malformed-option")
            if language_code(code) in found:
                problem = f"--other {shown(value)}: {code} has a model already"
                raise ConfigError(problem, "name one for each", "duplicate")
            found[language_code(code)] = where
        return found

    def folders(self, others: Sequence[str]) -> dict[str, dict[str, Path]]:
        """Folders of given maps, by models and language."""
        if self.bilingual_maps and self.bilingual is None:
            problem, remedy = "--bilingual-maps without --bilingual", "name the model they belong to"
            raise ConfigError(problem, remedy, "missing-option")
        found = {}
        for name, flag, values in (
            ("monolingual", "--maps", self.maps),
            ("bilingual", "--bilingual-maps", self.bilingual_maps),
        ):
            found[name] = one_each(values, flag) if values else {}
            for code in set(found[name]) - set(others):
                problem, remedy = f"{flag} {code}: no model reads {code}", f"name it: --other {code}=MODEL"
                raise ConfigError(problem, remedy, "other-language")
        return found

    def config(self, seed: int) -> AlignConfig:
        """Settings of the maps."""
        from isoglot.align import AlignConfig, make_map
        from isoglot.core.config import build_config

        found = build_config(AlignConfig, values={"method": self.method, "normalize": self.normalize, "seed": seed})
        make_map(found)  # refuses what the method cannot do
        return found

    def bitexts(self, source: str, seed: int, output: Output, *, own_examples: bool) -> Bitexts:
        """Sentences to fit maps from; built-in ones beside examples of the user are remarked on."""
        from isoglot.transfer.layer_maps import Bitexts

        files: Any = None
        if self.parallel:
            whole = is_table(self.parallel)
            files = Path(self.parallel[0]).expanduser() if whole else one_each(self.parallel, "--parallel")
        links = one_each(self.links, "--links") if self.links else {}
        say = output.remark if own_examples else lambda _: None
        return Bitexts(source, files, links, self.pairs, seed, output.progress, say)


_MAP_LEARNING = Learning(recipe="map")


@verb(app, "map", example="transfer map runs/en parse --other de=runs/de --bilingual runs/en-de --out runs/map")
def map_(
    model: Annotated[str, typer.Argument(metavar="MODEL", callback=open_run, help=f"Model to train on. {MODEL}")],
    name: Annotated[Literal["ner", "parse", "pos"], typer.Argument(metavar="TASK", help="ner, parse or pos.")],
    *,
    mapping: Mapping,
    examples: Examples,
    learning: Learning = _MAP_LEARNING,
    output: Output,
) -> None:
    """Train a task on the first layers of one model, and test it on another model through a map, layer by layer.

    The first i layers of MODEL are frozen; four new layers and the head of the task are trained on them. At test the
    other model reads its language up to layer i, and a map of that layer takes its hidden states to the same new
    layers. Maps are those of isoglot align words; the bilingual model is cut at i as well, and needs none. --out gets
    result.json, result.csv, a page, and the maps that were fitted.
    """
    from isoglot.model import load_encoder
    from isoglot.report.transfer import layer_table, map_finding, map_transfer_page
    from isoglot.transfer import find_task
    from isoglot.transfer.layer_maps import maps_of_models
    from isoglot.transfer.map_protocol import MapRun, MapTransferConfig, Models
    from isoglot.transfer.tasks.builtin_data import mapped_splits

    task, seed, out = find_task(name), learning.seed, learning.out
    config, load = learning.config(MapTransferConfig), partial(load_encoder, device=learning.device)
    fitting, named = mapping.config(seed), mapping.models()
    folders, given = mapping.folders(list(named)), examples.read(task)
    english, others = load(model), {code: load(where) for code, where in named.items()}
    every = [Models("monolingual", english, others)]
    if mapping.bilingual is not None:
        both = load(mapping.bilingual)
        every.append(Models("bilingual", both, dict.fromkeys(others, both)))
    sets = mapped_splits(task, given, english.vocabulary.languages, list(others), examples.sentences)
    run = MapRun(task, every, *sets, config, out, parse_layers(mapping.layers), **learning.run)
    if not examples.train and run.source != "en":
        output.remark(f"training on built-in examples of {run.source}, which MODEL reads and no --other does")
    bitexts = mapping.bitexts(run.source, seed, output, own_examples=bool(examples.train))
    fitted = run.fit(maps_of_models(run, folders, bitexts, fitting, output.progress))
    read = [*sets.files(), *files_of([*(mapping.parallel or ()), *(mapping.links or ())])]
    record = recorded(out, read, seed=seed, device=str(english.device), config=config, kind="in place")

    def figures(found: MapTransfer) -> dict[str, str | bytes]:
        return map_transfer_page(found, list(others), facts=page_facts()).files()

    with output.resumable(out):
        found = run.run(output.progress, output.remark, record=record, fitted=fitted, figures=figures)
    output.result({**place(out), **found.facts()}, layer_table(found, list(others)))
    for code in others:
        output.say(f"\n{map_finding(found, code)}" + (f"\nThe page is {out / 'index.html'}" if out else ""))


# --- with a shift ---


@dataclass(frozen=True)
class Shifting:
    """Options of the shift."""

    SECTION: ClassVar[str] = "Shift"
    alpha: Annotated[
        str,
        option(
            "--alpha",
            "dev|rule|LIST",
            "Length of the shift, 1 being from mean to mean: dev (the best on the dev set of the test language: not "
            "zero-shot), rule (without labels), or numbers such as 0.5,1,2. 0 is always included.",
        ),
    ] = "rule"
    grid: Annotated[str | None, option("--grid", "LIST", "Alphas to try on dev. Default: 15 from 0.2 to 2.")] = None
    layers: Annotated[
        str | None,
        option("--layers", "LIST", "One layer at a time: all, or 4,6. Default: the middle, the paper's 6 of 12."),
    ] = None
    means: Annotated[
        Path | None, option("--means", "DIR", "Means that isoglot steer fit wrote for this model. Default: learn them.")
    ] = None
    text: Annotated[Values, _files("--text", "Text of every language to learn means from, one sentence per line.")] = (
        None
    )
    learn_from: Annotated[
        int | None,
        option(
            "--learn-from",
            "N",
            f"Learn means from the first N lines of --text (default {MOST_LINES:,}), or without it from N built-in "
            "sentences (default 2,000, with built-in tests).",
            min=1,
        ),
    ] = None
    kind: ShiftKind = "mean"
    positions: Where = "all"

    def alphas(self) -> tuple[Choose, Sequence[float]]:
        """How alpha is chosen, and the alphas to try."""
        from isoglot.transfer.shift_protocol import GRID, checked_alphas

        if self.grid is not None and self.alpha != "dev":
            raise ConfigError("--grid is for --alpha dev", "leave it out", "conflicting-options")
        if self.alpha == "rule" or (self.alpha == "dev" and self.grid is None):
            return ("rule" if self.alpha == "rule" else "dev"), GRID
        choose: Choose = "dev" if self.alpha == "dev" else "given"
        option, text = ("--grid", self.grid or "") if choose == "dev" else ("--alpha", self.alpha)
        try:
            return choose, checked_alphas([float(part) for part in text.split(",")], choose)
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            remedy = f"write {'dev, rule or ' * (choose == 'given')}numbers such as 0.5,1,2"
            problem = f"{option} {shown(text)} is not a list of numbers"
            raise ConfigError(problem, remedy, "malformed-option") from None

    def check(self) -> None:
        """Refuse means and text to learn them from."""
        if self.means is not None and (self.text or self.learn_from):
            problem, remedy = "--means and text to learn them from", "give one of --means and --text"
            raise ConfigError(problem, remedy, "conflicting-options")


@verb(app, "shift", example="transfer shift runs/nli --test de=de.tsv --alpha 0.5,1,2 --text en=a.txt --text de=b.txt")
def shift(
    model: Tuned,
    *,
    test: Tests = None,
    dev: Annotated[Values, _files("--dev", "Dev examples of each test language to choose alpha by.")] = None,
    langs: Langs = None,
    sentences: Annotated[
        int | None, option("--sentences", "N", "The first N test examples. Default: all, or 400 built-in.", min=10)
    ] = None,
    task: OwnTask = None,
    shifting: Shifting,
    out: OptionalOut = None,
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Test a fine-tuned model with the tokens of each language shifted towards the training language.

    The hidden states of a layer are moved by alpha times the difference of the means of the two languages; a paired
    test compares the result with no shift. --out gets shift.json, shift.csv and index.html.
    """
    from isoglot.core.table import Table
    from isoglot.report.transfer import shift_page
    from isoglot.steer.language_files import read_known
    from isoglot.steer.shifts import ShiftOptions
    from isoglot.text.formats.plain import first_sentences
    from isoglot.transfer import load_tuned
    from isoglot.transfer.shift_protocol import learn_means, shift_examples, shift_transfer
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    choose, alphas = shifting.alphas()
    layers = None if shifting.layers is None else parse_layers(shifting.layers)
    shifting.check()
    if task is not None:
        load_task_file(task)
    tuned = load_tuned(model, device=device)

    def write(record: RunRecord, found: ShiftOutcome) -> None:
        rows = found.table_rows()
        texts = {"shift.csv": Table.from_rows(rows).csv(), **shift_page(found, rows, facts=page_facts()).files()}
        write_all(record, "shift.json", {"model": str(model), **found.facts()}, texts)

    with of_task_file(task):
        given = Examples(dev=dev, test=test).read(tuned.task)
        tests, devs = shift_examples(
            tuned, given.test, given.dev, languages=parse_langs(langs), count=sentences, choose=choose
        )
        means: Any = partial(learn_means, tuned, seed=seed, progress=output.progress)
        if shifting.means is not None:
            means = read_known(shifting.means)[0]
        elif shifting.text:
            means.keywords["texts"] = first_sentences(parse_named(shifting.text), shifting.learn_from or MOST_LINES)
        elif not test or shifting.learn_from:
            means.keywords["builtin"] = shifting.learn_from or 0
        read = [*given.files(), *files_of(shifting.text)]
        record = recorded(out, read, seed=seed, device=str(tuned.encoder.device))
        found = shift_transfer(
            tuned,
            tests,
            means,
            dev=devs,
            choose=choose,
            alphas=alphas,
            layers=layers,
            options=ShiftOptions(kind=shifting.kind, positions=shifting.positions),
            record=record,
            write=write,
            progress=output.progress,
        )
    output.result({**place(out), "model": str(model), **found.facts()}, found.table())
    if out is not None:
        output.say(f"\nThe page is {out / 'index.html'}")


# --- use and compare ---


@verb(app, "predict", example='transfer predict runs/ner "Eva lebt in Bonn." --lang de')
def predict(
    model: Tuned,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="Text to tag, parse or classify. Default: that of --text.")
    ] = None,
    *,
    lang: Annotated[str, option("--lang", "LANG", "Language of the text.")],
    file: Annotated[
        Path | None, option("--text", "FILE", "One sentence per line, or words in a .conllu file; pairs with a tab.")
    ] = None,
    form: Annotated[
        Literal["conllu", "bio", "json"] | None,
        typer.Option("--format", help="Format of the predictions. Default: the usual one of the task."),
    ] = None,
    task: OwnTask = None,
    out: OptionalFileOut = None,
    device: Device = "auto",
    output: Output,
) -> None:
    """Tag, parse or classify new text with a model that isoglot transfer has written. Without --out it is printed."""
    import json

    from isoglot.transfer import load_tuned
    from isoglot.transfer.predict import as_json, predict_text, predictions_text, write_predictions
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    if (text is None) == (file is None):
        problem = "there is no text" if text is None else "TEXT and --text are both given"
        raise ConfigError(problem, "give one of TEXT and --text", "missing-option")
    if task is not None:
        load_task_file(task)
    with of_task_file(task):
        tuned = load_tuned(model, device=device)
        found, chosen = predict_text(
            tuned, lang, text=text, file=file, form=form, progress=output.progress, say=output.remark
        )
        if out is not None:
            count = write_predictions(out, tuned.task, found, chosen)
            output.result({"predictions": count, "file": str(out)}, f"{count:,} predictions: {out}")
        elif output.json:
            output.result([json.loads(as_json(one)) for one in found], "")
        else:  # not by a console, which would replace tabs
            typer.echo(visible(predictions_text(tuned.task, found, chosen)))


@verb(app, "compare", example="transfer compare runs/shared runs/separated")
def compare(
    one: Annotated[Path, typer.Argument(metavar="DIR", help="Experiment: the --out of isoglot transfer.")],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another, of the same task and test files.")],
    *,
    way: Annotated[
        Literal["source dev", "oracle", "averaged"],
        typer.Option("--chosen", help="Selection of epochs: dev of the training language, oracle, or averaged."),
    ] = "source dev",
    output: Output,
) -> None:
    """Test whether one experiment is better than another: a paired test per language, Holm-corrected."""
    from isoglot.core.table import Column, Table
    from isoglot.transfer.experiment import compare_experiments

    found = [each.facts() for each in compare_experiments(one, other, way=way)]
    columns = [
        Column("language"),
        Column("one", title=str(one), format=".1f"),
        Column("other", title=str(other), format=".1f"),
        Column("difference", format="+.1f"),
        Column("interval", title="95 % over sentences", align="right"),
        Column("p", format=".4f"),
        Column("p_corrected", title="p, Holm", format=".4f"),
    ]
    rows = [row | {"interval": f"{row['low']:+.1f} – {row['high']:+.1f}"} for row in found]
    output.result(found, Table.from_rows(rows, columns))


@verb(app, "score", example="transfer score parse gold.conllu predicted.conllu --lang de")
def score(
    name: Annotated[str, typer.Argument(metavar="TASK", help="ner, parse, pos, nli, topic, or your own with --task.")],
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="File with the correct labels, in the task's format.")],
    predicted: Annotated[Path, typer.Argument(metavar="PREDICTED", help="File with predictions for the same words.")],
    *,
    lang: Annotated[str, option("--lang", "LANG", "Language of both files.")] = "en",
    relations: Annotated[
        Literal["universal", "full"],
        typer.Option("--relations", help="For parse: ignore subtypes such as nsubj:pass (universal), or count them."),
    ] = "universal",
    repair: Annotated[
        Literal["none", "wu2020"],
        typer.Option("--repair", help="For ner: score tags as they are (none), or repaired as in Wu et al. (2020)."),
    ] = "none",
    task: OwnTask = None,
    output: Output,
) -> None:
    """Score a CoNLL-U or BIO file of any system against a gold file, with a bootstrap interval over sentences."""
    from isoglot.core.table import Table
    from isoglot.transfer import find_task
    from isoglot.transfer.scoring.evaluation import score_files
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    with of_task_file(task):
        chosen = find_task(name) if task is None else load_task_file(task)
        found = score_files(chosen, gold, predicted, lang, relations=relations, repair=repair)
    interval = f"{found.interval.low:.1f} – {found.interval.high:.1f}"
    values = found.scores.values.items()
    rows = [[label, f"{value:.1f}", interval if label == found.metric else ""] for label, value in values]
    head = ["score", "value", f"95 % over {found.sentences:,} sentences"]
    output.result(found.facts(), Table.from_cells(head, rows))
    if found.remark:
        output.say(found.remark)
