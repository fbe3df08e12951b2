"""Every command in the README, the docs and the help is one that the command line has, with options that it has."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import typer

import isoglot
from isoglot.cli.main import app

ROOT = Path(__file__).parents[1]
GENERATED = ("_build", "jupyter_execute")
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not set(page.parts) & set(GENERATED)),
]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
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


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower()).replace(" ", "-")


@cache
def generated_pages() -> dict[Path, str]:
    """The pages that the site's build writes from the code."""
    spec = spec_from_file_location("reference_pages", ROOT / "docs/reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    written = {ROOT / f"docs/reference/{name}.md": text for name, text in module.pages()}
    names = {name: ROOT / f"docs/project/{name.lower()}.md" for name in module.ROOT_PAGES}
    return written | {path: module.root_page(ROOT / f"{name}.md") for name, path in names.items()}


def test_reference_has_every_measure_recipe_and_verb() -> None:
    from isoglot.cli.main import VERBS
    from isoglot.compare.measures.registry import MEASURES

    pages = {path.stem: text for path, text in generated_pages().items()}
    assert [name for name in MEASURES if f"`{name}`" not in pages["measures"]] == []
    recipes = [path.stem for path in (ROOT / "src/isoglot/study/recipes").glob("*.toml")]
    assert recipes
    assert [name for name in recipes if f"{name}" not in pages["recipes"]] == []
    assert [verb for verb in VERBS if f"isoglot {verb}" not in pages[f"cli-{verb}"]] == []


def test_measures_have_their_formula_invariances_and_use_on_both_pages() -> None:
    from isoglot.compare import INVARIANCES, MEASURES

    reference = generated_pages()[ROOT / "docs/reference/measures.md"]
    lines = re.findall(r"^\| `(\S+)` \| (.+) \|$", (ROOT / "docs/COMPARE.md").read_text(encoding="utf-8"), re.MULTILINE)
    written = {name: tuple(cell.strip() for cell in cells.split(" | ")) for name, cells in lines}
    alone = [each for each in INVARIANCES if each != "rows"]
    for name, measure in MEASURES.items():
        marks = ("yes" if each in measure.invariances else "" for each in alone)
        assert written.pop(name) == (*marks, measure.use)
        assert f"$$\n{measure.formula}\n$$" in reference
    assert written == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_pictures_are_there(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    wrong = []
    for alt, target in re.findall(r"(!?\[[^\]]*\])\(([^)\s]+)\)", text):
        path, _, part = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() and file not in generated_pages():
            wrong.append(f"{target}: no such file")
        elif part and file.suffix == ".md" and file.exists():
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            wrong += [f"{target}: no such heading"] if part not in map(anchor, headings) else []
        if alt.startswith("!") and len(alt) < 10:
            wrong.append(f"{target}: a picture without alternative text")
    assert not wrong, "\n".join(wrong)


PYTHON_BLOCKS = re.compile(r"^```(?:python|\{code-cell\}[^\n]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_of_the_docs_imports_names_that_are_there(page: Path) -> None:
    for block in PYTHON_BLOCKS.findall(page.read_text(encoding="utf-8")):
        code = "\n".join(line for line in block.splitlines() if not line.startswith(("!", "%", ":")))
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isoglot"):
                module = import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name), f"{node.module} has no {name.name}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "isoglot":
                assert hasattr(isoglot, node.attr) or find_spec(f"isoglot.{node.attr}")


def test_python_of_the_guide_runs() -> None:
    page = ROOT / "docs/guides/python.md"
    names: dict[str, Any] = {}
    exec("\n".join(PYTHON_BLOCKS.findall(page.read_text(encoding="utf-8"))), names)  # noqa: S102
    assert names["neutral"].shape == (200, 384)


NOT_OUR_WORDS = {  # what we do not write: what we write
    r"colour|behaviour|favour|neighbour": "American spelling",
    r"\b(?:un)?(?:normal|organ|general|token|optim|initial|summar|regular|penal|minim|maxim)is(?:e[ds]?|ing|ation)\b": "American spelling",
    r"\bcentre|modelling|labelled|cancelled|learnt|licence|analysed|whilst": "American spelling",
    r"numbers in a representation|vectors of its places": "hidden size, hidden states",
    r"decay of the weights": "weight decay",
    r"parts of a step|going over the text": "batch, step, epoch",
    r"switching words": "code-switching",
    r"how text is cut": "tokenizer, segmentation",
    r"what was killed|\bgo on with": "checkpoint, resume",
    r"how sure|drawn anew": "confidence interval, bootstrap",
    r"processes that have met": "process group",
    r"playing back|played back": "CUDA graph",
    r"\bwill not do\b|there is no way|not to be had": "invalid, not supported, not found",
    r"that comes? along": "bundled, built-in",
    r"\bcame to\b": "name the result",
}
PROSE = [page for page in PAGES if page.name != "changelog.md"] + sorted((ROOT / "src").rglob("*.py"))


def odd_words(text: str) -> list[str]:
    return [
        f"{found[0]!r}: {instead}"
        for words, instead in NOT_OUR_WORDS.items()
        for found in re.finditer(words, text, re.IGNORECASE)
    ]


def test_prose_uses_standard_terms() -> None:
    assert odd_words("Normalised colours, drawn anew") == [
        "'colour': American spelling",
        "'Normalised': American spelling",
        "'drawn anew': confidence interval, bootstrap",
    ]
    wrong = {
        page.relative_to(ROOT).as_posix(): odd for page in PROSE if (odd := odd_words(page.read_text(encoding="utf-8")))
    }
    assert wrong == {}
