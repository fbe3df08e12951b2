from __future__ import annotations

import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from isoglot.model import Encoder, encoder_config, load_encoder, save_encoder
from isoglot.represent import Representations, embedding_rows
from isoglot.text.formats.word_vectors import read_vectors
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from isoglot.vocab.word_reader import whole_words

WAYS = "train one with isoglot pretrain RECIPE --out DIR, or name a Hugging Face encoder such as xlm-roberta-base"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separated encoder of English and French on disk, beside a text."""
    folder: Path = tmp_path_factory.mktemp("encode")
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *"the cat sleeps le chat".split()))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr"])
    config = encoder_config("paper", "nano", vocabulary_size=10, languages=("en", "fr"), plan="sep-emb")
    members = {"en": np.arange(8), "fr": np.array([0, 1, 2, 3, 4, 8, 9])}
    save_encoder(Encoder(config, vocabulary, members), folder / "model")
    (folder / "text.txt").write_text("the cat sleeps\nthe cat\n")
    (folder / "words.txt").write_text("cat\nthe\n\nzebra\n")
    return folder


@pytest.fixture
def encode(isoglot, folder: Path, tmp_path: Path):
    """Run the verb on the encoder and the text, with more options."""

    def run(out: str, *options: str, model: str | None = None, text: str = "text.txt"):
        first = [str(folder / "model")] if model is None else [model] if model else []
        return isoglot(
            "encode", *first, "--text", str(folder / text), "--out", str(tmp_path / out), "--device", "cpu", *options
        )

    return run


def test_all_layers_to_a_file(encode, tmp_path: Path, folder: Path):
    result = encode("v.safetensors", "--lang", "eng", "--json")
    assert result.code == 0
    assert "encode: 2 sentences in" in result.err
    facts = json.loads(result.out)
    expected = {"rows": 2, "language": "en", "layers": [0, 1, 2], "pool": "mean", "name": str(folder / "model")}
    assert {key: facts[key] for key in expected} == expected
    found = Representations.open(tmp_path / "v.safetensors")
    assert (len(found), found.hidden_size, found.layers) == (2, 32, (0, 1, 2))
    assert encode("v.safetensors", "--lang", "en", "--resume", "--quiet").err == ""


def test_words_to_a_folder_in_bfloat16(encode, tmp_path: Path):
    result = encode(
        "v", "--lang", "en", "--pool", "words", "--layers", "0,-1", "--length", "4", "--precision", "bfloat16"
    )
    assert result.code == 0
    assert (
        result.out == f"5 words x 32 in layers 0, 2 written to {tmp_path}/v\n1 sentence divided into several windows\n"
    )
    assert {path.name for path in (tmp_path / "v").iterdir()} == {
        "representations.json",
        "layer.0.npy",
        "layer.2.npy",
        "offsets.npy",
    }
    assert np.load(tmp_path / "v" / "layer.2.npy").shape == (5, 32)


def test_types_to_a_vec(encode, tmp_path: Path, folder: Path):
    result = encode(
        "v.vec", "--lang", "en", "--pool", "types", "--words", str(folder / "words.txt"), "--layers", "-1", "-q"
    )
    assert (result.code, result.err) == (0, "")
    assert result.out == f"2 word types x 32 in layers 2 written to {tmp_path}/v.vec\n2 of 3 words occur\n"
    assert [line.split()[0] for line in (tmp_path / "v.vec").read_text().splitlines()] == ["2", "cat", "the"]


def test_lines_of_one_word_to_a_vec(encode, tmp_path: Path, folder: Path):
    (folder / "single.txt").write_text("cat\nthe\n")
    assert encode("v.vec", "--lang", "en", "--layers", "0", text="single.txt").code == 0
    assert (tmp_path / "v.vec").read_text().startswith("2 32\ncat ")
    result = encode("w.vec", "--lang", "en", "--layers", "0")
    result.failed("input.malformed-line", folder, "'the cat sleeps'", ".vec", line=1)


def test_the_embedding_matrix_as_word_vectors(isoglot, folder: Path, tmp_path: Path):
    """Only rows that are whole words, under the words themselves; a word list or a dictionary cuts them."""
    common = ("encode", str(folder / "model"), "--pool", "embeddings", "--device", "cpu", "--json")
    out = tmp_path / "w.vec"
    facts = json.loads(isoglot(*common, "--lang", "en", "--out", str(out)).out)
    assert (facts["words"], facts["hidden_size"]) == (3, 32)
    encoder = load_encoder(folder / "model", device="cpu")
    rows = embedding_rows(encoder, ["the", "cat", "sleeps"], "en")
    table = read_vectors(out)
    assert table.words == list(rows.words) == ["the", "cat", "sleeps"]
    np.testing.assert_array_equal(table.matrix_ND, rows.vectors_ND)
    (tmp_path / "d.txt").write_text("cat chat\nzebra le\n")
    cut = ("--dictionary", f"en-fr={tmp_path / 'd.txt'}")
    for lang, words in (("en", ["cat"]), ("fr", ["chat", "le"])):
        assert isoglot(*common, "--lang", lang, *cut, "--out", str(out)).code == 0
        assert read_vectors(out).words == words
    assert isoglot(*common, "--lang", "en", "--words", str(folder / "words.txt"), "--out", str(out)).code == 0
    assert read_vectors(out).words == ["cat", "the"]
    for option, value in (("--text", str(folder / "text.txt")), ("--layers", "1")):
        refused = isoglot(*common, "--lang", "en", "--out", str(out), option, value)
        assert (refused.code, refused.out, refused.error["code"]) == (2, "", "config.conflicting-options")
        assert option in refused.error["message"]
    other = isoglot(*common, "--lang", "en", "--out", str(tmp_path / "w.safetensors"))
    assert other.error["remedy"] == "vectors of words are text: name it words.vec"


def test_words_of_every_kind_of_vocabulary(ours_of_two_languages, tmp_path: Path):
    vocabulary = ours_of_two_languages
    for code in ("en", "fr"):
        found = whole_words(vocabulary, code)
        assert len(found) > 20
        for word, index in found.items():
            assert vocabulary.encode(word, code) == [index]
            assert not word.startswith(("▁", "Ġ", "##"))
            assert index in vocabulary.ids_of(code)
        counts = vocabulary.counts(code)
        if counts is not None:
            assert (np.diff([counts[index] for index in found.values()]) <= 0).all()


@pytest.fixture(params=["joint", "union", "disjoint"])
def ours_of_two_languages(request: pytest.FixtureRequest, small_texts) -> Vocabulary:
    return train_vocabulary(small_texts, mode=request.param, size=600, coverage=1.0)


def test_a_folder_with_another_verbs_run_is_left_alone(encode, isoglot, tmp_path: Path):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "run.json").write_text("{}")
    said = f"isoglot: {tmp_path / 'report'} holds another verb's run (run.json); name another --out\n"
    assert encode("report", "--lang", "en").err == said
    assert encode("v", "--lang", "en").code == encode("v", "--lang", "en").code == 0
    paths = ("--map", str(tmp_path / "map"), "--vectors", str(tmp_path / "v"), "--out", str(tmp_path / "report"))
    assert isoglot("align", "apply", *paths).err == said
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["run.json"]


@pytest.mark.usefixtures("without_mini")
def test_what_cannot_be_done_is_one_line(encode, tmp_path: Path, folder: Path):
    (folder / "empty.txt").write_text("")
    (folder / "gap.txt").write_text("the cat\n\nthe\n")
    cases = [
        (
            ("v.safetensors",),
            {},
            "choose one of en, fr: --lang en",
        ),
        (("v.safetensors",), {"model": ""}, f"; {WAYS}"),
        (
            ("v.safetensors", "--lang", "en"),
            {"model": str(folder / "none")},
            f"{folder}/none: no such folder; check the path, or {WAYS}",
        ),
        (
            ("v.safetensors", "--lang", "en"),
            {"text": "empty.txt"},
            f"{folder}/empty.txt: ",
        ),
        (
            ("v.safetensors", "--lang", "en"),
            {"text": "gap.txt"},
            f"{folder}/gap.txt:2: ",
        ),
        (
            ("v.safetensors", "--layers", "last"),
            {},
            "--layers 'last' is not a list of numbers; write --layers all, or --layers 0,4,-1",
        ),
        (("v.vec",), {}, "a .vec holds one layer; choose one, such as --layers -1"),
        (
            ("v.vec", "--layers", "1", "--pool", "words"),
            {},
            "a .vec holds each word once; write .safetensors, or choose --pool types",
        ),
        (
            ("v.vec", "--layers", "1", "--resume"),
            {},
            "--resume is for .safetensors and folders of sentences or words; leave it out",
        ),
        (("v", "--pool", "types"), {}, "--pool types and --words FILE go together; give both, or none"),
        (
            ("v.npy",),
            {},
            (
                f"--out '{tmp_path}/v.npy' ends in none of the formats; "
                "end it in .safetensors or .vec, or name a folder for one .npy a layer"
            ),
        ),
        (
            ("v", "--pool", "types", "--words", str(folder / "empty.txt")),
            {},
            f"{folder}/empty.txt: there are no words; write one per line",
        ),
    ]
    for options, named, message in cases:
        result = encode(*options, **named)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert message in result.err
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_no_numbers(isoglot, folder: Path, tmp_path: Path):
    from isoglot.model import load_encoder

    encoder = load_encoder(folder / "model", device="cpu")
    assert isinstance(encoder, Encoder)
    with torch.no_grad():
        dict(encoder.named_parameters())["blocks.0.shared.mlp.up.weight"].fill_(torch.nan)
    save_encoder(encoder, tmp_path / "broken")
    result = isoglot(
        "encode",
        str(tmp_path / "broken"),
        "--text",
        str(folder / "text.txt"),
        "--lang",
        "en",
        "--out",
        str(tmp_path / "v.safetensors"),
    )
    result.failed("input.not-finite", "layer 1")
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]
