"""``isoglot retrieve``: how often the nearest neighbor in the other language is the translation, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.inputs import (
    CslsFrom,
    Langs,
    MeansFrom,
    ParallelSets,
    is_path,
    load_change,
    map_provenance,
    option,
    parse_estimates,
    parse_langs,
    parse_named,
    parse_pairs,
    read_sets,
)
from isoglot.cli.options import (
    INPUT,
    MODEL,
    KnownWordOptions,
    LayerList,
    ModelRun,
    SentencePoolOfModel,
    open_run,
    open_runs,
    parse_layers,
    refuse_beside,
    sentence_count,
    verb,
)
from isoglot.cli.output import page_facts
from isoglot.cli.run_files import files_of, recorded
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from isoglot.retrieve import MixedRetrieval, Retrieval, RetrievalConfig, WordLookup

app = typer.Typer(
    help="How often the nearest neighbor in the other language is the translation, layer by layer.",
    no_args_is_help=True,
)

EMBEDDED = "isoglot-mini"

Model = Annotated[
    str | None,
    typer.Argument(metavar="MODEL", callback=open_run, help=f"{MODEL} Default: {EMBEDDED}.", show_default=False),
]
Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL...",
        show_default=False,
        callback=open_runs,
        help=f"{MODEL} Or static vectors. Several are scored on the words that each has. Default: {EMBEDDED}.",
    ),
]
Count = Annotated[int | None, sentence_count("The first N. Default: 500 built-in ones, or all of files.")]
Dictionary = Annotated[
    list[str],
    option(
        "--dictionary",
        "FROM-TO=FILE",
        "Right pairs; for vectors one file alone. May be repeated.",
        rich_help_panel=INPUT,
    ),
]
Shards = Annotated[
    list[str] | None,
    option("--shards", "LANG=DIR", "What the model learned from, to find words it was given.", rich_help_panel=INPUT),
]


@dataclass(frozen=True)
class VectorOptions:
    """Vectors from files instead of a model, and a map for either."""

    SECTION: ClassVar[str] = INPUT
    source: Annotated[
        Path | None,
        option("--source", "FILE", "Vectors instead of a model: .safetensors, .npy, .vec, or encode's folder."),
    ] = None
    target: Annotated[Path | None, option("--target", "FILE", "The vectors of the other side.")] = None
    mapping: Annotated[
        Path | None, option("--map", "PATH", "What takes the source's vectors to the target's: a map, or one a layer.")
    ] = None

    def files(self, of_model: Mapping[str, object]) -> tuple[Path, Path] | None:
        """The two files, None for a model; half of a pair and options of a model beside them are refused."""
        if self.source is None or self.target is None:
            if self.source != self.target:
                raise ConfigError("--source and --target go together", "give both, or a MODEL", "missing-option")
            return None
        refuse_beside(of_model, "--source FILE", remedy="give vectors, or a model")
        return self.source, self.target


@dataclass(frozen=True)
class SearchOptions:
    """How translations are searched for and scored."""

    SECTION: ClassVar[str] = "Search"
    method: Annotated[
        list[str] | None,
        option(
            "--method",
            "NAME",
            "cosine, csls, inverted_softmax, ratio, distance, euclidean. May be repeated. Default: cosine and csls.",
        ),
    ] = None
    center: Annotated[
        list[str] | None,
        option("--center", "NAME", "none: vectors as they are; mean: each language's mean removed. Default: both."),
    ] = None
    neighborhood: Annotated[
        int, option("--neighborhood", "K", "Neighbors that csls and the margins average over.", min=1)
    ] = 10
    resamples: Annotated[
        int, option("--resamples", "N", "Bootstrap samples behind each 95 % interval.", min=1, max=1_000_000)
    ] = 1000

    def config(self, **values: Any) -> RetrievalConfig:  # noqa: ANN401 - fields of the config
        """The config of a search."""
        from isoglot.retrieve import RetrievalConfig

        given = {"methods": self.method, "centers": self.center}
        values |= {name: value for name, value in given.items() if value}
        return RetrievalConfig(neighborhood=self.neighborhood, resamples=self.resamples, **values)


@dataclass(frozen=True)
class LookupOptions:
    """How a model's words get their vectors."""

    SECTION: ClassVar[str] = "Words"
    text: Annotated[
        list[str] | None, option("--text", "LANG=FILE", "Where the model meets the words. May be repeated.")
    ] = None
    words_as: Annotated[
        Literal["contexts", "embeddings"],
        typer.Option(
            "--words-as",
            help="A model's word is the mean over its contexts in --text (static vectors need none), or, if it is one "
            "subword, its embedding.",
        ),
    ] = "contexts"
    vocabulary: Annotated[
        int | None,
        option(
            "--vocabulary",
            "N",
            "A model's vocabulary: its N most frequent words beside the dictionary's; default: 50,000 words of "
            "--text, 200,000 of one subword.",
            min=1,
        ),
    ] = None
    case: Annotated[
        Literal["auto", "keep", "lower"],
        typer.Option(
            "--case", help="How words of --text are compared: auto is lower where the dictionary has no capitals."
        ),
    ] = "auto"
    contexts: Annotated[int | None, option("--contexts", "N", "Sentences of a word that count at most.", min=1)] = None
    rows: Annotated[int | None, option("--rows", "N", "The first N lines or rows of each file.", min=1)] = None

    def lookup(self, layers: Literal["all"] | list[int]) -> WordLookup:
        """The lookup of a library call; options without effect are refused."""
        from isoglot.retrieve import WordLookup

        if self.words_as == "embeddings":
            of_text = {**self.of_text(), "--rows": self.rows, "--text": self.text, "--layers": layers != "all"}
            remedy = "leave it out: there is one row a word, from no text"
            refuse_beside(of_text, "--words-as embeddings", remedy=remedy)
        return WordLookup(
            words_as=self.words_as,
            layers=layers,
            case=self.case,
            contexts=self.contexts,
            limit=self.rows,
            vocabulary=self.vocabulary,
        )

    def of_text(self) -> dict[str, object]:
        """Options about words in text, with the values that were given."""
        return {"--case": self.case != "auto", "--contexts": self.contexts}

    def of_model(self) -> dict[str, object]:
        """Options about models, with the values that were given."""
        given = {"--text": self.text, "--words-as": self.words_as != "contexts", "--vocabulary": self.vocabulary}
        return {**given, **self.of_text()}


