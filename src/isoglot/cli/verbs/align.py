"""``isoglot align``: maps between the spaces of two encoders, word alignment of bitext, and dictionaries from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.declaration import INPUT, OUTPUT, argument, option, verb
from isoglot.cli.inputs import (
    Files,
    Langs,
    LayerList,
    files_of,
    is_table,
    one_each,
    parse_layers,
    parse_pairs,
    refuse_beside,
    refuse_without,
    required,
    two_bitexts,
    two_langs,
    two_sides,
)
from isoglot.cli.options import (
    EMBEDDED,
    KnownWordOptions,
    Method,
    ModelRunTo,
    Normalize,
    Out,
    Seed,
    SentencePoolOfModel,
    Settings,
    VectorsOut,
    open_run,
)
from isoglot.cli.output import Output
from isoglot.cli.run_files import PAGE, publish, refuse_overwriting
from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.align import AlignConfig, Alignment
    from isoglot.align.words.linking import BitextSource
    from isoglot.report.results import Rendering

    Sides = tuple[Any, Any]  # encoders, or word vectors

app = typer.Typer()

# --- options ---

Segment = Annotated[
    Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"] | None,
    option(
        text="Word segmentation. Default: auto, which suits the language; blanks where links are given: they count "
        "words.",
        section=INPUT,
    ),
]
AllowLeak = Annotated[bool, option(text="Score even on pairs that were trained on.")]
LinksFile = Annotated[
    Path | None,
    option("FILE", "Word links such as 0-0 1-2 (Pharaoh), one line per pair. Default: aligned here.", section=INPUT),
]


@dataclass(frozen=True)
class Models:
    """Encoders whose spaces are aligned.

    Options:
        source: Encoder whose vectors are mapped. {MODEL}
        target: Encoder that they are mapped to. Default: the source.
    """

    source: Annotated[str, argument("MODEL", callback=open_run)] = EMBEDDED
    target: Annotated[str | None, argument("TO_MODEL", callback=open_run, show_default=False)] = None


@dataclass(frozen=True)
class MapOptions:
    """The map and its settings."""

    SECTION: ClassVar[str] = "Map"
    method: Method = "procrustes"
    normalize: Normalize = None
    settings: Settings = None

    def config(self, run: ModelRunTo, **values: Any) -> AlignConfig:  # noqa: ANN401 - fields of the config
        """The config of an alignment."""
        from isoglot.align.maps.config import AlignConfig, make_map, spell_out

        settings = spell_out(self.settings or (), self.method, self.normalize)
        config = run.config(AlignConfig, settings, method=self.method, normalize=self.normalize, **values)
        make_map(config)  # checks its options
        return config


@dataclass(frozen=True)
class DictionaryOptions:
    """The dictionaries that words are aligned by."""

    SECTION: ClassVar[str] = INPUT
    dictionary: Annotated[Files, option("FROM-TO=FILE", "Words to learn from. May be repeated.")] = None
    test: Annotated[Files, option("FROM-TO=FILE", "Words to score on. Default: a fifth is held out.")] = None

    def entries(self) -> tuple[tuple[str, str], list[list[Any]]]:
        """The languages, the entries to learn from and, if there are any, those to score on."""
        from isoglot.text.formats.dictionary import read_dictionaries

        if not self.dictionary:
            raise ConfigError("--dictionary is missing", "name one: --dictionary en-de=words.txt", "missing-option")
        found = [parse_pairs(self.dictionary)] + ([parse_pairs(self.test, "--test")] if self.test else [])
        pairs = sorted({pair for each in found for pair in each})
        if len(pairs) > 1:
            problem = f"dictionaries of {' and '.join('-'.join(pair) for pair in pairs)}"
            raise ConfigError(problem, "align one pair at a time", "other-language")
        return pairs[0], [entries for each in found for entries in read_dictionaries(each).values()]


@dataclass(frozen=True)
class WordOptions(KnownWordOptions):
    """Which words are aligned and searched.

    Options:
        candidates: Where a translation is looked for: the whole target vocabulary, or only the target words of the
            test.
        vocabulary: The most frequent N words of each side, beside the dictionary's; default: 200,000 of vectors, 50,000
            of a text.
    """

    candidates: Literal["all", "gold"] = "all"
    vocabulary: Annotated[int | None, option("N", min=1)] = None

    def values(self) -> dict[str, Any]:
        """Fields of the config."""
        policy = self.policy()
        values = {"leave_out_known": policy == "leave-out", "allow_leak": policy == "allow"}
        return {**values, "candidates": self.candidates, "max_vocabulary": self.vocabulary}


@dataclass(frozen=True)
class BitextOptions:
    """Sentences with their translations.

    Options:
        sentences: The first N. Default: 10,000 built-in ones, or all of files.
    """

    SECTION: ClassVar[str] = INPUT
    parallel: Annotated[Files, option("LANG=FILE", "Sentences line by line; twice. Or one table of both.")] = None
    langs: Langs = None
    sentences: Annotated[int | None, option("N", min=2, max=1_000_000)] = None

    def source(self, *, test: Files = None, **more: Any) -> BitextSource:  # noqa: ANN401 - its other fields
        """Where the sentences come from."""
        from isoglot.align.words.linking import BitextSource

        languages, files, tests = two_bitexts(self.parallel, test, self.langs)
        return BitextSource(languages=languages, files=files, test_files=tests, sentences=self.sentences, **more)


@dataclass(frozen=True)
class MappedBitextOptions(BitextOptions):
    """Sentences to fit maps on and to score them on.

    Options:
        sentences: The first N to learn from. Default: 2,000 built-in ones, or all of files.
    """

    test_parallel: Annotated[Files, option("LANG=FILE", "Those to score on. Default: a fifth is held out.")] = None


@dataclass(frozen=True)
class AlignerOptions:
    """How words are found and linked."""

    segment: Segment = None
    aligner: Annotated[Path | None, option("PATH", "Word aligner of align links. Default: one is trained here.")] = None

    def given(self) -> dict[str, object]:
        """The options by name."""
        return {"--aligner": self.aligner, "--segment": self.segment}

    def files(self) -> list[Path]:
        """The file of the aligner, if there is one."""
        from isoglot.align.words.word_aligner import aligner_path

        return [] if self.aligner is None else [aligner_path(self.aligner)]


@dataclass(frozen=True)
class EncoderLinkOptions:
    """Links by the vectors of an encoder.

    Options:
        model: Link by its vectors. {MODEL}
        layer: With --model: the layer; auto, the default: the best one on gold links.
        rule: With --model: link the most similar word, or all above a threshold. Default: auto.
        center: With --model: whether each language's mean is removed. Default: auto.
        dev_gold: Word links of these, such as 0-0 1-2 (Pharaoh; 1?2: possible).
    """

    SECTION: ClassVar[str] = "Links by an encoder"
    model: Annotated[str | None, option("MODEL", callback=open_run)] = None
    layer: Annotated[str | None, option("auto|N")] = None
    rule: Literal["auto", "argmax", "softmax"] | None = None
    center: Literal["auto", "mean", "none"] | None = None
    dev_parallel: Annotated[Files, option("LANG=FILE", "With --model: sentences to choose a layer on; twice.")] = None
    dev_gold: Annotated[Path | None, option("FILE")] = None
    allow_leak: AllowLeak = False

    def check(self, aligner: Path | None, settings: Files) -> None:
        """Refuse options that would be ignored."""
        names = ("layer", "rule", "center", "allow_leak", "dev_parallel", "dev_gold")
        given = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        if aligner is not None:
            remedy = "leave it out: an aligner has its settings"
            refuse_beside({"--set": settings, **given}, "--aligner", remedy=remedy)
        if self.model is None:
            refuse_without(given, "--model", remedy="name an encoder, or leave it out")
        remedy = "give both, or neither and --layer N"
        refuse_without({"--dev-parallel": self.dev_parallel and not self.dev_gold}, "--dev-gold", remedy=remedy)
        refuse_without({"--dev-gold": self.dev_gold and not self.dev_parallel}, "--dev-parallel", remedy=remedy)

    def config(self, settings: Files) -> Any:  # noqa: ANN401 - of either kind of aligner
        """The config of an aligner: of an encoder's if there is one."""
        from isoglot.align import EncoderLinksConfig, WordAlignConfig
        from isoglot.core.config import build_config

        if self.model is None:
            return build_config(WordAlignConfig, settings=settings or ())
        layer = self.layer or "auto"
        if layer != "auto" and not layer.lstrip("-").isdecimal():
            remedy = "write --layer auto, or a number such as --layer 4"
            raise ConfigError(f"--layer {shown(layer)} is not a layer", remedy, "malformed-option")
        values = {"layer": layer if layer == "auto" else int(layer), "rule": self.rule, "center": self.center}
        given = {name: value for name, value in values.items() if value is not None}
        return build_config(EncoderLinksConfig, values=given, settings=settings or ())

    def dev(self, source: BitextSource) -> BitextSource | None:
        """The sentences to choose a layer on; None: those the library chooses."""
        from isoglot.align.words.linking import BitextSource

        if not self.dev_parallel:
            return None
        languages = source.languages
        table = languages if is_table(self.dev_parallel) else None
        found, files = two_sides(self.dev_parallel, "--dev-parallel", table)
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
    models: Models,
    entries: DictionaryOptions,
    langs: Annotated[str | None, option("FROM,TO", section=INPUT)] = None,
    words_of: Annotated[Files, option("LANG=FILE", section=INPUT)] = None,
    mapping: MapOptions,
    words: WordOptions,
    run: ModelRunTo,
) -> None:
    """Align the embedding matrices of two encoders, or word vectors from files, by a dictionary.

    An encoder has vectors of words that are one subword, a .vec those of its lines; .gz, .xz and .zst are read, too.

    The map sees the whole vocabularies of both sides, and translations are looked for among all words of the target.
    vecmap and mini-vec2vec need no dictionary: --langs en,de --method vecmap.

    Options:
        source: Encoder whose vectors are mapped. {MODEL} Or word vectors, a .vec.
        target: Encoder or word vectors that they are mapped to. Default: the source.
        langs: The languages, in place of a dictionary, for a map without pairs; it is scored on words spelled alike.
        words_of: Only words of a language that this has, too: a .vec, or one word per line. Once for each language.
    """
    from isoglot.align import align_embeddings
    from isoglot.align.by_dictionary import open_vectors, vectors_origin, with_file_hashes
    from isoglot.core.devices import choose_device
    from isoglot.text.formats.word_vectors import read_words

    config = mapping.config(run, **words.values())
    if langs:
        refuse_beside(
            {"--dictionary": entries.dictionary, "--test": entries.test}, "--langs", remedy="leave --langs out"
        )
    languages, parts = (two_langs(langs), [None]) if langs else entries.entries()
    names, lists = (models.source, models.target or models.source), one_each(words_of, "--words-of")
    for code in (code for code in lists if code not in languages):
        problem = f"--words-of names {code}, the dictionary {' and '.join(languages)}"
        raise ConfigError(problem, "name one of these", "other-language")

    def work(sides: Sides, _: Path) -> Alignment:
        first, second = (read_words(lists[code]) if code in lists else None for code in languages)
        how: dict[str, Any] = {"languages": languages, "words": (first, second), "config": config}
        how |= {"training": vectors_origin(names), "device": choose_device(run.device), "progress": run.progress}
        return with_file_hashes(align_embeddings(*sides, *parts, **how), names)

    inputs = files_of(entries.dictionary, entries.test, words_of, *map(Path, names))
    _align(work, models, config, inputs, run, load=open_vectors)


