"""Packed weights: every matrix as integers from -127 to 127 times a power of two for each row.

The step of a row is the power of two nearest to a share of its root mean square, so most integers are small and
Zstandard's Huffman coding needs 5 to 6 bits for each; a row with an outlier has a larger step, and nothing is clipped.
Powers of two are exact, so unpacked weights are the same on every machine and in bfloat16, and the possible steps of a
row divide each other, so that packing packed weights gives the same bytes.

Vectors (norms, biases) and integers are stored as they are. The file is a safetensors file in one Zstandard frame, with
the integers of a matrix under its name and the exponents of its rows under ``NAME.exponent``.

Shapes: ``R`` rows of a matrix, ``D`` its last dimension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from isoglot.core.artifact import compressed, expanded
from isoglot.core.errors import ConfigError, CorruptFileError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STEP = 1 / 10  # quantization step of a row as a share of its root mean square, before rounding to a power of two
FINER = {"embedding.tokens.": 1.25, "attention.qkv.": 0.3, "attention.out.": 0.6, "mlp.up.": 0.5}
"""Factor on the step of a part: errors in token embeddings matter least, those in the attention projection most
(docs/LOG.md)."""
EXPONENT = ".exponent"
_LARGEST = 127
_LEAST_EXPONENT, _MOST_EXPONENT = -126, 127  # of float32's normal numbers, within int8
_TOO_LARGE = 2.0**127  # larger values might overflow float32 when rounded up
_NOT_FINITE, _REMEDY = "has a weight that is not finite or too large", "train again with a lower learning rate"
_LEVEL = 1  # of Zstandard: there are no repetitions, and searching for them costs more bytes than it saves


def quantize(matrix_RD: np.ndarray, step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Quantize a matrix to integers (R x D, int8) and the exponent of each row's step (R, int8).

    No entry changes by more than half the step of its row. A row that is already quantized stays the same, whatever the
    step; its integers have no common factor of two.

    >>> numbers_RD, exponents_R = quantize(np.array([[0.5, -1.0], [0.0, 0.0]]))
    >>> numbers_RD.tolist(), exponents_R.tolist()
    ([[1, -2], [0, 0]], [-1, 0])

    Args:
        matrix_RD: Finite float32 numbers.
        step: Share of a row's root mean square, at most 1.

    Raises:
        ConfigError: The step is not between 0 and 1.
        InputError: An entry is not finite, or beyond 2 ** 127.
    """
    _check_step(step)
    with np.errstate(over="ignore"):  # what overflows float32 becomes infinite and is rejected
        exact_RD = matrix_RD.astype(np.float32).astype(np.float64)
    if not (np.abs(exact_RD) <= _TOO_LARGE).all():
        raise InputError(f"the matrix {_NOT_FINITE}", _REMEDY, "not-finite")
    largest_R = np.abs(exact_RD).max(axis=1, initial=0.0)
    there_R = largest_R > 0
    # The finest step at which the largest entry is at most 127 steps.
    finest_R = np.frexp(np.where(there_R, largest_R, 1.0))[1] - 7
    finest_R += np.rint(np.ldexp(largest_R, -finest_R)) > _LARGEST
    finest_R = np.clip(finest_R, _LEAST_EXPONENT, _MOST_EXPONENT)
    scaled_RD = np.ldexp(exact_RD, -finest_R[:, None])
    settled_R = (scaled_RD == np.rint(scaled_RD)).all(axis=1)
    spread_R = np.sqrt(np.square(scaled_RD).mean(axis=1)) if exact_RD.size else largest_R
    wider_R = np.rint(np.log2(np.where(spread_R > 0, spread_R * step, 1.0))).astype(finest_R.dtype)
    shift_R = np.where(settled_R, 0, np.clip(wider_R, 0, _MOST_EXPONENT - finest_R))
    numbers_RD = np.rint(np.ldexp(scaled_RD, -shift_R[:, None])).astype(np.int8)
    exponents_R = np.where(there_R, finest_R + shift_R, 0)
    while (even_R := _even(numbers_RD) & (exponents_R < _MOST_EXPONENT)).any():
        numbers_RD[even_R] //= 2
        exponents_R[even_R] += 1
    exponents_R[~numbers_RD.any(axis=1)] = 0
    return numbers_RD, exponents_R.astype(np.int8)


