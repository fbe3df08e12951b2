"""``isoglot transfer shift``: with built-in examples, with files and means, and with what is wrong with them."""

from __future__ import annotations

import csv
import json
from itertools import islice
from pathlib import Path

import pytest

from isoglot.core.artifact import write_sealed
from isoglot.core.config import build_config
from isoglot.core.files import read_json
from isoglot.languages import documents
from isoglot.model import save_encoder
from isoglot.transfer import TuneConfig, find_task, fine_tune
from isoglot.vocab import train_vocabulary


@pytest.fixture(scope="session")
def runs(nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text of English and German, an encoder that has learnt nothing, and tagging learnt with all and half of it."""
    folder = tmp_path_factory.mktemp("shift")
    texts = {}
    for code in ("en", "de"):
        texts[code] = [folder / f"{code}.txt"]
        lines = [s.text for text in islice(documents(code, seed=1), 40) for s in text]
        texts[code][0].write_text("\n".join(lines) + "\n")
    vocabulary = train_vocabulary(texts, mode="joint", size=800)
    encoder, task = nano_encoder(vocabulary, "paper", languages=("en", "de")), find_task("ner")
    save_encoder(encoder, folder / "encoder")
    data = {"en": task.builtin("en", "train", 40)}
    for name in ("all", "top-1"):
        config = build_config(TuneConfig, settings=["epochs=1", "encoder_learning_rate=1e-3", f"tune={name}"])
        fine_tune(encoder, task, data, data, config, folder / name)
    both = data | {"de": task.builtin("de", "train", 40)}
    fine_tune(encoder, task, both, both, build_config(TuneConfig, settings=["epochs=1"]), folder / "both")
    return folder


def test_nothing_but_a_run(isoglot, runs: Path, tmp_path: Path):
    out = tmp_path / "out"
    small = ["--sentences", "20", "--learn-from", "50", "--device", "cpu"]
    result = isoglot("transfer", "shift", str(runs / "all"), *small, "--out", str(out))
    assert result.code == 0
    assert "rule, no labels" in result.out
    assert "no shift" in result.out
    found = read_json(out / "shift.json")
    assert (found["trained_on"], found["means"]) == ("en", "of the fine-tuned encoder")
    assert [(line["language"], line["alpha"]) for line in found["baselines"]] == [("en", 0), ("de", 0)]
    assert [(row["language"], row["layer"], row["zero_shot"]) for row in found["shifted"]] == [("de", 1, True)]
    with (out / "shift.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [(line["language"], line["chosen_by"], line["zero_shot"]) for line in lines] == [
        ("en", "no shift", "False"),
        ("de", "no shift", "True"),
        ("de", "nearest-mean", "True"),
    ]
    assert (out / "figures" / "shift.vl.json").is_file()
    assert read_json(out / "run.json")["status"] == "finished"


def test_files_dev_and_text(isoglot, runs: Path, tmp_path: Path):
    small = [word for part in ("ner=30", "held_out=20", "parts=['ner']") for word in ("--set", part)]
    assert isoglot("languages", "export", "--langs", "en,de", "--out", str(tmp_path / "data"), "-q", *small).code == 0
    files = tmp_path / "data" / "ner"
    given = ["--test", f"de={files}/de.test.tsv", "--dev", f"de={files}/de.dev.tsv"]
    given += ["--text", f"en={runs}/en.txt", "--text", f"de={runs}/de.txt", "--device", "cpu", "--learn-from", "50"]
    command = ["transfer", "shift", str(runs / "all"), *given, "--alpha", "dev", "--grid", "0.5,1", "--layers", "all"]
    result = isoglot(*command, "--json", "--quiet")
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    assert [(row["layer"], row["chosen_by"], row["zero_shot"]) for row in found["shifted"]] == [
        (layer, "target dev set", False) for layer in (0, 1, 2)
    ]
    assert all(set(row["dev"]) == {"0", "0.5", "1"} for row in found["shifted"])
    assert "its own dev (not zero-shot)" in isoglot(*command, "--quiet").out


def test_a_language_that_was_learnt_from(isoglot, runs: Path, tmp_path: Path):
    """It is shifted as the others are, dev of it may choose, and nothing of it is called zero-shot."""
    small = ["--sentences", "20", "--learn-from", "50", "--device", "cpu", "--quiet", "--out", str(tmp_path / "out")]
    for how in (["--alpha", "1"], ["--alpha", "dev", "--grid", "1"]):
        result = isoglot("transfer", "shift", str(runs / "both"), *small, *how)
        assert (result.code, result.err) == (0, "")
        (row,) = read_json(tmp_path / "out" / "shift.json")["shifted"]
        assert (row["language"], row["zero_shot"]) == ("de", False)
        with (tmp_path / "out" / "shift.csv").open() as file:
            assert {line["zero_shot"] for line in csv.DictReader(file)} == {"False"}


def test_means_of_the_encoder_before(isoglot, runs: Path, tmp_path: Path):
    """They will do below what has learnt, and are refused elsewhere."""
    means = tmp_path / "means"
    fit = ["--langs", "en,de", "--sentences", "50", "--out", str(means), "--device", "cpu", "--quiet"]
    assert isoglot("steer", "fit", str(runs / "encoder"), *fit).code == 0
    given = ["--means", str(means), "--alpha", "1", "--sentences", "20", "--device", "cpu", "--quiet", "--json"]
    result = isoglot("transfer", "shift", str(runs / "top-1"), *given)
    assert "stayed as they were" in json.loads(result.out)["means"]
    wrong = isoglot("transfer", "shift", str(runs / "all"), *given, "--out", str(tmp_path / "out"))
    assert (wrong.code, wrong.out) == (2, "")
    assert not (tmp_path / "out").exists()
    assert wrong.error["message"] == "the means are of the encoder before fine-tuning, which has changed layer 1"
    assert wrong.error["remedy"] == "learn those of the fine-tuned one from text"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--alpha", "some"], "--alpha 'some' is not a list of numbers; write dev, rule or numbers such as 0.5,1,2"),
        (["--grid", "1,2"], "--grid is for --alpha dev; leave it out"),
        (["--alpha", "dev", "--grid", "x"], "--grid 'x' is not a list of numbers; write numbers such as 0.5,1,2"),
        (["--alpha", "nan"], "alpha = nan; give numbers such as 0.5, 1 and 2, each once"),
        (["--alpha", "dev", "--grid", "1,1"], "alpha 1 is given twice; give numbers such as"),
        (["--alpha", "0"], "no alpha but 0; give some"),
        (
            ["--test", "de={}"],
            "there are no means of the fine-tuned model's languages; give text of en and de to learn them from",
        ),
        (["--test", "de={}", "--text", "de={text}"], "there is no text of en; give it too"),
        (
            ["--test", "de={}", "--text", "de={text}", "--text", "en={text}"],
            "de and en have equal means in layer 1",
        ),
        (
            ["--test", "de={}", "--langs", "de"],
            "languages are chosen from built-in examples, and test examples are given",
        ),
        (["--dev", "de={}"], "there are no test examples; give them too"),
        (["--means", "nowhere", "--learn-from", "9"], "--learn-from and --means exclude each other"),
        (["--langs", "en"], "there is no language to shift"),
        (["--layers", "top"], "--layers 'top' is not a list of numbers"),
        # Before means are asked for: they would be learned first.
        (
            ["--test", "de={}", "--alpha", "dev"],
            "there is no dev set of de to choose alpha by; give it, or use the rule",
        ),
        (
            ["--test", "de={}", "--alpha", "dev", "--dev", "de={none}"],
            "none.tsv: there are no examples of de; give some",
        ),
        (["--test", "de={none}"], "none.tsv: there are no examples of de; give some"),
        (["--test", "xx={}"], "'xx' is not a language"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(isoglot, options, problem, runs: Path, tmp_path: Path):
    file = tmp_path / "a.tsv"
    file.write_text("Eva\tO\nsleeps\tO\n")
    none, out = tmp_path / "none.tsv", tmp_path / "out"
    none.write_text("")
    text = tmp_path / "text.txt"
    text.write_text("Eva sleeps.\n")
    given = [option.format(file, none=none, text=text) for option in options]
    given += ["--device", "cpu", "--sentences", "10", "--out", str(out)]
    result = isoglot("transfer", "shift", str(runs / "all"), *given)
    assert (result.code, result.out) == (2, "")
    assert not out.exists()
    assert problem in result.err.splitlines()[-1]
    assert result.err.count("isoglot: ") == 1


def test_alphas_are_looked_at_before_anything_is_read(isoglot, tmp_path: Path):
    result = isoglot("transfer", "shift", str(tmp_path / "nowhere"), "--alpha", "1,inf")
    assert (result.code, result.err) == (2, "isoglot: alpha = inf; give numbers such as 0.5, 1 and 2, each once\n")


def test_a_folder_of_map_transfer_has_no_model(isoglot, tmp_path: Path):
    write_sealed(tmp_path / "result.json", {"task": "ner", "scores": []})
    result = isoglot("transfer", "shift", str(tmp_path))
    assert (result.code, result.out) == (2, "")
    result.failed("storage.not-found")
