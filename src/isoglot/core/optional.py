"""Optional libraries: how to install and import them, and loops compiled by numba.

Without numba the loops run as plain Python, about a hundred times slower.
"""

from __future__ import annotations

import importlib
import platform
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar, cast

import isoglot
from isoglot.core.errors import MissingPartError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


@dataclass(frozen=True, kw_only=True)
class Part:
    """Extra of the package and its libraries."""

    extra: str
    libraries: tuple[str, ...]

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"pip install 'isoglot[{self.extra}]'"


PARTS = (
    Part(extra="hf", libraries=("transformers",)),
    Part(extra="moses", libraries=("sacremoses",)),
    Part(extra="chinese", libraries=("rjieba",)),
    Part(extra="thai", libraries=("pythainlp",)),
    Part(extra="static", libraries=("gensim", "numba")),
    Part(extra="bleu", libraries=("sacrebleu",)),
    Part(extra="frames", libraries=("pandas", "pyarrow")),
    Part(extra="ot", libraries=("pot",)),
    Part(extra="onnx", libraries=("onnx", "onnxscript", "onnxruntime")),
    Part(extra="tensorboard", libraries=("tensorboard",)),
    Part(extra="wandb", libraries=("wandb",)),
    Part(extra="mlflow", libraries=("mlflow",)),
    Part(extra="trackio", libraries=("trackio",)),
    Part(extra="cluster", libraries=("ray",)),
    Part(extra="report", libraries=("vl-convert-python",)),
    Part(extra="explore", libraries=("starlette", "uvicorn")),
)

_PACKAGES = {"ot": "pot", "vl_convert": "vl-convert-python"}  # where the package has another name than the module
_CORE = ("torch", "numpy", "pydantic", "typer", "rich", "langcodes", "safetensors", "tokenizers", "zstandard")


def version_of(library: str) -> str | None:
    """The installed version of a library, or None; does not import it."""
    from importlib import metadata  # slow to import

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Versions of Python, isoglot and its installed dependencies."""
    libraries = [*_CORE, *(name for part in PARTS for name in part.libraries)]
    found = {name: version for name in libraries if (version := version_of(name)) is not None}
    return {"isoglot": isoglot.__version__, "python": platform.python_version(), **found}


def import_part(library: str) -> ModuleType:
    """Import an optional library.

    Raises:
        MissingPartError: It is not installed; the message has the command that installs it.
    """
    name = library.partition(".")[0]
    package = _PACKAGES.get(name, name)
    part = next(part for part in PARTS if package in part.libraries)
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # installed but broken: the traceback says more
        raise MissingPartError(f"this needs {package}, which is not installed", remedy=part.install) from error


F = TypeVar("F", bound="Callable[..., object]")

COMPILED = find_spec("numba") is not None  # whether numba is installed

_SUMS_IN_ANY_ORDER = {"reassoc", "contract", "arcp", "nsz"}  # infinities and NaN keep their meaning


def compiled(function: F) -> F:
    """Compile a function with numba, with a cache on disk; return it unchanged if numba is missing."""
    return cast("F", import_part("numba").njit(cache=True, nogil=True)(function)) if COMPILED else function


def compiled_loosely(function: F) -> F:
    """Compile as :func:`compiled` does, with sums in any order, so that they can be vectorized.

    The compiler fixes the order, so results are bitwise reproducible on one machine.
    """
    if not COMPILED:
        return function
    make = import_part("numba").njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS_IN_ANY_ORDER)
    return cast("F", make(function))
