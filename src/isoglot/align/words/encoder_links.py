"""Word alignment by the similarity of vectors: two rules, and the choice of layer, rule and threshold on gold links.

Both rules give links of either direction, which :func:`isoglot.align.words.links.symmetrize` combines.

- ``argmax``: every word chooses the most similar word of the other side. The intersection links words that choose each
  other (Jalili Sabet et al. 2020, SimAlign).
- ``softmax``: the similarities of a word to the other side become probabilities, and all above a threshold are links:
  none, one or several. The intersection is above it in both directions (Dou & Neubig 2021, awesome-align, with ``dot``
  similarities and a temperature of 1).

All settings are tried in one pass: the encoder reads the sentences once, and links and hits are counted.

Shape legend: ``L`` layers, ``P`` sentence pairs, ``M`` and ``N`` words of either side, padded, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from pydantic import Field, ValidationInfo, field_validator

from isoglot.align.words.links import LinkScores, Symmetry, symmetrize
from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, InputError, check_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.align.words.bitext import Pair
    from isoglot.align.words.encoder_aligner import PairedWords
    from isoglot.text.formats.parallel import Links

Rule = Literal["argmax", "softmax"]
"""``argmax``: a word's most similar one; ``softmax``: all with a probability above the threshold."""
RULES: tuple[Rule, ...] = get_args(Rule)
Center = Literal["mean", "none"]
"""``mean``: each language's mean is subtracted; ``none``: vectors unchanged."""
CENTERS: tuple[Center, ...] = get_args(Center)
Similarity = Literal["cosine", "dot"]

_TIE = 1e-6  # smaller differences are rounding, which depends on the batch


class EncoderLinksConfig(Config):
    """Settings of word alignment by an encoder. What is ``auto`` is chosen on gold links.

    >>> EncoderLinksConfig(layer=-2, rule="argmax").similarity
    'cosine'
    """

    layer: Literal["auto"] | int = "auto"
    """the layer, 0 for the embeddings, negative ones from the end"""
    rule: Literal["auto", "argmax", "softmax"] = "auto"
    """how links are chosen: a word's most similar one, or all above a threshold; softmax without gold links"""
    threshold: Literal["auto"] | Annotated[float, Field(ge=0, lt=1)] = "auto"
    """probability above which there is a link, with softmax; 0.15 without gold links"""
    temperature: float = Field(0.05, gt=0)
    """divisor of similarities before the softmax"""
    similarity: Similarity = "cosine"
    """cosine of two vectors, or their dot product"""
    center: Literal["auto", "mean", "none"] = "auto"
    """whether each language's mean is subtracted; it is without gold links"""
    pool: Literal["words", "word-first"] = "words"
    """a word is the mean of its subwords, or its first"""
    max_words: int = Field(100, ge=1)
    """maximum number of words per side; longer sentence pairs are left out, and counted"""
    sample: int = Field(2000, ge=1)
    """maximum number of sentence pairs for means and choices: the first ones"""

    @field_validator("threshold")
    @classmethod
    def _threshold_is_of_softmax(cls, threshold: float | str, others: ValidationInfo) -> float | str:
        if others.data.get("rule") == "argmax" and threshold != "auto":
            raise ValueError("applies to the rule softmax only: leave it out with argmax")
        return threshold


class WordVectors(NamedTuple):
    """Word vectors of some sentence pairs, padded with zeros; a word with a zero vector has no links."""

    source_LPMD: torch.Tensor
    target_LPND: torch.Tensor
    sizes_P2: torch.Tensor
    """Numbers of words of the pairs."""


class Similarities(NamedTuple):
    """Similarities of the words of some sentence pairs."""

    values_LPMN: torch.Tensor
    real_LPMN: torch.Tensor
    """Whether both are words with a vector."""
    distance_PMN: torch.Tensor
    """Distance from the diagonal."""


