"""What a value is worth: where it lies between an encoder that knows nothing and one that differs by its seed alone.

The floor puts an untrained encoder on one side: what the architecture, the tokens and the sentences' lengths give for
nothing. The ceiling is a twin, trained in the same way from another seed: more alike than that, two encoders need not
be to be the same.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError
from isoglot.core.rng import derive_seed

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike
    from isoglot.vocab import Vocabulary


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

    from isoglot.model.encoder import Encoder
    from isoglot.model.hf.hooked import HookedEncoder
    from isoglot.model.static_table import TableEncoder

    start = derive_seed(seed, "untrained encoder")
    # Modules draw from torch's global stream when they are made; it goes on as if nothing had been drawn.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(start)
        if isinstance(encoder, Encoder):
            vocabulary = encoder.vocabulary if encoder.has_vocabulary else None
            ours = Encoder(encoder.config, vocabulary, encoder.member_ids() or None, seed=start)
            return ours.to(encoder.device).eval()
        if isinstance(encoder, HookedEncoder):
            model = type(encoder.model)(copy.deepcopy(encoder.model.config))
            model.to(device=encoder.device, dtype=encoder.model.dtype).eval()
            return HookedEncoder(model, _vocabulary_of(encoder)).eval()
        if isinstance(encoder, TableEncoder):
            drawn = torch.randn(encoder.weight.shape)
            return TableEncoder(drawn, encoder.known.cpu(), encoder.vocabulary).to(encoder.device).eval()
    raise ConfigError(
        f"no untrained encoder can be made like a {type(encoder).__name__}",
        remedy="give one that load_encoder opens, or make the untrained one yourself",
    )


def _vocabulary_of(encoder: EncoderLike) -> Vocabulary | None:
    """None for an encoder that was wrapped without one."""
    try:
        return encoder.vocabulary
    except ConfigError:
        return None
