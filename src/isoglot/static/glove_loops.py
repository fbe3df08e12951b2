"""GloVe's step (Pennington et al. 2014), compiled, and its plain twin.

For a pair of row i and column j with the logarithm x of its count and the weight f::

    e = w_i · c_j + a_i + b_j - x                      the error; the loss is f e² / 2
    g = f e c_j,  h = f e w_i                          the gradients by w_i and c_j; by the biases f e
    w_i -= rate g / √G_i,  G_i += (rate g)²            AdaGrad, from G = 1 on; the same for c_j and the biases

The squares are those of the steps, rate included, as in the authors' program.

Shape legend: ``K`` pairs, ``R`` rows of a block, ``V`` types, ``D`` dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isoglot.core.optional import COMPILED, compiled_loosely


class Side(NamedTuple):
    """Subwords as words or as contexts: vectors and biases, and the sums of their squared steps."""

    vectors_VD: np.ndarray
    sums_VD: np.ndarray
    biases_V: np.ndarray
    bias_sums_V: np.ndarray


@compiled_loosely
def learn_compiled(
    pairs_K: np.ndarray,
    runs_R: np.ndarray,
    order_R: np.ndarray,
    words: Side,
    contexts: Side,
    rate: np.float32,
    clip: np.float32,
) -> float:
    """Learn from the pairs of a block, row by row in an order; returns the sum of the losses before each step."""
    w_VD, w_sums_VD, a_V, a_sums_V = words
    c_VD, c_sums_VD, b_V, b_sums_V = contexts
    width = w_VD.shape[1]
    loss = 0.0
    for run in order_R:
        i = pairs_K[runs_R[run]]["row"]
        w, w_sums = w_VD[i], w_sums_VD[i]
        for k in range(runs_R[run], runs_R[run + 1]):
            j = pairs_K[k]["column"]
            c, c_sums = c_VD[j], c_sums_VD[j]
            error = a_V[i] + b_V[j] - pairs_K[k]["log"]
            for d in range(width):
                error += w[d] * c[d]
            slope = pairs_K[k]["weight"] * error
            loss += np.float64(slope) * np.float64(error) * 0.5
            for d in range(width):
                step = rate * min(max(slope * c[d], -clip), clip)
                other = rate * min(max(slope * w[d], -clip), clip)
                w[d] -= step / np.sqrt(w_sums[d])
                c[d] -= other / np.sqrt(c_sums[d])
                w_sums[d] += step * step
                c_sums[d] += other * other
            step = rate * min(max(slope, -clip), clip)
            a_V[i] -= step / np.sqrt(a_sums_V[i])
            b_V[j] -= step / np.sqrt(b_sums_V[j])
            a_sums_V[i] += step * step
            b_sums_V[j] += step * step
    return loss


@np.errstate(over="ignore", invalid="ignore")  # numbers that run away are found at the end of the epoch
def learn_plain(
    pairs_K: np.ndarray,
    runs_R: np.ndarray,
    order_R: np.ndarray,
    words: Side,
    contexts: Side,
    rate: np.float32,
    clip: np.float32,
) -> float:
    """The plain twin: a pair at a time in NumPy."""
    loss = 0.0
    for run in order_R:
        for pair in pairs_K[runs_R[run] : runs_R[run + 1]]:
            i, j = int(pair["row"]), int(pair["column"])
            w_D, c_D = words.vectors_VD[i].copy(), contexts.vectors_VD[j].copy()
            error = np.float32(w_D @ c_D + words.biases_V[i] + contexts.biases_V[j] - pair["log"])
            slope = np.float32(pair["weight"] * error)
            loss += 0.5 * float(slope) * float(error)
            for side, at, other_D in ((words, i, c_D), (contexts, j, w_D)):
                steps_D = rate * np.clip(slope * other_D, -clip, clip)
                side.vectors_VD[at] -= steps_D / np.sqrt(side.sums_VD[at])
                side.sums_VD[at] += steps_D * steps_D
                step = rate * np.clip(slope, -clip, clip)
                side.biases_V[at] -= step / np.sqrt(side.bias_sums_V[at])
                side.bias_sums_V[at] += step * step
    return loss


learn = learn_compiled if COMPILED else learn_plain
"""The one to use here."""
