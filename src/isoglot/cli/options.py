"""Options shared by several verbs, and groups of options.

A verb is a function registered with :func:`verb`, with keyword-only parameters. A parameter is an option by its
annotated type (``seed: Seed = 0``), or a group: a dataclass whose fields are options, which share a section of the
help. Every verb has the group ``output: Output``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_type_hints

import typer

from isoglot.cli.inputs import option
from isoglot.cli.output import OPENED, Debug, Json, Output, Quiet, Session
from isoglot.cli.run_files import take_file, take_folder, take_vectors
from isoglot.core.errors import ConfigError, shown
from isoglot.core.rng import LARGEST_SEED

__all__ = ["Debug", "Json", "Quiet"]
INPUT, RUN, OUTPUT = "Input", "Run", "Output"
"""Sections of the help, for verbs with more than a dozen options."""
MANY = 1_000_000_000
"""The most of anything that an option may ask for, where it says nothing else."""


def verb(app: typer.Typer, name: str, *, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a verb of a group of verbs.

    Args:
        app: The group of verbs.
        name: What the user types.
        example: A command that works, without ``isoglot``; the end of the help.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.command(name, epilog=f"Example: isoglot {example}")(flatten(function))
        return function

    return register


def flatten(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function with each group of options replaced by its fields, as Typer wants them.

    A group is a dataclass with annotated fields. ``SECTION`` names its section of the help. Where the parameter has a
    default, an instance of the group, its fields' values are the defaults of the options.
    """
    hints = get_type_hints(function, include_extras=True)
    flat: dict[str, Parameter] = {}
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in signature(function).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            flat[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)
            continue
        options = _options_of(kind, parameter.default)
        groups[name] = kind, [option.name for option in options]
        flat |= {option.name: option for option in options}

    def call(**values: Any) -> None:  # noqa: ANN401 - what Typer parsed
        grouped = {name: kind(**{each: values.pop(each) for each in names}) for name, (kind, names) in groups.items()}
        function(**grouped, **values)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__signature__ = Signature(list(flat.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: option.annotation for name, option in flat.items()}
    return call


def _options_of(group: Any, default: Any) -> list[Parameter]:  # noqa: ANN401 - any dataclass of options
    """Return the fields of a group as parameters, in the section of the group."""
    section, hints = getattr(group, "SECTION", None), get_type_hints(group, include_extras=True)
    options = []
    for each in fields(group):
        kind, option = get_args(hints[each.name])
        option = copy(option)
        option.rich_help_panel = option.rich_help_panel or section
        value = getattr(default, each.name, each.default)
        value = Parameter.empty if value is MISSING else value
        annotation = Annotated[kind, option]  # type: ignore[valid-type]
        options.append(Parameter(each.name, Parameter.KEYWORD_ONLY, default=value, annotation=annotation))
    return options


def _remember_weights(context: typer.Context, value: Literal["best", "last"]) -> Literal["best", "last"]:
    session = context.find_root().obj
    if isinstance(session, Session):
        session.weights = value
    return value


def open_run(context: typer.Context, model: str | None) -> str | None:
    """The folder of the weights that a model option stands for, where it names a training run; any other as it is.

    Raises:
        StorageError: The run has not finished.
    """
    if model is None or not Path(model).expanduser().is_dir():
        return model
    from isoglot.model.load import run_weights

    session = context.find_root().obj
    run = run_weights(model, session.weights if isinstance(session, Session) else "best")
    if run is None:
        return model
    OPENED[str(run.folder)] = run
    return str(run.folder)


def open_runs(context: typer.Context, models: list[str] | None) -> list[str] | None:
    """The same for an option that may be repeated."""
    return models and [open_run(context, model) or model for model in models]


def open_named_runs(context: typer.Context, models: list[str] | None) -> list[str] | None:
    """The same for options of the form ``LANG=MODEL``."""
    named = [value.partition("=") for value in models or ()]
    return models and [f"{code}{equals}{open_run(context, model)}" for code, equals, model in named]


def _limit_lines(megabytes: int) -> int:
    from isoglot.text.formats.lines import set_longest_line

    set_longest_line(megabytes * 1_000_000)
    return megabytes


MAX_LINE = 50
MaxLine = Annotated[
    int, option("--max-line", "MB", "Refuse lines longer than this.", min=1, max=10_000, callback=_limit_lines)
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=LARGEST_SEED, rich_help_panel=RUN, help="Same seed, same numbers.")
]
Device = Annotated[
    str, option("--device", "NAME", "auto, cpu, cuda, cuda:1 or mps. See: isoglot doctor.", rich_help_panel=RUN)
]
OUT = "Folder for the results; made if missing."
_OUT = option("--out", "DIR", OUT, callback=take_folder, rich_help_panel=OUTPUT)
Out = Annotated[Path, _OUT]
OptionalOut = Annotated[Path | None, _OUT]
_FILE_OUT = option("--out", "FILE", "File for the result.", callback=take_file, rich_help_panel=OUTPUT)
FileOut = Annotated[Path, _FILE_OUT]
OptionalFileOut = Annotated[Path | None, _FILE_OUT]
VectorsOut = Annotated[
    Path,
    option(
        "--out",
        "PATH",
        "Where vectors go: a .safetensors, a .vec, or a folder with a .npy for each layer.",
        callback=take_vectors,
        rich_help_panel=OUTPUT,
    ),
]
SET = "Change one setting of the recipe. May be repeated."
Settings = Annotated[list[str] | None, option("--set", "KEY=VALUE", SET, rich_help_panel=RUN)]


