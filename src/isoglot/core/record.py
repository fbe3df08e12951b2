"""The run record: ``run.json`` beside what came out says what ran.

It is written when the run starts (``"status": "running"``) and again when it ends, however it ends, so a
folder always tells whether it is whole:

>>> import tempfile
>>> from isoglot.core.files import read_json
>>> with tempfile.TemporaryDirectory() as folder:
...     with record_run(folder, command="isoglot doctor", seed=7):
...         pass
...     read_json(f"{folder}/run.json")["status"]
'finished'
"""

from __future__ import annotations

import platform
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import one_line
from isoglot.core.files import file_hash, is_pipe, writable_folder, write_json
from isoglot.core.parts import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.core.config import Config

RECORD = "run.json"


@dataclass(kw_only=True)
class RunRecord:
    """What is known of a run so far; every field is a key of ``run.json``."""

    command: str
    seed: int
    status: str = "running"
    error: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    wall_seconds: float = 0.0
    device: str | None = None
    config: dict[str, Any] | None = None
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Weights of training runs that were opened, by folder: best or last, step, dev perplexity."""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)
    platform: str = field(default_factory=platform.platform)

    def add_input(self, path: str | Path) -> None:
        """Record a file that the run reads: its size and SHA-256; but no pipe, which can be read only once."""
        if not is_pipe(path):
            self.inputs[str(path)] = _facts(path)

    def add_output(self, path: str | Path) -> None:
        """Record a file that the run wrote: its size and SHA-256."""
        self.outputs[str(path)] = _facts(path)


def _facts(path: str | Path) -> dict[str, Any]:
    return {"sha256": file_hash(path), "bytes": Path(path).stat().st_size}


@contextmanager
def record_run(
    folder: str | Path,
    *,
    command: str,
    seed: int,
    config: Config | None = None,
    device: str | None = None,
    models: dict[str, dict[str, Any]] | None = None,
) -> Iterator[RunRecord]:
    """Keep ``run.json`` in the folder while the block runs.

    Args:
        folder: Where the run's results go; made if missing, refused at once if it cannot be written.
        command: What the user typed.
        seed: The run's seed.
        config: The whole config, as validated.
        device: The device in words.
        models: Weights of training runs that it opens, by folder.

    Raises:
        StorageError: The folder cannot be written to.
    """
    path = writable_folder(folder) / RECORD
    settings = None if config is None else config.model_dump(mode="json")
    run = RunRecord(command=command, seed=seed, config=settings, device=device, models=models or {})
    start = time.monotonic()
    try:
        write_json(path, asdict(run))
        yield run
        if run.status == "running":
            run.status = "finished"
    except BaseException as error:
        run.status = "interrupted" if isinstance(error, (KeyboardInterrupt, SystemExit)) else "failed"
        run.error = one_line(str(error)) or type(error).__name__
        raise
    finally:
        run.wall_seconds = round(time.monotonic() - start, 3)
        write_json(path, asdict(run))
