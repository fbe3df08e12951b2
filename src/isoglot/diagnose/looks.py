"""Vectors to facts: every pair of languages and every language, in every layer.

Shape legend: ``N`` sentences, ``W`` ways.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.compare.judged import judge
from isoglot.compare.probe import Told, tell_languages
from isoglot.core.errors import ConfigError, InputError
from isoglot.diagnose.found import Means, find_translations
from isoglot.diagnose.shape import Spread, mean_distance, spread
from isoglot.retrieve.estimates import Other

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.compare.judged import Judged
    from isoglot.core.progress import Progress
    from isoglot.diagnose.settings import DiagnoseConfig
    from isoglot.diagnose.vectors import Encoded
    from isoglot.retrieve.estimates import Estimates


@dataclass(frozen=True)
class PairLook:
    """What is known of two languages in a layer."""

    found_WN: np.ndarray
    hubness: float
    hubness_csls: float
    distance: float
    cka: Judged | None


class Sources(NamedTuple):
    """Where means and neighborhoods come from, and what is known of each language from other text, by layer."""

    estimates: Estimates
    others: Mapping[str, Mapping[int | None, Other]]

    def of(self, code: str, layer: int) -> Other:
        """What is known of a language in a layer.

        Raises:
            ConfigError: Something is to come from other text, and is not there.
        """
        found = self.others.get(code, {}).get(layer, Other())
        for wanted, there in ((self.estimates.means, found.mean_D), (self.estimates.neighborhoods, found.rows)):
            if wanted == "given" and there is None:
                raise ConfigError(f"nothing is given of {code} in layer {layer}", remedy="give other text of it")
        return found


class Looked(NamedTuple):
    """What was seen: by number of a pair and place of a layer, and by place of a layer."""

    pairs: dict[tuple[int, int], PairLook]
    told: list[Told]
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


def _cka(X: np.ndarray, Y: np.ndarray, config: DiagnoseConfig) -> Judged | None:
    """Debiased CKA with its null; None where all rows of a side are the same."""
    try:
        return judge(X, Y, form="debiased", rows=config.cka_sentences, draws=config.draws, seed=config.seed)
    except InputError:  # numbers are finite and rows are enough: nothing else is left to be wrong
        return None


def _languages(encoded: Sequence[Encoded], codes: Sequence[str], layer: int) -> tuple[Told, list[Spread]]:
    """The probes, and how each language is spread."""
    own = {code: [each for each in encoded if code in each.vectors] for code in codes}
    rows = [np.concatenate([each.vectors[code][layer] for each in sets]) for code, sets in own.items()]
    folds = [np.concatenate([each.folds_N for each in sets]) for sets in own.values()]
    return tell_languages(rows, folds), [spread(each) for each in rows]
