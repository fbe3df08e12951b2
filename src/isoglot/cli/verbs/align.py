"""``isoglot align``: maps between the spaces of two encoders, word alignment of bitext, and dictionaries from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.inputs import Langs, is_table, one_each, option, parse_pairs, two_bitexts, two_langs, two_sides
from isoglot.cli.options import (
    INPUT,
    MODEL,
    OUTPUT,
    KnownWordOptions,
    LayerList,
    ModelRunTo,
    Out,
    Seed,
    SentencePoolOfModel,
    Settings,
    VectorsOut,
    open_run,
    parse_layers,
    refuse_beside,
    sentence_count,
    verb,
)
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import publish, recorded, refuse_overwriting
from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.align import AlignConfig, Alignment
    from isoglot.align.words.linking import BitextSource
    from isoglot.model import EncoderLike
    from isoglot.report.results import Rendering
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.formats.word_vectors import Vectors

    Sides = tuple[Any, Any]  # encoders, or word vectors

app = typer.Typer(
    help="Map one encoder's space to another's: embeddings, word types, words or sentences, by layer. Find which word "
    "is which in bitext, and the dictionary in it.",
    no_args_is_help=True,
)
PAGE = "index.html"

# --- options ---

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
Segment = Annotated[
    Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"] | None,
    typer.Option(
        "--segment",
        rich_help_panel=INPUT,
        help="Word segmentation. Default: auto, which suits the language; blanks where links are given: they "
        "count words.",
    ),
]
Aligner = Annotated[Path | None, option("--aligner", "PATH", "One that align links wrote. Default: it learns here.")]
LinksFile = Annotated[
    Path | None,
    option(
        "--links",
        "FILE",
        "Which word is which, as 0-0 1-2 (Pharaoh), a line a pair. Default: aligned here.",
        rich_help_panel=INPUT,
    ),
]
AllowLeak = Annotated[bool, typer.Option("--allow-leak", help="Score even on what was trained on.")]


MAP_OPTIONS = {
    "ridge": "penalty=1.0",
    "cca": "components=None, penalty=0.0",
    "rcsls": "rounds=10, learning_rate=1.0, neighborhood=10, cutoff=200000, constraint=none",
    "refinement": "rounds=5, cutoff=15000, neighborhood=10",
    "self-learning": "final=auto, reweight=0.5, keep=0.1, growth=2.0, patience=5, threshold=0.0005, "
    "early=4000, cutoff=10000, neighborhood=10, rounds=2000",
    "mini-vec2vec": "starts=3, sample=2000, neighborhood=10, runs=30, clusters=20, restarts=30, neighbors=50, "
    "rounds=100, batch=1000, smoothing=0.5, fine_clusters=500, cutoff=10000",
}
"""The options of each map with their defaults, as the help says them."""
MAP_OPTIONS["vecmap"] = f"{MAP_OPTIONS['self-learning']}, starts=3, sample=2000"
STEP_OPTIONS = {"iterative": "tolerance=1e-05, rounds=200"}
"""Those of each normalization."""


def _listed(options: dict[str, str]) -> str:
    return "; ".join(f"{name}: {values}" for name, values in options.items())


Method = Annotated[
    Literal[
        "procrustes", "least-squares", "ridge", "cca", "rcsls", "refinement", "self-learning", "vecmap", "mini-vec2vec"
    ],
    typer.Option(
        "--method",
        help="The map; vecmap and mini-vec2vec learn without pairs, are only scored on them, and say whether they "
        f"converged. --set NAME=VALUE changes its options; defaults: {_listed(MAP_OPTIONS)}.",
    ),
]
Normalize = Annotated[
    Literal["none", "center", "unit", "unit-center-unit", "iterative"] | None,
    typer.Option(
        "--normalize",
        help="What both spaces go through first; default: iterative, the paper's, and for self-learning "
        "and maps without pairs unit-center-unit, vecmap's. --set normalization.NAME=VALUE changes its "
        f"options; defaults: {_listed(STEP_OPTIONS)}. The short --set NAME=VALUE does, too, if the map has no NAME.",
    ),
]


@dataclass(frozen=True)
class MapOptions:
    """The map and its settings."""

    SECTION: ClassVar[str] = "Map"
    method: Method = "procrustes"
    normalize: Normalize = None
    settings: Settings = None

    def config(self, **values: Any) -> AlignConfig:  # noqa: ANN401 - fields of the config
        """The config of an alignment.

        Raises:
            ConfigError: The map has no such option.
        """
        from isoglot.align.maps.config import AlignConfig, make_map, spell_out
        from isoglot.core.config import build_config

        values |= {"method": self.method, "normalize": self.normalize}
        settings = spell_out(self.settings or (), self.method, self.normalize)
        config = build_config(AlignConfig, values=values, settings=settings)
        make_map(config)  # checks its options
        return config


@dataclass(frozen=True)
class DictionaryOptions:
    """The dictionaries that words are aligned by."""

    SECTION: ClassVar[str] = INPUT
    dictionary: Annotated[
        list[str] | None, option("--dictionary", "FROM-TO=FILE", "Words to learn from. May be repeated.")
    ] = None
    test: Annotated[
        list[str] | None, option("--test", "FROM-TO=FILE", "Words to score on. Default: a fifth is held out.")
    ] = None

    def files(self) -> tuple[tuple[str, str], list[list[Path]]]:
        """The languages, the files to learn from and, if there are any, those to score on.

        Raises:
            ConfigError: There is no dictionary, or they are of several language pairs.
        """
        if not self.dictionary:
            raise ConfigError("--dictionary is missing", "name one: --dictionary en-de=words.txt", "missing-option")
        found = [parse_pairs(self.dictionary)] + ([parse_pairs(self.test, "--test")] if self.test else [])
        pairs = sorted({pair for each in found for pair in each})
        if len(pairs) > 1:
            raise ConfigError(
                f"dictionaries of {' and '.join('-'.join(pair) for pair in pairs)}",
                remedy="align one pair at a time",
                code="config.other-language",
            )
        return pairs[0], [next(iter(each.values())) for each in found]


@dataclass(frozen=True)
class WordOptions(KnownWordOptions):
    """Which words are aligned and searched."""

    candidates: Annotated[
        Literal["all", "gold"],
        typer.Option(
            "--candidates",
            help="Where a translation is looked for: the whole target vocabulary, or only the target words of the "
            "test.",
        ),
    ] = "all"
    vocabulary: Annotated[
        int | None,
        option(
            "--vocabulary",
            "N",
            "The most frequent N words of each side, beside the dictionary's; default: 200,000 of vectors, 50,000 "
            "of a text.",
            min=1,
        ),
    ] = None

    def values(self) -> dict[str, Any]:
        """Fields of the config."""
        policy = self.policy()
        values = {"leave_out_known": policy == "leave-out", "allow_leak": policy == "allow"}
        return {**values, "candidates": self.candidates, "max_vocabulary": self.vocabulary}


@dataclass(frozen=True)
class BitextOptions:
    """Sentences with their translations."""

    SECTION: ClassVar[str] = INPUT
    parallel: Annotated[
        list[str] | None, option("--parallel", "LANG=FILE", "Sentences line by line; twice. Or one table of both.")
    ] = None
    langs: Langs = None
    sentences: Annotated[
        int | None,
        sentence_count("The first N. Default: 10,000 built-in ones, or all of files.", least=2, most=1_000_000),
    ] = None

    def source(self, *, test: list[str] | None = None, **more: Any) -> BitextSource:  # noqa: ANN401 - its other fields
        """Where the sentences come from.

        Raises:
            ConfigError: There is no such file, or not two languages.
            InputError: A table names no languages.
        """
        from isoglot.align.words.linking import BitextSource

        languages, files, tests = two_bitexts(self.parallel, test, self.langs)
        return BitextSource(languages=languages, files=files, test_files=tests, sentences=self.sentences, **more)


@dataclass(frozen=True)
class MappedBitextOptions(BitextOptions):
    """Sentences to fit maps on and to score them on."""

    sentences: Annotated[
        int | None,
        sentence_count(
            "The first N to learn from. Default: 2,000 built-in ones, or all of files.", least=2, most=1_000_000
        ),
    ] = None
    test_parallel: Annotated[
        list[str] | None, option("--test-parallel", "LANG=FILE", "Those to score on. Default: a fifth is held out.")
    ] = None


@dataclass(frozen=True)
class EncoderLinkOptions:
    """Links by the vectors of an encoder."""

    SECTION: ClassVar[str] = "Links by an encoder"
    model: Annotated[str | None, option("--model", "MODEL", f"Link by its vectors. {MODEL}", callback=open_run)] = None
    layer: Annotated[
        str | None,
        option("--layer", "auto|N", "Whose vectors, with --model; auto, the default: the best one on gold links."),
    ] = None
    rule: Annotated[
        Literal["auto", "argmax", "softmax"] | None,
        typer.Option("--rule", help="A word's best, or all above a threshold, with --model. Default: auto."),
    ] = None
    center: Annotated[
        Literal["auto", "mean", "none"] | None,
        typer.Option("--center", help="Whether languages' means are removed, with --model. Default: auto."),
    ] = None
    dev_parallel: Annotated[
        list[str] | None, option("--dev-parallel", "LANG=FILE", "Sentences to choose a layer on, with --model; twice.")
    ] = None
    dev_gold: Annotated[
        Path | None, option("--dev-gold", "FILE", "Which word is which there, as 0-0 1-2 (Pharaoh; 1?2: possible).")
    ] = None
    allow_leak: AllowLeak = False

    def check(self, aligner: Path | None, settings: list[str] | None) -> None:
        """Refuse options that would be ignored."""
        names = ("layer", "rule", "center", "allow_leak", "dev_parallel", "dev_gold")
        given = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        if aligner is not None:
            remedy = "leave it out: an aligner has its settings"
            refuse_beside({"--set": settings, **given}, "--aligner", remedy=remedy)
        if self.model is None:
            _need(given, "--model", "name an encoder, or leave it out")
        if bool(self.dev_parallel) != bool(self.dev_gold):
            raise ConfigError(
                "--dev-parallel and --dev-gold go together",
                remedy="give both, or neither and --layer N",
                code="config.missing-option",
            )

    def config(self, settings: list[str] | None) -> Any:  # noqa: ANN401 - of either kind of aligner
        """The config of an aligner: of an encoder's if there is one."""
        from isoglot.align import EncoderLinksConfig, WordAlignConfig
        from isoglot.core.config import build_config

        if self.model is None:
            return build_config(WordAlignConfig, settings=settings or ())
        if self.layer not in (None, "auto") and not str(self.layer).lstrip("-").isdecimal():
            raise ConfigError(
                f"--layer {shown(self.layer)} is not a layer",
                remedy="write --layer auto, or a number such as --layer 4",
                code="config.malformed-option",
            )
        layer = self.layer if self.layer in (None, "auto") else int(str(self.layer))
        values = {"layer": layer, "rule": self.rule, "center": self.center}
        given = {name: value for name, value in values.items() if value is not None}
        return build_config(EncoderLinksConfig, values=given, settings=settings or ())

    def dev(self, source: BitextSource) -> BitextSource | None:
        """The sentences to choose a layer on; None: those the library chooses."""
        from isoglot.align.words.linking import BitextSource

        if not self.dev_parallel:
            return None
        languages = source.languages
        found, files = two_sides(
            self.dev_parallel, "--dev-parallel", languages if is_table(self.dev_parallel) else None
        )
        _same_order("--dev-parallel", found, languages)
        return BitextSource(languages=languages, files=files, gold=self.dev_gold, segment=source.segment)


