"""The vectors a head reads: computed for every batch, or once for all where the encoder does not learn.

Shapes: ``B`` rows, ``W`` places, ``D`` hidden size, ``P`` places of all rows.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.represent.layer_pass import batch_budget, evaluation_mode
from isoglot.transfer.tuning.batches import whole_batches
from isoglot.transfer.tuning.tuned_encoder import autocast, place_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tasks.task import TaskRow
    from isoglot.transfer.tuning.batches import TaskBatch
    from isoglot.transfer.tuning.stored_rows import StoredRows
    from isoglot.transfer.tuning.tuned_encoder import Tuned

HELD = 4 * 2**30
"""Bytes of vectors of one data set that are held, at most; more are computed again for every batch. So many are also
left by all runs together to later ones."""


class HeldVectors:
    """What runs leave to later ones that read the same rows with the same encoder, such as other rates of a grid.

    Args:
        encoder: Whose vectors; it must stay as it is.
    """

    def __init__(self, encoder: EncoderLike) -> None:
        self.encoder = encoder
        self._known: dict[str, torch.Tensor] = {}

    def get(self, key: str, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Those of a key, which stands for all they depend on but the encoder; computed where they are not known."""
        if key in self._known:
            return self._known[key]
        made_PD = compute()
        if made_PD.nbytes + sum(tensor.nbytes for tensor in self._known.values()) <= HELD:
            self._known[key] = made_PD
        return made_PD


class RowVectors:
    """The vectors of some rows.

    Args:
        tuned: Whose encoder.
        rows: What rows.
        stored: The same on the device.
        language: Theirs.
        held: Vectors that may be known already; of another encoder they are left alone.
    """

    def __init__(
        self, tuned: Tuned, rows: Sequence[TaskRow], stored: StoredRows, language: str, held: HeldVectors | None = None
    ) -> None:
        self.tuned, self.language = tuned, language
        self.kept_PD: torch.Tensor | None = None
        encoder = tuned.encoder
        places = sum(len(row.places_W) for row in rows)
        # A table of vectors is itself such a store.
        if tuned.config.head_only and encoder.depth and rows and 4 * places * encoder.hidden_size <= HELD:
            if held is None or held.encoder is not encoder:
                held = HeldVectors(encoder)
            self.kept_PD = held.get(self._key(rows), lambda: self._all(rows, stored, places))

    def of(self, batch: TaskBatch) -> torch.Tensor:
        """Those of a batch (B x W x D)."""
        if self.kept_PD is None:
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.tuned.config.head_only):
                return place_vectors(self.tuned.encoder, batch, self.language, self.tuned.config.layer)
        assert batch.firsts_B is not None  # noqa: S101 - for the type checker
        along_W = torch.arange(batch.mask_BW.shape[1], device=batch.mask_BW.device)
        return self.kept_PD[(batch.firsts_B[:, None] + along_W).clamp(max=len(self.kept_PD) - 1)]

    def _key(self, rows: Sequence[TaskRow]) -> str:
        """A hash of all that the vectors depend on."""
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
                assert batch.firsts_B is not None  # noqa: S101 - for the type checker
                along_W = torch.arange(batch.mask_BW.shape[1], device=encoder.device)
                index_BW = batch.firsts_B[:, None] + along_W
                kept_PD[index_BW[batch.mask_BW]] = vectors_BWD[batch.mask_BW].float()
        return kept_PD
