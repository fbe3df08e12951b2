"""Alignment of words in context, from word-aligned bitext, in every layer (Wu et al. 2020, Figure 5).

Shape legend: ``P`` pairs of words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoglot.align.layer_maps import LayerRows, check_dimensions, fit_alignment, layer_pairs
from isoglot.align.maps.config import AlignConfig
from isoglot.align.sentences import split_sentences
from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.represent import extract

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.align.alignment import Alignment
    from isoglot.align.words.bitext import Bitext, LinksKept
    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers


def align_words(
    source: EncoderLike,
    target: EncoderLike,
    train: Bitext,
    test: Bitext | None = None,
    *,
    languages: tuple[str, str],
    layers: Layers = "all",
    links: LinksKept = "one",
    config: AlignConfig | None = None,
    scratch: Path | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """Align words in context by the words they are linked to.

    A word is the mean of its subwords. The correct answer for a test word is the linked word in its own sentence, and
    no other of the same form.

    Args:
        source: Model of the first side, whose vectors are mapped.
        target: Model of the second side; it may be the same.
        train: Sentences to fit on.
        test: Sentences to score on; None holds out a share of the first, with no sentence on both sides of the split.
        languages: Languages of the sides.
        layers: Layer numbers, or ``all``; see :func:`isoglot.align.layer_maps.layer_pairs`.
        links: Which links count.
        config: Map, normalization and evaluation.
        scratch: Folder for temporary vectors. Default: they are in memory.
        progress: Progress of each step.

    Raises:
        ConfigError: The map does not support these widths, or a layer does not exist.
        InputError: There are no links, or a sentence of the test is in training too.
        StorageError: The scratch folder cannot be written to.
    """
    config = AlignConfig() if config is None else config
    check_dimensions(config, source.hidden_size, target.hidden_size)
    chosen = layer_pairs(layers, source, target)
    parts = [part.with_words() for part in ([train] if test is None else [train, test])]
    texts = [[*zip(map(" ".join, part.source), map(" ".join, part.target), strict=True)] for part in parts]
    learn_N, ask_N, facts = split_sentences(texts[0], None if test is None else texts[1], config)
    every = [(part, number) for part in parts for number in range(len(part))]
    linked = [part.kept(number, links) for part, number in every]
    learn = [row for row in learn_N.tolist() if linked[row]]
    ask = _enough([row for row in ask_N.tolist() if linked[row]], [len(each) for each in linked], config)
    _check_linked(learn, ask, links)
    needed = [*learn, *ask]
    found = [
        extract(
            encoder,
            [(part.source, part.target)[side][number] for part, number in (every[row] for row in needed)],
            layers=[pair[side] for pair in chosen],
            pool="words",
            language=languages[side],
            out=None if scratch is None else scratch / f"side{side}",
            progress=progress,
        )
        for side, encoder in enumerate((source, target))
    ]
    starts = [each.offsets for each in found]
    pairs_P2 = np.array(
        [
            [int(starts[side][place]) + link[side] for side in (0, 1)]  # type: ignore[index]
            for place, row in enumerate(needed)
            for link in linked[row]
        ]
    )
    learned = sum(len(linked[row]) for row in learn)
    rows = (LayerRows(one, other, found[0][one], found[1][other]) for one, other in chosen)
    return fit_alignment(
        "words",
        languages,
        rows,
        pairs_P2[:learned],
        pairs_P2[learned:],
        config,
        {**facts, "sentences": {"train": len(learn), "test": len(ask)}},
        total=len(chosen),
        device=target.device,
        progress=progress,
    )


def _check_linked(learn: list[int], ask: list[int], links: LinksKept) -> None:
    for name, rows in (("to learn from", learn), ("to score on", ask)):
        if not rows:
            raise InputError(
                f"no sentence {name} has a {'one-to-one link' if links == 'one' else 'link'}",
                remedy="check the links, or give more sentences",
                code="input.no-match",
            )


def _enough(rows: list[int], links: Sequence[int], config: AlignConfig) -> list[int]:
    """Whole sentences, drawn at random, until there are enough pairs to score on: no others are encoded."""
    drawn = [rows[place] for place in random_stream(config.seed, "alignment test").permutation(len(rows))]
    before = np.cumsum([links[row] for row in drawn]) - [links[row] for row in drawn] if drawn else np.empty(0)
    return sorted(row for row, count in zip(drawn, before, strict=True) if count < config.test_limit)
