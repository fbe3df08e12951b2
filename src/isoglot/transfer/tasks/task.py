"""A task: how its files are read, what its labels are, how examples become rows of an encoder, and how it is scored.

Three kinds do all the work, :mod:`~isoglot.transfer.tasks.classification`, :mod:`~isoglot.transfer.tasks.tagging` and
:mod:`~isoglot.transfer.tasks.parsing`; a task of one's own is one small file that says how to read and how to score::

    class Topic(Classification):
        name = "topic"
        def read(self, path, language): ...

    register(Topic())

Shapes: ``N`` tokens of a row, ``W`` places of a row that a head reads, ``K`` numbers to learn for a place (1: a label;
2: a head and its relation), ``S`` examples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from isoglot.core.errors import ConfigError, InputError, IsoglotError, nearest_name, shown
from isoglot.transfer.tasks.examples import Data, ExampleT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from isoglot.languages.corpus import Split
    from isoglot.transfer.tuning.heads import HeadConfig, TaskHead
    from isoglot.vocab.word_reader import Reader

Kind = Literal["classification", "tagging", "parsing"]
Unseen = Literal["refuse", "count"]
"""What a label is that training did not have: an error, or counted and always scored as wrong."""
IGNORED = -100
"""The target of a place that nothing is learned from."""


@dataclass(frozen=True)
class Labels:
    """The labels of a task, numbered in the order of their names."""

    names: tuple[str, ...]

    @classmethod
    def learned(cls, labels: Iterable[str]) -> Labels:
        """Those that occur, sorted."""
        return cls(tuple(sorted(set(labels))))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def numbers(self) -> dict[str, int]:
        """The number of each."""
        return {name: number for number, name in enumerate(self.names)}


@dataclass(frozen=True)
class TaskRow:
    """What goes through the encoder at once: an example, or a window of one that is too long."""

    ids_N: np.ndarray
    """Its tokens, with the special ones that the tokenizer puts around them."""
    places_W: np.ndarray
    """Where the head reads; 0 is the first token, as a rule the special one in front."""
    targets_WK: np.ndarray | None
    """What is to be learned there; None for text without labels."""
    example: int
    first: int = 0
    """Its first word, of those of the example."""
    parts_W: np.ndarray | None = None
    """Which text of the example each place is in, from 0, for a head that asks; None: it does not matter."""
    texts: tuple[int, ...] = ()
    """Tokens of each text, where the row is made of one or two whole texts."""


@dataclass
class TaskRows:
    """The rows of some examples, and what happened to them on the way."""

    rows: list[TaskRow] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """``split``, ``truncated``, ``left out``, ``empty``, ``unread`` words… : never silently."""
    units: dict[int, list[int]] = field(default_factory=dict)
    """Examples whose words are read in groups, because tokens join them: how many words each group has."""


@dataclass(frozen=True)
class TaskScores:
    """How good predictions are: the score that counts, the others, and what the first was counted from."""

    main: float
    """The task's metric, of 100."""
    values: Mapping[str, float]
    """Every score by its name; those of one word stand in tables, all in files."""
    ratio_S2: np.ndarray
    """The main score as a ratio of sums over sentences, for :mod:`isoglot.transfer.scoring.significance`."""


