"""New Transformer layers on the frozen lower layers of an encoder, whose hidden states are computed once.

Only the new layers are trained. At test they can continue from the lower layers of another model, mapped into the space
of the first: in Wu et al. (2020, section 5.1.2), layers trained on an English model read Chinese this way.

Shapes: ``B`` rows of a batch, ``T`` tokens, ``D`` hidden size, ``R`` all rows, ``N`` tokens of all rows, ``K`` tokens
of a batch that are not padding.
"""

from __future__ import annotations

import copy
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch
from torch import nn

from isoglot.align.apply import Lengths, map_hidden
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed
from isoglot.model.config import PRESETS, EncoderConfig
from isoglot.model.modules import Block, norm, rotation
from isoglot.model.protocol import Batch, EncoderLike, last_layer, layer_states
from isoglot.represent.layer_pass import batch_budget, evaluation_mode, row_length
from isoglot.transfer.tuning.batches import StoredRows, whole_batches
from isoglot.transfer.tuning.tuned_encoder import autocast

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from isoglot.align import PairMap
    from isoglot.text.provenance import Provenance
    from isoglot.transfer.tasks.task import TaskRow
    from isoglot.vocab import Vocabulary

MEMORY = 4.0
"""Default maximum size in GiB of the states of one language in memory."""


