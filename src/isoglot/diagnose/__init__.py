"""The check-up of one encoder: how well its languages share a space, layer by layer, and what would help for free."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.diagnose.checkup import diagnose
    from isoglot.diagnose.config import DiagnoseConfig
    from isoglot.diagnose.findings import Finding, all_findings
    from isoglot.diagnose.result import Checkup
    from isoglot.diagnose.sentence_vectors import builtin_set, distinct_rows

_HOMES = {
    "Checkup": "result",
    "DiagnoseConfig": "config",
    "Finding": "findings",
    "all_findings": "findings",
    "builtin_set": "sentence_vectors",
    "diagnose": "checkup",
    "distinct_rows": "sentence_vectors",
}

__all__ = [
    "Checkup",
    "DiagnoseConfig",
    "Finding",
    "all_findings",
    "builtin_set",
    "diagnose",
    "distinct_rows",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)


class _CallableRoom(ModuleType):
    """``isoglot.diagnose(encoder, …)`` is :func:`diagnose`, though the room of that name stands in its place."""

    def __call__(self, *args: Any, **kwargs: Any) -> Checkup:  # noqa: ANN401 - those of diagnose
        from isoglot.diagnose.checkup import diagnose

        return diagnose(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableRoom
