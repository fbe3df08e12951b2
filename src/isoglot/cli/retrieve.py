"""``isoglot retrieve``: how often the nearest neighbor in the other language is the translation, layer by layer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from isoglot.cli.inputs import (
    CslsFrom,
    Langs,
    MeansFrom,
    ParallelSets,
    is_path,
    load_change,
    map_provenance,
    parse_estimates,
    parse_langs,
    parse_named,
    parse_pairs,
    read_sets,
)
from isoglot.cli.options import (
    MODEL,
    AllowLeak,
    Debug,
    Device,
    Json,
    LayerList,
    LeaveOutKnown,
    OptionalOut,
    Quiet,
    Seed,
    SentencePoolOfModel,
    Weights,
    left_out,
    open_run,
    open_runs,
    parse_layers,
    refuse_both,
)
from isoglot.cli.output import Output
from isoglot.cli.retrieve_table import retrieval_table, spelling
from isoglot.cli.run_files import files_of, recorded
from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.core.progress import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from isoglot.model import EncoderLike
    from isoglot.retrieve.layer_scores import PairScores, VectorSet
    from isoglot.vocab import Shards

app = typer.Typer(
    help="How often the nearest neighbor in the other language is the translation, layer by layer.",
    no_args_is_help=True,
)

FIGURE = "layers.svg"

Model = Annotated[
    str | None,
    typer.Argument(metavar="MODEL", callback=open_run, help=f"{MODEL} Default: isoglot-mini.", show_default=False),
]
Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL...",
        show_default=False,
        callback=open_runs,
        help=f"{MODEL} Or static vectors. Several are scored on the words that each has. Default: isoglot-mini.",
    ),
]
Source = Annotated[
    Path | None,
    typer.Option(
        "--source", metavar="FILE", help="Vectors instead of a model: .safetensors, .npy, .vec, or encode's folder."
    ),
]
Target = Annotated[Path | None, typer.Option("--target", metavar="FILE", help="The vectors of the other side.")]
Map = Annotated[
    Path | None,
    typer.Option(
        "--map", metavar="PATH", help="What takes the source's vectors to the target's: a map, or one a layer."
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="cosine, csls, inverted_softmax, ratio, distance, euclidean. May be repeated. Default: cosine and csls.",
    ),
]
Centers = Annotated[
    list[str] | None,
    typer.Option(
        "--center",
        metavar="NAME",
        help="none: vectors as they are; mean: each language's mean removed. Default: both.",
    ),
]
Count = Annotated[
    int | None,
    typer.Option("--sentences", metavar="N", min=1, help="The first N. Default: 500 built-in ones, or all of files."),
]
Rows = Annotated[int | None, typer.Option("--rows", metavar="N", min=1, help="The first N lines or rows of each file.")]
Neighborhood = Annotated[
    int, typer.Option("--neighborhood", metavar="K", min=1, help="Neighbors that csls and the margins average over.")
]
Resamples = Annotated[
    int,
    typer.Option("--resamples", metavar="N", min=1, max=1_000_000, help="Bootstrap samples behind each 95 % interval."),
]
Pairs = Annotated[
    Literal["best", "all", "none"],
    typer.Option("--pairs", help="Which predictions go to pairs.tsv: the best layer's and method's, all, or none."),
]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Where to draw P@1 by layer, as SVG; else in --out.")
]


class _Found(NamedTuple):
    """What a verb found: the scores, what else the metrics say, and remarks for people."""

    pairs: list[PairScores]
    facts: dict[str, Any]
    remarks: list[str]


@app.command(
    "sentences",
    epilog="Example: isoglot retrieve sentences MODEL --parallel en=a.txt --parallel de=b.txt --layers all "
    "--method csls --out found/",
)
def sentences(
    model: Model = None,
    parallel: ParallelSets = None,
    langs: Langs = None,
    source: Source = None,
    target: Target = None,
    mapping: Map = None,
    layers: LayerList = "all",
    pool: SentencePoolOfModel = None,
    method: Methods = None,
    center: Centers = None,
    means_from: MeansFrom = None,
    csls_from: CslsFrom = "folds",
    count: Count = None,
    neighborhood: Neighborhood = 10,
    resamples: Resamples = 1000,
    pairs: Pairs = "best",
    figure: FigureFile = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Look for the translation of every sentence, in every layer, in both directions.

    From a model and parallel sentences, or from two files of vectors whose rows are translations of each other. Without
    any of these, isoglot-mini looks among built-in sentences.

    More than two languages are scored two by two. Rows that repeat a sentence of an earlier one are left out.

    Means that are removed, and the neighborhoods of csls, come from other sentences than the query by default: the set
    is cut into five folds, and the queries of a fold see what the others say.

    --out gets metrics.json, metrics.csv, pairs.tsv and a figure.
    """
    output = Output(json=json, quiet=quiet)
    of_model: dict[str, object] = {
        "MODEL": model,
        "--parallel": parallel,
        "--langs": langs,
        "--pool": pool,
    }
    _check_origin(source, target, of_model)
    chosen = parse_layers(layers)
    asked = parse_estimates(means_from, csls_from)
    if asked.estimates.means == "given":
        beside = {"--source": source, "--map": mapping}
        _refuse(beside, "--means-from of other text", remedy="take --means-from folds or own")
    score = partial(_score(method, center, neighborhood, resamples, seed, device, output), estimates=asked.estimates)

    def find() -> _Found:
        from dataclasses import replace

        from isoglot.compare.parallel_sentences import SENTENCES, builtin_sets
        from isoglot.represent.extraction import cut_in_words, pool_in_words, sentence_pool
        from isoglot.retrieve.from_model import sentence_sides
        from isoglot.retrieve.vector_files import read_side

        change = load_change(mapping)
        remarks: list[str] = []
        if source is not None and target is not None:
            sides = (read_side(path, layers=chosen, limit=count) for path in (source, target))
            pair = score(*change(*sides))
            for side in (pair.source, pair.target):  # of the whole file, whatever --sentences takes of it
                remarks += cut_in_words([(side.name, side.cut)], side.header.get("sentences", len(side)))
            return _Found([pair], {"source": str(source), "target": str(target)}, remarks)
        sets = read_sets(parallel, langs, count) if parallel else []
        encoder, name = _encoder(model, device)
        chosen_pool = pool or sentence_pool(encoder)
        sets = sets or builtin_sets(encoder, parse_langs(langs), count or SENTENCES, seed=seed)
        sets = [one.without_repeats() for one in sets]
        languages = dict.fromkeys(code for one in sets for code in one.sentences)
        others = asked.others(encoder, languages, layers=chosen, pool=chosen_pool, progress=output.progress)
        found = []
        by_language: dict[str, VectorSet] = {}
        for one in sets:
            by_language = sentence_sides(
                encoder, one, layers=chosen, pool=chosen_pool, name=name, known=by_language, progress=output.progress
            )
            by_language = {code: replace(side, others=others.get(code, {})) for code, side in by_language.items()}
            found += [score(*change(by_language[first], by_language[second])) for first, second in one.pairs]
            remarks += [*one.remarks, *cut_in_words([(side.name, side.cut) for side in by_language.values()], len(one))]
        facts = {
            "model": name,
            "pool": chosen_pool,
            "left_out": {one.name: one.left_out for one in sets if one.left_out},
            "repeated": {one.name: one.repeated for one in sets if one.repeated},
        }
        return _Found(found, facts, [*pool_in_words(encoder, chosen_pool), *remarks])

    read = [*files_of(parallel), *asked.files, source, target, mapping, _index(model, source)]
    _run(find, read, output, kind="sentences", out=out, figure=figure, which=pairs, seed=seed, device=device)