@verb(
    app,
    "types",
    example="align types runs/en runs/fr --text en=en.txt --text fr=fr.txt --dictionary en-fr=train.txt "
    "--test en-fr=test.txt --out map/",
)
def types(
    *,
    models: Models,
    text: Annotated[list[str], option("LANG=FILE", "Text of a language. Once for each.", section=INPUT)],
    entries: DictionaryOptions,
    layers: LayerList = "all",
    segment: Segment = None,
    case: Literal["keep", "lower"] = "lower",
    contexts: Annotated[int | None, option(text="Maximum number of sentences per word. Default: all.", min=1)] = None,
    mapping: MapOptions,
    words: WordOptions,
    run: ModelRunTo,
) -> None:
    """Align words averaged over their contexts in text of each language, by a dictionary, in every layer.

    The map sees all words of both texts, and translations are looked for among all words of the target's.

    Options:
        case: Case of the words of the text; MUSE's are lower.
    """
    from isoglot.align import align_types
    from isoglot.represent.sentences import SegmentedFile

    config = mapping.config(run, **words.values())
    languages, parts = entries.entries()
    texts = one_each(text, "--text")
    if set(texts) != set(languages):
        problem = f"--text names {', '.join(texts)}, the dictionary {' and '.join(languages)}"
        raise ConfigError(problem, f"give --text {languages[0]}=FILE --text {languages[1]}=FILE", "other-language")

    def work(sides: Sides, _: Path) -> Alignment:
        how = None if segment == "auto" else segment
        first, second = (SegmentedFile(texts[code], code, how) for code in languages)
        options: dict[str, Any] = {"languages": languages, "layers": parse_layers(layers), "case": case}
        options |= {"contexts": contexts, "config": config, "progress": run.progress}
        return align_types(*sides, (first, second), *parts, **options)

    _align(work, models, config, files_of(entries.dictionary, entries.test, text), run)


