"""Forward and backward passes as CUDA graphs, captured once per batch shape and replayed afterwards.

A fine-tuning step consists of hundreds of small operations, and launching them takes the host longer than a fast GPU
needs to run them. A CUDA graph is launched as one operation. Its tensors have fixed addresses: row indices of a batch
are copied into the tensor of the captured one, and gradients appear in the same tensors.

Batches are padded to one of a few shapes, chosen for minimal padding, so that few graphs are captured.

>>> widths([10, 10, 11, 30, 31, 90], most=3)
[16, 32, 96]

Shapes: ``B`` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.core.errors import ConfigError
from isoglot.transfer.tuning.batches import Shape, StoredRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch import nn


MOST = 8
"""Maximum number of batch shapes per language, each captured separately. In batches of 32 with isoglot-mini's
tokenizer, padding multiplies the tokens of WikiAnn and UD English-EWT by 1.38 and 1.27; with three shapes by 1.70 and
1.75, with any number by 1.35 and 1.24."""
_STEP = 8  # multiple that tensor cores prefer


def widths(sizes: Sequence[int] | np.ndarray, *, most: int = MOST) -> list[int]:
    """Choose widths, multiples of 8, that minimize the total padded size of all rows.

    Exact, by dynamic programming over the multiples of 8 that occur.

    Args:
        sizes: Lengths of the rows.
        most: Maximum number of widths.
    """
    found_U, counts_U = np.unique(-(-np.asarray(sizes) // _STEP) * _STEP, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts_U)])  # number of narrower rows
    # cost[i]: total size of the first i distinct sizes with the widths so far.
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
    """Batch shapes of one language.

    Args:
        stored: The rows.
        rows: Number of rows per batch.
        tokens: Maximum number of tokens per batch; replaces ``rows``.
        most: Maximum number of shapes.
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
        """Smallest shape for some rows."""
        longest = int(self.stored.sizes[np.asarray(numbers)].max())
        return next(shape for shape in self.all if longest <= shape.tokens)

    def width(self, size: int) -> int:
        """Width that a row of some length is padded to."""
        return next(shape.tokens for shape in self.all if size <= shape.tokens)


if TYPE_CHECKING:
    Backward = Callable[[torch.Tensor, str, Shape], torch.Tensor]
    """Returns the loss of rows of a language, padded to a shape, and adds to the gradients."""


class CapturedStep(NamedTuple):
    """CUDA graph of a step with one batch shape."""

    graph: torch.cuda.CUDAGraph
    rows_B: torch.Tensor
    """Row indices that it reads, on the device."""
    loss: torch.Tensor
    """Its loss after a replay."""


class StepGraphs:
    """Runs a function, from its third call with a shape on as a CUDA graph.

    The first call runs normally and the second captures the graph. Random numbers differ between replays, because a
    graph reads the current seed of torch.

    Args:
        parameters: Parameters that the function computes gradients for.
        device: The GPU.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], device: torch.device) -> None:
        self.parameters = list(parameters)
        self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
        self.gradients: list[torch.Tensor | None] = [None] * len(self.parameters)
        self.reached: dict[str, list[bool]] = {}
        self.captured: dict[tuple[str, Shape], CapturedStep | None] = {}

    def __call__(self, backward: Backward, rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        """Return the loss and set the gradients of the parameters, which must be None.

        Args:
            backward: The function, the same in every call. It must not synchronize with the device. No reference to it
                is kept, which would be circular.
            rows_B: Row indices, on the device.
            language: Language of the rows.
            shape: Shape that they are padded to.

        Raises:
            ConfigError: The function synchronizes with the device.
        """
        key = language, shape
        if key not in self.captured:
            self.captured[key] = None
            return self._run(backward, rows_B, language, shape)
        found = self.captured[key]
        if found is None:
            found = self.captured[key] = self._capture(backward, rows_B, language, shape)
        found.rows_B.copy_(rows_B)
        found.graph.replay()
        self._set_gradients(language)
        return found.loss.clone()

    def _run(self, backward: Backward, rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        """Run normally: libraries are loaded, kernels chosen and memory allocated, none of which can be captured."""
        now = torch.cuda.current_stream(self.stream.device)
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            loss = backward(rows_B, language, shape)
        now.wait_stream(self.stream)
        if language not in self.reached:  # parameters that it does not use never have gradients
            found = [parameter.grad for parameter in self.parameters]
            self.reached[language] = [gradient is not None for gradient in found]
            self.gradients = [
                one if one is not None else other for one, other in zip(self.gradients, found, strict=True)
            ]
        return loss

    def _capture(self, backward: Backward, rows_B: torch.Tensor, language: str, shape: Shape) -> CapturedStep:
        rows_B, graph = rows_B.clone(), torch.cuda.CUDAGraph()
        self._set_gradients(language)
        held = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        try:
            with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
                torch._foreach_zero_(held)
                loss = backward(rows_B, language, shape)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            problem = f"the training step cannot be captured as a CUDA graph: {str(error).splitlines()[0]}"
            raise ConfigError(problem, "set cuda_graphs=off", "not-supported") from error
        return CapturedStep(graph, rows_B, loss)

    def _set_gradients(self, language: str) -> None:
        """Assign gradients to the parameters that a language uses."""
        for parameter, gradient, reached in zip(self.parameters, self.gradients, self.reached[language], strict=True):
            parameter.grad = gradient if reached else None
