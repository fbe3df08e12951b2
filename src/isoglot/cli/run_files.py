"""Output of verbs: locks on it, the record of the run, and which files the run read."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict, Unpack, overload

import typer

from isoglot.cli.output import Output, Session, opened, page_facts
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from isoglot.core.config import Config
    from isoglot.core.run import RunRecord
    from isoglot.report.results import Rendering


PAGE = "index.html"
Kind = Literal["aside", "in place"]
"""How a verb writes its folder: ``aside``, so that it appears whole when the work has ended well; ``in place``, so that
work that was cut short can be resumed."""


class RunFacts(TypedDict, total=False):
    """What a verb knows of its run before it begins."""

    seed: Required[int]
    device: str | None
    config: Config | None
    writes: Iterable[str] | None
    kind: Kind


@overload
def recorded(out: Path, inputs: Iterable[Path], **facts: Unpack[RunFacts]) -> AbstractContextManager[RunRecord]: ...
@overload
def recorded(
    out: Path | None, inputs: Iterable[Path], **facts: Unpack[RunFacts]
) -> AbstractContextManager[RunRecord | None]: ...
def recorded(
    out: Path | None, inputs: Iterable[Path], **facts: Unpack[RunFacts]
) -> AbstractContextManager[RunRecord | None]:
    """Open the output folder of a verb, ``run.folder``, with the record of the run; None without ``--out``."""
    from isoglot.core.run import out_folder, record_run

    if out is None:
        return nullcontext()
    about: dict[str, Any] = {"models": opened(), "inputs": inputs, **facts}
    kind = about.pop("kind", "aside")
    return _with_reads(record_run(out, **about) if kind == "in place" else out_folder(out, **about))


@contextmanager
def _with_reads(record: AbstractContextManager[RunRecord]) -> Iterator[RunRecord]:
    """Add every file that was read since the command began to the record of a run.

    Files of the package, files in the folder of the run, and files that no longer exist are not inputs.
    """
    import isoglot
    from isoglot.core.files import files_read, real_path

    package = Path(isoglot.__file__).parent
    with record as run:
        yield run
        known = {real_path(path) for path in run.inputs}
        own = (package, real_path(run.out), real_path(run.folder))
        for path in files_read():
            real = real_path(path)
            if real not in known and real.is_file() and not any(real.is_relative_to(each) for each in own):
                run.add_input(path)


def refuse_overwriting(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse to write a file that is read.

    Raises:
        ConfigError: A file is among both.
        StorageError: The symbolic links of a path lead in a circle.
    """
    from isoglot.core.files import real_path

    inputs = {real_path(path) for path in read}
    for path in written:
        if real_path(path) in inputs:
            raise ConfigError(f"{path} would be written while it is read", "name another --out", "would-overwrite")


def take_folder(context: typer.Context, out: Path | None) -> Path | None:
    """Lock the folder of ``--out`` until the command ends; the callback of every such option.

    Raises:
        ConfigError: It holds the run of another verb: two runs would be mixed, and a record lost.
        IsoglotError: The run record there cannot be read.
        StorageError: Another process is writing there.
    """
    from isoglot.core.run import read_record

    if out is not None and not context.resilient_parsing:
        _take(context, out)
        match read_record(out):
            case {"command": str(command)}:
                verb = _verb(command, context)
                if not f"{context.command_path} ".startswith(f"{verb} "):
                    raise ConfigError(f"{out} holds a run of {verb}", "name another --out", "run-exists")
    return out


def take_file(context: typer.Context, out: Path | None) -> Path | None:
    """Lock the file of ``--out`` until the command ends.

    Raises:
        StorageError: Another process is writing it.
    """
    if out is not None and not context.resilient_parsing:
        _take(context, out)
    return out


def take_vectors(context: typer.Context, out: Path) -> Path:
    """Lock the file or folder of ``--out`` for vectors, which have no run record.

    Raises:
        ConfigError: It is a folder that holds a run.
        StorageError: Another process is writing there.
    """
    from isoglot.core.run import RECORD

    take_file(context, out)
    if (out / RECORD).exists():
        raise ConfigError(f"{out} holds another verb's run ({RECORD})", "name another --out", "run-exists")
    return out


def _take(context: typer.Context, out: Path) -> None:
    from isoglot.core.run import sole_writer

    session = context.find_root().obj
    if isinstance(session, Session):
        session.held.enter_context(sole_writer(out))


def _verb(command: str, context: typer.Context) -> str:
    """Return the verb of a command line, with the default verb of its group if none was given."""
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


def publish(
    output: Output,
    out: Path | None,
    work: Callable[[Path | None], Rendering],
    name: str | None = None,
    *,
    model: str | None = None,
    inputs: Iterable[Path] = (),
    bare: bool = False,
    **facts: Unpack[RunFacts],
) -> Rendering:
    """Do the work of a verb, write its result to ``--out`` if given, and print it.

    Args:
        output: Standard output of the verb.
        out: Folder of ``--out``.
        work: Computes the result; given the folder to write files of its own to, or None without ``--out``.
        name: File of the result as JSON. Default: none.
        model: Name of the model, added to the result.
        inputs: Files that are read, for the record of the run.
        bare: Leave ``--out`` out of the JSON.
        **facts: The rest of the record.
    """
    files: dict[str, str | bytes] = {}
    with recorded(out, inputs, **facts) as run:
        found = work(None if run is None else run.folder)
        value = found.value if model is None else {"model": model, **found.value}
        if run is not None:
            files = found.files(page_facts())
            run.device, run.config = found.record.get("device", run.device), merged_config(run.config, found.record)
            write_all(run, name, value, files)
    output.print(found._replace(value=value), **({} if bare else place(out)))
    if out is not None and PAGE in files:
        output.say(f"The page is {out / PAGE}")
    return found


def merged_config(config: dict[str, Any] | None, record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The config of a run with what only the work could tell."""
    return {**(config or {}), **record["config"]} if "config" in record else config


def place(out: Path | None) -> dict[str, str]:
    """Where the results are, for JSON."""
    return {} if out is None else {"out": str(out)}


def write_all(run: RunRecord, name: str | None, value: Mapping[str, Any], texts: Mapping[str, str | bytes]) -> None:
    """Write files, and a result as JSON, to the folder of a run, and record them."""
    from isoglot.core.files import write_files, write_json

    for path in write_files(run.folder, texts):
        run.add_output(path)
    if name is not None:
        write_json(run.folder / name, {**value, "opened": opened()} if opened() else dict(value))
        run.add_output(run.folder / name)
