"""Cross-validated retrieval with every fix, and what a fix does to each language alone.

A fix is fitted on all folds but one and applied to all sentences; the sentences of that fold are then searched for. So
a sentence never takes part in what it is searched with.

Shape legend: ``N`` sentences of a set, ``D`` columns, ``P`` pairs of languages, ``C`` candidates, ``M`` copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import torch

from isoglot.core.progress import SILENT
from isoglot.diagnose.repair.treatments import TREATMENTS, Moments, Sample, unit_rows
from isoglot.diagnose.retrieval import directed
from isoglot.retrieve.estimates import QueryGroup
from isoglot.retrieve.evaluation import apart_from
from isoglot.retrieve.gold import Gold
from isoglot.retrieve.methods import Direction, PairSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.core.progress import Progress
    from isoglot.diagnose.repair.treatments import Maps, Name

NEIGHBORS = 10
"""Number of nearest neighbors that are compared before and after a fix."""
_QUICK = 500  # sentences of a set that layers are compared on
ByLayer = Mapping[int, np.ndarray]


class Candidate(NamedTuple):
    """A fix in a layer."""

    layer: int
    name: Name


@dataclass(frozen=True, kw_only=True)
class ParallelVectors:
    """Vectors (N × D) of translated sentences by language and layer.

    Attributes:
        name: Name of the set.
        vectors: By language and layer; rows correspond.
        folds_N: Fold of each sentence.
        copies: For some sentences of each language, their numbers (M) and the vectors of shortened copies by layer.
    """

    name: str
    vectors: Mapping[str, ByLayer]
    folds_N: np.ndarray
    copies: Mapping[str, tuple[np.ndarray, ByLayer]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.folds_N)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What fixes are tried on.

    Attributes:
        sets: Translated sentences.
        pivot: Language that others are rotated to.
        others: Vectors of other text by language and layer, to fit on what needs no translations.
        with_pivot: Whether to search only between the pivot and each other language.
    """

    sets: Sequence[ParallelVectors]
    pivot: str
    others: Mapping[str, ByLayer] = field(default_factory=dict)
    with_pivot: bool = False

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, the pivot first."""
        codes = [code for one in self.sets for code in one.vectors]
        return tuple(sorted(dict.fromkeys(codes), key=lambda code: code != self.pivot))

    def pairs(self, one: ParallelVectors) -> list[tuple[str, str]]:
        """The pairs of languages of a set."""
        return [pair for pair in combinations(one.vectors, 2) if not self.with_pivot or self.pivot in pair]

    @property
    def all_pairs(self) -> list[tuple[str, str]]:
        """The pairs of all sets, in order."""
        return [pair for one in self.sets for pair in self.pairs(one)]

    def sample(self, layer: int, without: int | None = None) -> Sample:
        """Vectors of a layer to fit on, without a fold."""
        rows: dict[str, list[np.ndarray]] = defaultdict(list)
        pairs: dict[str, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
        for one in self.sets:
            kept_N = one.folds_N != without
            for code, by_layer in one.vectors.items():
                rows[code].append(by_layer[layer][kept_N])
                if code != self.pivot and self.pivot in one.vectors:
                    pairs[code].append((rows[code][-1], one.vectors[self.pivot][layer][kept_N]))
        given = {code: self.others[code][layer] if code in self.others else np.concatenate(rows[code]) for code in rows}
        joined = {code: tuple(np.concatenate(side) for side in zip(*own, strict=True)) for code, own in pairs.items()}
        return Sample(
            {code: Moments.of(each) for code, each in given.items()},
            {code: (sides[0], sides[1]) for code, sides in joined.items()},
            self.pivot,
        )

    def fit(self, candidate: Candidate, without: int | None = None) -> Maps:
        """Fit a fix, without a fold."""
        return TREATMENTS[candidate.name].fit(self.sample(candidate.layer, without))

    @property
    def folds(self) -> range:
        """Numbers of the folds."""
        return range(max(int(one.folds_N.max()) for one in self.sets) + 1)


def best_layers(trial: Trial, layers: Sequence[int], count: int) -> list[int]:
    """The most promising layers by a quick look, and the last; P@1 on some sentences, with and without their means."""
    score = dict.fromkeys(layers, 0.0)
    for layer in layers:
        for one in trial.sets:
            for pair in trial.pairs(one):
                X, Y = (one.vectors[code][layer][:_QUICK] for code in pair)
                centered = (X - X.mean(axis=0), Y - Y.mean(axis=0))
                score[layer] += max(_hits(*_directed(*sides), None).mean() for sides in ((X, Y), centered))
    return sorted({layers[-1], *sorted(layers, key=lambda layer: -score[layer])[:count]})


def find_all(trial: Trial, candidates: Sequence[Candidate], progress: Progress = SILENT) -> list[np.ndarray]:
    """Whether each sentence is found by each candidate, the mean of both directions: P × C × N for each set."""
    found = [np.zeros((len(trial.pairs(one)), len(candidates), len(one)), dtype=np.float32) for one in trial.sets]
    layers = sorted({each.layer for each in candidates})
    with progress.task("try fixes", total=len(candidates) * len(trial.folds), unit="fits") as task:
        for layer in layers:
            task.note(f"layer {layer}")
            for fold in trial.folds:
                sample = trial.sample(layer, fold)
                for number, candidate in enumerate(candidates):
                    if candidate.layer != layer:
                        continue
                    maps = TREATMENTS[candidate.name].fit(sample)
                    for one, found_PCN in zip(trial.sets, found, strict=True):
                        own_N = one.folds_N == fold
                        rows = {code: unit(maps, code, by_layer[layer]) for code, by_layer in one.vectors.items()}
                        for place, (source, target) in enumerate(trial.pairs(one)):
                            found_PCN[place, number, own_N] = _hits(rows[source], rows[target], own_N)
                    task.advance()
    return found


def find_by_csls(trial: Trial, candidate: Candidate) -> list[np.ndarray]:
    """Whether each sentence is found by CSLS with a fix: P × N for each set; neighborhoods are of other folds."""
    found = [np.zeros((len(trial.pairs(one)), len(one)), dtype=np.float32) for one in trial.sets]
    for fold in trial.folds:
        maps = trial.fit(candidate, fold)
        for one, found_PN in zip(trial.sets, found, strict=True):
            own_N = one.folds_N == fold
            rows = {code: unit(maps, code, by_layer[candidate.layer]) for code, by_layer in one.vectors.items()}
            for place, pair in enumerate(trial.pairs(one)):
                X, Y = (torch.from_numpy(rows[code]) for code in pair)
                found_PN[place, own_N] = _csls_hits(X, Y, own_N)
    return found


class OwnLanguage(NamedTuple):
    """Retrieval inside one language: whether the sentence of each shortened copy is found, and neighbors kept."""

    found_M: np.ndarray
    kept_N: np.ndarray
    """Share of the nearest neighbors of a sentence that are the same as without a fix."""


def own_languages(trial: Trial, candidate: Candidate, before: Candidate) -> dict[str, OwnLanguage]:
    """Retrieval inside each language with a fix: shortened copies, and neighbors kept."""
    copies: dict[str, list[np.ndarray]] = defaultdict(list)
    kept: dict[str, list[np.ndarray]] = defaultdict(list)
    for fold in trial.folds:
        maps, maps_before = trial.fit(candidate, fold), trial.fit(before, fold)
        for one in trial.sets:
            own_N = one.folds_N == fold
            for code, by_layer in one.vectors.items():
                after_ND = unit(maps, code, by_layer[candidate.layer])
                before_ND = unit(maps_before, code, by_layer[before.layer])
                near = [_neighbors(rows_ND, own_N) for rows_ND in (before_ND, after_ND)]
                same = [len(set(a) & set(b)) / len(a) for a, b in zip(*near, strict=True)]
                kept[code].append(np.array(same))
                if code in one.copies:
                    rows_M, vectors = one.copies[code]
                    asked_M = own_N[rows_M]
                    queries = unit(maps, code, vectors[candidate.layer][asked_M])
                    copies[code].append(_nearest(queries, after_ND) == rows_M[asked_M])
    return {
        code: OwnLanguage(np.concatenate(copies.get(code, [np.zeros(0, bool)])).astype(float), np.concatenate(each))
        for code, each in kept.items()
    }


def unit(maps: Maps, code: str, rows_ND: np.ndarray) -> np.ndarray:
    """Rows after a fix, of unit length in float32; zero rows get a random direction."""
    return unit_rows(directed(maps[code](rows_ND), 0, code)).astype(np.float32)


def _directed(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sides = [unit_rows(directed(side, 0, name)).astype(np.float32) for name, side in (("X", X), ("Y", Y))]
    return sides[0], sides[1]


def _hits(X_ND: np.ndarray, Y_ND: np.ndarray, own_N: np.ndarray | None) -> np.ndarray:
    """Whether the nearest row of the other side is the translation: 0, ½ or 1, the mean of both directions."""
    own_N = np.ones(len(X_ND), dtype=bool) if own_N is None else own_N
    right = np.flatnonzero(own_N)
    both = [_nearest(X_ND[own_N], Y_ND) == right, _nearest(Y_ND[own_N], X_ND) == right]
    return np.asarray(np.mean(both, axis=0))


def _nearest(queries_QD: np.ndarray, answers_ND: np.ndarray) -> np.ndarray:
    search = PairSearch(torch.from_numpy(queries_QD), torch.from_numpy(answers_ND))
    return search.best("cosine", "forward", 1).indices_NK[:, 0].numpy()


def _neighbors(rows_ND: np.ndarray, own_N: np.ndarray) -> list[list[int]]:
    """Numbers of the nearest other rows of some rows."""
    search = PairSearch(torch.from_numpy(rows_ND[own_N]), torch.from_numpy(rows_ND))
    near_QK = search.best("cosine", "forward", NEIGHBORS + 1).indices_NK.tolist()
    return [
        [each for each in near if each != own][:NEIGHBORS]
        for own, near in zip(np.flatnonzero(own_N).tolist(), near_QK, strict=True)
    ]


def _csls_hits(X: torch.Tensor, Y: torch.Tensor, own_N: np.ndarray) -> np.ndarray:
    asked_Q = torch.from_numpy(np.flatnonzero(own_N))
    search = PairSearch(X, Y).apart(apart_from(QueryGroup(own_N, own_N), (X, Y), Gold.one_to_one(len(X))))
    tops = [search.best("csls", way, 1, asked_Q).indices_NK[:, 0] for way in get_args(Direction)]
    return np.asarray(np.mean([(top == asked_Q).numpy() for top in tops], axis=0))
