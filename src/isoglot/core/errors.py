"""Errors for users: one line that names the place, the value and the remedy, and a stable code.

The command line prints ``str(error)`` and exits with ``error.exit_code``; ``--debug`` adds the traceback. Programs tell
errors apart by ``error.code``, one of :data:`CODES`; messages may change.

>>> error = InputError("'abc' is not a number", "write the weight as 0.5", "malformed-line", file="en-fr.txt", line=3)
>>> str(error)
"en-fr.txt:3: 'abc' is not a number; write the weight as 0.5"
>>> error.code, isinstance(error, ValueError)
('input.malformed-line', True)
"""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_LONGEST_PART = 1000  # characters of a problem or a remedy, which may quote input of any size
_LONGEST_PATH = 4096


CODES = {
    "usage": "an unknown command or option, or an option's value of the wrong type",
    "defect": "a defect of isoglot itself: please report it",
    "error": "any other error",
    "config": "an option, a setting or a recipe asks for something that does not exist",
    "config.built-in-language": "a language that isoglot has no built-in data for",
    "config.conflicting-options": "options or settings that exclude each other or have no effect together",
    "config.current-folder": "the output folder is the current folder",
    "config.diverged": "training diverged: the learning rate is too high",
    "config.duplicate": "something is named or given twice",
    "config.engine": "the cluster that a study should run on does not answer or refuses",
    "config.invalid-value": "a setting has a value of the wrong type or out of range",
    "config.language-code": "not a BCP-47 or ISO 639-3 language code",
    "config.malformed-option": "an option's value that is not of the form it needs, such as language=path",
    "config.malformed-setting": "a --set that is not key=value",
    "config.malformed-toml": "a recipe that is not TOML",
    "config.missing-data": "text, a dictionary, a map or vectors that are needed are not given",
    "config.missing-file": "an option names a file or a folder that does not exist",
    "config.missing-key": "a setting that has no default is missing",
    "config.missing-option": "an option or an argument that is needed is not given",
    "config.mixed-processing": "texts that were segmented or cleaned in different ways",
    "config.not-supported": "a model, a tokenizer or a method that cannot do what is asked",
    "config.other-encoder": "means, maps or vectors of another encoder",
    "config.other-language": "data, maps or options of languages that do not go together",
    "config.other-settings": "a run, shards or vectors that were begun with other settings",
    "config.other-size": "sizes that do not go together, of models, vocabularies, maps or vectors",
    "config.other-vocabulary": "shards or token sets of another vocabulary",
    "config.requirement": "a vocabulary, plan or text that the recipe does not allow",
    "config.run-exists": "the output folder holds a run already",
    "config.unknown-key": "a setting that does not exist",
    "config.unknown-language": "a language that the vocabulary, the encoder or the file does not have",
    "config.unknown-layer": "a layer that the encoder does not have",
    "config.unknown-name": "an option's value that is none of the known ones",
    "config.unknown-recipe": "no recipe of that name",
    "config.would-overwrite": "a file that the command reads, or that another command wrote, would be replaced",
    "input": "the content of a file or an array that was given",
    "input.column-count": "a line or a row with too few or too many columns",
    "input.constant": "rows that are all the same, so that nothing can be compared",
    "input.damaged-compression": "a compressed file that cannot be decompressed",
    "input.duplicate": "an item or a value that comes twice",
    "input.duplicate-column": "two columns of a table with one name",
    "input.empty": "a file, a text or an array with nothing in it",
    "input.leak": "a test that holds what was trained on",
    "input.line-count": "files that should correspond line by line have different numbers of lines",
    "input.line-length": "a line longer than any line of text is",
    "input.malformed-json": "not JSON",
    "input.malformed-line": "a line that does not have the format of its file",
    "input.malformed-tree": "heads that do not form a tree",
    "input.malformed-xml": "not XML",
    "input.no-match": "two sets of items that have none in common",
    "input.not-finite": "a number that is infinite or not a number",
    "input.not-utf8": "bytes that are not UTF-8",
    "input.not-writable": "content that the output format cannot hold",
    "input.other-data": "results or files that are of different data",
    "input.out-of-range": "a number or a position that is out of range",
    "input.pipe": "a pipe that would have to be read twice",
    "input.ragged": "nested lists of unequal lengths",
    "input.row-count": "arrays that should correspond row by row have different numbers of rows",
    "input.shape": "an array of the wrong shape",
    "input.task-file": "the Python file of a task fails or registers no task",
    "input.too-few": "too few items for what is to be computed",
    "input.too-large": "numbers that are too large to compute with",
    "input.type": "an array or an object of the wrong type",
    "input.unknown-column": "a column that the table does not have",
    "input.unknown-format": "a file of another kind or of another version of the format",
    "input.unknown-label": "a label that the task does not have",
    "input.zero-row": "a row that has no direction because it is zero",
    "storage": "a file or a folder that cannot be read or written",
    "storage.changed": "a file or a study that has changed since it was recorded",
    "storage.disk-full": "the disk is full",
    "storage.is-folder": "a folder where a file is needed",
    "storage.link-cycle": "symbolic links that lead in a circle",
    "storage.locked": "another process writes to the same place",
    "storage.model-not-found": "no model of that name or in that folder",
    "storage.not-a-folder": "a file where a folder is needed",
    "storage.not-found": "no such file or folder",
    "storage.not-replaceable": "the output folder holds something that isoglot did not write",
    "storage.permission": "permission denied",
    "storage.tokenizer-not-found": "no tokenizer of that name or in that folder",
    "storage.unfinished": "a run or a build that has not finished",
    "corrupt-file": "a file that isoglot wrote has been cut short or altered",
    "corrupt-file.hash": "the content has another hash than when it was written",
    "corrupt-file.missing-part": "a file that belongs to it is missing",
    "corrupt-file.size": "the file has another size than when it was written",
    "missing-extra": "an optional library is not installed",
    "numeric": "a loss, a gradient or a weight is not finite",
    "device": "a device that is not there or cannot do the work",
    "device.not-found": "no such device",
    "not-fitted": "an estimator that has learned nothing yet",
    "process": "another process of a distributed run failed",
    "worker": "a worker process ended before its work was done",
}
"""Every error code with its meaning, listed in docs/ERRORS.md. The part before the dot is that of the class."""


