from __future__ import annotations

import functools
import json
import operator
import os
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.core.artifact import compressed
from isoglot.core.errors import IsoglotError, StorageError
from isoglot.model import Encoder, EncoderLike, batch_of_ids, encoder_config, make_batch
from isoglot.represent import Representations, extract, extraction
from isoglot.represent.array_files import ArrayShape, ArrayWriter
from isoglot.represent.layer_pass import IN_FLIGHT, check_finite
from isoglot.text.formats.dictionary import Entry
from isoglot.text.provenance import Provenance, use_entries
from tests.errors import raises

CLOSE: dict[str, Any] = {"atol": 2e-5, "rtol": 1e-5}


def one_by_one(encoder: EncoderLike, sentences: list[str], pool: str) -> np.ndarray:
    """The definition: each sentence alone through the encoder."""
    found = []
    with torch.no_grad():
        for sentence in sentences:
            batch = make_batch(encoder.vocabulary, [sentence], "en", length=encoder.max_length)
            states = torch.stack(encoder.layers(batch, "en"))[:, 0]
            found.append(states[:, 0] if pool == "first" else states[:, 1:-1].mean(dim=1))
    return torch.stack(found, dim=1).numpy()


@pytest.mark.parametrize("pool", ["mean", "first"])
def test_sentences_are_what_the_definition_says(encoder: EncoderLike, sentences: list[str], pool):
    found = extract(encoder, sentences, pool=pool, language="en", batch_tokens=100)
    expected = one_by_one(encoder, sentences, pool)
    assert found.layers == tuple(range(encoder.depth + 1))
    np.testing.assert_allclose(found.stacked(), expected, **CLOSE)
    assert (len(found), found.hidden_size) == (len(sentences), encoder.hidden_size)
    np.testing.assert_array_equal(found[-1], found[encoder.depth])


@pytest.mark.parametrize("pool", ["mean", "words"])
def test_batch_and_chunk_do_not_matter(encoder: EncoderLike, sentences: list[str], pool):
    whole = extract(encoder, sentences, pool=pool, language="en")
    for options in ({"batch_tokens": 1}, {"batch_tokens": 70}, {"chunk": 1}, {"chunk": 7, "batch_tokens": 200}):
        other = extract(encoder, sentences, pool=pool, language="en", **options)  # type: ignore[arg-type]
        np.testing.assert_allclose(other.stacked(), whole.stacked(), **CLOSE)


@pytest.mark.parametrize("pool", ["words", "word-first"])
def test_words_are_what_the_definition_says(encoder: EncoderLike, pool):
    sentences = [["The", "unhappy", "cat"], ["Yes"], ["a", "sleeping", "dog", "sees", "the", "big", "house", "."]]
    found = extract(encoder, sentences, pool=pool, language="en")
    assert found.offsets is not None
    assert found.offsets.tolist() == [0, 3, 4, 12]
    for number, words in enumerate(sentences):
        ids = [encoder.vocabulary.encode(word, "en") for word in words]
        if words[-1] == ".":  # no blank is written before it
            ids[-1] = encoder.vocabulary.encode("".join(words[-2:]), "en")[len(ids[-2]) :]
        batch = batch_of_ids(encoder.vocabulary, [functools.reduce(operator.iadd, ids, [])])
        with torch.no_grad():
            states = torch.stack(encoder.layers(batch, "en"))[:, 0].numpy()
        at = 1
        rows = found.offsets[number]
        for place, own in enumerate(ids):
            tokens = states[:, at : at + len(own)]
            if encoder.vocabulary.pieces[own[0]] == "▁":  # a blank: no letter of the word
                tokens = tokens[:, 1:]
            expected = tokens[:, 0] if pool == "word-first" else tokens.mean(axis=1)
            np.testing.assert_allclose(found.stacked()[:, rows + place], expected, **CLOSE)
            at += len(own)
        np.testing.assert_array_equal(found.sentence(number, -1), found[-1][rows : rows + len(words)])
    as_text = extract(encoder, [" ".join(words) for words in sentences], pool=pool, language="en")
    np.testing.assert_array_equal(as_text.stacked(), found.stacked())


