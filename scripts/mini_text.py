"""The text that isoglot-mini learns from, one file a language, from a folder of corpora.

    python scripts/mini_text.py CORPORA OUT

CORPORA has NAME.txt.xz for every name below (a paragraph a line, a blank line between documents) and
``docs.en-fr-ru-zh-de.tsv.xz``, sentences in five languages. OUT gets ``en.txt`` … ``zh.txt``, the sentences as
``parallel.en`` … ``parallel.zh``, ``parallel.tsv`` with a header line for ``isoglot align dictionary``, and
``words.zh-en.tsv``: Chinese words that are known and never replaced, so that switching takes no longer word apart.

Every fourth document and every fourth sentence of Chinese is converted to Traditional characters by OpenCC (``pip
install opencc``), for the corpora are in Simplified ones and readers are not. The table stays as it is.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.text.provenance import declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CORPORA = {
    "en": ("wiki.en", "europarl.en", "docs.en"),
    "fr": ("europarl.fr", "docs.fr"),
    "de": ("wiki.de", "europarl.de"),
    "ru": ("novels.ru", "docs.ru"),
    "zh": ("wiki.zh", "docs.zh"),
}
TABLE = "docs.en-fr-ru-zh-de.tsv.xz"
COLUMNS = ("en", "fr", "ru", "zh", "de")
EVERY = 4
RARE = 5


def mixed(parts: Iterable[str], convert: Callable[[str], str]) -> list[str]:
    """The parts, every fourth of them converted."""
    return [convert(part) if number % EVERY == 0 else part for number, part in enumerate(parts)]


def chinese_words(documents: Iterable[str]) -> list[str]:
    """Words of two to eight characters that come five times or more, by jieba."""
    cut = import_module("rjieba").cut
    counts = Counter(word for document in documents for line in document.split("\n") for word in cut(line))
    han = re.compile(r"[\u4e00-\u9fff]{2,8}")
    return sorted(word for word, count in counts.items() if count >= RARE and han.fullmatch(word))


def content(path: Path) -> str:
    """A compressed text."""
    return lzma.decompress(path.read_bytes()).decode()


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    source, target = options.corpora, options.out
    target.mkdir(parents=True, exist_ok=True)
    convert: Callable[[str], str] = import_module("opencc").OpenCC("s2t").convert
    for language, names in CORPORA.items():
        documents = [document for name in names for document in content(source / f"{name}.txt.xz").split("\n\n")]
        if language == "zh":
            documents = mixed(documents, convert)
            lines = [f"{word}\t-\t0\n" for word in chinese_words(documents)]
            (target / "words.zh-en.tsv").write_text("".join(lines), encoding="utf-8")
        (target / f"{language}.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
        declare(target / f"{language}.txt")
    table = content(source / TABLE).rstrip("\n").split("\n")
    (target / "parallel.tsv").write_text("\n".join(["\t".join(COLUMNS), *table]) + "\n", encoding="utf-8")
    for column, language in enumerate(COLUMNS):
        sentences = [row.split("\t")[column] for row in table]
        if language == "zh":
            sentences = mixed(sentences, convert)
        (target / f"parallel.{language}").write_text("\n".join(sentences) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
