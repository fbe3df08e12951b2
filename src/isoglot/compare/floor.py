"""What a value is worth: where it lies between an encoder that knows nothing and one that differs by its seed alone.

The floor puts an untrained encoder on one side: what the architecture, the tokens and the sentences' lengths give for
nothing. The ceiling is a twin, trained in the same way from another seed: more alike than that, two encoders need not
be to be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.core.rng import derive_seed

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike


def placed(
    value: float, floor: float, ceiling: float, *, kind: Literal["similarity", "distance"] = "similarity"
) -> float | None:
    """Where a value lies between floor (0) and ceiling (1); below the one it is negative, beyond the other above 1.

    None where the ceiling is no better than the floor: then the measure does not tell an untrained encoder from a twin,
    and there is no place in between.

    >>> placed(0.75, floor=0.5, ceiling=1.0), placed(0.4, floor=0.5, ceiling=0.5)
    (0.5, None)

    Args:
        value: What was measured.
        floor: The same with an untrained encoder on one side.
        ceiling: The same between twins.
        kind: Of a similarity more is better, of a distance less.
    """
    span = ceiling - floor if kind == "similarity" else floor - ceiling
    if not span > 0:
        return None
    return (value - floor) / (ceiling - floor)


def random_encoder_like(encoder: EncoderLike, seed: int = 0) -> EncoderLike:
    """An encoder of the same shape and tokens with untrained weights, on the same device, in evaluation mode.

    Encoders of ours, imported ones among them, get the initial values of a pretraining from that seed; a wrapped
    Hugging Face model is made anew from its config, with its own initial values. Static vectors are drawn at random.
    Nothing is downloaded.

    Args:
        encoder: Ours or wrapped.
        seed: Decides the weights.

    Raises:
        ConfigError: It is of another kind.
    """
    import torch

    start = derive_seed(seed, "untrained encoder")
    # Modules draw from torch's global generator when they are made; it continues as if nothing had been drawn.
    with torch.random.fork_rng(devices=[]):
        return encoder.untrained(start)
