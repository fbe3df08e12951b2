"""GloVe on blocks of co-occurrences, with a state that can be saved between epochs."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    """GloVe in training.

    Attributes:
        words: Word vectors and biases.
        contexts: Context vectors and biases.
        epoch: Number of epochs so far.
        losses: Mean loss of a pair in each epoch.
    """

    words: Side
    contexts: Side
    epoch: int
    losses: list[float]

    @classmethod
    def begin(cls, types: int, dimensions: int, seed: int) -> Glove:
        """Initialize as the authors' program does."""
        sides = [_side(types, dimensions, seed, name) for name in ("words", "contexts")]
        return cls(sides[0], sides[1], 0, [])

    def learn_epoch(
        self, blocks: Blocks, config: GloveConfig, *, workers: int = 1, progress: Progress = SILENT
    ) -> float:
        """Train one epoch; returns the mean loss of a pair, computed before its update.

        Blocks without a common row or column are processed in parallel, so the result does not depend on the number of
        workers.

        Raises:
            ConfigError: The loss or the vectors are not finite.
        """
        generator = random_stream(config.seed, "glove", self.epoch)
        shifts = generator.permutation(blocks.groups)
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
                jobs = [(block, generator.permutation(len(block.runs_R) - 1)) for block in apart]
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
                f"lower the learning rate: --set learning_rate={lower_rate(config):g}",
                "diverged",
            )
        self.epoch += 1
        self.losses.append(loss)
        return loss

    def vectors(self, kind: str = "sum") -> np.ndarray:
        """The vector of each type (V x D): the sum of word and context vector, or the word vector."""
        found = self.words.vectors_VD
        return found + self.contexts.vectors_VD if kind == "sum" else found.copy()

    def arrays(self) -> dict[str, np.ndarray]:
        """All learned arrays, by name."""
        return {
            f"{side}.{name}": array
            for side in ("words", "contexts")
            for name, array in getattr(self, side)._asdict().items()
        }

    def state(self) -> dict[str, Any]:
        """What a checkpoint has besides the arrays."""
        return {"losses": self.losses}

    def restore(self, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Resume from a checkpoint: :meth:`arrays`, and :meth:`state` with its ``step``."""
        for name, here in self.arrays().items():
            here[:] = arrays[name]
        self.epoch, self.losses = state["step"], list(state["losses"])


def _side(types: int, dimensions: int, seed: int, name: str) -> Side:
    generator = random_stream(seed, "glove", name)
    vectors = ((generator.random((types, dimensions), dtype=np.float32) - 0.5) / dimensions).astype(np.float32)
    biases = ((generator.random(types, dtype=np.float32) - 0.5) / dimensions).astype(np.float32)
    return Side(vectors, np.ones_like(vectors), biases, np.ones_like(biases))
