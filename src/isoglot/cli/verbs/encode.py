"""``isoglot encode``: the layers of an encoder for the sentences of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from isoglot.cli.declaration import command, option
from isoglot.cli.inputs import Files, LayerList, parse_layers, parse_pairs, refuse_beside, refuse_without, required
from isoglot.cli.options import EMBEDDED, Device, ModelArgument, VectorsOut, Weights
from isoglot.cli.output import Output

Pool = Literal[
    "mean", "mean-all", "first", "cls", "last", "max", "weighted", "model", "words", "word-first", "types", "embeddings"
]


@command("encode MODEL --text sentences.txt --lang fr --layers all --pool mean --out vectors.safetensors")
def encode(
    *,
    out: VectorsOut,
    model: ModelArgument = EMBEDDED,
    text: Annotated[Path | None, option("FILE", "One sentence per line; for words, separated by spaces.")] = None,
    lang: Annotated[str | None, option("LANG", "Language, if the encoder has parts or ids per language.")] = None,
    layers: LayerList = "all",
    pool: Pool | None = None,
    words: Annotated[Path | None, option("FILE")] = None,
    dictionary: Annotated[Files, option("FROM-TO=FILE")] = None,
    length: Annotated[int | None, option(text="Maximum tokens per sentence. Default: the encoder's.", min=3)] = None,
    batch_tokens: Annotated[int | None, option(text="Tokens per batch. Default: by device.", min=1)] = None,
    precision: Annotated[Literal["float32", "bfloat16"], option(text="Precision of the encoder.")] = "float32",
    resume: Annotated[bool, option(text="Resume an interrupted run.")] = False,
    weights: Weights = "best",
    device: Device = "auto",
    output: Output,
) -> None:
    """Write the hidden states of an encoder for every sentence, word or word type of a file.

    The ending of --out decides: .safetensors is one file, .vec is one layer as text (word types, or lines of one word),
    anything else a folder with a .npy for each layer.

    --pool embeddings writes the rows of the embedding matrix that are whole words, without the mark of a word's
    beginning, as a .vec: all words of --lang, or those of --words or --dictionary.

    Options:
        pool: A row is a sentence: {POOLS}, or the vector of a sentence-transformers model (all but mean count special
            tokens); a word (mean or first of its subwords), a word type (mean over its contexts), or without --text the
            bare embedding of a word of one subword. Default: model for a sentence-transformers model, else mean.
        words: For --pool types or embeddings: words, one per line, or a .vec.
        dictionary: For --pool embeddings: only words of --lang that this has.
    """
    from isoglot.model import load_encoder
    from isoglot.report.terminal.listings import encoded_result, word_vectors_result
    from isoglot.represent.encode_file import encode_file
    from isoglot.retrieve.vector_files import write_embeddings

    how: dict[str, Any] = {"layers": parse_layers(layers), "length": length, "batch_tokens": batch_tokens}
    if pool == "embeddings":
        unused: dict[str, object] = {"--text": text, "--layers": layers != "all", "--length": length}
        unused |= {"--batch-tokens": batch_tokens, "--precision": precision != "float32", "--resume": resume}
        refuse_beside(unused, "--pool embeddings", remedy="leave it out")
        asked = _asked_words(words, dictionary, lang)
        output.print(
            word_vectors_result(write_embeddings(load_encoder(model, device=device), out, asked, lang, name=model))
        )
        return
    remedy = "name a text, one sentence per line, or choose --pool embeddings"
    file = required(text, "--text", remedy)
    refuse_without({"--dictionary": dictionary}, "--pool embeddings", remedy=remedy)
    how |= {"pool": pool, "words": words, "resume": resume, "precision": precision, "language": lang, "name": model}
    with output.resumable(out if out.suffix != ".vec" and words is None else None):
        found = encode_file(load_encoder(model, device=device), file, out, **how, progress=output.progress)
    output.print(encoded_result(found, out))


def _asked_words(words: Path | None, dictionary: Files, lang: str | None) -> list[str] | None:
    """The words of a list, or those of one language of dictionaries; None: all."""
    from isoglot.core.language_codes import language_code
    from isoglot.text.formats.dictionary import read_dictionaries, words_of
    from isoglot.text.formats.word_vectors import read_words

    if not dictionary:
        return None if words is None else read_words(words)
    refuse_beside({"--words": words}, "--dictionary", remedy="give one of them")
    return words_of(read_dictionaries(parse_pairs(dictionary)), None if lang is None else language_code(lang))
