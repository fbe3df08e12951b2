"""``isoglot static``: learn static vectors, and get the vectors of words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import parse_named
from isoglot.cli.options import Debug, FileOut, Json, Out, Quiet, Seed, Settings
from isoglot.cli.output import Output, command_line
from isoglot.core.errors import ConfigError, InputError, shown

if TYPE_CHECKING:
    from rich.table import Table

    from isoglot.vocab import Shards

app = typer.Typer(
    help="Static vectors: Word2Vec, GloVe and fastText on the shards and vocabulary of the encoders.",
    no_args_is_help=True,
)


@app.command(
    "train",
    epilog="Example: isoglot static train glove --shards en=shards/en --shards de=shards/de "
    "--vocab vocab/ --out glove/",
)
def train(
    method: Annotated[Literal["word2vec", "glove", "fasttext"], typer.Argument(help="What to learn.")],
    shards: Annotated[
        list[str], typer.Option("--shards", metavar="LANG=DIR", help="Token shards of a language. May be repeated.")
    ],
    vocab: Annotated[str, typer.Option("--vocab", metavar="VOCAB", help="The vocabulary the shards were made with.")],
    out: Out,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", min=1, max=100_000, help="Numbers in a vector [768].")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=1, max=100_000, help="How often the data is gone through [GloVe 50, others 5]."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", min=1, max=255, help="Subwords on each side that are near [GloVe 10, others 5]."),
    ] = None,
    workers: Annotated[
        int,
        typer.Option("--workers", metavar="N", min=1, max=256, help="Threads. GloVe's result does not depend on them."),
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the work in --out.")] = False,
    settings: Settings = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a vector for every frequent subword, of all languages together.

    With one worker the same seed gives the same bits, also after --resume. The folder is an encoder with layer 0 alone
    to every verb that takes one: encode, retrieve, align, compare.

    What else can be set with --set: min_count, boundary, rate; GloVe: x_max, alpha, weighting, vectors; Word2Vec and
    fastText: objective (skip-gram or cbow), negative, sample.
    """
    from isoglot.cli.vocab import open_vocabulary
    from isoglot.core.config import build_config
    from isoglot.static.train import KINDS, train_static

    output = Output(json=json, quiet=quiet)
    given = {"dimensions": dimensions, "epochs": epochs, "window": window}
    values = {"seed": seed} | {key: value for key, value in given.items() if value is not None}
    config = build_config(KINDS[method], values=values, settings=settings or [])
    if method == "glove":
        _warn_of_slowness(output)
    with output.resumable(out):
        learned = train_static(
            config,
            _opened(shards),
            open_vocabulary(vocab),
            out,
            workers=workers,
            resume=resume,
            command=command_line(),
            progress=output.progress,
            say=output.remark,
        )
    assert learned is not None  # noqa: S101 - for the type checker: nothing stops it before the end
    output.result({"out": str(out), **learned.facts}, _table(out, learned.facts))


@app.command("vectors", epilog="Example: isoglot static vectors glove/ --words words.txt --lang en --out words.en.vec")
def vectors(
    model: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder from isoglot static train, or any .vec file.")
    ],
    out: FileOut,
    words: Annotated[
        Path | None,
        typer.Option("--words", metavar="FILE", help="Words, one a line. Default: all that the model has."),
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", metavar="LANG", help="The language of the words.")] = None,
    first: Annotated[int | None, typer.Option("--first", metavar="N", min=1, help="Only the first N vectors.")] = None,
    same_as: Annotated[
        Path | None,
        typer.Option("--same-as", metavar="FILE", help="Only words that this .vec has, too: a fair comparison."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the vectors of words as a .vec file; a word of several subwords has their mean.

    isoglot retrieve words --source A.vec --target B.vec takes two of them.
    """
    from rich.text import Text

    from isoglot.model.static_table import INDEX, open_table
    from isoglot.static.vectors_of_words import baseline, same_words, word_vectors
    from isoglot.text.formats.lines import read_lines
    from isoglot.text.formats.word_vectors import Vectors, write_vectors
    from isoglot.text.provenance import provenance_of

    output = Output(json=json, quiet=quiet)
    if out.suffix != ".vec":
        raise ConfigError(
            f"--out {shown(str(out))} is no .vec",
            remedy="vectors of words are text: name it words.vec",
            code="config.malformed-option",
        )
    wanted = None if words is None else [line.strip() for _, line in read_lines(words) if line.strip()]
    if wanted == []:
        raise InputError("there are no words", remedy="write one per line", code="input.empty", file=words)
    if (model / INDEX).exists():
        table = open_table(model)
        origin = table.provenance
        found = word_vectors(table, wanted, lang)
        found = Vectors(found.words[:first], found.matrix_ND[:first])
    elif model.is_dir():
        raise ConfigError(
            f"{model} holds no static vectors",
            remedy="make them with isoglot static train",
            code="config.not-supported",
        )
    else:
        origin = provenance_of(model)
        found = baseline(model, first)
        found = found if wanted is None else same_words(found, wanted)
    if same_as is not None:
        found = same_words(found, baseline(same_as).words)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_vectors(out, found.words, found.matrix_ND, provenance=origin)
    facts: dict[str, Any] = {"out": str(out), "words": len(found), "dimensions": int(found.matrix_ND.shape[1])}
    asked = ""
    if wanted is not None:
        facts["asked"] = len(set(wanted))
        asked = f" of {facts['asked']:,} asked for"
    output.result(facts, Text(f"{out}: {len(found):,} words{asked}, {facts['dimensions']} dimensions"))


def _opened(named: list[str]) -> dict[str, Shards]:
    from isoglot.vocab import Shards

    found = {}
    for code, folders in parse_named(named, "--shards").items():
        if len(folders) > 1:
            raise ConfigError(
                f"--shards {code}={folders[1]}: {code} has shards already",
                remedy="build one folder from all its text",
                code="config.duplicate",
            )
        found[code] = Shards.open(folders[0])
    return found


def _warn_of_slowness(output: Output) -> None:
    from isoglot.core.optional import COMPILED

    if not COMPILED:
        output.say("numba is not installed, so this takes a hundred times as long; pip install 'isoglot[static]'")


def _table(out: Path, facts: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_row("vectors", f"{out} ({facts['known']:,} x {facts['dimensions']})")
    table.add_row("learned from", ", ".join(f"{code} {count:,} tokens" for code, count in facts["tokens"].items()))
    if "losses" in facts:
        table.add_row("loss", f"{facts['losses'][0]:.4f} to {facts['losses'][-1]:.4f}, {facts['pairs']:,} pairs")
    return table
