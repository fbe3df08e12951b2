"""Dev perplexity by language, at the same masked positions of the same rows in every run.

Perplexity is e to the mean loss at the masked positions. It compares runs with the same vocabulary, masking and sharing
plan; a private softmax has fewer subwords to choose from, so its perplexity is lower by construction.

Shapes: ``B`` rows, ``T`` tokens, ``K`` masked positions a row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import check_name
from isoglot.pretrain.masking import IGNORED, Masker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.distributed import World
    from isoglot.vocab import Shards, Vocabulary

MASK_SEED = 20200704  # seed of dev masks: not the run's, so that runs that differ by their seed are measured alike


class EvaluationConfig(Config):
    """Evaluation of dev perplexity during training."""

    every: int = Field(1000, ge=0)
    """steps between two evaluations, with one more at the end; 0: none, and no dev text is needed"""
    sequences: int = Field(256, ge=1)
    """number of dev sequences of each language, or all if there are fewer"""
    masking_rate: float | None = Field(None, gt=0, le=1)
    """masking rate of dev rows, to compare runs that mask differently; None: as training begins"""
    best: Literal["kept", "counted"] = "kept"
    """whether the encoder with the lowest perplexity is written to best/, or only its step recorded"""
    best_by: str | None = None
    """the language whose perplexity selects the best encoder; None: English, else the first"""


class Dev:
    """Dev rows of every language with fixed masks.

    Args:
        config: The run's settings; a masking rate that changes is taken as it is at the beginning.
        shards: The text of each language.
        vocabulary: The vocabulary of the ids.
        length: Tokens of a row.
        world: The process group that shares the work.

    Raises:
        ConfigError: A language has less dev text than one row, or the language of ``best_by`` has no shards.
    """

    def __init__(
        self, config: PretrainConfig, shards: Mapping[str, Shards], vocabulary: Vocabulary, *, length: int, world: World
    ) -> None:
        evaluation, batch, masking = config.evaluation, config.batch, config.masking
        self.world = world
        self.batch = max(1, batch.size // (world.size * batch.gradient_accumulation))
        self.best_by = evaluation.best_by or ("en" if "en" in shards else next(iter(shards)))
        check_name("language in evaluation.best_by", self.best_by, shards)
        if evaluation.masking_rate is not None:
            masking = masking.model_copy(update={"rate": evaluation.masking_rate})
        self.masker = Masker.for_vocabulary(masking, vocabulary, shards, seed=MASK_SEED, device=world.device)
        self.separator, self.pad = batch.never_masked(vocabulary)
        options = {"length": length, "device": world.device, "split": "dev"}
        self.rows = {
            code: batch.rows(one, vocabulary, **options).fixed(evaluation.sequences)
            for code, one in (shards.items() if evaluation.every else ())
        }

    @torch.no_grad()
    def losses(self, encoder: Encoder) -> dict[str, float]:
        """Mean loss of each language at the masked positions of its rows; every rank computes its share.

        Args:
            encoder: The encoder, in evaluation mode.
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
    """Exponential of a loss, without overflow.

    >>> round(perplexity(math.log(50)))
    50
    """
    return math.exp(min(loss, 700.0))
