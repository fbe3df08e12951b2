"""What a map goes between: which encoder's vectors, of which language, in which layer, on either side.

``isoglot align`` notes it in every map. Vectors that say of themselves that they are others, or that they have been
mapped already, are refused; a map or vectors that say nothing are taken as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.align.maps.estimator import PairMap

MapSide = Literal["source", "target"]
"""Whose rows are mapped; a map with normalizing moves both."""


class MapEndpoint(NamedTuple):
    """One side of a map, or where vectors are from; None where that is not known."""

    encoder: str | None
    """the SHA-256 of its weights"""
    language: str | None
    layer: int | None


_UNKNOWN = MapEndpoint(None, None, None)


def by_target_layer(maps: Mapping[int | None, PairMap]) -> dict[int | None, PairMap]:
    """Maps by the layer they go to, which need not be the one they come from; where a map does not say, as it was."""
    found = {}
    for layer, mapping in maps.items():
        own = _ends(mapping)["target"].layer
        found[layer if own is None else own] = mapping
    return found


def check_end(mapping: PairMap, side: MapSide, header: Mapping[str, Any], layer: int | None = None) -> None:
    """Refuse vectors that a map was not made for.

    Args:
        mapping: The map.
        side: The side that they are given as.
        header: What they are, as ``Representations.header`` has it.
        layer: Their layer.

    Raises:
        ConfigError: They are of another encoder, language or layer, or have been mapped already.
    """
    if header.get("mapped"):
        raise ConfigError(
            "these vectors have been mapped already",
            remedy="give them as isoglot encode wrote them",
            code="config.not-supported",
        )
    ends = _ends(mapping)
    found = MapEndpoint(header.get("encoder_sha256"), header.get("language"), layer)
    wrong = _difference(ends[side], found)
    if wrong is None:
        return
    short = 8 if wrong == "encoder" else None
    wanted, given = (str(getattr(each, wrong))[:short] for each in (ends[side], found))
    other: MapSide = "target" if side == "source" else "source"
    remedy = f"give vectors of that {wrong}, or take a map that was made for these"
    if _difference(ends[other], found) is None:
        remedy = f"give them as its {other}"
    raise ConfigError(
        f"the map's {side} is {wrong} {wanted}, and the vectors are of {wrong} {given}",
        remedy=remedy,
        code="config.other-encoder",
    )


def _ends(mapping: PairMap) -> dict[MapSide, MapEndpoint]:
    source, target = getattr(mapping, "ends_", (_UNKNOWN, _UNKNOWN))
    return {"source": MapEndpoint(*source), "target": MapEndpoint(*target)}


def _difference(end: MapEndpoint, found: MapEndpoint) -> str | None:
    """What of two ends is not the same, of what is known of both."""
    pairs = zip(MapEndpoint._fields, end, found, strict=True)
    return next((name for name, *both in pairs if None not in both and both[0] != both[1]), None)
