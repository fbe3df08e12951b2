"""How fast words of bitext are aligned, how much memory it takes, and how many links are right.

    python benchmarks/word_alignment.py                        # built-in English and German, 10,000 pairs, with gold
    python benchmarks/word_alignment.py --langs en,zh          # others
    python benchmarks/word_alignment.py --beside eflomal-align # eflomal's links, too: pip install eflomal somewhere
    python benchmarks/word_alignment.py en.txt de.txt          # two files of your own, lower-cased, 27 words a side

The measure for files: the C++ fast_align takes 21 core-seconds for five rounds in one direction of 30,000 pairs of
Europarl (English and German, lower-cased, the first 27 words of a side), 1,400 pairs a second a core, and 0.6 GB.
eflomal draws its links by chance and takes no seed: its third digit is another one each time.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from isoglot.align import WordAlignConfig, score_links, symmetrize, train_aligner
from isoglot.align.words.bitext import builtin_bitext
from isoglot.text.formats.parallel import read_pharaoh


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", metavar="FILE", help="two files of your own, line by line")
    parser.add_argument("--langs", default="en,de", help="two built-in languages, where there are no files")
    parser.add_argument("--beside", metavar="COMMAND", help="eflomal's eflomal-align, or where it is")
    given = parser.parse_args()
    gold = None
    if given.files:
        sides = [Path(name).read_text(encoding="utf-8").lower().split("\n") for name in given.files]
        pairs = [(one.split()[:27], other.split()[:27]) for one, other in zip(*sides, strict=True)]
    else:
        first, second = given.langs.split(",")
        bitext = builtin_bitext((first, second), 10_000)
        pairs, gold = list(zip(bitext.source, bitext.target, strict=True)), bitext.links
    train_aligner(pairs[:50]).align(pairs[:50])  # compiles
    before = _gigabytes()
    for agreement in (0, 5):
        start = time.process_time()
        aligner = train_aligner(pairs, WordAlignConfig(agreement=agreement))
        seconds = time.process_time() - start
        start = time.process_time()
        links = aligner.align(pairs)
        linking = time.process_time() - start
        # Five rounds each way; a round of agreement is one of each direction.
        rate = len(pairs) * (10 + 2 * agreement) / 5 / seconds
        print(
            f"agreement {agreement}: {seconds:.1f} core-seconds to learn {len(pairs):,} pairs both ways, "
            f"{rate:,.0f} pairs/s a core for five rounds of one way; "
            f"{linking:.1f} to link; {_gigabytes():.2f} GB ({before:.2f} before)" + _error_rate(links, gold)
        )
    if given.beside:
        links = _eflomal(given.beside, pairs)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{given.beside}: {used.ru_utime + used.ru_stime:.1f} core-seconds" + _error_rate(links, gold))


def _eflomal(command: str, pairs: list[tuple[list[str], list[str]]]) -> list[list[tuple[int, int]]]:
    """What eflomal makes of the same words by its defaults, both ways, made one by grow-diag-final-and."""
    with TemporaryDirectory() as folder:
        source, target, forward, backward = (Path(folder) / name for name in ("source", "target", "forward", "back"))
        for side, file in enumerate((source, target)):
            file.write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), encoding="utf-8")
        options = ["-s", source, "-t", target, "-f", forward, "-r", backward]
        subprocess.run([command, *map(str, options)], check=True, capture_output=True)
        return [symmetrize(*both) for both in zip(read_pharaoh(forward), read_pharaoh(backward), strict=True)]


def _error_rate(links: list[list[tuple[int, int]]], gold: list[list[tuple[int, int]]] | None) -> str:
    return f"; AER {score_links(links, gold).error_rate:.3f}" if gold else ""


def _gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
