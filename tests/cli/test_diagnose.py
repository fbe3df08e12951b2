"""``isoglot diagnose``: on every kind of encoder, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import shlex
from itertools import islice
from pathlib import Path
from typing import Any, get_args

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertModel

from isoglot.core.files import read_json
from isoglot.diagnose.commands import commands_of
from isoglot.diagnose.findings import FEWEST_TO_TRAIN, Action, Remedy
from isoglot.languages import parallel
from isoglot.model import Encoder, encoder_config, load_encoder, save_encoder
from isoglot.vocab import Vocabulary
from isoglot.vocab.subword_scheme import SPECIAL

QUICK = ("--device", "cpu", "--set", "resamples=50", "--set", "draws=20", "-q")
FILES = ("--parallel", "en=a.txt", "--parallel", "fr=b.txt")
ROWS = 24
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
NAMES = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **dict(zip(ROLES, SPECIAL, strict=True))})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Encoders of each kind with one tokenizer, and built-in English and French line by line."""
    folder: Path = tmp_path_factory.mktemp("diagnose")
    rows = list(islice(parallel(["en", "fr"], seed=5), ROWS))
    words = sorted({word for row in rows for sentence in row for word in sentence.words})
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr"])
    config = encoder_config("paper", "nano", vocabulary_size=len(pieces), languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), folder / "ours")
    for name, own in (("twins", ("en", "en-x-shift", "en-x-freq")), ("lone", ("en", "sw"))):
        twins = Vocabulary.from_tokenizer(folder / "tokenizer.json", own)
        config = encoder_config("paper", "nano", vocabulary_size=len(pieces), languages=own)
        save_encoder(Encoder(config, twins), folder / name)
    small: dict[str, Any] = {"vocab_size": len(pieces), "max_position_embeddings": 64}
    kind: Any = BertForMaskedLM
    bert = kind(BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, **small))
    distil: Any = DistilBertModel(DistilBertConfig(dim=16, hidden_dim=24, n_layers=2, n_heads=2, **small))
    for name, model in (("imported", bert), ("hooked", distil), ("bare", bert)):
        model.save_pretrained(folder / name)
        if name != "bare":
            tokenizer.save(str(folder / name / "tokenizer.json"))
            (folder / name / "tokenizer_config.json").write_text(NAMES)
    with torch.no_grad():
        bert.bert.encoder.layer[1].output.dense.bias[0] = float("nan")
    bert.save_pretrained(folder / "astray")
    tokenizer.save(str(folder / "astray" / "tokenizer.json"))
    for side, name in enumerate("ab"):
        (folder / f"{name}.txt").write_text("".join(f"{row[side].text}\n" for row in rows))
    (folder / "short.txt").write_text("".join(f"{row[1].text}\n" for row in rows[:-3]))
    (folder / "one.txt").write_text(f"{rows[0][0].text}\n")
    (folder / "un.txt").write_text(f"{rows[0][1].text}\n")
    table = [f"{en.text}\t{fr.text}" for en, fr in rows]
    (folder / "table.tsv").write_text("\n".join(["eng\tfra", *table, table[0], "a\t "]) + "\n")
    (folder / "tatoeba").mkdir()
    for code in ("fra", "deu"):
        (folder / "tatoeba" / f"tatoeba.{code}-eng.eng").write_text((folder / "a.txt").read_text())
        (folder / "tatoeba" / f"tatoeba.{code}-eng.{code}").write_text((folder / "b.txt").read_text())
    return folder


