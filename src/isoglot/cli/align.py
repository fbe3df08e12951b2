"""``isoglot align``: maps between the spaces of two encoders, scored on what they were not fitted on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli import align_links
from isoglot.cli.bitext_option import one_each, paths_of, two_bitexts
from isoglot.cli.langs_option import Langs
from isoglot.cli.layers_option import LayerList, parse_layers
from isoglot.cli.named_pairs import parse_pairs
from isoglot.cli.options import Debug, Device, Json, Out, Quiet, Seed, Settings
from isoglot.cli.output import Output, command_line
from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from isoglot.align import AlignConfig, Alignment
    from isoglot.model import EncoderLike
    from isoglot.text.dictionary import Entry

    Work = Callable[[EncoderLike, EncoderLike, Path, dict[str, Any]], Alignment]

app = typer.Typer(
    help="Map one encoder's space to another's: embeddings, word types, words or sentences, by layer. Find which word "
    "is which in bitext, and the dictionary in it."
)

align_links.add_to(app)

PAGE = "figure.html"

Source = Annotated[
    str, typer.Option("--source", metavar="MODEL", help="The encoder whose vectors are mapped: a folder or hub name.")
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="MODEL", help="The encoder they are mapped to; left out: the source.")
]
Dictionary = Annotated[
    list[str], typer.Option("--dictionary", metavar="FROM-TO=FILE", help="Words to learn from. May be repeated.")
]
TestDictionary = Annotated[
    list[str] | None,
    typer.Option("--test", metavar="FROM-TO=FILE", help="Words to score on; left out: a fifth is held out."),
]
Parallel = Annotated[
    list[str] | None,
    typer.Option("--parallel", metavar="LANG=FILE", help="Sentences line by line; twice, the source's language first."),
]
TestParallel = Annotated[
    list[str] | None,
    typer.Option("--test-parallel", metavar="LANG=FILE", help="Those to score on; left out: a fifth is held out."),
]
BUILTIN = 2000  # built-in sentences, where nobody says how many
Count = Annotated[
    int | None,
    typer.Option(
        "--sentences",
        metavar="N",
        min=2,
        max=1_000_000,
        help=f"The first N to learn from; left out: {BUILTIN:,} built-in ones, or all of files.",
    ),
]
Method = Annotated[
    Literal["procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning"],
    typer.Option("--method", help="The map."),
]
Normalise = Annotated[
    Literal["none", "centre", "unit", "iterative"],
    typer.Option("--normalise", help="What both spaces go through first; iterative is the paper's."),
]
AllowLeak = Annotated[bool, typer.Option("--allow-leak", help="Score even on what was trained on.")]


@app.command(
    "embeddings",
    epilog="Example: isoglot align embeddings --source runs/en --target runs/fr --dictionary en-fr=train.txt "
    "--test en-fr=test.txt --out map/",
)
def embeddings(
    source: Source,
    dictionary: Dictionary,
    out: Out,
    target: Target = None,
    test: TestDictionary = None,
    method: Method = "procrustes",
    normalise: Normalise = "iterative",
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align the embedding matrices of two encoders: words of one subword, by a dictionary."""
    output = Output(json=json, quiet=quiet)
    config = _config(method, normalise, allow_leak, seed, settings)
    languages, files = _dictionaries(dictionary, test)

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from isoglot.align import align_embeddings

        seen = _seen([(one, source), (other, target or source)], languages[0])
        return align_embeddings(one, other, *map(_entries, files), languages=languages, seen=seen, **more)

    _run(work, (source, target), out, config, _flat(files), device, output)


