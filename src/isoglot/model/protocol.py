"""The interface of every encoder: isoglot's own, wrapped Hugging Face models, static vectors, and a user's class.

:class:`EncoderLike` is what analyses are written against. They never ask which class an encoder is: what only some
encoders can do is a capability of the interface, and :class:`EncoderBase` has the answer of one without it.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``N`` positions, ``R`` rows of a table, ``V`` vocabulary.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import numpy as np

    from isoglot.model.batch import Batch
    from isoglot.model.config import EncoderConfig
    from isoglot.model.edits import Change
    from isoglot.text.provenance import Provenance
    from isoglot.vocab import Vocabulary

_SCORES = 2**20  # logits computed at a time on the CPU: 4 MB, which fits its cache
_DEVICE_SCORES = 2**28


class TokenTable(NamedTuple):
    """The token embeddings of an encoder."""

    weight_RD: torch.Tensor
    rows_V: np.ndarray
    """The row of each id; -1 for an id without one."""


class EncoderLike(Protocol):
    """An encoder that every analysis works on."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that turns text into its ids."""

    @property
    def provenance(self) -> Provenance:
        """The texts and dictionaries it was trained on."""

    @property
    def hidden_size(self) -> int:
        """Dimensions of the hidden states."""

    @property
    def depth(self) -> int:
        """Number of layers."""

    @property
    def max_length(self) -> int:
        """Maximum number of input tokens, special tokens included."""

    @property
    def device(self) -> torch.device:
        """Device of the weights."""

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """Hidden states of every layer (each B x T x D); the first are the embeddings, after their norm."""

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Continue from the output of one layer to the output of a later one (default: the last)."""

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Logits over the vocabulary (… x V) for hidden states of the last layer (… x D)."""

    def edited(self, layer: int, change: Change) -> AbstractContextManager[None]:
        """Apply a change to the output of a layer (0: the embeddings) while the block lasts.

        ``layers`` shows it, ``run_from`` applies it in the layers after the one it starts from, and so does anything
        built on the encoder. Several changes apply in the order they were entered.
        """

    # --- capabilities, with defaults in EncoderBase ---

    @property
    def config(self) -> EncoderConfig | None:
        """The architecture, where it is one of isoglot's; None for any other."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages the encoder was built for; empty: not known, or any."""

    @property
    def has_head(self) -> bool:
        """Whether there is a language modeling head, so that ``logits`` works."""

    @property
    def has_private_parts(self) -> bool:
        """Whether each language has weights of its own, so that the language of a pass matters."""

    @property
    def is_thread_safe(self) -> bool:
        """Whether several threads may run it at the same time."""

    @property
    def is_capturable(self) -> bool:
        """Whether its forward and backward passes can be captured in a CUDA graph."""

    def states(self, batch: Batch, language: str | None = None, to: int | None = None) -> Iterator[torch.Tensor]:
        """Yield the hidden states of layers 0 to ``to`` (default: the last), computing no later layer if it can."""

    def best_ids(self, hidden_ND: torch.Tensor, language: str | None, barred: torch.Tensor) -> torch.Tensor:
        """Return the id with the highest logit at each position (N), the first of equals, none of the barred ids."""

    def check_language(self, code: str) -> None:
        """Raise ConfigError if the encoder cannot process a language."""

    def token_table(self, language: str | None = None) -> TokenTable:
        """Return the token embeddings, of one language where each has its own."""

    def untrained(self, seed: int) -> EncoderLike:
        """Return an encoder of the same architecture with random weights."""

    def is_body(self, name: str) -> bool:
        """Whether a parameter or module of that name belongs to the embeddings or layers, and not to the head."""


class EncoderBase:
    """Default capabilities; subclass it and implement the rest of :class:`EncoderLike` to analyze your own encoder."""

    config: EncoderConfig | None = None
    languages: tuple[str, ...] = ()
    has_head: bool = True
    has_private_parts: bool = False
    is_thread_safe: bool = False
    is_capturable: bool = False

    def states(
        self: EncoderLike, batch: Batch, language: str | None = None, to: int | None = None
    ) -> Iterator[torch.Tensor]:
        """Yield the hidden states of layers 0 to ``to`` (default: the last)."""
        return islice(self.layers(batch, language), None if to is None else to + 1)

    def best_ids(
        self: EncoderLike, hidden_ND: torch.Tensor, language: str | None, barred: torch.Tensor
    ) -> torch.Tensor:
        """Return the id with the highest logit at each position (N), from all logits of a few positions at a time."""
        size = max(1, block_size(hidden_ND) // len(self.vocabulary))
        found = [
            self.logits(part_ND, language).index_fill(1, barred, -torch.inf).argmax(dim=1)
            for part_ND in hidden_ND.split(size)
        ]
        return torch.cat(found) if found else hidden_ND.new_empty(0, dtype=torch.int64)

    def check_language(self, code: str) -> None:
        """Accept any language."""

    def token_table(self, language: str | None = None) -> TokenTable:
        """Refuse: the encoder does not expose its token embeddings."""
        raise ConfigError(
            f"a {type(self).__name__} shows no embedding matrix",
            remedy="use layer 0 of extract or word_types",
            code="config.not-supported",
        )

    def untrained(self, seed: int) -> EncoderLike:
        """Refuse: the encoder cannot be built anew."""
        raise ConfigError(
            f"no untrained encoder can be made like a {type(self).__name__}",
            remedy="give one that load_encoder opens, or make the untrained one yourself",
            code="config.not-supported",
        )

    def is_body(self, name: str) -> bool:
        """Whether a parameter belongs to the embeddings or layers: all do."""
        return True


def layer_states(encoder: EncoderLike, layer: int, batch: Batch, language: str | None = None) -> torch.Tensor:
    """Return the hidden states of one layer (B x T x D)."""
    return deque(encoder.states(batch, language, layer), maxlen=1).pop()


def block_size(hidden_ND: torch.Tensor) -> int:
    """Number of logits to compute at a time."""
    return _SCORES if hidden_ND.device.type == "cpu" else _DEVICE_SCORES


def last_layer(layer: int, to: int | None, depth: int) -> int:
    """Return the layer at which ``run_from`` ends (default: the last).

    Raises:
        ConfigError: One of the layers does not exist, or the end comes before the start.
    """
    end = depth if to is None else to
    if not 0 <= layer <= end <= depth:
        raise ConfigError(
            f"cannot run from layer {layer} to {end}",
            remedy=f"layers go from 0 up to {depth}",
            code="config.unknown-layer",
        )
    return end
