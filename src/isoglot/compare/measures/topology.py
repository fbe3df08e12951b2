"""Representation topology divergence (RTD): clusters and loops of one space that the other does not have.

Barannikov et al. (2022). At scale α, items at a distance of at most α are joined, in one space (w) or in either of both
(the minimum of w and the other distances). The first graph is part of the second, and the divergence is the total
length of the bars of H₁ of the second graph's clique complex relative to the first's, as α grows. The paper has them
from a Vietoris–Rips complex of twice as many items; here they are those of a cone: every edge is a cycle, born at the
minimum of both distances; it is zero from its distance w on, and so is the sum of the edges of a triangle once all
three are there.

Shape legend: ``N`` items, ``D`` columns, ``W`` words of 64 cycles each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoglot.compare.measures.distances import distances
from isoglot.compare.measures.measure import Measure, above_diagonal, paired, unchanged_by
from isoglot.core.errors import InputError
from isoglot.core.optional import compiled

if TYPE_CHECKING:
    import torch

    from isoglot.core.arrays import Array

RTD_ROWS = 200  # the time grows with the third power or more
_QUANTILE = 0.9


def rtd(X: Array, Y: Array) -> float:
    """Representation topology divergence, the mean of both directions: 0 for the same distances, without upper bound.

    The distances of each space are divided by their 0.9 quantile. The value grows with the number of items.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.

    Returns:
        0 or more; 0 for the same distances.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(rtd(X, X), 6)
    0.0

    Raises:
        InputError: The rows are invalid, or nearly all of one side are equal.
    """
    own_NN, other_NN = (_scaled(rows_ND, name) for name, rows_ND in zip("XY", paired(X, Y), strict=True))
    return (float(bars(own_NN, other_NN).sum()) + float(bars(other_NN, own_NN).sum())) / 2


def _scaled(rows_ND: torch.Tensor, name: str) -> np.ndarray:
    distances_NN = distances(rows_ND, name)
    scale = float(np.quantile(above_diagonal(distances_NN).cpu().numpy(), _QUANTILE))
    if not scale:
        raise InputError(f"nearly all rows of {name} are equal", "give items that differ", "constant")
    return np.asarray((distances_NN / scale).cpu())


def bars(own_NN: np.ndarray, other_NN: np.ndarray) -> np.ndarray:
    """Lengths of the bars of H₁ of the graph of either distance, relative to that of the first; those above 0."""
    near_NN = np.minimum(own_NN, other_NN)
    one_E, two_E = np.triu_indices(len(near_NN), 1)
    born_E, dead_E = near_NN[one_E, two_E], own_NN[one_E, two_E]
    # An edge that another item is nearer to at both ends is the sum of two others, so it needs no cycle of its own.
    apart_E = np.array(
        [np.maximum(near_NN[i], near_NN[j]).min() >= length for i, j, length in zip(one_E, two_E, born_E, strict=True)]
    )
    most = int((apart_E & (born_E < dead_E)).sum())
    # Edges of both graphs are born and die at once; an edge is born before any edge dies at the same scale.
    scale_V = np.concatenate([born_E, dead_E])
    order_V = np.lexsort((np.arange(len(scale_V)), scale_V))
    return _reduced(near_NN, own_NN, np.concatenate([one_E, one_E]), np.concatenate([two_E, two_E]), order_V, most)


@compiled
def _reduced(
    near_NN: np.ndarray, own_NN: np.ndarray, one_V: np.ndarray, two_V: np.ndarray, order_V: np.ndarray, most: int
) -> np.ndarray:
    """Bars by linear algebra over two elements: every edge as a sum of independent cycles, 64 to a word."""
    count, words = len(near_NN), max((most + 63) // 64, 1)
    cycles_NNW = np.zeros((count, count, words), dtype=np.uint64)
    seen_NN = np.zeros((count, count), dtype=np.bool_)
    born = np.zeros(most)
    lengths = np.zeros(most)
    made = alive = dead = 0
    one = np.uint64(1)
    relation_W = np.zeros(words, dtype=np.uint64)
    for event in order_V:
        i, j = one_V[event], two_V[event]
        birth = event < len(order_V) // 2
        scale = near_NN[i, j] if birth else own_NN[i, j]
        if birth:
            common = np.flatnonzero(seen_NN[i] & seen_NN[j])
            if near_NN[i, j] < own_NN[i, j]:
                if len(common):
                    cycles_NNW[i, j] = cycles_NNW[i, common[0]] ^ cycles_NNW[j, common[0]]
                else:
                    cycles_NNW[i, j, made // 64] = one << np.uint64(made % 64)
                    born[made] = scale
                    made += 1
                    alive += 1
                cycles_NNW[j, i] = cycles_NNW[i, j]
            seen_NN[i, j] = seen_NN[j, i] = True
        else:
            common = np.full(1, -1)
        if not alive:
            continue
        for k in common:
            relation_W[:] = cycles_NNW[i, j]
            if k >= 0:
                relation_W ^= cycles_NNW[i, k] ^ cycles_NNW[j, k]
            if not relation_W.any():
                continue
            word = np.flatnonzero(relation_W)[-1]
            bit = 63
            while not (relation_W[word] >> np.uint64(bit)) & one:
                bit -= 1
            youngest = 64 * word + bit
            if scale > born[youngest]:
                lengths[dead] = scale - born[youngest]
                dead += 1
            alive -= 1
            for a in range(count):  # the youngest cycle is the sum of the others from now on
                for b in range(count):
                    if (cycles_NNW[a, b, word] >> np.uint64(bit)) & one:
                        cycles_NNW[a, b] ^= relation_W
    return lengths[:dead]


RTD = Measure(
    name="rtd",
    title="Representation topology divergence",
    meaning="How long clusters and loops of one space last that the other does not have, over all scales.",
    formula=(
        r"\frac{\ell(a, b) + \ell(b, a)}{2}, \quad \ell(a, b) = \text{total length of the bars of } H_1 \text{ of the"
        r" graph of } \min(a, b) \text{ relative to that of } a, \quad a_{ij} = \frac{\lVert x_i - x_j"
        r" \rVert}{q_{0.9}}, \quad q_{0.9} = \text{0.9 quantile of the distances}"
    ),
    use=(
        "To ask whether clusters and loops are the same at all scales; compare values at the same number of items only."
    ),
    function=rtd,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, float("inf")),
    rows=RTD_ROWS,
)
