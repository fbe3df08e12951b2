"""A folder with the run of one verb is no place for the run of another."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from typer.main import get_command

from isoglot.cli.main import app
from isoglot.core.files import file_hash, read_json, write_json
from isoglot.core.run import RunRecord


def verbs(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every verb that keeps its results in a folder; but that of a study, which several processes write together."""
    if hasattr(command, "commands"):
        return [found for name, each in command.commands.items() for found in verbs(each, (*path, name))]
    if path[0] == "study":  # its folder has no run.json: tests/study
        return []
    return [path for each in command.params if "--out" in each.opts and each.metavar == "DIR"]


@pytest.mark.parametrize("verb", verbs(get_command(app)), ids=" ".join)
def test_another_verbs_run_is_left_alone(isoglot, tmp_path: Path, verb: tuple[str, ...]):
    other = "languages twin" if verb[0] == "doctor" else "doctor"
    record = {"command": f"isoglot {other} --seed 3", "status": "finished"}
    write_json(tmp_path / "run.json", record)
    result = isoglot(*verb, "--out", str(tmp_path))
    named = "languages" if verb[0] == "doctor" else other  # verbs of a group that is not imported are not known
    said = f"isoglot: {tmp_path} holds a run of isoglot {named}; name another --out\n"
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
    isoglot("languages", "export", "--out", out).failed("config.run-exists", out)


@pytest.mark.parametrize("command", ["", "isoglot", "python study.py", "isoglot compare grid x"])
def test_what_is_not_known_to_be_another_verbs_is_no_reason_to_refuse(isoglot, tmp_path: Path, command: str):
    write_json(tmp_path / "run.json", {"command": command})
    assert "holds a run" not in isoglot("compare", "grid", "--out", str(tmp_path)).err


@pytest.mark.parametrize("command", ["isoglot compare A B", "isoglot compare models A B"])
def test_a_verb_is_known_where_its_name_was_left_out(isoglot, tmp_path: Path, command: str):
    write_json(tmp_path / "run.json", {"command": command})
    refused = isoglot("compare", "grid", "x.toml", "--out", str(tmp_path))
    refused.failed("config.run-exists", tmp_path, "isoglot compare models")
    for short in (("A", "B"), ("models", "A", "B")):
        assert "holds a run" not in isoglot("compare", *short, "--out", str(tmp_path)).err


@pytest.mark.parametrize(
    ("damaged", "code"), [(b"{", "input.malformed-json"), (b"\xff", "input.not-utf8")], ids=["no JSON", "no UTF-8"]
)
def test_a_damaged_record_is_refused_with_what_can_be_done(isoglot, tmp_path: Path, damaged: bytes, code: str):
    (tmp_path / "run.json").write_bytes(damaged)
    refused = isoglot("compare", "grid", "--out", str(tmp_path))
    refused.failed(code, "--out", file=tmp_path / "run.json", line=1)


def outs(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every verb with an ``--out``, of whatever kind; but studies, which several processes may work on."""
    if hasattr(command, "commands"):
        return [found for name, each in command.commands.items() for found in outs(each, (*path, name))]
    if path[0] == "study":
        return []
    return [path for each in command.params if "--out" in each.opts]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory):
    """A place that another process is writing to."""
    out = tmp_path_factory.mktemp("held") / "out"
    program = (
        "import sys\nfrom isoglot.core.run import sole_writer\n"
        "with sole_writer(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield out
        process.communicate()


@pytest.mark.parametrize("verb", outs(get_command(app)), ids=" ".join)
def test_no_verb_writes_where_another_process_does(isoglot, held: Path, verb: tuple[str, ...]):
    result = isoglot(*verb, "--out", str(held))
    said = f"isoglot: {held}: another process is writing there; wait for it, or name another --out\n"
    assert (result.code, result.out, result.err) == (2, "", said)
    assert [path.name for path in held.parent.iterdir()] == [".out.lock"]


def test_of_two_at_once_one_is_refused_and_the_other_is_whole(tmp_path: Path):
    (tmp_path / "en.txt").write_text("".join(f"The cat number {number} sleeps.\n" for number in range(20_000)))
    command = [sys.executable, "-m", "isoglot", "languages", "twin", "--text", f"en={tmp_path}/en.txt"]
    command += ["--out", str(tmp_path / "out"), "--quiet", "--seed"]
    both = [subprocess.Popen([*command, str(n)], stderr=subprocess.PIPE, text=True) for n in (1, 2)]
    said = [process.communicate()[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 2], [0, 0]), said  # the second may have come when the first had ended
    assert codes == [0, 0] or any("another process is writing there" in each for each in said)
    record = read_json(tmp_path / "out" / "run.json")
    for name, facts in record["outputs"].items():
        assert file_hash(tmp_path / "out" / name) == facts["sha256"]


def test_a_text_of_an_earlier_run_is_not_lost_to_one_of_another_language(isoglot, tmp_path: Path):
    for code in ("en", "fr"):
        (tmp_path / f"{code}.txt").write_text("A cat sleeps here today.\n")
    out = str(tmp_path / "out")
    clean = ("text", "clean", "--out", out, "--text")
    assert isoglot(*clean, f"en={tmp_path}/en.txt").code == 0
    said = f"isoglot: {out} holds en.txt of an earlier run, which this run does not write; name another --out\n"
    assert isoglot(*clean, f"fr={tmp_path}/fr.txt").err == said
    assert isoglot(*clean, f"en={tmp_path}/en.txt", "--text", f"fr={tmp_path}/fr.txt").code == 0


def test_a_vocabulary_whose_training_was_killed_can_be_trained_again(isoglot, tmp_path: Path, monkeypatch):
    (tmp_path / "en.txt").write_text("A cat sleeps here, and a dog sleeps there.\n" * 50)
    command = ("vocab", "train", "--text", f"en={tmp_path}/en.txt", "--size", "290", "--out", str(tmp_path / "vocab"))
    writing = RunRecord.write

    def killed(run: RunRecord) -> None:
        if run.status == "finished":  # the vocabulary is written, its record is not
            raise SystemExit(137)
        writing(run)

    with monkeypatch.context() as patch:
        patch.setattr(RunRecord, "write", killed)
        with suppress(SystemExit):
            assert isoglot(*command).code
    assert isoglot(*command).code == 0
    assert read_json(tmp_path / "vocab" / "run.json")["status"] == "finished"
