"""The option ``--map``: maps from one space to another, for what has two sides in one or more layers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoglot.align import PairMap
    from isoglot.retrieve.layers import Side


def load_change(path: Path | None) -> Callable[[Side, Side], tuple[Side, Side]]:
    """What takes two sides into one space: nothing, or the maps in a file or folder.

    A folder may have a map for each layer, ``layer-4.safetensors``; a single map is of a single layer.
    """
    if path is None:
        return lambda source, target: (source, target)

    def change(source: Side, target: Side) -> tuple[Side, Side]:
        single = len(source.layers) == len(target.layers) == 1
        own, their = dict(source.layers), dict(target.layers)
        for layer in source.layers:
            other = next(iter(target.layers)) if single else layer
            if other not in their:
                continue
            learned = _load(path, layer, single=single)
            for side, matrices, at, width in (
                (source, own, layer, learned.widths_[0]),
                (target, their, other, learned.widths_[1]),
            ):
                if matrices[at].shape[1] != width:
                    raise ConfigError(
                        f"{path} maps {width} numbers, and {side.name} is {matrices[at].shape[1]} wide",
                        remedy="give the vectors the map was made for",
                    )
            own[layer] = learned.transform(own[layer])
            their[other] = learned.transform_target(their[other])
        return replace(source, layers=own), replace(target, layers=their)

    return change


def _load(path: Path, layer: int | None, *, single: bool) -> PairMap:
    """The map of a layer.

    Raises:
        ConfigError: There is none, or what is there is no map of two spaces.
        StorageError: It cannot be read.
    """
    from isoglot.align import PairMap, load_map

    of_layer = path / f"layer-{layer}.safetensors"
    if not of_layer.exists() and not single:
        raise ConfigError(
            f"{path} has no map of layer {layer}", remedy="choose the layer it was made for, such as --layers -1"
        )
    found = load_map(of_layer if of_layer.exists() else path)
    if not isinstance(found, PairMap):
        raise ConfigError(
            f"{path} holds a {type(found).__name__}, no map of two spaces", remedy="fit one, such as Procrustes"
        )
    return found
