"""Part-of-speech tagging of treebanks: an example of a tagging task, which defines reading and scoring."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.builtin import annotated_sentences
from isoglot.text.formats.conllu import read_conllu
from isoglot.transfer.tasks.examples import Data, Tagged
from isoglot.transfer.tasks.parsing import blanks_of, line_of_word
from isoglot.transfer.tasks.tagging import Tagging
from isoglot.transfer.tasks.task import TaskScores, Unseen, accuracy, check_paired, register

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.languages.corpus import Split


class PartOfSpeech(Tagging):
    """Universal part-of-speech tags. A test language may have tags that the training language lacks."""

    name: ClassVar[str] = "pos"
    title: ClassVar[str] = "parts of speech"
    metric: ClassVar[str] = "accuracy"
    unseen: ClassVar[Unseen] = "count"

    def read(self, path: str | Path, language: str) -> Data[Tagged]:
        """Read the column UPOS of a treebank, with or without heads."""
        found = [
            Tagged(tuple(w.form for w in tree.words), tuple(w.upos for w in tree.words), blanks_of(tree))
            for tree in read_conllu(path, heads="optional")
        ]
        return Data(found, str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a word."""
        return line_of_word(path, example, place)

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Tagged]:
        """Built-in sentences."""
        found = annotated_sentences(language, split, count, seed=seed, part="treebank", spaced=spaced)
        return Data([Tagged(each.words, each.tags, each.blanks) for each in found])

    def score(self, gold: Sequence[Tagged], predicted: Sequence[Tagged]) -> TaskScores:
        """Accuracy over words."""
        check_paired(gold, predicted)
        right = [
            sum(tag == found for tag, found in zip(one.tags, other.tags, strict=True))
            for one, other in zip(gold, predicted, strict=True)
        ]
        return accuracy(right, [len(one.tags) for one in gold])


TASK = register(PartOfSpeech())
