"""A fine-tuned model: an encoder with a task head.

Shapes: ``B`` rows, ``W`` places, ``D`` hidden size, ``K`` numbers of a place.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import nn

from isoglot.core.devices import product_precision
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.model.protocol import layer_states
from isoglot.represent.layer_pass import batch_budget, evaluation_mode, row_length
from isoglot.transfer.tuning.batches import TaskBatch, whole_batches
from isoglot.transfer.tuning.kept_epochs import KeptEpochs
from isoglot.transfer.tuning.stored_rows import StoredRows
from isoglot.vocab.word_reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tasks.task import Labels, Task, TaskRow, TaskRows
    from isoglot.transfer.tuning.config import TuneConfig
    from isoglot.transfer.tuning.heads import TaskHead


@dataclass
class Tuned:
    """A fine-tuned model.

    Args:
        encoder: With the weights the task has left it.
        head: On its device.
        task: What was learned.
        labels: Those of the training data.
        config: How it was learned.
        languages: Whose data it was learned from, the first counting when an epoch is chosen.
        history: What happened, an entry an epoch.
        epoch: The epoch whose weights these are.
        epochs: The weights of the best epochs.
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
        self,
        examples: Sequence[Any],
        language: str,
        *,
        encoder: EncoderLike | None = None,
        progress: Progress = SILENT,
    ) -> tuple[list[Any], TaskRows]:
        """Predict labels of examples; returns the examples and their rows.

        Args:
            examples: Of the task's kind; labels in them are not looked at.
            language: Theirs.
            encoder: Another one to read them with, such as one mapped into this one's space; None: this one.
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
        """Examples as rows with the places that the head reads.

        Args:
            examples: Of the task's kind.
            language: Theirs.
            purpose: Whether they are to be learned from.
            encoder: Whose tokens; None: this one's.
        """
        through = encoder or self.encoder
        reader = reader_of(through, language, self.config.max_length)
        found = self.task.rows(examples, reader, self.labels, purpose=purpose)
        return self.head.placed(found, through.vocabulary)

    def _parameters(self) -> dict[str, torch.Tensor]:
        encoder = self.encoder.state_dict() if isinstance(self.encoder, nn.Module) else {}
        return {f"encoder.{name}": tensor for name, tensor in encoder.items()} | {
            f"head.{name}": tensor for name, tensor in self.head.state_dict().items()
        }

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of what fine-tuning has changed, or would have: all of it, or the head alone."""
        chosen = self._parameters()
        if self.config.head_only:
            chosen = {name: tensor for name, tensor in chosen.items() if name.startswith("head.")}
        return {name: tensor.detach().clone() for name, tensor in chosen.items()}

    @torch.no_grad()
    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Put weights in place, such as those of another epoch; parameters that are not named stay."""
        there = self._parameters()
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
            rows: What to decode.
            language: Whose parts of the encoder to use.
            encoder: What to read them with.
            stored: The rows on the device, where they are there already.
            vectors: Those of a batch, where they are known already.
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
                    best_BWK = self.head.decode(vectors_BWD, batch.mask_BW, batch.parts_BW)
                for number, best_WK in zip(numbers, best_BWK, strict=True):
                    found[number] = best_WK[: stored.widths[number]]
                task.advance(len(numbers))
        self.head.train(was_training)
        return found


def reader_of(encoder: EncoderLike, language: str, length: int | None) -> Reader:
    """Reader of a language for an encoder.

    Raises:
        ConfigError: Its vocabulary or its layers are for certain languages each, and this is another.
    """
    code = language_code(language)
    encoder.vocabulary.view(code)  # refuses a language that it cannot read, before any work
    encoder.check_language(code)
    return Reader(encoder.vocabulary, code, row_length(encoder, length))


def place_vectors(encoder: EncoderLike, batch: TaskBatch, language: str | None, layer: int | None) -> torch.Tensor:
    """Hidden states at the positions that a head reads (B × W × D).

    Args:
        encoder: Any.
        batch: On its device.
        language: Whose private parts to use.
        layer: Of which layer; None: the last.
    """
    end = encoder.depth if layer is None else layer
    hidden_BTD = layer_states(encoder, end, batch.batch, language)
    width = hidden_BTD.shape[-1]
    return hidden_BTD.gather(1, batch.places_BW[:, :, None].expand(-1, -1, width))


def number_format(device: torch.device, precision: str) -> Literal["float32", "bfloat16"]:
    """Floating-point type of matrix products on a device."""
    if precision == "auto":
        return "bfloat16" if product_precision(device) == "bfloat16" else "float32"
    return "bfloat16" if precision == "bfloat16" else "float32"


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Autocast context for a device and precision."""
    if number_format(device, precision) == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


def copied(encoder: EncoderLike) -> EncoderLike:
    """A copy of an encoder that shares its vocabulary."""
    if not isinstance(encoder, nn.Module):
        return encoder
    vocabulary = encoder.vocabulary
    made: EncoderLike = copy.deepcopy(encoder, {id(vocabulary): vocabulary})
    return made
