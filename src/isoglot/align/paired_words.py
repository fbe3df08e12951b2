"""The words of sentence pairs in the layers of one encoder, and batches of pairs of about the same size.

Shape legend: ``L`` layers, ``P`` sentence pairs of a batch, ``M`` and ``N`` their words, padded, ``D`` hidden size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.align.encoder_links import WordVectors
from isoglot.core.progress import SILENT
from isoglot.represent import extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Literal

    from isoglot.align.indexed import Pair
    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers

_NUMBERS = 2**22  # of the vectors of a batch, and of its similarities


class PairedWords:
    """Word vectors of sentence pairs: one pass through the encoder for each side, all layers at once.

    Args:
        encoder: Any encoder.
        pairs: Sentence pairs as lists of words, none of them empty.
        languages: Those of the sides, for encoders with parts for each.
        layers: Which layers.
        pool: Whether a word is the mean of its subwords or its first.
        scratch: A folder for the vectors; by default they are in memory.
        progress: Shows how far it is.

    Raises:
        ConfigError: There is no such layer or language.
        InputError: A sentence is empty, or the encoder gives something that is no number.
        StorageError: The folder cannot be written to.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        pairs: Sequence[Pair],
        *,
        languages: tuple[str, str] | None = None,
        layers: Layers = "all",
        pool: Literal["words", "word-first"] = "words",
        scratch: Path | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self.device = encoder.device
        found = [
            extract(
                encoder,
                [pair[side] for pair in pairs],
                layers=layers,
                pool=pool,
                language=None if languages is None else languages[side],
                out=None if scratch is None else scratch / f"words{side}",
                progress=progress,
            )
            for side in (0, 1)
        ]
        self.layers = found[0].layers
        self._sides = found
        self._starts = [np.asarray(each.offsets) for each in found]
        self._sizes_P2 = np.stack([np.diff(starts) for starts in self._starts], axis=1)

    def means(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The mean of all words of either side in every layer (L x D); words without a vector do not count."""
        one, other = (
            torch.stack([torch.from_numpy(_mean(side[layer])) for layer in self.layers]).to(self.device)
            for side in self._sides
        )
        return one, other

    def batches(self) -> Iterator[tuple[list[int], WordVectors]]:
        """All pairs, those of a size together, with their numbers."""
        order = np.lexsort((self._sizes_P2[:, 1], self._sizes_P2[:, 0]))[::-1]
        width = self._sides[0].hidden_size
        start = 0
        while start < len(order):
            most, other = (int(each) for each in self._sizes_P2[order[start]])
            end = start + 1
            while end < len(order):
                size = self._sizes_P2[order[end]]
                other = max(other, int(size[1]))
                cost = max((most + other) * width, most * other) * len(self.layers)
                if 2 * int(size[0]) < most or cost * (end + 1 - start) > _NUMBERS:
                    break
                end += 1
            which = order[start:end]
            source, target = (self._padded(side, which) for side in (0, 1))
            yield which.tolist(), WordVectors(source, target, torch.from_numpy(self._sizes_P2[which]))
            start = end

    def _padded(self, side: int, which_P: np.ndarray) -> torch.Tensor:
        sizes_P = self._sizes_P2[which_P, side]
        places_M = np.arange(sizes_P.max())
        real_PM = places_M < sizes_P[:, None]
        rows_PM = np.where(real_PM, self._starts[side][which_P][:, None] + places_M, 0)
        found = [np.where(real_PM[..., None], self._sides[side][layer][rows_PM], 0) for layer in self.layers]
        return torch.from_numpy(np.stack(found)).to(self.device)


def _mean(rows_ND: np.ndarray) -> np.ndarray:
    real = max(1, int(rows_ND.any(axis=1).sum()))
    return np.asarray(rows_ND.sum(axis=0, dtype=np.float64) / real, np.float32)
