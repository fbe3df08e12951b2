"""Embeddings (tokens, positions, language, segment), and modules that are shared or private to each language.

A private token table has rows only for the ids of its language; any other id reads the row of ``[UNK]``.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``V`` vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

import torch
from torch import nn

from isoglot.core.errors import ConfigError, check_name
from isoglot.model.blocks import norm
from isoglot.model.kernels.dropout import Dropout
from isoglot.model.protocol import Edits, in_second_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.model.config import EncoderConfig

SHARED = "shared"
PartT = TypeVar("PartT", bound=nn.Module)


class PerLanguage(nn.ModuleDict, Generic[PartT]):
    """A part of an encoder, under the name ``shared`` or one per language.

    Args:
        languages: The languages with a part of their own; empty: all share one.
        build: Builds the part of a language, or ``shared``.
    """

    def __init__(self, languages: Sequence[str], build: Callable[[str], PartT]) -> None:
        super().__init__({name: build(name) for name in languages or (SHARED,)})

    def of(self, language: str | None) -> PartT:
        """Return the part that a language uses.

        Raises:
            ConfigError: Each language has its own, and this one is missing or not named.
        """
        if SHARED in self:
            return cast("PartT", self[SHARED])
        if language is None:
            raise ConfigError(
                "the encoder has private parts, and no language is named",
                f"choose one of {', '.join(self)}: --lang {next(iter(self))}",
                "missing-option",
            )
        check_name("language of the encoder", language, self, "unknown-language")
        return cast("PartT", self[language])


class Members(nn.Module):
    """The ids of a language, and their rows in its private tables.

    Args:
        ids: Sorted ids, with ``[UNK]``.
        size: Size of the vocabulary.
        unknown: The id whose row all other ids use.
    """

    ids: torch.Tensor
    row_V: torch.Tensor

    def __init__(self, ids: torch.Tensor, size: int, unknown: int) -> None:
        super().__init__()
        rows_V = torch.full((size,), -1, dtype=torch.int64)
        rows_V[ids] = torch.arange(len(ids))
        rows_V[rows_V < 0] = rows_V[unknown].clone()
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("row_V", rows_V, persistent=False)


class Embedding(nn.Module):
    """Sum of token, position, language and segment embeddings, normalized."""

    def __init__(self, config: EncoderConfig, members: Mapping[str, Members], edits: Edits) -> None:
        super().__init__()
        plan = config.sharing
        self.edits = edits
        own = config.languages if plan.is_private("emb") else ()
        own_positions = config.languages if plan.is_private("pos") else ()
        self.config = config
        self.members = dict(members)  # registered by the encoder
        self.tokens = PerLanguage(own, lambda name: nn.Embedding(self._rows(name), config.hidden_size))
        self.positions = (
            PerLanguage(own_positions, lambda _: nn.Embedding(config.max_length, config.hidden_size))
            if config.positions == "learned"
            else None
        )
        added = config.language_embeddings == "added"
        # One parameter per language: a batch of another language must not move it.
        self.languages = (
            nn.ParameterDict({code: nn.Parameter(torch.zeros(1, config.hidden_size)) for code in config.languages})
            if added
            else None
        )
        # BERT's second segment minus the first, which is part of the positions.
        self.second_segment = None if config.separator_id is None else nn.Parameter(torch.zeros(1, config.hidden_size))
        self.norm = PerLanguage(own, lambda _: norm(config))
        self.dropout = Dropout(config.dropout)

    def _rows(self, name: str) -> int:
        return self.config.vocabulary_size if name == SHARED else len(self.members[name].ids)

    def forward(
        self,
        ids_BT: torch.Tensor,
        language: str | None = None,
        languages_BT: torch.Tensor | None = None,
        positions_BT: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Embed ids (B x T x D).

        Args:
            ids_BT: Token ids.
            language: The language whose private parts and embedding to use.
            languages_BT: The language of each token as an index into the config's, where a row has several.
            positions_BT: The position of each token; default: its column.

        Raises:
            ConfigError: The rows are too long, or the encoder lacks the language.
        """
        if ids_BT.shape[1] > self.config.max_length:
            raise ConfigError(
                f"{ids_BT.shape[1]} tokens exceed the encoder's maximum of {self.config.max_length}",
                "truncate the input",
                "invalid-value",
            )
        table, given_BT = self.tokens.of(language), ids_BT
        if SHARED not in self.tokens:
            ids_BT = self.members[language or ""].row_V[ids_BT]
        x_BTD: torch.Tensor = table(ids_BT)
        if self.positions is not None:
            places = self.positions.of(language)
            x_BTD = x_BTD + (places.weight[: ids_BT.shape[1]] if positions_BT is None else places(positions_BT))
        if self.languages is not None:
            if languages_BT is None:
                x_BTD = x_BTD + self.language_vector(language)
            else:
                x_BTD = x_BTD + torch.cat([self.languages[code] for code in self.config.languages])[languages_BT]
        if self.second_segment is not None and self.config.separator_id is not None:
            second_BT = in_second_text(given_BT, self.config.separator_id, self.config.pad_id)
            x_BTD = x_BTD + second_BT[..., None] * self.second_segment
        normed: torch.Tensor = self.dropout(self.norm.of(language)(x_BTD))
        return self.edits.apply(0, normed, given_BT)

    def language_vector(self, language: str | None) -> torch.Tensor:
        """The language embedding (1 x D).

        Raises:
            ConfigError: The encoder lacks the language.
        """
        if self.languages is None or language is None or language not in self.languages:
            raise ConfigError(
                f"the encoder has no language embedding of {language!r}",
                f"choose one of {', '.join(self.config.languages)}",
                "unknown-language",
            )
        own: torch.Tensor = self.languages[language]
        return own
