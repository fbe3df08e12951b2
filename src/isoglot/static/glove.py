"""GloVe over blocks of co-occurrences: epochs, workers, and a state that can be written down between epochs."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.static.config import lower_rate
from isoglot.static.glove_loops import Side, learn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.core.progress import Progress
    from isoglot.static.blocks import Block, Blocks
    from isoglot.static.config import GloveConfig


@dataclass
class Glove:
    """Vectors on the way.

    Attributes:
        words: Subwords as words.
        contexts: Subwords as contexts.
        epoch: How many epochs are done.
        losses: The mean loss of a pair in each.
    """

    words: Side
    contexts: Side
    epoch: int
    losses: list[float]

    @classmethod
    def begin(cls, types: int, dimensions: int, seed: int) -> Glove:
        """Small numbers, as the authors' program draws them."""
        sides = [_side(types, dimensions, seed, name) for name in ("words", "contexts")]
        return cls(sides[0], sides[1], 0, [])

    def learn_epoch(
        self, blocks: Blocks, config: GloveConfig, *, workers: int = 1, progress: Progress = SILENT
    ) -> float:
        """Go through all pairs once; returns the mean loss of a pair, each taken before its step.

        Blocks with no row and no column in common are learned from at the same time; as they share nothing, the result
        does not depend on how many workers there are.

        Raises:
            ConfigError: The numbers have run away.
        """
        chance = random_stream(config.seed, "glove", self.epoch)
        shifts = chance.permutation(blocks.groups)
        total = max(len(blocks), 1)
        loss = 0.0
        label = f"epoch {self.epoch + 1} of {config.epochs}"
        with progress.task(label, total=len(blocks), unit="pairs") as task, ThreadPoolExecutor(workers) as pool:

            def work(job: tuple[Block, np.ndarray]) -> float:
                block, order = job
                found = learn(
                    block.pairs_K,
                    block.runs_R,
                    order,
                    self.words,
                    self.contexts,
                    np.float32(config.learning_rate),
                    np.float32(config.gradient_clip),
                )
                return float(found)

            for shift in shifts.tolist():
                apart = [blocks.grid[group][(group + shift) % blocks.groups] for group in range(blocks.groups)]
                jobs = [(block, chance.permutation(len(block.runs_R) - 1)) for block in apart]
                for (block, _), found in zip(jobs, pool.map(work, jobs), strict=True):
                    loss += found
                    task.advance(len(block.pairs_K))
            loss /= total
            task.note(f"loss {loss:.4g}")
        if not math.isfinite(loss) or not all(
            np.isfinite(side.vectors_VD).all() for side in (self.words, self.contexts)
        ):
            raise ConfigError(
                f"epoch {self.epoch + 1}: the loss is not finite",
                remedy=f"lower the rate: --set learning_rate={lower_rate(config):g}",
                code="config.diverged",
            )
        self.epoch += 1
        self.losses.append(loss)
        return loss

    def vectors(self, kind: str = "sum") -> np.ndarray:
        """A vector for each type (V x D): the sum of its two, or the one as a word."""
        found = self.words.vectors_VD
        return found + self.contexts.vectors_VD if kind == "sum" else found.copy()

    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers, by name."""
        return {
            f"{side}.{name}": array
            for side in ("words", "contexts")
            for name, array in getattr(self, side)._asdict().items()
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray], epoch: int, losses: list[float]) -> Glove:
        """What was written down, as it was."""
        sides = [
            Side(**{name: np.array(arrays[f"{side}.{name}"]) for name in Side._fields})
            for side in ("words", "contexts")
        ]
        return cls(sides[0], sides[1], epoch, losses)


def _side(types: int, dimensions: int, seed: int, name: str) -> Side:
    chance = random_stream(seed, "glove", name)
    vectors = ((chance.random((types, dimensions), dtype=np.float32) - 0.5) / dimensions).astype(np.float32)
    biases = ((chance.random(types, dtype=np.float32) - 0.5) / dimensions).astype(np.float32)
    return Side(vectors, np.ones_like(vectors), biases, np.ones_like(biases))
