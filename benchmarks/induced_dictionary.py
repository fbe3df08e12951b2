"""How many words of an induced dictionary are right, by a dictionary that it has never seen.

    isoglot align dictionary --parallel en=en.txt --parallel fr=fr.txt --out words
    python benchmarks/induced_dictionary.py words/en-fr.tsv en-fr.5000-6500.txt      # MUSE's test words

Counted in lower case, as MUSE is written. A word is right if one of its translations in the second dictionary is its
first (P@1), or is among all it has.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

from isoglot.text.formats.dictionary import read_dictionary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("induced")
    parser.add_argument("gold")
    options = parser.parse_args()
    induced: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for entry in read_dictionary(options.induced):
        induced[entry.source.lower()][entry.target.lower()] += entry.weight
    gold: dict[str, set[str]] = defaultdict(set)
    for entry in read_dictionary(options.gold):
        gold[entry.source.lower()].add(entry.target.lower())
    found = [word for word in gold if word in induced]
    first = sum(max(induced[word], key=lambda each: induced[word][each]) in gold[word] for word in found)
    some = sum(bool(gold[word] & set(induced[word])) for word in found)
    share = max(1, len(found))
    print(
        f"{len(induced):,} words; {len(found):,} of {len(gold):,} test words are in it: the first translation is right "
        f"for {first / share:.3f} of them ({first}), one of all for {some / share:.3f} ({some})"
    )


if __name__ == "__main__":
    main()
