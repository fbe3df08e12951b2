"""Every command in the README, the docs and the help is one that the command line has, with options that it has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from isoglot.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = typer.main.get_command(app)


def commands(text: str) -> Iterator[str]:
    """What is in code, in blocks or between backticks, and begins with the program's name."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"\s*(?:\$ |\w+=\S+ )*isoglot (.*)", line):
                yield found[1]
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", rest):
        for part in re.split(r"\s(?:&&|;)\s|;\s", " ".join(span.split())):
            if found := re.match(r"(?:\w+=\S+ )*isoglot (.+)", part):
                yield found[1]


def problems(line: str) -> Iterator[str]:
    """What of a command is not there; ``a|b`` stands for both, and what follows belongs to the last."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    command: Any = COMMAND
    for token in lexer:
        name, _, _ = token.partition("=")
        if name.startswith("-") and name.strip("-"):
            known = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)} | {"--help", "-h"}
            yield from (f"{command.name} has no {one}" for one in name.split("|") if one not in known)
        elif hasattr(command, "commands") and re.fullmatch(r"[a-z0-9|-]+", token):
            names = token.split("|")
            missing = [one for one in names if one not in command.commands]
            if missing:
                if command is COMMAND or len(names) > 1:
                    yield f"{command.name} has no {', '.join(missing)}"
                return
            command = command.commands[names[-1]]
        elif hasattr(command, "default_verb"):
            command = command.commands[command.default_verb]  # compare A B, in short


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_docs_are_there(page: Path) -> None:
    wrong = [f"{line}: {one}" for line in commands(page.read_text(encoding="utf-8")) for one in problems(line)]
    assert not wrong, "\n".join(wrong)


def test_what_is_not_there_is_found() -> None:
    text = "`isoglot retrieve words|sentence --layers 1` and\n```sh\n$ isoglot encode X --txt a  # --none\nisoglot nothing\n```\n"
    assert [one for line in commands(text) for one in problems(line)] == [
        "encode has no --txt",
        "isoglot has no nothing",
        "retrieve has no sentence",
    ]


def test_examples_of_the_help_are_there() -> None:
    def verbs(command: Any) -> Iterator[Any]:
        yield command
        for each in getattr(command, "commands", {}).values():
            yield from verbs(each)

    examples = [line for verb in verbs(COMMAND) for line in re.findall(r"isoglot ([^\n;]+)", verb.epilog or "")]
    assert len(examples) > 40
    assert not [f"{line}: {one}" for line in examples for one in problems(line)]
