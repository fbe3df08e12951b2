"""Peak memory of learning vocabularies and building shards, on text made by repetition with noise.

The noise is letters put into words, so that ever new words turn up: what is kept of them must be
bounded. A process counts with its children, looked at ten times a second; what they share counts once (Linux). Target:
less than 1.5 GB, whatever the input.

    python benchmarks/memory.py --megabytes 1000 en=wiki.en.txt zh=wiki.zh.txt

Without a file: 30 MB made of the built-in English.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from isoglot.languages import documents

TARGET = 1.5
"""GB."""
TRAIN = "vocab train --size 32000 --text {text} --out {folder}/"
COMMANDS = {
    **{
        f"vocab train --algorithm {name}": f"{TRAIN}{name} --algorithm {name}"
        for name in ("bpe", "wordpiece", "unigram")
    },
    "shards build": "shards build --text {text} --vocab {folder}/bpe --out {folder}/shards",
}


def built_in(folder: Path, language: str, sentences: int = 40_000) -> Path:
    path = folder / f"{language}.txt"
    made = islice((s.text for document in documents(language, seed=1) for s in document), sentences)
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    return path


def noisy(path: Path, out: Path, megabytes: float) -> None:
    """Write so much: the text over and over, each time with other letters put in."""
    chance = random.Random(0)  # noqa: S311 - not for secrets
    with path.open(encoding="utf-8") as file:
        lines = [line for line in file.read().split("\n") if line]
    letters = sorted({letter for line in lines[:1000] for letter in line if letter.isalpha()})
    written = 0
    with out.open("wb") as file:
        while written < megabytes * 1e6:
            for line in lines:
                signs = list(line)
                for _ in range(len(signs) // 50 + 1):
                    signs[int(chance.random() * len(signs))] += letters[int(chance.random() * len(letters))]
                written += file.write("".join(signs).encode() + b"\n")
                if written >= megabytes * 1e6:
                    break


def peak_memory(process: subprocess.Popen[bytes]) -> float:
    """The most memory a process and its children had at once, in GB."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(kilobytes, family(process.pid))))
        time.sleep(0.1)
    assert process.returncode == 0
    return peak / 1e6


def family(pid: int) -> list[int]:
    try:
        children = [file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has just ended
        return []
    return [pid, *(one for names in children for child in names for one in family(int(child)))]


def kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def measure(language: str, path: Path, folder: Path, megabytes: float) -> bool:
    text = folder / f"{language}.noise"
    noisy(path, text, megabytes)
    well = True
    for name, command in COMMANDS.items():
        words = command.format(text=f"{language}={text}", folder=folder / f"{language}.out").split()
        start = time.perf_counter()
        peak = peak_memory(
            subprocess.Popen([sys.executable, "-m", "isoglot", *words, "--quiet", "--json"], stdout=subprocess.DEVNULL)
        )
        well &= peak < TARGET
        print(
            f"{language}: {name}, {text.stat().st_size / 1e6:.0f} MB, {time.perf_counter() - start:.0f} s, "
            f"peak {peak:.2f} GB{'' if peak < TARGET else ': TOO MUCH'}",
            flush=True,
        )
    text.unlink()
    return well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=30.0)
    parser.add_argument("text", metavar="LANG=FILE", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = {code: Path(path) for code, path in (argument.split("=", 1) for argument in options.text)}
        results = [
            measure(language, path, folder, options.megabytes)
            for language, path in (texts or {"en": built_in(folder, "en")}).items()
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
