"""Checkpoints: whole or not there, hashed, a few kept; and a good one found again.

A checkpoint is a folder written under a temporary name and renamed when everything in it is on the disk::

    checkpoints/step-00001000/model.safetensors
                              optimizer.safetensors
                              state.json             step, counts, time; the SHA-256 of the two, and its own

Whenever the process dies, the folders with names are whole. One that was cut short or altered afterwards is refused,
the one before it is used, and the caller is told.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import Field

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.config import Config
from isoglot.core.errors import IsoglotError
from isoglot.core.files import check_file, writable_folder
from isoglot.core.folders import remove_folder, replace_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import torch

FOLDER = "checkpoints"
MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


class CheckpointConfig(Config):
    """When the state of a run is written down."""

    every: int = Field(1000, ge=1)
    """steps between two checkpoints; there is always one at the end"""
    keep: int = Field(2, ge=1)
    """how many are kept, the newest; 2 so that a damaged one has another before it"""


@dataclass
class Position:
    """How far a run is; all of it is in a checkpoint."""

    step: int = 0
    tokens: int = 0
    """Tokens of text, without special tokens around it and padding."""
    seconds: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)
    """Rows of each language so far."""
    pair_rows: dict[str, int] = field(default_factory=dict)
    """Rows of pairs so far, by their length."""
    dev: dict[str, float] = field(default_factory=dict)
    """The last dev perplexities, and when they were measured."""
    dev_step: int = -1
    best: float | None = None
    """The lowest dev perplexity of the language that counts, and when it was."""
    best_step: int = -1
    lines: int = 0
    """Lines of ``metrics.jsonl``."""
    scale: dict[str, Any] = field(default_factory=dict)
    """The loss scale of a run in float16."""
    losses: dict[str, Any] = field(default_factory=dict)
    """Losses since the last of these lines, as :meth:`.losses.Losses.state` has them."""


@dataclass(frozen=True)
class Checkpoint:
    """One that was found whole."""

    path: Path
    state: dict[str, Any]

    def tensors(self, name: str) -> dict[str, torch.Tensor]:
        """The tensors of a file of it, on the CPU."""
        from safetensors.torch import load_file

        return load_file(self.path / name)


@dataclass
class Checkpoints:
    """The checkpoints of a run.

    Args:
        out: The folder of the run.
        keep: How many are kept.
        refused: What was wrong with those that were not whole, filled by :meth:`newest`.
    """

    out: Path
    keep: int = 2
    refused: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.out / FOLDER

    def save(
        self,
        step: int,
        model: Mapping[str, torch.Tensor],
        optimizer: Mapping[str, torch.Tensor],
        state: Mapping[str, Any],
    ) -> Path:
        """Write one and remove those that are too many.

        Raises:
            StorageError: The disk is full, or the folder cannot be written to.
        """
        from safetensors.torch import save

        target = writable_folder(self.folder) / f"step-{step:08d}"

        def fill(folder: Path) -> None:
            hashes = {}
            for name, tensors in ((MODEL, model), (OPTIMIZER, optimizer)):
                data = save({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()})
                hashes[name] = hashlib.sha256(data).hexdigest()
                (folder / name).write_bytes(data)
            write_sealed(folder / STATE, {"step": step, **state, "files": hashes})

        replace_folder(target, fill)
        for old in self._steps()[self.keep :]:
            remove_folder(self._path(old))
        return target

    def newest(self) -> Checkpoint | None:
        """The newest whole one, or None; what was refused on the way is in ``refused``, one line each."""
        for step in self._steps():
            try:
                return self._open(self._path(step))
            except IsoglotError as error:
                self.refused.append(str(error))
        return None

    def at(self, step: int) -> Checkpoint:
        """The one of a step.

        Raises:
            CorruptFileError: It is not whole.
            StorageError: It is not there.
        """
        return self._open(self._path(step))

    def drop_after(self, step: int) -> None:
        """Remove those after a step: a resumed run writes them anew."""
        for later in [other for other in self._steps() if other > step]:
            remove_folder(self._path(later))

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def _steps(self) -> list[int]:
        """The steps there are checkpoints of, newest first."""
        if not self.folder.is_dir():
            return []
        names = (path.name.removeprefix("step-") for path in self.folder.glob("step-*"))
        return sorted((int(name) for name in names if name.isdecimal()), reverse=True)

    def _open(self, path: Path) -> Checkpoint:
        content = read_sealed(path / STATE, {"step": int, "files": {...: str}}, remedy="use an earlier checkpoint")
        for name, sha256 in content["files"].items():
            check_file(path / name, sha256=sha256)
        return Checkpoint(path, content)
