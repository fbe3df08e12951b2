"""The JSON file beside our arrays that says what they are, read with every key that will be asked for.

What is expected is written down as a form: a type, a union of types, a tuple of the values there may be, a table of the
keys that must be there, ``{...: form}`` for a table with keys of any name, or ``[form]`` for a list of any length.

>>> check_form({"size": 3, "files": {"a": "00"}}, {"size": int, "files": {...: str}}, "index.json", remedy="")
>>> check_form({"size": 3}, {"size": int, "files": {...: str}}, "index.json", remedy="build them again")
Traceback (most recent call last):
isoglot.core.errors.CorruptFileError: index.json: no 'files' in it; build them again
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.compressed import stored_json
from isoglot.core.errors import CorruptFileError, InputError, shown
from isoglot.core.files import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MISSING = object()


def read_index_file(path: Path, form: dict[Any, Any], *, version: int, what: str, remedy: str) -> dict[str, Any]:
    """An index of ours, compressed or not.

    Args:
        path: Where it is.
        form: What must be in it, beside ``format``.
        version: The ``format`` that is understood.
        what: What it is an index of.
        remedy: How to make it again.

    Raises:
        CorruptFileError: Something is missing in it, or of another type.
        InputError: It is not an index of that format.
        StorageError: It cannot be read.
    """
    found = stored_json(path)
    if not isinstance(found, dict) or found.get("format") != version:
        raise InputError(f"not {what} of format {version}", remedy=remedy, file=path)
    check_form(found, form, path, remedy=remedy)
    return found


def read_form(path: Path, form: Any, *, remedy: str) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """What is in a JSON file of ours, if it has the form it was written in.

    Raises:
        CorruptFileError: Something is missing in it, or of another type.
        StorageError: It cannot be read.
    """
    found = read_json(path)
    check_form(found, form, path, remedy=remedy)
    return found


def check_form(value: Any, form: Any, path: str | Path, *, remedy: str) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Refuse a value that was read from a file of ours and has not the form it was written in.

    Raises:
        CorruptFileError: Something is missing in it, or of another type; the message has the first such key.
    """
    for key, wrong in _misfits(value, form, ""):
        named = repr(key) if key else "what is in it"
        problem = f"no {named} in it" if wrong is _MISSING else f"{named} cannot be {shown(wrong)}"
        raise CorruptFileError(problem, remedy=remedy, file=path)


def _misfits(value: Any, form: Any, key: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - as check_form
    inner: list[tuple[Any, Any]] = []
    if isinstance(form, dict) and isinstance(value, dict):
        inner = [(name, each) for name, each in form.items() if name is not ...]
        inner += [(name, form[...]) for name in value if ... in form]
    elif isinstance(form, list) and isinstance(value, list):
        inner = [(number, form[0]) for number in range(len(value))]
        value = dict(enumerate(value))
    elif isinstance(form, dict | list) or not (value in form if isinstance(form, tuple) else isinstance(value, form)):
        yield key, value
    for name, each in inner:
        yield from _misfits(value.get(name, _MISSING), each, f"{key}.{name}".lstrip("."))
