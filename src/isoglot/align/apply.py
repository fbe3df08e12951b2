"""Apply maps: to vectors in files, into the common space or the target's own; and to hidden states at a layer.

Shape legend: ``B`` sentences, ``T`` tokens, ``D`` hidden size of the source, ``E`` of the target, ``N`` tokens in all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.align.alignment import METRICS, MapSide, by_target_layer, check_end, map_files
from isoglot.align.maps.estimator import PairMap, load_map
from isoglot.align.maps.steps import IterativeNormalization, Steps, UnitLength
from isoglot.core.errors import ConfigError, InputError, check_name, shown
from isoglot.represent import Representations
from isoglot.retrieve.sentences import unchanged
from isoglot.text.formats.word_vectors import is_vec, read_vectors, write_vectors
from isoglot.text.provenance import Provenance, merged, provenance_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import torch

    from isoglot.model.protocol import Batch
    from isoglot.retrieve.layer_scores import VectorSet
    from isoglot.retrieve.sentences import Change


Into = Literal["common", "target"]
"""The space to map to: the common one, or that of the target's own model."""

_NAME = re.compile(r"layer-([0-9]+)")


def read_maps(path: str | Path) -> dict[int | None, PairMap]:
    """Maps by layer: all those of a folder written by ``isoglot align``, or the one of a file.

    The layer of a single file is the number in its name; None if there is none.

    Raises:
        CorruptFileError: A file is damaged.
        InputError: It holds something else.
        StorageError: It cannot be read.
    """
    return {layer: _pair_map(file) for layer, file in _files(Path(path)).items()}


def maps_provenance(maps: Iterable[PairMap], name: str = "map") -> Provenance:
    """Dictionaries that maps were fitted on.

    Args:
        maps: The maps.
        name: Their name in errors.

    Raises:
        CorruptFileError: The record in a map is invalid.
    """
    return merged(Provenance.from_packed(each.given_, name) for each in maps if hasattr(each, "given_"))


def change_by_maps(path: str | Path | None) -> Change:
    """What maps in a file or folder do to the two sides of a retrieval; nothing without maps."""
    return unchanged if path is None else partial(map_sides, read_maps(path))


def provenance_of_maps(path: str | Path | None) -> Provenance:
    """The same for maps in a file or folder; nothing without maps."""
    return Provenance() if path is None else maps_provenance(read_maps(path).values(), Path(path).name)


def _files(path: Path) -> dict[int | None, Path]:
    """Files of the maps: those listed in a folder's metrics; without metrics, all named by layers."""
    if not (path / METRICS).exists():
        files = sorted(path.glob("layer-*.safetensors")) or [path]
        numbers = [_NAME.fullmatch(file.stem) for file in files]
        return {int(found[1]) if found else None: file for found, file in zip(numbers, files, strict=True)}
    return map_files(path)


def apply_to_layers(
    maps: dict[int | None, PairMap],
    found: Representations,
    *,
    layer: int | None = None,
    side: MapSide = "source",
    into: Into = "common",
) -> Representations:
    """Map representations, every layer by the map of that layer.

    Args:
        maps: Maps by the source's layer.
        found: Representations of some sentences.
        layer: With one map: the layer to map, whatever the map was fitted on. Default: the map's, or the only one.
        side: Whether they belong to the source or the target.
        into: The space to map to.

    Raises:
        ConfigError: The layer does not exist or is ambiguous, or the map was fitted on other vectors.
        InputError: The vectors have another width.
    """
    if side == "target":
        maps = by_target_layer(maps)
    if layer is not None:
        if len(maps) > 1 and layer not in maps:
            raise ConfigError(f"there is no map of layer {layer}", f"choose one of {_listed(maps)}", "unknown-layer")
        chosen = {layer: maps[layer] if layer in maps else next(iter(maps.values()))}
    elif len(maps) == 1 and len(found.layers) == 1:
        chosen = dict(zip(found.layers, maps.values(), strict=True))
    else:
        chosen = {each: mapping for each, mapping in maps.items() if each is not None and each in found}
        if not chosen:
            problem = f"maps of layers {_listed(maps)} for vectors of layers {_listed(found.layers)}"
            raise ConfigError(problem, "choose one layer, or encode those of the maps", "unknown-layer")
    for each, mapping in chosen.items():
        check_end(mapping, side, found.header, each if layer is None else None)
    arrays = {each: mapped(mapping, found[each], side, into) for each, mapping in chosen.items()}
    width = int(next(iter(arrays.values())).shape[1])
    header = found.header | {"layers": list(arrays), "hidden_size": width, "mapped": {"side": side, "into": into}}
    header["provenance"] = merged([found.provenance, maps_provenance(chosen.values())]).packed
    return Representations(arrays, header, offsets=found.offsets, counts=found.counts)


