"""Ctrl-C in the middle of a step: the first lets the step end, so that it can be saved; the second ends at once.

The folder of a run: what it is of, whether it may be begun or gone on with, and what comes out.

In it::

pretrain.json            config and hashes of the data, written first: --resume must be given the same
run.json                 the run record: command, versions, device, time, how it ended
metrics.jsonl            losses, speed, dev perplexity
checkpoints/             the newest whole states
best/                    the encoder with the lowest dev perplexity
last/                    the encoder at the end
"""

from __future__ import annotations

import hashlib
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError
from isoglot.core.files import file_hash, writable_folder
from isoglot.core.folders import restore_folder, sweep
from isoglot.model.load import BEST, LAST, RUN
from isoglot.pretrain.checkpoint import FOLDER
from isoglot.pretrain.config import changed_key
from isoglot.vocab.shards import INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.text.formats.dictionary import Entry
    from isoglot.vocab import Shards, Vocabulary


@contextmanager
def patient_interrupt(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """While the block lasts, the first Ctrl-C does no more than make the function that is given true.

    Nothing changes in a thread or where somebody else takes care of interrupts.

    Args:
        say: Told what the user should know.
    """
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        asked.set()
        # Not from here: what is interrupted may be in the middle of writing.
        text = "interrupted: this step is ended and saved; Ctrl-C again ends at once"
        threading.Thread(target=say, args=(text,)).start()

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked.is_set
        return
    signal.signal(signal.SIGINT, ask)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_FORMAT = 1


def fitting_vocabulary(config: PretrainConfig, shards: Mapping[str, Shards], vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary, once it is known that the shards are of these languages and were made with it.

    Where all languages have one view of it and something is private, the ids of a language are those in its shards.

    Raises:
        ConfigError: Shards of another language or vocabulary, or none at all.
    """
    if not shards:
        raise ConfigError("there are no shards", remedy="name some: --shards en=DIR", code="config.missing-data")
    made = {one.index["vocabulary"]["hash"] for one in shards.values()}
    if len(made) > 1:
        ways = ", ".join(f"{code} with {one.index['vocabulary']['hash'][:12]}…" for code, one in shards.items())
        raise ConfigError(
            f"the shards were made with different vocabularies: {ways}",
            remedy="build all of them with one",
            code="config.other-vocabulary",
        )
    for code, one in shards.items():
        if one.language != code:
            raise ConfigError(
                f"{one.folder}: shards of {one.language}, named {code}",
                remedy=f"write --shards {one.language}=…",
                code="config.other-language",
            )
        one.check_vocabulary(vocabulary)
        vocabulary.ids_of(code)  # refuses a language it does not have
    apart = config.sharing.private & {"emb", "softmax"} or config.masking.random_from == "language"
    if apart and vocabulary.mode in ("joint", "given"):
        return vocabulary.observed({code: one.counts(len(vocabulary)) for code, one in shards.items()})
    return vocabulary


def identity_of(
    config: PretrainConfig,
    shards: Mapping[str, Shards],
    vocabulary: Vocabulary,
    dictionaries: Mapping[tuple[str, str], Iterable[Entry]],
    parallel: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """What makes a run this run: all settings, and hashes of all it learns from."""
    return {
        "format": _FORMAT,
        "config": config.model_dump(mode="json"),
        "data": {
            "vocabulary": vocabulary.hash,
            "shards": {code: file_hash(one.folder / INDEX) for code, one in shards.items()},
            "dictionaries": {"-".join(pair): _hash(repr(list(entries))) for pair, entries in dictionaries.items()},
            "parallel": _hash(repr(list(parallel))) if parallel else None,
        },
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def open_folder(out: Path, identity: Mapping[str, Any], *, resume: bool) -> bool:
    """Begin a run in a folder, or go on with the one there; whether there was one.

    Raises:
        ConfigError: There is a run and no ``resume``, or it is another run.
        StorageError: The folder cannot be written to.
    """
    path = out / RUN
    if path.exists():
        if not resume:
            raise ConfigError(
                f"{out} holds a run already",
                remedy="go on with it by --resume, or name another --out",
                code="config.run-exists",
            )
        there = read_sealed(path, {"config": dict, "data": dict}, remedy="name another --out")
        parts = {"config": "is a run with other settings: ", "data": "is a run on other data: "}
        check_same(out, there, identity, parts)
        for name in (BEST, LAST):
            restore_folder(out / name)
        sweep(out / FOLDER)
        return True
    writable_folder(out)
    write_sealed(path, identity)
    return False


def check_same(out: Path, there: Mapping[str, Any], identity: Mapping[str, Any], parts: Mapping[str, str]) -> None:
    """Refuse to go on with other work in a folder than what was begun there.

    Args:
        out: The folder.
        there: What was begun.
        identity: What is wanted now.
        parts: Which of their parts must be the same, and what to say before the first difference.

    Raises:
        ConfigError: Something is different.
    """
    for part, words in parts.items():
        changed = changed_key(there.get(part), identity[part])
        if changed:
            raise ConfigError(
                f"{out} {words}{changed}",
                remedy="resume with the same, or name another --out",
                code="config.other-settings",
            )
