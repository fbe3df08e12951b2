"""What verbs with pages write: files with a record of the run beside them, and which files they read."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isoglot.cli.named_paths import is_path
from isoglot.cli.output import command_line, opened
from isoglot.core.errors import ConfigError, IsoglotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from isoglot.core.config import Config
    from isoglot.core.record import RunRecord


def recorded(
    out: Path | None, inputs: Sequence[Path], *, seed: int, device: str, config: Config | None = None
) -> AbstractContextManager[RunRecord | None]:
    """The run record of the folder, if there is one."""
    from isoglot.core.record import record_run

    @contextmanager
    def kept(folder: Path) -> Iterator[RunRecord]:
        with record_run(
            folder, command=command_line(), seed=seed, config=config, device=device, models=opened()
        ) as run:
            for path in inputs:
                run.add_input(path)
            yield run

    return nullcontext() if out is None else kept(out)


def refuse_overwriting(written: Iterable[Path], read: Iterable[Path]) -> None:
    """What is read must not be written.

    Raises:
        ConfigError: A file is among both.
    """
    inputs = {path.resolve() for path in read}
    for path in written:
        if path.resolve() in inputs:
            raise ConfigError(f"{path} would be written while it is read", remedy="name another --out")


def refuse_another_run(out: Path) -> None:
    """What keeps no run record leaves a folder alone where another verb keeps one.

    Raises:
        ConfigError: There is one.
    """
    from isoglot.core.record import RECORD

    if (out / RECORD).exists():
        raise ConfigError(f"{out} holds another verb's run ({RECORD})", remedy="name another --out")


def keep_other_runs(context: typer.Context, out: Path | None) -> Path | None:
    """The folder of ``--out``, unless it holds the run of another verb: two runs would be mixed, and a record lost.

    Raises:
        ConfigError: It does.
        IsoglotError: Its record cannot be read.
    """
    from isoglot.core.files import read_json
    from isoglot.core.record import RECORD

    if out is not None and (out / RECORD).is_file():
        try:
            record = read_json(out / RECORD)
        except IsoglotError as error:
            error.remedy = "name another --out, or remove it"
            raise
        match record:
            case {"command": str(command)}:
                verb = _verb(command, context)
                if not f"{context.command_path} ".startswith(f"{verb} "):
                    raise ConfigError(f"{out} holds a run of {verb}", remedy="name another --out")
    return out


def _verb(command: str, context: typer.Context) -> str:
    """The words of a command that name its verb, as far as it is one of ours; one that was left out is among them."""
    here: Any = context.find_root().command
    named = ["isoglot"]
    for word in command.split()[1:]:
        if word not in getattr(here, "commands", ()):
            break
        here = here.commands[word]
        named.append(word)
    if hasattr(here, "default_verb"):
        named.append(here.default_verb)
    return " ".join(named)


def place(out: Path | None) -> dict[str, str]:
    """Where the results are, for JSON."""
    return {} if out is None else {"out": str(out)}


def write_all(out: Path, name: str, value: Mapping[str, Any], texts: Mapping[str, str], run: RunRecord) -> None:
    """Write a result as JSON and its other files, and record them all."""
    from isoglot.core.files import write_json, write_text

    for file, text in texts.items():
        write_text(out / file, text)
    write_json(out / name, {**value, "opened": opened()} if opened() else value)
    for file in (name, *texts):
        run.add_output(out / file)


def files_of(values: Sequence[str] | None) -> list[Path]:
    """The files among ``NAME=FILE`` options, for the record."""
    named = [Path(value if is_path(value) else value.partition("=")[2]).expanduser() for value in values or ()]
    return [path for path in named if path.is_file()]
