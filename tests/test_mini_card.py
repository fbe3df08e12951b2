"""The model card's numbers: measured end to end on something tiny, and written nowhere but between its marks."""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from isoglot.languages import documents
from isoglot.model import save_encoder
from isoglot.transfer.experiment import LanguageScore, LearningCheck, Outcome, Trial
from isoglot.transfer.scoring.evaluation import Evaluation, Selected, SelectionRule
from isoglot.transfer.scoring.significance import estimate
from isoglot.transfer.tasks.task import TaskScores
from isoglot.vocab import train_vocabulary
from tests.errors import raises

SCRIPTS = Path(__file__).parents[1] / "scripts"
CARD = Path(__file__).parents[1] / "docs" / "MINI.md"
METRICS = {"ner": "f1", "parse": "las", "nli": "accuracy"}
WAYS: tuple[SelectionRule, ...] = ("source dev", "oracle", "averaged")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(SCRIPTS))
    try:
        import mini_card  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(SCRIPTS))
    found: ModuleType = mini_card
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parallel sentences of built-in English and French, laid out as the public sets are."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("tatoeba", "muse", "parallel", "text"):
        (folder / name).mkdir()
    lines = {
        code: [sentence.text for document in islice(documents(code, seed=4), 60) for sentence in document]
        for code in ("en", "fr")
    }
    (folder / "text" / "wiki.en.txt").write_text("\n".join(lines["en"]), "utf-8")
    (folder / "text" / "europarl.fr.txt").write_text("\n".join(lines["fr"]), "utf-8")
    for code, name in (("en", "eng"), ("fr", "fra")):
        (folder / "tatoeba" / f"tatoeba.fra-eng.{name}").write_text("\n".join(lines[code][:40]), "utf-8")
    rows = [f"{one}\t{other}" for one, other in zip(lines["en"][40:100], lines["fr"][40:100], strict=True)]
    (folder / "parallel" / "table.tsv").write_text("\n".join(["en\tfr", *rows]), "utf-8")
    words = [sorted({word for line in lines[code] for word in re.findall(r"\w{3,}", line.lower())}) for code in lines]
    entries = "\n".join(f"{one}\t{other}" for one, other in zip(*words, strict=False))
    for name in ("en-fr.txt", "en-fr.5000-6500.txt"):
        (folder / "muse" / name).write_text(entries, "utf-8")
    return folder


@pytest.fixture(scope="module")
def model(nano_encoder, small_texts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    vocabulary = train_vocabulary(small_texts, mode="joint", size=360, coverage=1.0)
    folder = tmp_path_factory.mktemp("model")
    save_encoder(nano_encoder(vocabulary, "modern"), folder / "encoder")
    return folder / "encoder"


def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["mini_card.py", "--quiet", "--device", "cpu", *map(str, arguments)])
    found: int = script.main()
    return found


RIGHT = {"en": 80, "fr": 60, "de": 60, "ru": 50, "zh": 40}
"""Of 100 sentences with the first of two settings; with the second 10 fewer. The oracle has 2 more, the average 4."""


def outcome(task: str) -> dict[str, Any]:
    """As ``isoglot transfer --json`` writes it."""

    def test(code: str, way: SelectionRule, fewer: int) -> Selected:
        right = RIGHT[code] - fewer + 2 * WAYS.index(way)
        scores = TaskScores(
            right, {METRICS[task]: right, "uas": right + 5}, np.array([[n < right, 1] for n in range(100)])
        )
        counts = {"joined": 4321, "split": 2} if (task, code) == ("ner", "zh") else {"split": 7}
        unseen = {"clf": 3} if (task, code) == ("parse", "zh") else {}
        return Selected(code, way, (1,), Evaluation(code, scores, 100, counts, unseen))

    cells = [(code, way) for code in RIGHT for way in WAYS if (code, way) != ("en", "oracle")]
    trials = [
        Trial(0, name, dev, 1, None, chosen=True, tests=[test(code, way, fewer) for code, way in cells])
        for name, dev, fewer in (("encoder_learning_rate=1", 70, 0), ("encoder_learning_rate=2", 69, 10))
    ]
    lines = [
        LanguageScore(one.language, one.way, estimate([each.test.scores.ratio_S2 for each in (one, other)]))
        for one, other in zip(trials[0].tests, trials[1].tests, strict=True)
    ]
    learned = LearningCheck(language="en", metric=METRICS[task], score=70, epoch=1, majority=None, constant=None)
    made = Outcome(task, METRICS[task], ("en",), tuple(trials), tuple(lines), None, learned, {})  # type: ignore[arg-type]
    return made.facts()


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    for task in METRICS:
        (folder / f"{task}.json").write_text(json.dumps(outcome(task)), "utf-8")
    return folder


