"""Comparison of two encoders that read the same sentences in two languages.

The result has CKA of every layer with every layer, and any measures on the diagonal, each with its null distribution
(random pairings), confidence interval (over sentences), floor (an untrained encoder) and ceiling (the same training
from another seed).

Shape legend: ``N`` sentences, ``D`` and ``E`` hidden sizes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from isoglot.align.layer_maps import layer_pairs
from isoglot.compare.cka_inference import groups_of, half_width, judge
from isoglot.compare.layer_grid import CKAGrid, layer_cka, stream_layer_cka
from isoglot.compare.measures.measure import paired, without_top
from isoglot.compare.measures.registry import MEASURES, Score, compute, find_measure
from isoglot.compare.parallel_sentences import SentencePair, check_count, language_for
from isoglot.core.display import Displayed
from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed, random_stream
from isoglot.represent import Representations, extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.compare.measures.cka import Form
    from isoglot.compare.measures.measure import Measure
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers

CKA_FORMS: dict[str, Form] = {"paper-cka": "paper", "cka": "centered", "debiased-cka": "debiased"}
"""Measures whose null and interval have closed forms; the others are recomputed."""
DEFAULT_MEASURES = (*CKA_FORMS, "procrustes", "rsa", "mutual-knn")
OTHER_ROWS, OTHER_DRAWS = 1000, 20
"""Maximum number of sentences and shuffles for measures other than linear CKA."""

_ROUNDING = 1e-9  # closer values are equal


@dataclass(frozen=True, kw_only=True)
class LayerMeasurement:
    """One measure in one layer with its references; None: not measured, or not defined."""

    measure: str
    layer: int
    other_layer: int
    """Layer of the second encoder."""
    value: float
    low: float | None
    """Lower end of the 95 % interval over sentences."""
    high: float | None
    null_mean: float | None
    """Mean over random pairings."""
    null_edge: float | None
    """95th percentile over random pairings; the 5th for a distance."""
    p: float | None
    """p-value: share of random pairings that are at least as similar."""
    expected_null: float | None = None
    """Expectation of ``null_mean`` in closed form, for linear CKA: far from 0 in the biased forms."""
    saturated: bool = False
    """Every random pairing gives the same value, so the measure cannot tell the right one."""
    few_rows: bool = False
    """There are no more rows than both spaces have columns together, which biases the value (plain CCA and PWCCA)."""
    floor: float | None = None
    """Value with an untrained encoder on the second side."""
    ceiling: float | None = None
    """Value for the first encoder and its seed twin, both reading the first language."""
    place: float | None = None
    """Position of the value between floor (0) and ceiling (1)."""
    without_top: float | None = None
    """Value without the top components of either side."""
    rows: int
    """Number of sentences."""
    draws: int
    """Number of random pairings."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Comparison(Displayed):
    """Result of a comparison of two encoders."""

    models: tuple[str, str]
    """Names of the encoders."""
    languages: tuple[str, str]
    """Language that each encoder reads."""
    sentences: int
    """Number of sentences."""
    cut: tuple[int, int] = (0, 0)
    """Number of truncated sentences among those of the measures, by side."""
    rows: int
    """Number of sentences of the measures."""
    pool: str
    """Sentence pooling."""
    floor: str | None
    """Description of the floor."""
    ceiling: str | None
    """Description of the ceiling."""
    top: int
    """Number of top components removed."""
    grid: CKAGrid
    """CKA of every layer with every layer, on all sentences."""
    grid_without_top: CKAGrid | None
    """The same without top components, on the sentences of the measures."""
    measured: tuple[LayerMeasurement, ...]
    """Measurements on the diagonal, by layer and measure."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order of the registry."""
        return tuple(find_measure(name) for name in dict.fromkeys(each.measure for each in self.measured))

    def of(self, measure: str) -> list[LayerMeasurement]:
        """One measure in every layer."""
        return [each for each in self.measured if each.measure == measure]

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        plain = ("sentences", "rows", "pool", "floor", "ceiling")
        return {
            **{name: list(getattr(self, name)) for name in ("models", "languages", "cut")},
            **{name: getattr(self, name) for name in plain},
            "top_components": self.top,
            "grid": self.grid.as_dict(),
            "grid_without_top": None if self.grid_without_top is None else self.grid_without_top.as_dict(),
            "measures": {measure.name: measure.as_dict() for measure in self.measures},
            "layers": [each.as_dict() for each in self.measured],
        }


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """Settings of a comparison.

    Args:
        measures: Names of measures on the diagonal; or ``all``.
        layers: ``all``, or layer numbers that both encoders have; negative ones count from the last of each.
        top: Number of top components to remove for a second set of values; 0: none.
        rows: Maximum number of sentences for the measures on the diagonal; a larger set is sampled.
        draws: Random pairings of the null, and resamples of the interval.
        pool: Sentence pooling.
        seed: Random seed.

    >>> CompareConfig(measures=["cka"], top=0).rows
    2000
    """

    measures: Sequence[str] = DEFAULT_MEASURES
    layers: Layers = "all"
    top: int = 1
    rows: int = 2000
    draws: int = 200
    pool: Pool = "mean"
    seed: int = 0


