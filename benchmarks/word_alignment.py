"""How fast words of bitext are aligned, how much memory it takes, and how many links are right.

    python benchmarks/word_alignment.py                    # built-in English and German, 10,000 pairs, with gold
    python benchmarks/word_alignment.py en.txt de.txt      # two files of your own, lower-cased, 27 words a side

The measure for files: the C++ fast_align takes 21 core-seconds for five rounds in one direction of 30,000 pairs of
Europarl (English and German, lower-cased, the first 27 words of a side), 1,400 pairs a second a core, and 0.6 GB.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from isoglot.align import WordAlignConfig, score_links, train_aligner
from isoglot.align.bitext import builtin_bitext


def main() -> None:
    gold = None
    if len(sys.argv) == 3:
        sides = [Path(name).read_text(encoding="utf-8").lower().split("\n") for name in sys.argv[1:]]
        pairs = [(one.split()[:27], other.split()[:27]) for one, other in zip(*sides, strict=True)]
    else:
        bitext = builtin_bitext(("en", "de"), 10_000)
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
            f"{linking:.1f} to link; {_gigabytes():.2f} GB ({before:.2f} before)"
            + (f"; AER {score_links(links, gold).error_rate:.3f}" if gold else "")
        )


def _gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