@dataclass(frozen=True, kw_only=True)
class RetrievalRun(ModelRun):
    """The run, and what is written."""

    pairs: Annotated[
        Literal["best", "all", "none"],
        typer.Option("--pairs", help="Which predictions go to pairs.tsv: the best layer's and method's, all, or none."),
    ] = "best"
    figure: Annotated[
        Path | None, option("--figure", "FILE", "Draw P@1 by layer: .svg, .pdf, .png, .html or .json.")
    ] = None


@verb(
    app,
    "sentences",
    example="retrieve sentences MODEL --parallel en=a.txt --parallel de=b.txt --layers all --method csls --out found/",
)
def sentences(
    *,
    model: Model = None,
    parallel: ParallelSets = None,
    langs: Langs = None,
    count: Count = None,
    vectors: VectorOptions,
    layers: LayerList = "all",
    pool: SentencePoolOfModel = None,
    search: SearchOptions,
    candidates: Annotated[
        Literal["gold", "mixed"],
        typer.Option(
            "--candidates",
            rich_help_panel="Search",
            help="Answers come from the other language of a pair, or from one pool of all languages, the query's own "
            "included, as in a multilingual index.",
        ),
    ] = "gold",
    means_from: MeansFrom = None,
    csls_from: CslsFrom = "folds",
    run: RetrievalRun,
) -> None:
    """Look for the translation of every sentence, in every layer, in both directions.

    From a model and parallel sentences, or from two files of vectors whose rows are translations of each other. Without
    any of these, isoglot-mini looks among built-in sentences.

    More than two languages are scored two by two, or with --candidates mixed all at once: how often a translation is
    nearest, and how often an unrelated sentence of the query's own language. Rows that repeat a sentence of an earlier
    one are left out.

    Means that are removed, and the neighborhoods of csls, come from other sentences than the query by default: the set
    is cut into five folds, and the queries of a fold see what the others say.

    --out gets metrics.json, metrics.csv, pairs.tsv and index.html.
    """
    files = vectors.files({"MODEL": model, "--parallel": parallel, "--langs": langs, "--pool": pool})
    asked = parse_estimates(means_from, csls_from)
    if asked.estimates.means == "given":
        beside: dict[str, object] = {"--source": vectors.source, "--map": vectors.mapping}
        refuse_beside(beside, "--means-from of other text", remedy="take --means-from folds or own")
    if candidates == "mixed":
        refuse_beside({"--source": files, "--map": vectors.mapping}, "--candidates mixed", remedy="give a MODEL alone")
    config = search.config(estimates=asked.estimates, seed=run.seed)
    shared: dict[str, Any] = {"layers": parse_layers(layers), "progress": run.progress}

    def find(**options: Any) -> Retrieval | MixedRetrieval:  # noqa: ANN401 - change and device
        from isoglot.compare.parallel_sentences import SENTENCES, builtin_languages_of, builtin_set, builtin_sets
        from isoglot.model import load_encoder
        from isoglot.represent.extraction import sentence_pool
        from isoglot.retrieve import retrieve_mixed, retrieve_rows, retrieve_sentences

        if files is not None:
            return retrieve_rows(files[0], files[1], config, limit=count, **options, **shared)
        sets = read_sets(parallel, langs, count) if parallel else []
        encoder = load_encoder(model or EMBEDDED, device=run.device)
        if not sets and candidates == "mixed":
            sets = [builtin_set(parse_langs(langs) or builtin_languages_of(encoder), count or SENTENCES, seed=run.seed)]
        sets = sets or builtin_sets(encoder, parse_langs(langs), count or SENTENCES, seed=run.seed)
        shared["pool"] = sentence_pool(encoder, pool)
        others = asked.others(encoder, dict.fromkeys(code for one in sets for code in one.sentences), **shared)
        shared.update(others=others, name=model or EMBEDDED)
        if candidates == "mixed":
            return retrieve_mixed(encoder, sets, config, device=options["device"], **shared)
        return retrieve_sentences(encoder, sets, config, **options, **shared)

    read = [*files_of(parallel), *asked.files, vectors.source, vectors.target, vectors.mapping]
    _run(find, read, vectors.mapping, run)


