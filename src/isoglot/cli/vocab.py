"""``isoglot vocab``: train a subword vocabulary, and look at one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from isoglot.cli.inputs import parse_named, parse_pairs
from isoglot.cli.options import MAX_LINE, Debug, Json, MaxLine, Out, Quiet, Seed
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.text.cleaning.processing import Segmentation
    from isoglot.vocab import Grading, Vocabulary
    from isoglot.vocab.sharing import Keep

app = typer.Typer(
    help="Subword vocabularies that share as much between languages as they are told to.", no_args_is_help=True
)

Texts = Annotated[
    list[str],
    typer.Option("--text", metavar="LANG=FILE", help="Text of a language, a sentence a line. May be repeated."),
]
Dictionaries = Annotated[
    list[str] | None,
    typer.Option("--dictionary", metavar="L1-L2=FILE", help="A dictionary in MUSE's layout. May be repeated."),
]


@app.command("train", epilog="Example: isoglot vocab train --text en=en.txt --text fr=fr.txt --mode joint --out vocab/")
def train(
    text: Texts,
    out: Out,
    mode: Annotated[
        Literal["joint", "union", "disjoint", "graded"],
        typer.Option(
            "--mode",
            help="joint: one for all text; the others: one for each language, where equal strings share an id "
            "(union), nothing is shared (disjoint), or chosen strings are (graded).",
        ),
    ] = "joint",
    size: Annotated[
        int, typer.Option("--size", min=1, max=10_000_000, help="Size: of the whole if joint, else of each language.")
    ] = 32_000,
    count: Annotated[
        Literal["subwords", "merges"],
        typer.Option("--count", help="What --size counts: all subwords, or BPE merges (the papers' 80k codes)."),
    ] = "subwords",
    model: Annotated[
        Literal["bpe", "wordpiece", "unigram"], typer.Option("--model", help="How pieces are learned and applied.")
    ] = "bpe",
    exponent: Annotated[
        float, typer.Option("--exponent", min=0, max=1, help="Joint: text is sampled in proportion to share^this.")
    ] = 0.7,
    coverage: Annotated[
        float, typer.Option("--coverage", min=0.5, max=1, help="Share of the text whose characters get a piece each.")
    ] = 0.9995,
    unknown: Annotated[
        Literal["auto", "bytes", "unk"],
        typer.Option("--unknown", help="Other characters become bytes or [UNK]; auto: bytes where the model can."),
    ] = "auto",
    normalization: Annotated[
        Literal["nfc", "nfkc", "none"], typer.Option("--normalization", help="The Unicode form text is brought to.")
    ] = "nfc",
    segment: Annotated[
        list[str] | None,
        typer.Option(
            "--segment",
            metavar="[LANG=]METHOD",
            help="Segment text into words first, here and wherever the vocabulary is used: none, auto, unicode, moses, "
            "jieba, thai or characters, for all languages or for one. Repeat for several. Text made by isoglot text "
            "segment is known to be segmented.",
        ),
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="Use the first N lines of each language.")
    ] = None,
    keep: Annotated[
        Literal["band", "true-friends", "false-friends"] | None,
        typer.Option("--keep", help="Graded: which anchors stay shared."),
    ] = None,
    band: Annotated[
        str | None,
        typer.Option("--band", metavar="FIRST-LAST", help="Graded by band: ranks of anchors, most frequent first."),
    ] = None,
    dictionary: Dictionaries = None,
    max_line: MaxLine = MAX_LINE,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a vocabulary from text and write it to a folder that transformers can open, too."""
    from isoglot.core.artifact import is_stored
    from isoglot.core.errors import ConfigError
    from isoglot.vocab import train_vocabulary
    from isoglot.vocab.vocabulary import INDEX

    output = Output(json=json, quiet=quiet)
    texts = parse_named(text)
    grading = _grading(keep, band, dictionary)
    segmentation = _segmentation(segment or [], texts)
    if is_stored(out / INDEX):
        raise ConfigError(
            f"{out} holds a vocabulary already, and what was made with it would not fit another",
            remedy="name another --out, or delete the folder",
            code="config.run-exists",
        )
    with recorded(out, (path for paths in texts.values() for path in paths), seed=seed) as run:
        vocabulary = train_vocabulary(
            texts,
            mode=mode,
            size=size,
            count=count,
            model=model,
            exponent=exponent,
            coverage=coverage,
            unknown=None if unknown == "auto" else unknown,
            normalization=normalization,
            segmentation=segmentation,
            grading=grading,
            sentences=sentences,
            seed=seed,
            progress=output.progress,
        )
        vocabulary.save(run.folder)
    output.result(_facts(vocabulary), _shown(vocabulary))


