"""Dev perplexity by language, on masks that never change: the same rows, the same positions, in every run.

Perplexity is e to the mean loss at the masked positions. Runs with the same vocabulary, masking and plan can be
compared by it; a private softmax has fewer pieces to choose from, so its perplexity is lower by itself.

Shapes: ``B`` rows, ``T`` tokens, ``K`` masked positions a row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, nearest_name
from isoglot.pretrain.masking import IGNORED, Masker
from isoglot.pretrain.token_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.distributed import World
    from isoglot.pretrain.masking import MaskingConfig
    from isoglot.pretrain.token_rows import Separator, Windows
    from isoglot.vocab import Shards, Vocabulary

MASK_SEED = 20200704
"""Dev masks do not depend on the run's seed, so that twins are measured alike."""


class EvaluationConfig(Config):
    """Dev perplexity on the way."""

    every: int = Field(1000, ge=0)
    """steps between two evaluations, one more at the end; 0: none, and no dev text is needed"""
    sequences: int = Field(256, ge=1)
    """dev sequences of each language, the first of its text, or all if there are fewer"""
    masking_rate: float | None = Field(None, gt=0, le=1)
    """the share of a dev row's tokens to predict, to compare runs that mask differently; None: as training begins"""
    best: Literal["kept", "counted"] = "kept"
    """whether the encoder with the lowest perplexity is written to best/, or only its step is known"""
    best_by: str | None = None
    """the language whose perplexity says which model is kept as best; None: English, else the first"""


class Dev:
    """The dev rows of every language, and their masks.

    Args:
        config: How many rows, and which language counts.
        shards: The text of each language.
        vocabulary: What the ids are of.
        masking: How they are masked; a rate that changes is taken as it is at the beginning.
        length: Tokens of a row.
        batch: Rows at once.
        world: Who shares the work.
        separator: What a ``[SEP]`` is put behind, as in training.
        windows: What rows are cut from, as in training.

    Raises:
        ConfigError: A language has less dev text than one row, or the one that counts is not there.
    """

    def __init__(
        self,
        config: EvaluationConfig,
        shards: Mapping[str, Shards],
        vocabulary: Vocabulary,
        masking: MaskingConfig,
        *,
        length: int,
        batch: int,
        world: World,
        separator: Separator = "none",
        windows: Windows = "stream",
    ) -> None:
        self.config, self.batch, self.world = config, batch, world
        self.best_by = config.best_by or ("en" if "en" in shards else next(iter(shards)))
        if self.best_by not in shards:
            raise ConfigError(
                f"evaluation.best_by is {self.best_by!r}, and there are no shards of it",
                remedy=nearest_name(self.best_by, shards),
                code="config.unknown-name",
            )
        if config.masking_rate is not None:
            masking = masking.model_copy(update={"rate": config.masking_rate})
        self.masker = Masker.for_vocabulary(masking, vocabulary, shards, seed=MASK_SEED, device=world.device)
        padded = windows == "sentences"
        self.separator = vocabulary.layout.separator if padded or separator != "none" else None
        self.pad = vocabulary.pad_id if padded else None
        self.rows = {
            code: Rows(
                one,
                length=length,
                layout=vocabulary.layout,
                pad=vocabulary.pad_id,
                device=world.device,
                split="dev",
                separator=separator,
                windows=windows,
            ).fixed(config.sequences)
            for code, one in (shards.items() if config.every else ())
        }

    @torch.no_grad()
    def losses(self, encoder: Encoder) -> dict[str, float]:
        """The mean loss of each language at the masked positions of its rows; every process does its share.

        Args:
            encoder: In evaluation mode.
        """
        sums: list[float] = []
        for language, ids_NT in self.rows.items():
            numbers_N = torch.arange(len(ids_NT), device=ids_NT.device)
            mine = self.world.share_of(len(ids_NT))
            losses, count = [], 0
            for start in range(mine.start, mine.stop, self.batch):
                part = slice(start, min(start + self.batch, mine.stop))
                masked = self.masker.masked(
                    ids_NT[part], 0, numbers_N[part], language, separator=self.separator, pad=self.pad
                )
                mask_BT = None if self.pad is None else ids_NT[part] != self.pad
                hidden_BTD = encoder.hidden(masked.inputs_BT, language, mask_BT=mask_BT)
                losses.append(encoder.loss(hidden_BTD, masked.at_BK, masked.targets_BK, language, reduction="sum"))
                count += int((masked.targets_BK != IGNORED).sum())
            sums += [sum(torch.stack(losses).tolist()) if losses else 0.0, float(count)]
        sums = self.world.sums(sums)
        return {language: sums[2 * n] / sums[2 * n + 1] for n, language in enumerate(self.rows)}


def perplexity(loss: float) -> float:
    """The power of e that a loss is, and no overflow.

    >>> round(perplexity(math.log(50)))
    50
    """
    return math.exp(min(loss, 700.0))
