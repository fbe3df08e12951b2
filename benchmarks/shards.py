"""Building shards against ``tokenizers`` encoding the same lines with its own threads, in the same run.

Ours reads the file, encodes, writes to the disk and hashes; the peer gets the lines in memory, encodes them with
``encode_batch_fast`` and throws the results away; beside it stands what it takes when it hands over the ids, too. They
take turns, the best of the rounds counts, and the ids are compared. Targets on two cores: English 1.2 x, Chinese 0.9 x
the peer's speed. For memory see ``memory.py``.

    python benchmarks/shards.py en=wiki.en.txt zh=wiki.zh.txt

Without a file: the built-in English and Chinese, whose few words make it look better than real text does.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

from isoglot.languages import documents
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary
from isoglot.vocab.survey import text_lines

ROUNDS = 5
SIZE = 32_000


def built_in(folder: Path, language: str, sentences: int = 30_000) -> Path:
    path = folder / f"{language}.txt"
    made = islice((s.text for document in documents(language, seed=1) for s in document), sentences)
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    return path


def compare(language: str, path: Path, folder: Path) -> None:
    vocabulary = train_vocabulary({language: [path]}, mode="joint", size=SIZE)
    tokenizer = vocabulary.tokenizer(language)
    lines = list(text_lines([path]))
    ours, peer, taking = [], [], []
    for _ in range(ROUNDS):
        out = folder / f"{language}.shards"
        shutil.rmtree(out, ignore_errors=True)
        start = time.perf_counter()
        shards = build_shards([path], vocabulary, language, out, dev_share=0)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        for first in range(0, len(lines), 1000):
            tokenizer.encode_batch_fast(lines[first : first + 1000], add_special_tokens=False)
        peer.append(time.perf_counter() - start)
        start = time.perf_counter()
        for first in range(0, len(lines), 1000):
            encodings = tokenizer.encode_batch_fast(lines[first : first + 1000], add_special_tokens=False)
            _ = [encoding.ids for encoding in encodings]
        taking.append(time.perf_counter() - start)
    check(shards, vocabulary, lines)
    tokens = len(shards.ids())
    print(
        f"{language}: {path.stat().st_size / 1e6:.0f} MB, {tokens:,} tokens, {min(ours):.2f} s, "
        f"{tokens / min(ours) / 1e6:.2f} M tokens/s; tokenizers {min(peer):.2f} s; "
        f"{min(peer) / min(ours):.2f} x (median {np.median(peer) / np.median(ours):.2f} x), "
        f"{min(taking) / min(ours):.2f} x with its ids taken; same ids"
    )


def check(shards: Shards, vocabulary: Vocabulary, lines: list[str]) -> None:
    sentences = shards.sentences()
    for first in range(0, len(lines), 1000):
        block = lines[first : first + 1000]
        for ids, found in zip(vocabulary.encode_batch(block, shards.language), sentences, strict=False):
            assert ids == found.tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", metavar="LANG=FILE", nargs="*")
    arguments = parser.parse_args().text
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = dict(argument.split("=", 1) for argument in arguments)
        texts = {language: Path(path) for language, path in files.items()}
        for language, path in (texts or {code: built_in(folder, code) for code in ("en", "zh")}).items():
            compare(language, path, folder)


if __name__ == "__main__":
    main()