@app.command(
    "words",
    epilog="Example: isoglot retrieve words --source en.vec --target fr.vec --dictionary en-fr.txt --map map/",
)
def words(
    dictionary: Annotated[
        list[str],
        typer.Option(
            "--dictionary", metavar="FROM-TO=FILE", help="Right pairs; for vectors one file alone. May be repeated."
        ),
    ],
    model: Models = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", metavar="LANG=FILE", help="Where the model meets the words. May be repeated."),
    ] = None,
    words_as: Annotated[
        Literal["contexts", "embeddings"],
        typer.Option(
            "--words-as",
            help="A model's word is the mean over its contexts in --text (static vectors need none), or, if it is one "
            "subword, its embedding.",
        ),
    ] = "contexts",
    source: Source = None,
    target: Target = None,
    mapping: Map = None,
    layers: LayerList = "all",
    candidates: Annotated[
        Literal["all", "gold"],
        typer.Option(
            "--candidates",
            help="Answers come from the whole vocabulary (all words of a file, a text or a model), or only from the "
            "words of the dictionary.",
        ),
    ] = "all",
    vocabulary: Annotated[
        int | None,
        typer.Option(
            "--vocabulary",
            metavar="N",
            min=1,
            help="A model's vocabulary: its N most frequent words beside the dictionary's; default: 50,000 words of "
            "--text, 200,000 of one subword.",
        ),
    ] = None,
    case: Annotated[
        Literal["auto", "keep", "lower"],
        typer.Option(
            "--case", help="How words of --text are compared: auto is lower where the dictionary has no capitals."
        ),
    ] = "auto",
    contexts: Annotated[
        int | None, typer.Option("--contexts", metavar="N", min=1, help="Sentences of a word that count at most.")
    ] = None,
    shards: Annotated[
        list[str] | None,
        typer.Option("--shards", metavar="LANG=DIR", help="What the model learned from, to find words it was given."),
    ] = None,
    leave_out_known: LeaveOutKnown = False,
    allow_leak: AllowLeak = False,
    method: Methods = None,
    center: Centers = None,
    first: Rows = None,
    neighborhood: Neighborhood = 10,
    resamples: Resamples = 1000,
    pairs: Pairs = "best",
    figure: FigureFile = None,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Look for the translation of every word of a dictionary, in both directions.

    From two files of word vectors, or from models: with --text in every layer. Several models are scored on the
    entries, and among the candidates, that all of them have. Words without a vector are left out and counted.

    Words that a dictionary gave to the training of the model, or of the map, are refused, unless --leave-out-known or
    --allow-leak is given. Where a text or a model has no record of its provenance, a line says so.

    --out gets metrics.json, metrics.csv, pairs.tsv and a figure.
    """
    output = Output(json=json, quiet=quiet)
    met: dict[str, object] = {"--case": case != "auto", "--contexts": contexts, "--rows": first}
    of_model: dict[str, object] = {
        "MODEL": model,
        "--text": text,
        "--words-as": words_as != "contexts",
        "--vocabulary": vocabulary,
    }
    more = {"--shards": shards, "--case": case != "auto", "--contexts": contexts}
    _check_origin(source, target, {**of_model, **more})
    refuse_both(leave_out_known=leave_out_known, allow_leak=allow_leak)
    if words_as == "embeddings":
        met |= {"--text": text, "--layers": layers != "all"}
        _refuse(met, "--words-as embeddings", remedy="leave it out: there is one row a word, from no text")
    if len(model or ()) > 1 and mapping is not None:
        raise ConfigError(
            "--map is of one model, and there are several", remedy="give one MODEL", code="config.conflicting-options"
        )
    models: list[str | None] = [*model] if model else [None]
    chosen = parse_layers(layers)
    score = partial(_score(method, center, neighborhood, resamples, seed, device, output), candidates=candidates)

    def find() -> _Found:
        from isoglot.retrieve.dictionaries import words_by_language
        from isoglot.retrieve.from_model import WordLookup, score_systems
        from isoglot.retrieve.leaks import LeakCheck, training_provenance
        from isoglot.text.formats.dictionary import read_dictionary

        if source is not None and target is not None:
            leaks = {"leave_out": leave_out_known, "allow": allow_leak}
            return _of_files((source, target), dictionary, mapping, layers=chosen, limit=first, score=score, **leaks)
        change = load_change(mapping)
        files = _dictionaries(dictionary)
        entries = {pair: [entry for path in paths for entry in read_dictionary(path)] for pair, paths in files.items()}
        names = {pair: ", ".join(map(str, paths)) for pair, paths in files.items()}
        texts = _texts(text, words_by_language(entries))
        encoders = dict(_encoder(each, device)[::-1] for each in models)
        check = LeakCheck(
            training_provenance(encoders.values(), _opened(shards), [map_provenance(mapping)]), allow_leak
        )
        judged = {
            pair: check.judging(rows, pair[0], names[pair], leave_out=leave_out_known) for pair, rows in entries.items()
        }
        entries = {pair: kept for pair, (kept, _) in judged.items()}
        left = {"-".join(pair): omitted for pair, (_, omitted) in judged.items() if leave_out_known}
        lookup = WordLookup(
            words_as=words_as, layers=chosen, case=case, contexts=contexts, limit=first, vocabulary=vocabulary
        )
        found = score_systems(
            encoders, entries, texts, lookup, names=names, score=score, change=change, progress=output.progress
        )
        remarks = [f"{pair}: {left_out(words)}" for pair, words in left.items() if words]
        facts = {"models": list(encoders), "words_as": words_as, "left_out_known": left, **found.facts}
        facts["leak_check"] = check.facts()
        covered = [line for pair in found.pairs for line in _covered(pair)]
        return _Found(list(found.pairs), facts, [*covered, *found.remarks, *remarks, str(check)])

    read = [*files_of(dictionary), *files_of(text), source, target, mapping]
    read += [_index(each, source) for each in models]
    _run(find, read, output, kind="words", out=out, figure=figure, which=pairs, seed=seed, device=device)


def _of_files(
    paths: tuple[Path, Path],
    dictionary: list[str],
    mapping: Path | None,
    *,
    layers: Literal["all"] | list[int],
    limit: int | None,
    leave_out: bool,
    allow: bool,
    score: Callable[..., PairScores],
) -> _Found:
    """Words of two files of vectors."""
    from isoglot.retrieve.dictionaries import score_dictionary
    from isoglot.retrieve.leaks import LeakCheck
    from isoglot.retrieve.vector_files import read_side, vectors_provenance
    from isoglot.text.formats.dictionary import read_dictionary
    from isoglot.text.provenance import merged

    file = _one_dictionary(dictionary)
    source, target = (read_side(path, layers=layers, limit=limit) for path in paths)
    check = LeakCheck(merged([*map(vectors_provenance, paths), map_provenance(mapping)]), allow)
    named = {} if is_path(dictionary[0]) else parse_pairs(dictionary)
    language = next((pair[0] for pair in named), source.header.get("language"))
    judges, omitted = check.judging(list(read_dictionary(file)), language, file, leave_out=leave_out)
    pair = score_dictionary(*load_change(mapping)(source, target), judges, file, score=score)
    remarks = [*_covered(pair), *([left_out(omitted)] if omitted else []), str(check)]
    facts = {"source": str(paths[0]), "target": str(paths[1]), "left_out_known": omitted, "leak_check": check.facts()}
    return _Found([pair], facts, remarks)


def _check_origin(source: Path | None, target: Path | None, of_model: Mapping[str, object]) -> None:
    """Refuse half of a pair of files, and what is for a model beside them."""
    if (source is None) != (target is None):
        raise ConfigError(
            "--source and --target go together", remedy="give both, or a MODEL", code="config.missing-option"
        )
    if source is not None:
        _refuse(of_model, "--source FILE", remedy="give vectors, or a model")


def _refuse(options: Mapping[str, object], beside: str, *, remedy: str) -> None:
    """Refuse options that would have no effect beside another."""
    for option, value in options.items():
        if value:
            raise ConfigError(
                f"{option} and {beside} exclude each other", remedy=remedy, code="config.conflicting-options"
            )


def _score(
    methods: list[str] | None,
    centers: list[str] | None,
    neighborhood: int,
    resamples: int,
    seed: int,
    device: str,
    output: Output,
) -> Callable[..., PairScores]:
    """What scores two sides, with everything but the sides; means and neighborhoods are those of all rows."""
    from isoglot.core.devices import choose_device
    from isoglot.retrieve.estimates import OWN
    from isoglot.retrieve.layer_scores import CENTERS, DEFAULT_METHODS, score_layers
    from isoglot.retrieve.methods import METHODS

    for option, given, known in (("--method", methods, METHODS), ("--center", centers, CENTERS)):
        for value in given or ():
            if value not in known:
                raise ConfigError(
                    f"no {option} {shown(value)}", remedy=nearest_name(value, known), code="config.unknown-name"
                )
    return partial(
        score_layers,
        methods=[known for known in METHODS if known in (methods or DEFAULT_METHODS)],
        centers=[known for known in CENTERS if known in (centers or CENTERS)],
        estimates=OWN,
        neighborhood=neighborhood,
        resamples=resamples,
        seed=seed,
        device=choose_device(device),
        progress=output.progress,
    )


def _texts(text: list[str] | None, languages: Iterable[str]) -> dict[str, list[Path]]:
    texts = parse_named(text, "--text") if text else {}
    for code in languages if texts else ():
        if code not in texts:
            raise ConfigError(
                f"--text has no {code}", remedy=f"name its text: --text {code}=file.txt", code="config.missing-data"
            )
    return texts


def _encoder(model: str | None, device: str) -> tuple[EncoderLike, str]:
    from isoglot.model import load_encoder
    from isoglot.model.load import EMBEDDED

    name = model or EMBEDDED
    return load_encoder(name, device=device), name


def _one_dictionary(values: list[str]) -> Path:
    """The file of the one dictionary that vectors are scored by, with or without its languages before it."""
    if len(values) > 1:
        raise ConfigError(
            "two files of vectors have one dictionary",
            remedy="give --dictionary once",
            code="config.conflicting-options",
        )
    return Path(values[0]).expanduser() if is_path(values[0]) else next(iter(parse_pairs(values).values()))[0]


def _dictionaries(values: list[str]) -> dict[tuple[str, str], list[Path]]:
    for value in values:
        if "=" not in value:
            raise ConfigError(
                f"--dictionary {shown(value)} names no languages",
                remedy=f"write --dictionary en-fr={value}",
                code="config.malformed-option",
            )
    found = parse_pairs(values)
    for pair in found:
        if pair[0] == pair[1]:
            raise ConfigError(
                f"--dictionary {'-'.join(pair)} is of one language", remedy="name two", code="config.other-language"
            )
    return found


def _opened(shards: list[str] | None) -> list[Shards]:
    from isoglot.vocab import Shards

    named = parse_named(shards, "--shards") if shards else {}
    return [Shards.open(folder, check="sizes") for folders in named.values() for folder in folders]


def _covered(pair: PairScores) -> list[str]:
    left = [
        f"{pair.name}: {counted(side.without_vector, f'{side.name} words')} left out: no vector"
        for side in (pair.source, pair.target)
        if side.without_vector
    ]
    return [f"{pair.name}: {pair.coverage}", f"{pair.name}, {spelling(pair)}", *left]


def _index(model: str | None, source: Path | None) -> Path | None:
    """What tells one encoder of ours from another: the file with the hashes of all its parts."""
    from isoglot.model.folder import INDEX
    from isoglot.model.load import EMBEDDED, encoder_folder

    folder = encoder_folder(model or EMBEDDED) if source is None else None
    return None if folder is None else folder / INDEX


def _run(
    find: Callable[[], _Found],
    read: Iterable[Path | None],
    output: Output,
    *,
    kind: str,
    out: Path | None,
    figure: Path | None,
    which: Literal["best", "all", "none"],
    seed: int,
    device: str,
) -> None:
    """Find, write what was found with a record of the run, and show it."""
    from isoglot.core.devices import choose_device
    from isoglot.core.files import write_text
    from isoglot.report.retrieval import retrieval_svg
    from isoglot.retrieve.results import write_results

    where = str(choose_device(device))
    inputs = [path for path in read if path is not None and path.is_file()]
    with recorded(out, inputs, seed=seed, device=where) as run:
        found = find()
        head = {"kind": kind, **found.facts, "seed": seed}
        files = [] if run is None else write_results(run.folder, found.pairs, head, which)
        if figure is None and out is not None and all(pair.has_layers for pair in found.pairs):
            figure = out / FIGURE
        if figure is not None:
            files.append(figure if run is None else run.place(figure))
            write_text(files[-1], retrieval_svg(found.pairs))
            if run is not None:
                run.add_output(files[-1])
    files = files if run is None else [run.shown(path) for path in files]
    value = head | {"pairs": [pair.as_dict() for pair in found.pairs], "files": [str(path) for path in files]}
    output.result(value, retrieval_table(found.pairs, found.remarks))
    if files:
        output.say("Written: " + ", ".join(str(path) for path in files))
