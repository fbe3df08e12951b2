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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.core.progress import SILENT
from isoglot.diagnose.repair.treatments import TREATMENTS, Moments, Sample, unit_rows
from isoglot.diagnose.retrieval import directed
from isoglot.retrieve.methods import NEIGHBORHOOD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.core.progress import Progress
    from isoglot.diagnose.repair.treatments import Maps, Name

NEIGHBORS = 10
"""Number of nearest neighbors that are compared before and after a fix."""
QUICK = 500
"""Sentences of a set that layers are compared on."""
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
    if len(layers) <= count + 1:
        return list(layers)
    score = dict.fromkeys(layers, 0.0)
    for layer in layers:
        for one in trial.sets:
            for pair in trial.pairs(one):
                X, Y = (one.vectors[code][layer][:QUICK] for code in pair)
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


def find_by_csls(trial: Trial, layer: int, fitted: Sequence[Maps]) -> list[np.ndarray]:
    """Whether each sentence is found by CSLS with the fix of each fold: P × N for each set."""
    found = [np.zeros((len(trial.pairs(one)), len(one)), dtype=np.float32) for one in trial.sets]
    for fold, maps in enumerate(fitted):
        for one, found_PN in zip(trial.sets, found, strict=True):
            own_N = one.folds_N == fold
            rows = {code: torch.from_numpy(unit(maps, code, vectors[layer])) for code, vectors in one.vectors.items()}
            for place, (source, target) in enumerate(trial.pairs(one)):
                found_PN[place, own_N] = _csls_hits(rows[source] @ rows[target].T, torch.from_numpy(own_N))
    return found


class OwnLanguage(NamedTuple):
    """Retrieval inside one language.

    Attributes:
        before_M: Whether the sentence of each shortened copy is found without the fix.
        after_M: The same with it.
        kept_N: Share of the nearest neighbors of a sentence that are the same with and without it.
    """

    before_M: np.ndarray
    after_M: np.ndarray
    kept_N: np.ndarray


def own_languages(
    trial: Trial, layers: tuple[int, int], fitted: Sequence[tuple[Maps, Maps]]
) -> dict[str, list[OwnLanguage]]:
    """Retrieval inside each language before and after a fix, fold by fold.

    Args:
        trial: What fixes are tried on.
        layers: The layer before, and that of the fix.
        fitted: Maps before and after, for each fold.
    """
    parts: dict[str, list[OwnLanguage]] = defaultdict(list)
    for fold, both in enumerate(fitted):
        for one in trial.sets:
            own_N = one.folds_N == fold
            for code, vectors in one.vectors.items():
                rows_M, copies = one.copies.get(code, (np.zeros(0, dtype=np.int64), vectors))
                asked_M = own_N[rows_M]
                near, found = [], []
                for maps, layer in zip(both, layers, strict=True):
                    rows_ND = unit(maps, code, vectors[layer])
                    queries_QD = unit(maps, code, copies[layer][: len(rows_M)][asked_M])
                    near.append(_neighbors(rows_ND, own_N))
                    found.append((_nearest(queries_QD, rows_ND) == rows_M[asked_M]).astype(float))
                same = [len(set(a) & set(b)) / len(a) for a, b in zip(*near, strict=True)]
                parts[code].append(OwnLanguage(found[0], found[1], np.array(same)))
    return parts


class MixedShares(NamedTuple):
    """What sentences find in one pool of all languages, as means over the languages (N each).

    Attributes:
        right_N: Share of the languages in which the nearest neighbor is a translation.
        own_language_N: Share in which it is another sentence of the query's own language.
        wrong_language_N: Share in which it is a wrong sentence of another language.
    """

    right_N: np.ndarray
    own_language_N: np.ndarray
    wrong_language_N: np.ndarray


def one_pool(trial: Trial, layer: int, fitted: Sequence[Maps]) -> MixedShares:
    """Search for each sentence among the sentences of all languages of its set, with the fix of its fold."""
    found = [np.zeros((3, len(one))) for one in trial.sets]
    for fold, maps in enumerate(fitted):
        for one, shares_FN in zip(trial.sets, found, strict=True):
            (own_Q,) = np.nonzero(one.folds_N == fold)
            pool = torch.from_numpy(np.concatenate([unit(maps, code, by[layer]) for code, by in one.vectors.items()]))
            for number in range(len(one.vectors)):
                asked_Q = torch.from_numpy(own_Q + number * len(one))
                cosines_QZ = (pool[asked_Q] @ pool.T).scatter_(1, asked_Q[:, None], -torch.inf)
                near_Q = cosines_QZ.argmax(dim=1).numpy()
                right_Q, own_language_Q = near_Q % len(one) == own_Q, near_Q // len(one) == number
                kinds = np.stack([right_Q, own_language_Q, ~(right_Q | own_language_Q)])
                shares_FN[:, own_Q] += kinds / len(one.vectors)
    return MixedShares(*np.concatenate(found, axis=1))


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
    return (torch.from_numpy(queries_QD) @ torch.from_numpy(answers_ND).T).argmax(dim=1).numpy()


def _neighbors(rows_ND: np.ndarray, own_N: np.ndarray) -> list[list[int]]:
    """Numbers of the nearest other rows of some rows."""
    rows, own_Q = torch.from_numpy(rows_ND), torch.from_numpy(np.flatnonzero(own_N))
    cosines_QN = (rows[own_Q] @ rows.T).scatter_(1, own_Q[:, None], -torch.inf)
    near: list[list[int]] = cosines_QN.topk(min(NEIGHBORS, len(rows) - 1)).indices.tolist()
    return near


def _csls_hits(cosines_NN: torch.Tensor, own_N: torch.Tensor) -> np.ndarray:
    """Hits of a fold by CSLS, the mean of both directions.

    The neighborhood of an answer consists of the queries of other folds, without its own translation.
    """
    right_Q = own_N.nonzero()[:, 0]
    hits = []
    for asked_NN in (cosines_NN, cosines_NN.T):
        others_NM = asked_NN.clone().fill_diagonal_(-1).T[:, ~own_N]
        near_N = others_NM.topk(min(NEIGHBORHOOD, others_NM.shape[1])).values.mean(dim=1)
        hits.append((2 * asked_NN[own_N] - near_N).argmax(dim=1) == right_Q)
    return torch.stack(hits).float().mean(dim=0).numpy()
