"""What is said of an alignment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from isoglot.align.alignment import Alignment, LayerAlignment
from isoglot.align.maps.config import AlignConfig
from isoglot.report.alignment import finding


def scores(found: float | None) -> Any:
    """As many of 200 right as said."""
    if found is None:
        return None
    return SimpleNamespace(
        of=lambda _: SimpleNamespace(queries=200, how="luck", precision={1: SimpleNamespace(value=found)})
    )


MAP: Any = SimpleNamespace()  # is not looked at


def alignment(*layers: tuple[float | None, float]) -> Alignment:
    return Alignment(
        use="sentences",
        languages=("en", "de"),
        config=AlignConfig(),
        train=1000,
        test=200,
        facts={},
        layers=tuple(
            LayerAlignment(layer=number, target_layer=number, mapping=MAP, before=scores(before), after=scores(after))
            for number, (before, after) in enumerate(layers)
        ),
    )


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ([(0.5, 0.6), (0.7, 0.8)], "in layer 1, 70.0 % without it."),
        (
            [(0.5, 0.9), (0.95, 0.85), (0.95, 0.8)],
            "in layer 0, 50.0 % without it; the most without a map is 95.0 %, in layer 1.",
        ),
        ([(None, 0.6), (None, 0.8)], "in layer 1."),
    ],
)
def test_the_map_is_held_against_the_best_layer_without_one(layers: list[tuple[float | None, float]], said: str):
    text = finding(alignment(*layers))
    assert text.startswith("After the map ")
    assert text.endswith(f" of 200 held-out en sentences have their translation nearest by luck {said}")
