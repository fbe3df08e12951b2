"""How tests say which error they expect: by its code and the offending value, never by the sentence."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from isoglot.core.errors import IsoglotError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def raises(
    code: str, *values: object, file: str | Path | None = None, line: int | None = None
) -> Iterator[pytest.ExceptionInfo[IsoglotError]]:
    """Expect an error of a code whose message has every given value as a word, at a place in a file if one is given."""
    with pytest.raises(IsoglotError) as caught:
        yield caught
    check(caught.value, code, *values, file=file, line=line)


def check(
    error: IsoglotError, code: str, *values: object, file: str | Path | None = None, line: int | None = None
) -> None:
    """Hold an error to its code, the values in its message and its place."""
    assert error.code == code, f"{error.code}: {error}"
    for value in values:
        assert re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", str(error)), f"no {value} in: {error}"
    if file is not None:
        assert error.file == str(file)
    if line is not None:
        assert error.line == line
