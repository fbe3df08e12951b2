"""Trade-off of erasing language identity: accuracy of a language probe against retrieval of translations.

Erasers and shifts are fitted on some parallel sentences and evaluated on others (cross-validation). The shift moves
every language to one, the pivot.

- ``probe``: accuracy of a linear language probe on held-out sentences; compare with ``chance``.
- ``spread``: the same with squares of the leading coordinates as features, as a non-linear probe would see them. Below
  chance, only noise of the training sentences is left.
- ``retrieval``: P@1 by cosine, all pairs of languages in both directions, among all sentences.
- ``control``: 1 if the probe is at chance, 0 if it is always right.
- ``harmonic``: the harmonic mean of control and retrieval.
- ``change``: mean squared change of a sentence, relative to the mean squared distance from the common mean.

Shapes: ``N`` sentences, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from isoglot.compare.language_probe import discriminant_hits, with_squares
from isoglot.core.errors import ConfigError, InputError, check_name, check_range
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.retrieve.methods import nearest
from isoglot.steer.erasers.methods import INLP, LEACE, LIR, LSAR, MeanRemoval
from isoglot.steer.scores import harmonic
from isoglot.steer.shifts import gaussian_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.represent.representations import Representations
    from isoglot.steer.erasers.eraser import Eraser

    Rows = Mapping[str, np.ndarray]
    Removal = Callable[[Rows], Callable[[str, np.ndarray], np.ndarray]]

NOTHING = "nothing"
"""Name of the baseline, which changes nothing."""
_FEWEST = 10  # sentences for cross-validation


@dataclass(frozen=True, kw_only=True)
class ErasureScore:
    """Scores of one eraser or shift."""

    name: str
    probe: float
    spread: float
    retrieval: float
    control: float
    harmonic: float
    change: float

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key, higher is better: harmonic mean, then least change."""
        return round(self.harmonic, 9), -self.change  # rounded, since equal shares may differ in their last bits


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """Scores of all erasers and shifts in one layer; the first is the baseline.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(20, 3))
    >>> found = trade_off({"en": rows, "de": rows + [4, 0, 0]}, TradeOffConfig(erasers={"LEACE": LEACE()}))
    >>> [row.name for row in found.rows], found.chance
    (['nothing', 'LEACE', 'shift, alpha 1', 'transport'], 0.5)
    """

    languages: tuple[str, ...]
    """languages of the sentences"""
    pivot: str
    """language that the shift moves all others to"""
    sentences: int
    """number of sentences of each language"""
    folds: int
    """number of cross-validation folds"""
    layer: int | None
    """layer of the vectors, if known"""
    rows: tuple[ErasureScore, ...]
    """scores of each eraser and shift"""

    @property
    def chance(self) -> float:
        """Accuracy of a probe at chance."""
        return 1 / len(self.languages)

    @property
    def before(self) -> ErasureScore:
        """Scores of the baseline."""
        return self.of(NOTHING)

    @property
    def best(self) -> ErasureScore:
        """The best harmonic mean of control and retrieval, with the least change among ties."""
        return max(self.rows, key=lambda row: row.rank)

    def of(self, name: str) -> ErasureScore:
        """Scores by name.

        Raises:
            ConfigError: The name does not exist.
        """
        found = {row.name: row for row in self.rows}
        check_name("eraser", name, found)
        return found[name]

    def as_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self) | {"chance": self.chance}


def default_erasers() -> dict[str, Eraser]:
    """Every eraser with its default options, by name."""
    return {"mean removal": MeanRemoval(), "LIR": LIR(), "LSAR": LSAR(), "INLP": INLP(), "LEACE": LEACE()}


@dataclass(frozen=True, kw_only=True)
class TradeOffConfig:
    """Settings of a trade-off.

    Args:
        erasers: Erasers by name, which are cloned before fitting. Default: all.
        alphas: Lengths of the shift.
        pivot: The language that the shift moves all others to. Default: the first.
        folds: Number of cross-validation folds.
        seed: Random seed of the folds.
    """

    erasers: Mapping[str, Eraser] | None = None
    alphas: Sequence[float] = (1.0,)
    pivot: str | None = None
    folds: int = 5
    seed: int = 0


DEFAULT_TRADE_OFF = TradeOffConfig()


