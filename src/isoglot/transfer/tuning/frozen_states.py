"""What the lower layers of an encoder give for rows that come again and again: computed once, layer after layer.

One layer is held at a time. The next one is computed from it, so a curve over all layers costs one pass through the
encoder. What would not fit into memory is held in a file instead, and read from there.

Shapes: ``B`` rows of a batch, ``T`` tokens, ``D`` hidden size, ``R`` all rows, ``N`` tokens of all rows, ``K`` of
those of a batch.
"""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, Progress
from isoglot.model.protocol import layer_states
from isoglot.represent.layer_pass import batch_budget, evaluation_mode, row_length
from isoglot.transfer.tuning.batches import whole_batches
from isoglot.transfer.tuning.stored_rows import StoredRows
from isoglot.transfer.tuning.tuned_encoder import autocast

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from isoglot.model.batch import Batch
    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tasks.task import TaskRow

MEMORY = 4.0
"""GiB of states of one language that are held in memory, by default."""


class FrozenStates:
    """One layer's states of some rows of a language, and of any other row on demand.

    Args:
        encoder: Any encoder; it is not changed, and nothing learns through it.
        language: Whose parts of it to use.
        rows: What will be asked for.
        length: Tokens of a row at most; None: as many as the encoder takes, 512 at most.
        precision: The number format of products; states are held in float32.
        memory: GiB to hold in memory; more is in a file.
        scratch: Folder of that file; None: where the system has its temporary files.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        language: str,
        rows: Iterable[TaskRow] = (),
        *,
        length: int | None = None,
        precision: str = "auto",
        memory: float = MEMORY,
        scratch: Path | None = None,
    ) -> None:
        self.encoder, self.language, self.precision = encoder, language, precision
        self.length = row_length(encoder, length)
        self.layer = 0
        self._known: dict[bytes, int] = {}
        self._rows: list[TaskRow] = []
        for row in rows:
            key = row.ids_N.astype(np.int64, copy=False).tobytes()
            if key not in self._known:
                self._known[key] = len(self._rows)
                self._rows.append(row)
        self._stored = StoredRows(self._rows, encoder.vocabulary, self.length, encoder.device)
        self._states_ND = _room(len(self._stored.ids_N), encoder, memory, scratch)
        self._firsts_R = self._stored.firsts_R2[:, 0].to(self._states_ND.device)
        self._filled = False

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenStates:
        """Itself: copies of what is built on it share it, for it never changes with them."""
        return self

    @torch.no_grad()
    def climb(self, layer: int, progress: Progress = SILENT) -> None:
        """Go on to a layer: every row's states of the one before give those of the next.

        Raises:
            ConfigError: There is no such layer, or it lies below.
        """
        if not self.layer <= layer <= self.encoder.depth:
            raise ConfigError(
                f"no way from layer {self.layer} to {layer}",
                remedy=f"layers go from 0 (the embeddings) up to {self.encoder.depth}",
                code="config.unknown-layer",
            )
        if self._filled and layer == self.layer:
            return
        encoder, total = self.encoder, len(self._rows)
        with (
            evaluation_mode(encoder),
            progress.task(f"{self.language} to layer {layer}", total=total, unit="rows") as work,
        ):
            for numbers in whole_batches(self._rows, batch_budget(encoder, None)):
                batch = self._stored.batch(numbers).batch
                start = self._held(batch, numbers) if self._filled else None
                states_BTD = self._through(batch, layer, start)
                index_K = self._index(batch, numbers)[batch.mask_BT.to(self._states_ND.device)]
                self._states_ND[index_K] = states_BTD[batch.mask_BT].to(self._states_ND)
                work.advance(len(numbers))
        self.layer, self._filled = layer, True

    @torch.no_grad()
    def of(self, batch: Batch) -> torch.Tensor:
        """The states of a batch in this layer (B x T x D), without gradients; zeros at padding."""
        ids_BT, sizes_B = batch.ids_BT.cpu().numpy(), batch.mask_BT.sum(dim=1).tolist()
        keys = [ids_T[:size].tobytes() for ids_T, size in zip(ids_BT, sizes_B, strict=True)]
        if self._filled and all(key in self._known for key in keys):
            return self._held(batch, [self._known[key] for key in keys])
        with evaluation_mode(self.encoder):
            return self._through(batch, self.layer, None).float() * batch.mask_BT[:, :, None]

    def _held(self, batch: Batch, numbers: list[int]) -> torch.Tensor:
        """Those of known rows, from where they are held."""
        states_BTD = self._states_ND[self._index(batch, numbers)].to(batch.ids_BT.device)
        return states_BTD * batch.mask_BT[:, :, None]

    def _index(self, batch: Batch, numbers: list[int]) -> torch.Tensor:
        """Where the tokens of known rows are held (B x T); anything at padding."""
        along_T = torch.arange(batch.ids_BT.shape[1], device=self._firsts_R.device)
        return (self._firsts_R[numbers, None] + along_T).clamp(max=len(self._states_ND) - 1)

    def _through(self, batch: Batch, layer: int, start_BTD: torch.Tensor | None) -> torch.Tensor:
        """A batch up to a layer: from the states it is given, or from its tokens."""
        encoder = self.encoder
        with autocast(encoder.device, self.precision):
            if start_BTD is not None:
                return encoder.run_from(self.layer, start_BTD, batch, self.language, layer)
            return layer_states(encoder, layer, batch, self.language)


def _room(tokens: int, encoder: EncoderLike, memory: float, scratch: Path | None) -> torch.Tensor:
    """Numbers for so many tokens: on the encoder's device, or in a file that is gone when nobody uses it."""
    shape = tokens, encoder.hidden_size
    if tokens * encoder.hidden_size * 4 <= memory * 2**30:
        return torch.zeros(shape, device=encoder.device)
    with NamedTemporaryFile(dir=scratch, prefix=".states-") as file:
        # The name goes at the end of the block, the file when the tensor does.
        return torch.from_file(file.name, shared=True, size=tokens * encoder.hidden_size).view(shape)