def apply_to_file(
    mapping: Path,
    vectors: Path,
    out: Path,
    *,
    layer: int | None = None,
    side: MapSide = "source",
    into: Into = "common",
) -> dict[str, Any]:
    """Map the vectors of a file, and write them to another; returns numbers of rows and layers.

    Args:
        mapping: A map, or a folder of maps.
        vectors: What ``isoglot encode`` wrote, or word vectors as ``.vec``.
        out: The file or folder to write.
        layer: With one map: the layer to map, whatever the map was fitted on. Default: the map's, or the only one.
        side: Whether they belong to the source or the target.
        into: The space to map to.

    Raises:
        ConfigError: The layer does not exist or is ambiguous, the map was fitted on other vectors, or ``out`` has
            another format.
        InputError: The vectors have another width.
        StorageError: A file cannot be read or written.
    """
    maps = read_maps(mapping)
    facts: dict[str, Any] = {"side": side, "into": into}
    if not is_vec(vectors.name):
        given = Representations.open(vectors)
        found = apply_to_layers(maps, given, layer=layer, side=side, into=into)
        found.save(out)
        left = [each for each in given.layers if layer is None and each not in found.layers]
        rows, width = len(found), found.hidden_size
        return {"rows": rows, "hidden_size": width, "layers": list(found.layers), "left_out": left, **facts}
    if out.suffix != ".vec":
        raise ConfigError(f"word vectors for {shown(str(out))}", "end it in .vec too", "malformed-option")
    if layer is not None:
        raise ConfigError(f"layer {layer} of a .vec, which has no layers", "name none", "conflicting-options")
    if len(maps) != 1:
        problem = f"{len(maps)} maps for one table of vectors"
        raise ConfigError(problem, "choose the map of one layer", "conflicting-options")
    table = read_vectors(vectors)
    (rows_NE,) = (mapped(mapping, table.matrix_ND, side, into) for mapping in maps.values())
    origin = merged([provenance_of(vectors), maps_provenance(maps.values())])
    write_vectors(out, table.words, rows_NE, provenance=origin)
    return {"rows": len(table), "hidden_size": rows_NE.shape[1], "layers": [], "left_out": [], **facts}


def map_sides(maps: Mapping[int | None, PairMap], source: VectorSet, target: VectorSet) -> tuple[VectorSet, VectorSet]:
    """Map both sides of a retrieval into the common space, in the layers that both have.

    Args:
        maps: Maps by layer, as :func:`read_maps` returns them.
        source: Side that the maps start from.
        target: Side that they map to.

    Raises:
        ConfigError: A layer has no map, or it was fitted on other vectors.
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
            problem = f"there is no map for {where}"
            raise ConfigError(problem, "choose layers that have maps, or one layer and its map", "missing-data")
        check_end(mapping, "source", source.header, layer)
        check_end(mapping, "target", target.header, other)
        for side, matrix_ND, width in (
            (source, own[layer], mapping.widths_[0]),
            (target, their[other], mapping.widths_[1]),
        ):
            if matrix_ND.shape[1] != width:
                problem = f"the map has {width} columns and {side.name} {matrix_ND.shape[1]}"
                raise ConfigError(problem, "use the vectors the map was fitted on", "other-size")
        own[layer] = mapping.transform(own[layer])
        their[other] = mapping.transform_target(their[other])
    return replace(source, layers=own), replace(target, layers=their)


def mapped(mapping: PairMap, rows_ND: np.ndarray, side: MapSide = "source", into: Into = "common") -> np.ndarray:
    """Rows of one side in the common space or in the target's.

    Raises:
        ConfigError: Rows of the target are to be mapped into the target's space.
    """
    if side == "target":
        if into == "target":
            problem = "rows of the target are in the target's space already"
            raise ConfigError(problem, "map them into common", "not-supported")
        return mapping.transform_target(rows_ND)
    return mapping.to_target(rows_ND) if into == "target" else mapping.transform(rows_ND)


def _pair_map(path: Path) -> PairMap:
    found = load_map(path)
    if not isinstance(found, PairMap):
        problem = f"a {type(found).__name__} instead of a map between two spaces"
        raise InputError(problem, "choose one written by isoglot align", "unknown-format", file=path)
    return found


def _listed(layers: Any) -> str:  # noqa: ANN401
    return ", ".join("no number" if each is None else str(each) for each in layers)


# --- hidden states ---


Lengths = Literal["auto", "map", "source"]
"""Norm of mapped vectors: that of the ``map``'s output; that of the ``source``; ``auto``: the latter if the map loses
norms, as iterative normalization does.
"""


def map_hidden(mapping: PairMap, hidden_BTD: torch.Tensor, batch: Batch, *, lengths: Lengths = "auto") -> torch.Tensor:
    """Hidden states of the source mapped into the target's space, B × T × E; zeros at padding.

    Args:
        mapping: A fitted map of that layer.
        hidden_BTD: The source's hidden states.
        batch: Their sentences.
        lengths: Norm of mapped vectors.

    Returns:
        B × T × E.

    >>> import torch
    >>> from isoglot.align import Procrustes
    >>> from isoglot.model import Batch
    >>> X = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    >>> mapping = Procrustes().fit(X, X.flip(1))
    >>> mask_BT = torch.tensor([[True, False]])
    >>> batch = Batch(torch.zeros(1, 2, dtype=torch.int64), mask_BT, mask_BT)
    >>> map_hidden(mapping, torch.tensor([[[3.0, 4.0], [5.0, 6.0]]]), batch).round().tolist()
    [[[4.0, 3.0], [0.0, 0.0]]]

    Raises:
        ConfigError: ``lengths`` is invalid.
        InputError: The map is for another width.
    """
    check_name("lengths", lengths, ("auto", "map", "source"))
    mask_BT = batch.mask_BT.to(hidden_BTD.device)
    rows_ND = hidden_BTD[mask_BT]
    mapped_NE = mapping.to_target(rows_ND)
    if lengths == "source" or (lengths == "auto" and loses_lengths(mapping)):
        mapped_NE = mapped_NE * (rows_ND.norm(dim=1) / mapped_NE.norm(dim=1).clamp(min=1e-12))[:, None]
    found_BTE = mapped_NE.new_zeros(*mask_BT.shape, mapped_NE.shape[1])
    found_BTE[mask_BT] = mapped_NE
    return found_BTE


def loses_lengths(mapping: PairMap) -> bool:
    """Whether rows that differ only in norm are mapped to the same row."""
    return isinstance(mapping, Steps) and any(
        isinstance(step, UnitLength | IterativeNormalization) for step in mapping.steps
    )
