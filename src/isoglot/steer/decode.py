"""The best token at every position, without ever holding the scores of all.

A row of scores is as long as the vocabulary; of 120,000 pieces, the scores of one batch are half a gigabyte that nobody
looks at twice. Here the softmax's matrix is taken in blocks: scores of some rows against some pieces stay in the cache,
and only where a block beats the best so far it is asked which piece did.

Shapes: ``N`` positions, ``D`` hidden size, ``V`` vocabulary, ``R`` pieces of a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from isoglot.model.encoder import Encoder
from isoglot.model.head import NoHead, no_head
from isoglot.model.per_language import SHARED

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike
    from isoglot.steer.protocol import Special

_ROWS = 512
_SCORES = 2**20  # of a block on the CPU: 4 MB, which its cache holds
_DEVICE_SCORES = 2**28


@torch.inference_mode()
def best_tokens(
    encoder: EncoderLike, hidden_ND: torch.Tensor, language: str | None = None, *, special: Special = "exclude"
) -> torch.Tensor:
    """The token with the highest score at every position (N); of equals the first.

    Args:
        encoder: Any encoder with a softmax over pieces.
        hidden_ND: What its last layer gave.
        language: Whose softmax, where they are private.
        special: Whether a special token may be the answer.

    Raises:
        ConfigError: It has no softmax.
    """
    ids = sorted(encoder.vocabulary.special.values()) if special == "exclude" else []
    barred = torch.tensor(ids, device=hidden_ND.device, dtype=torch.int64)
    if isinstance(encoder, Encoder) and not isinstance(encoder.head, NoHead):
        found = [_by_blocks(encoder, part_ND, language, barred) for part_ND in hidden_ND.split(_ROWS)]
    else:
        size = max(1, _limit(hidden_ND) // len(encoder.vocabulary))
        found = [_by_rows(encoder, part_ND, language, barred) for part_ND in hidden_ND.split(size)]
    return torch.cat(found) if found else hidden_ND.new_empty(0, dtype=torch.int64)


@torch.inference_mode()
def check_softmax(encoder: EncoderLike) -> None:
    """Refuse an encoder that cannot decode, before anything is learned or run for it.

    Raises:
        ConfigError: It has no softmax.
    """
    if isinstance(encoder, Encoder):
        if isinstance(encoder.head, NoHead):
            raise no_head()
    elif isinstance(encoder, nn.Module):
        kinds = (tensor.dtype for tensor in encoder.state_dict().values() if tensor.is_floating_point())
        # Only asking tells; static vectors have no parameters, so the kind of number is that of any tensor.
        encoder.logits(torch.zeros(1, encoder.hidden_size, device=encoder.device, dtype=next(kinds, None)))


def _limit(hidden_ND: torch.Tensor) -> int:
    return _SCORES if hidden_ND.device.type == "cpu" else _DEVICE_SCORES


def _by_rows(
    encoder: EncoderLike, hidden_ND: torch.Tensor, language: str | None, special: torch.Tensor
) -> torch.Tensor:
    """The plain way: all scores of a few rows."""
    scores_NV = encoder.logits(hidden_ND, language)
    return scores_NV.index_fill(1, special, -torch.inf).argmax(dim=1)


def _by_blocks(encoder: Encoder, hidden_ND: torch.Tensor, language: str | None, special: torch.Tensor) -> torch.Tensor:
    """The same from the head's own matrix, some pieces at a time."""
    head = encoder.head
    x_ND = head.transform.of(language)(hidden_ND)
    weight_VD = head.weight(language)
    bias_V: torch.Tensor = head.softmax.of(language).bias
    own = None if SHARED in head.softmax else head.members[language or ""].ids
    barred_V = torch.isin(torch.arange(len(bias_V), device=bias_V.device) if own is None else own, special)
    bias_V = bias_V.masked_fill(barred_V, -torch.inf)
    best_N = x_ND.new_full((len(x_ND),), -torch.inf)
    at_N = torch.zeros(len(x_ND), dtype=torch.int64, device=x_ND.device)
    size = max(1, _limit(x_ND) // max(len(x_ND), 1))
    for first in range(0, len(weight_VD), size):
        scores_NR = F.linear(x_ND, weight_VD[first : first + size], bias_V[first : first + size])
        top_N = scores_NR.amax(dim=1)
        better_K = (top_N > best_N).nonzero().squeeze(1)  # argmax is much dearer than amax, and soon few are left
        if len(better_K):
            best_N[better_K] = top_N[better_K]
            at_N[better_K] = first + scores_NR[better_K].argmax(dim=1)
    return at_N if own is None else own[at_N]
