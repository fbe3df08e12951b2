"""A fitted estimator as one safetensors file, with what is no tensor as JSON in the file's metadata.

A path that ends in ``.safetensors`` is the file; any other is a folder, and the file in it is ``map.safetensors``. The
JSON has the class, the options, what was learned, and a hash of all of it::

    {"format": 1, "sha256": "…", "map": {"estimator": "Ridge", "options": {"penalty": 1.0}, "learned": {"W_": {…}}}}
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.align.rows import to_tensor
from isoglot.core.errors import CorruptFileError, InputError
from isoglot.core.files import read_bytes, writable_folder, write_bytes

if TYPE_CHECKING:
    from types import ModuleType

    from isoglot.align.estimator import Estimator

FILE = "map.safetensors"
FORMAT = 1
_KEY = "isoglot"


def save_map(estimator: Estimator, path: str | Path, *, name: str = FILE) -> Path:
    """Write a fitted estimator; returns the file.

    Args:
        estimator: What to write.
        path: The file, or a folder.
        name: What the file is called in a folder.

    Raises:
        NotFittedError: It has learned nothing yet.
        StorageError: The file cannot be written.
    """
    from safetensors.torch import save

    estimator._check_fitted()
    target = _file(path, name)
    writable_folder(target.parent)
    tensors: dict[str, torch.Tensor] = {}
    packed = _pack(estimator, "", tensors)
    about = {"format": FORMAT, "sha256": _digest(packed, tensors), "map": packed}
    write_bytes(target, save(tensors, metadata={_KEY: json.dumps(about, sort_keys=True)}))
    return target


def load_map(path: str | Path, *, name: str = FILE, room: ModuleType | None = None) -> Any:  # noqa: ANN401 - the class stands in the file
    """The estimator in a file, or in the ``map.safetensors`` of a folder, of the class that was saved.

    Learned arrays are NumPy or torch (on the CPU) as they were; either kind can be transformed.

    Args:
        path: The file, or a folder.
        name: What the file is called in a folder.
        room: Whose estimators it may be; by default those of this room.

    Raises:
        CorruptFileError: The file is not what was written.
        InputError: It is not one of ours.
        StorageError: It cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    from isoglot import align

    file = _file(path, name)
    data = read_bytes(file)
    try:
        tensors = load(data)
        size = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
    except SafetensorError as error:
        raise CorruptFileError(
            f"not a whole safetensors file: {error}", remedy="copy or make it again", file=file
        ) from error
    except (KeyError, ValueError) as error:
        raise InputError("no map of ours", remedy="make it with an estimator's save", file=file) from error
    if about.get("format") != FORMAT:
        raise InputError(f"not a map of format {FORMAT}", remedy="make it again with this version", file=file)
    if about["sha256"] != _digest(about["map"], tensors):
        raise CorruptFileError("the numbers are not those that were written", remedy="copy or make it again", file=file)
    return _unpack(about["map"], tensors, file, align if room is None else room)


def _file(path: str | Path, name: str) -> Path:
    path = Path(path)
    return path if path.suffix == ".safetensors" else path / name


def _digest(packed: Any, tensors: dict[str, torch.Tensor]) -> str:  # noqa: ANN401
    digest = hashlib.sha256(json.dumps(packed, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def _pack(value: Any, key: str, tensors: dict[str, torch.Tensor]) -> Any:  # noqa: ANN401
    """The value as JSON, its tensors put aside under their place in it."""
    from isoglot.align.estimator import Estimator

    if isinstance(value, np.ndarray | torch.Tensor):
        tensors[key] = to_tensor(value).cpu().contiguous().clone()
        return {"tensor": key, "library": "torch" if isinstance(value, torch.Tensor) else "numpy"}
    prefix = f"{key}." if key else ""
    if isinstance(value, Estimator):
        parts = {"options": value.get_params(), "learned": value.learned()}
        return {"estimator": type(value).__name__} | {
            part: {name: _pack(each, f"{prefix}{name}", tensors) for name, each in content.items()}
            for part, content in parts.items()
        }
    if isinstance(value, list | tuple):
        return [_pack(each, f"{prefix}{place}", tensors) for place, each in enumerate(value)]
    return value.item() if isinstance(value, np.generic) else value


def _unpack(packed: Any, tensors: dict[str, torch.Tensor], file: Path, room: ModuleType) -> Any:  # noqa: ANN401
    from isoglot.align.estimator import Estimator

    if isinstance(packed, list):
        return tuple(_unpack(each, tensors, file, room) for each in packed)
    if not isinstance(packed, dict):
        return packed
    if "tensor" in packed:
        tensor = tensors[packed["tensor"]]
        return tensor if packed["library"] == "torch" else tensor.numpy()
    name = packed["estimator"]
    kind = getattr(room, name) if name in room.__all__ else None
    if not isinstance(kind, type) or not issubclass(kind, Estimator):
        raise InputError(f"no estimator {name!r} here", remedy="read it with the version that wrote it", file=file)
    made = kind(**{option: _unpack(value, tensors, file, room) for option, value in packed["options"].items()})
    for attribute, value in packed["learned"].items():
        setattr(made, attribute, _unpack(value, tensors, file, room))
    return made
