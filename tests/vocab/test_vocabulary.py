from __future__ import annotations

import hashlib
import io
import json
import unicodedata
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.artifact import write_sealed
from isoglot.core.errors import CorruptFileError, IsoglotError
from isoglot.languages import documents, twin
from isoglot.vocab import Vocabulary, build_shards, train_vocabulary
from isoglot.vocab.subword_scheme import BYTES, SPECIAL
from tests.errors import raises

MODES = ("joint", "union", "disjoint", "graded")
MODELS = ("bpe", "wordpiece", "unigram")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_and_model_gives_the_text_back(trained, lines, mode: str, model: str):
    vocabulary = trained(mode, model)
    for code, text in lines.items():
        sentences = [line for line in text if line][:100]
        for sentence, ids in zip(sentences, vocabulary.encode_batch(sentences, code), strict=True):
            assert vocabulary.decode(ids) == sentence
            assert ids == vocabulary.encode(sentence, code)


@given(text=TEXT)
def test_any_text_comes_back_in_normal_form(trained, text: str):
    wanted = unicodedata.normalize("NFC", text).replace("▁", " ")
    for model in ("bpe", "unigram"):
        for mode in ("joint", "disjoint"):
            vocabulary = trained(mode, model)
            assert vocabulary.decode(vocabulary.encode(text, "de")) == wanted


@pytest.mark.parametrize("model", MODELS)
def test_pieces_that_look_like_marks_of_the_model_come_back(trained, model: str):
    vocabulary = trained("union", model)
    for text in ("## a #b a#b ###", "  two  blanks ", "<0x41> [MASK] [UNK]x", "fr:la de:x"):
        ids = vocabulary.encode(text, "fr")
        assert model == "wordpiece" or vocabulary.decode(ids) == text
        assert not {vocabulary.special[name] for name in SPECIAL if name != "[UNK]"} & set(ids)
        assert set(ids) <= set(vocabulary.ids_of("fr").tolist())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("normalization", ["nfc", "nfkc", "none"])
def test_a_made_up_script_survives(tmp_path: Path, model, normalization):
    sentences = [sentence.words for document in islice(documents("en", seed=3), 30) for sentence in document]
    made = [" ".join(found.tokens) for found in twin(sentences, "shift")]
    assert any(unicodedata.category(character) == "Co" for character in made[0])
    path = tmp_path / "twin.txt"
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    vocabulary = train_vocabulary(
        {"en-x-shift": [path]}, mode="disjoint", size=600, model=model, coverage=1.0, normalization=normalization
    )
    for line in made:
        ids = vocabulary.encode(line, "en-x-shift")
        assert vocabulary.decode(ids) == line
        assert vocabulary.special["[UNK]"] not in ids
    assert any(len(piece) > 3 and unicodedata.category(piece[-1]) == "Co" for piece in vocabulary.pieces)


# --- sharing ---


@pytest.mark.parametrize("model", MODELS)
def test_disjoint_shares_nothing_but_special_tokens(trained, lines, model: str):
    vocabulary = trained("disjoint", model)
    special = set(vocabulary.special.values())
    sets = {code: set(vocabulary.ids_of(code).tolist()) for code in vocabulary.languages}
    for first, second in (("en", "fr"), ("en", "de"), ("fr", "de")):
        assert sets[first] & sets[second] == special
        assert not len(vocabulary.anchors(first, second))
    for code, text in lines.items():
        seen = {index for ids in vocabulary.encode_batch(text[:200], code) for index in ids}
        assert seen <= sets[code]
    assert sum(len(found - special) for found in sets.values()) + len(special) == len(vocabulary)


@pytest.mark.parametrize("model", MODELS)
def test_union_is_the_set_union_of_its_languages(trained, model: str):
    whole, apart = trained("union", model), trained("disjoint", model)
    pieces = {code: {apart.pieces[i] for i in apart.ids_of(code)} for code in apart.languages}
    assert len(whole.pieces) == len(set(whole.pieces))
    assert set(whole.pieces) == set().union(*pieces.values())
    for code in whole.languages:
        assert {whole.pieces[i] for i in whole.ids_of(code)} == pieces[code]
    shared = {whole.pieces[i] for i in whole.anchors("en", "fr")}
    assert shared == (pieces["en"] & pieces["fr"]) - set(SPECIAL)


