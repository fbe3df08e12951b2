"""A language added to a vocabulary: nothing changes for the others, and its own text is spelled in fewer subwords."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from isoglot.languages import documents
from isoglot.vocab import Vocabulary, build_shards, extend_vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from tests.errors import raises

FRAME = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])


def written(folder: Path, language: str, count: int = 60) -> Path:
    path = folder / f"{language}.txt"
    made = islice(documents(language, seed=2), count)
    path.write_text("\n\n".join("\n".join(s.text for s in document) for document in made) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def french(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("new"), "fr")


@pytest.fixture(scope="module")
def russian(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("new"), "ru")


@pytest.fixture(scope="module")
def given(texts, tmp_path_factory):
    """``given(kind)``: an English tokenizer as those of BERT, XLM-R and ModernBERT are, small."""
    options: dict[str, Any] = {"vocab_size": 500, "special_tokens": list(SPECIAL), "show_progress": False}

    def make(kind: str) -> Vocabulary:
        trainer: Any
        if kind == "bert":
            tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL[1]))
            tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
            tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            tokenizer.decoder = decoders.WordPiece()
            trainer = trainers.WordPieceTrainer(**options)
        elif kind == "xlm-r":
            tokenizer = Tokenizer(models.Unigram())
            tokenizer.normalizer = normalizers.NFKC()
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
            tokenizer.decoder = decoders.Metaspace()
            trainer = trainers.UnigramTrainer(**options, unk_token=SPECIAL[1])
        else:
            tokenizer = Tokenizer(models.BPE())
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            tokenizer.decoder = decoders.ByteLevel()
            trainer = trainers.BpeTrainer(**options, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train([str(texts["en"][0])], trainer)
        tokenizer.add_tokens(["<a name>"])  # beyond the model's own ids, as in ModernBERT
        tokenizer.post_processor = FRAME
        folder = tmp_path_factory.mktemp(kind)
        tokenizer.save(str(folder / "tokenizer.json"))
        return Vocabulary.from_tokenizer(folder)

    return make


@pytest.fixture(scope="module")
def ours(texts):
    """``ours(model, mode)``: a vocabulary of English and German."""

    def make(model: str, mode: str = "joint") -> Vocabulary:
        two = {code: texts[code] for code in ("en", "de")}
        return train_vocabulary(two, mode=mode, size=600, model=model, coverage=1.0)

    return make


def checked(old: Vocabulary, code: str, text: Path, lines: dict[str, list[str]], tmp_path: Path) -> Vocabulary:
    """Extend a vocabulary and check the promises."""
    size = len(old)
    new = extend_vocabulary(old, code, [text], size=700)
    assert len(new) > size
    assert new.pieces[:size] == old.pieces
    assert (new.special, new.layout) == (old.special, old.layout)
    for other in old.languages or ("en", "de"):
        assert new.encode_batch(lines[other], other) == old.encode_batch(lines[other], other)
    sentences = [line for line in text.read_text(encoding="utf-8").splitlines() if line]
    ids = new.encode_batch(sentences, code)
    used = {index for row in ids for index in row}
    assert used <= set(new.ids_of(code).tolist())
    assert sum(row.count(new.unknown_id) for row in ids) < 0.005 * sum(map(len, ids))
    assert max(used) >= size
    assert min(used) < size  # shared strings, such as the full stop, keep their ids
    before = old.encode_batch(sentences, "en" if old.languages else None)
    assert sum(map(len, ids)) < 0.9 * sum(map(len, before))
    new.save(tmp_path / "saved")
    loaded = Vocabulary.load(tmp_path / "saved")
    assert loaded.hash == new.hash != old.hash
    assert loaded.encode_batch(sentences, code) == ids
    again = extend_vocabulary(old, code, [text], size=700)
    assert again.hash == new.hash
    return new


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram"])
def test_our_vocabularies(ours, model: str, french: Path, lines, tmp_path: Path):
    new = checked(ours(model), "fr", french, lines, tmp_path)
    assert new.languages == ("en", "de", "fr")
    assert new.decode(new.encode("Le chat dort.", "fr")).lower() == "le chat dort."


def test_a_vocabulary_with_a_view_for_each_language(ours, french: Path, lines, tmp_path: Path):
    checked(ours("bpe", "union"), "fr", french, lines, tmp_path)


def test_a_disjoint_vocabulary_stays_disjoint(ours, french: Path):
    new = extend_vocabulary(ours("bpe", "disjoint"), "fr", [french], size=700)
    assert not len(new.anchors("en", "fr"))


@pytest.mark.parametrize("kind", ["bert", "xlm-r", "modernbert"])
def test_tokenizers_of_other_models(given, kind: str, french: Path, lines, tmp_path: Path):
    old = given(kind)
    assert "<a name>" in old.pieces
    new = checked(old, "fr", french, lines, tmp_path)
    assert new.languages == ()
    assert new.encode("The cat sleeps.", "sw") == old.encode("The cat sleeps.")


@pytest.mark.parametrize("kind", ["bert", "xlm-r", "modernbert"])
def test_another_script(given, kind: str, russian: Path):
    old = given(kind)
    new = extend_vocabulary(old, "ru", [russian], size=700)
    text = russian.read_text(encoding="utf-8").splitlines()[0]
    assert new.decode(new.encode(text, "ru")).replace(" ", "").lower() == text.replace(" ", "").lower()


def test_a_script_that_cannot_be_spelled_is_refused(given, russian: Path):
    with raises("config.not-supported", "ru", "unknown"):
        extend_vocabulary(given("bert"), "ru", [russian], size=0)
    assert len(extend_vocabulary(given("modernbert"), "ru", [russian], size=0)) == len(given("modernbert"))


def test_two_languages_one_after_the_other(ours, french: Path, russian: Path):
    old = ours("bpe")
    both = extend_vocabulary(extend_vocabulary(old, "fr", [french], size=700), "ru", [russian], size=700)
    assert both.languages == ("en", "de", "fr", "ru")
    assert both.encode("Le chat dort.", "fr") == extend_vocabulary(old, "fr", [french], size=700).encode(
        "Le chat dort.", "fr"
    )


def test_shards_of_the_new_language(given, french: Path, tmp_path: Path):
    new = extend_vocabulary(given("bert"), "fr", [french], size=700)
    shards = build_shards([french], new, "fr", tmp_path / "fr", dev_share=0.2)
    first = next(line for line in french.read_text(encoding="utf-8").splitlines() if line)
    sentences = [*shards.sentences(), *shards.sentences("dev")]
    assert any(np.array_equal(sentence, new.encode(first, "fr")) for sentence in sentences)


def test_bad_input(ours, french: Path, tmp_path: Path):
    short = tmp_path / "short.txt"
    short.write_text("Habari ya asubuhi.\n" * 20, encoding="utf-8")
    with raises("config.duplicate", "de"):
        extend_vocabulary(ours("bpe"), "deu", [french])
    with raises("input.too-few", 20):
        extend_vocabulary(ours("bpe"), "sw", [short])
    with raises("config.invalid-value", 50):
        extend_vocabulary(ours("bpe"), "fr", [french], size=50)
