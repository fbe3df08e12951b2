"""Training a BPE vocabulary against calling ``tokenizers`` on the same file with the same parts, in the same run.

Ours also surveys the text and counts pieces in a sample of it; ``tokenizers`` is called in the three ways there are,
with its own threads, and the fastest counts. They take turns; the best of the rounds counts. Target: at most 1.1 x.

    python benchmarks/vocabulary.py en=wiki.en.txt zh=wiki.zh.txt

Without a file: the built-in English and French.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer, trainers

from isoglot.languages import documents
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import BYTES, SPECIAL, empty_model, normalizer, word_splitter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 3
SIZE = 32_000


def built_in(folder: Path, language: str, sentences: int = 40_000) -> Path:
    path = folder / f"{language}.txt"
    made = islice((s.text for document in documents(language, seed=1) for s in document), sentences)
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    return path


def untrained(letters: list[str]) -> tuple[Tokenizer, Any]:
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
    return tokenizer, trainer


def lines_of(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from filter(None, (line.rstrip("\n") for line in file))


def from_lines(path: Path, letters: list[str]) -> Tokenizer:
    tokenizer, trainer = untrained(letters)
    tokenizer.train_from_iterator(lines_of(path), trainer)
    return tokenizer


def from_batches(path: Path, letters: list[str]) -> Tokenizer:
    tokenizer, trainer = untrained(letters)
    lines = lines_of(path)
    tokenizer.train_from_iterator(iter(lambda: list(islice(lines, 1000)), []), trainer)
    return tokenizer


def from_file(path: Path, letters: list[str]) -> Tokenizer:
    """The file as it is: a line's end is a character, so the merges may differ a little."""
    tokenizer, trainer = untrained(letters)
    tokenizer.train([str(path)], trainer)
    return tokenizer


def compare(language: str, path: Path) -> None:
    ours: list[float] = []
    peers: dict[Callable[[Path, list[str]], Tokenizer], list[float]] = {from_lines: [], from_batches: [], from_file: []}
    made: list[Tokenizer] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        vocabulary: Vocabulary = train_vocabulary({language: [path]}, mode="joint", size=SIZE)
        ours.append(time.perf_counter() - start)
        letters = [piece for piece in vocabulary.pieces if len(piece) == 1]
        for train, times in peers.items():
            start = time.perf_counter()
            made.append(train(path, letters))
            times.append(time.perf_counter() - start)
    models = [json.loads(tokenizer.to_str())["model"] for tokenizer in (made[0], vocabulary.tokenizer(language))]
    same = "the same merges" if models[0] == models[1] else "OTHER MERGES"
    fastest = min(peers, key=lambda train: min(peers[train]))
    best = min(peers[fastest])
    print(
        f"{language}: {path.stat().st_size / 1e6:.0f} MB, {SIZE:,} pieces, {min(ours):.2f} s; "
        f"tokenizers {best:.2f} s ({fastest.__name__}); {min(ours) / best:.2f} x the time, {same}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", metavar="LANG=FILE", nargs="*")
    arguments = parser.parse_args().text
    with tempfile.TemporaryDirectory() as name:
        files = dict(argument.split("=", 1) for argument in arguments)
        texts = {language: Path(path) for language, path in files.items()}
        for language, path in (texts or {code: built_in(Path(name), code) for code in ("en", "fr")}).items():
            compare(language, path)


if __name__ == "__main__":
    main()