# --- maps ---


@verb(
    app,
    "embeddings",
    example="align embeddings runs/en runs/fr --dictionary en-fr=train.txt --test en-fr=test.txt --out map/",
)
def embeddings(
    *,
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            callback=open_run,
            help=f"Encoder whose vectors are mapped. {MODEL} Or word vectors, a .vec.",
        ),
    ] = "isoglot-mini",
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TO_MODEL",
            callback=open_run,
            help="Encoder or word vectors that they are mapped to. Default: the source.",
            show_default=False,
        ),
    ] = None,
    entries: DictionaryOptions,
    langs: Annotated[
        str | None,
        option(
            "--langs",
            "FROM,TO",
            "The languages, in place of a dictionary, for a map without pairs; it is scored on words spelled alike.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    words_of: Annotated[
        list[str] | None,
        option(
            "--words-of",
            "LANG=FILE",
            "Only words of a language that this has, too: a .vec, or one word a line. Once for each language.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    mapping: MapOptions,
    words: WordOptions,
    run: ModelRunTo,
) -> None:
    """Align the embedding matrices of two encoders, or word vectors from files, by a dictionary.

    An encoder has vectors of words that are one subword, a .vec those of its lines; .gz, .xz and .zst are read, too.

    The map sees the whole vocabularies of both sides, and translations are looked for among all words of the target.
    vecmap and mini-vec2vec need no dictionary: --langs en,de --method vecmap.
    """
    from isoglot.text.formats.word_vectors import is_vec

    config = mapping.config(seed=run.seed, **words.values())
    languages, files = _words_to_score(entries, langs, config) if langs else entries.files()
    paths = [Path(name).expanduser() if is_vec(name) else None for name in (source, target or source)]
    lists = one_each(words_of, "--words-of") if words_of else {}
    for code in lists:
        if code not in languages:
            problem = f"--words-of names {code}, the dictionary {' and '.join(languages)}"
            raise ConfigError(problem, remedy="name one of these", code="config.other-language")

    def work(sides: Sides, scratch: Path) -> Alignment:
        from isoglot.align import align_embeddings
        from isoglot.core.devices import choose_device
        from isoglot.core.files import file_hash
        from isoglot.retrieve.vector_files import vectors_provenance
        from isoglot.text.formats.word_vectors import read_words
        from isoglot.text.provenance import merged

        only = [read_words(lists[code]) if code in lists else None for code in languages]
        train, *test = map(_entries, files) if files else [None]
        found = align_embeddings(
            *sides,
            train,
            *test,
            languages=languages,
            words=(only[0], only[1]),
            config=config,
            training=merged(vectors_provenance(path) for path in paths if path is not None),
            device=choose_device(run.device),
            progress=run.progress,
        )
        hashes = found.facts["encoder_sha256"]
        return found.between(
            [was if path is None else file_hash(path) for was, path in zip(hashes, paths, strict=True)]
        )

    inputs = [*(path for part in files for path in part), *(path for path in paths if path), *lists.values()]
    _run(work, (source, target), config, inputs, run, load=_encoder_or_vectors)


def _words_to_score(
    entries: DictionaryOptions, langs: str, config: AlignConfig
) -> tuple[tuple[str, str], list[list[Path]]]:
    """The languages of a map without pairs that is scored without a dictionary, and no files.

    Raises:
        ConfigError: There is a dictionary, or the map needs one.
    """
    from isoglot.align.maps.config import UNSUPERVISED

    refuse_beside({"--dictionary": entries.dictionary, "--test": entries.test}, "--langs", remedy="leave --langs out")
    if config.method not in UNSUPERVISED:
        problem = f"the map {config.method} learns from pairs, and there is no dictionary"
        raise ConfigError(problem, "name one: --dictionary en-de=words.txt, or --method vecmap", "missing-option")
    return two_langs(langs), []


@verb(
    app,
    "types",
    example="align types runs/en runs/fr --text en=en.txt --text fr=fr.txt --dictionary en-fr=train.txt "
    "--test en-fr=test.txt --out map/",
)
def types(
    *,
    source: Source = "isoglot-mini",
    target: Target = None,
    text: Annotated[
        list[str], option("--text", "LANG=FILE", "Text of a language. Once for each.", rich_help_panel=INPUT)
    ],
    entries: DictionaryOptions,
    layers: LayerList = "all",
    segment: Segment = None,
    case: Annotated[
        Literal["keep", "lower"], typer.Option("--case", help="How words of the text are looked up; MUSE's are lower.")
    ] = "lower",
    contexts: Annotated[
        int | None, typer.Option("--contexts", min=1, help="Sentences of a word at most. Default: all.")
    ] = None,
    mapping: MapOptions,
    words: WordOptions,
    run: ModelRunTo,
) -> None:
    """Align words averaged over their contexts in text of each language, by a dictionary, in every layer.

    The map sees all words of both texts, and translations are looked for among all words of the target's.
    """
    config = mapping.config(seed=run.seed, **words.values())
    languages, files = entries.files()
    texts = one_each(text, "--text")
    if set(texts) != set(languages):
        raise ConfigError(
            f"--text names {', '.join(texts)}, the dictionary {' and '.join(languages)}",
            remedy=f"give --text {languages[0]}=FILE --text {languages[1]}=FILE",
            code="config.other-language",
        )

    def work(sides: Sides, scratch: Path) -> Alignment:
        from isoglot.align import align_types
        from isoglot.represent.sentences import SegmentedFile

        cut = None if segment == "auto" else segment
        read = [SegmentedFile(texts[code], code, cut) for code in languages]
        options: dict[str, Any] = {"languages": languages, "layers": parse_layers(layers), "case": case}
        options |= {"contexts": contexts, "config": config, "progress": run.progress}
        return align_types(*sides, (read[0], read[1]), *map(_entries, files), **options)

    inputs = [*(path for part in files for path in part), *texts.values()]
    _run(work, (source, target), config, inputs, run)


@verb(
    app,
    "sentences",
    example="align sentences MODEL_A MODEL_B --parallel en=a.txt --parallel fr=b.txt --out map/",
)
def sentences(
    *,
    source: Source = "isoglot-mini",
    target: Target = None,
    bitext: MappedBitextOptions,
    layers: LayerList = "all",
    mapping: MapOptions,
    allow_leak: AllowLeak = False,
    run: ModelRunTo,
) -> None:
    """Align sentences, each the mean of its subwords, by their translations, in every layer.

    Pairs that repeat a sentence of an earlier one are left out.
    """
    config = mapping.config(seed=run.seed, allow_leak=allow_leak)
    given = bitext.source(test=bitext.test_parallel, seed=run.seed)

    def work(sides: Sides, scratch: Path) -> Alignment:
        from isoglot.align import align_sentences

        options: dict[str, Any] = {"languages": given.languages, "layers": parse_layers(layers), "config": config}
        return align_sentences(*sides, *given.sentence_pairs(), scratch=scratch, progress=run.progress, **options)

    _run(work, (source, target), config, given.paths, run)


@verb(app, "words", example="align words runs/en runs/fr --parallel en=en.txt --parallel fr=fr.txt --out map/")
def words(
    *,
    source: Source = "isoglot-mini",
    target: Target = None,
    bitext: MappedBitextOptions,
    links: LinksFile = None,
    aligner: Aligner = None,
    segment: Segment = None,
    test_links: Annotated[
        Path | None,
        option("--test-links", "FILE", "The links of --test-parallel. Default: aligned, too.", rich_help_panel=INPUT),
    ] = None,
    kept: Annotated[
        Literal["one", "all"], typer.Option("--kept", help="Links of words with one partner only, or all.")
    ] = "one",
    layers: LayerList = "all",
    mapping: MapOptions,
    allow_leak: AllowLeak = False,
    run: ModelRunTo,
) -> None:
    """Align words in their contexts, from bitext or the built-in gold, in every layer.

    Without --links, words are linked as align links does, and what both directions say is taken; --aligner is one that
    it wrote, for other settings or links by a model. Pairs that repeat a sentence of an earlier one are left out.
    """
    from isoglot.align.words.linking import open_aligner
    from isoglot.align.words.word_aligner import aligner_path

    config = mapping.config(seed=run.seed, allow_leak=allow_leak)
    given = bitext.source(test=bitext.test_parallel, segment=segment, seed=run.seed)
    _check_links(given, links, test_links, {"--aligner": aligner, "--segment": segment})
    known = open_aligner(aligner, given.languages, device=run.device)

    def work(sides: Sides, scratch: Path) -> Alignment:
        from isoglot.align import align_words

        if given.files and links is None and known is None:
            _warn_slow(run)
        progress = run.progress
        parts, linked_by = given.linked_words(links=links, test_links=test_links, aligner=known, progress=progress)
        options: dict[str, Any] = {"languages": given.languages, "layers": parse_layers(layers), "links": kept}
        found = align_words(*sides, *parts, config=config, scratch=scratch, progress=progress, **options)
        if not linked_by:
            return found
        return found.with_facts(linked_by={**linked_by, "aligner": "learned here" if known is None else str(aligner)})

    named = [links, test_links, None if aligner is None else aligner_path(aligner)]
    inputs = [*given.paths, *(each for each in named if each is not None)]
    _run(work, (source, target), config, inputs, run)


@verb(app, "apply", example="align apply --map map/layer-3.safetensors --vectors x.safetensors --out y.safetensors")
def apply(
    *,
    mapping: Annotated[Path, option("--map", "PATH", "A map, or a folder of them: then every layer by its own.")],
    vectors: Annotated[Path, option("--vectors", "PATH", "What isoglot encode wrote, or word vectors as .vec.")],
    out: VectorsOut,
    layer: Annotated[
        int | None, typer.Option("--layer", min=0, help="The layer to map. Default: the one the map is of.")
    ] = None,
    side: Annotated[Literal["source", "target"], typer.Option("--side", help="Whose vectors they are.")] = "source",
    into: Annotated[
        Literal["common", "target"],
        typer.Option("--into", help="The space where both meet, or the target's as its encoder has it."),
    ] = "common",
    output: Output,
) -> None:
    """Map vectors to the common space of a map, or to its target's.

    Vectors of another encoder, language or layer than the map's --side are refused, and such as have been mapped. A
    .vec does not say what it is, and is taken as given.

    The ending of --out decides: .safetensors is one file, .vec is text, anything else a folder.
    """
    from rich.text import Text

    from isoglot.align.apply import apply_to_file

    refuse_overwriting([out], [vectors, mapping, *mapping.glob("*.safetensors")])
    facts = apply_to_file(mapping, vectors, out, layer=layer, side=side, into=into)
    layers, left = (", ".join(map(str, facts[name])) for name in ("layers", "left_out"))
    where = f" in layers {layers}" if layers else ""
    rest = f"; left out: layers {left}" if left else ""
    said = f"{facts['rows']:,} vectors x {facts['hidden_size']}{where} mapped and written to {out}{rest}"
    output.result({"out": str(out), **facts}, Text(said))


@dataclass(frozen=True)
class NewSpaceOptions:
    """The space that an index is mapped to."""

    SECTION: ClassVar[str] = INPUT
    to: Annotated[
        str | None,
        option(
            "--to",
            "MODEL",
            f"The new model. {MODEL} Or a file of its vectors, those of the first rows of OLD in their order.",
            callback=open_run,
        ),
    ] = None
    text: Annotated[
        Path | None,
        option(
            "--text",
            "FILE",
            "A sample of the documents: line 1 is the document of the first row of OLD, and so on; blank lines "
            "are left out. Or a .tsv with a row number, from 0, and a text on each line.",
        ),
    ] = None
    mapping: Annotated[
        Path | None, option("--map", "FILE", "A map.safetensors of an earlier run, instead of --to and --text.")
    ] = None

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.mapping is not None:
            refuse_beside({"--to": self.to, "--text": self.text}, "--map", remedy="a map is fitted already")
        elif self.to is None:
            raise ConfigError("--to is missing", "name the new model: --to MODEL --text sample.txt", "missing-option")
        elif Path(self.to).is_file():
            refuse_beside({"--text": self.text}, "--to FILE", remedy="vectors need no text: leave it out")
        elif self.text is None:
            raise ConfigError("--text is missing", "give a sample of the documents: --text FILE", "missing-option")


@verb(app, "migrate", example="align migrate old.npy --to MODEL --text sample.txt --out migrated/")
def migrate(
    *,
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="Old vectors: .npy, .safetensors, .parquet or a flat FAISS index.")
    ],
    new: NewSpaceOptions,
    column: Annotated[str | None, option("--column", "NAME", "The tensor or column of OLD, if it has several.")] = None,
    format: Annotated[  # noqa: A002 - what the user types
        Literal["npy", "safetensors", "parquet", "faiss"] | None,
        typer.Option("--format", rich_help_panel=OUTPUT, help="Format of the new vectors. Default: that of OLD."),
    ] = None,
    pool: SentencePoolOfModel = None,
    settings: Settings = None,
    run: ModelRunTo,
) -> None:
    """Map an index of old vectors to a new model's space, without encoding its documents again.

    A map is fitted on a sample of documents and applied to all rows of OLD; queries are then encoded by the new model.
    Says how many of the new model's own nearest documents are kept among the first 1, 10 and 100, by sample size.

    Writes vectors.FORMAT, map.safetensors, migration.json and index.html. Other columns of a Parquet file are kept,
    other tensors of a safetensors file are not. A run that was cut short starts again.
    """
    from isoglot.align.migration import MigrationConfig, migrate_index
    from isoglot.core.config import build_config
    from isoglot.model.load import load_encoder
    from isoglot.report.migration import migration_result
    from isoglot.represent.matrix_files import open_matrix

    new.check()
    config = build_config(MigrationConfig, values={"seed": run.seed}, settings=settings or ())
    index = open_matrix(old, column)
    is_model = new.text is not None
    encoder = load_encoder(str(new.to), device=run.device) if is_model else None

    def work(folder: Path | None) -> Rendering:
        source = new.mapping or str(new.to)
        return migration_result(
            *migrate_index(
                index,
                Path(str(folder)),
                source if encoder is None else encoder,
                new.text,
                config,
                is_map=new.mapping is not None,
                pool=pool,
                format=format,
                progress=run.progress,
            )
        )

    inputs = [
        old,
        *(path for path in (new.text, new.mapping) if path is not None),
        *([] if is_model or new.to is None else [Path(new.to)]),
    ]
    where = None if encoder is None else str(encoder.device)
    publish(run, run.out, work, name="migration.json", inputs=inputs, seed=run.seed, device=where, config=config)


