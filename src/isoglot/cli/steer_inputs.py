"""Input of the ``isoglot steer`` commands: sentences, dictionaries, alphas."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.cli.inputs import parse_pairs
from isoglot.cli.options import refuse_both
from isoglot.core.errors import ConfigError, InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.steer.judging import JudgingDictionaries

BUILTIN = "builtin"
_CONVERT = "convert it, as with iconv"


def read_text(text: str | None, file: Path | None) -> list[str]:
    """The sentences of a command line, a file or standard input, one a line, without blank ones.

    Raises:
        ConfigError: There are none of these.
        InputError: Nothing is written there, or it is no text.
        StorageError: The file cannot be read.
    """
    from isoglot.text.cleaning.processing import check_as_written
    from isoglot.text.formats.plain import read_sentence_lines

    if text is not None and text != "-":
        if file is not None:
            raise ConfigError(
                "TEXT and --text are both given", remedy="give one of them", code="config.conflicting-options"
            )
        lines, where = _typed(text).splitlines(), "the text"
    elif file is not None:
        check_as_written(file)
        lines, where = [line for _, line in read_sentence_lines(file)], str(file)
    elif sys.stdin is not None and (text == "-" or not sys.stdin.isatty()):
        lines, where = _piped().splitlines(), "standard input"
    else:
        raise ConfigError(
            "no text to translate",
            remedy='write it in quotes: isoglot steer translate "Yes." --from en --to de',
            code="config.missing-option",
        )
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{where} is empty", remedy="give at least one sentence, one a line", code="input.empty")
    return found


def _typed(text: str) -> str:
    """The text of a command line; bytes of it that are no UTF-8 have come as lone surrogates.

    Raises:
        InputError: There are some.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the text is not UTF-8: character {error.start + 1} cannot be read", remedy=_CONVERT, code="input.not-utf8"
        ) from error
    return text


def _piped() -> str:
    """Standard input as UTF-8, whatever the locale says: some would let any byte pass.

    Raises:
        InputError: It is something else.
    """
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"standard input is not UTF-8: {error.reason}", remedy=_CONVERT, code="input.not-utf8"
        ) from error


def read_texts(named: dict[str, list[Path]], most: int) -> dict[str, list[str]]:
    """The first so many lines of each language's files; blank ones are left out.

    Raises:
        InputError: A language has none, a line is no text, or a file is a table.
        StorageError: A file cannot be read.
    """
    from isoglot.text.formats.plain import read_sentence_lines

    def lines_of(paths: list[Path]) -> Iterator[str]:
        return (line for path in paths for _, line in read_sentence_lines(path) if line.strip())

    found = {code: list(islice(lines_of(paths), most)) for code, paths in named.items()}
    for code, lines in found.items():
        if not lines:
            raise InputError(
                f"there is no sentence of {code}",
                remedy="give at least one line",
                code="input.empty",
                file=named[code][0],
            )
    return found


def judging_dictionaries(
    values: Sequence[str] | None, *, seed: int, leave_out_known: bool = False, allow_leak: bool = False
) -> JudgingDictionaries:
    """The dictionaries of ``--dictionary``: files for pairs of languages, or ``builtin``.

    Raises:
        ConfigError: A value is not a pair of languages with a file, or both leak options are given.
    """
    from isoglot.steer.judging import JudgingDictionaries

    refuse_both(leave_out_known=leave_out_known, allow_leak=allow_leak)
    given = list(values or ())
    return JudgingDictionaries(
        parse_pairs([value for value in given if value != BUILTIN]),
        builtin=BUILTIN in given,
        known_words="allow" if allow_leak else "leave-out" if leave_out_known else "refuse",
        seed=seed,
    )


def parse_alphas(values: Sequence[float] | None, default: Sequence[float]) -> list[float]:
    """The alphas that were given, each once.

    Raises:
        ConfigError: One is there twice, or is no number.
    """
    import math

    found = list(values) if values else list(default)
    for alpha in found:
        if not math.isfinite(alpha):
            raise ConfigError(f"--alpha {alpha}", remedy="give a number such as 1.5", code="config.invalid-value")
        if found.count(alpha) > 1:
            raise ConfigError(
                f"--alpha {shown(alpha)} is given twice", remedy="give each once", code="config.duplicate"
            )
    return found
