"""Zero-shot transfer: a task learnt in one language and tested in others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.transfer.evaluation import Evaluation, evaluate
    from isoglot.transfer.examples import Data, Parsed, Passage, Tagged
    from isoglot.transfer.fine_tuning import fine_tune
    from isoglot.transfer.map_curve import MapTransfer, MapTransferConfig, Models, map_transfer
    from isoglot.transfer.settings import TuneConfig
    from isoglot.transfer.shift import ShiftOutcome, shift_transfer
    from isoglot.transfer.task import Task, find_task, register, tasks
    from isoglot.transfer.tuned import Tuned
    from isoglot.transfer.tuned_folder import load_tuned

_HOMES = {
    "Evaluation": "evaluation",
    "evaluate": "evaluation",
    "Data": "examples",
    "Parsed": "examples",
    "Passage": "examples",
    "Tagged": "examples",
    "fine_tune": "fine_tuning",
    "MapTransfer": "map_curve",
    "MapTransferConfig": "map_curve",
    "Models": "map_curve",
    "map_transfer": "map_curve",
    "TuneConfig": "settings",
    "ShiftOutcome": "shift",
    "shift_transfer": "shift",
    "Task": "task",
    "find_task": "task",
    "register": "task",
    "tasks": "task",
    "Tuned": "tuned",
    "load_tuned": "tuned_folder",
}

__all__ = [
    "Data",
    "Evaluation",
    "MapTransfer",
    "MapTransferConfig",
    "Models",
    "Parsed",
    "Passage",
    "ShiftOutcome",
    "Tagged",
    "Task",
    "TuneConfig",
    "Tuned",
    "evaluate",
    "find_task",
    "fine_tune",
    "load_tuned",
    "map_transfer",
    "register",
    "shift_transfer",
    "tasks",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
