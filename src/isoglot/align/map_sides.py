"""Two sides in the space where they meet: every layer by its own map, a single layer by the only one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.align.maps.endpoints import check_end
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.align.maps.estimator import PairMap
    from isoglot.retrieve.layer_scores import VectorSet


def map_sides(maps: Mapping[int | None, PairMap], source: VectorSet, target: VectorSet) -> tuple[VectorSet, VectorSet]:
    """Map both sides into the common space, in the layers that both have.

    Args:
        maps: Maps by layer, as :func:`isoglot.align.apply.read_maps` gives them.
        source: The side they map from.
        target: The side they map to.

    Raises:
        ConfigError: A layer has no map, or it was made for other vectors.
    """
    single = len(source.layers) == len(target.layers) == 1
    only = next(iter(maps.values())) if single and len(maps) == 1 else None
    own, their = dict(source.layers), dict(target.layers)
    for layer in source.layers:
        other = next(iter(target.layers)) if single else layer
        if other not in their:
            continue
        mapping = maps.get(layer, only)
        if mapping is None:
            where = source.name if layer is None else f"layer {layer} of {source.name}"
            raise ConfigError(
                f"there is no map for {where}",
                remedy="choose --layers that have maps, or one layer and its map",
                code="config.missing-data",
            )
        check_end(mapping, "source", source.header, layer)
        check_end(mapping, "target", target.header, other)
        for side, matrix_ND, width in (
            (source, own[layer], mapping.widths_[0]),
            (target, their[other], mapping.widths_[1]),
        ):
            if matrix_ND.shape[1] != width:
                raise ConfigError(
                    f"the map is for {width} numbers, and {side.name} is {matrix_ND.shape[1]} wide",
                    remedy="give the vectors the map was made for",
                    code="config.other-size",
                )
        own[layer] = mapping.transform(own[layer])
        their[other] = mapping.transform_target(their[other])
    return replace(source, layers=own), replace(target, layers=their)
