"""``isoglot align``: maps between the spaces of two encoders, scored on what they were not fitted on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli import align_dictionary, align_links, align_words
from isoglot.cli.align_run import (
    BUILTIN,
    AllowLeak,
    Candidates,
    Count,
    Dictionary,
    Method,
    Normalize,
    Parallel,
    Source,
    Target,
    TestDictionary,
    TestParallel,
    Vocabulary,
    align_config,
    run_alignment,
)
from isoglot.cli.inputs import Langs, one_each, parse_pairs, paths_of, two_bitexts
from isoglot.cli.options import (
    MODEL,
    Debug,
    Device,
    Json,
    LayerList,
    LeaveOutKnown,
    Out,
    Quiet,
    Seed,
    Settings,
    VectorsOut,
    Weights,
    open_run,
    parse_layers,
)
from isoglot.cli.output import Output
from isoglot.cli.run_files import refuse_overwriting
from isoglot.core.errors import ConfigError, shown
from isoglot.text.formats.word_vectors import is_vec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.align import Alignment
    from isoglot.model import EncoderLike
    from isoglot.retrieve.leaks import LeakCheck
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.formats.word_vectors import Vectors

app = typer.Typer(
    help="Map one encoder's space to another's: embeddings, word types, words or sentences, by layer. Find which word "
    "is which in bitext, and the dictionary in it.",
    no_args_is_help=True,
)

align_links.add_to(app)
align_dictionary.add_to(app)
align_words.add_to(app)


@app.command(
    "embeddings",
    epilog="Example: isoglot align embeddings runs/en runs/fr --dictionary en-fr=train.txt "
    "--test en-fr=test.txt --out map/",
)
def embeddings(
    dictionary: Dictionary,
    out: Out,
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
    test: TestDictionary = None,
    words_of: Annotated[
        list[str] | None,
        typer.Option(
            "--words-of",
            metavar="LANG=FILE",
            help="Only words of a language that this has, too: a .vec, or one word a line. Once for each language.",
        ),
    ] = None,
    method: Method = "procrustes",
    normalize: Normalize = None,
    candidates: Candidates = "all",
    vocabulary: Vocabulary = None,
    leave_out_known: LeaveOutKnown = False,
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align the embedding matrices of two encoders, or word vectors from files, by a dictionary.

    An encoder has vectors of words that are one subword, a .vec those of its lines; .gz, .xz and .zst are read, too.

    The map sees the whole vocabularies of both sides, and translations are looked for among all words of the target.
    """
    output = Output(json=json, quiet=quiet)
    of_words = {"candidates": candidates, "max_vocabulary": vocabulary, "leave_out_known": leave_out_known}
    config = align_config(method, normalize, allow_leak, seed, settings, **of_words)
    languages, files = _dictionaries(dictionary, test)
    sides = (source, target or source)
    lists = _word_lists(words_of, languages)
    read = [Path(name).expanduser() for name in sides if is_vec(name)]

    def work(
        one: EncoderLike | Vectors, other: EncoderLike | Vectors, scratch: Path, more: dict[str, Any]
    ) -> Alignment:
        from isoglot.align import align_embeddings
        from isoglot.core.devices import choose_device
        from isoglot.text.formats.word_vectors import read_words

        check = _leak_check(zip((one, other), sides, strict=True), allow=config.allow_leak)
        more |= {"seen": check.provenance.words(languages[0]), "device": choose_device(device)}
        first, second = (None if path is None else read_words(path) for path in lists)
        found = align_embeddings(one, other, *map(_entries, files), languages=languages, words=(first, second), **more)
        return found.with_facts(leak_check=check.facts())

    inputs = [*_flat(files), *read, *(path for path in lists if path is not None)]
    run_alignment(work, (source, target), out, config, inputs, device, output, _encoder_or_vectors)


