"""Text steps: text cut to size and without test sentences, or built-in text; its vocabulary, and its token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, IsoglotError
from isoglot.core.progress import SILENT, Progress
from isoglot.study.numbers import Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from isoglot.study.steps import Work
    from isoglot.text.cleaning.overlap import OverlapReport
    from isoglot.vocab import Vocabulary


TEXT = "text.txt"
"""The payload of a text step."""
DICTIONARY = "dictionary.txt"


def cut_text(work: Work) -> list[Number]:
    """Remove test sentences from a text and cut it to size.

    Settings: ``language``; ``bytes``, the largest size (documents are sampled evenly); inputs ``text.N`` and
    ``test.NAME``, files with test sentences of any task.
    """
    language, limit = work.settings["language"], work.settings.get("bytes")
    texts = [path for _, path in work.named("text")]
    whole = work.folder / TEXT if limit is None else work.scratch / TEXT
    report = overlap_with_tests(texts, dict(work.named("test")), language, target=whole, progress=work.progress)
    if not report.lines:
        raise InputError("the text is empty", "give text with at least one line", "empty", file=texts[0])
    if limit is not None:
        sample_documents(whole, work.folder / TEXT, limit)
    at = {"language": language}
    return [
        Number("text_lines", report.lines, at),
        Number("text_bytes", (work.folder / TEXT).stat().st_size, at),
        *(
            Number("test_sentences_in_text", found["found"], {**at, "test": name, "of": found["sentences"]})
            for name, found in report.sets.items()
        ),
    ]


def overlap_with_tests(
    texts: Sequence[Path],
    tests: Mapping[str, Path],
    language: str,
    *,
    target: Path | None = None,
    progress: Progress = SILENT,
) -> OverlapReport:
    """Look for test sentences in a text; with ``target``, write the text without them."""
    from isoglot.text.cleaning.overlap import OverlapFinder, find_overlap, held_out_sentences
    from isoglot.vocab.shard_build import workers_for

    finder = OverlapFinder({name: list(held_out_sentences(path, language)) for name, path in tests.items()}, language)
    return find_overlap(texts, finder, target=target, workers=workers_for(texts), progress=progress)


def sample_documents(source: Path, target: Path, size: int) -> None:
    """Write an even sample of the documents of a text, of about ``size`` bytes; a smaller text is copied whole.

    A document is chosen by a hash of its first line, so that a larger sample contains a smaller one.
    """
    from zlib import crc32

    from isoglot.text.formats.plain import read_documents, write_documents
    from isoglot.text.provenance import derived

    share = size / max(1, source.stat().st_size)

    def chosen() -> Iterator[list[str]]:
        for document in read_documents(source):
            if crc32(document[0].encode()) / 2**32 < share:
                yield document

    write_documents(target, chosen(), provenance=derived([source], {"step": "sample", "bytes": size}))


def builtin_text(work: Work) -> list[Number]:
    """Write running text of a built-in language.

    Settings: ``language``, ``sentences``, ``seed``, and ``register`` (encyclopaedic or conversational; missing: both).
    """
    from isoglot.languages import documents
    from isoglot.languages.builtin import builtin_provenance
    from isoglot.text.formats.plain import write_documents

    language, wanted, seed = (work.settings[name] for name in ("language", "sentences", "seed"))
    texts = documents(language, seed=seed, register=work.settings.get("register"))

    def lines() -> Iterator[list[str]]:
        count = 0
        while count < wanted:
            text = [sentence.text for sentence in next(texts)]
            count += len(text)
            yield text

    write_documents(work.folder / TEXT, lines(), provenance=builtin_provenance(TEXT, language, seed))
    return [Number("text_bytes", (work.folder / TEXT).stat().st_size, {"language": language})]


def builtin_dictionary(work: Work) -> list[Number]:
    """Write the dictionary of two built-in languages.

    Settings: ``source``, ``target``.
    """
    from isoglot.languages.builtin import builtin_dictionary as entries_of
    from isoglot.text.formats.dictionary import write_dictionary

    count = write_dictionary(work.folder / DICTIONARY, entries_of(work.settings["source"], work.settings["target"]))
    return [Number("dictionary_entries", count)]


def first_sentences(work: Work) -> list[Number]:
    """Cut a text to its first sentences; a larger number of sentences contains a smaller one.

    Settings: ``language``, ``sentences``; input ``text``, a paragraph or sentence a line.

    Raises:
        InputError: It has fewer.
    """
    from isoglot.text.cleaning.sentence_splitter import sentence_spans
    from isoglot.text.formats.plain import read_documents, write_documents
    from isoglot.text.provenance import derived

    language, wanted, source = work.settings["language"], work.settings["sentences"], work.inputs["text"] / TEXT
    left = wanted

    def chosen() -> Iterator[list[str]]:
        nonlocal left
        for document in read_documents(source):
            kept = []
            for line in document:
                spans = sentence_spans(line, language)
                if left > 0:
                    kept.append(line[: spans[min(left, len(spans)) - 1][1]] if spans else line)
                left -= len(spans)
            if kept:
                yield kept
            if left <= 0:
                return

    provenance = derived([source], {"step": "first sentences", "sentences": wanted})
    write_documents(work.folder / TEXT, chosen(), provenance=provenance)
    if left > 0:
        problem = f"the text of {language} has {wanted - left:,} sentences, not {wanted:,}"
        remedy = "give more text, or set smaller sizes: --set sizes=[…]"
        raise InputError(problem, remedy, "too-few")
    return [Number("text_bytes", (work.folder / TEXT).stat().st_size, {"language": language})]


def segment(work: Work) -> list[Number]:
    """Segment a text into words, so that vocabularies and shards need not do it again.

    Settings: ``language``, ``method``; input ``text``, which is copied if it is segmented in this way.

    Raises:
        ConfigError: It was segmented in another way.
    """
    from isoglot.text.cleaning.processing import TextProcessing, processing_left
    from isoglot.text.cleaning.segmentation import LineSegmenter
    from isoglot.text.formats.plain import read_documents, write_documents
    from isoglot.text.provenance import derived
    from isoglot.text.stream import rewrite
    from isoglot.vocab.shard_build import workers_for

    language, method = work.settings["language"], work.settings["method"]
    source, target = work.inputs["text"] / TEXT, work.folder / TEXT
    if processing_left([source], TextProcessing(language, segmentation=method)).segmentation == "none":
        write_documents(target, read_documents(source), provenance=derived([source], {"step": "copy"}))
        return []
    workers = workers_for([source])
    report = rewrite([source], target, LineSegmenter(language, method), workers=workers, progress=work.progress)
    return [Number("text_words", report.words, {"language": language})]


def first_lines(path: Path, count: int | None) -> list[str]:
    """The first lines of a text that are not blank; all of them if ``count`` is None."""
    from itertools import islice

    from isoglot.text.stream import read_stream

    return list(islice((line for line in read_stream([path]) if line), count))


VOCABULARY, SHARDS = "vocabulary", "shards"


def train(work: Work) -> list[Number]:
    """Train a vocabulary on the text of one or more languages.

    Settings: ``mode`` (joint, union or disjoint), ``size``, ``sentences`` (lines of each language that are read),
    ``segmentation`` by language, ``seed``; inputs ``text.LANG``.
    """
    from isoglot.vocab import train_vocabulary

    settings = work.settings
    vocabulary = train_vocabulary(
        {code: [path / TEXT] for code, path in work.named("text")},
        mode=settings["mode"],
        size=settings["size"],
        segmentation=settings.get("segmentation"),
        sentences=settings.get("sentences"),
        seed=settings.get("seed", 0),
        progress=work.progress,
    )
    vocabulary.save(work.folder / VOCABULARY)
    return [Number("vocabulary_size", len(vocabulary))]


def encode(work: Work) -> list[Number]:
    """Encode the text of a language into shards.

    Settings: ``language``, ``domain``, ``window``, ``sentences`` (the first N), ``dev_share``, ``seed``; inputs
    ``text`` and ``vocabulary``, and of segmented text ``as-written``, the same before.
    """
    import shutil

    from isoglot.vocab import Vocabulary, build_shards
    from isoglot.vocab.shard_build import workers_for

    settings = work.settings
    vocabulary = Vocabulary.load(work.inputs["vocabulary"] / VOCABULARY)
    text = work.inputs["text"] / TEXT
    shards = build_shards(
        [text],
        vocabulary,
        settings["language"],
        work.scratch / SHARDS,
        window=settings.get("window", 256),
        domain=settings.get("domain"),
        sentences=settings.get("sentences"),
        dev_share=settings.get("dev_share", 0.01),
        seed=settings.get("seed", 0),
        resume=True,
        workers=workers_for([text]),
        progress=work.progress,
    )
    tokens, read = shards.index["counts"]["train"]["tokens"], int((shards.counts() > 0).sum())
    written = work.inputs.get("as-written", work.inputs["text"]) / TEXT
    fertility = _fertility(written, vocabulary, settings["language"])
    shutil.move(work.scratch / SHARDS, work.folder / SHARDS)
    at = {"language": settings["language"]}
    found = {"text_tokens": tokens, "ids_read": read, "fertility": fertility}
    return [Number(measure, value, at) for measure, value in found.items() if value is not None]


_FERTILITY_LINES = 2000


def _fertility(text: Path, vocabulary: Vocabulary, language: str) -> float | None:
    """Subwords per word on the first lines of a text; None where there are no words."""
    from itertools import islice

    from isoglot.text.cleaning.segmentation import segmenter, word_method
    from isoglot.text.stream import read_stream

    try:
        words_of = segmenter(language, word_method(language))
    except IsoglotError:  # a made-up language, or its segmenter is not installed
        words_of = str.split
    lines = [line for line in islice(read_stream([text]), _FERTILITY_LINES) if line]
    words = sum(len(words_of(line)) for line in lines)
    return sum(len(vocabulary.encode(line, language)) for line in lines) / words if words else None