@verb(
    app,
    "sentences",
    example="align sentences MODEL_A MODEL_B --parallel en=a.txt --parallel fr=b.txt --out map/",
)
def sentences(
    *,
    models: Models,
    bitext: MappedBitextOptions,
    layers: LayerList = "all",
    mapping: MapOptions,
    allow_leak: AllowLeak = False,
    run: ModelRunTo,
) -> None:
    """Align sentences, each the mean of its subwords, by their translations, in every layer.

    Pairs that repeat a sentence of an earlier one are left out.
    """
    from isoglot.align import align_sentences

    config = mapping.config(run, allow_leak=allow_leak)
    given = bitext.source(test=bitext.test_parallel, seed=run.seed)

    def work(sides: Sides, scratch: Path) -> Alignment:
        options: dict[str, Any] = {"languages": given.languages, "layers": parse_layers(layers), "config": config}
        return align_sentences(*sides, *given.sentence_pairs(), scratch=scratch, progress=run.progress, **options)

    _align(work, models, config, given.paths, run)


@verb(app, "words", example="align words runs/en runs/fr --parallel en=en.txt --parallel fr=fr.txt --out map/")
def words(
    *,
    models: Models,
    bitext: MappedBitextOptions,
    links: LinksFile = None,
    linking: AlignerOptions,
    test_links: Annotated[Path | None, option("FILE", section=INPUT)] = None,
    kept: Annotated[Literal["one", "all"], option(text="Links of words with one partner only, or all.")] = "one",
    layers: LayerList = "all",
    mapping: MapOptions,
    allow_leak: AllowLeak = False,
    run: ModelRunTo,
) -> None:
    """Align words in their contexts, from bitext or the built-in gold, in every layer.

    Without --links, words are linked as align links does, and what both directions say is taken; --aligner is one that
    it wrote, for other settings or links by a model. Pairs that repeat a sentence of an earlier one are left out.

    Options:
        test_links: The links of --test-parallel. Default: aligned, too.
    """
    from isoglot.align import align_words
    from isoglot.align.words.linking import open_aligner

    config = mapping.config(run, allow_leak=allow_leak)
    given = bitext.source(test=bitext.test_parallel, segment=linking.segment, seed=run.seed)
    _check_links(given, links, test_links, linking.given())
    known = open_aligner(linking.aligner, given.languages, device=run.device)
    if given.files and links is None and known is None:
        _warn_slow(run)

    def work(sides: Sides, scratch: Path) -> Alignment:
        how: dict[str, Any] = {"links": links, "test_links": test_links, "aligner": known}
        parts, linked_by = given.linked_words(**how, progress=run.progress)
        options: dict[str, Any] = {"languages": given.languages, "layers": parse_layers(layers), "links": kept}
        found = align_words(*sides, *parts, config=config, scratch=scratch, progress=run.progress, **options)
        if not linked_by:
            return found
        name = "learned here" if known is None else str(linking.aligner)
        return found.with_facts(linked_by={**linked_by, "aligner": name})

    _align(work, models, config, [*given.paths, *files_of(links, test_links), *linking.files()], run)


