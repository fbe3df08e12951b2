"""Ctrl-C in the middle of a step: the first lets the step end, so that it can be saved; the second ends at once."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


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
