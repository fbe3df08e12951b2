"""Arrays with what is known about them as one safetensors file: whole, ours and of the right kind, or refused.

The file's metadata has JSON: ``{"format": 1, "kind": "language means", "sha256": "…", "facts": {…}}``.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import CorruptFileError, InputError
from isoglot.core.files import read_bytes, write_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 1
_KEY = "isoglot"


def save_arrays(path: str | Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the file.

    Raises:
        StorageError: It cannot be written.
    """
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about = {"format": FORMAT, "kind": kind, "sha256": _digest(facts, whole), "facts": facts}
    write_bytes(path, save(whole, metadata={_KEY: json.dumps(about, sort_keys=True)}))


def load_arrays(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What :func:`save_arrays` wrote: the facts and the arrays.

    Raises:
        CorruptFileError: The file is not what was written.
        InputError: It is not one of ours, or of another kind.
        StorageError: It cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    data = read_bytes(path)
    try:
        arrays = load(data)
        size = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
    except SafetensorError as error:
        raise CorruptFileError(
            f"not a whole safetensors file: {error}", remedy="copy or make it again", file=path
        ) from error
    except (KeyError, ValueError) as error:
        raise InputError(f"no {kind} of ours", remedy="make them with save", file=path) from error
    if about.get("kind") != kind:
        raise InputError(f"no {kind} of ours", remedy="make them with save", file=path)
    if about.get("format") != FORMAT:
        raise InputError(f"not of format {FORMAT}", remedy="make it again with this version", file=path)
    if about["sha256"] != _digest(about["facts"], arrays):
        raise CorruptFileError("the numbers are not those that were written", remedy="copy or make it again", file=path)
    return about["facts"], arrays


def _digest(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
