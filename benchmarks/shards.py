"""Building shards against ``tokenizers`` encoding the same lines with its own threads, in the same run.

Ours reads the file, encodes, writes to the disk and hashes; the peer gets the lines in memory, encodes them with
``encode_batch_fast``, takes the ids and throws them away. They take turns, the best of the rounds counts, and the ids
are compared. Targets on two cores: English 1.2 x, Chinese 0.9 x the peer's speed; less than 1.5 GB of memory.

    python benchmarks/shards.py en=wiki.en.txt zh=wiki.zh.txt
    python benchmarks/shards.py --memory 300 en=wiki.en.txt     # 300 MB of it, repeated with noise: peak memory only

Without a file: the built-in English and Chinese, whose few words make it look better than real text does.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
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
    ours, peer = [], []
    for _ in range(ROUNDS):
        out = folder / f"{language}.shards"
        shutil.rmtree(out, ignore_errors=True)
        start = time.perf_counter()
        shards = build_shards([path], vocabulary, language, out, dev_share=0)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        for first in range(0, len(lines), 1000):
            encodings = tokenizer.encode_batch_fast(lines[first : first + 1000], add_special_tokens=False)
            _ = [encoding.ids for encoding in encodings]
        peer.append(time.perf_counter() - start)
    check(shards, vocabulary, lines)
    tokens = len(shards.ids())
    print(
        f"{language}: {path.stat().st_size / 1e6:.0f} MB, {tokens:,} tokens, {min(ours):.2f} s, "
        f"{tokens / min(ours) / 1e6:.2f} M tokens/s; tokenizers {min(peer):.2f} s; "
        f"{min(peer) / min(ours):.2f} x (median {np.median(peer) / np.median(ours):.2f} x), same ids"
    )


def check(shards: Shards, vocabulary: Vocabulary, lines: list[str]) -> None:
    sentences = shards.sentences()
    for first in range(0, len(lines), 1000):
        block = lines[first : first + 1000]
        for ids, found in zip(vocabulary.encode_batch(block, shards.language), sentences, strict=False):
            assert ids == found.tolist()


def memory(language: str, path: Path, folder: Path, megabytes: int) -> None:
    """Peak memory of a process that does nothing but build; with several workers, each has about as much."""
    noisy, vocabulary = folder / "noisy.txt", folder / "vocabulary"
    train_vocabulary({language: [path]}, mode="joint", size=SIZE, sentences=20_000).save(vocabulary)
    chance = random.Random(0)  # noqa: S311 - not for secrets
    lines = list(text_lines([path]))
    with noisy.open("w", encoding="utf-8") as file:
        written = 0
        while written < megabytes * 1e6:
            for line in lines:
                words = [
                    f"{word}{chance.randrange(10**6)}" if chance.random() < 0.1 else word for word in line.split(" ")
                ]
                written += file.write(" ".join(words) + "\n")
                if written >= megabytes * 1e6:
                    break
    program = (
        "import sys; from isoglot.vocab import Vocabulary, build_shards; _, text, vocab, language, out = sys.argv;"
        "build_shards([text], Vocabulary.load(vocab), language, out)"
    )
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, noisy, vocabulary, language, folder / f"{language}.out"], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(
        f"{language}: {noisy.stat().st_size / 1e6:.0f} MB with noise, {time.perf_counter() - start:.0f} s, "
        f"peak {peak:.2f} GB"
    )


def main(arguments: list[str]) -> None:
    megabytes = int(arguments.pop(1)) if arguments[:1] == ["--memory"] else None
    arguments = [argument for argument in arguments if "=" in argument]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = dict(argument.split("=", 1) for argument in arguments)
        texts = {language: Path(path) for language, path in files.items()}
        for language, path in (texts or {code: built_in(folder, code) for code in ("en", "zh")}).items():
            if megabytes is None:
                compare(language, path, folder)
            else:
                memory(language, path, folder, megabytes)


if __name__ == "__main__":
    main(sys.argv[1:])
