"""How fast text is cleaned, split, segmented and switched; and, given treebanks, how well it is split.

Without arguments: text of the built-in languages, 4 MB of each. ``--text en=file`` takes a file instead (as often as
you like), ``--ud FOLDER`` scores sentences and words against Universal Dependencies. Segmentation stands beside
sacremoses in the same run; the target is ten times as fast.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.languages import dictionary, documents
from isoglot.text.cleaning.clean import CleanConfig, clean_files
from isoglot.text.cleaning.segmentation import segmenter
from isoglot.text.cleaning.sentence_splitter import sentence_spans, split_sentences
from isoglot.text.code_switching import Switcher
from isoglot.text.formats.conll import Tree, read_conllu
from isoglot.text.formats.plain import write_documents
from isoglot.text.stream import read_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TREEBANKS = {"en": "en_ewt", "fr": "fr_gsd", "de": "de_gsd", "ru": "ru_gsd", "zh": "zh_gsdsimp"}


def built_in(language: str, folder: Path, size: int = 4_000_000) -> Path:
    """A file of a built-in language; its few sentences are repeated with numbers, so that none is seen twice."""
    path = folder / f"{language}.txt"

    def texts() -> Iterator[list[str]]:
        done = 0
        while done < size:
            for number, document in enumerate(documents(language, seed=1)):
                lines = [f"{done + number}: " + " ".join(sentence.text for sentence in document)]
                done += sum(len(line.encode()) for line in lines)
                yield lines
                if done >= size:
                    return

    write_documents(path, texts())
    return path


def timed(work: Callable[[], object], size: int) -> float:
    """Megabytes a second, the best of two."""
    best = 0.0
    for _ in range(2):
        start = time.perf_counter()
        work()
        best = max(best, size / 1e6 / (time.perf_counter() - start))
    return best


def measure(language: str, path: Path, folder: Path) -> float:
    """Print the rates for one file; returns how many times as fast as sacremoses words are found."""
    lines = [line for line in read_stream([path]) if line]
    size = sum(len(line.encode()) for line in lines)

    def clean(workers: int) -> None:
        clean_files([path], folder / "out.txt", language, CleanConfig(), workers=workers)

    rates = {"clean, one process": timed(lambda: clean(1), size), "clean, two": timed(lambda: clean(2), size)}
    sample = lines[: max(1, len(lines) * 8_000_000 // max(size, 1))]
    sample_size = sum(len(line.encode()) for line in sample)
    rates["sentences"] = timed(lambda: [split_sentences(line, language) for line in sample], sample_size)
    unicode = segmenter(language)
    rates["words, unicode"] = timed(lambda: [unicode(line) for line in sample], sample_size)
    few = sample[: max(1, len(sample) // 20)]
    few_size = sum(len(line.encode()) for line in few)
    ratio = float("inf")
    try:
        moses = segmenter(language, "moses")
        rates["words, sacremoses"] = timed(lambda: [moses(line) for line in few], few_size)
        ratio = timed(lambda: [unicode(line) for line in few], few_size) / rates["words, sacremoses"]
        if language == "zh":
            jieba = segmenter(language, "jieba")
            rates["words, rjieba"] = timed(lambda: [jieba(line) for line in sample], sample_size)
    except Exception as error:  # noqa: BLE001 - an extra that is not installed
        print(f"    {error}")
    if language in ("en", "de"):
        switcher = Switcher({("en", "de"): dictionary("en", "de", sentences=4_000).entries})
        batches = [(first, sample[first : first + 256]) for first in range(0, len(sample), 256)]
        rates["switch"] = timed(
            lambda: [switcher.switch(lines, language, first=first) for first, lines in batches], sample_size
        )
    print(f"{language}: {path.name}, {size / 1e6:.0f} MB")
    for name, rate in rates.items():
        print(f"    {name:20} {rate:8.2f} MB/s")
    print(f"    words: {ratio:.1f} × sacremoses")
    return ratio


def f_score(right: int, found: int, gold: int) -> str:
    return f"P {right / found:.4f} R {right / gold:.4f} F {2 * right / (found + gold):.4f}"


def score_sentences(language: str, trees: list[Tree]) -> str:
    """Boundaries found when ten sentences at a time are joined."""
    right = found = gold = bare = 0
    blank = "" if language == "zh" else " "
    texts = [tree.value("text") or "" for tree in trees]
    for start in range(0, len(texts), 10):
        paragraph = texts[start : start + 10]
        ends, position = set(), 0
        for sentence in paragraph[:-1]:
            ends.add(position + len(sentence))
            position += len(sentence) + len(blank)
            bare += sentence.rstrip("\"'”’»)）」』")[-1:] not in set(".!?…。！？")
        guessed = {end for _, end in sentence_spans(blank.join(paragraph), language)[:-1]}
        right, found, gold = right + len(ends & guessed), found + len(guessed), gold + len(ends)
    return f"{f_score(right, found, gold)}; {gold} boundaries, {bare} of them without a stop"


def score_words(tree_words: list[tuple[str, list[str]]], split: Callable[[str], list[str]]) -> str:
    right = found = gold = 0
    for text, words in tree_words:
        one, two = _spans(split(text)), _spans(words)
        right, found, gold = right + len(one & two), found + len(one), gold + len(two)
    return f_score(right, found, gold)


def _spans(words: list[str]) -> set[tuple[int, int]]:
    position, spans = 0, set()
    for word in words:
        length = len("".join(word.split()))
        spans.add((position, position + length))
        position += length
    return spans


def words_of(tree: Tree) -> tuple[str, list[str]]:
    """Syntactic words where they spell the token, the token where not (French du)."""
    ranges = {token.first: token for token in tree.multiwords}
    words: list[str] = []
    last = 0
    for word in tree.words:
        if word.id in ranges:
            token = ranges[word.id]
            parts = [part.form for part in tree.words[token.first - 1 : token.last]]
            words += parts if "".join(parts) == token.form else [token.form]
            last = token.last
        elif word.id > last:
            words.append(word.form)
    return tree.value("text") or "", words


def score(folder: Path) -> None:
    for language, name in TREEBANKS.items():
        for part in ("dev", "test"):
            trees = list(read_conllu(next(folder.glob(f"{name}-ud-{part}.conllu*"))))
            print(f"{language} {part}: sentences {score_sentences(language, trees)}")
        tree_words = [words_of(tree) for tree in trees]
        methods = ["unicode", "moses", *(["jieba"] if language == "zh" else [])]
        for method in methods:
            print(f"{language} test: words, {method:8} {score_words(tree_words, segmenter(language, method))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", action="append", default=[], metavar="LANG=PATH")
    parser.add_argument("--ud", type=Path)
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        named = [value.partition("=")[::2] for value in options.text]
        files = [(language, Path(path)) for language, path in named]
        for code, file in files or [(code, built_in(code, Path(scratch))) for code in ("en", "de", "fr", "zh")]:
            ratios.append(measure(code, file, Path(scratch)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB (the lines are held for timing)")
    if options.ud:
        score(options.ud)
    sys.exit(0 if min(ratios) > 10 else f"words at {min(ratios):.1f} × sacremoses: below ten times")