def _align(
    work: Callable[[Sides, Path], Alignment],
    models: Models,
    config: AlignConfig,
    inputs: Sequence[Path],
    run: ModelRunTo,
    *,
    load: Callable[..., Any] | None = None,
) -> None:
    """Open both sides, align them, write everything, and show a table."""
    from tempfile import TemporaryDirectory

    from isoglot.model import load_encoder
    from isoglot.report.alignment import alignment_result

    first, second = models.source, models.target or models.source
    opened = load or load_encoder

    def aligned(folder: Path | None) -> Rendering:
        source = opened(first, device=run.device)
        target = source if second == first else opened(second, device=run.device)
        with TemporaryDirectory(dir=folder, prefix=".vectors-") as scratch:
            found = work((source, target), Path(scratch))
        found.save(folder or run.out)
        return alignment_result(found, first, second, run.out)

    run.publish(aligned, None, inputs=inputs, config=config)


@verb(app, "apply", example="align apply --map map/layer-3.safetensors --vectors x.safetensors --out y.safetensors")
def apply(
    *,
    mapping: Annotated[Path, option("PATH", "A map, or a folder of them: then every layer by its own.", name="--map")],
    vectors: Annotated[Path, option("PATH", "What isoglot encode wrote, or word vectors as .vec.")],
    out: VectorsOut,
    layer: Annotated[int | None, option(text="The layer to map. Default: the one the map is of.", min=0)] = None,
    side: Annotated[Literal["source", "target"], option(text="Side that the vectors belong to.")] = "source",
    into: Literal["common", "target"] = "common",
    output: Output,
) -> None:
    """Map vectors to the common space of a map, or to its target's.

    Vectors of another encoder, language or layer than the map's --side are refused, and such as have been mapped. A
    .vec does not say what it is, and is taken as given.

    The ending of --out decides: .safetensors is one file, .vec is text, anything else a folder.

    Options:
        into: The space where both meet, or the target's as its encoder has it.
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
    """The space that an index is mapped to.

    Options:
        to: The new model. {MODEL} Or a file of its vectors, those of the first rows of OLD in their order.
        text: A sample of the documents: line 1 is the document of the first row of OLD, and so on; blank lines are left
            out. Or a .tsv with a row number, from 0, and a text on each line.
        mapping: A map.safetensors of an earlier run, instead of --to and --text.
    """

    SECTION: ClassVar[str] = INPUT
    to: Annotated[str | None, option("MODEL", callback=open_run)] = None
    text: Annotated[Path | None, option("FILE")] = None
    mapping: Annotated[Path | None, option("FILE", name="--map")] = None

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.mapping is not None:
            refuse_beside({"--to": self.to, "--text": self.text}, "--map", remedy="a map is fitted already")
        elif Path(required(self.to, "--to", "name the new model: --to MODEL --text sample.txt")).is_file():
            refuse_beside({"--text": self.text}, "--to FILE", remedy="vectors need no text: leave it out")
        else:
            required(self.text, "--text", "give a sample of the documents: --text FILE")


@verb(app, "migrate", example="align migrate old.npy --to MODEL --text sample.txt --out migrated/")
def migrate(
    *,
    old: Annotated[Path, argument("OLD", "Old vectors: .npy, .safetensors, .parquet or a flat FAISS index.")],
    new: NewSpaceOptions,
    column: Annotated[str | None, option("NAME", "The tensor or column of OLD, if it has several.")] = None,
    file_format: Annotated[
        Literal["npy", "safetensors", "parquet", "faiss"] | None, option(name="--format", section=OUTPUT)
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

    Options:
        file_format: Format of the new vectors. Default: that of OLD.
    """
    from isoglot.align.migration import MigrationConfig, migrate_index
    from isoglot.model.load import load_encoder
    from isoglot.report.migration import migration_result
    from isoglot.represent.matrix_files import open_matrix

    new.check()
    config, index = run.config(MigrationConfig, settings), open_matrix(old, column)
    space: Any = new.mapping or str(new.to)
    space = space if new.text is None else load_encoder(space, device=run.device)
    how: dict[str, Any] = {"is_map": new.mapping is not None, "pool": pool, "format": file_format}

    def work(folder: Path | None) -> Rendering:
        found = migrate_index(index, folder or run.out, space, new.text, config, progress=run.progress, **how)
        return migration_result(*found)

    inputs = [old, *files_of(new.text, new.mapping, Path(new.to) if new.to and new.text is None else None)]
    run.publish(work, "migration.json", inputs=inputs, config=config)


