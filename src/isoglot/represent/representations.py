"""Hidden states of some sentences: one matrix per layer, in memory or on disk.

Shape legend: ``L`` layers, ``N`` rows, ``D`` hidden size.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import ConfigError, InputError, StorageError
from isoglot.represent.array_files import ArrayShape, ArrayWriter, Check, Header, check_same, read_arrays
from isoglot.text.provenance import Provenance, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Representations:
    """One matrix of rows per layer.

    ``representations[4]`` is layer 4 as an N × D array, ``representations[-1]`` the encoder's last layer.

    Args:
        arrays: Matrix of each layer.
        header: Metadata: encoder, language, pooling, hash of the sentences, number of truncated sentences.
        offsets: For words: sentence i has the rows ``offsets[i]`` to ``offsets[i + 1]``.
        counts: For word types: number of contexts each was averaged over.

    >>> import numpy as np
    >>> found = Representations({0: np.zeros((2, 3)), 8: np.ones((2, 3))}, {"depth": 8, "language": "en"})
    >>> found.layers, found.hidden_size, len(found), found[-1].shape
    ((0, 8), 3, 2, (2, 3))
    """

    def __init__(
        self,
        arrays: Mapping[int, np.ndarray],
        header: Header,
        *,
        offsets: np.ndarray | None = None,
        counts: np.ndarray | None = None,
    ) -> None:
        self._arrays = dict(sorted(arrays.items()))
        self.header = dict(header)
        self.offsets = offsets
        self.counts = counts

    @property
    def layers(self) -> tuple[int, ...]:
        """Available layers; 0 is the embeddings."""
        return tuple(self._arrays)

    @property
    def hidden_size(self) -> int:
        """Number of columns."""
        return int(next(iter(self._arrays.values())).shape[1])

    @property
    def words(self) -> tuple[str, ...] | None:
        """Names of the rows, for word types."""
        return tuple(self.header["words"]) if "words" in self.header else None

    @property
    def missing(self) -> tuple[str, ...]:
        """Requested words that do not occur in the corpus."""
        return tuple(self.header.get("missing", ()))

    @property
    def provenance(self) -> Provenance:
        """Texts and dictionaries the encoder was trained on; unknown if the header does not say.

        Raises:
            CorruptFileError: That part of the header is invalid.
        """
        name = str(self.header.get("name") or "vectors")
        return Provenance.from_packed(self.header["provenance"], name) if "provenance" in self.header else unknown(name)

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    def __iter__(self) -> Iterator[int]:
        return iter(self._arrays)

    def __contains__(self, layer: int) -> bool:
        return layer in self._arrays

    def __getitem__(self, layer: int) -> np.ndarray:
        """Matrix of a layer (N × D); negative numbers count from the encoder's last layer.

        Raises:
            ConfigError: The layer is not available.
        """
        depth = int(self.header.get("depth", max(self._arrays)))
        number = layer + depth + 1 if layer < 0 else layer
        if number not in self._arrays:
            raise no_layer(layer, self.layers)
        return self._arrays[number]

    def sentence(self, number: int, layer: int) -> np.ndarray:
        """Rows of one sentence (numbered from 0): its words, or its single vector.

        Raises:
            ConfigError: The layer is not available.
        """
        if self.offsets is None:
            return self[layer][number : number + 1]
        return self[layer][self.offsets[number] : self.offsets[number + 1]]

    def stacked(self) -> np.ndarray:
        """All layers as one array (L × N × D), in memory."""
        return np.stack(list(self._arrays.values()))

    def __repr__(self) -> str:
        where = f"layers {', '.join(map(str, self.layers))}"
        return f"Representations({len(self):,} x {self.hidden_size}, {where}, {self.header.get('pool', '')})"

    # --- files ---

    def save(self, path: str | Path) -> None:
        """Write to ``NAME.safetensors``, to ``NAME.vec`` (one layer of named rows), or to a folder.

        Raises:
            ConfigError: A ``.vec`` file of several layers, or of rows without names.
            StorageError: The file cannot be written.
        """
        if Path(path).suffix == ".vec":
            self._save_vec(path)
            return
        arrays = {layer_name(layer): array for layer, array in self._arrays.items()}
        arrays |= {name: array for name in ("offsets", "counts") if (array := getattr(self, name)) is not None}
        shapes = {
            name: ArrayShape("I64" if name in ("offsets", "counts") else "F32", array.shape)
            for name, array in arrays.items()
        }
        writer = ArrayWriter(path, shapes, self.header)
        for name, array in arrays.items():
            writer.arrays[name][...] = array
        writer.finish(self.header)

    def _save_vec(self, path: str | Path) -> None:
        from isoglot.text.formats.word_vectors import write_vectors

        if len(self._arrays) != 1:
            problem = f"a .vec file holds one layer, not {len(self._arrays)}"
            raise ConfigError(problem, "choose one layer", "not-supported")
        if self.words is None:
            problem = "a .vec file needs a word for every row, and these rows have no names"
            raise ConfigError(problem, "save as .safetensors", "missing-data")
        write_vectors(path, self.words, next(iter(self._arrays.values())), provenance=self.provenance)

    @classmethod
    def open(cls, path: str | Path, *, check: Check = "hashes") -> Representations:
        """Open a file or folder, memory-mapped.

        Args:
            path: The file or folder.
            check: What to verify: all hashes, or only headers and sizes.

        Raises:
            CorruptFileError: A file is damaged.
            InputError: The file or folder holds something else.
            StorageError: It does not exist, or is unfinished.
        """
        header, arrays = read_arrays(path, check)
        names = {name: name.removeprefix("layer.") for name in arrays if name.startswith("layer.")}
        if not names or not all(map(str.isdecimal, names.values())):
            problem = "not representations"
            raise InputError(problem, "choose a file or folder made by isoglot encode", "empty", file=path)
        layers = {int(number): arrays[name] for name, number in names.items()}
        return cls(layers, header, offsets=arrays.get("offsets"), counts=arrays.get("counts"))

    @classmethod
    def load(cls, path: str | Path) -> Representations:
        """Read a file or folder into memory.

        Raises:
            StorageError: As for :meth:`open`.
        """
        found = cls.open(path)
        found._arrays = {layer: np.array(array) for layer, array in found._arrays.items()}
        found.offsets = None if found.offsets is None else np.array(found.offsets)
        found.counts = None if found.counts is None else np.array(found.counts)
        return found


def no_layer(layer: int, there: Iterable[int]) -> ConfigError:
    """Error for a layer that is not available."""
    remedy = f"choose one of {', '.join(map(str, there))}"
    return ConfigError(f"layer {layer} is not available", remedy, "unknown-layer")


def layer_name(layer: int) -> str:
    """Name of a layer's array in files.

    >>> layer_name(4)
    'layer.4'
    """
    return f"layer.{layer}"


def finished(path: str | Path, header: Header) -> Representations | None:
    """Representations at ``path``, if they are complete and were made with the same settings; else None.

    Raises:
        ConfigError: They were made with other settings.
    """
    try:
        found = Representations.open(path)
    except (StorageError, InputError):
        return None
    check_same(Path(path), found.header, header)
    return found
