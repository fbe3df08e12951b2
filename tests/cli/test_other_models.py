"""Models from elsewhere: no code of theirs is run, and a misspelled name is one line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models
from transformers import BertConfig, BertModel

from isoglot.represent import Representations

EVIL = """
from pathlib import Path
Path({marker!r}).write_text("this ran")
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
class EvilConfig(BertConfig):
    model_type = "evil"
class EvilModel(BertModel):
    config_class = EvilConfig
class EvilTokenizer(PreTrainedTokenizerFast):
    pass
class EvilModule:
    pass
"""
AUTO_MAP = {"AutoConfig": "evil.EvilConfig", "AutoModel": "evil.EvilModel", "AutoModelForMaskedLM": "evil.EvilModel"}
SMALL: dict[str, Any] = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "vocab_size": 8,
}


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A small BERT with its tokenizer, and beside them a program that leaves a mark when it runs."""
    path = tmp_path / "evil"
    made: Any = BertModel
    made(BertConfig(**SMALL)).save_pretrained(path)
    pieces = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog")
    tokenizer = Tokenizer(models.WordPiece({piece: index for index, piece in enumerate(pieces)}, unk_token=pieces[1]))
    tokenizer.add_special_tokens(list(pieces[:5]))
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "evil.py").write_text(EVIL.format(marker=str(tmp_path / "marker")))
    (tmp_path / "en.txt").write_text("the cat\nthe dog\n")
    capsys.readouterr()  # saving shows a bar
    return path


def change(file: Path, **changes: object) -> None:
    values = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(values | changes))


def config_code(folder: Path) -> None:
    change(folder / "config.json", model_type="evil", auto_map=AUTO_MAP)


def tokenizer_code(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    auto_map = {"AutoTokenizer": [None, "evil.EvilTokenizer"]}
    change(folder / "config.json", model_type="no such type")
    change(folder / "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=auto_map)


@pytest.fixture
def _yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who agrees to everything."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n" * 99))


def refused(result, tmp_path: Path, line: str) -> None:
    assert not (tmp_path / "marker").exists()
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1, result.err
    assert line in result.err


@pytest.mark.usefixtures("_yes")
@pytest.mark.parametrize("verb", ["encode", "diagnose"])
def test_code_of_a_model_is_never_run(isoglot, folder: Path, tmp_path: Path, verb: str):
    config_code(folder)
    given = {
        "encode": [str(folder), "--text", f"{tmp_path}/en.txt"],
        "diagnose": [str(folder), "--langs", "en,de", "--sentences", "9"],
    }
    result = isoglot(verb, *given[verb], "--out", str(tmp_path / "out"))
    refused(result, tmp_path, "it needs Python code of its own (auto_map), which isoglot never runs")


@pytest.mark.usefixtures("_yes")
def test_code_of_a_tokenizer_is_never_run(isoglot, folder: Path, tmp_path: Path):
    tokenizer_code(folder)
    result = isoglot(
        "shards", "build", "--vocab", str(folder), "--out", str(tmp_path / "out"), "--text", f"en={tmp_path}/en.txt"
    )
    refused(result, tmp_path, "it needs Python code of its own (auto_map), which isoglot never runs")


@pytest.mark.usefixtures("_yes")
def test_a_model_that_transformers_has_is_read_without_its_code(isoglot, folder: Path, tmp_path: Path):
    change(folder / "config.json", auto_map=AUTO_MAP)
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "evil.EvilTokenizer"]})
    result = isoglot("encode", str(folder), "--text", f"{tmp_path}/en.txt", "--out", str(tmp_path / "out.safetensors"))
    assert (result.code, (tmp_path / "marker").exists()) == (0, False)


def sentence_modules(folder: Path, last: str = "sentence_transformers.models.Normalize") -> None:
    types = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling", last)
    paths = ("", "1_Pooling", "2_Last")
    modules = [{"idx": n, "name": str(n), "path": paths[n], "type": kind} for n, kind in enumerate(types)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))


@pytest.mark.usefixtures("_yes")
def test_code_of_a_module_is_never_run(isoglot, folder: Path, tmp_path: Path):
    sentence_modules(folder, "evil.EvilModule")
    result = isoglot("encode", str(folder), "--text", f"{tmp_path}/en.txt", "--out", str(tmp_path / "out"))
    refused(result, tmp_path, "the module 'evil.EvilModule', which is not supported")


def test_the_vectors_of_a_sentence_model_are_its_own(isoglot, folder: Path, tmp_path: Path):
    sentence_modules(folder)
    out = tmp_path / "out.safetensors"
    result = isoglot("encode", str(folder), "--text", f"{tmp_path}/en.txt", "--out", str(out))
    assert result.code == 0, result.err
    assert "the model's own vectors" in result.out
    assert "mean pooling, normalize" in result.out
    assert np.allclose(np.linalg.norm(Representations.open(out)[1], axis=1), 1, atol=1e-6)
    lines = [f"{'the ' * (n % 5)}{'cat' if n % 2 else 'dog'}{' cat' * (n // 10)}" for n in range(40)]
    (tmp_path / "p.tsv").write_text("en\tde\n" + "".join(f"{line}\t{line} dog\n" for line in lines))
    for verb in (["retrieve", "sentences", str(folder)], ["diagnose", str(folder)]):
        result = isoglot(*verb, "--parallel", str(tmp_path / "p.tsv"), "--out", str(tmp_path / verb[0]))
        assert result.code == 0, result.err
        assert "Sentence vectors are the model's own: mean pooling, normalize" in " ".join(result.out.split())


@pytest.mark.parametrize("name", ["no such folder", "models/of/mine", "x--y"])
def test_a_misspelled_name_is_one_line(isoglot, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text("the cat\n")
    for arguments in (
        ["encode", name, "--text", "en.txt", "--out", "out.safetensors"],
        ["shards", "build", "--vocab", name, "--text", "en=en.txt", "--out", "out"],
    ):
        result = isoglot(*arguments)
        assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
        assert repr(name) in result.err
        assert "defect" not in result.err
