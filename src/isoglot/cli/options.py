"""The options that mean the same in every verb. A verb takes the ones it needs, by these types.

``--json``, ``--quiet`` and ``--debug`` belong to every verb.

The option ``--layers``: all of them, or some by their numbers.

Words whose translations training was given: whether they are refused, left out or scored on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from isoglot.cli.output import OPENED
from isoglot.cli.run_files import Session, take_file, take_folder, take_vectors
from isoglot.core.errors import ConfigError, shown
from isoglot.core.progress import counted
from isoglot.core.rng import LARGEST_SEED

MANY = 1_000_000_000
"""The most of anything that an option may ask for, where it says nothing else."""


def _remember_debug(context: typer.Context, value: bool) -> bool:
    session = context.find_root().obj
    if value and isinstance(session, Session):
        session.debug = True
    return value


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
    int,
    typer.Option(
        "--max-line", metavar="MB", min=1, max=10_000, callback=_limit_lines, help="Refuse lines longer than this."
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on standard output, and nothing else there.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no commentary: only the result.")]
Debug = Annotated[
    bool,
    typer.Option("--debug", callback=_remember_debug, is_eager=True, help="Show the traceback when something fails."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Same seed, same numbers.")]
Device = Annotated[
    str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:1 or mps. See: isoglot doctor.")
]
OUT = "Folder for the results; made if missing."
_OUT = typer.Option("--out", metavar="DIR", callback=take_folder, help=OUT)
Out = Annotated[Path, _OUT]
OptionalOut = Annotated[Path | None, _OUT]
_FILE_OUT = typer.Option("--out", metavar="FILE", callback=take_file, help="File for the result.")
FileOut = Annotated[Path, _FILE_OUT]
OptionalFileOut = Annotated[Path | None, _FILE_OUT]
VectorsOut = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="PATH",
        callback=take_vectors,
        help="Where vectors go: a .safetensors, a .vec, or a folder with a .npy for each layer.",
    ),
]
SET = "Change one setting of the recipe. May be repeated."
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help=SET),
]
MODEL = "A training run's or an encoder's folder, isoglot-mini, a Hugging Face folder, or a name on its hub."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", callback=open_run, help=MODEL)]
ModelOption = Annotated[str, typer.Option("--model", metavar="MODEL", callback=open_run, help=MODEL)]
Weights = Annotated[
    Literal["best", "last"],
    typer.Option(
        "--weights",
        callback=_remember_weights,
        is_eager=True,
        help="Of a training run: those with the lowest dev perplexity, or the last.",
    ),
]
SentencePool = Annotated[
    Literal["mean", "first"], typer.Option("--pool", help="A sentence is the mean of its subwords, or its first token.")
]
SentencePoolOfModel = Annotated[
    Literal["mean", "first", "model"] | None,
    typer.Option(
        "--pool",
        help="A sentence is the mean of its subwords (special tokens left out), its first token, or what the modules "
        "of a sentence-transformers model make of it. Default: model where there are such modules, else mean.",
    ),
]


LayerList = Annotated[
    str, typer.Option("--layers", metavar="LIST", help="all, or numbers such as 0,4,-1; 0 is the embeddings.")
]


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
            remedy="write --layers all, or --layers 0,4,-1",
            code="config.malformed-option",
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
    """Words are left out or scored on.

    Raises:
        ConfigError: Both are asked for.
    """
    if leave_out_known and allow_leak:
        raise ConfigError(
            "--leave-out-known and --allow-leak exclude each other",
            remedy="give one of them",
            code="config.conflicting-options",
        )


def left_out(words: int) -> str:
    """How many words were left out.

    >>> left_out(1)
    '1 source word left out: known from training'
    """
    return f"{counted(words, 'source words')} left out: known from training"
