"""Alignment of parallel sentences, each the mean of its subwords, in every layer (Wu et al. 2020, Figure 6).

Shape legend: ``N`` sentence pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoglot.align.layer_maps import LayerRows, check_dimensions, fit_alignment, layer_pairs
from isoglot.align.maps.config import AlignConfig
from isoglot.align.splits import held_out, limited
from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT
from isoglot.represent import extract
from isoglot.retrieve.leaks import refuse_leak
from isoglot.text.formats.parallel import unrepeated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.align.alignment import Alignment
    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers

SentencePair = tuple[str, str]


def align_sentences(
    source: EncoderLike,
    target: EncoderLike,
    train: Sequence[SentencePair],
    test: Sequence[SentencePair] | None = None,
    *,
    languages: tuple[str, str],
    layers: Layers = "all",
    config: AlignConfig | None = None,
    scratch: Path | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """Align mean-pooled sentences by their translations.

    Args:
        source: Model of the first sentence of a pair, whose vectors are mapped.
        target: Model of the second; it may be the same.
        train: Pairs to fit on.
        test: Pairs to score on; None holds out a share of the first, with no sentence on both sides of the split.
        languages: Languages of the sentences.
        layers: Layer numbers, or ``all``; see :func:`isoglot.align.layer_maps.layer_pairs`.
        config: Map, normalization and evaluation.
        scratch: Folder for temporary vectors. Default: they are in memory.
        progress: Progress of each step.

    Raises:
        ConfigError: The map does not support these widths, or a layer does not exist.
        InputError: A sentence is empty, or one of the test is in training too.
        StorageError: The scratch folder cannot be written to.
    """
    config = AlignConfig() if config is None else config
    check_dimensions(config, source.hidden_size, target.hidden_size)
    chosen = layer_pairs(layers, source, target)
    learn_N, ask_N, facts = split_sentences(train, test, config)
    pairs = [*train, *(test or ())]
    # Only the scored part of a large test is encoded.
    ask_N = limited(np.stack([ask_N, ask_N], axis=1), config.test_limit, seed=config.seed)[:, 0]
    needed = np.concatenate([learn_N, ask_N])
    found = [
        extract(
            encoder,
            [pairs[row][side] for row in needed],
            layers=[pair[side] for pair in chosen],
            language=languages[side],
            out=None if scratch is None else scratch / f"side{side}",
            progress=progress,
        )
        for side, encoder in enumerate((source, target))
    ]
    rows = (LayerRows(one, other, found[0][one], found[1][other]) for one, other in chosen)
    both_N2 = np.repeat(np.arange(len(needed))[:, None], 2, axis=1)
    return fit_alignment(
        "sentences",
        languages,
        rows,
        both_N2[: len(learn_N)],
        both_N2[len(learn_N) :],
        config,
        {**facts, "cut": [each.header["cut"] for each in found]},
        total=len(chosen),
        device=target.device,
        progress=progress,
    )


def split_sentences(
    train: Sequence[SentencePair], test: Sequence[SentencePair] | None, config: AlignConfig
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Numbers of the pairs to fit on and to score on, counted over both; and how many leaked or were repeated.

    A pair with a sentence of an earlier one is used for neither.

    Raises:
        InputError: There are no pairs, or a sentence is on both sides.
    """
    for name, pairs in (("to learn from", train), ("to score on", test)):
        if pairs is not None and not pairs:
            raise InputError(f"there are no sentences {name}", remedy="give at least one pair", code="input.empty")
    learn_N, ask_N = (np.array([number for number, _ in unrepeated(pairs or ())], dtype=int) for pairs in (train, test))
    facts = {"repeated": len(train) + len(test or ()) - len(learn_N) - len(ask_N)}
    if test is None:
        out_N = held_out(np.arange(len(learn_N)), config.test_share, seed=config.seed)
        return learn_N[~out_N], learn_N[out_N], facts
    leaked = sum(
        refuse_leak((pair[side] for pair in train), (pair[side] for pair in test), "sentences", allow=config.allow_leak)
        for side in (0, 1)
    )
    return learn_N, len(train) + ask_N, {"leaked": leaked, **facts}
