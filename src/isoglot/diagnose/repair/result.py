"""Result of a search for fixes: what was tried, what was chosen, and what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.diagnose.repair.treatments import TREATMENTS

if TYPE_CHECKING:
    from isoglot.diagnose.repair.cross_validation import Candidate
    from isoglot.diagnose.repair.treatments import Name
    from isoglot.retrieve.metrics import Interval


@dataclass(frozen=True)
class Tried:
    """A fix in a layer: P@1 over all pairs of languages, and its gain over the model as it is."""

    layer: int
    name: Name
    found: Interval
    gain: Interval

    @property
    def needs_language(self) -> bool:
        """Whether it needs the language of a text."""
        return TREATMENTS[self.name].needs_language


@dataclass(frozen=True)
class PairGain:
    """P@1 of two languages, both directions, before and after a fix."""

    source: str
    target: str
    before: Interval
    after: Interval
    gain: Interval


@dataclass(frozen=True, kw_only=True)
class LanguageCost:
    """Retrieval inside one language, before and after a fix.

    Attributes:
        code: The language.
        before: Share of shortened copies whose sentence is found; None without copies.
        after: The same after the fix.
        change: The difference, paired.
        kept: Share of the ten nearest neighbors of a sentence that are the same after the fix.
    """

    code: str
    before: Interval | None
    after: Interval | None
    change: Interval | None
    kept: Interval


@dataclass(frozen=True)
class MixedGain:
    """A share of the sentences that are searched for in one pool of all languages, before and after a fix.

    Attributes:
        finds: What the nearest neighbor is: a translation, another sentence of the query's own language, or a wrong one
            of another language.
        before: The share of the model as it is.
        after: The share with the fix.
        change: The difference, paired.
    """

    finds: str
    before: Interval
    after: Interval
    change: Interval


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The fix that was chosen, with everything that was tried.

    Attributes:
        before: The model as it is.
        best: The chosen fix; equal to ``before`` if nothing is better.
        fallback: For texts of unknown language, if the fix needs the language: the best that does not.
        gain: P@1 over all pairs, minus that of the model as it is; the interval allows for the choice.
        recommended: Whether the gain is above zero.
        held_out: Gain of the best candidate, chosen on one half of the sentences and scored on the other.
        tried: All candidates.
        pairs: Gain by pair of languages.
        mixed: What is found in one pool of all languages.
        languages: Cost to each language alone.
        csls: What CSLS instead of cosine would gain, before and after the fix.
        beyond_repair: Languages whose translations no fix finds in more than one case of ten.
        samples_SPC: P@1 by bootstrap sample, pair and candidate.
    """

    before: Candidate
    best: Candidate
    fallback: Candidate | None
    gain: Interval
    recommended: bool
    held_out: Interval | None
    tried: tuple[Tried, ...]
    pairs: tuple[PairGain, ...]
    mixed: tuple[MixedGain, ...]
    languages: tuple[LanguageCost, ...]
    csls: tuple[Interval, Interval]
    beyond_repair: tuple[str, ...]
    samples_SPC: np.ndarray = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The result for JSON, without bootstrap samples."""
        fields = asdict(replace(self, samples_SPC=np.zeros(0)))
        del fields["samples_SPC"]
        named = {"before": self.before, "best": self.best, "fallback": self.fallback}
        return fields | {key: each and each._asdict() for key, each in named.items()}
