"""What taking the language out costs: how well a probe still tells it, next to how well translations are still found.

Every eraser and the shift learn from some parallel sentences and are tried on others, in turn (folds), so that nothing
is known of what is tested. The shift brings every language to one, the pivot.

- ``probe``: how often a linear probe tells the language of a held-out sentence; ``chance`` is as good as none.
- ``spread``: the same with squares of the leading coordinates beside them: what a probe that is not linear would find.
  Below chance, nothing is left but the noise of the sentences that were learned from.
- ``retrieval``: P@1 by cosine, all pairs of languages in both directions; candidates are all sentences.
- ``control``: 1 where the probe is at chance, 0 where it is always right.
- ``harmonic``: the harmonic mean of control and retrieval.
- ``change``: the mean squared way a sentence went, the mean squared distance from the common mean being 1.

Shapes: ``N`` sentences, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.compare.language_probe import told_apart, with_squares
from isoglot.core.errors import ConfigError, InputError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.retrieve.methods import nearest
from isoglot.steer.erasers.leace import LEACE
from isoglot.steer.erasers.removal import LIR, LSAR, MeanRemoval
from isoglot.steer.scores import harmonic
from isoglot.steer.shifts import gaussian_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.core.progress import Progress
    from isoglot.represent.representations import Representations
    from isoglot.steer.erasers.eraser import Eraser

    Rows = Mapping[str, np.ndarray]
    Removal = Callable[[Rows], Callable[[str, np.ndarray], np.ndarray]]

NOTHING = "nothing"
"""The name of leaving everything as it is: the row that the others are compared with."""
_FEWEST = 10  # sentences, below which folds say nothing


@dataclass(frozen=True, kw_only=True)
class ErasureScore:
    """What one way to take the language out came to."""

    name: str
    probe: float
    spread: float
    retrieval: float
    control: float
    harmonic: float
    change: float

    @property
    def rank(self) -> tuple[float, float]:
        """What to choose by, the larger the better: the harmonic mean, and among equals the least change."""
        return round(self.harmonic, 9), -self.change  # rounded, as equal shares may differ in their last bits


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """All ways in one layer; the first is to do nothing."""

    languages: tuple[str, ...]
    pivot: str
    sentences: int
    folds: int
    layer: int | None
    rows: tuple[ErasureScore, ...]

    @property
    def chance(self) -> float:
        """What a probe that knows nothing would come to."""
        return 1 / len(self.languages)

    @property
    def before(self) -> ErasureScore:
        """Everything as it is."""
        return self.of(NOTHING)

    @property
    def best(self) -> ErasureScore:
        """The best harmonic mean of control and retrieval; among equals the least change."""
        return max(self.rows, key=lambda row: row.rank)

    def of(self, name: str) -> ErasureScore:
        """One of them by its name.

        Raises:
            ConfigError: There is none of that name.
        """
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise ConfigError(
                f"no way {shown(name)} to take the language out",
                remedy=nearest_name(name, found),
                code="config.unknown-name",
            )
        return found[name]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"chance": self.chance}


def default_erasers() -> dict[str, Eraser]:
    """Every eraser with its default options, by name."""
    return {"mean removal": MeanRemoval(), "LIR": LIR(), "LSAR": LSAR(), "LEACE": LEACE()}


def trade_offs(
    vectors: Mapping[str, Representations],
    *,
    erasers: Mapping[str, Eraser] | None = None,
    alphas: Sequence[float] = (1.0,),
    pivot: str | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Progress = SILENT,
) -> list[TradeOff]:
    """The trade-off in each layer.

    Args:
        vectors: Of the same sentences in two languages or more, as :func:`isoglot.represent.extract` gives them.
        erasers: Those to try, by name; by default all. They are cloned, not fitted.
        alphas: Of the shift.
        pivot: The language that the shift brings all others to; by default the first.
        folds: Into how many parts sentences are cut.
        seed: Decides which sentences are in which.
        progress: Shows how far it is.

    Raises:
        ConfigError: There is only one language, no such pivot, or fewer than two folds.
        InputError: The languages have different numbers of sentences, or too few.
    """
    found = []
    numbers = next(iter(vectors.values())).layers
    with progress.task("trade-off", total=len(numbers), unit="layers") as task:
        for layer in numbers:
            rows = {code: each[layer] for code, each in vectors.items()}
            found.append(
                trade_off(rows, erasers=erasers, alphas=alphas, pivot=pivot, folds=folds, seed=seed, layer=layer)
            )
            task.advance()
    return found


def trade_off(
    vectors: Mapping[str, np.ndarray],
    *,
    erasers: Mapping[str, Eraser] | None = None,
    alphas: Sequence[float] = (1.0,),
    pivot: str | None = None,
    folds: int = 5,
    seed: int = 0,
    layer: int | None = None,
) -> TradeOff:
    """The trade-off for vectors of parallel sentences: row i of every language says the same.

    Args:
        vectors: N × D for each language.
        erasers: As for :func:`trade_offs`.
        alphas: As there.
        pivot: As there.
        folds: As there.
        seed: As there.
        layer: Where they come from, for the result.

    Raises:
        ConfigError: As there.
        InputError: As there.
    """
    _check(vectors, folds)
    rows = {language_code(code): np.asarray(X_ND, dtype=np.float64) for code, X_ND in vectors.items()}
    codes = tuple(rows)
    main = codes[0] if pivot is None else language_code(pivot)
    if main not in rows:
        raise ConfigError(
            f"the pivot {shown(main)} is none of the languages",
            remedy=nearest_name(main, rows),
            code="config.unknown-name",
        )
    count = len(rows[main])
    parts = min(folds, count)
    fold_N = random_stream(seed, "trade-off").permutation(count) % parts
    ways = _ways(default_erasers() if erasers is None else erasers, alphas, main)
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
        raise ConfigError(
            "one language has nothing to be told from",
            remedy="give sentences of two or more",
            code="config.not-supported",
        )
    if folds < 2:
        raise ConfigError(
            f"{folds} folds",
            remedy="give 2 or more: what is tested must not be learned from",
            code="config.invalid-value",
        )
    sizes = {code: len(each) for code, each in given.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{code} {size:,}" for code, size in sizes.items())
        raise InputError(
            f"not as many sentences in each language: {listed}", remedy="give parallel ones", code="input.row-count"
        )
    if min(sizes.values()) < _FEWEST:
        raise InputError(f"{min(sizes.values())} sentences", remedy=f"give {_FEWEST} at least", code="input.too-few")


def labelled(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[str]]:
    """The rows of all languages in one matrix, and the language of each: what an eraser is fitted on."""
    return np.concatenate(list(rows.values())), [code for code, X_ND in rows.items() for _ in range(len(X_ND))]


# --- the ways ---


def _ways(erasers: Mapping[str, Eraser], alphas: Sequence[float], pivot: str) -> dict[str, Removal]:
    """Each learns from rows and gives a function of a language and its rows."""
    ways: dict[str, Removal] = {NOTHING: lambda _: lambda __, X_ND: X_ND}
    for name, eraser in erasers.items():
        ways[name] = _erased(eraser)
    for alpha in alphas:
        ways[f"shift, alpha {alpha:g}"] = _shifted(pivot, float(alpha))
    ways["transport"] = _transported(pivot)
    return ways


def _erased(eraser: Eraser) -> Removal:
    def learn(rows: Rows) -> Callable[[str, np.ndarray], np.ndarray]:
        fitted = eraser.clone().fit(*labelled(rows))
        return lambda code, X_ND: fitted.transform(X_ND, [code] * len(X_ND))

    return learn


def _shifted(pivot: str, alpha: float) -> Removal:
    def learn(rows: Rows) -> Callable[[str, np.ndarray], np.ndarray]:
        steps = {code: alpha * (rows[pivot].mean(axis=0) - X_ND.mean(axis=0)) for code, X_ND in rows.items()}
        return lambda code, X_ND: X_ND + steps[code]

    return learn


def _transported(pivot: str) -> Removal:
    def learn(rows: Rows) -> Callable[[str, np.ndarray], np.ndarray]:
        means = {code: X_ND.mean(axis=0) for code, X_ND in rows.items()}
        spreads = {code: np.cov(X_ND, rowvar=False) for code, X_ND in rows.items()}
        maps = {code: gaussian_transport(spreads[code], spreads[pivot]) for code in rows if code != pivot}

        def move(code: str, X_ND: np.ndarray) -> np.ndarray:
            if code == pivot:
                return X_ND
            moved_ND: np.ndarray = means[pivot] + (X_ND - means[code]) @ maps[code]
            return moved_ND

        return move

    return learn


# --- what they come to ---


def _traded(name: str, way: Removal, rows: Rows, fold_N: np.ndarray) -> ErasureScore:
    told, spread, hits = [], [], []
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
        told.append([each.mean() for each in told_apart(train, test)])
        spread.append([each.mean() for each in told_apart(*with_squares(train, test))])
        for one, other in permutations(made, 2):
            found = nearest(made[one][test_N], made[other], k=1).indices_NK[:, 0]
            hits.append(float((found == test_N).mean()))
    probe, retrieval = float(np.mean(told)), float(np.mean(hits))
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
