"""Encode the sentences or words of a file and write the vectors in the format that the name of the output says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.progress import counted
from isoglot.represent.extraction import Pool, extract
from isoglot.represent.word_vectors import word_types
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.word_vectors import read_words

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.represent.representations import Representations

FilePool = Pool | Literal["types"]
"""A pooling of :func:`extract`, or ``types``: word types, averaged over their contexts."""


def encode_file(
    encoder: EncoderLike,
    text: Path,
    out: Path,
    *,
    layers: Layers = "all",
    pool: FilePool | None = None,
    words: Path | None = None,
    resume: bool = False,
    **options: Any,  # noqa: ANN401 - those of extract
) -> Representations:
    """Encode a text, one sentence per line, and write the vectors.

    Args:
        encoder: Any encoder.
        text: The text; for words, with spaces between them.
        out: ``NAME.safetensors``; ``NAME.vec`` for one layer of word types, or of lines of one word; or a folder with a
            ``.npy`` file for each layer.
        layers: ``all``, or layer numbers.
        pool: What a row of the result is.
        words: The words whose types to average: one per line, or a ``.vec`` file.
        resume: Continue an interrupted run.
        options: Further options of :func:`extract`.

    Raises:
        ConfigError: The options cannot be combined, or the encoder does not support one.
        InputError: The text or the words are empty, or lines of one word are needed and one has several.
        StorageError: A file cannot be read or written.
    """
    _check(out, pool, words, layers, resume=resume)
    if words is not None:
        found = word_types(encoder, text, read_words(words), layers=layers, **options)
    elif out.suffix == ".vec":
        names = _single_words(text)
        found = extract(encoder, text, layers=layers, pool=pool, **options)  # type: ignore[arg-type]
        found.header["words"] = names
    else:
        return extract(encoder, text, layers=layers, pool=pool, out=out, resume=resume, **options)  # type: ignore[arg-type]
    found.save(out)
    return found


def _check(out: Path, pool: FilePool | None, words: Path | None, layers: Layers, *, resume: bool) -> None:
    """Refuse what could not be written, before anything is computed."""
    vec = out.suffix == ".vec"
    wrong = None
    if (pool == "types") != (words is not None):
        wrong = "missing-option", "--pool types and --words FILE go together", "give both, or none"
    elif resume and (vec or pool == "types"):
        wrong = "conflicting-options", "--resume is for .safetensors and folders of sentences or words", "leave it out"
    elif vec and (layers == "all" or len(layers) != 1):
        wrong = "not-supported", "a .vec holds one layer", "choose one, such as --layers -1"
    elif vec and pool in ("words", "word-first"):
        wrong = "not-supported", "a .vec holds each word once", "write .safetensors, or choose --pool types"
    elif out.suffix in (".npy", ".npz", ".txt", ".json", ".pt"):
        remedy = "end it in .safetensors or .vec, or name a folder for one .npy a layer"
        wrong = "malformed-option", f"--out {shown(str(out))} ends in none of the formats", remedy
    if wrong is not None:
        raise ConfigError(wrong[1], wrong[2], code=f"config.{wrong[0]}")


def _single_words(text: Path) -> list[str]:
    lines = [line.strip() for _, line in read_lines(text)]
    for number, line in enumerate(lines, start=1):
        if len(line.split()) != 1:
            problem, remedy = f"{shown(line)} is not one word, and a .vec holds words", "write .safetensors instead"
            raise InputError(problem, remedy, "malformed-line", file=text, line=number)
    return lines


def summary(found: Representations, out: Path) -> list[str]:
    """Describe written vectors in a few lines."""
    header = found.header
    unit = {"types": "word types", "words": "words", "word-first": "words"}.get(header["pool"], "sentences")
    texts = "sentences" if unit == "sentences" else "words"
    first, last = found.layers[0], found.layers[-1]
    whole = found.layers == tuple(range(first, last + 1)) and len(found.layers) > 2
    layers = f" in layers {f'{first}-{last}' if whole else ', '.join(map(str, found.layers))}"
    if header["pool"] == "model":
        layers = f", the model's own vectors ({', '.join(header['modules'])}),"
    lines = [f"{counted(len(found), unit)} x {found.hidden_size}{layers} written to {out}"]
    if header["pool"] == "types":
        lines.append(f"{len(found):,} of {len(found) + len(found.missing):,} words occur")
    remarks = {
        "cut": (texts, f"cut to {header['max_length']} tokens"),
        "split": ("sentences", "divided into several windows"),
        "unread": (texts, "read as [UNK]: the tokenizer gives no tokens"),
    }
    return lines + [
        f"{counted(header[event], units)} {what}" for event, (units, what) in remarks.items() if header.get(event)
    ]
