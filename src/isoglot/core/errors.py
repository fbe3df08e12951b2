"""Errors a person can act on: each names the place, the value and the remedy, in one line.

The command line prints ``str(error)`` and exits with ``error.exit_code``; a traceback only with ``--debug``.

>>> str(InputError("'abc' is not a number", remedy="write the weight as 0.5", file="en-fr.txt", line=3))
"en-fr.txt:3: 'abc' is not a number; write the weight as 0.5"
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_LONGEST_PART = 1000  # characters of a problem and of a remedy: what they echo of the input may be of any size
_LONGEST_PATH = 4096


class IsoglotError(Exception):
    """What went wrong, where, and what to do about it.

    Args:
        problem: What is wrong, with the offending value in it (see :func:`shown`).
        remedy: What the reader can do now.
        file: The file it was found in.
        line: The line in that file, from 1.
        column: The column in that line, from 1.
    """

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        remedy: str,
        file: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.file = None if file is None else str(file)
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes: with their named arguments, which exceptions lose by themselves."""
        return _rebuilt, (type(self), self.problem, self.remedy, self.file, self.line, self.column)

    def __str__(self) -> str:
        file = None if self.file is None else cut(self.file, _LONGEST_PATH)
        place = ":".join(str(part) for part in (file, self.line, self.column) if part is not None)
        text = f"{cut(self.problem, _LONGEST_PART)}; {cut(self.remedy, _LONGEST_PART)}"
        return one_line(f"{place}: {text}" if place else text)


class ConfigError(IsoglotError):
    """An option, a recipe or a ``--set`` that asks for something that does not exist."""


class InputError(IsoglotError):
    """The content of a file the user gave."""


class StorageError(IsoglotError):
    """A file or folder that cannot be read or written."""


class CorruptFileError(StorageError):
    """A file of ours that is not what was written: cut short or altered."""


class MissingPartError(IsoglotError):
    """An optional library that is not installed."""


class NumericError(IsoglotError):
    """A loss, a gradient or a weight that is not finite."""


class DeviceError(IsoglotError):
    """A device that is not there."""


def _rebuilt(
    kind: type[IsoglotError], problem: str, remedy: str, file: str | None, line: int | None, column: int | None
) -> IsoglotError:
    return kind(problem, remedy=remedy, file=file, line=line, column=column)


def one_line(text: str) -> str:
    """The text with every run of white space and control characters folded into one blank."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shown(value: Any, limit: int = 80) -> str:  # noqa: ANN401 - any value at all may be wrong
    """``repr(value)``, cut in the middle when long, for use inside an error message.

    >>> shown("a" * 200, limit=20)
    "'aaaaaaaa…aaaaaaaaa'"
    """
    return cut(repr(value), limit)


def cut(text: str, limit: int) -> str:
    """The text, cut in the middle when it is longer than the limit."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[head + 1 - limit :]}"


_LISTED_NAMES = 40
_LONGEST_NAME = 60


def nearest_name(name: str, known: Iterable[str]) -> str:
    """A remedy for a misspelt name: the nearest known one, or all of them.

    >>> nearest_name("sed", ["seed", "device"])
    "did you mean 'seed'?"
    >>> nearest_name("xyz", ["seed", "device"])
    'choose one of device, seed'

    Names that were read from a file may be many or long: the first few are listed, each cut to a bounded length.

    >>> nearest_name("xyz", [f"name-{number}" for number in range(100)])[-24:]
    '3, name-44 and 60 others'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name[:_LONGEST_NAME], [one for one in names if len(one) <= _LONGEST_NAME], n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    listed = [one if len(one) <= _LONGEST_NAME else f"{one[:_LONGEST_NAME]}…" for one in names[:_LISTED_NAMES]]
    others = f" and {len(names) - _LISTED_NAMES:,} others" if len(names) > _LISTED_NAMES else ""
    return f"choose one of {', '.join(listed)}{others}" if names else "there is none to choose from"
