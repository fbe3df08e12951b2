"""Retrieval from one pool of all languages, as a multilingual index is searched.

A query may find any sentence of any language but itself. Where a space has a region for each language, the nearest
neighbor of a query is an unrelated sentence of its own language, which a search in one other language cannot show.
Language means are removed, and CSLS neighborhoods made, as for two languages (:mod:`isoglot.retrieve.estimates`).

Shape legend: ``L`` languages, ``N`` sentences of each, ``Z`` = L · N rows of the pool, language by language; ``D``
hidden size, ``Q`` queries, ``K`` neighbors.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from isoglot.core.arrays import paired_rows
from isoglot.core.errors import ConfigError, InputError, one_line
from isoglot.core.files import write_json, write_text
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.core.table import Table
from isoglot.represent.extraction import Pool, cut_in_words, pool_in_words, sentence_pool
from isoglot.retrieve.estimates import FEWEST, Center, OtherText, QueryGroup, fold_numbers, without_mean
from isoglot.retrieve.evaluation import RetrievalConfig, apart_from
from isoglot.retrieve.layer_scores import DEFAULTS, BestLayer, VectorSet, best_layer, check_rows
from isoglot.retrieve.methods import Method, NeighborhoodPool, PairSearch
from isoglot.retrieve.metrics import Gold, Interval, resampled_means
from isoglot.retrieve.sentences import Layers, sides_of_sets, unrepeated_sets
from isoglot.retrieve.simultaneous_intervals import interval
from isoglot.text.formats.lines import line_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isoglot.model import EncoderLike
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.retrieve.results import Which

NEAREST = 10
"""Number of neighbors that are no translations, of which the share in the query's own language is measured."""
_METHODS = ("cosine", "csls", "distance", "euclidean")
_COLUMNS = (
    "source", "target", "layer", "center", "method", "source_line", "source_text", "predicted_line", "predicted_text",
    "score", "right",
)  # fmt: skip


class MixedFigures(NamedTuple):
    """Shares of the queries of all languages, with 95 % intervals over sentences.

    Attributes:
        precision: The nearest neighbor is a translation, in any language (P@1).
        recall: Mean share of the L - 1 translations among the L - 1 nearest neighbors.
        own_language: The nearest neighbor is another sentence of the query's own language.
        other_language: It is a wrong sentence of another language.
        own_share: Mean share of the query's own language among the ten nearest neighbors that are no translations:
            1 / L if the language has no influence, 1 if each language has a region of its own.
    """

    precision: Interval
    recall: Interval
    own_language: Interval
    other_language: Interval
    own_share: Interval


