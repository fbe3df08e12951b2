"""The entry point: the verbs, and how failures leave the program.

Exit codes: 0 done, 2 an error the user can act on, 130 interrupted, 1 a closed pipe (in silence) or a defect of ours.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from importlib import import_module
from inspect import cleandoc
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

from isoglot import __version__
from isoglot.cli.declaration import INPUT, MANY, OUTPUT, RUN
from isoglot.cli.output import OPENED, Session
from isoglot.core.errors import IsoglotError, cut, shown
from isoglot.core.files import forget_reads, storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXT = ("<str>", "<path>", "<list[Path]>", "<list[str]>")  # whatever is typed is that
_SECTIONS = {INPUT: -1, RUN: 1, OUTPUT: 2}  # the others in between, as a verb has them
_ONE_SECTION = 12
"""Up to how many options the help shows without sections."""
VERBS = {
    "demo": "Steer English sentences toward four languages, then train small encoders and see which of them "
    "share a space.",
    "diagnose": "Check an encoder: which layer to use, which languages are poorly aligned, what would improve it "
    "for free.",
    "rank": "Rank encoders on the same parallel sentences: which are better, and which cannot be told apart.",
    "doctor": "Show versions, devices, the bundled encoder and optional parts; measure how fast the device is.",
    "anchors": "Report the tokens that languages share: types, counts by direction and frequency, true and false "
    "friends.",
    "explore": "Open a local page: turn a sentence to another language, walk through the space, look into layers, "
    "compare models.",
    "fix": "Improve the sentence vectors of a model without training, and write it as a sentence-transformers folder.",
    "encode": "Write the hidden states of an encoder for every sentence, word or word type of a file.",
    "export": "Write an encoder as a Hugging Face BERT or ModernBERT folder with its tokenizer, or as a small packed "
    "folder.",
    "pretrain": "Train an encoder whose embeddings and layers are shared between languages, or not, as a plan says.",
    "languages": "List, sample and export the five built-in languages, which describe one world.",
    "text": "Clean, split, segment and code-switch text; read Wikipedia dumps; find test sentences; move labels.",
    "vocab": "Train and inspect subword vocabularies: joint, union or disjoint between languages.",
    "shards": "Build token shards, from which pretraining reads, and show what is in them.",
    "align": "Map one encoder's space to another's by embeddings, word types, words or sentences; align the words "
    "of bitext and induce dictionaries.",
    "compare": "Compare two encoders, or two languages in one, on the same sentences: CKA and other measures, with "
    "null distribution, interval, floor and ceiling.",
    "retrieve": "Measure how often the nearest neighbor in the other language is the translation, layer by layer.",
    "static": "Train static vectors on the same shards as encoders: Word2Vec, GloVe and fastText.",
    "study": "Reproduce a table or figure of a paper, from text to verdicts: plan, run, resume, verify, merge.",
    "report": "Write the results of a study as one page, index.html: tables beside the paper's, verdicts, figures, "
    "what ran.",
    "steer": "Treat a language as a direction: fit its mean in every layer, add the difference between two means to "
    "decode in the other language, or erase language.",
    "transfer": "Train a task in one language and test it in others, zero-shot.",
}
"""Every verb with the first paragraph of its help, so that listing them imports none; a test holds it to theirs."""
_MODULES = {"anchors": "vocab", "fix": "diagnose", "rank": "diagnose", "report": "study", "shards": "vocab"}
"""The module in ``cli/verbs`` of each verb that shares one with others."""
_RENAMED = {"vocab train": {"--model": "--algorithm"}}
"""Old spellings of options by verb, which work for one more minor release."""
EXAMPLES = (
    'isoglot steer translate "The government must protect all citizens." --from en --to de',
    "isoglot diagnose --out report/",
    "isoglot doctor",
)


def build(*verbs: str) -> typer.Typer:
    """Build the command line with some verbs imported; of the others only name and help are there."""
    found = typer.Typer(
        name="isoglot",
        help="Show, measure and improve how languages share one space inside a language model.",
        epilog="\n\n".join(["Examples:", *EXAMPLES]),
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    found.callback()(_root)
    for name, text in VERBS.items():
        if name not in verbs:
            found.command(name, help=text)(_named)
            continue
        module = import_module(f"isoglot.cli.verbs.{_MODULES.get(name, name)}")
        one = getattr(module, name, None) or module.app
        if isinstance(one, typer.Typer):
            one.info.help = one.info.help or text
            found.add_typer(one, name=name, no_args_is_help=True)
        else:
            found.command(name, epilog=one.epilog)(one)
    return found


def __getattr__(name: str) -> typer.Typer:
    if name == "app":  # with all verbs, for tests
        return build(*VERBS)
    raise AttributeError(name)


def _named() -> None:
    """Stand in for a verb that was not imported; it is never called."""


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"isoglot {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every failure is one line on standard error, with --json an object."""
    OPENED.clear()
    forget_reads()
    with Session() as session:
        return _main(arguments, session)


