"""Token shards: a text as a memory-mapped stream of ids, with an index.

A folder::

    index.json               language, hashes of vocabulary and text, counts, size and hash of each file below
    train.ids.bin, dev…      ids, little-endian, uint16 if they fit, else uint32
    train.sentences.bin      ids in each sentence, uint32
    train.documents.bin      sentences in each document, uint32

The stream has no special tokens: the lengths give the ends of sentences and documents. The index is written last, so a
folder without one is an interrupted build.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.artifact import read_index_file
from isoglot.core.errors import ConfigError, CorruptFileError, StorageError, check_name, check_range
from isoglot.core.files import check_file
from isoglot.text.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from isoglot.vocab.vocabulary import Vocabulary

Split = Literal["train", "dev"]
Check = Literal["hashes", "sizes"]  # what opening checks: the content of every file, or only its size

SPLITS: tuple[Split, ...] = ("train", "dev")
PARTS = ("ids", "sentences", "documents")
INDEX = "index.json"
JOURNAL = "building.json"
FORMAT = 1
_FORM = {
    "language": str,
    "vocabulary": {"hash": str, "size": int},
    "dtype": ("<u2", "<u4"),
    "window": int,
    "provenance": {"sources": [dict], "dictionaries": [dict]},
    "counts": {split: {"tokens": int, "sentences": int, "documents": int} for split in SPLITS},
    "files": {f"{split}.{part}.bin": {"bytes": int, "sha256": str} for split in SPLITS for part in PARTS},
}


def file_name(split: Split, part: str) -> str:
    """The file name of a part of a split."""
    return f"{split}.{part}.bin"


class Windows:
    """Windows of a stream of ids; the last one may be shorter.

    >>> import numpy as np
    >>> [window.tolist() for window in Windows(np.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, ids: np.ndarray, size: int) -> None:
        check_range("window", size, 1)
        self.ids, self.size = ids, size

    def __len__(self) -> int:
        return (len(self.ids) + self.size - 1) // self.size

    def __getitem__(self, index: int) -> np.ndarray:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        start = index % len(self) * self.size
        return self.ids[start : start + self.size]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(len(self)))

    @property
    def full(self) -> np.ndarray:
        """The full windows as one array (N x size) that shares the memory."""
        count = len(self.ids) // self.size
        return self.ids[: count * self.size].reshape(count, self.size)


@dataclass(frozen=True)
class Shards:
    """Text of a language as ids, opened for reading.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.vocab import build_shards, train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text("the house is old " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    ...     _ = build_shards([text], vocabulary, "en", Path(folder) / "shards", window=8)
    ...     shards = Shards.open(Path(folder) / "shards")
    >>> shards.language, shards.window
    ('en', 8)
    """

    folder: Path
    index: dict[str, Any]
    """The content of ``index.json``."""

    @classmethod
    def open(cls, folder: str | Path, *, check: Check = "hashes") -> Shards:
        """Open a folder of shards and check its files.

        Raises:
            CorruptFileError: A file is missing, truncated or altered.
            InputError: ``index.json`` is not an index of shards.
            StorageError: There are no complete shards.
        """
        folder = Path(folder)
        if not (folder / INDEX).exists():
            if (folder / JOURNAL).exists():
                problem, remedy = "the build was interrupted", "run the same isoglot shards build again to finish it"
                raise StorageError(problem, remedy, "unfinished", file=folder)
            problem = "no shards in this folder"
            raise StorageError(problem, "build them with isoglot shards build", "not-found", file=folder)
        index = read_index_file(folder / INDEX, _FORM, version=FORMAT, what="shards", remedy="build them again")
        for name, facts in index["files"].items():
            path = folder / name
            size = path.stat().st_size if path.exists() else None
            if size != facts["bytes"]:
                found = "is missing" if size is None else f"has {size:,} bytes"
                problem = f"{found} where {facts['bytes']:,} bytes were written"
                raise CorruptFileError(problem, "build the shards again, or copy them again", "size", file=path)
            if check == "hashes":
                check_file(path, sha256=facts["sha256"])
        return cls(folder, index)

    @property
    def provenance(self) -> Provenance:
        """The texts and dictionaries of the shards and of their vocabulary."""
        return Provenance.from_facts(self.index["provenance"], self.folder / INDEX)

    @property
    def language(self) -> str:
        """The language of the text."""
        return str(self.index["language"])

    @property
    def domain(self) -> str | None:
        """The declared domain of the text, such as ``wiki``, or None."""
        domain = self.index.get("domain")
        return None if domain is None else str(domain)

    @property
    def window(self) -> int:
        """The default window size."""
        return int(self.index["window"])

    def ids(self, split: Split = "train") -> np.ndarray:
        """The memory-mapped stream of a split."""
        return self._array(split, "ids", self.index["dtype"])

    def windows(self, size: int | None = None, split: Split = "train") -> Windows:
        """The windows of a split, of the default size or another, such as 20 for the second paper's short contexts."""
        return Windows(self.ids(split), self.window if size is None else size)

    def sentences(self, split: Split = "train") -> Iterator[np.ndarray]:
        """The ids of each sentence."""
        ids = self.ids(split)
        start = 0
        for length in self.sentence_lengths(split).tolist():
            yield ids[start : start + length]
            start += length

    def sentence_lengths(self, split: Split = "train") -> np.ndarray:
        """The number of ids of each sentence."""
        return self._array(split, "sentences", "<u4")

    def document_lengths(self, split: Split = "train") -> np.ndarray:
        """The number of sentences of each document."""
        return self._array(split, "documents", "<u4")

    def counts(self, size: int | None = None) -> np.ndarray:
        """The count of each id in both splits (V)."""
        import numpy as np

        total = np.zeros(size or int(self.index["vocabulary"]["size"]), dtype=np.int64)
        for split in SPLITS:
            ids = self.ids(split)
            for start in range(0, len(ids), 2**24):
                total += np.bincount(ids[start : start + 2**24], minlength=len(total))
        return total

    def types(self) -> int:
        """The number of ids that occur."""
        return int((self.counts() > 0).sum())

    def facts(self) -> dict[str, Any]:
        """Folder, language, counts and sources, as JSON values."""
        keys = ("language", "domain", "counts", "window", "dtype", "vocabulary", "sources")
        return {"folder": str(self.folder), **{key: self.index.get(key) for key in keys}}

    def check_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Check that the shards were built with a vocabulary.

        Raises:
            ConfigError: The hashes differ.
        """
        made = self.index["vocabulary"]["hash"]
        if made != vocabulary.hash:
            problem = f"{self.folder}: made with vocabulary {made[:12]}…, not with this one ({vocabulary.hash[:12]}…)"
            raise ConfigError(problem, "name the vocabulary of the shards, or build them again", "other-vocabulary")

    def _array(self, split: Split, part: str, dtype: str) -> np.ndarray:
        import numpy as np

        check_name("split", split, SPLITS)
        path = self.folder / file_name(split, part)
        if not path.stat().st_size:  # an empty file cannot be mapped
            return np.zeros(0, dtype=dtype)
        return np.memmap(path, dtype=dtype, mode="r")
