"""Reference pages written from the code: the command line, the Python API, recipes, measures and settings.

Each page is a function that returns MyST Markdown. ``conf.py`` writes them before every build.
"""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from itertools import dropwhile
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import isoglot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SOURCE = Path(isoglot.__file__).parent
ROOMS = {
    "isoglot": "The names that most programs need",
    "isoglot.model": "Encoders: load, build, export",
    "isoglot.vocab": "Vocabularies and token shards",
    "isoglot.pretrain": "Pretraining",
    "isoglot.static": "Word2Vec, GloVe, fastText",
    "isoglot.represent": "Hidden states and their statistics",
    "isoglot.retrieve": "Nearest neighbors and their scores",
    "isoglot.align": "Maps between spaces, word alignment",
    "isoglot.compare": "Similarity of spaces",
    "isoglot.steer": "Language means, shifts, erasers",
    "isoglot.transfer": "Zero-shot transfer of tasks",
    "isoglot.diagnose": "The check-up",
    "isoglot.languages": "Built-in languages",
}
MODULES = {
    "isoglot.study.study": ("Studies: what is done, and every number", ("Study",)),
    "isoglot.study.numbers": ("The numbers of a study", ("Number", "Numbers")),
    "isoglot.study.claims": ("Claims of the papers and verdicts on them", ("verify", "verdict_table")),
    "isoglot.report.figures": (
        "Figures of your own",
        ("Figure", "Line", "Bar", "lines", "bars", "scatter", "heat_map"),
    ),
    "isoglot.core.table": ("Tables of results", ("Table", "Column")),
    "isoglot.core.errors": (
        "Errors",
        (
            "ConfigError",
            "InputError",
            "StorageError",
            "CorruptFileError",
            "MissingPartError",
            "NumericError",
            "DeviceError",
        ),
    ),
    "isoglot.text.formats.plain": ("Readers of plain text", ("read_documents", "read_sentence_lines")),
    "isoglot.text.formats.parallel": (
        "Readers of parallel text and word alignments",
        ("read_parallel", "read_aligned", "read_tmx", "read_pharaoh"),
    ),
    "isoglot.text.formats.conll": ("Readers of treebanks and tagged words", ("read_conllu", "read_tagged")),
    "isoglot.text.formats.dictionary": ("Reader of dictionaries", ("read_dictionary",)),
    "isoglot.text.formats.nli": ("Reader of inference pairs", ("read_inference",)),
    "isoglot.text.formats.word_vectors": ("Reader of word vectors", ("read_vectors",)),
}
"""Modules that guides import from, below rooms that export nothing themselves."""
PUBLISHED = {
    "table1": ("wu2020-en-de", "figure3-en-de"),
    "figure3": ("wu2020-en-de", "figure3-en-de"),
    "emergence": ("wu2020-en-de", "emergence-p1-en-de"),
}
"""Recipes of which a study is in ``results``: its folder and the figure that is shown."""
LICENSES = {
    "mlflow": "Apache-2.0",
    "pythainlp": "Apache-2.0",
    "ray": "Apache-2.0",
    "tensorboard": "Apache-2.0",
    "trackio": "MIT",
    "wandb": "MIT",
}
"""Licenses of libraries that the build of the site does not install, from the metadata of their wheels."""
ROOT_PAGES = ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY")


def write_pages(docs: Path) -> None:
    """Write every generated page; one that has not changed is left alone, so that builds are quick."""
    made = [(f"reference/{name}", text) for name, text in pages()]
    made += [(f"project/{name.lower()}", root_page(docs.parent / f"{name}.md")) for name in ROOT_PAGES]
    made.append(("project/licenses", licenses_page()))
    draw_figures(docs / "reference")
    for name, text in made:
        path = docs / f"{name}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page."""
    from isoglot.cli.main import VERBS

    yield "cli", index("Command line", "Every command, as its `--help` shows it.", [f"cli-{verb}" for verb in VERBS])
    yield from ((f"cli-{verb}", command_page(verb)) for verb in VERBS)
    rooms = {room: f"api-{room.removeprefix('isoglot.')}" for room in ROOMS}
    yield "api", index("Python API", "Public names, room by room.", [*rooms.values(), "api-modules"])
    homes = {
        name: room for room in ROOMS for name in import_module(room).__all__
    }  # isoglot itself is the first of them
    yield from ((page, room_page(room, homes)) for room, page in rooms.items())
    yield from ((name_page(room, name), f"# {name}\n\n{autodoc(room, name)}\n") for name, room in homes.items())
    yield "api-modules", modules_page()
    yield "recipes", recipes_page()
    yield "measures", measures_page()
    yield "settings", settings_page()


