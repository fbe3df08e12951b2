"""``isoglot encode``: the layers of an encoder for the sentences of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import parse_pairs
from isoglot.cli.options import Debug, Device, Json, LayerList, ModelArgument, Quiet, VectorsOut, Weights, parse_layers
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted

if TYPE_CHECKING:
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations

EXAMPLE = (
    "Example: isoglot encode MODEL --text sentences.txt --lang fr --layers all --pool mean --out vectors.safetensors"
)

Pool = Literal["mean", "first", "model", "words", "word-first", "types", "embeddings"]


def encode(
    out: VectorsOut,
    model: ModelArgument = "isoglot-mini",
    text: Annotated[
        Path | None,
        typer.Option("--text", metavar="FILE", help="One sentence a line; for words, with blanks between them."),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="LANG", help="The language, where the encoder has parts or ids for each."),
    ] = None,
    layers: LayerList = "all",
    pool: Annotated[
        Pool | None,
        typer.Option(
            "--pool",
            help="A row is the mean of a sentence's subwords (special tokens left out), its first token, what the "
            "modules of a sentence-transformers model make of it, a word (mean or first of its subwords), a word type "
            "(mean over its contexts), or without --text the bare embedding of a word of one subword. Default: model "
            "where there are such modules, else mean.",
        ),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option("--words", metavar="FILE", help="For --pool types or embeddings: words, one a line, or a .vec."),
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            "--dictionary", metavar="FROM-TO=FILE", help="For --pool embeddings: only words of --lang that this has."
        ),
    ] = None,
    length: Annotated[
        int | None, typer.Option("--length", min=3, help="Tokens of a sentence at most. Default: the encoder's.")
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option("--batch-tokens", min=1, help="Tokens of a batch. Default: what suits the device.")
    ] = None,
    precision: Annotated[
        Literal["float32", "bfloat16"], typer.Option("--precision", help="What the encoder computes in.")
    ] = "float32",
    resume: Annotated[bool, typer.Option("--resume", help="Resume interrupted work.")] = False,
    weights: Weights = "best",
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write an encoder's layers for every sentence, word or word type of a file.

    The ending of --out decides: .safetensors is one file, .vec is one layer as text (word types, or lines of one word),
    anything else a folder with a .npy for each layer.

    --pool embeddings writes the rows of the embedding matrix that are whole words, without the mark of a word's
    beginning, as a .vec: all words of --lang, or those of --words or --dictionary.
    """
    from isoglot.model import load_encoder
    from isoglot.represent import extract

    output = Output(json=json, quiet=quiet)
    chosen = parse_layers(layers)
    if pool == "embeddings":
        given: dict[str, object] = {"--text": text, "--layers": layers != "all", "--length": length}
        given |= {"--batch-tokens": batch_tokens, "--resume": resume, "--precision": precision != "float32"}
        _embeddings(model, out, lang, words, dictionary, given, device, output)
        return
    _check_options(out, pool, words, chosen, resume)
    if text is None or dictionary:
        problem = "--text is missing" if text is None else "--dictionary is for --pool embeddings"
        raise ConfigError(
            problem,
            remedy="name a text, one sentence a line, or choose --pool embeddings",
            code="config.missing-option",
        )
    encoder = load_encoder(model, device=device)
    common: dict[str, Any] = {
        "layers": chosen,
        "language": lang,
        "length": length,
        "batch_tokens": batch_tokens,
        "precision": precision,
        "name": model,
        "progress": output.progress,
    }
    if pool == "types":
        found = _types(encoder, text, words, out, common)
    elif out.suffix == ".vec":
        names = _single_words(text)
        found = extract(encoder, text, pool=pool, **common)
        found.header["words"] = names
        found.save(out)
    else:
        with output.resumable(out):
            found = extract(encoder, text, pool=pool, out=out, resume=resume, **common)
    _report(output, found, out)


def _check_options(
    out: Path, pool: Pool | None, words: Path | None, layers: Literal["all"] | list[int], resume: bool
) -> None:
    """Refuse what could not be written, before anything is computed."""
    if (pool == "types") != (words is not None):
        raise ConfigError(
            "--pool types and --words FILE go together", remedy="give both, or none", code="config.missing-option"
        )
    streams = pool != "types" and out.suffix != ".vec"
    if resume and not streams:
        raise ConfigError(
            "--resume is for .safetensors and folders of sentences or words",
            remedy="leave it out",
            code="config.conflicting-options",
        )
    if out.suffix == ".vec":
        if layers == "all" or len(layers) != 1:
            raise ConfigError(
                "a .vec holds one layer", remedy="choose one, such as --layers -1", code="config.not-supported"
            )
        if pool in ("words", "word-first"):
            raise ConfigError(
                "a .vec holds each word once",
                remedy="write .safetensors, or choose --pool types",
                code="config.not-supported",
            )
    elif out.suffix in (".npy", ".npz", ".txt", ".json", ".pt"):
        raise ConfigError(
            f"--out {shown(str(out))} ends in none of the formats",
            remedy="end it in .safetensors or .vec, or name a folder for one .npy a layer",
            code="config.malformed-option",
        )


