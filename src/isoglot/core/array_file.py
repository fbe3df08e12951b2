"""Arrays with what is known about them as one safetensors file: whole, ours and of the right kind, or refused.

The file's metadata has JSON: ``{"format": 1, "kind": "language means", "sha256": "…", "facts": {…}}``. Maps and word
aligners had layouts of their own at first; such files still open.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import CorruptFileError, InputError
from isoglot.core.files import read_bytes, writable_folder, write_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

FORMAT = 1
_KEY = "isoglot"


def array_path(path: str | Path, name: str) -> Path:
    """The file that is meant: a path that ends in ``.safetensors``, or the file of that name in a folder."""
    path = Path(path)
    return path if path.suffix == ".safetensors" else path / name


def save_arrays(path: str | Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the file, and its folder if that is missing.

    Raises:
        StorageError: It cannot be written.
    """
    import numpy as np
    from safetensors.numpy import save

    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    about = {"format": FORMAT, "kind": kind, "sha256": _digest(facts, whole), "facts": facts}
    writable_folder(Path(path).parent)
    write_bytes(path, save(whole, metadata={_KEY: json.dumps(about, sort_keys=True)}))


def load_arrays(path: str | Path, kind: str, *, remedy: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What :func:`save_arrays` wrote: the facts and the arrays.

    Args:
        path: The file.
        kind: What it must hold.
        remedy: Where one gets such a file.

    Raises:
        CorruptFileError: The file is not what was written.
        InputError: It is not one of ours, or of another kind or format.
        StorageError: It cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    data = read_bytes(path)
    wrong = InputError(f"no {kind} of format {FORMAT}", remedy=remedy, file=path)
    try:
        arrays = load(data)
        size = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
        form, sha256 = about["format"], about["sha256"]
        found, facts, types = _layout(about)
    except SafetensorError as error:
        raise CorruptFileError(
            f"not a whole safetensors file: {error}", remedy="copy or make it again", file=path
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise wrong from error
    if (form, found) != (FORMAT, kind):
        raise wrong
    if sha256 != _digest(facts, arrays, types):
        raise CorruptFileError("the numbers are not those that were written", remedy="copy or make it again", file=path)
    return facts, arrays


def _layout(about: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """The kind, the facts, and what stood before the names of types when they were hashed."""
    if "map" in about:
        return "map", about["map"], "torch."
    if "config" in about:
        return "word aligner", {key: value for key, value in about.items() if key != "sha256"}, ""
    return about["kind"], about["facts"], ""


def _digest(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], types: str = "") -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {types}{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
