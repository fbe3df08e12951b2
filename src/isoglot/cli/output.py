"""What a verb prints: a result for people or for machines, and commentary that ``--quiet`` leaves out."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoglot.core.progress import Progress, choose_progress
from isoglot.core.sole_writer import sole_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console, RenderableType

    from isoglot.model.load import RunWeights

OPENED: dict[str, RunWeights] = {}
"""Weights of training runs that this command's model options stand for, by their folder; each command begins anew."""


class Output:
    """Standard output of one verb.

    Args:
        json: The result is printed as JSON and nothing else goes to standard output.
        quiet: No commentary, no progress.
    """

    def __init__(self, *, json: bool, quiet: bool) -> None:
        self.json = json
        self.quiet = quiet

    @property
    def progress(self) -> Progress:
        """Where long work shows how far it is (standard error)."""
        return choose_progress(quiet=self.quiet)

    def say(self, text: str = "") -> None:
        """Commentary: for people, not part of the result."""
        if not (self.json or self.quiet):
            self._console().print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def show(self, shown: RenderableType) -> None:
        """Commentary that is more than text."""
        if not (self.json or self.quiet):
            self._console().print(shown)

    def remark(self, text: str) -> None:
        """What the user should know beside the result, in a line on standard error; with ``--json``, too."""
        if not self.quiet:
            sys.stderr.write(f"isoglot: {text}\n")

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
            sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        else:
            self._console().print(shown)
            for run in OPENED.values():
                self.say(str(run))

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120)


def opened() -> dict[str, dict[str, Any]]:
    """Which weights of training runs the command opened, with their step and dev perplexity, for JSON and records."""
    return {folder: run.facts() for folder, run in OPENED.items()}


def page_facts() -> list[str]:
    """The last lines of a page: the weights of training runs it is about, and the command that made it."""
    return [*map(str, OPENED.values()), command_line()]


def command_line() -> str:
    """What the user typed, for the run record."""
    return shlex.join(["isoglot", *sys.argv[1:]])
