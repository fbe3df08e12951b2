"""Steps of a study: library calls with a key.

A step's key is the hash of what it computes: the kind of step and its version, its settings, and the keys of its
inputs. Names of modules, classes and functions are no part of it, nor are paths, devices or dates, so a result keeps
its key when code is renamed or a study is moved. A change that alters what a kind computes raises its version.

>>> text = SourceFile(path="en.txt", sha256="0" * 64)
>>> step = Step("cut-text", {"sentences": 100}, {"text": text})
>>> step.key == Step("cut-text", {"sentences": 100}, {"text": SourceFile("elsewhere.txt", "0" * 64)}).key
True
>>> step.key == Step("cut-text", {"sentences": 101}, {"text": text}).key
False
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, cast

from isoglot.core.errors import ConfigError, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

    from isoglot.core.progress import Progress, Say
    from isoglot.study.numbers import Number

T = TypeVar("T")
CANONICAL_FORM = 1
KEY_LENGTH = 20
"""Hexadecimal digits of a key."""


# --- kinds ---


class Kind(NamedTuple):
    """A kind of step.

    Attributes:
        version: Raised by a change that alters what is computed.
        function: ``module:function`` that computes a step.
        seconds: Rough time of a step at scale ``hour``, where none of its kind has run yet.
        megabytes: Rough size of what it writes at that scale, where it cannot be estimated from the data.
        on_cpu: Whether it does not use a GPU.
    """

    version: int
    function: str
    seconds: float = 10.0
    megabytes: float = 1.0
    on_cpu: bool = False


KINDS = {
    "cut-text": Kind(1, "isoglot.study.kinds.text:cut_text", seconds=20, on_cpu=True),
    "builtin-text": Kind(1, "isoglot.study.kinds.text:builtin_text", seconds=5, on_cpu=True),
    "first-sentences": Kind(1, "isoglot.study.kinds.text:first_sentences", seconds=20, on_cpu=True),
    "segmented-text": Kind(1, "isoglot.study.kinds.text:segment", seconds=60, on_cpu=True),
    "builtin-dictionary": Kind(1, "isoglot.study.kinds.text:builtin_dictionary", seconds=1, on_cpu=True),
    "vocabulary": Kind(1, "isoglot.study.kinds.text:train", seconds=60, on_cpu=True),
    "shards": Kind(1, "isoglot.study.kinds.text:encode", seconds=60, on_cpu=True),
    "pretrain": Kind(1, "isoglot.study.kinds.pretrain:train"),
    "static": Kind(1, "isoglot.study.kinds.words:train_static", seconds=900, megabytes=100, on_cpu=True),
    "transfer": Kind(1, "isoglot.study.kinds.transfer:fine_tune", seconds=30),
    "shifted-transfer": Kind(1, "isoglot.study.kinds.transfer:fine_tune_shifted", seconds=60),
    "word-vectors": Kind(1, "isoglot.study.kinds.words:word_vectors", seconds=10, megabytes=30),
    "word-retrieval": Kind(1, "isoglot.study.kinds.words:retrieve_words", seconds=5, on_cpu=True),
    "language-means": Kind(1, "isoglot.study.kinds.steering:learn_means", seconds=20),
    "steering": Kind(1, "isoglot.study.kinds.steering:sweep", seconds=30),
    "masked-language": Kind(1, "isoglot.study.kinds.steering:decode_masked", seconds=3),
    "fasttext": Kind(1, "isoglot.study.kinds.words:train_fasttext", seconds=600, megabytes=100, on_cpu=True),
    "mapped-embeddings": Kind(1, "isoglot.study.kinds.words:map_embeddings", seconds=20),
    "mapped-contexts": Kind(1, "isoglot.study.kinds.words:map_contexts", seconds=120),
    "word-links": Kind(1, "isoglot.study.kinds.transfer:link_words", seconds=60, on_cpu=True),
    "layer-maps": Kind(1, "isoglot.study.kinds.transfer:fit_maps", seconds=60),
    "mapped-transfer": Kind(1, "isoglot.study.kinds.transfer:transfer_mapped", seconds=300, megabytes=30),
    "sentence-retrieval": Kind(1, "isoglot.study.kinds.sentences:retrieve", seconds=3),
    "similarity": Kind(1, "isoglot.study.kinds.sentences:compare", seconds=3),
    "emergence": Kind(1, "isoglot.study.kinds.sentences:measure_over_training", seconds=20),
    "language-probe": Kind(1, "isoglot.study.kinds.sentences:probe_language", seconds=15),
    "twin-source": Kind(1, "isoglot.study.factorial.real_text:split_source", seconds=120, on_cpu=True),
    "twin-text": Kind(1, "isoglot.study.twin_steps:write_text", seconds=10, on_cpu=True),
    "twin-retrieval": Kind(1, "isoglot.study.twin_steps:retrieve", seconds=10),
}
"""Every kind of step."""
RESUMABLE = ("pretrain",)
"""Kinds of steps that can pause and resume; others start over."""


class Run(Protocol):
    """The function of a kind."""

    def __call__(self, work: Work) -> Sequence[Number]:
        """Do the work in ``work.folder``, and return the numbers that were measured."""


def kind_function(kind: str) -> Run:
    """The function that runs steps of a kind."""
    check_name("kind of step", kind, KINDS)
    module, _, name = KINDS[kind].function.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


# --- steps ---


@dataclass(frozen=True)
class SourceFile:
    """A file of the user's, identified by its content."""

    path: str
    sha256: str

    @property
    def key(self) -> str:
        """Hash of the content."""
        return self.sha256[:KEY_LENGTH]