@app.command("inspect", epilog="Example: isoglot vocab inspect vocab/ --encode 'The cat sleeps.' --lang en")
def inspect(
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="VOCAB",
            help="A vocabulary's folder, an encoder's, isoglot-mini, or any tokenizer: a file or a hub name.",
        ),
    ] = None,
    vocab: Annotated[
        str | None, typer.Option("--vocab", metavar="VOCAB", help="The same, as other verbs take it.")
    ] = None,
    encode: Annotated[str | None, typer.Option("--encode", metavar="TEXT", help="Show how a text is cut.")] = None,
    lang: Annotated[str | None, typer.Option("--lang", metavar="CODE", help="The language of that text.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what a vocabulary holds, which languages share how much of it, and how it cuts a text."""
    from rich.console import Group
    from rich.text import Text

    from isoglot.core.errors import ConfigError

    if (folder is None) == (vocab is None):
        problem = "no vocabulary is named" if folder is None else "VOCAB and --vocab are both given"
        raise ConfigError(problem, remedy="give one: isoglot vocab inspect isoglot-mini", code="config.missing-option")
    output = Output(json=json, quiet=quiet)
    vocabulary = open_vocabulary(folder or vocab or "")
    facts = _facts(vocabulary)
    shown = [_shown(vocabulary)]
    if encode is not None:
        ids = vocabulary.encode(encode, lang)
        facts["encoded"] = [{"id": index, "piece": vocabulary.pieces[index]} for index in ids]
        cut = " ".join(f"{vocabulary.pieces[index]}/{index}" for index in ids)
        shown.append(Text(f"\n{cut}\ndecoded: {vocabulary.decode(ids)}"))
    output.result(facts, Group(*shown))


def open_vocabulary(name: str) -> Vocabulary:
    """A vocabulary of ours by its folder, that of an encoder of ours (isoglot-mini among them), or any tokenizer."""
    from isoglot.core.artifact import is_stored
    from isoglot.model.folder import VOCABULARY
    from isoglot.model.load import encoder_folder
    from isoglot.vocab import Vocabulary
    from isoglot.vocab.vocabulary import INDEX

    folder = Path(name)
    if not is_stored(folder / INDEX) and (encoder := encoder_folder(name)) is not None:
        folder = encoder / VOCABULARY
    if is_stored(folder / INDEX):
        return Vocabulary.load(folder)
    return Vocabulary.from_tokenizer(name)


def _grading(keep: Keep | None, band: str | None, dictionary: list[str] | None) -> Grading | None:
    from isoglot.core.errors import ConfigError, shown
    from isoglot.vocab import Grading

    if keep is None:
        if band or dictionary:
            raise ConfigError(
                "--band and --dictionary belong to --keep",
                remedy="say what to keep, or leave them out",
                code="config.conflicting-options",
            )
        return None
    ranks = None
    if band is not None:
        first, _, last = band.partition("-")
        if not (first.isdecimal() and last.isdecimal()):
            raise ConfigError(
                f"--band {shown(band)} is not first-last",
                remedy="write it as --band 1-1000",
                code="config.malformed-option",
            )
        ranks = int(first), int(last)
    return Grading(keep=keep, band=ranks, dictionaries=parse_pairs(dictionary or []))


def _segmentation(values: list[str], languages: Iterable[str]) -> dict[str, Segmentation]:
    """How each language is segmented: ``zh=jieba``, or a method for all languages that none is named for."""
    from isoglot.core.errors import ConfigError, nearest_name, shown
    from isoglot.core.language_codes import language_code
    from isoglot.text.cleaning.processing import Segmentation
    from isoglot.text.cleaning.segmentation import word_method

    known = (*get_args(Segmentation), "auto")
    found: dict[str, str] = {}
    for value in sorted(values, key=lambda value: "=" in value):
        name, _, method = value.rpartition("=")
        if method not in known:
            raise ConfigError(
                f"--segment {shown(value)}: no method {shown(method)}",
                remedy=nearest_name(method, known),
                code="config.unknown-name",
            )
        found.update(dict.fromkeys([language_code(name)] if name else languages, method))
    chosen = ((code, word_method(code) if method == "auto" else method) for code, method in found.items())
    return {code: cast("Segmentation", method) for code, method in chosen}


def _facts(vocabulary: Vocabulary) -> dict[str, Any]:
    from itertools import combinations

    from isoglot.text.provenance import without_words

    languages = vocabulary.languages
    return {
        "mode": vocabulary.mode,
        "size": len(vocabulary),
        "hash": vocabulary.hash,
        "languages": {code: len(vocabulary.ids_of(code)) for code in languages},
        "anchors": {
            f"{first}-{second}": len(vocabulary.anchors(first, second)) for first, second in combinations(languages, 2)
        },
        "processing": {code: vocabulary.processing(code).facts() for code in languages},
        "special": vocabulary.special,
        "about": {key: value for key, value in vocabulary.about.items() if key != "provenance"},
        "dictionaries": without_words(vocabulary.provenance.dictionaries),
        "provenance_unknown": list(vocabulary.provenance.unknown),
    }


def _shown(vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - what Rich can print
    from rich.console import Group
    from rich.text import Text

    facts = _facts(vocabulary)
    lines = [f"{vocabulary.mode} vocabulary, {len(vocabulary):,} pieces, {vocabulary.hash[:12]}"]
    if not facts["languages"]:
        return Text("\n".join(lines))
    rows = []
    for code, count in facts["languages"].items():
        others = [other for other in vocabulary.languages if other != code]
        shared = [f"{other} {len(vocabulary.anchors(code, other)):,}" for other in others]
        processing = vocabulary.processing(code)
        rows.append([code, f"{count:,}", str(processing) if processing else "read as written", "  ".join(shared)])
    table = Table.from_cells(["language", "pieces", "text is", "shared with"], rows, align="lrl")
    if len(facts["languages"]) < 2:
        return Group(Text("\n".join(lines)), table)
    meaning = "Shared pieces have one id for both; isoglot anchors counts those that are met in text of both."
    return Group(Text("\n".join(lines)), table, Text(meaning))
