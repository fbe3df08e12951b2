"""Forward and back of a step, recorded on a GPU once for every shape and played back from then on.

A step of fine-tuning is some hundreds of small operations, and it takes the host longer to give them to a fast GPU than
the GPU to do them. A recording (a CUDA graph) is given to it as one. In it everything lies where it lay before: the
numbers of a batch's rows are written to where those of the first one were, and gradients come out in the same tensors.

Shapes: ``B`` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from isoglot.core.errors import ConfigError

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
        parameters: Whatever the function gives gradients to.
        device: The GPU.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], device: torch.device) -> None:
        self.parameters = list(parameters)
        self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
        self.gradients: list[torch.Tensor | None] = [None] * len(self.parameters)
        self.reached: dict[str, list[bool]] = {}
        self.recordings: dict[tuple[str, Shape], Recording | None] = {}

    def __call__(self, backward: Backward, rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        """The loss, and gradients in the parameters, which must have none.

        Args:
            backward: What is recorded, the same in every call. It must not wait for the device. It is not kept: whoever
                has this recorder would be kept with it.
            rows_B: The numbers of rows, on the device.
            language: Their language.
            shape: What they are padded to.

        Raises:
            ConfigError: The function waits for the device.
        """
        key = language, shape
        if key not in self.recordings:
            self.recordings[key] = None
            return self._plainly(backward, rows_B, language, shape)
        found = self.recordings[key]
        if found is None:
            found = self.recordings[key] = self._recorded(backward, rows_B, language, shape)
        found.rows_B.copy_(rows_B)
        found.graph.replay()
        self._put(language)
        return found.loss.clone()

    def _plainly(self, backward: Backward, rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        """The first time: libraries load, choose their kernels and take memory, none of which can be recorded."""
        now = torch.cuda.current_stream(self.stream.device)
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            loss = backward(rows_B, language, shape)
        now.wait_stream(self.stream)
        if language not in self.reached:  # What it does not reach has no gradients, also later.
            found = [parameter.grad for parameter in self.parameters]
            self.reached[language] = [gradient is not None for gradient in found]
            self.gradients = [
                one if one is not None else other for one, other in zip(self.gradients, found, strict=True)
            ]
        return loss

    def _recorded(self, backward: Backward, rows_B: torch.Tensor, language: str, shape: Shape) -> Recording:
        rows_B, graph = rows_B.clone(), torch.cuda.CUDAGraph()
        self._put(language)
        held = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        try:
            with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
                torch._foreach_zero_(held)
                loss = backward(rows_B, language, shape)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise ConfigError(
                f"a step cannot be recorded on the GPU: {str(error).splitlines()[0]}", remedy="set cuda_graphs=off"
            ) from error
        return Recording(graph, rows_B, loss)

    def _put(self, language: str) -> None:
        """The gradients that a language reaches to their parameters."""
        for parameter, gradient, reached in zip(self.parameters, self.gradients, self.reached[language], strict=True):
            parameter.grad = gradient if reached else None
