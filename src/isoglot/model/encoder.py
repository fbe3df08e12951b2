"""The encoder: embeddings, layers and a masked language modeling head, each shared or private to a language.

>>> from isoglot.model.config import encoder_config
>>> config = encoder_config("paper", "nano", vocabulary_size=50, languages=("en", "fr"), plan="1")
>>> encoder = Encoder(config)
>>> [name for name, _ in encoder.named_parameters() if "qkv.bias" in name]
['blocks.0.en.attention.qkv.bias', 'blocks.0.fr.attention.qkv.bias', 'blocks.1.shared.attention.qkv.bias']

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``K`` masked positions a row, ``L`` layers, ``V`` vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeGuard

import numpy as np
import torch
from torch import nn

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.model.modules import Block, Embedding, Head, Members, NoHead, PerLanguage, norm, rotation
from isoglot.model.protocol import (
    Batch,
    Change,
    Edits,
    EncoderLike,
    TokenTable,
    check_layer,
    last_layer,
    needed_vocabulary,
)
from isoglot.text.provenance import Provenance, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from isoglot.model.config import EncoderConfig
    from isoglot.vocab import Vocabulary


class AttentionInput(NamedTuple):
    """What a layer needs to know about the positions of a batch."""

    # Attention mask, True where a token may attend (broadcast to B x heads x T x T); None: everywhere
    mask: torch.Tensor | None
    turn: torch.Tensor | None  # rotation of queries and keys, where positions are rotary


class Encoder(EncoderLike, nn.Module):
    """Masked language model whose languages share the parts that its sharing plan says.

    Initial weights depend only on the seed and the parameter's name: a part that two plans have in common starts the
    same in both, and the private parts of two languages start different.

    Args:
        config: Architecture and sharing plan.
        vocabulary: The vocabulary of its ids; needed to process text, not ids.
        members: The ids of each language, for private embeddings and softmaxes; default: the vocabulary's.
        seed: Random seed of the initial weights; None leaves them uninitialized, for weights that are loaded next.

    Raises:
        ConfigError: The vocabulary has another size, or private tables have no ids of each language.
    """

    is_thread_safe = is_capturable = True
    config: EncoderConfig
    hidden_size: int
    depth: int
    max_length: int
    provenance: Provenance

    def __init__(
        self,
        config: EncoderConfig,
        vocabulary: Vocabulary | None = None,
        members: Mapping[str, np.ndarray] | None = None,
        *,
        seed: int | None = 0,
    ) -> None:
        super().__init__()
        if vocabulary is not None and len(vocabulary) != config.vocabulary_size:
            problem = f"an encoder for {config.vocabulary_size:,} subwords with a vocabulary of {len(vocabulary):,}"
            raise ConfigError(problem, "use the vocabulary it was made for", "other-size")
        plan = config.sharing
        self.hidden_size, self.depth, self.max_length = config.hidden_size, config.layers, config.max_length
        self.has_head, self.has_private_parts = config.softmax != "none", not plan.is_default
        self.languages = config.languages
        self.config, self._vocabulary = config, vocabulary
        self._edits = Edits()
        self.provenance = unknown("an encoder without a record")
        self.members = nn.ModuleDict()
        if plan.private & {"emb", "softmax"}:
            self.members.update(_members(config, vocabulary, members))
        known = {name: part for name, part in self.members.items() if isinstance(part, Members)}
        self.embedding = Embedding(config, known, self._edits)
        self.blocks = nn.ModuleList(
            PerLanguage(config.languages if plan.layer_is_private(layer + 1) else (), _builder(config, layer))
            for layer in range(config.layers)
        )
        last = config.languages if plan.layer_is_private(config.layers) else ()
        self.final_norm = PerLanguage(last, lambda _: norm(config) if config.norm == "pre" else nn.Identity())
        self.head = NoHead() if config.softmax == "none" else Head(config, known, self.embedding.tokens)
        if seed is not None:
            self.reset(seed)

    def reset(self, seed: int) -> None:
        """Initialize every parameter: matrices normal with standard deviation 0.02, biases 0, norms 1.

        In a pre-norm encoder the output matrices of a layer start smaller the more layers there are, as in GPT-2.
        """
        norms = {f"{name}.weight" for name, part in self.named_modules() if isinstance(part, nn.LayerNorm)}
        smaller = (2 * self.depth) ** -0.5 if self.config.norm == "pre" else 1.0
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() == 1:
                    parameter.fill_(1.0 if name in norms else 0.0)
                    continue
                generator = torch.Generator().manual_seed(derive_seed(seed, "initial", name))
                deviation = 0.02 * (smaller if name.endswith(("out.weight", "down.weight")) else 1.0)
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, deviation, generator=generator))

    # --- the interface of every encoder ---

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of its ids."""
        return needed_vocabulary(self._vocabulary)

    @property
    def has_vocabulary(self) -> bool:
        """Whether it was built with a vocabulary."""
        return self._vocabulary is not None

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.embedding.norm.of(next(iter(self.embedding.norm))).weight.device

    def states(self, batch: Batch, language: str | None = None, to: int | None = None) -> Iterator[torch.Tensor]:
        """Yield the hidden states of layers 0 to ``to`` (default: the last), each when it is asked for."""
        code, end = _code(language), last_layer(0, to, self.depth)
        hidden_BTD = self.embedding(batch.ids_BT, code)
        yield hidden_BTD
        attention = self._attention_inputs(batch.ids_BT, _mask(batch))
        for layer in range(end):
            hidden_BTD = self._layer(layer, hidden_BTD, code, attention, batch.ids_BT)
            yield hidden_BTD

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """Hidden states of every layer (L + 1 of B x T x D); the first are the embeddings, after their norm."""
        return tuple(self.states(batch, language))

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Continue from the output of a layer (0: the embeddings) to the output of a later one (default: the last).

        Raises:
            ConfigError: One of the layers does not exist, or the end comes before the start.
        """
        code, end = _code(language), last_layer(layer, to, self.depth)
        attention = self._attention_inputs(batch.ids_BT, _mask(batch))
        for number in range(layer, end):
            hidden = self._layer(number, hidden, code, attention, batch.ids_BT)
        return hidden

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Logits over the vocabulary (… x V) for hidden states of the last layer; ``ABSENT`` for ids without one."""
        return self.head.logits(hidden, _code(language))

    def lens_logits(self, hidden: torch.Tensor, layer: int, language: str | None = None) -> torch.Tensor:
        """Logits that the head gives for hidden states of any layer, after the final norm of a pre-norm encoder."""
        code = _code(language)
        return self.head.logits(hidden if layer == self.depth else self.final_norm.of(code)(hidden), code)

    def best_ids(self, hidden_ND: torch.Tensor, language: str | None, barred: torch.Tensor) -> torch.Tensor:
        """Return the id with the highest logit at each position (N), the first of equals, none of the barred ids."""
        return self.head.best_ids(hidden_ND, _code(language), barred)

    def edited(self, layer: int, change: Change) -> AbstractContextManager[None]:
        """Apply a change to the output of a layer (0: the embeddings) while the block lasts.

        ``layers`` and ``hidden`` have it, and ``run_from`` in the layers after the one it starts from.

        Raises:
            ConfigError: The layer does not exist.
        """
        check_layer(layer, self.depth)
        return self._edits.entered(layer, change)

    def member_ids(self) -> dict[str, np.ndarray]:
        """The ids of each language, where tables are private; empty otherwise."""
        return {code: part.ids.cpu().numpy() for code, part in self.members.items() if isinstance(part, Members)}

    def token_table(self, language: str | None = None) -> TokenTable:
        """Return the token embeddings, of one language where each has its own."""
        code, size = _code(language), self.config.vocabulary_size
        weight_RD = self.embedding.tokens.of(code).weight.detach()
        if not self.config.sharing.is_private("emb"):
            return TokenTable(weight_RD, np.arange(size))
        ids = self.member_ids()[code or ""]
        rows_V = np.full(size, -1)
        rows_V[ids] = np.arange(len(ids))
        return TokenTable(weight_RD, rows_V)

    def untrained(self, seed: int) -> Encoder:
        """Return an encoder of the same architecture with the initial weights of a pretraining run."""
        twin = Encoder(self.config, self._vocabulary, self.member_ids() or None, seed=seed)
        return twin.to(self.device).eval()

    def is_body(self, name: str) -> bool:
        """Whether a parameter belongs to the embeddings or layers, and not to the head."""
        return not name.startswith("head.")

    def check_language(self, code: str) -> None:
        """Check that the encoder has the parts of a language, if parts are private.

        Raises:
            ConfigError: The encoder lacks the language.
        """
        for part in self.modules():
            if isinstance(part, PerLanguage):
                part.of(code)

    # --- training ---

    def hidden(
        self,
        ids_BT: torch.Tensor,
        language: str | None = None,
        *,
        languages_BT: torch.Tensor | None = None,
        positions_BT: torch.Tensor | None = None,
        mask_BT: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Hidden states of the last layer (B x T x D) for rows of one length.

        Args:
            ids_BT: Token ids.
            language: Canonical code of the language whose private parts to use.
            languages_BT: The language of each token as an index into the config's, where a row has several.
            positions_BT: The position of each token, where it is not its column.
            mask_BT: Attention mask, True at tokens; None: no padding.
        """
        x_BTD: torch.Tensor = self.embedding(ids_BT, language, languages_BT, positions_BT)
        attention = self._attention_inputs(ids_BT, None if mask_BT is None else mask_BT[:, None, None, :], positions_BT)
        for layer in range(self.depth):
            x_BTD = self._layer(layer, x_BTD, language, attention, ids_BT)
        return x_BTD

    def loss(
        self,
        hidden_BTD: torch.Tensor,
        at_BK: torch.Tensor,
        targets_BK: torch.Tensor,
        language: str | None = None,
        *,
        reduction: Literal["mean", "sum", "none"] = "mean",
        most: int | None = None,
    ) -> torch.Tensor:
        """Cross-entropy at the masked positions: a scalar, or B x K for ``none``.

        The softmax costs as much as several layers, so it is computed at no other position. Targets of -100 are
        ignored; where there are many, ``most`` (see :meth:`forward`) saves their softmax too.
        """
        if most is not None:
            at_N, targets_N = _with_target(at_BK, targets_BK, hidden_BTD.shape[1], most)
            chosen_ND = hidden_BTD.flatten(0, 1).index_select(0, at_N)
            return self.head.loss(chosen_ND, targets_N, language, reduction=reduction)
        chosen_BKD = hidden_BTD.gather(1, at_BK[:, :, None].expand(-1, -1, hidden_BTD.shape[-1]))
        loss = self.head.loss(chosen_BKD.flatten(0, 1), targets_BK.flatten(), language, reduction=reduction)
        return loss.view_as(targets_BK) if reduction == "none" else loss

    def forward(
        self,
        ids_BT: torch.Tensor,
        at_BK: torch.Tensor,
        targets_BK: torch.Tensor,
        language: str | None = None,
        *,
        languages_BT: torch.Tensor | None = None,
        positions_BT: torch.Tensor | None = None,
        mask_BT: torch.Tensor | None = None,
        most: int | None = None,
    ) -> torch.Tensor:
        """Mean loss of a training batch.

        Args:
            ids_BT: Token ids; this and the other arguments of :meth:`hidden` are as there.
            at_BK: The masked positions of each row.
            targets_BK: The ids to predict there; -100 is ignored.
            language: Canonical code of the language whose private parts to use.
            languages_BT: See :meth:`hidden`.
            positions_BT: See :meth:`hidden`.
            mask_BT: See :meth:`hidden`.
            most: Maximum number of targets in the batch, where rows have fewer than K; further targets are dropped.
                None: B x K.
        """
        hidden_BTD = self.hidden(
            ids_BT, language, languages_BT=languages_BT, positions_BT=positions_BT, mask_BT=mask_BT
        )
        return self.loss(hidden_BTD, at_BK, targets_BK, language, most=most)

    # --- one layer ---

    def _attention_inputs(
        self, ids_BT: torch.Tensor, mask: torch.Tensor | None, positions_BT: torch.Tensor | None = None
    ) -> dict[bool, AttentionInput]:
        """Attention inputs of global (False) and local (True) layers, computed once for all layers of a kind."""
        config = self.config
        size = config.hidden_size // config.heads
        attention = {}
        for local in {config.is_local(layer) for layer in range(self.depth)}:
            seen, turn = mask, None
            if local or config.positions == "rotary":
                columns_T = torch.arange(ids_BT.shape[1], device=ids_BT.device)
                if config.positions == "rotary":
                    base = config.local_rotary_base if local else config.rotary_base
                    turn = rotation(columns_T if positions_BT is None else positions_BT, size, base)
                if local:
                    near_TT = (columns_T[:, None] - columns_T[None, :]).abs() <= config.local_window // 2
                    seen = near_TT if mask is None else mask & near_TT
            attention[local] = AttentionInput(seen, turn)
        return attention

    def _layer(
        self,
        layer: int,
        x_BTD: torch.Tensor,
        code: str | None,
        attention: dict[bool, AttentionInput],
        ids_BT: torch.Tensor,
    ) -> torch.Tensor:
        """Apply one layer, the final norm after the last layer of a pre-norm encoder, and the edits there."""
        block = self.blocks[layer]
        assert isinstance(block, PerLanguage)  # noqa: S101 - for the type checker
        x_BTD = block.of(code)(x_BTD, *attention[self.config.is_local(layer)])
        if layer == self.depth - 1:
            x_BTD = self.final_norm.of(code)(x_BTD)
        return self._edits.apply(layer + 1, x_BTD, ids_BT)


def is_native(encoder: EncoderLike) -> TypeGuard[Encoder]:
    """Whether an encoder has isoglot's own architecture, so that it can be saved, packed and exported."""
    return isinstance(encoder, Encoder)


def _with_target(
    at_BK: torch.Tensor, targets_BK: torch.Tensor, length: int, most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The first N = ``most`` positions with a target, over all rows, and their targets; missing ones are -100.

    N does not depend on the data, so nothing waits for the device.
    """
    rows, count = at_BK.shape
    every_M = torch.arange(rows * count, device=at_BK.device)
    first_N = torch.where(targets_BK.flatten() >= 0, every_M, rows * count).sort().values[:most]
    there_N = first_N < rows * count
    first_N = torch.where(there_N, first_N, 0)
    at_N = first_N // count * length + at_BK.flatten()[first_N]
    return at_N, torch.where(there_N, targets_BK.flatten()[first_N], -100)


def _code(language: str | None) -> str | None:
    return None if language is None else language_code(language)


def _mask(batch: Batch) -> torch.Tensor | None:
    """The attention mask of a batch; None where nothing is padded."""
    return None if batch.full else batch.mask_BT[:, None, None, :]


def _builder(config: EncoderConfig, layer: int) -> Callable[[str], Block]:
    return lambda _: Block(config, layer)


def _members(
    config: EncoderConfig, vocabulary: Vocabulary | None, members: Mapping[str, np.ndarray] | None
) -> dict[str, Members]:
    """The ids of each language as tensors, always with ``[UNK]``."""
    if members is None:
        if vocabulary is None:
            problem = "private embeddings or softmaxes need the ids of each language"
            raise ConfigError(problem, "pass the vocabulary", "missing-data")
        members = {code: vocabulary.ids_of(code) for code in config.languages}
    found = {}
    for code in config.languages:
        ids = np.union1d(np.asarray(members[code]), [config.pad_id, config.unk_id])
        found[code] = Members(torch.from_numpy(ids.astype(np.int64)), config.vocabulary_size, config.unk_id)
    return found
