"""The encoder: embeddings, layers and a softmax over masked tokens, any part of it private to each language.

>>> from isoglot.model.config import encoder_config
>>> config = encoder_config("paper", "nano", vocabulary_size=50, languages=("en", "fr"), plan="1")
>>> encoder = Encoder(config)
>>> [name for name, _ in encoder.named_parameters() if "qkv.bias" in name]
['blocks.0.en.attention.qkv.bias', 'blocks.0.fr.attention.qkv.bias', 'blocks.1.shared.attention.qkv.bias']

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``K`` masked positions a row, ``L`` layers, ``V`` vocabulary.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import nn

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.model.blocks import Block, norm, rotation
from isoglot.model.edits import Edits, check_layer
from isoglot.model.embedding import Embedding, Members, PerLanguage
from isoglot.model.head import Head, NoHead
from isoglot.model.protocol import end_of_way
from isoglot.text.provenance import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np

    from isoglot.model.batch import Batch
    from isoglot.model.config import EncoderConfig
    from isoglot.model.edits import Change
    from isoglot.model.hf.sentence_transformers import SentenceHead
    from isoglot.vocab import Vocabulary


class Sight(NamedTuple):
    """What a layer needs to know of where tokens stand."""

    mask: torch.Tensor | None
    """True where a token may look (broadcast to B x heads x T x T); None: everywhere."""
    turn: torch.Tensor | None
    """The rotation of queries and keys, where positions are rotary."""


class _EditedEmbedding(Embedding):
    """The embeddings with what is edited there, also for who wants no more of an encoder than them."""

    def __init__(self, config: EncoderConfig, members: Mapping[str, Members], edits: Edits) -> None:
        super().__init__(config, members)
        self.edits = edits

    def forward(
        self,
        ids_BT: torch.Tensor,
        language: str | None = None,
        languages_BT: torch.Tensor | None = None,
        positions_BT: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The embeddings after their norm, B x T x D."""
        x_BTD = super().forward(ids_BT, language, languages_BT, positions_BT)
        return self.edits.apply(0, x_BTD, ids_BT)