# --- bitext ---


@verb(app, "links", example="align links --parallel en=en.txt --parallel fr=fr.txt --out links/")
def links(
    *,
    bitext: BitextOptions,
    segment: Segment = None,
    gold: Annotated[
        Path | None,
        option("--gold", "FILE", "Links to score on (Pharaoh; 1?2: possible), a line a pair.", rich_help_panel=INPUT),
    ] = None,
    aligner: Aligner = None,
    method: Annotated[
        Literal["intersection", "union", "grow-diag", "grow-diag-final-and"] | None,
        typer.Option(
            "--method",
            help="How the two directions are made one. Default: grow-diag-final-and, with a model intersection.",
        ),
    ] = None,
    encoder: EncoderLinkOptions,
    settings: Settings = None,
    run: ModelRunTo,
) -> None:
    """Find which word translates which in bitext, and link the words of every pair.

    It is learned from the bitext itself or, with --model, read off the vectors of an encoder; the layer is then chosen
    on --dev-parallel and --dev-gold. Writes links.txt (Pharaoh), the words of both sides with blanks between them, the
    aligner and metrics.json. What it writes is what align words and align dictionary read.
    """
    from tempfile import TemporaryDirectory

    from isoglot.align.words.linking import LAYERS, link_bitext, link_files, open_aligner
    from isoglot.align.words.word_aligner import aligner_path
    from isoglot.report.alignment import choice_in_words, link_layers_page, links_shown

    encoder.check(aligner, settings)
    config = encoder.config(settings) if aligner is None else None
    given = bitext.source(segment=segment, gold=gold, seed=run.seed)
    if not given.files:
        remedy = "leave it out: they have their own, and are scored on it"
        refuse_beside({"--gold": gold, "--dev-gold": encoder.dev_gold}, "built-in sentences", remedy=remedy)
    dev = encoder.dev(given)
    read = [*given.paths, *([] if dev is None else dev.paths), *([] if aligner is None else [aligner_path(aligner)])]
    refuse_overwriting([*link_files(run.out, given.languages), run.out / LAYERS, run.out / PAGE], read)
    known = open_aligner(aligner, given.languages, model=encoder.model, device=run.device)
    if known is None and encoder.model is None:
        _warn_slow(run)
    with (
        recorded(
            run.out, read, seed=run.seed, config=config if known is None else known.config, device="cpu"
        ) as record,
        TemporaryDirectory(dir=record.folder, prefix=".vectors-") as scratch,
    ):
        found = link_bitext(
            given,
            config,
            encoder=encoder.model,
            device=run.device,
            aligner=known,
            dev=dev,
            method=method,
            allow_leak=encoder.allow_leak,
            scratch=Path(scratch),
            progress=run.progress,
        )
        record.device, record.config = found.aligner.device, {**(record.config or {}), **found.aligner.origin()}
        found.save(record.folder)
        if found.choice is not None:
            facts = (f"model {encoder.model}", *page_facts())
            link_layers_page(found.choice, given.languages, facts=facts).write(record.folder)
    run.result({"out": str(run.out), **found.facts()}, links_shown(found))
    figure = "" if found.choice is None else f"{choice_in_words(found.choice)} The figure is in {run.out / PAGE}\n"
    run.say(f"{figure}Links, words and metrics in {run.out}")