class Task(ABC, Generic[ExampleT]):
    """What all kinds have in common."""

    name: ClassVar[str]
    title: ClassVar[str]
    """A few words for people."""
    kind: ClassVar[Kind]
    metric: ClassVar[str]
    """The name of the main score."""
    unseen: ClassVar[Unseen] = "refuse"

    # --- what a task says ---

    @abstractmethod
    def read(self, path: str | Path, language: str) -> Data[ExampleT]:
        """The examples of a file.

        Raises:
            InputError: It is malformed.
            StorageError: It cannot be read.
        """

    def builtin(
        self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False
    ) -> Data[ExampleT]:
        """Examples of a built-in language, or a twin of one.

        Args:
            language: Its code.
            split: Train, dev or test.
            count: How many.
            seed: Same seed, same examples; the n-th means the same in every language.
            spaced: Whether a blank stands between all words, as in twins.

        Raises:
            ConfigError: The task has no built-in examples, or the language has none.
        """
        raise ConfigError(
            f"there are no built-in examples for {self.name}", remedy="give files", code="config.built-in-language"
        )

    @abstractmethod
    def score(self, gold: Sequence[ExampleT], predicted: Sequence[ExampleT]) -> TaskScores:
        """How good predictions are.

        Raises:
            InputError: There is not one for each example.
        """

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """The line of a file at which a label stands, for error messages; None: it is not said."""
        return None

    # --- what a kind says ---

    @abstractmethod
    def labels(self, example: ExampleT) -> Sequence[str]:
        """The labels in an example, in order."""

    @abstractmethod
    def rows(
        self, examples: Sequence[ExampleT], reader: Reader, labels: Labels, *, purpose: Literal["learn", "test"]
    ) -> TaskRows:
        """Examples as rows; with targets, and without what nothing can be learned from, when they are to be learned."""

    @abstractmethod
    def predicted(
        self, examples: Sequence[ExampleT], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[ExampleT]:
        """The examples with what was predicted: decoded (W x K) has the shape of targets."""

    @abstractmethod
    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """A new head."""

    # --- what follows ---

    def learned_labels(self, data: Iterable[Data[ExampleT]]) -> Labels:
        """The labels in training data.

        Raises:
            InputError: There are none, or one only.
        """
        every = list(data)
        found = Labels.learned(label for one in every for example in one.examples for label in self.labels(example))
        if len(found) < 2:
            file = next((one.file for one in every if one.file), None)
            there = f"the only label is {shown(found.names[0])}" if found.names else "there are no labels"
            raise InputError(
                f"{there} to learn {self.name} from",
                remedy="give examples of two or more",
                code="input.too-few",
                file=file,
            )
        self.check_labels(found, every)
        return found

    def check_labels(self, labels: Labels, data: Sequence[Data[ExampleT]]) -> None:
        """Refuse labels that cannot be those of the task, such as sentences taken for labels; any will do by default.

        Raises:
            InputError: They cannot.
        """

    def constant_label(self, gold: Sequence[ExampleT], predicted: Sequence[ExampleT]) -> str | None:
        """The one label that all predictions have where the gold has several: nothing was learned; None: no such."""
        found = {label for example in predicted for label in self.labels(example)}
        several = len({label for example in gold for label in self.labels(example)}) > 1
        return found.pop() if several and len(found) == 1 else None

    def unseen_labels(self, data: Data[ExampleT], labels: Labels, unseen: Unseen | None = None) -> Counter[str]:
        """Labels that training did not have, and how often.

        Raises:
            InputError: There is one, and the task refuses them; with file, line, the label and what to do.
        """
        known = set(labels.names)
        found: Counter[str] = Counter()
        for number, example in enumerate(data.examples):
            for place, label in enumerate(self.labels(example)):
                if label not in known:
                    if (unseen or self.unseen) == "refuse":
                        count = "or with --set unseen_labels=count, which counts it as wrong"
                        line, remedy = None, f"learn from more examples (--sentences), {count}"
                        if data.file is not None:
                            line = self.line_of(data.file, number, place)
                            near = nearest_name(label, known)
                            remedy = f"learn from data that has it, {count}; in this file, {near}"
                        problem = f"the label {shown(label)} is not in the training data"
                        raise InputError(problem, remedy=remedy, code="input.unknown-label", file=data.file, line=line)
                    found[label] += 1
        return found


def accuracy(right: Sequence[int], whole: Sequence[int]) -> TaskScores:
    """The share that is right, from how many are right and how many there are in each example."""
    import numpy as np

    ratio_S2 = np.stack([np.asarray(right, dtype=np.int64), np.asarray(whole, dtype=np.int64)], axis=1)
    part, all_of_it = ratio_S2.sum(axis=0).tolist()
    found = 100 * part / all_of_it if all_of_it else 0.0
    return TaskScores(found, {"accuracy": found}, ratio_S2)


def check_paired(gold: Sequence[object], predicted: Sequence[object]) -> None:
    """Refuse to score what does not belong together.

    Raises:
        InputError: There are more or fewer predictions than examples.
    """
    if len(gold) != len(predicted):
        raise InputError(
            f"{len(predicted)} predictions for {len(gold)} examples", remedy="give one for each", code="input.row-count"
        )


# --- the registry ---
#
# Built-in tasks are imported when they are asked for. A task of one's own is in a Python file that calls register.

_HOMES = {"nli": "nli", "ner": "ner", "parse": "parsing", "pos": "pos", "topic": "topic"}
_REGISTERED: dict[str, Task[Any]] = {}


def register(task: Task[Any]) -> Task[Any]:
    """Make a task known by its name."""
    _REGISTERED[task.name] = task
    return task


def known_tasks() -> dict[str, Task[Any]]:
    """Every task by its name."""
    for home in _HOMES.values():
        import_module(f"isoglot.transfer.tasks.{home}")
    return dict(_REGISTERED)


def load_task_file(path: str | Path) -> Task[Any]:
    """Run a Python file of the user's that registers a task; the last one it registers.

    Raises:
        InputError: It fails, or registers none.
        StorageError: It cannot be read.
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
        raise InputError(
            "no task is registered here",
            remedy="end the file with register(YourTask())",
            code="input.task-file",
            file=path,
        )
    return made[-1]


@contextmanager
def of_task_file(path: str | Path | None) -> Iterator[None]:
    """While the block lasts, what fails in a task's file is said to fail there; an OSError names a file already.

    Args:
        path: The file; None: nothing changes.

    Raises:
        InputError: Of all the code that is ours or the file's, the file's was the last to run.
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


def _failed(path: str | Path, line: int | None, error: BaseException) -> InputError:
    problem = f"the task file fails: {type(error).__name__}: {shown(str(error), 200)[1:-1]}"
    return InputError(
        problem, remedy="correct it there, or what it reads", code="input.task-file", file=path, line=line
    )


def find_task(name: str) -> Task[Any]:
    """The task of a name.

    Raises:
        ConfigError: There is none; with the nearest.
    """
    if name in _HOMES and name not in _REGISTERED:
        import_module(f"isoglot.transfer.tasks.{_HOMES[name]}")
    if name not in _REGISTERED:
        known = {*_HOMES, *_REGISTERED}
        remedy = f"if it is your own, name its file: --task FILE; else {nearest_name(name, known)}"
        raise ConfigError(f"there is no task {shown(name)}", remedy=remedy, code="config.unknown-name")
    return _REGISTERED[name]
