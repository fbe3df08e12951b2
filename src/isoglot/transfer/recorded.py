"""Forward and back of a step, recorded on a GPU once for every shape and played back from then on.

A step of fine-tuning is some hundreds of small operations, and it takes the host longer to give them to a fast GPU than
the GPU to do them. A recording (a CUDA graph) is given to it as one. In it everything lies where it lay before: the
numbers of a batch's rows are written to where those of the first one were, and gradients come out in the same tensors.

Shapes: ``B`` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import nn

    from isoglot.transfer.stored_rows import Shape

    Backward = Callable[[torch.Tensor, str, Shape], torch.Tensor]
    """The loss of the rows with these numbers, of a language, padded to a shape; it adds to the gradients there are."""


class Recording(NamedTuple):
    """One shape's step."""

    graph: torch.cuda.CUDAGraph
    rows_B: torch.Tensor
    """Which rows it reads, on the device."""
    loss: torch.Tensor
    """Where its loss comes out."""


class Recorder:
    """The same function, played back where it was met before.

    Chance is drawn anew every time: a recording takes torch's seed as it is when it is played.

    Args:
        backward: What is recorded. It must not wait for the device.
        parameters: Whatever it gives gradients to.
        device: The GPU.
    """

    def __init__(self, backward: Backward, parameters: Iterable[nn.Parameter], device: torch.device) -> None:
        self.backward, self.parameters = backward, list(parameters)
        self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
        self.gradients: dict[str, list[torch.Tensor | None]] = {}
        self.recordings: dict[tuple[str, Shape], Recording | None] = {}

    def __call__(self, rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        """The loss, and gradients in the parameters, which must have none."""
        key = language, shape
        if key not in self.recordings:
            self.recordings[key] = None
            return self._plainly(rows_B, language, shape)
        found = self.recordings[key]
        if found is None:
            found = self.recordings[key] = self._recorded(rows_B, language, shape)
        found.rows_B.copy_(rows_B)
        found.graph.replay()
        self._put(language)
        return found.loss.clone()

    def _plainly(self, rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        """The first time: libraries load, choose their kernels and take memory, none of which can be recorded."""
        now = torch.cuda.current_stream(self.stream.device)
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            loss = self.backward(rows_B, language, shape)
        now.wait_stream(self.stream)
        # What a language does not reach has no gradients, also later.
        self.gradients.setdefault(language, [parameter.grad for parameter in self.parameters])
        return loss

    def _recorded(self, rows_B: torch.Tensor, language: str, shape: Shape) -> Recording:
        rows_B, graph = rows_B.clone(), torch.cuda.CUDAGraph()
        self._put(language)
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            torch._foreach_zero_([gradient for gradient in self.gradients[language] if gradient is not None])
            loss = self.backward(rows_B, language, shape)
        return Recording(graph, rows_B, loss)

    def _put(self, language: str) -> None:
        """The language's gradients to their parameters."""
        for parameter, gradient in zip(self.parameters, self.gradients[language], strict=True):
            parameter.grad = gradient
