"""The same text for several systems: so many tokens of each language, its vocabulary, its shards, contexts of words.

Not a benchmark: ``static_and_contextual.py`` learns from it.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, MissingPartError
from isoglot.core.files import read_json, write_json
from isoglot.core.rng import random_stream
from isoglot.text.cleaning.segmentation import segmenter, word_method
from isoglot.text.cleaning.sentence_splitter import split_sentences
from isoglot.text.formats.lines import line_writer
from isoglot.text.formats.plain import read_documents, write_documents
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from isoglot.core.progress import Progress

PART = 50
"""Paragraphs, then sentences, of a document that stay together: novels are long, and two of them are no sample."""


@dataclass(frozen=True, kw_only=True)
class SameText:
    """Cuts of a folder of corpora, the smaller inside the larger.

    Args:
        corpora: Has NAME.en.txt.xz and the like, a paragraph a line, a blank line between documents.
        out: The folder of everything made from it.
        languages: Their codes.
        tokens: The sizes, as they are written, smallest first.
        known: The folder of a vocabulary; None: one is learned.
        pieces: Its size.
        sample: Bytes of each language that it is learned from.
        seed: Decides the order of the text.
        progress: Progress reporter.
    """

    corpora: Path
    out: Path
    languages: Sequence[str]
    tokens: Sequence[str]
    known: str | None
    pieces: int
    sample: int
    seed: int
    progress: Progress

    def parts(self, code: str) -> Iterator[list[str]]:
        """Parts of documents, in sentences: each corpus shuffled, and always the one next that has given least."""
        paths = sorted(self.corpora.glob(f"*.{code}.txt*"))
        if not paths:
            raise ConfigError(f"{self.corpora} has no *.{code}.txt", remedy="name a folder with NAME.en.txt")
        corpora = []
        for path in paths:
            paragraphs = [
                document[at : at + PART] for document in read_documents(path) for at in range(0, len(document), PART)
            ]
            random_stream(self.seed, "parts", path.name).shuffle(paragraphs)
            corpora.append(iter(paragraphs))
        given = [0] * len(corpora)
        while corpora:
            least = given.index(min(given))
            part = next(corpora[least], None)
            if part is None:
                del corpora[least], given[least]
                continue
            given[least] += sum(map(len, part))
            sentences = [sentence for paragraph in part for sentence in split_sentences(paragraph, code)]
            for at in range(0, len(sentences), PART):
                yield sentences[at : at + PART]

    def vocabulary(self) -> Vocabulary:
        """The one that was named, or one of our own from the beginning of the text."""
        if self.known:
            return Vocabulary.load(self.known)
        folder = self.out / "vocabulary"
        if (folder / "vocabulary.json").exists():
            return Vocabulary.load(folder)
        texts = {}
        for code in self.languages:
            texts[code] = [self.out / "sample" / f"{code}.txt"]
            texts[code][0].parent.mkdir(parents=True, exist_ok=True)
            write_documents(texts[code][0], self._first(code, self.sample))
        made = train_vocabulary(
            texts,
            mode="joint",
            size=self.pieces,
            exponent=0.5,
            normalization="nfkc",
            progress=self.progress,
        )
        made.save(folder)
        return made

    def _first(self, code: str, most: int) -> Iterator[list[str]]:
        size = 0
        for part in self.parts(code):
            yield part
            size += sum(len(sentence.encode()) for sentence in part)
            if size >= most:
                return

    def cuts(self) -> dict[str, dict[str, int]]:
        """Write the text of the largest size; for each language and size, how many sentences of it that is."""
        path = self.out / "text" / "cuts.json"
        asked = {"tokens": list(self.tokens), "seed": self.seed, "languages": list(self.languages)}
        if path.exists():
            found = read_json(path)
            if found["asked"] != asked:
                raise ConfigError(f"{self.out} was begun with {found['asked']}", remedy="name another --out")
            cuts: dict[str, dict[str, int]] = found["sentences"]
            return cuts
        vocabulary, cuts = self.vocabulary(), {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for code in self.languages:
            ends: dict[str, int] = {}
            write_documents(path.with_name(f"{code}.txt"), self._until(code, vocabulary, ends))
            cuts[code] = ends
        write_json(path, {"asked": asked, "sentences": cuts})
        return cuts

    def _until(self, code: str, vocabulary: Vocabulary, ends: dict[str, int]) -> Iterator[list[str]]:
        """Parts until the largest size is reached; ``ends`` gets the sentences of each."""
        sizes = {size: amount(size) for size in self.tokens}
        tokens, sentences, last = 0, 0, max(sizes.values())
        with self.progress.task(f"{code}: text", total=last, unit="tokens") as task:
            for part in self.parts(code):
                before = tokens
                for ids in vocabulary.encode_batch(part, code):
                    tokens, sentences = tokens + len(ids), sentences + 1
                    for size, wanted in sizes.items():
                        if tokens >= wanted:
                            ends.setdefault(size, sentences)
                task.advance(tokens - before)
                yield part
                if tokens >= last:
                    return
        for size in sizes.keys() - ends.keys():
            say(f"{code} has {tokens:,} tokens in all, not {size}: the whole of it is taken")
            ends[size] = sentences

    def shards(self, size: str) -> dict[str, Shards]:
        """Of every language, for one size."""
        cuts, vocabulary = self.cuts(), self.vocabulary()
        return {
            code: build_shards(
                [self.out / "text" / f"{code}.txt"],
                vocabulary,
                code,
                self.out / size / "shards" / code,
                sentences=cuts[code][size],
                progress=self.progress,
            )
            for code in self.languages
        }

    def contexts(self, wanted: Mapping[str, Sequence[str]], most: int) -> dict[str, Path]:
        """Sentences with words that are asked for, the first N of each; a language without segmenter has none."""
        cuts, found = self.cuts(), {}
        for code, words in wanted.items():
            path = self.out / "contexts" / f"{code}.txt"
            mark, asked = path.with_suffix(".json"), {"contexts": most, "words": sorted(words)}
            if mark.exists() and read_json(mark) == asked:
                found[code] = path
                continue
            try:
                split = segmenter(code, word_method(code))
            except MissingPartError as error:
                say(f"{code} has no contexts: {error}")
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            left, lines = Counter(dict.fromkeys(words, most)), 0
            with line_writer(path) as writer:
                documents = read_documents(self.out / "text" / f"{code}.txt")
                for line in islice((line for part in documents for line in part), cuts[code][self.tokens[-1]]):
                    here = {word for word in map(str.lower, split(line)) if left.get(word, 0) > 0}
                    if here:
                        left.subtract(here)
                        writer.write(line)
                        lines += 1
            met = sum(count < most for count in left.values())
            say(f"{code}: {met:,} of {len(words):,} words met, {lines:,} sentences")
            write_json(mark, asked)
            found[code] = path
        return found


def amount(text: str) -> int:
    """A number of tokens as a person writes it: 200k, 1M, 10M."""
    units = {"k": 1_000, "M": 1_000_000, "B": 1_000_000_000}
    return round(float(text.rstrip("kMB")) * units.get(text[-1], 1))


def say(text: str) -> None:
    """A line for whoever waits."""
    sys.stderr.write(f"{text}\n")
