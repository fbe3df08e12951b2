"""Base class of tasks (reading, labels, rows of an encoder, scoring), their examples, and the registry.

An example is a passage with a label, words with tags, or words with a tree. Predictions are examples too.

Texts have one label (:mod:`~isoglot.transfer.tasks.classification`), words have tags or a tree
(:mod:`~isoglot.transfer.tasks.word_tasks`). A task of your own is a small file that defines reading and scoring::

    class Topic(Classification):
        name = "topic"
        def read(self, path, language): ...

    register(Topic())

Shapes: ``N`` tokens of a row, ``W`` positions of a row that a head reads, ``K`` targets per position (1: a label; 2: a
head and its relation), ``S`` examples.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from isoglot.core.errors import ConfigError, InputError, IsoglotError, nearest_name, shown
from isoglot.core.language_codes import language_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from isoglot.languages.corpus import Split
    from isoglot.text.formats.conll import Tree
    from isoglot.transfer.tuning.heads import HeadConfig, TaskHead
    from isoglot.vocab.word_reader import Reader

Kind = Literal["classification", "tagging", "parsing"]
Unseen = Literal["refuse", "count"]
"""Labels that are not in training: an error, or counted as wrong."""
IGNORED = -100
"""Target of positions without a loss."""


class Example:
    """Base class of examples, which refuses a string for its words or texts: it would be read by characters."""

    __slots__ = ()

    def __post_init__(self) -> None:
        name = next(iter(self.__dataclass_fields__))  # type: ignore[attr-defined]
        value = getattr(self, name)
        if isinstance(value, str):
            problem = f"{name} is the string {shown(value)}, not a tuple of strings"
            raise ConfigError(problem, f"write {type(self).__name__}(({shown(value)},), …)", "malformed-option")


@dataclass(frozen=True, slots=True)
class Passage(Example):
    """One text, or a pair, and its label.

    >>> Passage(("It was a good film.",), "positive").label
    'positive'
    """

    texts: tuple[str, ...]
    """One text, or two for a pair."""
    label: str = ""
    """The gold label; empty if unknown."""


@dataclass(frozen=True, slots=True)
class Tagged(Example):
    """Words with tags.

    >>> Tagged(("He", "lives", "in", "Bonn"), ("O", "O", "O", "B-LOC")).tags[-1]
    'B-LOC'
    """

    words: tuple[str, ...]
    """The words of the sentence."""
    tags: tuple[str, ...] = ()
    """A tag for each word; empty if unknown."""
    blanks: tuple[bool, ...] | None = None
    """Whether a blank follows each word; None if unknown."""
    tree: Tree | None = field(default=None, repr=False)
    """The tree it was read from, if any."""


@dataclass(frozen=True, slots=True)
class Parsed(Example):
    """Words with heads (from 1; 0 is the root) and relations.

    >>> Parsed(("He", "sleeps"), heads=(2, 0), relations=("nsubj", "root")).heads
    (2, 0)
    """

    words: tuple[str, ...]
    """The words of the sentence."""
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    blanks: tuple[bool, ...] | None = None
    """Whether a blank follows each word; None if unknown."""
    tree: Tree | None = None
    """The tree it was read from, if any."""


ExampleT = TypeVar("ExampleT", Passage, Tagged, Parsed)


def text_of(example: Passage | Tagged | Parsed) -> tuple[str, ...]:
    """Input of an example, without labels."""
    return example.texts if isinstance(example, Passage) else example.words


@dataclass(frozen=True)
class Data(Generic[ExampleT]):
    """Examples of one language, and the file they were read from, if any.

    They are stored as a tuple, so the hash stays valid.

    >>> from isoglot.transfer import Passage
    >>> len(Data([Passage(("It was a good film.",), "positive")], "mine"))
    1
    """

    examples: Sequence[ExampleT]
    """The examples, in the order of the file."""
    file: str | None = None
    """The file they were read from; None if there is none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", tuple(self.examples))

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def sha256(self) -> str:
        """Hash of the examples, computed once."""
        digest = hashlib.sha256()
        for example in self.examples:
            digest.update(repr(example).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    @cached_property
    def texts(self) -> frozenset[tuple[str, ...]]:
        """Distinct inputs of the examples, computed once."""
        return frozenset(map(text_of, self.examples))

    def head(self, count: int) -> Data[ExampleT]:
        """The first N examples."""
        return Data(self.examples[:count], self.file)


ValueT = TypeVar("ValueT")


def by_code(data: Mapping[str, ValueT]) -> dict[str, ValueT]:
    """Values by canonical language code."""
    return {language_code(code): value for code, value in data.items()}


@dataclass(frozen=True)
class Labels:
    """Labels of a task, numbered alphabetically."""

    names: tuple[str, ...]

    @classmethod
    def learned(cls, labels: Iterable[str]) -> Labels:
        """The distinct labels, sorted."""
        return cls(tuple(sorted(set(labels))))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def numbers(self) -> dict[str, int]:
        """Index by label."""
        return {name: number for number, name in enumerate(self.names)}


@dataclass(frozen=True)
class TaskRow:
    """One input of the encoder: an example, or a window of a long example."""

    ids_N: np.ndarray
    """Tokens, with special tokens."""
    places_W: np.ndarray
    """Positions that the head reads; 0 is the first token, usually a special one."""
    targets_WK: np.ndarray | None
    """Targets at these positions; None without labels."""
    example: int
    first: int = 0
    """Index of its first word in the example."""
    parts_W: np.ndarray | None = None
    """Index of the text each position is in, for heads that need it."""
    texts: tuple[int, ...] = ()
    """Number of tokens of each text, if the row consists of one or two texts."""


@dataclass
class TaskRows:
    """Rows of examples, with counts of what was split or left out."""

    rows: list[TaskRow] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Counts such as ``split``, ``truncated``, ``left out``, ``empty``, ``unread``; reported to the user."""
    units: dict[int, list[int]] = field(default_factory=dict)
    """For examples with words that share tokens: number of words per group."""


@dataclass(frozen=True)
class TaskScores:
    """Scores of predictions: the main score, the others, and counts behind the main score."""

    main: float
    """Main score, from 0 to 100."""
    values: Mapping[str, float]
    """All scores by name; names of one word are shown in tables."""
    ratio_S2: np.ndarray
    """Counts per sentence whose ratio of sums is the main score (:mod:`isoglot.transfer.scoring.significance`)."""


class Task(ABC, Generic[ExampleT]):
    """Base class of all tasks.

    >>> from isoglot.transfer import find_task
    >>> task = find_task("ner")
    >>> task.name, task.kind, task.metric
    ('ner', 'tagging', 'f1')
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """Title for display."""
    kind: ClassVar[Kind]
    metric: ClassVar[str]
    """Name of the main score."""
    unseen: ClassVar[Unseen] = "refuse"

    # --- defined by a task ---

    @abstractmethod
    def read(self, path: str | Path, language: str) -> Data[ExampleT]:
        """Read the examples of a file.

        Raises:
            InputError: The file is malformed.
            StorageError: The file cannot be read.
        """

    def builtin(
        self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False
    ) -> Data[ExampleT]:
        """Examples of a built-in language or its twin.

        Args:
            language: Code of the language.
            split: Train, dev or test.
            count: Number of examples.
            seed: Random seed; the n-th example has the same meaning in every language.
            spaced: Whether all words are separated by blanks, as in twins.

        Raises:
            ConfigError: The task has no built-in examples, or the language has none.
        """
        raise no_builtin(self.name)

    @abstractmethod
    def score(self, gold: Sequence[ExampleT], predicted: Sequence[ExampleT]) -> TaskScores:
        """Score predictions.

        Raises:
            InputError: The number of predictions differs from that of examples.
        """

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a label in a file, for error messages; None if unknown."""
        return None

    # --- defined by a kind ---

    @abstractmethod
    def labels(self, example: ExampleT) -> Sequence[str]:
        """Labels of an example, in order."""

    @abstractmethod
    def rows(
        self, examples: Sequence[ExampleT], reader: Reader, labels: Labels, *, purpose: Literal["learn", "test"]
    ) -> TaskRows:
        """Convert examples to rows; to ``learn``, with targets and without rows that have none."""

    @abstractmethod
    def predicted(
        self, examples: Sequence[ExampleT], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[ExampleT]:
        """Examples with predicted labels; ``decoded`` (W × K) has the shape of targets."""

    @abstractmethod
    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """Create a head."""

    # --- common ---

    def learned_labels(self, data: Iterable[Data[ExampleT]]) -> Labels:
        """Collect the labels of training data.

        Raises:
            InputError: There are fewer than two.
        """
        every = list(data)
        found = Labels.learned(label for one in every for example in one.examples for label in self.labels(example))
        if len(found) < 2:
            file = next((one.file for one in every if one.file), None)
            there = f"the only label is {shown(found.names[0])}" if found.names else "there are no labels"
            raise InputError(f"{there} to learn {self.name} from", "give examples of two or more", "too-few", file=file)
        self.check_labels(found, every)
        return found

    def check_labels(self, labels: Labels, data: Sequence[Data[ExampleT]]) -> None:
        """Check that labels are plausible for the task; accepts all by default.

        Raises:
            InputError: They are not.
        """

    def constant_label(self, gold: Sequence[ExampleT], predicted: Sequence[ExampleT]) -> str | None:
        """The label of all predictions if they are equal and the gold has several; else None."""
        found = {label for example in predicted for label in self.labels(example)}
        several = len({label for example in gold for label in self.labels(example)}) > 1
        return found.pop() if several and len(found) == 1 else None

    def unseen_labels(self, data: Data[ExampleT], labels: Labels, unseen: Unseen | None = None) -> Counter[str]:
        """Count labels that are not in training.

        Raises:
            InputError: There is one and the task refuses them.
        """
        known = set(labels.names)
        found: Counter[str] = Counter()
        for number, example in enumerate(data.examples):
            for place, label in enumerate(self.labels(example)):
                if label not in known:
                    if (unseen or self.unseen) == "refuse":
                        count = "or set unseen_labels=count, which counts it as wrong"
                        line, remedy = None, f"use more training examples, {count}"
                        if data.file is not None:
                            line = self.line_of(data.file, number, place)
                            near = nearest_name(label, known)
                            remedy = f"add it to the training data, {count}; in this file, {near}"
                        problem = f"the label {shown(label)} is not in the training data"
                        raise InputError(problem, remedy, "unknown-label", file=data.file, line=line)
                    found[label] += 1
        return found


def no_builtin(task: str) -> ConfigError:
    """Error of a task without built-in examples."""
    problem = f"there are no built-in examples for {task}"
    return ConfigError(problem, "give files", "built-in-language")


def accuracy(right: Sequence[int], whole: Sequence[int]) -> TaskScores:
    """Accuracy from the number of correct and of all labels of each example."""
    import numpy as np

    ratio_S2 = np.stack([np.asarray(right, dtype=np.int64), np.asarray(whole, dtype=np.int64)], axis=1)
    part, all_of_it = ratio_S2.sum(axis=0).tolist()
    found = 100 * part / all_of_it if all_of_it else 0.0
    return TaskScores(found, {"accuracy": found}, ratio_S2)


def check_paired(gold: Sequence[object], predicted: Sequence[object]) -> None:
    """Check that there is one prediction per example.

    Raises:
        InputError: The numbers differ.
    """
    if len(gold) != len(predicted):
        raise InputError(f"{len(predicted)} predictions for {len(gold)} examples", "give one for each", "row-count")


# --- registry: built-in tasks are imported on first use; the file of a user's task calls register ---

_HOMES = dict.fromkeys(("nli", "topic"), "classification") | dict.fromkeys(("ner", "pos", "parse"), "word_tasks")
_REGISTERED: dict[str, Task[Any]] = {}


def register(task: Task[Any]) -> Task[Any]:
    """Register a task under its name.

    Args:
        task: A task of your own.

    Returns:
        The task itself.

    >>> from isoglot.transfer import find_task
    >>> task = find_task("ner")
    >>> register(task) is task
    True
    """
    _REGISTERED[task.name] = task
    return task


def known_tasks() -> dict[str, Task[Any]]:
    """All tasks by name.

    Returns:
        Built-in tasks and registered ones.

    >>> "ner" in known_tasks()
    True
    """
    for home in _HOMES.values():
        import_module(f"isoglot.transfer.tasks.{home}")
    return dict(_REGISTERED)


def load_task_file(path: str | Path) -> Task[Any]:
    """Run a Python file that registers a task, and return the last task it registers.

    Raises:
        InputError: The file fails or registers no task.
        StorageError: The file cannot be read.
    """
    from isoglot.core.files import read_text

    text, before = read_text(path), dict(_REGISTERED)
    with of_task_file(path):
        try:
            code = compile(text, str(path), "exec")
        except SyntaxError as error:
            raise _failed(path, error.lineno, error) from error
        exec(code, {"__name__": f"isoglot_task_{Path(path).stem}", "__file__": str(path)})  # noqa: S102 - the user's own
    made = [task for name, task in _REGISTERED.items() if before.get(name) is not task]
    if not made:
        raise InputError("no task is registered here", "end the file with register(YourTask())", "task-file", file=path)
    return made[-1]


@contextmanager
def of_task_file(path: str | Path | None) -> Iterator[None]:
    """Context manager that reports exceptions raised in a task file as errors of that file.

    Args:
        path: The file; None to do nothing.

    Raises:
        InputError: The innermost frame in isoglot or the file is in the file.
    """
    try:
        yield
    except (IsoglotError, OSError):
        raise
    except (Exception, SystemExit) as error:
        ours = str(Path(__file__).parents[2])
        frames = [f for f in extract_tb(error.__traceback__) if f.filename == str(path) or f.filename.startswith(ours)]
        if path is None or not frames or frames[-1].filename != str(path):
            raise
        raise _failed(path, frames[-1].lineno, error) from error


@contextmanager
def opened_task(file: str | Path | None, name: str | None = None) -> Iterator[Any]:
    """Load a task file, or find a task by name, for the duration of the block: see :func:`of_task_file`.

    Args:
        file: The task file.
        name: The name of a task, used without a file.

    Raises:
        ConfigError: There is no such task.
        InputError: The file fails, or what it defines fails in the block.
    """
    with of_task_file(file):
        found = load_task_file(file) if file is not None else None if name is None else find_task(name)
        yield found


def _failed(path: str | Path, line: int | None, error: BaseException) -> InputError:
    problem = f"the task file fails: {type(error).__name__}: {shown(str(error), 200)[1:-1]}"
    return InputError(problem, "correct the file or its input", "task-file", file=path, line=line)


def find_task(name: str) -> Task[Any]:
    """Find a task by name.

    Args:
        name: Such as ``ner``.

    Returns:
        The task, which reads and scores examples.

    >>> find_task("ner").name
    'ner'

    Raises:
        ConfigError: It does not exist.
    """
    if name in _HOMES and name not in _REGISTERED:
        import_module(f"isoglot.transfer.tasks.{_HOMES[name]}")
    if name not in _REGISTERED:
        known = {*_HOMES, *_REGISTERED}
        remedy = f"load the file of your own task first, or {nearest_name(name, known)}"
        raise ConfigError(f"there is no task {shown(name)}", remedy, "unknown-name")
    return _REGISTERED[name]