@verb(app, "dictionary", example="align dictionary --parallel en=en.txt --parallel fr=fr.txt --out words/")
def dictionary(
    *,
    bitext: BitextOptions,
    links: LinksFile = None,
    segment: Segment = None,
    aligner: Aligner = None,
    settings: Settings = None,
    out: Out,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Induce a weighted dictionary, in both directions, from bitext: anchors for languages that have no dictionary.

    Writes en-fr.tsv and fr-en.tsv: word, translation, weight; and beside each, a record of the bitext. Settings of the
    aligner are --set align.KEY=VALUE, those of what is kept --set keep.KEY=VALUE.
    """
    from rich.text import Text

    from isoglot.align.words.induced_dictionary import DictionaryConfig
    from isoglot.align.words.linking import bitext_dictionaries, open_aligner
    from isoglot.align.words.word_aligner import aligner_path
    from isoglot.core.config import build_config, parse_setting

    named = {parse_setting(each)[0][0] for each in settings or ()}
    of_aligner = {"--set align.…": "align" in named}
    if links is not None:
        beside = {"--aligner": aligner, "built-in sentences": not bitext.parallel, **of_aligner}
        refuse_beside(
            {**beside, "--set symmetry": "symmetry" in named}, "--links", remedy="nothing is aligned: leave one out"
        )
    if aligner is not None:
        refuse_beside(of_aligner, "--aligner", remedy="an aligner has its settings: leave one out")
    config = build_config(DictionaryConfig, settings=settings or ())
    given = bitext.source(segment=segment, seed=seed)
    paths = [*given.paths, *(each for each in (aligner and aligner_path(aligner), links) if each is not None)]
    first, second = given.languages
    refuse_overwriting([out / f"{first}-{second}.tsv", out / f"{second}-{first}.tsv"], paths)
    known = open_aligner(aligner, given.languages)
    if known is None and links is None:
        _warn_slow(output)
    with recorded(out, paths, seed=seed, config=config, device="cpu" if known is None else known.device) as run:
        if known is not None:
            align = known.config.model_dump(mode="json") | known.origin()
            run.config = config.model_dump(mode="json") | {"align": align}
        found = bitext_dictionaries(given, config, links=links, aligner=known, progress=output.progress)
        found.save(run.folder)
    facts = found.facts()
    counts = {name: facts[name] for name in found.entries}
    lines = [f"{name}: {each['words']:,} words, {each['entries']:,} entries" for name, each in counts.items()]
    output.result({"out": str(out), **facts}, Text("\n".join(lines)))
    if not all(each["entries"] for each in counts.values()):
        lower = "min_count=1" if config.keep.min_count > 1 else "min_agreement=0 --set keep.min_share=0"
        output.remark(
            f"no translation is common enough to be kept; give more text, or ask for less: --set keep.{lower}"
        )
    output.say(f"Dictionaries in {out}")


# --- what the verbs share ---


def _entries(files: Sequence[Path]) -> list[Entry]:
    from isoglot.text.formats.dictionary import read_dictionary

    return [entry for file in files for entry in read_dictionary(file)]


def _encoder(name: str, device: str) -> EncoderLike:
    from isoglot.model import load_encoder

    return load_encoder(name, device=device)


def _encoder_or_vectors(name: str, device: str) -> EncoderLike | Vectors:
    from isoglot.text.formats.word_vectors import is_vec, read_vectors

    return read_vectors(Path(name).expanduser()) if is_vec(name) else _encoder(name, device)


def _need(options: Mapping[str, object], missing: str, remedy: str) -> None:
    """Refuse options that have no effect without another."""
    for name, value in options.items():
        if value:
            raise ConfigError(f"{name} without {missing}", remedy=remedy, code="config.missing-option")


def _same_order(option: str, found: Sequence[str], languages: tuple[str, str]) -> None:
    """Refuse other languages, or the same in another order: links are read in the order of the languages."""
    if tuple(found) != languages:
        raise ConfigError(
            f"{option} names {' and '.join(found)}, the text is {' and '.join(languages)}",
            remedy="name the same two languages in the same order: links are read that way round",
            code="config.other-language",
        )


def _check_links(
    given: BitextSource, links: Path | None, test_links: Path | None, options: Mapping[str, object]
) -> None:
    """Refuse links without their text, and options that would be ignored beside links."""
    if not given.files:
        _need({"--links": links}, "--parallel", "give both, or neither and --langs en,fr")
        refuse_beside(options, "built-in sentences", remedy="leave it out: their links are known")
    if not given.test_files:
        _need({"--test-links": test_links}, "--test-parallel", "give both, or neither")
    elif links is not None and test_links is None:
        _need({"--links and --test-parallel": True}, "--test-links", "give the test's links, too")
    elif test_links is not None and isinstance(given.test_files, dict):
        _same_order("--test-parallel", list(given.test_files), given.languages)
    if links is not None:
        refuse_beside(options, "--links", remedy="the links are there already: leave one out")


def _warn_slow(output: Output) -> None:
    from isoglot.core.optional import COMPILED

    if not COMPILED:
        output.say("numba is not installed, so this takes a hundred times as long; pip install 'isoglot[static]'")


def _run(
    work: Callable[[Sides, Path], Alignment],
    models: tuple[str, str | None],
    config: AlignConfig,
    inputs: Sequence[Path],
    run: ModelRunTo,
    *,
    load: Callable[[str, str], Any] = _encoder,
) -> None:
    """Open both sides, align them, write everything, and show a table."""
    from tempfile import TemporaryDirectory

    from isoglot.core.devices import choose_device
    from isoglot.report.alignment import alignment_page, alignment_table, finding, remarks, searched

    first, second = models[0], models[1] or models[0]
    device = str(choose_device(run.device))
    with recorded(run.out, inputs, seed=config.seed, config=config, device=device) as record:
        source = load(first, run.device)
        target = source if second == first else load(second, run.device)
        with TemporaryDirectory(dir=record.folder, prefix=".vectors-") as scratch:
            result = work((source, target), Path(scratch))
        checked = [result.facts["leak_check"]["sentence"]] if "leak_check" in result.facts else []
        facts = (f"source {first}, target {second}", *checked, *page_facts())
        alignment_page(result, facts=facts).write(record.folder)
        if record.config is not None and "linked_by" in result.facts:
            record.config["linked_by"] = result.facts["linked_by"]
        result.save(record.folder)
    run.result({"out": str(run.out), **result.as_dict()}, alignment_table(result))
    where = f"Maps and metrics in {run.out}, the figure in {run.out / PAGE}"
    run.say("\n".join([*remarks(result), finding(result), f"Looked for: {searched(result)}", where]))