@verb(app, "words", example="retrieve words --source en.vec --target fr.vec --dictionary en-fr.txt --map map/")
def words(
    *,
    dictionary: Dictionary,
    model: Models = None,
    vectors: VectorOptions,
    shards: Shards = None,
    lookup: LookupOptions,
    layers: LayerList = "all",
    search: SearchOptions,
    candidates: Annotated[
        Literal["all", "gold"],
        typer.Option(
            "--candidates",
            rich_help_panel="Search",
            help="Answers come from the whole vocabulary (all words of a file, a text or a model), or only from the "
            "words of the dictionary.",
        ),
    ] = "all",
    known: KnownWordOptions,
    run: RetrievalRun,
) -> None:
    """Look for the translation of every word of a dictionary, in both directions.

    From two files of word vectors, or from models: with --text in every layer. Several models are scored on the
    entries, and among the candidates, that all of them have. Words without a vector are left out and counted.

    Words that a dictionary gave to the training of the model, or of the map, are refused, unless --leave-out-known or
    --allow-leak is given. Where a text or a model has no record of its provenance, a line says so.

    --out gets metrics.json, metrics.csv, pairs.tsv and index.html.
    """
    from isoglot.retrieve.estimates import OWN

    files = vectors.files({"MODEL": model, "--shards": shards, **lookup.of_model()})
    chosen = lookup.lookup(parse_layers(layers))
    if len(model or ()) > 1:
        refuse_beside({"--map": vectors.mapping}, "several models", remedy="give one MODEL")
    config = search.config(candidates=candidates, estimates=OWN, seed=run.seed)
    shared: dict[str, Any] = {"known_words": known.policy(), "progress": run.progress}

    def find(**options: Any) -> Retrieval:  # noqa: ANN401 - change and device
        from isoglot.model import load_encoder
        from isoglot.retrieve import retrieve_word_vectors, retrieve_words
        from isoglot.retrieve.leaks import training_provenance
        from isoglot.text.formats.dictionary import read_dictionary
        from isoglot.vocab import Shards

        if files is not None:
            path, language = _one_dictionary(dictionary)
            shared.update(training=map_provenance(vectors.mapping), language=language, name=str(path))
            entries = list(read_dictionary(path))
            return retrieve_word_vectors(
                files[0], files[1], entries, config, layers=chosen.layers, limit=lookup.rows, **options, **shared
            )
        paths = parse_pairs(dictionary)
        rows = {pair: [entry for path in each for entry in read_dictionary(path)] for pair, each in paths.items()}
        texts = parse_named(lookup.text, "--text") if lookup.text else {}
        encoders = {name: load_encoder(name, device=run.device) for name in model or [EMBEDDED]}
        folders = [folder for each in parse_named(shards, "--shards").values() for folder in each] if shards else []
        opened = [Shards.open(folder, check="sizes") for folder in folders]
        shared["training"] = training_provenance([], opened, [map_provenance(vectors.mapping)])
        shared["names"] = {pair: ", ".join(map(str, each)) for pair, each in paths.items()}
        return retrieve_words(encoders, rows, texts, config, chosen, **options, **shared)

    read = [*files_of(dictionary), *files_of(lookup.text), vectors.source, vectors.target, vectors.mapping]
    _run(find, read, vectors.mapping, run)


