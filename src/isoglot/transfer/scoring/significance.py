"""Confidence intervals of scores and paired tests between systems, over the sentences of a test set.

Every score is a ratio of two sums over sentences: correct words over words for LAS, twice the correct spans over gold
and predicted spans for F1, correct sentences over sentences for accuracy. So a test set is two counts per sentence, and
a bootstrap is a matrix product of resampling counts and these.

Two sources of variance are kept apart: the confidence interval over *sentences*, for these models on other sentences,
and the deviation over *seeds*, for training again. With several seeds, scores are means over them, and the counts of
all seeds are resampled together.

Shape legend: ``N`` sentences, ``S`` seeds, ``U`` different rows of counts, ``R`` draws, ``C`` counts of a sentence.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, InputError, check_counts
from isoglot.core.rng import random_stream
from isoglot.retrieve.metrics import Interval, drawn_counts
from isoglot.retrieve.simultaneous_intervals import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAWS = 10_000
LEVEL = 0.95
# Draws are made in blocks, so that no matrix is larger than 16 MiB.
_BLOCK = 2**21
# If this many sentences share a row of counts, sampling the frequency of each row is faster than sampling sentences.
_ROWS_TO_COUNT = 16


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Scores of one system over several seeds."""

    mean: float
    deviation: float
    """Standard deviation with n - 1; 0 for a single seed."""
    seeds: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A score with its interval over sentences and its deviation over seeds."""

    over_sentences: Interval
    over_seeds: SeedSpread

    @property
    def value(self) -> float:
        """The score: the mean over seeds."""
        return self.over_sentences.value

    def facts(self) -> dict[str, Any]:
        """As a JSON object or row of a table."""
        sentences, seeds = self.over_sentences, self.over_seeds
        return {
            "score": round(seeds.mean, 4),
            "low": round(sentences.low, 4),
            "high": round(sentences.high, 4),
            "seeds": seeds.seeds,
            "seed_deviation": round(seeds.deviation, 4),
        }


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Difference of two systems on the same sentences."""

    difference: Interval
    """Positive if the first is better; interval by paired bootstrap."""
    p: float
    """Two-sided p-value by approximate randomization."""
    p_corrected: float = math.nan
    """p-value after Holm's correction over all comparisons; NaN for a single one."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        found = {name: round(getattr(self.difference, name), 4) for name in ("value", "low", "high")}
        return {"difference": found.pop("value"), **found, "p": self.p, "p_corrected": self.p_corrected}


def estimate(
    ratio: np.ndarray | Sequence[np.ndarray], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Estimate:
    """Estimate a score with its bootstrap interval over sentences (percentile) and its deviation over seeds.

    >>> estimate(np.array([[1, 1]] * 80 + [[0, 1]] * 20)).value
    80.0

    Args:
        ratio: Two counts per sentence (N × 2); the score is 100 times the ratio of their sums. For several seeds, one
            such matrix each (S × N × 2), sentences in the same order.
        draws: Number of bootstrap samples.
        level: Confidence level.
        seed: Random seed.

    Raises:
        InputError: There is no sentence, or the numbers differ between seeds.
        ConfigError: There are no draws, or the level is not between 0 and 1.
    """
    counts_SN2 = _counts(ratio)
    _check_options(draws, level)
    values_S = _ratios(counts_SN2.sum(axis=1))
    drawn_R = _drawn_scores(counts_SN2, draws, random_stream(seed, "transfer bootstrap")).mean(axis=1)
    return Estimate(_interval(float(values_S.mean()), drawn_R, level), spread_over_seeds(values_S.tolist()))


def estimate_runs(by_seed: Sequence[Sequence[np.ndarray]]) -> Estimate:
    """Estimate a score from several runs of each seed, such as the best settings of a grid.

    The score is the mean over all runs; the deviation over seeds is that of each seed's mean.

    Args:
        by_seed: For each seed, two counts per sentence (N × 2) of each of its runs.

    Raises:
        InputError: There is no sentence, or the runs have different ones.
    """
    means = [float(_ratios(_counts(runs).sum(axis=1)).mean()) for runs in by_seed]
    pooled = estimate([run for runs in by_seed for run in runs])
    return Estimate(pooled.over_sentences, spread_over_seeds(means))


def compare(
    one: np.ndarray | Sequence[np.ndarray],
    other: np.ndarray | Sequence[np.ndarray],
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> PairedComparison:
    """Compare two systems on the same sentences.

    The p-value is that of approximate randomization (Noreen 1989): under the null hypothesis, the two outputs for a
    sentence can be exchanged. Random exchanges give the null distribution of the difference, and p = (1 + draws at
    least as far from 0) / (1 + draws), which is valid for any number of draws.

    Args:
        one: Two counts per sentence (N × 2), or for several seeds one such matrix each (S × N × 2).
        other: The same for the other system. With several seeds, outputs of a sentence are exchanged together.
        draws: Number of bootstrap samples and of random exchanges.
        level: Confidence level.
        seed: Random seed.

    Raises:
        InputError: There is no sentence, or the two do not have as many, or as many seeds.
        ConfigError: No draws, or a level that is not between 0 and 1.
    """
    one_SN2, other_SN2 = _counts(one), _counts(other)
    _check_options(draws, level)
    for axis, what in ((1, "sentences"), (0, "runs (seeds × settings)")):
        sizes = {"one system": one_SN2.shape[axis], "the other": other_SN2.shape[axis]}
        check_counts(what, sizes, "compare systems on the same test set, with as many runs")
    seeds = len(one_SN2)
    both_SN2 = np.concatenate([one_SN2, other_SN2])
    difference = float(_differences(_ratios(both_SN2.sum(axis=1)), seeds))
    drawn_R = _differences(_drawn_scores(both_SN2, draws, random_stream(seed, "transfer paired bootstrap")), seeds)
    exchanged_R = _exchanged_differences(one_SN2, other_SN2, draws, random_stream(seed, "transfer randomisation"))
    # Equal differences may differ in their last digits.
    as_far = int((np.abs(exchanged_R) >= abs(difference) - 1e-9).sum())
    return PairedComparison(_interval(difference, drawn_R, level), (1 + as_far) / (1 + draws))


def compare_all(pairs: Sequence[tuple[Any, Any]]) -> list[PairedComparison]:
    """Compare pairs of systems as :func:`compare` does, with p-values corrected over all pairs by Holm's method.

    Args:
        pairs: Counts per sentence of two systems, for each pair.

    Raises:
        InputError: As :func:`compare`.
    """
    found = [compare(one, other) for one, other in pairs]
    corrected = holm([each.p for each in found]).tolist() if found else []
    return [replace(each, p_corrected=p) for each, p in zip(found, corrected, strict=True)]


def spread_over_seeds(scores: Sequence[float]) -> SeedSpread:
    """Mean and standard deviation of scores over seeds.

    >>> spread_over_seeds([70.0, 72.0])
    SeedSpread(mean=71.0, deviation=1.4142135623730951, seeds=2)

    Raises:
        InputError: There is none.
    """
    if not scores:
        raise InputError("no seed has a score", "give at least one", "empty")
    deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return SeedSpread(statistics.fmean(scores), deviation, len(scores))


# --- draws ---


def _drawn_scores(counts_SN2: np.ndarray, draws: int, stream: np.random.Generator) -> np.ndarray:
    """Score of each seed on each bootstrap sample (R × S)."""
    rows_UC, times_U = np.unique(_flat(counts_SN2), axis=0, return_counts=True)
    rows_NC = np.repeat(rows_UC, times_U, axis=0)  # sorted, so that draws do not depend on the order of the file
    sentences = len(rows_NC)
    drawn_RC = np.empty((draws, rows_NC.shape[1]))
    few = _ROWS_TO_COUNT * len(rows_UC) < sentences
    for block in _blocks(draws, len(rows_UC) if few else sentences):
        size = block.stop - block.start
        if few:
            times_RU = stream.multinomial(sentences, times_U / sentences, size=size)
            drawn_RC[block] = times_RU.astype(float) @ rows_UC
        else:
            drawn_RC[block] = drawn_counts(sentences, size, stream) @ rows_NC
    return _ratios(drawn_RC.reshape(draws, -1, 2))


def _exchanged_differences(
    one_SN2: np.ndarray, other_SN2: np.ndarray, draws: int, stream: np.random.Generator
) -> np.ndarray:
    """Difference of scores in each draw, in which the outputs of half of the sentences are exchanged (R).

    The counts of a system in a draw are those of the other, plus the differences of the sentences it keeps.
    """
    total_C = _flat(one_SN2 + other_SN2).sum(axis=0)
    differences_NC = _flat(one_SN2 - other_SN2)
    differences_NC = differences_NC[differences_NC.any(axis=1)]
    first_RC = np.tile(_flat(other_SN2).sum(axis=0), (draws, 1))
    sentences = len(differences_NC)
    bytes_a_draw = 8 * -(-sentences // 64)  # whole 64-bit words, so that draws do not depend on blocks
    for block in _blocks(draws, max(sentences, 1)):
        size = block.stop - block.start
        bits = np.frombuffer(stream.bytes(size * bytes_a_draw), np.uint8).reshape(size, bytes_a_draw)
        first_RC[block] += np.unpackbits(bits, axis=1, count=sentences).astype(float) @ differences_NC
    first_RS, second_RS = (_ratios(sums_RC.reshape(draws, -1, 2)) for sums_RC in (first_RC, total_C - first_RC))
    difference_R: np.ndarray = (first_RS - second_RS).mean(axis=1)
    return difference_R


def _flat(counts_SN2: np.ndarray) -> np.ndarray:
    """All counts of a sentence in one row (N × C)."""
    return np.moveaxis(counts_SN2, 1, 0).reshape(counts_SN2.shape[1], -1)


def _blocks(draws: int, width: int) -> list[slice]:
    step = max(1, _BLOCK // width)
    return [slice(start, min(start + step, draws)) for start in range(0, draws, step)]


def _ratios(sums: np.ndarray) -> np.ndarray:
    """100 times the ratio of two counts (… × 2); 0 if the second is 0."""
    bottom = sums[..., 1]
    ratios: np.ndarray = 100 * np.divide(sums[..., 0], bottom, out=np.zeros(bottom.shape), where=bottom != 0)
    return ratios


def _differences(scores: np.ndarray, seeds: int) -> np.ndarray:
    """Mean over the seeds of the first system minus that of the second (… × 2S)."""
    difference: np.ndarray = scores[..., :seeds].mean(axis=-1) - scores[..., seeds:].mean(axis=-1)
    return difference


def _interval(value: float, drawn_R: np.ndarray, level: float) -> Interval:
    low, high = np.quantile(drawn_R, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))


def _counts(ratio: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    """Counts with an axis of seeds, checked (S × N × 2)."""
    seeds = [ratio] if isinstance(ratio, np.ndarray) and ratio.ndim == 2 else list(ratio)
    shapes = sorted({np.shape(one) for one in seeds})
    if len(shapes) != 1 or len(shapes[0]) != 2 or shapes[0][1] != 2 or not shapes[0][0]:
        problem = f"counts of shapes {shapes}"
        raise InputError(problem, "give two counts for each sentence, and the same sentences for all seeds", "shape")
    return np.stack(seeds).astype(float)


def _check_options(draws: int, level: float) -> None:
    if draws < 1 or not 0 < level < 1:
        problem = f"{draws} draws at the level {level}"
        raise ConfigError(problem, "give at least 1, and a level below 1 such as 0.95", "invalid-value")
