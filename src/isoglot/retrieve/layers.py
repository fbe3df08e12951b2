"""Every layer of two sides at once: as it is, and with each side's mean removed.

Languages sit in clouds of their own; removing the mean of each lets the clouds meet, so that what is left is what the
rows say (Liu et al. 2020). Where the two figures differ much, the space is shared but for a shift.

Shape legend: ``N`` rows, ``D`` width.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from isoglot.core.errors import ConfigError, InputError, nearest_name, shown
from isoglot.core.progress import SILENT
from isoglot.retrieve.chosen import as_share, chosen_interval, leads
from isoglot.retrieve.methods import NEIGHBOURHOOD, Direction
from isoglot.retrieve.metrics import resampled_means
from isoglot.retrieve.scores import Candidates, RetrievalScores, score_retrieval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from isoglot.core.progress import Progress
    from isoglot.retrieve.gold import Gold
    from isoglot.retrieve.methods import Method
    from isoglot.retrieve.scores import MethodScores
    from isoglot.retrieve.spelling import SpeltAlike
    from isoglot.retrieve.words import Coverage

Centre = Literal["none", "mean"]
"""``none``: vectors as they are. ``mean``: without the mean of their side."""

CENTRES: tuple[Centre, ...] = get_args(Centre)
DEFAULT_METHODS: tuple[Method, ...] = ("cosine", "csls")
_LARGE = 10**9  # similarities from which on one search is worth a progress bar of its own
_CHUNK = 65536


@dataclass(frozen=True, kw_only=True)
class Side:
    """What is asked for, or among what is looked: the same rows in one or more layers.

    Attributes:
        name: A language or a file, for messages and tables.
        layers: An N × D matrix by its layer; None is the layer of vectors that come from none.
        items: What the rows are, where that is known: sentences or words.
        numbers: The line of its file each row comes from, from 1; by default rows are numbered.
        header: What the vectors are, where that is known, as ``Representations.header`` has it.
        frequent: Of words: the first so many rows are the vocabulary, those after it the dictionaries' other words;
            None: all rows are the vocabulary.
        without_vector: Words that were left out because they have no vector.
    """

    name: str
    layers: Mapping[int | None, np.ndarray]
    items: Sequence[str] | None = None
    numbers: Sequence[int] | None = None
    header: Mapping[str, Any] = field(default_factory=dict, repr=False)
    frequent: int | None = None
    without_vector: int = 0

    def only(self, rows: Sequence[int]) -> Side:
        """Some rows, which must be words, in the order given."""
        items = self.items or ()
        layers = {layer: matrix[list(rows)] for layer, matrix in self.layers.items()}
        return replace(self, layers=layers, items=[items[row] for row in rows], frequent=None)

    def with_vectors(self) -> Side:
        """The words whose vectors are not all zeros in any layer, and how many others there were."""
        present_N = np.all([matrix.any(axis=1) for matrix in self.layers.values()], axis=0)
        if present_N.all():
            return self
        if not present_N.any():
            raise InputError(f"{self.name}: every vector is all zeros", remedy="check what the vectors were made from")
        frequent = None if self.frequent is None else int(present_N[: self.frequent].sum())
        left_out = self.without_vector + int((~present_N).sum())
        kept = self.only(np.flatnonzero(present_N).tolist())
        return replace(kept, frequent=frequent, without_vector=left_out)

    @property
    def cut(self) -> int:
        """Sentences that were longer than the model takes."""
        return int(self.header.get("cut", 0))

    def __len__(self) -> int:
        return len(next(iter(self.layers.values())))


class LayerScores(NamedTuple):
    """One layer, as it is or centred: all methods in both directions."""

    layer: int | None
    centre: Centre
    scores: RetrievalScores


class Best(NamedTuple):
    """Where translations are found best, and how often: P@1, the mean of both directions.

    Attributes:
        layer: The layer.
        centre: Whether each side's mean was removed.
        method: How neighbours were chosen.
        value: How often.
        low: Where the 95 % interval begins; it allows for the choice.
        high: Where it ends.
        chosen_among: How many layers, centres and methods there were to choose from, by the same rows.
        near: Layers, that one included, that by some centre and method are not surely worse.
    """

    layer: int | None
    centre: Centre
    method: Method
    value: float
    low: float
    high: float
    chosen_among: int
    near: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class PairScores:
    """Two sides, every layer; ``coverage`` where the right pairs came from a dictionary.

    ``resamples`` and ``seed`` are those of the intervals; ``model`` tells several models apart.
    """

    source: Side = field(repr=False)
    target: Side = field(repr=False)
    layers: tuple[LayerScores, ...]
    coverage: Coverage | None = None
    resamples: int = 1000
    seed: int = 0
    model: str | None = None

    @property
    def name(self) -> str:
        """The two sides in a few letters, and the model, where there are several."""
        return f"{self.source.name}-{self.target.name}" + ("" if self.model is None else f", {self.model}")

    @property
    def has_layers(self) -> bool:
        """Whether there is more than one layer."""
        return len({each.layer for each in self.layers}) > 1

    @property
    def chance(self) -> float:
        """What P@1 would be by chance with one right answer: the mean of both directions."""
        scores = self.layers[0].scores.methods[:2]
        return sum(1 / each.candidates for each in scores) / len(scores)

    @cached_property
    def best(self) -> Best:
        """The best of all layers, methods and centres; among equals the first."""
        methods = list(dict.fromkeys(scores.method for scores in self.layers[0].scores.methods))
        ways = [(each, method) for each in self.layers for method in methods]
        both = [
            resampled_means(
                np.stack([each.scores.of(method, way).ranks_Q == 1 for each, method in ways], axis=1),
                resamples=self.resamples,
                seed=self.seed,
            )
            for way in get_args(Direction)
        ]
        found_SC = np.mean(both, axis=0)
        at = int(found_SC[0].argmax())
        sure = as_share(chosen_interval(found_SC, at))
        near = [each.layer for (each, _), lead in zip(ways, leads(found_SC, at), strict=True) if lead.low <= 0]
        each, method = ways[at]
        return Best(
            each.layer,
            each.centre,
            method,
            value=sure.value,
            low=sure.low,
            high=sure.high,
            chosen_among=len(ways),
            near=tuple(dict.fromkeys(near)),
        )

    def of(self, layer: int | None, centre: Centre) -> RetrievalScores:
        """The scores of one layer.

        Raises:
            KeyError: It was not asked for.
        """
        for each in self.layers:
            if (each.layer, each.centre) == (layer, centre):
                return each.scores
        raise KeyError((layer, centre))

    def sides(self, scores: MethodScores) -> tuple[Side, Side]:
        """The side that was asked for and the one that was looked in."""
        return (self.source, self.target) if scores.direction == "forward" else (self.target, self.source)

    def as_dict(self) -> dict[str, Any]:
        """The figures alone, for JSON."""
        head = {} if self.model is None else {"model": self.model}
        head |= {"source": self.source.name, "target": self.target.name}
        rows = {"source_rows": len(self.source), "target_rows": len(self.target)}
        cut = {"source_cut": self.source.cut, "target_cut": self.target.cut}
        covered: dict[str, Any] = {}
        if self.coverage is not None:
            left_out = {"source": self.source.without_vector, "target": self.target.without_vector}
            covered = {"coverage": asdict(self.coverage), "without_vector": left_out}
        layers = [
            {"layer": each.layer, "centre": each.centre, "scores": each.scores.as_dict()["scores"]}
            for each in self.layers
        ]
        return head | rows | cut | covered | {"best": self.best._asdict(), "layers": layers}


def found_both(scores: RetrievalScores, method: Method) -> float:
    """P@1 of a method, the mean of both directions."""
    values = [each.precision[1].value for each in scores.methods if each.method == method]
    return sum(values) / len(values)


def score_layers(
    source: Side,
    target: Side,
    gold: Gold | None = None,
    methods: Sequence[Method] = DEFAULT_METHODS,
    centres: Sequence[Centre] = CENTRES,
    *,
    candidates: Candidates = "gold",
    neighbourhood: int = NEIGHBOURHOOD,
    resamples: int = 1000,
    seed: int = 0,
    device: str | torch.device | None = None,
    coverage: Coverage | None = None,
    alike: SpeltAlike | None = None,
    progress: Progress = SILENT,
) -> PairScores:
    """Score every layer that both sides have, in both directions.

    Args:
        source: One side.
        target: The other.
        gold: The right pairs of rows; by default row i is right for row i.
        methods: How neighbours are chosen.
        centres: Whether each side's mean is removed; several are scored one by one.
        candidates: Whether rows that are right for nothing can be found, as for :func:`score_retrieval`.
        neighbourhood: For CSLS and margins.
        resamples: For the intervals.
        seed: For the intervals.
        device: Where to compute.
        coverage: Goes into the result.
        alike: Rows with a right row spelt the same: a second P@1 leaves them out.
        progress: Shows layers done; rows, where the matrices are large.

    >>> X = np.eye(4, 3) + 1
    >>> pair = score_layers(Side(name="en", layers={0: X}), Side(name="fr", layers={0: X[::-1] + 1}), resamples=10)
    >>> pair.name, [(each.layer, each.centre) for each in pair.layers]
    ('en-fr', [(0, 'none'), (0, 'mean')])

    Raises:
        InputError: The sides differ in width or rows, share no layer, or have a row that is no direction.
        ConfigError: An option has no such value.
    """
    for centre in centres:
        if centre not in CENTRES:
            raise ConfigError(f"no centre {shown(centre)}", remedy=nearest_name(centre, CENTRES))
    chosen = _common_layers(source, target)
    _check_sizes(source, target, chosen[0], gold)
    large = len(source) * len(target) >= _LARGE
    outer, inner = (SILENT, progress) if large else (progress, SILENT)
    found = []
    with outer.task(f"retrieve {source.name}-{target.name}", total=len(chosen), unit="layers") as task:
        for own, their in chosen:
            for side, layer in ((source, own), (target, their)):
                _check_rows(side, layer)
            for centre in centres:
                X, Y = source.layers[own], target.layers[their]
                if centre == "mean":
                    X, Y = _centred(source, own), _centred(target, their)
                scores = score_retrieval(
                    X,
                    Y,
                    gold,
                    methods,
                    candidates=candidates,
                    alike=alike,
                    neighbourhood=neighbourhood,
                    resamples=resamples,
                    seed=seed,
                    device=device,
                    progress=inner,
                )
                found.append(LayerScores(own, centre, scores))
            task.advance()
    return PairScores(
        source=source, target=target, layers=tuple(found), coverage=coverage, resamples=resamples, seed=seed
    )


def _common_layers(source: Side, target: Side) -> list[tuple[int | None, int | None]]:
    """The layers both have; where either has just one, that one goes with the other's only one."""
    if len(source.layers) == len(target.layers) == 1:
        return [(next(iter(source.layers)), next(iter(target.layers)))]
    both = [(layer, layer) for layer in source.layers if layer in target.layers]
    if not both:
        lists = [
            ", ".join("no layer" if layer is None else str(layer) for layer in side.layers) for side in (source, target)
        ]
        raise InputError(
            f"no layer is in both: {source.name} has {lists[0]}, {target.name} {lists[1]}",
            remedy="make both with the same --layers, or choose one layer of each",
        )
    return both