def trade_offs(
    vectors: Mapping[str, Representations], config: TradeOffConfig = DEFAULT_TRADE_OFF, *, progress: Progress = SILENT
) -> list[TradeOff]:
    """Measure the trade-off in each layer.

    Args:
        vectors: Parallel sentences in two languages or more, from :func:`isoglot.represent.extract`.
        config: Erasers, shifts and folds.
        progress: Reports progress.

    Returns:
        One result for each layer: control of a probe and retrieval, by eraser.

    >>> import numpy as np
    >>> from isoglot.represent import Representations
    >>> rows = np.random.default_rng(0).normal(size=(20, 3))
    >>> vectors = {code: Representations({8: rows + step}, {"depth": 8}) for code, step in (("en", 0.0), ("de", 4.0))}
    >>> found = trade_offs(vectors, TradeOffConfig(erasers={"LEACE": LEACE()}))
    >>> found[0].layer, found[0].sentences
    (8, 20)

    Raises:
        ConfigError: There is only one language, the pivot does not exist, or there are fewer than two folds.
        InputError: The languages have different numbers of sentences, or too few.
    """
    found = []
    numbers = next(iter(vectors.values())).layers
    with progress.task("trade-off", total=len(numbers), unit="layers") as task:
        for layer in numbers:
            found.append(trade_off({code: each[layer] for code, each in vectors.items()}, config, layer=layer))
            task.advance()
    return found


def trade_off(
    vectors: Mapping[str, np.ndarray], config: TradeOffConfig = DEFAULT_TRADE_OFF, *, layer: int | None = None
) -> TradeOff:
    """Measure the trade-off for vectors of parallel sentences (N × D for each language); errors are as above."""
    _check(vectors, config.folds)
    rows = {language_code(code): np.asarray(X_ND, dtype=np.float64) for code, X_ND in vectors.items()}
    codes = tuple(rows)
    main = codes[0] if config.pivot is None else language_code(config.pivot)
    check_name("pivot", main, codes)
    count = len(rows[main])
    parts = min(config.folds, count)
    fold_N = random_stream(config.seed, "trade-off").permutation(count) % parts
    ways = _removals(default_erasers() if config.erasers is None else config.erasers, config.alphas, main)
    return TradeOff(
        languages=codes,
        pivot=main,
        sentences=count,
        folds=parts,
        layer=layer,
        rows=tuple(_traded(name, way, rows, fold_N) for name, way in ways.items()),
    )


