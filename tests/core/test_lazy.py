"""What a room exports: type checkers, ``import *`` and completion see the same names."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import isoglot

ROOMS = [
    path.parent.name
    for path in sorted(Path(isoglot.__file__).parent.glob("*/__init__.py"))
    if "lazy_exports" in path.read_text()
]


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_names_the_same_three_times(name: str):
    room = import_module(f"isoglot.{name}")
    typed = {
        alias.name: node.module.removeprefix(f"{room.__name__}.")
        for node in ast.walk(ast.parse(Path(room.__file__ or "").read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(room.__name__)
        for alias in node.names
    }
    assert typed == room._HOMES
    assert set(typed) == set(room.__all__) == set(dir(room))
    assert all(hasattr(room, export) for export in typed)


def test_what_a_room_does_not_export():
    with pytest.raises(AttributeError, match=r"^module 'isoglot.model' has no attribute 'Decoder'$"):
        import_module("isoglot.model").Decoder  # noqa: B018
