"""Rooms that import what they export only when it is used, so that ``isoglot --help`` does not wait for torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a room.

    >>> getattribute = lazy_exports("isoglot.core", {"shown": "errors"})
    >>> getattribute("shown")("a")
    "'a'"

    Args:
        room: The room's package.
        homes: The module of each name it exports.
    """

    def exported(name: str) -> Any:  # noqa: ANN401 - whatever the room exports
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return exported
