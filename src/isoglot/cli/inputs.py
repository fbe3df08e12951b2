"""Options that name input.

``--langs``: which languages of a table, a folder of test sets, or the built-in sentences.

Options that name a file for each language: ``--text en=a.txt --text en=b.txt --text fr=c.txt``.

Options that name a file for a pair of languages: ``--dictionary en-fr=a.txt --dictionary en-zh-Hant=b.txt``.

The option ``--parallel``: a file for each language, one table, or a folder of Tatoeba's test sets.

Options that name bitext: a file for each of two languages, or one table that has both.

The option ``--map``: maps from one space to another, for what has two sides in one or more layers.

The options ``--means-from`` and ``--csls-from``: where a search takes language means and neighborhoods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.core.language_codes import language_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from isoglot.core.progress import Progress
    from isoglot.diagnose.repair.own_task import OwnTask
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.retrieve.estimates import Estimates, From, OtherText
    from isoglot.retrieve.layer_scores import VectorSet
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.retrieve.sentences import Layers
    from isoglot.text.provenance import Provenance
    from isoglot.vocab import Shards, Vocabulary


def option(name: str, metavar: str, text: str, **more: Any) -> Any:  # noqa: ANN401 - as typer.Option
    """An option: its name, what it takes, its help, and anything else :func:`typer.Option` takes."""
    return typer.Option(name, metavar=metavar, help=text, **more)


Langs = Annotated[
    str | None, option("--langs", "CODES", "Which languages of a table, a folder or the built-in sentences: en,de.")
]


def parse_langs(text: str | None) -> list[str]:
    """The languages that ``--langs`` names, each once.

    >>> parse_langs("eng, de"), parse_langs(None)
    (['en', 'de'], [])

    Raises:
        ConfigError: One is no language code.
    """
    return list(dict.fromkeys(language_code(code.strip()) for code in text.split(","))) if text else []


def two_langs(text: str) -> tuple[str, str]:
    """The two languages of ``en,fr``.

    >>> two_langs("en,eng")
    Traceback (most recent call last):
    isoglot.core.errors.ConfigError: --langs 'en,eng' is en twice; name two languages: --langs en,fr

    Raises:
        ConfigError: There are no two, or they are the same.
    """
    codes = [code.strip() for code in text.split(",")]
    if len(codes) != 2:
        raise ConfigError(
            f"--langs {shown(text)} is not two languages", "write them as --langs en,fr", "malformed-option"
        )
    first, second = language_code(codes[0]), language_code(codes[1])
    if first == second:
        raise ConfigError(f"--langs {shown(text)} is {first} twice", "name two languages: --langs en,fr", "duplicate")
    return first, second


def parse_named(values: list[str], option: str = "--text") -> dict[str, list[Path]]:
    """The files or folders of each language, in the order given; a language may have several.

    Languages are made canonical, so that ``deu=`` and ``de=`` add to the same list. A path may have ``=`` in it: the
    first one counts.

    Args:
        values: What the user typed, one ``language=path`` each.
        option: The option, for error messages.

    Raises:
        ConfigError: There is nothing, no ``=``, no such language or file, or the same file twice for a language.
    """
    if not values:
        remedy = f"name a file for each language: {option} en=file.txt"
        raise ConfigError(f"{option} is missing", remedy, "missing-option")
    named: dict[str, list[Path]] = {}
    for value in values:
        language, name = _split(value, option, "language=path", "en=file.txt")
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


def _split(value: str, option: str, form: str, example: str) -> tuple[str, str]:
    """What stands before and after the first ``=``."""
    name, equals, path = value.partition("=")
    if not equals or not name.strip() or not path.strip():
        problem, remedy = f"{option} {shown(value)} is not {form}", f"write it as {option} {example}"
        raise ConfigError(problem, remedy, "malformed-option")
    return name.strip(), path


def _existing(name: str, value: str, option: str, remedy: str = "check the spelling of the path") -> Path:
    """The path, which has to exist; a shell leaves the ~ in en=~/file.txt alone."""
    path = Path(name).expanduser()
    if not path.exists():
        raise ConfigError(f"{option} {shown(value)}: no such file", remedy, "missing-file")
    return path


def one_each(named: list[str], option: str) -> dict[str, Path]:
    """The file of each language.

    Raises:
        ConfigError: A language has two, and as for :func:`parse_named`.
    """
    files = parse_named(named, option)
    for code, paths in files.items():
        if len(paths) > 1:
            raise ConfigError(
                f"{option} {code}={paths[1]}: {code} has a file already", "join them into one", "duplicate"
            )
    return {code: paths[0] for code, paths in files.items()}


@dataclass(frozen=True)
class TrainingText:
    """Options of verbs that train on shards: the shards of each language and the vocabulary they were built with."""

    SECTION: ClassVar[str] = "Input"
    shards: Annotated[
        list[str] | None, option("--shards", "LANG=DIR", "Token shards of a language. May be repeated.")
    ] = None
    vocab: Annotated[str | None, option("--vocab", "VOCAB", "The vocabulary the shards were built with.")] = None

    def open(self) -> tuple[dict[str, Shards], Vocabulary]:
        """Open the shards and the vocabulary.

        Raises:
            ConfigError: There is no vocabulary, or a language has two folders.
            StorageError: A folder cannot be read.
        """
        from isoglot.vocab import Shards

        shards = {code: Shards.open(folder) for code, folder in one_each(self.shards or [], "--shards").items()}
        if self.vocab is None:
            remedy = "name the vocabulary the shards were built with"
            raise ConfigError("--vocab is missing", remedy, "missing-option")
        return shards, open_vocabulary(self.vocab)


def open_vocabulary(name: str) -> Vocabulary:
    """A vocabulary of ours by its folder, that of an encoder of ours (isoglot-mini among them), or any tokenizer."""
    from isoglot.core.artifact import is_stored
    from isoglot.model.folder import VOCABULARY
    from isoglot.model.load import encoder_folder
    from isoglot.vocab import Vocabulary
    from isoglot.vocab.vocabulary import INDEX

    folder = Path(name)
    if not is_stored(folder / INDEX) and (encoder := encoder_folder(name)) is not None:
        folder = encoder / VOCABULARY
    return Vocabulary.load(folder) if is_stored(folder / INDEX) else Vocabulary.from_tokenizer(name)


def is_path(value: str) -> bool:
    """Whether a path stands alone, with no language before it; it may have ``=`` in it, if it is there."""
    return "=" not in value or Path(value).expanduser().exists()


def parse_pairs(values: list[str], option: str = "--dictionary") -> dict[tuple[str, str], list[Path]]:
    """The files of each pair of languages, in the order given; a pair may have several.

    A code may have hyphens of its own: the pair is cut at the first one that leaves a language on each side. A colon
    cuts where it stands: ``en-x-shift:en``.

    >>> import os
    >>> list(parse_pairs([f"eng-zh-Hant={os.devnull}"]))
    [('en', 'zh-Hant')]

    Raises:
        ConfigError: There is no ``=``, no two languages, or no such file.
    """
    named: dict[tuple[str, str], list[Path]] = {}
    for value in values:
        pair, name = _split(value, option, "from-to=path", "en-fr=file.txt")
        languages = _two_languages(pair)
        if languages is None:
            problem = f"{option} {shown(value)}: {shown(pair)} is not two languages"
            remedy = f"write them as {option} en-fr={name}"
            raise ConfigError(problem, remedy, "malformed-option")
        named.setdefault(languages, []).append(_existing(name, value, option))
    return named


def parse_tasks(values: list[str], option: str = "--eval") -> list[OwnTask]:
    """Read queries with relevant documents: ``PATH``, or ``FROM-TO=PATH`` with the languages of both.

    Raises:
        ConfigError: There are no two languages before the ``=``, or no such file.
        InputError: A file cannot be read as such.
        StorageError: The same.
    """
    from isoglot.diagnose.repair.own_task import OwnTask
    from isoglot.text.formats.judged import read_judged

    tasks = []
    for value in values:
        if is_path(value):
            tasks.append(OwnTask(read_judged(_existing(value, value, option))))
        else:
            (languages, paths), *_ = parse_pairs([value], option).items()
            tasks.append(OwnTask(read_judged(paths[0]), languages))
    return tasks


def _two_languages(pair: str) -> tuple[str, str] | None:
    cuts = [pair.index(":")] if ":" in pair else [place for place, sign in enumerate(pair) if sign == "-"]
    for cut in cuts:
        try:
            return language_code(pair[:cut]), language_code(pair[cut + 1 :])
        except ConfigError:
            continue
    return None


ParallelSets = Annotated[
    list[str] | None,
    option(
        "--parallel",
        "LANG=FILE",
        "Sentences line by line, a file for each language; or one table.tsv with the languages in its first "
        "line; or a folder of Tatoeba test sets.",
    ),
]


def read_sets(
    parallel: list[str], langs: str | None = None, limit: int | None = None, *, pairs: bool = False
) -> list[ParallelSet]:
    """The sets that the option names.

    Args:
        parallel: What the user typed.
        langs: Which languages of a table or folder, with commas between.
        limit: Only the first N rows.
        pairs: Whether lines of a file for each language are pairs of texts.

    Raises:
        ConfigError: The options do not go together, or there is no such file.
        InputError: The files are not parallel.
        StorageError: A file cannot be read.
    """
    from isoglot.retrieve.parallel_sets import aligned_set, pairs_set, table_set, tatoeba_sets

    codes = parse_langs(langs)
    whole = [Path(value).expanduser() for value in parallel if is_path(value)]
    if not whole:
        if codes:
            raise ConfigError(
                "--langs chooses from a table or folder", "leave it out: the files name theirs", "conflicting-options"
            )
        read = pairs_set if pairs else aligned_set
        return [read(one_each(parallel, "--parallel"), limit=limit)]
    if len(parallel) > 1:
        raise ConfigError(
            f"--parallel {shown(str(whole[0]))} is a whole set, and there is more",
            f"name the language of a file: --parallel en={whole[0]}; or give one table or folder",
            "conflicting-options",
        )
    _existing(parallel[0], parallel[0], "--parallel", "write en=file.txt, or name a table or folder")
    if whole[0].is_dir():
        return tatoeba_sets(whole[0], codes, limit=limit)
    return [table_set(whole[0], codes, limit=limit)]


def is_table(named: list[str]) -> bool:
    """Whether one table is named, and no file for each language."""
    return len(named) == 1 and is_path(named[0])


def two_sides(
    named: list[str], option: str, langs: str | tuple[str, str] | None = None
) -> tuple[tuple[str, str], dict[str, Path] | Path]:
    """The two languages, and a file for each, or the table that has both.

    Args:
        named: What the user typed.
        option: The option, for error messages.
        langs: Which two of a table with more, as ``en,de`` or apart; None where it has just two.

    Raises:
        ConfigError: There is no such file, or not two languages.
        InputError: The table names no languages.
    """
    from isoglot.text.formats.parallel import read_parallel

    table = Path(named[0]).expanduser()
    files: dict[str, Path] = {}
    if is_table(named):
        _existing(named[0], named[0], option, f"write {option} en=a.txt {option} fr=b.txt")
        codes = list(next(read_parallel(table), ()))
        if langs is not None:
            wanted = two_langs(langs) if isinstance(langs, str) else langs
            missing = [code for code in wanted if code not in codes]
            if missing:
                raise ConfigError(
                    f"{option} {table} has no {missing[0]}", f"it has {', '.join(codes) or 'none'}", "missing-data"
                )
            codes = list(wanted)
    else:
        if langs is not None:
            raise ConfigError(
                "--langs chooses from a table", "leave it out: the files name theirs", "conflicting-options"
            )
        files = one_each(named, option)
        codes = list(files)
    if len(codes) != 2:
        raise ConfigError(
            f"{option} names {', '.join(codes) or 'no language'}",
            f"name two languages: {option} en=a.txt {option} fr=b.txt",
            "other-language",
        )
    return (codes[0], codes[1]), files or table


def two_bitexts(
    parallel: list[str] | None, test: list[str] | None, langs: str | None
) -> tuple[tuple[str, str], dict[str, Path] | Path, dict[str, Path] | Path]:
    """The languages, and the files or tables to learn from and to score on; none where they are built in.

    Of a table to score on, the languages are those that are learned from.

    Raises:
        ConfigError: The options do not go together, or as for :func:`two_sides`.
        InputError: A table names no languages.
    """
    if test and not parallel:
        raise ConfigError(
            "--test-parallel without --parallel",
            "give --parallel too, or leave it out: built-in sentences have a test of their own",
            "missing-option",
        )
    if not parallel and langs is None:
        raise ConfigError(
            "--parallel is missing",
            "give --parallel en=a.txt --parallel fr=b.txt, or built-in languages: --langs en,fr",
            "missing-option",
        )
    languages, files = two_sides(parallel, "--parallel", langs) if parallel else (two_langs(langs or ""), {})
    if not test:
        return languages, files, {}
    others, tests = two_sides(test, "--test-parallel", languages if is_table(test) else None)
    if set(others) != set(languages):
        raise ConfigError(
            f"--test-parallel names {' and '.join(others)}, --parallel {' and '.join(languages)}",
            "score on the languages that were aligned",
            "other-language",
        )
    return languages, files, tests


def map_provenance(path: Path | None) -> Provenance:
    """The dictionaries that the maps in a file or folder were learned from; none without maps."""
    from isoglot.align.apply import maps_provenance, read_maps
    from isoglot.text.provenance import Provenance

    return Provenance() if path is None else maps_provenance(read_maps(path).values(), path.name)


def load_change(path: Path | None) -> Callable[[VectorSet, VectorSet], tuple[VectorSet, VectorSet]]:
    """What takes two sides into one space: nothing, or the maps in a file or folder."""
    from isoglot.align.apply import map_sides, read_maps

    return (lambda source, target: (source, target)) if path is None else partial(map_sides, read_maps(path))


MeansFrom = Annotated[
    list[str] | None,
    option(
        "--means-from",
        "SOURCE",
        "Where the mean of each language comes from: folds (other sentences of the set), own (the test itself), "
        "LANG=FILE (other text; repeated), or a folder of isoglot steer fit. Default: folds.",
    ),
]
CslsFrom = Annotated[
    Literal["folds", "own", "text"],
    typer.Option(
        "--csls-from",
        help="What neighborhoods of csls are made of: folds (other sentences of the set), own (the test itself), or "
        "text (the sentences of --means-from).",
    ),
]


@dataclass(frozen=True)
class EstimatesOption:
    """What the two options ask for: the estimates, and the text or folder of means they are taken from."""

    estimates: Estimates
    texts: dict[str, list[Path]] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        from isoglot.steer.language_files import MEANS

        paths = [path for paths in self.texts.values() for path in paths]
        return paths if self.folder is None else [*paths, _means_file(self.folder, MEANS)]

    def others(
        self, encoder: EncoderLike, languages: Iterable[str], *, layers: Layers, pool: Pool, progress: Progress
    ) -> dict[str, dict[int | None, OtherText]]:
        """What is known of each language from there; nothing where the test itself is the source.

        Raises:
            ConfigError: A language has no text or mean, the means are of another encoder, or of tokens where a sentence
                is its first token.
        """
        if self.estimates.means != "given":
            return {}
        if self.folder is None:
            from isoglot.retrieve.sentences import other_text

            self._check(languages, self.texts, "text: --means-from {}=FILE")
            return other_text(encoder, self.texts, layers=layers, pool=pool, progress=progress)
        from isoglot.steer.language_files import MEANS
        from isoglot.steer.means import LanguageMeans

        if pool != "mean":
            takes = "takes one token of a sentence" if pool == "first" else "makes vectors of another kind"
            raise ConfigError(
                f"{self.folder} has means of tokens, and --pool {pool} {takes}",
                "name other text instead: --means-from en=FILE",
                "conflicting-options",
            )
        means = LanguageMeans.load(_means_file(self.folder, MEANS))
        means.check_encoder(encoder, remedy="learn those of this one: isoglot steer fit MODEL --out means/")
        self._check(languages, means.languages, "mean: isoglot steer fit MODEL --text {}=FILE … --out means/")
        return means.as_others()

    @staticmethod
    def _check(languages: Iterable[str], known: Iterable[str], remedy: str) -> None:
        there = set(known)
        for code in languages:
            if code not in there:
                raise ConfigError(
                    f"--means-from has nothing of {code}", f"give its {remedy.format(code)}", "missing-data"
                )


def _means_file(folder: Path, name: str) -> Path:
    return folder if folder.name == name else folder / name


def parse_estimates(
    means_from: list[str] | None, csls_from: Literal["folds", "own", "text"], *, folds: int | None = None
) -> EstimatesOption:
    """What the options ask for.

    Raises:
        ConfigError: They do not go together, or there is no such source or file.
    """
    from isoglot.retrieve.estimates import FOLDS, Estimates

    values = means_from or ["folds"]
    texts: dict[str, list[Path]] = {}
    folder = None
    source: From = "given"
    if values in (["own"], ["folds"]):
        source = "own" if values == ["own"] else "folds"
    elif len(values) == 1 and is_path(values[0]):
        folder = Path(values[0]).expanduser()
        if not folder.is_dir():
            remedy = nearest_name(values[0], ("folds", "own"))
            raise ConfigError(f"--means-from {shown(values[0])}: no such source or folder", remedy, "missing-file")
    else:
        texts = parse_named(values, "--means-from")
    if csls_from == "text" and not texts:
        raise ConfigError(
            "--csls-from text needs text", "name it: --means-from en=FILE --means-from de=FILE", "missing-option"
        )
    origin = str(folder) if folder is not None else ", ".join(str(path) for paths in texts.values() for path in paths)
    neighborhoods: From = "given" if csls_from == "text" else csls_from
    estimates = Estimates(means=source, neighborhoods=neighborhoods, folds=folds or FOLDS, origin=origin)
    return EstimatesOption(estimates, texts, folder)
