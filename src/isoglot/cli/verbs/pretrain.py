"""``isoglot pretrain``: train an encoder on shards, as a recipe says, or add a language to one."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from isoglot.cli.declaration import INPUT, argument, command, option
from isoglot.cli.inputs import Files, TrainingText, is_path, one_each, parse_named, parse_pairs, required
from isoglot.cli.options import Device, OptionalOut, Seed, Settings, Weights, open_run
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.report.results import Rendering


@dataclass(frozen=True)
class NewLanguage:
    """A language that is added to an encoder.

    Options:
        add_language: Add a language to an encoder, instead of a new encoder.
        model: The encoder. {MODEL}
        texts: Its text. Text of other languages is trained too, once all weights are. May be repeated.
        held_out: Text of languages whose loss is watched and not trained on. May be repeated.
    """

    SECTION: ClassVar[str] = "New language"
    add_language: Annotated[str | None, option("LANG")] = None
    model: Annotated[str | None, option("MODEL", callback=open_run)] = None
    texts: Annotated[Files, option("LANG=FILE", name="--text")] = None
    held_out: Annotated[Files, option("LANG=FILE")] = None

    def prepared(self, config: dict[str, Any]) -> Callable[..., Rendering | None]:
        """What adds the language, once it is given a folder; the result is that of the first process."""
        from isoglot.align.new_rows import add_aligned_language
        from isoglot.model.load import load_native_encoder
        from isoglot.pretrain.new_language import add_language_config
        from isoglot.report.terminal.listings import added_result

        model = required(self.model, "--model", "name the encoder to add the language to")
        code = str(self.add_language)
        texts = parse_named([f"{code}={value}" if is_path(value) else value for value in self.texts or []])
        held_out = parse_named(self.held_out, "--held-out") if self.held_out else {}
        encoder = load_native_encoder(model, device="cpu")
        made = add_language_config(encoder, code, **config)

        def add(out: Path, **how: Any) -> Rendering | None:  # noqa: ANN401 - those of add_language
            done = add_aligned_language(made, encoder, texts, out, held_out=held_out, **how)
            return None if done.run.rank else added_result(done)

        return add


@dataclass(frozen=True)
class Recipe:
    """What is trained.

    Options:
        plan: Parts private to each language: sep-emb, or emb,pos,1-3,softmax.
    """

    recipe: Annotated[str | None, argument("RECIPE", "A recipe's name (see --list), or a .toml file.")] = None
    budget: Annotated[str | None, option("AMOUNT", "8m, 2000steps or 400Mtokens. Default: the recipe's.")] = None
    plan: Annotated[str | None, option("PLAN")] = None
    settings: Settings = None
    seed: Seed = 0

    def arguments(self) -> dict[str, Any]:
        """Arguments of :func:`build_config`."""
        from isoglot.core.config import load_recipe
        from isoglot.pretrain.schedule import parse_budget

        values: dict[str, object] = {"seed": self.seed}
        if self.budget is not None:
            parse_budget(self.budget)
            values["budget"] = self.budget
        changes = [] if self.plan is None else [f'model.plan="{self.plan}"']
        recipe = None if self.recipe is None else load_recipe(self.recipe, room="pretrain")
        return {"recipe": recipe, "values": values, "settings": [*changes, *(self.settings or ())]}

    def config(self) -> PretrainConfig:
        """The config of a new encoder."""
        from isoglot.core.config import build_config
        from isoglot.pretrain.config import PretrainConfig

        required(self.recipe, "RECIPE", "name one, such as micro; isoglot pretrain --list shows all")
        return build_config(PretrainConfig, **self.arguments())


@command(
    "pretrain micro --shards en=shards/en --shards fr=shards/fr --vocab vocab/ --out runs/micro\n\n"
    "A new language: isoglot pretrain --add-language sw --model runs/micro --text sw=sw.txt --held-out en=en.txt "
    "--out runs/sw"
)
def pretrain(
    *,
    what: Recipe,
    text: TrainingText,
    new: NewLanguage,
    weights: Weights = "best",
    out: OptionalOut = None,
    dictionary: Annotated[Files, option("FROM-TO=FILE", section=INPUT)] = None,
    parallel: Annotated[Files, option("LANG=FILE", section=INPUT)] = None,
    resume: Annotated[bool, option(text="Resume the run in --out.")] = False,
    stop_after: Annotated[str | None, option("TIME", "Stop with a checkpoint after 9m or 2h; resume later.")] = None,
    draw: Annotated[Path | None, option("FILE", "Only draw the sharing plan: .html, .svg, .png or .pdf.")] = None,
    list_recipes: Annotated[bool, option(text="List the recipes and stop.", name="--list")] = False,
    device: Device = "auto",
    output: Output,
) -> None:
    """Train an encoder whose embeddings and layers are shared between languages, or not, as a plan says.

    Ctrl-C finishes the step and saves it. An interrupted run is resumed with --resume; with a budget of steps or tokens
    it ends, on the CPU, with the same bits as one that was not interrupted. For several processes: torchrun
    --nproc-per-node=8 -m isoglot pretrain …

    Options:
        dictionary: Dictionary for code-switching. May be repeated.
        parallel: Parallel sentences line by line, for TLM. May be repeated.
    """
    from isoglot.pretrain.distributed import one_report
    from isoglot.pretrain.schedule import parse_duration
    from isoglot.pretrain.train import Stop
    from isoglot.report.terminal.listings import plan_drawing, recipes_result

    if list_recipes:
        output.print(recipes_result("pretrain"))
        return
    add = new.add_language is not None
    of_new_encoder: dict[str, object] = {"--shards": text.shards, "--vocab": text.vocab, "--plan": what.plan}
    of_new_encoder |= {"--draw": draw, "--dictionary": dictionary, "--parallel": parallel}
    of_added: dict[str, object] = {"--model": new.model, "--text": new.texts, "--held-out": new.held_out}
    unused = of_new_encoder if add else of_added
    with one_report():
        for name in (name for name, value in unused.items() if value):
            problem = f"{name} has no effect {'with' if add else 'without'} --add-language"
            raise ConfigError(problem, "leave one of them out", "conflicting-options")
        stop = Stop(None if stop_after is None else parse_duration(stop_after, "--stop-after"))
        if draw is not None:
            languages = list(one_each(text.shards, "--shards")) or ["en", "fr"]
            output.print(plan_drawing(what.config(), languages, draw))
            return
        begin = new.prepared(what.arguments()) if add else _prepared(what, text, dictionary, parallel)
        folder = required(out, "--out", "name a folder for the run: --out runs/first")
    how: dict[str, Any] = {"resume": resume, "stop": stop, "device": device}
    with one_report() if add else nullcontext(), output.resumable(folder):
        found = begin(folder, progress=output.progress, say=output.remark, **how)
    if found is not None:
        output.print(found)


def _prepared(what: Recipe, text: TrainingText, dictionary: Files, parallel: Files) -> Callable[..., Rendering | None]:
    """What trains a new encoder, once it is given a folder; the result is that of the first process."""
    from isoglot.pretrain.train import pretrain as train
    from isoglot.report.terminal.listings import pretrained_result
    from isoglot.text.formats.dictionary import read_dictionaries

    config = what.config()
    shards, vocabulary = text.open()
    dictionaries, files = read_dictionaries(parse_pairs(dictionary)), one_each(parallel, "--parallel")

    def learn(out: Path, **how: Any) -> Rendering | None:  # noqa: ANN401 - those of pretrain
        done = train(config, shards, vocabulary, out, dictionaries=dictionaries, parallel=files, **how)
        return None if done.rank else pretrained_result(done)

    return learn