@dataclass(frozen=True)
class Step:
    """One library call of a study.

    Attributes:
        kind: What is called, a name in :data:`KINDS`.
        settings: What it is called with, as JSON has it; part of the key.
        inputs: Other steps and files that it reads, by name.
        execution: Settings that do not change the result, such as how often a checkpoint is written; not part of the
            key.
        title: Description of the step.
        heavy: Files and folders of the payload that may be removed once every step that reads them is done.
        tokens: Tokens of text that a training step reads, for estimates.
        planned_key: Key that the plan of an earlier version of isoglot has for it; empty: the key that it has now.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Step | SourceFile] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict, compare=False)
    title: str = field(default="", compare=False)
    heavy: tuple[str, ...] = field(default=(), compare=False)
    tokens: int = field(default=0, compare=False)
    planned_key: str = field(default="", compare=False)

    @cached_property
    def key(self) -> str:
        """Hash of what the step computes."""
        return self.planned_key or self.present_key

    @cached_property
    def present_key(self) -> str:
        """The key that this version of isoglot gives it."""
        check_name("kind of step", self.kind, KINDS)
        inputs = {name: one.key for name, one in self.inputs.items()}
        return step_key(self.kind, KINDS[self.kind].version, self.settings, inputs)

    @property
    def on_cpu(self) -> bool:
        """Whether it does not use a GPU."""
        return KINDS[self.kind].on_cpu

    @property
    def steps(self) -> dict[str, Step]:
        """Inputs that are steps."""
        return {name: one for name, one in self.inputs.items() if isinstance(one, Step)}

    @property
    def files(self) -> dict[str, SourceFile]:
        """Inputs that are files."""
        return {name: one for name, one in self.inputs.items() if isinstance(one, SourceFile)}

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.key == other.key


def step_key(kind: str, version: int, settings: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
    """The key of a step: a hash of its canonical form."""
    form = {"form": CANONICAL_FORM, "kind": kind, "version": version, "settings": settings, "inputs": inputs}
    return hashlib.sha256(canonical(form).encode()).hexdigest()[:KEY_LENGTH]


def canonical(value: object) -> str:
    """JSON with sorted keys and no blanks; values that are None are left out, and 1.0 is written as 1.

    >>> canonical({"b": 1.0, "a": None, "c": [True, 0.5]})
    '{"b":1,"c":[true,0.5]}'

    Raises:
        ConfigError: A value is not one that JSON has, or not finite.
    """
    try:
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"a setting has no canonical form: {error}", "use JSON values", "not-supported") from error


def _plain(value: object) -> object:
    match value:
        case dict():
            if any(not isinstance(key, str) for key in value):
                raise TypeError("a key is not a string")
            return {key: _plain(one) for key, one in value.items() if one is not None}
        case list() | tuple():
            return [_plain(one) for one in value]
        case float() if value.is_integer():
            return int(value)
    return value


def ordered(targets: Sequence[Step]) -> list[Step]:
    """The targets and all steps that they need, inputs first, depth first: each target's before the next target's."""
    found: dict[str, Step] = {}

    def visit(step: Step) -> None:
        if step.key in found:
            return
        for one in step.steps.values():
            visit(one)
        found[step.key] = step

    for target in targets:
        visit(target)
    return list(found.values())


# --- work ---


@dataclass(frozen=True, kw_only=True)
class Work:
    """Arguments of a step's function.

    Attributes:
        settings: The step's settings.
        execution: Its settings that do not change the result.
        inputs: Where the payload of each input step, and each input file, is.
        folder: Where to write the payload; empty at first, or as an interrupted attempt left it.
        scratch: A folder for what is not payload, such as checkpoints; kept by interrupted attempts.
        device: Where to compute.
        processes: How many processes train as one, each on a GPU of its own.
        deadline: Moment of ``time.monotonic`` after which the work should stop with :class:`Paused`; None: never.
        progress: Progress reporter.
        say: Receives messages for the user.
        cache: Kept by a worker from step to step, for data that several steps read.
    """

    settings: Mapping[str, Any]
    execution: Mapping[str, Any]
    inputs: Mapping[str, Path]
    folder: Path
    scratch: Path
    device: str
    processes: int = 1
    deadline: float | None
    progress: Progress
    say: Say
    cache: dict[Any, Any]

    def named(self, prefix: str) -> Iterator[tuple[str, Path]]:
        """Inputs whose name is ``prefix`` and a language, such as ``text.en``, by language."""
        for name, path in self.inputs.items():
            first, dot, rest = name.partition(".")
            if dot and first == prefix:
                yield rest, path

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """The object cached under a key, made if there is none."""
        if key not in self.cache:
            self.cache[key] = make()
        return cast("T", self.cache[key])

    def cached_latest(self, group: str, key: Hashable, make: Callable[[], T], *, most: int) -> T:
        """The object of a group cached under a key, made if there is none; at most the latest are kept."""
        kept: dict[Hashable, T] = self.cached(group, dict)
        if key not in kept:
            while len(kept) >= most:
                kept.pop(next(iter(kept)))
            kept[key] = make()
        return kept[key]


class Paused(Exception):  # noqa: N818 - not an error: the work resumes later
    """Raised by a step's function that stopped and can be resumed.

    Args:
        turn: Whether it paused to let another step run; otherwise the deadline has passed.
    """

    def __init__(self, *, turn: bool = False) -> None:
        super().__init__()
        self.turn = turn


Status = Literal["done", "dropped", "running", "queued", "paused", "failed", "blocked", "waiting"]
"""done: the payload is there; dropped: the numbers are, and heavy files were removed; queued: a cluster has a job for
it; paused: an attempt was interrupted; blocked: an input has failed."""
