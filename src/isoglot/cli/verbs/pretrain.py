"""``isoglot pretrain``: train an encoder on shards, as a recipe says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import TrainingText, one_each, parse_pairs
from isoglot.cli.options import INPUT, Device, OptionalOut, Seed, Settings
from isoglot.cli.output import Output, listing
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.train import Pretrained

EXAMPLE = "Example: isoglot pretrain micro --shards en=shards/en --shards fr=shards/fr --vocab vocab/ --out runs/micro"


def pretrain(
    *,
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe's name (see --list), or a .toml file.")
    ] = None,
    text: TrainingText,
    out: OptionalOut = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="AMOUNT", help="8m, 2000steps or 400Mtokens. Default: the recipe's."),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="PLAN", help="Parts private to each language: sep-emb, or emb,pos,1-3,softmax."),
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            "--dictionary",
            metavar="FROM-TO=PATH",
            rich_help_panel=INPUT,
            help="Dictionary for code-switching. May be repeated.",
        ),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            "--parallel",
            metavar="LANG=PATH",
            rich_help_panel=INPUT,
            help="Parallel sentences line by line, for TLM. May be repeated.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    stop_after: Annotated[
        str | None,
        typer.Option("--stop-after", metavar="TIME", help="Stop with a checkpoint after 9m or 2h; resume later."),
    ] = None,
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="FILE", help="Only draw the sharing plan as SVG, and stop.")
    ] = None,
    list_recipes: Annotated[bool, typer.Option("--list", help="List the recipes and stop.")] = False,
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Train an encoder whose languages share what the plan says.

    Ctrl-C finishes the step and saves it. An interrupted run is resumed with --resume; with a budget of steps or tokens
    it ends, on the CPU, with the same bits as one that was not interrupted. For several processes: torchrun
    --nproc-per-node=8 -m isoglot pretrain …
    """
    from isoglot.pretrain.distributed import one_report
    from isoglot.pretrain.schedule import parse_duration
    from isoglot.pretrain.train import Stop
    from isoglot.pretrain.train import pretrain as train
    from isoglot.text.formats.dictionary import read_dictionaries

    if list_recipes:
        _list(output)
        return
    with one_report():
        config = _config(recipe, budget, plan, settings or [], seed)
        if draw is not None:
            _draw(config, list(one_each(text.shards, "--shards")) if text.shards else ["en", "fr"], draw, output)
            return
        limit = None if stop_after is None else parse_duration(stop_after, "--stop-after")
        shards, vocabulary = text.open()
        if out is None:
            remedy = "name a folder for the run: --out runs/first"
            raise ConfigError("--out is missing", remedy, "missing-option")
        dictionaries = read_dictionaries(parse_pairs(dictionary or []))
        files = one_each(parallel, "--parallel") if parallel else {}
    with output.resumable(out):
        done = train(
            config,
            shards,
            vocabulary,
            out,
            device=device,
            dictionaries=dictionaries,
            parallel=files,
            resume=resume,
            stop=Stop(limit),
            progress=output.progress,
            say=output.remark,
        )
    if done.rank == 0:
        output.result(done.facts(), listing(_rows(done)))
        if not done.finished:
            output.say("\nNot finished: the same command with --resume goes on.")


def _config(recipe: str | None, budget: str | None, plan: str | None, settings: list[str], seed: int) -> PretrainConfig:
    from isoglot.core.config import build_config, load_recipe
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.schedule import parse_budget

    if recipe is None:
        remedy = "name one, such as micro; isoglot pretrain --list shows all"
        raise ConfigError("RECIPE is missing", remedy, "missing-option")
    values: dict[str, object] = {"seed": seed}
    if budget is not None:
        parse_budget(budget)
        values["budget"] = budget
    changes = settings if plan is None else [f'model.plan="{plan}"', *settings]
    return build_config(PretrainConfig, recipe=load_recipe(recipe, room="pretrain"), values=values, settings=changes)


def _draw(config: PretrainConfig, languages: list[str], path: Path, output: Output) -> None:
    from rich.text import Text

    from isoglot.report.figures import plan_figure
    from isoglot.report.rendering import save_figure

    shape = config.model.encoder(vocabulary_size=100, languages=tuple(languages), pad_id=0, unk_id=1)
    drawing = plan_figure(shape.sharing, languages, depth=shape.layers, positions=shape.positions == "learned")
    save_figure(drawing.titled(), path)
    output.result({"plan": shape.sharing.text, "drawing": str(path)}, Text(f"{shape.sharing.name}: {path}"))


def _list(output: Output) -> None:
    from isoglot.core.config import load_recipe, recipe_names

    texts = {name: load_recipe(name, room="pretrain").text for name in recipe_names("pretrain")}
    found = {name: text.split("\n", 1)[0].lstrip("# ") for name, text in texts.items()}
    output.result(found, listing(found.items()))


def _rows(done: Pretrained) -> list[tuple[str, str]]:
    from isoglot.core.progress import duration

    position, best = done.position, done.out / "best"
    rows = [("encoder" if done.finished else "checkpoint", str(done.out))]
    rows.append(("steps", f"{position.step:,} ({position.tokens:,} tokens) in {duration(position.seconds)}"))
    if position.dev:
        rows.append(("dev perplexity", "  ".join(f"{code} {value:.1f}" for code, value in position.dev.items())))
    if position.best is not None:
        kept = f"{best} " if best.exists() else ""
        rows.append(("best", f"{kept}(step {position.best_step:,}, {position.best:.1f})"))
    return rows