@pytest.mark.parametrize("model", MODELS)
def test_a_language_is_cut_the_same_whatever_is_shared(trained, lines, model: str):
    modes = [trained(mode, model) for mode in ("union", "disjoint", "graded")]
    for code, text in lines.items():
        for line in text[:50]:
            cuts = [[v.pieces[i] for i in v.encode(line, code)] for v in modes]
            assert cuts[0] == cuts[1] == cuts[2]


def test_every_id_a_text_gets_in_a_joint_vocabulary_belongs_to_its_language(trained, lines):
    vocabulary = trained("joint")
    for code, text in lines.items():
        seen = {index for ids in vocabulary.encode_batch(text, code) for index in ids}
        assert set(vocabulary.ids_of(code).tolist()) == seen | set(vocabulary.special.values())
        assert np.array_equal(np.flatnonzero(vocabulary.counts(code)), sorted(seen))


# --- training ---


def test_pieces_are_those_of_tokenizers_on_the_same_text(texts, lines):
    """One language, all of its text: BPE by hand, with the same parts, gives the same merges."""
    from tokenizers import Tokenizer, trainers

    from isoglot.vocab.subword_scheme import empty_model, normalizer, word_splitter

    ours = train_vocabulary({"en": texts["en"]}, mode="joint", size=700, coverage=1.0)
    direct = Tokenizer(empty_model("bpe", "bytes"))
    direct.normalizer = normalizer("nfc")
    direct.pre_tokenizer = word_splitter("bpe")
    make: Any = trainers.BpeTrainer
    trainer = make(vocab_size=700, special_tokens=[*SPECIAL, *BYTES], show_progress=False)
    direct.train_from_iterator([line for line in lines["en"] if line], trainer)
    models = [json.loads(tokenizer.to_str())["model"] for tokenizer in (direct, ours.tokenizer("en"))]
    assert models[0] == models[1]


@pytest.mark.parametrize("model", MODELS)
def test_same_text_and_seed_same_vocabulary(texts, trained, model):
    again = train_vocabulary(texts, mode="joint", size=700, model=model, coverage=1.0)
    assert again.hash == trained("joint", model).hash


def test_another_sample_is_another_vocabulary(texts, tmp_path: Path):
    small = tmp_path / "fr.txt"
    small.write_text("\n".join(texts["fr"][0].read_text().split("\n")[:60]) + "\n")
    hashes = {
        train_vocabulary({"en": texts["en"], "fr": [small]}, mode="joint", size=600, exponent=e, seed=s).hash
        for e, s in ((0.7, 0), (0.7, 1), (1.0, 0), (1.0, 1))
    }
    assert len(hashes) == 3  # in proportion, nothing is left to chance


def test_characters_outside_the_alphabet(texts):
    as_bytes = train_vocabulary({"en": texts["en"]}, mode="joint", size=600)
    as_unknown = train_vocabulary({"en": texts["en"]}, mode="joint", size=600, unknown="unk")
    assert [as_bytes.pieces[i] for i in as_bytes.encode("日")] == ["▁", "<0xE6>", "<0x97>", "<0xA5>"]
    assert [as_unknown.pieces[i] for i in as_unknown.encode("日")] == ["▁", "[UNK]"]
    assert as_unknown.decode(as_unknown.encode("a 日")) == "a [UNK]"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "jointly"}, ("config.unknown-name", "'jointly'")),
        (
            {"model": "wordpiece", "unknown": "bytes"},
            ("config.conflicting-options", "WordPiece"),
        ),
        (
            {"mode": "graded"},
            ("config.conflicting-options",),
        ),
    ],
)
def test_options_that_do_not_fit(texts, options, expected: tuple[str, ...]):
    with raises(*expected):
        train_vocabulary(texts, **{"mode": "joint", "size": 700, **options})


def test_a_size_without_room(texts):
    with raises("config.invalid-value", 300, 261):
        train_vocabulary({"en": texts["en"]}, mode="joint", size=300)


