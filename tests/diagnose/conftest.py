"""A made-up check-up whose every figure can be set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import pytest

from isoglot.compare.cka_inference import CkaEstimate
from isoglot.diagnose.result import (
    Checkup,
    HighestScore,
    LanguageFacts,
    LayerFacts,
    MexaOverLayers,
    PairFacts,
    PairLayer,
    ProbeFacts,
    RecommendedLayer,
)
from isoglot.diagnose.retrieval import VARIANTS
from isoglot.diagnose.tokenizer_check import TokenFacts
from isoglot.retrieve.estimates import Estimates
from isoglot.retrieve.metrics import Interval


def near(value: float, half: float = 0.01) -> Interval:
    """A figure that is sure to within so much."""
    return Interval(value, value - half, value + half)


@dataclass
class MadeUp:
    """Figures to set: P@1 and tokens per word by language, fields of the best layer."""

    found: dict[str, float] = field(default_factory=lambda: {"en": 0.9, "de": 0.9, "ru": 0.9})
    per_word: dict[str, float] = field(default_factory=lambda: {"en": 1.1, "de": 1.2, "ru": 1.3})
    unknown: dict[str, float] = field(default_factory=dict)
    spelled: dict[str, float] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    layer: dict[str, Any] = field(default_factory=dict)
    layers: dict[str, int] = field(default_factory=dict)

    def tokens(self, code: str) -> TokenFacts:
        count = round(1000 * self.per_word[code])
        return TokenFacts(
            sentences=100,
            words=1000,
            words_by="unicode",
            tokens=count,
            unknown=round(count * self.unknown.get(code, 0)),
            characters=4000,
            bytes=4000,
            spelled=round(1000 * self.spelled.get(code, 0.05)),
            alphanumeric=1000,
        )

    def checkup(self) -> Checkup:
        pairs = {pair: min(self.found[code] for code in pair) for pair in combinations(self.found, 2)}
        mean = sum(pairs.values()) / len(pairs)
        best = RecommendedLayer(
            layer=2,
            way="raw",
            found=near(mean),
            chosen_apart=True,
            as_good=(),
            undecided=(),
            over_last=near(0.2),
            over_first=near(0.3),
            centering=near(0.0, 0.005),
            csls=near(0.02, 0.005),
            mapping=near(0.05),
            mapping_over_first=near(0.3),
            top=HighestScore(layer=2, way="mapped", found=near(mean + 0.05), among=30, held_out=near(mean + 0.04)),
        )
        probe = ProbeFacts(linear=near(0.99, 0.005), centered=near(1 / 3, 0), spread=near(0.5), chance=1 / 3)
        layer = LayerFacts(
            layer=2,
            found=dict.fromkeys(VARIANTS, near(mean)),
            mexa=near(mean),
            probe=probe,
            mean_cosine=0.3,
            top_share=0.1,
            hubness=1.0,
            hubness_csls=0.5,
            distance=1.5,
            cka=0.6,
            cka_null=0.01,
            cka_above=len(pairs),
        )
        judged = CkaEstimate(
            form="debiased",
            value=0.6,
            low=0.55,
            high=0.65,
            null_mean=0.0,
            null_high=0.01,
            p=0.005,
            expected_null=0.0,
            level=0.95,
            rows=1000,
            of=1000,
            draws=200,
        )
        facts = []
        for code in self.found:
            own = {pair: value for pair, value in pairs.items() if code in pair}
            top = max(own, key=lambda pair: own[pair])
            others = [value for pair, value in pairs.items() if code not in pair]
            here = sum(own.values()) / len(own)
            facts.append(
                LanguageFacts(
                    code=code,
                    tokens=self.tokens(code),
                    found=near(here),
                    partner=next(other for other in top if other != code),
                    best=near(own[top]),
                    lead=near(here - sum(others) / len(others)) if others else None,
                    by_layer=(near(here),) * 5,
                    layer=self.layers.get(code, 2),
                    at_layer=near(here),
                    layer_gain=near(0.16) if code in self.layers else None,
                )
            )
        return Checkup(
            model="made-up",
            sentences=1000,
            origin="nowhere",
            chance=0.001,
            depth=4,
            width=8,
            layers=tuple(replace(layer, layer=number, **(self.layer if number == 2 else {})) for number in range(5)),
            pairs=tuple(
                PairFacts(
                    source=pair[0],
                    target=pair[1],
                    sentences=1000,
                    layers=tuple(
                        PairLayer(
                            layer=number,
                            found=dict.fromkeys(VARIANTS, near(value)),
                            mexa=near(value),
                            hubness=1.0,
                            distance=1.5,
                            cka=judged,
                        )
                        for number in range(5)
                    ),
                    mexa=MexaOverLayers(highest=near(value), mean=near(value)),
                )
                for pair, value in pairs.items()
            ),
            languages=tuple(facts),
            best=replace(best, **self.best),
            mexa=MexaOverLayers(highest=near(mean), mean=near(mean)),
            estimates=Estimates(),
            settings={"folds": 5},
        )


@pytest.fixture
def made_up() -> MadeUp:
    return MadeUp()