# --- bitext ---


@verb(app, "links", example="align links --parallel en=en.txt --parallel fr=fr.txt --out links/")
def links(
    *,
    bitext: BitextOptions,
    linking: AlignerOptions,
    gold: Annotated[Path | None, option("FILE", section=INPUT)] = None,
    method: Literal["intersection", "union", "grow-diag", "grow-diag-final-and"] | None = None,
    encoder: EncoderLinkOptions,
    settings: Settings = None,
    run: ModelRunTo,
) -> None:
    """Align the words of every sentence pair of bitext.

    An aligner is trained on the bitext or, with --model, words are linked by the vectors of an encoder, whose layer is
    chosen on --dev-parallel and --dev-gold. Writes links.txt (Pharaoh), the words of both sides separated by spaces,
    the aligner and metrics.json. align words and align dictionary read these files.

    Options:
        gold: Gold links to score on (Pharaoh; 1?2: possible), one line per pair.
        method: How the two directions are combined. Default: grow-diag-final-and, with a model intersection.
    """
    from tempfile import TemporaryDirectory

    from isoglot.align.words.linking import LAYERS, link_bitext, link_files, open_aligner
    from isoglot.report.alignment import links_result

    encoder.check(linking.aligner, settings)
    config = encoder.config(settings) if linking.aligner is None else None
    given = bitext.source(segment=linking.segment, gold=gold, seed=run.seed)
    if not given.files:
        remedy = "leave it out: they have their own, and are scored on it"
        refuse_beside({"--gold": gold, "--dev-gold": encoder.dev_gold}, "built-in sentences", remedy=remedy)
    dev = encoder.dev(given)
    read = [*given.paths, *([] if dev is None else dev.paths), *linking.files()]
    refuse_overwriting([*link_files(run.out, given.languages), run.out / LAYERS, run.out / PAGE], read)
    known = open_aligner(linking.aligner, given.languages, model=encoder.model, device=run.device)
    if known is None and encoder.model is None:
        _warn_slow(run)
    how: dict[str, Any] = {"encoder": encoder.model, "device": run.device, "aligner": known, "dev": dev}
    how |= {"method": method, "allow_leak": encoder.allow_leak, "progress": run.progress}

    def work(folder: Path | None) -> Rendering:
        with TemporaryDirectory(dir=folder, prefix=".vectors-") as scratch:
            found = link_bitext(given, config, scratch=Path(scratch), **how)
        found.save(folder or run.out)
        return links_result(found, encoder.model, run.out)

    run.publish(work, None, inputs=read, config=config if known is None else known.config)


