"""What the verbs share that align words of bitext: its options, its words, and the aligner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.align_run import count_option
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.align import EncoderAligner, WordAlignConfig, WordAligner
    from isoglot.align.words.bitext import Segmenting
    from isoglot.cli.output import Output
    from isoglot.languages.corpus import Split
    from isoglot.text.formats.pharaoh import GoldLinks

    Pairs = list[tuple[list[str], list[str]]]

Parallel = Annotated[
    list[str] | None,
    typer.Option("--parallel", metavar="LANG=FILE", help="Sentences line by line; twice. Or one table of both."),
]
BUILTIN = 10_000  # built-in sentences, where nobody says how many
Count = Annotated[int | None, count_option("The first N", BUILTIN)]
Segment = Annotated[
    Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"] | None,
    typer.Option(
        "--segment",
        help="How text is cut into words. Default: auto, or blanks where links are given: they count words.",
    ),
]
Aligner = Annotated[
    Path | None, typer.Option("--aligner", metavar="PATH", help="One that align links wrote. Default: it learns here.")
]


def read_pairs(
    files: dict[str, Path] | Path,
    languages: tuple[str, str],
    segment: Segmenting | None,
    sentences: int | None,
    seed: int,
    *,
    links: Path | None = None,
    gold: Path | None = None,
    split: Split = "train",
) -> tuple[Pairs, list[GoldLinks] | None]:
    """The words of the first pairs, and their links where a file has them or the sentences are built in.

    Links count words, so where there are some, the text has blanks between them unless something else is said.
    """
    from isoglot.align import builtin_bitext
    from isoglot.align.words.bitext import read_gold_links, read_links, read_word_pairs
    from isoglot.text.formats.pharaoh import GoldLinks

    if not files:
        bitext = builtin_bitext(languages, sentences or BUILTIN, split=split, seed=seed)
        return list(zip(bitext.source, bitext.target, strict=True)), [GoldLinks(each, []) for each in bitext.links]
    pairs = read_word_pairs(files, languages, segment or ("blanks" if links or gold else "auto"), sentences)
    found = None
    if links is not None:
        found = [GoldLinks(each, []) for each in read_links(links, pairs, files, languages, sentences)]
    elif gold is not None:
        found = read_gold_links(gold, pairs, files, languages, sentences)
    return pairs, found


def known_aligner(
    path: Path | None, languages: tuple[str, str], model: str | None = None, device: str = "auto"
) -> WordAligner | EncoderAligner | None:
    """The aligner that was named, if one was.

    Raises:
        ConfigError: It is for other languages, or for another model.
    """
    from isoglot.align import load_aligner

    if path is None:
        return None
    found = load_aligner(path, model=model, device=device)
    if found.languages not in (None, languages):
        raise ConfigError(
            f"the aligner is for {' and '.join(found.languages or ())}, the text is {' and '.join(languages)}",
            remedy="name the languages in the aligner's order, or train one",
            code="config.other-language",
        )
    return found


def learned_aligner(pairs: Pairs, config: WordAlignConfig, languages: tuple[str, str], output: Output) -> WordAligner:
    """An aligner learned from sentence pairs."""
    from isoglot.align import train_aligner
    from isoglot.core.optional import COMPILED

    if not COMPILED:
        output.say("numba is not installed, so this takes a hundred times as long; pip install 'isoglot[static]'")
    return train_aligner(pairs, config, languages=languages, progress=output.progress)
