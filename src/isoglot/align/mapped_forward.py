"""A map put at layer i: what one encoder makes of a text up to there, mapped, and read on by another encoder.

Shape legend: ``B`` sentences, ``T`` tokens, ``D`` hidden size of the source, ``E`` of the target, ``N`` tokens in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.align.maps.normalization import IterativeNormalization, UnitLength
from isoglot.align.maps.pipeline import Steps
from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    import torch

    from isoglot.align.maps.estimator import PairMap
    from isoglot.model.batch import Batch

Lengths = Literal["auto", "map", "source"]
"""How long mapped vectors are: as the ``map`` gives them; as they were in the ``source``; ``auto``: the latter where
the map loses lengths, as iterative normalization does."""


def map_hidden(mapping: PairMap, hidden_BTD: torch.Tensor, batch: Batch, *, lengths: Lengths = "auto") -> torch.Tensor:
    """Hidden states of the source as the target itself would have them, B x T x E; zeros at padding.

    Args:
        mapping: A fitted map of that layer.
        hidden_BTD: The source's states.
        batch: The sentences they are of.
        lengths: How long mapped vectors are.

    Raises:
        ConfigError: There is no such choice of lengths.
        InputError: The map is for another width.
    """
    if lengths not in ("auto", "map", "source"):
        raise ConfigError(
            f"lengths {shown(lengths)}", remedy="choose one of auto, map, source", code="config.invalid-value"
        )
    mask_BT = batch.mask_BT.to(hidden_BTD.device)
    rows_ND = hidden_BTD[mask_BT]
    mapped_NE = mapping.to_target(rows_ND)
    if lengths == "source" or (lengths == "auto" and loses_lengths(mapping)):
        mapped_NE = mapped_NE * (rows_ND.norm(dim=1) / mapped_NE.norm(dim=1).clamp(min=1e-12))[:, None]
    found_BTE = mapped_NE.new_zeros(*mask_BT.shape, mapped_NE.shape[1])
    found_BTE[mask_BT] = mapped_NE
    return found_BTE


def loses_lengths(mapping: PairMap) -> bool:
    """Whether rows that differ only in length become the same."""
    return isinstance(mapping, Steps) and any(
        isinstance(step, UnitLength | IterativeNormalization) for step in mapping.steps
    )
