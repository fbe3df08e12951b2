"""Pretraining from top to bottom: device, vocabulary, encoder, batches, optimizer, resume, training loop, end.

A step is one batch of one language: forward, backward and one update of the weights. Everything random in it is a
function of the seed and the step, so a run that is killed at any moment and resumed ends with the same bits as one that
was not (on the CPU, and with a budget of steps or tokens).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from isoglot.core.devices import product_precision
from isoglot.core.folders import replace_folder
from isoglot.core.progress import SILENT, Progress, Say, Task, say_nothing
from isoglot.core.rng import derive_seed
from isoglot.core.run import RunRecord, record_run
from isoglot.model.encoder import Encoder
from isoglot.model.folder import save_encoder
from isoglot.model.load import BEST, LAST
from isoglot.pretrain.batches import Batches, StepBatch
from isoglot.pretrain.code_switching_table import dictionaries_record
from isoglot.pretrain.config import PretrainConfig, check_requirements, fitting_vocabulary
from isoglot.pretrain.distributed import World, join_world
from isoglot.pretrain.evaluation import Dev, perplexity
from isoglot.pretrain.metrics_log import (
    MetricsLog,
    Speed,
    StepFacts,
    TrackedRun,
    check_tracker,
    measured_peak,
    memory_used,
    open_tracker,
    step_flops,
)
from isoglot.pretrain.optimizer import LossScale, build_optimizer
from isoglot.pretrain.run_folder import MODEL, OPTIMIZER, Checkpoint, Checkpoints, Position, identity_of, open_folder
from isoglot.pretrain.schedule import rate_factor
from isoglot.pretrain.step import ForwardBackward, Losses, check_memory, not_finite
from isoglot.pretrain.translation_pairs import read_parallel_text
from isoglot.text.provenance import merged
from isoglot.vocab.shards import INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from isoglot.text.formats.dictionary import Entry
    from isoglot.vocab import Shards, Vocabulary

    Probe = Callable[[Encoder, int], dict[str, float]]


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """Result of a pretraining run.

    >>> from pathlib import Path
    >>> from isoglot.pretrain.run_folder import Position
    >>> run = Pretrained(out=Path("run"), position=Position(step=100, tokens=50_000, dev={"en": 12.5}), refused=())
    >>> run.finished, run.facts()["dev_perplexity"]
    (True, {'en': 12.5})
    """

    out: Path
    """The folder of the run, with the final encoder in ``last/`` and the best one in ``best/``."""
    position: Position
    """Step, tokens and dev perplexities at the end."""
    refused: tuple[str, ...]
    """What was wrong with rejected checkpoints, one line each."""
    rank: int = 0
    """Rank of this process; rank 0 writes the files."""
    finished: bool = True
    """Whether the budget is spent; if not, there is a checkpoint to resume from and no encoder yet."""

    def facts(self) -> dict[str, Any]:
        """The same as JSON values."""
        position = self.position
        return {
            "out": str(self.out),
            "finished": self.finished,
            "steps": position.step,
            "tokens": position.tokens,
            "seconds": round(position.seconds, 3),
            "dev_perplexity": position.dev,
            "best": None if position.best is None else {"step": position.best_step, "perplexity": position.best},
            "refused": list(self.refused),
        }


class Stop(NamedTuple):
    """When a call of :func:`pretrain` stops with a checkpoint; None: when the budget is spent."""

    seconds: float | None = None  # seconds from the call, after at least one step
    step: int | None = None  # step of the run, to train several runs in turn


NO_STOP = Stop()


def pretrain(
    config: PretrainConfig,
    shards: Mapping[str, Shards],
    vocabulary: Vocabulary,
    out: str | Path,
    *,
    device: str = "auto",
    dictionaries: Mapping[tuple[str, str], Sequence[Entry]] | None = None,
    parallel: Sequence[Mapping[str, str]] | Mapping[str, Path] = (),
    probes: Sequence[Probe] = (),
    resume: bool = False,
    stop: Stop = NO_STOP,
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> Pretrained:
    """Train an encoder on shards and write it to a folder.

    Under ``torchrun`` every process calls this with the same arguments, and they train one encoder.

    Args:
        config: All settings.
        shards: The text of each language; with one language the run is monolingual.
        vocabulary: The vocabulary the shards were built with.
        out: The folder of the run.
        device: ``auto``, ``cpu``, ``cuda``…
        dictionaries: Entries by (source, target), for code-switching.
        parallel: Parallel text for steps on translation pairs (TLM): a file for each language, or sentences by
            language, whose provenance is then unknown.
        probes: Functions called with the encoder and the step at every evaluation; what they return is logged.
        resume: Resume the run in the folder.
        stop: When to stop with a checkpoint before the budget is spent.
        progress: Progress reporter.
        say: Receives messages for the user, such as a rejected checkpoint.

    Returns:
        The folder, steps, tokens and dev perplexities of the run.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.pretrain import PretrainConfig
    >>> from isoglot.vocab import build_shards, train_vocabulary
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder, text = Path(name), Path(name) / "en.txt"
    ...     documents = [f"the house {number} is old" for number in range(200)]
    ...     _ = text.write_text((chr(10) * 2).join(documents), encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    ...     shards = build_shards([text], vocabulary, "en", folder / "shards", dev_share=0.5)
    ...     config = PretrainConfig(model={"size": "nano"}, batch={"sequence_length": 16}, budget="2steps")
    ...     run = pretrain(config, {"en": shards}, vocabulary, folder / "run", device="cpu")
    >>> run.finished, run.position.step
    (True, 2)

    Raises:
        ConfigError: Settings, shards and vocabulary do not fit, or the folder holds another run.
        KeyboardInterrupt: Ctrl-C. A single process has finished its step and written a checkpoint, unless interrupted
            twice. With several ranks and ``stop.seconds``, SIGINT to rank 0 stops all of them without this error.
        NumericError: A loss was not finite.
        StorageError: The folder cannot be written to, or the disk is full.
    """
    out, dictionaries = Path(out), dictionaries or {}
    end = None if stop.seconds is None else time.monotonic() + stop.seconds
    check_tracker(config.log.to)
    with join_world(device) as world:
        check_requirements(config, shards, vocabulary)
        vocabulary = fitting_vocabulary(config, shards, vocabulary)
        encoder = _encoder(config, vocabulary, tuple(shards)).to(world.device)
        rows, origin = read_parallel_text(parallel)
        trainer = Trainer(config, encoder, shards, world, out, dictionaries, rows, probes, say)
        if origin:
            encoder.provenance = merged([encoder.provenance, *origin])
        if world.device.type == "cpu":
            check_memory(config, encoder.config, processes=world.size, precision=trainer.backward.precision)
        begun = False
        if world.first:
            if config.precision == "bfloat16" and product_precision(world.device) == "float16":
                say(f"{world.device} emulates bfloat16, which is slow; set precision=float16")
            identity = identity_of(config, shards, vocabulary, dictionaries, rows)
            begun = open_folder(out, identity, resume=resume)
            if resume and not begun:
                say(f"no run to resume in {out}: starting from the beginning")
        return trained(trainer, begun=begun, end=end, stop_at=stop.step, progress=progress)


def trained(trainer: Trainer, *, begun: bool, end: float | None, stop_at: int | None, progress: Progress) -> Pretrained:
    """Start or resume a run, train, and write what it ends with.

    Args:
        trainer: The run.
        begun: Whether the folder holds the run already.
        end: Time of the monotonic clock at which to stop.
        stop_at: Step at which to stop.
        progress: Progress reporter.

    Raises:
        KeyboardInterrupt: As for :func:`pretrain`.
    """
    out, world = trainer.out, trainer.world
    with _recorded(trainer) as record, closing(trainer):
        trainer.resume()
        if begun and trainer.saved is None and not trainer.checkpoints.rejected:
            trainer.say(f"the run in {out} has no checkpoint yet: starting from the beginning")
        finished = trainer.train(progress if world.first else SILENT, end, stop_at)
        if finished:
            trainer.finish(record)
        else:
            trainer.pause(record)
        if trainer.interrupted and not finished:
            raise KeyboardInterrupt(f"saved at step {trainer.position.step}")
    rejected = tuple(trainer.checkpoints.rejected)
    return Pretrained(out=out, position=trainer.position, refused=rejected, rank=world.rank, finished=finished)


def _encoder(config: PretrainConfig, vocabulary: Vocabulary, languages: tuple[str, ...]) -> Encoder:
    shape = config.model.encoder(
        vocabulary_size=len(vocabulary), languages=languages, pad_id=vocabulary.pad_id, unk_id=vocabulary.unknown_id
    )
    return Encoder(shape, vocabulary, seed=config.seed if config.init_seed is None else config.init_seed)


def _recorded(trainer: Trainer) -> AbstractContextManager[RunRecord | None]:
    if not trainer.world.first:
        return nullcontext()
    processes = f", {trainer.world.size} processes" if trainer.world.size > 1 else ""
    device = f"{trainer.world.device}{processes}, {trainer.backward.precision}"
    return record_run(trainer.out, seed=trainer.config.seed, config=trainer.config, device=device)


class Trainer:
    """A run on one rank.

    Args:
        config: All settings.
        encoder: The encoder to train, on its device.
        shards: The text of each language.
        world: The process group.
        out: The folder of the run.
        dictionaries: For code-switching.
        parallel: For steps on translation pairs.
        probes: Called at every evaluation.
        say: Receives messages for the user.
        held_out: Text whose dev split is measured; default: that of ``shards``.
    """

    def __init__(
        self,
        config: PretrainConfig,
        encoder: Encoder,
        shards: Mapping[str, Shards],
        world: World,
        out: Path,
        dictionaries: Mapping[tuple[str, str], Sequence[Entry]],
        parallel: Sequence[Mapping[str, str]],
        probes: Sequence[Probe],
        say: Say,
        held_out: Mapping[str, Shards] | None = None,
    ) -> None:
        self.config, self.encoder, self.shards, self.world, self.out = config, encoder, shards, world, out
        self.probes, self.say = probes, say
        self.budget = config.spending
        vocabulary, length = encoder.vocabulary, config.batch.sequence_length or encoder.max_length
        self.batches = Batches(
            config, shards, vocabulary, length=length, world=world, dictionaries=dictionaries, parallel=parallel
        )
        self.dev = Dev(config, held_out or shards, vocabulary, length=length, world=world)
        self.optimizer = build_optimizer(dict(encoder.named_parameters()), config.optimizer, world.device)
        self.backward = ForwardBackward(config, encoder, world)
        self.losses = Losses(self.batches.languages, world)
        self.speed = Speed()
        private = encoder.config.sharing.is_private("softmax")
        self.subwords = {code: len(ids) for code, ids in encoder.member_ids().items()} if private else {}
        self.checkpoints = Checkpoints(out, config.checkpoints.keep)
        self.position = Position(rows=self.batches.sampler.state())
        self.saved: int | None = None
        self.interrupted = False
        self.metrics: MetricsLog | None = None
        self.peak: float | None = None
        given = [vocabulary.provenance, *(one.provenance for one in shards.values())]
        encoder.provenance = merged(given, dictionaries_record(dictionaries))

    # --- resume ---

    def resume(self) -> None:
        """Continue from the newest complete checkpoint, or start; reports rejected checkpoints."""
        found = self.checkpoints.newest() if self.world.first else None
        step = int(self.world.from_first(-1 if found is None else found.state["step"]))
        if not self.world.first and step >= 0:
            found = self.checkpoints.at(step)
        if found is not None:
            self._restore(found)
        if self.world.first:
            for reason in self.checkpoints.rejected:
                instead = "from the beginning" if found is None else f"from step {step}"
                self.say(f"checkpoint rejected, continuing {instead}: {reason}")
            self.checkpoints.drop_after(step)
            after = None if found is None else step
            run = TrackedRun(self.out, self.config.model_dump(mode="json"), after)
            tracker = open_tracker(self.config.log.to, run)
            self.metrics = MetricsLog(self.out, after=after, lines=self.position.lines, tracker=tracker)
            if self.config.log.peak == "measured" and not self._spent():
                self.peak = measured_peak(self.world.device, self.backward.precision)
        self.clock = time.monotonic() - self.position.seconds

    def _restore(self, found: Checkpoint) -> None:
        self.position = Position(**{key: found.state[key] for key in asdict(self.position)})
        self.batches.sampler.restore(self.position.rows)
        self.batches.restore_pairs(self.position.pair_rows)
        self.encoder.load_state_dict(found.tensors(MODEL))
        self.optimizer.load(found.tensors(OPTIMIZER))
        self.losses.restore(self.position.losses)
        if self.backward.scale is not None:
            self.backward.scale = LossScale(**self.position.scale)
        self.saved = self.position.step

    # --- the training loop ---

    def train(self, progress: Progress, end: float | None = None, stop_at: int | None = None) -> bool:
        """Take steps until the budget is spent, a time of the monotonic clock, a step, or Ctrl-C.

        Returns:
            Whether the budget is spent.
        """
        config, position = self.config, self.position
        self.encoder.train()
        self.speed = Speed()
        alone = self.world.size == 1  # several ranks have to agree on the step, which they do if there is an end
        patient = patient_interrupt(self.say) if alone or (self.world.first and end is not None) else nullcontext(bool)
        with progress.task("pretrain", total=self._steps_left(), unit="steps") as task, patient as interrupted:
            while not self._spent() and (stop_at is None or position.step < stop_at):
                self._step()
                task.advance()
                if position.step % config.log.every == 0:
                    self._log(task)
                if config.evaluation.every and position.step % config.evaluation.every == 0:
                    self._evaluate()
                if position.step % config.checkpoints.every == 0:
                    self._save()
                position.seconds = self._seconds()
                asked = interrupted()
                self.interrupted = asked and alone
                if self.interrupted or self._is_over(end, asked):
                    break
        return self._spent()

    def _step(self) -> None:
        """Take one step; nothing waits for the device."""
        config, position = self.config, self.position
        progress = self._progress()
        batch = self.batches.next(position.step, progress)
        if self.encoder.config.dropout:
            torch.manual_seed(derive_seed(config.seed, "dropout", position.step, self.world.rank))
        self.optimizer.clear()
        loss = self._gradients(batch, progress)
        self.factor = self._rate_factor(progress)
        self.gradient = self.optimizer.step(self.factor, self.backward.scale)
        position.step += 1
        self.losses.add(position.step, batch.language, loss, self.gradient)
        position.tokens += batch.text_tokens
        position.rows, position.pair_rows = self.batches.sampler.rows, self.batches.pair_rows
        self.speed.add(batch.tokens // self.world.size, self._flops(batch))

    def _progress(self) -> float:
        """Share of the budget that is used in the middle of the next step."""
        position = self.position
        return self.budget.progress(
            steps=position.step,
            tokens=position.tokens,
            seconds=position.seconds,
            step_tokens=self.batches.text_tokens(1.0),
        )

    def _gradients(self, batch: StepBatch, progress: float) -> torch.Tensor:
        """Compute the gradients of a step; returns its loss."""
        return self.backward.run(batch)

    def _rate_factor(self, progress: float) -> float:
        """Factor on the peak learning rates."""
        return rate_factor(self.config.schedule, self.position.step + 1, progress)

    def _steps_left(self) -> int | None:
        """Number of steps to go; None if it depends on the clock or on sizes that differ."""
        batch = self.config.batch
        if self.budget.kind == "tokens" and (batch.ramp or batch.windows == "sentences"):
            return None
        total = self.budget.steps(self.batches.text_tokens(1.0))
        return None if total is None else max(0, total - self.position.step)

    def _is_over(self, end: float | None, asked: bool) -> bool:
        """Whether rank 0 has reached the end or was interrupted: all ranks stop at the same step."""
        return end is not None and bool(self.world.from_first(float(asked or time.monotonic() >= end)))

    def _spent(self) -> bool:
        position = self.position
        return self.budget.used(steps=position.step, tokens=position.tokens, seconds=position.seconds) >= 1

    def _seconds(self) -> float:
        """Seconds of the whole run, the same on every rank if the budget is a time."""
        seconds = time.monotonic() - self.clock
        return self.world.from_first(seconds) if self.budget.kind == "time" else seconds

    # --- log, evaluation, checkpoint ---

    def _log(self, task: Task) -> None:
        """Log the steps since the last line; waits for the device."""
        self.losses.check(self.saved)
        loss = self.losses.take()
        speed, flops = self.speed.take()
        speeds = self.world.every(speed)
        if self.metrics is None:
            return
        facts = StepFacts(
            step=self.position.step,
            loss=loss,
            rate_factor=self.factor,
            gradient=float(self.gradient),
            tokens=self.position.tokens,
            seconds=time.monotonic() - self.clock,
            speeds=tuple(speeds),
            flops=flops,
            peak=None if self.peak is None else self.peak * self.world.size,
            memory=memory_used(self.world.device),
            scale=self.backward.scale,
            left=max(0.0, self.budget.amount - self.position.seconds) if self.budget.kind == "time" else None,
        )
        self.metrics.add(facts.record())
        task.note(facts.line())

    def _evaluate(self) -> None:
        """Measure dev perplexity, call the probes, and write the encoder if it is the best so far."""
        self.losses.check(self.saved)
        position = self.position
        with self.speed.paused():
            self.encoder.eval()
            with self.backward.autocast():
                losses = self.dev.losses(self.encoder)
            for code in [code for code, loss in losses.items() if not math.isfinite(loss)]:
                raise not_finite(position.step, code, self.saved)
            position.dev = {code: perplexity(loss) for code, loss in losses.items()}
            position.dev_step = position.step
            score = position.dev[self.dev.best_by]
            better = position.best is None or score < position.best
            if better:
                position.best, position.best_step = score, position.step
            if self.metrics is not None:
                self.metrics.add({"step": position.step, "kind": "dev", "perplexity": position.dev})
                for probe in self.probes:
                    with torch.no_grad():
                        found = probe(self.encoder, position.step)
                    self.metrics.add({"step": position.step, "kind": "probe", "value": found})
                if better and self.config.evaluation.best == "kept":
                    self._write_encoder(BEST)
            self.encoder.train()

    def _save(self) -> None:
        """Write a checkpoint, unless weights are not finite."""
        self.losses.check(self.saved)
        position = self.position
        position.losses = self.losses.state()
        position.scale = {} if self.backward.scale is None else asdict(self.backward.scale)
        if self.metrics is not None:
            with self.speed.paused():
                weights = self.encoder.state_dict()
                if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
                    raise not_finite(position.step, "any", self.saved)
                position.seconds, position.lines = time.monotonic() - self.clock, self.metrics.lines
                self.checkpoints.save(position.step, weights, self.optimizer.state(), asdict(position))
        self.saved = position.step

    def _write_encoder(self, name: str) -> None:
        config, position = self.config.model_dump(mode="json"), self.position
        about = {"config": config, "step": position.step, "dev_perplexity": position.dev}
        replace_folder(self.out / name, lambda folder: save_encoder(self.encoder, folder, about=about))

    def _flops(self, batch: StepBatch) -> int:
        """Floating-point operations of a step over all ranks."""
        rows, length = batch.masked.inputs_BT.shape
        masked = batch.masked.at_BK.shape[1]
        return step_flops(
            self.encoder.config,
            rows=batch.tokens // length,
            length=length,
            masked=masked if batch.most is None else batch.most * self.backward.parts // rows,
            subwords=self.subwords.get(batch.language),
        )

    # --- the end ---

    def close(self) -> None:
        """Close the log, however the run has ended."""
        if self.metrics is not None:
            self.metrics.close()

    def pause(self, record: RunRecord | None) -> None:
        """Write a checkpoint to resume from, and record that the run is not finished."""
        if self.saved != self.position.step:
            self._save()
        if record is not None:
            record.status = "stopped"

    def finish(self, record: RunRecord | None) -> None:
        """Evaluate, write the last checkpoint and the encoder, and record inputs and outputs."""
        position = self.position
        measured = not self.config.evaluation.every or position.dev_step == position.step
        if not measured:
            self._evaluate()
        if not measured or self.saved != position.step:
            self._save()
        self.encoder.eval()
        if record is None or self.metrics is None:
            return
        for one in self.shards.values():
            record.add_input(one.folder / INDEX)
        self._write_encoder(LAST)
        for path in sorted(path for path in (self.out / LAST).rglob("*") if path.is_file()):
            record.add_output(path)


@contextmanager
def patient_interrupt(say: Say) -> Iterator[Callable[[], bool]]:
    """Delay the first Ctrl-C while the block lasts, so that the step can be finished and saved; a second ends at once.

    Outside the main thread, or if another handler of SIGINT is installed, nothing changes.

    Args:
        say: Receives a message for the user.

    Yields:
        A function that tells whether Ctrl-C was pressed.
    """
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        asked.set()
        # In a thread: the interrupted code may be in the middle of writing.
        text = "interrupted: finishing and saving this step; press Ctrl-C again to end at once"
        threading.Thread(target=say, args=(text,)).start()

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked.is_set
        return
    signal.signal(signal.SIGINT, ask)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