def _check(given: Mapping[str, Any], folds: int) -> None:
    if len({language_code(code) for code in given}) < 2:
        raise ConfigError("only one language", "give sentences of two or more", "not-supported")
    check_range("folds", folds, 2)
    sizes = {code: len(each) for code, each in given.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{code} {size:,}" for code, size in sizes.items())
        raise InputError(f"different numbers of sentences: {listed}", "give parallel sentences", "row-count")
    if min(sizes.values()) < _FEWEST:
        raise InputError(f"{min(sizes.values())} sentences", f"give at least {_FEWEST}", "too-few")


def labeled(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[str]]:
    """Rows of all languages in one matrix, and the language of each row."""
    return np.concatenate(list(rows.values())), [code for code, X_ND in rows.items() for _ in range(len(X_ND))]


EraserName = Literal["best", "mean-removal", "lir", "lsar", "inlp", "leace"]
"""``best``: the one with the best harmonic mean, with the least change among ties."""


@dataclass(frozen=True, kw_only=True)
class EraserComparison:
    """Trade-offs of all erasers in each layer, and the eraser to use.

    Attributes:
        layers: The trade-off in each layer.
        best: That of the best layer.
        name: The eraser to use in that layer.
        eraser: The eraser, fitted on all sentences.
    """

    layers: list[TradeOff]
    best: TradeOff
    name: str
    eraser: Eraser


def compare_erasers(
    vectors: Mapping[str, Representations],
    config: TradeOffConfig,
    *,
    eraser: EraserName = "best",
    progress: Progress = SILENT,
) -> EraserComparison:
    """Measure the trade-off of all erasers in each layer, and fit one in the best layer.

    Args:
        vectors: Parallel sentences in two languages or more, from :func:`isoglot.represent.extract`.
        config: Shifts that erasers are compared with, folds and random seed.
        eraser: Which one to fit.
        progress: Reports progress.

    Raises:
        ConfigError: The eraser or pivot does not exist, or there is only one language.
        InputError: The languages have different numbers of sentences, or too few.
    """
    check_name("eraser", eraser, get_args(EraserName))
    found = trade_offs(vectors, config, progress=progress)
    best = max(found, key=lambda each: each.best.rank)
    erasers = default_erasers()
    names = [name for name in erasers if eraser in ("best", name.lower().replace(" ", "-"))]
    name = max(names, key=lambda name: best.of(name).rank)
    layer = next(iter(vectors.values())).layers[found.index(best)]
    rows = {code: each[layer] for code, each in vectors.items()}
    return EraserComparison(layers=found, best=best, name=name, eraser=erasers[name].fit(*labeled(rows)))


# --- erasers and shifts ---


def _removals(erasers: Mapping[str, Eraser], alphas: Sequence[float], pivot: str) -> dict[str, Removal]:
    """Functions by name that are fitted on rows and return a function of a language and its rows."""
    ways: dict[str, Removal] = {NOTHING: lambda _: lambda __, X_ND: X_ND}
    ways |= {name: partial(_erased, eraser) for name, eraser in erasers.items()}
    ways |= {f"shift, alpha {alpha:g}": partial(_shifted, pivot, float(alpha)) for alpha in alphas}
    return ways | {"transport": partial(_transported, pivot)}


def _erased(eraser: Eraser, rows: Rows) -> Callable[[str, np.ndarray], np.ndarray]:
    fitted = eraser.clone().fit(*labeled(rows))
    return lambda code, X_ND: fitted.transform(X_ND, [code] * len(X_ND))


def _shifted(pivot: str, alpha: float, rows: Rows) -> Callable[[str, np.ndarray], np.ndarray]:
    steps = {code: alpha * (rows[pivot].mean(axis=0) - X_ND.mean(axis=0)) for code, X_ND in rows.items()}
    return lambda code, X_ND: X_ND + steps[code]


def _transported(pivot: str, rows: Rows) -> Callable[[str, np.ndarray], np.ndarray]:
    means = {code: X_ND.mean(axis=0) for code, X_ND in rows.items()}
    spreads = {code: np.cov(X_ND, rowvar=False) for code, X_ND in rows.items()}
    maps = {code: gaussian_transport(spreads[code], spreads[pivot]) for code in rows if code != pivot}
    return lambda code, X_ND: X_ND if code == pivot else means[pivot] + (X_ND - means[code]) @ maps[code]


# --- scores ---


def _traded(name: str, way: Removal, rows: Rows, fold_N: np.ndarray) -> ErasureScore:
    probed, spread, hits = [], [], []
    moved = total = 0.0
    for fold in range(int(fold_N.max()) + 1):
        train_N, test_N = np.flatnonzero(fold_N != fold), np.flatnonzero(fold_N == fold)
        apply = way({code: X_ND[train_N] for code, X_ND in rows.items()})
        made = {code: apply(code, X_ND) for code, X_ND in rows.items()}
        middle_D = np.mean([X_ND[train_N].mean(axis=0) for X_ND in rows.values()], axis=0)
        moved += sum(float(np.square(made[code] - X_ND)[test_N].sum()) for code, X_ND in rows.items())
        total += sum(float(np.square(X_ND[test_N] - middle_D).sum()) for X_ND in rows.values())
        center_D = np.mean([X_ND[train_N].mean(axis=0) for X_ND in made.values()], axis=0)
        train, test = (
            [torch.from_numpy(X_ND[part] - center_D) for X_ND in made.values()] for part in (train_N, test_N)
        )
        probed.append([each.mean() for each in discriminant_hits(train, test)])
        spread.append([each.mean() for each in discriminant_hits(*with_squares(train, test))])
        for one, other in permutations(made, 2):
            found = nearest(made[one][test_N], made[other], k=1).indices_NK[:, 0]
            hits.append(float((found == test_N).mean()))
    probe, retrieval = float(np.mean(probed)), float(np.mean(hits))
    chance = 1 / len(rows)
    control = min(max((1 - probe) / (1 - chance), 0.0), 1.0)
    return ErasureScore(
        name=name,
        probe=probe,
        spread=float(np.mean(spread)),
        retrieval=retrieval,
        control=control,
        harmonic=harmonic(control, retrieval),
        change=moved / total if total else 0.0,
    )
