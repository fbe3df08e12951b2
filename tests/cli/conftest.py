"""What ``isoglot align`` and ``isoglot retrieve`` work on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from isoglot.align import Procrustes
from isoglot.languages import align, documents, parallel
from isoglot.model import Encoder, encoder_config, save_encoder
from isoglot.text.formats.parallel import write_pharaoh
from isoglot.text.formats.word_vectors import write_vectors
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from tests.cli.align_options import QUICK
from tests.cli.retrieve_data import EN, FR, WORDS
from tests.cli.retrieve_data import QUICK as RETRIEVE_QUICK
from tests.given_words import given_words


@pytest.fixture(scope="session")
def align_folder(nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of English and French on disk, and parallel text, links, running text and dictionaries."""
    folder: Path = tmp_path_factory.mktemp("align")
    texts = {}
    for code in ("en", "fr"):
        lines = [s.text for document in islice(documents(code, seed=1), 40) for s in document]
        (folder / f"text.{code}").write_text("\n".join(lines) + "\n")
        texts[code] = [folder / f"text.{code}"]
    vocabulary = train_vocabulary(texts, mode="joint", size=1000, coverage=1.0)
    encoder = nano_encoder(vocabulary, "paper")
    encoder.provenance = given_words(["cat"], ["chat"])
    save_encoder(encoder, folder / "model")
    rows = list(islice(parallel(("en", "fr"), seed=2), 150))
    for side, code in enumerate(("en", "fr")):
        (folder / f"p.{code}").write_text("\n".join(" ".join(row[side].tokens()) for row in rows) + "\n")
    (folder / "p.tsv").write_text("en\tfr\n" + "".join(f"{a.text}\t{b.text}\n" for a, b in rows))
    write_pharaoh(folder / "p.align", [align(*row) for row in rows])
    entries = sorted({(a.words[i].lower(), b.words[j].lower()) for a, b in rows for i, j in align(a, b)})
    words = sorted({a for a, _ in entries} - {"cat"})
    held = set(words[::4])
    for name, part in (("train", set(words) - held), ("test", held)):
        lines = [f"{a} {b}" for a, b in entries if a in part and " " not in a + b]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def align_run(isoglot, align_folder: Path, tmp_path: Path):
    """``align_run(use, *options)``: align with the encoder into ``tmp_path / "map"``; ``@`` stands for the folder."""

    def go(use: str, *options: str, source: str | None = "@/model"):
        given = [*([] if source is None else [source]), "--out", str(tmp_path / "map"), *QUICK, *options]
        return isoglot("align", use, *(option.replace("@", str(align_folder)) for option in given))

    return go


@pytest.fixture(scope="session")
def retrieve_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of English and French on disk, with parallel text, a table, Tatoeba's layout and a dictionary."""
    folder: Path = tmp_path_factory.mktemp("retrieve")
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *WORDS, *WORDS.values()))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr", "de"])
    config = encoder_config("paper", "nano", vocabulary_size=len(pieces), languages=("en", "fr"))
    save_encoder(Encoder(config, vocabulary), folder / "model")
    (folder / "a.txt").write_text("\n".join(EN) + "\n")
    (folder / "b.txt").write_text("\n".join(FR) + "\n")
    rows = [f"{en}\t{fr}\t{en}" for en, fr in zip(EN, FR, strict=True)]
    (folder / "table.tsv").write_text("\n".join(["eng\tfra\tdeu", *rows[:3], "a cat\t \ta cat", *rows[3:]]) + "\n")
    (folder / "tatoeba").mkdir()
    (folder / "tatoeba" / "tatoeba.fra-eng.eng").write_text("\n".join(EN) + "\n")
    (folder / "tatoeba" / "tatoeba.fra-eng.fra").write_text("\n".join(FR) + "\n")
    (folder / "en-fr.txt").write_text("".join(f"{en} {fr}\n" for en, fr in WORDS.items()) + "bird oiseau\n")
    X = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0].astype(np.float32)
    names = [f"w{row}" for row in range(12)]
    write_vectors(folder / "x.vec", names, X)
    write_vectors(folder / "y.vec", [name.upper() for name in names], X @ turn)
    (folder / "w.txt").write_text("".join(f"{name} {name.upper()}\n" for name in names[6:]))
    Procrustes().fit(X[:6], X[:6] @ turn).save(folder / "map.safetensors")
    np.save(folder / "x.npy", X)
    np.save(folder / "layers.npy", np.stack([np.roll(X, 1, axis=0), X]))
    return folder


@pytest.fixture
def sentences(isoglot, retrieve_folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(retrieve_folder)
    return lambda *options: isoglot("retrieve", "sentences", *RETRIEVE_QUICK, *options)


@pytest.fixture
def words(isoglot, retrieve_folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(retrieve_folder)
    return lambda *options: isoglot("retrieve", "words", *RETRIEVE_QUICK, *options)
