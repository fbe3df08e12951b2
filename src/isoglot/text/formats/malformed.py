"""What to do with malformed records: stop at the first, or skip so many and say how many there were."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
Record = TypeVar("Record")


class Skip:
    """Allows so many malformed records; one more stops the reading with that record's error.

    Args:
        allowed: How many records may be skipped.
    """

    def __init__(self, allowed: int = 0) -> None:
        self.allowed = allowed
        self.count = 0
        """How many were skipped so far."""
        self.first: InputError | None = None
        """What was wrong with the first of them."""

    def take(self, error: InputError) -> None:
        """Count a malformed record, or raise its error if there have been enough.

        Raises:
            InputError: No more may be skipped.
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


def parsed(items: Iterable[Item], parse: Callable[[Item], Record], skip: Skip | None) -> Iterator[Record]:
    """Each item parsed; what is malformed is skipped as far as that is allowed (None: not at all)."""
    for item in items:
        try:
            record = parse(item)
        except InputError as error:
            if skip is None:
                raise
            skip.take(error)
            continue
        yield record
