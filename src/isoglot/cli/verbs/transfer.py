"""``isoglot transfer``: train a task in one language, test it in others, and use the fine-tuned model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.declaration import INPUT, RUN, argument, option, verb
from isoglot.cli.inputs import (
    Files,
    Langs,
    LayerList,
    files_of,
    is_table,
    one_each,
    parse_langs,
    parse_layers,
    parse_models,
    parse_named,
    refuse_beside,
    refuse_without,
)
from isoglot.cli.options import (
    EMBEDDED,
    Device,
    Method,
    ModelArgument,
    ModelRun,
    Normalize,
    OptionalFileOut,
    Positions,
    Run,
    Settings,
    ShiftKind,
    open_named_runs,
    open_run,
)
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import recorded
from isoglot.core.errors import ConfigError, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.align import AlignConfig
    from isoglot.transfer import Task
    from isoglot.transfer.layer_maps import Bitexts
    from isoglot.transfer.tasks.builtin_data import Splits

_FILES = "--train en=train.tsv --dev en=dev.tsv --test de=test.tsv"
_TREES = "--train en=train.conllu --dev en=dev.conllu --test fr=test.conllu"
app = typer.Typer(epilog=f"Example: isoglot transfer ner MODEL {_FILES}")
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

Tests = Annotated[Files, option("LANG=FILE", "Test examples. Default: built-in ones. May be repeated.", section=INPUT)]
_TASK = option("FILE", "Python file that registers your own task.", section=INPUT)
OwnTask = Annotated[Path | None, _TASK]
Tuned = Annotated[Path, argument("DIR", "Fine-tuned model: the --out of isoglot transfer.")]


@dataclass(frozen=True)
class Examples:
    """Examples to train and test on.

    Options:
        dev: Dev examples: of the training language, and of others for the oracle.
        sentences: Training examples. Default: all, or 2,000 (and a fifth to test on).
    """

    SECTION: ClassVar[str] = INPUT
    train: Annotated[Files, option("LANG=FILE", "Training examples. Default: built-in ones. May be repeated.")] = None
    dev: Annotated[Files, option("LANG=FILE")] = None
    test: Tests = None
    sentences: Annotated[int | None, option("N", min=10)] = None

    def read(self, task: Task[Any]) -> Splits:
        """Read the files."""
        from isoglot.transfer.tasks.builtin_data import read_splits

        named = {"--train": self.train, "--dev": self.dev, "--test": self.test}
        train, dev, test = (one_each(values, flag) for flag, values in named.items())
        return read_splits(task, train, dev, test, self.sentences)


@dataclass(frozen=True, kw_only=True)
class Learning(ModelRun):
    """Training and its output.

    Options:
        recipe: default, head, micro, wu2020/ner…, or a .toml file.
        allow_leak: Accept dev and test examples even if nearly all are in training too.
    """

    recipe: Annotated[str, option("RECIPE", section=RUN)] = "default"
    seeds: Annotated[int, option("N", "Number of random seeds to train with.", section=RUN, min=1, max=1000)] = 1
    allow_leak: Annotated[bool, option(section=RUN)] = False
    resume: Annotated[bool, option(text="Resume the run in --out.", section=RUN)] = False
    settings: Settings = None

    def recipe_config(self, kind: type[Any]) -> Any:  # noqa: ANN401 - of the given class
        """Config of a class, from the recipe and settings."""
        from isoglot.core.config import load_recipe

        return self.config(kind, self.settings, load_recipe(self.recipe, room="transfer"))

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments that all runs share."""
        return {"seeds": self.seeds, "resume": self.resume, "allow_leak": self.allow_leak}


