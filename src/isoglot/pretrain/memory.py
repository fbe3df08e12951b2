"""Whether a step fits into the machine's memory: on the CPU a run that does not is killed without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.devices import machine_memory
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.model.settings import EncoderConfig
    from isoglot.pretrain.settings import Precision, PretrainConfig


def kept_numbers(config: EncoderConfig, *, rows: int, length: int) -> int:
    """How many numbers the layers keep for the way back, at least; embeddings and softmax are left out.

    Args:
        config: The encoder's shape.
        rows: Rows that go through at once.
        length: Tokens in a row.

    >>> from isoglot.model.settings import encoder_config
    >>> nano = encoder_config("paper", "nano", vocabulary_size=100, dropout=0.0)
    >>> kept_numbers(nano, rows=1, length=10) == 2 * 10 * (7 * 32 + 2 * 96)
    True
    """
    inner = (4 if config.mlp == "geglu" else 2) * config.intermediate_size
    # Without dropout attention is computed in blocks and not kept.
    attention = 2 * config.heads * length if config.dropout else 0
    return config.layers * rows * length * (7 * config.hidden_size + inner + attention)


def check_memory(config: PretrainConfig, shape: EncoderConfig, *, processes: int, precision: Precision) -> None:
    """Refuse a run on the CPU of which a step plainly does not fit.

    Args:
        config: The run.
        shape: Its encoder.
        processes: How many share a step; each is taken to have the machine to itself.
        precision: The number format of products.

    Raises:
        ConfigError: The layers alone need more than there is.
    """
    memory, parts = machine_memory(), config.batch.gradient_accumulation
    rows, length = config.batch.size // processes, config.batch.sequence_length or shape.max_length
    whole = kept_numbers(shape, rows=rows, length=length) * (4 if precision == "float32" else 2)
    if not memory or not config.spending.amount or whole <= memory * parts:
        return
    enough = next((n for n in range(parts, rows) if rows % n == 0 and 2 * whole <= memory * n), rows)
    raise ConfigError(
        f"a step needs more than {whole / parts / 1e9:,.0f} GB for {rows // parts} rows of {length} tokens at once, "
        f"and this machine has {memory / 1e9:,.0f}",
        remedy=f"add --set batch.gradient_accumulation={enough}, or train a smaller model.size or batch.size",
    )
