"""An encoder on disk is the encoder, or an error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import torch

from isoglot.core.artifact import write_index, write_sealed
from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json, write_json
from isoglot.model import Encoder, encoder_config, load_encoder, make_batch, save_encoder
from isoglot.model.folder import open_encoder
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.errors import raises


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> Vocabulary:
    folder = tmp_path_factory.mktemp("text")
    (folder / "en.txt").write_text("the cat sees a dog\nthe dog sleeps\n" * 20)
    (folder / "fr.txt").write_text("le chat voit un chien\nle chien dort\n" * 20)
    texts = {"en": [folder / "en.txt"], "fr": [folder / "fr.txt"]}
    return train_vocabulary(texts, mode="union", size=320)


def build(vocabulary: Vocabulary, plan: str = "default") -> Encoder:
    config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"), plan=plan)
    return Encoder(config, vocabulary).eval()


@pytest.mark.parametrize("plan", ["default", "sep-emb+l1-1", "softmax"])
def test_what_is_read_is_what_was_written(vocabulary: Vocabulary, tmp_path: Path, plan: str):
    encoder = build(vocabulary, plan)
    files = save_encoder(encoder, tmp_path / "model", about={"steps": 3})
    again = load_encoder(tmp_path / "model", device="cpu")
    batch = make_batch(vocabulary, ["le chat dort", "un chien"], "fr")
    wanted = encoder.logits(encoder.layers(batch, "fr")[-1], "fr")
    assert torch.equal(again.logits(again.layers(batch, "fr")[-1], "fr"), wanted)
    assert again.vocabulary.hash == vocabulary.hash
    first = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in save_encoder(encoder, tmp_path / "other", about={"steps": 3})] == first


def test_an_encoder_without_vocabulary(tmp_path: Path):
    encoder = Encoder(encoder_config("modern", "nano", vocabulary_size=20))
    save_encoder(encoder, tmp_path)
    assert not open_encoder(tmp_path).has_vocabulary


def test_altered_weights_are_refused(vocabulary: Vocabulary, tmp_path: Path):
    save_encoder(build(vocabulary), tmp_path)
    path = tmp_path / "encoder.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with raises("corrupt-file.hash"):
        load_encoder(tmp_path, device="cpu")


def test_another_vocabulary_is_refused(vocabulary: Vocabulary, tmp_path: Path):
    save_encoder(build(vocabulary), tmp_path)
    (tmp_path / "a.txt").write_text("other words altogether\n" * 9)
    train_vocabulary({"en": [tmp_path / "a.txt"]}, mode="joint", size=300).save(tmp_path / "vocabulary")
    with raises("corrupt-file.hash"):
        load_encoder(tmp_path, device="cpu")


def test_what_is_no_encoder_of_ours(tmp_path: Path):
    (tmp_path / "encoder.json").write_text('{"format": 99}')
    with raises("input.unknown-format", 1):
        load_encoder(tmp_path, device="cpu")


def test_an_index_with_something_missing_is_refused(vocabulary: Vocabulary, tmp_path: Path, each_damage):
    save_encoder(build(vocabulary), tmp_path)
    for _ in each_damage(tmp_path / "encoder.json"):
        with suppress(IsoglotError):
            load_encoder(tmp_path, device="cpu")
    write_index(tmp_path / "encoder.json", "an encoder", 1, {})
    with raises("corrupt-file", "'config'"):
        load_encoder(tmp_path, device="cpu")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"norm_eps": 1e-2}, ("corrupt-file.hash", "content_sha256")),
        (
            {"hidden_size": 10**12},
            ("corrupt-file", "1,000,000,000,000", "encoder.json"),
        ),
        ({"max_length": 10**12}, ("corrupt-file", "32", "encoder.json")),
        ({"layers": 10**12}, ("corrupt-file", "32", "encoder.json")),
        ({"intermediate_size": 48}, ("corrupt-file", "encoder.json")),
    ],
)
def test_a_changed_config_is_refused(
    vocabulary: Vocabulary, tmp_path: Path, change: dict[str, float], expected: tuple[str, ...]
):
    """Without a new hash, because it was changed; with one, because no such weights are there."""
    save_encoder(build(vocabulary), tmp_path)
    index = read_json(tmp_path / "encoder.json")
    index["config"] |= change
    if "norm_eps" in change:
        write_json(tmp_path / "encoder.json", index)
    else:
        write_sealed(tmp_path / "encoder.json", index)
    with raises(*expected):
        load_encoder(tmp_path, device="cpu")


def test_a_batch_has_its_sentences_in_order(vocabulary: Vocabulary):
    batch = make_batch(vocabulary, ["le chat dort", "un"], "fr")
    special = vocabulary.special
    assert batch.ids_BT[0, 0] == special["[CLS]"]
    assert batch.ids_BT[1, 1 : 1 + len(vocabulary.encode("un", "fr"))].tolist() == vocabulary.encode("un", "fr")
    assert [vocabulary.decode(row.tolist()) for row in batch.ids_BT] == ["le chat dort", "un"]
    assert batch.starts_BT.sum(1).tolist() == [3, 1]
    assert not batch.full
    assert make_batch(vocabulary, ["un"], "fr").full
    assert make_batch(vocabulary, ["le chat dort"], "fr", length=3).ids_BT.shape == (1, 3)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"en": [[0, 10**12]]}, ("corrupt-file", "[0, 1000000000000]")),
        ({"en": [[3]]}, ("corrupt-file", "[3]")),
        ({"en": [[0, 9]]}, ("corrupt-file", "'members.fr'")),
    ],
)
def test_wrong_ids_of_a_language_are_refused(
    vocabulary: Vocabulary, tmp_path: Path, members: dict[str, list[list[int]]], expected: tuple[str, ...]
):
    save_encoder(build(vocabulary, "sep-emb"), tmp_path)
    write_sealed(tmp_path / "encoder.json", read_json(tmp_path / "encoder.json") | {"members": members})
    with raises(*expected):
        load_encoder(tmp_path, device="cpu")
