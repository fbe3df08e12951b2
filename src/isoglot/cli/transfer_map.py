"""``isoglot transfer map``: what was learned on one model's layers, read off another's through a map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.align_run import Method, Normalize
from isoglot.cli.inputs import is_table, one_each
from isoglot.cli.options import (
    MODEL,
    Debug,
    Device,
    Json,
    LayerList,
    OptionalOut,
    Quiet,
    Seed,
    Settings,
    Weights,
    open_named_runs,
    open_run,
    parse_layers,
)
from isoglot.cli.output import Output
from isoglot.cli.run_files import files_of, place, recorded, with_opened, write_texts
from isoglot.cli.transfer_data import (
    FILES,
    OPTIONS,
    AllowLeak,
    Resume,
    Seeds,
    read_sets,
)
from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.align import AlignConfig, Bitext
    from isoglot.cli.transfer_data import Files
    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.transfer import Task
    from isoglot.transfer.layer_maps import LayerMaps
    from isoglot.transfer.map_protocol import MapTransfer, Models
    from isoglot.transfer.tasks.builtin_data import Splits

PAIRS = 2000
"""Built-in sentence pairs to fit maps from, unless told."""


def map_(
    name: Annotated[Literal["ner", "parse", "pos"], typer.Argument(metavar="TASK", help="ner, parse or pos.")],
    model: Annotated[
        str, typer.Option("--model", metavar="MODEL", callback=open_run, help=f"What is learned on. {MODEL}")
    ],
    other: Annotated[
        list[str],
        typer.Option(
            "--other",
            metavar="LANG=MODEL",
            callback=open_named_runs,
            help="The model of a test language. May be repeated.",
        ),
    ],
    bilingual: Annotated[
        str | None,
        typer.Option(
            "--bilingual",
            metavar="MODEL",
            callback=open_run,
            help="One model of all these languages, to stand beside them.",
        ),
    ] = None,
    maps: Annotated[
        list[str] | None,
        typer.Option(
            "--maps", metavar="LANG=DIR", help="What isoglot align wrote, --source the test language's model."
        ),
    ] = None,
    bilingual_maps: Annotated[
        list[str] | None,
        typer.Option("--bilingual-maps", metavar="LANG=DIR", help="The same for the bilingual model."),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            "--parallel",
            metavar=FILES,
            help="Sentences line by line, to fit maps from; or a table. Left out: built in.",
        ),
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--links", metavar=FILES, help="Which word is which, as 0-0 1-2, the test language first; else learned."
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option("--pairs", metavar="N", min=2, help=f"The first N sentence pairs; {PAIRS:,} of built-in ones."),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train", metavar=FILES, help="Examples to learn from, of one language; left out: built-in ones."
        ),
    ] = None,
    dev: Annotated[
        list[str] | None, typer.Option("--dev", metavar=FILES, help="Examples to choose an epoch by.")
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar=FILES, help="Examples of every test language, and of the first for a ceiling."),
    ] = None,
    layers: LayerList = "all",
    method: Method = "procrustes",
    normalize: Normalize = None,
    recipe: Annotated[str, typer.Option("--recipe", metavar="RECIPE", help="map, micro, or a .toml file.")] = "map",
    seeds: Seeds = 1,
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences", metavar="N", min=10, help="The first N training examples. Default: 2,000 built-in ones."
        ),
    ] = None,
    allow_leak: AllowLeak = False,
    resume: Resume = False,
    settings: Settings = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a task on the first layers of one model, and read another model's language through a map, layer by layer.

    The first i layers of --model are frozen; four new layers and the task's head learn on them. At test the other model
    reads its language up to layer i, and a map of that layer takes what it has there to the same new layers. Maps are
    those of isoglot align words; the bilingual model is cut at i as well, and needs none. --out gets result.json,
    result.csv, a figure for each language, and the maps that were fitted.
    """
    from isoglot.align import AlignConfig, make_map
    from isoglot.core.artifact import write_sealed
    from isoglot.core.config import build_config, load_recipe
    from isoglot.core.files import writable_folder
    from isoglot.model import load_encoder
    from isoglot.report.map_transfer import finding, map_transfer_svg
    from isoglot.represent.layer_pass import chosen_layers
    from isoglot.transfer import find_task
    from isoglot.transfer.map_protocol import (
        MapTransferConfig,
        Models,
        check_before,
        check_same_run,
        check_with_maps,
        map_transfer,
    )
    from isoglot.transfer.tuning.tuned_folder import check_free

    output, task = Output(json=json, quiet=quiet), find_task(name)
    config = build_config(
        MapTransferConfig, recipe=load_recipe(recipe, room="transfer"), values={"seed": seed}, settings=settings or []
    )
    fitting = build_config(AlignConfig, values={"method": method, "normalize": normalize, "seed": seed})
    make_map(fitting)
    named = _models(other)
    given = _maps_given(maps, bilingual_maps, bilingual, named)
    english = load_encoder(model, device=device)
    others = {code: load_encoder(where, device=device) for code, where in named.items()}
    both = None if bilingual is None else load_encoder(bilingual, device=device)
    sets = _examples(task, english, list(others), (train, dev, test), sentences)
    every = [Models("monolingual", english, others)]
    every += [] if both is None else [Models("bilingual", both, dict.fromkeys(others, both))]
    source = check_before(task, every, *sets, config, allow_leak=allow_leak)
    if not train and source != "en":
        output.remark(f"learning from built-in examples of {source}, which --model reads and no --other does")
    chosen = chosen_layers(parse_layers(layers), min(each.depth for each in every))
    if out is not None and not resume:
        check_free(out)
    if out is not None:
        check_same_run(out, task, every, *sets, config)
        writable_folder(out)
    own = output.remark if train else None
    bitexts = _Bitexts(source, parallel, links, pairs, seed, output.progress, beside_own_files=own)
    read = files_of([*(train or ()), *(dev or ()), *(test or ()), *(parallel or ()), *(links or ())])
    fitted = {each.name: _maps(each, source, given[each.name], bitexts, chosen, fitting, out, output) for each in every}
    every = [replace(each, maps={code: one.maps for code, one in fitted[each.name].items()}) for each in every]
    check_with_maps(every, source, chosen, config, out, seeds=seeds)  # what is refused leaves the folder as it was
    record = recorded(out, read, seed=seed, device=str(english.device), config=config, kind="in place")
    with output.resumable(out), record as run:
        if out is not None:
            for each in every:
                for code, one in fitted[each.name].items():
                    one.save(_saved(out, each, code))
        found = map_transfer(
            task,
            every,
            *sets,
            config,
            out,
            layers=chosen,
            seeds=seeds,
            resume=resume,
            allow_leak=allow_leak,
            progress=output.progress,
            say=output.remark,
        )
        if run is not None and out is not None:
            figures = {f"map-{code}.svg": map_transfer_svg(found, code) for code in others}
            write_texts(run, {"result.csv": Table.from_rows(line.facts() for line in found.lines).csv(), **figures})
            run.add_output(write_sealed(run.folder / "result.json", with_opened(found.facts())))
    output.result({**place(out), **found.facts()}, _table(found, list(others)))
    for code in others:
        output.say(f"\n{finding(found, code)}" + (f"\nThe figure is {out / f'map-{code}.svg'}" if out else ""))


