"""A few shapes that hold all batches, so that few have to be recorded, with as little padding as so few allow.

>>> widths([10, 10, 11, 30, 31, 90], most=3)
[16, 32, 96]

Forward and back of a step, recorded on a GPU once for every shape and played back from then on.

A step of fine-tuning is some hundreds of small operations, and it takes the host longer to give them to a fast GPU than
the GPU to do them. A recording (a CUDA graph) is given to it as one. In it everything lies where it lay before: the
numbers of a batch's rows are written to where those of the first one were, and gradients come out in the same tensors.

Shapes: ``B`` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.core.errors import ConfigError
from isoglot.transfer.tuning.stored_rows import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch import nn

    from isoglot.transfer.tuning.stored_rows import StoredRows

MOST = 8
"""Shapes of a language's batches, each of which is recorded for itself. In batches of 32 of isoglot-mini's pieces, the
tokens of WikiAnn and of UD English-EWT become 1.38 and 1.27 times as many with padding; 1.70 and 1.75 with three
shapes, 1.35 and 1.24 with as many as there are."""
_STEP = 8  # what tensor cores like


def widths(sizes: Sequence[int] | np.ndarray, *, most: int = MOST) -> list[int]:
    """So many widths at most, multiples of 8, that hold all sizes with the fewest columns in all.

    Exact, by dynamic programming over the multiples of 8 that occur.

    Args:
        sizes: Of the rows.
        most: How many widths.
    """
    found_U, counts_U = np.unique(-(-np.asarray(sizes) // _STEP) * _STEP, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts_U)])  # rows narrower than each
    # cost[i]: of the first i different sizes with the widths so far; chosen: where the last width's sizes begin.
    cost = np.where(np.arange(len(found_U) + 1) > 0, np.inf, 0.0)
    history: list[np.ndarray] = []
    for _ in range(min(most, len(found_U))):
        options = cost[:, None] + (before[None, 1:] - before[:, None]) * found_U[None, :].astype(float)
        options[np.arange(len(found_U) + 1)[:, None] > np.arange(len(found_U))[None, :]] = np.inf
        history.append(options.argmin(axis=0))
        cost = np.concatenate([[0.0], options.min(axis=0)])
    chosen, end = [], len(found_U)
    for begins in reversed(history):
        if end == 0:
            break
        chosen.append(int(found_U[end - 1]))
        end = int(begins[end - 1])
    return sorted(chosen)


class Shapes:
    """The shapes of one language's batches.

    Args:
        stored: The rows.
        rows: Of a batch.
        tokens: Of a batch, instead.
        most: How many shapes.
    """

    def __init__(self, stored: StoredRows, *, rows: int, tokens: int | None, most: int = MOST) -> None:
        sizes = stored.sizes[: len(stored)]
        self.stored = stored
        self.all: list[Shape] = []
        for width in widths(sizes, most=most):
            places = int(stored.widths[: len(stored)][sizes <= width].max())
            places = places if places == 1 else -(-places // _STEP) * _STEP
            size = min(width, stored.length)
            most_rows = rows if tokens is None else max(1, tokens // size)
            self.all.append(Shape(min(most_rows, len(stored)), size, places))

    def of(self, numbers: Sequence[int]) -> Shape:
        """The shape that holds some rows."""
        longest = int(self.stored.sizes[np.asarray(numbers)].max())
        return next(shape for shape in self.all if longest <= shape.tokens)

    def width(self, size: int) -> int:
        """What a row of so many tokens is padded to."""
        return next(shape.tokens for shape in self.all if size <= shape.tokens)


if TYPE_CHECKING:
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
                f"a step cannot be recorded on the GPU: {str(error).splitlines()[0]}",
                remedy="set cuda_graphs=off",
                code="config.not-supported",
            ) from error
        return Recording(graph, rows_B, loss)

    def _put(self, language: str) -> None:
        """The gradients that a language reaches to their parameters."""
        for parameter, gradient, reached in zip(self.parameters, self.gradients, self.reached[language], strict=True):
            parameter.grad = gradient if reached else None