DEFAULT_COMPARISON = CompareConfig()


def compare_models(
    one: EncoderLike,
    other: EncoderLike,
    pairs: Sequence[SentencePair],
    languages: tuple[str, str],
    config: CompareConfig = DEFAULT_COMPARISON,
    *,
    names: tuple[str, str] = ("A", "B"),
    floor: EncoderLike | None = None,
    ceiling: EncoderLike | None = None,
    ceiling_name: str = "a seed twin",
    progress: Progress = SILENT,
) -> Comparison:
    """Compare two encoders on the same sentences.

    At most ``config.rows`` sentences, or a few thousand, are in memory as vectors.

    Args:
        one: Encoder of the first language.
        other: Encoder of the second; it may be the same.
        pairs: Sentences of the first language with their translations.
        languages: The two languages.
        config: Measures, layers and sample sizes.
        names: Names of the encoders.
        floor: Untrained encoder, for the second side.
        ceiling: The first encoder trained from another seed; it reads the first language too.
        ceiling_name: Its name.
        progress: Progress of each step.

    Returns:
        Every measure on the diagonal of the layers and the grid of CKA, with null, interval, floor and ceiling.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> pairs = [("He sleeps.", "Er schläft."), ("It is old.", "Es ist alt."), ("Yes.", "Ja."), ("No.", "Nein.")]
    >>> config = CompareConfig(measures=["cka"], layers=[8], top=0, draws=20)
    >>> found = compare_models(encoder, encoder, pairs, ("en", "de"), config)
    >>> [(each.measure, each.layer) for each in found.measured]
    [('cka', 8)]

    Raises:
        ConfigError: A measure, layer or language does not exist.
        InputError: Too few sentences, or hidden states that are not finite or the same for all sentences.
    """
    chosen = chosen_measures(config.measures)
    check_count(len(pairs), chosen)
    check_count(config.rows, chosen, option="rows:")
    diagonal = layer_pairs(config.layers, one, other)
    order_N = random_stream(config.seed, "compared rows").permutation(len(pairs))[: config.rows]
    drawn_N = np.sort(order_N)

    def read(encoder: EncoderLike, side: int, name: str) -> Representations:
        wanted: Layers = "all" if config.layers == "all" else [pair[side] for pair in diagonal]
        texts = [pairs[number][side] for number in drawn_N]
        code = language_for(encoder, languages[side])
        return extract(encoder, texts, layers=wanted, pool=config.pool, language=code, name=name, progress=progress)

    X, Y = read(one, 0, names[0]), read(other, 1, names[1])
    under = None if floor is None else read(floor, 1, "floor")
    above = None if ceiling is None else read(ceiling, 0, "ceiling")
    work = _Diagonal(X, Y, under, above, np.searchsorted(drawn_N, order_N), config)
    if len(pairs) > len(drawn_N):
        sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        grid = stream_layer_cka(
            one, other, *sides, languages, layers=config.layers, pool=config.pool, progress=progress
        )
    else:
        grid = layer_cka(X, Y, progress=progress)
    stripped = None
    if config.top:
        less = (
            Representations({layer: without_top(side[layer], config.top) for layer in side.layers}, side.header)
            for side in (X, Y)
        )
        stripped = layer_cka(*less, progress=progress)
    return Comparison(
        models=names,
        languages=languages,
        sentences=len(pairs),
        rows=len(drawn_N),
        cut=(X.header["cut"], Y.header["cut"]),
        pool=config.pool,
        floor=None if floor is None else f"an untrained encoder reads {languages[1]}",
        ceiling=None if ceiling is None else f"{names[0]} and {ceiling_name} both read {languages[0]}",
        top=config.top,
        grid=grid,
        grid_without_top=stripped,
        measured=tuple(work.all(chosen, diagonal, progress)),
    )


