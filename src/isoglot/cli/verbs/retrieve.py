"""``isoglot retrieve``: how often the nearest neighbor in the other language is the translation, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.declaration import INPUT, argument, option, verb
from isoglot.cli.inputs import (
    CslsFrom,
    Files,
    LayerList,
    MeansFrom,
    ParallelInput,
    files_of,
    is_path,
    parse_estimates,
    parse_layers,
    parse_named,
    parse_pairs,
    refuse_beside,
)
from isoglot.cli.options import EMBEDDED, KnownWordOptions, ModelRun, SentencePoolOfModel, open_run, open_runs
from isoglot.cli.output import page_facts
from isoglot.cli.run_files import recorded
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.retrieve import MixedRetrieval, Retrieval, RetrievalConfig, WordLookup

app = typer.Typer()


@dataclass(frozen=True)
class VectorOptions:
    """Vectors from files instead of a model, and a map for either.

    Options:
        source: Vectors instead of a model: .safetensors, .npy, .vec, or encode's folder.
        mapping: Map from the source's vectors to the target's, or a folder with one per layer.
    """

    SECTION: ClassVar[str] = INPUT
    source: Annotated[Path | None, option("FILE")] = None
    target: Annotated[Path | None, option("FILE", "The vectors of the other side.")] = None
    mapping: Annotated[Path | None, option("PATH", name="--map")] = None

    @property
    def every(self) -> list[Path | None]:
        """All files."""
        return [self.source, self.target, self.mapping]

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
    """How translations are searched for and scored.

    Options:
        method: cosine, csls, inverted_softmax, ratio, distance, euclidean. May be repeated. Default: cosine and csls.
        center: none: vectors as they are; mean: each language's mean removed. Default: both.
    """

    SECTION: ClassVar[str] = "Search"
    method: Annotated[Files, option("NAME")] = None
    center: Annotated[Files, option("NAME")] = None
    neighborhood: Annotated[int, option("K", "Neighbors that csls and the margins average over.", min=1)] = 10
    resamples: Annotated[int, option("N", "Bootstrap samples of each 95 % interval.", min=1, max=1_000_000)] = 1000

    def config(self, **values: Any) -> RetrievalConfig:  # noqa: ANN401 - fields of the config
        """The config of a search."""
        from isoglot.retrieve import RetrievalConfig

        given = {"methods": self.method, "centers": self.center}
        values |= {name: value for name, value in given.items() if value}
        return RetrievalConfig(neighborhood=self.neighborhood, resamples=self.resamples, **values)


@dataclass(frozen=True)
class LookupOptions:
    """How a model's words get their vectors.

    Options:
        words_as: A model's word is the mean over its contexts in --text (static vectors need none), or, if it is one
            subword, its embedding.
        vocabulary: A model's vocabulary: its N most frequent words beside the dictionary's; default: 50,000 words of
            --text, 200,000 of one subword.
        case: How words of --text are compared: auto is lower where the dictionary has no capitals.
    """

    SECTION: ClassVar[str] = "Words"
    text: Annotated[Files, option("LANG=FILE", "Text that the model sees the words in. May be repeated.")] = None
    words_as: Literal["contexts", "embeddings"] = "contexts"
    vocabulary: Annotated[int | None, option("N", min=1)] = None
    case: Literal["auto", "keep", "lower"] = "auto"
    contexts: Annotated[int | None, option("N", "Maximum number of sentences per word.", min=1)] = None
    rows: Annotated[int | None, option("N", "The first N lines or rows of each file.", min=1)] = None

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
    """The run, and what is written.

    Options:
        pairs: Which predictions go to pairs.tsv: the best layer's and method's, all, or none.
    """

    pairs: Literal["best", "all", "none"] = "best"
    figure: Annotated[Path | None, option("FILE", "Draw P@1 by layer: .svg, .pdf, .png, .html or .json.")] = None

    def finish(self, find: Callable[..., Retrieval | MixedRetrieval], read: list[Path], mapping: Path | None) -> None:
        """Search, write what was found with a record of the run, and show it."""
        from isoglot.align.apply import change_by_maps
        from isoglot.core.devices import choose_device
        from isoglot.report.terminal.retrieval_results import write_retrieval

        device = choose_device(self.device)
        with recorded(self.out, read, seed=self.seed, device=str(device)) as record:
            found = find(change=change_by_maps(mapping), device=device)
            shown = write_retrieval(found, record, pairs=self.pairs, figure=self.figure, facts=page_facts())
        self.print(shown)


@verb(
    app,
    "sentences",
    example="retrieve sentences MODEL --parallel en=a.txt --parallel de=b.txt --layers all --method csls --out found/",
)
def sentences(
    *,
    model: Annotated[str | None, argument("MODEL", callback=open_run, show_default=False)] = None,
    text: ParallelInput,
    vectors: VectorOptions,
    layers: LayerList = "all",
    pool: SentencePoolOfModel = None,
    search: SearchOptions,
    candidates: Annotated[Literal["gold", "mixed"], option(section="Search")] = "gold",
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

    Options:
        model: {MODEL} Default: isoglot-mini.
        sentences: The first N. Default: 500 built-in ones, or all of files.
        candidates: Answers come from the other language of a pair, or from one pool of all languages, the query's own
            included, as in a multilingual index.
    """
    files = vectors.files({"MODEL": model, "--parallel": text.parallel, "--langs": text.langs, "--pool": pool})
    source, mixed = parse_estimates(means_from, csls_from), candidates == "mixed"
    if source.estimates.means == "given":
        beside = {"--source": vectors.source, "--map": vectors.mapping}
        refuse_beside(beside, "--means-from of other text", remedy="take --means-from folds or own")
    if mixed:
        refuse_beside({"--source": files, "--map": vectors.mapping}, "--candidates mixed", remedy="give a MODEL alone")
    config = search.config(estimates=source.estimates, seed=run.seed)
    how: dict[str, Any] = {"layers": parse_layers(layers), "progress": run.progress}

    def find(**options: Any) -> Retrieval | MixedRetrieval:  # noqa: ANN401 - change and device
        from isoglot.model import load_encoder
        from isoglot.represent.extraction import sentence_pool
        from isoglot.retrieve import retrieve_mixed, retrieve_rows, retrieve_sentences

        if files is not None:
            return retrieve_rows(files[0], files[1], config, limit=text.sentences, **options, **how)
        sets = text.read()
        encoder = load_encoder(model or EMBEDDED, device=run.device)
        sets = sets or (text.builtin if mixed else text.builtin_pairs)(encoder, seed=run.seed)
        how["pool"] = sentence_pool(encoder, pool)
        how["others"] = source.others(encoder, dict.fromkeys(code for one in sets for code in one.sentences), **how)
        how["name"] = model or EMBEDDED
        if mixed:
            return retrieve_mixed(encoder, sets, config, device=options["device"], **how)
        return retrieve_sentences(encoder, sets, config, **options, **how)

    run.finish(find, [*files_of(text.parallel, *vectors.every), *source.files], vectors.mapping)


