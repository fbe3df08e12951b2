"""What every test may use."""

from __future__ import annotations

import gc
import json
import os
import signal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings

from isoglot.cli import main as command_line
from isoglot.core.artifact import SEAL, write_sealed
from isoglot.languages import documents
from tests.errors import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoglot.core.errors import IsoglotError
    from isoglot.model import Encoder
    from isoglot.model.config import Preset
    from isoglot.vocab import Vocabulary

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


def pytest_collection_finish() -> None:
    """Thousands of tests and their modules stay until the end: the garbage collector need not visit them again."""
    gc.freeze()


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


@pytest.fixture(scope="session")
def nano_encoder() -> Callable[..., Encoder]:
    """``nano_encoder(vocabulary, preset, **changes)``: a small encoder of a vocabulary that has learnt nothing."""
    from isoglot.model import Encoder, encoder_config

    def build(
        vocabulary: Vocabulary, preset: Preset, languages: tuple[str, ...] = ("en", "fr"), **changes: Any
    ) -> Encoder:
        special = vocabulary.special
        config = encoder_config(
            preset,
            "nano",
            vocabulary_size=len(vocabulary),
            languages=languages,
            pad_id=special["[PAD]"],
            unk_id=special["[UNK]"],
            **changes,
        )
        return Encoder(config, vocabulary)

    return build


@pytest.fixture(scope="session")
def each_damage() -> Callable[[Path], Iterator[str]]:
    """Damages a JSON file in every way under a hash that fits: empty, no table, without a key, with a wrong value."""

    def damages(path: Path) -> Iterator[str]:
        whole = json.loads(path.read_text())
        assert whole.pop(SEAL)
        for text in ("{}", "[]", "null"):
            path.write_text(text)
            yield text
        for key in whole:
            write_sealed(path, {name: value for name, value in whole.items() if name != key})
            yield f"no {key}"
            for text in ("null", "{}", '"x"'):
                write_sealed(path, whole | {key: json.loads(text)})
                yield f"{key} = {text}"
        write_sealed(path, whole)

    return damages


@pytest.fixture
def without_mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package in which isoglot-mini is not."""
    monkeypatch.setattr("isoglot.model.load.EMBEDDED_FOLDER", tmp_path / "no isoglot-mini")


class _Printed(NamedTuple):
    code: int
    out: str
    err: str


class Result(_Printed):
    """What a command left: its exit code and what it printed; beside these, the error it failed with."""

    failure: IsoglotError | None = None

    def failed(self, code: str, *values: object, file: str | Path | None = None, line: int | None = None) -> None:
        """Hold a command that failed to one line of standard error and to the code, values and place of its error."""
        assert (self.code, self.err.splitlines()[-1:]) == (2, [f"isoglot: {self.failure}"])
        assert self.failure is not None
        check(self.failure, code, *values, file=file, line=line)

    @property
    def error(self) -> dict[str, Any]:
        """The error of a command that failed with ``--json``: its code, message, place and remedy."""
        found: dict[str, Any] = json.loads(self.err.splitlines()[-1])["error"]
        return found


@pytest.fixture
def isoglot(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run one command line in this process: ``isoglot("doctor", "--json")``."""
    failures: list[IsoglotError] = []
    report = command_line._fail

    def keep(error: IsoglotError, *rest: Any) -> int:
        failures.append(error)
        return report(error, *rest)

    monkeypatch.setattr(command_line, "_fail", keep)

    def run(*arguments: str) -> Result:
        failures.clear()
        code = command_line.main(arguments)
        captured = capsys.readouterr()
        result = Result(code, captured.out, captured.err)
        result.failure = failures[0] if failures else None
        return result

    return run
