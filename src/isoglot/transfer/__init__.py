"""Zero-shot transfer: fine-tune on a task in one language and test it in others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.transfer.map_protocol import MapTransfer as MapTransfer
    from isoglot.transfer.map_protocol import MapTransferConfig as MapTransferConfig
    from isoglot.transfer.map_protocol import Models as Models
    from isoglot.transfer.map_protocol import map_transfer as map_transfer
    from isoglot.transfer.scoring.evaluation import Evaluation as Evaluation
    from isoglot.transfer.scoring.evaluation import evaluate as evaluate
    from isoglot.transfer.shift_protocol import ShiftOutcome as ShiftOutcome
    from isoglot.transfer.shift_protocol import shift_transfer as shift_transfer
    from isoglot.transfer.tasks.task import Data as Data
    from isoglot.transfer.tasks.task import Parsed as Parsed
    from isoglot.transfer.tasks.task import Passage as Passage
    from isoglot.transfer.tasks.task import Tagged as Tagged
    from isoglot.transfer.tasks.task import Task as Task
    from isoglot.transfer.tasks.task import find_task as find_task
    from isoglot.transfer.tasks.task import known_tasks as known_tasks
    from isoglot.transfer.tasks.task import register as register
    from isoglot.transfer.tuning.config import TuneConfig as TuneConfig
    from isoglot.transfer.tuning.fine_tuning import fine_tune as fine_tune
    from isoglot.transfer.tuning.tuned_encoder import Tuned as Tuned
    from isoglot.transfer.tuning.tuned_folder import load_tuned as load_tuned

__getattr__, __dir__, __all__ = lazy_exports(__name__)
