"""Endpoints of a map: encoder, language and layer of the vectors on either side.

``isoglot align`` records them in every map. Vectors whose metadata differ, or that are already mapped, are rejected;
maps and vectors without metadata are accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.align.maps.estimator import PairMap

MapSide = Literal["source", "target"]
"""Whether rows belong to the source or the target of a map; a map with normalization changes both."""


class MapEndpoint(NamedTuple):
    """One side of a map, or the origin of vectors; None if unknown."""

    encoder: str | None
    """SHA-256 of the weights"""
    language: str | None
    layer: int | None


_UNKNOWN = MapEndpoint(None, None, None)


def by_target_layer(maps: Mapping[int | None, PairMap]) -> dict[int | None, PairMap]:
    """Maps by target layer, where it is known."""
    found = {}
    for layer, mapping in maps.items():
        own = _ends(mapping)["target"].layer
        found[layer if own is None else own] = mapping
    return found


def check_end(mapping: PairMap, side: MapSide, header: Mapping[str, Any], layer: int | None = None) -> None:
    """Check that a map was fitted on vectors of this kind.

    Args:
        mapping: The map.
        side: Side that the vectors are used as.
        header: Their metadata, as in ``Representations.header``.
        layer: Their layer.

    Raises:
        ConfigError: They belong to another encoder, language or layer, or are already mapped.
    """
    if header.get("mapped"):
        raise ConfigError("these vectors are mapped already", "use the output of isoglot encode", "not-supported")
    ends = _ends(mapping)
    found = MapEndpoint(header.get("encoder_sha256"), header.get("language"), layer)
    wrong = _difference(ends[side], found)
    if wrong is None:
        return
    short = 8 if wrong == "encoder" else None
    wanted, given = (str(getattr(each, wrong))[:short] for each in (ends[side], found))
    other: MapSide = "target" if side == "source" else "source"
    remedy = f"use vectors of that {wrong}, or a map fitted on these"
    if _difference(ends[other], found) is None:
        remedy = f"use them as its {other}"
    raise ConfigError(
        f"the map's {side} has {wrong} {wanted}, the vectors have {wrong} {given}", remedy, "other-encoder"
    )


def _ends(mapping: PairMap) -> dict[MapSide, MapEndpoint]:
    source, target = getattr(mapping, "ends_", (_UNKNOWN, _UNKNOWN))
    return {"source": MapEndpoint(*source), "target": MapEndpoint(*target)}


def _difference(end: MapEndpoint, found: MapEndpoint) -> str | None:
    """First known property that differs between two endpoints."""
    pairs = zip(MapEndpoint._fields, end, found, strict=True)
    return next((name for name, *both in pairs if None not in both and both[0] != both[1]), None)
