"""Rooms that import what they export only when it is used, so that ``isoglot --help`` does not wait for torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(room: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a room.

    >>> attribute, names = lazy_exports("isoglot.core", {"shown": "errors"})
    >>> attribute("shown")("a")
    "'a'"
    >>> names()
    ['shown']

    Args:
        room: The room's package.
        homes: The module of each name it exports.
    """

    def exported(name: str) -> Any:  # noqa: ANN401 - whatever the room exports
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return exported, lambda: sorted(homes)
