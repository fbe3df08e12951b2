"""Building of token shards: text is streamed, encoded and appended; a journal makes builds resumable.

Ids are appended to the files and flushed to disk before the journal is replaced, so after a crash the files have at
least what the journal says: resuming truncates them there and skips the finished sentences. The ids of a sentence
depend only on itself and its document, so a resumed build has the same bytes.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import islice
from multiprocessing import parent_process
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from isoglot.core.artifact import read_index_file, read_sealed, write_index, write_sealed
from isoglot.core.errors import ConfigError, CorruptFileError, InputError, check_range, one_line, shown
from isoglot.core.files import file_hash, storage_error, writable_folder
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.processing import TextProcessing, processing_left
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.plain import check_text
from isoglot.text.provenance import derived, merged
from isoglot.text.stream import chunks_of, map_chunks
from isoglot.vocab.line_encoder import LineEncoder, LongChunkError, ahead, id_type
from isoglot.vocab.shards import FORMAT, INDEX, JOURNAL, PARTS, SPLITS, Shards, Split, file_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from isoglot.vocab.subword_scheme import Normalization
    from isoglot.vocab.vocabulary import Vocabulary

_BLOCK = 1_000_000  # characters encoded at a time
_BLOCK_LINES = 20_000
_CHECKPOINT = 16_000_000  # characters between journal entries, a few seconds of work
LONGEST_DOCUMENT = 1_000  # sentences per document of a text without blank lines, which would otherwise be in one split


def build_shards(
    texts: Sequence[str | Path],
    vocabulary: Vocabulary,
    language: str,
    out: str | Path,
    *,
    window: int = 256,
    domain: str | None = None,
    sentences: int | None = None,
    dev_share: float = 0.01,
    seed: int = 0,
    resume: bool = True,
    workers: int | None = 1,
    progress: Progress = SILENT,
) -> Shards:
    """Build token shards from text.

    A build of the first N sentences is a prefix of a larger one, split by split, with the same ``dev_share`` and
    ``seed``.

    Args:
        texts: Files with one sentence or paragraph per line and blank lines between documents: as written, or segmented
            as the vocabulary does according to their provenance.
        vocabulary: The vocabulary.
        language: The language of the text.
        out: The folder; created if missing.
        window: Default window size in tokens.
        domain: The domain of the text, such as ``wiki``; recorded, so that runs can require it.
        sentences: Use the first N sentences. Default: all.
        dev_share: The share of documents in the dev split, chosen by each document's first sentence and the seed.
        seed: Random seed of the split.
        resume: Resume an interrupted build of the same text; otherwise start again.
        workers: Number of processes, which does not change the result. More than 1 needs an importable main module, as
            in Python's multiprocessing. None: chosen by the size of the text.
        progress: Progress reporter.

    Returns:
        The shards, open for reading.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text("the house is old " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    ...     shards = build_shards([text], vocabulary, "en", Path(folder) / "shards", window=8)
    >>> shards.language, shards.window
    ('en', 8)

    Raises:
        ConfigError: The folder has shards of something else, an option is out of range, or a text was segmented in
            another way than the vocabulary's.
        CorruptFileError: An interrupted build has lost data, or a text has changed since its record was written.
        InputError: A file is not text, or is empty.
        StorageError: A file cannot be read or written.
    """
    paths = [Path(path) for path in texts]
    _check(paths, window, sentences, dev_share)
    work = Encoding(vocabulary, language, processing_left(paths, vocabulary.processing(language)))
    recipe = {
        "format": FORMAT,
        "language": language_code(language),
        "vocabulary": {"hash": vocabulary.hash, "size": len(vocabulary)},
        "dtype": work.dtype,
        "window": window,
        "domain": domain,
        "sources": [{"file": path.name, "sha256": file_hash(path)} for path in paths],
        "sentences_asked": sentences,
        "dev_share": dev_share,
        "seed": seed,
        "provenance": merged([vocabulary.provenance, derived(paths)]).facts(),
    }
    folder = writable_folder(out)
    state = _start(folder, recipe, resume=resume)
    if state is None:
        return Shards.open(folder)
    with (
        progress.task(f"{recipe['language']}: shards", total=sentences, unit="sentences") as task,
        ExitStack() as stack,
    ):
        writer = _Writer(folder, recipe, state, stack)
        task.advance(state.done)
        blocks = _blocks(paths, sentences, state.done, dev_share, seed)
        for block, encoded in _encoded(blocks, work, workers or workers_for(paths)):
            writer.append(block, encoded)
            task.advance(len(block))
            task.note(f"{state.tokens:,} tokens")
        writer.checkpoint()
    if not state.done:
        for name in (*state.sizes, JOURNAL):
            (folder / name).unlink(missing_ok=True)
        raise InputError("no text", "every line is blank: name another file", "empty", file=paths[0])
    return _finish(folder, recipe, state)


def _check(paths: list[Path], window: int, sentences: int | None, dev_share: float) -> None:
    if not paths:
        raise ConfigError("no text", "name at least one file", "missing-data")
    check_range("window", window, 1)
    check_range("sentences", 1 if sentences is None else sentences, 1)
    check_range("dev_share", dev_share, 0, 0.999)


# --- reading ---


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    split: Split
    opens: bool
    path: Path
    line: int


def _blocks(
    paths: Sequence[Path], sentences: int | None, skip: int, dev_share: float, seed: int
) -> Iterator[list[_Sentence]]:
    """Blocks of sentences that fit in memory, after the finished ones."""
    source = islice(_sentences(paths, dev_share, seed), skip, sentences)
    return chunks_of(source, lines=_BLOCK_LINES, characters=_BLOCK, length=lambda sentence: len(sentence.text))


def _sentences(paths: Sequence[Path], dev_share: float, seed: int) -> Iterator[_Sentence]:
    for path in paths:
        run, split = 0, "train"
        for number, line in read_lines(path):
            if not line or line.isspace():
                run = 0
                continue
            check_text(line, path, number)
            opens = run % LONGEST_DOCUMENT == 0
            if opens:
                split = split_of(line, dev_share, seed)
            run += 1
            yield _Sentence(line, split, opens, path, number)  # type: ignore[arg-type]


def split_of(first: str, dev_share: float, seed: int = 0) -> Split:
    """The split of a document by its first sentence, independent of its position.

    >>> split_of("Once upon a time", dev_share=0)
    'train'
    """
    digest = blake2b(first.encode("utf-8", "surrogatepass"), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return "dev" if int.from_bytes(digest, "little") < dev_share * 2**64 else "train"


def held_out_share(texts: Sequence[str | Path], seed: int = 0, *, least: int = 20) -> float:
    """The smallest usual ``dev_share`` that gives the dev split a hundredth of the sentences, and at most half.

    Args:
        texts: The files, as for :func:`build_shards`.
        seed: Random seed of the split.
        least: Minimum number of sentences in the dev split.

    Raises:
        InputError: The text has too few documents to divide.
    """
    documents: list[list[Any]] = []
    for sentence in _sentences([Path(path) for path in texts], 0.0, seed):
        if sentence.opens:
            documents.append([sentence.text, 0])
        documents[-1][1] += 1
    total = sum(count for _, count in documents)
    for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
        held = sum(count for first, count in documents if split_of(first, share, seed) == "dev")
        if max(least, total / 100) <= held <= total / 2:
            return share
    problem = f"{total:,} sentences in {len(documents)} documents, too few to hold some of them out"
    remedy = "put blank lines between documents, give more text, or give held-out text in a file of its own"
    raise InputError(problem, remedy, "too-few", file=texts[0])


def _encoded(
    blocks: Iterable[list[_Sentence]], work: Encoding, workers: int
) -> Iterator[tuple[list[_Sentence], Sequence[bytes]]]:
    """Encode blocks, while the next is read and the previous one is written."""
    waiting: deque[list[_Sentence]] = deque()

    def texts() -> Iterator[list[str]]:
        for block in blocks:
            waiting.append(block)
            yield [sentence.text for sentence in block]

    try:
        results = map_chunks(work, texts(), workers=workers) if workers > 1 else ahead(work, texts())
        for encoded in results:
            yield waiting.popleft(), encoded
    except LongChunkError as error:
        longest = max(waiting[0], key=lambda sentence: len(sentence.text))
        raise InputError(error.problem, error.remedy, code=error.code, file=longest.path, line=longest.line) from error


class Encoding:
    """Encoder of blocks of lines that can be sent to another process."""

    def __init__(self, vocabulary: Vocabulary, language: str, processing: TextProcessing) -> None:
        self.processing = processing
        self.view = vocabulary.view(vocabulary.code_of(language))
        self.normalization: Normalization | None = vocabulary.about.get("normalization")
        self.dtype = id_type(len(vocabulary)).str
        self._encoder: LineEncoder | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_encoder": None}

    def __call__(self, lines: Sequence[str]) -> list[bytes]:
        """The ids of each line, as bytes."""
        if self._encoder is None:
            import numpy as np

            if parent_process() is not None:  # the processes already share the cores
                os.environ["TOKENIZERS_PARALLELISM"] = "false"
            self._encoder = LineEncoder(
                self.view, normalization=self.normalization, dtype=np.dtype(self.dtype), processing=self.processing
            )
        return self._encoder.encode(lines)


def workers_for(paths: Sequence[Path]) -> int:
    """The default number of processes for a text: one per core, at most four, because of memory.

    Each has to start and fill its cache, so below about 50 MB threads alone are as fast.
    """
    large = sum(path.stat().st_size for path in paths) > 50_000_000
    return min(os.cpu_count() or 1, 4) if large else 1


# --- writing ---


@dataclass
class _State:
    """State of a build: finished sentences and ids, the size of each file, and the open document of each split."""

    done: int = 0
    tokens: int = 0
    sizes: dict[str, int] = field(
        default_factory=lambda: {file_name(split, part): 0 for split in SPLITS for part in PARTS}
    )
    open_document: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))


_COUNTS = {name: dict.fromkeys(count, int) for name, count in asdict(_State()).items() if isinstance(count, dict)}
_FORM = {"recipe": dict, "state": {"done": int, "tokens": int, **_COUNTS}}


def _start(folder: Path, recipe: dict[str, Any], *, resume: bool) -> _State | None:
    """The state to resume from; None if the build is complete."""
    if resume and (folder / INDEX).exists():
        again = "start again with --restart"
        found = read_index_file(folder / INDEX, {}, version=FORMAT, what="shards", remedy=again)
        if all(found.get(key) == value for key, value in recipe.items()):
            (folder / JOURNAL).unlink(missing_ok=True)
            return None
        _raise_mismatch(folder, found, recipe)
    (folder / INDEX).unlink(missing_ok=True)
    if resume and (folder / JOURNAL).exists():
        found = read_sealed(folder / JOURNAL, _FORM, remedy="start again with --restart")
        if found["recipe"] != recipe:
            _raise_mismatch(folder, found["recipe"], recipe)
        return _State(**found["state"])
    write_sealed(folder / JOURNAL, {"recipe": recipe, "state": asdict(_State())})
    return _State()


def _raise_mismatch(folder: Path, found: Any, recipe: dict[str, Any]) -> None:  # noqa: ANN401 - whatever the file holds
    key = next((key for key in recipe if not isinstance(found, dict) or found.get(key) != recipe[key]), "format")
    old = found.get(key) if isinstance(found, dict) else found
    problem = one_line(f"{folder} has shards of something else: {key} {shown(old, 60)}, not {shown(recipe[key], 60)}")
    raise ConfigError(problem, "name another folder, or start again with --restart", "other-settings")


class _Writer:
    """Writer of the six files and the journal."""

    def __init__(self, folder: Path, recipe: dict[str, Any], state: _State, stack: ExitStack) -> None:
        self.folder, self.recipe, self.state = folder, recipe, state
        self.since = 0
        self.files: dict[str, IO[bytes]] = {}
        for name, size in state.sizes.items():
            try:
                file = stack.enter_context((folder / name).open("r+b" if (folder / name).exists() else "w+b"))
                found = file.seek(0, os.SEEK_END)
                if found < size:  # truncating would extend it with zeros
                    problem = f"{found:,} bytes where the journal of the build has {size:,}"
                    remedy = "the file was truncated or lost: start again with --restart"
                    raise CorruptFileError(problem, remedy, "size", file=folder / name)
                file.truncate(size)
                file.seek(size)
            except OSError as error:
                raise storage_error(error, folder / name, doing="write") from error
            self.files[name] = file

    def append(self, block: Sequence[_Sentence], encoded: Sequence[bytes]) -> None:
        """Write a block, and the journal at intervals."""
        try:
            for split in SPLITS:
                self._append(split, block, encoded)
        except OSError as error:
            raise storage_error(error, self.folder, doing="write") from error
        self.state.done += len(block)
        self.since += sum(len(sentence.text) for sentence in block)
        if self.since >= _CHECKPOINT:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Flush the files to disk, then write the journal."""
        try:
            for name, file in self.files.items():
                file.flush()
                os.fsync(file.fileno())
                self.state.sizes[name] = file.tell()
        except OSError as error:
            raise storage_error(error, self.folder, doing="write") from error
        write_sealed(self.folder / JOURNAL, {"recipe": self.recipe, "state": asdict(self.state)})
        self.since = 0

    def _append(self, split: Split, block: Sequence[_Sentence], encoded: Sequence[bytes]) -> None:
        import numpy as np

        width = np.dtype(self.recipe["dtype"]).itemsize
        rows = [index for index, sentence in enumerate(block) if sentence.split == split]
        lengths = np.array([len(encoded[row]) // width for row in rows], dtype="<u4")
        self.files[file_name(split, "ids")].write(b"".join(encoded[row] for row in rows))
        self.files[file_name(split, "sentences")].write(lengths.tobytes())
        self.state.tokens += int(lengths.sum())
        # The length of a document is written when the next one of its split begins: until then it may grow.
        closed: list[int] = []
        running = self.state.open_document[split]
        for row in rows:
            if block[row].opens and running:
                closed.append(running)
                running = 0
            running += 1
        self.state.open_document[split] = running
        self.files[file_name(split, "documents")].write(np.array(closed, dtype="<u4").tobytes())


def _finish(folder: Path, recipe: dict[str, Any], state: _State) -> Shards:
    """Close the last documents and write the index, which completes the build."""
    import numpy as np

    for split in SPLITS:
        path = folder / file_name(split, "documents")
        last = np.array([state.open_document[split]] if state.open_document[split] else [], dtype="<u4").tobytes()
        try:
            with path.open("r+b") as file:
                file.truncate(state.sizes[path.name])
                file.seek(state.sizes[path.name])
                file.write(last)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise storage_error(error, path, doing="write") from error
    width = np.dtype(recipe["dtype"]).itemsize
    bytes_of = {name: (folder / name).stat().st_size for name in state.sizes}
    parts = (("tokens", "ids", width), ("sentences", "sentences", 4), ("documents", "documents", 4))
    counts = {split: {name: bytes_of[file_name(split, part)] // size for name, part, size in parts} for split in SPLITS}
    files = {name: {"bytes": size, "sha256": file_hash(folder / name)} for name, size in bytes_of.items()}
    write_index(folder / INDEX, "shards", FORMAT, {**recipe, "counts": counts, "files": files})
    with suppress(OSError):
        (folder / JOURNAL).unlink()
    return Shards.open(folder, check="sizes")
