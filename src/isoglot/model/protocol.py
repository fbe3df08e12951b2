"""What every encoder can do: ours, one imported from Hugging Face, and any other in a hooked wrapper.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``V`` vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import torch

    from isoglot.model.batch import Batch
    from isoglot.model.edits import Change
    from isoglot.text.provenance import Provenance
    from isoglot.vocab import Vocabulary


class EncoderLike(Protocol):
    """An encoder that every analysis works on."""

    @property
    def vocabulary(self) -> Vocabulary:
        """What turns text into its ids."""

    @property
    def provenance(self) -> Provenance:
        """Which texts and dictionaries it was trained on."""

    @property
    def hidden_size(self) -> int:
        """Dimensions of the hidden states."""

    @property
    def depth(self) -> int:
        """How many layers it has."""

    @property
    def max_length(self) -> int:
        """The longest input in tokens."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """The output of every layer (each B x T x D); the first is the embeddings, after their norm."""

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Go on from the output of a layer to the output of a later one, the last unless told."""

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Scores of every piece (… x V) from the last layer's output (… x D)."""

    def edited(self, layer: int, change: Change) -> AbstractContextManager[None]:
        """While the block lasts, the output of a layer (0: the embeddings) goes through a change, wherever it is used.

        ``layers`` shows it, ``run_from`` has it in the layers it passes (those after the one it starts from), and so
        has what is built on the encoder. Several changes follow one another in the order they were entered.
        """


def end_of_way(layer: int, to: int | None, depth: int) -> int:
    """Where ``run_from`` ends that starts from the output of a layer: the last one unless told.

    Raises:
        ConfigError: There is no such layer, or the later one comes before.
    """
    end = depth if to is None else to
    if not 0 <= layer <= end <= depth:
        raise ConfigError(f"no way from layer {layer} to {end}", remedy=f"layers go from 0 up to {depth}")
    return end