def sentence_count(text: str, *, least: int = 1, most: int | None = None) -> Any:  # noqa: ANN401 - an option
    """The option ``--sentences``: how many of each language."""
    return option("--sentences", "N", text, min=least, max=most)


MODEL = "A training run's or an encoder's folder, isoglot-mini, a Hugging Face folder, or a name on its hub."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", callback=open_run, help=MODEL)]
ModelOption = Annotated[str, option("--model", "MODEL", MODEL, callback=open_run, rich_help_panel=INPUT)]
Weights = Annotated[
    Literal["best", "last"],
    typer.Option(
        "--weights",
        callback=_remember_weights,
        is_eager=True,
        rich_help_panel=INPUT,
        help="Of a training run: those with the lowest dev perplexity, or the last.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class _Run:
    out: OptionalOut = None
    weights: Weights = "best"
    device: Device = "auto"
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class ModelRun(Output, _Run):
    """What every verb that runs a model has: ``--out``, ``--weights``, ``--device``, ``--seed``, and its output."""


@dataclass(frozen=True, kw_only=True)
class ModelRunTo(ModelRun):
    """The same where ``--out`` has to be given."""

    out: Out = field()


POOLS = (
    "the mean of its subwords (special tokens left out), the mean of all its tokens, its first (also cls) or last "
    "token, the maximum over its tokens, their mean weighted by position"
)
"""Poolings of sentences, for help texts. All but ``mean`` count special tokens, as sentence-transformers does."""
SentencePool = Annotated[
    Literal["mean", "mean-all", "first", "cls", "last", "max", "weighted"],
    typer.Option("--pool", help=f"A sentence is {POOLS}. All but mean count special tokens."),
]
SentencePoolOfModel = Annotated[
    Literal["mean", "mean-all", "first", "cls", "last", "max", "weighted", "model"] | None,
    typer.Option(
        "--pool",
        help=f"A sentence is {POOLS}, or what the modules of a sentence-transformers model make of it. All but mean "
        "count special tokens. Default: model where there are such modules, else mean.",
    ),
]


LayerList = Annotated[str, option("--layers", "LIST", "all, or numbers such as 0,4,-1; 0 is the embeddings.")]


def parse_layers(text: str) -> Literal["all"] | list[int]:
    """The layers that ``--layers`` names.

    Raises:
        ConfigError: It is no list of numbers.
    """
    if text == "all":
        return "all"
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"--layers {shown(text)} is no list of numbers",
            "write --layers all, or --layers 0,4,-1",
            "malformed-option",
        ) from None


LeaveOutKnown = Annotated[
    bool,
    typer.Option(
        "--leave-out-known", help="Leave out test words whose translations training was given, and say how many."
    ),
]
AllowLeak = Annotated[
    bool, typer.Option("--allow-leak", help="Score on words whose translations training was given, too.")
]


def refuse_both(*, leave_out_known: bool, allow_leak: bool) -> None:
    """Refuse ``--leave-out-known`` together with ``--allow-leak``.

    Raises:
        ConfigError: Both are given.
    """
    if leave_out_known and allow_leak:
        raise ConfigError(
            "--leave-out-known and --allow-leak exclude each other", "give one of them", "conflicting-options"
        )


@dataclass(frozen=True)
class KnownWordOptions:
    """How to treat test words whose translations were given to training."""

    SECTION: ClassVar[str] = "Scoring"
    leave_out_known: LeaveOutKnown = False
    allow_leak: AllowLeak = False

    def policy(self) -> Literal["refuse", "leave-out", "allow"]:
        """The choice as the library takes it.

        Raises:
            ConfigError: Both are asked for.
        """
        refuse_both(leave_out_known=self.leave_out_known, allow_leak=self.allow_leak)
        return "allow" if self.allow_leak else "leave-out" if self.leave_out_known else "refuse"


def refuse_beside(options: Mapping[str, object], beside: str, *, remedy: str) -> None:
    """Refuse options that would have no effect beside another.

    Args:
        options: Options by name; those with a false value were not given.
        beside: The other option.
        remedy: The end of the message.

    Raises:
        ConfigError: One of them was given.
    """
    for name, value in options.items():
        if value:
            raise ConfigError(f"{name} and {beside} exclude each other", remedy, "conflicting-options")
