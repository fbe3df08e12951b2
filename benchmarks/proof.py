"""What the text-to-shards pipeline promises, checked on text: one line a promise, ``ok`` or ``FAILED``.

    python benchmarks/proof.py --text en=wiki.en.txt.xz --text fr=europarl.fr.txt.xz --dictionary en-fr=en-fr.txt.xz

Vocabularies of every model and mode are learned on the first megabytes of each text; what is encoded comes evenly from
more of it, so that unseen words and characters turn up. Without arguments: the built-in English, French and Chinese.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import combinations, islice
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoglot.cli.inputs import parse_named, parse_pairs
from isoglot.languages import dictionary, documents
from isoglot.text.code_switching import Switcher
from isoglot.text.formats.dictionary import Entry, read_dictionary
from isoglot.text.formats.lines import read_lines
from isoglot.vocab import Grading, Shards, Vocabulary, build_shards, train_vocabulary
from isoglot.vocab.subword_scheme import MARK, SPECIAL, ModelName, normal_form
from isoglot.vocab.survey import survey, text_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.vocab.train import TrainedMode

MODELS: tuple[ModelName, ...] = ("bpe", "wordpiece", "unigram")
MODES: tuple[TrainedMode, ...] = ("joint", "union", "disjoint", "graded")
BAND = (1, 300)
LIKELY = 4  # standard deviations: chance exceeds them once in 16,000 times


class Proof:
    """Prints what was checked and remembers whether all of it held."""

    def __init__(self) -> None:
        self.failed = 0
        self.since = time.perf_counter()

    def check(self, *, holds: bool, promise: str) -> None:
        """Say how it came out."""
        now = time.perf_counter()
        print(f"{'ok    ' if holds else 'FAILED'} {promise} ({now - self.since:.0f} s)", flush=True)
        self.since = now
        self.failed += not holds


# --- vocabularies ---


def round_trip(proof: Proof, name: str, vocabulary: Vocabulary, samples: Mapping[str, Sequence[str]]) -> None:
    """Text comes back from its ids, in normal form, with the mark read as a blank; where [UNK] is, it cannot."""
    form = normal_form("nfc")
    unknown = vocabulary.special["[UNK]"]
    lines = lost = wrong = 0
    for code, sample in samples.items():
        for line, ids in zip(sample, vocabulary.encode_batch(sample, code), strict=True):
            lines += 1
            if unknown in ids:
                lost += 1
            elif vocabulary.decode(ids) != form(line).replace(MARK, " "):
                wrong += 1
    may_lose = name.startswith("wordpiece")
    note = f", {lost:,} more have an [UNK]" if may_lose else ""
    proof.check(
        holds=not wrong and (may_lose or not lost), promise=f"{name}: {lines - lost:,} lines come back from ids{note}"
    )


def sharing(proof: Proof, model: str, made: Mapping[TrainedMode, Vocabulary], alone: Mapping[str, set[str]]) -> None:
    """Nothing, everything or the chosen strings have one id in two languages."""
    pairs = list(combinations(alone, 2))
    disjoint, union, graded = made["disjoint"], made["union"], made["graded"]
    common = {pair: len((alone[pair[0]] & alone[pair[1]]) - set(SPECIAL)) for pair in pairs}
    none = all(
        set(disjoint.ids_of(first)) & set(disjoint.ids_of(second)) == set(disjoint.special.values())
        for first, second in pairs
    )
    proof.check(holds=none, promise=f"{model} disjoint: {len(pairs)} pairs share no id but the special ones")
    strings = {code: {union.pieces[index] for index in union.ids_of(code)} for code in alone}
    proof.check(
        holds=strings == alone
        and sorted(union.pieces) == sorted(set().union(*alone.values()))
        and all(len(union.anchors(*pair)) == common[pair] for pair in pairs),
        promise=f"{model} union: {len(union):,} pieces are the set union, each language has its own, anchors "
        + " ".join(f"{first}-{second} {count:,}" for (first, second), count in common.items()),
    )
    # A chain of pairs can join two languages, so there may be more than the band, never fewer.
    proof.check(
        holds=all(min(BAND[1], common[pair]) <= len(graded.anchors(*pair)) <= common[pair] for pair in pairs)
        and (len(pairs) > 1 or len(graded.anchors(*pairs[0])) == min(BAND[1], common[pairs[0]])),
        promise=f"{model} graded: at least the {BAND[1]} most frequent anchors of each pair stay",
    )


def encoded_apart(proof: Proof, model: str, vocabulary: Vocabulary, samples: Mapping[str, Sequence[str]]) -> None:
    used = {
        code: {index for ids in vocabulary.encode_batch(sample, code) for index in ids}
        for code, sample in samples.items()
    }
    special = set(vocabulary.special.values())
    clean = all(not (used[first] & used[second]) - special for first, second in combinations(used, 2))
    own = all(used[code] <= set(vocabulary.ids_of(code).tolist()) for code in used)
    proof.check(holds=clean and own, promise=f"{model} disjoint: encoded text of two languages has no id in common")


# --- switching ---


def switching(proof: Proof, name: str, entries: Sequence[Entry], texts: Mapping[str, list[str]]) -> None:
    """Words are replaced at the rate that was asked for, and the cap holds in every batch."""
    first, second = name.split("-", 1)
    for code in (first, second):
        free = Switcher({(first, second): entries}, rate=0.3, cap=None, seed=1)
        held = Switcher({(first, second): entries}, rate=0.3, cap=0.15, seed=1)
        words = replaced = 0
        fullest = 0.0
        for start in range(0, len(texts[code]), 256):
            batch = texts[code][start : start + 256]
            report = free.switch(batch, code, first=start)[1]
            words, replaced = words + report.with_entry, replaced + report.replaced
            fullest = max(fullest, held.switch(batch, code, first=start)[1].facts()["share"])
        deviation = (replaced - 0.3 * words) / sqrt(words * 0.3 * 0.7) if words else float("inf")
        proof.check(
            holds=abs(deviation) < LIKELY and fullest <= 0.15,
            promise=f"switch {code} by {name}: {replaced:,} of {words:,} words with an entry, "
            f"{replaced / max(words, 1):.4f}, z = {deviation:+.2f}; with the cap at most {fullest:.4f} of a batch",
        )


# --- shards ---


def shards(proof: Proof, code: str, path: Path, vocabulary: Vocabulary, folder: Path) -> None:
    """The ids are the tokenizer's own, windows lose none, less is a prefix of more, twice is the same bytes."""
    one = build_shards([path], vocabulary, code, folder / "one", dev_share=0.05)
    again = build_shards([path], vocabulary, code, folder / "two", dev_share=0.05, workers=2)
    files = [*one.index["files"], "index.json"]
    same = all((one.folder / name).read_bytes() == (again.folder / name).read_bytes() for name in files)
    counts = one.index["counts"]
    tokens = counts["train"]["tokens"] + counts["dev"]["tokens"]
    proof.check(holds=same, promise=f"shards {code}: two builds, with one process and two, are the same bytes")
    lines = list(text_lines([path]))
    found = {split: list(one.sentences(split)) for split in ("train", "dev")}
    expected = sorted(np.array(ids).tobytes() for ids in vocabulary.encode_batch(lines, code))
    stored = sorted(ids.astype(np.int64).tobytes() for split in found.values() for ids in split)
    proof.check(holds=expected == stored, promise=f"shards {code}: {tokens:,} ids are the tokenizer's own")
    kept = all(
        np.array_equal(np.concatenate([*one.windows(size, split), one.ids(split)[:0]]), one.ids(split))
        for size in (256, 20)
        for split in ("train", "dev")
    )
    proof.check(holds=kept, promise=f"shards {code}: windows of 256 and of 20 keep every id")
    proof.check(
        holds=all(
            _prefix(build_shards([path], vocabulary, code, folder / f"{number}", sentences=number, dev_share=0.05), one)
            for number in (len(lines) // 10 or 1, len(lines) // 2 or 1)
        ),
        promise=f"shards {code}: a tenth and half of {len(lines):,} sentences are prefixes of all",
    )


def _prefix(less: Shards, more: Shards) -> bool:
    return all(
        np.array_equal(part, whole[: len(part)])
        for split in ("train", "dev")
        for part, whole in (
            (less.ids(split), more.ids(split)),
            (less.sentence_lengths(split), more.sentence_lengths(split)),
        )
    )


# --- texts ---


def slice_of(paths: Sequence[Path], out: Path, megabytes: float) -> Path:
    """The first megabytes of some files, blank lines kept."""
    written = 0
    with out.open("wb") as file:
        for path in paths:
            for _, line in read_lines(path):
                if written >= megabytes * 1e6:
                    return out
                written += file.write(line.encode() + b"\n")
    return out


def built_in(folder: Path) -> tuple[dict[str, list[Path]], dict[tuple[str, str], list[Entry]]]:
    texts = {}
    for code in ("en", "fr", "zh"):
        path = folder / f"{code}.built-in"
        made = islice(documents(code, seed=1), 3000)
        path.write_text("\n\n".join("\n".join(s.text for s in document) for document in made) + "\n", encoding="utf-8")
        texts[code] = [path]
    return texts, {("en", other): dictionary("en", other).entries for other in ("fr", "zh")}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", action="append", default=[], metavar="LANG=FILE")
    parser.add_argument("--dictionary", action="append", default=[], metavar="L1-L2=FILE")
    parser.add_argument("--megabytes", type=float, default=20, help="of each text")
    parser.add_argument("--learned", type=float, default=2, help="megabytes that vocabularies are learned on")
    parser.add_argument("--size", type=int, default=12_000, help="pieces")
    parser.add_argument("--model", action="append", choices=MODELS, help="only these")
    options = parser.parse_args(arguments)
    proof = Proof()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.text:
            named = parse_named(options.text)
            pairs = {
                pair: [entry for path in paths for entry in read_dictionary(path)]
                for pair, paths in parse_pairs(options.dictionary).items()
            }
        else:
            named, pairs = built_in(folder)
            options.size = min(options.size, 3000)
        paths = {code: slice_of(files, folder / f"{code}.txt", options.megabytes) for code, files in named.items()}
        learned = {code: [slice_of([path], folder / f"{code}.first", options.learned)] for code, path in paths.items()}
        samples = {code: survey(text_lines([path]), limit=1_000_000).sample for code, path in paths.items()}
        for model in options.model or MODELS:
            made = {
                mode: train_vocabulary(
                    learned,
                    mode=mode,
                    size=options.size,
                    model=model,
                    grading=Grading(keep="band", band=BAND) if mode == "graded" else None,
                )
                for mode in MODES
                if mode == "joint" or len(paths) > 1
            }
            for mode, vocabulary in made.items():
                round_trip(proof, f"{model} {mode}", vocabulary, samples)
            if len(paths) > 1:
                alone = {
                    code: set(train_vocabulary({code: files}, mode="joint", size=options.size, model=model).pieces)
                    for code, files in learned.items()
                }
                sharing(proof, model, made, alone)
                encoded_apart(proof, model, made["disjoint"], samples)
            if model == "bpe":
                for code, path in paths.items():
                    shards(proof, code, path, made["joint"], folder / f"{code}.shards")
        for (first, second), entries in pairs.items():
            lines = {code: list(text_lines([paths[code]])) for code in (first, second)}
            switching(proof, f"{first}-{second}", entries, lines)
    print(f"{proof.failed} failed" if proof.failed else "all held")
    return 1 if proof.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
