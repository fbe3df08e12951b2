"""Base classes of estimators: scikit-learn's conventions, and files without pickle.

A constructor stores options and does nothing else; ``fit`` checks them, learns attributes that end in ``_``, and
returns the estimator. An estimator is a dataclass: its fields are its options, and those with ``init=False`` its
learned attributes.

A :class:`Step` transforms one space (centering); a :class:`PairMap` brings a source (X) and a target space (Y)
together. Rows of X go through ``transform``, rows of Y through ``transform_target``, the identity for a plain map;
then both are in one space.

A fitted estimator is saved as one file of arrays. A path that ends in ``.safetensors`` is the file; any other is a
folder with the file ``map.safetensors``. Its metadata are::

    {"estimator": "Ridge", "options": {"penalty": 1.0}, "learned": {"W_": {"tensor": "W_", "library": "numpy"}}}

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from isoglot.core.arrays import (
    Array,
    ArrayT,
    give_back,
    keep,
    refuse_large,
    refuse_zeros,
    take_pairs,
    take_rows,
    to_tensor,
    unit,
)
from isoglot.core.artifact import array_path, load_arrays, save_arrays
from isoglot.core.errors import ConfigError, InputError, IsoglotError, check_name, nearest_name, shown
from isoglot.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType


FILE = "map.safetensors"
_KIND = "map"


class NotFittedError(IsoglotError):
    """An estimator was used before ``fit``.

    >>> from isoglot.align import Procrustes
    >>> try:
    ...     Procrustes().transform([[1.0, 2.0]])
    ... except NotFittedError as error:
    ...     print(error.code)
    not-fitted
    """

    code = "not-fitted"


def bounds(
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Range or choices of an option that ``fit`` checks, as the metadata of its field."""
    return {"least": least, "most": most, "above": above, "choices": choices}


@dataclass(eq=False, kw_only=True)
class Estimator(ABC):  # noqa: B024 - its two kinds have the abstract methods
    """Base of all estimators: options, learned attributes, files.

    >>> from isoglot.align import Ridge
    >>> Ridge(penalty=2.0).get_params()
    {'penalty': 2.0}
    >>> Ridge(penalty=2.0).clone().set_params(penalty=3.0).penalty
    3.0
    """

    _file: ClassVar[str] = FILE
    """name of its file in a folder"""
    _package: ClassVar[str] = "isoglot.align"
    """package whose estimators its files may hold"""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name; scikit-learn's ``clone`` uses it."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def set_params(self, **options: Any) -> Self:  # noqa: ANN401
        """Change options; returns the estimator.

        Raises:
            ConfigError: The option does not exist.
        """
        known = self.get_params()
        for name, value in options.items():
            if name not in known:
                problem = f"{type(self).__name__} has no option {name!r}"
                raise ConfigError(problem, nearest_name(name, known), "unknown-name")
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Unfitted copy with the same options."""
        return type(self)(**self.get_params())

    def learned(self) -> dict[str, Any]:
        """Learned attributes by name; empty before ``fit``."""
        names = [each.name for each in fields(self) if not each.init]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def save(self, path: str | Path) -> Path:
        """Write to one safetensors file, or to a folder; returns the file.

        Raises:
            NotFittedError: It is not fitted.
            StorageError: The file cannot be written.
        """
        self._check_fitted()
        arrays: dict[str, np.ndarray] = {}
        packed = _pack(self, "", arrays)
        target = array_path(path, self._file)
        save_arrays(target, _KIND, packed, arrays)
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimator of this class; a base class reads any of its own.

        Raises:
            CorruptFileError: The file is damaged.
            InputError: It holds something else.
            StorageError: It cannot be read.
        """
        found = load_map(path, name=cls._file, room=import_module(cls._package))
        if not isinstance(found, cls):
            name = type(found).__name__
            raise InputError(f"a {name} instead of a {cls.__name__}", f"use {name}.load", "unknown-format", file=path)
        return found

    def _check_fitted(self) -> None:
        if not self.learned():
            name = type(self).__name__
            raise NotFittedError(f"this {name} is not fitted yet", "call fit first")

    def check_options(self) -> Self:
        """Check that options are in range, as ``fit`` does; returns the estimator.

        Raises:
            ConfigError: An option is invalid.
        """
        for each in fields(self):
            if each.init and each.metadata:
                _check_option(each.name, getattr(self, each.name), each.default, each.metadata)
        return self

    def _keep(self, learned: Mapping[str, Any], like: Array) -> None:
        for name, value in learned.items():
            setattr(self, name, keep(value, like) if isinstance(value, torch.Tensor) else value)

    def _tensor(self, name: str, like: torch.Tensor) -> torch.Tensor:
        return to_tensor(getattr(self, name)).to(like.device, like.dtype)


