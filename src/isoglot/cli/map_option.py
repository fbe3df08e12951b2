"""The option ``--map``: maps from one space to another, for what has two sides in one or more layers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoglot.retrieve.layers import Side
    from isoglot.text.provenance import Provenance


def map_provenance(path: Path | None) -> Provenance:
    """The dictionaries that the maps in a file or folder were learned from; none without maps."""
    from isoglot.align.apply import maps_provenance, read_maps
    from isoglot.text.provenance import Provenance

    return Provenance() if path is None else maps_provenance(read_maps(path).values(), path.name)


def load_change(path: Path | None) -> Callable[[Side, Side], tuple[Side, Side]]:
    """What takes two sides into one space: nothing, or the maps in a file or folder."""
    from isoglot.align.apply import read_maps
    from isoglot.align.two_sides import map_sides

    return (lambda source, target: (source, target)) if path is None else partial(map_sides, read_maps(path))