def test_cores_do_not_matter_at_all(encoder: EncoderLike, sentences: list[str]):
    one = extract(encoder, sentences, language="en", batch_tokens=60, chunk=30)
    torch.set_num_threads(3)
    try:
        many = extract(encoder, sentences, language="en", batch_tokens=60, chunk=30)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(1)
    if isinstance(encoder, Encoder):
        np.testing.assert_array_equal(many.stacked(), one.stacked())
    else:
        np.testing.assert_allclose(many.stacked(), one.stacked(), **CLOSE)


def test_layers_are_chosen(encoder: EncoderLike, sentences: list[str]):
    whole = extract(encoder, sentences, language="en")
    some = extract(encoder, sentences, layers=[-1, 0], language="en")
    assert some.layers == (0, encoder.depth)
    for layer in some:
        np.testing.assert_array_equal(some[layer], whole[layer])
    first = extract(encoder, sentences, layers=[0], language="en")
    np.testing.assert_array_equal(first[0], whole[0])
    with raises("config.unknown-layer", "1"):
        _ = first[1]


def test_a_file_is_the_same_as_a_list(ours: Encoder, sentences: list[str], tmp_path: Path):
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    one, two = (extract(ours, given, language="en", chunk=10) for given in (path, sentences))
    np.testing.assert_array_equal(one.stacked(), two.stacked())
    assert one.header == two.header


def test_languages_have_their_own_parts(ours: Encoder, sentences: list[str]):
    french = extract(ours, ["Le chat dort."], language="fra")
    assert french.header["language"] == "fr"
    with raises("config.missing-option"):
        extract(ours, sentences)
    with raises("config.unknown-language", "'de'"):
        extract(ours, sentences, language="de")


def test_bfloat16_is_near(encoder: EncoderLike, sentences: list[str]):
    exact = extract(encoder, sentences, language="en").stacked()
    near = extract(encoder, sentences, language="en", precision="bfloat16").stacked()
    assert near.dtype == np.float32
    assert 0 < np.abs(near - exact).max() < 0.15
    assert next(encoder.parameters()).dtype == torch.float32  # type: ignore[attr-defined]


def test_training_mode_is_left_and_taken_up_again(ours: Encoder, sentences: list[str]):
    expected = extract(ours, sentences, language="en").stacked()
    ours.train()
    try:
        np.testing.assert_array_equal(extract(ours, sentences, language="en").stacked(), expected)
        assert ours.training
    finally:
        ours.eval()


def test_padding_may_be_anything(ours: Encoder, sentences: list[str]):
    """Rotary positions with a small neighborhood leave padding that has nothing to look at."""
    vocabulary = ours.vocabulary
    config = encoder_config("modern", "nano", vocabulary_size=len(vocabulary), local_window=4, global_every=2, layers=4)
    modern = Encoder(config, vocabulary).eval()
    found = extract(modern, sentences, language="en", batch_tokens=10_000)
    np.testing.assert_allclose(found.stacked(), one_by_one(modern, sentences, "mean"), **CLOSE)


def test_too_long_is_cut_or_goes_through_in_windows(imported: EncoderLike):
    text = "the cat sleeps and the dog sees a house"  # 11 tokens
    found = extract(imported, [text, "yes"], length=8)
    np.testing.assert_allclose(found[-1][0], extract(imported, ["the cat sleeps and the"])[-1][0], **CLOSE)
    assert [found.header[key] for key in ("cut", "split", "unread")] == [1, 0, 0]
    words = extract(imported, [text, "yes"], length=8, pool="words")
    assert (len(words), words.header["split"], words.header["cut"]) == (10, 1, 0)
    assert np.isfinite(words.stacked()).all()
    second = extract(imported, ["dog sees a house"], pool="words")  # 5 tokens: what did not fit before
    np.testing.assert_allclose(words[-1][5:9], second[-1], **CLOSE)
    with raises("config.invalid-value", "41", "40"):
        extract(imported, [text], length=41)


def test_what_the_tokenizer_does_not_see_stands_as_unknown(imported: EncoderLike):
    found = extract(imported, ["\u200b", "zebra"])
    np.testing.assert_array_equal(found[-1][0], found[-1][1])
    words = extract(imported, [["the", "\u200b", "cat"]], pool="words")
    assert (len(words), words.header["unread"], found.header["unread"]) == (3, 1, 1)


