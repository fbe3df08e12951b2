"""Floor and ceiling of a measure: an untrained encoder, and the same training from another seed.

The floor puts an untrained encoder on one side: the value due to architecture, tokens and sentence lengths alone. The
ceiling compares twins, two encoders trained alike from different seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.core.rng import derive_seed

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike


def placed(
    value: float, floor: float, ceiling: float, *, kind: Literal["similarity", "distance"] = "similarity"
) -> float | None:
    """Position of a value between floor (0) and ceiling (1); negative below the floor, above 1 beyond the ceiling.

    None if the ceiling is no better than the floor: then the measure cannot tell an untrained encoder from a twin.

    >>> placed(0.75, floor=0.5, ceiling=1.0), placed(0.4, floor=0.5, ceiling=0.5)
    (0.5, None)

    Args:
        value: The measured value.
        floor: Value with an untrained encoder on one side.
        ceiling: Value between twins.
        kind: Whether more (similarity) or less (distance) is better.
    """
    span = ceiling - floor if kind == "similarity" else floor - ceiling
    if not span > 0:
        return None
    return (value - floor) / (ceiling - floor)


def random_encoder_like(encoder: EncoderLike, seed: int = 0) -> EncoderLike:
    """Untrained encoder with the same architecture and tokenizer, on the same device, in evaluation mode.

    isoglot's encoders get the initial weights of a pretraining run with that seed; a wrapped Hugging Face model is
    created from its config; static vectors are drawn at random. Nothing is downloaded.

    Args:
        encoder: Any encoder.
        seed: Random seed of the weights.
    """
    import torch

    start = derive_seed(seed, "untrained encoder")
    # Modules draw from torch's global generator when they are made; it continues as if nothing had been drawn.
    with torch.random.fork_rng(devices=[]):
        return encoder.untrained(start)