def _maps_given(
    maps: list[str] | None, bilingual_maps: list[str] | None, bilingual: str | None, others: Mapping[str, str]
) -> dict[str, dict[str, Path]]:
    """The folders that were named, by models and language."""
    if bilingual_maps and bilingual is None:
        raise ConfigError(
            "--bilingual-maps without --bilingual", remedy="name the model they are of", code="config.missing-option"
        )
    return {
        "monolingual": _folders(maps, "--maps", others),
        "bilingual": _folders(bilingual_maps, "--bilingual-maps", others),
    }


def _models(values: Sequence[str]) -> dict[str, str]:
    """The model of each test language: ``de=runs/de``, or a name on the hub.

    Raises:
        ConfigError: It is not language=model, or a language has two.
    """
    found: dict[str, str] = {}
    for value in values:
        code, equals, where = value.partition("=")
        if not equals or not code.strip() or not where.strip():
            raise ConfigError(
                f"--other {shown(value)} is not language=model",
                remedy="write it as --other de=MODEL",
                code="config.malformed-option",
            )
        code = language_code(code.strip())
        if code in found:
            raise ConfigError(
                f"--other {shown(value)}: {code} has a model already",
                remedy="name one for each",
                code="config.duplicate",
            )
        found[code] = where.strip()
    return found


def _folders(values: list[str] | None, option: str, others: Mapping[str, str]) -> dict[str, Path]:
    found = one_each(values, option) if values else {}
    for code in found:
        if code not in others:
            raise ConfigError(
                f"{option} {code}={found[code]}: no model reads {code}",
                remedy=f"name it: --other {code}=MODEL",
                code="config.other-language",
            )
    return found