def test_the_header_says_what_it_is(imported: EncoderLike):
    found = extract(imported, ["the cat"], layers=[-1], name="tiny")
    assert len(found.header["encoder_sha256"]) == 64
    assert found.header["vocabulary_sha256"] == imported.vocabulary.hash
    expected = {
        "name": "tiny",
        "language": None,
        "layers": [3],
        "depth": 3,
        "hidden_size": 32,
        "pool": "mean",
        "max_length": 40,
    }
    assert {key: found.header[key] for key in expected} == expected
    json.dumps(found.header)


@pytest.mark.parametrize("ending", [".safetensors", ""])
@pytest.mark.parametrize("pool", ["mean", "words"])
def test_files_hold_the_same_numbers(ours: Encoder, sentences: list[str], tmp_path: Path, ending: str, pool):
    memory = extract(ours, sentences, pool=pool, language="en", chunk=9)
    path = tmp_path / f"vectors{ending}"
    written = extract(ours, sentences, pool=pool, language="en", chunk=9, out=path)
    memory.save(tmp_path / f"again{ending}")
    for found in (written, Representations.load(path), Representations.open(tmp_path / f"again{ending}")):
        np.testing.assert_array_equal(found.stacked(), memory.stacked())
        assert found.header == memory.header
        if pool == "words":
            np.testing.assert_array_equal(found.offsets, memory.offsets)
    assert isinstance(written[0], np.memmap)
    assert not isinstance(Representations.load(path)[0], np.memmap)
    names = {"vectors", "again"} if not ending else {"vectors.safetensors", "again.safetensors"}
    assert {file.name for file in tmp_path.iterdir()} == names


def test_safetensors_opens_the_file(ours: Encoder, sentences: list[str], tmp_path: Path):
    from safetensors import safe_open

    extract(ours, sentences, pool="words", language="en", out=tmp_path / "v.safetensors")
    with safe_open(tmp_path / "v.safetensors", "numpy") as file:
        assert set(file.keys()) == {"layer.0", "layer.1", "layer.2", "offsets"}
        found = Representations.open(tmp_path / "v.safetensors")
        np.testing.assert_array_equal(file.get_tensor("layer.1"), found[1])


class Killed(BaseException):
    """Whatever ends a process."""


@pytest.mark.parametrize("ending", [".safetensors", ""])
def test_killed_and_resumed_is_the_same_to_the_byte(
    ours: Encoder, sentences: list[str], tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
):
    def content(path: Path) -> list[bytes]:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [file.read_bytes() for file in files]

    options = {"pool": "words", "language": "en", "chunk": 6, "batch_tokens": 60, "length": 20}
    whole, path = tmp_path / f"whole{ending}", tmp_path / f"killed{ending}"
    extract(ours, sentences, out=whole, **options)  # type: ignore[arg-type]
    check, calls = check_finite, 0
    for lives in (1, 3, 9, 14, 40):
        calls = 0

        def dying(*arguments, lives=lives):
            nonlocal calls
            calls += 1
            if calls == lives:
                raise Killed
            check(*arguments)

        monkeypatch.setattr(extraction, "check_finite", dying)
        try:
            extract(ours, sentences, out=path, resume=True, **options)  # type: ignore[arg-type]
        except Killed:
            with pytest.raises(StorageError):
                Representations.open(path)
    monkeypatch.setattr(extraction, "check_finite", check)
    extract(ours, sentences, out=path, resume=True, **options)  # type: ignore[arg-type]
    assert content(path) == content(whole)
    extract(ours, sentences, out=path, resume=True, name="another", **options)  # type: ignore[arg-type]
    assert content(path) == content(whole), "finished work is left as it is"
    with raises("config.other-settings", "39", "38"):
        extract(ours, sentences[1:], out=path, resume=True, **options)  # type: ignore[arg-type]


