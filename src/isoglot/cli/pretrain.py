"""``isoglot pretrain``: train an encoder on shards, as a recipe says."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from isoglot.cli.inputs import one_each, parse_named, parse_pairs
from isoglot.cli.options import Debug, Device, Json, OptionalOut, Quiet, Seed, Settings
from isoglot.cli.output import Output, command_line
from isoglot.core.errors import ConfigError, IsoglotError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.table import Table

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.train import Pretrained
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.provenance import Provenance
    from isoglot.vocab import Shards, Vocabulary

EXAMPLE = "Example: isoglot pretrain micro --shards en=shards/en --shards fr=shards/fr --vocab vocab/ --out runs/micro"


def pretrain(
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe's name (see --list), or a .toml file.")
    ] = None,
    shards: Annotated[
        list[str] | None,
        typer.Option("--shards", metavar="LANG=DIR", help="Token shards of a language. May be repeated."),
    ] = None,
    vocab: Annotated[
        str | None, typer.Option("--vocab", metavar="VOCAB", help="The vocabulary the shards were made with.")
    ] = None,
    out: OptionalOut = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="AMOUNT", help="8m, 2000steps or 400Mtokens, not the recipe's.")
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan", metavar="PLAN", help="What each language has to itself: sep-emb, or emb,pos,1-3,softmax."
        ),
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            "--dictionary", metavar="FROM-TO=PATH", help="Words to switch, for extra anchors. May be repeated."
        ),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            "--parallel", metavar="LANG=PATH", help="Sentences line by line, for TLM on pairs. May be repeated."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    stop_after: Annotated[
        str | None,
        typer.Option(
            "--stop-after", metavar="TIME", help="Stop with a checkpoint after 9m or 2h, and go on later: --resume."
        ),
    ] = None,
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="FILE", help="Only draw the plan, as SVG, and stop.")
    ] = None,
    list_recipes: Annotated[bool, typer.Option("--list", help="List the recipes and stop.")] = False,
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train an encoder whose languages share what the plan says.

    Ctrl-C ends the step and saves it. A run that was cut short goes on with --resume; with a budget of steps or tokens
    it ends, on the CPU, with the same bits as one that was not. For many processes: torchrun --nproc-per-node=8 -m
    isoglot pretrain …
    """
    output = Output(json=json, quiet=quiet)
    if list_recipes:
        _list(output)
        return
    from isoglot.pretrain.schedule import parse_duration

    with _one_voice():
        config = _config(recipe, budget, plan, settings or [], seed)
        if draw is not None:
            _draw(config, list(parse_named(shards, "--shards")) if shards else ["en", "fr"], draw, output)
            return
        limit = None if stop_after is None else parse_duration(stop_after, "--stop-after")
        given = _given(shards, vocab, out, dictionary or [], parallel or [])
    _train(config, given, resume=resume, stop_after=limit, device=device, output=output)


@contextmanager
def _one_voice() -> Iterator[None]:
    """What is wrong before the processes of a machine have met is wrong in all of them: the first one says it."""
    try:
        yield
    except IsoglotError:
        if os.environ.get("LOCAL_RANK", "0") != "0":
            raise SystemExit(2) from None
        raise


def _config(recipe: str | None, budget: str | None, plan: str | None, settings: list[str], seed: int) -> PretrainConfig:
    from isoglot.core.config import build_config, load_recipe
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.schedule import parse_budget

    if recipe is None:
        raise ConfigError(
            "RECIPE is missing",
            remedy="name one, such as micro; isoglot pretrain --list shows all",
            code="config.missing-option",
        )
    if budget is not None:
        parse_budget(budget)
    values = {"seed": seed} | ({} if budget is None else {"budget": budget})
    options = [] if plan is None else [f'model.plan="{plan}"']
    return build_config(
        PretrainConfig,
        recipe=load_recipe(recipe, room="pretrain"),
        values=values,
        settings=[*options, *settings],
    )


class _Given(NamedTuple):
    """What the user named, opened."""

    shards: Mapping[str, Shards]
    vocabulary: Vocabulary
    out: Path
    dictionaries: dict[tuple[str, str], list[Entry]]
    parallel: list[dict[str, str]]
    parallel_provenance: Provenance | None