def root_page(path: Path) -> str:
    """A page of the repository's root, its links as they are from ``docs/project``."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](../", text)
    text = re.sub(
        r"\]\((ARCHITECTURE|CONTRIBUTING|CHANGELOG|SECURITY)\.md", lambda found: f"]({found[1].lower()}.md", text
    )
    return re.sub(r"\]\(README\.md", "](../index.md", text)


def licenses_page() -> str:
    """Licenses of isoglot, of the files it bundles and of the libraries it imports, from their own metadata."""
    from importlib.metadata import PackageNotFoundError, metadata

    from packaging.requirements import Requirement

    def row(text: str) -> tuple[str, ...]:
        need = Requirement(text)
        extra = re.search(r"extra == ['\"](\w+)['\"]", str(need.marker or ""))
        try:
            found = metadata(need.name)
        except PackageNotFoundError:
            return need.name, extra[1] if extra else "always", LICENSES.get(need.name, "unknown")
        trove = [
            line.rpartition(" :: ")[2] for line in found.get_all("Classifier", []) if line.startswith("License ::")
        ]
        said = (
            found.get("License-Expression")
            or ", ".join(trove)
            or (found.get("License") or "").strip().partition("\n")[0]
        )
        return need.name, extra[1] if extra else "always", said or "unknown"

    needs = [text for text in metadata("isoglot").get_all("Requires-Dist", []) if not text.startswith("isoglot")]
    users = [found for found in map(row, needs) if found[1] not in {"dev", "docs"}]
    rows = sorted(set(users), key=lambda row: (row[1] != "always", row[1], row[0].lower()))
    return "\n".join(
        [
            "# Licenses",
            "",
            "isoglot is under the Apache License 2.0. Two things are bundled with it: Vega and Vega-Lite, which draw the",
            "figures of pages (BSD-3-Clause, `report/vega/LICENSE`), and the encoder isoglot-mini, whose training text is",
            "listed in `NOTICE`. The libraries below are installed by pip, each under its own license.",
            "",
            table(("Library", "Installed", "License"), rows),
            "",
        ]
    )


def index(title: str, text: str, names: Iterable[str]) -> str:
    """A page that lists others."""
    return "\n".join([f"# {title}", "", text, "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"

    return "\n".join([line(head), line("---" for _ in head), *map(line, rows)])


# --- the command line ---


def command_page(verb: str) -> str:
    """A command and those below it: usage, description, arguments, options, example."""
    from typer.main import get_command

    from isoglot.cli.main import build, make_readable

    root: Any = get_command(build(verb))
    make_readable(root)
    return "\n".join([*_command(root.commands[verb], f"isoglot {verb}", 1), ""])


def _command(command: Any, path: str, level: int) -> Iterator[str]:  # noqa: ANN401 - of click
    yield f"{'#' * level} {path}\n"
    yield f"{_escaped(command.help or '')}\n"
    below = getattr(command, "commands", {})
    params = [each for each in command.params if each.name != "help" and not getattr(each, "hidden", False)]
    if not below:
        yield f"```text\n{' '.join([path, *_usage(params)])}\n```\n"
    rows = [(_flags(each), _escaped(each.help or ""), _default(each)) for each in params]
    if rows and not below:
        yield table(("Argument or option", "Meaning", "Default"), rows) + "\n"
    for example in re.findall(r"isoglot [^\n]+", command.epilog or ""):
        yield f"```sh\n{example}\n```\n"
    for name, each in below.items():
        yield from _command(each, f"{path} {name}", level + 1)


def _usage(params: Iterable[Any]) -> Iterator[str]:
    yield "[OPTIONS]"
    for each in params:
        if each.param_type_name == "argument":
            name = each.metavar or each.name.upper()
            yield name if each.required else f"[{name.strip('[]')}]"


def _flags(param: Any) -> str:  # noqa: ANN401
    if param.param_type_name == "argument":
        return f"`{param.metavar or param.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    if param.is_flag:
        return names
    annotation = param.type_descriptor.annotation
    choices = "|".join(map(str, get_args(annotation))) if get_origin(annotation) is Literal else "VALUE"
    return f"{names} `{param.metavar or choices}`"


def _default(param: Any) -> str:  # noqa: ANN401
    if param.required:
        return "required"
    value = param.show_default if isinstance(param.show_default, str) else param.default
    plain = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    return f"`{getattr(value, 'value', value)}`" if plain else ""


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_\[\]$])", r"\\\1", text)


# --- the API ---


def room_page(room: str, homes: dict[str, str]) -> str:
    """The public names of a room, each with its first line and a link to its page, which is below the room it is defined in."""
    names = sorted(import_module(room).__all__, key=lambda name: (not name.islower(), name.lower()))
    pages = {name: name_page(homes[name], name) for name in names}
    rows = [(f"[`{name}`]({pages[name]}.md)", _escaped(first_line(homes[name], name))) for name in names]
    own = [page for name, page in pages.items() if homes[name] == room]
    toctree = ["```{toctree}", ":hidden:", "", *own, "```", ""] if own else []
    return "\n".join([f"# {room}", "", f"{ROOMS[room]}.", "", table(("Name", "What it is"), rows), "", *toctree])


def modules_page() -> str:
    """Names outside of the rooms' own that guides use, with their docstrings."""
    out = ["# Studies, figures, errors and readers", "", "Import these from the modules that are named here.", ""]
    for module, (title, names) in MODULES.items():
        out += [f"## {title}", "", f"`from {module} import {', '.join(names)}`", ""]
        out += [line for name in names for line in (f"### {name}", "", autodoc(module, name), "")]
    return "\n".join(out)


