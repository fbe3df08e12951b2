"""What a package exports: type checkers, ``import *`` and completion see the same names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import isoglot

ROOT = Path(isoglot.__file__).parent
PACKAGES = [
    ".".join(("isoglot", *path.parent.relative_to(ROOT).parts))
    for path in sorted(ROOT.rglob("__init__.py"))
    if "lazy_exports(" in path.read_text()
]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_export_is_there_and_listed(name: str):
    package = import_module(name)
    assert package.__all__ == dir(package) != []
    for export in package.__all__:
        assert callable(getattr(package, export)) or export.isupper()
        if f"{name}.{export}" == "isoglot.diagnose":  # a package that can be called
            continue
        with pytest.raises(ModuleNotFoundError):  # a module of that name would take its place
            import_module(f"{name}.{export}")


def test_the_packages_are_found():
    assert {"isoglot.align", "isoglot.model", "isoglot.study.claims"} <= set(PACKAGES)


def test_what_a_room_does_not_export():
    with pytest.raises(AttributeError, match=r"^module 'isoglot.model' has no attribute 'Decoder'$"):
        import_module("isoglot.model").Decoder  # noqa: B018