def _check_option(name: str, value: Any, default: Any, rule: Mapping[str, Any]) -> None:  # noqa: ANN401
    if rule["choices"] is not None:
        check_name(name, value, rule["choices"])
        return
    whole = default is None or isinstance(default, int)
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if default is None and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, kinds) or math.isnan(value):
        problem = f"{name} = {shown(value)} is not {'an integer' if whole else 'a number'}"
        raise ConfigError(problem, "set one", "invalid-value")
    least, most, above = rule["least"], rule["most"], rule["above"]
    if (least is not None and value < least) or (above is not None and value <= above):
        limit = f"at least {least}" if least is not None else f"more than {above}"
        raise ConfigError(f"{name} = {value} is too small", f"give {limit}", "invalid-value")
    if most is not None and value > most:
        raise ConfigError(f"{name} = {value} is too large", f"give at most {most}", "invalid-value")


@dataclass(eq=False, kw_only=True)
class Step(Estimator):
    """Transformation of one space, fitted on its rows: centering, unit length, whitening.

    >>> import numpy as np
    >>> from isoglot.align import Center
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> Center().fit_transform(X).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    needs_direction: ClassVar[bool] = False
    """whether zero vectors are invalid"""

    width_: int = field(init=False, repr=False)
    """number of columns it was fitted on"""

    def fit(self, X: Array, Y: None = None) -> Self:
        """Fit to the rows of X, N × D; Y is ignored, for compatibility with scikit-learn.

        Raises:
            ConfigError: An option is invalid.
            InputError: The rows are invalid.
        """
        self.check_options()
        rows_ND = self._rows(X)
        refuse_large(rows_ND)
        self._keep({"width_": rows_ND.shape[1], **self._learn(rows_ND)}, X)
        return self

    def transform(self, X: ArrayT) -> ArrayT:
        """Transformed rows, as the type given."""
        self._check_fitted()
        return give_back(self._apply(self._rows(X, self.width_)), X)

    def inverse_transform(self, Z: ArrayT) -> ArrayT:
        """Inverse transformation, as far as there is one."""
        self._check_fitted()
        return give_back(self._undo(take_rows(Z, "Z", width=self.width_)), Z)

    def fit_transform(self, X: ArrayT, Y: None = None) -> ArrayT:
        """Call ``fit``, then ``transform``."""
        return self.fit(X).transform(X)

    def score(self, X: Array, Y: None = None) -> float:
        """How well the normalization holds on these rows: minus the largest deviation, so 0 is best."""
        self._check_fitted()
        return -self._deviation(self._apply(self._rows(X, self.width_)).double())

    def _rows(self, X: Array, width: int | None = None) -> torch.Tensor:
        rows_ND = take_rows(X, width=width)
        if self.needs_direction:
            refuse_zeros(rows_ND)
        return rows_ND

    @abstractmethod
    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        """Learned attributes by name."""

    @abstractmethod
    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        """Transformed rows."""

    @abstractmethod
    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        """Inverse transformation."""

    @abstractmethod
    def _deviation(self, rows_ND: torch.Tensor) -> float:
        """Largest deviation of transformed rows from the normalization."""


@dataclass(eq=False, kw_only=True)
class PairMap(Estimator):
    """Map that brings two spaces together, fitted on pairs of rows.

    >>> import numpy as np
    >>> from isoglot.align import Procrustes
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> mapping = Procrustes().fit(X, X[:, ::-1].copy())
    >>> bool(np.allclose(mapping.inverse_transform(mapping.transform(X)), X))
    True
    """

    needs_pairs: ClassVar[bool] = True
    """whether it is fitted on pairs; if not, those given are ignored"""

    widths_: tuple[int, int, int] = field(init=False, repr=False)
    """columns of X, of Y, and of the common space"""
    ends_: tuple[tuple[Any, ...], ...] = field(init=False, repr=False)
    """its endpoints, if recorded: see :class:`isoglot.align.alignment.MapEndpoint`"""
    given_: str = field(init=False, repr=False)
    """the dictionary it was fitted on, if any: see :attr:`isoglot.text.provenance.Provenance.packed`"""

    @abstractmethod
    def fit(self, X: Array, Y: Array, *, pairs: Array | None = None, progress: Progress = SILENT) -> Self:
        """Fit the map.

        Args:
            X: Source space, N × D.
            Y: Target space, M × E.
            pairs: P × 2 integers: a row of X and a row of Y that belong together. None: row by row, N = M. Rows without
                a partner still count where none is needed: for the means of a step, the neighbors of :class:`RCSLS`,
                the induction of :class:`SelfLearning`.
            progress: Progress in rounds, for iterative maps.

        Raises:
            ConfigError: An option is invalid.
            InputError: The rows or the pairs are invalid; the message has the row.
        """

    def transform(self, X: ArrayT) -> ArrayT:
        """Rows of the source in the common space, as the type given."""
        self._check_fitted()
        return give_back(self._apply(take_rows(X, width=self.widths_[0])), X)

    def transform_target(self, Y: ArrayT) -> ArrayT:
        """Rows of the target in the common space; unchanged for a map that only moves the source."""
        self._check_fitted()
        return give_back(self._apply_target(take_rows(Y, "Y", width=self.widths_[1])), Y)

    def inverse_transform(self, Z: ArrayT) -> ArrayT:
        """Rows of the common space in the source; exact if the map is invertible, else least squares."""
        self._check_fitted()
        return give_back(self._undo(take_rows(Z, "Z", width=self.widths_[2])), Z)

    def inverse_transform_target(self, Z: ArrayT) -> ArrayT:
        """Rows of the common space in the target."""
        self._check_fitted()
        return give_back(self._undo_target(take_rows(Z, "Z", width=self.widths_[2])), Z)

    def to_target(self, X: ArrayT) -> ArrayT:
        """Rows of the source in the target's own space, from which a layer of the target's model can continue."""
        return self.inverse_transform_target(self.transform(X))

    def fit_transform(self, X: ArrayT, Y: Array, *, pairs: Array | None = None) -> ArrayT:
        """Call ``fit``, then ``transform``."""
        return self.fit(X, Y, pairs=pairs).transform(X)

    def score(self, X: Array, Y: Array, *, pairs: Array | None = None) -> float:
        """Mean cosine of paired rows in the common space; comparable between maps."""
        self._check_fitted()
        rows_ND = take_rows(X, width=self.widths_[0])
        others_ME = take_rows(Y, "Y", width=self.widths_[1]).to(rows_ND)
        pairs_P2 = take_pairs(X, Y, pairs).to(rows_ND.device)
        mapped = self._apply(rows_ND[pairs_P2[:, 0]]), self._apply_target(others_ME[pairs_P2[:, 1]])
        for name, rows in zip("XY", mapped, strict=True):
            refuse_zeros(rows, name)
        return float((unit(mapped[0]) * unit(mapped[1])).sum(dim=1).double().mean())

    @abstractmethod
    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        """Rows of the source in the common space."""

    @abstractmethod
    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        """Inverse of :meth:`_apply`."""

    def _keep(self, learned: Mapping[str, Any], like: Array) -> None:
        for name in ("ends_", "given_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        super()._keep(learned, like)

    def _apply_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return rows_ME

    def _undo_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return rows_ME


@dataclass(eq=False, kw_only=True)
class LearnedMap(PairMap):
    """Map that is fitted on checked rows at once; the base of all but :class:`Steps`."""

    same_width: ClassVar[bool] = True
    """whether X and Y must have the same number of columns"""

    def fit(self, X: Array, Y: Array, *, pairs: Array | None = None, progress: Progress = SILENT) -> Self:
        """Fit the map; see :meth:`PairMap.fit`.

        Raises:
            ConfigError: An option is invalid.
            InputError: The rows or the pairs are invalid; the message has the row.
        """
        self.check_options()
        rows_ND, others_ME = take_rows(X), take_rows(Y, "Y")
        pairs_P2 = take_pairs(X, Y, pairs) if self.needs_pairs else torch.empty(0, 2, dtype=torch.long)
        if self.same_width and rows_ND.shape[1] != others_ME.shape[1]:
            remedy = f"{type(self).__name__} needs the same number of columns; LeastSquares, Ridge and CCA do not"
            raise InputError(f"X has {rows_ND.shape[1]} columns and Y {others_ME.shape[1]}", remedy, "shape")
        for rows, name in ((rows_ND, "X"), (others_ME, "Y")):
            refuse_zeros(rows, name)
            refuse_large(rows, name)
        others_ME = others_ME.to(rows_ND)
        self._keep(self._learn(rows_ND, others_ME, pairs_P2.to(rows_ND.device), progress), X)
        return self

    @abstractmethod
    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        """Learned attributes by name, among them ``widths_``."""


@dataclass(eq=False, kw_only=True)
class MatrixMap(LearnedMap):
    """Map of the source by one matrix: ``transform(X) = X @ W_``."""

    W_: Array = field(init=False, repr=False)
    """D × E"""

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("W_", rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ pseudo_inverse(self._tensor("W_", rows_ND.double())).to(rows_ND)


def matrix_learned(W_DE: torch.Tensor) -> dict[str, Any]:
    """Learned attributes of a :class:`MatrixMap`, given its matrix."""
    D, E = W_DE.shape
    return {"W_": W_DE, "widths_": (D, E, E)}


def pseudo_inverse(matrix_DE: torch.Tensor) -> torch.Tensor:
    """Moore–Penrose pseudo-inverse."""
    inverse_ED: torch.Tensor = torch.linalg.pinv(matrix_DE)
    return inverse_ED


def load_map(path: str | Path, *, name: str = FILE, room: ModuleType | None = None) -> Any:  # noqa: ANN401 - the class stands in the file
    """Read an estimator from a file or folder, of the class that was saved.

    Learned arrays are NumPy or torch (on the CPU) as they were; either can transform both types.

    Args:
        path: The file, or a folder.
        name: Name of the file in a folder.
        room: Package whose estimators are allowed. Default: ``isoglot.align``.

    Returns:
        The fitted estimator.

    >>> import tempfile
    >>> import numpy as np
    >>> from isoglot.align import Procrustes
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Procrustes().fit(X, X).save(f"{folder}/map.safetensors")
    ...     found = load_map(f"{folder}/map.safetensors")
    >>> bool(np.allclose(found.transform(X), X))
    True

    Raises:
        CorruptFileError: The file is damaged.
        InputError: It holds something else.
        StorageError: It cannot be read.
    """
    file = array_path(path, name)
    packed, arrays = load_arrays(file, _KIND, remedy="make it with an estimator's save")
    return _unpack(packed, arrays, file, import_module("isoglot.align") if room is None else room)


def _pack(value: Any, key: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    """A value as JSON, with its arrays collected by their path in it."""
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
        problem = f"unknown estimator {name!r}"
        raise InputError(problem, "read it with the version that wrote it", "unknown-format", file=file)
    made = kind(**{option: _unpack(value, arrays, file, room) for option, value in packed["options"].items()})
    for attribute, value in packed["learned"].items():
        setattr(made, attribute, _unpack(value, arrays, file, room))
    return made
