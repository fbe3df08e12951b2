"""``isoglot pretrain``, from the text to the encoder."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from isoglot.core.config import recipe_names
from isoglot.core.files import read_json
from isoglot.core.run import sole_writer
from isoglot.languages import documents
from isoglot.model.folder import open_encoder
from isoglot.text.formats.dictionary import Entry
from isoglot.text.provenance import Provenance, Source, use_dictionary, write_provenance

NANO = """
    model.size=nano model.max_length=16 batch.size=8 batch.sequence_length=16 evaluation.every=5 evaluation.sequences=8 log.every=2
    log.peak=off checkpoints.every=4
""".split()
SETTINGS = [word for setting in NANO for word in ("--set", setting)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, vocabulary and shards, made by the commands."""
    from isoglot.cli.main import main

    folder = tmp_path_factory.mktemp("made")
    texts = []
    for code in ("en", "fr"):
        path = folder / f"{code}.txt"
        found = islice(documents(code, seed=1), 40)
        path.write_text("\n\n".join("\n".join(s.text for s in one) for one in found) + "\n", encoding="utf-8")
        texts += ["--text", f"{code}={path}"]
    assert main(["vocab", "train", *texts, "--size", "500", "--out", f"{folder}/vocab", "--quiet"]) == 0
    build = ["--vocab", f"{folder}/vocab", "--dev-share", "0.2", "--quiet"]
    assert main(["shards", "build", *texts, *build, "--out", f"{folder}/shards"]) == 0
    return folder


@pytest.fixture
def given(made: Path) -> list[str]:
    return ["--shards", f"en={made}/shards/en", "--shards", f"fr={made}/shards/fr", "--vocab", f"{made}/vocab"]


@pytest.mark.parametrize("verb", ["pretrain", "static", "shards", "encode", "transfer"])
def test_where_another_process_writes_nothing_is_touched(isoglot, made: Path, given, tmp_path: Path, verb: str):
    text = f"{made}/en.txt"
    command = {
        "pretrain": ["pretrain", "micro", *given, *SETTINGS, "--budget", "9steps", "--device", "cpu"],
        "static": ["static", "train", "glove", *given],
        "shards": ["shards", "build", "--text", f"en={text}", "--vocab", f"{made}/vocab"],
        "encode": ["encode", "isoglot-mini", "--text", text, "--lang", "en"],
        "transfer": ["transfer", "ner", "isoglot-mini", "--langs", "en", "--sentences", "10"],
    }[verb]
    out = tmp_path / "out"
    with sole_writer(out), ThreadPoolExecutor(1) as other:  # for a lock, another thread is another process
        found = other.submit(lambda: isoglot(*command, "--out", str(out), "--quiet")).result()
    assert (found.code, found.out) == (2, "")
    assert found.err.splitlines()[-1] == (
        f"isoglot: {out}: another process is writing there; wait for it, or name another --out"
    )
    assert not out.exists()


def test_a_run_is_told_and_resumed(isoglot, given, tmp_path: Path):
    run = ["pretrain", "micro", *given, *SETTINGS, "--budget", "9steps", "--device", "cpu", "--out", f"{tmp_path}/run"]
    first = isoglot(*run, "--json", "--quiet", "--seed", "3")
    assert (first.code, first.err) == (0, "")
    facts = json.loads(first.out)
    assert (facts["steps"], sorted(facts["dev_perplexity"])) == (9, ["en", "fr"])
    assert read_json(tmp_path / "run" / "run.json")["config"]["seed"] == 3
    assert open_encoder(tmp_path / "run" / "last").config.languages == ("en", "fr")
    again = isoglot(*run, "--seed", "3")
    assert again.code == 2
    assert f"{tmp_path}/run" in again.err
    assert "--resume" in again.err
    other = isoglot(*run, "--seed", "4", "--resume")
    assert other.code == 2
    assert other.err == (
        f"isoglot: {tmp_path}/run is a run with other settings: seed was 3 and is 4; "
        "resume with the same, or name another --out\n"
    )
    resumed = isoglot(*run, "--seed", "3", "--resume")
    assert resumed.code == 0
    assert "9 (1,008 tokens)" in resumed.out


