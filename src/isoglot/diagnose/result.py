"""What a check-up found: figures by layer, by pair and by language, each with how sure it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.compare.cka_inference import CkaEstimate
    from isoglot.diagnose.retrieval import Way
    from isoglot.diagnose.tokenizer_check import TokenFacts
    from isoglot.retrieve.estimates import Estimates
    from isoglot.retrieve.metrics import Interval


@dataclass(frozen=True, kw_only=True)
class ProbeFacts:
    """Balanced accuracy of a linear language probe, cross-validated (``compare/language_probe.py``)."""

    linear: Interval
    centered: Interval
    spread: Interval
    chance: float


@dataclass(frozen=True, kw_only=True)
class LayerFacts:
    """One layer, the mean over all pairs of languages (or over languages, where a figure is of one)."""

    layer: int
    found: Mapping[Way, Interval]
    """The share of translations found (P@1), the mean of both directions."""
    probe: ProbeFacts
    mean_cosine: float
    top_share: float
    hubness: float
    """Skewness of the 10-occurrence by cosine, vectors as they are; above 1 where a few rows are near to everything."""
    hubness_csls: float
    distance: float
    """Between the means of two languages, in units of the spread around a mean."""
    cka: float | None
    """Debiased; None where a language has one vector for everything."""
    cka_null: float | None
    """The mean over pairs of the 95th percentile of shuffled ones."""
    cka_above: int
    """In how many pairs CKA is above that of shuffled ones."""


@dataclass(frozen=True, kw_only=True)
class PairLayer:
    """Two languages in one layer."""

    layer: int
    found: Mapping[Way, Interval]
    hubness: float
    distance: float
    cka: CkaEstimate | None
    """Debiased, with its interval and its null; None where a language has one vector for everything."""


@dataclass(frozen=True, kw_only=True)
class PairFacts:
    """Two languages in every layer."""

    source: str
    target: str
    sentences: int
    layers: tuple[PairLayer, ...]

    @property
    def name(self) -> str:
        """The two in a few letters."""
        return f"{self.source}-{self.target}"

    def at(self, layer: int) -> PairLayer:
        """The figures of one layer."""
        return next(each for each in self.layers if each.layer == layer)


@dataclass(frozen=True, kw_only=True)
class LanguageFacts:
    """One language: its tokens, and how its pairs fare in the best layer."""

    code: str
    tokens: TokenFacts
    found: Interval
    """P@1 over its pairs, in the best layer and way."""
    partner: str
    """The language it is aligned best with."""
    best: Interval
    """P@1 with that one."""
    lead: Interval | None
    """``found`` minus the same over all pairs without it; None where there are none."""
    layer: int
    """The layer that finds most over its pairs, in the best way."""
    at_layer: Interval
    """P@1 over its pairs there."""
    layer_gain: Interval | None
    """How much more that finds than the best layer of all, the layer being chosen on other sentences; None where a
    paired test, corrected over languages, does not say that it is more."""
    cut: int = 0
    """Sentences that were longer than the model takes."""


@dataclass(frozen=True, kw_only=True)
class Top:
    """The highest figure of all layers and ways.

    Attributes:
        layer: The layer.
        way: The way.
        found: P@1, with an interval that allows for the choice.
        among: Of how many it is the highest.
        held_out: P@1 where layer and way are chosen on one half of the sentences and scored on the other, both ways;
            None of few sentences.
    """

    layer: int
    way: Way
    found: Interval
    among: int
    held_out: Interval | None


@dataclass(frozen=True, kw_only=True)
class Best:
    """Where translations are found best without a map, and what more could be had there.

    Attributes:
        layer: The layer.
        way: ``centered`` where removing the means surely helps, ``raw`` where not.
        found: P@1 by layer and way, chosen on one half of the sentences and scored on the other, both ways; of few
            sentences, chosen and scored on all, with an interval that allows for the choice.
        chosen_apart: Whether they were chosen on other sentences than they were scored on.
        as_good: Other layers that a paired test puts within three points.
        undecided: Other layers that are neither surely worse nor shown to be as good.
        over_last: How much better it is than the last layer; None where it is the last.
        over_first: How much better than layer 0, the embeddings without context; None where it is that.
        centering: What removing each language's mean gains over vectors as they are.
        csls: What CSLS gains over cosine, in this way.
        mapping: What a map gains over this way.
        mapping_over_first: How much more is found with a map here than with one in layer 0; None where it is that.
        top: The highest figure of all, in any way.
    """

    layer: int
    way: Way
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
    top: Top


@dataclass(frozen=True, kw_only=True, repr=False)
class Checkup:
    """The whole check-up."""

    model: str
    sentences: int
    """Candidates of a search; of several sets, the mean."""
    origin: str
    """Where the sentences come from."""
    chance: float
    """What P@1 is by chance."""
    depth: int
    width: int
    layers: tuple[LayerFacts, ...]
    pairs: tuple[PairFacts, ...]
    languages: tuple[LanguageFacts, ...]
    best: Best
    estimates: Estimates
    """Where means and the neighborhoods of CSLS come from."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        codes = ", ".join(each.code for each in self.languages)
        best = f"P@1 {self.best.found.value:.1%} at layer {self.best.layer}"
        return f"Checkup({self.model or 'encoder'}; {codes}; {self.sentences:,} sentences; {best})"

    def at(self, layer: int) -> LayerFacts:
        """The figures of one layer."""
        return next(each for each in self.layers if each.layer == layer)

    def language(self, code: str) -> LanguageFacts:
        """The figures of one language."""
        return next(each for each in self.languages if each.code == code)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        whole = asdict(self)
        for given, facts in zip(whole["languages"], self.languages, strict=True):
            given["tokens"] = facts.tokens.as_dict()
        return whole