@pytest.fixture
def diagnose(isoglot, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    return lambda *options: isoglot("diagnose", *options, *QUICK)


@pytest.mark.parametrize("model", ["ours", "imported", "hooked"])
def test_every_kind_of_encoder(diagnose, model: str, tmp_path: Path):
    result = diagnose(model, *FILES, "--out", str(tmp_path / "out"))
    assert (result.code, result.err) == (0, "")
    for word in ("In short", "Tokenizer", "What would help", "means removed", "P@1 in %, the mean over 1 pair"):
        assert word in result.out
    facts = read_json(tmp_path / "out" / "diagnosis.json")
    assert (facts["model"], facts["sentences"]) == (model, ROWS)
    assert [layer["layer"] for layer in facts["layers"]] == [0, 1, 2]
    assert facts["chance"] == pytest.approx(1 / ROWS)
    assert [each["code"] for each in facts["languages"]] == ["en", "fr"]
    assert facts["languages"][0]["tokens"]["unknown"] == 0
    assert {each["topic"] for each in facts["findings"]} >= {"verdict", "layer", "gain", "tokenizer", "space"}
    run = read_json(tmp_path / "out" / "run.json")
    assert run["status"] == "finished"
    assert {"a.txt", "b.txt"} < set(run["inputs"])
    assert all(name.startswith(f"{model}/") for name in set(run["inputs"]) - {"a.txt", "b.txt"})
    assert 'class="figure"' in (tmp_path / "out" / "index.html").read_text()


def test_the_same_seed_gives_the_same_numbers_and_json_has_them_all(diagnose):
    first, again, other = (diagnose("ours", *FILES, "--json", "--seed", seed) for seed in ("1", "1", "2"))
    assert first.out == again.out
    assert json.loads(first.out)["layers"][1]["found"]["mapped"]["low"] is not None
    assert json.loads(first.out)["best"] != json.loads(other.out)["best"]


def test_built_in_sentences_in_the_languages_of_the_model(diagnose):
    facts = json.loads(diagnose("ours", "--sentences", "20", "--layers", "0,-1", "--json").out)
    assert [each["code"] for each in facts["languages"]] == ["en", "fr"]
    assert (facts["origin"], facts["sentences"]) == ("built-in sentences", 20)
    assert [layer["layer"] for layer in facts["layers"]] == [0, 2]
    assert facts["languages"][0]["tokens"]["unknown_rate"] > 0.1
    three = json.loads(diagnose("imported", "--sentences", "20", "--langs", "en,de,zh", "--pivot", "en", "--json").out)
    assert [(pair["source"], pair["target"]) for pair in three["pairs"]] == [("en", "de"), ("en", "zh")]
    assert three["languages"][2]["tokens"]["words_by"] == "jieba"


def test_built_in_sentences_of_a_language_and_its_twin(diagnose):
    facts = json.loads(diagnose("twins", "--sentences", "20", "--layers", "-1", "--json").out)
    assert [each["code"] for each in facts["languages"]] == ["en", "en-x-shift"]
    assert (facts["origin"], facts["sentences"]) == ("built-in sentences", 20)


def test_a_table_leaves_out_what_repeats_or_is_blank(diagnose):
    result = diagnose("ours", "--parallel", "table.tsv")
    assert result.code == 0
    assert "1 row of table.tsv left out because a sentence is blank." in result.out
    assert "1 row of table.tsv left out because a sentence repeats one of an earlier row." in result.out


def test_tatoeba_has_a_set_for_each_language(diagnose):
    facts = json.loads(diagnose("imported", "--parallel", "tatoeba", "--langs", "fr,de", "--json").out)
    assert [(pair["source"], pair["target"]) for pair in facts["pairs"]] == [("fr", "en"), ("de", "en")]
    assert facts["layers"][0]["probe"]["chance"] == pytest.approx(1 / 3)
    assert [each["tokens"]["sentences"] for each in facts["languages"]] == [ROWS, 2 * ROWS, ROWS]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (("ours", "--parallel", "en=a.txt", "--parallel", "fr=short.txt"), (f"a.txt:{ROWS - 2}", f"{ROWS - 3}")),
        (("ours", "--parallel", "en=one.txt", "--parallel", "fr=un.txt"), ("one.txt, un.txt", "1 different sentence")),
        (("ours", "--parallel", "en=a.txt"), ("en",)),
        (("imported", "--langs", "en"), ("en",)),
        (("lone",), ("en, sw",)),
        (("astray", *FILES), ("layer 2", "not finite")),
        (("ours", *FILES, "--pivot", "de"), ("de", "en, fr")),
        (("ours", *FILES, "--set", "fold=3"), ("fold=3", "folds")),
        (("ours", *FILES, "--layers", "9"), ("layer 9", "0", "2")),
    ],
    ids=["lines", "one sentence", "one file", "one language", "not built in", "NaN", "pivot", "setting", "layer"],
)
def test_bad_input_is_one_line(diagnose, options: tuple[str, ...], values: tuple[str, ...]):
    code, out, error = diagnose(*options)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert [value for value in values if value not in error] == []


def test_a_model_without_a_tokenizer(diagnose, tmp_path: Path):
    result = diagnose("bare", *FILES, "--out", str(tmp_path / "out"))
    result.failed("storage.tokenizer-not-found")
    assert result.err.endswith("save it there too: tokenizer.save_pretrained(…)\n")
    assert result.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_leaves_no_page(diagnose, tmp_path: Path):
    assert diagnose("astray", *FILES, "--out", str(tmp_path / "out")).code == 2
    assert not (tmp_path / "out").exists()


