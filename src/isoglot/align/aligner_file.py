"""A word aligner as one safetensors file: arrays, and what is no array as JSON in the file's metadata, with a hash."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.errors import ConfigError, CorruptFileError, InputError
from isoglot.core.files import read_bytes, writable_folder, write_bytes

if TYPE_CHECKING:
    import numpy as np

    from isoglot.align.encoder_aligner import EncoderAligner
    from isoglot.align.word_aligner import WordAligner

FILE = "aligner.safetensors"
FORMAT = 1
STATISTICAL, ENCODER = "statistical", "encoder"
_KEY = "isoglot"


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
    from safetensors.numpy import save

    file = aligner_path(path)
    writable_folder(file.parent)
    about = {"format": FORMAT, "kind": kind, **about}
    about["sha256"] = _digest(about, arrays)
    write_bytes(file, save(arrays, metadata={_KEY: json.dumps(about, sort_keys=True)}))
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
    from safetensors import SafetensorError
    from safetensors.numpy import load

    file = aligner_path(path)
    data = read_bytes(file)
    try:
        arrays = load(data)
        size = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
        known = about.pop("sha256")
        form, found = about["format"], about.get("kind", STATISTICAL)
        about["config"]
    except SafetensorError as error:
        raise CorruptFileError(
            f"not a whole safetensors file: {error}", remedy="copy or make it again", file=file
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("no word aligner", remedy="make one with isoglot align links", file=file) from error
    if form != FORMAT:
        raise InputError(f"not an aligner of format {FORMAT}", remedy="make it again with this version", file=file)
    if known != _digest(about, arrays):
        raise CorruptFileError("the numbers are not those written", remedy="copy or make it again", file=file)
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
    path = Path(path)
    return path if path.suffix == ".safetensors" else path / FILE


def _digest(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    digest = sha256(json.dumps(about, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