@verb(app, "dictionary", example="align dictionary --parallel en=en.txt --parallel fr=fr.txt --out words/")
def dictionary(
    *,
    bitext: BitextOptions,
    links: LinksFile = None,
    linking: AlignerOptions,
    settings: Settings = None,
    out: Out,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Induce a weighted dictionary, in both directions, from bitext: anchors for languages that have no dictionary.

    Writes en-fr.tsv and fr-en.tsv: word, translation, weight; and beside each, a record of the bitext. Settings of the
    aligner are --set align.KEY=VALUE, those of what is kept --set keep.KEY=VALUE.
    """
    from isoglot.align.words.induced_dictionary import DictionaryConfig
    from isoglot.align.words.linking import bitext_dictionaries, open_aligner
    from isoglot.core.config import build_config, parse_setting
    from isoglot.report.alignment import dictionaries_result

    named = {parse_setting(each)[0][0] for each in settings or ()}
    of_aligner = {"--set align.…": "align" in named}
    if links is not None:
        beside = {"--aligner": linking.aligner, "built-in sentences": not bitext.parallel, **of_aligner}
        remedy = "nothing is aligned: leave one out"
        refuse_beside({**beside, "--set symmetry": "symmetry" in named}, "--links", remedy=remedy)
    if linking.aligner is not None:
        refuse_beside(of_aligner, "--aligner", remedy="an aligner has its settings: leave one out")
    config = build_config(DictionaryConfig, settings=settings or ())
    given = bitext.source(segment=linking.segment, seed=seed)
    paths, codes = [*given.paths, *linking.files(), *files_of(links)], given.languages
    refuse_overwriting([out / f"{'-'.join(pair)}.tsv" for pair in (codes, codes[::-1])], paths)
    known = open_aligner(linking.aligner, codes)
    if known is None and links is None:
        _warn_slow(output)

    def work(folder: Path | None) -> Rendering:
        found = bitext_dictionaries(given, config, links=links, aligner=known, progress=output.progress)
        found.save(folder or out)
        return dictionaries_result(found, known, out)

    facts: dict[str, Any] = {"seed": seed, "config": config, "device": "cpu" if known is None else known.device}
    found = publish(output, out, work, inputs=paths, **facts)
    if not all(found.value["-".join(pair)]["entries"] for pair in (codes, codes[::-1])):
        lower = "min_count=1" if config.keep.min_count > 1 else "min_agreement=0 --set keep.min_share=0"
        remedy = f"give more text, or ask for less: --set keep.{lower}"
        output.remark(f"no translation is common enough to be kept; {remedy}")


# --- checks ---


def _same_order(option: str, found: Sequence[str], languages: tuple[str, str]) -> None:
    """Refuse other languages, or the same in another order: links are read in the order of the languages."""
    if tuple(found) != languages:
        problem = f"{option} names {' and '.join(found)}, the text is {' and '.join(languages)}"
        remedy = "name the same two languages in the same order: links are read that way round"
        raise ConfigError(problem, remedy, "other-language")


def _check_links(
    given: BitextSource, links: Path | None, test_links: Path | None, options: Mapping[str, object]
) -> None:
    """Refuse links without their text, and options that would be ignored beside links."""
    if not given.files:
        refuse_without({"--links": links}, "--parallel", remedy="give both, or neither and --langs en,fr")
        refuse_beside(options, "built-in sentences", remedy="leave it out: their links are known")
    if not given.test_files:
        refuse_without({"--test-links": test_links}, "--test-parallel", remedy="give both, or neither")
    elif links is not None and test_links is None:
        unpaired = {"--links and --test-parallel": True}
        refuse_without(unpaired, "--test-links", remedy="give the test's links, too")
    elif test_links is not None and isinstance(given.test_files, dict):
        _same_order("--test-parallel", list(given.test_files), given.languages)
    if links is not None:
        refuse_beside(options, "--links", remedy="the links are there already: leave one out")


def _warn_slow(output: Output) -> None:
    from isoglot.core.optional import COMPILED

    if not COMPILED:
        output.say("numba is not installed, so this takes a hundred times as long; pip install 'isoglot[static]'")
