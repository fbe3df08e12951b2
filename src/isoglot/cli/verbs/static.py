"""``isoglot static``: train static vectors, and get the vectors of words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from isoglot.cli.declaration import argument, option, verb
from isoglot.cli.inputs import TrainingText
from isoglot.cli.options import FileOut, Out, Seed, Settings
from isoglot.cli.output import Output

app = typer.Typer()


@verb(
    app, "train", example="static train glove --shards en=shards/en --shards de=shards/de --vocab vocab/ --out glove/"
)
def train(
    *,
    method: Annotated[Literal["word2vec", "glove", "fasttext"], argument(text="Training method.")],
    text: TrainingText,
    out: Out,
    dimensions: Annotated[int | None, option(text="Dimensions of the vectors [768].", min=1, max=100_000)] = None,
    epochs: Annotated[int | None, option(text="Number of epochs [GloVe 50, others 5].", min=1, max=100_000)] = None,
    window: Annotated[int | None, option(min=1, max=255)] = None,
    workers: Annotated[int, option("N", "Threads. GloVe's result does not depend on them.", min=1, max=256)] = 1,
    resume: Annotated[bool, option(text="Resume the run in --out.")] = False,
    settings: Settings = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Train a vector for every frequent subword, on all languages together.

    With one worker the same seed gives the same bits, also after --resume. The folder is an encoder with layer 0 alone
    to every verb that takes one: encode, retrieve, align, compare.

    More settings for --set: min_count, boundary, learning_rate; GloVe: x_max, alpha, weighting, vectors; Word2Vec and
    fastText: objective (skip-gram or cbow), negative, sample.

    Options:
        window: Context window on each side [GloVe 10, others 5].
    """
    from isoglot.core.config import build_config
    from isoglot.report.terminal.listings import static_result
    from isoglot.static.train import KINDS, train_static

    given = {"seed": seed, "dimensions": dimensions, "epochs": epochs, "window": window}
    values = {key: value for key, value in given.items() if value is not None}
    config = build_config(KINDS[method], values=values, settings=settings or [])
    how: dict[str, Any] = {"workers": workers, "resume": resume, "progress": output.progress, "say": output.remark}
    shards, vocabulary = text.open()
    with output.resumable(out):
        learned = train_static(config, shards, vocabulary, out, **how)
    assert learned is not None  # noqa: S101 - for the type checker: nothing stops it before the end
    output.print(static_result(learned, out))


@verb(app, "vectors", example="static vectors glove/ --words words.txt --lang en --out words.en.vec")
def vectors(
    *,
    model: Annotated[Path, argument("PATH", "A folder from isoglot static train, or any .vec file.")],
    out: FileOut,
    words: Annotated[Path | None, option("FILE", "Words, one per line. Default: all that the model has.")] = None,
    lang: Annotated[str | None, option("LANG", "The language of the words.")] = None,
    first: Annotated[int | None, option("N", "Only the first N vectors.", min=1)] = None,
    same_as: Annotated[Path | None, option("FILE", "Only words that this .vec has too: a fair comparison.")] = None,
    output: Output,
) -> None:
    """Write the vectors of words as a .vec file; a word of several subwords has their mean.

    isoglot retrieve words --source A.vec --target B.vec takes two of them.
    """
    from isoglot.report.terminal.listings import word_vectors_result
    from isoglot.static.vectors_of_words import export_words

    output.print(word_vectors_result(export_words(model, out, words, lang, first=first, same_as=same_as)))
