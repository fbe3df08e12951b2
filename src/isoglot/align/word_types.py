"""Alignment of words averaged over their contexts, in every layer (Wu et al. 2020, Figure 4b)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.align.layer_maps import LayerRows, check_dimensions, fit_alignment, layer_pairs
from isoglot.align.maps.config import AlignConfig
from isoglot.align.word_pairs import WordSplit
from isoglot.core.progress import SILENT
from isoglot.represent import frequent_words, word_types
from isoglot.retrieve.words import MOST_WORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from isoglot.align.alignment import Alignment
    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.represent.sentences import Sentences
    from isoglot.represent.word_vectors import Case
    from isoglot.text.formats.dictionary import Entry


def align_types(
    source: EncoderLike,
    target: EncoderLike,
    texts: tuple[Sentences, Sentences],
    train: Sequence[Entry],
    test: Sequence[Entry] | None = None,
    *,
    languages: tuple[str, str],
    layers: Layers = "all",
    case: Case = "lower",
    contexts: int | None = None,
    config: AlignConfig | None = None,
    seen: Collection[str] = (),
    progress: Progress = SILENT,
) -> Alignment:
    """Align words, each the mean over its contexts in a text of its language, by a dictionary.

    The map sees every word of both texts, the most frequent ones up to ``config.vocabulary`` and the dictionaries'; all
    of these are candidates for translations, unless ``config.candidates`` is ``gold``. All their layers are held in
    memory.

    Args:
        source: Model whose vectors are mapped.
        target: Model they are mapped to; it may be the same.
        texts: Text of either language: lists of words, a file with spaces between words, or one as written
            (:class:`isoglot.represent.sentences.SegmentedFile`). They need not be parallel.
        train: Dictionary to fit on.
        test: Dictionary to score on; None holds out a share of the first, by whole source words.
        languages: Languages of the dictionary.
        layers: Layer numbers, or ``all``; see :func:`isoglot.align.layer_maps.layer_pairs`.
        case: Whether words of the text are compared in lower case, as in MUSE's dictionaries.
        contexts: Maximum number of sentences per word.
        config: Map, normalization and evaluation.
        seen: Source words whose translation was given to pretraining.
        progress: Progress of each step.

    Raises:
        ConfigError: The map does not support these widths, or a layer does not exist.
        InputError: No entry of a dictionary occurs in the texts, or the test leaks.
        StorageError: A text cannot be read.
    """
    config = AlignConfig() if config is None else config
    check_dimensions(config, source.hidden_size, target.hidden_size)
    chosen = layer_pairs(layers, source, target)
    split = WordSplit(train, test, config, seen)
    frequent = [frequent_words(text, config.max_vocabulary or MOST_WORDS, case=case) for text in texts]
    found = [
        word_types(
            encoder,
            texts[side],
            list(dict.fromkeys([*frequent[side], *split.words(side)])),
            layers=[pair[side] for pair in chosen],
            case=case,
            contexts=contexts,
            language=languages[side],
            progress=progress,
        )
        for side, encoder in enumerate((source, target))
    ]
    pairs = split.rows(found[0].words or (), found[1].words or ())
    rows = (LayerRows(one, other, found[0][one], found[1][other]) for one, other in chosen)
    facts = {
        **pairs.facts,
        "vocabulary": [len(each) for each in found],
        "missing": [len(set(split.words(side)) - set(each.words or ())) for side, each in enumerate(found)],
        "without_vector": [len(each.header["without_vector"]) for each in found],
    }
    return fit_alignment(
        "types",
        languages,
        rows,
        pairs.train_P2,
        pairs.test_P2,
        config,
        facts,
        given=pairs.given(languages, found[0].words or (), found[1].words or ()),
        fitted="all",
        alike=pairs.alike,
        total=len(chosen),
        device=target.device,
        progress=progress,
    )