def test_a_run_stops_when_its_time_is_over_and_goes_on(isoglot, given, tmp_path: Path):
    run = ["pretrain", "micro", *given, *SETTINGS, "--budget", "2steps", "--device", "cpu", "--out", f"{tmp_path}/run"]
    first = isoglot(*run, "--stop-after", "0s")
    assert first.code == 0
    assert "checkpoint" in first.out
    assert "the same command with --resume goes on" in first.err + first.out
    assert not (tmp_path / "run" / "last").exists()
    assert read_json(tmp_path / "run" / "run.json")["status"] == "stopped"
    facts = json.loads(isoglot(*run, "--resume", "--json", "--quiet").out)
    assert (facts["finished"], facts["steps"]) == (True, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
def test_ctrl_c_says_how_to_go_on(given, tmp_path: Path):
    run = ["pretrain", "micro", *given, *SETTINGS, "--budget", "1h", "--device", "cpu", "--out", f"{tmp_path}/run"]
    command = [sys.executable, "-m", "isoglot", *run]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "run" / "checkpoints").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    told = [line for line in errors.splitlines() if line.startswith("isoglot: ")]
    assert told[0].startswith("isoglot: interrupted: ")
    saved = re.fullmatch(r"isoglot: saved at step (\d+); the same command with --resume goes on", told[1])
    assert saved is not None
    assert (tmp_path / "run" / "checkpoints" / f"step-{int(saved[1]):08}" / "state.json").exists()
    assert told[2:] == ["isoglot: interrupted"]


def test_lines_in_a_pipe_and_a_refused_checkpoint(isoglot, given, tmp_path: Path):
    run = ["pretrain", "micro", *given, *SETTINGS, "--budget", "8steps", "--device", "cpu", "--out", f"{tmp_path}/run"]
    first = isoglot(*run)
    assert first.code == 0
    assert "pretrain: 8 steps in " in first.err
    assert "tokens/s" in first.err
    damaged = tmp_path / "run" / "checkpoints" / "step-00000008" / "optimizer.safetensors"
    damaged.write_bytes(b"nothing")
    resumed = isoglot(*run, "--resume")
    assert resumed.code == 0
    assert f"from step 4: {damaged}: 7 bytes with SHA-256" in resumed.err


def test_plans_dictionaries_and_pairs(isoglot, made, given, tmp_path: Path):
    run = ["pretrain", "micro", *given, *SETTINGS, "--budget", "4steps", "--device", "cpu", "--quiet"]
    (tmp_path / "words.txt").write_text("the le\na un\n")
    assert isoglot(*run, "--plan", "sep-emb+l1-1", "--out", f"{tmp_path}/a").code == 0
    assert open_encoder(tmp_path / "a" / "last").config.sharing.text == "emb,pos,1,softmax"
    assert isoglot(*run, "--dictionary", f"en-fr={tmp_path}/words.txt", "--out", f"{tmp_path}/b").code == 0
    assert open_encoder(tmp_path / "b" / "last").provenance.words("fr") == {"le", "un"}
    (tmp_path / "x.en").write_text("A train left.\nLeo sleeps.\n")
    (tmp_path / "x.fr").write_text("Un train est parti.\nLeo dort.\n")
    (words,) = use_dictionary("fr", "en", tmp_path / "words.txt", [Entry("train", "train")])
    write_provenance(tmp_path / "x.fr", Provenance((Source("mine.fr"),), (words,)))
    pairs = ["--parallel", f"en={tmp_path}/x.en", "--parallel", f"fr={tmp_path}/x.fr", "--set", "pairs.share=1"]
    assert isoglot(*run, *pairs, "--out", f"{tmp_path}/c").code == 0
    lines = (tmp_path / "c" / "metrics.jsonl").read_text().splitlines()
    assert set(json.loads(lines[0])["loss"]) == {"pairs"}
    known = open_encoder(tmp_path / "c" / "last").provenance
    assert "x.en" in known.unknown
    assert known.words("fr") == {"train"}  # by which the parallel text was code-switched
    (paired,) = (source for source in known.sources if source.file == "mine.fr")
    assert paired.last("pair") == {"step": "pair", "languages": ["en", "fr"]}


def test_a_monolingual_run_and_a_random_encoder(isoglot, made, tmp_path: Path):
    run = ["pretrain", "micro", "--shards", f"fr={made}/shards/fr", "--vocab", f"{made}/vocab", *SETTINGS, "--quiet"]
    assert isoglot(*run, "--device", "cpu", "--budget", "0steps", "--out", f"{tmp_path}/a").code == 0
    assert open_encoder(tmp_path / "a" / "last").config.languages == ("fr",)


