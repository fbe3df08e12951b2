"""Check-up of an encoder: how well its languages share a space, layer by layer, and what would improve it for free."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.compare.parallel_sentences import builtin_set as builtin_set
    from isoglot.diagnose.checkup import DiagnoseConfig as DiagnoseConfig
    from isoglot.diagnose.checkup import diagnose as diagnose
    from isoglot.diagnose.findings import Finding as Finding
    from isoglot.diagnose.findings import all_findings as all_findings
    from isoglot.diagnose.ranking import RankConfig as RankConfig
    from isoglot.diagnose.ranking import Ranking as Ranking
    from isoglot.diagnose.ranking import rank_models as rank_models
    from isoglot.diagnose.result import Checkup as Checkup
    from isoglot.diagnose.sentence_vectors import distinct_rows as distinct_rows

__getattr__, __dir__, __all__ = lazy_exports(__name__)


class _CallableRoom(ModuleType):
    """Makes the package callable: ``isoglot.diagnose(encoder, …)`` calls :func:`diagnose`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Checkup:  # noqa: ANN401 - those of diagnose
        from isoglot.diagnose.checkup import diagnose

        return diagnose(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableRoom
