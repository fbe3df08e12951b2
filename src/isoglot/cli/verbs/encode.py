"""``isoglot encode``: the layers of an encoder for the sentences of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import option, parse_pairs
from isoglot.cli.options import POOLS, Device, LayerList, ModelArgument, VectorsOut, Weights, parse_layers
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code

if TYPE_CHECKING:
    from isoglot.model import EncoderLike

EXAMPLE = (
    "Example: isoglot encode MODEL --text sentences.txt --lang fr --layers all --pool mean --out vectors.safetensors"
)


def encode(
    *,
    out: VectorsOut,
    model: ModelArgument = "isoglot-mini",
    text: Annotated[
        Path | None, option("--text", "FILE", "One sentence per line; for words, with blanks between them.")
    ] = None,
    lang: Annotated[
        str | None, option("--lang", "LANG", "The language, where the encoder has parts or ids for each.")
    ] = None,
    layers: LayerList = "all",
    pool: Annotated[
        Literal[
            "mean",
            "mean-all",
            "first",
            "cls",
            "last",
            "max",
            "weighted",
            "model",
            "words",
            "word-first",
            "types",
            "embeddings",
        ]
        | None,
        typer.Option(
            "--pool",
            help=f"A row is a sentence: {POOLS}, or the vector of a sentence-transformers model (all but mean count "
            "special tokens); a word (mean or first of its subwords), a word type (mean over its contexts), or without "
            "--text the bare embedding of a word of one subword. Default: model for a sentence-transformers model, "
            "else mean.",
        ),
    ] = None,
    words: Annotated[
        Path | None, option("--words", "FILE", "For --pool types or embeddings: words, one per line, or a .vec.")
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        option("--dictionary", "FROM-TO=FILE", "For --pool embeddings: only words of --lang that this has."),
    ] = None,
    length: Annotated[
        int | None, typer.Option("--length", min=3, help="Maximum tokens of a sentence. Default: the encoder's.")
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option("--batch-tokens", min=1, help="Tokens of a batch. Default: suited to the device.")
    ] = None,
    precision: Annotated[
        Literal["float32", "bfloat16"], typer.Option("--precision", help="Precision of the encoder.")
    ] = "float32",
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    weights: Weights = "best",
    device: Device = "auto",
    output: Output,
) -> None:
    """Write an encoder's layers for every sentence, word or word type of a file.

    The ending of --out decides: .safetensors is one file, .vec is one layer as text (word types, or lines of one word),
    anything else a folder with a .npy for each layer.

    --pool embeddings writes the rows of the embedding matrix that are whole words, without the mark of a word's
    beginning, as a .vec: all words of --lang, or those of --words or --dictionary.
    """
    from rich.text import Text

    from isoglot.model import load_encoder
    from isoglot.represent.encode_file import encode_file, summary

    chosen = parse_layers(layers)
    options: dict[str, Any] = {"length": length, "batch_tokens": batch_tokens, "precision": precision}
    if pool == "embeddings":
        _refuse(text=text, layers=layers != "all", resume=resume, **options | {"precision": precision != "float32"})
        asked = _asked_words(words, dictionary, lang)
        _embeddings(load_encoder(model, device=device), out, asked, lang, model, output)
        return
    if text is None or dictionary:
        problem = "--text is missing" if text is None else "--dictionary is for --pool embeddings"
        remedy = "name a text, one sentence per line, or choose --pool embeddings"
        raise ConfigError(problem, remedy, "missing-option")
    options |= {"layers": chosen, "pool": pool, "words": words, "resume": resume}
    with output.resumable(out if out.suffix != ".vec" and words is None else None):
        encoder = load_encoder(model, device=device)
        found = encode_file(encoder, text, out, **options, language=lang, name=model, progress=output.progress)
    facts = {key: value for key, value in found.header.items() if key not in ("words", "missing", "provenance")}
    missing = {"missing": list(found.missing)} if pool == "types" else {}
    output.result({"out": str(out), "rows": len(found), **facts, **missing}, Text("\n".join(summary(found, out))))


def _refuse(**given: object) -> None:
    """Refuse options that do not apply to the embedding matrix."""
    for name, value in given.items():
        if value:
            problem = f"--{name.replace('_', '-')} and --pool embeddings exclude each other"
            raise ConfigError(problem, "leave it out", "conflicting-options")


def _asked_words(words: Path | None, dictionary: list[str] | None, lang: str | None) -> list[str] | None:
    """The words of a list, or those of one language of dictionaries, each once; None: all."""
    from isoglot.text.formats.dictionary import read_dictionaries
    from isoglot.text.formats.word_vectors import read_words

    if not dictionary:
        return None if words is None else read_words(words)
    if words is not None:
        problem = "--words and --dictionary exclude each other"
        raise ConfigError(problem, "give one of them", "conflicting-options")
    asked = []
    for pair, entries in read_dictionaries(parse_pairs(dictionary)).items():
        code = None if lang is None else language_code(lang)
        if code not in pair:
            problem = f"--dictionary is of {' and '.join(pair)}, --lang {shown(lang)}"
            raise ConfigError(problem, f"give --lang {pair[0]}", "other-language")
        asked += [entry.source if code == pair[0] else entry.target for entry in entries]
    return list(dict.fromkeys(asked))


def _embeddings(
    encoder: EncoderLike, out: Path, asked: list[str] | None, lang: str | None, model: str, output: Output
) -> None:
    """Write the whole words of the embedding matrix as a .vec."""
    from rich.text import Text

    from isoglot.represent import embedding_rows
    from isoglot.retrieve.leaks import training_provenance
    from isoglot.static.vectors_of_words import check_vec
    from isoglot.text.formats.word_vectors import write_vectors

    check_vec(out)
    found = embedding_rows(encoder, asked, lang)
    write_vectors(out, found.words, found.vectors_ND, provenance=training_provenance([encoder]))
    facts = {"out": str(out), "model": model, "pool": "embeddings", "language": lang, "words": len(found.words)}
    facts |= {"hidden_size": int(found.vectors_ND.shape[1]), "asked": None if asked is None else len(asked)}
    of = "" if asked is None else f" of {len(asked):,} asked for"
    output.result(facts, Text(f"{out}: {len(found.words):,} words{of}, {facts['hidden_size']} dimensions"))