class FrozenStates:
    """Hidden states of one layer: stored for some rows of a language, computed on demand for others.

    One layer is stored at a time, and the next is computed from it, so a curve over all layers costs one pass through
    the encoder. States that do not fit into memory are stored in a file.

    Args:
        encoder: Any encoder; it is frozen.
        language: Language of the rows, which selects private parts.
        rows: Rows whose states are stored.
        length: Maximum number of tokens of a row. Default: that of the encoder, at most 512.
        precision: Floating-point type of matrix products; states are stored in float32.
        memory: Maximum size in memory, in GiB.
        scratch: Folder of the file. Default: the system's folder for temporary files.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        language: str,
        rows: Iterable[TaskRow] = (),
        *,
        length: int | None = None,
        precision: str = "auto",
        memory: float = MEMORY,
        scratch: Path | None = None,
    ) -> None:
        self.encoder, self.language, self.precision = encoder, language, precision
        self.length = row_length(encoder, length)
        self.layer = 0
        self._known: dict[bytes, int] = {}
        self._rows: list[TaskRow] = []
        for row in rows:
            key = row.ids_N.astype(np.int64, copy=False).tobytes()
            if key not in self._known:
                self._known[key] = len(self._rows)
                self._rows.append(row)
        self._stored = StoredRows(self._rows, encoder.vocabulary, self.length, encoder.device)
        self._states_ND = _state_storage(len(self._stored.ids_N), encoder, memory, scratch)
        self._firsts_R = self._stored.firsts_R2[:, 0].to(self._states_ND.device)
        self._filled = False

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenStates:
        """Itself: copies of the layers above share it."""
        return self

    @torch.no_grad()
    def advance_to(self, layer: int, progress: Progress = SILENT) -> None:
        """Replace the stored states by those of a higher layer, computed from the current one.

        Raises:
            ConfigError: The layer does not exist, or is below the current one.
        """
        if not self.layer <= layer <= self.encoder.depth:
            problem = f"layer {layer} cannot be computed from layer {self.layer}"
            raise ConfigError(problem, f"layers go from 0 (the embeddings) up to {self.encoder.depth}", "unknown-layer")
        if self._filled and layer == self.layer:
            return
        encoder, total = self.encoder, len(self._rows)
        with (
            evaluation_mode(encoder),
            progress.task(f"{self.language} to layer {layer}", total=total, unit="rows") as work,
        ):
            for numbers in whole_batches(self._rows, batch_budget(encoder, None)):
                batch = self._stored.batch(numbers).batch
                start = self._stored_states(batch, numbers) if self._filled else None
                states_BTD = self._compute(batch, layer, start)
                index_K = self._index(batch, numbers)[batch.mask_BT.to(self._states_ND.device)]
                self._states_ND[index_K] = states_BTD[batch.mask_BT].to(self._states_ND)
                work.advance(len(numbers))
        self.layer, self._filled = layer, True

    @torch.no_grad()
    def of(self, batch: Batch) -> torch.Tensor:
        """States of a batch (B × T × D), without gradients; zeros at padding."""
        ids_BT, sizes_B = batch.ids_BT.cpu().numpy(), batch.mask_BT.sum(dim=1).tolist()
        keys = [ids_T[:size].tobytes() for ids_T, size in zip(ids_BT, sizes_B, strict=True)]
        if self._filled and all(key in self._known for key in keys):
            return self._stored_states(batch, [self._known[key] for key in keys])
        with evaluation_mode(self.encoder):
            return self._compute(batch, self.layer, None).float() * batch.mask_BT[:, :, None]

    def _stored_states(self, batch: Batch, numbers: list[int]) -> torch.Tensor:
        """Stored states of a batch."""
        states_BTD = self._states_ND[self._index(batch, numbers)].to(batch.ids_BT.device)
        return states_BTD * batch.mask_BT[:, :, None]

    def _index(self, batch: Batch, numbers: list[int]) -> torch.Tensor:
        """Index of the tokens of stored rows (B × T); arbitrary at padding."""
        along_T = torch.arange(batch.ids_BT.shape[1], device=self._firsts_R.device)
        return (self._firsts_R[numbers, None] + along_T).clamp(max=len(self._states_ND) - 1)

    def _compute(self, batch: Batch, layer: int, start_BTD: torch.Tensor | None) -> torch.Tensor:
        """States of a batch in a layer, computed from given states or from its tokens."""
        encoder = self.encoder
        with autocast(encoder.device, self.precision):
            if start_BTD is not None:
                return encoder.run_from(self.layer, start_BTD, batch, self.language, layer)
            return layer_states(encoder, layer, batch, self.language)


def _state_storage(tokens: int, encoder: EncoderLike, memory: float, scratch: Path | None) -> torch.Tensor:
    """Tensor for the states: on the device of the encoder, or in a temporary file."""
    shape = tokens, encoder.hidden_size
    if tokens * encoder.hidden_size * 4 <= memory * 2**30:
        return torch.zeros(shape, device=encoder.device)
    with NamedTemporaryFile(dir=scratch, prefix=".states-") as file:
        # The name is removed at the end of the block, the file when the tensor is deleted.
        return torch.from_file(file.name, shared=True, size=tokens * encoder.hidden_size).view(shape)


class LowerLayers:
    """Frozen lower layers of an encoder, optionally mapped into another encoder's space.

    Args:
        states: The frozen states.
        mapping: The map of their layer. Default: they are not mapped.
        lengths: Norms of mapped vectors.
    """

    def __init__(self, states: FrozenStates, mapping: PairMap | None = None, lengths: Lengths = "auto") -> None:
        self.states, self.mapping, self.lengths = states, mapping, lengths
        self.hidden_size = states.encoder.hidden_size if mapping is None else mapping.widths_[1]

    def __deepcopy__(self, memo: dict[int, Any]) -> LowerLayers:
        """Itself: it is frozen."""
        return self

    @torch.no_grad()
    def __call__(self, batch: Batch) -> torch.Tensor:
        """Hidden states of a batch (B × T × D), without gradients."""
        hidden_BTD = self.states.of(batch)
        if self.mapping is None:
            return hidden_BTD
        with torch.autocast(hidden_BTD.device.type, enabled=False):
            return map_hidden(self.mapping, hidden_BTD, batch, lengths=self.lengths)


class StackedEncoder(EncoderLike, nn.Module):
    """Frozen lower layers with new trainable layers on top.

    As an encoder, its layer 0 is the output of the frozen layers, and its depth the number of new layers.

    Args:
        below: The frozen layers.
        layers: Number of new layers.
        dropout: Dropout in the new layers.
        seed: Random seed of their initial values.
    """

    has_head = False
    config: EncoderConfig

    def __init__(self, below: LowerLayers, *, layers: int = 4, dropout: float = 0.1, seed: int = 0) -> None:
        super().__init__()
        self.below = below
        self.config = new_config(below.states.encoder, layers, dropout)
        # From 1: a pre-norm layer 0 expects normalized embeddings.
        self.blocks = nn.ModuleList(Block(self.config, number) for number in range(1, layers + 1))
        self.final_norm = norm(self.config) if self.config.norm == "pre" else nn.Identity()
        self._reset(seed)
        self.to(below.states.encoder.device)

    def on_lower_layers(self, below: LowerLayers) -> StackedEncoder:
        """Copy that shares the new layers' weights and reads other lower layers.

        Raises:
            ConfigError: The hidden size differs.
        """
        if below.hidden_size != self.hidden_size:
            problem = f"layers of hidden size {self.hidden_size} on states of {below.hidden_size}"
            raise ConfigError(problem, "map them into that hidden size", "other-size")
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
        """Output of the lower layers and of every new layer (each B × T × D)."""
        found = [self.below(batch)]
        for number in range(self.depth):
            found.append(self.run_from(number, found[-1], batch, language, number + 1))
        return tuple(found)

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Run from the output of a layer (0: the lower layers) to a later one.

        Raises:
            ConfigError: The layer does not exist, or the later one is below it.
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
        raise ConfigError("new layers have no language modeling head", "use the encoder below them", "not-supported")

    def edited(self, layer: int, change: object) -> NoReturn:
        """Not supported: the layers cannot be edited.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError("new layers cannot be edited", "edit the encoder below them", "not-supported")

    def _reset(self, seed: int) -> None:
        """Initialize by seed and name as an encoder: matrices normal with deviation 0.02, biases 0, norms 1."""
        norms = {f"{name}.weight" for name, part in self.named_modules() if isinstance(part, nn.LayerNorm)}
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() == 1:
                    parameter.fill_(1.0 if name in norms else 0.0)
                    continue
                generator = torch.Generator().manual_seed(derive_seed(seed, "new layers", name))
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, 0.02, generator=generator))


def new_config(encoder: EncoderLike, layers: int, dropout: float) -> EncoderConfig:
    """Configuration of layers on an encoder: its own if it has one, else BERT's.

    Positions are rotary if the embeddings below have none.
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
