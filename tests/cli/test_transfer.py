"""``isoglot transfer``: with nothing but a model, with files, and with what is wrong with them."""

from __future__ import annotations

import json
import re
import shlex
from itertools import islice
from pathlib import Path

import pytest
import torch

from isoglot.core.files import read_json
from isoglot.languages import documents
from isoglot.model import load_encoder, save_encoder
from isoglot.model.static_table import TableEncoder, save_table
from isoglot.text.formats.conll import read_conllu, read_tagged
from isoglot.transfer import find_task
from isoglot.transfer.tasks.builtin_data import read_splits
from isoglot.vocab import train_vocabulary

FAST = ("--recipe", "micro", "--set", "epochs=1", "--sentences", "40", "--device", "cpu", "--set", "tune=head")


@pytest.fixture(scope="session")
def model(nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder of English and German that has learnt nothing."""
    folder = tmp_path_factory.mktemp("model")
    texts = {}
    for code in ("en", "de"):
        path = folder / f"{code}.txt"
        path.write_text("\n".join(s.text for text in islice(documents(code, seed=1), 60) for s in text) + "\n")
        texts[code] = [path]
    vocabulary = train_vocabulary(texts, mode="joint", size=800)
    save_encoder(nano_encoder(vocabulary, "paper", languages=("en", "de")), folder / "encoder")
    return str(folder / "encoder")


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("task", ["nli", "ner", "parse", "pos", "topic"])
def test_nothing_given_is_built_in(isoglot, task, model):
    extra = ["--set", "unseen_labels=count"] if task == "topic" else []
    result = isoglot("transfer", task, model, *FAST, *extra, "--json", "--quiet")
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    assert (found["task"], found["trained_on"]) == (task, ["en"])
    assert {(line["language"], line["way"]) for line in found["scores"]} == {
        ("en", "source dev"),
        ("de", "source dev"),
        ("de", "oracle"),
    }


def test_files_a_folder_and_new_text(isoglot, model, tmp_path: Path):
    small = [word for part in ("ner=60", "held_out=20", "parts=['ner']") for word in ("--set", part)]
    assert isoglot("languages", "export", "--langs", "en,de", "--out", str(tmp_path / "data"), "-q", *small).code == 0
    files = tmp_path / "data" / "ner"
    given = [
        "--train",
        f"en={files}/en.train.tsv",
        "--dev",
        f"en={files}/en.dev.tsv",
        "--test",
        f"de={files}/de.test.tsv",
    ]
    out = tmp_path / "out"
    result = isoglot("transfer", "ner", model, *given, *FAST, "--out", str(out))
    assert result.code == 0
    assert "en dev" in result.out
    assert "Use it: isoglot transfer predict" in result.out
    page = (out / "index.html").read_text()
    assert "NER, learned in en" in page
    assert all((out / "figures" / f"{name}.vl.json").is_file() for name in ("scores", "training"))
    assert {"index.html", "vega.js"} <= {Path(name).name for name in read_json(out / "run.json")["outputs"]}
    record = read_json(out / "run.json")
    assert record["status"] == "finished"
    assert len(record["inputs"]) > 3
    before = _files(out)
    for wrong, problem in {
        (): f"{out} holds a run already; resume it",
        ("--seed", "1"): "holds a run already",
        ("--set", "epochs=2", "--resume"): "is another run: config.epochs was 1 and is 2; resume with the same",
        ("--sentences", "30", "--resume"): "is another run: data.train.en",
        ("--seed", "1", "--resume"): f"{out} has a finished run seed-0/01",
        ("--test", f"xx={files}/de.test.tsv", "--resume"): "'xx' is not a language",
    }.items():
        again = isoglot("transfer", "ner", model, *given, *FAST, "--out", str(out), *wrong)
        assert (again.code, again.out) == (2, "")
        assert problem in again.err
        assert _files(out) == before
    # A language it was not trained on is read as any other by what reads all alike, and can be added to a finished run.
    more = isoglot(
        *("transfer", "ner", model, *given, "--test", f"nl={files}/de.test.tsv"),
        *(*FAST, "--out", str(out), "--resume", "--json"),
    )
    assert set(json.loads(more.out)["tests"]) == {"de", "nl"}
    assert isoglot("transfer", "ner", model, *given, *FAST, "--out", str(out), "--resume").code == 0

    same = isoglot("transfer", "compare", str(out), str(out), "--json")
    assert [(row["language"], row["difference"], row["p_corrected"]) for row in json.loads(same.out)] == [("de", 0, 1)]
    assert "95 % over sentences" in isoglot("transfer", "compare", str(out), str(out)).out

    predict = ["transfer", "predict", str(out), "--device", "cpu", "--lang", "de"]
    assert isoglot(*predict, "Eva lebt in Bonn.", "--quiet").out.count("\t") == 5
    (tmp_path / "new.txt").write_text("Eva lebt.\n\nEr schläft.\n")
    to = tmp_path / "new.tsv"
    told = isoglot(*predict, "--text", str(tmp_path / "new.txt"), "--out", str(to))
    assert told.out.startswith("2 predictions: ")
    assert "isoglot: 1 blank, left out\n" in told.err
    assert [[word for word, _ in each] for each in read_tagged(to)] == [["Eva", "lebt", "."], ["Er", "schläft", "."]]
    (tmp_path / "new.txt").write_text("Eva B-PER\nlebt O\n")
    told = isoglot(*predict, "--text", str(tmp_path / "new.txt"), "--out", str(to))
    assert f"isoglot: {tmp_path}/new.txt: 2 words a line, each read as a sentence; if they are columns" in told.err
    told = isoglot(*predict, "Eva lebt " * 300 + "q" * 2000)
    assert "isoglot: 1 split (read in several windows)\n" in told.err
    assert "isoglot: 1 truncated (tokens that did not fit are not read)\n" in told.err
    as_json = json.loads(isoglot(*predict, "Eva lebt.", "--json", "--quiet").out)
    assert as_json[0]["words"] == ["Eva", "lebt", "."]
    columns = isoglot(*predict, "Eva lebt.", "--format", "conllu", "--quiet").out.splitlines()
    assert columns[1].startswith("2\tlebt\t_\t_")
    assert columns[1].endswith("SpaceAfter=No")


def test_new_text_is_parsed(isoglot, model, tmp_path: Path):
    out = tmp_path / "out"
    result = isoglot("transfer", "parse", model, *FAST, "--out", str(out), "--quiet")
    told, _, head, row, *_ = result.out.split("\n")
    facts = read_json(out / "result.json")
    (trial,) = facts["trials"]
    assert told == f"Learned from en: las {trial['dev']:.1f} on its dev set, epoch {trial['epoch']}."
    assert head.split() == "language chosen by las 95 % over sentences uas".split()
    assert row.split()[-1] == f"{facts['scores'][0]['uas']:.1f}"
    to = tmp_path / "parsed.conllu"
    predict = ["transfer", "predict", str(out), "--device", "cpu", "--lang", "en", "--quiet"]
    assert isoglot(*predict, "The cat sees Eva, and sleeps.", "--out", str(to)).code == 0
    (tree,) = read_conllu(to)
    assert [word.form for word in tree.words] == ["The", "cat", "sees", "Eva", ",", "and", "sleeps", "."]
    assert isoglot(*predict, "--text", str(to), "--out", str(tmp_path / "again.conllu")).code == 0
    assert list(read_conllu(tmp_path / "again.conllu")) == [tree]
    wrong = isoglot(*predict, "Eva.", "--format", "bio")
    wrong.failed("config.not-supported")


def test_pairs_are_classified(isoglot, model, tmp_path: Path):
    out = tmp_path / "out"
    assert isoglot("transfer", "nli", model, *FAST, "--out", str(out), "--quiet", "--langs", "de").code == 0
    predict = ["transfer", "predict", str(out), "--device", "cpu", "--lang", "en", "--quiet"]
    found = json.loads(isoglot(*predict, "It rains.\tIt is wet.").out)
    assert found["texts"] == ["It rains.", "It is wet."]
    assert found["label"] in ("entailment", "neutral", "contradiction")
    wrong = isoglot(*predict, "It rains.")
    wrong.failed("input.malformed-line", "'It rains.'")


@pytest.mark.parametrize(("most", "learnt"), [(None, 3), (2, 2)])
def test_the_first_so_many_are_of_what_is_learnt_from(most, learnt, tmp_path: Path):
    file = tmp_path / "examples.tsv"
    file.write_text("It rains.\tweather\nHe sings.\tmusic\nIt snows.\tweather\n")
    found = read_splits(find_task("topic"), {"en": file}, {"en": file}, {"de": file}, most)
    assert [list(each) for each in found] == [["en"], ["en"], ["de"]]
    assert [len(data.examples) for each in found for data in each.values()] == [learnt, 3, 3]


def test_static_vectors(isoglot, model, tmp_path: Path):
    vocabulary = load_encoder(model, device="cpu").vocabulary
    vectors_VD = torch.randn(len(vocabulary), 8, generator=torch.Generator().manual_seed(1))
    save_table(TableEncoder(vectors_VD, torch.ones(len(vocabulary), dtype=torch.bool), vocabulary), tmp_path / "table")
    given = ["transfer", "nli", str(tmp_path / "table"), "--sentences", "40", "--device", "cpu", "--quiet"]
    wrong = isoglot(*given)
    assert (wrong.code, wrong.out) == (2, "")
    wrong.failed("config.not-supported")
    out = tmp_path / "out"
    assert isoglot(*given, "--recipe", "static-nli", "--set", "epochs=1", "--out", str(out)).code == 0
    found = isoglot("transfer", "predict", str(out), "It rains.\tIt is wet.", "--lang", "de", "--quiet")
    assert json.loads(found.out)["label"] in ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--train", "en={}"], "there are no dev examples; give them too"),
        (["--train", "en={}", "--dev", "en={}"], "there are no test examples; give them too"),
        (["--dev", "en={}"], "there are no training examples; give them too"),
        (["--train", "en={}", "--dev", "en={}", "--test", "de={}"], "the label 'B-DATE' is not in the training data"),
        (["--train", "en={}", "--dev", "en={}", "--test", "xx=SAME"], "'xx' is not a language"),
        (
            ["--train", "en={}", "--dev", "en={}", "--test", "de=NONE"],
            "none.tsv: there are no examples of de; give some",
        ),
        (["--train", "en={}", "--dev", "en=NONE", "--test", "de=SAME"], "none.tsv: there are no examples of en"),
        (["--train", "en={}", "--dev", "de=SAME", "--test", "de=SAME"], "there is no dev data of en"),
        (["--train", "en={}", "--dev", "xx=SAME", "--dev", "en={}", "--test", "de=SAME"], "'xx' is not a language"),
        (["--set", "layer=3", "--langs", "de"], "there is no layer 3; choose from 0"),
        (["--set", "head.pool=attention"], "head.pool=attention for ner, which has a label for each word"),
        (["--set", "grid.freeze=[1, 3]", "--set", "tune=all"], "freeze=3 with 2 layers; freeze 2 at most"),
        (["--langs", "sw"], "no built-in examples of sw"),
        (["--test", "de"], "--test 'de' is not language=path"),
        (["--recipe", "nothing"], "there is no recipe 'nothing'"),
        (["--set", "epoch=1"], "unknown key 'epoch'; did you mean 'epochs'?"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(isoglot, options, problem, model, tmp_path: Path):
    good, other = tmp_path / "a.tsv", tmp_path / "b.tsv"
    good.write_text("Eva\tB-PER\nsleeps\tO\n")
    other.write_text("Eva\tB-PER\n1999\tB-DATE\n")
    none = tmp_path / "none.tsv"
    none.write_text("")
    options = [option.replace("de={}", f"de={other}").replace("SAME", str(good)) for option in options]
    options = [option.replace("NONE", str(none)).format(good) for option in options]
    result = isoglot("transfer", "ner", model, *FAST, *options, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert (result.code, result.out) == (2, "")
    assert problem in result.err.splitlines()[-1]
    assert result.err.count("isoglot: ") == 1
    if "B-DATE" in problem:
        result.failed("input.unknown-label", other, 2)
        assert result.err.endswith("; in this file, choose one of B-PER, O\n")


def test_a_built_in_label_that_few_examples_do_not_have(isoglot, model, tmp_path: Path):
    few = ["--sentences", "40", "--langs", "de", "--device", "cpu", "--quiet", "--out", str(tmp_path / "out")]
    result = isoglot("transfer", "topic", model, *few)
    assert (result.code, result.out) == (2, "")
    assert "is not in the training data" in result.err
    assert "unseen_labels=count" in result.err


def test_predict_says_what_is_missing(isoglot, model, tmp_path: Path):
    assert "--lang" in isoglot("transfer", "predict", model, "a").err
    isoglot("transfer", "predict", model, "--lang", "en").failed("config.missing-option")
    result = isoglot("transfer", "predict", model, "a", "--lang", "en")
    result.failed("storage.not-found")


OWN = """
from isoglot.text.formats.lines import read_lines
from isoglot.transfer import Data, Passage, register
from isoglot.transfer.tasks.classification import Classification


class Mood(Classification):
    name = "mood"
    title = "mood of a text"

    def read(self, path, language):
        rows = (line.split("\\t") for _, line in read_lines(path))
        return Data([Passage((text,), mood) for text, mood in rows], str(path))


register(Mood())
"""


def test_examples_of_training_are_refused_as_a_test_where_they_are_nearly_all(isoglot, model, tmp_path: Path):
    def written(name: str, first: int, last: int) -> str:
        rows = [f"The cat has {number} mice.\t{'many' if number % 2 else 'few'}" for number in range(first, last)]
        (tmp_path / name).write_text("\n".join(rows) + "\n")
        return f"en={tmp_path / name}"

    train, dev, test = written("train", 0, 40), written("dev", 35, 55), written("test", 5, 41)
    given = [model, "--train", train, "--dev", dev, *FAST]
    wrong = isoglot("transfer", "topic", *given, "--test", test, "--out", str(tmp_path / "out"))
    assert (wrong.code, wrong.out) == (2, "")
    wrong.failed("input.leak", tmp_path, 35, 36, "en")
    assert not (tmp_path / "out").exists()
    done = isoglot("transfer", "topic", *given, "--test", test, "--allow-leak", "--json")
    assert done.code == 0
    assert json.loads(done.out)["in_training"] == {"dev": {"en": 5}, "test": {"en": 35}}
    assert "isoglot: dev en: 5 of 20 examples are in training as well\n" in done.err
    assert "isoglot: test en: 35 of 36 examples are in training as well\n" in done.err
    assert "isoglot: test en: 6 of 36 examples are in dev as well, which selects epochs\n" in done.err
    same = isoglot("transfer", "topic", model, "--train", train, "--dev", train, "--test", f"de{test[2:]}")
    same.failed("input.leak", tmp_path, 40, "en")


def test_a_task_of_ones_own(isoglot, model, tmp_path: Path):
    own, data, out = tmp_path / "mood.py", tmp_path / "data.tsv", tmp_path / "out"
    own.write_text(OWN)
    data.write_text("The cat sleeps.\tcalm\nThe dog barks!\tloud\n" * 5)
    files = ["--train", f"en={data}", "--dev", f"en={data}", "--test", f"de={data}"]
    learn = ["own", model, "--task", str(own), *files, *FAST, "--out", str(out), "--allow-leak", "-q"]
    assert isoglot("transfer", *learn).code == 0
    found = isoglot("transfer", "predict", str(out), "Ja.", "--task", str(own), "--lang", "de", "-q").out
    assert json.loads(found)["label"] in ("calm", "loud")
    (tmp_path / "other.tsv").write_text("Ja.\tglad\n")
    wrong = isoglot("transfer", "own", model, "--task", str(own), *files[:5], f"de={tmp_path}/other.tsv")
    wrong.failed("input.unknown-label", tmp_path, "'glad'")
    data.write_text("The cat sleeps.\n")
    for command in (
        ["own", model, "--task", str(own), *files],
        ["shift", str(out), "--task", str(own), "--test", f"de={data}"],
    ):
        wrong = isoglot("transfer", *command)
        assert (wrong.code, wrong.out) == (2, "")
        wrong.failed("input.task-file", own, 13, "ValueError", 2, 1)
    own.write_text("import nothing_of_the_kind\n")
    wrong = isoglot("transfer", "own", model, "--task", str(own))
    wrong.failed("input.task-file", own, 1, "ModuleNotFoundError")
    own.write_text("")
    wrong = isoglot("transfer", "own", model, "--task", str(own))
    wrong.failed("input.task-file", own)
    isoglot("transfer", "own", model, "--task", str(_written(own))).failed("config.built-in-language")


def test_the_documents_task(isoglot, model, tmp_path: Path):
    text = (Path(__file__).parents[2] / "docs" / "TRANSFER.md").read_text(encoding="utf-8")
    own, data, out = tmp_path / "mood.py", tmp_path / "data.tsv", tmp_path / "out"
    own.write_text(next(part for part in text.split("```python\n") if "class Mood" in part).partition("```")[0])
    data.write_text("The cat sleeps.\tcalm\nThe dog barks!\tloud\n" * 5)
    files = ["--train", f"en={data}", "--dev", f"en={data}", "--test", f"de={data}", "--allow-leak", "--quiet"]
    assert isoglot("transfer", "own", model, "--task", str(own), *files, *FAST, "--out", str(out)).code == 0
    (tmp_path / "other.tsv").write_text("Nein.\tcalm\nJa.\tglad\n")
    wrong = isoglot("transfer", "own", model, "--task", str(own), *files[:5], f"de={tmp_path}/other.tsv")
    wrong.failed("input.unknown-label", tmp_path, "'glad'", line=2)
    data.write_text("The cat sleeps.\tcalm\nThe dog barks!\n")
    wrong = isoglot("transfer", "own", model, "--task", str(own), *files)
    assert (wrong.code, wrong.err) == (2, f"isoglot: {data}:2: no tab; write text, tab, mood\n")


def test_the_printed_hint_works_when_pasted(isoglot, model, tmp_path: Path):
    own, data, out = tmp_path / "my mood.py", tmp_path / "data.tsv", tmp_path / "my run"
    own.write_text(OWN)
    data.write_text("".join(f"Eva {n} sleeps.\t{'calm' if n % 2 else 'loud'}\n" for n in range(8)))
    files = ["--train", f"en={data}", "--dev", f"en={data}", "--test", f"de={data}", "--allow-leak"]
    told = isoglot("transfer", "own", model, "--task", str(own), *files, *FAST, "--out", str(out))
    (hint,) = [line for line in told.out.splitlines() if line.startswith("Use it: ")]
    command = shlex.split(hint.removeprefix("Use it: "))
    assert command[:3] == ["isoglot", "transfer", "predict"]
    assert isoglot(*command[1:]).code == 0


def test_a_task_file_that_exits_is_one_line_and_exit_code_2(isoglot, model, tmp_path: Path):
    own = tmp_path / "mood.py"
    own.write_text("import sys\nsys.exit(5)\n")
    result = isoglot("transfer", "own", model, "--task", str(own))
    result.failed("input.task-file", own, 2, "SystemExit")
    assert result.err.count("\n") == 1


def test_columns_in_another_order_are_not_taken_for_labels(isoglot, model, tmp_path: Path):
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{'calm' if n % 2 else 'loud'}\tEva number {n} sleeps well.\n" for n in range(200)))
    files = ["--train", f"en={data}", "--dev", f"en={data}", "--test", f"de={data}", "--allow-leak"]
    result = isoglot("transfer", "topic", model, *files, *FAST)
    result.failed("input.malformed-line", 40)
    assert len(result.err) < 500


def test_a_classifier_that_predicts_one_class_has_learned_nothing(isoglot, model, tmp_path: Path):
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"Eva sleeps {n}.\t{'calm' if n % 3 else 'loud'}\n" for n in range(30)))
    files = ["--train", f"en={data}", "--dev", f"en={data}", "--test", f"de={data}", "--allow-leak"]
    still = [
        "--set",
        "epochs=1",
        "--set",
        "encoder_learning_rate=1e-9",
        "--set",
        "head_learning_rate=1e-9",
        "--device",
        "cpu",
    ]
    result = isoglot("transfer", "topic", model, *files, *still, "--json")
    learned = json.loads(result.out)["learned"]
    assert learned["constant"] in ("calm", "loud")
    assert learned["nothing"]
    assert learned["majority"] == pytest.approx(100 * 20 / 30)
    assert "test de: every prediction is" in result.err
    shown = isoglot("transfer", "topic", model, *files, *still, "--quiet").out
    assert shown.startswith(f"Nothing was learned from en: every prediction is '{learned['constant']}'")


def _written(path: Path) -> Path:
    path.write_text(OWN)
    return path


def test_the_table_says_what_guessing_gets_and_how_seeds_differ(isoglot, model):
    result = isoglot("transfer", "nli", model, *FAST, "--seeds", "2", "--quiet")
    told, _, table = result.out.partition("\n\n")
    head, row, *_ = table.split("\n")
    guessed = re.fullmatch(
        r"(?:Learned|Nothing was learned) from en: .*accuracy [\d.]+ on its dev set, epoch \d; "
        r"its most frequent label alone gives ([\d.]+)\)?\.",
        " ".join(told.split()),
    )
    assert guessed is not None
    assert 33 < float(guessed[1]) < 60
    assert head.split()[-2:] == ["over", "seeds"]
    assert "±" in row
