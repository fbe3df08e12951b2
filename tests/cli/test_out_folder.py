"""A folder with the run of one verb is no place for the run of another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.main import get_command

from isoglot.cli.main import app
from isoglot.core.files import read_json, write_json


def verbs(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every verb that keeps its results in a folder."""
    if hasattr(command, "commands"):
        return [found for name, each in command.commands.items() for found in verbs(each, (*path, name))]
    return [path for each in command.params if "--out" in each.opts and each.metavar == "DIR"]


@pytest.mark.parametrize("verb", verbs(get_command(app)), ids=" ".join)
def test_another_verbs_run_is_left_alone(isoglot, tmp_path: Path, verb: tuple[str, ...]):
    other = "languages twin" if verb[0] == "doctor" else "doctor"
    record = {"command": f"isoglot {other} --seed 3", "status": "finished"}
    write_json(tmp_path / "run.json", record)
    result = isoglot(*verb, "--out", str(tmp_path))
    said = f"isoglot: {tmp_path} holds a run of isoglot {other}; name another --out\n"
    assert (result.code, result.out, result.err) == (2, "", said)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert read_json(tmp_path / "run.json") == record


def test_the_verb_itself_may_come_again(isoglot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "en.txt").write_text("A cat sleeps.\n")
    out = str(tmp_path / "out")
    for seed in ("1", "2"):
        twin = ("languages", "twin", "--text", f"en={tmp_path}/en.txt", "--kind", "order", "--seed", seed, "--out", out)
        monkeypatch.setattr(sys, "argv", ["isoglot", *twin])
        assert isoglot(*twin).code == 0
    assert read_json(tmp_path / "out" / "run.json")["seed"] == 2
    assert isoglot("languages", "export", "--out", out).err == (
        f"isoglot: {out} holds a run of isoglot languages twin; name another --out\n"
    )


@pytest.mark.parametrize("command", ["", "isoglot", "python study.py", "isoglot compare grid x"])
def test_what_is_not_known_to_be_another_verbs_is_no_reason_to_refuse(isoglot, tmp_path: Path, command: str):
    write_json(tmp_path / "run.json", {"command": command})
    assert "holds a run" not in isoglot("compare", "grid", "--out", str(tmp_path)).err


@pytest.mark.parametrize("command", ["isoglot compare A B", "isoglot compare models A B"])
def test_a_verb_is_known_where_its_name_was_left_out(isoglot, tmp_path: Path, command: str):
    write_json(tmp_path / "run.json", {"command": command})
    said = f"isoglot: {tmp_path} holds a run of isoglot compare models; name another --out\n"
    assert isoglot("compare", "grid", "x.toml", "--out", str(tmp_path)).err == said
    for short in (("A", "B"), ("models", "A", "B")):
        assert "holds a run" not in isoglot("compare", *short, "--out", str(tmp_path)).err


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (b"{", ":1:2: malformed JSON: Expecting property name enclosed in double quotes"),
        (b"\xff", ":1: byte ff is not UTF-8"),
    ],
)
def test_a_damaged_record_is_refused_with_what_can_be_done(isoglot, tmp_path: Path, damaged: bytes, why: str):
    (tmp_path / "run.json").write_bytes(damaged)
    said = f"isoglot: {tmp_path}/run.json{why}; name another --out, or remove it\n"
    assert isoglot("compare", "grid", "--out", str(tmp_path)).err == said
