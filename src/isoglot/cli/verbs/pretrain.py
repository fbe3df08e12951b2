"""``isoglot pretrain``: train an encoder on shards, as a recipe says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from isoglot.cli.inputs import TrainingText, is_path, one_each, option, parse_named, parse_pairs
from isoglot.cli.options import INPUT, MODEL, Device, OptionalOut, Seed, Settings, Weights, open_run
from isoglot.cli.output import Output, listing
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.new_language import Added
    from isoglot.pretrain.train import Pretrained, Stop

EXAMPLE = (
    "Example: isoglot pretrain micro --shards en=shards/en --shards fr=shards/fr --vocab vocab/ --out runs/micro\n\n"
    "A new language: isoglot pretrain --add-language sw --model runs/micro --text sw=sw.txt --held-out en=en.txt "
    "--out runs/sw"
)
UNFINISHED = "\nNot finished: the same command with --resume goes on."


@dataclass(frozen=True)
class NewLanguage:
    """Options of a run that adds a language to an encoder."""

    SECTION: ClassVar[str] = "New language"
    add_language: Annotated[
        str | None, option("--add-language", "LANG", "Add a language to an encoder, instead of a new encoder.")
    ] = None
    model: Annotated[str | None, option("--model", "MODEL", f"The encoder. {MODEL}", callback=open_run)] = None
    texts: Annotated[
        list[str] | None,
        option(
            "--text",
            "LANG=PATH",
            "Its text. Text of other languages is trained too, once all weights are. May be repeated.",
        ),
    ] = None
    held_out: Annotated[
        list[str] | None,
        option(
            "--held-out", "LANG=PATH", "Text of languages whose loss is watched and not trained on. May be repeated."
        ),
    ] = None

    def run(self, config: dict[str, Any], out: Path, output: Output, **options: Any) -> Added:  # noqa: ANN401 - those of add_language
        """Add the language.

        Raises:
            ConfigError: There is no model.
        """
        from isoglot.align.new_rows import aligned_rows
        from isoglot.model.load import load_native_encoder
        from isoglot.pretrain.new_language import add_language, add_language_config

        if self.model is None:
            raise ConfigError("--model is missing", "name the encoder to add the language to", "missing-option")
        code = str(self.add_language)
        texts = parse_named([f"{code}={value}" if is_path(value) else value for value in self.texts or []])
        held_out = parse_named(self.held_out, "--held-out") if self.held_out else {}
        encoder = load_native_encoder(self.model, device="cpu")
        made = add_language_config(encoder, code, **config)
        rows = partial(aligned_rows, seed=made.seed, noise=made.language.noise, progress=output.progress)
        options["rows"] = rows if made.language.rows == "aligned" else None
        return add_language(made, encoder, texts, out, held_out=held_out, **options)


def pretrain(
    *,
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe's name (see --list), or a .toml file.")
    ] = None,
    text: TrainingText,
    new: NewLanguage,
    weights: Weights = "best",
    out: OptionalOut = None,
    budget: Annotated[
        str | None, option("--budget", "AMOUNT", "8m, 2000steps or 400Mtokens. Default: the recipe's.")
    ] = None,
    plan: Annotated[
        str | None, option("--plan", "PLAN", "Parts private to each language: sep-emb, or emb,pos,1-3,softmax.")
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        option(
            "--dictionary", "FROM-TO=PATH", "Dictionary for code-switching. May be repeated.", rich_help_panel=INPUT
        ),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        option(
            "--parallel",
            "LANG=PATH",
            "Parallel sentences line by line, for TLM. May be repeated.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    stop_after: Annotated[
        str | None, option("--stop-after", "TIME", "Stop with a checkpoint after 9m or 2h; resume later.")
    ] = None,
    draw: Annotated[Path | None, option("--draw", "FILE", "Only draw the sharing plan as SVG, and stop.")] = None,
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
        limit = None if stop_after is None else parse_duration(stop_after, "--stop-after")
        if new.add_language is not None:
            apart = {"--shards": text.shards, "--vocab": text.vocab, "--plan": plan, "--draw": draw}
            apart |= {"--dictionary": dictionary, "--parallel": parallel}
            _refuse(apart, "has no effect with --add-language")
            _add(new, _given(recipe, budget, settings or [], seed), _needed(out), resume, Stop(limit), device, output)
            return
        others = {"--model": new.model, "--text": new.texts, "--held-out": new.held_out}
        _refuse(others, "has no effect without --add-language")
        config = _config(recipe, budget, plan, settings or [], seed)
        if draw is not None:
            _draw(config, list(one_each(text.shards, "--shards")) if text.shards else ["en", "fr"], draw, output)
            return
        shards, vocabulary = text.open()
        out = _needed(out)
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
            output.say(UNFINISHED)


def _needed(out: Path | None) -> Path:
    if out is None:
        raise ConfigError("--out is missing", "name a folder for the run: --out runs/first", "missing-option")
    return out


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Refuse options that were given and have no effect."""
    for name in (name for name, value in options.items() if value):
        raise ConfigError(f"{name} {why}", "leave one of them out", "conflicting-options")


def _given(recipe: str | None, budget: str | None, settings: list[str], seed: int) -> dict[str, Any]:
    """Arguments of :func:`build_config`."""
    from isoglot.core.config import load_recipe
    from isoglot.pretrain.schedule import parse_budget

    values: dict[str, object] = {"seed": seed}
    if budget is not None:
        parse_budget(budget)
        values["budget"] = budget
    found = None if recipe is None else load_recipe(recipe, room="pretrain")
    return {"recipe": found, "values": values, "settings": settings}


def _config(recipe: str | None, budget: str | None, plan: str | None, settings: list[str], seed: int) -> PretrainConfig:
    from isoglot.core.config import build_config
    from isoglot.pretrain.config import PretrainConfig

    if recipe is None:
        remedy = "name one, such as micro; isoglot pretrain --list shows all"
        raise ConfigError("RECIPE is missing", remedy, "missing-option")
    changes = settings if plan is None else [f'model.plan="{plan}"', *settings]
    return build_config(PretrainConfig, **_given(recipe, budget, changes, seed))


def _add(
    new: NewLanguage, config: dict[str, Any], out: Path, resume: bool, stop: Stop, device: str, output: Output
) -> None:
    """Add a language and show the result."""
    with output.resumable(out):
        options = {"resume": resume, "stop": stop, "device": device, "progress": output.progress, "say": output.remark}
        done = new.run(config, out, output, **options)
    if done.run.rank:
        return
    rows = [*_rows(done.run), ("subwords", f"{done.subwords['new']:,} new, {done.subwords['shared']:,} shared")]
    for code, loss in done.after.items():
        rows.append(("held-out loss", f"{code} {done.before[code]:.2f} before, {loss:.2f} after"))
    output.result(done.facts(), listing(rows))
    if not done.run.finished:
        output.say(UNFINISHED)


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
