"""A word aligner as one file of arrays, and which of the two kinds it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.artifact import array_path, load_arrays, save_arrays
from isoglot.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from isoglot.align.encoder_aligner import EncoderAligner
    from isoglot.align.word_aligner import WordAligner

FILE = "aligner.safetensors"
STATISTICAL, ENCODER = "statistical", "encoder"
_KIND = "word aligner"


class AlignerFile(NamedTuple):
    """What stands in a file."""

    file: Path
    kind: str
    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_aligner(path: str | Path, kind: str, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    """Write one to a file, or to ``aligner.safetensors`` in a folder; returns the file.

    Raises:
        StorageError: The file cannot be written.
    """
    file = aligner_path(path)
    save_arrays(file, _KIND, {"kind": kind, **about}, arrays)
    return file


def read_aligner(path: str | Path, kind: str | None = None) -> AlignerFile:
    """Read one from a file or folder.

    Args:
        path: The file, or its folder.
        kind: Which kind is wanted; None: any.

    Raises:
        CorruptFileError: The file is not what was written.
        InputError: It is not one of ours, or of another kind.
        StorageError: It cannot be read.
    """
    file = aligner_path(path)
    about, arrays = load_arrays(file, _KIND, remedy="make one with isoglot align links")
    found = about.get("kind", STATISTICAL)  # the only one, once
    if kind not in (None, found):
        raise InputError(f"a word aligner of the kind {found}, not {kind}", remedy="open it by its kind", file=file)
    return AlignerFile(file, found, about, arrays)


def load_aligner(path: str | Path, *, model: str | None = None, device: str = "auto") -> WordAligner | EncoderAligner:
    """An aligner of either kind, from what ``isoglot align links`` wrote.

    Args:
        path: The file, or its folder.
        model: Where the encoder of the second kind is now; None: where it was.
        device: Where it computes.

    Raises:
        ConfigError: A model is named for an aligner that has none, or it is another one.
        CorruptFileError: The file is not what was written.
        InputError: It is not one of ours.
        StorageError: It cannot be read, or the encoder is not where it was.
    """
    found = read_aligner(path)
    if found.kind == ENCODER:
        from isoglot.align.encoder_aligner import EncoderAligner
        from isoglot.model import load_encoder

        encoder = None if model is None else load_encoder(model, device=device)
        return EncoderAligner.of_file(found, encoder, device=device)
    from isoglot.align.word_aligner import WordAligner

    if model is not None:
        raise ConfigError(f"{found.file} was learned from bitext and has no model", remedy="leave the model out")
    return WordAligner.of_file(found)


def aligner_path(path: str | Path) -> Path:
    """The file that is meant: itself, or the one in a folder."""
    return array_path(path, FILE)
