"""Tasks with a label for each word, predicted at its first subword."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from isoglot.transfer.tasks.examples import Tagged
from isoglot.transfer.tasks.task import IGNORED, Kind, Labels, Task, TaskRow, TaskRows
from isoglot.transfer.tuning.heads import HeadConfig, LinearHead, TaskHead
from isoglot.vocab.word_reader import Joined, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.vocab.word_reader import Reader


class Tagging(Task[Tagged]):
    """A tag for each word. Sentences too long for the encoder are split into windows and counted."""

    kind: ClassVar[Kind] = "tagging"

    def labels(self, example: Tagged) -> Sequence[str]:
        """The tags."""
        return example.tags

    def joined(self, examples: Sequence[Tagged], language: str | None) -> Joined:
        """How words that share a token are read; by default they are tokenized separately.

        With ``share`` they are tagged as a group, by :meth:`grouped` and :meth:`ungrouped`.
        """
        return "apart"

    def grouped(self, example: Tagged, sizes: Sequence[int]) -> tuple[Sequence[str], dict[str, int]]:
        """Tags of groups of words that share a token, and counts of changes.

        By default a group has the tag of its first word.

        Args:
            example: The sentence.
            sizes: Number of words in each group.
        """
        firsts = accumulate(sizes[:-1], initial=0)
        return [example.tags[first] for first in firsts] if example.tags else [""] * len(sizes), {}

    def ungrouped(self, tags: Sequence[str], sizes: Sequence[int]) -> list[str]:
        """Tags of words from tags of groups; by default all words of a group have its tag."""
        return [tag for tag, size in zip(tags, sizes, strict=True) for _ in range(size)]

    def rows(
        self, examples: Sequence[Tagged], reader: Reader, labels: Labels, *, purpose: Literal["learn", "test"]
    ) -> TaskRows:
        """One or several rows for each sentence with words."""
        numbers = labels.numbers()
        found = TaskRows()
        there = [index for index, example in enumerate(examples) if example.words]
        found.counts["empty"] += len(examples) - len(there)
        joined = self.joined(examples, reader.language)
        pieces = reader.words([examples[i].words for i in there], [examples[i].blanks for i in there], joined=joined)
        for index, read in zip(there, pieces, strict=True):
            example, tags, ids_N, firsts_W = examples[index], examples[index].tags, read.ids_N, read.firsts_W
            found.counts["unread"] += read.unread
            found.counts["cut apart" if joined == "apart" else "joined"] += read.joined
            if read.joined and joined == "share":
                firsts_W, sizes = np.unique(read.firsts_W, return_counts=True)
                moved, changes = self.grouped(example, sizes.tolist())
                tags = tuple(moved)
                found.units[index] = sizes.tolist()
                found.counts.update(changes)
            cut = windows(firsts_W, len(ids_N), reader.room)
            found.counts["split"] += len(cut) > 1
            found.counts["truncated"] += any(window.lost for window in cut)
            for window in cut:
                chosen = slice(window.words.start, window.words.stop)
                targets_WK = None
                if purpose == "learn":
                    targets_WK = np.array([[numbers.get(tag, IGNORED)] for tag in tags[chosen]], dtype=np.int64)
                inside = np.minimum(firsts_W[chosen], window.tokens.stop - 1) - window.tokens.start
                ids = reader.framed(ids_N[window.tokens.start : window.tokens.stop])
                found.rows.append(TaskRow(ids, inside + reader.before, targets_WK, index, window.words.start))
        return found

    def predicted(
        self, examples: Sequence[Tagged], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Tagged]:
        """Examples with predicted tags."""
        tags: dict[int, list[str]] = {index: [] for index in range(len(examples))}
        for row, found_WK in zip(rows.rows, decoded, strict=True):
            tags[row.example] += [labels.names[number] for number in found_WK[:, 0].tolist()]
        for index, sizes in rows.units.items():
            tags[index] = self.ungrouped(tags[index], sizes)
        return [replace(example, tags=tuple(tags[index])) for index, example in enumerate(examples)]

    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """Linear classifier on the first subword of each word."""
        return LinearHead(width, len(labels), config)
