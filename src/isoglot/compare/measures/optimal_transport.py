"""Gromov-Wasserstein distance: how far distances differ under the best matching of the items of two spaces.

Mémoli (2011); for embeddings of two languages Alvarez-Melis & Jaakkola (2018). Items are matched by their distances to
the others alone, so isometric copies are at distance 0 in whatever order. Euclidean distances are conditionally
negative definite, so the loss is concave in the coupling (Maron & Lipman 2018): some optimal coupling is a permutation,
and a Frank-Wolfe step goes from one permutation to the next, by an assignment that POT (Flamary et al. 2021) solves.
The problem is NP-hard: the value is that of a local optimum, an upper bound. The given pairing is among the starts; of
those tried, it led to the lowest value wherever the spaces had much in common (docs/LOG.md).

Shape legend: ``N`` items, ``D`` columns.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from isoglot.compare.measures.declaration import Measure, unchanged_by
from isoglot.compare.measures.distances import distances
from isoglot.compare.measures.paired_rows import paired
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from isoglot.core.arrays import Array

TRANSPORT_ROWS = 500  # an assignment costs about N³


def gromov_wasserstein(X: Array, Y: Array) -> float:
    """Gromov-Wasserstein distance of order 2: 0 if one space is the other rotated, translated, scaled or reordered.

    The distances of each space are divided by their root mean square, and all items have the same weight. The lowest
    value of three starts is returned: items matched as given, by their mean distance from the others, and by all of
    their distances in order (the first and third lower bounds of Mémoli 2011).

    Args:
        X: N × D.
        Y: N × E, the same items in the same order; in another order the value may be higher, but not if it is 0.

    Returns:
        0 or more; 0 for the same distances.

    Raises:
        InputError: The rows are invalid, or those of one side are all equal.
        MissingPartError: POT is not installed.
    """
    own_NN, other_NN = (np.asarray(distances(side, name).cpu()) for side, name in zip(paired(X, Y), "XY", strict=True))
    own_NN, other_NN = own_NN / sqrt((own_NN**2).mean()), other_NN / sqrt((other_NN**2).mean())
    in_order = np.sort(own_NN, axis=1) @ np.sort(other_NN, axis=1).T
    on_average = np.outer(own_NN.mean(axis=1), other_NN.mean(axis=1))
    starts = (np.arange(len(own_NN)), _assigned(in_order), _assigned(on_average))
    return sqrt(min(_descend(own_NN, other_NN, start) for start in starts))


def _descend(own_NN: np.ndarray, other_NN: np.ndarray, order_N: np.ndarray) -> float:
    """Mean squared difference of the distances at the local optimum that a matching leads to."""
    best = inf
    while (loss := float(((own_NN - other_NN[order_N][:, order_N]) ** 2).mean())) < best:
        best, order_N = loss, _assigned(own_NN @ other_NN[order_N])
    return best


def _assigned(gain_NN: np.ndarray) -> np.ndarray:
    """The item of Y for every item of X, each once, with the largest total gain."""
    plan_NN: np.ndarray = import_part("ot").emd([], [], gain_NN.max() - gain_NN)
    order_N: np.ndarray = plan_NN.argmax(axis=1)
    return order_N


GROMOV_WASSERSTEIN = Measure(
    name="gromov-wasserstein",
    title="Gromov-Wasserstein distance",
    meaning="How far the distances between items differ under the best matching of items that is found.",
    formula=(
        r"\min_{\pi} \sqrt{\frac{1}{N^2} \sum_{i,j} (a_{ij} - b_{\pi(i) \pi(j)})^2}, \quad a_{ij} = \frac{\lVert x_i -"
        r" x_j \rVert}{\sqrt{\operatorname{mean}_{kl} \lVert x_k - x_l \rVert^2}}, \quad \pi = \text{permutation of"
        " the items}"
    ),
    use="To ask whether two spaces are isometric whichever item is which; an upper bound, since the search is local.",
    function=gromov_wasserstein,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, sqrt(2)),
    rows=TRANSPORT_ROWS,
    library="ot",
)
