"""Whether tasks, maps and sentence files have the tokens that pretraining gives the same text, on real data.

    python benchmarks/same_tokens.py DATA [--sentences 2000] [--lines 4000] [--languages en de fr ru zh]

DATA has ``text/NAME.LANG.txt.xz`` to train vocabularies on, and test sets in ``ud/``, ``wikiann/`` and ``xnli/``. Three
vocabularies are trained on the text as written: one that segments nothing, one that segments words by regular
expressions, and one with Moses for all languages but Chinese, which has jieba. Each text of a test set becomes token
shards, as for pretraining; then its ids are compared with

- the task's: words with the blanks the treebank has (or, where none are known, usual ones), or premise and hypothesis;
- the map's: words in their contexts, which must have the task's tokens, cut apart where words share one;
- a sentence file's: what ``encode``, ``retrieve``, ``diagnose``, ``compare``, ``steer`` and ``align sentences`` read.

A treebank may write words otherwise than its text (French *du* is *de le*): such sentences are counted and left out.
So are words that share a token with the word before, which a tagger cuts apart. Ends with 1 if any ids differ.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from isoglot.represent.sentences import RowMaker
from isoglot.text.cleaning.segmentation import Words
from isoglot.text.formats.conll import read_conllu
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.nli import read_inference
from isoglot.transfer.tasks.word_tasks import Entities, blanks_of
from isoglot.vocab import Vocabulary, build_shards, train_vocabulary
from isoglot.vocab.word_reader import Reader, usual_blanks, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.text.cleaning.processing import Segmentation

Sentence = tuple[Words | None, str]
"""The words of a sentence, where the task has them, and its text."""
LENGTH = 10_000  # tokens: no sentence is cut
TEXTS = {"en": "wiki", "de": "wiki", "zh": "wiki", "fr": "europarl", "ru": "novels"}


def main() -> None:
    """Train the vocabularies, check every test set, print a line for each and a last one with the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, default=2000, help="of each test set")
    parser.add_argument("--lines", type=int, default=4000, help="of each language's text to train on")
    parser.add_argument("--languages", nargs="+", default=list(TEXTS))
    options = parser.parse_args()
    total = Counter[str]()
    with TemporaryDirectory() as scratch:
        for name, vocabulary in vocabularies(options.data, Path(scratch), options.languages, options.lines):
            for language in options.languages:
                for task, sentences in test_sets(options.data, language, options.sentences):
                    folder = Path(scratch) / f"{name}-{language}-{task}"
                    counts = compared(vocabulary, language, task, sentences, folder)
                    total += counts
                    print(f"{name:10} {language} {task:8} " + "  ".join(f"{key} {counts[key]:,}" for key in KEYS))
    print(f"{'all':22} " + "  ".join(f"{key} {total[key]:,}" for key in KEYS))
    sys.exit(1 if total["mismatches"] else 0)


KEYS = ("sentences", "written otherwise", "words", "cut apart", "mismatches")


def vocabularies(data: Path, scratch: Path, languages: list[str], lines: int) -> Iterator[tuple[str, Vocabulary]]:
    """The three vocabularies with their names."""
    texts = {}
    for language in languages:
        source = next(data.glob(f"text/{TEXTS[language]}.{language}.txt*"))
        texts[language] = [scratch / f"{language}.txt"]
        kept = islice((line for _, line in read_lines(source) if line.strip()), lines)
        texts[language][0].write_text("\n".join(kept) + "\n", encoding="utf-8")
    moses: dict[str, Segmentation] = {language: "jieba" if language == "zh" else "moses" for language in languages}
    unicode: dict[str, Segmentation] = dict.fromkeys(languages, "unicode")
    ways: dict[str, dict[str, Segmentation]] = {"as-written": {}, "unicode": unicode, "moses": moses}
    for name, segmentation in ways.items():
        yield name, train_vocabulary(texts, mode="joint", size=20_000, segmentation=segmentation)


def test_sets(data: Path, language: str, count: int) -> Iterator[tuple[str, list[Sentence]]]:
    """The sentences of each test set: words with blanks and the text they were found in, or texts."""
    trees = read_conllu(next(data.glob(f"ud/{language}_*test*")))
    yield "UD", [(Words([w.form for w in t.words], blanks_of(t)), t.value("text") or "") for t in islice(trees, count)]
    tagged = Entities().read(next(data.glob(f"wikiann/*dev*{language}*")), language).examples
    found = [Words(one.words, usual_blanks(one.words, language)) for one in tagged[:count]]
    yield "WikiAnn", [(words, written(words, words.blanks)[0]) for words in found]
    pairs = list(islice(read_inference(next(data.glob(f"xnli/*test*{language}*"))), count // 2))
    yield "XNLI", [(None, text) for pair in pairs for text in (pair.premise, pair.hypothesis)]


def compared(vocabulary: Vocabulary, language: str, task: str, sentences: list[Sentence], folder: Path) -> Counter[str]:
    """Compare the ids of a test set's sentences with those of their text in shards."""
    counts = Counter(dict.fromkeys(KEYS, 0))
    same = []
    for words, text in sentences:
        if words is not None and written(words, words.blanks)[0] != text:
            counts["written otherwise"] += 1
        elif text.strip():
            same.append((words, text))
    folder.mkdir()
    (folder / "text.txt").write_text("\n".join(text for _, text in same) + "\n", encoding="utf-8")
    shards = build_shards([folder / "text.txt"], vocabulary, language, folder / "shards", dev_share=0)
    reader = Reader(vocabulary, language, LENGTH)
    by_file = RowMaker(vocabulary, language, "text", LENGTH).rows([text for _, text in same])
    rows_of_words = RowMaker(vocabulary, language, "words", LENGTH)
    chunk = [words for words, _ in same if words is not None]
    if task == "XNLI":
        by_task = reader.texts([text for _, text in same])
    else:
        blanks = [words.blanks for words in chunk]
        by_task = [pieces.ids_N for pieces in reader.words(chunk, blanks, joined="share")]
        apart = reader.words(chunk, blanks)
        by_map = rows_of_words.rows(chunk).ids
        counts["words"] = sum(map(len, chunk))
        counts["cut apart"] = sum(pieces.joined for pieces in apart)
        counts["mismatches"] += sum(
            not np.array_equal(one.ids_N, other) for one, other in zip(apart, by_map, strict=True)
        )
    for pretrained, *others in zip(shards.sentences(), by_task, by_file.ids, strict=True):
        counts["sentences"] += 1
        counts["mismatches"] += any(not np.array_equal(pretrained, other) for other in others)
    return counts


if __name__ == "__main__":
    main()
