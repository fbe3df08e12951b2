"""``isoglot shards``: text to token shards, and a look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.inputs import parse_named
from isoglot.cli.options import MAX_LINE, Debug, Json, MaxLine, Out, Quiet, Seed
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.cli.vocab import Texts, open_vocabulary
from isoglot.core.table import Table

if TYPE_CHECKING:
    from isoglot.vocab import Shards

app = typer.Typer(help="Token shards: text as ids that training reads straight from the disk.", no_args_is_help=True)

Folders = Annotated[list[Path], typer.Argument(metavar="SHARDS...", help="Folders of shards.")]


@app.command("build", epilog="Example: isoglot shards build --text en=en.txt --vocab vocab/ --out shards/en")
def build(
    text: Texts,
    vocab: Annotated[str, typer.Option("--vocab", metavar="VOCAB", help="A vocabulary's folder, or any tokenizer.")],
    out: Out,
    window: Annotated[
        int, typer.Option("--window", min=1, help="Ids in a window, unless training asks otherwise.")
    ] = 256,
    domain: Annotated[
        str | None,
        typer.Option("--domain", metavar="NAME", help="Where the text is from, such as wiki; recorded for recipes."),
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="The first N; a prefix of a larger build.")
    ] = None,
    dev_share: Annotated[
        float, typer.Option("--dev-share", min=0, max=0.99, help="Share of the documents set apart for dev.")
    ] = 0.01,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, max=256, help="Processes that share the work. Default: by size."),
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew, whatever is in the folder.")] = False,
    max_line: MaxLine = MAX_LINE,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Encode text and write it as shards; a build that was cut short goes on where it was.

    With one language the shards go to the folder itself, with several to a folder in it for each.
    """
    from isoglot.vocab import build_shards
    from isoglot.vocab.shard_build import workers_for

    output = Output(json=json, quiet=quiet)
    texts = parse_named(text)
    vocabulary = open_vocabulary(vocab)
    with recorded(out, (path for paths in texts.values() for path in paths), seed=seed, kind="in place") as run:
        built = []
        for code, paths in texts.items():
            folder = out if len(texts) == 1 else out / code
            shards = build_shards(
                paths,
                vocabulary,
                code,
                folder,
                window=window,
                domain=domain,
                sentences=sentences,
                dev_share=dev_share,
                seed=seed,
                resume=not restart,
                workers=workers or workers_for(paths),
                progress=output.progress,
            )
            for name in (*shards.index["files"], "index.json"):
                run.add_output(folder / name)
            built.append(shards)
    output.result([_facts(shards) for shards in built], _table(built))


@app.command("check", epilog="Example: isoglot shards check shards/en --vocab vocab/")
def check(
    folders: Folders,
    vocab: Annotated[
        str | None, typer.Option("--vocab", metavar="VOCAB", help="Also: were they made with this vocabulary?")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Verify that every file of the shards is what was written."""
    from rich.text import Text

    from isoglot.vocab import Shards

    output = Output(json=json, quiet=quiet)
    vocabulary = None if vocab is None else open_vocabulary(vocab)
    sound = []
    for folder in folders:
        shards = Shards.open(folder)
        if vocabulary is not None:
            shards.check_vocabulary(vocabulary)
        sound.append(shards)
    lines = [f"{shards.folder}: sound, {sum(_tokens(shards)):,} tokens" for shards in sound]
    output.result([_facts(shards) for shards in sound], Text("\n".join(lines)))


@app.command("stats", epilog="Example: isoglot shards stats shards/en shards/fr")
def stats(folders: Folders, json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Count what the shards hold: documents, sentences, tokens, types, windows."""
    from isoglot.vocab import Shards

    output = Output(json=json, quiet=quiet)
    opened = [Shards.open(folder, check="sizes") for folder in folders]
    output.result([{**_facts(shards), "types": _types(shards)} for shards in opened], _table(opened))


def _facts(shards: Shards) -> dict[str, Any]:
    keys = ("language", "domain", "counts", "window", "dtype", "vocabulary", "sources")
    return {"folder": str(shards.folder), **{key: shards.index.get(key) for key in keys}}


def _tokens(shards: Shards) -> list[int]:
    return [counts["tokens"] for counts in shards.index["counts"].values()]


def _types(shards: Shards) -> int:
    return int((shards.counts() > 0).sum())


def _table(opened: list[Shards]) -> Table:
    head = ["shards", "lang", "split", "documents", "sentences", "tokens", "windows", "types"]
    rows = []
    for shards in opened:
        for split, counts in shards.index["counts"].items():
            windows = f"{-(-counts['tokens'] // shards.window):,} x {shards.window}"
            types = f"{_types(shards):,}" if split == "train" else ""
            numbers = [f"{counts[key]:,}" for key in ("documents", "sentences", "tokens")]
            rows.append([str(shards.folder), shards.language, split, *numbers, windows, types])
    return Table.from_cells(head, rows, align="lllr")
