"""Training a BPE vocabulary against calling ``tokenizers`` on the same file with the same parts, in the same run.

Ours also surveys the text and counts pieces in a sample of it. Target: at most 1.1 x the time.

    python benchmarks/vocabulary.py en=wiki.en.txt zh=wiki.zh.txt

Without a file: the built-in English and French.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, trainers

from isoglot.languages import documents
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.scheme import BYTES, SPECIAL, empty_model, normalizer, word_splitter

ROUNDS = 3
SIZE = 32_000


def built_in(folder: Path, language: str, sentences: int = 40_000) -> Path:
    path = folder / f"{language}.txt"
    made = islice((s.text for document in documents(language, seed=1) for s in document), sentences)
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    return path


def direct(path: Path, letters: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(empty_model("bpe", "bytes"))
    tokenizer.normalizer = normalizer("nfc")
    tokenizer.pre_tokenizer = word_splitter("bpe")
    make: Any = trainers.BpeTrainer
    trainer = make(
        vocab_size=SIZE,
        special_tokens=[*SPECIAL, *BYTES],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    with path.open(encoding="utf-8") as file:
        lines = (line.rstrip("\n") for line in file)
        tokenizer.train_from_iterator((line for line in lines if line), trainer)
    return tokenizer


def compare(language: str, path: Path) -> None:
    ours, peer = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        vocabulary: Vocabulary = train_vocabulary({language: [path]}, mode="joint", size=SIZE)
        ours.append(time.perf_counter() - start)
        letters = [piece for piece in vocabulary.pieces if len(piece) == 1]
        start = time.perf_counter()
        tokenizer = direct(path, letters)
        peer.append(time.perf_counter() - start)
    models = [json.loads(made.to_str())["model"] for made in (tokenizer, vocabulary.tokenizer(language))]
    same = "the same merges" if models[0] == models[1] else "OTHER MERGES"
    print(
        f"{language}: {path.stat().st_size / 1e6:.0f} MB, {SIZE:,} pieces, {min(ours):.2f} s; "
        f"tokenizers {min(peer):.2f} s; {min(ours) / min(peer):.2f} x the time, {same}"
    )


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = dict(argument.split("=", 1) for argument in arguments)
        texts = {language: Path(path) for language, path in files.items()}
        for language, path in (texts or {code: built_in(Path(name), code) for code in ("en", "fr")}).items():
            compare(language, path)


if __name__ == "__main__":
    main(sys.argv[1:])
