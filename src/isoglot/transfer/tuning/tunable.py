"""Trainable parameters of an encoder: all, those of the top layers, or none; never private parts.

Private parts that only English batches update would no longer fit those of other languages. They stay frozen, and at
test those of the target language are used (Wu et al. 2020).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from isoglot.core.errors import ConfigError
from isoglot.model.config import SharingPlan

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike


def layer_numbers(encoder: EncoderLike) -> dict[str, int]:
    """Layer of every parameter of the encoder body: 0 for the embeddings, the last layer for a final norm.

    The language modeling head is excluded.

    Raises:
        ConfigError: The encoder is not a torch module, or its layers are not in a ModuleList.
    """
    if not isinstance(encoder, nn.Module):
        raise ConfigError(
            f"{type(encoder).__name__} has no parameters to fine-tune", "tune the head only: tune=head", "not-supported"
        )
    if not encoder.depth:
        raise ConfigError(
            "static vectors have no trainable layers", "use the recipe static-nli, or set tune=head", "not-supported"
        )
    lists = [(name, len(part)) for name, part in encoder.named_modules() if isinstance(part, nn.ModuleList)]
    stack = next((name for name, size in lists if size == encoder.depth and encoder.is_body(name)), None)
    if stack is None:
        raise ConfigError(
            "the layers of the encoder are not in a ModuleList", "tune the head only: tune=head", "not-supported"
        )
    found: dict[str, int] = {}
    behind = False
    for name, _ in encoder.named_parameters():
        if name.startswith(f"{stack}."):
            behind = True
            found[name] = int(name.removeprefix(f"{stack}.").partition(".")[0]) + 1
        elif encoder.is_body(name):
            found[name] = encoder.depth if behind else 0
    return found


def tunable(encoder: EncoderLike, tune: str, freeze: int, frozen: str = "default") -> list[str]:
    """Names of the trainable parameters, in order.

    Args:
        encoder: Any torch module.
        tune: ``all``, ``head`` or ``top-6``.
        freeze: Number of frozen layers from the bottom, with the embeddings; 0: none.
        frozen: Frozen parts, written as a sharing plan: ``sep-emb``, ``sep-l1-3``, ``emb,1-6``.

    Raises:
        ConfigError: The encoder has fewer layers, or no trainable parameter is left.
    """
    if tune == "head":
        return []
    depth = encoder.depth
    if freeze > depth:
        raise ConfigError(f"freeze={freeze} with {depth} layers", f"freeze {depth} at most", "invalid-value")
    lowest = freeze + 1 if freeze else 0
    if tune.startswith("top-"):
        top = int(tune.removeprefix("top-"))
        if top > depth:
            raise ConfigError(f"tune={tune} with {depth} layers", f"give top-{depth} at most, or all", "invalid-value")
        lowest = max(lowest, depth - top + 1)
    own = set(encoder.languages)
    layers = layer_numbers(encoder)
    plan = SharingPlan.parse(frozen, depth)
    still = plan.private_layers | ({0} if plan.is_private("emb") else set())
    found = [
        name
        for name, layer in layers.items()
        if layer >= lowest and layer not in still and not own & set(name.split("."))
    ]
    if not found:
        raise ConfigError(
            "all layers to be trained are private", "train more layers, or the head only: tune=head", "not-supported"
        )
    return found