def test_finished_work_is_known_however_its_provenance_was_packed(
    ours: Encoder, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "v.safetensors"
    entries = [Entry("cat", "chat"), Entry("dog", "chien")]
    monkeypatch.setattr(ours, "provenance", Provenance(dictionaries=(use_entries("en", "fr", entries),)))
    found = extract(ours, sentences, language="en")
    facts = json.dumps(ours.provenance.facts()).encode()
    found.header["provenance"] = b64encode(compressed(facts, level=3)).decode()  # as older files have it
    found.save(path)
    before = path.read_bytes()
    extract(ours, sentences, language="en", out=path, resume=True)
    assert path.read_bytes() == before
    assert Representations.open(path).provenance == ours.provenance
    monkeypatch.setattr(ours, "provenance", Provenance())
    with raises("config.other-settings"):
        extract(ours, sentences, language="en", out=path, resume=True)


def test_a_torn_journal_and_other_work(ours: Encoder, sentences: list[str], tmp_path: Path, monkeypatch):
    path, journal = tmp_path / "v.safetensors", tmp_path / ".v.safetensors.journal.jsonl"
    check, calls = check_finite, 0

    def dying(*arguments):
        nonlocal calls
        calls += 1
        if calls == 4:
            raise Killed
        check(*arguments)

    monkeypatch.setattr(extraction, "check_finite", dying)
    with pytest.raises(Killed):
        extract(ours, sentences, out=path, language="en", chunk=6)
    monkeypatch.setattr(extraction, "check_finite", check)
    journal.write_bytes(journal.read_bytes() + b'{"cut": 0, "spl')
    with raises("config.other-settings", "v.safetensors", "[0, 1, 2]", "[0]"):
        extract(ours, sentences, out=path, language="en", chunk=6, layers=[0], resume=True)
    found = extract(ours, sentences, out=path, language="en", chunk=6, resume=True)
    np.testing.assert_array_equal(found.stacked(), extract(ours, sentences, language="en", chunk=6).stacked())
    assert [file.name for file in tmp_path.iterdir()] == ["v.safetensors"]


@pytest.mark.parametrize("ending", [".safetensors", ""])
def test_numbers_that_were_lost_are_not_taken_for_finished(tmp_path: Path, ending: str):
    path, shapes = tmp_path / f"v{ending}", {"layer.0": ArrayShape("F32", (1000, 8))}
    writer = ArrayWriter(path, shapes, {"format": 1})
    writer.arrays["layer.0"][:900] = 1
    writer.mark({"rows": 900})
    assert ArrayWriter(path, shapes, {"format": 1}, resume=True).done == [{"rows": 900}]
    os.truncate(writer.data if ending else path / "layer.0.npy", 2000)
    assert ArrayWriter(path, shapes, {"format": 1}, resume=True).done == []


def test_a_torn_line_costs_no_other_however_often_it_is_resumed(tmp_path: Path):
    shapes, header = {"layer.0": ArrayShape("F32", (1000, 8))}, {"format": 1}
    journal = ArrayWriter(tmp_path, shapes, header).journal
    for rows in (300, 600, 900):
        ArrayWriter(tmp_path, shapes, header, resume=True).mark({"rows": rows})
        with journal.open("ab") as file:
            file.write(b'{"rows": 6')
    assert [part["rows"] for part in ArrayWriter(tmp_path, shapes, header, resume=True).done] == [300, 600, 900]


def test_without_resume_it_begins_anew(ours: Encoder, sentences: list[str], tmp_path: Path):
    for ending in ("", ".safetensors"):
        path = tmp_path / f"v{ending}"
        extract(ours, sentences, out=path, language="en")
        assert len(extract(ours, sentences[:3], out=path, language="en", layers=[1])) == 3
        assert Representations.load(path).layers == (1,)


def test_errors(imported: EncoderLike, tmp_path: Path):
    cases = [
        ([], ("input.empty",)),
        (["the cat", ""], ("input.empty", "2")),
        ([["the", "cat"]], ("input.type", "1", "['the', 'cat']")),
    ]
    for sentences, expected in cases:
        with raises(*expected):
            extract(imported, sentences, out=tmp_path / "v.safetensors")  # type: ignore[arg-type]
    with raises("input.empty", "1"):
        extract(imported, [["the", ""]], pool="words")
    with raises("input.empty", "1"):
        extract(imported, [[]], pool="words")
    for options, code, value in (
        ({"layers": [4]}, "config.unknown-layer", 4),
        ({"layers": [0, 0]}, "config.invalid-value", "[0, 0]"),
        ({"layers": []}, "config.invalid-value", "layers"),
        ({"layers": "last"}, "config.invalid-value", "'last'"),
        ({"pool": "median"}, "config.unknown-name", "'median'"),
        ({"precision": "float16"}, "config.unknown-name", "'float16'"),
        ({"batch_tokens": 0}, "config.invalid-value", 0),
        ({"length": 2}, "config.invalid-value", 2),
        ({"chunk": 0}, "config.invalid-value", 0),
        ({"resume": True}, "config.conflicting-options", "resume"),
    ):
        with raises(code, value):
            extract(imported, ["the cat"], **options)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_no_numbers(imported: EncoderLike, tmp_path: Path):
    import copy

    broken = copy.deepcopy(imported)
    with torch.no_grad():
        broken.blocks[1].shared.mlp.up.weight[0, 0] = torch.nan  # type: ignore[attr-defined]
    with raises("input.not-finite", 2):
        extract(broken, ["the cat", "yes"], out=tmp_path / "v.safetensors")
    assert list(tmp_path.iterdir()) == []
    assert len(extract(broken, ["the cat"], layers=[0, 1])) == 1


def test_damaged_files_are_refused(imported: EncoderLike, tmp_path: Path, each_damage):
    path, folder = tmp_path / "v.safetensors", tmp_path / "v"
    extract(imported, ["the cat"], out=path)
    extract(imported, ["the cat"], out=folder)
    for file, opened in ((path, path), (folder / "layer.0.npy", folder)):
        file.write_bytes(file.read_bytes()[:-4])
        with raises("corrupt-file.size"):
            Representations.open(opened)
    path.write_bytes(b"no such thing")
    with raises("corrupt-file"):
        Representations.open(path)
    for _ in each_damage(folder / "representations.json"):
        with suppress(IsoglotError):
            Representations.open(folder)
    (folder / "representations.json").write_text("{}")
    with raises("input.unknown-format", "1"):
        Representations.open(folder)
    for missing in (tmp_path / "x.safetensors", tmp_path):
        with pytest.raises(StorageError):
            Representations.open(missing)


def test_the_line_that_is_no_text_is_named(imported: EncoderLike, tmp_path: Path):
    (tmp_path / "a.txt").write_text("the cat\n" + "日" * 1_000_001 + "\n")
    with raises("input.line-length", "a.txt", "2", "1,000,001"):
        extract(imported, tmp_path / "a.txt", out=tmp_path / "v")
    with raises("input.line-length", "1,000,001"):
        extract(imported, ["the cat", "a" * 1_000_001])
    assert len(extract(imported, ["a " * 600_000])) == 1
    assert not (tmp_path / "v").exists()


def test_a_full_disk_is_an_error(imported: EncoderLike, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import errno
    import os

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    for name in ("v.safetensors", "v"):
        with raises("storage.disk-full"):
            extract(imported, ["the cat"], out=tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["v"]


@pytest.mark.parametrize("count", [1, 3, 100])
def test_batches_given_ahead_change_nothing(
    ours: Encoder, sentences: list[str], tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
):
    options: dict[str, Any] = {"language": "en", "chunk": 6, "batch_tokens": 60, "length": 20}
    for pool in ("mean", "words"):
        plain = extract(ours, sentences, pool=pool, **options)
        monkeypatch.setitem(IN_FLIGHT, "cpu", count)
        late = extract(ours, sentences, pool=pool, **options)
        stored = extract(ours, sentences, pool=pool, out=tmp_path / f"{pool}.safetensors", **options)
        monkeypatch.delitem(IN_FLIGHT, "cpu")
        for other in (late, stored):
            np.testing.assert_array_equal(other.stacked(), plain.stacked())
            assert other.header == plain.header


def test_the_largest_number_of_a_layer_tells_whether_all_are_numbers():
    vectors_LKD = torch.zeros(3, 4, 5)
    for wrong in (torch.nan, torch.inf, -torch.inf):
        vectors_LKD[1, 2, 3] = wrong
        with raises("input.not-finite", "7"):
            check_finite(vectors_LKD.abs().amax(dim=(1, 2)), [0, 7, 9])
    check_finite(torch.full((2,), torch.finfo(torch.float32).max), [0, 1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_gives_what_the_cpu_gives(encoder: EncoderLike, sentences: list[str]):
    import copy

    plain = extract(encoder, sentences, language="en", chunk=7, batch_tokens=60)
    there: Any = copy.deepcopy(encoder)
    fast = extract(there.to("cuda"), sentences, language="en", chunk=7, batch_tokens=60)
    np.testing.assert_allclose(fast.stacked(), plain.stacked(), atol=1e-3)
    assert fast.header == plain.header, "the hash of the weights, too"
    with torch.no_grad():
        next(there.parameters()).fill_(torch.nan)
    with raises("input.not-finite"):
        extract(there, sentences, language="en")