def _given(
    shards: list[str] | None, vocab: str | None, out: Path | None, dictionary: list[str], parallel: list[str]
) -> _Given:
    from isoglot.cli.vocab import open_vocabulary

    texts = _shards(shards)
    if vocab is None:
        raise ConfigError(
            "--vocab is missing", remedy="name the vocabulary the shards were made with", code="config.missing-option"
        )
    if out is None:
        raise ConfigError(
            "--out is missing", remedy="name a folder for the run: --out runs/first", code="config.missing-option"
        )
    return _Given(texts, open_vocabulary(vocab), out, _dictionaries(dictionary), *_parallel(parallel))


def _train(
    config: PretrainConfig, given: _Given, *, resume: bool, stop_after: float | None, device: str, output: Output
) -> None:
    from isoglot.pretrain.train import pretrain as run

    with output.resumable(given.out):
        done = run(
            config,
            given.shards,
            given.vocabulary,
            given.out,
            device=device,
            dictionaries=given.dictionaries,
            parallel=given.parallel,
            parallel_provenance=given.parallel_provenance,
            resume=resume,
            stop_after=stop_after,
            command=command_line(),
            progress=output.progress,
            say=output.remark,
        )
    if done.rank == 0:
        output.result(_facts(done), _table(done))
        if not done.finished:
            output.say("\nNot finished: the same command with --resume goes on.")


def _shards(named: list[str] | None) -> Mapping[str, Shards]:
    from isoglot.vocab import Shards

    found = {}
    for code, folders in parse_named(named or [], "--shards").items():
        if len(folders) > 1:
            raise ConfigError(
                f"--shards {code}={folders[1]}: {code} has shards already",
                remedy="build one folder from all its text",
                code="config.duplicate",
            )
        found[code] = Shards.open(folders[0])
    return found


def _dictionaries(named: list[str]) -> dict[tuple[str, str], list[Entry]]:
    from isoglot.text.formats.dictionary import read_dictionary

    return {
        pair: [entry for path in paths for entry in read_dictionary(path)] for pair, paths in parse_pairs(named).items()
    }


def _parallel(named: list[str]) -> tuple[list[dict[str, str]], Provenance | None]:
    """The rows of parallel text, and where they come from."""
    from isoglot.text.cleaning.processing import check_as_written
    from isoglot.text.formats.parallel import read_aligned
    from isoglot.text.provenance import derived

    if not named:
        return [], None
    files = one_each(named, "--parallel")
    if len(files) < 2:
        raise ConfigError(
            "--parallel names one language",
            remedy="name two: --parallel en=a.txt --parallel fr=b.txt",
            code="config.other-language",
        )
    check_as_written(*files.values())
    return list(read_aligned(files)), derived(files.values(), {"step": "pair", "languages": sorted(files)})


def _draw(config: PretrainConfig, languages: list[str], path: Path, output: Output) -> None:
    from rich.text import Text

    from isoglot.core.files import write_text
    from isoglot.report.plan import plan_svg

    shape = config.model.encoder(vocabulary_size=100, languages=tuple(languages), pad_id=0, unk_id=1)
    drawing = plan_svg(shape.sharing, languages, depth=shape.layers, positions=shape.positions == "learned")
    write_text(path, drawing)
    output.result({"plan": shape.sharing.text, "drawing": str(path)}, Text(f"{shape.sharing.name}: {path}"))


def _list(output: Output) -> None:
    from rich.table import Table

    from isoglot.core.config import load_recipe, recipe_names

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    found = {}
    for name in recipe_names("pretrain"):
        first = load_recipe(name, room="pretrain").text.split("\n", 1)[0]
        found[name] = first.lstrip("# ")
        table.add_row(name, found[name])
    output.result(found, table)


def _facts(done: Pretrained) -> dict[str, Any]:
    position = done.position
    best = {"step": position.best_step, "perplexity": position.best} if position.best is not None else None
    return {
        "out": str(done.out),
        "finished": done.finished,
        "steps": position.step,
        "tokens": position.tokens,
        "seconds": round(position.seconds, 3),
        "dev_perplexity": position.dev,
        "best": best,
        "refused": list(done.refused),
    }


def _table(done: Pretrained) -> Table:
    from rich.table import Table

    from isoglot.core.progress import duration

    position = done.position
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_row("encoder" if done.finished else "checkpoint", str(done.out))
    table.add_row("steps", f"{position.step:,} ({position.tokens:,} tokens) in {duration(position.seconds)}")
    if position.dev:
        table.add_row("dev perplexity", "  ".join(f"{code} {value:.1f}" for code, value in position.dev.items()))
    if position.best is not None:
        folder = done.out / "best"
        kept = f"{folder} " if folder.exists() else ""
        table.add_row("best", f"{kept}(step {position.best_step:,}, {position.best:.1f})")
    return table
