"""How much useful arithmetic a step is: what "share of the peak" is the share of.

Counted are the matrix products of the forward pass, and twice as many of the backward pass; a product of (m × k) and
(k × n) is 2·m·k·n operations. Norms, softmaxes and look-ups are not counted, and neither is work done twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.peak import PeakConfig, measure_peak

if TYPE_CHECKING:
    import torch

    from isoglot.core.devices import ProductPrecision
    from isoglot.model.settings import EncoderConfig


def step_flops(config: EncoderConfig, *, rows: int, length: int, masked: int, pieces: int | None = None) -> int:
    """Operations of one training step.

    Args:
        config: The encoder's shape.
        rows: Rows of the batch.
        length: Tokens in a row.
        masked: Positions of a row that the softmax is computed for.
        pieces: How many pieces the softmax is over; None: the whole vocabulary.

    >>> from isoglot.model.settings import encoder_config
    >>> nano = encoder_config("paper", "nano", vocabulary_size=100)
    >>> step_flops(nano, rows=1, length=10, masked=0) == 3 * 2 * 2 * 10 * (4 * 32**2 + 2 * 32 * 96 + 2 * 10 * 32)
    True
    """
    width, inner = config.hidden_size, config.intermediate_size
    feed_forward = (3 if config.mlp == "geglu" else 2) * width * inner
    products = 0
    for layer in range(config.layers):
        seen = min(length, config.local_window + 1) if config.is_local(layer) else length
        products += length * (4 * width**2 + feed_forward + 2 * seen * width)
    transform = width**2 if config.head_transform == "bert" else 0
    products += masked * (transform + width * (config.vocabulary_size if pieces is None else pieces))
    return 3 * 2 * rows * products


def measured_peak(device: torch.device, dtype: ProductPrecision) -> float:
    """Operations a second at best, in a number format: a quick measurement."""
    sizes = (4096, 8192) if device.type == "cuda" else (1024,)
    return measure_peak(PeakConfig(sizes=sizes, dtypes=(dtype,), seconds=0.2), device)[0].tflops * 1e12
