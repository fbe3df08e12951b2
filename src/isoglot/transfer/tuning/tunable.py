"""Trainable parameters of an encoder: all, those of the top layers, or none; never private parts.

What only English batches move would no longer fit the parts of the other languages, so private parts stay as they are,
and at test the target language's own take their place (Wu et al. 2020).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from isoglot.core.errors import ConfigError
from isoglot.model.plan import SharingPlan

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike


def layer_numbers(encoder: EncoderLike) -> dict[str, int]:
    """The layer of every parameter that a representation goes through: 0 for the embeddings, the last for a final norm.

    Parameters of a softmax over words are not among them.

    Raises:
        ConfigError: It is no torch module, or its layers stand in no list.
    """
    if not isinstance(encoder, nn.Module):
        raise ConfigError(
            f"{type(encoder).__name__} has no parameters to fine-tune",
            remedy="tune the head only: tune=head",
            code="config.not-supported",
        )
    if not encoder.depth:
        raise ConfigError(
            "static vectors have no layers that could learn",
            remedy="use the recipe static-nli, or set tune=head",
            code="config.not-supported",
        )
    stack = next(
        (
            name
            for name, part in encoder.named_modules()
            if isinstance(part, nn.ModuleList) and len(part) == encoder.depth and encoder.is_body(name)
        ),
        None,
    )
    if stack is None:
        raise ConfigError(
            "the layers of the encoder stand in no list",
            remedy="tune the head only: tune=head",
            code="config.not-supported",
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
        encoder: Ours, or any other torch module.
        tune: ``all``, ``head`` or ``top-6``.
        freeze: The embeddings and so many layers from the bottom do not; 0: all do that ``tune`` says.
        frozen: Parts that do not learn, written as a sharing plan: ``sep-emb``, ``sep-l1-3``, ``emb,1-6``.

    Raises:
        ConfigError: There are not so many layers, or nothing of the encoder is left to learn.
    """
    if tune == "head":
        return []
    depth = encoder.depth
    if freeze > depth:
        raise ConfigError(
            f"freeze={freeze} with {depth} layers", remedy=f"freeze {depth} at most", code="config.invalid-value"
        )
    lowest = freeze + 1 if freeze else 0
    if tune.startswith("top-"):
        top = int(tune.removeprefix("top-"))
        if top > depth:
            raise ConfigError(
                f"tune={tune} with {depth} layers",
                remedy=f"give top-{depth} at most, or all",
                code="config.invalid-value",
            )
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
            "every layer that would learn is a language's own",
            remedy="tune the head only (tune=head), or more layers",
            code="config.not-supported",
        )
    return found
