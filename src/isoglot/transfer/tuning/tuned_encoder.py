"""A fine-tuned model: an encoder with a task head, the vectors the head reads, and the weights of the best epochs.

Shapes: ``B`` rows, ``W`` positions that a head reads, ``D`` hidden size, ``K`` targets per position, ``P`` positions of
all rows.
"""

from __future__ import annotations

import copy
import hashlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import nn

from isoglot.core.artifact import load_tensors, save_arrays
from isoglot.core.devices import product_precision
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.model.protocol import EncoderLike, layer_states
from isoglot.represent.layer_pass import batch_budget, evaluation_mode, row_length
from isoglot.transfer.tuning.batches import StoredRows, TaskBatch, whole_batches
from isoglot.vocab.word_reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isoglot.transfer.tasks.task import Labels, Task, TaskRow, TaskRows
    from isoglot.transfer.tuning.config import TuneConfig
    from isoglot.transfer.tuning.heads import TaskHead


EPOCHS = "epochs"
"""Folder of the weights of the best epochs."""
_EPOCH = "weights of an epoch"


@dataclass
class KeptEpochs:
    """Weights of the best epochs of a run, numbered from 1, in files or in memory.

    Args:
        out: Folder of the run. Default: they are kept in memory.
    """

    out: Path | None = None
    _memory: dict[int, dict[str, torch.Tensor]] = field(default_factory=dict)

    def numbers(self) -> list[int]:
        """Epochs that are kept."""
        if self.out is None:
            return sorted(self._memory)
        return sorted(int(path.stem.removeprefix("epoch-")) for path in (self.out / EPOCHS).glob("epoch-*.safetensors"))

    def put(self, epoch: int, tensors: Mapping[str, torch.Tensor]) -> None:
        """Store the weights of an epoch.

        Raises:
            StorageError: They cannot be written.
        """
        held = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
        if self.out is None:
            self._memory[epoch] = held
        else:
            save_arrays(self._path(epoch), _EPOCH, {"epoch": epoch}, held)

    def get(self, epoch: int) -> dict[str, torch.Tensor]:
        """Weights of an epoch, on the CPU.

        Raises:
            CorruptFileError: The file is damaged.
            StorageError: The file is missing.
        """
        if self.out is None:
            return self._memory[epoch]
        return load_tensors(self._path(epoch), _EPOCH, remedy="create it again with isoglot transfer")

    def only(self, epochs: Sequence[int]) -> None:
        """Remove all other epochs."""
        for other in set(self.numbers()) - set(epochs):
            if self.out is None:
                del self._memory[other]
            else:
                self._path(other).unlink()

    def mean(self, epochs: Sequence[int]) -> dict[str, torch.Tensor]:
        """Mean of the weights of some epochs, summed in float64."""
        first, *others = [self.get(epoch) for epoch in epochs]
        found = {}
        for name, tensor in first.items():
            total = sum((other[name].double() for other in others), start=tensor.double())
            found[name] = (total / len(epochs)).to(tensor.dtype)
        return found

    def _path(self, epoch: int) -> Path:
        assert self.out is not None  # noqa: S101 - for the type checker
        return self.out / EPOCHS / f"epoch-{epoch:04d}.safetensors"


