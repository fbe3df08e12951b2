"""The losses of a run, kept on the device: nothing waits for it until a line is due.

A loss or a gradient that is not finite is noticed with its step, however late it is looked at; then the run stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoglot.core.errors import NumericError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoglot.pretrain.distributed import World


class Losses:
    """Sums of losses by language, and the first step at which something was not finite.

    Args:
        languages: Whose losses are told apart.
        world: The processes; a loss is the mean over their shares.
    """

    def __init__(self, languages: Iterable[str], world: World) -> None:
        self.world = world
        self.number = {language: index for index, language in enumerate(languages)}
        self.sums = torch.zeros(len(self.number), device=world.device)
        self.counts = [0] * len(self.number)
        self.bad = torch.full((), -1, dtype=torch.int64, device=world.device)
        self.since: dict[int, str] = {}

    def add(self, step: int, language: str, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        """Count in a step; its loss and the length of its gradient are on the device and stay there."""
        index = self.number[language]
        self.sums[index] += loss
        self.counts[index] += 1
        self.since[step] = language
        broken = (self.bad < 0) & ~torch.isfinite(loss + gradient)
        self.bad = torch.where(broken, step, self.bad)

    def check(self, last_good: int | None) -> None:
        """Stop the run if anything was not finite since the last check; the device is waited for.

        Raises:
            NumericError: With the step, its language and the last good checkpoint.
        """
        seen = [int(step) for step in self.world.every(float(self.bad))]
        broken = [step for step in seen if step >= 0]
        if broken:
            step = min(broken)
            raise not_finite(step, self.since.get(step, "?"), last_good)
        self.since.clear()

    def state(self) -> dict[str, Any]:
        """Sums and counts since the last line, for a checkpoint; every process must ask."""
        return {"sums": self.world.sums(self.sums.tolist()), "counts": list(self.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint: the next line is about the steps before it, too."""
        self.counts = [int(count) for count in state["counts"]]
        if self.world.first:  # the sums are those of all processes
            self.sums = torch.tensor(state["sums"], device=self.world.device)

    def take(self) -> dict[str, float]:
        """The mean loss of each language that had a step since this was last asked, over all processes."""
        sums = self.world.sums(self.sums.tolist())
        means = {
            language: sums[index] / (self.counts[index] * self.world.size)
            for language, index in self.number.items()
            if self.counts[index]
        }
        self.sums.zero_()
        self.counts = [0] * len(self.number)
        return means


def not_finite(step: int, language: str, last_good: int | None) -> NumericError:
    """The error of a run that left the numbers."""
    kept = "there is no checkpoint yet" if last_good is None else f"the last good checkpoint is of step {last_good}"
    return NumericError(
        f"the loss is not finite at step {step} (language {language}); {kept}",
        remedy="lower optimizer.learning_rate, lengthen schedule.warmup or set precision=float32, and start anew",
    )