class Encoder(nn.Module):
    """A masked language model whose languages share what its plan says.

    Initial values depend on the seed and a parameter's name alone: a part that two plans have in common starts the
    same in both, and the private parts of two languages start apart.

    Args:
        config: Its shape and plan.
        vocabulary: What its ids mean; needed by what takes text, not by the arithmetic.
        members: The ids of each language, for private embeddings and softmaxes; by default the vocabulary's.
        seed: Decides the initial values; None leaves them for weights that are about to be loaded.

    Raises:
        ConfigError: A vocabulary of another size, or private tables without knowing which ids a language has.
    """

    sentence_head: SentenceHead | None = None
    """What makes the vector of a sentence, where imported weights came with it."""

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
            raise ConfigError(
                f"an encoder for {config.vocabulary_size:,} pieces with a vocabulary of {len(vocabulary):,}",
                remedy="use the vocabulary it was made for",
            )
        plan = config.sharing
        self.config = config
        self._vocabulary = vocabulary
        self._edits = Edits()
        self.provenance = unknown("an encoder without a record")
        self.members = nn.ModuleDict()
        if plan.private & {"emb", "softmax"}:
            self.members.update(_members(config, vocabulary, members))
        known = {name: part for name, part in self.members.items() if isinstance(part, Members)}
        self.embedding = _EditedEmbedding(config, known, self._edits)
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
        """Set every parameter to its initial value: matrices normal with deviation 0.02, biases 0, norms 1.

        In a pre-norm encoder, what a layer adds starts smaller the more layers there are, as in GPT-2.
        """
        norms = {f"{name}.weight" for name, part in self.named_modules() if isinstance(part, nn.LayerNorm)}
        smaller = (2 * self.depth) ** -0.5 if self.config.norm == "pre" else 1.0
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() == 1:
                    parameter.fill_(1.0 if name in norms else 0.0)
                    continue
                chance = torch.Generator().manual_seed(derive_seed(seed, "initial", name))
                deviation = 0.02 * (smaller if name.endswith(("out.weight", "down.weight")) else 1.0)
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, deviation, generator=chance))

    # --- what every encoder has ---

    @property
    def vocabulary(self) -> Vocabulary:
        """What its ids mean.

        Raises:
            ConfigError: It was made without one.
        """
        if self._vocabulary is None:
            raise ConfigError("the encoder has no vocabulary", remedy="load it with its tokenizer, or give it one")
        return self._vocabulary

    @property
    def has_vocabulary(self) -> bool:
        """Whether it knows what its ids mean."""
        return self._vocabulary is not None

    def member_ids(self) -> dict[str, np.ndarray]:
        """The ids of each language, where tables are private; empty where not."""
        return {code: part.ids.cpu().numpy() for code, part in self.members.items() if isinstance(part, Members)}

    @property
    def hidden_size(self) -> int:
        """Dimensions of the hidden states."""
        return self.config.hidden_size

    @property
    def depth(self) -> int:
        """How many layers it has."""
        return self.config.layers

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special ones included."""
        return self.config.max_length

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.embedding.norm.of(next(iter(self.embedding.norm))).weight.device

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """The output of every layer (L + 1 of B x T x D); the first is the embeddings, after their norm."""
        code = self._code(language)
        found = [self.embedding(batch.ids_BT, code)]
        sights = self._sights(batch.ids_BT, _mask(batch))
        for layer in range(self.depth):
            found.append(self._layer(layer, found[-1], code, sights, batch.ids_BT))
        return tuple(found)

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Go on from the output of a layer (0: the embeddings) to the output of a later one, the last unless told.

        Raises:
            ConfigError: There is no such layer, or the later one comes before.
        """
        end = end_of_way(layer, to, self.depth)
        code = self._code(language)
        sights = self._sights(batch.ids_BT, _mask(batch))
        for number in range(layer, end):
            hidden = self._layer(number, hidden, code, sights, batch.ids_BT)
        return hidden

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Scores of every piece (… x V) from the last layer's output; ``ABSENT`` where a private softmax has none."""
        return self.head.logits(hidden, self._code(language))

    @contextmanager
    def edited(self, layer: int, change: Change) -> Iterator[None]:
        """While the block lasts, the output of a layer (0: the embeddings) goes through a change.

        ``layers`` and ``hidden`` have it, and ``run_from`` in the layers after the one it starts from. Several changes
        follow one another in the order they were entered; leaving undoes, after an error too.

        Raises:
            ConfigError: There is no such layer.
        """
        check_layer(layer, self.depth)
        with self._edits.entered(layer, change):
            yield

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
        """The last layer's output (B x T x D) for rows of one length.

        Args:
            ids_BT: The tokens.
            language: Whose private parts to use, as its canonical code.
            languages_BT: The language of each token, where a row has several (numbers in the config).
            positions_BT: The place of each token, where it is not its column.
            mask_BT: True at real tokens, where some are not.
        """
        x_BTD: torch.Tensor = self.embedding(ids_BT, language, languages_BT, positions_BT)
        sights = self._sights(ids_BT, None if mask_BT is None else mask_BT[:, None, None, :], positions_BT)
        for layer in range(self.depth):
            x_BTD = self._layer(layer, x_BTD, language, sights, ids_BT)
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
        """Cross entropy at the masked positions only: a scalar, or B x K for ``none``.

        The softmax costs as much as several layers, so it is computed for no other position. A target of -100 counts
        for nothing; where many are, ``most`` (see :meth:`forward`) spares their softmax, too.
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
        """The mean loss of a batch: what training calls.

        Args:
            ids_BT: As for :meth:`hidden`, with all that has its name there.
            at_BK: The masked positions of each row.
            targets_BK: What was there; -100: nothing to predict.
            language: Whose private parts to use.
            languages_BT: As there.
            positions_BT: As there.
            mask_BT: As there.
            most: How many targets of the batch there are to predict at most, where rows have fewer than K; any more,
                the last ones, are left out. None: B x K.
        """
        hidden_BTD = self.hidden(
            ids_BT, language, languages_BT=languages_BT, positions_BT=positions_BT, mask_BT=mask_BT
        )
        return self.loss(hidden_BTD, at_BK, targets_BK, language, most=most)

    def check_language(self, code: str) -> None:
        """Refuse a language that has no part where each has its own.

        Raises:
            ConfigError: So it is.
        """
        for part in self.modules():
            if isinstance(part, PerLanguage):
                part.of(code)

    # --- the way through ---

    def _code(self, language: str | None) -> str | None:
        return None if language is None else language_code(language)

    def _sights(
        self, ids_BT: torch.Tensor, mask: torch.Tensor | None, positions_BT: torch.Tensor | None = None
    ) -> dict[bool, Sight]:
        """What layers attend to: those that see everything (False) and those that see a neighborhood (True).

        All layers of a kind see the same, so it is worked out once for all of them.
        """
        config = self.config
        size = config.hidden_size // config.heads
        sights = {}
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
            sights[local] = Sight(seen, turn)
        return sights

    def _layer(
        self, layer: int, x_BTD: torch.Tensor, code: str | None, sights: dict[bool, Sight], ids_BT: torch.Tensor
    ) -> torch.Tensor:
        """One layer; after the last of a pre-norm encoder its final norm; then what is edited there."""
        block = self.blocks[layer]
        assert isinstance(block, PerLanguage)  # noqa: S101 - for the type checker
        x_BTD = block.of(code)(x_BTD, *sights[self.config.is_local(layer)])
        if layer == self.depth - 1:
            x_BTD = self.final_norm.of(code)(x_BTD)
        return self._edits.apply(layer + 1, x_BTD, ids_BT)


def _with_target(
    at_BK: torch.Tensor, targets_BK: torch.Tensor, length: int, most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The first N = ``most`` positions that have a target, counted through all rows, and the targets; the rest is -100.

    N is known before the data is, so that nothing waits for the device.
    """
    rows, count = at_BK.shape
    every_M = torch.arange(rows * count, device=at_BK.device)
    first_N = torch.where(targets_BK.flatten() >= 0, every_M, rows * count).sort().values[:most]
    there_N = first_N < rows * count
    first_N = torch.where(there_N, first_N, 0)
    at_N = first_N // count * length + at_BK.flatten()[first_N]
    return at_N, torch.where(there_N, targets_BK.flatten()[first_N], -100)


def _mask(batch: Batch) -> torch.Tensor | None:
    """Where a batch has tokens, for attention."""
    return None if batch.full else batch.mask_BT[:, None, None, :]


def _builder(config: EncoderConfig, layer: int) -> Callable[[str], Block]:
    return lambda _: Block(config, layer)


def _members(
    config: EncoderConfig, vocabulary: Vocabulary | None, members: Mapping[str, np.ndarray] | None
) -> dict[str, Members]:
    """The ids of each language as tensors, ``[UNK]`` always among them."""
    import numpy as np

    if members is None:
        if vocabulary is None:
            raise ConfigError(
                "private embeddings or softmaxes need to know the ids of each language",
                remedy="give the vocabulary",
            )
        members = {code: vocabulary.ids_of(code) for code in config.languages}
    found = {}
    for code in config.languages:
        ids = np.union1d(np.asarray(members[code]), [config.pad_id, config.unk_id])
        found[code] = Members(torch.from_numpy(ids.astype(np.int64)), config.vocabulary_size, config.unk_id)
    return found
