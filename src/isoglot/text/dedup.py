"""What was seen before, in bounded memory: 8 bytes a different line, and on disk from 16 million lines on.

A line is known by the first 8 bytes of its BLAKE2 hash. Two different lines with the same one count as equal: among n
different lines that befalls n²/2⁶⁵ of them, that is 0.0003 lines in a hundred million.

>>> seen = Seen()
>>> seen.add([line_hash("a"), line_hash("b"), line_hash("a")])
[True, True, False]
>>> seen.add([line_hash("b")])
[False]
"""

from __future__ import annotations

import hashlib
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


def line_hash(text: str) -> int:
    """Eight bytes that stand for the text, the same on every machine."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Seen:
    """A set of 64-bit hashes that only grows.

    New ones go to a Python set; a full set becomes a sorted array, and arrays of like size are merged, so that a hash
    is moved log(n) times and looked up in log(n) arrays. An array that has grown to ``spill`` hashes goes to a
    temporary file, which is mapped into memory: the system may take that memory back.

    Args:
        recent: How many hashes the Python set holds, at about 100 bytes each.
        spill: How many hashes an array in memory holds at most, at 8 bytes each; twice that while merging.
    """

    def __init__(self, *, recent: int = 1 << 17, spill: int = 1 << 24) -> None:
        self.limit = recent
        self.spill = spill
        self._recent: set[int] = set()
        self._arrays: list[np.ndarray] = []  # sorted, each at most half as long as the one before, roughly
        self._on_disk: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._recent) + sum(len(array) for array in (*self._arrays, *self._on_disk))

    def add(self, hashes: Sequence[int]) -> list[bool]:
        """Add the hashes; True for each that is there for the first time."""
        old = self._in_arrays(hashes)
        recent = self._recent
        new = []
        for value, known in zip(hashes, old, strict=True):
            first = not known and value not in recent
            if first:
                recent.add(value)
            new.append(first)
        if len(recent) >= self.limit:
            self._settle()
        return new

    def _in_arrays(self, hashes: Sequence[int]) -> list[bool]:
        import numpy as np

        arrays = [*self._arrays, *self._on_disk]
        if not arrays or not hashes:
            return [False] * len(hashes)
        values = np.array(hashes, dtype=np.uint64)
        order = np.argsort(values)  # neighbors share the pages they look at
        sought = values[order]
        found = np.zeros(len(values), dtype=bool)
        for array in arrays:
            place = np.searchsorted(array, sought)
            place[place == len(array)] = 0
            found |= array[place] == sought
        known = np.empty_like(found)
        known[order] = found
        answer: list[bool] = known.tolist()
        return answer

    def _settle(self) -> None:
        import numpy as np

        array = np.sort(np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent)))
        self._recent = set()
        while self._arrays and len(self._arrays[-1]) <= 2 * len(array):
            array = np.sort(np.concatenate((self._arrays.pop(), array)), kind="stable")  # stable: merges in one pass
        if len(array) >= self.spill:
            self._on_disk.append(_mapped(array))
        else:
            self._arrays.append(array)


def _mapped(array: np.ndarray) -> np.ndarray:
    import numpy as np

    with tempfile.TemporaryFile() as file:
        array.tofile(file)
        file.flush()
        return np.memmap(file, dtype=array.dtype, mode="r")
