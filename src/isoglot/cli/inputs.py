"""What options name: languages, files of a language or of a pair of languages, parallel sentences and bitext.

What cannot be understood, does not exist or does not go together is a :class:`ConfigError` with the option's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

from isoglot.cli.declaration import option
from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.core.language_codes import language_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.diagnose.repair.own_task import OwnTask
    from isoglot.model import EncoderLike
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.steer.estimate_sources import EstimateSource
    from isoglot.vocab import Shards, Vocabulary

Files = list[str] | None
"""Values of an option that may be repeated."""
V = TypeVar("V")


# --- checks ---


def required(value: V | None, name: str, remedy: str) -> V:
    """Return the value of an option that has to be given here."""
    if value is None:
        raise ConfigError(f"{name} is missing", remedy, "missing-option")
    return value


def refuse_beside(options: Mapping[str, object], beside: str, *, remedy: str) -> None:
    """Refuse options, by name, that would have no effect beside another; those with a false value were not given."""
    for name, value in options.items():
        if value:
            raise ConfigError(f"{name} and {beside} exclude each other", remedy, "conflicting-options")


def refuse_without(options: Mapping[str, object], missing: str, *, remedy: str) -> None:
    """Refuse options that have no effect without another, likewise."""
    for name, value in options.items():
        if value:
            raise ConfigError(f"{name} without {missing}", remedy, "missing-option")


# --- languages and layers ---

Langs = Annotated[str | None, option("CODES", "Which languages of a table, a folder or the built-in sentences: en,de.")]
LayerList = Annotated[str, option("LIST", "all, or numbers such as 0,4,-1; 0 is the embeddings.")]


def parse_langs(text: str | None) -> list[str]:
    """Return the languages that ``--langs`` names, each once.

    >>> parse_langs("eng, de"), parse_langs(None)
    (['en', 'de'], [])
    """
    return list(dict.fromkeys(language_code(code.strip()) for code in text.split(","))) if text else []


def two_langs(text: str) -> tuple[str, str]:
    """Return the two languages of ``en,fr``.

    >>> two_langs("en,eng")
    Traceback (most recent call last):
    isoglot.core.errors.ConfigError: --langs 'en,eng' is en twice; name two languages: --langs en,fr
    """
    codes = [code.strip() for code in text.split(",")]
    if len(codes) != 2:
        problem, remedy = f"--langs {shown(text)} is not two languages", "write them as --langs en,fr"
        raise ConfigError(problem, remedy, "malformed-option")
    first, second = map(language_code, codes)
    if first == second:
        raise ConfigError(f"--langs {shown(text)} is {first} twice", "name two languages: --langs en,fr", "duplicate")
    return first, second


def parse_layers(text: str) -> Literal["all"] | list[int]:
    """Return the layers that ``--layers`` names."""
    try:
        return "all" if text == "all" else [int(part) for part in text.split(",")]
    except ValueError:
        problem, remedy = f"--layers {shown(text)} is not a list of numbers", "write --layers all, or --layers 0,4,-1"
        raise ConfigError(problem, remedy, "malformed-option") from None


# --- files by language ---


def is_path(value: str) -> bool:
    """Whether a path stands alone, without a language before it; it may contain ``=`` if it exists."""
    return "=" not in value or Path(value).expanduser().exists()


def parse_named(values: list[str], option: str = "--text") -> dict[str, list[Path]]:
    """Return the files or folders of each language, in the order given; a language may have several.

    Languages are made canonical, so that ``deu=`` and ``de=`` add to the same list. A path may contain ``=``.
    """
    required(values or None, option, f"name a file for each language: {option} en=file.txt")
    named: dict[str, list[Path]] = {}
    for value in values:
        language, name = _split(value, option, "language=path", "en=shards/en" if option == "--shards" else "en=a.txt")
        try:
            code = language_code(language)
        except ConfigError as error:
            raise error.prefixed(f"{option} {shown(value)}") from error
        path = _existing(name, value, option)
        paths = named.setdefault(code, [])
        if path in paths:
            raise ConfigError(f"{option} {shown(value)} is given twice", "name each file once", "duplicate")
        paths.append(path)
    return named


def one_each(values: Files, option: str) -> dict[str, Path]:
    """Return the file of each language; none if the option was not given."""
    files = parse_named(values, option) if values else {}
    for code, paths in files.items():
        if len(paths) > 1:
            problem = f"{option} {code}={paths[1]}: {code} has a file already"
            raise ConfigError(problem, "join them into one", "duplicate")
    return {code: paths[0] for code, paths in files.items()}


def parse_pairs(values: Files, option: str = "--dictionary") -> dict[tuple[str, str], list[Path]]:
    """Return the files of each pair of languages, in the order given; a pair may have several.

    A code may contain hyphens: the pair is split at the first one that leaves a language on each side, or at a colon:
    ``en-x-shift:en``.

    >>> import os
    >>> list(parse_pairs([f"eng-zh-Hant={os.devnull}"]))
    [('en', 'zh-Hant')]
    """
    named: dict[tuple[str, str], list[Path]] = {}
    for value in values or ():
        pair, name = _split(value, option, "from-to=path", "en-fr=file.txt")
        languages = _two_languages(pair)
        if languages is None:
            problem = f"{option} {shown(value)}: {shown(pair)} is not two languages"
            raise ConfigError(problem, f"write them as {option} en-fr={name}", "malformed-option")
        named.setdefault(languages, []).append(_existing(name, value, option))
    return named


def parse_tasks(values: Files, option: str = "--eval") -> list[OwnTask]:
    """Read queries with relevant documents: ``PATH``, or ``FROM-TO=PATH`` with the languages of both."""
    from isoglot.diagnose.repair.own_task import OwnTask
    from isoglot.text.formats.judged import read_judged

    tasks = []
    for value in values or ():
        if is_path(value):
            tasks.append(OwnTask(read_judged(_existing(value, value, option))))
        else:
            tasks += [OwnTask(read_judged(path), pair) for pair, (path,) in parse_pairs([value], option).items()]
    return tasks


def parse_models(values: list[str], option: str) -> dict[str, str]:
    """Return the model of each language, from ``de=runs/de``."""
    found: dict[str, str] = {}
    for value in values:
        name, where = _split(value, option, "language=model", "de=MODEL")
        code = language_code(name)
        if code in found:
            raise ConfigError(f"{option} {shown(value)}: {name} has a model already", "name one for each", "duplicate")
        found[code] = where.strip()
    return found


def files_of(*values: Files | Path | None) -> list[Path]:
    """Return the files among paths and ``NAME=FILE`` options, for the record of a run."""
    named = [each for value in values for each in (value if isinstance(value, list) else [value]) if each is not None]
    paths = [Path(each if is_path(str(each)) else str(each).partition("=")[2]).expanduser() for each in named]
    return [path for path in paths if path.is_file()]


def _split(value: str, option: str, form: str, example: str) -> tuple[str, str]:
    name, equals, path = value.partition("=")
    if not equals or not name.strip() or not path.strip():
        problem, remedy = f"{option} {shown(value)} is not {form}", f"write it as {option} {example}"
        raise ConfigError(problem, remedy, "malformed-option")
    return name.strip(), path


def _existing(name: str, value: str, option: str, remedy: str = "check the spelling of the path") -> Path:
    path = Path(name).expanduser()  # a shell does not expand the ~ in en=~/file.txt
    if not path.exists():
        raise ConfigError(f"{option} {shown(value)}: no such file", remedy, "missing-file")
    return path


def _two_languages(pair: str) -> tuple[str, str] | None:
    for cut in [pair.index(":")] if ":" in pair else [place for place, sign in enumerate(pair) if sign == "-"]:
        try:
            return language_code(pair[:cut]), language_code(pair[cut + 1 :])
        except ConfigError:
            continue
    return None


@dataclass(frozen=True)
class TrainingText:
    """Token shards to train on, and their vocabulary."""

    SECTION: ClassVar[str] = "Input"
    shards: Annotated[Files, option("LANG=DIR", "Token shards of a language. May be repeated.")] = None
    vocab: Annotated[str | None, option("VOCAB", "The vocabulary the shards were built with.")] = None

    def open(self) -> tuple[dict[str, Shards], Vocabulary]:
        """Open both."""
        from isoglot.model.load import open_vocabulary
        from isoglot.vocab import Shards

        required(self.shards, "--shards", "name a folder for each language: --shards en=shards/en")
        shards = {code: Shards.open(folder) for code, folder in one_each(self.shards, "--shards").items()}
        name = required(self.vocab, "--vocab", "name the vocabulary the shards were built with")
        return shards, open_vocabulary(name)


# --- parallel sentences ---

ParallelSets = Annotated[
    Files,
    option(
        "LANG=FILE",
        "Sentences line by line, a file for each language; or one table.tsv with the languages in its first "
        "line; or a folder of Tatoeba test sets.",
    ),
]


def read_sets(parallel: Files, langs: str | None, limit: int | None, *, pairs: bool = False) -> list[ParallelSet]:
    """Read the sets that ``--parallel`` names, ``--langs`` of a table or folder; none if it was not given.

    Args:
        parallel: What the user typed.
        langs: Which languages, separated by commas.
        limit: Maximum number of rows.
        pairs: Whether lines of a file for each language are pairs of texts.
    """
    from isoglot.retrieve.parallel_sets import aligned_set, pairs_set, table_set, tatoeba_sets

    codes = parse_langs(langs)
    if not parallel:
        return []
    whole = [Path(value).expanduser() for value in parallel if is_path(value)]
    if not whole:
        if codes:
            remedy = "leave it out: the files name theirs"
            raise ConfigError("--langs chooses from a table or folder", remedy, "conflicting-options")
        return [(pairs_set if pairs else aligned_set)(one_each(parallel, "--parallel"), limit=limit)]
    if len(parallel) > 1:
        problem = f"--parallel {shown(str(whole[0]))} is a whole set, and there is more"
        remedy = f"name the language of a file: --parallel en={whole[0]}; or give one table or folder"
        raise ConfigError(problem, remedy, "conflicting-options")
    _existing(parallel[0], parallel[0], "--parallel", "write en=file.txt, or name a table or folder")
    if whole[0].is_dir():
        return tatoeba_sets(whole[0], codes, limit=limit)
    return [table_set(whole[0], codes, limit=limit)]


@dataclass(frozen=True)
class ParallelInput:
    """Parallel sentences.

    Options:
        sentences: The first N. Default: 500 built-in sentences, or 2,000 of files.
    """

    parallel: ParallelSets = None
    langs: Langs = None
    sentences: Annotated[int | None, option("N", min=1)] = None

    def read(self, most: int | None = None, *, pairs: bool = False) -> list[ParallelSet]:
        """The sets of files, if any are named."""
        return read_sets(self.parallel, self.langs, self.sentences or most, pairs=pairs)

    def builtin(self, encoder: EncoderLike, count: int | None = None, *, seed: int) -> list[ParallelSet]:
        """One set of built-in sentences in all languages chosen or known to the encoder."""
        from isoglot.compare.parallel_sentences import SENTENCES, builtin_languages_of, builtin_set

        codes = parse_langs(self.langs) or builtin_languages_of(encoder)
        return [builtin_set(codes, self.sentences or count or SENTENCES, seed=seed)]

    def builtin_pairs(self, encoder: EncoderLike, count: int | None = None, *, seed: int) -> list[ParallelSet]:
        """A set of built-in sentences for the first language and each of the others."""
        from isoglot.compare.parallel_sentences import SENTENCES, builtin_sets

        return builtin_sets(encoder, parse_langs(self.langs), self.sentences or count or SENTENCES, seed=seed)


# --- bitext ---


def is_table(named: Files) -> bool:
    """Whether one table is named, and no file for each language."""
    return named is not None and len(named) == 1 and is_path(named[0])


def two_sides(
    named: list[str], option: str, langs: str | tuple[str, str] | None = None
) -> tuple[tuple[str, str], dict[str, Path] | Path]:
    """Return the two languages, and a file for each, or the table that has both.

    Args:
        named: What the user typed.
        option: The option, for error messages.
        langs: Which two of a table with more, as ``en,de`` or apart; None where it has just two.
    """
    from isoglot.text.formats.parallel import read_parallel

    table = Path(named[0]).expanduser()
    files: dict[str, Path] = {}
    if is_table(named):
        _existing(named[0], named[0], option, f"write {option} en=a.txt {option} fr=b.txt")
        codes = list(next(read_parallel(table), ()))
        wanted = two_langs(langs) if isinstance(langs, str) else langs or ()
        for code in (code for code in wanted if code not in codes):
            problem, remedy = f"{option} {table} has no {code}", f"it has {', '.join(codes) or 'none'}"
            raise ConfigError(problem, remedy, "missing-data")
        codes = list(wanted) or codes
    else:
        if langs is not None:
            remedy = "leave it out: the files name theirs"
            raise ConfigError("--langs chooses from a table", remedy, "conflicting-options")
        files = one_each(named, option)
        codes = list(files)
    if len(codes) != 2:
        problem = f"{option} names {', '.join(codes) or 'no language'}"
        raise ConfigError(problem, f"name two languages: {option} en=a.txt {option} fr=b.txt", "other-language")
    return (codes[0], codes[1]), files or table


def two_bitexts(
    parallel: Files, test: Files, langs: str | None
) -> tuple[tuple[str, str], dict[str, Path] | Path, dict[str, Path] | Path]:
    """Return the languages, and the files or tables to learn from and to score on; none where they are built in.

    Of a table to score on, the languages are those that are learned from.
    """
    if not parallel:
        remedy = "give --parallel too, or leave it out: built-in sentences have a test of their own"
        refuse_without({"--test-parallel": test}, "--parallel", remedy=remedy)
        remedy = "give --parallel en=a.txt --parallel fr=b.txt, or built-in languages: --langs en,fr"
        return two_langs(required(langs, "--parallel", remedy)), {}, {}
    languages, files = two_sides(parallel, "--parallel", langs)
    if not test:
        return languages, files, {}
    others, tests = two_sides(test, "--test-parallel", languages if is_table(test) else None)
    if set(others) != set(languages):
        problem = f"--test-parallel names {' and '.join(others)}, --parallel {' and '.join(languages)}"
        raise ConfigError(problem, "score on the languages that were aligned", "other-language")
    return languages, files, tests


# --- means of languages ---

MeansFrom = Annotated[
    Files,
    option(
        "SOURCE",
        "Where the mean of each language comes from: folds (other sentences of the set), own (the test itself), "
        "LANG=FILE (other text; repeated), or a folder of isoglot steer fit. Default: folds.",
    ),
]
CslsFrom = Annotated[
    Literal["folds", "own", "text"],
    option(
        text="What neighborhoods of csls are made of: folds (other sentences of the set), own (the test itself), or "
        "text (the sentences of --means-from)."
    ),
]


def parse_estimates(
    means_from: Files, csls_from: Literal["folds", "own", "text"], *, folds: int | None = None
) -> EstimateSource:
    """Return what ``--means-from`` and ``--csls-from`` ask for."""
    from isoglot.steer.estimate_sources import estimate_source

    values = means_from or ["folds"]
    if values in (["own"], ["folds"]):
        return estimate_source("own" if values == ["own"] else "folds", csls_from, folds=folds)
    if len(values) > 1 or not is_path(values[0]):
        return estimate_source(parse_named(values, "--means-from"), csls_from, folds=folds)
    folder = Path(values[0]).expanduser()
    if not folder.is_dir():
        remedy = nearest_name(values[0], ("folds", "own"))
        raise ConfigError(f"--means-from {shown(values[0])}: no such source or folder", remedy, "missing-file")
    return estimate_source(folder, csls_from, folds=folds)
