from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from isoglot.model import Encoder, encoder_config, save_encoder
from isoglot.text.cleaning.processing import TextProcessing
from isoglot.vocab import Vocabulary
from isoglot.vocab.subword_scheme import SPECIAL

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separated encoder of English and French on disk."""
    folder: Path = tmp_path_factory.mktemp("export")
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *"the cat le chat".split()))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr"])
    config = encoder_config("paper", "nano", vocabulary_size=9, languages=("en", "fr"), plan="sep-emb")
    members = {"en": np.array([0, 1, 2, 3, 4, 5, 6]), "fr": np.array([0, 1, 2, 3, 4, 7, 8])}
    save_encoder(Encoder(config, vocabulary, members), folder / "model")
    return folder / "model"


def test_a_view_is_written(isoglot, model: Path, tmp_path: Path):
    target = tmp_path / "hf"
    result = isoglot("export", str(model), str(target), "--lang", "fra", "--json")
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out) == {
        "folder": str(target),
        "architecture": "BertForMaskedLM",
        "language": "fra",
        "files": [
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
            "isoglot_provenance.json",
            "config.json",
        ],
    }
    assert json.loads((target / "config.json").read_text())["isoglot"]["language"] == "fr"
    again = isoglot("export", str(model), str(target), "--lang", "fr")
    assert again.out == (
        f"BertForMaskedLM written to {target}\n"
        f'Open it with transformers.AutoModelForMaskedLM.from_pretrained("{target}")\n'
    )


@pytest.mark.usefixtures("without_mini")
def test_what_cannot_be_done_is_one_line(isoglot, model: Path, tmp_path: Path):
    target = str(tmp_path / "hf")
    result = isoglot("export", str(model), target)
    assert (result.code, result.out) == (2, "")
    result.failed("config.not-supported")
    isoglot("export", "isoglot-mini", target).failed("config.not-supported")
    for given, line in (
        (("--step", "0.1"), "--step is for --format packed; leave it out, or add --format packed"),
        (("--means", "m"), "--means is for --format packed; leave it out, or add --format packed"),
        (("--lang", "fr", "--format", "packed"), "--lang is for --format hf; leave it out, or add --format hf"),
        (("--format", "packed", "--step", "2"), "a step of 2.0; give a share of a row's spread such as 0.1"),
    ):
        assert isoglot("export", str(model), target, *given).err == f"isoglot: {line}\n"
    assert not Path(target).exists()


def test_what_is_packed_keeps_its_steps(isoglot, model: Path, tmp_path: Path):
    packed, again = str(tmp_path / "packed"), str(tmp_path / "again")
    assert isoglot("export", str(model), packed, "--format", "packed", "--step", "0.2").code == 0
    result = isoglot("export", packed, again, "--format", "packed", "--step", "0.9")
    assert (result.code, result.out) == (2, "")
    result.failed("config.conflicting-options", packed, "--step", "0.9")
    assert not Path(again).exists()
    assert isoglot("export", packed, again, "--format", "packed").code == 0


def test_a_wrapped_model_is_not_ours_to_export(isoglot, model: Path, tmp_path: Path):
    from transformers import DistilBertConfig, DistilBertModel

    DistilBertModel(DistilBertConfig(dim=32, n_layers=1, n_heads=4, vocab_size=9)).save_pretrained(tmp_path / "distil")
    tokenizer = model.parent / "tokenizer.json"
    (tmp_path / "distil" / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    result = isoglot("export", str(tmp_path / "distil"), str(tmp_path / "hf"))
    assert (result.code, result.out) == (2, "")
    result.failed("config.not-supported")


def test_a_view_that_needs_segmented_text_says_so(isoglot, model: Path, tmp_path: Path):
    pytest.importorskip("sacremoses")
    vocabulary = Vocabulary.from_tokenizer(model / "vocabulary" / "tokenizer.json", ["en", "fr"])
    vocabulary._processing["en"] = TextProcessing("en", clean=True, segmentation="moses")
    config = encoder_config("paper", "nano", vocabulary_size=9, languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), tmp_path / "model")
    result = isoglot("export", str(tmp_path / "model"), str(tmp_path / "hf"))
    assert result.out.splitlines()[1] == (
        "tokenizer.json does not process text. Text of en must be cleaned and segmented by moses before it is given to "
        'another program: isoglot.text.cleaning.processing.TextProcessing("en", clean=True, segmentation="moses")(text). '
        "isoglot does this itself."
    )
    told = json.loads(isoglot("export", str(tmp_path / "model"), str(tmp_path / "hf"), "--json").out)
    assert told["text_processing"] == {"en": {"clean": True, "segmentation": "moses"}}
    assert "isoglot_text.json" in told["files"]
    other = isoglot("export", str(tmp_path / "model"), str(tmp_path / "hf"), "--lang", "fr")
    assert "tokenizer.json" not in other.out