def _main(arguments: Sequence[str] | None, session: Session) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        verb = next((each for each in arguments if not each.startswith("-")), "")
        arguments = _with_new_names(arguments)
        command = get_command(build(verb))
        make_readable(command)
        code = command(args=arguments, prog_name="isoglot", obj=session, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        if not error.format_message().strip():  # a group without a verb, whose help was shown
            return 2
        return _fail(_usage_error(error, arguments), 2, session, arguments)
    except IsoglotError as error:
        return _fail(error, error.exit_code, session, arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit is quiet too
        return 1
    except OSError as error:
        return _fail(storage_error(error, error.filename or "standard output", doing="go on"), 2, session, arguments)
    except Exception as error:  # noqa: BLE001 - the last line of defense
        problem = f"a defect of isoglot, not of your input: {type(error).__name__}: {error}"
        found = IsoglotError(problem, remedy="run again with --debug and report it", code="defect")
        return _fail(found, 1, session, arguments)
    if code == 130:  # Typer turns Ctrl-C into this
        sys.stderr.write("isoglot: interrupted\n")
    return code if isinstance(code, int) else 0


def _with_new_names(arguments: Sequence[str]) -> list[str]:
    """Replace old spellings of options, with a warning for each."""
    renamed, found = _RENAMED.get(" ".join(map(str, arguments[:2])), {}), []
    for word in arguments:
        name, equals, value = str(word).partition("=")
        if name in renamed:
            sys.stderr.write(f"isoglot: {name} is deprecated; write {renamed[name]}\n")
        found.append(f"{renamed.get(name, name)}{equals}{value}")
    return found


def _usage_error(error: typer.TyperException, arguments: Sequence[str]) -> IsoglotError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "isoglot"
    options = getattr(getattr(error, "param", None), "opts", [])
    values = [value for option, value in pairwise(arguments) if option in options]
    given = f" (given: {shown(values[-1])})" if values else ""
    message, _, nearest = error.format_message().replace("Value error, ", "").partition(" Did you mean ")
    remedy = f"{f'did you mean {nearest} See' if nearest else 'see'} {command} --help"
    return IsoglotError(f"{cut(message.rstrip('.'), 900)}{given}", remedy=remedy, code="usage")


def _fail(error: IsoglotError, code: int, session: Session, arguments: Sequence[str]) -> int:
    if session.debug:
        traceback.print_exc()
    as_json = "--json" in arguments
    sys.stderr.write(f"{json.dumps({'error': error.as_dict()}) if as_json else f'isoglot: {error}'}\n")
    return code


# --- help as people read it ---


def make_readable(command: Any) -> None:  # noqa: ANN401 - the type of Typer's commands is its own
    """Make the help of a command and its verbs readable.

    Paragraphs are joined to one line, which fits any width; numbers are shown as N, and flags and text without a type.
    A group without an example has that of its first verb. The options of a short help are in one section.

    Typer keeps the line breaks of a docstring after its first paragraph, shows flags as ``<bool>``, numbers as
    ``<int range>``, and after the name of an argument ``<str>`` or ``<list[Path]>``.
    """
    command.help = joined(command.help or "")
    asked = command.get_help_option(typer.Context(command, help_option_names=["-h", "--help"]))
    command.params.sort(key=lambda option: _SECTIONS.get(getattr(option, "rich_help_panel", None) or "", 0))
    short = len(command.params) <= _ONE_SECTION
    for option in (*command.params, asked):
        if short and hasattr(option, "rich_help_panel"):
            option.rich_help_panel = None
        if isinstance(option, TyperOption):
            _make_option_readable(option)
        elif isinstance(option, TyperArgument):
            _make_argument_readable(option)
    children = list(getattr(command, "commands", {}).values())
    for child in children:
        make_readable(child)
    if children and not command.epilog:
        command.epilog = children[0].epilog


def joined(text: str) -> str:
    r"""Join the lines of each paragraph.

    >>> joined("What it\n does.\n\nMore\nof it.")
    'What it does.\n\nMore of it.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in cleandoc(text).split("\n\n"))


def _make_option_readable(option: TyperOption) -> None:
    info = option.type_descriptor.parameter_info
    if option.type_descriptor.annotation is int and info.max is None and not option.is_flag:
        option.max = info.max = MANY  # no number of anything is without a bound
    if option.is_flag:
        option.metavar = ""
    elif option.metavar is None and (option.min, option.max) != (None, None):
        option.metavar = "N"
    if option.max is not None and option.max >= MANY:
        option.max = None  # for the help alone, where it is not worth its digits: values are checked by the type


def _make_argument_readable(argument: Any) -> None:  # noqa: ANN401 - Typer has no name for what is set here
    shown = argument.display_type_rich

    def kind(ctx: Any) -> str | None:  # noqa: ANN401 - Typer's own
        found: str | None = shown(ctx=ctx)
        return None if found in _TEXT else found

    argument.display_type_rich = kind