@app.command(
    "types",
    epilog="Example: isoglot align types runs/en runs/fr --text en=en.txt --text fr=fr.txt "
    "--dictionary en-fr=train.txt --test en-fr=test.txt --out map/",
)
def types(
    text: Annotated[
        list[str], typer.Option("--text", metavar="LANG=FILE", help="Text of a language, for contexts. Once for each.")
    ],
    dictionary: Dictionary,
    out: Out,
    source: Source = "isoglot-mini",
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
        int | None, typer.Option("--contexts", min=1, help="Sentences of a word at most. Default: all.")
    ] = None,
    method: Method = "procrustes",
    normalize: Normalize = None,
    candidates: Candidates = "all",
    vocabulary: Vocabulary = None,
    leave_out_known: LeaveOutKnown = False,
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align words averaged over their contexts in text of each language, by a dictionary, in every layer.

    The map sees all words of both texts, and translations are looked for among all words of the target's.
    """
    output = Output(json=json, quiet=quiet)
    of_words = {"candidates": candidates, "max_vocabulary": vocabulary, "leave_out_known": leave_out_known}
    config = align_config(method, normalize, allow_leak, seed, settings, **of_words)
    languages, files = _dictionaries(dictionary, test)
    texts = one_each(text, "--text")
    if set(texts) != set(languages):
        raise ConfigError(
            f"--text names {', '.join(texts)}, the dictionary {' and '.join(languages)}",
            remedy=f"give --text {languages[0]}=FILE --text {languages[1]}=FILE",
            code="config.other-language",
        )

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from isoglot.align import align_types
        from isoglot.represent.sentences import SegmentedFile

        check = _leak_check([(one, source), (other, target or source)], allow=config.allow_leak)
        cut = None if segment == "auto" else segment
        words = [SegmentedFile(texts[code], code, cut) for code in languages]
        found = align_types(
            one,
            other,
            (words[0], words[1]),
            *map(_entries, files),
            languages=languages,
            layers=parse_layers(layers),
            case=case,
            contexts=contexts,
            seen=check.provenance.words(languages[0]),
            **more,
        )
        return found.with_facts(leak_check=check.facts())

    run_alignment(work, (source, target), out, config, [*_flat(files), *texts.values()], device, output)


@app.command(
    "sentences",
    epilog="Example: isoglot align sentences MODEL_A MODEL_B --parallel en=a.txt --parallel fr=b.txt --out map/",
)
def sentences(
    out: Out,
    source: Source = "isoglot-mini",
    target: Target = None,
    parallel: Parallel = None,
    test_parallel: TestParallel = None,
    langs: Langs = None,
    sentences: Count = None,
    layers: LayerList = "all",
    method: Method = "procrustes",
    normalize: Normalize = None,
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align sentences, each the mean of its subwords, by their translations, in every layer.

    Pairs that repeat a sentence of an earlier one are left out.
    """
    output = Output(json=json, quiet=quiet)
    config = align_config(method, normalize, allow_leak, seed, settings)
    languages, files, tests = two_bitexts(parallel, test_parallel, langs)

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from isoglot.align import align_sentences
        from isoglot.align.words.bitext import builtin_sentences, read_sentence_pairs

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

    run_alignment(work, (source, target), out, config, paths_of(files, tests), device, output)


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
    out: VectorsOut,
    layer: Annotated[
        int | None, typer.Option("--layer", min=0, help="The layer to map. Default: the one the map is of.")
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

    Vectors of another encoder, language or layer than the map's --side are refused, and such as have been mapped. A
    .vec does not say what it is, and is taken as given.

    The ending of --out decides: .safetensors is one file, .vec is text, anything else a folder.
    """
    from rich.text import Text

    from isoglot.align.apply import apply_to_layers, apply_to_vectors, maps_provenance, read_maps
    from isoglot.represent import Representations
    from isoglot.text.formats.word_vectors import read_vectors, write_vectors
    from isoglot.text.provenance import merged, provenance_of

    output = Output(json=json, quiet=quiet)
    refuse_overwriting([out], [vectors, mapping, *mapping.glob("*.safetensors")])
    maps = read_maps(mapping)
    if is_vec(vectors.name):
        if out.suffix != ".vec":
            raise ConfigError(
                f"--out {shown(str(out))} for a .vec", remedy="end it in .vec too", code="config.malformed-option"
            )
        if layer is not None:
            raise ConfigError(
                "--layer is for what encode wrote, and a .vec has no layers",
                remedy="leave it out",
                code="config.conflicting-options",
            )
        table = apply_to_vectors(maps, read_vectors(vectors), side=side, into=into)
        origin = merged([provenance_of(vectors), maps_provenance(maps.values())])
        write_vectors(out, table.words, table.matrix_ND, provenance=origin)
        rows, width, layers, left = len(table), table.matrix_ND.shape[1], [], []
    else:
        given = Representations.open(vectors)
        found = apply_to_layers(maps, given, layer=layer, side=side, into=into)
        found.save(out)
        rows, width, layers = len(found), found.hidden_size, list(found.layers)
        left = [each for each in given.layers if layer is None and each not in layers]
    facts = {"out": str(out), "rows": rows, "hidden_size": width, "layers": layers, "left_out": left}
    facts |= {"side": side, "into": into}
    where = f" in layers {', '.join(map(str, layers))}" if layers else ""
    rest = f"; left out: layers {', '.join(map(str, left))}" if left else ""
    output.result(facts, Text(f"{rows:,} vectors x {width}{where} mapped and written to {out}{rest}"))


def _dictionaries(train: list[str], test: list[str] | None) -> tuple[tuple[str, str], list[list[Path]]]:
    """The languages, the files to learn from and, if there are any, those to score on."""
    found = [parse_pairs(train)]
    if not found[0]:
        raise ConfigError(
            "--dictionary is missing", remedy="name one: --dictionary en-fr=train.txt", code="config.missing-option"
        )
    if test:
        found.append(parse_pairs(test, "--test"))
    pairs = sorted({pair for each in found for pair in each})
    if len(pairs) > 1:
        raise ConfigError(
            f"dictionaries of {' and '.join('-'.join(pair) for pair in pairs)}",
            remedy="align one pair at a time",
            code="config.other-language",
        )
    return pairs[0], [next(iter(each.values())) for each in found]


def _entries(files: Sequence[Path]) -> list[Entry]:
    from isoglot.text.formats.dictionary import read_dictionary

    return [entry for file in files for entry in read_dictionary(file)]


def _encoder_or_vectors(name: str, device: str) -> EncoderLike | Vectors:
    from isoglot.model import load_encoder
    from isoglot.text.formats.word_vectors import read_vectors

    return read_vectors(Path(name).expanduser()) if is_vec(name) else load_encoder(name, device=device)


def _word_lists(named: list[str] | None, languages: tuple[str, str]) -> list[Path | None]:
    """The file of --words-of for the source and for the target."""
    files = one_each(named, "--words-of") if named else {}
    for code in files:
        if code not in languages:
            raise ConfigError(
                f"--words-of names {code}, the dictionary {' and '.join(languages)}",
                remedy="name one of these",
                code="config.other-language",
            )
    return [files.get(code) for code in languages]


def _flat(files: Sequence[Sequence[Path]]) -> list[Path]:
    return [file for part in files for file in part]


def _leak_check(sides: Iterable[tuple[EncoderLike | Vectors, str]], *, allow: bool) -> LeakCheck:
    """What the test words are checked against: the provenance of models and of files of vectors."""
    from isoglot.retrieve.leaks import LeakCheck, training_provenance
    from isoglot.retrieve.vector_files import vectors_provenance
    from isoglot.text.formats.word_vectors import Vectors

    encoders, files = [], []
    for side, name in sides:
        if isinstance(side, Vectors):
            files.append(vectors_provenance(Path(name).expanduser()))
        else:
            encoders.append(side)
    return LeakCheck(training_provenance(encoders, others=files), allow)
