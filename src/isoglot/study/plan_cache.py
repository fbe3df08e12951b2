"""What planning measured on this machine, kept for the next plan: training speeds, and test sentences found in text.

One small file each in ``$XDG_CACHE_HOME/isoglot/plan`` (else ``~/.cache/isoglot/plan``), named by a hash of what was
measured. They may be removed at any time.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import IsoglotError
from isoglot.core.files import writable_folder
from isoglot.study.steps import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping


def cache_folder() -> Path:
    """Where files are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isoglot" / "plan"


def recall(key: Mapping[str, Any]) -> Any | None:  # noqa: ANN401 - what was kept, as JSON has it
    """What was kept under a key; None if nothing was, or it cannot be read."""
    with suppress(IsoglotError, OSError):
        path = _path(key)
        if path.exists():
            return read_sealed(path, {"value": object}, remedy="remove it")["value"]
    return None


def keep(key: Mapping[str, Any], value: Any) -> None:  # noqa: ANN401 - anything that JSON can hold
    """Keep a value under a key; where nothing can be written it is measured again the next time."""
    with suppress(IsoglotError, OSError):
        writable_folder(cache_folder())
        write_sealed(_path(key), {"key": dict(key), "value": value})


def _path(key: Mapping[str, Any]) -> Path:
    return cache_folder() / f"{hashlib.sha256(canonical(dict(key)).encode()).hexdigest()[:32]}.json"
