"""Every command in the README, the docs and the help is one that the command line has, with options that it has."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import typer

import isoglot
from isoglot.cli.main import app
from isoglot.core.optional import PARTS
from tests.golden.cases import CASES

ROOT = Path(__file__).parents[1]


def written_by_hand(page: Path) -> bool:
    """Whether a page below docs is a source, and not what a build of the site wrote beside the sources."""
    if page.parent.name in {"project", "reference"}:
        return page.name in {"index.md", "file-formats.md"}
    return (
        not {"_build", "jupyter_execute", "emergence", "fixed", "kit"} & set(page.parts) and "." not in page.stem
    )  # LOG.2.md is a part of LOG.md


PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if written_by_hand(page)),
]
COMMAND = typer.main.get_command(app)


def commands(text: str) -> Iterator[str]:
    """What is in code, in blocks or between backticks, and begins with the program's name."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"\s*(?:\$ |!|\w+=\S+ )*isoglot (.*)", line):
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_in_blocks_are_complete_and_their_values_valid(page: Path) -> None:
    blocks = re.findall(r"^```.*?^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for line in commands("\n".join(blocks)):
        words = shlex.split(line, comments=True)
        command: Any = COMMAND
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        if "…" not in line and words and not {"<(zcat", "&&"} & set(words):
            command = command.commands[command.default_verb] if hasattr(command, "default_verb") else command
            command.make_context(line, words)  # raises where an option is missing or a value is none of the known ones


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


@cache
def site(name: str) -> Any:
    """A module of the site's build."""
    spec = spec_from_file_location(name, ROOT / f"docs/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and named tuples look for their module
    spec.loader.exec_module(module)
    return module


anchor = site("page_parts").anchor


@cache
def generated_pages() -> dict[Path, str]:
    """The pages that the site's build writes from the code."""
    module = site("reference_pages")
    written = {ROOT / f"docs/reference/{name}.md": text for name, text in module.pages()}
    names = {name: ROOT / f"docs/project/{name.lower()}.md" for name in module.ROOT_PAGES}
    return written | {path: module.root_page(ROOT / f"{name}.md") for name, path in names.items()}


def test_no_page_of_the_site_is_long_and_nothing_of_it_is_lost() -> None:
    parts, words = site("page_parts").parts, site("page_parts").words
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES} | generated_pages()
    for page, text in texts.items():
        body = re.sub(r"\A---\n.*?\n---\n\s*", "", text, flags=re.DOTALL)  # how a notebook is executed
        pages = parts(page.stem, body)
        assert [words(each.text) for each in pages if words(each.text) > 1650] == [], page
        lines = {line.strip("# ") for line in body.splitlines()}
        shown = {line.strip("# ") for each in pages for line in f"{each.title} · \n{each.text}".splitlines()}
        shown |= {title for each in pages for title in each.title.split(" · ")}
        assert [line for line in lines - shown if not any(line in title for title in shown)] == [], page


def test_a_long_page_is_divided_at_headings_between_rows_and_never_in_code() -> None:
    module = site("page_parts")
    rows = "\n".join(f"| row {number} | {'word ' * 20} |" for number in range(150))
    code = "```sh\n## no heading\n```"
    text = f"# Page\n\nBefore.\n\n{code}\n\n## One\n\n{'word ' * 1500}\n\n## Two\n\n| a | b |\n|---|---|\n{rows}\n"
    pages = module.parts("page", text)
    assert [each.title for each in pages] == ["Page", "One", "Two", "Two, continued", "Two, continued"]
    assert [each.name for each in pages] == ["page", "page.2", "page.3", "page.4", "page.5"]
    assert code in pages[0].text
    assert all("| a | b |\n|---|---|\n" in each.text for each in pages[2:])
    places = module.moved({"page": pages})
    assert module.followed("[x](../page.md#two) [y](page.md#zero)", places) == "[x](../page.3.md#two) [y](page.md#zero)"


def test_reference_has_every_measure_recipe_and_verb() -> None:
    from isoglot.cli.main import VERBS
    from isoglot.compare.measures.registry import MEASURES

    pages = {path.stem: text for path, text in generated_pages().items()}
    assert [name for name in MEASURES if f"`{name}`" not in pages["measures"]] == []
    recipes = [path.stem for path in (ROOT / "src/isoglot/study/recipes").glob("*.toml")]
    assert recipes
    assert [name for name in recipes if f"{name}" not in pages["recipes"]] == []
    assert [verb for verb in VERBS if f"isoglot {verb}" not in pages[f"cli-{verb}"]] == []


def test_every_library_of_the_package_has_a_license_on_its_page() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (\w+) \| (.+) \|$", site("reference_pages").licenses_page(), re.MULTILINE)
    extras = {part.extra for part in PARTS}
    assert extras <= {extra for _, extra, _ in rows}
    assert [row for row in rows if row[2] == "unknown"] == []


def test_every_file_that_a_command_writes_is_on_the_page_of_file_formats() -> None:
    page = (ROOT / "docs/reference/file-formats.md").read_text(encoding="utf-8").partition("## Every output folder")[2]
    rows = re.findall(r"^\| (`.+?) \| (.+?) \|", page, re.MULTILINE)
    patterns = [(name.replace("LANG", "*"), by) for names, by in rows for name in re.findall(r"`([^`]+)`", names)]
    assert len(patterns) > 100
    written = [
        (CASES[path.stem].command.split()[0], file.replace("#", "KEY"))
        for path in (ROOT / "tests/golden/numbers").glob("*.json")
        for file in json.loads(path.read_text(encoding="utf-8")).get("files", ())
    ]
    assert len(written) > 1000

    def named(verb: str, file: str, name: str, by: str) -> bool:
        parts = Path(file).parts
        ends = ["/".join(parts[at:]) for at in range(len(parts))]
        said = re.search(rf"`{verb}\b|every command|commands with", by) is not None
        if name.endswith("/"):
            return said and any(fnmatch(end, f"{name}*") for end in ends)
        return said and any(fnmatch(end, name) and end.count("/") == name.count("/") for end in ends)

    wrong = {(verb, file) for verb, file in written if not any(named(verb, file, *each) for each in patterns)}
    assert wrong == set()


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


PYTHON_BLOCKS = re.compile(
    r"^```(?:python|\{code-cell\}[^\n]*)\n(?:---\n.*?^---\n)?(.*?)^```", flags=re.DOTALL | re.MULTILINE
)


def test_programs_targets_extras_and_settings_of_the_docs_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wrong = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL))
        scripts = re.findall(r"python (?:-\S+ )*((?:benchmarks|scripts)/\w+\.py)", code)
        wrong += [f"{page.name}: {name}" for name in scripts if not (ROOT / name).is_file()]
        targets = re.findall(r"(?:^|`)(?:\$ )?make ([a-z]+)", code, flags=re.MULTILINE)
        wrong += [f"{page.name}: make {name}" for name in targets if f"\n{name}:" not in makefile]
        extras = {name for names in re.findall(r"(?:isoglot|\.)\[([a-z,]+)\]", code) for name in names.split(",")}
        wrong += [f"{page.name}: extra {name}" for name in extras - set(project["optional-dependencies"])]
        for block in re.findall(r"^```toml\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
            tomllib.loads(block)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_of_the_docs_imports_names_that_are_there(page: Path) -> None:
    for block in PYTHON_BLOCKS.findall(page.read_text(encoding="utf-8")):
        joined = block.replace("\\\n", " ").splitlines()
        code = "\n".join(line for line in joined if not line.startswith(("!", "%", ":")))
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isoglot"):
                module = import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name), f"{node.module} has no {name.name}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "isoglot":
                assert hasattr(isoglot, node.attr) or find_spec(f"isoglot.{node.attr}")


