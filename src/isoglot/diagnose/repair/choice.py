"""Choice of a fix by cross-validation, with confidence intervals from a paired bootstrap over sentences.

The best candidate has the highest P@1 over all pairs of languages. Of all candidates within one standard error of it
(of the paired difference; Breiman et al. 1984), the simplest is chosen. It is recommended only if its gain over doing
nothing is above zero by an interval that holds for all candidates at once.

Shape legend: ``S`` bootstrap samples, the first being the original sentences; ``P`` pairs of languages, ``C``
candidates, ``N`` sentences of a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT
from isoglot.diagnose.findings import FEWEST_TO_FIX
from isoglot.diagnose.layer_choice import RetrievalHits, sample_weights
from isoglot.diagnose.repair.cross_validation import (
    Candidate,
    Trial,
    best_layers,
    find_all,
    find_by_csls,
    one_pool,
    own_languages,
)
from isoglot.diagnose.repair.result import Choice, LanguageCost, MixedGain, PairGain, Tried
from isoglot.diagnose.repair.treatments import NAMES, TREATMENTS, Name
from isoglot.retrieve.simultaneous_intervals import as_share, choose_by_other_half, chosen_interval, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.core.progress import Progress
    from isoglot.diagnose.repair.cross_validation import OwnLanguage
    from isoglot.diagnose.repair.treatments import Maps
    from isoglot.retrieve.metrics import Interval

HOPELESS = 0.1
"""Share of translations found by the best fix below which a language is beyond repair."""


class FixConfig(Config):
    """Settings of a search for fixes."""

    method: Literal["auto", Name] = "auto"
    """The fix. Default: chosen by cross-validation; one that is named is written even if it does not help."""
    languages: Literal["known", "unknown"] = "unknown"
    """Whether the language of a text is known in use; ``unknown`` leaves out fixes that need it."""
    pivot: str | None = None
    """Language that others are rotated to. Default: English, or the first language."""
    pairs: Literal["all", "pivot"] = "all"
    """Pairs of languages to search in: all, or those with the pivot."""
    layers_tried: int = Field(1, ge=0, le=100)
    """Number of layers that all fixes are tried in, besides the last: the best by a quick look."""
    onnx: bool = False
    """Whether to write the model with its fix as ONNX, too."""
    folds: int = Field(5, ge=2, le=50)
    """Cross-validation folds."""
    resamples: int = Field(1000, ge=10, le=100_000)
    """Bootstrap samples for confidence intervals."""
    copies: int = Field(300, ge=0, le=100_000)
    """Shortened copies of sentences that each language alone is tested with."""
    seed: int = Field(0, ge=0)
    """Random seed of folds, resamples and copies."""


def check_trial(trial: Trial) -> None:
    """Check that there is enough to choose a fix on.

    Raises:
        ConfigError: There is only one language, or no pair contains the pivot.
        InputError: There are too few sentences, or hidden sizes differ.
    """
    if not trial.all_pairs:
        there = ", ".join(trial.languages)
        raise ConfigError(
            f"no pair of languages to align among {there} with {trial.pivot}",
            "give translations in two languages or more",
            "missing-data",
        )
    for one in trial.sets:
        if len(one) < FEWEST_TO_FIX:
            raise InputError(
                f"{len(one)} different sentences",
                f"a fix needs at least {FEWEST_TO_FIX}, preferably 500 or more",
                "too-few",
                file=one.name,
            )
    for layer in next(iter(trial.sets[0].vectors.values())):
        given = {code: by_layer[layer].shape[1] for one in trial.sets for code, by_layer in one.vectors.items()}
        given |= {f"other {code} text": by_layer[layer].shape[1] for code, by_layer in trial.others.items()}
        if len(set(given.values())) > 1:
            sizes = ", ".join(f"{code} {size}" for code, size in given.items())
            raise InputError(
                f"hidden sizes differ in layer {layer}: {sizes}", "encode all languages with one model", "shape"
            )


def choose(trial: Trial, config: FixConfig | None = None, *, progress: Progress = SILENT) -> Choice:
    """Try every fix and choose one.

    Args:
        trial: Vectors of translated sentences, in one layer or more.
        config: Settings.
        progress: Reports progress.

    Raises:
        ConfigError: There is only one language, or no pair contains the pivot.
        InputError: There are too few sentences, or hidden sizes differ.
    """
    config = config or FixConfig()
    check_trial(trial)
    layers = sorted(next(iter(trial.sets[0].vectors.values())))
    asked = NAMES if config.method == "auto" else ("none", config.method)
    names = [name for name in asked if config.languages == "known" or not TREATMENTS[name].needs_language]
    tried = best_layers(trial, layers, config.layers_tried)
    candidates = [Candidate(layer, name) for name in names for layer in sorted(tried, reverse=True)]
    found = find_all(trial, candidates, progress)
    hits = RetrievalHits.of_sets([each[:, :, None] for each in found], resamples=config.resamples, seed=config.seed)
    return _chosen(trial, candidates, hits, config)


def _chosen(trial: Trial, candidates: Sequence[Candidate], hits: RetrievalHits, config: FixConfig) -> Choice:
    samples_SPC = hits.sampled()[:, :, :, 0]
    before = candidates.index(Candidate(max(each.layer for each in candidates), "none"))
    samples_SC = samples_SPC.mean(axis=1)
    gains_SC = samples_SC - samples_SC[:, [before]]
    allowed = [at for at, each in enumerate(candidates) if config.method in ("auto", each.name)]
    at = _simplest(samples_SC, candidates, allowed)
    routed = TREATMENTS[candidates[at].name].needs_language
    here = [k for k, each in enumerate(candidates) if each.layer == candidates[at].layer]
    general = [k for k in here if not TREATMENTS[candidates[k].name].needs_language]
    gain = chosen_interval(gains_SC, at)
    both = candidates[before], candidates[at]
    layers = both[0].layer, both[1].layer
    fitted = [(trial.fit(both[0], fold), trial.fit(both[1], fold)) for fold in trial.folds]
    csls = [find_by_csls(trial, layers[side], [maps[side] for maps in fitted]) for side in (0, 1)]
    return Choice(
        before=both[0],
        best=both[1],
        fallback=candidates[_simplest(samples_SC, candidates, general)] if routed else None,
        gain=gain,
        recommended=at != before and gain.low > 0,
        held_out=_held_out(hits, before),
        tried=tuple(
            Tried(each.layer, each.name, as_share(interval(samples_SC[:, k])), interval(gains_SC[:, k]))
            for k, each in enumerate(candidates)
        ),
        pairs=tuple(
            PairGain(
                *pair,
                before=as_share(interval(samples_SPC[:, number, before])),
                after=as_share(interval(samples_SPC[:, number, at])),
                gain=interval(samples_SPC[:, number, at] - samples_SPC[:, number, before]),
            )
            for number, pair in enumerate(trial.all_pairs)
        ),
        mixed=_mixed(trial, layers, fitted, config),
        languages=_costs(trial, own_languages(trial, layers, fitted), config),
        csls=(_csls_gain(csls[0], samples_SC[:, before], hits), _csls_gain(csls[1], samples_SC[:, at], hits)),
        beyond_repair=_beyond_repair(samples_SPC, trial),
        samples_SPC=samples_SPC,
    )


def _simplest(samples_SC: np.ndarray, candidates: Sequence[Candidate], among: Sequence[int]) -> int:
    """The simplest candidate within one standard error of the best; candidates are in the order of simplicity."""
    best = max(among, key=lambda k: float(samples_SC[0, k]))
    behind_SC = samples_SC[:, [best]] - samples_SC[:, among]
    near = behind_SC[0] <= behind_SC[1:].std(axis=0)
    close = [k for k, is_near in zip(among, near, strict=True) if is_near]
    name = candidates[close[0]].name
    return max((k for k in close if candidates[k].name == name), key=lambda k: float(samples_SC[0, k]))


def _beyond_repair(samples_SPC: np.ndarray, trial: Trial) -> tuple[str, ...]:
    """Languages for which the interval of every candidate, over all their pairs, is below ``HOPELESS``."""
    lost = []
    for code in trial.languages:
        own_SC = samples_SPC[:, [code in pair for pair in trial.all_pairs]].mean(axis=1)
        at = int(own_SC[0].argmax())
        if chosen_interval(own_SC, at).high < HOPELESS:
            lost.append(code)
    return tuple(lost)


def _held_out(hits: RetrievalHits, before: int) -> Interval | None:
    """Gain of the best candidate, chosen on one half of the sentences and scored on the other; None with few."""
    if hits.parts is None:
        return None
    rows, weights, parts, plain = [], [], [], []
    for found_PCWN, w_SN, half_N in zip(hits.found, hits.weights, hits.parts, strict=True):
        for found_CN in found_PCWN[:, :, 0]:
            rows.append(found_CN.T)
            plain.append(found_CN[before])
            weights.append(w_SN)
            parts.append(half_N)
    scored, _ = choose_by_other_half(rows, parts)
    gains = [w_SN @ (own_N - plain_N) for w_SN, own_N, plain_N in zip(weights, scored, plain, strict=True)]
    return interval(np.mean(gains, axis=0))


def _mixed(
    trial: Trial, layers: tuple[int, int], fitted: Sequence[tuple[Maps, Maps]], config: FixConfig
) -> tuple[MixedGain, ...]:
    """What is found in one pool of all languages, before and after."""
    before, after = (one_pool(trial, layers[side], [maps[side] for maps in fitted]) for side in (0, 1))
    w_SN = sample_weights(len(before.right_N), config.resamples, seed=config.seed, name="one pool")
    names = ("a translation", "another sentence of its own language", "a wrong sentence of another language")
    return tuple(
        MixedGain(
            name, as_share(interval(w_SN @ old_N)), as_share(interval(w_SN @ new_N)), interval(w_SN @ (new_N - old_N))
        )
        for name, old_N, new_N in zip(names, before, after, strict=True)
    )


def _costs(trial: Trial, parts: Mapping[str, Sequence[OwnLanguage]], config: FixConfig) -> tuple[LanguageCost, ...]:
    """Retrieval inside each language, before and after."""
    costs = []
    for code in trial.languages:
        before_M, after_M, kept_N = (np.concatenate(each) for each in zip(*parts[code], strict=True))
        before = after = change = None
        if len(after_M):
            w_SM = sample_weights(len(after_M), config.resamples, seed=config.seed, name=f"copies {code}")
            before, after = (as_share(interval(w_SM @ each)) for each in (before_M, after_M))
            change = interval(w_SM @ (after_M - before_M))
        w_SN = sample_weights(len(kept_N), config.resamples, seed=config.seed, name=f"neighbors {code}")
        kept = interval(w_SN @ kept_N)
        costs.append(LanguageCost(code=code, before=before, after=after, change=change, kept=kept))
    return tuple(costs)


def _csls_gain(found: Sequence[np.ndarray], cosine_S: np.ndarray, hits: RetrievalHits) -> Interval:
    """What CSLS instead of cosine gains."""
    by_csls = np.concatenate([w_SN @ each.T for w_SN, each in zip(hits.weights, found, strict=True)], axis=1)
    return interval(by_csls.mean(axis=1) - cosine_S)