def _embeddings(
    model: str,
    out: Path,
    lang: str | None,
    words: Path | None,
    dictionary: list[str] | None,
    given: dict[str, object],
    device: str,
    output: Output,
) -> None:
    """Write the whole words of the embedding matrix as a .vec."""
    from rich.text import Text

    from isoglot.model import load_encoder
    from isoglot.represent import embedding_rows
    from isoglot.retrieve.leaks import training_provenance
    from isoglot.text.formats.dictionary import read_dictionary
    from isoglot.text.formats.word_vectors import read_words, write_vectors

    for option, value in given.items():
        if value:
            raise ConfigError(
                f"{option} and --pool embeddings exclude each other",
                remedy="leave it out",
                code="config.conflicting-options",
            )
    if out.suffix != ".vec":
        raise ConfigError(
            f"--out {shown(str(out))} is no .vec",
            remedy="vectors of words are text: name it words.vec",
            code="config.malformed-option",
        )
    if words is not None and dictionary:
        raise ConfigError(
            "--words and --dictionary exclude each other", remedy="give one of them", code="config.conflicting-options"
        )
    asked = None if words is None else read_words(words)
    for pair, files in parse_pairs(dictionary).items() if dictionary else ():
        code = None if lang is None else language_code(lang)
        if code not in pair:
            raise ConfigError(
                f"--dictionary is of {' and '.join(pair)}, --lang {shown(lang)}",
                remedy=f"give --lang {pair[0]}",
                code="config.other-language",
            )
        entries = [entry for file in files for entry in read_dictionary(file)]
        asked = [*(asked or ()), *(entry.source if code == pair[0] else entry.target for entry in entries)]
    asked = None if asked is None else list(dict.fromkeys(asked))
    encoder = load_encoder(model, device=device)
    found = embedding_rows(encoder, asked, lang)
    write_vectors(out, found.words, found.vectors_ND, provenance=training_provenance([encoder]))
    facts = {"out": str(out), "model": model, "pool": "embeddings", "language": lang, "words": len(found.words)}
    facts |= {"hidden_size": int(found.vectors_ND.shape[1]), "asked": None if asked is None else len(asked)}
    of = "" if asked is None else f" of {len(asked):,} asked for"
    output.result(facts, Text(f"{out}: {len(found.words):,} words{of}, {facts['hidden_size']} dimensions"))


def _types(encoder: EncoderLike, text: Path, words: Path | None, out: Path, common: dict[str, Any]) -> Representations:
    from isoglot.represent import word_types
    from isoglot.text.formats.word_vectors import read_words

    assert words is not None  # noqa: S101 - for the type checker: the options were checked
    found = word_types(encoder, text, read_words(words), **common)
    found.save(out)
    return found


def _single_words(text: Path) -> list[str]:
    from isoglot.text.formats.lines import read_lines

    lines = [line.strip() for _, line in read_lines(text)]
    for number, line in enumerate(lines, start=1):
        if len(line.split()) != 1:
            raise InputError(
                f"{shown(line)} is not one word, and a .vec holds words",
                remedy="write .safetensors instead",
                code="input.malformed-line",
                file=text,
                line=number,
            )
    return lines


def _report(output: Output, found: Representations, out: Path) -> None:
    from rich.text import Text

    header = {key: value for key, value in found.header.items() if key not in ("words", "missing", "provenance")}
    facts = {"out": str(out), "rows": len(found), **header}
    unit = {"types": "word types", "words": "words", "word-first": "words"}.get(header["pool"], "sentences")
    lines = [f"{counted(len(found), unit)} x {found.hidden_size} in layers {_ranges(found.layers)} written to {out}"]
    if header["pool"] == "model":
        lines = [f"{counted(len(found), unit)} x {found.hidden_size}, the model's own vectors, written to {out}"]
        lines.append(f"Made of the last layer by its modules: {', '.join(header['modules'])}")
    if header["pool"] == "types":
        asked = len(found) + len(found.missing)
        facts["missing"] = list(found.missing)
        lines.append(f"{len(found):,} of {asked:,} words were met")
    texts = "words" if unit in ("word types", "words") else "sentences"
    remarks = {
        "cut": (texts, f"cut to {header['max_length']} tokens"),
        "split": ("sentences", "sent through in several windows"),
        "unread": (texts, "read as [UNK]: nothing to the tokenizer"),
    }
    lines += [
        f"{counted(header[event], units)} {what}" for event, (units, what) in remarks.items() if header.get(event)
    ]
    output.result(facts, Text("\n".join(lines)))


def _ranges(layers: tuple[int, ...]) -> str:
    whole = layers == tuple(range(layers[0], layers[-1] + 1)) and len(layers) > 2
    return f"{layers[0]}-{layers[-1]}" if whole else ", ".join(map(str, layers))
