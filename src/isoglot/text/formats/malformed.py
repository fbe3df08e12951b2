"""Malformed records: their error, and a limited tolerance for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Item = TypeVar("Item")
Record = TypeVar("Record")


class Skip:
    """Tolerance for malformed records: skips and counts them up to a limit, then raises.

    Args:
        allowed: The number of records to skip at most.
    """

    def __init__(self, allowed: int = 0) -> None:
        self.allowed = allowed
        self.count = 0
        """Records skipped so far."""
        self.first: InputError | None = None
        """Error of the first of them."""

    def take(self, error: InputError) -> None:
        """Count a malformed record, or raise its error if the limit is reached.

        Raises:
            InputError: The limit is reached.
        """
        if self.count >= self.allowed:
            if self.allowed:
                problem = f"{error.problem}, after {self.count} skipped"
                raise InputError(
                    problem, remedy=error.remedy, code=error.code, file=error.file, line=error.line, column=error.column
                ) from error
            raise error
        self.first = self.first or error
        self.count += 1


def malformed(problem: str, remedy: str, path: str | Path | None, line: int | None) -> InputError:
    """The error of a line that does not have the format of its file."""
    return InputError(problem, remedy=remedy, code="input.malformed-line", file=path, line=line)


def parsed(items: Iterable[Item], parse: Callable[[Item], Record], skip: Skip | None) -> Iterator[Record]:
    """Parse every item; malformed ones are skipped as far as ``skip`` allows."""
    for item in items:
        try:
            record = parse(item)
        except InputError as error:
            if skip is None:
                raise
            skip.take(error)
            continue
        yield record
