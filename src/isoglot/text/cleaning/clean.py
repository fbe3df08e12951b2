"""Cleaning of text: control characters, NFKC, white space, lines in other scripts, line lengths, duplicates.

>>> clean_line("ﬁne\u200b  cafe\u0301\u3000№ 5")
'fine café No 5'

Duplicates are found in bounded memory: 8 bytes per distinct line, on disk from 16 million lines on. A line is
identified by the first 8 bytes of its BLAKE2 hash; among n distinct lines n²/2⁶⁵ collide, 0.0003 in a hundred million.

>>> seen = Seen()
>>> seen.add([line_hash("a"), line_hash("b"), line_hash("a")])
[True, True, False]
>>> seen.add([line_hash("b")])
[False]
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from isoglot.core.config import Config
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.scripts import in_other_scripts
from isoglot.text.stream import Report, chunks_of, map_chunks, read_stream, rewriting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.text.formats.lines import Skip

# Control characters (but white space), format characters without meaning in plain text (soft hyphens, zero-width
# spaces, directional marks, byte order marks, tags) and noncharacters. The joiners U+200C and U+200D are needed in
# Persian, Indic scripts and emoji; private use is the script of artificial languages.
_REMOVED = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0001\U000e0020-\U000e007f\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_REMOVED}]+")
# Full-width characters of nearly every Chinese line. Replacing them first is only for speed: NFKC takes ten times as
# long, and often has nothing left to do afterwards.
_WIDE = tuple((wide, unicodedata.normalize("NFKC", wide)) for wide in "，（）：；？！％～／")


class CleanConfig(Config):
    """Settings of cleaning."""

    min_script_share: float = Field(0.3, ge=0, le=1)
    """minimum share of letters of the language's scripts in a line; 0 keeps every line"""
    min_characters: int = Field(1, ge=1)
    """minimum number of characters of a line"""
    max_characters: int | None = Field(None, ge=1)
    """maximum number of characters of a line; None: no limit"""
    deduplicate: Literal["line", "document", "none"] = "line"
    """line: drop repeated lines; document: drop repeated documents; none: keep everything"""

    @model_validator(mode="after")
    def _check(self) -> CleanConfig:
        if self.max_characters is not None and self.max_characters < self.min_characters:
            raise ValueError("max_characters must not be below min_characters")
        return self


Reason = Literal["empty", "short", "long", "script", "duplicate"]
_KEPT, _BOUNDARY = 0, 1
_REASONS: dict[int, Reason] = {2: "empty", 3: "short", 4: "long", 5: "script"}
_CODES = {reason: code for code, reason in _REASONS.items()}


@dataclass
class CleanReport(Report):
    """Counts of the lines of a language."""

    lines: int = 0
    kept: int = 0
    changed: int = 0  # lines that are kept, but changed
    dropped: Counter[Reason] = field(default_factory=Counter)
    documents: int = 0
    documents_kept: int = 0
    duplicate_documents: int = 0
    skipped: int = 0  # malformed lines
    characters: int = 0
    characters_kept: int = 0

    def facts(self) -> dict[str, Any]:
        """The report as JSON values."""
        reasons = (*_REASONS.values(), "duplicate")
        return super().facts() | {"dropped": {reason: self.dropped[reason] for reason in reasons}}


def clean_line(line: str) -> str:
    """Remove control characters, normalize to NFKC, and reduce white space to single blanks.

    It is idempotent. Zero-width spaces are removed, so Thai and Khmer lose marks of word ends.
    """
    printable = line.isprintable()
    if not printable:
        # before NFKC, because neighbors may now compose
        line = _CONTROL.sub("", line)
    if not line.isascii():
        for wide, narrow in _WIDE:
            line = line.replace(wide, narrow)
        if not unicodedata.is_normalized("NFKC", line):
            line = unicodedata.normalize("NFKC", line)
    if not printable or "  " in line or line[:1] == " " or line[-1:] == " ":
        line = " ".join(line.split())
    return line


@dataclass
class CleanedChunk:
    """Result for a chunk of a stream."""

    lines: list[str]
    fates: bytes  # for each line: 0 kept, 1 the end of a document, other values the reason why it is dropped
    hashes: list[int]  # hashes of the lines that are kept
    characters: int
    changed: int


