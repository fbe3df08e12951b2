"""The twin of a text in files, with its gold word alignment beside it."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.languages.twins import Kind, Order, twin, twin_code
from isoglot.text.bad import Skip
from isoglot.text.lines import line_writer
from isoglot.text.provenance import Provenance, derived, merged
from isoglot.text.segment import segmenter, word_method
from isoglot.text.stream import RewriteReport, read_stream, stream_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def twin_files(
    paths: Sequence[str | Path],
    target: str | Path,
    language: str,
    kind: Kind,
    *,
    degree: float = 1.0,
    order: Order = "blend",
    kept: float = 0.0,
    alignment: str | Path | None = None,
    seed: int = 0,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> RewriteReport:
    """Write the twin of a text: words with one blank between them, documents apart.

    Args:
        paths: The text, one file after the other.
        target: The twin's file.
        language: The language of the text, which says how words are found.
        kind: See :func:`twin`, as for ``degree``, ``order``, ``kept`` and ``seed``.
        degree: How far word order is from the text's.
        order: How it differs; those that need trees cannot be had from plain text.
        kept: The share of words that stay as they are.
        alignment: Where the links between words go, in the Pharaoh format, one line for each line of the twin.
        seed: Same seed, same twin.
        skip: How many malformed lines may be skipped, and what was.
        progress: Shows how far it is.

    Raises:
        CorruptFileError: A file has changed since its record was written.
        ConfigError: There is no such kind, order, degree or share, or the order needs trees.
        InputError: A line is not UTF-8 text, and no more may be skipped.
        StorageError: A file cannot be read or written.
    """
    report = RewriteReport()
    provenance = _twin_provenance(paths, language, kind, degree=degree, order=order, kept=kept, seed=seed)
    split = segmenter(language, word_method(language))
    counts = None
    if kind == "frequency":
        first = read_stream(paths, skip=None if skip is None else Skip(skip.allowed))
        counts = Counter(word for line in first for word in split(line))
    sentences = (split(line) for line in read_stream(paths, skip=skip))
    twins = twin(sentences, kind, degree=degree, order=order, kept=kept, counts=counts, seed=seed)
    with (
        stream_writer(target, provenance) as writer,
        nullcontext() if alignment is None else line_writer(alignment) as links,
        progress.task(f"twin {language}", total=None, unit="lines") as task,
    ):
        for other in twins:  # one without words ends a document
            writer.write(" ".join(other.tokens))
            report.words += len(other.tokens)
            if links is not None and other.tokens:
                links.write(" ".join(f"{source}-{place}" for source, place in other.alignment))
            task.advance()
    report.lines = report.written = writer.lines
    report.documents = writer.documents
    report.skipped = 0 if skip is None else skip.count
    return report


def _twin_provenance(
    paths: Sequence[str | Path], language: str, kind: Kind, *, degree: float, order: Order, kept: float, seed: int
) -> Provenance:
    """The text's provenance; its dictionaries are also those of the twin, in the words the twin has for theirs."""
    options = {"degree": degree, "order": order, "kept": kept, "seed": seed}
    step = {"step": "twin", "language": language_code(language), "kind": kind, "words_by": word_method(language)}
    found = derived(paths, step | options)

    def words_of_twin(words: Iterable[str]) -> frozenset[str]:
        if kind != "shift":
            return frozenset(words)
        return frozenset(one.tokens[0] for one in twin(([word] for word in words), kind, kept=kept, seed=seed))

    of_twin = [
        replace(
            used,
            source=twin_code(used.source, kind),
            target=twin_code(used.target, kind),
            source_words=words_of_twin(used.source_words),
            target_words=words_of_twin(used.target_words),
        )
        for used in found.dictionaries
    ]
    return merged([found], of_twin)
