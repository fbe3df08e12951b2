"""``isoglot static``: train static vectors, and get the vectors of words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import TrainingText, option
from isoglot.cli.options import FileOut, Out, Seed, Settings, verb
from isoglot.cli.output import Output, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    help="Static vectors: Word2Vec, GloVe and fastText on the shards and vocabulary of the encoders.",
    no_args_is_help=True,
)


@verb(
    app, "train", example="static train glove --shards en=shards/en --shards de=shards/de --vocab vocab/ --out glove/"
)
def train(
    *,
    method: Annotated[Literal["word2vec", "glove", "fasttext"], typer.Argument(help="The method.")],
    text: TrainingText,
    out: Out,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", min=1, max=100_000, help="Dimensions of the vectors [768].")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, max=100_000, help="Number of epochs [GloVe 50, others 5].")
    ] = None,
    window: Annotated[
        int | None, typer.Option("--window", min=1, max=255, help="Context window on each side [GloVe 10, others 5].")
    ] = None,
    workers: Annotated[
        int, option("--workers", "N", "Threads. GloVe's result does not depend on them.", min=1, max=256)
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    settings: Settings = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Train a vector for every frequent subword, on all languages together.

    With one worker the same seed gives the same bits, also after --resume. The folder is an encoder with layer 0 alone
    to every verb that takes one: encode, retrieve, align, compare.

    More settings for --set: min_count, boundary, learning_rate; GloVe: x_max, alpha, weighting, vectors; Word2Vec and
    fastText: objective (skip-gram or cbow), negative, sample.
    """
    from isoglot.core.config import build_config
    from isoglot.static.train import KINDS, train_static

    given = {"seed": seed, "dimensions": dimensions, "epochs": epochs, "window": window}
    values = {key: value for key, value in given.items() if value is not None}
    config = build_config(KINDS[method], values=values, settings=settings or [])
    shards, vocabulary = text.open()
    with output.resumable(out):
        learned = train_static(
            config,
            shards,
            vocabulary,
            out,
            workers=workers,
            resume=resume,
            progress=output.progress,
            say=output.remark,
        )
    assert learned is not None  # noqa: S101 - for the type checker: nothing stops it before the end
    output.result({"out": str(out), **learned.facts}, listing(_rows(out, learned.facts)))


@verb(app, "vectors", example="static vectors glove/ --words words.txt --lang en --out words.en.vec")
def vectors(
    *,
    model: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder from isoglot static train, or any .vec file.")
    ],
    out: FileOut,
    words: Annotated[
        Path | None, option("--words", "FILE", "Words, one per line. Default: all that the model has.")
    ] = None,
    lang: Annotated[str | None, option("--lang", "LANG", "The language of the words.")] = None,
    first: Annotated[int | None, option("--first", "N", "Only the first N vectors.", min=1)] = None,
    same_as: Annotated[
        Path | None, option("--same-as", "FILE", "Only words that this .vec has too: a fair comparison.")
    ] = None,
    output: Output,
) -> None:
    """Write the vectors of words as a .vec file; a word of several subwords has their mean.

    isoglot retrieve words --source A.vec --target B.vec takes two of them.
    """
    from rich.text import Text

    from isoglot.static.vectors_of_words import export_words

    facts = export_words(model, out, words, lang, first=first, same_as=same_as)
    asked = f" of {facts['asked']:,} asked for" if "asked" in facts else ""
    output.result(facts, Text(f"{out}: {facts['words']:,} words{asked}, {facts['dimensions']} dimensions"))


def _rows(out: Path, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "vectors", f"{out} ({facts['known']:,} x {facts['dimensions']})"
    yield "trained on", ", ".join(f"{code} {count:,} tokens" for code, count in facts["tokens"].items())
    if "losses" in facts:
        yield "loss", f"{facts['losses'][0]:.4f} to {facts['losses'][-1]:.4f}, {facts['pairs']:,} pairs"
