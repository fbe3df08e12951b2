"""The data of a study: text, parallel sentences, dictionaries and tasks by language, from options or a ``data.toml``.

::

    [text]
    en = "wiki.en.txt.xz"
    de = ["wiki.de.1.txt.xz", "wiki.de.2.txt.xz"]

    [other-text]                      # of another domain, for the arm that needs it
    de = "europarl.de.txt.xz"

    [parallel]                        # test pairs of sentence retrieval, by pair
    en-de = {en = "tatoeba.en", de = "tatoeba.de"}

    [map-parallel]                    # pairs that maps are fitted on, and layers chosen by
    en-de = "xnli.15way.tsv"

    [dictionary]
    en-de = {train = "en-de.0-5000.txt", test = "en-de.5000-6500.txt"}

    [treebank.en]                     # likewise [ner.en] and [nli.en]
    train = "en-train.conllu"
    dev = "en-dev.conllu"
    [treebank.de]
    test = "de-test.conllu"

Paths are relative to the file. A folder stands for the files in it whose names say which they are: ``train``, ``dev``
and ``test``.

A file that cannot be read is refused before anything runs, not hours later.
"""

from __future__ import annotations

import re
import tomllib
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from isoglot.core.config import laid_over
from isoglot.core.errors import ConfigError, InputError, check_name, nearest_name, shown
from isoglot.core.files import read_text
from isoglot.core.language_codes import language_code
from isoglot.study.steps import SourceFile
from isoglot.study.store import source_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from isoglot.text.cleaning.segmentation import Method


Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
TASKS = {"treebank": "parse", "ner": "ner", "nli": "nli"}
"""The task that each table of examples is for."""
TABLES = ("text", "other-text", "parallel", "map-parallel", "dictionary", *TASKS)


@dataclass(frozen=True)
class StudyData:
    """Files of a study by purpose. Without any text, all data is of the built-in languages.

    Attributes:
        text: Files of each language.
        other_text: Files of another domain.
        parallel: Files of each pair by language, or one under ``table``.
        map_parallel: Likewise, for fitting maps and choosing layers.
        dictionary: Files of each pair by split.
        tasks: Files by task, language and split.
    """

    text: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    other_text: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    parallel: Mapping[str, Mapping[str, SourceFile]] = field(default_factory=dict)
    map_parallel: Mapping[str, Mapping[str, SourceFile]] = field(default_factory=dict)
    dictionary: Mapping[str, Mapping[str, SourceFile]] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, Mapping[str, SourceFile]]] = field(default_factory=dict)

    @property
    def is_builtin(self) -> bool:
        """Whether all data is of the built-in languages, because there is no text."""
        return not self.text

    def tests(self, language: str) -> dict[str, SourceFile]:
        """Files with dev and test sentences of a language, by name: none of them may be in the training text."""
        found = {}
        for task, by_language in self.tasks.items():
            for split, file in by_language.get(language, {}).items():
                if split != "train":
                    found[f"{task}-{split}"] = file
        for pair, files in self.parallel.items():
            if language in files:
                found[f"parallel-{pair}"] = files[language]
            elif "table" in files and language in pair.split("-"):
                found[f"parallel-{pair}"] = files["table"]
        return found


def study_data(
    recipe: str = "", file: str | Path | None = None, options: Mapping[str, Iterable[str]] | None = None
) -> StudyData:
    """The data of a study: what its recipe names, with a ``data.toml`` and options laid over it.

    Args:
        recipe: A recipe's name, or the path of a ``.toml`` file; its paths are relative to that file.
        file: A ``data.toml``; its paths are relative to itself.
        options: As :func:`data_options` takes them; paths are relative to the current folder.

    Raises:
        ConfigError: A table, a language or a split that does not exist, or malformed TOML.
        StorageError: A file cannot be read.
    """
    from isoglot.study.recipe import load_study

    tables: dict[str, Any] = {}
    if recipe.endswith(".toml"):
        own, folder = load_study(recipe)[1].data, Path(recipe).parent
        tables = rooted(own, folder) if isinstance(own, dict) else _rooted_file(folder / own)
    if file is not None:
        tables = laid_over(tables, _rooted_file(Path(file)))
    given = rooted(data_options(options or {}), Path())
    return data_from(laid_over(tables, given), file=file or (recipe if recipe.endswith(".toml") else None))


def _rooted_file(path: Path) -> dict[str, Any]:
    """The tables of a ``data.toml``, with every path made absolute."""
    try:
        return rooted(tomllib.loads(read_text(path)), path.parent)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"malformed TOML: {error}", "correct it there", "malformed-toml", file=path) from error


