"""Choice of the layer, rule and threshold of an encoder that find the gold links of some sentences best.

All are tried in one pass: the encoder reads the sentences once, and links and hits are counted.

Shape legend: ``L`` layers, ``P`` sentence pairs, ``M`` and ``N`` words, padded, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from isoglot.align.words.encoder_links import (
    CENTERS,
    RULES,
    Center,
    DirectedLinks,
    EncoderLinksConfig,
    Rule,
    WordVectors,
    argmax_links,
    probabilities,
    similarities,
    softmax_links,
)
from isoglot.align.words.links import LinkScores
from isoglot.core.errors import ConfigError, InputError, check_counts
from isoglot.core.progress import SILENT, Progress
from isoglot.represent import extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from isoglot.align.words.bitext import Pair
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.text.formats.pharaoh import Links

_NUMBERS = 2**22  # numbers of a batch's vectors, and of its similarities


class PairedWords:
    """Word vectors of sentence pairs: one pass through the encoder for each side, all layers at once.

    Args:
        encoder: Any encoder.
        pairs: Sentence pairs as lists of words, none of them empty.
        languages: Languages of the sides, for encoders with language-specific parts.
        layers: Layer numbers, or ``all``.
        pool: Whether a word is the mean of its subwords or its first.
        scratch: Folder for temporary vectors. Default: they are in memory.
        progress: Progress in sentences.

    Raises:
        ConfigError: A layer or language does not exist.
        InputError: A sentence is empty, or a hidden state is not finite.
        StorageError: The folder cannot be written to.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        pairs: Sequence[Pair],
        *,
        languages: tuple[str, str] | None = None,
        layers: Layers = "all",
        pool: Literal["words", "word-first"] = "words",
        scratch: Path | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self.device = encoder.device
        found = [
            extract(
                encoder,
                [pair[side] for pair in pairs],
                layers=layers,
                pool=pool,
                language=None if languages is None else languages[side],
                out=None if scratch is None else scratch / f"words{side}",
                progress=progress,
            )
            for side in (0, 1)
        ]
        self.layers = found[0].layers
        self._sides = found
        self._starts = [np.asarray(each.offsets) for each in found]
        self._sizes_P2 = np.stack([np.diff(starts) for starts in self._starts], axis=1)

    def means(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean of all words of either side in every layer (L × D); words without a vector do not count."""
        one, other = (
            torch.stack([torch.from_numpy(_mean(side[layer])) for layer in self.layers]).to(self.device)
            for side in self._sides
        )
        return one, other

    def batches(self) -> Iterator[tuple[list[int], WordVectors]]:
        """Batches of pairs of similar size, with their numbers."""
        order = np.lexsort((self._sizes_P2[:, 1], self._sizes_P2[:, 0]))[::-1]
        width = self._sides[0].hidden_size
        start = 0
        while start < len(order):
            most, other = (int(each) for each in self._sizes_P2[order[start]])
            end = start + 1
            while end < len(order):
                size = self._sizes_P2[order[end]]
                other = max(other, int(size[1]))
                cost = max((most + other) * width, most * other) * len(self.layers)
                if 2 * int(size[0]) < most or cost * (end + 1 - start) > _NUMBERS:
                    break
                end += 1
            which = order[start:end]
            source, target = (self._padded(side, which) for side in (0, 1))
            yield which.tolist(), WordVectors(source, target, torch.from_numpy(self._sizes_P2[which]))
            start = end

    def _padded(self, side: int, which_P: np.ndarray) -> torch.Tensor:
        sizes_P = self._sizes_P2[which_P, side]
        places_M = np.arange(sizes_P.max())
        real_PM = places_M < sizes_P[:, None]
        rows_PM = np.where(real_PM, self._starts[side][which_P][:, None] + places_M, 0)
        found = [np.where(real_PM[..., None], self._sides[side][layer][rows_PM], 0) for layer in self.layers]
        return torch.from_numpy(np.stack(found)).to(self.device)


def _mean(rows_ND: np.ndarray) -> np.ndarray:
    real = max(1, int(rows_ND.any(axis=1).sum()))
    return np.asarray(rows_ND.sum(axis=0, dtype=np.float64) / real, np.float32)


THRESHOLDS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Thresholds that are tried; above 0.5 a word could have one link only."""


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """Settings of links in an encoder's layers."""

    layer: int
    rule: Rule
    threshold: float | None
    """None with ``argmax``, which has none."""
    center: Center

    def facts(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return {"layer": self.layer, "rule": self.rule, "threshold": self.threshold, "center": self.center}


@dataclass(frozen=True, kw_only=True)
class TriedSettings:
    """Settings and their scores on the gold links (intersection of both directions)."""

    way: LinkSettings
    scores: LinkScores

    def facts(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return {**self.way.facts(), **self.scores.facts()}


@dataclass(frozen=True, kw_only=True)
class LayerChoice:
    """All settings that were tried, and the chosen one."""

    tried: tuple[TriedSettings, ...]
    chosen: TriedSettings
    pairs: int
    """Number of sentence pairs."""

    def of_layers(self, rule: Rule, center: Center) -> list[TriedSettings]:
        """Best settings of each layer by a rule, with or without centering."""
        best: dict[int, TriedSettings] = {}
        for each in self.tried:
            way = each.way
            if (way.rule, way.center) == (rule, center) and (
                way.layer not in best or each.scores.error_rate < best[way.layer].scores.error_rate
            ):
                best[way.layer] = each
        return [best[layer] for layer in sorted(best)]

    def facts(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return {
            "pairs": self.pairs,
            "chosen": self.chosen.facts(),
            "layers": [each.facts() for rule in RULES for center in CENTERS for each in self.of_layers(rule, center)],
        }


def choose_layer(
    words: PairedWords,
    means_2LD: tuple[torch.Tensor, torch.Tensor],
    gold: Sequence[Links],
    config: EncoderLinksConfig,
    *,
    possible: Sequence[Links],
) -> LayerChoice:
    """Try every layer with both rules, with and without centering, and choose the lowest alignment error rate.

    Ties by order: argmax before softmax, centered before not, lower layers before higher ones.

    Args:
        words: Words of the sentence pairs.
        means_2LD: Mean of either side in each layer.
        gold: Gold links of each pair.
        config: What is not ``auto`` there is fixed.
        possible: Possible gold links, beside the sure ones.
    """
    thresholds = THRESHOLDS if config.threshold == "auto" else (config.threshold,)
    ways: list[tuple[Center, Rule, float | None]] = [
        (center, rule, threshold)
        for rule in RULES
        for center in CENTERS
        for threshold in ((None,) if rule == "argmax" else thresholds)
    ]
    counts = np.zeros((len(ways), len(words.layers), 3), np.int64)  # links, sure hits and possible hits
    for which, batch in words.batches():
        sure_PMN = _gold_mask(batch, [gold[number] for number in which])
        all_PMN = sure_PMN | _gold_mask(batch, [possible[number] for number in which])
        for number, links in _links_by_setting(batch, means_2LD, thresholds, config):
            both_LPMN = links.forward_LPMN & links.backward_LPMN
            counts[number, :, 0] += both_LPMN.sum(dim=(1, 2, 3)).cpu().numpy()
            counts[number, :, 1] += (both_LPMN & sure_PMN).sum(dim=(1, 2, 3)).cpu().numpy()
            counts[number, :, 2] += (both_LPMN & all_PMN).sum(dim=(1, 2, 3)).cpu().numpy()
    sure = sum(len(set(each)) for each in gold)
    tried = tuple(
        TriedSettings(
            way=LinkSettings(layer=layer, rule=rule, threshold=threshold, center=center),
            scores=LinkScores(links=int(links), sure=sure, hit_sure=int(hits), hit_possible=int(allowed)),
        )
        for (center, rule, threshold), row in zip(ways, counts, strict=True)
        for layer, (links, hits, allowed) in zip(words.layers, row, strict=True)
    )
    eligible = [each for each in tried if _is_allowed(each.way, config)]
    return LayerChoice(tried=tried, chosen=min(eligible, key=lambda each: each.scores.error_rate), pairs=len(gold))


def check_gold(pairs: Sequence[Pair], gold: Sequence[Links], possible: Sequence[Links] | None = None) -> None:
    """Check that gold links fit the pairs.

    Raises:
        InputError: Their number differs, there are none at all, or one is out of range.
    """
    for kind in [gold] if possible is None else [gold, possible]:
        counts = {"the text": len(pairs), "the gold links": len(kind)}
        check_counts("sentence pairs", counts, "give one line of links, even a blank one, for each pair", "line-count")
        for number, (pair, links) in enumerate(zip(pairs, kind, strict=True), start=1):
            m, n = map(len, pair)
            for i, j in links:
                if i >= m or j >= n:
                    problem = f"the gold link {i}-{j} of pair {number} points past its {m} and {n} words"
                    remedy = "positions count from 0; were the links made from these words?"
                    raise InputError(problem, remedy, "out-of-range")
    if not any(gold):
        raise InputError("no gold links to choose by", "give sentences that have some", "empty")


def default_settings(config: EncoderLinksConfig, depth: int) -> LinkSettings:
    """Settings without gold links: the best ones measured (docs/SPACES.md).

    Raises:
        ConfigError: The layer is not given, and there are several.
    """
    if config.layer == "auto" and depth:
        problem = "choosing a layer needs sentences with gold links, and there are none"
        remedy = f"give a development set with gold links, or name a layer from 0 to {depth}"
        raise ConfigError(problem, remedy, "missing-data")
    rule: Rule = "softmax" if config.rule == "auto" else config.rule
    threshold = 0.15 if config.threshold == "auto" else config.threshold
    return LinkSettings(
        layer=0 if config.layer == "auto" else config.layer % (depth + 1),
        rule=rule,
        threshold=threshold if rule == "softmax" else None,
        center="mean" if config.center == "auto" else config.center,
    )


def links_with(
    way: LinkSettings,
    batch: WordVectors,
    means_2D: tuple[torch.Tensor, torch.Tensor] | None,
    config: EncoderLinksConfig,
) -> DirectedLinks:
    """Links of a batch of one layer, both directions."""
    means = None if means_2D is None else (means_2D[0][None], means_2D[1][None])
    found = similarities(batch, means, config.similarity)
    if way.threshold is None:
        return argmax_links(found)
    return softmax_links(probabilities(found, config.temperature), way.threshold)


def _links_by_setting(
    batch: WordVectors,
    means_2LD: tuple[torch.Tensor, torch.Tensor],
    thresholds: Sequence[float],
    config: EncoderLinksConfig,
) -> Iterator[tuple[int, DirectedLinks]]:
    """Links of all layers by every rule, centering and threshold, each with its number."""
    found = [similarities(batch, means_2LD if center == "mean" else None, config.similarity) for center in CENTERS]
    number = 0
    for each in found:
        yield number, argmax_links(each)
        number += 1
    for each in found:
        over = probabilities(each, config.temperature)
        for threshold in thresholds:
            yield number, softmax_links(over, threshold)
            number += 1


def _gold_mask(batch: WordVectors, links: Sequence[Links]) -> torch.Tensor:
    shape = (len(links), batch.source_LPMD.shape[2], batch.target_LPND.shape[2])
    gold_PMN = torch.zeros(shape, dtype=torch.bool)
    for pair_MN, each in zip(gold_PMN, links, strict=True):
        for i, j in each:
            pair_MN[i, j] = True
    return gold_PMN.to(batch.source_LPMD.device)


def _is_allowed(way: LinkSettings, config: EncoderLinksConfig) -> bool:
    rule = "softmax" if config.rule == "auto" and config.threshold != "auto" else config.rule
    return rule in ("auto", way.rule) and config.center in ("auto", way.center)