@dataclass(frozen=True)
class ChunkCleaner:
    """Cleaner of a chunk of a stream, for :func:`isoglot.text.stream.map_chunks`."""

    language: str
    config: CleanConfig

    def __call__(self, chunk: list[str]) -> CleanedChunk:
        """Clean the lines and decide which to keep."""
        lines = [clean_line(line) for line in chunk]
        least = self.config.min_script_share
        strange = in_other_scripts(lines, self.language, least_share=least) if least else ()
        shortest, longest = self.config.min_characters, self.config.max_characters
        fates = bytearray(len(lines))
        hashes = []
        changed = 0
        for number, (before, line) in enumerate(zip(chunk, lines, strict=True)):
            if not before:
                fates[number] = _BOUNDARY
            elif not line:
                fates[number] = _CODES["empty"]
            elif len(line) < shortest:
                fates[number] = _CODES["short"]
            elif longest is not None and len(line) > longest:
                fates[number] = _CODES["long"]
            elif number in strange:
                fates[number] = _CODES["script"]
            else:
                hashes.append(line_hash(line) if self.config.deduplicate != "none" else 0)
                changed += before != line
        return CleanedChunk(lines, bytes(fates), hashes, sum(map(len, chunk)), changed)


def clean_files(
    paths: Sequence[str | Path],
    target: str | Path,
    language: str,
    config: CleanConfig,
    *,
    workers: int = 1,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> CleanReport:
    """Clean the files of a language into one file; documents that lose all their lines are dropped.

    With ``deduplicate="document"`` one document is in memory at a time; otherwise memory is constant.

    Raises:
        CorruptFileError: A file has changed since its record was written.
        InputError: A line is not UTF-8 text.
        StorageError: A file cannot be read or written.
    """
    report = CleanReport()
    seen = Seen()
    by_document = config.deduplicate == "document"
    document: list[str] = []
    digest = hashlib.blake2b(digest_size=8)
    chunks = chunks_of(read_stream(paths, skip=skip))
    step = {"step": "clean", "language": language, **config.model_dump(mode="json")}
    with rewriting(paths, target, step, progress=progress) as (writer, task):
        for chunk in map_chunks(ChunkCleaner(language, config), chunks, workers=workers):
            new = iter(seen.add(chunk.hashes) if config.deduplicate == "line" else [True] * len(chunk.hashes))
            hashes = iter(chunk.hashes)
            for line, fate in zip(chunk.lines, chunk.fates, strict=True):
                if fate == _KEPT:
                    value = next(hashes)
                    if not next(new):
                        report.dropped["duplicate"] += 1
                    elif by_document:
                        document.append(line)
                        digest.update(value.to_bytes(8, "little"))
                    else:
                        writer.write(line)
                        report.characters_kept += len(line)
                elif fate == _BOUNDARY:
                    report.documents += 1
                    if by_document and document:
                        if seen.add([int.from_bytes(digest.digest(), "little")])[0]:
                            writer.write_all(document)
                            report.characters_kept += sum(map(len, document))
                        else:
                            report.duplicate_documents += 1
                            report.dropped["duplicate"] += len(document)
                        document, digest = [], hashlib.blake2b(digest_size=8)
                    writer.write("")
            for code, reason in _REASONS.items():
                report.dropped[reason] += chunk.fates.count(code)
            report.lines += len(chunk.fates) - chunk.fates.count(_BOUNDARY)
            report.characters += chunk.characters
            report.changed += chunk.changed
            task.advance(len(chunk.lines))
    report.kept, report.documents_kept = writer.lines, writer.documents
    report.skipped = 0 if skip is None else skip.count
    return report


def line_hash(text: str) -> int:
    """A 64-bit hash of a text, the same on every machine."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Seen:
    """Append-only set of 64-bit hashes.

    New hashes go to a Python set; a full set becomes a sorted array, and arrays of similar size are merged, so that a
    hash is moved log(n) times and looked up in log(n) arrays. An array of ``spill`` hashes is moved to a memory-mapped
    temporary file.

    Args:
        recent: Capacity of the Python set, at about 100 bytes per hash.
        spill: Maximum size of an array in memory, at 8 bytes per hash; twice that while merging.
    """

    def __init__(self, *, recent: int = 1 << 17, spill: int = 1 << 24) -> None:
        self.limit = recent
        self.spill = spill
        self._recent: set[int] = set()
        self._arrays: list[np.ndarray] = []  # sorted; each about half as long as the one before, at most
        self._on_disk: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._recent) + sum(len(array) for array in (*self._arrays, *self._on_disk))

    def add(self, hashes: Sequence[int]) -> list[bool]:
        """Add hashes; True for each that is new."""
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
        order = np.argsort(values)  # sorted queries share pages
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
            array = np.sort(np.concatenate((self._arrays.pop(), array)), kind="stable")  # merges in one pass
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
