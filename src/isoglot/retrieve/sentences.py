"""Retrieval of translated sentences by an encoder or from files of vectors, in every layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT, Progress
from isoglot.represent import extract
from isoglot.represent.extraction import Pool, cut_in_words, pool_in_words, sentence_pool
from isoglot.retrieve.estimates import OtherText
from isoglot.retrieve.layer_scores import DEFAULTS, VectorSet, score_layers
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.results import Retrieval
from isoglot.retrieve.vector_files import read_side
from isoglot.text.cleaning.processing import check_as_written
from isoglot.text.formats.plain import read_sentence_lines

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch

    from isoglot.model import EncoderLike
    from isoglot.retrieve.evaluation import RetrievalConfig

    Change = Callable[[VectorSet, VectorSet], tuple[VectorSet, VectorSet]]

OTHER_SENTENCES = 2000
"""Maximum number of sentences of other text for a mean."""
Layers = Literal["all"] | list[int]


def unchanged(source: VectorSet, target: VectorSet) -> tuple[VectorSet, VectorSet]:
    """Return the two sides of a retrieval as they are: the default where a map may be applied first."""
    return source, target


def retrieve_sentences(
    encoder: EncoderLike,
    sets: Sequence[ParallelSet] | Mapping[str, Sequence[str]],
    config: RetrievalConfig = DEFAULTS,
    *,
    layers: Layers = "all",
    pool: Pool | None = None,
    others: Mapping[str, Mapping[int | None, OtherText]] | None = None,
    change: Change = unchanged,
    name: str = "",
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Retrieval:
    """Search the translation of every sentence in every layer, for each pair of languages, in both directions.

    Rows that repeat a sentence of an earlier row are left out.

    Args:
        encoder: Any encoder.
        sets: Parallel sets; or lists of sentences by language, translations at the same position. Sets of built-in
            sentences: :func:`isoglot.compare.parallel_sentences.builtin_sets`.
        config: How to search and score.
        layers: Layer numbers, or ``all``.
        pool: Sentence pooling. Default: the model's own if it has one, else the mean of the subwords.
        others: Means and rows of each language and layer from other text, for ``config.estimates`` of kind ``given``:
            :func:`other_text`, or :meth:`isoglot.steer.LanguageMeans.as_others`.
        change: Applied to the two sides first, such as a map (:func:`isoglot.align.apply.map_sides`).
        name: Name of the encoder.
        device: Where to search.
        progress: Progress of each step.

    Returns:
        Scores of every pair of languages, layer and method, in both directions.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> from isoglot.diagnose import builtin_set
    >>> found = retrieve_sentences(encoder, [builtin_set(["en", "de"], 20)], layers=[8], device="cpu")
    >>> type(found).__name__
    'Retrieval'

    Raises:
        ConfigError: The encoder does not have a language or layer, or a mean is missing.
        InputError: A hidden state is not finite, or there are too few sentences.
    """
    kept, pool = unrepeated_sets(sets), sentence_pool(encoder, pool)
    pairs, remarks = [], [*pool_in_words(encoder, pool)]
    for one, sides in sides_of_sets(encoder, kept, layers, pool, others=others, name=name, progress=progress):
        pairs += [
            score_layers(*change(sides[first], sides[second]), config=config, device=device, progress=progress)
            for first, second in one.pairs
        ]
        remarks += [*one.remarks, *cut_in_words([(side.name, side.cut) for side in sides.values()], len(one))]
    facts = {
        "model": name,
        "pool": pool,
        "left_out": {one.name: one.left_out for one in kept if one.left_out},
        "repeated": {one.name: one.repeated for one in kept if one.repeated},
    }
    return Retrieval(kind="sentences", pairs=tuple(pairs), facts=facts, remarks=tuple(remarks))


def unrepeated_sets(sets: Sequence[ParallelSet] | Mapping[str, Sequence[str]]) -> list[ParallelSet]:
    """The sets without rows that repeat a sentence of an earlier row."""
    given = [ParallelSet.from_lists(sets)] if isinstance(sets, Mapping) else sets
    return [one.without_repeats() for one in given]


def sides_of_sets(
    encoder: EncoderLike,
    sets: Sequence[ParallelSet],
    layers: Layers,
    pool: Pool,
    *,
    others: Mapping[str, Mapping[int | None, OtherText]] | None = None,
    name: str = "",
    progress: Progress = SILENT,
) -> Iterator[tuple[ParallelSet, dict[str, VectorSet]]]:
    """Each set with the sentence vectors of its languages; what two sets in a row share is encoded once."""
    sides: dict[str, VectorSet] = {}
    for one in sets:
        sides = sentence_sides(encoder, one, layers=layers, pool=pool, name=name, known=sides, progress=progress)
        sides = {code: replace(side, others=(others or {}).get(code, {})) for code, side in sides.items()}
        yield one, sides


def retrieve_rows(
    source: Path,
    target: Path,
    config: RetrievalConfig = DEFAULTS,
    *,
    layers: Layers = "all",
    limit: int | None = None,
    change: Change = unchanged,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> Retrieval:
    """Search row i of one file of vectors among the rows of another, in every layer, in both directions.

    Args:
        source: A file that :func:`read_side` reads.
        target: The same for the translations.
        config: How to search and score.
        layers: Layer numbers, or ``all``.
        limit: Maximum number of rows.
        change: Applied to the two sides first, such as a map.
        device: Where to search.
        progress: Progress in layers.

    Returns:
        Scores of every layer and method, in both directions.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = Path(folder) / "en.npy", Path(folder) / "de.npy"
    ...     for file in files:
    ...         np.save(file, np.eye(8))
    ...     found = retrieve_rows(*files)
    >>> found.pairs[0]
    PairScores('en.npy-de.npy', layers None, best P@1 1.000 in layer None)

    Raises:
        ConfigError: A layer does not exist.
        InputError: The files differ in rows or width, or a row is invalid.
        StorageError: A file cannot be read.
    """
    sides = (read_side(path, layers=layers, limit=limit) for path in (source, target))
    pair = score_layers(*change(*sides), config=config, device=device, progress=progress)
    remarks = [  # of the whole file, whatever the limit
        line
        for side in (pair.source, pair.target)
        for line in cut_in_words([(side.name, side.cut)], side.header.get("sentences", len(side)))
    ]
    facts = {"source": str(source), "target": str(target)}
    return Retrieval(kind="sentences", pairs=(pair,), facts=facts, remarks=tuple(remarks))


def sentence_sides(
    encoder: EncoderLike,
    parallel: ParallelSet,
    *,
    layers: Layers = "all",
    pool: Pool | None = None,
    name: str = "",
    known: Mapping[str, VectorSet] | None = None,
    progress: Progress = SILENT,
) -> dict[str, VectorSet]:
    """Vectors of a parallel set by language, each language encoded once.

    Args:
        encoder: Any encoder.
        parallel: The set.
        layers: Layer numbers, or ``all``.
        pool: Sentence pooling. Default: the model's own if it has one, else the mean of the subwords.
        name: Name of the encoder.
        known: Result for another set with the same options: languages with the same sentences are reused.
        progress: Progress in sentences.

    Raises:
        ConfigError: The encoder does not have that language or layer.
        InputError: A hidden state is not finite.
    """
    sides = {}
    for code, sentences in parallel.sentences.items():
        before = None if known is None else known.get(code)
        if before is not None and (before.items, before.numbers) == (sentences, parallel.numbers):
            sides[code] = before
            continue
        found = extract(encoder, sentences, layers=layers, pool=pool, language=code, name=name, progress=progress)
        layers_of: dict[int | None, np.ndarray] = {layer: found[layer] for layer in found.layers}
        sides[code] = VectorSet(
            name=code, layers=layers_of, items=sentences, numbers=parallel.numbers, header=found.header
        )
    return sides


def other_text(
    encoder: EncoderLike,
    texts: Mapping[str, Sequence[Path]],
    *,
    layers: Layers = "all",
    pool: Pool = "mean",
    limit: int = OTHER_SENTENCES,
    progress: Progress = SILENT,
) -> dict[str, dict[int | None, OtherText]]:
    """Means and vectors of sentences from other text than the test's, by language and layer.

    Args:
        encoder: Any encoder.
        texts: Files of each language, one sentence per line; blank lines are skipped.
        layers: Layer numbers, or ``all``.
        pool: Sentence pooling, the same as for the test.
        limit: Maximum number of sentences per language.
        progress: Progress in sentences.

    Raises:
        ConfigError: The encoder does not have that language or layer.
        InputError: There is no text.
    """
    found: dict[str, dict[int | None, OtherText]] = {}
    for code, paths in texts.items():
        sentences = list(islice((line for path in paths for line in text_lines(path)), limit))
        if not sentences:
            raise InputError("no sentences", "give text with one sentence per line", "empty", file=paths[0])
        read = extract(encoder, sentences, layers=layers, pool=pool, language=code, progress=progress)
        found[code] = {
            layer: OtherText(read[layer].mean(axis=0, dtype="float64"), read[layer]) for layer in read.layers
        }
    return found


def text_lines(path: Path, limit: int | None = None) -> Iterator[str]:
    """Lines of a text that are not blank, at most ``limit`` of them.

    Raises:
        ConfigError: The file was segmented.
        StorageError: It cannot be read.
    """
    check_as_written(path)
    return islice((line for _, line in read_sentence_lines(path) if line.strip()), limit)
