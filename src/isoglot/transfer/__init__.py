"""Zero-shot transfer: a task learnt in one language and tested in others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.transfer.map_transfer import MapTransfer, MapTransferConfig, Models, map_transfer
    from isoglot.transfer.scoring.evaluation import Evaluation, evaluate
    from isoglot.transfer.shift_transfer import ShiftOutcome, shift_transfer
    from isoglot.transfer.tasks.examples import Data, Parsed, Passage, Tagged
    from isoglot.transfer.tasks.task import Task, find_task, register, tasks
    from isoglot.transfer.tuning.config import TuneConfig
    from isoglot.transfer.tuning.fine_tuning import fine_tune
    from isoglot.transfer.tuning.tuned_encoder import Tuned
    from isoglot.transfer.tuning.tuned_folder import load_tuned

_HOMES = {
    "Evaluation": "scoring.evaluation",
    "evaluate": "scoring.evaluation",
    "Data": "tasks.examples",
    "Parsed": "tasks.examples",
    "Passage": "tasks.examples",
    "Tagged": "tasks.examples",
    "fine_tune": "tuning.fine_tuning",
    "MapTransfer": "map_transfer",
    "MapTransferConfig": "map_transfer",
    "Models": "map_transfer",
    "map_transfer": "map_transfer",
    "TuneConfig": "tuning.config",
    "ShiftOutcome": "shift_transfer",
    "shift_transfer": "shift_transfer",
    "Task": "tasks.task",
    "find_task": "tasks.task",
    "register": "tasks.task",
    "tasks": "tasks.task",
    "Tuned": "tuning.tuned_encoder",
    "load_tuned": "tuning.tuned_folder",
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