def _one_dictionary(values: list[str]) -> tuple[Path, str | None]:
    """The file of the one dictionary that vectors are scored by, and its source language if it is named."""
    if len(values) > 1:
        raise ConfigError("two files of vectors have one dictionary", "give --dictionary once", "conflicting-options")
    if is_path(values[0]):
        return Path(values[0]).expanduser(), None
    ((pair, (path, *_)),) = parse_pairs(values).items()
    return path, pair[0]


def _run(
    find: Callable[..., Retrieval | MixedRetrieval],
    read: Iterable[Path | None],
    mapping: Path | None,
    run: RetrievalRun,
) -> None:
    """Find, write what was found with a record of the run, and show it."""
    from isoglot.core.devices import choose_device
    from isoglot.report.mixed_retrieval import mixed_figure, mixed_page, mixed_table
    from isoglot.report.rendering import save_figure
    from isoglot.report.retrieval import retrieval_figure, retrieval_page, retrieval_table
    from isoglot.retrieve import MixedRetrieval

    device, figure = choose_device(run.device), run.figure
    inputs = [path for path in read if path is not None and path.is_file()]
    with recorded(run.out, inputs, seed=run.seed, device=str(device)) as record:
        found = find(change=load_change(mapping), device=device)
        files = [] if record is None else found.save(record.folder, run.pairs)
        if record is not None:
            if isinstance(found, MixedRetrieval):
                page = mixed_page(found, facts=page_facts())
            else:
                page = retrieval_page(found.pairs, remarks=found.remarks, facts=page_facts())
            files.append(page.write(record.folder)[0])
        if figure is not None:
            files.append(figure if record is None else record.place(figure))
            drawn = mixed_figure(found) if isinstance(found, MixedRetrieval) else retrieval_figure(found.pairs)
            save_figure(drawn.titled(), files[-1])
            if record is not None:
                record.add_output(files[-1])
    files = files if record is None else [record.shown(path) for path in files]
    table = mixed_table(found) if isinstance(found, MixedRetrieval) else retrieval_table(found.pairs, found.remarks)
    run.result(found.as_dict() | {"files": [str(path) for path in files]}, table)
    if files:
        run.say("Written: " + ", ".join(str(path) for path in files))
