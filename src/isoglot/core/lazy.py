"""Lazy exports: a package imports what it exports on first use, so that ``isoglot --help`` does not wait for torch."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    The names are those that its ``__init__.py`` imports under ``if TYPE_CHECKING``, as ``X as X``, so that type
    checkers, ``dir()`` and ``import *`` see one list. No module may have the name of an export: once imported, it would
    take the export's place.

    >>> import isoglot.pretrain
    >>> attribute, names, _ = lazy_exports("isoglot.pretrain")
    >>> "pretrain" in names(), attribute("PretrainConfig").__name__
    (True, 'PretrainConfig')

    Args:
        package: The package's name, while it is being imported.
    """
    spec: Any = sys.modules[package].__spec__
    source = spec.loader.get_source(package)
    modules = {
        alias.asname: node.module
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.asname
    }

    def exported(name: str) -> Any:  # noqa: ANN401 - whatever the package exports
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return exported, lambda: sorted(modules), sorted(modules)
