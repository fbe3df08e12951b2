"""The best layer, for all languages together and for each, with confidence intervals from a paired bootstrap.

All figures of a check-up are means over the same sentences. So the sentences are resampled once, and every figure is
computed for each sample: intervals of differences between layers, search variants and languages are paired.

With 100 sentences or more, layer and variant are chosen on one half and scored on the other, both ways round
(:mod:`isoglot.retrieve.simultaneous_intervals`). With fewer, they are chosen and scored on all of them, with
simultaneous intervals.

Shape legend: ``S`` bootstrap samples, the first being the original sentences; ``N`` sentences of a set, ``P`` pairs of
languages, ``L`` layers, ``W`` search variants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.rng import random_stream
from isoglot.diagnose.result import HighestScore, RecommendedLayer
from isoglot.diagnose.retrieval import VARIANTS
from isoglot.retrieve.simultaneous_intervals import (
    as_share,
    choose_by_other_half,
    chosen_interval,
    compare_with_best,
    halves,
    interval,
    leads,
    others_as_good,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.diagnose.measurements import LayerMeasurements
    from isoglot.diagnose.sentence_vectors import EncodedSet


def sample_weights(sentences: int, resamples: int, *, seed: int, name: str = "") -> np.ndarray:
    """Weight of each sentence in each bootstrap sample (S × N); rows sum to 1, the first is uniform."""
    stream = random_stream(seed, "check-up resamples", name)
    drawn_SN = stream.multinomial(sentences, np.full(sentences, 1 / sentences), size=resamples) / sentences
    return np.concatenate([np.full((1, sentences), 1 / sentences), drawn_SN])


_RAW, _CENTERED = VARIANTS.index("raw"), VARIANTS.index("centered")


@dataclass(frozen=True)
class RetrievalHits:
    """Which sentences are found, set by set, with bootstrap weights.

    Attributes:
        found: P × L × W × N for each set.
        weights: S × N for each set.
        parts: The half each sentence of a set is in; None with too few sentences to choose on one half.
    """

    found: list[np.ndarray]
    weights: list[np.ndarray]
    parts: list[np.ndarray] | None

    @classmethod
    def of_sets(cls, found: list[np.ndarray], *, resamples: int, seed: int) -> RetrievalHits:
        """Draw weights and halves for what was found in each set."""
        counts = [each.shape[-1] for each in found]
        weights = [sample_weights(count, resamples, seed=seed, name=str(place)) for place, count in enumerate(counts)]
        cut = [halves(count, seed=seed, name=f"check-up {place}") for place, count in enumerate(counts)]
        parts = [half_N for half_N in cut if half_N is not None]
        return cls(found, weights, parts if len(parts) == len(cut) else None)

    @classmethod
    def of_pairs(
        cls, encoded: Sequence[EncodedSet], measured: LayerMeasurements, *, resamples: int, seed: int
    ) -> RetrievalHits:
        """Collect the hits of every pair of every set."""
        numbers = iter(range(sum(len(one.pairs) for one in encoded)))
        found = [
            np.stack([np.stack([each.found_WN for each in measured.of_pair(next(numbers))]) for _ in one.pairs])
            for one in encoded
        ]
        return cls.of_sets(found, resamples=resamples, seed=seed)

    @property
    def items(self) -> int:
        """Number of sentences of the smallest set."""
        return min(int(each.shape[-1]) for each in self.found)

    def sampled(self) -> np.ndarray:
        """P@1 in every bootstrap sample (S × P × L × W)."""
        return self._sampled(self.found, self.weights)

    def of_half(self, side: bool) -> np.ndarray:
        """P@1 in every bootstrap sample over the sentences of one half."""
        assert self.parts is not None  # noqa: S101 - for the type checker
        weights = []
        for w_SN, half_N in zip(self.weights, self.parts, strict=True):
            own_SN = w_SN * (half_N == side)
            weights.append(own_SN / np.maximum(own_SN.sum(axis=1, keepdims=True), 1e-12))
        return self._sampled(self.found, weights)

    def scored(self, first: tuple[int, int], second: tuple[int, int]) -> np.ndarray:
        """Bootstrap samples of each pair (S × P), each half scored by its own layer and variant."""
        assert self.parts is not None  # noqa: S101
        found = []
        for found_PLWN, w_SN, half_N in zip(self.found, self.weights, self.parts, strict=True):
            value_PN = np.where(half_N, found_PLWN[:, first[0], first[1]], found_PLWN[:, second[0], second[1]])
            found.append(w_SN @ value_PN.T)
        return np.concatenate(found, axis=1)

    @staticmethod
    def _sampled(found: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> np.ndarray:
        parts = [
            np.einsum("sn,plwn->splw", w_SN, found_PLWN, optimize=True)
            for found_PLWN, w_SN in zip(found, weights, strict=True)
        ]
        return np.concatenate(parts, axis=1)


def _choice(found_SLW: np.ndarray) -> tuple[int, int]:
    """The layer and variant to use without a map.

    The layer has the highest P@1 by cosine. Means are removed if that is significantly better in the layer that is best
    with or without them.
    """
    raw_SL, centered_SL = found_SLW[:, :, _RAW], found_SLW[:, :, _CENTERED]
    first = int(np.argmax(np.maximum(raw_SL[0], centered_SL[0])))
    way = _CENTERED if chosen_interval(centered_SL - raw_SL, first).low > 0 else _RAW
    return int(np.argmax(found_SLW[0, :, way])), way


def choose_best(hits: RetrievalHits, layers: Sequence[int]) -> tuple[RecommendedLayer, np.ndarray]:
    """The best layer without a map, and the bootstrap samples of its pairs (S × P)."""
    found_SPLW = hits.sampled()
    found_SLW = found_SPLW.mean(axis=1)
    at, way = _choice(found_SLW)
    here_SL = found_SLW[:, :, way]
    if hits.parts is None:
        best_SP = found_SPLW[:, :, at, way]
        both_SC = np.concatenate([here_SL, found_SLW[:, :, _RAW + _CENTERED - way]], axis=1)
        found = as_share(chosen_interval(both_SC, at))
        ahead = leads(both_SC, at)[: len(layers)]
    else:
        other, one = (_choice(hits.of_half(side).mean(axis=1)) for side in (False, True))
        best_SP = hits.scored(other, one)
        found = interval(best_SP.mean(axis=1))
        ahead = [interval(best_SP.mean(axis=1) - here_S) for here_S in here_SL.T]
    rest = [place for place in range(len(layers)) if place != at]
    as_good, undecided = others_as_good(
        [layers[place] for place in rest],
        best_SP.mean(axis=1),
        here_SL[:, rest],
        hits.items,
        ahead=[ahead[place] for place in rest] if hits.parts is None else None,
    )
    csls_SL = found_SLW[:, :, VARIANTS.index("centered-csls" if way == _CENTERED else "csls")]
    mapped_SL = found_SLW[:, :, VARIANTS.index("mapped")]
    has_first = at > 0 and layers[0] == 0
    best = RecommendedLayer(
        layer=layers[at],
        way=VARIANTS[way],
        found=found,
        chosen_apart=hits.parts is not None,
        as_good=as_good,
        undecided=undecided,
        over_last=None if at == len(layers) - 1 else ahead[-1],
        over_first=ahead[0] if has_first else None,
        centering=chosen_interval(found_SLW[:, :, _CENTERED] - found_SLW[:, :, _RAW], at),
        csls=chosen_interval(csls_SL - here_SL, at),
        mapping=chosen_interval(mapped_SL - here_SL, at),
        mapping_over_first=chosen_interval(mapped_SL - mapped_SL[:, :1], at) if has_first else None,
        top=_top(hits, found_SLW, layers),
    )
    return best, best_SP


def _top(hits: RetrievalHits, found_SLW: np.ndarray, layers: Sequence[int]) -> HighestScore:
    """The highest P@1 of all layers and variants."""
    found_SC = found_SLW.reshape(len(found_SLW), -1)
    at = int(found_SC[0].argmax())
    layer, way = divmod(at, len(VARIANTS))
    held_out = None
    if hits.parts is not None:
        chosen = [divmod(int(hits.of_half(side)[0].mean(axis=0).argmax()), len(VARIANTS)) for side in (False, True)]
        held_out = interval(hits.scored(chosen[0], chosen[1]).mean(axis=1))
    return HighestScore(
        layer=layers[layer],
        way=VARIANTS[way],
        found=as_share(chosen_interval(found_SC, at)),
        among=found_SC.shape[1],
        held_out=held_out,
    )


def language_layers(
    hits: RetrievalHits,
    layers: Sequence[int],
    pairs: Sequence[tuple[str, str]],
    codes: Sequence[str],
    best: RecommendedLayer,
) -> dict[str, dict[str, Any]]:
    """The best layer of each language, and its gain over the best layer overall if significant.

    Returns:
        Fields of :class:`isoglot.diagnose.result.LanguageFacts` by language.
    """
    way, common = VARIANTS.index(best.way), layers.index(best.layer)
    found_SPL = hits.sampled()[:, :, :, way]
    facts: dict[str, dict[str, Any]] = {}
    gains = []
    for code in codes:
        own = np.array([code in pair for pair in pairs])
        own_SL = found_SPL[:, own].mean(axis=1)
        at = int(own_SL[0].argmax())
        chosen_S = _chosen_for(hits, own, way) if hits.parts is not None else own_SL[:, at]
        gains.append(chosen_S - own_SL[:, common])
        lead = leads(own_SL, at)[common]
        facts[code] = {"layer": layers[at], "at_layer": as_share(chosen_interval(own_SL, at)), "layer_gain": lead}
    gains_SK = np.stack(gains, axis=1)
    for code, stands in zip(codes, compare_with_best(np.zeros(len(gains_SK)), -gains_SK, hits.items), strict=True):
        differs = facts[code]["layer"] != best.layer
        sure = stands.verdict == "worse" and (hits.parts is not None or facts[code]["layer_gain"].low > 0)
        facts[code]["layer_gain"] = stands.lead if differs and sure else None
    return facts


def _chosen_for(hits: RetrievalHits, own: np.ndarray, way: int) -> np.ndarray:
    """Bootstrap samples (S) of some pairs, scored by the layer that is best for them on the other half."""
    assert hits.parts is not None  # noqa: S101
    rows, weights, parts, first = [], [], [], 0
    for found_PLWN, w_SN, half_N in zip(hits.found, hits.weights, hits.parts, strict=True):
        for found_LN in found_PLWN[own[first : first + len(found_PLWN)]][:, :, way]:
            rows.append(found_LN.T)
            weights.append(w_SN)
            parts.append(half_N)
        first += len(found_PLWN)
    scored, _ = choose_by_other_half(rows, parts)
    return np.asarray(np.mean([w_SN @ one_N for w_SN, one_N in zip(weights, scored, strict=True)], axis=0))
