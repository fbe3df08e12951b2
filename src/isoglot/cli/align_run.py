"""What the verbs of ``isoglot align`` share: their options, and a run from the encoders to the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.options import MODEL, open_run, refuse_both
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import recorded
from isoglot.core.progress import counted
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.align import AlignConfig, Alignment
    from isoglot.model import EncoderLike
    from isoglot.text.formats.word_vectors import Vectors

    Work = Callable[[Any, Any, Path, dict[str, Any]], Alignment]  # of what was opened: two encoders, or word vectors

PAGE = "index.html"

Source = Annotated[
    str, typer.Argument(metavar="MODEL", callback=open_run, help=f"Encoder whose vectors are mapped. {MODEL}")
]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TO_MODEL",
        callback=open_run,
        help="Encoder that they are mapped to. Default: the source.",
        show_default=False,
    ),
]
Dictionary = Annotated[
    list[str], typer.Option("--dictionary", metavar="FROM-TO=FILE", help="Words to learn from. May be repeated.")
]
TestDictionary = Annotated[
    list[str] | None,
    typer.Option("--test", metavar="FROM-TO=FILE", help="Words to score on. Default: a fifth is held out."),
]
Parallel = Annotated[
    list[str] | None,
    typer.Option("--parallel", metavar="LANG=FILE", help="Sentences line by line; twice, the source's language first."),
]
TestParallel = Annotated[
    list[str] | None,
    typer.Option("--test-parallel", metavar="LANG=FILE", help="Those to score on. Default: a fifth is held out."),
]


def count_option(which: str, builtin: int) -> object:
    """The option ``--sentences``: which they are, and how many built-in ones where nobody says how many.

    >>> count_option("The first N", 2000).help
    'The first N. Default: 2,000 built-in ones, or all of files.'
    """
    return typer.Option(
        "--sentences",
        metavar="N",
        min=2,
        max=1_000_000,
        help=f"{which}. Default: {builtin:,} built-in ones, or all of files.",
    )


BUILTIN = 2000  # built-in sentences, where nobody says how many
Count = Annotated[int | None, count_option("The first N to learn from", BUILTIN)]
MAP_OPTIONS = {
    "ridge": "penalty=1.0",
    "cca": "components=None, penalty=0.0",
    "rcsls": "rounds=10, learning_rate=1.0, neighborhood=10, cutoff=200000, constraint=none",
    "refinement": "rounds=5, cutoff=15000, neighborhood=10",
    "self-learning": "final=auto, reweight=0.5, keep=0.1, growth=2.0, patience=5, threshold=0.0005, "
    "early=4000, cutoff=10000, neighborhood=10, rounds=2000",
}
"""The options of each map with their defaults, as the help says them."""
STEP_OPTIONS = {"iterative": "tolerance=1e-05, rounds=200"}
"""Those of each normalization."""


def _listed(options: dict[str, str]) -> str:
    return "; ".join(f"{name}: {values}" for name, values in options.items())


Method = Annotated[
    Literal["procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning"],
    typer.Option("--method", help=f"The map. --set NAME=VALUE changes its options; defaults: {_listed(MAP_OPTIONS)}."),
]
Normalize = Annotated[
    Literal["none", "center", "unit", "unit-center-unit", "iterative"] | None,
    typer.Option(
        "--normalize",
        help="What both spaces go through first; default: iterative, the paper's, and for self-learning "
        "unit-center-unit, vecmap's. --set normalization.NAME=VALUE changes its "
        f"options; defaults: {_listed(STEP_OPTIONS)}. The short --set NAME=VALUE does, too, if the map has no NAME.",
    ),
]
Candidates = Annotated[
    Literal["all", "gold"],
    typer.Option(
        "--candidates",
        help="Where a translation is looked for: the whole target vocabulary, or only the target words of the test.",
    ),
]
Vocabulary = Annotated[
    int | None,
    typer.Option(
        "--vocabulary",
        metavar="N",
        min=1,
        help="The most frequent N words of each side, beside the dictionary's; default: 200,000 of vectors, 50,000 of "
        "a text.",
    ),
]
AllowLeak = Annotated[bool, typer.Option("--allow-leak", help="Score even on what was trained on.")]


def align_config(
    method: str,
    normalize: str | None,
    allow_leak: bool,
    seed: int,
    settings: list[str] | None,
    **of_words: Any,  # noqa: ANN401
) -> AlignConfig:
    """The config of a map, from the options; ``of_words`` are those that only words have.

    Raises:
        ConfigError: The map has no such option, or what is known is to be left out and scored on.
    """
    from isoglot.align.maps.config import AlignConfig, make_map, spell_out
    from isoglot.core.config import build_config

    values = {"method": method, "normalize": normalize, "allow_leak": allow_leak, "seed": seed, **of_words}
    config = build_config(AlignConfig, values=values, settings=spell_out(settings or (), method, normalize))
    refuse_both(leave_out_known=config.leave_out_known, allow_leak=config.allow_leak)
    make_map(config)  # which knows its options
    return config


def run_alignment(
    work: Work,
    models: tuple[str, str | None],
    out: Path,
    config: AlignConfig,
    inputs: Sequence[Path],
    device: str,
    output: Output,
    load: Callable[[str, str], EncoderLike | Vectors] | None = None,
) -> None:
    """Open the encoders, do the work, write everything, and show a table.

    Args:
        work: The alignment.
        models: The source and the target, as they were named; None is the source again.
        out: The folder to write to.
        config: How.
        inputs: Files to put on record.
        device: Where to compute.
        output: Where to say what was found.
        load: Opens what was named, on a device. Default: encoders alone.
    """
    from tempfile import TemporaryDirectory

    from isoglot.core.devices import choose_device
    from isoglot.core.files import file_hash, write_text
    from isoglot.model import load_encoder
    from isoglot.report.alignment import alignment_page, finding, searched
    from isoglot.represent.encoder_hash import encoder_hash
    from isoglot.represent.extraction import cut_in_words
    from isoglot.text.formats.word_vectors import Vectors

    load = load or (lambda name, place: load_encoder(name, device=place))
    place = str(choose_device(device))
    first, second = models
    with recorded(out, inputs, seed=config.seed, config=config, device=place) as run:
        source = load(first, device)
        target = source if second in (None, first) else load(second or first, device)
        with TemporaryDirectory(dir=run.folder, prefix=".vectors-") as scratch:
            result = work(source, target, Path(scratch), {"config": config, "progress": output.progress})
        result = result.between(
            [
                file_hash(Path(name).expanduser()) if isinstance(side, Vectors) else encoder_hash(side)
                for name, side in ((first, source), (second or first, target))
            ]
        )
        checked = [result.facts["leak_check"]["sentence"]] if "leak_check" in result.facts else []
        facts = (f"source {first}, target {second or first}", *checked, *page_facts())
        write_text(run.folder / PAGE, alignment_page(result, facts=facts))
        if run.config is not None and "linked_by" in result.facts:
            run.config["linked_by"] = result.facts["linked_by"]
        result.save(run.folder)
    output.result({"out": str(out), **result.as_dict()}, _table(result))
    if result.facts.get("repeated"):
        output.say(f"{counted(result.facts['repeated'], 'pairs')} left out for a sentence of an earlier one")
    for line in cut_in_words(
        zip(result.languages, result.facts.get("cut", (0, 0)), strict=True), result.train + result.test
    ):
        output.say(line)
    for line in (*_of_words(result), *checked):
        output.say(line)
    output.say(
        f"{finding(result)}\nLooked for: {searched(result)}\nMaps and metrics in {out}, the figure in {out / PAGE}"
    )


def _of_words(result: Alignment) -> list[str]:
    """Of words: how many were found, how many left out, and P@1 without those spelled the same as their translation."""
    from isoglot.retrieve.dictionaries import Coverage
    from isoglot.retrieve.leaks import left_out
    from isoglot.retrieve.metrics import in_words

    name = "test_dictionary" if "test_dictionary" in result.facts else "dictionary"
    if name not in result.facts:
        return []
    lines = [f"{name.replace('_', ' ').capitalize()}: {Coverage(**result.facts[name])}"]
    sizes = zip(result.facts["vocabulary"], result.languages, strict=True)
    lines.append(
        f"Fitted on the whole vocabularies: {' and '.join(f'{count:,} {code}' for count, code in sizes)} words"
    )
    if any(result.facts["without_vector"]):
        lines.append(f"Left out for want of a vector: {' and '.join(map(str, result.facts['without_vector']))} words")
    if result.facts.get("left_out_known"):
        lines.append(left_out(result.facts["left_out_known"]))
    for when in ("before", "after"):
        scores = result.scores(result.best, when)
        if scores is not None and scores.other_spelling is not None:
            queries, other = scores.other_spelling
            rest = None if other is None else other.value
            said = in_words(scores.precision[1].value, scores.queries, rest, queries)
            lines.append(f"All entries / spelled differently, {when} the map: {said}")
    return lines


def _table(result: Alignment) -> Table:
    one, other = result.languages
    figures = (f"P@1 {one}→{other}", f"P@1 {other}→{one}", f"MRR {one}→{other}")
    columns = [Column("layer", kind="text", align="right")]
    columns += [
        Column(f"{name} {when}", title=when, above=name, kind="number", format=".3f")
        for name in figures
        for when in ("before", "after")
    ]
    rows: list[tuple[str | float | None, ...]] = []
    method = result.config.retrieval
    for layer in result.layers:
        values: list[float | None] = []
        for direction, figure in (("forward", "p"), ("backward", "p"), ("forward", "mrr")):
            for found in (layer.before, layer.after):
                scores = None if found is None else found.of(method, direction)  # type: ignore[arg-type]
                value = None if scores is None else scores.precision[1] if figure == "p" else scores.mrr
                values.append(None if value is None else value.value)
        name = "emb" if layer.layer is None else str(layer.layer)
        if layer.layer != layer.target_layer:
            name += f"→{layer.target_layer}"
        rows.append((name, *values))
    best = tuple(place for place, layer in enumerate(result.layers) if layer is result.best and len(rows) > 1)
    return Table(tuple(columns), tuple(rows), bold_rows=best)