class DirectedLinks(NamedTuple):
    """Links of both directions."""

    forward_LPMN: torch.Tensor
    """Words of the target choose words of the source."""
    backward_LPMN: torch.Tensor
    """Words of the source choose words of the target."""


def similarities(
    words: WordVectors, means_2LD: tuple[torch.Tensor, torch.Tensor] | None = None, kind: Similarity = "cosine"
) -> Similarities:
    """Similarities of every word of a sentence with every word of the other.

    Args:
        words: The words.
        means_2LD: Means to subtract from either side; None: none.
        kind: Cosines or dot products.
    """
    sides = [words.source_LPMD, words.target_LPND]
    has_LPM, has_LPN = ((side != 0).any(dim=-1) for side in sides)
    if means_2LD is not None:
        sides = [side - mean_LD[:, None, None] for side, mean_LD in zip(sides, means_2LD, strict=True)]
    if kind == "cosine":
        sides = [torch.nn.functional.normalize(side, dim=-1) for side in sides]
    values_LPMN = sides[0] @ sides[1].transpose(-1, -2)
    across_M, along_N = (
        torch.arange(side.shape[2], device=side.device, dtype=torch.float32) for side in (sides[0], sides[1])
    )
    sizes_P2 = words.sizes_P2.to(values_LPMN.device, torch.float32)
    distance_PMN = (across_M[None, :, None] / sizes_P2[:, :1, None] - along_N / sizes_P2[:, 1:, None]).abs()
    return Similarities(values_LPMN, has_LPM[..., None] & has_LPN[..., None, :], distance_PMN)


def argmax_links(found: Similarities) -> DirectedLinks:
    """Most similar word; ties by distance from the diagonal, then by order."""
    return DirectedLinks(_most_similar(found, 2), _most_similar(found, 3))


def probabilities(found: Similarities, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax of the similarities, over the source (``forward``) and over the target; 0 at padding."""
    logits_LPMN = (found.values_LPMN / temperature).masked_fill(~found.real_LPMN, -torch.inf)
    over = [logits_LPMN.softmax(dim).masked_fill(~found.real_LPMN, 0.0) for dim in (2, 3)]
    return over[0], over[1]


def softmax_links(over: tuple[torch.Tensor, torch.Tensor], threshold: float) -> DirectedLinks:
    """All links with a probability above a threshold."""
    return DirectedLinks(over[0] > threshold, over[1] > threshold)


def _most_similar(found: Similarities, dim: int) -> torch.Tensor:
    values_LPMN = found.values_LPMN.masked_fill(~found.real_LPMN, -torch.inf)
    best = values_LPMN.amax(dim, keepdim=True)
    equal_LPMN = (values_LPMN >= best - _TIE * best.abs().clamp(min=1)) & found.real_LPMN
    distance_LPMN = found.distance_PMN.expand_as(equal_LPMN).masked_fill(~equal_LPMN, torch.inf)
    nearest = distance_LPMN.argmin(dim, keepdim=True)
    return torch.zeros_like(equal_LPMN).scatter_(dim, nearest, value=True) & equal_LPMN


def symmetrized(links: DirectedLinks, method: Symmetry) -> list[list[Links]]:
    """Symmetrized links of every pair in every layer: lists by layer, then by pair."""
    if method in ("intersection", "union"):
        both = torch.logical_and if method == "intersection" else torch.logical_or
        return [[_link_list(pair_MN) for pair_MN in layer_PMN] for layer_PMN in both(*links).cpu()]
    ways = [side.cpu() for side in links]
    return [
        [symmetrize(_link_list(one_MN), _link_list(other_MN), method) for one_MN, other_MN in zip(*layer, strict=True)]
        for layer in zip(*ways, strict=True)
    ]


def _link_list(links_MN: torch.Tensor) -> Links:
    return [(i, j) for i, j in links_MN.nonzero().tolist()]


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
    """Settings without gold links: the best ones measured (docs/LOG.md).

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