def name_page(room: str, name: str) -> str:
    """The file of a public name; file systems that ignore case must tell ``Shift`` from ``shift``."""
    kind = "" if name.islower() else "class-"
    return f"api-{room.removeprefix('isoglot.')}-{kind}{name}"


def first_line(room: str, name: str) -> str:
    """The first line of a docstring; of a constant, its type."""
    value = getattr(import_module(room), name)
    text = (value.__doc__ or "") if isinstance(value, type | FunctionType) else f"A {type(value).__name__}."
    return re.sub(r":\w+:`[~.]?", "`", text.strip().partition("\n")[0])


def autodoc(room: str, name: str) -> str:
    """The directive that shows a name with its docstring."""
    value = getattr(import_module(room), name)
    if isinstance(value, type):
        lines = [
            f".. autoclass:: {room}.{name}",
            "   :members:",
            "   :inherited-members: Module, BaseModel, Exception, tuple, dict",
        ]
    elif isinstance(value, FunctionType):
        lines = [f".. autofunction:: {room}.{name}"]
    else:
        lines = [f".. py:data:: {name}", f"   :module: {room}"]
    return "\n".join(["```{eval-rst}", *lines, "```"])


# --- recipes, measures, settings ---


def recipes_page() -> str:
    """Every study recipe and every pretraining recipe, with what its file says."""
    out = ["# Recipes", "", "A recipe sets defaults; `--set KEY=VALUE` changes any of them.", "", "## Studies", ""]
    for path in sorted((SOURCE / "study/recipes").glob("*.toml")):
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
        out += [f"### {path.stem}", "", _escaped(_comment(path)), ""]
        facts = {
            "Arms": ", ".join(arm.get("title", name) for name, arm in recipe.get("arms", {}).items()),
            "Measures": ", ".join(map(str, recipe.get("measures", ()))),
            "Claims": ", ".join(recipe.get("claims", ())),
            "Includes": ", ".join(recipe.get("recipes", ())),
        }
        out += [f"- {key}: {_escaped(value)}" for key, value in facts.items() if value]
        out += ["", f"```sh\nisoglot study plan {path.stem} --scale nano\n```", ""]
        out += [f"```toml\n{_settings(path)}\n```", "", _figure(path.stem), ""]
    out += ["## Scales of studies", "", "`--scale NAME` sets these; a recipe and `--set` change them.", ""]
    out += [f"```toml\n{_settings(SOURCE / 'study/scales.toml')}\n```", ""]
    out += ["## Pretraining", ""]
    folder = SOURCE / "pretrain/recipes"
    for path in sorted(folder.rglob("*.toml")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        out += [f"### {name}", "", _escaped(_comment(path)), "", f"```toml\n{_settings(path)}\n```", ""]
    return "\n".join(out)


def draw_figures(folder: Path) -> None:
    """Draw the figures of the published studies that the page of recipes shows."""
    for name, figure in _published():
        figure.save(folder / f"{name}.svg")


def _published() -> Iterator[tuple[str, Any]]:
    from isoglot.report.study import study_figures
    from isoglot.study.study import Study

    for study, figure in dict.fromkeys(PUBLISHED.values()):
        yield figure, study_figures(Study.open(SOURCE.parents[1] / "results" / study))[figure]


def _figure(recipe: str) -> str:
    if recipe == "thumbnail":
        title = "Precision at 1 of four encoders over training, as isoglot demo measured it"
        return f"![{title}](../emergence.svg)"
    if recipe in PUBLISHED:
        _, name = PUBLISHED[recipe]
        return f"![{dict(_published())[name].title}]({name}.svg)\n\nFrom [our own run](../RESULTS.md)."
    return (
        f"No run of ours is complete yet; `isoglot report studies/{recipe} --figures svg` draws the figures of yours."
    )


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [
        line.lstrip("# ") for line in lines[: next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)]
    ]
    return " ".join(head)


