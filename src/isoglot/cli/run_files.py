"""Output of verbs: locks on it, the record of the run, and which files the run read."""

from __future__ import annotations

from contextlib import AbstractContextManager as Opened
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import typer

from isoglot.cli.output import Output, Session, opened, page_facts
from isoglot.core import run as core
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from isoglot.core.run import RunRecord
    from isoglot.report.results import Rendering


PAGE = "index.html"
Kind = Literal["aside", "in place"]
"""How a verb writes its folder: ``aside``, so that it appears whole when the work has ended well; ``in place``, so that
work that was cut short can be resumed."""


class RunFacts(core.RunFacts, total=False):
    """What a verb knows of its run before it begins."""

    writes: Iterable[str] | None
    kind: Kind


@overload
def recorded(out: Path, inputs: Iterable[Path], **facts: Unpack[RunFacts]) -> Opened[RunRecord]: ...
@overload
def recorded(out: Path | None, inputs: Iterable[Path], **facts: Unpack[RunFacts]) -> Opened[RunRecord | None]: ...
def recorded(out: Path | None, inputs: Iterable[Path], **facts: Unpack[RunFacts]) -> Opened[RunRecord | None]:
    """Open the output folder of a verb, ``run.folder``, with the record of the run; None without ``--out``."""
    if out is None:
        return nullcontext()
    about: dict[str, Any] = {"models": opened(), "inputs": inputs, **facts}
    kind = about.pop("kind", "aside")
    return _with_reads(core.record_run(out, **about) if kind == "in place" else core.out_folder(out, **about))


@contextmanager
def _with_reads(record: Opened[RunRecord]) -> Iterator[RunRecord]:
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
    """Refuse to write a file that is read."""
    from isoglot.core.files import real_path

    inputs = {real_path(path) for path in read}
    for path in written:
        if real_path(path) in inputs:
            raise ConfigError(f"{path} would be written while it is read", "name another --out", "would-overwrite")


def take_folder(context: typer.Context, out: Path | None) -> Path | None:
    """Lock the folder of ``--out`` until the command ends; the callback of every such option."""
    if out is not None and not context.resilient_parsing:
        _take(context, out)
        match core.read_record(out):
            case {"command": str(command)}:
                verb = _verb(command, context)
                if not f"{context.command_path} ".startswith(f"{verb} "):
                    raise ConfigError(f"{out} holds a run of {verb}", "name another --out", "run-exists")
    return out


def take_file(context: typer.Context, out: Path | None) -> Path | None:
    """Lock the file of ``--out`` until the command ends."""
    if out is not None and not context.resilient_parsing:
        _take(context, out)
    return out


def take_vectors(context: typer.Context, out: Path) -> Path:
    """Lock the file or folder of ``--out`` for vectors, which have no run record."""
    take_file(context, out)
    if (out / core.RECORD).exists():
        raise ConfigError(f"{out} holds another verb's run ({core.RECORD})", "name another --out", "run-exists")
    return out


def _take(context: typer.Context, out: Path) -> None:
    session = context.find_root().obj
    if isinstance(session, Session):
        session.held.enter_context(core.sole_writer(out))


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
    from isoglot.core.files import as_json, write_files

    files: dict[str, str | bytes] = {}
    with recorded(out, inputs, **facts) as run:
        found = work(None if run is None else run.folder)
        value = found.value if model is None else {"model": model, **found.value}
        if run is not None:
            files = dict(found.files(page_facts()))
            run.device = found.record.get("device", run.device)
            if "config" in found.record:
                run.config = {**(run.config or {}), **found.record["config"]}
            if name is not None:
                files[name] = as_json({**value, "opened": opened()} if opened() else value)
            for path in write_files(run.folder, files):
                run.add_output(path)
    output.print(found._replace(value=value), **({} if bare or out is None else {"out": str(out)}))
    if out is not None and PAGE in files:
        output.say(f"The page is {out / PAGE}")
    return found
