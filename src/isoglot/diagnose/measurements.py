"""Measurements of every pair of languages and every language, in every layer.

Shape legend: ``N`` sentences, ``D`` hidden size, ``W`` search variants.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.compare.cka_inference import judge
from isoglot.compare.language_probe import ProbeResult, probe_languages
from isoglot.core.errors import ConfigError, InputError
from isoglot.diagnose.retrieval import PairEstimates, find_translations
from isoglot.retrieve.estimates import OtherText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.compare.cka_inference import CkaEstimate
    from isoglot.core.progress import Progress
    from isoglot.diagnose.checkup import DiagnoseConfig
    from isoglot.diagnose.sentence_vectors import EncodedSet
    from isoglot.retrieve.estimates import Estimates


class Anisotropy(NamedTuple):
    """How unevenly the rows of one language fill the space.

    Attributes:
        mean_cosine: Mean cosine of two different rows: near 0 if isotropic, near 1 if all rows point the same way
            (Ethayarajh 2019).
        top_share: Share of the variance in the first principal component; 1 / D if isotropic.
    """

    mean_cosine: float
    top_share: float


def anisotropy(rows_ND: np.ndarray) -> Anisotropy:
    """Measure the anisotropy of one language in one layer, over all pairs of rows.

    >>> anisotropy(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])).top_share
    0.5
    """
    rows_ND = rows_ND.astype(np.float64)
    lengths_N = np.linalg.norm(rows_ND, axis=1)
    unit_ND = rows_ND[lengths_N > 0] / lengths_N[lengths_N > 0, None]
    count = len(unit_ND)
    # All pairs at once: the squared sum contains every product twice, and each row with itself.
    cosine = (float((unit_ND.sum(axis=0) ** 2).sum()) - count) / (count * (count - 1)) if count > 1 else 1.0
    away_ND = torch.from_numpy(rows_ND - rows_ND.mean(axis=0))
    gram = away_ND.T @ away_ND if away_ND.shape[0] >= away_ND.shape[1] else away_ND @ away_ND.T
    total = float(gram.trace())
    top = float(torch.linalg.eigvalsh(gram)[-1]) / total if total > 0 else 1.0
    return Anisotropy(cosine, min(top, 1.0))


def mean_distance(X_ND: np.ndarray, Y_ND: np.ndarray) -> float:
    """Distance between the means of two languages, in standard deviations within a language.

    The expected squared distance of two sample means is subtracted. The rows are translations of each other, so it is
    estimated from their differences.

    >>> mean_distance(np.array([[1.0], [-1.0]]), np.array([[4.0], [2.0]]))
    3.0
    """
    X_ND, Y_ND = X_ND.astype(np.float64), Y_ND.astype(np.float64)
    away_ND = X_ND - Y_ND
    step_D = away_ND.mean(axis=0)
    count = len(away_ND)
    expected = float(((away_ND - step_D) ** 2).sum()) / (count * max(count - 1, 1))
    within = (X_ND.var(axis=0).sum() + Y_ND.var(axis=0).sum()) / 2
    squared = max(float((step_D**2).sum()) - expected, 0.0)
    return float(np.sqrt(squared / within)) if within > 0 else 0.0


@dataclass(frozen=True)
class PairMeasurement:
    """Measurements of two languages in a layer."""

    found_WN: np.ndarray
    mutual_N: np.ndarray
    hubness: float
    hubness_csls: float
    distance: float
    cka: CkaEstimate | None


class EstimateSources(NamedTuple):
    """Source of means and neighborhoods, and estimates of each language from other text, by layer."""

    estimates: Estimates
    others: Mapping[str, Mapping[int | None, OtherText]]

    def of(self, code: str, layer: int) -> OtherText:
        """Estimates of a language in a layer from other text.

        Raises:
            ConfigError: An estimate from other text is requested and missing.
        """
        found = self.others.get(code, {}).get(layer, OtherText())
        for wanted, there in ((self.estimates.means, found.mean_D), (self.estimates.neighborhoods, found.rows)):
            if wanted == "given" and there is None:
                raise ConfigError(
                    f"no estimates of {code} in layer {layer} from other text",
                    "give text of this language",
                    "unknown-layer",
                )
        return found

    def of_pair(self, pair: tuple[str, str], layer: int) -> PairEstimates:
        """Source of the means of two languages in a layer."""
        return PairEstimates(self.estimates, (self.of(pair[0], layer), self.of(pair[1], layer)))


class LayerMeasurements(NamedTuple):
    """Measurements of pairs, by number of the pair and index of the layer, and of languages, by index of the layer."""

    pairs: dict[tuple[int, int], PairMeasurement]
    probes: list[ProbeResult]
    anisotropies: list[list[Anisotropy]]

    def of_pair(self, number: int) -> list[PairMeasurement]:
        """One pair in all layers."""
        return [self.pairs[number, at] for at in range(len(self.probes))]

    def of_layer(self, at: int) -> list[PairMeasurement]:
        """All pairs in one layer."""
        return [self.pairs[number, at] for number in range(len(self.pairs) // len(self.probes))]


def measure(
    encoded: Sequence[EncodedSet],
    layers: Sequence[int],
    codes: Sequence[str],
    *,
    sources: EstimateSources,
    device: torch.device,
    config: DiagnoseConfig,
    progress: Progress,
) -> LayerMeasurements:
    """Measure every pair and every language in every layer; on the CPU, one pair per core at a time."""
    threads = torch.get_num_threads()
    work = list(enumerate((one, pair) for one in encoded for pair in one.pairs))
    measured = LayerMeasurements({}, [], [])
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
                    measured.pairs[running[done], at] = done.result()
                    task.advance()
                probes, anisotropies = languages.result()
                task.advance()
                measured.probes.append(probes)
                measured.anisotropies.append(anisotropies)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # new threads inherit the last setting
    return measured


def _pair_layer(
    one: EncodedSet,
    pair: tuple[str, str],
    layer: int,
    sources: EstimateSources,
    device: torch.device,
    config: DiagnoseConfig,
) -> PairMeasurement:
    X, Y = (one.vectors[code][layer] for code in pair)
    means = sources.of_pair(pair, layer)
    result = find_translations(X, Y, one.folds_N, means=means, seed=config.seed, device=device)
    hubs = result.hubness["raw"], result.hubness["csls"]
    found_WN = result.found_WN.astype(np.float32)
    return PairMeasurement(found_WN, result.mutual_N, *hubs, mean_distance(X, Y), _cka(X, Y, config))


def _cka(X: np.ndarray, Y: np.ndarray, config: DiagnoseConfig) -> CkaEstimate | None:
    """Debiased CKA with its null distribution; None if all rows of a side are equal."""
    try:
        return judge(X, Y, form="debiased", rows=config.cka_sentences, draws=config.draws, seed=config.seed)
    except InputError:  # values are finite and rows are enough, so a side is constant
        return None


def _languages(encoded: Sequence[EncodedSet], codes: Sequence[str], layer: int) -> tuple[ProbeResult, list[Anisotropy]]:
    """Language probes, and the anisotropy of each language."""
    own = {code: [each for each in encoded if code in each.vectors] for code in codes}
    rows = [np.concatenate([each.vectors[code][layer] for each in sets]) for code, sets in own.items()]
    folds = [np.concatenate([each.folds_N for each in sets]) for sets in own.values()]
    return probe_languages(rows, folds), [anisotropy(each) for each in rows]