@pytest.mark.parametrize("page", [page for page in PAGES if "{code-cell}" in page.read_text(encoding="utf-8")])
def test_a_command_that_fails_in_a_notebook_fails_the_build(page: Path) -> None:
    cells = PYTHON_BLOCKS.findall(page.read_text(encoding="utf-8"))
    for cell, after in zip(cells, [*cells[1:], ""], strict=True):
        if "!isoglot" in cell:  # IPython goes on after a failed command
            assert re.search(r"_exit_code == 0|SVG\(|Study\.open\(", cell + after), cell


def test_figures_of_notebooks_have_alternative_text() -> None:
    shown = 0
    for page in PAGES:
        cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        for cell in cells:
            if re.search(r"^(SVG\(|\S+\.plot\(\)$|figure$|picture\()", cell, re.MULTILINE):
                assert re.search(r"^ {4}alt: \".{20,}\"$", cell, re.MULTILINE), cell
                shown += 1
    assert shown >= 8


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md", "docs/guides/steer.md"])
def test_python_of_the_guides_runs(page: str) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(PYTHON_BLOCKS.findall((ROOT / page).read_text(encoding="utf-8"))), names)  # noqa: S102
    result = names["neutral"] if "neutral" in names else names["shifted"][8]
    assert result.shape[1] == 384


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
PROSE = PAGES + sorted((ROOT / "src").rglob("*.py"))


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