def _learn(task: str | Path, model: str, examples: Examples, langs: str | None, run: Learning) -> None:
    """Run an experiment with a built-in task, or with that of a file."""
    from isoglot.model import load_encoder
    from isoglot.report.transfer import outcome_page, outcome_result
    from isoglot.transfer import TuneConfig
    from isoglot.transfer.experiment import run_experiment
    from isoglot.transfer.tasks.builtin_data import completed_splits
    from isoglot.transfer.tasks.task import opened_task

    file = task if isinstance(task, Path) else None
    with opened_task(file, str(task)) as one:
        config, chosen, given = run.recipe_config(TuneConfig), parse_langs(langs), examples.read(one)
        encoder = load_encoder(model, device=run.device)
        sets = completed_splits(one, given, encoder.vocabulary.languages, languages=chosen, count=examples.sentences)
        facts: dict[str, Any] = {"seed": run.seed, "device": str(encoder.device), "config": config}
        told: dict[str, Any] = run.shared | {"progress": run.progress, "say": run.remark, "out": run.out}
        told["record"] = recorded(run.out, sets.files(), kind="in place", **facts)
        told["page"] = lambda done: outcome_page(done, facts=page_facts()).files()
        with run.resumable(run.out):
            done = run_experiment(encoder, one, *sets, config=config, source=model, **told)
    run.print(outcome_result(done, run.out, next(iter(sets.test)), file))


def _task_verb(name: str, example: str, help_: str) -> None:
    """Register the verb of a built-in task; all have the same options."""

    def learn(model: ModelArgument = EMBEDDED, *, examples: Examples, langs: Langs = None, run: Learning) -> None:
        _learn(name, model, examples, langs, run)

    learn.__doc__ = help_
    verb(app, name, example=f"transfer {name} {example}")(learn)


for _name, (_example, _help) in TASKS.items():
    _task_verb(_name, _example, _help)


@verb(app, "own", example=f"transfer own MODEL --task mood.py {_FILES}")
def own(
    model: ModelArgument = EMBEDDED,
    *,
    task: Annotated[Path, _TASK],
    examples: Examples,
    langs: Langs = None,
    run: Learning,
) -> None:
    """Train a task of your own, defined in a small Python file: see docs/TRANSFER.md."""
    _learn(task, model, examples, langs, run)


# --- through a map ---


@dataclass(frozen=True)
class Mapping:
    """Options of the models and the maps between them.

    Options:
        other: Model of a test language. May be repeated.
        bilingual: One model of all languages, to compare with.
        parallel: Aligned sentences, or a table, to fit maps. Default: built-in ones.
        links: Word alignments (0-0 1-2), the test language first. Default: learned.
        pairs: Number of sentence pairs. Default: all, or 2,000 built-in.
    """

    SECTION: ClassVar[str] = "Models and maps"
    other: Annotated[list[str], option("LANG=MODEL", callback=open_named_runs)]
    bilingual: Annotated[str | None, option("MODEL", callback=open_run)] = None
    maps: Annotated[Files, option("LANG=DIR", "Maps of a test language, written by isoglot align.")] = None
    bilingual_maps: Annotated[Files, option("LANG=DIR", "The same for the bilingual model.")] = None
    parallel: Annotated[Files, option("LANG=FILE")] = None
    links: Annotated[Files, option("LANG=FILE")] = None
    pairs: Annotated[int | None, option("N", min=2)] = None
    layers: LayerList = "all"
    method: Method = "procrustes"
    normalize: Normalize = None

    def folders(self, others: Sequence[str]) -> dict[str, dict[str, Path]]:
        """Folders of given maps, by models and language."""
        if self.bilingual is None:
            unused = {"--bilingual-maps": self.bilingual_maps}
            refuse_without(unused, "--bilingual", remedy="name the model they belong to")
        named = {"monolingual": ("--maps", self.maps), "bilingual": ("--bilingual-maps", self.bilingual_maps)}
        found = {name: one_each(values, flag) for name, (flag, values) in named.items()}
        for name, folders in found.items():
            for code in set(folders) - set(others):
                problem, remedy = f"{named[name][0]} {code}: no model reads {code}", f"name it: --other {code}=MODEL"
                raise ConfigError(problem, remedy, "other-language")
        return found

    def config(self, run: Run) -> AlignConfig:
        """Settings of the maps."""
        from isoglot.align import AlignConfig, make_map

        found = run.config(AlignConfig, method=self.method, normalize=self.normalize)
        make_map(found)  # refuses what the method cannot do
        return found

    def bitexts(self, source: str, run: Run, *, own_examples: bool) -> Bitexts:
        """Sentences to fit maps from; built-in ones beside examples of the user are remarked on."""
        from isoglot.transfer.layer_maps import Bitexts

        table = Path(self.parallel[0]).expanduser() if self.parallel and is_table(self.parallel) else None
        files = table or one_each(self.parallel, "--parallel") or None
        say = run.remark if own_examples else lambda _: None
        return Bitexts(source, files, one_each(self.links, "--links"), self.pairs, run.seed, run.progress, say)


