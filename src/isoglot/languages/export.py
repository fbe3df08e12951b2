"""Export of the built-in languages to files: text, parallel sentences, dictionaries, treebanks, entities, inference.

The formats are the usual ones of the field; :mod:`isoglot.text` reads them all.
"""

from __future__ import annotations

from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import Field, field_validator

from isoglot.core.config import Config
from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, Progress
from isoglot.languages.builtin import builtin_provenance, task_sentences
from isoglot.languages.corpus import LANGUAGES, Split, dictionary, documents, grammar, parallel, paraphrases
from isoglot.languages.entailment import inference
from isoglot.languages.sentence import Sentence, align
from isoglot.text.formats.conll import MultiwordToken, Tree, TreeWord, write_conllu, write_tagged
from isoglot.text.formats.dictionary import write_dictionary
from isoglot.text.formats.nli import Pair, write_inference
from isoglot.text.formats.parallel import write_parallel, write_pharaoh
from isoglot.text.formats.plain import write_documents
from isoglot.text.provenance import record_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from isoglot.languages.meaning import Register


def tree_of(sentence: Sentence, sentence_id: str) -> Tree:
    """The CoNLL-U tree of a sentence, with the comments of Universal Dependencies; entities are in the last column."""
    last = len(sentence.words)
    words = []
    columns = (sentence.words, sentence.lemmas, sentence.tags, sentence.heads, sentence.relations, sentence.entities)
    for position, (form, lemma, tag, head, relation, entity) in enumerate(zip(*columns, strict=True), start=1):
        fused = any(first <= position <= end for first, (end, _) in sentence.fused.items())
        misc = _misc(entity, glued=position in sentence.glued and not fused and position < last)
        words.append(TreeWord(position, form, lemma, tag, head=head, deprel=relation, misc=misc))
    multiwords = tuple(
        MultiwordToken(first, end, form, misc=_misc("O", glued=end in sentence.glued))
        for first, (end, form) in sorted(sentence.fused.items())
    )
    return Tree(tuple(words), multiwords, comments=(f"# sent_id = {sentence_id}", f"# text = {sentence.text}"))


def _misc(entity: str, *, glued: bool) -> str:
    facts = ([f"Entity={entity}"] if entity != "O" else []) + (["SpaceAfter=No"] if glued else [])
    return "|".join(facts) or "_"


Row = TypeVar("Row")
Part = Literal["text", "parallel", "dictionary", "treebank", "ner", "nli"]
PARTS: tuple[Part, ...] = ("text", "parallel", "dictionary", "treebank", "ner", "nli")
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
MOST = 10_000_000