class IsoglotError(Exception):
    """Base class of errors: what is wrong, where, and what to do about it.

    Args:
        problem: What is wrong, with the offending value in it (see :func:`shown`).
        remedy: What the reader can do now.
        code: One of :data:`CODES`, or its part after the dot. Default: that of the class.
        file: The file with the error.
        line: The line in that file, from 1.
        column: The column in that line, from 1.

    >>> error = IsoglotError("no layer 9", "choose from 0 to 8", "config.unknown-layer", file="run.toml", line=3)
    >>> print(error)
    run.toml:3: no layer 9; choose from 0 to 8
    >>> error.code
    'config.unknown-layer'
    """

    exit_code = 2
    code = "error"

    def __init__(
        self,
        problem: str,
        remedy: str,
        code: str = "",
        *,
        file: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.remedy = problem, remedy
        self.file = None if file is None else str(file)
        self.line, self.column = line, column
        if code:
            self.code = code if "." in code or code in CODES else f"{self.code}.{code}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the keyword arguments, which exceptions lose otherwise."""
        make = partial(type(self), file=self.file, line=self.line, column=self.column)
        return make, (self.problem, self.remedy, self.code)

    def prefixed(self, place: str, *, file: str | Path | None = None) -> Self:
        """The same error with a place before the problem, such as ``layer 3``, or in a file."""
        problem = f"{place}: {self.problem}" if place else self.problem
        file = self.file if file is None else file
        return type(self)(problem, remedy=self.remedy, code=self.code, file=file, line=self.line, column=self.column)

    def as_dict(self) -> dict[str, Any]:
        """Code, message, place and remedy, as ``--json`` prints them."""
        return {
            "code": self.code,
            "message": one_line(cut(self.problem, _LONGEST_PART)),
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "remedy": one_line(cut(self.remedy, _LONGEST_PART)),
        }

    def __str__(self) -> str:
        file = None if self.file is None else cut(self.file, _LONGEST_PATH)
        place = ":".join(str(part) for part in (file, self.line, self.column) if part is not None)
        text = f"{cut(self.problem, _LONGEST_PART)}; {cut(self.remedy, _LONGEST_PART)}"
        return one_line(f"{place}: {text}" if place else text)


class ConfigError(IsoglotError, ValueError):
    """Invalid option, recipe or ``--set``."""

    code = "config"


class InputError(IsoglotError, ValueError):
    """Invalid input: the content of a file, or an argument."""

    code = "input"


class StorageError(IsoglotError, OSError):
    """File or folder that cannot be read or written."""

    code = "storage"


class CorruptFileError(StorageError):
    """File written by isoglot that was truncated or altered."""

    code = "corrupt-file"


class MissingPartError(IsoglotError):
    """Optional library that is not installed."""

    code = "missing-extra"


class NumericError(IsoglotError):
    """Loss, gradient or weight that is not finite."""

    code = "numeric"


class DeviceError(IsoglotError):
    """Device that does not exist or cannot do the work."""

    code = "device"


def one_line(text: str) -> str:
    """Replace every run of white space and control characters by one blank."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shown(value: Any, limit: int = 80) -> str:  # noqa: ANN401 - any value at all may be wrong
    """``repr(value)`` for an error message, shortened in the middle if it is long.

    >>> shown("a" * 200, limit=20)
    "'aaaaaaaa…aaaaaaaaa'"
    """
    return cut(repr(value), limit)


def cut(text: str, limit: int) -> str:
    """Shorten a text in the middle if it is longer than the limit."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[head + 1 - limit :]}"


_LISTED_NAMES = 40
_LONGEST_NAME = 60


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Remedy for a misspelled name: the nearest known one, or all of them.

    >>> nearest_name("sed", ["seed", "device"])
    "did you mean 'seed'?"
    >>> nearest_name("xyz", ["seed", "device"])
    'choose one of device, seed'

    Names may come from a file and be many or long: the first few are listed, each shortened.

    >>> nearest_name("xyz", [f"name-{number}" for number in range(100)])[-24:]
    '3, name-44 and 60 others'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name[:_LONGEST_NAME], [one for one in names if len(one) <= _LONGEST_NAME], n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    listed = [one if len(one) <= _LONGEST_NAME else f"{one[:_LONGEST_NAME]}…" for one in names[:_LISTED_NAMES]]
    others = f" and {len(names) - _LISTED_NAMES:,} others" if len(names) > _LISTED_NAMES else ""
    return f"choose one of {', '.join(listed)}{others}" if names else "there are none to choose from"


def check_name(what: str, name: Any, known: Iterable[str], code: str = "unknown-name") -> None:  # noqa: ANN401
    """Check that a name is one of the known ones.

    >>> check_name("metric", "cosin", ["cosine", "euclidean"])
    Traceback (most recent call last):
    isoglot.core.errors.ConfigError: unknown metric 'cosin'; did you mean 'cosine'?

    Raises:
        ConfigError: It is not; the message has the nearest one.
    """
    names = tuple(known)
    if name not in names:
        remedy = nearest_name(str(name), names)
        raise ConfigError(f"unknown {what} {shown(name)}", remedy, code)


def check_counts(what: str, counts: Mapping[str, int], remedy: str, code: str = "row-count") -> None:
    """Check that things that correspond one by one are equally many.

    >>> check_counts("rows", {"X": 3, "Y": 4}, "give the same items in the same order")
    Traceback (most recent call last):
    isoglot.core.errors.InputError: different numbers of rows: 3 in X, 4 in Y; give the same items in the same order

    Raises:
        InputError: They are not.
    """
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} in {name}" for name, count in counts.items())
        raise InputError(f"different numbers of {what}: {listed}", remedy, code)


