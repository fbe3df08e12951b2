"""Retrieval scores of every layer of two sides: of the vectors as they are, and with each side's mean subtracted.

Each language has a mean of its own; subtracting it removes what only identifies the language (Liu et al. 2020). Where
the two scores differ much, the languages share a space up to a shift. Means come from other rows than the queries
(:mod:`isoglot.retrieve.estimates`).

Shape legend: ``N`` rows, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from isoglot.core.errors import InputError, check_counts, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.retrieve.estimates import Center, Estimates, OtherText
from isoglot.retrieve.evaluation import MethodScores, RetrievalConfig, RetrievalScores, score_retrieval
from isoglot.retrieve.methods import Direction, Method
from isoglot.retrieve.metrics import Gold, Interval, SpelledAlike, resampled_means
from isoglot.retrieve.simultaneous_intervals import (
    as_share,
    choose_by_other_half,
    chosen_interval,
    halves,
    interval,
    leads,
    others_as_good,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from isoglot.retrieve.dictionaries import Coverage

DEFAULTS = RetrievalConfig()
_LARGE = 10**9  # similarities of a search that gets its own progress bar
_CHUNK = 65536


@dataclass(frozen=True, kw_only=True)
class VectorSet:
    """One side of a retrieval: the same rows in one or more layers.

    Attributes:
        name: A language or a file, for messages and tables.
        layers: An N × D matrix by layer; None for vectors that belong to no layer.
        items: Sentences or words of the rows, if known.
        numbers: Line number of each row in its file, from 1. Default: rows are numbered.
        header: Metadata of the vectors, as in ``Representations.header``.
        frequent: For words: number of first rows that are the vocabulary; the rest are other dictionary words.
            None: all rows are the vocabulary.
        without_vector: Number of words that were left out because they have no vector.
        others: By layer, mean and rows from other text, for :class:`Estimates` of kind ``given``.

    >>> import numpy as np
    >>> VectorSet(name="en", layers={8: np.eye(3)}).layers[8].shape
    (3, 3)
    """

    name: str
    layers: Mapping[int | None, np.ndarray]
    items: Sequence[str] | None = None
    numbers: Sequence[int] | None = None
    header: Mapping[str, Any] = field(default_factory=dict, repr=False)
    frequent: int | None = None
    without_vector: int = 0
    others: Mapping[int | None, OtherText] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        layers = {layer: np.asarray(rows) for layer, rows in self.layers.items()}  # lists too
        object.__setattr__(self, "layers", layers)

    def __repr__(self) -> str:
        return f"VectorSet({self.name!r}, {len(self):,} rows, layers {', '.join(map(str, self.layers))})"

    def only(self, rows: Sequence[int]) -> VectorSet:
        """Some rows, which must be words, in the given order."""
        items = self.items or ()
        layers = {layer: matrix[list(rows)] for layer, matrix in self.layers.items()}
        return replace(self, layers=layers, items=[items[row] for row in rows], frequent=None)

    def with_vectors(self) -> VectorSet:
        """The words whose vectors are not zero in any layer, with the number of the others.

        Raises:
            InputError: All vectors are zero.
        """
        present_N = np.all([matrix.any(axis=1) for matrix in self.layers.values()], axis=0)
        if present_N.all():
            return self
        if not present_N.any():
            raise InputError(
                f"{self.name}: every vector is all zeros", "check what the vectors were made from", "zero-row"
            )
        frequent = None if self.frequent is None else int(present_N[: self.frequent].sum())
        left_out = self.without_vector + int((~present_N).sum())
        kept = self.only(np.flatnonzero(present_N).tolist())
        return replace(kept, frequent=frequent, without_vector=left_out)

    @property
    def cut(self) -> int:
        """Number of truncated sentences."""
        return int(self.header.get("cut", 0))

    def __len__(self) -> int:
        return len(next(iter(self.layers.values())))


class LayerScores(NamedTuple):
    """Scores of one layer, with or without centering: all methods in both directions."""

    layer: int | None
    center: Center
    scores: RetrievalScores


class BestLayer(NamedTuple):
    """The layer, centering and method with the highest P@1 (mean of both directions).

    Attributes:
        layer: The layer.
        center: Whether each side's mean was subtracted.
        method: Scoring method.
        value: P@1, the highest of the pair.
        low: Lower end of the 95 % interval, which allows for the choice.
        high: Upper end.
        chosen_among: Number of combinations of layer, centering and method to choose from, by the same rows.
        held_out: P@1 with the choice made on one half of the rows and scored on the other, both ways; None with too few
            rows.
        as_good: Other layers that a paired test puts within three points, by the same method and centering.
        undecided: Other layers that are neither significantly worse nor shown to be as good.
    """

    layer: int | None
    center: Center
    method: Method
    value: float
    low: float
    high: float
    chosen_among: int
    held_out: Interval | None
    as_good: tuple[int | None, ...]
    undecided: tuple[int | None, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return self._asdict() | {"held_out": None if self.held_out is None else asdict(self.held_out)}


@dataclass(frozen=True, kw_only=True)
class PairScores:
    """Scores of two sides in every layer; ``coverage`` if the gold pairs came from a dictionary.

    ``model`` distinguishes several models.

    >>> import numpy as np
    >>> rows = {0: np.random.default_rng(0).normal(size=(8, 3)), 1: np.random.default_rng(1).normal(size=(8, 3))}
    >>> source, target = VectorSet(name="en", layers=rows), VectorSet(name="de", layers={0: rows[1], 1: rows[1]})
    >>> pair = score_layers(source, target)
    >>> pair.name, pair.best.layer, pair.of(1, "none").of("cosine").precision[1].value
    ('en-de', 1, 1.0)
    """

    source: VectorSet = field(repr=False)
    """Vectors of the queries."""
    target: VectorSet = field(repr=False)
    """Vectors of the candidates."""
    layers: tuple[LayerScores, ...]
    """Scores of each layer."""
    config: RetrievalConfig
    """Settings of the search."""
    coverage: Coverage | None = None
    model: str | None = None

    @property
    def estimates(self) -> Estimates:
        """Source of means and of CSLS neighborhoods."""
        return self.config.estimates

    @property
    def name(self) -> str:
        """Names of the two sides, and of the model if there are several."""
        return f"{self.source.name}-{self.target.name}" + ("" if self.model is None else f", {self.model}")

    def __repr__(self) -> str:
        layers = ", ".join(str(each.layer) for each in self.layers if each.center == self.layers[0].center)
        return f"PairScores({self.name!r}, layers {layers}, best P@1 {self.best.value:.3f} in layer {self.best.layer})"

    @property
    def has_layers(self) -> bool:
        """Whether there is more than one layer."""
        return len({each.layer for each in self.layers}) > 1

    @property
    def chance(self) -> float:
        """P@1 of random guessing with one correct answer, mean of both directions."""
        scores = self.layers[0].scores.methods[:2]
        return sum(1 / each.candidates for each in scores) / len(scores)

    @cached_property
    def best(self) -> BestLayer:
        """The best of all layers, methods and centerings; ties by order."""
        methods = list(dict.fromkeys(scores.method for scores in self.layers[0].scores.methods))
        ways = [(each, method) for each in self.layers for method in methods]
        hits = [
            np.stack([each.scores.of(method, way).ranks_Q == 1 for each, method in ways], axis=1).astype(float)
            for way in get_args(Direction)
        ]
        return best_layer([(each.layer, each.center, method) for each, method in ways], hits, self.config)

    def of(self, layer: int | None, center: Center) -> RetrievalScores:
        """Scores of one layer.

        Raises:
            KeyError: It was not evaluated.
        """
        for each in self.layers:
            if (each.layer, each.center) == (layer, center):
                return each.scores
        raise KeyError((layer, center))

    def sides(self, scores: MethodScores) -> tuple[VectorSet, VectorSet]:
        """Query side and candidate side."""
        return (self.source, self.target) if scores.direction == "forward" else (self.target, self.source)

    def as_dict(self) -> dict[str, Any]:
        """Scores as JSON."""
        head: dict[str, Any] = {} if self.model is None else {"model": self.model}
        head |= {"source": self.source.name, "target": self.target.name, "estimates": asdict(self.estimates)}
        rows = {"source_rows": len(self.source), "target_rows": len(self.target)}
        cut = {"source_cut": self.source.cut, "target_cut": self.target.cut}
        covered: dict[str, Any] = {}
        if self.coverage is not None:
            left_out = {"source": self.source.without_vector, "target": self.target.without_vector}
            covered = {"coverage": asdict(self.coverage), "without_vector": left_out}
        layers = [
            {"layer": each.layer, "center": each.center, "scores": each.scores.as_dict()["scores"]}
            for each in self.layers
        ]
        return head | rows | cut | covered | {"best": self.best.as_dict(), "layers": layers}


def best_layer(
    ways: Sequence[tuple[int | None, Center, Method]], hits: Sequence[np.ndarray], config: RetrievalConfig
) -> BestLayer:
    """The best of several combinations of layer, centering and method; ties by order.

    Args:
        ways: The combinations.
        hits: P@1 of every item by every combination (Q × C), for groups of items with equal weight.
        config: Resamples and random seed.
    """
    at = int(np.mean([hits_QC.mean(axis=0) for hits_QC in hits], axis=0).argmax())
    parts = [halves(len(hits_QC), seed=config.seed) for hits_QC in hits]
    split = [half_Q for half_Q in parts if half_Q is not None]
    apart = len(split) == len(hits)
    scored = choose_by_other_half(hits, split)[0] if apart else [hits_QC[:, at] for hits_QC in hits]
    found_SC = np.mean(
        [
            resampled_means(
                np.concatenate([hits_QC, one_Q[:, None]], axis=1), resamples=config.resamples, seed=config.seed
            )
            for hits_QC, one_Q in zip(hits, scored, strict=True)
        ],
        axis=0,
    )
    found_SC, scored_S = found_SC[:, :-1], found_SC[:, -1]
    sure = as_share(chosen_interval(found_SC, at))
    layer, center, method = ways[at]
    same = [number for number, way in enumerate(ways) if way[1:] == (center, method) and way[0] != layer]
    ahead = None if apart else [lead for number, lead in enumerate(leads(found_SC, at)) if number in same]
    layers = [ways[number][0] for number in same]
    as_good, undecided = others_as_good(layers, scored_S, found_SC[:, same], min(map(len, hits)), ahead=ahead)
    return BestLayer(
        layer,
        center,
        method,
        value=sure.value,
        low=sure.low,
        high=sure.high,
        chosen_among=len(ways),
        held_out=interval(scored_S) if apart else None,
        as_good=as_good,
        undecided=undecided,
    )


def found_both(scores: RetrievalScores, method: Method) -> float:
    """P@1 of a method, mean of both directions."""
    values = [each.precision[1].value for each in scores.methods if each.method == method]
    return sum(values) / len(values)


def score_layers(
    source: VectorSet,
    target: VectorSet,
    gold: Gold | None = None,
    config: RetrievalConfig = DEFAULTS,
    *,
    coverage: Coverage | None = None,
    alike: SpelledAlike | None = None,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
    **options: Any,  # noqa: ANN401 - fields of the config
) -> PairScores:
    """Score every layer that both sides have, in both directions.

    Args:
        source: One side.
        target: The other.
        gold: Correct pairs of rows. Default: row i belongs to row i.
        config: How to search and score.
        coverage: Part of the result.
        alike: Rows with a correct row of the same spelling: a second P@1 leaves them out.
        device: Where to compute.
        progress: Progress in layers; in rows for large matrices.
        **options: Fields of the config to replace, such as ``methods=["csls"]``.

    Returns:
        Scores of every layer and method, in both directions; ``best`` is the best combination.

    >>> X = np.eye(4, 3) + 1
    >>> english, french = VectorSet(name="en", layers={0: X}), VectorSet(name="fr", layers={0: X[::-1] + 1})
    >>> pair = score_layers(english, french, resamples=10)
    >>> pair.name, [(each.layer, each.center) for each in pair.layers]
    ('en-fr', [(0, 'none'), (0, 'mean')])

    Raises:
        InputError: The sides differ in width or rows, share no layer, or have a row that is not finite or all zeros.
        ConfigError: An option is invalid.
    """
    config = replace(config, **options)
    chosen = _common_layers(source, target)
    _check_sizes(source, target, chosen[0], gold)
    large = len(source) * len(target) >= _LARGE
    outer, inner = (SILENT, progress) if large else (progress, SILENT)
    found = []
    with outer.task(f"retrieve {source.name}-{target.name}", total=len(chosen), unit="layers") as task:
        for own, their in chosen:
            for side, layer in ((source, own), (target, their)):
                check_rows(side, layer)
            for center in config.centers:
                scores = score_retrieval(
                    source.layers[own],
                    target.layers[their],
                    gold,
                    config,
                    center=center,
                    others=(source.others.get(own, OtherText()), target.others.get(their, OtherText())),
                    names=(source.name, target.name),
                    alike=alike,
                    device=device,
                    progress=inner,
                )
                found.append(LayerScores(own, center, scores))
            task.advance()
    return PairScores(source=source, target=target, layers=tuple(found), config=config, coverage=coverage)


def _common_layers(source: VectorSet, target: VectorSet) -> list[tuple[int | None, int | None]]:
    """Layers of both sides; if both have a single one, these two."""
    if len(source.layers) == len(target.layers) == 1:
        return [(next(iter(source.layers)), next(iter(target.layers)))]
    both = [(layer, layer) for layer in source.layers if layer in target.layers]
    if not both:
        lists = [
            ", ".join("no layer" if layer is None else str(layer) for layer in side.layers) for side in (source, target)
        ]
        raise InputError(
            f"no common layer: {source.name} has {lists[0]}, {target.name} {lists[1]}",
            "make both with the same layers, or choose one layer of each",
            "no-match",
        )
    return both


def _check_sizes(
    source: VectorSet, target: VectorSet, layers: tuple[int | None, int | None], gold: Gold | None
) -> None:
    sides = {f"{side.name} ({name})": side for name, side in (("source", source), ("target", target))}
    if gold is None:
        rows = {name: len(side) for name, side in sides.items()}
        check_counts("rows", rows, "row i of one must be the translation of row i of the other")
    widths = {name: side.layers[layer].shape[1] for layer, (name, side) in zip(layers, sides.items(), strict=True)}
    check_counts("columns", widths, "give vectors of one space, or a map from one to the other", "shape")


def check_rows(side: VectorSet, layer: int | None) -> None:
    """Check that every row is finite and not zero; the error names it as the user knows it."""
    matrix = side.layers[layer]
    where = side.name if layer is None else f"{side.name}, layer {layer}"
    for first in range(0, len(matrix), _CHUNK):
        part = matrix[first : first + _CHUNK]
        for bad, problem, code in (
            (~np.isfinite(part).all(axis=1), "not finite", "input.not-finite"),
            (~part.any(axis=1), "all zeros", "input.zero-row"),
        ):
            if bad.any():
                row = first + int(bad.argmax())
                what = "" if side.items is None else f" ({shown(side.items[row], 40)})"
                raise InputError(
                    f"{where}: row {row + 1}{what} is {problem}",
                    "remove it on both sides" if side.items is None else "remove it",
                    code=code,
                )
