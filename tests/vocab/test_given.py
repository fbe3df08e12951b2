from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from isoglot.vocab import Vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from tests.errors import raises

UNKNOWN = "<unk>"


@pytest.fixture(scope="module")
def bert(texts, tmp_path_factory) -> Path:
    """A tokenizer as mBERT's is, small."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=list(SPECIAL), show_progress=False)
    tokenizer.train([str(texts["en"][0])], trainer)
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    folder: Path = tmp_path_factory.mktemp("bert")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_a_tokenizer_on_disk_is_wrapped(bert: Path, lines):
    vocabulary = Vocabulary.from_tokenizer(bert)
    assert (vocabulary.mode, len(vocabulary), vocabulary.languages) == ("given", 500, ())
    assert vocabulary.special == {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    line = max(lines["en"], key=len)
    tokenizer = Tokenizer.from_file(str(bert / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    assert vocabulary.encode(line, "en") == tokenizer.encode(line, add_special_tokens=False).ids
    assert vocabulary.decode(vocabulary.encode("the cat", "en")) == "the cat"
    assert len(vocabulary.ids_of("sw")) == 500
    same = Vocabulary.from_tokenizer(bert / "tokenizer.json")
    assert same.hash == vocabulary.hash


def test_it_is_saved_and_loaded(bert: Path, lines, tmp_path: Path):
    vocabulary = Vocabulary.from_tokenizer(bert, languages=["eng"])
    vocabulary.save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert (loaded.hash, loaded.languages, loaded.pieces) == (vocabulary.hash, ("en",), vocabulary.pieces)


def test_words_are_told_from_what_continues_them(bert: Path):
    vocabulary = Vocabulary.from_tokenizer(bert)
    index = {piece: i for i, piece in enumerate(vocabulary.pieces)}
    assert vocabulary.word(index["the"]) == "the"
    assert vocabulary.word(next(i for piece, i in index.items() if piece.startswith("##"))) is None
    assert vocabulary.word(index["[CLS]"]) is None


def test_ids_by_language_once_they_were_seen(bert: Path, lines):
    from isoglot.vocab.anchors import count_tokens

    vocabulary = Vocabulary.from_tokenizer(bert)
    counts = {code: count_tokens(vocabulary, code, [path]) for code, path in _files(bert, lines).items()}
    seen = vocabulary.observed(counts)
    assert seen.languages == ("en", "fr")
    assert 5 < len(seen.ids_of("fr")) < len(seen.ids_of("en")) <= 500


def _files(folder: Path, lines) -> dict[str, Path]:
    files = {}
    for code in ("en", "fr"):
        files[code] = folder / f"{code}.txt"
        files[code].write_text("\n".join(lines[code]))
    return files


def test_other_names_of_special_tokens(tmp_path: Path):
    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "<pad>": 1, "</s>": 2, UNKNOWN: 3, "a": 4}, unk_token=UNKNOWN))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    bare = Vocabulary.from_tokenizer(tmp_path)
    assert bare.special == {"[UNK]": 3}  # the others are pieces like any: nobody says that they are special
    assert (bare.encode("a"), bare.pad_id) == ([4], 0)
    with raises("config.not-supported"):
        _ = bare.mask_id
    tokenizer.add_special_tokens(["<mask>", "<s>", "</s>", "<pad>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert Vocabulary.from_tokenizer(tmp_path).special == {"[PAD]": 1, "[UNK]": 3, "[CLS]": 0, "[SEP]": 2, "[MASK]": 5}


def test_no_such_file_and_no_tokenizer(tmp_path: Path):
    with raises("storage.tokenizer-not-found", tmp_path):
        Vocabulary.from_tokenizer(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("{}")
    with raises("input.unknown-format"):
        Vocabulary.from_tokenizer(tmp_path / "x.json")
    (tmp_path / "empty").mkdir()
    with raises("storage.tokenizer-not-found", tmp_path):
        Vocabulary.from_tokenizer(tmp_path / "empty")


def test_without_a_hub_a_name_is_refused_at_once(monkeypatch: pytest.MonkeyPatch):
    def no_address(*_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_address)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with raises("storage.tokenizer-not-found", "'no-such-tokenizer'"):
        Vocabulary.from_tokenizer("no-such-tokenizer")