def _settings(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(dropwhile(lambda line: line.startswith("#"), lines)).strip()


def measures_page() -> str:
    """Every measure of similarity: meaning, formula, use, invariances, bounds."""
    from isoglot.compare import INVARIANCES, MEASURES, SYMBOLS

    out = ["# Measures of similarity", ""]
    out += [
        "`isoglot.compare.compute(name, X, Y)` computes any of them; X is N × D, Y is N × E, row i of both is the same item.",
        "",
    ]
    marks = [
        (f"`{name}`", *("yes" if each in measure.invariances else "" for each in INVARIANCES), f"{measure.kind}")
        for name, measure in MEASURES.items()
    ]
    out += [table(("Measure", *INVARIANCES, "kind"), marks), ""]
    out += [f"- *{name}*: unchanged by {text}" for name, text in INVARIANCES.items()] + [""]
    out += ["In the formulas:", "", *(f"- ${symbol}$: {text}" for symbol, text in SYMBOLS.items()), ""]
    for name, measure in MEASURES.items():
        out += [f"## {measure.title} (`{name}`)", "", _escaped(measure.meaning), ""]
        out += ["$$", measure.formula, "$$", ""]
        low, high = measure.bounds
        facts = {
            "When to use it": _escaped(measure.use),
            "Unchanged by": ", ".join(name for name in INVARIANCES if name in measure.invariances),
            "Range": f"{low:g} to {high:g}; {measure.ideal:g} for identical spaces",
            "Fewest items": str(measure.fewest),
            "Columns": "the same number on both sides" if measure.widths == "same" else "any number on either side",
            "Most items": f"{measure.rows:,}; of more, a sample" if measure.rows else "",
        }
        out += [f"- {key}: {value}" for key, value in facts.items() if value] + [""]
    return "\n".join(out)


def settings_page() -> str:
    """Every config with its fields, defaults and meanings."""
    import_module("isoglot.cli.main").build(*import_module("isoglot.cli.main").VERBS)
    from isoglot.core.config import Config

    for module in (
        "pretrain.config",
        "static.config",
        "transfer.tuning.config",
        "diagnose.checkup",
        "align.maps.config",
        "model.config",
    ):
        import_module(f"isoglot.{module}")
    out = [
        "# Settings",
        "",
        "What `--set` reaches, by config. Nested settings are written with dots: `--set optimizer.learning_rate=1e-3`.",
        "",
    ]
    for kind in sorted(set(_configs(Config)), key=lambda kind: (kind.__module__, kind.__name__)):
        out += [f"## {kind.__name__}", "", _escaped((kind.__doc__ or "").split("\n\n")[0]), ""]
        rows = [
            (
                f"`{name}`",
                _escaped(field.description or ""),
                "" if field.is_required() else f"`{_short(field.default)}`",
            )
            for name, field in kind.model_fields.items()
        ]
        out += [table(("Setting", "Meaning", "Default"), rows), ""]
    return "\n".join(out)


def _configs(kind: type) -> Iterator[Any]:
    for one in kind.__subclasses__():
        if one.__module__.startswith("isoglot.") and one.model_fields:
            yield one
        yield from _configs(one)


def _short(value: Any) -> str:  # noqa: ANN401
    text = f"{type(value).__name__}()" if hasattr(type(value), "model_fields") else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