@pytest.mark.parametrize("mode", ["joint", "disjoint"])
def test_the_size_counts_merges_where_it_is_told_to(texts, mode):
    made = {count: train_vocabulary(texts, mode=mode, size=500, count=count) for count in ("subwords", "merges")}
    for code in made["merges"].languages:
        model = json.loads(made["merges"].view(code))["model"]
        assert len(model["merges"]) == 500
        if mode == "disjoint":  # a joint vocabulary has pieces a language does not use
            assert len(made["subwords"].ids_of(code)) == 500
            letters = {piece for piece in model["vocab"] if len(piece) == 1}
            assert len(made["merges"].ids_of(code)) == 500 + len(SPECIAL) + len(BYTES) + len(letters)
    with raises("config.conflicting-options"):
        train_vocabulary(texts, mode=mode, size=500, count="merges", model="unigram")


def test_blank_text(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("\n  \n")
    with raises("input.empty", path, "en"):
        train_vocabulary({"en": [path]}, mode="joint", size=700)


def test_a_language_must_be_named_and_known(trained):
    with raises("config.missing-option"):
        trained("union").encode("a")
    with raises("config.unknown-language", "'ru'"):
        trained("union").encode("a", "ru")


def test_what_reads_several_languages_alike_reads_any_other(trained, texts, tmp_path: Path):
    joint = trained("joint")
    for language in ("ru", "eng", None):
        assert joint.encode("the cat", language) == joint.encode("the cat", "en")
        assert joint.line_encoder(language).encode(["the cat"]) == joint.line_encoder("en").encode(["the cat"])
    assert joint.provenance.words("ru") == frozenset()
    with raises("config.language-code", "'xx'"):
        joint.encode("a", "xx")
    for strict in (joint.ids_of, joint.counts, lambda code: build_shards(texts["en"], joint, code, tmp_path / "s")):
        with raises("config.unknown-language", "'ru'"):
            strict("ru")
    assert not (tmp_path / "s").exists()
    alone = train_vocabulary({"en": texts["en"]}, mode="joint", size=400)
    with raises("config.unknown-language", "'ru'"):
        alone.encode("a", "ru")


# --- files ---


@pytest.mark.parametrize("mode", MODES)
def test_saved_and_loaded_it_is_the_same(trained, lines, tmp_path: Path, mode: str):
    vocabulary = trained(mode)
    vocabulary.save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert (loaded.hash, loaded.mode, loaded.languages) == (vocabulary.hash, mode, vocabulary.languages)
    assert loaded.pieces == vocabulary.pieces
    assert loaded.about == json.loads(json.dumps(vocabulary.about))
    for code in loaded.languages:
        assert np.array_equal(loaded.ids_of(code), vocabulary.ids_of(code))
        assert loaded.counts(code).tolist() == vocabulary.counts(code).tolist()  # type: ignore[union-attr]
        assert loaded.encode(lines[code][0], code) == vocabulary.encode(lines[code][0], code)
    before = {path.name: path.read_bytes() for path in (tmp_path / "v").rglob("*") if path.is_file()}
    loaded.save(tmp_path / "v")
    assert {path.name: path.read_bytes() for path in (tmp_path / "v").rglob("*") if path.is_file()} == before


def test_an_altered_file_is_refused(trained, tmp_path: Path):
    trained("union").save(tmp_path)
    path = tmp_path / "fr" / "tokenizer.json"
    path.write_text(path.read_text() + " ")
    with raises("corrupt-file.hash", path):
        Vocabulary.load(tmp_path)


def test_what_is_no_vocabulary_is_refused(tmp_path: Path):
    with raises("storage.not-found", tmp_path):
        Vocabulary.load(tmp_path)
    (tmp_path / "vocabulary.json").write_text("[]")
    with raises("input.unknown-format"):
        Vocabulary.load(tmp_path)


def test_an_index_with_something_missing_is_refused(trained, tmp_path: Path, each_damage):
    trained("union").save(tmp_path)
    for _ in each_damage(tmp_path / "vocabulary.json"):
        with suppress(IsoglotError):
            Vocabulary.load(tmp_path)
    index = json.loads((tmp_path / "vocabulary.json").read_text())
    write_sealed(tmp_path / "vocabulary.json", index | {"size": None})
    with raises("corrupt-file", "'size'"):
        Vocabulary.load(tmp_path)


def test_each_view_opens_in_tokenizers_with_global_ids(trained, lines, tmp_path: Path):
    from tokenizers import Tokenizer

    for mode, name in (("joint", ""), ("union", "de"), ("graded", "fr")):
        vocabulary = trained(mode)
        vocabulary.save(tmp_path / mode)
        view = Tokenizer.from_file(str(tmp_path / mode / name / "tokenizer.json"))
        code = name or "en"
        line = lines[code][1]
        ids = vocabulary.encode(line, code)
        framed = [vocabulary.special["[CLS]"], *ids, vocabulary.special["[SEP]"]]
        assert view.encode(line).ids == framed
        assert view.decode(framed) == line
        assert view.get_vocab_size() == len(vocabulary)


def test_transformers_opens_it(trained, lines, tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    for mode, name in (("joint", ""), ("disjoint", "de")):
        vocabulary = trained(mode)
        vocabulary.save(tmp_path / mode)
        for fast in (
            transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / mode / name),
            transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / mode / name / "tokenizer.json")),
        ):
            ids = fast(lines["de"][1], add_special_tokens=False)["input_ids"]
            assert ids == vocabulary.encode(lines["de"][1], "de")
            assert fast.decode(ids) == lines["de"][1]
        assert transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / mode / name).mask_token == SPECIAL[4]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"size": 7}, "7"),
        ({"size": 5000, "counted": []}, "5,000"),
        ({"size": 10**12}, "1000000000000"),
        ({"size": True}, "True"),
        ({"mode": "other"}, "'other'"),
        ({"padding_side": "up"}, "'up'"),
        ({"languages": ["de", "en", "fr", "nl"]}, "'nl'"),
        ({"languages": []}, "'de'"),
        ({"files": {}, "counted": []}, "tokenizer"),
        ({"counted": ["de"]}, "1"),
        ({"special": {"[PAD]": 10**9}}, "1000000000"),
        ({"special": {"[PAD]": -1}}, "-1"),
        *(({"ids": {"de": [ids]}}, str(ids)) for ids in ([3], [0, 10**12], [-2, 3], [3, 1])),
        *(({"ids": {"de": [ids]}}, str(ids)) for ids in (["a", "b"], [None, 1], [0, 1, 2])),
        ({"ids": {"de": [[0, 3]]}}, "'en'"),
    ],
)
def test_wrong_sizes_and_ids_are_refused_under_a_hash_that_fits(
    trained, tmp_path: Path, change: dict[str, Any], value: str
):
    trained("union").save(tmp_path)
    index = json.loads((tmp_path / "vocabulary.json").read_text())
    write_sealed(tmp_path / "vocabulary.json", index | change)
    with raises("corrupt-file", value, file=tmp_path / "vocabulary.json"):
        Vocabulary.load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 5000, b"\xff", b'{"version": "1.0", "model": {"type": "x"}}'])