def _examples(
    task: Task[Any], encoder: EncoderLike, others: Sequence[str], files: Files, sentences: int | None
) -> Splits:
    """The user's files, all three; or built-in examples."""
    from isoglot.languages.builtin import builtin_languages
    from isoglot.transfer.tasks.builtin_data import builtin_splits, training_language

    if any(files):
        missing = [option for option, values in zip(OPTIONS, files, strict=True) if not values]
        if missing:
            raise ConfigError(
                f"{missing[0]} is missing",
                remedy="give --train, --dev and --test, or none of them",
                code="config.missing-option",
            )
        return read_sets(task, files, sentences)
    known = [code for code in builtin_languages(encoder.vocabulary.languages) if code not in others]
    if not known:
        raise ConfigError(
            "the model knows no built-in language but those of other models",
            remedy="give files: --train, --dev and --test",
            code="config.built-in-language",
        )
    source = training_language(known)
    spaced = any("-x-" in code for code in (source, *others))
    return builtin_splits(task, source, (source, *others), sentences, spaced=spaced)


class _Bitexts:
    """The linked words of each test language and the one that is learned from, made once when they are needed.

    Where examples are the user's own files and the sentences are not, ``beside_own_files`` is told so, once.
    """

    def __init__(
        self,
        source: str,
        parallel: list[str] | None,
        links: list[str] | None,
        pairs: int | None,
        seed: int,
        progress: Progress,
        *,
        beside_own_files: Callable[[str], None] | None,
    ) -> None:
        self.source, self.pairs, self.seed, self.progress = source, pairs, seed, progress
        self.files: Any = None
        if parallel:
            self.files = Path(parallel[0]).expanduser() if is_table(parallel) else one_each(parallel, "--parallel")
            if isinstance(self.files, dict) and source not in self.files:
                raise ConfigError(
                    f"--parallel has no {source}",
                    remedy=f"give it too: --parallel {source}=FILE",
                    code="config.missing-data",
                )
        self.links = one_each(links, "--links") if links else {}
        if self.links and not parallel:
            raise ConfigError(
                "--links without --parallel", remedy="give both, or neither", code="config.missing-option"
            )
        self._tell = beside_own_files
        self._made: dict[str, Bitext] = {}

    def of(self, code: str) -> Bitext:
        """That of a test language."""
        from isoglot.align import builtin_bitext
        from isoglot.transfer.layer_maps import linked_words

        if code not in self._made:
            languages = code, self.source
            if self.files is None:
                count = self.pairs or PAIRS
                if self._tell and not self._made:
                    self._tell(f"maps are fitted from {count:,} built-in sentence pairs; give yours with --parallel")
                self._made[code] = builtin_bitext(languages, count, seed=self.seed)
            else:
                files = self.files
                if isinstance(files, dict):
                    if code not in files:
                        raise ConfigError(
                            f"no map of {code} and no sentences to fit one from",
                            remedy=f"give --maps {code}=DIR or --parallel {code}=FILE",
                            code="config.missing-data",
                        )
                    files = {each: files[each] for each in languages}
                found = linked_words(files, languages, self.links.get(code), progress=self.progress)
                self._made[code] = found.first(self.pairs)
        return self._made[code]


def _maps(
    models: Models,
    source: str,
    folders: Mapping[str, Path],
    bitexts: _Bitexts,
    layers: Sequence[int],
    config: AlignConfig,
    out: Path | None,
    output: Output,
) -> dict[str, LayerMaps]:
    """The maps of each test language: those that were named, or that are fitted here; nothing is written."""
    from isoglot.transfer.layer_maps import LayerMaps, fit_layer_maps, read_layer_maps

    found = {}
    for code, other in models.others.items():
        way = code, source
        if code in folders:
            found[code] = LayerMaps(read_layer_maps(folders[code], way))
        else:
            saved = None if out is None else _saved(out, models, code)
            found[code] = fit_layer_maps(
                other, models.source, bitexts.of(code), way, layers, config, saved, progress=output.progress
            )
    return found


def _saved(out: Path, models: Models, code: str) -> Path:
    return out / "maps" / f"{models.name}-{code}"


def _table(found: MapTransfer, languages: Sequence[str]) -> Table:
    from isoglot.report.map_transfer import curves

    columns: dict[str, Mapping[int, float]] = {}
    for code in languages:
        columns |= curves(found, code)
    rows = [(layer, *(scores[layer] for scores in columns.values())) for layer in found.layers]
    heads = (Column("layer"), *(Column(head, title=head, format=".1f") for head in columns))
    return Table(heads, tuple(rows), caption=f"{found.metric} by layer")