def test_a_card_from_data_to_page(
    script: ModuleType, model: Path, data: Path, tasks: Path, tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.setitem(script.EFFORTS, "usual", script.Effort(30, 20, 30, 200, 1, 8, 8, 4))
    figures, page, facts = tmp_path / "card.json", tmp_path / "MINI.md", tmp_path / "facts.json"
    facts.write_text(json.dumps({"command": "isoglot pretrain …", "GPU minutes": 27.5}), "utf-8")
    options = ("--langs", "fr", "--data", data, "--parallel", data / "parallel" / "table.tsv")
    dev = ("--dev", f"fr={data / 'text' / 'europarl.fr.txt'}")
    choices = tmp_path / "steer.json"
    choice = {"layer": 8, "alpha": 3.0, "sentences": 100, "text": "XNLI dev"}
    cells = {"8/3": [28.1, 0.968, 0.004], "7/2": [15.1, 0.44, 0.128]}
    of_way = {"choice": choice, "dev": cells, "test": cells, "test_interval": {"8/3": [26.3, 30.1]}}
    choices.write_text(json.dumps({"en-zh": {**of_way, "test_source": 2.1, "test_sentences": 200}}), "utf-8")
    places = ("--facts", facts, "--tasks", tasks, "--choices", choices, "--out", figures, "--write", page)
    assert run(script, monkeypatch, model, *options, *dev, *places) == 0
    capsys.readouterr()
    card = json.loads(figures.read_text("utf-8"))
    depth = card["model"]["layers"]
    pair = card["tatoeba"]["pairs"]["fr"]
    assert pair["sentences"] == 40
    for way in ("raw", "centered", "Procrustes"):
        assert len(pair[way]) == depth + 1
        assert all(0 <= each[side] <= 1 for each in pair[way] for side in ("to_en", "from_en"))
        assert card["tatoeba"]["chosen"][way] in range(depth + 1)
    assert set(card["steer"]["pairs"]["fr"]["alphas"]) == {"1", "2", "3"}
    for way in ("alone", "contexts"):
        assert len(card["muse"][way]["pairs"]["fr"]["layers"]) == 2 * (depth + 1)
    assert card["steer"]["layer"] in range(depth + 1)
    assert card["perplexity"]["languages"]["fr"]["perplexity"] > 1
    text = page.read_text("utf-8")
    template = script.TEMPLATE.read_text("utf-8")
    for name in re.findall(r"<!-- (?!/)([\w-]+) -->", template):
        assert re.search(f"<!-- {name} -->\n.*\\|.*\n<!-- /{name} -->", text, re.DOTALL), name
    assert "| GPU minutes | 27.5 |" in text
    assert "| en → zh | 8, 3 | 2.1 | 28.1 [26.3, 30.1] | 96.8 | 0.4 | 15.1 | 44.0 | 12.8 |" in text
    layer = card["tatoeba"]["chosen"]["raw"]
    assert f"raw (layer {layer})" in text

    assert run(script, monkeypatch, "--from", figures, "--write", page) == 0
    assert page.read_text("utf-8") == text, "the same figures make the same page"


def test_quick_is_tatoeba_alone(script: ModuleType, model: Path, data: Path, monkeypatch, capsys):
    assert run(script, monkeypatch, model, "--langs", "fr", "--data", data, "--quick") == 0
    shown = capsys.readouterr().out
    assert "fr, raw" in shown
    assert "fr, centered" in shown
    assert "Procrustes" not in shown


def test_the_template_has_no_figures_of_its_own(script: ModuleType):
    text = script.TEMPLATE.read_text("utf-8")
    results = text[text.index("## Results") : text.index("## What it is not good for")]
    assert not re.search(r"\d+\.\d", results)


def test_a_missing_folder_is_an_error(script: ModuleType, model: Path, tmp_path: Path, monkeypatch, capsys):
    assert run(script, monkeypatch, model, "--langs", "fr", "--data", tmp_path) == 2
    assert "error: " in capsys.readouterr().err


def test_the_card_says_what_the_template_says(script: ModuleType):
    words = re.sub(r"(<!-- ([\w-]+) -->\n).*?(<!-- /\2 -->)", r"\1\3", CARD.read_text("utf-8"), flags=re.DOTALL)
    assert words == script.TEMPLATE.read_text("utf-8")


def test_transfer_in_tables(script: ModuleType, tasks: Path):
    parts = script.transfer_tables(script.read_tasks(tasks))
    scores, choices, left = (parts[name] for name in ("transfer", "transfer-choices", "transfer-left"))
    assert re.search(r"^\| WikiAnn, F1 \| 75\.0 \[6\d\.\d, 8\d\.\d\] \| 55\.0 \[", scores, re.MULTILINE)
    assert "| UD, UAS | 80.0 | 60.0 | 60.0 | 50.0 | 40.0 |" in scores
    assert (
        "Means of `encoder_learning_rate=1` and `encoder_learning_rate=2`, one seed; in brackets the 95 % interval"
        in scores
    )
    assert "WikiAnn 100 of each; UD 100 of each; XNLI 100 of each." in scores
    assert (
        "WikiAnn zh: 4,321 joined, 2 split. UD zh: 3 of `clf`, which English has not. Guessing gets 33.3 on XNLI."
        in scores
    )
    assert "| WikiAnn, F1: `encoder_learning_rate=2`, English dev 69.0 | 70.0 | 50.0 | 50.0 | 40.0 | 30.0 |" in choices
    assert "| WikiAnn, F1: mean, epoch by the language's own dev (oracle) | – | 57.0 | 57.0 | 47.0 | 37.0 |" in choices
    assert "| WikiAnn, F1: mean, best three epochs averaged | 79.0 | 59.0 | 59.0 | 49.0 | 39.0 |" in choices
    assert "| UD, LAS: mean | 73 | 73 | 60 | 47 |" in left
    assert "| XNLI, accuracy above chance: `encoder_learning_rate=1` | 57 | 57 | 36 | 14 |" in left, (
        "26.7 of 46.7 above a third"
    )


def test_one_setting_of_several_is_no_mean(script: ModuleType, tasks: Path):
    outcome = script.read_tasks(tasks)["parse"]
    first, second = outcome["trials"]
    one = {**outcome, "trials": [first, {**second, "chosen": False, "tests": []}]}
    parts = script.transfer_tables({"parse": one})
    assert "With `encoder_learning_rate=1`, the best on English dev, one seed;" in parts["transfer"]
    assert "| UD, LAS: `encoder_learning_rate=2`, English dev 69.0 | – | – | – | – | – |" in parts["transfer-choices"]
    assert "| UD, LAS: best three epochs averaged |" in parts["transfer-choices"]
    assert parts["transfer-left"].count("UD, LAS") == 1
    assert "mean" not in "".join(parts.values())


def test_a_task_that_was_not_run_is_left_out(script: ModuleType, tasks: Path, tmp_path: Path):
    (tmp_path / "parse.json").write_text((tasks / "parse.json").read_text("utf-8"), "utf-8")
    text = "".join(script.transfer_tables(script.read_tasks(tmp_path)).values())
    assert "UD, LAS" in text
    assert not re.search("WikiAnn|XNLI|Guessing", text)


def test_a_folder_without_outcomes_is_an_error(script: ModuleType, tasks: Path, tmp_path: Path):
    with raises("input", "ner.json"):
        script.read_tasks(tmp_path)
    (tmp_path / "ner.json").write_text((tasks / "nli.json").read_text("utf-8"), "utf-8")
    with raises("input", "ner"):
        script.read_tasks(tmp_path)