def chosen_measures(names: Sequence[str]) -> list[str]:
    """Measures by name, in the order of the registry; ``all`` for all that are installed.

    Raises:
        ConfigError: A measure does not exist; the message has the nearest name.
    """
    if "all" in names:
        return [name for name, measure in MEASURES.items() if measure.is_installed]
    wanted = {find_measure(name).name for name in names}
    return [name for name in MEASURES if name in wanted]


@dataclass
class _Diagonal:
    """Measures of single pairs of layers, on the same sample of sentences."""

    X: Representations
    Y: Representations
    floor: Representations | None
    ceiling: Representations | None
    order_N: np.ndarray
    config: CompareConfig
    _stripped: tuple[tuple[int, int, int], tuple[np.ndarray, np.ndarray]] | None = None

    def all(
        self, names: Sequence[str], pairs: Sequence[tuple[int, int]], progress: Progress
    ) -> Iterator[LayerMeasurement]:
        """Every measure of every pair of layers."""
        with progress.task("compare", total=len(pairs) * len(names), unit="measures") as task:
            for pair in pairs:
                for name in names:
                    task.note(f"{name}, layer {pair[0]}")
                    try:
                        yield self.measured(name, pair)
                    except InputError as error:
                        raise error.prefixed(f"layer {pair[0]}") from error
                    task.advance()

    def measured(self, name: str, pair: tuple[int, int]) -> LayerMeasurement:
        config, linear = self.config, name in CKA_FORMS
        rows_N = np.sort(self.order_N[: config.rows if linear else min(config.rows, OTHER_ROWS)])
        X, Y = self.X[pair[0]][rows_N], self.Y[pair[1]][rows_N]
        if linear:
            found = judge(X, Y, form=CKA_FORMS[name], rows=config.rows, draws=config.draws, seed=config.seed)
            same = ("value", "low", "high", "null_mean", "p", "expected_null", "rows", "draws")
            held = {"null_edge": found.null_high, **{each: getattr(found, each) for each in same}}
        else:
            held = judge_measure(name, X, Y, draws=min(config.draws, OTHER_DRAWS), seed=config.seed)

        def value(X: np.ndarray, Y: np.ndarray) -> float:
            return compute(name, X, Y, seed=config.seed).value

        under = None if self.floor is None else value(X, self.floor[pair[1]][rows_N])
        above = None if self.ceiling is None else value(X, self.ceiling[pair[0]][rows_N])
        place = None
        if under is not None and above is not None:
            place = placed(held["value"], under, above, kind=find_measure(name).kind)
        return LayerMeasurement(
            measure=name,
            layer=pair[0],
            other_layer=pair[1],
            floor=under,
            ceiling=above,
            place=place,
            without_top=value(*self._without_top(pair, X, Y)) if config.top else None,
            **held,
        )

    def _without_top(self, pair: tuple[int, int], X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both sides without their top components; cached for the next measure on the same sentences."""
        asked = (*pair, len(X))
        if self._stripped is None or self._stripped[0] != asked:
            self._stripped = asked, (without_top(X, self.config.top), without_top(Y, self.config.top))
        return self._stripped[1]


def judge_measure(name: str, X_ND: np.ndarray, Y_NE: np.ndarray, *, draws: int, seed: int = 0) -> dict[str, Any]:
    """Any measure with its null and interval by recomputation: of shuffled pairs, and without each tenth of them.

    A measure that ignores the pairing, such as the similarity of two graphs, has no null. One that does not is
    saturated if every shuffle gives the same value, such as CCA of hardly more rows than columns.

    Args:
        name: The measure.
        X_ND: Rows of one side.
        Y_NE: Rows of the other.
        draws: Number of shuffles.
        seed: Random seed.

    Returns:
        Fields of :class:`LayerMeasurement`.
    """
    measure = find_measure(name)
    count = len(X_ND)
    rng = random_stream(seed, "shuffled pairs", name)
    orders = [rng.permutation(count) for _ in range(draws if measure.pairs else 0)]
    groups = groups_of(count, seed)
    if measure.halves is not None and count <= (measure.rows or count):
        halves, sides = measure.halves, paired(X_ND, Y_NE)
        X, Y = (halves.of(side, label) for side, label in zip(sides, "XY", strict=True))
        value = Score(halves.alike(X, Y), count, count)
        nulls = [halves.shuffled(X, Y, torch.from_numpy(order)) for order in orders]
        parts = [torch.from_numpy(group) for group in groups]
        replicates = [halves.alike(X.without(part), Y.without(part)) for part in parts]
    else:
        value = compute(name, X_ND, Y_NE, seed=seed)
        nulls = [compute(name, X_ND, Y_NE[order], seed=seed).value for order in orders]
        kept = [np.setdiff1d(np.arange(count), group) for group in groups]
        replicates = [compute(name, X_ND[rows], Y_NE[rows], seed=seed).value for rows in kept]
    distance = measure.kind == "distance"
    rounding = _ROUNDING * max(1.0, abs(value.value))
    beyond = [(value.value - null) if distance else (null - value.value) for null in nulls]
    near = sum(each >= -rounding for each in beyond)
    half = half_width(replicates) if replicates else None
    return {
        "value": value.value,
        "low": None if half is None else max(measure.bounds[0], value.value - half),
        "high": None if half is None else min(measure.bounds[1], value.value + half),
        "null_mean": float(np.mean(nulls)) if nulls else None,
        "null_edge": float(np.quantile(nulls, 0.05 if distance else 0.95)) if nulls else None,
        "p": (1 + near) / (1 + len(nulls)) if nulls else None,
        "saturated": bool(nulls) and all(abs(each) <= rounding for each in beyond),
        "few_rows": measure.rows_beyond_columns and value.rows_used <= X_ND.shape[1] + Y_NE.shape[1],
        "rows": value.rows_used,
        "draws": len(nulls),
    }


# --- floor and ceiling ---


def placed(
    value: float, floor: float, ceiling: float, *, kind: Literal["similarity", "distance"] = "similarity"
) -> float | None:
    """Position of a value between floor (0) and ceiling (1); negative below the floor, above 1 beyond the ceiling.

    None if the ceiling is no better than the floor: then the measure cannot tell an untrained encoder from a twin.

    >>> placed(0.75, floor=0.5, ceiling=1.0), placed(0.4, floor=0.5, ceiling=0.5)
    (0.5, None)

    Args:
        value: The measured value.
        floor: Value with an untrained encoder on one side.
        ceiling: Value between twins.
        kind: Whether more (similarity) or less (distance) is better.

    Returns:
        The position, or ``None`` without a floor or a ceiling, or where both are equal.
    """
    span = ceiling - floor if kind == "similarity" else floor - ceiling
    if not span > 0:
        return None
    return (value - floor) / (ceiling - floor)


def random_encoder_like(encoder: EncoderLike, seed: int = 0) -> EncoderLike:
    """Untrained encoder with the same architecture and tokenizer, on the same device, in evaluation mode.

    isoglot's encoders get the initial weights of a pretraining run with that seed; a wrapped Hugging Face model is
    created from its config; static vectors are drawn at random. Nothing is downloaded.

    Args:
        encoder: Any encoder.
        seed: Random seed of the weights.

    Returns:
        The untrained encoder, a floor for any comparison.

    >>> from isoglot.model import load_encoder
    >>> random_encoder_like(load_encoder("isoglot-mini", device="cpu"), seed=0).depth
    8
    """
    start = derive_seed(seed, "untrained encoder")
    # Modules draw from torch's global generator when they are made; it continues as if nothing had been drawn.
    with torch.random.fork_rng(devices=[]):
        return encoder.untrained(start)
