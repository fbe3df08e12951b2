"""What a verb prints: a result for people or for machines, and commentary that ``--quiet`` leaves out."""

from __future__ import annotations

import json
import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TextIO

import typer

from isoglot.core.errors import visible
from isoglot.core.progress import Progress, choose_progress
from isoglot.core.run import command_line, sole_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from isoglot.model.load import RunWeights
    from isoglot.report.results import Rendering

ColorSystem = Literal["auto", "standard", "256", "truecolor", "windows"]
OPENED: dict[str, RunWeights] = {}
"""Weights of training runs that this command's model options stand for, by their folder; each command begins anew."""


@dataclass
class Session:
    """State of one command, held until it has ended, however it ends."""

    debug: bool = False
    weights: Literal["best", "last"] = "best"
    """Which weights of a training run the command's model options stand for."""
    held: ExitStack = field(default_factory=ExitStack)
    """The locks on what it writes."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *reason: object) -> None:
        self.held.close()


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


@dataclass(frozen=True)
class Output:
    """Standard output of a verb, and the options ``--json``, ``--quiet`` and ``--debug`` as a group.

    Args:
        json: Print the result as JSON, and nothing else on standard output.
        quiet: Print neither commentary nor progress.
        debug: Show tracebacks; :class:`Session` keeps it.
    """

    SECTION: ClassVar[str] = "Output"
    json: Json = False
    quiet: Quiet = False
    debug: Debug = False

    @property
    def progress(self) -> Progress:
        """Progress reporter, on standard error."""
        return choose_progress(quiet=self.quiet)

    def say(self, shown: RenderableType = "") -> None:
        """Commentary: for people, not part of the result."""
        if not (self.json or self.quiet):
            self._console().print(shown, soft_wrap=isinstance(shown, str))

    def remark(self, text: str) -> None:
        """What the user should know beside the result, in a line on standard error; with ``--json``, too."""
        if not self.quiet:
            sys.stderr.write(f"isoglot: {visible(text)}\n")

    @contextmanager
    def resumable(self, out: Path | None) -> Iterator[None]:
        """What the block writes, if anything, no other process writes; Ctrl-C in it is followed by how to go on."""
        if out is None:
            yield
            return
        try:
            with sole_writer(out):
                yield
        except KeyboardInterrupt as interrupt:
            saved = f"{interrupt}; " if str(interrupt) else ""
            self.remark(f"{saved}the same command with --resume goes on")
            raise

    def result(self, value: Any, shown: RenderableType) -> None:  # noqa: ANN401 - whatever JSON can hold
        """The result: ``value`` as JSON, or ``shown`` for people; with the weights of training runs it is about."""
        if OPENED and isinstance(value, dict):
            value = {**value, "opened": opened()}
        if self.json:
            sys.stdout.write(_as_json(value) + "\n")
        else:
            piped = isinstance(shown, str) and not sys.stdout.isatty()
            self._console().print(shown, crop=False, soft_wrap=piped)  # a command stays one line, to be copied
            for run in OPENED.values():
                self.say(str(run))

    def print(self, found: Rendering, **more: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """A result and the notes on it, after a blank line under a table; ``more`` comes first in the JSON object."""
        self.result({**more, **found.value} if more else found.value, found.shown)
        if found.notes:
            self.say("\n".join(found.notes if isinstance(found.shown, str) else ["", *found.notes]))

    def _console(self) -> Console:
        return safe_console(sys.stdout, width=None if sys.stdout.isatty() else 120)


def safe_console(file: TextIO, *, width: int | None = None, color_system: ColorSystem = "auto") -> Console:
    """A console on which text is shown as it is: no markup, no emoji codes, control characters made visible.

    Only what Rich itself adds, such as colors, reaches the terminal as escape sequences.
    """
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - Rich's own
            return super().render_str(visible(text), **options)  # before it is measured

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return SafeConsole(file=file, width=width, color_system=color_system, markup=False, emoji=False, highlight=False)


def _as_json(value: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    """The value as JSON; DEL and C1 controls, which JSON allows as they are, are escaped like the C0 ones."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)


def opened() -> dict[str, dict[str, Any]]:
    """Which weights of training runs the command opened, with their step and dev perplexity, for JSON and records."""
    return {folder: run.facts() for folder, run in OPENED.items()}


def page_facts() -> list[str]:
    """The last lines of a page: the weights of training runs it is about, and the command that made it."""
    return [*map(str, OPENED.values()), command_line()]
