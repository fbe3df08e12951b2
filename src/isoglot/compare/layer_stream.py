"""CKA of all layers of two encoders, straight from the encoders.

What they make of a chunk of sentences is summed up and forgotten: memory does not grow with the number of sentences.
"""

from __future__ import annotations

from collections.abc import Sized
from itertools import islice
from typing import TYPE_CHECKING

from isoglot.compare.layer_grid import CKAFitter
from isoglot.compare.sentences import language_for
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT
from isoglot.represent import extract
from isoglot.represent.layer_pass import chosen_layers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.compare.forms import CKAGrid
    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers

SENTENCES = 4096
"""Sentences of a chunk: their vectors of all layers are in memory at once."""


def stream_layer_cka(
    encoder_a: EncoderLike,
    encoder_b: EncoderLike,
    sentences_a: Iterable[str],
    sentences_b: Iterable[str],
    languages: tuple[str, str],
    *,
    layers: Layers = "all",
    pool: Pool = "mean",
    chunk: int = SENTENCES,
    progress: Progress = SILENT,
) -> CKAGrid:
    """CKA of every layer of one encoder with every layer of another, in three forms, of any number of sentences.

    The same as :func:`~isoglot.compare.layer_grid.layer_cka` of what :func:`~isoglot.represent.extract` gives, but for
    rounding.

    Args:
        encoder_a: Reads the first sentences; its layers are the rows of the grid.
        encoder_b: Reads the others; it may be the same encoder.
        sentences_a: Sentences of the first language; a generator will do.
        sentences_b: The same in the second language, in the same order.
        languages: The two languages.
        layers: ``all``, or numbers that both encoders have; negative ones count from the last of each.
        pool: What a sentence's vector is.
        chunk: Sentences that are read at once: more take memory, fewer take time.
        progress: Shows how many sentences are done.

    Raises:
        ConfigError: There is no such layer or language, or a chunk of no sentences.
        InputError: Unequal numbers of sentences, fewer than 4, an empty one, or an encoder that gives the same for all
            of them, or what is no number.
    """
    if chunk < 1:
        raise ConfigError(f"chunk={chunk}", remedy="give a number of sentences")
    encoders = (encoder_a, encoder_b)
    chosen = [chosen_layers(layers, encoder.depth) for encoder in encoders]
    codes = [language_for(encoder, code) for encoder, code in zip(encoders, languages, strict=True)]
    fitter = CKAFitter(*chosen)
    given = iter(sentences_a), iter(sentences_b)
    total = len(sentences_a) if isinstance(sentences_a, Sized) else None
    with progress.task("compare all layers", total=total, unit="sentences") as task:
        while any(texts := [list(islice(side, chunk)) for side in given]):
            if len(texts[0]) != len(texts[1]):
                counts = [f"{fitter.count + len(side):,}" for side in texts]
                raise InputError(
                    f"{' and '.join(counts)} sentences on the two sides, or more",
                    remedy="give the same sentences in the same order on both sides",
                )
            X, Y = (
                extract(encoder, side, layers=list(own), pool=pool, language=code)
                for encoder, side, own, code in zip(encoders, texts, chosen, codes, strict=True)
            )
            fitter.update(X, Y)
            task.advance(len(texts[0]))
    return fitter.result()