def check_range(name: str, value: float, low: float, high: float | None = None) -> None:
    """Check that a number is not below ``low``, nor above ``high`` if that is given.

    >>> check_range("rate", 1.5, 0, 1)
    Traceback (most recent call last):
    isoglot.core.errors.ConfigError: rate 1.5 is out of range; choose a number from 0 to 1

    Raises:
        ConfigError: It is.
    """
    if not (low <= value and (high is None or value <= high)):
        remedy = f"choose {low} or more" if high is None else f"choose a number from {low} to {high}"
        raise ConfigError(f"{name} {value} is out of range", remedy, "invalid-value")


_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
# DEL has a picture too; C1 controls (U+009B begins an escape sequence), lone surrogates and noncharacters have none.
_NO_PICTURE = (*range(0x80, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
_VISIBLE = {**_PICTURES, 0x7F: "\u2421", **dict.fromkeys(_NO_PICTURE, "\ufffd")}


def visible(text: str) -> str:
    r"""Make control characters visible, so that no terminal or XML parser acts on them; line feeds and tabs stay.

    C0 controls and DEL become Unicode control pictures; C1 controls, lone surrogates, U+FFFE and U+FFFF become U+FFFD.

    >>> visible("red \x1b[31m, bell \x07, \x9b31m\n")
    'red ␛[31m, bell ␇, �31m\n'
    """
    return text.translate(_VISIBLE)
