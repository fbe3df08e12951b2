"""What a fix does to a retrieval task of the user's own: queries with relevant documents, before and after.

Shape legend: ``Q`` queries, ``M`` documents, ``D`` columns, ``K`` best documents, ``F`` figures, ``S`` bootstrap
samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.diagnose.layer_choice import sample_weights
from isoglot.retrieve.simultaneous_intervals import as_share, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.retrieve.metrics import Interval
    from isoglot.text.formats.judged import JudgedQueries

BEST = 10
"""Number of documents that recall and nDCG look at."""
FIGURES = {"first": "first is relevant", "recall": f"recall at {BEST}", "ndcg": f"nDCG at {BEST}"}
"""Figures of a task, in words."""
_BLOCK = 512  # queries searched at a time


class OwnTask(NamedTuple):
    """Judged queries, with the languages of queries and documents where they are known."""

    judged: JudgedQueries
    languages: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, kw_only=True)
class TaskGain:
    """Figures of a task before and after a fix, by name, with 95 % intervals over queries.

    Attributes:
        name: Name of the task.
        languages: Languages of queries and documents; None where they are not known.
        queries: Number of queries.
        documents: Number of documents.
        before: Figures of the model as it is.
        after: Figures with the fix.
        gain: Their differences, paired.
    """

    name: str
    languages: tuple[str | None, str | None]
    queries: int
    documents: int
    before: Mapping[str, Interval]
    after: Mapping[str, Interval]
    gain: Mapping[str, Interval]

    @property
    def title(self) -> str:
        """The name, with the languages."""
        known = [code for code in self.languages if code is not None]
        return f"{self.name} ({' to '.join(known) or 'language not given'})"

    @property
    def is_worse(self) -> bool:
        """Whether nDCG is surely lower with the fix."""
        return self.gain["ndcg"].high < 0


def task_gain(
    task: OwnTask, before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], *, resamples: int
) -> TaskGain:
    """Compare two searches of a task, given the vectors of queries (Q × D) and of documents (M × D), of unit length."""
    rows = [judged_scores(*vectors, task.judged.relevant) for vectors in (before, after)]
    w_SQ = sample_weights(len(rows[0]), resamples, seed=0, name=f"task {task.judged.name}")
    drawn = [w_SQ @ each for each in (*rows, rows[1] - rows[0])]
    sides = [{name: interval(each[:, at]) for at, name in enumerate(FIGURES)} for each in drawn]
    return TaskGain(
        name=task.judged.name,
        languages=task.languages,
        queries=len(task.judged.queries),
        documents=len(task.judged.documents),
        before={name: as_share(each) for name, each in sides[0].items()},
        after={name: as_share(each) for name, each in sides[1].items()},
        gain=sides[2],
    )


def judged_scores(
    queries_QD: np.ndarray, documents_MD: np.ndarray, relevant: Sequence[Mapping[int, int]]
) -> np.ndarray:
    """Figures of each query (Q × F): whether the first document is relevant, recall and nDCG (Järvelin & Kekäläinen).

    >>> judged_scores(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]]), [{0: 1}, {2: 1, 0: 1}]).round(2)
    array([[1.  , 1.  , 1.  ],
           [0.  , 1.  , 0.69]])
    """
    documents, count = torch.from_numpy(np.ascontiguousarray(documents_MD)), min(BEST, len(documents_MD))
    best_QK = [
        (torch.from_numpy(queries_QD[start : start + _BLOCK]) @ documents.T).topk(count).indices
        for start in range(0, len(queries_QD), _BLOCK)
    ]
    discount_K = 1 / np.log2(np.arange(2, BEST + 2))
    rows = []
    for best_K, grades in zip(torch.cat(best_QK).tolist(), relevant, strict=True):
        found_K = np.array([grades.get(document, 0) for document in best_K])
        ideal_K = np.sort(list(grades.values()))[::-1][:BEST]
        ndcg = (found_K @ discount_K[: len(found_K)]) / (ideal_K @ discount_K[: len(ideal_K)])
        rows.append((found_K[0] > 0, (found_K > 0).sum() / min(len(grades), BEST), ndcg))
    return np.array(rows, dtype=np.float64)
