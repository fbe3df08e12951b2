"""Packed weights: what rounding may do is a theorem, and the file is whole or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from isoglot.core.artifact import write_sealed
from isoglot.core.errors import CorruptFileError
from isoglot.core.files import read_json
from isoglot.model import Encoder, export_to_hf, load_encoder, make_batch, save_encoder
from isoglot.model.folder import PACKED, WEIGHTS, Form, folder_size, open_encoder, read_about
from isoglot.model.packed import FINER, STEP, pack, packing_error, quantize, restore, unpack
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.errors import raises
from tests.given_words import given_words

HUGE = np.nextafter(np.float32(2.0**127), np.float32(0))
FINITE = st.floats(float(-HUGE), float(HUGE), width=32)
LEAST = np.float32(1e-45)  # the smallest number float32 has


def restored(numbers_RD: np.ndarray, exponents_R: np.ndarray) -> np.ndarray:
    found: np.ndarray = restore(torch.from_numpy(numbers_RD), torch.from_numpy(exponents_R)).numpy()
    return found


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE), st.floats(1e-3, 1))
@example(np.zeros((2, 3), np.float32), STEP)
@example(np.full((2, 3), 0.1, np.float32), STEP)
@example(np.array([[HUGE, -HUGE, 1], [LEAST, 0, -LEAST], [HUGE, LEAST, 0]], np.float32), STEP)
@example(np.array([[127.5, 1], [127.4, 1], [-127.5, 0.3]], np.float32), 1e-3)
def test_no_entry_moves_by_more_than_half_its_step(matrix_RD: np.ndarray, step: float):
    numbers_RD, exponents_R = quantize(matrix_RD, step)
    assert [str(each.dtype) for each in (numbers_RD, exponents_R)] == ["int8", "int8"]
    assert numbers_RD.min() >= -127
    found_RD = restored(numbers_RD, exponents_R)
    apart_RD = np.abs(found_RD.astype(np.float64) - matrix_RD)
    assert (apart_RD <= np.ldexp(1.0, exponents_R.astype(int))[:, None] / 2).all()
    assert torch.equal(torch.from_numpy(found_RD).bfloat16().float(), torch.from_numpy(found_RD))
    for again, first in zip(quantize(found_RD), (numbers_RD, exponents_R), strict=True):
        np.testing.assert_array_equal(again, first)  # whatever the step


def test_the_step_follows_the_spread_of_a_row_and_widens_for_an_outlier():
    chance = np.random.default_rng(0)
    rows_RD = chance.normal(0, 1, (3, 4000)) * [[1.0], [1000.0], [1.0]]
    rows_RD[2, 0] = 123 * 2**13
    numbers_RD, exponents_R = quantize(rows_RD, 1 / 12)
    assert exponents_R.tolist() == [-4, 6, 13]  # nearest to 1/12 and 1000/12; the outlier at most 127 steps
    assert 0 < np.abs(numbers_RD[0]).max() < 127
    assert numbers_RD[2, 0] == 123


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39, 2.0**127.5])
def test_what_is_not_finite_is_refused(bad: float):
    with raises("input.not-finite"):
        quantize(np.array([[0.0, 1.0], [bad, 0.0]]))
    weights = {"norm": torch.ones(2), "deep.weight": torch.tensor([[0.0, bad]])}
    with raises("input.not-finite", "deep.weight"):
        pack(weights)
    with raises("input.not-finite"):
        pack({"norm": torch.tensor([bad, 1.0])})


@pytest.mark.parametrize("step", [0.0, -1.0, 1.5, float("nan")])
def test_a_step_that_will_not_do(step: float):
    with raises("config.invalid-value", step):
        quantize(np.ones((1, 1)), step)


def test_vectors_whole_numbers_and_shapes_stay():
    weights = {
        "bias": torch.tensor([0.1, 1e-9]),
        "ids": torch.tensor([[5, 2**40]]),
        "cube": torch.arange(24.0).reshape(2, 3, 4),
        "half": torch.tensor([[0.5, 0.25]], dtype=torch.bfloat16),
        "alone": torch.tensor(0.3),
    }
    found = unpack(pack(weights))
    assert set(found) == set(weights)
    for name, tensor in weights.items():
        assert torch.equal(found[name], tensor.float() if tensor.is_floating_point() else tensor), name
    assert packing_error(weights, found) == 0


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (2, 0, 3), (2, 3, 0)])
def test_a_matrix_without_rows_or_columns_stays(shape: tuple[int, ...]):
    weights = {"none": torch.zeros(shape), "some": torch.ones(2, 2)}
    found = unpack(pack(weights))
    assert found["none"].shape == shape
    assert found["none"].dtype == torch.float32
    assert pack(found) == pack(weights)


def test_packed_again_is_the_same_bytes():
    chance = torch.Generator().manual_seed(0)
    weights = {f"m{n}": torch.randn(40, 64, generator=chance) * 10.0**-n for n in range(4)}
    data = pack(weights)
    assert pack(weights) == data
    once = unpack(data)
    assert pack(once) == data == pack(once, step=1 / 3)
    assert 0 < packing_error(weights, once) < STEP * 2**0.5 / 12**0.5
    assert 8 * len(data) / (4 * 40 * 64) < 7
    assert len(pack(weights, step=1 / 3)) < len(data)


def test_a_part_is_stored_as_much_finer_as_is_said():
    chance = torch.Generator().manual_seed(0)
    weights = {f"0.{name}.weight": torch.randn(40, 64, generator=chance) for name in ("mlp.up", "mlp.down")}
    even, fine = (unpack(pack(weights, finer=finer)) for finer in ({}, {"mlp.up.": 0.25}))
    quarter = unpack(pack(weights, step=STEP / 4, finer={}))
    assert torch.equal(fine["0.mlp.up.weight"], quarter["0.mlp.up.weight"])
    assert torch.equal(fine["0.mlp.down.weight"], even["0.mlp.down.weight"])
    assert not torch.equal(fine["0.mlp.up.weight"], even["0.mlp.up.weight"])
    assert pack(weights) == pack(weights, finer=FINER) != pack(weights, finer={})


@pytest.fixture(scope="module")
def vocabulary(small_texts) -> Vocabulary:
    return train_vocabulary(small_texts, mode="joint", size=360, coverage=1.0)


@pytest.fixture(scope="module")
def encoder(nano_encoder, vocabulary: Vocabulary) -> Encoder:
    """One like isoglot-mini, with softmax biases that are not 0."""
    made: Encoder = nano_encoder(vocabulary, "modern").eval()
    chance = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=chance) * 0.1)
    return made


@torch.no_grad()
def test_a_packed_folder_opens_as_any_other(encoder: Encoder, vocabulary: Vocabulary, tmp_path: Path):
    whole = save_encoder(encoder, tmp_path / "whole", about={"steps": 3})
    files = save_encoder(encoder, tmp_path / "packed", about={"steps": 3}, form="packed")
    assert [path.relative_to(tmp_path / "packed").as_posix() for path in files] == [
        "encoder.safetensors.zst",
        "vocabulary/tokenizer.json.zst",
        "vocabulary/tokenizer_config.json.zst",
        "vocabulary/counts.npy.zst",
        "vocabulary/vocabulary.json.zst",
        "provenance.json.zst",
        "encoder.json",
    ]
    assert folder_size(tmp_path / "packed") < 0.3 * sum(path.stat().st_size for path in whole)
    found = load_encoder(tmp_path / "packed", device="cpu")
    assert isinstance(found, Encoder)
    assert found.vocabulary.hash == vocabulary.hash
    for code in ("en", "fr"):
        np.testing.assert_array_equal(found.vocabulary.ids_of(code), vocabulary.ids_of(code))
        np.testing.assert_array_equal(found.vocabulary.counts(code), vocabulary.counts(code))
    batch = make_batch(vocabulary, ["the girl sees a cat", "yes"], "en")
    logits_BTV = found.logits(found.layers(batch, "en")[-1], "en")
    wanted_BTV = encoder.logits(encoder.layers(batch, "en")[-1], "en")
    assert 0 < float((logits_BTV - wanted_BTV).std()) < 0.1 * float(wanted_BTV.std())
    again = save_encoder(found, tmp_path / "again", about={"steps": 3}, form="packed")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]
    # A folder is one or the other, also where it was the other before.
    save_encoder(found, tmp_path / "packed")
    assert not (tmp_path / "packed" / PACKED).exists()
    assert not list((tmp_path / "packed").rglob("*.zst"))
    unpacked = open_encoder(tmp_path / "packed").state_dict()
    assert all(torch.equal(tensor, unpacked[name]) for name, tensor in found.state_dict().items())


@torch.no_grad()
def test_exported_it_has_the_same_logits_in_transformers(encoder: Encoder, vocabulary: Vocabulary, tmp_path: Path):
    from transformers import AutoModelForMaskedLM

    save_encoder(encoder, tmp_path / "packed", form="packed")
    found = open_encoder(tmp_path / "packed")
    export_to_hf(found, tmp_path / "hf")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hf", attn_implementation="sdpa").eval()
    assert type(model).__name__ == "ModernBertForMaskedLM"
    batch = make_batch(vocabulary, ["the girl sees a cat", "yes"], "en")
    theirs_BTV = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long()).logits
    ours_BTV = found.logits(found.layers(batch)[-1])
    torch.testing.assert_close(theirs_BTV[batch.mask_BT], ours_BTV[batch.mask_BT], atol=2e-5, rtol=1e-4)


def test_what_is_damaged_is_refused_in_one_line(encoder: Encoder, tmp_path: Path):
    save_encoder(encoder, tmp_path, form="packed")
    path = tmp_path / PACKED
    data = path.read_bytes()
    altered = bytearray(data)
    altered[len(data) // 2] ^= 1
    for wrong in (data[:-1], data[:100], b"", bytes(altered)):
        path.write_bytes(wrong)
        with raises("corrupt-file.hash", path, f"{len(wrong):,}"):
            open_encoder(tmp_path)
        with raises("corrupt-file", PACKED):
            unpack(wrong, path)
    path.unlink()
    with raises("storage.not-found"):
        open_encoder(tmp_path)
    path.write_bytes(data)
    small = tmp_path / "vocabulary" / "tokenizer.json.zst"
    small.write_bytes(small.read_bytes()[:-5])
    with raises("corrupt-file", "tokenizer.json.zst"):
        open_encoder(tmp_path)


def test_a_frame_with_something_else_in_it(tmp_path: Path):
    from safetensors.torch import save

    from isoglot.core.artifact import compressed

    wrong = {"m": torch.ones(2, 3, dtype=torch.int8), "m.exponent": torch.ones(4, dtype=torch.int8)}
    alone = {"m": torch.tensor(1, dtype=torch.int8), "m.exponent": torch.ones(1, dtype=torch.int8)}
    for content in (b"", b"some text", save(wrong), save(alone)):
        with raises("corrupt-file", tmp_path / "x"):
            unpack(compressed(content), tmp_path / "x")


def test_another_form_is_not_read(encoder: Encoder, tmp_path: Path):
    save_encoder(encoder, tmp_path)
    index = tmp_path / "encoder.json"
    content = read_json(index)
    for form, name in (("folded", "'folded'"), ([1], "[1]")):
        write_sealed(index, content | {"form": form})
        with raises("input.unknown-format", index, name):
            open_encoder(tmp_path)
    index.write_text("{}")
    with raises("input.unknown-format", 1):
        open_encoder(tmp_path)
    assert (tmp_path / WEIGHTS).exists()


def test_what_errors_harm_is_stored_finer():
    chance = torch.Generator().manual_seed(0)
    matrix = torch.randn(8, 400, generator=chance)
    names = (
        "embedding.tokens.shared.weight",
        "blocks.0.shared.mlp.down.weight",
        "blocks.0.shared.attention.qkv.weight",
    )
    packed = unpack(pack(dict.fromkeys(names, matrix)))
    coarse, usual, fine = ((packed[name] - matrix).square().mean().sqrt() for name in names)
    assert coarse >= usual > 2 * fine  # steps are powers of two, so neighbors may meet


GIVEN = given_words(["/etc", "dog", *(f"word{n}" for n in range(3000))], ["chien"])


@pytest.mark.parametrize("form", ["whole", "packed"])
def test_the_provenance_is_kept_with_all_words_of_dictionaries(encoder: Encoder, tmp_path: Path, form: Form):
    encoder.provenance = GIVEN
    files = save_encoder(encoder, tmp_path / "one", about={"steps": 3}, form=form)
    assert tmp_path / "one" / ("provenance.json" if form == "whole" else "provenance.json.zst") in files
    assert (tmp_path / "one" / "encoder.json").stat().st_size < 2500
    assert read_about(tmp_path / "one") == {"steps": 3}
    opened = open_encoder(tmp_path / "one")
    assert opened.provenance == GIVEN
    again = save_encoder(opened, tmp_path / "again", about={"steps": 3}, form=form)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]


def test_the_provenance_of_an_earlier_encoder_does_not_stay(encoder: Encoder, tmp_path: Path):
    other = replace(GIVEN, dictionaries=())
    for form in ("packed", "whole"):
        encoder.provenance = GIVEN
        save_encoder(encoder, tmp_path, form="packed")
        assert open_encoder(tmp_path).provenance == GIVEN
        encoder.provenance = other
        save_encoder(encoder, tmp_path, form=form)
        assert open_encoder(tmp_path).provenance == other


@pytest.mark.parametrize("form", ["whole", "packed"])
def test_a_provenance_that_is_gone_or_altered_is_refused(encoder: Encoder, tmp_path: Path, form: Form):
    encoder.provenance = GIVEN
    save_encoder(encoder, tmp_path, form=form)
    (path,) = tmp_path.glob("provenance.json*")
    kept = path.read_bytes()
    path.write_bytes(kept[:-4])
    with pytest.raises(CorruptFileError):
        open_encoder(tmp_path)
    path.unlink()
    with pytest.raises(CorruptFileError) as caught:
        open_encoder(tmp_path)
    assert caught.value.file == str(tmp_path / "provenance.json")
