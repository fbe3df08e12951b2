"""Word alignment by similarity: two rules over the similarities of the words of a sentence pair.

Both give links of either direction, which :func:`isoglot.align.words.links.symmetrize` combines.

- ``argmax``: every word chooses the most similar word of the other side. The intersection links words that choose each
  other (Jalili Sabet et al. 2020, SimAlign).
- ``softmax``: the similarities of a word to the other side become probabilities, and all above a threshold are links:
  none, one or several. The intersection is above it in both directions (Dou & Neubig 2021, awesome-align, with ``dot``
  similarities and a temperature of 1).

Shape legend: ``L`` layers, ``P`` sentence pairs, ``M`` and ``N`` words of either side, padded, ``D`` hidden size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args

import torch
from pydantic import Field, ValidationInfo, field_validator

from isoglot.align.words.links import Symmetry, symmetrize
from isoglot.core.config import Config

if TYPE_CHECKING:
    from isoglot.text.formats.pharaoh import Links

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
