"""What the verbs of ``isoglot steer`` read: means and token sets, sentences, dictionaries."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.cli.inputs import parse_langs, parse_pairs
from isoglot.cli.options import left_out, refuse_both
from isoglot.core.errors import ConfigError, InputError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isoglot.model import EncoderLike
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.text.formats.dictionary import Entry

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


class Dictionaries:
    """The dictionaries of ``--dictionary``: a file for a pair of languages, or the built-in ones.

    Args:
        values: What the user typed.
        seed: For the built-in ones.
        leave_out_known: Whether to leave out words whose translations training was given.
        allow_leak: Whether to judge by them, too.

    Raises:
        ConfigError: It is no pair of languages with a file, or words are both to be left out and not.
    """

    def __init__(
        self, values: Sequence[str] | None, *, seed: int, leave_out_known: bool = False, allow_leak: bool = False
    ) -> None:
        refuse_both(leave_out_known=leave_out_known, allow_leak=allow_leak)
        self.leave_out_known, self.allow_leak = leave_out_known, allow_leak
        given = list(values or ())
        self.builtin = BUILTIN in given
        self.files = parse_pairs([value for value in given if value != BUILTIN])
        self.seed = seed
        self.remarks: list[str] = []
        self.left_out: dict[str, int] = {}
        self.leak_check: dict[str, Any] | None = None

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [path for paths in self.files.values() for path in paths]

    def of(self, source: str, target: str) -> list[Entry] | None:
        """The entries from one language to another; turned round where there is only the other way.

        Raises:
            ConfigError: The built-in one was asked for, and there is none.
            InputError: A file is none, or empty.
            StorageError: It cannot be read.
        """
        from isoglot.text.formats.dictionary import Entry, read_dictionary

        way = (source, target)
        if way in self.files:
            return _entries(self.files[way], lambda path: list(read_dictionary(path)))
        if way[::-1] in self.files:
            self.remarks.append(f"{source} to {target}: by the dictionary of {target} to {source}, turned round")
            return _entries(
                self.files[way[::-1]],
                lambda path: [Entry(one.target, one.source, one.weight) for one in read_dictionary(path)],
            )
        if self.builtin:
            from isoglot.languages.builtin import builtin_dictionary

            return builtin_dictionary(source, target, seed=self.seed)
        return None

    def not_given(self, entries: list[Entry] | None, way: tuple[str, str], encoder: EncoderLike) -> list[Entry] | None:
        """The entries that an encoder may be judged by, in lower case: judging does not look at case.

        Words whose translations training was given are left out of the built-in dictionaries, and of files if so asked.
        Where these are all the built-in words, there is none to judge by, and a remark says so.

        Raises:
            InputError: A file has such words and neither was asked for, or it has no others.
        """
        from dataclasses import replace

        from isoglot.retrieve.leaks import LeakCheck, refuse_leak, training_provenance, without_known

        if entries is None:
            return None
        check = LeakCheck(training_provenance([encoder]), self.allow_leak)
        self.leak_check = check.facts()
        if str(check) not in self.remarks:
            self.remarks.append(str(check))
        if self.allow_leak:
            return entries
        lower = [replace(entry, source=entry.source.lower()) for entry in entries]
        seen = check.words(way[0])
        files = self.files.get(way) or self.files.get(way[::-1])
        file = ", ".join(map(str, files)) if files else None
        if file is not None and not self.leave_out_known:
            refuse_leak(lower, seen, file, remedy="give --leave-out-known or --allow-leak")
            return lower
        name = "-".join(way)
        try:
            kept, words = without_known(lower, seen, file)
        except InputError as error:
            if file is not None:
                raise
            self.remarks.append(f"{name}: {error.problem}; to judge, give --dictionary or --allow-leak")
            return None
        if words:
            self.left_out[name] = words
            self.remarks.append(f"{name}: {left_out(words)}")
        return kept


def _entries(paths: Sequence[Path], read: Callable[[Path], list[Entry]]) -> list[Entry]:
    found = [entry for path in paths for entry in read(path)]
    if not found:
        raise InputError(
            "the dictionary has no entries",
            remedy="write source, a blank, target a line",
            code="input.empty",
            file=paths[0],
        )
    return found


def two_sides(sets: Sequence[ParallelSet], source: str, target: str) -> tuple[list[str], list[str]]:
    """The sentences of two languages among parallel sets.

    Raises:
        ConfigError: No set has both.
    """
    for one in sets:
        if source in one.sentences and target in one.sentences:
            return list(one.sentences[source]), list(one.sentences[target])
    found = sorted({code for one in sets for code in one.sentences})
    missing = next((code for code in (source, target) if code not in found), f"{source} with {target}")
    raise ConfigError(
        f"--parallel has no {missing}, only {', '.join(found)}",
        remedy=f"name a file of {missing} too",
        code="config.missing-data",
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


class Way(NamedTuple):
    """Sentences to take from one language to another, and what they should become."""

    codes: tuple[str, str]
    sentences: list[str]
    references: list[str]


def ways_between(sets: Sequence[ParallelSet], directions: Literal["both", "there"]) -> list[Way]:
    """From the first language of each set to its others; and back, after all of these."""
    there, back = [], []
    for one in sets:
        # Tatoeba's sets are all with English, which comes first, as in the papers.
        first, *others = sorted(one.sentences, key=lambda code: code != "en") if len(sets) > 1 else list(one.sentences)
        for other in others:
            own, their = list(one.sentences[first]), list(one.sentences[other])
            there.append(Way((first, other), own, their))
            back.append(Way((other, first), their, own))
    return [*there, *back] if directions == "both" else there


def builtin_sets(encoder: EncoderLike, langs: str | None, sentences: int, seed: int) -> list[ParallelSet]:
    """Built-in sentences of the encoder's first language with each of its others, or of those that were named.

    Raises:
        ConfigError: Fewer than two of its languages are built in.
    """
    from isoglot.diagnose.sentence_vectors import builtin_set as made

    first, *others = _two_or_more(encoder, langs)
    return [made([first, other], sentences, seed=seed) for other in others]


def builtin_set(encoder: EncoderLike, langs: str | None, sentences: int, seed: int) -> ParallelSet:
    """Built-in sentences in all of the encoder's languages at once, twins among them, or in those that were named.

    Raises:
        ConfigError: Fewer than two of its languages are built in.
    """
    from isoglot.diagnose.sentence_vectors import builtin_set as made

    return made(_two_or_more(encoder, langs), sentences, seed=seed)


def _two_or_more(encoder: EncoderLike, langs: str | None) -> list[str]:
    """The languages that were named, or those of the encoder that are built in."""
    from isoglot.languages.builtin import builtin_languages

    known = parse_langs(langs) or list(builtin_languages(encoder.vocabulary.languages))
    if len(known) < 2:
        raise ConfigError(
            f"{', '.join(known) or 'no language'} of the encoder's is built in, and two are needed",
            remedy="give sentences: --parallel en=a.txt --parallel de=b.txt",
            code="config.built-in-language",
        )
    return known