def _check_step(step: float) -> None:
    if not 0 < step <= 1:
        remedy = f"give a share of a row's spread such as {STEP:.3g}"
        raise ConfigError(f"a step of {step}", remedy, "invalid-value")


def _even(numbers_RD: np.ndarray) -> np.ndarray:
    """Rows with even numbers only that are not all zero (R)."""
    every_R = np.bitwise_or.reduce(numbers_RD, axis=1, initial=0)
    even_R: np.ndarray = (every_R & 1 == 0) & (every_R != 0)
    return even_R


def restore(numbers_RD: torch.Tensor, exponents_R: torch.Tensor) -> torch.Tensor:
    """The matrix (float32) of the numbers and exponents that :func:`quantize` returned."""
    steps_R = torch.ldexp(torch.ones(len(exponents_R)), exponents_R.int())
    return numbers_RD.float().mul_(steps_R[:, None])


def pack(weights: Mapping[str, torch.Tensor], *, step: float = STEP, finer: Mapping[str, float] = FINER) -> bytes:
    """Pack the weights of an encoder; the same weights give the same bytes.

    Args:
        weights: Tensors by name.
        step: Share of a row's root mean square.
        finer: Factors on the step of tensors with this in their name.

    Raises:
        ConfigError: The step is not between 0 and 1.
        InputError: A weight is not finite, or beyond 2 ** 127.
    """
    _check_step(step)
    tensors: dict[str, torch.Tensor] = {}
    for name, given in weights.items():
        tensor = given.detach().cpu().contiguous()
        tensors[name] = tensor = tensor.float() if tensor.is_floating_point() else tensor
        if tensor.is_floating_point() and not bool((tensor.abs() <= _TOO_LARGE).all()):
            raise InputError(f"{name} {_NOT_FINITE}", _REMEDY, "not-finite")
        if tensor.is_floating_point() and tensor.dim() > 1:
            rows_RD = tensor.reshape(tensor.shape[:-1].numel(), tensor.shape[-1])
            factor = next((factor for part, factor in finer.items() if part in name), 1.0)
            numbers_RD, exponents_R = quantize(rows_RD.numpy(), min(1.0, step * factor))
            tensors[name] = torch.from_numpy(numbers_RD).view(tensor.shape)
            tensors[name + EXPONENT] = torch.from_numpy(exponents_R)
    return compressed(save(tensors), level=_LEVEL)


def unpack(data: bytes, path: str | Path = "") -> dict[str, torch.Tensor]:
    """Unpack weights that :func:`pack` packed; ``path`` is for messages.

    Raises:
        CorruptFileError: The data are damaged or not packed weights.
    """
    try:
        tensors = load(expanded(data, path))
        weights = {}
        for name, tensor in tensors.items():
            if name.endswith(EXPONENT):
                continue
            exponents_R = tensors.get(name + EXPONENT)
            if exponents_R is not None:
                rows_RD = tensor.reshape(len(exponents_R), tensor.shape[-1])  # never -1: there may be no rows
                weights[name] = restore(rows_RD, exponents_R).view(tensor.shape)
            else:
                weights[name] = tensor
    except (SafetensorError, RuntimeError, IndexError) as error:
        raise CorruptFileError("not packed weights", "copy or make it again", file=path or None) from error
    return weights


def packing_error(weights: Mapping[str, torch.Tensor], packed: Mapping[str, torch.Tensor]) -> float:
    """Relative error of packed matrices: root mean square of the difference over that of the weights."""
    apart = whole = 0.0
    for name, tensor in weights.items():
        if tensor.is_floating_point() and tensor.dim() > 1:
            was = tensor.detach().cpu().float()
            apart += float((packed[name] - was).double().square().sum())
            whole += float(was.double().square().sum())
    return (apart / whole) ** 0.5 if whole else 0.0
