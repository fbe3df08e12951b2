"""Parallel processing of chunks of lines: results come in order, with only a few chunks in memory at a time.

The chunks, and so the results, do not depend on the number of processes.

>>> list(map_chunks(len, chunks_of(["a", "b", "c"], lines=2)))
[2, 1]
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, Any, TypeVar, cast

from isoglot.core.errors import IsoglotError, check_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ItemT = TypeVar("ItemT")
ChunkT = TypeVar("ChunkT")
ResultT = TypeVar("ResultT")

_AHEAD = 2  # queued chunks per process


class WorkerError(IsoglotError):
    """Worker process that died."""

    code = "worker"


def chunks_of(
    texts: Iterable[ItemT],
    *,
    lines: int = 4096,
    characters: int = 1 << 18,
    length: Callable[[ItemT], int] = len,  # type: ignore[assignment]
) -> Iterator[list[ItemT]]:
    """Divide lines into chunks of about half a megabyte.

    Args:
        texts: The lines.
        lines: Maximum number of lines of a chunk.
        characters: A chunk with this many characters is complete.
        length: The number of characters of an item.
    """
    chunk: list[ItemT] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += length(text)
        if len(chunk) == lines or size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def map_chunks(work: Callable[[ChunkT], ResultT], chunks: Iterable[ChunkT], *, workers: int = 1) -> Iterator[ResultT]:
    """``work(chunk)`` for every chunk, in order.

    Args:
        work: A function or object that can be pickled; it is sent to each process once.
        chunks: The chunks; at most two per process are read ahead.
        workers: Number of processes; 1 uses the current one.

    Raises:
        ConfigError: ``workers`` is below 1.
        WorkerError: A process was killed, or could not start.
    """
    check_range("workers", workers, 1)
    if workers == 1:
        yield from map(work, chunks)
        return
    # spawn: a fork would copy the threads of the progress bar
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (work,))
    waiting: deque[Future[Any]] = deque()
    try:
        for chunk in chunks:
            with _interrupts_held():
                waiting.append(pool.submit(_run, chunk))
            if len(waiting) > _AHEAD * workers:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _result(future: Future[Any]) -> Any:  # noqa: ANN401 - what the work returns
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process ended before its work was done", remedy="if it ran out of memory, use fewer --workers"
        ) from error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in processes started in this block, which inherit the signal mask: the parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the worker ---

_work: Callable[[Any], Any] | None = None


def _start_worker(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - a worker has one work all its life
    _work = work
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Exit when the parent was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(chunk: object) -> object:
    return cast("Callable[[Any], Any]", _work)(chunk)
