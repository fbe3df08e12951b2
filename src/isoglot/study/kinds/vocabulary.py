"""Steps that train a vocabulary and encode text with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import IsoglotError
from isoglot.study.kinds.text import TEXT
from isoglot.study.numbers import Number

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.study.steps import Work
    from isoglot.vocab import Vocabulary

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
    ``text`` and ``vocabulary``.
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
    fertility = _fertility(text, vocabulary, settings["language"])
    shutil.move(work.scratch / SHARDS, work.folder / SHARDS)
    at = {"language": settings["language"]}
    return [
        Number("text_tokens", tokens, at),
        Number("ids_read", read, at),
        *([] if fertility is None else [Number("fertility", fertility, at)]),
    ]


_FERTILITY_LINES = 2000


def _fertility(text: Path, vocabulary: Vocabulary, language: str) -> float | None:
    """Subwords per word, on the first lines of a text; None where words cannot be told apart here."""
    from itertools import islice

    from isoglot.text.cleaning.segmentation import segmenter, word_method
    from isoglot.text.stream import read_stream

    try:
        words_of = segmenter(language, word_method(language))
    except IsoglotError:  # a made-up language, or the library for its words is not installed
        words_of = str.split
    lines = [line for line in islice(read_stream([text]), _FERTILITY_LINES) if line]
    words = sum(len(words_of(line)) for line in lines)
    return sum(len(vocabulary.encode(line, language)) for line in lines) / words if words else None