_MAP_LEARNING = Learning(recipe="map")


@verb(app, "map", example="transfer map runs/en parse --other de=runs/de --bilingual runs/en-de --out runs/map")
def map_(
    model: Annotated[str, argument("MODEL", callback=open_run)],
    name: Annotated[Literal["ner", "parse", "pos"], argument("TASK", "ner, parse or pos.")],
    *,
    mapping: Mapping,
    examples: Examples,
    run: Learning = _MAP_LEARNING,
) -> None:
    """Train a task on the first layers of one model, and test it on another model through a map, layer by layer.

    The first i layers of MODEL are frozen; four new layers and the head of the task are trained on them. At test the
    other model reads its language up to layer i, and a map of that layer takes its hidden states to the same new
    layers. Maps are those of isoglot align words; the bilingual model is cut at i as well, and needs none. --out gets
    result.json, result.csv, a page, and the maps that were fitted.

    Options:
        model: Model to train on. {MODEL}
    """
    from isoglot.model import load_encoder
    from isoglot.report.transfer import map_transfer_page, map_transfer_result
    from isoglot.transfer import find_task
    from isoglot.transfer.layer_maps import maps_of_models
    from isoglot.transfer.map_protocol import MapRun, MapTransferConfig, models_with
    from isoglot.transfer.tasks.builtin_data import mapped_splits

    task, out = find_task(name), run.out
    config, load = run.recipe_config(MapTransferConfig), partial(load_encoder, device=run.device)
    fitting, named = mapping.config(run), parse_models(mapping.other, "--other")
    folders, given = mapping.folders(list(named)), examples.read(task)
    english, others = load(model), {code: load(where) for code, where in named.items()}
    every = models_with(english, others, None if mapping.bilingual is None else load(mapping.bilingual))
    sets = mapped_splits(task, given, english.vocabulary.languages, list(others), examples.sentences)
    work = MapRun(task, every, *sets, config, out, parse_layers(mapping.layers), **run.shared)
    if not examples.train and work.source != "en":
        run.remark(f"training on built-in examples of {work.source}, which MODEL reads and no --other does")
    bitexts = mapping.bitexts(work.source, run, own_examples=bool(examples.train))
    told: dict[str, Any] = {"fitted": work.fit(maps_of_models(work, folders, bitexts, fitting, run.progress))}
    read = [*sets.files(), *files_of(mapping.parallel, mapping.links)]
    facts: dict[str, Any] = {"seed": run.seed, "device": str(english.device), "config": config}
    told["record"] = recorded(out, read, kind="in place", **facts)
    told["figures"] = lambda found: map_transfer_page(found, list(others), facts=page_facts()).files()
    with run.resumable(out):
        found = work.run(run.progress, run.remark, **told)
    run.print(map_transfer_result(found, list(others), out))


# --- with a shift ---