def _check_sizes(source: Side, target: Side, layers: tuple[int | None, int | None], gold: Gold | None) -> None:
    if gold is None and len(source) != len(target):
        raise InputError(
            f"{source.name} has {len(source):,} rows, {target.name} {len(target):,}",
            remedy="row i of one must be the translation of row i of the other",
        )
    widths = source.layers[layers[0]].shape[1], target.layers[layers[1]].shape[1]
    if widths[0] != widths[1]:
        raise InputError(
            f"{source.name} is {widths[0]} wide, {target.name} {widths[1]}",
            remedy="give vectors of one space, or a map from one to the other",
        )


def _check_rows(side: Side, layer: int | None) -> None:
    """Refuse a row that is no direction, by the name the user knows it under."""
    matrix = side.layers[layer]
    where = side.name if layer is None else f"{side.name}, layer {layer}"
    for first in range(0, len(matrix), _CHUNK):
        part = matrix[first : first + _CHUNK]
        for bad, problem in ((~np.isfinite(part).all(axis=1), "not finite"), (~part.any(axis=1), "all zeros")):
            if bad.any():
                row = first + int(bad.argmax())
                what = "" if side.items is None else f" ({shown(side.items[row], 40)})"
                raise InputError(
                    f"{where}: row {row + 1}{what} is {problem}",
                    remedy="leave it out on both sides" if side.items is None else "leave it out",
                )


def _centred(side: Side, layer: int | None) -> np.ndarray:
    matrix = side.layers[layer]
    if len(matrix) < 2:
        raise InputError(
            f"{side.name} has one row, and nothing is left of it without its mean", remedy="give more, or --centre none"
        )
    centred: np.ndarray = (matrix - matrix.mean(axis=0, dtype=np.float64)).astype(np.float32)
    if not centred.any(axis=1).all():
        row = int((~centred.any(axis=1)).argmax())
        raise InputError(
            f"{side.name}: row {row + 1} is the mean of all rows, and nothing is left of it without",
            remedy="give --centre none",
        )
    return centred
