"""The entry point: the verbs, and how failures leave the program.

Exit codes: 0 done, 2 an error the user can act on, 130 interrupted, 1 a closed pipe (in silence) or a defect of ours.
"""

from __future__ import annotations

import os
import sys
import traceback
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from isoglot import __version__
from isoglot.cli import (
    align,
    anchors,
    compare,
    demo,
    diagnose,
    doctor,
    encode,
    export,
    languages,
    pretrain,
    retrieve,
    shards,
    static,
    steer,
    text,
    transfer,
    vocab,
)
from isoglot.cli.output import OPENED
from isoglot.cli.readable_help import HELP, make_readable
from isoglot.cli.run_files import Session
from isoglot.core.errors import IsoglotError, cut, one_line, shown
from isoglot.core.files import storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="isoglot",
    help="How languages come to share one space inside a masked language model: measure it, test it, improve it.",
    epilog=f"Examples:\n\n{steer.EXAMPLE.removeprefix('Example: ')}\n\n"
    "isoglot diagnose --out report/\n\nisoglot doctor",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)
app.command("demo", epilog=demo.EXAMPLE)(demo.demo)
app.command("diagnose", epilog=diagnose.EXAMPLE)(diagnose.diagnose)
app.command("doctor", epilog=doctor.EXAMPLE)(doctor.doctor)
app.add_typer(languages.app, name="languages")
app.add_typer(text.app, name="text")
app.add_typer(vocab.app, name="vocab")
app.add_typer(shards.app, name="shards")
app.command("anchors", epilog=anchors.EXAMPLE)(anchors.anchors)
app.command("encode", epilog=encode.EXAMPLE)(encode.encode)
app.add_typer(align.app, name="align")
app.add_typer(compare.app, name="compare")
app.command("export", epilog=export.EXAMPLE)(export.export)
app.command("pretrain", epilog=pretrain.EXAMPLE)(pretrain.pretrain)
app.add_typer(retrieve.app, name="retrieve")
app.add_typer(static.app, name="static")
app.add_typer(steer.app, name="steer")
app.add_typer(transfer.app, name="transfer")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"isoglot {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every failure is one line on standard error."""
    OPENED.clear()
    with Session() as session:
        return _main(arguments, session)


def _main(arguments: Sequence[str] | None, session: Session) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        command = get_command(app)
        make_readable(command)
        code = command(args=arguments, prog_name="isoglot", obj=session, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        if not error.format_message().strip():  # a group without a verb, whose help was shown
            return 2
        return _fail(_usage_line(error, arguments), 2, session)
    except IsoglotError as error:
        return _fail(str(error), error.exit_code, session)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit is quiet too
        return 1
    except OSError as error:
        return _fail(str(storage_error(error, error.filename or "standard output", doing="go on")), 2, session)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        problem = one_line(cut(f"{type(error).__name__}: {error}", 1000))
        return _fail(
            f"a defect of isoglot, not of your input: {problem}; run again with --debug and report it", 1, session
        )
    if code == 130:  # Typer turns Ctrl-C into this
        sys.stderr.write("isoglot: interrupted\n")
    return code if isinstance(code, int) else 0


def _usage_line(error: typer.TyperException, arguments: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "isoglot"
    options = getattr(getattr(error, "param", None), "opts", [])
    values = [value for option, value in pairwise(arguments) if option in options]
    given = f" (given: {shown(values[-1])})" if values else ""
    return one_line(f"{cut(error.format_message().rstrip('.'), 1000)}{given}; see {command} --help")


def _fail(line: str, code: int, session: Session) -> int:
    if session.debug:
        traceback.print_exc()
    sys.stderr.write(f"isoglot: {line}\n")
    return code