@app.command(
    "types",
    epilog="Example: isoglot align types --source runs/en --target runs/fr --text en=en.txt --text fr=fr.txt "
    "--dictionary en-fr=train.txt --test en-fr=test.txt --out map/",
)
def types(
    source: Source,
    text: Annotated[
        list[str], typer.Option("--text", metavar="LANG=FILE", help="Text of a language, for contexts. Once for each.")
    ],
    dictionary: Dictionary,
    out: Out,
    target: Target = None,
    test: TestDictionary = None,
    layers: LayerList = "all",
    segment: Annotated[
        Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"],
        typer.Option("--segment", help="How text is cut into words; auto suits the language."),
    ] = "auto",
    case: Annotated[
        Literal["keep", "lower"], typer.Option("--case", help="How words of the text are looked up; MUSE's are lower.")
    ] = "lower",
    contexts: Annotated[
        int | None, typer.Option("--contexts", min=1, help="Sentences of a word at most; left out: all.")
    ] = None,
    method: Method = "procrustes",
    normalise: Normalise = "iterative",
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align words averaged over their contexts in text of each language, by a dictionary, in every layer."""
    output = Output(json=json, quiet=quiet)
    config = _config(method, normalise, allow_leak, seed, settings)
    languages, files = _dictionaries(dictionary, test)
    texts = one_each(text, "--text")
    if set(texts) != set(languages):
        raise ConfigError(
            f"--text names {', '.join(texts)}, the dictionary {' and '.join(languages)}",
            remedy=f"give --text {languages[0]}=FILE --text {languages[1]}=FILE",
        )

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from isoglot.align import align_types
        from isoglot.align.word_types import segmented

        cut = None if segment == "auto" else segment
        words = [segmented(texts[code], scratch / f"{code}.txt", code, cut) for code in languages]
        return align_types(
            one,
            other,
            (words[0], words[1]),
            *map(_entries, files),
            languages=languages,
            layers=parse_layers(layers),
            case=case,
            contexts=contexts,
            seen=_seen([(one, source), (other, target or source)], languages[0]),
            **more,
        )

    _run(work, (source, target), out, config, [*_flat(files), *texts.values()], device, output)


@app.command(
    "words",
    epilog="Example: isoglot align words --source runs/en --target runs/fr --parallel en=en.txt --parallel fr=fr.txt "
    "--links en-fr.align --out map/",
)
def words(
    source: Source,
    out: Out,
    target: Target = None,
    parallel: Parallel = None,
    links: Annotated[
        Path | None,
        typer.Option("--links", metavar="FILE", help="Which word is which, as 0-0 1-2 (Pharaoh), a line a pair."),
    ] = None,
    test_parallel: TestParallel = None,
    test_links: Annotated[
        Path | None, typer.Option("--test-links", metavar="FILE", help="The links of --test-parallel.")
    ] = None,
    langs: Langs = None,
    sentences: Count = None,
    kept: Annotated[
        Literal["one", "all"], typer.Option("--kept", help="Links of words with one partner only, or all.")
    ] = "one",
    layers: LayerList = "all",
    method: Method = "procrustes",
    normalise: Normalise = "iterative",
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align words in their contexts, from word-aligned bitext or the built-in gold, in every layer."""
    output = Output(json=json, quiet=quiet)
    config = _config(method, normalise, allow_leak, seed, settings)
    languages, files, tests = two_bitexts(parallel, test_parallel, langs)
    for name, there, file in (("", files, links), ("test-", tests, test_links)):
        if bool(there) != (file is not None):
            remedy = "give both, or neither" + ("" if name else " and --langs en,fr")
            raise ConfigError(f"--{name}parallel and --{name}links go together", remedy=remedy)

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from isoglot.align import align_words, builtin_bitext, read_bitext

        if links is None:
            count = sentences or BUILTIN
            pairs = [builtin_bitext(languages, count, seed=seed)]
            pairs.append(builtin_bitext(languages, max(1, count // 4), split="test", seed=seed))
        else:
            pairs = [read_bitext(files, languages, links).first(sentences)]
            pairs += [read_bitext(tests, languages, test_links)] if test_links is not None else []
        return align_words(
            one,
            other,
            *pairs,
            languages=languages,
            layers=parse_layers(layers),
            links=kept,
            scratch=scratch,
            **more,
        )

    read = [*paths_of(files, tests), *(each for each in (links, test_links) if each is not None)]
    _run(work, (source, target), out, config, read, device, output)


@app.command(
    "sentences",
    epilog="Example: isoglot align sentences --source MODEL_A --target MODEL_B --parallel en=a.txt --parallel fr=b.txt "
    "--out map/",
)
def sentences(
    source: Source,
    out: Out,
    target: Target = None,
    parallel: Parallel = None,
    test_parallel: TestParallel = None,
    langs: Langs = None,
    sentences: Count = None,
    layers: LayerList = "all",
    method: Method = "procrustes",
    normalise: Normalise = "iterative",
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align sentences, each the mean of its subwords, by their translations, in every layer."""
    output = Output(json=json, quiet=quiet)
    config = _config(method, normalise, allow_leak, seed, settings)
    languages, files, tests = two_bitexts(parallel, test_parallel, langs)

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from isoglot.align import align_sentences
        from isoglot.align.bitext import builtin_sentences, read_sentence_pairs

        if files:
            pairs = [read_sentence_pairs(files, languages)[:sentences]]
            pairs += [read_sentence_pairs(tests, languages)] if tests else []
        else:
            count = sentences or BUILTIN
            pairs = [builtin_sentences(languages, count, seed=seed)]
            pairs.append(builtin_sentences(languages, max(1, count // 4), split="test", seed=seed))
        return align_sentences(
            one, other, *pairs, languages=languages, layers=parse_layers(layers), scratch=scratch, **more
        )

    _run(work, (source, target), out, config, paths_of(files, tests), device, output)


@app.command(
    "apply",
    epilog="Example: isoglot align apply --map map/layer-3.safetensors --vectors x.safetensors --out y.safetensors",
)
def apply(
    mapping: Annotated[
        Path, typer.Option("--map", metavar="PATH", help="A map, or a folder of them: then every layer by its own.")
    ],
    vectors: Annotated[
        Path, typer.Option("--vectors", metavar="PATH", help="What isoglot encode wrote, or word vectors as .vec.")
    ],
    out: Out,
    layer: Annotated[
        int | None, typer.Option("--layer", min=0, help="The layer to map; left out: the one the map is of.")
    ] = None,
    side: Annotated[Literal["source", "target"], typer.Option("--side", help="Whose vectors they are.")] = "source",
    into: Annotated[
        Literal["common", "target"],
        typer.Option("--into", help="The space where both meet, or the target's as its encoder has it."),
    ] = "common",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Map vectors to the common space of a map, or to its target's.

    The ending of --out decides: .safetensors is one file, .vec is text, anything else a folder.
    """
    from rich.text import Text

    from isoglot.align.apply import apply_to_layers, apply_to_vectors, read_maps
    from isoglot.represent import Representations
    from isoglot.text.vectors import read_vectors, write_vectors

    output = Output(json=json, quiet=quiet)
    maps = read_maps(mapping)
    if vectors.suffix == ".vec":
        if out.suffix != ".vec":
            raise ConfigError(f"--out {shown(str(out))} for a .vec", remedy="end it in .vec too")
        table = apply_to_vectors(maps, read_vectors(vectors), side=side, into=into)
        write_vectors(out, table.words, table.matrix_ND)
        rows, width, layers = len(table), table.matrix_ND.shape[1], []
    else:
        found = apply_to_layers(maps, Representations.open(vectors), layer=layer, side=side, into=into)
        found.save(out)
        rows, width, layers = len(found), found.width, list(found.layers)
    facts = {"out": str(out), "rows": rows, "width": width, "layers": layers, "side": side, "into": into}
    where = f" in layers {', '.join(map(str, layers))}" if layers else ""
    output.result(facts, Text(f"{rows:,} vectors x {width}{where} mapped and written to {out}"))


def _config(method: str, normalise: str, allow_leak: bool, seed: int, settings: list[str] | None) -> AlignConfig:
    from isoglot.align import AlignConfig, make_map
    from isoglot.core.config import build_config

    values = {"method": method, "normalise": normalise, "allow_leak": allow_leak, "seed": seed}
    config = build_config(AlignConfig, values=values, settings=settings or ())
    make_map(config)  # which knows its options
    return config


def _dictionaries(train: list[str], test: list[str] | None) -> tuple[tuple[str, str], list[list[Path]]]:
    """The languages, the files to learn from and, if there are any, those to score on."""
    found = [parse_pairs(train)]
    if not found[0]:
        raise ConfigError("--dictionary is missing", remedy="name one: --dictionary en-fr=train.txt")
    if test:
        found.append(parse_pairs(test, "--test"))
    pairs = sorted({pair for each in found for pair in each})
    if len(pairs) > 1:
        raise ConfigError(
            f"dictionaries of {' and '.join('-'.join(pair) for pair in pairs)}", remedy="align one pair at a time"
        )
    return pairs[0], [next(iter(each.values())) for each in found]


def _entries(files: Sequence[Path]) -> list[Entry]:
    from isoglot.text.dictionary import read_dictionary

    return [entry for file in files for entry in read_dictionary(file)]


def _flat(files: Sequence[Sequence[Path]]) -> list[Path]:
    return [file for part in files for file in part]


def _seen(encoders: Sequence[tuple[EncoderLike, str]], language: str) -> frozenset[str]:
    from isoglot.retrieve.leaks import words_seen

    found = (words_seen(language, vocabulary=encoder.vocabulary, model=folder) for encoder, folder in encoders)
    return frozenset[str]().union(*found)


def _run(
    work: Work,
    models: tuple[str, str | None],
    out: Path,
    config: AlignConfig,
    inputs: Sequence[Path],
    device: str,
    output: Output,
) -> None:
    """Open the encoders, do the work, write everything, and show a table."""
    from tempfile import TemporaryDirectory

    from isoglot.core.devices import choose_device
    from isoglot.core.files import write_text
    from isoglot.core.record import record_run
    from isoglot.model import load_encoder
    from isoglot.report.alignment import alignment_page, finding

    place = str(choose_device(device))
    first, second = models
    with record_run(out, command=command_line(), seed=config.seed, config=config, device=place) as run:
        for path in inputs:
            run.add_input(path)
        source = load_encoder(first, device=device)
        target = source if second in (None, first) else load_encoder(second, device=device)
        with TemporaryDirectory(dir=out, prefix=".vectors-") as scratch:
            result = work(source, target, Path(scratch), {"config": config, "progress": output.progress})
        facts = (f"source {first}, target {second or first}", command_line())
        write_text(out / PAGE, alignment_page(result, facts=facts))
        for path in [*result.save(out), out / PAGE]:
            run.add_output(path)
    output.result({"out": str(out), **result.as_dict()}, _table(result))
    output.say(f"{finding(result)}\nMaps and metrics in {out}, the figure in {out / PAGE}")


def _table(result: Alignment) -> Table:
    from rich.table import Table

    one, other = result.languages
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("layer", justify="right")
    for name in (f"P@1 {one}→{other}", f"P@1 {other}→{one}", f"MRR {one}→{other}"):
        for when in ("before", "after"):
            table.add_column(f"{name}\n{when}", justify="right")
    method = result.config.retrieval
    for layer in result.layers:
        cells = []
        for direction, figure in (("forward", "p"), ("backward", "p"), ("forward", "mrr")):
            for found in (layer.before, layer.after):
                scores = None if found is None else found.of(method, direction)  # type: ignore[arg-type]
                value = None if scores is None else scores.precision[1] if figure == "p" else scores.mrr
                cells.append("–" if value is None else f"{value.value:.3f}")
        name = "emb" if layer.layer is None else str(layer.layer)
        if layer.layer != layer.target_layer:
            name += f"→{layer.target_layer}"
        table.add_row(name, *cells, style="bold" if layer is result.best and len(result.layers) > 1 else None)
    return table
