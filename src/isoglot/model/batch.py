"""A batch of sentences as an encoder takes it.

Shapes: ``B`` sentences, ``T`` tokens of the longest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.vocab import Vocabulary


@dataclass(frozen=True)
class Batch:
    """Sentences side by side, padded on the right.

    Args:
        ids_BT: The tokens, special ones included.
        mask_BT: True at a real token, False at padding.
        starts_BT: True where a word begins; False at special tokens and padding.
        full: Whether it is known that nothing is padded, which lets attention run without a mask.
    """

    ids_BT: torch.Tensor
    mask_BT: torch.Tensor
    starts_BT: torch.Tensor
    full: bool = False

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on a device."""
        ids_BT, mask_BT, starts_BT = (
            tensor.to(device, non_blocking=True) for tensor in (self.ids_BT, self.mask_BT, self.starts_BT)
        )
        return Batch(ids_BT, mask_BT, starts_BT, self.full)

    def __len__(self) -> int:
        return len(self.ids_BT)


def make_batch(
    vocabulary: Vocabulary, texts: Sequence[str], language: str | None = None, *, length: int = 512
) -> Batch:
    """Sentences as ``[CLS] … [SEP]``, cut to a length.

    Args:
        vocabulary: What turns text into ids.
        texts: The sentences.
        language: Their language, where the vocabulary needs to know it.
        length: The longest row, special tokens included.
    """
    return batch_of_ids(vocabulary, vocabulary.encode_batch(texts, language), length=length)


def batch_of_ids(vocabulary: Vocabulary, sentences: Sequence[Sequence[int]], *, length: int = 512) -> Batch:
    """The same from ids without special tokens.

    Raises:
        ConfigError: There is no sentence, or the length leaves no room for a token.
    """
    import numpy as np

    if not sentences:
        raise ConfigError("a batch of no sentences", remedy="give at least one")
    if length < 3:
        raise ConfigError(f"a length of {length} leaves no room for a token", remedy="give 3 or more")
    special = vocabulary.special
    kept = [sentence[: length - 2] for sentence in sentences]
    width = max(len(sentence) for sentence in kept) + 2
    ids_BT = np.full((len(kept), width), special["[PAD]"], dtype=np.int64)
    mask_BT = np.zeros((len(kept), width), dtype=bool)
    inside_BT = np.zeros((len(kept), width), dtype=bool)
    for row, sentence in enumerate(kept):
        end = len(sentence) + 1
        ids_BT[row, 0], ids_BT[row, end] = special["[CLS]"], special["[SEP]"]
        ids_BT[row, 1:end] = sentence
        mask_BT[row, : end + 1] = True
        inside_BT[row, 1:end] = True
    starts_BT = vocabulary.starts[ids_BT] & inside_BT
    starts_BT[:, 1] |= inside_BT[:, 1]  # a sentence begins with a word, whatever its first piece
    full = all(len(sentence) + 2 == width for sentence in kept)
    return Batch(torch.from_numpy(ids_BT), torch.from_numpy(mask_BT), torch.from_numpy(starts_BT), full)
