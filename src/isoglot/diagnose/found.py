"""Whether the translation of each sentence is found, in six ways.

- ``raw``: the nearest by cosine, vectors as they are.
- ``centred``: the same without each language's mean.
- ``csls``: CSLS instead of cosine, vectors as they are.
- ``centred-csls``: both.
- ``trimmed``: centred, and without the two strongest directions of the two languages together; in many encoders a
  few directions are so strong that cosines see little else (Timkey & van Schijndel 2021).
- ``mapped``: centred, then one language turned onto the other by Procrustes, cross-validated.

The map of a sentence is fitted on the other folds only. It is then looked for among all rows of the other language, as
in the other ways, so that figures can be compared. On independent noise it is at chance (a test holds it to that).

Shape legend: ``N`` sentences, ``D`` width, ``W`` ways, ``F`` sentences of a fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import torch

from isoglot.align.procrustes import rotation
from isoglot.align.rows import exact, unit
from isoglot.compare.top_components import without_top
from isoglot.core.seeds import random_stream
from isoglot.retrieve.methods import Direction, Rules
from isoglot.retrieve.metrics import hubness
from isoglot.retrieve.rows import paired_rows, to_tensor

if TYPE_CHECKING:
    from isoglot.retrieve.best import Top
    from isoglot.retrieve.methods import Method

Way = Literal["raw", "centred", "csls", "centred-csls", "trimmed", "mapped"]
WAYS: tuple[Way, ...] = get_args(Way)
STRONGEST = 2
"""Directions that ``trimmed`` leaves out."""
_NEAREST = 10  # neighbours that hubs are counted among
_SCORED: dict[tuple[bool, Method], Way] = {
    (False, "cosine"): "raw",
    (False, "csls"): "csls",
    (True, "cosine"): "centred",
    (True, "csls"): "centred-csls",
}


class PairFound(NamedTuple):
    """How often each sentence is found (0, ½ or 1: the mean of both directions), and the hubs of each way."""

    found_WN: np.ndarray
    hubness: dict[Way, float]


def fold_numbers(sentences: int, folds: int, *, seed: int) -> np.ndarray:
    """The fold of each sentence (N): equal parts, drawn at random."""
    numbers_N = np.arange(sentences) % min(folds, sentences)
    return random_stream(seed, "check-up folds").permutation(numbers_N)


def find_translations(
    X: np.ndarray, Y: np.ndarray, folds_N: np.ndarray, *, seed: int = 0, device: str | torch.device | None = None
) -> PairFound:
    """Look for the translation of every sentence in every way, in both directions.

    Args:
        X: N × D, one language.
        Y: N × D, the other, row by row.
        folds_N: The fold of each sentence, for the map.
        seed: Decides what stands in for a row without a direction.
        device: Where to compute.
    """
    found: dict[Way, np.ndarray] = {}
    hubs: dict[Way, float] = {}
    for centre in (False, True):
        one, other = (_directed(_centred(side) if centre else side, seed, name) for name, side in (("X", X), ("Y", Y)))
        X_ND, Y_ND = paired_rows(one, other, unit=True, device=device)
        rules = Rules(X_ND, Y_ND)
        for (centred, method), way in _SCORED.items():
            if centred is centre:
                both = [rules.best(method, way, _NEAREST).indices_NK.cpu().numpy() for way in get_args(Direction)]
                found[way] = np.mean([best_NK[:, 0] == np.arange(len(best_NK)) for best_NK in both], axis=0)
                hubs[way] = float(np.mean([hubness(best_NK, len(best_NK)) for best_NK in both]))
    found["trimmed"] = trimmed_found(one, other, seed=seed, device=device)
    found["mapped"] = mapped_found(one, other, folds_N, device=device)
    return PairFound(np.stack([found[way] for way in WAYS]), hubs)


def trimmed_found(
    X: np.ndarray, Y: np.ndarray, *, seed: int = 0, device: str | torch.device | None = None
) -> np.ndarray:
    """How often each sentence is found without the strongest directions (N): the mean of both directions.

    Args:
        X: N × D, centred.
        Y: As X.
        seed: Decides what stands in for a row without a direction.
        device: Where to compute.
    """
    both = np.concatenate([X, Y])
    left = without_top(both, max(0, min(STRONGEST, min(len(both) - 1, both.shape[1]) - 1)))
    one, other = (_directed(side, seed, name) for name, side in (("X", left[: len(X)]), ("Y", left[len(X) :])))
    rules = Rules(*paired_rows(one, other, unit=True, device=device))
    return _both_found(rules.best("cosine", "forward", 1), rules.best("cosine", "backward", 1))


def mapped_found(
    X: np.ndarray, Y: np.ndarray, folds_N: np.ndarray, *, device: str | torch.device | None = None
) -> np.ndarray:
    """How often each sentence is found after Procrustes fitted on the other folds (N): the mean of both directions.

    Args:
        X: N × D, centred, no row all zeros.
        Y: As X.
        folds_N: The fold of each sentence.
        device: Where to compute.
    """
    X_ND, Y_ND = (unit(to_tensor(side).to(device or "cpu").float()) for side in (X, Y))
    rows = [torch.from_numpy(np.flatnonzero(folds_N == fold)).to(X_ND.device) for fold in np.unique(folds_N)]
    products = [exact(X_ND[own]).T @ exact(Y_ND[own]) for own in rows]
    whole_DD = torch.stack(products).sum(dim=0)
    there_ND, back_ND = torch.empty_like(X_ND), torch.empty_like(Y_ND)
    for own, fold_DD in zip(rows, products, strict=True):
        W_DD = rotation(whole_DD - fold_DD)[0].to(X_ND.dtype)
        # The way back of a rotation is its transpose.
        there_ND[own], back_ND[own] = X_ND[own] @ W_DD, Y_ND[own] @ W_DD.T
    sides = ((there_ND, Y_ND), (back_ND, X_ND))  # of length 1 still
    return _both_found(*(Rules(*each).best("cosine", "forward", 1) for each in sides))


def _both_found(forward: Top, backward: Top) -> np.ndarray:
    """How often row i is the first answer to query i: the mean of both directions."""
    best = [top.indices_NK[:, 0].cpu().numpy() for top in (forward, backward)]
    return np.asarray(np.mean([best_N == np.arange(len(best_N)) for best_N in best], axis=0))


def _centred(rows_ND: np.ndarray) -> np.ndarray:
    centred_ND: np.ndarray = (rows_ND - rows_ND.mean(axis=0, dtype=np.float64)).astype(np.float32)
    return centred_ND


def _directed(rows_ND: np.ndarray, seed: int, name: str) -> np.ndarray:
    """The rows, with a direction by chance for those that have none: they are then found by chance."""
    bad_N = ~rows_ND.any(axis=1)
    if not bad_N.any():
        return rows_ND
    rows_ND = rows_ND.copy()
    rows_ND[bad_N] = random_stream(seed, "no direction", name).normal(size=(int(bad_N.sum()), rows_ND.shape[1]))
    return rows_ND