@verb(app, "words", example="retrieve words --source en.vec --target fr.vec --dictionary en-fr.txt --map map/")
def words(
    *,
    dictionary: Annotated[list[str], option("FROM-TO=FILE", section=INPUT)],
    model: Annotated[Files, argument("MODEL...", show_default=False, callback=open_runs)] = None,
    vectors: VectorOptions,
    shards: Annotated[Files, option("LANG=DIR", section=INPUT)] = None,
    lookup: LookupOptions,
    layers: LayerList = "all",
    search: SearchOptions,
    candidates: Annotated[Literal["all", "gold"], option(section="Search")] = "all",
    known: KnownWordOptions,
    run: RetrievalRun,
) -> None:
    """Look for the translation of every word of a dictionary, in both directions.

    From two files of word vectors, or from models: with --text in every layer. Several models are scored on the
    entries, and among the candidates, that all of them have. Words without a vector are left out and counted.

    Words that a dictionary gave to the training of the model, or of the map, are refused, unless --leave-out-known or
    --allow-leak is given. Where a text or a model has no record of its provenance, a line says so.

    --out gets metrics.json, metrics.csv, pairs.tsv and index.html.

    Options:
        dictionary: Correct translations; for files of vectors, one dictionary. May be repeated.
        model: {MODEL} Or static vectors. Several are scored on the words that each has. Default: isoglot-mini.
        shards: Shards the model was trained on, to find words whose translations it was given.
        candidates: Answers come from the whole vocabulary (all words of a file, a text or a model), or only from the
            words of the dictionary.
    """
    from isoglot.retrieve.estimates import OWN

    files = vectors.files({"MODEL": model, "--shards": shards, **lookup.of_model()})
    chosen = lookup.lookup(parse_layers(layers))
    if len(model or ()) > 1:
        refuse_beside({"--map": vectors.mapping}, "several models", remedy="give one MODEL")
    config = search.config(candidates=candidates, estimates=OWN, seed=run.seed)
    how: dict[str, Any] = {"known_words": known.policy(), "progress": run.progress}

    def find(**options: Any) -> Retrieval:  # noqa: ANN401 - change and device
        from isoglot.align.apply import provenance_of_maps
        from isoglot.model import load_encoder
        from isoglot.retrieve import retrieve_word_vectors, retrieve_words
        from isoglot.retrieve.leaks import training_provenance
        from isoglot.text.formats.dictionary import read_dictionaries, read_dictionary
        from isoglot.vocab import Shards

        given = provenance_of_maps(vectors.mapping)
        if files is not None:
            path, language = _one_dictionary(dictionary)
            how.update(training=given, language=language, name=str(path), layers=chosen.layers, limit=lookup.rows)
            entries = list(read_dictionary(path))
            return retrieve_word_vectors(files[0], files[1], entries, config, **options, **how)
        paths = parse_pairs(dictionary)
        texts = parse_named(lookup.text, "--text") if lookup.text else {}
        encoders = {name: load_encoder(name, device=run.device) for name in model or [EMBEDDED]}
        folders = [folder for each in parse_named(shards, "--shards").values() for folder in each] if shards else []
        learned = [Shards.open(folder, check="sizes") for folder in folders]
        how["training"] = training_provenance([], learned, [given])
        how["names"] = {pair: ", ".join(map(str, each)) for pair, each in paths.items()}
        return retrieve_words(encoders, read_dictionaries(paths), texts, config, chosen, **options, **how)

    run.finish(find, files_of(dictionary, lookup.text, *vectors.every), vectors.mapping)


def _one_dictionary(values: list[str]) -> tuple[Path, str | None]:
    """The file of the one dictionary that vectors are scored by, and its source language if it is named."""
    if len(values) > 1:
        raise ConfigError("two files of vectors have one dictionary", "give --dictionary once", "conflicting-options")
    if is_path(values[0]):
        return Path(values[0]).expanduser(), None
    ((pair, (path, *_)),) = parse_pairs(values).items()
    return path, pair[0]
