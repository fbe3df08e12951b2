"""A map at layer i: hidden states of one encoder, mapped, from which another encoder continues.

Shape legend: ``B`` sentences, ``T`` tokens, ``D`` hidden size of the source, ``E`` of the target, ``N`` tokens in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.align.maps.normalization import IterativeNormalization, UnitLength
from isoglot.align.maps.pipeline import Steps
from isoglot.core.errors import check_name

if TYPE_CHECKING:
    import torch

    from isoglot.align.maps.estimator import PairMap
    from isoglot.model.batch import Batch

Lengths = Literal["auto", "map", "source"]
"""Norm of mapped vectors: that of the ``map``'s output; that of the ``source``; ``auto``: the latter if the map loses
norms, as iterative normalization does.
"""


def map_hidden(mapping: PairMap, hidden_BTD: torch.Tensor, batch: Batch, *, lengths: Lengths = "auto") -> torch.Tensor:
    """Hidden states of the source mapped into the target's space, B × T × E; zeros at padding.

    Args:
        mapping: A fitted map of that layer.
        hidden_BTD: The source's hidden states.
        batch: Their sentences.
        lengths: Norm of mapped vectors.

    Returns:
        B × T × E.

    Raises:
        ConfigError: ``lengths`` is invalid.
        InputError: The map is for another width.
    """
    check_name("lengths", lengths, ("auto", "map", "source"))
    mask_BT = batch.mask_BT.to(hidden_BTD.device)
    rows_ND = hidden_BTD[mask_BT]
    mapped_NE = mapping.to_target(rows_ND)
    if lengths == "source" or (lengths == "auto" and loses_lengths(mapping)):
        mapped_NE = mapped_NE * (rows_ND.norm(dim=1) / mapped_NE.norm(dim=1).clamp(min=1e-12))[:, None]
    found_BTE = mapped_NE.new_zeros(*mask_BT.shape, mapped_NE.shape[1])
    found_BTE[mask_BT] = mapped_NE
    return found_BTE


def loses_lengths(mapping: PairMap) -> bool:
    """Whether rows that differ only in norm are mapped to the same row."""
    return isinstance(mapping, Steps) and any(
        isinstance(step, UnitLength | IterativeNormalization) for step in mapping.steps
    )
