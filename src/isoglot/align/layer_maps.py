"""One map per layer, fitted on some pairs and scored on others.

Words are aligned by whole vocabularies, as in MUSE and vecmap: normalization, neighborhoods, refinement and
self-learning use every word of both sides, with or without a partner, and all words of the target are candidates.
For sentences and words in context, the test is not used in fitting at all.

Shape legend: ``N`` rows of the source, ``M`` of the target, ``P`` pairs, ``D`` and ``E`` hidden sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import torch

from isoglot.align.alignment import ENCODERS, Alignment, LayerAlignment, Use
from isoglot.align.maps.config import UNSUPERVISED, AlignConfig, make_map
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.represent.layer_pass import Layers, chosen_layers
from isoglot.retrieve import Gold, RetrievalScores, score_retrieval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.align.maps.estimator import PairMap
    from isoglot.model.protocol import EncoderLike
    from isoglot.retrieve.metrics import SpelledAlike
    from isoglot.text.provenance import Provenance


def held_out(groups_N: np.ndarray, share: float, *, seed: int, eligible_N: np.ndarray | None = None) -> np.ndarray:
    """Mask of held-out items (N): whole groups drawn at random until the share is reached.

    >>> held_out(np.array([0, 0, 1, 1, 2, 2]), 0.3, seed=1).reshape(3, 2).all(axis=1).tolist().count(True)
    1

    Args:
        groups_N: Group of each item; groups are never divided.
        share: Share of the items to hold out.
        seed: Random seed.
        eligible_N: Items that may be held out. Default: all. A group with an ineligible item stays in training.

    Raises:
        InputError: Nothing can be held out, or nothing would be left.
    """
    names, group_N = np.unique(groups_N, return_inverse=True)
    sizes = np.bincount(group_N)
    free = np.ones(len(names), dtype=bool)
    if eligible_N is not None:
        free[group_N[~eligible_N]] = False
    if len(names) < 2 or not free.any():
        why = "all are known to training" if len(names) >= 2 else "at least two groups are needed"
        problem = f"none of {len(groups_N)} pairs can be held out: {why}"
        raise InputError(problem, "give more pairs, or a separate test", "too-few")
    order = random_stream(seed, "alignment split").permutation(np.flatnonzero(free))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = order[before < share * len(groups_N)]
    if len(chosen) == len(names):
        chosen = chosen[:-1]
    return np.isin(group_N, chosen)


def limited(pairs_P2: np.ndarray, limit: int, *, seed: int) -> np.ndarray:
    """At most ``limit`` pairs: sources drawn at random with all their partners, at least one source."""
    if len(pairs_P2) <= limit:
        return pairs_P2
    sources, source_P = np.unique(pairs_P2[:, 0], return_inverse=True)
    order = random_stream(seed, "alignment test").permutation(len(sources))
    total = np.cumsum(np.bincount(source_P)[order])
    chosen = order[: max(1, int(np.searchsorted(total, limit, side="right")))]
    return pairs_P2[np.isin(source_P, chosen)]


_IN_ROUNDS = ("rcsls", "refinement", "self-learning", *UNSUPERVISED)


class LayerMatrices(Protocol):
    """Matrices by layer, such as :class:`isoglot.represent.Representations`."""

    def __getitem__(self, layer: Any, /) -> np.ndarray: ...  # noqa: ANN401 - an int, or None


class RowPairs(NamedTuple):
    """Pairs of rows to fit on and to score on; for word types, also test pairs of the same spelling."""

    train_P2: np.ndarray
    test_P2: np.ndarray
    alike: SpelledAlike | None = None


class LayerRows(NamedTuple):
    """Rows of the same items by two encoders, in one layer each; None for the embedding matrix."""

    layer: int | None
    target_layer: int | None
    X_ND: np.ndarray
    Y_ME: np.ndarray


def layer_pairs(layers: Layers, source: EncoderLike, target: EncoderLike) -> list[tuple[int, int]]:
    """Pairs of a source layer and a target layer.

    ``all``: layers of the same number that both have. Negative numbers count from the last layer of each.

    Raises:
        ConfigError: An encoder does not have the layer, or a layer is given twice.
    """
    if layers == "all":
        return [(layer, layer) for layer in range(min(source.depth, target.depth) + 1)]
    for encoder in (source, target):
        chosen_layers(layers, encoder.depth)
    return sorted((chosen_layers([each], source.depth)[0], chosen_layers([each], target.depth)[0]) for each in layers)


def check_dimensions(config: AlignConfig, source: int, target: int) -> None:
    """Check the options of a map and that it supports these numbers of dimensions, before encoding.

    Raises:
        ConfigError: It does not; the message has both numbers.
    """
    make_map(config)
    if source != target and config.method not in ("least-squares", "ridge", "cca"):
        problem = f"the source has {source} dimensions, the target {target}, and {config.method} needs the same number"
        raise ConfigError(problem, "choose the method ridge, least-squares or cca", "other-size")


Fitted = Literal["all", "train"]
"""Rows that a map sees: all of both sides, or those of training pairs only; then candidates are rows of test pairs."""


def align_layers(
    layers: Iterable[LayerRows],
    train_P2: np.ndarray,
    test_P2: np.ndarray,
    config: AlignConfig,
    *,
    fitted: Fitted = "train",
    alike: SpelledAlike | None = None,
    total: int | None = None,
    device: torch.device | None = None,
    progress: Progress = SILENT,
) -> tuple[LayerAlignment, ...]:
    """Fit a map in every layer and score it before and after.

    Args:
        layers: Rows of each layer, one layer in memory at a time.
        train_P2: Pairs of rows to fit on.
        test_P2: Pairs of rows to score on.
        config: Map, normalization and evaluation; ``config.candidates`` applies if all rows are fitted on.
        fitted: Rows that the map sees.
        alike: For words, fitted on all: rows whose translation has the same spelling. A second P@1 leaves them out.
        total: Number of layers.
        device: Where to compute: a CUDA device, or else the CPU.
        progress: Progress in layers; in rounds for iterative maps.

    Raises:
        ConfigError: The map has no such option.
        InputError: The rows of a layer are invalid; the message has the layer.
    """
    gpu = device if device is not None and device.type == "cuda" else None
    test_P2 = limited(test_P2, config.test_limit, seed=config.seed)
    found = []
    outer, inner = (SILENT, progress) if config.method in _IN_ROUNDS else (progress, SILENT)
    with outer.task("align", total=total, unit="layers") as task:
        for rows in layers:
            try:
                mapping, before, after = _align(rows, train_P2, test_P2, config, fitted, alike, gpu, inner)
            except InputError as error:
                name = "the embeddings" if rows.layer is None else f"layer {rows.layer}"
                raise error.prefixed(name) from error
            found.append(
                LayerAlignment(
                    layer=rows.layer, target_layer=rows.target_layer, mapping=mapping, before=before, after=after
                )
            )
            task.note(f"P@1 {after.of(config.retrieval).precision[1].value:.1%}")
            task.advance()
    return tuple(found)


def fit_alignment(
    use: Use,
    languages: tuple[str, str],
    sides: Sequence[LayerMatrices],
    chosen: Sequence[tuple[int | None, int | None]],
    pairs: RowPairs,
    config: AlignConfig,
    *,
    facts: dict[str, Any],
    encoders: Sequence[str | None],
    given: Provenance | None = None,
    device: torch.device | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """:func:`align_layers` with its result as an :class:`Alignment`.

    Args:
        use: What is aligned.
        languages: Languages of the two sides.
        sides: Rows of either side, by layer.
        chosen: Pairs of a source layer and a target layer.
        pairs: Pairs of rows. With words of the same spelling (``alike``), the map sees all rows, else those of the
            training pairs only.
        config: Map, normalization and evaluation.
        facts: Coverage and leaks.
        encoders: SHA-256 of both encoders.
        given: Dictionary that the maps are fitted on, if any.
        device: Where to compute: a CUDA device, or else the CPU.
        progress: Progress in layers; in rounds for iterative maps.
    """
    layers = align_layers(
        (LayerRows(one, other, sides[0][one], sides[1][other]) for one, other in chosen),
        pairs.train_P2,
        pairs.test_P2,
        config,
        fitted="train" if pairs.alike is None else "all",
        alike=pairs.alike,
        total=len(chosen),
        device=device,
        progress=progress,
    )
    return Alignment(
        use=use,
        languages=languages,
        config=config,
        train=len(pairs.train_P2),
        test=len(pairs.test_P2),
        facts={**facts, ENCODERS: list(encoders)},
        layers=layers,
        given=None if config.method in UNSUPERVISED else given,
    )


def _align(
    rows: LayerRows,
    train_P2: np.ndarray,
    test_P2: np.ndarray,
    config: AlignConfig,
    fitted: Fitted,
    alike: SpelledAlike | None,
    gpu: torch.device | None,
    progress: Progress,
) -> tuple[PairMap, RetrievalScores | None, RetrievalScores]:
    """Map of one layer, and retrieval scores before and after it."""
    if fitted == "all":
        X, Y = asked, answers = [_selected_rows(side, slice(None), gpu) for side in rows[2:]]
        pairs, gold = train_P2, test_P2
    else:
        (X, Y), pairs = _rows_of(rows, train_P2, gpu)
        if config.disjoint and config.method in UNSUPERVISED:
            X, Y = X[: len(X) // 2], Y[len(Y) // 2 :]
        (asked, answers), gold = _rows_of(rows, test_P2, gpu)
    mapping = make_map(config).fit(X, Y, pairs=pairs, progress=progress)
    before = _score(asked, answers, gold, config, alike) if X.shape[1] == Y.shape[1] else None
    after = _score(mapping.transform(asked), mapping.transform_target(answers), gold, config, alike)
    return mapping, before, after


def _rows_of(rows: LayerRows, pairs_P2: np.ndarray, gpu: torch.device | None) -> tuple[list[Any], np.ndarray]:
    """Rows of the pairs only, and the pairs as positions among these."""
    sides = [np.unique(pairs_P2[:, side], return_inverse=True) for side in (0, 1)]
    kept = [_selected_rows(side, which, gpu) for side, (which, _) in zip(rows[2:], sides, strict=True)]
    return kept, np.stack([inner for _, inner in sides], axis=1)


def _selected_rows(rows_ND: np.ndarray, which: np.ndarray | slice, gpu: torch.device | None) -> Any:  # noqa: ANN401
    """Some rows, as an array or as a tensor on a device."""
    taken = np.asarray(rows_ND[which])
    return taken if gpu is None else torch.from_numpy(taken).to(gpu)


def _score(
    X: Any,  # noqa: ANN401 - an array or a tensor
    Y: Any,  # noqa: ANN401
    gold: np.ndarray,
    config: AlignConfig,
    alike: SpelledAlike | None,
) -> RetrievalScores:
    return score_retrieval(
        X,
        Y,
        Gold.from_pairs(gold),
        methods=(config.retrieval,),
        candidates=config.candidates,
        alike=alike,
        neighborhood=config.neighborhood,
        resamples=config.resamples,
        seed=config.seed,
    )