class ExportConfig(Config):
    """Settings of an export."""

    languages: tuple[str, ...] = Field(LANGUAGES, min_length=1)
    """The built-in languages to write."""

    parts: tuple[Part, ...] = Field(PARTS, min_length=1)
    """The folders to write."""

    sentences: int = Field(100_000, ge=1, le=MOST)
    """Sentences of running text in each language, in the training part."""

    parallel: int = Field(10_000, ge=1, le=1_000_000)
    """Parallel sentences in the training part, and paraphrases in each language."""

    dictionary: int = Field(20_000, ge=1, le=1_000_000)
    """Parallel sentences from which each dictionary is built."""

    treebank: int = Field(5_000, ge=1, le=1_000_000)
    """Trees in each language, in the training part."""

    ner: int = Field(5_000, ge=1, le=1_000_000)
    """Sentences with named entities in each language, in the training part."""

    nli: int = Field(6_000, ge=1, le=1_000_000)
    """Inference pairs in each language, in the training part."""

    held_out: int = Field(1_000, ge=1, le=100_000)
    """Sentences, trees or pairs in the dev part, and in the test part."""

    registers: Literal["both", "encyclopaedic", "conversational"] = "both"
    """The register of text and parallel sentences."""

    @field_validator("languages")
    @classmethod
    def _known(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        codes = tuple(grammar(language).language for language in languages)
        if len(set(codes)) < len(codes):
            raise ValueError(f"should name each language once, not {', '.join(codes)}")
        return codes


def export(config: ExportConfig, out: str | Path, *, seed: int = 0, progress: Progress = SILENT) -> list[Path]:
    """Write the folder, deterministically; returns the files."""
    writer = _Writer(config, writable_folder(out), seed, progress)
    for part in config.parts:
        getattr(writer, part)()
    return writer.written


class _Writer:
    def __init__(self, config: ExportConfig, out: Path, seed: int, progress: Progress) -> None:
        self.config, self.out, self.seed, self.progress = config, out, seed, progress
        self.register: Register | None = None if config.registers == "both" else config.registers
        self.written: list[Path] = []

    def path(self, part: str, name: str) -> Path:
        path = writable_folder(self.out / part) / name
        self.written.append(path)
        return path

    def size(self, split: Split, train: int) -> int:
        return train if split == "train" else self.config.held_out

    # --- parts ---

    def text(self) -> None:
        for language in self.config.languages:
            for split in SPLITS:
                size = self.size(split, self.config.sentences)
                texts = self._texts(language, split, size)
                path = self.path("text", f"{language}.{split}.txt")
                write_documents(path, texts, provenance=builtin_provenance(path.name, language, self.seed))
                self.written.append(record_path(path))

    def _texts(self, language: str, split: Split, size: int) -> Iterator[list[str]]:
        """Documents with ``size`` sentences in all; the last one is truncated."""
        left = size
        with self.progress.task(f"text {language} {split}", total=size, unit="sentences") as task:
            for document in documents(language, seed=self.seed, split=split, register=self.register):
                lines = [sentence.text for sentence in document[:left]]
                yield lines
                task.advance(len(lines))
                left -= len(lines)
                if left == 0:
                    return

    def parallel(self) -> None:
        languages = self.config.languages
        for split in SPLITS:
            size = self.size(split, self.config.parallel)
            stream = parallel(languages, seed=self.seed, split=split, register=self.register)
            rows = list(self._distinct(f"parallel {split}", stream, size))
            path = self.path("parallel", f"{split}.tsv")
            write_parallel(path, languages, (dict(zip(languages, (s.text for s in row), strict=True)) for row in rows))
            path = self.path("parallel", f"{split}.tokens.tsv")
            tokens = ((" ".join(s.tokens()) for s in row) for row in rows)
            write_parallel(path, languages, (dict(zip(languages, row, strict=True)) for row in tokens))
            for i, j in combinations(range(len(languages)), 2):
                path = self.path("parallel", f"{split}.{languages[i]}-{languages[j]}.align")
                write_pharaoh(path, (align(row[i], row[j]) for row in rows))
            for language in languages:
                pairs = paraphrases(language, seed=self.seed, split=split, register=self.register)
                twins = self._distinct(f"paraphrases {language} {split}", pairs, size)
                codes = (language, f"{language}-x-para")
                path = self.path("parallel", f"paraphrases.{language}.{split}.tsv")
                write_parallel(path, codes, ({codes[0]: a.text, codes[1]: b.text} for a, b in twins))

    def dictionary(self) -> None:
        pairs = list(permutations(self.config.languages, 2))
        with self.progress.task("dictionaries", total=len(pairs), unit="dictionaries") as task:
            for source, target in pairs:
                made = dictionary(source, target, seed=self.seed, sentences=self.config.dictionary)
                name = f"{source}-{target}"
                write_dictionary(self.path("dictionary", f"{name}.weighted.tsv"), made.entries, "weighted")
                write_dictionary(self.path("dictionary", f"{name}.txt"), made.entries, "muse")
                write_dictionary(self.path("dictionary", f"{name}.train.txt"), made.train, "muse")
                write_dictionary(self.path("dictionary", f"{name}.test.txt"), made.test, "muse")
                task.advance()

    def treebank(self) -> None:
        for language, split, sentences in self._annotated("treebank", self.config.treebank):
            trees = (tree_of(s, f"{language}-{split}-{i}") for i, s in enumerate(sentences, start=1))
            write_conllu(self.path("treebank", f"{language}.{split}.conllu"), trees)

    def ner(self) -> None:
        for language, split, sentences in self._annotated("ner", self.config.ner):
            rows = (list(zip(s.tokens(), s.token_entities(), strict=True)) for s in sentences)
            write_tagged(self.path("ner", f"{language}.{split}.tsv"), rows)

    def nli(self) -> None:
        languages = self.config.languages
        for split in SPLITS:
            size = self.size(split, self.config.nli)
            pairs = list(self._counted(f"nli {split}", inference(languages, seed=self.seed, split=split), size))
            for index, language in enumerate(languages):
                rows = (Pair(p.premise[index].text, p.hypothesis[index].text, p.label) for p in pairs)
                write_inference(self.path("nli", f"{language}.{split}.tsv"), rows)

    # --- streams ---

    def _annotated(self, part: str, train: int) -> Iterator[tuple[str, Split, Iterable[Sentence]]]:
        """Sentences of each language and split; the n-th has the same meaning in every language."""
        for language in self.config.languages:
            for split in SPLITS:
                stream = task_sentences(language, split, seed=self.seed, part=part)
                yield language, split, self._counted(f"{part} {language} {split}", stream, self.size(split, train))

    def _distinct(self, label: str, rows: Iterable[tuple[Sentence, ...]], size: int) -> Iterator[tuple[Sentence, ...]]:
        """Rows with distinct first sentences."""
        seen: set[str] = set()

        def fresh(row: tuple[Sentence, ...]) -> bool:
            before = len(seen)
            seen.add(row[0].text)
            return len(seen) > before

        return self._counted(label, filter(fresh, rows), size)

    def _counted(self, label: str, rows: Iterable[Row], size: int) -> Iterator[Row]:
        with self.progress.task(label, total=size, unit="sentences") as task:
            for row in islice(rows, size):
                yield row
                task.advance()