def test_what_is_no_tokenizer_is_refused_under_a_hash_that_fits(trained, tmp_path: Path, data: bytes):
    trained("union").save(tmp_path)
    (tmp_path / "de" / "tokenizer.json").write_bytes(data)
    index = json.loads((tmp_path / "vocabulary.json").read_text())
    index["files"]["de/tokenizer.json"] = hashlib.sha256(data).hexdigest()
    write_sealed(tmp_path / "vocabulary.json", index)
    with raises("input.unknown-format") as caught:
        Vocabulary.load(tmp_path)
    assert caught.value.file == str(tmp_path / "de" / "tokenizer.json")


def as_npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"\x93NUMPY\x01\x00\x05\x00{",
        as_npy(np.ones((2, 3)))[:-4],
        as_npy(np.array([[None]])),
        as_npy(np.array([["many"]])),
        as_npy(np.array([[-1]])),
    ],
)
def test_what_is_no_table_of_counts_is_refused_under_a_hash_that_fits(trained, tmp_path: Path, data: bytes):
    trained("union").save(tmp_path)
    (tmp_path / "counts.npy").write_bytes(data)
    index = json.loads((tmp_path / "vocabulary.json").read_text())
    index["files"]["counts.npy"] = hashlib.sha256(data).hexdigest()
    write_sealed(tmp_path / "vocabulary.json", index)
    with pytest.raises(CorruptFileError) as caught:
        Vocabulary.load(tmp_path)
    assert caught.value.file == str(tmp_path / "counts.npy")
