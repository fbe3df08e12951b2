"""How the rows of a language lie in the space, and how far two languages are apart.

Shape legend: ``N`` rows, ``D`` hidden size.

Vectors to facts: every pair of languages and every language, in every layer.

Shape legend: ``N`` sentences, ``W`` ways.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.compare.cka_inference import judge
from isoglot.compare.language_probe import ProbeResult, tell_languages
from isoglot.core.errors import ConfigError, InputError
from isoglot.diagnose.retrieval import Means, find_translations
from isoglot.retrieve.estimates import OtherText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.compare.cka_inference import CkaEstimate
    from isoglot.core.progress import Progress
    from isoglot.diagnose.config import DiagnoseConfig
    from isoglot.diagnose.sentence_vectors import Encoded
    from isoglot.retrieve.estimates import Estimates


class Spread(NamedTuple):
    """How unevenly the rows of one language fill the space.

    Attributes:
        mean_cosine: Of two different rows, on average: near 0 where rows point everywhere, near 1 where they all point
            one way (anisotropy; Ethayarajh 2019).
        top_share: Of the variance, what the first principal component has; 1 / D where all directions are alike.
    """

    mean_cosine: float
    top_share: float


def spread(rows_ND: np.ndarray) -> Spread:
    """The facts of one language in one layer, over all pairs of rows.

    >>> spread(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])).top_share
    0.5
    """
    rows_ND = rows_ND.astype(np.float64)
    lengths_N = np.linalg.norm(rows_ND, axis=1)
    unit_ND = rows_ND[lengths_N > 0] / lengths_N[lengths_N > 0, None]
    count = len(unit_ND)
    # All pairs at once: the square of the sum holds every product twice, and each row with itself.
    cosine = (float((unit_ND.sum(axis=0) ** 2).sum()) - count) / (count * (count - 1)) if count > 1 else 1.0
    away_ND = torch.from_numpy(rows_ND - rows_ND.mean(axis=0))
    gram = away_ND.T @ away_ND if away_ND.shape[0] >= away_ND.shape[1] else away_ND @ away_ND.T
    total = float(gram.trace())
    top = float(torch.linalg.eigvalsh(gram)[-1]) / total if total > 0 else 1.0
    return Spread(cosine, min(top, 1.0))


def mean_distance(X_ND: np.ndarray, Y_ND: np.ndarray) -> float:
    """How far the means of two languages are apart, in units of how far rows lie from their own mean.

    What chance adds to the distance of two means of N rows is taken off; the rows are translations of each other, so
    chance is that of their differences.

    >>> mean_distance(np.array([[1.0], [-1.0]]), np.array([[4.0], [2.0]]))
    3.0
    """
    X_ND, Y_ND = X_ND.astype(np.float64), Y_ND.astype(np.float64)
    away_ND = X_ND - Y_ND
    step_D = away_ND.mean(axis=0)
    count = len(away_ND)
    by_chance = float(((away_ND - step_D) ** 2).sum()) / (count * max(count - 1, 1))
    within = (X_ND.var(axis=0).sum() + Y_ND.var(axis=0).sum()) / 2
    squared = max(float((step_D**2).sum()) - by_chance, 0.0)
    return float(np.sqrt(squared / within)) if within > 0 else 0.0


@dataclass(frozen=True)
class PairLook:
    """What is known of two languages in a layer."""

    found_WN: np.ndarray
    hubness: float
    hubness_csls: float
    distance: float
    cka: CkaEstimate | None


class Sources(NamedTuple):
    """Where means and neighborhoods come from, and what is known of each language from other text, by layer."""

    estimates: Estimates
    others: Mapping[str, Mapping[int | None, OtherText]]

    def of(self, code: str, layer: int) -> OtherText:
        """What is known of a language in a layer.

        Raises:
            ConfigError: Something is to come from other text, and is not there.
        """
        found = self.others.get(code, {}).get(layer, OtherText())
        for wanted, there in ((self.estimates.means, found.mean_D), (self.estimates.neighborhoods, found.rows)):
            if wanted == "given" and there is None:
                raise ConfigError(
                    f"nothing is given of {code} in layer {layer}",
                    remedy="give other text of it",
                    code="config.unknown-layer",
                )
        return found


class Looked(NamedTuple):
    """What was seen: by number of a pair and place of a layer, and by place of a layer."""

    pairs: dict[tuple[int, int], PairLook]
    told: list[ProbeResult]
    spreads: list[list[Spread]]


def look(
    encoded: Sequence[Encoded],
    layers: Sequence[int],
    codes: Sequence[str],
    *,
    sources: Sources,
    device: torch.device,
    config: DiagnoseConfig,
    progress: Progress,
) -> Looked:
    """Every pair and every language in every layer; on the CPU every core has a pair of its own."""
    threads = torch.get_num_threads()
    work = list(enumerate((one, pair) for one in encoded for pair in one.pairs))
    looked = Looked({}, [], [])
    on_cpu = device.type == "cpu"
    pool = ThreadPoolExecutor(threads if on_cpu else 1, initializer=torch.set_num_threads, initargs=(1,))
    try:
        with progress.task("check-up", total=len(layers) * (len(work) + 1), unit="layers of pairs") as task:
            for at, layer in enumerate(layers):
                task.note(f"layer {layer}")
                languages = pool.submit(_languages, encoded, codes, layer)
                running = {
                    pool.submit(_pair_layer, one, pair, layer, sources, device, config): number
                    for number, (one, pair) in work
                }
                for done in as_completed(running):
                    looked.pairs[running[done], at] = done.result()
                    task.advance()
                told, spreads = languages.result()
                task.advance()
                looked.told.append(told)
                looked.spreads.append(spreads)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # new threads are given what was set last
    return looked


def _pair_layer(
    one: Encoded,
    pair: tuple[str, str],
    layer: int,
    sources: Sources,
    device: torch.device,
    config: DiagnoseConfig,
) -> PairLook:
    X, Y = (one.vectors[code][layer] for code in pair)
    means = Means(sources.estimates, (sources.of(pair[0], layer), sources.of(pair[1], layer)))
    result = find_translations(X, Y, one.folds_N, means=means, seed=config.seed, device=device)
    hubs = result.hubness["raw"], result.hubness["csls"]
    return PairLook(result.found_WN.astype(np.float32), *hubs, mean_distance(X, Y), _cka(X, Y, config))


def _cka(X: np.ndarray, Y: np.ndarray, config: DiagnoseConfig) -> CkaEstimate | None:
    """Debiased CKA with its null; None where all rows of a side are the same."""
    try:
        return judge(X, Y, form="debiased", rows=config.cka_sentences, draws=config.draws, seed=config.seed)
    except InputError:  # numbers are finite and rows are enough: nothing else is left to be wrong
        return None


def _languages(encoded: Sequence[Encoded], codes: Sequence[str], layer: int) -> tuple[ProbeResult, list[Spread]]:
    """The probes, and how each language is spread."""
    own = {code: [each for each in encoded if code in each.vectors] for code in codes}
    rows = [np.concatenate([each.vectors[code][layer] for each in sets]) for code, sets in own.items()]
    folds = [np.concatenate([each.folds_N for each in sets]) for sets in own.values()]
    return tell_languages(rows, folds), [spread(each) for each in rows]
