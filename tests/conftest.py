"""What every test may use."""

from __future__ import annotations

import os
import signal
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings

from isoglot.cli.main import main
from isoglot.languages import documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Two slow cores are no reason for a property to fail.
settings.register_profile("isoglot", deadline=None)
settings.load_profile("isoglot")
os.environ["COLUMNS"] = "120"
# pytest-xdist has given every core a process already; threads of torch on top would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A test run started in the background ignores Ctrl-C, and so would every process it starts; tests that send one need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for colourful in ("FORCE_COLOR", "GITHUB_ACTIONS", "CLICOLOR_FORCE"):
    os.environ.pop(colourful, None)


@pytest.fixture(scope="session")
def small_texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Forty documents of built-in English and French, a file each, a sentence a line."""
    folder = tmp_path_factory.mktemp("texts")
    texts = {}
    for language in ("en", "fr"):
        path = folder / f"{language}.txt"
        made = islice(documents(language, seed=1), 40)
        path.write_text("\n".join(s.text for document in made for s in document) + "\n", encoding="utf-8")
        texts[language] = [path]
    return texts


@pytest.fixture
def without_mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package in which isoglot-mini is not."""
    monkeypatch.setattr("isoglot.model.load.EMBEDDED_FOLDER", tmp_path / "no isoglot-mini")


class Result(NamedTuple):
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def isoglot(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run one command line in this process: ``isoglot("doctor", "--json")``."""

    def run(*arguments: str) -> Result:
        code = main(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run