@dataclass(frozen=True)
class Shifting:
    """Options of the shift.

    Options:
        alpha: Strength of the shift, 1 being from mean to mean: dev (the best on the dev set of the test language: not
            zero-shot), rule (without labels), or numbers such as 0.5,1,2. 0 is always included.
        layers: One layer at a time: all, or 4,6. Default: the middle, the paper's 6 of 12.
        means: Means that isoglot steer fit wrote for this model. Default: learn them.
        text: Text of every language to learn means from, one sentence per line.
        learn_from: Learn means from the first N lines of --text (default 10,000), or without it from N built-in
            sentences (default 2,000, with built-in tests).
    """

    SECTION: ClassVar[str] = "Shift"
    alpha: Annotated[str, option("dev|rule|LIST")] = "rule"
    grid: Annotated[str | None, option("LIST", "Alphas to try on dev. Default: 15 from 0.2 to 2.")] = None
    layers: Annotated[str | None, option("LIST")] = None
    means: Annotated[Path | None, option("DIR")] = None
    text: Annotated[Files, option("LANG=FILE", section=INPUT)] = None
    learn_from: Annotated[int | None, option("N", min=1)] = None
    kind: ShiftKind = "mean"
    positions: Positions = "all"


@verb(app, "shift", example="transfer shift runs/nli --test de=de.tsv --alpha 0.5,1,2 --text en=a.txt --text de=b.txt")
def shift(
    model: Tuned,
    *,
    test: Tests = None,
    dev: Annotated[Files, option("LANG=FILE", section=INPUT)] = None,
    langs: Langs = None,
    sentences: Annotated[int | None, option("N", min=10)] = None,
    task: OwnTask = None,
    shifting: Shifting,
    run: Run,
) -> None:
    """Test a fine-tuned model with the tokens of each language shifted towards the training language.

    The hidden states of a layer are moved by alpha times the difference of the means of the two languages; a paired
    test compares the result with no shift. --out gets shift.json, shift.csv and index.html.

    Options:
        dev: Dev examples of each test language to choose alpha by.
        sentences: The first N test examples. Default: all, or 400 built-in.
    """
    from isoglot.report.transfer import shift_result
    from isoglot.steer.shifts import ShiftOptions
    from isoglot.text.formats.plain import first_sentences
    from isoglot.transfer import load_tuned
    from isoglot.transfer.shift_protocol import parse_alphas, shift_examples, shift_means, shift_transfer
    from isoglot.transfer.tasks.task import opened_task

    choose, alphas = parse_alphas(shifting.alpha, shifting.grid)
    how: dict[str, Any] = {"choose": choose, "alphas": alphas, "progress": run.progress}
    how["layers"] = None if shifting.layers is None else parse_layers(shifting.layers)
    how["options"] = ShiftOptions(kind=shifting.kind, positions=shifting.positions)
    if shifting.means is not None:
        of_text = {"--text": shifting.text, "--learn-from": shifting.learn_from}
        refuse_beside(of_text, "--means", remedy="give one of --means and --text")
    with opened_task(task):
        tuned = load_tuned(model, device=run.device)
        given = Examples(dev=dev, test=test).read(tuned.task)
        chosen = parse_langs(langs)
        tests, devs = shift_examples(tuned, given.test, given.dev, languages=chosen, count=sentences, choose=choose)
        count = shifting.learn_from
        texts = first_sentences(parse_named(shifting.text), count or MOST_LINES) if shifting.text else None
        builtin = (count or 0) if not test or count else None
        means = shift_means(tuned, shifting.means, texts, builtin, seed=run.seed, progress=run.progress)
        read = [*given.files(), *files_of(shifting.text)]
        how["dev"] = devs
        run.publish(
            lambda _: shift_result(shift_transfer(tuned, tests, means, **how), str(model)), "shift.json", inputs=read
        )


# --- use and compare ---


