"""Batches of sentences: ids, attention mask and word starts.

Shapes: ``B`` sentences, ``T`` tokens of the longest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoglot.core.errors import ConfigError, check_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoglot.vocab import Vocabulary


@dataclass(frozen=True)
class Batch:
    """A batch of sentences, padded on the side where the tokenizer pads.

    Args:
        ids_BT: Token ids, special tokens included.
        mask_BT: Attention mask, True at tokens, False at padding.
        starts_BT: True where a word begins; False at special tokens and padding.
        full: Whether nothing is padded, so that attention needs no mask.
    """

    ids_BT: torch.Tensor
    mask_BT: torch.Tensor
    starts_BT: torch.Tensor
    full: bool = False

    def to(self, device: torch.device | str) -> Batch:
        """Move the batch to a device."""
        ids_BT, mask_BT, starts_BT = (to_device(each, device) for each in (self.ids_BT, self.mask_BT, self.starts_BT))
        return Batch(ids_BT, mask_BT, starts_BT, self.full)

    def __len__(self) -> int:
        return len(self.ids_BT)


def to_device(tensor: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """Copy a tensor to a device, asynchronously from pinned memory if it is a GPU."""
    if tensor.device.type == "cpu" and torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def make_batch(
    vocabulary: Vocabulary, texts: Sequence[str], language: str | None = None, *, length: int = 512
) -> Batch:
    """Encode sentences as a batch, with the tokenizer's special tokens, truncated to a length.

    Args:
        vocabulary: The vocabulary.
        texts: The sentences.
        language: Their language, if the vocabulary needs it.
        length: Maximum number of tokens, special tokens included.

    Returns:
        Ids and mask, B × T.

    >>> from isoglot.model import load_encoder
    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> batch = make_batch(encoder.vocabulary, ["The house is old."], "en")
    >>> [tuple(layer.shape[-1:]) for layer in encoder.layers(batch, "en")][:2]
    [(384,), (384,)]
    """
    return batch_of_ids(vocabulary, vocabulary.encode_batch(texts, language), length=length)


def batch_of_ids(vocabulary: Vocabulary, sentences: Sequence[Sequence[int]], *, length: int = 512) -> Batch:
    """Build a batch from ids without special tokens.

    Args:
        vocabulary: Its special tokens are added.
        sentences: Token ids of each sentence.
        length: Maximum number of tokens with special tokens; longer rows are truncated.

    Returns:
        Ids and mask, B × T.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> batch_of_ids(encoder.vocabulary, [[100, 101], [102]]).ids_BT.shape[0]
    2

    Raises:
        ConfigError: There is no sentence, or the length leaves no room for a token.
    """
    import numpy as np

    if not sentences:
        raise ConfigError("a batch needs at least one sentence", "give at least one", "missing-data")
    layout = vocabulary.layout
    check_room(vocabulary, length)
    kept = [sentence[: length - layout.size] for sentence in sentences]
    sizes_B = np.array([len(sentence) for sentence in kept])
    width = max(int(sizes_B.max()) + layout.size, 1)
    firsts_B = first_places(vocabulary, sizes_B, width)
    ids_BT = np.full((len(kept), width), vocabulary.pad_id, dtype=np.int64)
    mask_BT = np.zeros((len(kept), width), dtype=bool)
    starts_BT = np.zeros((len(kept), width), dtype=bool)
    for row, (sentence, first) in enumerate(zip(kept, firsts_B.tolist(), strict=True)):
        begin, end = first - len(layout.before), first + len(sentence) + len(layout.after)
        ids_BT[row, begin:end] = layout.framed([sentence])
        mask_BT[row, begin:end] = True
        starts_BT[row, first : first + len(sentence)] = vocabulary.starts[ids_BT[row, first : first + len(sentence)]]
        starts_BT[row, first : first + 1] = bool(
            len(sentence)
        )  # a sentence begins with a word, whatever its first subword is
    full = bool((sizes_B + layout.size == width).all())
    return Batch(torch.from_numpy(ids_BT), torch.from_numpy(mask_BT), torch.from_numpy(starts_BT), full)


def in_second_text(ids_BT: torch.Tensor, separator_id: int, pad_id: int) -> torch.Tensor:
    """True after the first separator, except at padding: at the second of two texts (B x T).

    >>> in_second_text(torch.tensor([[2, 7, 3, 8, 3, 0], [2, 7, 8, 9, 3, 0]]), 3, 0).int().tolist()
    [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]
    """
    ends_BT = (ids_BT == separator_id).long()
    return (ends_BT.cumsum(dim=1) > ends_BT) & (ids_BT != pad_id)


def check_room(vocabulary: Vocabulary, length: int) -> None:
    """Refuse a length that leaves no room for a token beside the special tokens.

    Raises:
        ConfigError: The length is too small.
    """
    check_range("length", length, vocabulary.layout.size + 1)


def first_places(vocabulary: Vocabulary, sizes_B: np.ndarray, width: int) -> np.ndarray:
    """Position at which the text of each row begins, after padding on the left and special tokens.

    Args:
        vocabulary: Has the special tokens and the side of the padding.
        sizes_B: Tokens of each row, without special tokens.
        width: Columns of the batch.
    """
    import numpy as np

    layout = vocabulary.layout
    padding_B = width - layout.size - sizes_B if vocabulary.padding_side == "left" else np.zeros_like(sizes_B)
    return padding_B + len(layout.before)
