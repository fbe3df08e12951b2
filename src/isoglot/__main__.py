"""``python -m isoglot``, and the installed command."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def entry() -> NoReturn:
    """Run the command line; an interrupt is silent from the first import on."""
    try:
        signal.signal(signal.SIGTERM, _terminate)
        if sys.stdout is None:  # closed by the caller
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        from isoglot.cli.main import main
        from isoglot.core.run import end_process

        end_process(main())
    except KeyboardInterrupt:
        sys.exit(130)


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    """Leave as from an error, so that the run record says so."""
    sys.exit(128 + number)


if __name__ == "__main__":
    entry()