@dataclass
class Tuned:
    """A fine-tuned model.

    Args:
        encoder: The fine-tuned encoder.
        head: The head, on the device of the encoder.
        task: The task.
        labels: Labels of the training data.
        config: Settings of the run.
        languages: Training languages; epochs are selected on the dev set of the first.
        history: One entry per epoch.
        epoch: The epoch of these weights.
        epochs: Weights of the best epochs.
    """

    encoder: EncoderLike
    head: TaskHead
    task: Task[Any]
    labels: Labels
    config: TuneConfig
    languages: tuple[str, ...]
    history: list[dict[str, Any]] = field(default_factory=list)
    epoch: int = 0
    epochs: KeptEpochs = field(default_factory=KeptEpochs)

    def predict(
        self, examples: Sequence[Any], language: str, *, encoder: EncoderLike | None = None, progress: Progress = SILENT
    ) -> tuple[list[Any], TaskRows]:
        """Predict labels of examples; returns the examples and their rows.

        Args:
            examples: Examples of the task; their labels are ignored.
            language: Language of the examples.
            encoder: Another encoder, such as one mapped into the space of this one. Default: this one.
            progress: Reports progress.
        """
        through = encoder or self.encoder
        rows = self.rows(examples, language, purpose="test", encoder=through)
        decoded = self.decoded(rows.rows, language, encoder=through, progress=progress)
        return self.task.predicted(examples, rows, decoded, self.labels), rows

    def rows(
        self,
        examples: Sequence[Any],
        language: str,
        *,
        purpose: Literal["learn", "test"],
        encoder: EncoderLike | None = None,
    ) -> TaskRows:
        """Convert examples to rows with the positions that the head reads.

        Args:
            examples: Examples of the task.
            language: Language of the examples.
            purpose: ``learn`` for rows with targets.
            encoder: Encoder whose vocabulary tokenizes them. Default: this one.
        """
        through = encoder or self.encoder
        reader = reader_of(through, language, self.config.max_length)
        found = self.task.rows(examples, reader, self.labels, purpose=purpose)
        return self.head.placed(found, through.vocabulary)

    def _tensors(self) -> dict[str, torch.Tensor]:
        encoder = self.encoder.state_dict() if isinstance(self.encoder, nn.Module) else {}
        return {f"encoder.{name}": tensor for name, tensor in encoder.items()} | {
            f"head.{name}": tensor for name, tensor in self.head.state_dict().items()
        }

    def weights(self) -> dict[str, torch.Tensor]:
        """Copy of the weights that fine-tuning changes: all, or those of the head."""
        chosen = self._tensors()
        if self.config.head_only:
            chosen = {name: tensor for name, tensor in chosen.items() if name.startswith("head.")}
        return {name: tensor.detach().clone() for name, tensor in chosen.items()}

    @torch.no_grad()
    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Load weights, such as those of another epoch; parameters without a new value are kept."""
        there = self._tensors()
        for name, tensor in weights.items():
            there[name].copy_(tensor)

    @torch.no_grad()
    def decoded(
        self,
        rows: Sequence[TaskRow],
        language: str,
        *,
        encoder: EncoderLike,
        stored: StoredRows | None = None,
        vectors: Callable[[TaskBatch], torch.Tensor] | None = None,
        progress: Progress = SILENT,
    ) -> list[np.ndarray]:
        """Predictions for every row (W × K).

        Args:
            rows: The rows.
            language: Language of the rows, which selects private parts of the encoder.
            encoder: The encoder.
            stored: The same rows on the device, if they are stored already.
            vectors: Returns the vectors of a batch. Default: the encoder computes them.
            progress: Reports progress.
        """
        found: list[np.ndarray] = [np.zeros((0, 1), dtype=np.int64)] * len(rows)
        if stored is None:
            stored = StoredRows(rows, encoder.vocabulary, row_length(encoder, self.config.max_length), encoder.device)
        was_training = self.head.training
        self.head.eval()
        with (
            evaluation_mode(encoder),
            progress.task(f"{self.task.name} {language}", total=len(rows), unit="rows") as task,
        ):
            for numbers in whole_batches(rows, batch_budget(encoder, None)):
                batch = stored.batch(numbers)
                with autocast(encoder.device, self.config.precision):
                    if vectors is None:
                        vectors_BWD = place_vectors(encoder, batch, language, self.config.layer)
                    else:
                        vectors_BWD = vectors(batch)
                    best_BWK = self.head.decode(vectors_BWD, batch)
                for number, best_WK in zip(numbers, best_BWK, strict=True):
                    found[number] = best_WK[: stored.widths[number]]
                task.advance(len(numbers))
        self.head.train(was_training)
        return found


HELD = 4 * 2**30
"""Maximum size in bytes of the stored vectors of one data set, and of those that all runs leave to later ones. Larger
data sets are encoded again for every batch."""


class HeldVectors:
    """Vectors that runs share if they read the same rows with the same encoder, such as learning rates of a grid.

    Args:
        encoder: The encoder; it must not change.
    """

    def __init__(self, encoder: EncoderLike) -> None:
        self.encoder = encoder
        self._known: dict[str, torch.Tensor] = {}

    def get(self, key: str, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Vectors of a key, a hash of everything they depend on except the encoder; computed if they are not stored."""
        if key in self._known:
            return self._known[key]
        made_PD = compute()
        if made_PD.nbytes + sum(tensor.nbytes for tensor in self._known.values()) <= HELD:
            self._known[key] = made_PD
        return made_PD


