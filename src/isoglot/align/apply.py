"""Maps put to use: vectors in a file become vectors in the common space, or in the target's own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.align.alignment import METRICS, map_files
from isoglot.align.maps.endpoints import MapSide, by_target_layer, check_end
from isoglot.align.maps.estimator import PairMap, load_map
from isoglot.core.errors import ConfigError, InputError
from isoglot.represent import Representations
from isoglot.text.formats.word_vectors import Vectors
from isoglot.text.provenance import Provenance, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

    from isoglot.retrieve.layer_scores import VectorSet

Into = Literal["common", "target"]
"""The space they are mapped to: where both meet, or the target's as its own model has it."""

_NAME = re.compile(r"layer-([0-9]+)")


def read_maps(path: str | Path) -> dict[int | None, PairMap]:
    """The maps by layer: all those of a folder, such as ``isoglot align`` writes, or the one of a file.

    A file's layer is the number in its name; None where there is none.

    Raises:
        CorruptFileError: A file is not what was written.
        InputError: It holds something else.
        StorageError: It cannot be read.
    """
    return {layer: _pair_map(file) for layer, file in _files(Path(path)).items()}


def maps_provenance(maps: Iterable[PairMap], name: str = "map") -> Provenance:
    """The dictionaries that maps were learned from.

    Args:
        maps: The maps.
        name: What they are called in an error.

    Raises:
        CorruptFileError: A map has something else there.
    """
    return merged(Provenance.from_packed(each.given_, name) for each in maps if hasattr(each, "given_"))


def _files(path: Path) -> dict[int | None, Path]:
    """The files of maps: those that a folder's metrics name; without metrics, all that are named by layers."""
    if not (path / METRICS).exists():
        files = sorted(path.glob("layer-*.safetensors")) or [path]
        numbers = [_NAME.fullmatch(file.stem) for file in files]
        return {int(found[1]) if found else None: file for found, file in zip(numbers, files, strict=True)}
    return map_files(path)


def apply_to_vectors(
    maps: dict[int | None, PairMap], vectors: Vectors, *, side: MapSide = "source", into: Into = "common"
) -> Vectors:
    """Map the vectors of words; there must be one map.

    Raises:
        ConfigError: There are several maps, or the sides do not go together.
        InputError: The vectors are of another width.
    """
    if len(maps) != 1:
        raise ConfigError(
            f"{len(maps)} maps for one table of vectors",
            remedy="name the map of one layer",
            code="config.conflicting-options",
        )
    (mapping,) = maps.values()
    return Vectors(vectors.words, mapped(mapping, vectors.matrix_ND, side, into))


def apply_to_layers(
    maps: dict[int | None, PairMap],
    found: Representations,
    *,
    layer: int | None = None,
    side: MapSide = "source",
    into: Into = "common",
) -> Representations:
    """Map representations: every layer that has a map, by its own.

    Args:
        maps: Maps by the source's layer.
        found: What an encoder made of some sentences.
        layer: With one map: the layer to map, whatever the map is of. By default the map's, or the only one there is.
        side: Whose representations they are.
        into: The space to map to.

    Raises:
        ConfigError: There is no such layer, it is not clear which, or the map was not made for these vectors.
        InputError: The vectors are of another width.
    """
    if side == "target":
        maps = by_target_layer(maps)
    if layer is not None:
        if len(maps) > 1 and layer not in maps:
            raise ConfigError(
                f"there is no map of layer {layer}",
                remedy=f"choose one of {_listed(maps)}",
                code="config.unknown-layer",
            )
        chosen = {layer: maps[layer] if layer in maps else next(iter(maps.values()))}
    elif len(maps) == 1 and len(found.layers) == 1:
        chosen = dict(zip(found.layers, maps.values(), strict=True))
    else:
        chosen = {each: mapping for each, mapping in maps.items() if each is not None and each in found}
        if not chosen:
            raise ConfigError(
                f"maps of layers {_listed(maps)} for vectors of layers {_listed(found.layers)}",
                remedy="say which with --layer, or encode those layers",
                code="config.unknown-layer",
            )
    for each, mapping in chosen.items():
        check_end(mapping, side, found.header, each if layer is None else None)
    arrays = {each: mapped(mapping, found[each], side, into) for each, mapping in chosen.items()}
    width = int(next(iter(arrays.values())).shape[1])
    header = found.header | {"layers": list(arrays), "hidden_size": width, "mapped": {"side": side, "into": into}}
    header["provenance"] = merged([found.provenance, maps_provenance(chosen.values())]).packed
    return Representations(arrays, header, offsets=found.offsets, counts=found.counts)


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


def mapped(mapping: PairMap, rows_ND: np.ndarray, side: MapSide = "source", into: Into = "common") -> np.ndarray:
    """Rows of one side in the common space or in the target's.

    Raises:
        ConfigError: Rows of the target into the target, where they are already.
    """
    if side == "target":
        if into == "target":
            raise ConfigError(
                "rows of the target are in the target's space already",
                remedy="map them into common",
                code="config.not-supported",
            )
        return mapping.transform_target(rows_ND)
    return mapping.to_target(rows_ND) if into == "target" else mapping.transform(rows_ND)


def _pair_map(path: Path) -> PairMap:
    found = load_map(path)
    if not isinstance(found, PairMap):
        raise InputError(
            f"a {type(found).__name__}, where a map of two spaces is wanted",
            remedy="name one written by isoglot align",
            code="input.unknown-format",
            file=path,
        )
    return found


def _listed(layers: Any) -> str:  # noqa: ANN401
    return ", ".join("no number" if each is None else str(each) for each in layers)
