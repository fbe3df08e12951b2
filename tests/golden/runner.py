"""Running the cases of ``cases.py``: each once, after the cases whose files it reads."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from isoglot.cli.main import main
from tests.golden.cases import CASES, FILES
from tests.golden.numbers_kept import keep, tensor_sums, written_files


class Runner:
    """Runs cases in a folder, each at most once.

    Args:
        root: The folder; a case NAME writes to NAME in it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[str, dict[str, Any]] = {}
        (root / "files").mkdir()
        for name, content in FILES.items():
            (root / "files" / name).write_text(content, encoding="utf-8")

    def run(self, name: str) -> dict[str, Any]:
        """What is kept of a case's output: its numbers, and the files it wrote with sums of their tensors."""
        if name not in self._found:
            self._found[name] = self._run(name)
        return self._found[name]

    def _run(self, name: str) -> dict[str, Any]:
        case, out = CASES[name], self.root / name
        for each in case.after:
            self.run(each)
        if "@out/" in case.command:  # --out is a file
            out.mkdir(exist_ok=True)
        words = [self._with_paths(word, out) for word in shlex.split(case.command)]
        printed, said = io.StringIO(), io.StringIO()
        with redirect_stdout(printed), redirect_stderr(said):
            code = main([*words, "--json", "--quiet"])
        assert code == 0, f"isoglot {shlex.join(words)}: {said.getvalue()}"
        found: dict[str, Any] = {
            "numbers": keep(_without(json.loads(printed.getvalue()), case.without), str(self.root))
        }
        if out.exists():
            found["files"] = written_files(out)
            found |= {"tensors": tensor_sums(out, case.tensors)} if case.tensors else {}
        return found

    def _with_paths(self, word: str, out: Path) -> str:
        def path(match: re.Match[str]) -> str:
            name = match[1]
            if name == "out":
                return str(out)
            if name != "files":
                self.run(name)
            return str(self.root / name)

        return re.sub(r"@([\w+-]+)", path, word)


def _without(value: Any, names: tuple[str, ...]) -> Any:
    return {name: each for name, each in value.items() if name not in names} if isinstance(value, dict) else value