def test_models_are_ranked_on_the_same_sentences(
    isoglot, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    quick = ("--layer", "-1", "--set", "resamples=50", "--device", "cpu", "-q")
    result = isoglot("rank", "ours", "imported", "hooked", *FILES, *quick, "--out", str(tmp_path / "out"))
    assert (result.code, result.err) == (0, "")
    assert "models that share a letter" in result.out
    found = read_json(tmp_path / "out" / "ranking.json")
    assert {each["name"] for each in found["models"]} == {"ours", "imported", "hooked"}
    scores = [each["score"]["value"] for each in found["models"]]
    assert scores == sorted(scores, reverse=True)
    assert len(found["tests"]) == 3
    assert "By language" in (tmp_path / "out" / "index.html").read_text()
    assert json.loads(isoglot("rank", "ours", "hooked", *FILES, *quick, "--json").out)["over"] == "sentences"


@pytest.mark.parametrize(
    ("options", "code", "value"),
    [
        (("ours",), "config.missing-option", "1 model"),
        (("ours", "ours"), "config.duplicate", "ours"),
        (("ours", "hooked", "--layer", "9"), "config.unknown-layer", "ours: there is no layer 9"),
        (("ours", "hooked", "--over", "languages"), "config.missing-data", "0 languages"),
        (("ours", "hooked", "--method", "cosin"), "config.invalid-value", "cosin"),
    ],
)
def test_what_cannot_be_ranked(
    isoglot, folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: str, value: str
):
    monkeypatch.chdir(folder)
    layer = () if "--layer" in options else ("--layer", "-1")
    result = isoglot("rank", *options, *layer, *FILES, "--device", "cpu", "-q", "--json")
    error = json.loads(result.err)["error"]
    assert (result.code, error["code"]) == (2, code)
    assert value in error["message"]


def test_layers_are_chosen_on_enough_sentences(isoglot, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    result = isoglot("rank", "ours", "hooked", *FILES, "--device", "cpu", "-q")
    assert result.code == 2
    assert "--layer -1" in result.err


def test_the_command_of_every_action_works_when_pasted(isoglot, folder: Path, tmp_path: Path, monkeypatch):
    rows = list(islice(parallel(["en", "fr"], seed=5), 100))
    for side, name in enumerate(("en", "fr")):
        lines = [f"{number} {rows[number % 100][side].text}\n" for number in range(FEWEST_TO_TRAIN)]
        (tmp_path / f"{name} text.txt").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    given = [f"{code}={code} text.txt" for code in ("en", "fr")]
    model = str(folder / "imported")
    command = commands_of(load_encoder(model, device="cpu"), model, given, None, 60, None)
    small = "language.subwords=200 batch.size=2 evaluation.sequences=2 log.peak=off"
    quick = {"fix": "resamples=20 copies=10", "diagnose": "resamples=50 draws=20", "pretrain": small}
    values: dict[str, int | str] = {"csls": 1, "more": 70, "add-language": "fr"}
    for remedy in get_args(Remedy):
        typed = command(Action(remedy, values.get(remedy)))
        assert typed is not None, remedy
        _, *words = shlex.split(typed)
        extra = [word for each in quick.get(words[0], "").split() for word in ("--set", each)]
        extra += ["--budget", "4steps"] if words[0] == "pretrain" else []
        result = isoglot(*words, *extra, "--device", "cpu", "-q")
        assert result.code == 0, (typed, result.err)


def test_commands_that_cannot_work_are_not_given(folder: Path):
    given = ["en=a.txt", f"sw={folder}/b.txt"]
    imported = load_encoder(str(folder / "imported"), device="cpu")
    assert commands_of(imported, "imported", given, None, None, None)(Action("add-language", "sw")) is None  # few lines
    assert commands_of(imported, "imported", given, None, None, None, has_more=False)(Action("more", 2000)) is None
    ours = load_encoder(str(folder / "ours"), device="cpu")
    assert commands_of(ours, "ours", given, None, None, None)(Action("add-language", "en")) is None  # it has English
    assert commands_of(ours, "ours", ["table.tsv"], None, None, None)(Action("add-language", "sw")) is None  # no text


@pytest.mark.parametrize(
    ("pool", "words"), [("cls", ["--pool", "cls"]), ("weighted", ["--pool", "weighted"]), ("mean", [])]
)
def test_a_fix_is_deployed_as_it_was_measured(folder: Path, pool: Any, words: list[str]):
    given, other = ["en=a.txt", "fr=b.txt"], ["en=c.txt", "fr=d.txt"]
    imported = load_encoder(str(folder / "imported"), device="cpu")
    typed = shlex.split(str(commands_of(imported, "m", given, None, None, pool, other)(Action("leace"))))
    means = ["--means-from", "en=c.txt", "--means-from", "fr=d.txt"]
    assert typed[7:] == [*words, *means, "--set", "method=leace", "--out", "fixed"]  # no mean without special tokens


def test_findings_end_with_a_command_in_one_line(diagnose):
    given = ("--langs", "en,fr", "--sentences", "60")
    result, as_json = diagnose("imported", *given), diagnose("imported", *given, "--json")
    commands = [each["command"] for each in json.loads(as_json.out)["findings"] if each["command"]]
    assert commands
    lines = [line.strip() for line in result.out.splitlines()]
    assert all(command in lines for command in commands)
