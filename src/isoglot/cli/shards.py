"""``isoglot shards``: text to token shards, and a look at them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import parse_named
from isoglot.cli.options import MAX_LINE, MaxLine, Out, Seed, verb
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.cli.vocab import Texts, VocabOption, open_vocabulary
from isoglot.core.table import Table

if TYPE_CHECKING:
    from isoglot.vocab import Shards

app = typer.Typer(help="Token shards: text as ids that training reads straight from the disk.", no_args_is_help=True)

Folders = Annotated[list[Path], typer.Argument(metavar="SHARDS...", help="Folders of shards.")]


@dataclass(frozen=True)
class Built:
    """Settings of :func:`isoglot.vocab.build_shards`."""

    window: Annotated[int, typer.Option("--window", min=1, help="Ids in a window, unless training asks otherwise.")] = (
        256
    )
    domain: Annotated[
        str | None,
        typer.Option("--domain", metavar="NAME", help="Where the text is from, such as wiki; recorded for recipes."),
    ] = None
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="The first N; a prefix of a larger build.")
    ] = None
    dev_share: Annotated[
        float, typer.Option("--dev-share", min=0, max=0.99, help="Share of the documents set apart for dev.")
    ] = 0.01
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, max=256, help="Processes that share the work. Default: by size."),
    ] = None
    seed: Seed = 0


@verb(app, "build", example="shards build --text en=en.txt --vocab vocab/ --out shards/en")
def build(
    *,
    text: Texts,
    vocab: VocabOption,
    out: Out,
    built: Built,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew, whatever is in the folder.")] = False,
    max_line: MaxLine = MAX_LINE,
    output: Output,
) -> None:
    """Encode text and write it as shards; a build that was cut short goes on where it was.

    With one language the shards go to the folder itself, with several to a folder in it for each.
    """
    from isoglot.vocab import build_shards

    texts = parse_named(text)
    vocabulary = open_vocabulary(vocab)
    read = (path for paths in texts.values() for path in paths)
    found = []
    with recorded(out, read, seed=built.seed, kind="in place") as run:
        for code, paths in texts.items():
            folder = out if len(texts) == 1 else out / code
            how = {**vars(built), "resume": not restart, "progress": output.progress}
            found.append(build_shards(paths, vocabulary, code, folder, **how))
            for name in (*found[-1].index["files"], "index.json"):
                run.add_output(folder / name)
    output.result([shards.facts() for shards in found], _table(found))


@verb(app, "check", example="shards check shards/en --vocab vocab/")
def check(
    *,
    folders: Folders,
    vocab: Annotated[
        str | None, typer.Option("--vocab", metavar="VOCAB", help="Also: were they made with this vocabulary?")
    ] = None,
    output: Output,
) -> None:
    """Verify that every file of the shards is what was written."""
    from isoglot.vocab import Shards

    sound = [Shards.open(folder) for folder in folders]
    if vocab is not None:
        vocabulary = open_vocabulary(vocab)
        for shards in sound:
            shards.check_vocabulary(vocabulary)
    tokens = [sum(counts["tokens"] for counts in shards.index["counts"].values()) for shards in sound]
    lines = [f"{shards.folder}: sound, {count:,} tokens" for shards, count in zip(sound, tokens, strict=True)]
    output.result([shards.facts() for shards in sound], "\n".join(lines))


@verb(app, "stats", example="shards stats shards/en shards/fr")
def stats(*, folders: Folders, output: Output) -> None:
    """Count what the shards hold: documents, sentences, tokens, types, windows."""
    from isoglot.vocab import Shards

    opened = [Shards.open(folder, check="sizes") for folder in folders]
    output.result([{**shards.facts(), "types": shards.types()} for shards in opened], _table(opened))


def _table(opened: list[Shards]) -> Table:
    head = ["shards", "lang", "split", "documents", "sentences", "tokens", "windows", "types"]
    rows = []
    for shards in opened:
        for split, counts in shards.index["counts"].items():
            windows = f"{-(-counts['tokens'] // shards.window):,} x {shards.window}"
            types = f"{shards.types():,}" if split == "train" else ""
            numbers = [f"{counts[key]:,}" for key in ("documents", "sentences", "tokens")]
            rows.append([str(shards.folder), shards.language, split, *numbers, windows, types])
    return Table.from_cells(head, rows, align="lllr")