def rooted(tables: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Tables with every path made absolute."""

    def path_of(value: object) -> object:
        match value:
            case dict():
                return rooted(value, folder)
            case list():
                return [path_of(one) for one in value]
            case str():
                return str((folder / Path(value).expanduser()).absolute())
        return value

    return {name: path_of(value) for name, value in tables.items()}


def data_from(tables: Mapping[str, Any], *, folder: Path = Path(), file: str | Path | None = None) -> StudyData:
    """The data of tables as ``data.toml`` has them.

    Raises:
        ConfigError: A table, a language or a split that does not exist.
        StorageError: A file cannot be read.
    """
    for name in tables:
        if name not in TABLES:
            raise ConfigError(f"unknown table [{name}]", nearest_name(name, TABLES), "unknown-key", file=file)

    def table(name: str) -> dict[str, Any]:
        found = tables.get(name, {})
        if not isinstance(found, dict):
            raise ConfigError(f"{name} is not a table", f"write [{name}]", "invalid-value", file=file)
        return found

    def texts(name: str) -> dict[str, tuple[SourceFile, ...]]:
        given = {code: value if isinstance(value, list) else [value] for code, value in table(name).items()}
        return {language_code(code): tuple(_source(folder, one, file) for one in some) for code, some in given.items()}

    def pairs(name: str) -> dict[str, dict[str, SourceFile]]:
        return {pair_name(key): _pair_files(folder, key, value, file) for key, value in table(name).items()}

    def splits(name: str, canonical: Callable[[str], str]) -> dict[str, dict[str, SourceFile]]:
        given = {canonical(key): value for key, value in table(name).items()}
        return {key: _split_files(folder, value, file, key) for key, value in given.items()}

    return StudyData(
        text=texts("text"),
        other_text=texts("other-text"),
        parallel=pairs("parallel"),
        map_parallel=pairs("map-parallel"),
        dictionary=splits("dictionary", pair_name),
        tasks={task: splits(name, language_code) for name, task in TASKS.items() if name in tables},
    )


def pair_name(text: str) -> str:
    """A pair of languages in canonical form.

    >>> pair_name("eng-de")
    'en-de'

    Raises:
        ConfigError: It is not two different languages.
    """
    one, dash, other = text.partition("-")
    codes = [language_code(code) for code in (one, other) if code]
    if not dash or len(set(codes)) != 2:
        raise ConfigError(f"{shown(text)} is not a pair of languages", "write it as en-de", "malformed-option")
    return "-".join(codes)


def _source(folder: Path, value: object, file: str | Path | None) -> SourceFile:
    if not isinstance(value, str):
        raise ConfigError(f"{shown(value)} is not a path", "write it in quotes", "malformed-option", file=file)
    path = (folder / value).expanduser()
    return SourceFile(str(path.absolute()), source_hash(path))


def _pair_files(folder: Path, key: str, value: object, file: str | Path | None) -> dict[str, SourceFile]:
    """A table for all languages, a file for each, or a folder that has them."""
    codes = pair_name(key).split("-")
    if isinstance(value, dict):
        found = {language_code(code): _source(folder, one, file) for code, one in value.items()}
        missing = [code for code in codes if code not in found]
        if missing:
            raise ConfigError(
                f"{key} has no {missing[0]} file", f"name one: {missing[0]} = …", "missing-data", file=file
            )
        return {code: found[code] for code in codes}
    path = (folder / str(value)).expanduser()
    if path.is_dir():
        from isoglot.text.formats.parallel import tatoeba_files

        other = codes[1] if codes[0] == "en" else codes[0]
        return {code: _source(folder, str(one), file) for code, one in tatoeba_files(path, other).items()}
    return {"table": _source(folder, value, file)}


def _split_files(folder: Path, value: object, file: str | Path | None, name: str) -> dict[str, SourceFile]:
    """Files by split; a single file is a test set."""
    if isinstance(value, dict):
        for split in value:
            check_name(f"split of {name}", split, SPLITS)
        return {split: _source(folder, one, file) for split, one in value.items()}
    path = (folder / str(value)).expanduser()
    if not path.is_dir():
        return {"test": _source(folder, value, file)}
    names = sorted(one.name for one in path.iterdir() if one.is_file())
    found: dict[str, SourceFile] = {}
    for split in SPLITS:
        fitting = [one for one in names if _is_named(one, split) and _is_named(one, name)]
        if len(fitting) > 1:
            problem = f"{path} has several files for {name} {split}: {', '.join(fitting[:3])}"
            raise ConfigError(problem, "name the file itself", "duplicate", file=file)
        if fitting:
            found[split] = _source(path, fitting[0], file)
    if not found:
        raise ConfigError(f"{path} has no train, dev or test file of {name}", "name the files", "missing-data")
    return found


def _is_named(file: str, name: str) -> bool:
    """Whether a name, or its parts in a row, is among the parts of a file's name.

    >>> _is_named("dev-en.tsv", "de"), _is_named("de_gsd-ud-dev.conllu.xz", "de"), _is_named("en-de.train.txt", "en-de")
    (False, True, True)
    """
    parts, wanted = (re.split(r"[^0-9a-z]+", text.lower()) for text in (file, name))
    return any(parts[start : start + len(wanted)] == wanted for start in range(len(parts)))


def data_options(options: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Tables as ``data.toml`` has them, from ``LANG=PATH``, ``LANG.SPLIT=PATH`` and ``PAIR=PATH`` by table.

    >>> data_options({"text": ["en=a.txt"], "ner": ["en.train=b.tsv", "de=c.tsv"]})
    {'text': {'en': ['a.txt']}, 'ner': {'en': {'train': 'b.tsv'}, 'de': 'c.tsv'}}

    Raises:
        ConfigError: It is not written like that, or something is named twice.
    """
    found: dict[str, Any] = {}
    for table, values in options.items():
        for value in values:
            name, equals, path = value.partition("=")
            if not equals or not name or not path:
                raise ConfigError(
                    f"--{table} {shown(value)} names no file", f"write --{table} de=FILE", "malformed-option"
                )
            entries = found.setdefault(table, {})
            if table in ("text", "other-text"):
                entries.setdefault(name, []).append(path)
                continue
            key, dot, split = name.partition(".")
            place = entries.setdefault(key, {}) if dot else entries
            last = split if dot else key
            if not isinstance(place, dict) or last in place:
                raise ConfigError(f"--{table} {shown(value)}: {name} is named twice", "name it once", "duplicate")
            place[last] = path
    return found


def named_values(option: str, values: Iterable[str]) -> dict[str, str]:
    """Values by language, of options written ``LANG=VALUE``.

    Raises:
        ConfigError: It is not written like that.
    """
    found = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not rest:
            raise ConfigError(
                f"--{option} {shown(value)} names no language", f"write --{option} zh=VALUE", "malformed-option"
            )
        found[language_code(name)] = rest
    return found


# --- checks before anything runs ---


MOST_EPOCHS = 1000
"""Most epochs over a text; more is a mistake in the budget or in the text."""
WHOLE = 20_000_000
"""Bytes up to which a file is read to its end; of a larger one the first :data:`FIRST` records are read."""
FIRST = 1000
_BYTES_PER_TOKEN = 2  # at least, in text of any language and with any vocabulary
_MOST_COMPRESSED = 20  # largest compression ratio of a text


def check_data(
    data: StudyData, pairs: Iterable[str], tokens: int, segmentation: Mapping[str, str] | None = None
) -> None:
    """Refuse, before anything runs, files that cannot be read, text that is far too small, and dictionaries that leak.

    Args:
        data: The user's files; those of other languages are not checked.
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
        if _sides(pair) <= languages.keys():
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
    from isoglot.text.provenance import COMPRESSED

    paths = [Path(file.path) for file in files]
    most = sum(path.stat().st_size * (_MOST_COMPRESSED if path.suffix in COMPRESSED else 1) for path in paths)
    if tokens / 2 > MOST_EPOCHS * most / _BYTES_PER_TOKEN:
        raise InputError(
            f"text of {code} is too small for {tokens:,} tokens an arm: it would be read over {MOST_EPOCHS:,} times",
            "give more text, or a smaller --scale or --set tokens=…",
            "too-few",
            file=files[0].path,
        )


@cache
def _check_examples(task: str, code: str, file: SourceFile) -> None:
    from isoglot.text.formats.conll import read_conllu, read_tagged
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

    files = dict(by_side)
    if "table" in files:
        table = files["table"].path
        first = next(read_parallel(table), None)
        missing = [code for code in pair.split("-", 1) if code not in first] if first is not None else []
        if first is not None and missing:
            problem = f"{table} has no column {missing[0]}, for the pair {pair}"
            remedy = f"it has {', '.join(first)}: write the pair as two of these, or name another file"
            raise ConfigError(problem, remedy, "unknown-language")
        records = read_parallel(table)
    else:
        records = read_aligned({code: file.path for code, file in files.items()})
    _refuse_empty(_read(records, files.values()), f"sentences of {pair}", by_side[0][1])


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