def test_drawing_trains_nothing(isoglot, tmp_path: Path):
    result = isoglot("pretrain", "table1/sep-emb+l1-3", "--draw", f"{tmp_path}/plan.html", "--json")
    assert json.loads(result.out) == {"plan": "emb,pos,1-3,softmax", "drawing": f"{tmp_path}/plan.html"}
    assert "Each language has its own token embeddings" in (tmp_path / "plan.html").read_text()


def test_the_recipes_are_listed(isoglot):
    found = json.loads(isoglot("pretrain", "--list", "--json").out)
    assert list(found) == recipe_names("pretrain")
    assert "micro" in isoglot("pretrain", "--list").out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "RECIPE is missing; name one, such as micro; isoglot pretrain --list shows all"),
        (["micr"], "there is no recipe 'micr'; did you mean 'micro'? (or give the path of a .toml file)"),
        (["micro"], "--shards is missing; name a folder for each language: --shards en=shards/en"),
        (["micro", "--budget", "9"], "'9' is not a budget; write 8m, 90s, 2h, 2000steps or 400Mtokens"),
        (["micro", "--stop-after", "soon"], "--stop-after soon: not a time; write 90s, 9m or 2h"),
        (
            ["micro", "--stop-after", "9steps"],
            "--stop-after 9steps: not a time; write 90s, 9m or 2h",
        ),
        (
            ["micro", "--shards", "en={made}/shards/en"],
            "--vocab is missing; name the vocabulary the shards were built with",
        ),
        (
            ["micro", "--shards", "en={made}/shards/en", "--vocab", "{made}/vocab"],
            "--out is missing; name a folder for the run: --out runs/first",
        ),
        (
            ["micro", "--shards", "en={made}/shards/en", "--shards", "en={made}/shards/fr"],
            "--shards en={made}/shards/fr: en has a file already; join them into one",
        ),
        (
            ["micro", "--shards", "de={made}/shards/fr", "--vocab", "{made}/vocab", "--out", "x"],
            "{made}/shards/fr: shards of fr, named de; write --shards fr=…",
        ),
        (
            "micro --shards en={made}/shards/en --vocab {made}/vocab --out x --parallel en={made}/en.txt".split(),
            "parallel text in one language, en; name two: --parallel en=a.txt --parallel fr=b.txt",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_one_line(isoglot, made, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    result = isoglot("pretrain", *(word.format(made=made) for word in words))
    assert (result.code, result.err) == (2, f"isoglot: {line.format(made=made)}\n")
    assert list(tmp_path.iterdir()) == []


def test_only_the_first_process_of_a_machine_says_what_all_see(isoglot, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(SystemExit) as error:
        isoglot("pretrain", "micro")
    assert error.value.code == 2


def test_every_verb_opens_the_best_weights_of_a_run_unless_told_and_says_which(isoglot, made: Path, given, tmp_path):
    run = tmp_path / "run"
    worse = ["--set", "optimizer.learning_rate=0.5", "--set", "schedule.warmup=7", "--set", "evaluation.every=1"]
    train = ["pretrain", "micro", *given, *SETTINGS, *worse, "--budget", "8steps", "--device", "cpu", "--out", str(run)]
    best = json.loads(isoglot(*train, "--json", "--quiet").out)["best"]
    assert best["step"] < 8
    compare = ["compare", "models", str(run), "--langs", "en,fr", "--sentences", "30", "--measure", "paper-cka"]
    compare += ["--floor", "none", "--draws", "20", "--device", "cpu"]
    for options, name, step in (([], "best", best["step"]), (["--weights", "last"], "last", 8)):
        out = tmp_path / name
        found = isoglot(*compare, *options, "--json", "--out", str(out))
        assert found.code == 0, found.err
        opened = json.loads(found.out)["opened"]
        assert {folder: (one["weights"], one["step"]) for folder, one in opened.items()} == {
            str(run / name): (name, step)
        }
        assert opened == read_json(out / "run.json")["models"] == read_json(out / "compare.json")["opened"]
        perplexity = opened[str(run / name)]["dev_perplexity"]["en"]
        assert (
            f"{run / name}: {name} weights, step {step}, dev perplexity en {perplexity:.1f}"
            in (out / "index.html").read_text()
        )
    assert (
        best["perplexity"]
        == read_json(tmp_path / "best" / "run.json")["models"][str(run / "best")]["dev_perplexity"]["en"]
    )
    other = isoglot("compare", "models", "isoglot-mini", *compare[3:], "--json")
    assert "opened" not in json.loads(other.out)


# --- a new language ---

QUICK = """
    language.subwords=400 batch.size=8 evaluation.every=4 evaluation.sequences=8 log.every=2 log.peak=off checkpoints.every=4
""".split()


@pytest.fixture(scope="module")
def german(made: Path) -> Path:
    path = made / "de.txt"
    found = islice(documents("de", seed=1), 40)
    path.write_text("\n\n".join("\n".join(s.text for s in one) for one in found) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def adding(made: Path, german: Path, given, isoglot, tmp_path: Path) -> list[str]:
    """The command that adds German to an encoder of English and French."""
    run = ["pretrain", "micro", *given, *SETTINGS, "--budget", "2steps", "--device", "cpu", "--out", f"{tmp_path}/two"]
    assert isoglot(*run, "--quiet").code == 0
    settings = [word for setting in QUICK for word in ("--set", setting)]
    words = ["pretrain", "--add-language", "de", "--model", f"{tmp_path}/two", "--text", f"de={german}"]
    return [*words, "--held-out", f"en={made}/en.txt", *settings, "--budget", "8steps", "--device", "cpu"]


def test_a_language_is_added_and_resumed(isoglot, adding, tmp_path: Path):
    out = tmp_path / "three"
    stopped = isoglot(*adding, "--out", f"{out}", "--stop-after", "0s", "--set", "language.rows=mean")
    assert stopped.code == 0
    assert "Not finished" in stopped.err + stopped.out
    found = isoglot(*adding, "--out", f"{out}", "--resume", "--json", "--quiet", "--set", "language.rows=mean")
    assert (found.code, found.err) == (0, "")
    facts = json.loads(found.out)
    assert (facts["language"], facts["steps"], sorted(facts["losses"])) == ("de", 8, ["de", "en"])
    assert facts["subwords"]["new"] > 0
    assert read_json(out / "run.json")["status"] == "finished"
    encoder = open_encoder(out / "last")
    assert encoder.languages == ("en", "fr", "de")
    shown = isoglot(*adding, "--out", f"{tmp_path}/again", "--quiet", "--set", "language.rows=mean").out
    assert re.search(r"held-out loss +de .* before, .* after", shown)
    text = tmp_path / "some.txt"
    text.write_text("Die Katze schläft.\n", encoding="utf-8")
    words = ["--text", f"{text}", "--lang", "de", "--out", f"{tmp_path}/vectors", "--quiet"]
    assert isoglot("encode", f"{out}", *words).code == 0


def test_text_of_the_new_language_needs_no_code(isoglot, adding, german: Path, tmp_path: Path):
    words = [f"{german}" if word == f"de={german}" else word for word in adding]
    found = isoglot(*words, "--out", f"{tmp_path}/bare", "--json", "--quiet", "--set", "language.rows=mean")
    assert json.loads(found.out)["language"] == "de"


@pytest.mark.parametrize(
    ("words", "code", "value"),
    [
        (["micro", "--model", "isoglot-mini"], "config.conflicting-options", "--model"),
        (["--add-language", "sw", "--text", "sw={made}/en.txt"], "config.missing-option", "--model"),
        (["--add-language", "sw", "--model", "isoglot-mini"], "config.missing-option", "--text"),
        (["--add-language", "sw", "--model", "isoglot-mini", "--vocab", "v"], "config.conflicting-options", "--vocab"),
        (["--add-language", "fr", "--model", "isoglot-mini", "--text", "fr={made}/fr.txt"], "config.duplicate", "fr"),
        (
            [
                "--add-language",
                "sw",
                "--model",
                "isoglot-mini",
                "--text",
                "sw={made}/en.txt",
                "--set",
                "model.layers=3",
            ],
            "config.conflicting-options",
            "model",
        ),
    ],
)
def test_what_is_wrong_with_a_new_language_is_one_line(isoglot, made: Path, tmp_path: Path, words, code, value):
    given = [word.format(made=made) for word in words]
    found = isoglot("pretrain", *given, "--out", f"{tmp_path}/out", "--json", "--quiet")
    error = json.loads(found.out or found.err)["error"]
    assert (found.code, error["code"]) == (2, code)
    assert value in error["message"]