@dataclass(frozen=True, kw_only=True)
class MixedScores:
    """Nearest neighbors in one layer by one method, with or without language means.

    Attributes:
        layer: The layer.
        center: Whether each language's mean was subtracted.
        method: Scoring method.
        found_LN: Row of the pool that each query finds: sentence ``row % N`` of language ``row // N``.
        scores_LN: Its score.
        recall_LN: Share of the translations among the L - 1 nearest neighbors.
        own_share_LN: Share of the query's own language among the nearest neighbors that are no translations.
    """

    layer: int | None
    center: Center
    method: Method
    found_LN: np.ndarray = field(repr=False, compare=False)
    scores_LN: np.ndarray = field(repr=False, compare=False)
    recall_LN: np.ndarray = field(repr=False, compare=False)
    own_share_LN: np.ndarray = field(repr=False, compare=False)

    @property
    def right_LN(self) -> np.ndarray:  # noqa: N802 - the suffix is its shape
        """Whether a translation is found."""
        return np.asarray(self.found_LN % self.found_LN.shape[1] == np.arange(self.found_LN.shape[1]))

    def found_languages(self) -> np.ndarray:
        """Share of the queries of each language whose nearest neighbor is of each language (L × L)."""
        L, N = self.found_LN.shape
        return np.stack([np.bincount(row_N // N, minlength=L) / N for row_N in self.found_LN])

    def figures(self, config: RetrievalConfig) -> MixedFigures:
        """The shares; the queries of a sentence in all languages are resampled together."""
        L, N = self.found_LN.shape
        right_LN, own_LN = self.right_LN, self.found_LN // N == np.arange(L)[:, None]
        columns = right_LN, self.recall_LN, own_LN, ~(right_LN | own_LN), self.own_share_LN
        rows_NF = np.stack([one_LN.mean(axis=0) for one_LN in columns], axis=1)
        return MixedFigures(*map(interval, resampled_means(rows_NF, resamples=config.resamples, seed=config.seed).T))


@dataclass(frozen=True, kw_only=True)
class MixedPool:
    """Scores of a pool of parallel sentences in several languages, by layer, centering and method.

    >>> from isoglot.retrieve import VectorSet
    >>> X = np.eye(4) + 1
    >>> pool = score_mixed({code: VectorSet(name=code, layers={8: X}) for code in ("en", "de", "fr")})
    >>> pool.name, pool.candidates, pool.best.layer
    ('en, de, fr', 11, 8)
    """

    sides: Mapping[str, VectorSet] = field(repr=False)
    """Vectors of each language."""
    scores: tuple[MixedScores, ...]
    """Scores by layer, centering and method."""
    config: RetrievalConfig
    """Settings of the search."""

    @property
    def name(self) -> str:
        """The languages."""
        return ", ".join(self.sides)

    @property
    def candidates(self) -> int:
        """Number of candidates of a query."""
        return sum(map(len, self.sides.values())) - 1

    @cached_property
    def figures(self) -> tuple[MixedFigures, ...]:
        """Shares of each of the scores."""
        return tuple(each.figures(self.config) for each in self.scores)

    @cached_property
    def best(self) -> BestLayer:
        """The layer, centering and method with the highest P@1; ties by order."""
        hits_NC = np.stack([each.right_LN.mean(axis=0) for each in self.scores], axis=1)
        return best_layer([(each.layer, each.center, each.method) for each in self.scores], [hits_NC], self.config)

    def at(self, layer: int | None, center: Center, method: Method) -> int | None:
        """Number of a combination of layer, centering and method among the scores; None if it was not evaluated."""
        ways = [(each.layer, each.center, each.method) for each in self.scores]
        return ways.index((layer, center, method)) if (layer, center, method) in ways else None

    def as_dict(self) -> dict[str, Any]:
        """Scores as JSON."""
        codes = list(self.sides)
        head = {"languages": codes, "sentences": len(next(iter(self.sides.values()))), "candidates": self.candidates}
        head |= {"estimates": asdict(self.config.estimates), "chance_own_share": 1 / len(codes)}
        head |= {"cut": {code: side.cut for code, side in self.sides.items()}, "best": self.best.as_dict()}
        rows = []
        for row, each in zip(self.rows(), self.scores, strict=True):
            by_language = {
                code: {"p@1": float(right), "found": dict(zip(codes, shares.tolist(), strict=True))}
                for code, right, shares in zip(codes, each.right_LN.mean(axis=1), each.found_languages(), strict=True)
            }
            rows.append(row | {"by_language": by_language})
        return head | {"scores": rows}

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row of figures for each of the scores."""
        for each, figures in zip(self.scores, self.figures, strict=True):
            named = {name: asdict(share) for name, share in figures._asdict().items()}
            yield {
                "layer": each.layer,
                "center": each.center,
                "method": each.method,
                "p@1": named.pop("precision"),
            } | named


@dataclass(frozen=True, kw_only=True)
class MixedRetrieval:
    """Result of a retrieval from mixed pools: one for each set of parallel sentences.

    >>> from isoglot.retrieve import VectorSet
    >>> X = np.eye(4) + 1
    >>> pool = score_mixed({code: VectorSet(name=code, layers={8: X}) for code in ("en", "de")})
    >>> found = MixedRetrieval(pools=(pool,), facts={"model": "made up"})
    >>> found.as_dict()["pools"][0]["best"]["value"]
    1.0
    """

    pools: tuple[MixedPool, ...]
    """A pool for each set of parallel sentences."""
    facts: dict[str, Any]
    """Facts about model and data, as JSON values."""
    remarks: tuple[str, ...] = ()
    """What else the reader should know."""

    def as_dict(self) -> dict[str, Any]:
        """Scores and facts as JSON."""
        head = {"kind": "mixed", **self.facts, "seed": self.pools[0].config.seed}
        return head | {"pools": [pool.as_dict() for pool in self.pools]}

    def save(self, folder: str | Path, predictions: Which = "best") -> list[Path]:
        """Write ``metrics.json``, ``metrics.csv`` and ``pairs.tsv`` to an existing folder; returns the files.

        Raises:
            StorageError: A file cannot be written.
        """
        files = [Path(folder) / name for name in ("metrics.json", "metrics.csv", "pairs.tsv")]
        write_json(files[0], self.as_dict())
        rows = ({"languages": pool.name, **row} for pool in self.pools for row in pool.rows())
        write_text(files[1], Table.from_rows(rows).csv())
        if predictions == "none":
            return files[:2]
        with line_writer(files[2]) as writer:
            writer.write_cells(*_COLUMNS)
            for pool in self.pools:
                for each in pool.scores:
                    if predictions == "all" or (each.layer, each.center, each.method) == pool.best[:3]:
                        for cells in _predictions(pool, each):
                            writer.write_cells(*cells)
        return files


def _predictions(pool: MixedPool, each: MixedScores) -> Iterator[list[str]]:
    codes, sides = list(pool.sides), list(pool.sides.values())
    N = len(sides[0])
    texts = [[(str(number), one_line(text)) for number, text in zip(side.numbers or (), side.items or (), strict=True)]
             for side in sides]  # fmt: skip
    layer = "" if each.layer is None else str(each.layer)
    for (at, row), found in np.ndenumerate(each.found_LN):
        answer, right = divmod(int(found), N), "yes" if found % N == row else "no"
        head = [codes[at], codes[answer[0]], layer, each.center, each.method]
        score = f"{each.scores_LN[at, row]:.6f}"
        yield [*head, *texts[at][row], *texts[answer[0]][answer[1]], score, right]


def retrieve_mixed(
    encoder: EncoderLike,
    sets: Sequence[ParallelSet] | Mapping[str, Sequence[str]],
    config: RetrievalConfig = DEFAULTS,
    *,
    layers: Layers = "all",
    pool: Pool | None = None,
    others: Mapping[str, Mapping[int | None, OtherText]] | None = None,
    name: str = "",
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> MixedRetrieval:
    """Search the translations of every sentence among the sentences of all languages, in every layer.

    Args:
        encoder: Any encoder.
        sets: Parallel sets, a pool each; or lists of sentences by language, translations at the same position.
        config: How to search and score; ``candidates`` and ``directions`` have no effect.
        layers: Layer numbers, or ``all``.
        pool: Sentence pooling. Default: the model's own if it has one, else the mean of the subwords.
        others: Means and rows of each language and layer from other text, for ``config.estimates`` of kind ``given``.
        name: Name of the encoder.
        device: Where to search.
        progress: Progress of each step.

    Returns:
        Scores of every layer, with and without language means.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> sentences = {"en": ["He sleeps.", "The house is old.", "We read books."]}
    >>> sentences["de"] = ["Er schläft.", "Das Haus ist alt.", "Wir lesen Bücher."]
    >>> found = retrieve_mixed(encoder, sentences, layers=[8])
    >>> found.pools[0].candidates, found.pools[0].scores[0].layer
    (5, 8)

    Raises:
        ConfigError: The encoder does not have a language or layer, or a method does not apply.
        InputError: A hidden state is not finite, or there are too few sentences.
    """
    kept, pool = unrepeated_sets(sets), sentence_pool(encoder, pool)
    pools, remarks = [], [*pool_in_words(encoder, pool)]
    for one, sides in sides_of_sets(encoder, kept, layers, pool, others=others, name=name, progress=progress):
        pools.append(score_mixed(sides, config, device=device, progress=progress))
        remarks += [*one.remarks, *cut_in_words([(side.name, side.cut) for side in sides.values()], len(one))]
    return MixedRetrieval(pools=tuple(pools), facts={"model": name, "pool": pool}, remarks=tuple(remarks))


def score_mixed(
    sides: Mapping[str, VectorSet],
    config: RetrievalConfig = DEFAULTS,
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> MixedPool:
    """Score the vectors of parallel sentences in two or more languages as one pool, in every layer.

    Args:
        sides: Vectors by language; row i of one is the translation of row i of the others.
        config: How to search and score.
        device: Where to compute.
        progress: Progress in layers.

    Returns:
        Scores of every layer, with and without language means.

    >>> from isoglot.retrieve import VectorSet
    >>> X = np.eye(4, 3) + 1
    >>> sides = [VectorSet(name="en", layers={0: X}), VectorSet(name="fr", layers={0: X})]
    >>> found = score_mixed({side.name: side for side in sides}, DEFAULTS)
    >>> found.candidates, found.best.value
    (7, 1.0)

    Raises:
        ConfigError: A method divides by what a query has around itself, where it finds itself first.
        InputError: There are too few rows, or a row is not finite or all zeros.
    """
    for method in config.methods:
        if method not in _METHODS:
            problem = f"method {method} in a pool that holds the queries themselves"
            raise ConfigError(problem, f"choose among {', '.join(_METHODS)}", "conflicting-options")
    rows = len(next(iter(sides.values())))
    if rows < FEWEST:
        raise InputError(f"{counted(rows, 'sentences')} of each language", f"give at least {FEWEST}", "too-few")
    scores: list[MixedScores] = []
    layers = list(next(iter(sides.values())).layers)
    with progress.task(f"retrieve {', '.join(sides)}", total=len(layers), unit="layers") as task:
        for layer in layers:
            for side in sides.values():
                check_rows(side, layer)
            for center in config.centers:
                scores += _Search(sides, layer, center, config, device).scores()
            task.advance()
    return MixedPool(sides=sides, scores=tuple(scores), config=config)


class _Search:
    """Search in one layer with one centering."""

    def __init__(
        self,
        sides: Mapping[str, VectorSet],
        layer: int | None,
        center: Center,
        config: RetrievalConfig,
        device: str | torch.device | None,
    ) -> None:
        self.sides = [side.layers[layer] for side in sides.values()]
        self.others = [side.others.get(layer, OtherText()) for side in sides.values()]
        self.codes, self.layer, self.center, self.config, self.device = list(sides), layer, center, config, device
        L, N = len(self.sides), len(self.sides[0])
        rows_NL = np.arange(L * N).reshape(L, N).T
        pairs_NLL2 = np.stack(np.broadcast_arrays(rows_NL[:, :, None], rows_NL[:, None, :]), axis=-1)
        self.gold = Gold.from_pairs(pairs_NLL2.reshape(-1, 2))  # of a row with its translations and with itself

    def scores(self) -> list[MixedScores]:
        """Scores of every method."""
        L, N = len(self.sides), len(self.sides[0])
        found: dict[Method, dict[str, np.ndarray]] = {
            method: {
                "found_LN": np.zeros((L, N), dtype=np.int64),
                **{name: np.zeros((L, N)) for name in ("scores_LN", "recall_LN", "own_share_LN")},
            }
            for method in self.config.methods
        }
        for pool_ZD, means, parts in self._views():
            for unit in (True, False):
                methods = [method for method in self.config.methods if (method != "euclidean") is unit]
                if not methods:
                    continue
                sides = paired_rows(pool_ZD, pool_ZD, unit=unit, device=self.device)
                search = PairSearch(*sides, neighborhood=self.config.neighborhood)
                for own_N in parts:
                    own_Z = np.tile(own_N, L)
                    asked_Q = np.flatnonzero(own_Z)
                    own = search.apart(self._apart(sides, own_Z, means)) if unit else search
                    for method in methods:
                        for name, values_Q in self._answers(own, method, asked_Q).items():
                            found[method][name][asked_Q // N, asked_Q % N] = values_Q
        return [
            MixedScores(layer=self.layer, center=self.center, method=method, **each) for method, each in found.items()
        ]

    def _answers(self, search: PairSearch, method: Method, asked_Q: np.ndarray) -> dict[str, np.ndarray]:
        L, N = len(self.sides), len(self.sides[0])
        rows_Q = torch.from_numpy(asked_Q).to(search.X_ND.device)
        top = search.best(method, "forward", min(L + NEAREST, L * N), rows_Q)
        found_QK, scores_QK = top.indices_NK.cpu().numpy(), top.scores_NK.cpu().numpy()
        order_QK = np.argsort(found_QK == asked_Q[:, None], axis=1, kind="stable")[:, :-1]  # the query itself goes
        found_QK, scores_QK = (np.take_along_axis(each, order_QK, axis=1) for each in (found_QK, scores_QK))
        right_QK = found_QK % N == asked_Q[:, None] % N
        wrong_QK = np.argsort(right_QK, axis=1, kind="stable")[:, : min(NEAREST, L * (N - 1))]
        own_QK = np.take_along_axis(found_QK, wrong_QK, axis=1) // N == asked_Q[:, None] // N
        best_Q = scores_QK[:, 0]
        return {
            "found_LN": found_QK[:, 0],
            "scores_LN": -np.sqrt(np.maximum(-best_Q, 0)) if method == "euclidean" else best_Q,
            "recall_LN": right_QK[:, : L - 1].mean(axis=1),
            "own_share_LN": own_QK.mean(axis=1),
        }

    def _views(self) -> Iterator[tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]]:
        """Pools (Z × D), the means removed from them, and the groups of queries (N) that search in them."""
        estimates, N = self.config.estimates, len(self.sides[0])
        fold_N = fold_numbers(Gold.one_to_one(N), N, N, estimates.folds, seed=self.config.seed)[0]
        parts = [fold_N == fold for fold in range(int(fold_N.max()) + 1)]
        cross_fitted = self.center == "mean" and estimates.means == "folds"
        for seen in [[own_N] for own_N in parts] if cross_fitted else [parts]:
            means = [self._mean(place, seen[0]) for place in range(len(self.sides))]
            moved = [np.asarray(without_mean(side, mean_D)) for side, mean_D in zip(self.sides, means, strict=True)]
            yield np.concatenate(moved), means, seen

    def _mean(self, place: int, own_N: np.ndarray) -> np.ndarray:
        side, given = self.sides[place], self.others[place].mean_D
        if self.center == "none":
            return np.zeros(side.shape[1])
        match self.config.estimates.means:
            case "folds":
                return np.asarray(side[~own_N].mean(axis=0, dtype=np.float64))
            case "own":
                return np.asarray(side.mean(axis=0, dtype=np.float64))
            case "given":
                return np.asarray(self._given(given, place), dtype=np.float64)

    def _apart(
        self, sides: tuple[torch.Tensor, torch.Tensor], own_Z: np.ndarray, means: Sequence[np.ndarray]
    ) -> NeighborhoodPool:
        """Rows for the neighborhoods of candidates: never the candidate itself or its translations."""
        match self.config.estimates.neighborhoods:
            case "own":
                none_Z = np.zeros_like(own_Z)
                return apart_from(QueryGroup(none_Z, none_Z), sides, self.gold)
            case "folds":
                return apart_from(QueryGroup(own_Z, own_Z), sides, self.gold)
            case "given":
                rows = [np.asarray(self._given(other.rows, place)) for place, other in enumerate(self.others)]
                pool = np.concatenate([without_mean(each, mean_D) for each, mean_D in zip(rows, means, strict=True)])
                pools = paired_rows(pool, pool, unit=True, device=sides[0].device)
                none_E2 = torch.zeros(0, 2, dtype=torch.int64, device=sides[0].device)
                return NeighborhoodPool(pools, (none_E2, none_E2))

    def _given(self, found: Any, place: int) -> Any:  # noqa: ANN401 - a mean or rows
        if found is None:
            problem = f"there are no estimates of {self.codes[place]} from other text"
            raise ConfigError(problem, "give text of each language, or choose folds or own", "missing-data")
        return found
