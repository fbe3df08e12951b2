"""Checks of a study's data before anything runs: a file that cannot be read is refused here, not hours later."""

from __future__ import annotations

from collections import deque
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isoglot.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from isoglot.study.data import StudyData
    from isoglot.study.steps import SourceFile
    from isoglot.text.cleaning.segmentation import Method

MOST_EPOCHS = 1000
"""Most epochs over a text; more is a mistake in the budget or in the text."""
WHOLE = 20_000_000
"""Bytes up to which a file is read to its end; of a larger one the first :data:`FIRST` records are read."""
FIRST = 1000
_BYTES_PER_TOKEN = 2  # at least, in text of any language and with any vocabulary
_MOST_COMPRESSED = 20  # times


def check_data(
    data: StudyData, pairs: Iterable[str], tokens: int, segmentation: Mapping[str, str] | None = None
) -> None:
    """Refuse, before anything runs, files that cannot be read, text that is far too small, and dictionaries that leak.

    Args:
        data: The user's files; those of other languages are not looked at.
        pairs: Pairs of languages that are studied.
        tokens: Tokens that an arm reads.
        segmentation: Segmentation method by language.

    Raises:
        ConfigError: There is no such segmentation method, or a table has no such language.
        InputError: A file is not what it should be, too small, or shares words with the training dictionary.
        MissingPartError: A segmentation method is not installed.
        StorageError: A file cannot be read.
    """
    from isoglot.text.cleaning.segmentation import segmenter

    for code, method in (segmentation or {}).items():
        segmenter(code, cast("Method", method))  # which refuses a name that is not a method
    languages = dict.fromkeys(code for pair in pairs for code in pair.split("-"))
    for code in languages:
        for files in (data.text.get(code), data.other_text.get(code)):
            for file in files or ():
                _check_text(file)
            if files:
                _check_size(code, files, tokens)
        for task, by_language in data.tasks.items():
            for file in by_language.get(code, {}).values():
                _check_examples(task, code, file)
    for table in (data.parallel, data.map_parallel):
        for pair, by_side in table.items():
            if _sides(pair) <= languages.keys():
                _check_parallel(pair, tuple(by_side.items()))
    for pair, by_split in data.dictionary.items():
        if not _sides(pair) <= languages.keys():
            continue
        for file in by_split.values():
            _check_dictionary(file)
        if "train" in by_split and "test" in by_split:
            _check_leak(by_split["train"], by_split["test"])


def _sides(pair: str) -> set[str]:
    """Languages of a pair; paraphrases have one under two names (en-en-x-two)."""
    one, _, other = pair.partition("-")
    return {one, other.partition("-x-")[0]}


def _read(records: Iterable[Any], files: Iterable[SourceFile]) -> int:
    """Read all records, or of large files the first; how many there were, at most :data:`FIRST`."""
    small = sum(Path(file.path).stat().st_size for file in files) <= WHOLE
    rest: Iterator[Any] = iter(records)
    count = sum(1 for _ in islice(rest, FIRST))
    if small:
        deque(rest, maxlen=0)
    return count


@cache
def _check_text(file: SourceFile) -> None:
    from isoglot.text.stream import read_stream

    if not any(islice(read_stream([file.path]), FIRST)):
        raise InputError("the text is empty", "give text with at least one line", "empty", file=file.path)


def _check_size(code: str, files: tuple[SourceFile, ...], tokens: int) -> None:
    most = sum(
        Path(file.path).stat().st_size * (_MOST_COMPRESSED if file.path.endswith((".xz", ".gz", ".zst", ".bz2")) else 1)
        for file in files
    )
    if tokens / 2 > MOST_EPOCHS * most / _BYTES_PER_TOKEN:
        raise InputError(
            f"text of {code} is too small for {tokens:,} tokens an arm: it would be read over {MOST_EPOCHS:,} times",
            "give more text, or a smaller --scale or --set tokens=…",
            "too-few",
            file=files[0].path,
        )


@cache
def _check_examples(task: str, code: str, file: SourceFile) -> None:
    from isoglot.text.formats.conll_columns import read_tagged
    from isoglot.text.formats.conllu import read_conllu
    from isoglot.text.formats.nli import read_inference
    from isoglot.transfer import find_task

    if Path(file.path).stat().st_size <= WHOLE:
        found = len(find_task(task).read(file.path, code).examples)
    elif task == "nli":
        found = _read(read_inference(file.path, language=code), [file])
    else:
        found = _read(read_tagged(file.path) if task == "ner" else read_conllu(file.path), [file])
    _refuse_empty(found, f"{task} examples of {code}", file)


@cache
def _check_parallel(pair: str, by_side: tuple[tuple[str, SourceFile], ...]) -> None:
    from isoglot.text.formats.parallel import read_aligned, read_parallel

    sides, files = pair.split("-", 1), dict(by_side)
    if "table" not in files:
        aligned = read_aligned({code: file.path for code, file in files.items()})
        _refuse_empty(_read(aligned, files.values()), f"sentences of {pair}", by_side[0][1])
        return
    table = files["table"]
    first = next(read_parallel(table.path), None)
    missing = [code for code in sides if first is not None and code not in first]
    if first is not None and missing:
        raise ConfigError(
            f"{table.path} has no column {missing[0]}, for the pair {pair}",
            f"it has {', '.join(first)}: write the pair as two of these, or name another file",
            "unknown-language",
        )
    _refuse_empty(_read(read_parallel(table.path), [table]), f"sentences of {pair}", table)


@cache
def _check_dictionary(file: SourceFile) -> None:
    from isoglot.text.formats.dictionary import read_dictionary

    _refuse_empty(_read(read_dictionary(file.path), [file]), "entries", file)


def _refuse_empty(found: int, what: str, file: SourceFile) -> None:
    if not found:
        raise InputError(f"there are no {what}", "name another file", "empty", file=file.path)


@cache
def _check_leak(train: SourceFile, test: SourceFile) -> None:
    """Refuse dictionaries that share source words: what is learned from must not be tested on."""
    from isoglot.text.formats.dictionary import read_dictionary

    learned, asked = ({entry.source for entry in read_dictionary(file.path)} for file in (train, test))
    shared = sorted(learned & asked)
    if shared:
        raise InputError(
            f"{len(shared):,} of {len(asked):,} source words of the test dictionary are in {train.path} too, "
            f"such as {shared[0]!r}",
            "remove them from one of the two",
            "leak",
            file=test.path,
        )
