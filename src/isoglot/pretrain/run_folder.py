"""Folder of a pretraining run: the identity of the run and its checkpoints.

::

    pretrain.json     config and hashes of the data, written first: --resume must be given the same
    run.json          the run record: command, versions, device, time, how it ended
    metrics.jsonl     losses, speed, dev perplexity
    checkpoints/      the newest states: step-00001000/model.safetensors, optimizer.safetensors, state.json
    best/             the encoder with the lowest dev perplexity
    last/             the encoder at the end

A checkpoint is written under a temporary name and renamed when all of it is on the disk, so that every folder with a
step's name is complete whenever the process is killed. ``state.json`` has the position of the run and the SHA-256 of
all. A checkpoint that was damaged later is rejected and the one before it is used.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import Field

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, IsoglotError
from isoglot.core.files import check_file, file_hash, writable_folder
from isoglot.core.folders import remove_folder, replace_folder, restore_folder, sweep
from isoglot.model.load import BEST, CHECKPOINT, CHECKPOINT_WEIGHTS, LAST, RUN
from isoglot.vocab.shards import INDEX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import torch

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.text.formats.dictionary import Entry
    from isoglot.vocab import Shards, Vocabulary

FOLDER = "checkpoints"
MODEL, OPTIMIZER, STATE = CHECKPOINT_WEIGHTS, "optimizer.safetensors", CHECKPOINT
_FORMAT = 1


# --- the identity of a run ---


def identity_of(
    config: PretrainConfig,
    shards: Mapping[str, Shards],
    vocabulary: Vocabulary,
    dictionaries: Mapping[tuple[str, str], Iterable[Entry]],
    parallel: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """All settings of a run and hashes of all data it is trained on."""
    return {
        "format": _FORMAT,
        "config": config.model_dump(mode="json"),
        "data": {
            "vocabulary": vocabulary.hash,
            "shards": {code: file_hash(one.folder / INDEX) for code, one in shards.items()},
            "dictionaries": {"-".join(pair): _hash(repr(list(entries))) for pair, entries in dictionaries.items()},
            "parallel": _hash(repr(list(parallel))) if parallel else None,
        },
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def open_folder(out: Path, identity: Mapping[str, Any], *, resume: bool) -> bool:
    """Start a run in a folder or resume the one there; returns whether there was one.

    Raises:
        ConfigError: There is a run and ``resume`` is off, or it is another run.
        StorageError: The folder cannot be written to.
    """
    path = out / RUN
    if path.exists():
        if not resume:
            problem = f"{out} holds a run already"
            raise ConfigError(problem, "resume it with --resume, or name another --out", "run-exists")
        there = read_sealed(path, {"config": dict, "data": dict}, remedy="name another --out")
        parts = {"config": "is a run with other settings: ", "data": "is a run on other data: "}
        check_same(out, there, identity, parts)
        for name in (BEST, LAST):
            restore_folder(out / name)
        sweep(out / FOLDER)
        return True
    writable_folder(out)
    write_sealed(path, identity)
    return False


def check_same(out: Path, there: Mapping[str, Any], identity: Mapping[str, Any], parts: Mapping[str, str]) -> None:
    """Check that a run is resumed with the settings and data it was started with.

    Args:
        out: The folder.
        there: The identity that was written there.
        identity: The identity of the run to resume.
        parts: The keys that must be the same, each with the words before the first difference.

    Raises:
        ConfigError: Something differs.
    """
    for part, words in parts.items():
        changed = changed_key(there.get(part), identity[part])
        if changed:
            problem = f"{out} {words}{changed}"
            raise ConfigError(problem, "resume with the same, or name another --out", "other-settings")


def changed_key(old: object, new: object, path: str = "") -> str | None:
    """The first setting in which two configs differ, as a dotted key with both values; None if they are the same.

    >>> changed_key({"model": {"hidden_size": 64}, "seed": 1}, {"model": {"hidden_size": 128}, "seed": 1})
    'model.hidden_size was 64 and is 128'
    """
    if isinstance(old, dict) and isinstance(new, dict):
        found = (changed_key(old.get(key), new.get(key), f"{path}.{key}".lstrip(".")) for key in {**old, **new})
        return next(filter(None, found), None)
    return None if old == new else f"{path} was {old} and is {new}"


# --- checkpoints ---


class CheckpointConfig(Config):
    """Settings of checkpoints."""

    every: int = Field(1000, ge=1)
    """steps between two checkpoints; there is always one at the end"""
    keep: int = Field(2, ge=1)
    """number of newest checkpoints to keep; 2, so that there is another if one is damaged"""


@dataclass
class Position:
    """How far a run is; saved in every checkpoint."""

    step: int = 0
    tokens: int = 0  # tokens of text, without padding and the special tokens around it
    seconds: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)  # rows of each language so far
    pair_rows: dict[str, int] = field(default_factory=dict)  # rows of translation pairs so far, by their length
    dev: dict[str, float] = field(default_factory=dict)  # the last dev perplexities
    dev_step: int = -1  # the step at which they were measured
    best: float | None = None  # the lowest dev perplexity of the language that selects the best encoder
    best_step: int = -1
    lines: int = 0  # lines of ``metrics.jsonl``
    scale: dict[str, Any] = field(default_factory=dict)  # the loss scale of a run in float16
    losses: dict[str, Any] = field(default_factory=dict)  # losses since the last log line (:meth:`.step.Losses.state`)


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint."""

    path: Path
    state: dict[str, Any]

    def tensors(self, name: str) -> dict[str, torch.Tensor]:
        """The tensors of one of its files, on the CPU."""
        from safetensors.torch import load_file

        return load_file(self.path / name)


@dataclass
class Checkpoints:
    """The checkpoints of a run.

    Args:
        out: The folder of the run.
        keep: How many are kept.
        rejected: What was wrong with damaged ones, one line each; filled by :meth:`newest`.
    """

    out: Path
    keep: int = 2
    rejected: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder they are in."""
        return self.out / FOLDER

    def save(
        self,
        step: int,
        model: Mapping[str, torch.Tensor],
        optimizer: Mapping[str, torch.Tensor],
        state: Mapping[str, Any],
    ) -> Path:
        """Write a checkpoint and remove the oldest beyond ``keep``.

        Raises:
            StorageError: The disk is full, or the folder cannot be written to.
        """
        from safetensors.torch import save

        writable_folder(self.folder)
        target = self._path(step)

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
        """Return the newest complete checkpoint, or None; damaged ones are noted in ``rejected``."""
        for step in self._steps():
            try:
                return self.at(step)
            except IsoglotError as error:
                self.rejected.append(str(error))
        return None

    def at(self, step: int) -> Checkpoint:
        """Open the checkpoint of a step.

        Raises:
            CorruptFileError: It is damaged.
            StorageError: It does not exist.
        """
        path = self._path(step)
        content = read_sealed(path / STATE, {"step": int, "files": {...: str}}, remedy="use an earlier checkpoint")
        for name, sha256 in content["files"].items():
            check_file(path / name, sha256=sha256)
        return Checkpoint(path, content)

    def drop_after(self, step: int) -> None:
        """Remove checkpoints after a step; a resumed run writes them again."""
        for later in [other for other in self._steps() if other > step]:
            remove_folder(self._path(later))

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def _steps(self) -> list[int]:
        """The steps with a checkpoint, newest first."""
        if not self.folder.is_dir():
            return []
        names = (path.name.removeprefix("step-") for path in self.folder.glob("step-*"))
        return sorted((int(name) for name in names if name.isdecimal()), reverse=True)