class RowVectors:
    """Vectors of some rows: computed for every batch, or once if the encoder is frozen.

    Args:
        tuned: The model.
        rows: The rows.
        stored: The same rows on the device.
        language: Language of the rows.
        held: Vectors of earlier runs; ignored if they are of another encoder.
    """

    def __init__(
        self, tuned: Tuned, rows: Sequence[TaskRow], stored: StoredRows, language: str, held: HeldVectors | None = None
    ) -> None:
        self.tuned, self.language = tuned, language
        self.kept_PD: torch.Tensor | None = None
        encoder = tuned.encoder
        places = sum(len(row.places_W) for row in rows)
        # Static vectors are looked up anyway.
        if tuned.config.head_only and encoder.depth and rows and 4 * places * encoder.hidden_size <= HELD:
            if held is None or held.encoder is not encoder:
                held = HeldVectors(encoder)
            self.kept_PD = held.get(self._key(rows), lambda: self._all(rows, stored, places))

    def of(self, batch: TaskBatch) -> torch.Tensor:
        """Vectors of a batch (B × W × D)."""
        if self.kept_PD is None:
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.tuned.config.head_only):
                return place_vectors(self.tuned.encoder, batch, self.language, self.tuned.config.layer)
        return self.kept_PD[_positions(batch).clamp(max=len(self.kept_PD) - 1)]

    def _key(self, rows: Sequence[TaskRow]) -> str:
        """Hash of everything that the vectors depend on, except the encoder."""
        config = self.tuned.config
        digest = hashlib.sha256(repr((self.language, config.layer, config.max_length, config.precision)).encode())
        for row in rows:
            sizes = len(row.ids_N), len(row.places_W)
            digest.update(np.concatenate([sizes, row.ids_N, row.places_W]).astype(np.int64).tobytes())
        return digest.hexdigest()

    @torch.no_grad()
    def _all(self, rows: Sequence[TaskRow], stored: StoredRows, places: int) -> torch.Tensor:
        encoder, config = self.tuned.encoder, self.tuned.config
        kept_PD = torch.empty(places, encoder.hidden_size, device=encoder.device)
        with evaluation_mode(encoder):
            for numbers in whole_batches(rows, batch_budget(encoder, None)):
                batch = stored.batch(numbers)
                with autocast(encoder.device, config.precision):
                    vectors_BWD = place_vectors(encoder, batch, self.language, config.layer)
                kept_PD[_positions(batch)[batch.mask_BW]] = vectors_BWD[batch.mask_BW].float()
        return kept_PD


def _positions(batch: TaskBatch) -> torch.Tensor:
    """Index of each position of a batch among those of all stored rows (B × W)."""
    assert batch.firsts_B is not None  # noqa: S101 - for the type checker
    return batch.firsts_B[:, None] + torch.arange(batch.mask_BW.shape[1], device=batch.mask_BW.device)


def reader_of(encoder: EncoderLike, language: str, length: int | None) -> Reader:
    """Reader of a language for an encoder.

    Raises:
        ConfigError: The vocabulary or private parts of the encoder lack the language.
    """
    code = language_code(language)
    encoder.vocabulary.view(code)  # raises for unknown languages before any work
    encoder.check_language(code)
    return Reader(encoder.vocabulary, code, row_length(encoder, length))


def place_vectors(encoder: EncoderLike, batch: TaskBatch, language: str | None, layer: int | None) -> torch.Tensor:
    """Hidden states at the positions that a head reads (B × W × D).

    Args:
        encoder: The encoder.
        batch: A batch on its device.
        language: Language, which selects private parts.
        layer: Layer to read. Default: the last.
    """
    end = encoder.depth if layer is None else layer
    hidden_BTD = layer_states(encoder, end, batch.batch, language)
    width = hidden_BTD.shape[-1]
    return hidden_BTD.gather(1, batch.places_BW[:, :, None].expand(-1, -1, width))


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Autocast context for a device and precision."""
    chosen = product_precision(device) if precision == "auto" else precision
    return torch.autocast(device.type, torch.bfloat16) if chosen == "bfloat16" else nullcontext()


def copied(encoder: EncoderLike) -> EncoderLike:
    """A copy of an encoder that shares its vocabulary."""
    if not isinstance(encoder, nn.Module):
        return encoder
    vocabulary = encoder.vocabulary
    made: EncoderLike = copy.deepcopy(encoder, {id(vocabulary): vocabulary})
    return made
