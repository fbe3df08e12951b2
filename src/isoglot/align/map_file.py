"""A fitted estimator as one file of arrays, with the class, the options and what was learned as its facts.

A path that ends in ``.safetensors`` is the file; any other is a folder, and the file in it is ``map.safetensors``. The
facts are::

    {"estimator": "Ridge", "options": {"penalty": 1.0}, "learned": {"W_": {"tensor": "W_", "library": "numpy"}}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.core.artifact import array_path, load_arrays, save_arrays
from isoglot.core.errors import InputError
from isoglot.retrieve.rows import to_tensor

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from isoglot.align.estimator import Estimator

FILE = "map.safetensors"
_KIND = "map"


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
    estimator._check_fitted()
    target = array_path(path, name)
    arrays: dict[str, np.ndarray] = {}
    packed = _pack(estimator, "", arrays)
    save_arrays(target, _KIND, packed, arrays)
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
    from isoglot import align

    file = array_path(path, name)
    packed, arrays = load_arrays(file, _KIND, remedy="make it with an estimator's save")
    return _unpack(packed, arrays, file, align if room is None else room)


def _pack(value: Any, key: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    """The value as JSON, its arrays put aside under their place in it."""
    from isoglot.align.estimator import Estimator

    if isinstance(value, np.ndarray | torch.Tensor):
        arrays[key] = to_tensor(value).cpu().numpy()
        return {"tensor": key, "library": "torch" if isinstance(value, torch.Tensor) else "numpy"}
    prefix = f"{key}." if key else ""
    if isinstance(value, Estimator):
        parts = {"options": value.get_params(), "learned": value.learned()}
        return {"estimator": type(value).__name__} | {
            part: {name: _pack(each, f"{prefix}{name}", arrays) for name, each in content.items()}
            for part, content in parts.items()
        }
    if isinstance(value, list | tuple):
        return [_pack(each, f"{prefix}{place}", arrays) for place, each in enumerate(value)]
    return value.item() if isinstance(value, np.generic) else value


def _unpack(packed: Any, arrays: dict[str, np.ndarray], file: Path, room: ModuleType) -> Any:  # noqa: ANN401
    from isoglot.align.estimator import Estimator

    if isinstance(packed, list):
        return tuple(_unpack(each, arrays, file, room) for each in packed)
    if not isinstance(packed, dict):
        return packed
    if "tensor" in packed:
        array = arrays[packed["tensor"]]
        return torch.from_numpy(array) if packed["library"] == "torch" else array
    name = packed["estimator"]
    kind = getattr(room, name) if name in room.__all__ else None
    if not isinstance(kind, type) or not issubclass(kind, Estimator):
        raise InputError(f"no estimator {name!r} here", remedy="read it with the version that wrote it", file=file)
    made = kind(**{option: _unpack(value, arrays, file, room) for option, value in packed["options"].items()})
    for attribute, value in packed["learned"].items():
        setattr(made, attribute, _unpack(value, arrays, file, room))
    return made
