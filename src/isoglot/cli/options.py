"""The options that mean the same in every verb. A verb takes the ones it needs, by these types.

``--json``, ``--quiet`` and ``--debug`` belong to every verb.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from isoglot.cli.run_files import keep_other_runs
from isoglot.core.seeds import LARGEST_SEED


@dataclass
class Session:
    """What the command line must know after a verb has failed."""

    debug: bool = False


def _remember_debug(context: typer.Context, value: bool) -> bool:
    session = context.find_root().obj
    if value and isinstance(session, Session):
        session.debug = True
    return value


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
_OUT = typer.Option("--out", metavar="DIR", callback=keep_other_runs, help="Folder for the results; made if missing.")
Out = Annotated[Path, _OUT]
OptionalOut = Annotated[Path | None, _OUT]
_FILE_OUT = typer.Option("--out", metavar="FILE", help="File for the result.")
FileOut = Annotated[Path, _FILE_OUT]
OptionalFileOut = Annotated[Path | None, _FILE_OUT]
VectorsOut = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="PATH",
        help="Where vectors go: a .safetensors, a .vec, or a folder with a .npy for each layer.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting of the recipe. May be repeated."),
]
MODEL = "An encoder's folder, isoglot-mini, a Hugging Face folder, or a name on its hub."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL)]
ModelOption = Annotated[str, typer.Option("--model", metavar="MODEL", help=MODEL)]
SentencePool = Annotated[
    Literal["mean", "first"], typer.Option("--pool", help="A sentence is the mean of its subwords, or its first token.")
]
