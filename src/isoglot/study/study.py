"""A study on disk: its plan, its store, and the numbers that it has so far.

::

    study.json    what is studied: recipe, scale, data, options; every step and measurement
    steps/        the store (:mod:`isoglot.study.store`)
    log/          what each worker said
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from isoglot.core.artifact import read_index_file, write_index
from isoglot.core.display import Displayed
from isoglot.core.errors import ConfigError, CorruptFileError, StorageError, check_name
from isoglot.core.files import writable_folder
from isoglot.core.run import RECORD, sole_writer
from isoglot.study.build import BuiltStudy, Measurement
from isoglot.study.numbers import Numbers
from isoglot.study.step_owner import StepTakenError
from isoglot.study.steps import SourceFile, Status, Step, canonical
from isoglot.study.store import STEPS, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

INDEX = "study.json"
FORMAT = 1
_FORM = {"about": dict, "steps": dict, "files": dict, "measurements": [dict], "left_out": [str]}


@dataclass(frozen=True)
class StepState:
    """Status of a step.

    Attributes:
        step: The step.
        status: Its status.
        seconds: Time of its computation, or of the last attempt that failed.
        error: Reason of the last attempt that failed.
        where: Where it runs, or its job in a queue.
    """

    step: Step
    status: Status
    seconds: float = 0.0
    error: str = ""
    where: str = ""


class Study(Displayed):
    """A study and its store.

    Args:
        out: The study's folder.
        about: Description of the study: recipe, scale, pairs, seeds.
        steps: Every step, inputs first.
        measurements: Steps whose numbers belong to the study.
        left_out: What could not be planned, and why.
    """

    def __init__(
        self,
        out: str | Path,
        about: Mapping[str, Any],
        steps: Sequence[Step],
        measurements: Sequence[Measurement],
        left_out: Sequence[str] = (),
    ) -> None:
        self.out = Path(out)
        self.about = dict(about)
        self.steps = {step.key: step for step in steps}
        self.measurements = list(measurements)
        self.left_out = list(left_out)
        self.store = Store(out)
        self.readers: dict[str, list[str]] = {key: [] for key in self.steps}
        for step in self.steps.values():
            for one in step.steps.values():
                self.readers[one.key].append(step.key)

    def __repr__(self) -> str:
        return f"Study({str(self.out)!r}, {self.about.get('recipe')}, {len(self.steps)} steps)"

    # --- on disk ---

    @classmethod
    def create(cls, out: str | Path, built: BuiltStudy) -> Study:
        """Write the plan of a study to its folder; an earlier plan there is replaced, its steps stay.

        A plan of some arms or pairs is added to the earlier one.

        Raises:
            ConfigError: The folder holds something else, or a plan with other settings that this one does not replace.
            StorageError: It cannot be written.
        """
        study = cls(out, _about(built), built.steps, built.measurements, built.left_out)
        path = study.out
        there = {one.name for one in path.iterdir()} - {RECORD} if path.is_dir() else set()
        if there and not there & {INDEX, STEPS}:
            raise ConfigError(f"{path} holds something that is not a study", "name another --out", "would-overwrite")
        writable_folder(path)
        with _patient_writer(path / INDEX):
            if (built.options.arms or built.options.pairs) and (path / INDEX).exists():
                with suppress(CorruptFileError):  # which is replaced
                    study = joined([cls.open(path), study], path)
            study._write()
        return study

    def save(self, *, paths: bool = True) -> None:
        """Write ``study.json``, with the paths of the user's files or with their names alone.

        Raises:
            StorageError: It cannot be written.
        """
        writable_folder(self.out)
        with _patient_writer(self.out / INDEX):
            self._write(paths=paths)

    def _write(self, *, paths: bool = True) -> None:
        files = {file.key: file for step in self.steps.values() for file in step.files.values()}
        content = {
            "about": self.about,
            "files": {
                key: {"path": file.path if paths else Path(file.path).name, "sha256": file.sha256}
                for key, file in files.items()
            },
            "steps": {key: _step_facts(step) for key, step in self.steps.items()},
            "measurements": [{"key": one.step.key, "at": dict(one.at)} for one in self.measurements],
            "left_out": self.left_out,
        }
        write_index(self.out / INDEX, "study", FORMAT, content)

    @classmethod
    def open(cls, out: str | Path) -> Study:
        """Open a study. Steps keep the keys that they were planned with, also those of an earlier version of isoglot.

        Raises:
            CorruptFileError: ``study.json`` was altered.
            StorageError: There is none in the folder.
        """
        path = Path(out) / INDEX
        if not path.exists():
            problem = f"no study in this folder: there is no {INDEX}"
            remedy = "name the --out of isoglot study run"
            raise StorageError(problem, remedy, "not-found", file=out)
        found = read_index_file(path, _FORM, version=FORMAT, what="study", remedy="run the study again")
        files = {key: SourceFile(one["path"], one["sha256"]) for key, one in found["files"].items()}
        steps: dict[str, Step] = {}
        for key, facts in found["steps"].items():
            inputs = {name: steps[one] if one in steps else files[one] for name, one in facts["inputs"].items()}
            steps[key] = Step(
                facts["kind"],
                facts["settings"],
                cast("Mapping[str, Step | SourceFile]", inputs),
                execution=facts["execution"],
                title=facts["title"],
                heavy=tuple(facts["heavy"]),
                tokens=facts["tokens"],
                planned_key=key,
            )
        measurements = [Measurement(steps[one["key"]], one["at"]) for one in found["measurements"]]
        return cls(out, found["about"], list(steps.values()), measurements, found["left_out"])

    # --- status and numbers ---

    def needed(self) -> list[Step]:
        """Steps that have to run, inputs first.

        A step that is done but whose heavy files were removed runs again only if a step that reads them has to run.
        """
        wanted: set[str] = set()

        def want(step: Step, *, payload: bool) -> None:
            if step.key in wanted:
                return
            there = self.store.is_whole(step.key) if payload else self.store.is_done(step.key)
            if there:
                return
            wanted.add(step.key)
            for one in step.steps.values():
                want(one, payload=True)

        for one in self.measurements:
            want(one.step, payload=False)
        return [step for key, step in self.steps.items() if key in wanted]

    def part(self, arms: Sequence[str] = (), *, prepare: bool = False) -> Study:
        """The same study, of which a part is to be run.

        Args:
            arms: Names of the arms that are measured; empty: all.
            prepare: Whether only steps are run that need no GPU, and no input that does.

        Raises:
            ConfigError: There is no such arm.
        """
        known = self.about.get("arms", {})
        for name in arms:
            check_name("arm", name, known)
        chosen = [one for one in self.measurements if not arms or one.at.get("arm") in arms]
        part = Study(self.out, self.about, list(self.steps.values()), chosen, self.left_out)
        if prepare:
            wanted = {step.key: step for step in part.needed()}
            ready: dict[str, Step] = {}
            for key, step in wanted.items():  # inputs first
                if step.on_cpu and all(one.key in ready or one.key not in wanted for one in step.steps.values()):
                    ready[key] = step
            part.measurements = [Measurement(step, {}) for step in ready.values()]
        return part

    def states(self, queued: Mapping[str, str] | None = None) -> list[StepState]:
        """Status of every step, inputs first.

        Args:
            queued: Steps that a cluster has jobs for, and the jobs, by key.
        """
        queued = queued or {}
        needed = {step.key for step in self.needed()}
        found: dict[str, StepState] = {}
        for key, step in self.steps.items():
            record = self.store.record(key)
            failures = self.store.failures(key)
            if record is not None and key not in needed:
                status: Status = "dropped" if record["dropped"] else "done"
                found[key] = StepState(step, status, float(record.get("seconds", 0.0)))
            elif (where := self.store.owner(key)) is not None:
                found[key] = StepState(step, "running", where=where)
            elif key in queued:
                found[key] = StepState(step, "queued", where=f"job {queued[key]}")
            elif any(found[one.key].status in ("failed", "blocked") for one in step.steps.values()):
                found[key] = StepState(step, "blocked")
            elif failures:
                found[key] = StepState(step, "failed", failures[-1].seconds, failures[-1].error)
            elif self.store.is_begun(key):
                found[key] = StepState(step, "paused")
            else:
                where = "was computed; runs again for a step that needs its files" if record is not None else ""
                found[key] = StepState(step, "waiting", where=where)
        return list(found.values())

    def find(self, key: str) -> Step:
        """The step with a key, or with one that begins so.

        Raises:
            ConfigError: There is none, or several.
        """
        found = [step for one, step in self.steps.items() if one.startswith(key)]
        if len(found) != 1:
            problem = f"{len(found)} steps of the study have keys that begin with {key!r}"
            raise ConfigError(problem, f"isoglot study status {self.out} lists them", "unknown-name")
        return found[0]

    def counts(self) -> Counter[Status]:
        """Number of steps by status."""
        return Counter(state.status for state in self.states())

    def numbers(self) -> Numbers:
        """All numbers so far, with the coordinates of the study."""
        return Numbers(
            number
            for one in self.measurements
            for number in self.store.numbers(one.step.key).with_coordinates(**one.at)
        )

    def droppable(self, done: Iterable[str]) -> list[Step]:
        """Steps with heavy files that no step has to read any more."""
        finished = set(done)
        return [
            step
            for key, step in self.steps.items()
            if step.heavy and key in finished and all(reader in finished for reader in self.readers[key])
        ]

    def drop_unneeded(self, done: Iterable[str], *, packed: bool = False) -> None:
        """Remove heavy files that no step has to read any more; those that another process holds stay for now.

        Args:
            done: Keys of steps that need not run.
            packed: Whether a packed copy of an encoder stays in ``packed/``, in the folder of its step.
        """
        for step in self.droppable(done):
            if self.store.heavy_files(step):
                with suppress(StepTakenError):
                    if packed:
                        self.store.pack(step)
                    self.store.drop(step)


@contextmanager
def _patient_writer(path: Path, seconds: float = 20.0) -> Iterator[None]:
    """Lock a file, waiting for other commands that start on the same study at the same moment."""
    end = time.monotonic() + seconds
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(sole_writer(path))
                break
            except StorageError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.05)
        yield


def merge_studies(
    folders: Sequence[str | Path], out: str | Path, *, keep: Literal["all", "results"] = "all"
) -> tuple[Study, list[str]]:
    """Join studies: their steps, and their measurements; returns the whole and the keys of the steps that were copied.

    Args:
        folders: The studies.
        out: Folder of the whole; a study in it is added to.
        keep: What is copied: all there is, or records and numbers alone, without the paths of the user's files.

    Raises:
        ConfigError: There is none, the folder holds something else, or an arm has other settings in one than in
            another.
        CorruptFileError: A file is not what was written.
        StorageError: A folder has no study, or cannot be written.
    """
    if not folders:
        raise ConfigError("no studies to merge", "name at least one", "missing-data")
    target = Path(out)
    studies = [Study.open(folder) for folder in (*([target] if (target / INDEX).exists() else []), *folders)]
    merged = joined(studies, target)
    merged.save(paths=keep == "all")
    others = [study for study in studies if study.out != target]
    copied = [key for study in others for key in merged.store.merge(study.store, keep=keep)]
    return merged, copied


def joined(studies: Sequence[Study], out: Path) -> Study:
    """The steps and measurements of studies as one, which is not written yet.

    Raises:
        ConfigError: An arm, or the recipe, has other settings in one than in another.
    """
    for number, one in enumerate(studies):
        for other in studies[:number]:
            _check_compatible(other, one)
    steps = {key: step for study in studies for key, step in study.steps.items()}
    measurements = {one.place: one for study in studies for one in study.measurements}
    about = {
        **studies[0].about,
        "pairs": list(dict.fromkeys(pair for study in studies for pair in study.about["pairs"])),
        "claims": list(dict.fromkeys(claim for study in studies for claim in study.about["claims"])),
        "seeds": max(study.about["seeds"] for study in studies),
        "arms": _first_titles(study.about["arms"] for study in studies),
    }
    left_out = list(dict.fromkeys(reason for study in studies for reason in study.left_out))
    return Study(out, about, list(steps.values()), list(measurements.values()), left_out)


def _check_compatible(one: Study, other: Study) -> None:
    """Refuse two studies whose numbers would be averaged or compared although they were made differently."""
    where = f"{one.out} and {other.out}" if one.out != other.out else f"the study in {one.out} and this one"
    remedy = "name another --out, or give both the same settings"
    if one.about.get("recipe") == other.about.get("recipe"):
        both_say = "settings" in one.about and "settings" in other.about  # studies before version 0.2 do not
        for name in ("scale", "tokens", "model", *(("settings",) if both_say else ())):
            ours, theirs = (study.about.get(name) or None for study in (one, other))
            if ours != theirs:
                problem = f"{where} do not fit: {name} is {_words(ours)} in the one and {_words(theirs)} in the other"
                raise ConfigError(problem, remedy, "other-settings")
    elif one.out == other.out:
        problem = f"{one.out} holds a study of {one.about.get('recipe')}, not of {other.about.get('recipe')}"
        raise ConfigError(problem, "name another --out", "other-settings")
    trained = _trained_arms(one)
    for arm, (tokens, key) in _trained_arms(other).items():
        if arm in trained and trained[arm] != (tokens, key):
            before = trained[arm][0]
            what = f"{before:,} tokens in the one and {tokens:,} in the other" if before != tokens else "other settings"
            name, pair = arm[:2]
            raise ConfigError(f"{where} do not fit: arm {name} of {pair} has {what}", remedy, "other-settings")


def _trained_arms(study: Study) -> dict[tuple[str, str, str], tuple[int, str]]:
    """Tokens of each arm, and a hash of all that its training depends on but for seeds."""
    found = {}
    for one in study.measurements:
        step = one.step
        if step.kind == "pretrain":
            config = {key: value for key, value in step.settings["config"].items() if key not in ("seed", "init_seed")}
            form = canonical({"config": config, "inputs": {name: given.key for name, given in step.inputs.items()}})
            arm = tuple(str(one.at.get(name, "")) for name in ("arm", "pair", "variant"))
            found[arm[0], arm[1], arm[2]] = step.tokens, form
    return found


def _words(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "not set")


def _first_titles(every: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Titles of arms by name: of an arm with several, the first, as the table of a paper comes before its figures."""
    found: dict[str, str] = {}
    for titles in every:
        for name, title in titles.items():
            found.setdefault(name, title)
    return found


def _about(built: BuiltStudy) -> dict[str, Any]:
    """Description of the study: recipe, scale, pairs, seeds."""
    return {
        "recipe": built.names[0],
        "title": built.recipes[0].title,
        "paper": built.recipes[0].paper,
        "claims": list(dict.fromkeys(claim for recipe in built.recipes for claim in recipe.claims)),
        "includes": list(built.names[1:]),
        "scale": built.scale_name,
        "tokens": built.scale.tokens,
        "settings": sorted(built.options.scale_settings),
        **({} if built.options.model is None else {"model": built.options.model}),
        "threads": built.scale.threads,
        "pairs": list(built.pairs),
        "seeds": built.seeds,
        "arms": _first_titles(
            {name: arm.title or name for name, arm in recipe.arms.items()} for recipe in built.recipes
        ),
        "baseline": built.recipes[0].baseline,
    }


def _step_facts(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "settings": dict(step.settings),
        "inputs": {name: one.key for name, one in step.inputs.items()},
        "execution": dict(step.execution),
        "title": step.title,
        "heavy": list(step.heavy),
        "tokens": step.tokens,
    }
