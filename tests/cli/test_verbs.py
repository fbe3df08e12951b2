"""What every verb owes its user, whichever it is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
import typer
from typer.main import get_command

from isoglot import __version__
from isoglot.cli import declaration
from isoglot.cli.declaration import MODEL
from isoglot.cli.main import EXAMPLES, app, make_readable
from isoglot.cli.main import VERBS as ALL
from isoglot.cli.output import Output
from isoglot.cli.verbs.steer import EXAMPLE
from isoglot.core.files import read_json
from isoglot.study.demo.real_languages import see_real_languages


def verbs(command=None, path: tuple[str, ...] = ()):
    """Every leaf command with its path."""
    command = get_command(app) if command is None else command
    below = getattr(command, "commands", None)
    if below is None:
        return {path: command}
    return {name: leaf for key, child in below.items() for name, leaf in verbs(child, (*path, key)).items()}


VERBS = verbs()
GROUPS = sorted({path[0] for path in VERBS if len(path) > 1})


@pytest.mark.parametrize("path", VERBS, ids=" ".join)
def test_help_says_what_it_does_with_an_example(isoglot, path: tuple[str, ...]):
    result = isoglot(*path, "--help")
    assert result.code == 0
    assert f"Example: isoglot {' '.join(path)}" in " ".join(result.out.split())
    assert all(option.help for option in VERBS[path].params if option.name != "help")


@pytest.mark.parametrize("path", VERBS, ids=" ".join)
def test_help_has_no_types_of_python_and_breaks_lines_where_the_width_does(isoglot, path: tuple[str, ...]):
    shown = isoglot(*path, "--help").out
    assert "--json" in shown
    assert not re.search(r"<(bool|int|float|str|path|list\[\w+\])( range)?>|922337203", shown)
    prose = shown[: shown.index("╭")].splitlines()
    lines = [line.strip() for line in prose]
    for line, following in pairwise(lines):
        if line and following:  # one paragraph: the next word would not have fitted
            assert len(line) + 1 + len(following.split()[0]) > len(prose[0]) - 2


def test_a_bound_that_help_does_not_show_holds(isoglot):
    line = "isoglot: Invalid value for '--seed': Input should be less than or equal to 9223372036854775807 "
    assert isoglot("demo", "--seed", str(2**63)).err.startswith(line)


@pytest.mark.parametrize("path", VERBS, ids=" ".join)
def test_every_verb_has_json_quiet_and_debug(path: tuple[str, ...]):
    assert {"--json", "--quiet", "--debug"} <= {flag for option in VERBS[path].params for flag in option.opts}


def test_shared_options_mean_the_same_everywhere():
    meanings: dict[str, set[str]] = {}
    for command in VERBS.values():
        for option in command.params:
            for flag in {"--json", "--quiet", "--debug", "--seed", "--device", "--out", "--set", "--weights"} & set(
                option.opts
            ):
                meanings.setdefault(flag, set()).add(option.help)
    assert {flag: len(texts) for flag, texts in meanings.items() if len(texts) > 1} == {"--out": 3}  # see below


def test_out_is_a_folder_or_the_file_that_is_all_a_verb_writes():
    outs = {path: option for path, command in VERBS.items() for option in command.params if "--out" in option.opts}
    assert len({option.help for option in outs.values() if option.metavar == "DIR"}) == 1
    assert {path: option.metavar for path, option in outs.items() if option.metavar != "DIR"} == {
        ("encode",): "PATH",  # vectors in a file, or in a folder with one a layer
        ("align", "apply"): "PATH",
        ("static", "vectors"): "FILE",
        ("text", "wikipedia"): "FILE",
        ("transfer", "predict"): "FILE",
    }


def test_what_a_model_may_be_is_said_in_one_way():
    models = [o for command in VERBS.values() for o in command.params if (o.metavar or "").startswith("MODEL")]
    assert all(MODEL in o.help for o in models if "--model" in o.opts or re.search("folder|hub|Hugging", o.help))
    assert len(models) > 20


def test_every_verb_that_opens_a_model_takes_weights():
    for path, verb in VERBS.items():
        models = [p for p in verb.params if "MODEL" in (p.metavar or "")]
        named = {option for parameter in verb.params for option in parameter.opts}
        assert bool(models) == ("--weights" in named), path


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from isoglot.cli.main import main; code = main(['--help']);"
        "heavy = {'torch', 'numpy', 'transformers', 'pydantic', 'scipy', 'langcodes', 'tokenizers'} & set(sys.modules);"
        "rooms = {'text', 'languages', 'vocab', 'model', 'pretrain', 'static', 'represent', 'retrieve', 'align', "
        "'compare', 'steer', 'transfer', 'diagnose', 'study', 'report'};"
        "own = {n for n in sys.modules if n.startswith('isoglot.') and n.split('.')[1] in rooms};"
        "verbs = {n for n in sys.modules if n.startswith('isoglot.cli.verbs')};"
        "slow = {'importlib.metadata', 'email', 'asyncio', 'unittest', 'xml', 'multiprocessing'} & set(sys.modules);"
        "found = heavy | own | verbs | slow;"
        "sys.exit(f'imported {found}' if found else code)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "Usage: isoglot" in run.stdout


def test_verbs_are_listed_with_their_own_help_and_only_one_is_imported():
    """The list is written down so that nothing is imported for it; what a verb says of itself is the same."""
    whole: Any = get_command(app)
    make_readable(whole)
    assert {name: command.help.split("\n\n")[0] for name, command in whole.commands.items()} == ALL
    assert EXAMPLES[0] == EXAMPLE.removeprefix("Example: ")
    program = (
        "import sys; from isoglot.cli.main import main; main(['doctor', '--help']);"
        "print([n for n in sys.modules if n.startswith('isoglot.cli.verbs.')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "['isoglot.cli.verbs.doctor']"


def test_an_option_with_a_new_name_works_under_the_old_one_with_a_warning(isoglot, tmp_path: Path):
    (tmp_path / "en.txt").write_text("the cat sees a dog\n" * 20)
    command = ("vocab", "train", "--text", f"en={tmp_path / 'en.txt'}", "--size", "60", "--json", "--quiet", "--out")
    old = isoglot(*command, str(tmp_path / "old"), "--model", "wordpiece")
    new = isoglot(*command, str(tmp_path / "new"), "--algorithm=wordpiece")
    assert (old.code, new.code, new.err) == (0, 0, "")
    assert old.out == new.out
    assert old.err.count("\n") == 1
    assert {"--model", "--algorithm"} <= set(re.findall(r"--\w+", old.err))


def test_version(isoglot):
    assert isoglot("--version") == (0, f"isoglot {__version__}\n", "")


def test_no_command_shows_the_help(isoglot):
    result = isoglot()
    assert result.code == 0
    assert "Usage: isoglot" in result.out
    for verb in ("steer translate", "diagnose", "doctor"):
        assert f"\n isoglot {verb} " in result.out


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_verb_shows_its_help(isoglot, group: str):
    result = isoglot(group)
    assert (result.code, result.err) == (2, "")
    assert f"Usage: isoglot {group}" in result.out
    assert re.search(rf"Examples?: isoglot {group} ", " ".join(result.out.split()))


def test_doctor_shows_versions_devices_and_parts(isoglot):
    result = isoglot("doctor")
    assert result.code == 0
    for word in ("versions", "torch", "devices", "cpu", "optional", "hf"):
        assert word in result.out


def test_demo_writes_a_page_and_does_not_work_twice(isoglot, monkeypatch, tmp_path: Path):
    quick = partial(see_real_languages, tested=20)
    monkeypatch.setattr("isoglot.study.demo.real_languages.see_real_languages", quick)
    small = [
        "--set",
        "budget=30steps",
        "--set",
        "sentences=1500",
        "--set",
        "test_sentences=40",
        "--set",
        "vocabulary_size=600",
    ]
    arms = ["--set", "arms=['anchors', 'separated']"]
    command = ["demo", "--out", str(tmp_path / "demo"), "--device", "cpu", *small, *arms]
    result = isoglot(*command)
    assert result.code == 0
    assert f"Open {tmp_path}/demo/index.html" in result.out
    assert read_json(tmp_path / "demo" / "run.json")["status"] == "finished"
    page = (tmp_path / "demo" / "index.html").read_text()
    assert "shared, with anchors" in (tmp_path / "demo" / "figures" / "emergence.vl.json").read_text()
    assert "How two languages come to share one space" in page
    assert "A language is a direction" in page
    assert "Translations lie near each other" in page
    # isoglot-mini itself: what a newcomer sees first, and what the marks mean.
    assert "Europäische Parlament" in result.out
    assert "[a token that only the new language has]" in result.out
    assert "Chance is 5.0 %." in result.out
    assert "()" not in result.out
    (model, *_) = sorted((tmp_path / "demo" / "steps").glob("*/encoder/encoder.json"))
    before = model.stat().st_mtime_ns
    again = isoglot(*command, "--json", "--quiet")
    assert again.err == ""
    value = json.loads(again.out)
    assert set(value["arms"]) == {"anchors", "separated"}
    real = value["real_languages"]
    assert set(real["shifted"]) == set(real["found"]) == {"fr", "de", "ru", "zh"}
    assert all(len(texts) == len(real["sentences"]) for texts in real["shifted"].values())
    assert real["tested"] == 20
    assert model.stat().st_mtime_ns == before


def test_a_group_of_options_is_an_argument_of_the_verb_and_a_section_of_its_help():
    @dataclass(frozen=True)
    class Search:
        SECTION: ClassVar[str] = "Search"
        neighbors: Annotated[int, typer.Option("--neighbors", help="How many.")]
        metric: Annotated[str, typer.Option("--metric", help="Which.")] = "cosine"

    called = []

    def find(*, name: Annotated[str, typer.Argument(help="What.")], search: Search, output: Output) -> None:
        called.append((name, search, output))

    find.__annotations__ |= {"search": Search}  # a class of this function
    found = typer.Typer()
    found.callback()(lambda: None)
    declaration.verb(found, "find", example="find X")(find)
    command: Any = get_command(found)
    command(args=["find", "X", "--neighbors", "3", "--json"], standalone_mode=False)
    assert called == [("X", Search(neighbors=3, metric="cosine"), Output(json=True))]
    panels = {
        option.name: option.rich_help_panel for option in command.commands["find"].params if option.name != "name"
    }
    assert panels["metric"] == "Search"
    assert panels["quiet"] == "Output"


def test_sections_are_for_verbs_with_more_than_a_dozen_options(isoglot):
    assert "─ Output ─" not in isoglot("doctor", "--help").out
    assert isoglot("pretrain", "--help").out.index("─ Run ─") < isoglot("pretrain", "--help").out.index("─ Output ─")
