"""An encoder of new Transformer layers on the frozen lower layers of another.

Only the new layers learn. What stands below them can be changed for another model's lower layers, mapped into the space
of the first: that is how Wu et al. 2020 (section 5.1.2) read Chinese with what was learned on English.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import nn

from isoglot.align.mapped_forward import Lengths, map_hidden
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError
from isoglot.core.rng import derive_seed
from isoglot.model.blocks import Block, norm, rotation
from isoglot.model.config import PRESETS, EncoderConfig
from isoglot.model.protocol import EncoderBase, last_layer

if TYPE_CHECKING:
    from isoglot.align import PairMap
    from isoglot.model.batch import Batch
    from isoglot.model.protocol import EncoderLike
    from isoglot.text.provenance import Provenance
    from isoglot.transfer.tuning.frozen_states import FrozenStates
    from isoglot.vocab import Vocabulary


class Below:
    """Frozen lower layers of an encoder, optionally mapped into another encoder's space.

    Args:
        states: The frozen states.
        mapping: The map of their layer; None: as they are.
        lengths: How long mapped vectors are.
    """

    def __init__(self, states: FrozenStates, mapping: PairMap | None = None, lengths: Lengths = "auto") -> None:
        self.states, self.mapping, self.lengths = states, mapping, lengths
        self.hidden_size = states.encoder.hidden_size if mapping is None else mapping.widths_[1]

    def __deepcopy__(self, memo: dict[int, Any]) -> Below:
        """Itself: it never learns."""
        return self

    @torch.no_grad()
    def __call__(self, batch: Batch) -> torch.Tensor:
        """Hidden states of a batch (B × T × D), without gradients."""
        hidden_BTD = self.states.of(batch)
        if self.mapping is None:
            return hidden_BTD
        with torch.autocast(hidden_BTD.device.type, enabled=False):
            return map_hidden(self.mapping, hidden_BTD, batch, lengths=self.lengths)


class Continued(EncoderBase, nn.Module):
    """Frozen lower layers with new trainable layers on top.

    As an encoder its layer 0 is what is frozen, and its depth the number of new layers.

    Args:
        below: What is frozen.
        layers: How many new layers.
        dropout: The share of numbers dropped in the new layers while they learn.
        seed: Decides their initial values.
    """

    has_head = False
    config: EncoderConfig

    def __init__(self, below: Below, *, layers: int = 4, dropout: float = 0.1, seed: int = 0) -> None:
        super().__init__()
        self.below = below
        self.config = new_config(below.states.encoder, layers, dropout)
        # From 1: a pre-norm layer 0 counts on embeddings that end in a norm.
        self.blocks = nn.ModuleList(Block(self.config, number) for number in range(1, layers + 1))
        self.final_norm = norm(self.config) if self.config.norm == "pre" else nn.Identity()
        self._reset(seed)
        self.to(below.states.encoder.device)

    def standing_on(self, below: Below) -> Continued:
        """The same layers, sharing weights, on other lower layers.

        Raises:
            ConfigError: It is of another width.
        """
        if below.hidden_size != self.hidden_size:
            raise ConfigError(
                f"layers of hidden size {self.hidden_size} on states of {below.hidden_size}",
                remedy="map them into that hidden size",
                code="config.other-size",
            )
        other = copy.copy(self)
        other.below = below
        return other

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the lower layers."""
        return self.below.states.encoder.vocabulary

    @property
    def provenance(self) -> Provenance:
        """Provenance of the encoder below."""
        return self.below.states.encoder.provenance

    @property
    def hidden_size(self) -> int:
        """Dimensions of the hidden states."""
        return self.config.hidden_size

    @property
    def depth(self) -> int:
        """Number of new layers."""
        return len(self.blocks)

    @property
    def max_length(self) -> int:
        """The longest input in tokens."""
        return self.below.states.length

    @property
    def device(self) -> torch.device:
        """Device."""
        return self.below.states.encoder.device

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """What is below, and the output of every new layer (each B x T x D)."""
        found = [self.below(batch)]
        for number in range(self.depth):
            found.append(self.run_from(number, found[-1], batch, language, number + 1))
        return tuple(found)

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Run from the output of a layer (0: the lower layers) to a later one.

        Raises:
            ConfigError: There is no such layer, or the later one comes before.
        """
        end = last_layer(layer, to, self.depth)
        mask = None if batch.full else batch.mask_BT[:, None, None, :]
        turn = None
        if self.config.positions == "rotary":
            columns_T = torch.arange(batch.ids_BT.shape[1], device=hidden.device)
            turn = rotation(columns_T, self.hidden_size // self.config.heads, self.config.rotary_base)
        for number in range(layer, end):
            hidden = self.blocks[number](hidden, mask, turn)
        return self.final_norm(hidden) if end == self.depth and layer < end else hidden

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> NoReturn:
        """Not supported: there is no language modeling head.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "new layers of a task guess no words", remedy="ask the encoder below them", code="config.not-supported"
        )

    def edited(self, layer: int, change: object) -> NoReturn:
        """Not supported: the layers cannot be edited.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "new layers of a task cannot be edited", remedy="edit the encoder below them", code="config.not-supported"
        )

    def _reset(self, seed: int) -> None:
        """Initialize by seed and name as an encoder: matrices normal with deviation 0.02, biases 0, norms 1."""
        norms = {f"{name}.weight" for name, part in self.named_modules() if isinstance(part, nn.LayerNorm)}
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() == 1:
                    parameter.fill_(1.0 if name in norms else 0.0)
                    continue
                chance = torch.Generator().manual_seed(derive_seed(seed, "new layers", name))
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, 0.02, generator=chance))


def new_config(encoder: EncoderLike, layers: int, dropout: float) -> EncoderConfig:
    """Configuration of layers on an encoder: its own if it has one, else BERT's.

    They turn queries and keys by place where the embeddings below do not say where a token stands.
    """
    if encoder.config is not None:
        ways = encoder.config.model_dump(mode="json") | {"local_window": 0}
    else:
        named = encoder.named_parameters() if isinstance(encoder, nn.Module) else ()
        placed = any("position" in name for name, _ in named)
        width = encoder.hidden_size
        heads = next(many for many in (width // 64, 12, 8, 4, 2, 1) if many == 1 or (many and not width % (2 * many)))
        ways = {
            **PRESETS["paper"],
            "hidden_size": width,
            "intermediate_size": 4 * width,
            "heads": heads,
            "positions": "learned" if placed or width % 2 else "rotary",
        }
    ways |= {"layers": layers, "dropout": dropout, "softmax": "none", "plan": "default", "languages": []}
    ways |= {"language_embeddings": "none", "vocabulary_size": 2, "pad_id": 0, "unk_id": 1}
    return build_config(EncoderConfig, values=ways)
