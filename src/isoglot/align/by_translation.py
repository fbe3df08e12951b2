"""Alignment of parallel text in every layer: sentences, and words in context (Wu et al. 2020, Figures 5 and 6).

A sentence is the mean of its subwords, and so is a word.

Shape legend: ``N`` sentence pairs, ``P`` pairs of words.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from isoglot.align.layer_maps import RowPairs, check_dimensions, fit_alignment, held_out, layer_pairs, limited
from isoglot.align.maps.config import AlignConfig
from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.represent import extract
from isoglot.retrieve.leaks import refuse_leak
from isoglot.text.formats.parallel import unrepeated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.align.alignment import Alignment
    from isoglot.align.words.bitext import Bitext, LinksKept
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

    Returns:
        A map for every layer, with its scores.

    >>> import isoglot
    >>> from isoglot.align import BitextSource
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> train, test = BitextSource(languages=("en", "de"), sentences=20).sentence_pairs()
    >>> found = align_sentences(encoder, encoder, train, test, languages=("en", "de"), layers=[8])
    >>> found.use, found.train, found.test
    ('sentences', 20, 5)

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
    both_N2 = np.repeat(np.arange(len(needed))[:, None], 2, axis=1)
    return fit_alignment(
        "sentences",
        languages,
        found,
        chosen,
        RowPairs(both_N2[: len(learn_N)], both_N2[len(learn_N) :]),
        config,
        facts={**facts, "cut": [each.header["cut"] for each in found]},
        encoders=[each.header["encoder_sha256"] for each in found],
        device=target.device,
        progress=progress,
    )


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

    Returns:
        A map for every layer, with its scores.

    >>> import isoglot
    >>> from isoglot.align import Bitext
    >>> from isoglot.languages import align
    >>> from isoglot.languages.builtin import builtin_bitext
    >>> encoder, pairs = isoglot.load_encoder("isoglot-mini", device="cpu"), builtin_bitext(("en", "de"), 20)
    >>> links = [align(english, german) for english, german in pairs]
    >>> train = Bitext(source=[en.words for en, _ in pairs], target=[de.words for _, de in pairs], links=links)
    >>> align_words(encoder, encoder, train, languages=("en", "de"), layers=[8]).use
    'words'

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
    learn, ask = _linked_sentences(learn_N, ask_N, [len(each) for each in linked], links, config)
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
    return fit_alignment(
        "words",
        languages,
        found,
        chosen,
        RowPairs(pairs_P2[:learned], pairs_P2[learned:]),
        config,
        facts={**facts, "sentences": {"train": len(learn), "test": len(ask)}},
        encoders=[each.header["encoder_sha256"] for each in found],
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
            raise InputError(f"there are no sentences {name}", "give at least one pair", "empty")
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


def _linked_sentences(
    learn_N: np.ndarray, ask_N: np.ndarray, counts: Sequence[int], links: LinksKept, config: AlignConfig
) -> tuple[list[int], list[int]]:
    """Sentences with links to fit on, and as many to score on as the test limit needs.

    Raises:
        InputError: There are none.
    """
    learn = [row for row in learn_N.tolist() if counts[row]]
    # Whole sentences, drawn at random, until there are enough pairs to score on: no others are encoded.
    linked = [row for row in ask_N.tolist() if counts[row]]
    drawn = [linked[place] for place in random_stream(config.seed, "alignment test").permutation(len(linked))]
    before = accumulate((counts[row] for row in drawn), initial=0)
    ask = sorted(row for row, earlier in zip(drawn, before, strict=False) if earlier < config.test_limit)
    for name, rows in (("to learn from", learn), ("to score on", ask)):
        if not rows:
            problem = f"no sentence {name} has a {'one-to-one link' if links == 'one' else 'link'}"
            raise InputError(problem, "check the links, or give more sentences", "no-match")
    return learn, ask