@verb(app, "predict", example='transfer predict runs/ner "Eva lebt in Bonn." --lang de')
def predict(
    model: Tuned,
    text: Annotated[str | None, argument("TEXT", "Text to tag, parse or classify. Default: that of --text.")] = None,
    *,
    lang: Annotated[str, option("LANG", "Language of the text.")],
    file: Annotated[Path | None, option("FILE", name="--text")] = None,
    form: Annotated[Literal["conllu", "bio", "json"] | None, option(name="--format")] = None,
    task: OwnTask = None,
    out: OptionalFileOut = None,
    device: Device = "auto",
    output: Output,
) -> None:
    """Tag, parse or classify new text with a model that isoglot transfer has written. Without --out it is printed.

    Options:
        file: One sentence per line, or words in a .conllu file; pairs with a tab.
        form: Format of the predictions. Default: the usual one of the task.
    """
    import json

    from isoglot.transfer import load_tuned
    from isoglot.transfer.predict import as_json, predict_text, predictions_text, write_predictions
    from isoglot.transfer.tasks.task import opened_task

    if (text is None) == (file is None):
        problem = "there is no text" if text is None else "TEXT and --text are both given"
        raise ConfigError(problem, "give one of TEXT and --text", "missing-option")
    how: dict[str, Any] = {"text": text, "file": file, "form": form, "progress": output.progress, "say": output.remark}
    with opened_task(task):
        tuned = load_tuned(model, device=device)
        found, chosen = predict_text(tuned, lang, **how)
        if out is not None:
            count = write_predictions(out, tuned.task, found, chosen)
            output.result({"predictions": count, "file": str(out)}, f"{count:,} predictions: {out}")
        elif output.json:
            output.result([json.loads(as_json(one)) for one in found], "")
        else:  # not by a console, which would replace tabs
            typer.echo(visible(predictions_text(tuned.task, found, chosen)))


@verb(app, "compare", example="transfer compare runs/shared runs/separated")
def compare(
    one: Annotated[Path, argument("DIR", "Experiment: the --out of isoglot transfer.")],
    other: Annotated[Path, argument("OTHER", "Another, of the same task and test files.")],
    *,
    way: Annotated[Literal["source dev", "oracle", "averaged"], option(name="--chosen")] = "source dev",
    output: Output,
) -> None:
    """Test whether one experiment is better than another: a paired test per language, Holm-corrected.

    Options:
        way: Selection of epochs: dev of the training language, oracle, or averaged.
    """
    from isoglot.report.transfer import compared_table
    from isoglot.transfer.experiment import compare_experiments

    found = [each.facts() for each in compare_experiments(one, other, way=way)]
    output.result(found, compared_table(found, str(one), str(other)))


@verb(app, "score", example="transfer score parse gold.conllu predicted.conllu --lang de")
def score(
    name: Annotated[str, argument("TASK", "ner, parse, pos, nli, topic, or your own with --task.")],
    gold: Annotated[Path, argument("GOLD", "File with the correct labels, in the task's format.")],
    predicted: Annotated[Path, argument("PREDICTED", "File with predictions for the same words.")],
    *,
    lang: Annotated[str, option("LANG", "Language of both files.")] = "en",
    relations: Literal["universal", "full"] = "universal",
    repair: Literal["none", "wu2020"] = "none",
    task: OwnTask = None,
    output: Output,
) -> None:
    """Score a CoNLL-U or BIO file of any system against a gold file, with a bootstrap interval over sentences.

    Options:
        relations: For parse: ignore subtypes such as nsubj:pass (universal), or count them.
        repair: For ner: score tags as they are (none), or repaired as in Wu et al. (2020).
    """
    from isoglot.report.transfer import file_scores_result
    from isoglot.transfer.scoring.evaluation import score_files
    from isoglot.transfer.tasks.task import opened_task

    with opened_task(task, name) as one:
        found = score_files(one, gold, predicted, lang, relations=relations, repair=repair)
    output.print(file_scores_result(found))
