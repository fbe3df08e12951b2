"""Named entity recognition: BIO tags, scored by span F1 as by conlleval.

Where words are single characters and the vocabulary has tokens of several (WikiAnn's Chinese), labels are moved from
the characters to the tokens they are in, for no token can begin a name and go on with it; what is predicted is moved
back, and scored on the words of the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.builtin import annotated_sentences
from isoglot.text.cleaning.realign_entities import realign
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.formats.conll_columns import find_prefix, read_tagged, token_blocks
from isoglot.transfer.scoring.spans import repaired, span_score
from isoglot.transfer.tasks.examples import Data, Tagged
from isoglot.transfer.tasks.tagging import Tagging
from isoglot.transfer.tasks.task import TaskScores, register

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.languages.corpus import Split
    from isoglot.transfer.tasks.task import Labels, TaskRows
    from isoglot.vocab.word_reader import Joined


class Entities(Tagging):
    """Named entities of the types in the training data."""

    name: ClassVar[str] = "ner"
    title: ClassVar[str] = "named entities"
    metric: ClassVar[str] = "f1"

    def read(self, path: str | Path, language: str) -> Data[Tagged]:
        """CoNLL columns, the token first and the tag last; WikiAnn's ``en:`` before every token is taken off."""
        found = read_tagged(path, prefix=find_prefix(path, language))
        return Data([Tagged(tuple(t for t, _ in each), tuple(tag for _, tag in each)) for each in found], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a word."""
        block = next((block for index, block in enumerate(token_blocks(path)) if index == example), None)
        return None if block is None else block[place][0]

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Tagged]:
        """Built-in sentences, four of five with a name."""
        found = annotated_sentences(language, split, count, seed=seed, part="ner", spaced=spaced)
        return Data([Tagged(each.words, each.entities, each.blanks) for each in found])

    def joined(self, examples: Sequence[Tagged], language: str | None) -> Joined:
        """Labels on characters are moved to the tokens they are in."""
        words = [word for example in examples[:1000] for word in example.words]
        single = sum(len(word) == 1 for word in words) > 0.9 * len(words)
        return "share" if single and not written_with_blanks(language or "en") else "apart"

    def grouped(self, example: Tagged, sizes: Sequence[int]) -> tuple[Sequence[str], dict[str, int]]:
        """Tags of groups of words."""
        if not example.tags:
            return ["O"] * len(sizes), {}
        groups, at = [], 0
        for size in sizes:
            groups.append("".join(example.words[at : at + size]))
            at += size
        tags, report = realign(example.words, example.tags, groups)
        return tags, {"spans grown": report.grown, "spans lost": report.lost}

    def ungrouped(self, tags: Sequence[str], sizes: Sequence[int]) -> list[str]:
        """Tags moved back: what begins a span begins it with the first word of the group."""
        return [
            tag if place == 0 or tag == "O" else f"I-{tag[2:]}"
            for tag, size in zip(tags, sizes, strict=True)
            for place in range(size)
        ]

    def predicted(
        self, examples: Sequence[Tagged], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Tagged]:
        """Examples with predicted tags, repaired as in Wu et al. (2020)."""
        found = super().predicted(examples, rows, decoded, labels)
        return [replace(one, tags=tuple(repaired(one.tags))) for one in found]

    def score(self, gold: Sequence[Tagged], predicted: Sequence[Tagged]) -> TaskScores:
        """F1, precision and recall of spans, and F1 of each kind; predicted tags count as they are."""
        found = span_score([one.tags for one in gold], [one.tags for one in predicted])
        values = {"f1": found.f1, "precision": found.precision, "recall": found.recall}
        values |= {f"f1 {kind}": counts.f1 for kind, counts in found.by_kind.items()}
        return TaskScores(found.f1, values, found.ratio_N2)


TASK = register(Entities())
