"""Result of a check-up: figures by layer, pair and language, with confidence intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.core.display import Displayed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.compare.cka_inference import CkaEstimate
    from isoglot.diagnose.retrieval import SearchVariant
    from isoglot.diagnose.tokenizer_check import TokenFacts
    from isoglot.retrieve.estimates import Estimates
    from isoglot.retrieve.metrics import Interval


@dataclass(frozen=True, kw_only=True)
class ProbeFacts:
    """Cross-validated balanced accuracy of linear language probes (``compare/language_probe.py``)."""

    linear: Interval
    centered: Interval
    spread: Interval
    chance: float


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """Figures of two languages in one layer, or their means over pairs."""

    layer: int
    found: Mapping[SearchVariant, Interval]
    """P@1, the mean of both directions."""
    mexa: Interval
    """Share of sentences whose cosine with their translation is higher than that of either with any other sentence."""
    hubness: float
    """Skewness of the 10-occurrence by cosine on unmodified vectors; above 1 if a few rows are hubs."""
    distance: float
    """Distance between the means of two languages, in standard deviations within a language."""


@dataclass(frozen=True, kw_only=True)
class LayerFacts(_Facts):
    """Figures of one layer: means over all pairs of languages, or over languages."""

    probe: ProbeFacts
    mean_cosine: float
    top_share: float
    hubness_csls: float
    cka: float | None
    """Debiased; None if all vectors of a language are equal."""
    cka_null: float | None
    """95th percentile with shuffled sentences, the mean over pairs."""
    cka_above: int
    """Number of pairs whose CKA exceeds that percentile."""


@dataclass(frozen=True, kw_only=True)
class PairLayer(_Facts):
    """Figures of two languages in one layer."""

    cka: CkaEstimate | None
    """Debiased, with its interval and null distribution; None if all vectors of a language are equal."""


@dataclass(frozen=True, kw_only=True)
class MissedSentence:
    """A sentence whose nearest neighbor is not its translation.

    Attributes:
        query: The sentence.
        found: Its nearest neighbor.
        right: Its translation.
        similarity_found: Cosine with the nearest neighbor.
        similarity_right: Cosine with the translation.
        rank: Rank of the translation among all candidates.
    """

    query: str
    found: str
    right: str
    similarity_found: float
    similarity_right: float
    rank: int


@dataclass(frozen=True, kw_only=True)
class MissedSentences:
    """Sentences of one language whose translations are not found in another, in the best layer of the two.

    Attributes:
        source: Language of the queries.
        target: Language that is searched.
        layer: The layer with the highest P@1 of the two languages by the recommended search variant.
        count: Number of such sentences.
        examples: Those with the largest difference between the two similarities, largest first.
    """

    source: str
    target: str
    layer: int
    count: int
    examples: tuple[MissedSentence, ...]


@dataclass(frozen=True, kw_only=True)
class MexaOverLayers:
    """MEXA of all layers (Kargaran et al. 2024): the share of sentences that are mutual nearest neighbors, by cosine.

    Attributes:
        highest: That of the best layer of each pair, the mean over pairs, with an interval that allows for the choice.
        mean: The mean over layers and pairs.
    """

    highest: Interval
    mean: Interval


@dataclass(frozen=True, kw_only=True)
class PairFacts:
    """Figures of two languages in every layer, and sentences whose translations are not found."""

    source: str
    target: str
    sentences: int
    layers: tuple[PairLayer, ...]
    mexa: MexaOverLayers
    missed: tuple[MissedSentences, ...] = ()
    """From source to target, and from target to source."""

    @property
    def name(self) -> str:
        """The two codes, joined by a hyphen."""
        return f"{self.source}-{self.target}"

    def at(self, layer: int) -> PairLayer:
        """Figures of one layer."""
        return next(each for each in self.layers if each.layer == layer)


@dataclass(frozen=True, kw_only=True)
class LanguageFacts:
    """Figures of one language: its tokens, and P@1 of its pairs in the best layer."""

    code: str
    tokens: TokenFacts
    found: Interval
    """P@1 over its pairs, by the best layer and search variant."""
    partner: str
    """The language it is aligned best with."""
    best: Interval
    """P@1 with that language."""
    lead: Interval | None
    """``found`` minus P@1 over all pairs without the language; None if there are none."""
    by_layer: tuple[Interval, ...]
    """P@1 over its pairs in every layer, by the recommended search variant."""
    layer: int
    """The layer with the highest P@1 over its pairs."""
    at_layer: Interval
    """P@1 over its pairs in that layer."""
    layer_gain: Interval | None
    """Gain over the best layer overall, with the layer chosen on held-out sentences; None unless it is significant by a
    paired test, corrected over languages."""
    cut: int = 0
    """Number of sentences truncated to the maximum length of the model."""


@dataclass(frozen=True, kw_only=True)
class HighestScore:
    """The highest P@1 over all layers and search variants.

    Attributes:
        layer: The layer.
        way: The search variant.
        found: P@1, with a simultaneous confidence interval.
        among: Number of figures it is the highest of.
        held_out: P@1 with layer and variant chosen on one half of the sentences and scored on the other, both ways
            round; None with few sentences.
    """

    layer: int
    way: SearchVariant
    found: Interval
    among: int
    held_out: Interval | None


@dataclass(frozen=True, kw_only=True)
class RecommendedLayer:
    """The layer with the highest P@1 without a map, and what other search variants would gain there.

    Attributes:
        layer: The layer.
        way: ``centered`` if removing the means helps significantly, else ``raw``.
        found: P@1 with layer and variant chosen on one half of the sentences and scored on the other, both ways round.
            With few sentences, chosen and scored on all, with a simultaneous confidence interval.
        chosen_apart: Whether they were chosen on other sentences than they were scored on.
        as_good: Other layers that are equivalent by a paired test with a margin of three points.
        undecided: Other layers that are neither significantly worse nor equivalent.
        over_last: Gain over the last layer; None if it is the last.
        over_first: Gain over layer 0, the embeddings without context; None if it is layer 0.
        centering: Gain of removing each language's mean over unmodified vectors.
        csls: Gain of CSLS over cosine.
        mapping: Gain of a rotation.
        mapping_over_first: Gain of a rotation here over a rotation of layer 0; None if it is layer 0.
        top: The highest P@1 of all layers and variants.
    """

    layer: int
    way: SearchVariant
    found: Interval
    chosen_apart: bool
    as_good: tuple[int, ...]
    undecided: tuple[int, ...]
    over_last: Interval | None
    over_first: Interval | None
    centering: Interval
    csls: Interval
    mapping: Interval
    mapping_over_first: Interval | None
    top: HighestScore


@dataclass(frozen=True, kw_only=True, repr=False)
class Checkup(Displayed):
    """Result of a check-up."""

    model: str
    """Name of the model."""
    sentences: int
    """Number of candidates of a search; the mean over sets."""
    origin: str
    """Source of the sentences."""
    chance: float
    """P@1 at chance."""
    depth: int
    """Number of layers, without the embeddings."""
    width: int
    """Hidden size."""
    layers: tuple[LayerFacts, ...]
    """Measurements of each layer."""
    pairs: tuple[PairFacts, ...]
    """Measurements of each pair of languages."""
    languages: tuple[LanguageFacts, ...]
    """Measurements of each language, with its tokenization."""
    best: RecommendedLayer
    """The recommended layer."""
    mexa: MexaOverLayers
    """MEXA over layers."""
    estimates: Estimates
    """Source of the means and of CSLS neighborhoods."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The config."""
    remarks: tuple[str, ...] = ()
    """What else the reader should know."""

    def __repr__(self) -> str:
        codes = ", ".join(each.code for each in self.languages)
        best = f"P@1 {self.best.found.value:.1%} at layer {self.best.layer}"
        return f"Checkup({self.model or 'encoder'}; {codes}; {self.sentences:,} sentences; {best})"

    def at(self, layer: int) -> LayerFacts:
        """Figures of one layer."""
        return next(each for each in self.layers if each.layer == layer)

    def language(self, code: str) -> LanguageFacts:
        """Figures of one language."""
        return next(each for each in self.languages if each.code == code)

    def as_dict(self) -> dict[str, Any]:
        """All fields as a JSON object."""
        whole = asdict(self)
        for given, facts in zip(whole["languages"], self.languages, strict=True):
            given["tokens"] = facts.tokens.as_dict()
        return whole
