"""Options shared by several verbs, and groups of options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import typer

from isoglot.align.maps.option_defaults import MAP_OPTIONS, STEP_OPTIONS
from isoglot.cli.declaration import INPUT, MODEL, OUTPUT, POOLS, RUN, argument, option
from isoglot.cli.inputs import Files, refuse_beside
from isoglot.cli.output import OPENED, Output, Session
from isoglot.cli.run_files import publish, take_file, take_folder, take_vectors
from isoglot.core.rng import LARGEST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.core.config import Config, Recipe
    from isoglot.report.results import Rendering

EMBEDDED = "isoglot-mini"
C = TypeVar("C", bound="Config")


def _remember_weights(context: typer.Context, value: Literal["best", "last"]) -> Literal["best", "last"]:
    session = context.find_root().obj
    if isinstance(session, Session):
        session.weights = value
    return value


def open_run(context: typer.Context, model: str | None) -> str | None:
    """Return the folder of the weights of a training run that a model option names; any other model as it is."""
    if model is None or not Path(model).expanduser().is_dir():
        return model
    from isoglot.model.load import run_weights

    session = context.find_root().obj
    run = run_weights(model, session.weights if isinstance(session, Session) else "best")
    if run is None:
        return model
    OPENED[str(run.folder)] = run
    return str(run.folder)


def open_runs(context: typer.Context, models: Files) -> Files:
    """The same for an option that may be repeated."""
    return models and [open_run(context, model) or model for model in models]


def open_named_runs(context: typer.Context, models: Files) -> Files:
    """The same for options of the form ``LANG=MODEL``."""
    named = [value.partition("=") for value in models or ()]
    return models and [f"{code}{equals}{open_run(context, model)}" for code, equals, model in named]


def _limit_lines(megabytes: int) -> int:
    from isoglot.text.formats.lines import set_longest_line

    set_longest_line(megabytes * 1_000_000)
    return megabytes


MAX_LINE = 50
MaxLine = Annotated[int, option("MB", "Refuse lines longer than this.", min=1, max=10_000, callback=_limit_lines)]
SkipBad = Annotated[int, option("N", "Skip up to N malformed lines or sentences per language.", min=0)]
Seed = Annotated[int, option(text="Random seed: same seed, same numbers.", section=RUN, min=0, max=LARGEST_SEED)]
Device = Annotated[str, option("NAME", "auto, cpu, cuda, cuda:1 or mps. See: isoglot doctor.", section=RUN)]
OUT = "Output folder; created if missing."
_OUT = option("DIR", OUT, section=OUTPUT, callback=take_folder)
Out = Annotated[Path, _OUT]
OptionalOut = Annotated[Path | None, _OUT]
_FILE_OUT = option("FILE", "File for the result.", section=OUTPUT, callback=take_file)
FileOut = Annotated[Path, _FILE_OUT]
OptionalFileOut = Annotated[Path | None, _FILE_OUT]
VectorsOut = Annotated[
    Path,
    option(
        "PATH",
        "Where vectors go: a .safetensors, a .vec, or a folder with a .npy for each layer.",
        section=OUTPUT,
        callback=take_vectors,
    ),
]
Settings = Annotated[
    Files, option("KEY=VALUE", "Change one setting of the recipe. May be repeated.", name="--set", section=RUN)
]

ModelArgument = Annotated[str, argument("MODEL", MODEL, callback=open_run)]
ModelOption = Annotated[str, option("MODEL", MODEL, section=INPUT, callback=open_run)]
Weights = Annotated[
    Literal["best", "last"],
    option(
        text="Weights of a training run: those with the lowest dev perplexity, or the last ones.",
        section=INPUT,
        callback=_remember_weights,
        is_eager=True,
    ),
]


@dataclass(frozen=True, kw_only=True)
class _Place:
    out: OptionalOut = None
    device: Device = "auto"
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class Run(Output, _Place):
    """``--out``, ``--device``, ``--seed``, and the output of the verb."""

    def config(self, kind: type[C], settings: Files = None, recipe: Recipe | None = None, **values: Any) -> C:  # noqa: ANN401 - its fields
        """The config of a class with the seed, options and settings."""
        from isoglot.core.config import build_config

        return build_config(kind, recipe=recipe, values={"seed": self.seed, **values}, settings=settings or ())

    def publish(self, work: Callable[[Path | None], Rendering], name: str | None, **about: Any) -> Rendering:  # noqa: ANN401 - as publish
        """Do the work of a verb and show its result: :func:`isoglot.cli.run_files.publish` with these options."""
        from isoglot.core.devices import choose_device

        facts: dict[str, Any] = {"seed": self.seed, "device": str(choose_device(self.device))}
        return publish(self, self.out, work, name, **facts | about)


@dataclass(frozen=True, kw_only=True)
class ModelRun(Run):
    """The same and ``--weights``: what every verb that runs a model has."""

    weights: Weights = "best"


@dataclass(frozen=True, kw_only=True)
class ModelRunTo(ModelRun):
    """The same where ``--out`` has to be given."""

    out: Out = field()


def _listed(options: dict[str, str]) -> str:
    return "; ".join(f"{name}: {values}" for name, values in options.items())


Method = Annotated[
    Literal[
        "procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning", "vecmap", "mini-vec2vec"
    ],
    option(
        text=(
            "The map; vecmap and mini-vec2vec learn without pairs, are only scored on them, and say whether they "
            f"converged. --set NAME=VALUE changes its options; defaults: {_listed(MAP_OPTIONS)}."
        )
    ),
]
Normalize = Annotated[
    Literal["none", "center", "unit", "unit-center-unit", "iterative"] | None,
    option(
        text=(
            "Normalization of both spaces before the map; default: iterative, the paper's, and for self-learning "
            "and maps without pairs unit-center-unit, vecmap's. --set normalization.NAME=VALUE changes its "
            f"options; defaults: {_listed(STEP_OPTIONS)}. The short --set NAME=VALUE does, too, if the map has no NAME."
        )
    ),
]
ShiftKind = Annotated[
    Literal["mean", "norm-matched", "transport"],
    option(
        text="mean: add alpha times the difference of the means; norm-matched: then restore the norm of every token; "
        "transport: move covariances too."
    ),
]
Positions = Annotated[
    Literal["all", "tokens"], option(text="Shift all positions, as in the paper, or tokens only, not [CLS] and [SEP].")
]
SentencePool = Annotated[
    Literal["mean", "mean-all", "first", "cls", "last", "max", "weighted"],
    option(text=f"A sentence is {POOLS}. All but mean count special tokens."),
]
SentencePoolOfModel = Annotated[
    Literal["mean", "mean-all", "first", "cls", "last", "max", "weighted", "model"] | None,
    option(
        text=(
            f"A sentence is {POOLS}, or what the modules of a sentence-transformers model make of it. All but mean "
            "count special tokens. Default: model where there are such modules, else mean."
        )
    ),
]


LeaveOutKnown = Annotated[
    bool, option(text="Leave out test words whose translations training was given, and say how many.")
]
AllowLeak = Annotated[bool, option(text="Score on words whose translations training was given, too.")]


def known_words(*, leave_out_known: bool, allow_leak: bool) -> Literal["refuse", "leave-out", "allow"]:
    """Return what ``--leave-out-known`` and ``--allow-leak`` ask for."""
    if leave_out_known:
        refuse_beside({"--allow-leak": allow_leak}, "--leave-out-known", remedy="give one of them")
    return "allow" if allow_leak else "leave-out" if leave_out_known else "refuse"


@dataclass(frozen=True)
class KnownWordOptions:
    """How to treat test words whose translations were given to training."""

    SECTION: ClassVar[str] = "Scoring"
    leave_out_known: LeaveOutKnown = False
    allow_leak: AllowLeak = False

    def policy(self) -> Literal["refuse", "leave-out", "allow"]:
        """The choice as the library takes it."""
        return known_words(leave_out_known=self.leave_out_known, allow_leak=self.allow_leak)
