"""Pretraining, from top to bottom: device, vocabulary, shards, encoder, batches, optimizer, passes, resume, loop, end.

One step is one batch of one language through the encoder, back, and one move of the weights. Everything random in it is
a function of the seed and the step, so a run that is killed at any moment and resumed ends with the bits of one that
was not (on the CPU; with a budget of steps or tokens, for a clock does not repeat itself).
"""

from __future__ import annotations

import math
import time
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from isoglot.core.devices import product_precision
from isoglot.core.folders import replace_folder
from isoglot.core.optional import import_part
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed
from isoglot.core.run import RunRecord, record_run
from isoglot.model.encoder import Encoder
from isoglot.model.folder import save_encoder
from isoglot.model.load import BEST, LAST
from isoglot.pretrain.batches import Batches
from isoglot.pretrain.checkpoint import MODEL, OPTIMIZER, Checkpoint, Checkpoints, Position
from isoglot.pretrain.code_switching_table import dictionaries_record
from isoglot.pretrain.distributed import World, join_world
from isoglot.pretrain.evaluation import Dev, perplexity
from isoglot.pretrain.metrics_log import MetricsLog, Speed, StepFacts, measured_peak, memory_used, step_flops
from isoglot.pretrain.optimizer import build_optimizer
from isoglot.pretrain.requirements import check_requirements
from isoglot.pretrain.run_folder import fitting_vocabulary, identity_of, open_folder, patient_interrupt
from isoglot.pretrain.schedule import rate_factor
from isoglot.pretrain.step import Losses, LossScale, Passes, check_memory, not_finite
from isoglot.text.provenance import merged, unknown
from isoglot.vocab.shards import INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from isoglot.core.progress import Task
    from isoglot.pretrain.batches import StepBatch
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.provenance import Provenance
    from isoglot.vocab import Shards, Vocabulary

    Probe = Callable[[Encoder, int], dict[str, float]]


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """What a run came to."""

    out: Path
    """The folder of the run, with the encoder at its end in ``last/`` and the best one in ``best/``."""
    position: Position
    refused: tuple[str, ...]
    """Checkpoints that were not whole, in words."""
    rank: int = 0
    """Which process this is."""
    finished: bool = True
    """Whether the budget is spent; if not, there is a checkpoint to resume from and no encoder yet."""


def pretrain(
    config: PretrainConfig,
    shards: Mapping[str, Shards],
    vocabulary: Vocabulary,
    out: str | Path,
    *,
    device: str = "auto",
    dictionaries: Mapping[tuple[str, str], Sequence[Entry]] | None = None,
    parallel: Sequence[Mapping[str, str]] = (),
    parallel_provenance: Provenance | None = None,
    probes: Sequence[Probe] = (),
    resume: bool = False,
    stop_after: float | None = None,
    stop_at: int | None = None,
    command: str = "isoglot.pretrain",
    progress: Progress = SILENT,
    say: Callable[[str], None] = lambda _: None,
) -> Pretrained:
    """Train an encoder on shards and write it to a folder.

    Under ``torchrun`` every process calls this with the same arguments, and they train as one.

    Args:
        config: Every knob.
        shards: The text of each language; one language is a monolingual run.
        vocabulary: The one they were made with.
        out: The folder of the run.
        device: ``auto``, ``cpu``, ``cuda``…
        dictionaries: Entries by (source, target), for extra anchors.
        parallel: Sentences by language, for steps on pairs (TLM).
        parallel_provenance: Where these come from, for the record of the encoder; None: unknown.
        probes: Each is called with the encoder and the step whenever dev perplexity is measured; what it returns is
            logged.
        resume: Go on with the run in the folder.
        stop_after: Seconds from the call after which the run stops, at least one step further, with a checkpoint to
            resume from: where time is limited. None: when the budget is spent.
        stop_at: Step at which the run stops likewise: where several runs are trained in turn.
        command: What the user typed, for the record.
        progress: Shows how far it is.
        say: Told what the user should know, such as a checkpoint that was refused.

    Raises:
        ConfigError: Settings, shards and vocabulary do not fit, or the folder holds another run.
        KeyboardInterrupt: Ctrl-C. One process alone has ended its step and written a checkpoint, unless it came twice.
            Of several with ``stop_after``, SIGINT to the first has all stop likewise, without this error.
        NumericError: A loss was not finite.
        StorageError: The folder cannot be written to, or the disk is full.
    """
    out, dictionaries = Path(out), dictionaries or {}
    end = None if stop_after is None else time.monotonic() + stop_after
    if config.log.tensorboard == "on":
        import_part("tensorboard")
    with join_world(device) as world:
        check_requirements(config, shards, vocabulary)
        vocabulary = fitting_vocabulary(config, shards, vocabulary)
        encoder = _encoder(config, vocabulary, tuple(shards)).to(world.device)
        trainer = Trainer(config, encoder, shards, world, out, dictionaries, parallel, probes, say)
        if parallel:
            pairs = unknown("parallel text") if parallel_provenance is None else parallel_provenance
            encoder.provenance = merged([encoder.provenance, pairs])
        if world.device.type == "cpu":
            check_memory(config, encoder.config, processes=world.size, precision=trainer.passes.precision)
        begun = False
        if config.precision == "bfloat16" and product_precision(world.device) == "float16" and world.first:
            say(f"{world.device} emulates bfloat16, which is slow: precision=float16 is what it computes in")
        if world.first:
            identity = identity_of(config, shards, vocabulary, dictionaries, parallel)
            begun = open_folder(out, identity, resume=resume)
            if resume and not begun:
                say(f"there is no run in {out} to resume: this one begins")
        with _recorded(trainer, command) as record, closing(trainer):
            trainer.resume()
            if begun and trainer.saved is None and not trainer.checkpoints.refused:
                say(f"the run in {out} has no checkpoint yet: it begins again")
            finished = trainer.train(progress if world.first else SILENT, end, stop_at)
            if finished:
                trainer.finish(record)
            else:
                trainer.pause(record)
            if trainer.interrupted and not finished:
                raise KeyboardInterrupt(f"saved at step {trainer.position.step}")
        refused = tuple(trainer.checkpoints.refused)
        return Pretrained(out=out, position=trainer.position, refused=refused, rank=world.rank, finished=finished)


def _encoder(config: PretrainConfig, vocabulary: Vocabulary, languages: tuple[str, ...]) -> Encoder:
    shape = config.model.encoder(
        vocabulary_size=len(vocabulary), languages=languages, pad_id=vocabulary.pad_id, unk_id=vocabulary.unknown_id
    )
    return Encoder(shape, vocabulary, seed=config.seed if config.init_seed is None else config.init_seed)


def _recorded(trainer: Trainer, command: str) -> AbstractContextManager[RunRecord | None]:
    if not trainer.world.first:
        return nullcontext()
    processes = f", {trainer.world.size} processes" if trainer.world.size > 1 else ""
    device = f"{trainer.world.device}{processes}, {trainer.passes.precision}"
    return record_run(trainer.out, command=command, seed=trainer.config.seed, config=trainer.config, device=device)


class Trainer:
    """A run in one process: what it is made of, and how it goes.

    Args:
        config: Every knob.
        encoder: What is trained, on its device.
        shards: The text of each language.
        world: The processes.
        out: The folder of the run.
        dictionaries: For extra anchors.
        parallel: For steps on pairs.
        probes: Called at every evaluation.
        say: Told what the user should know.
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
        say: Callable[[str], None],
    ) -> None:
        self.config, self.encoder, self.shards, self.world, self.out = config, encoder, shards, world, out
        self.probes, self.say = probes, say
        self.length = config.batch.sequence_length or encoder.max_length
        self.budget = config.spending
        vocabulary, share = encoder.vocabulary, config.batch.size // (world.size * config.batch.gradient_accumulation)
        self.batches = Batches(
            config,
            shards,
            vocabulary,
            length=self.length,
            world=world,
            dictionaries=dictionaries,
            parallel=parallel,
        )
        self.dev = Dev(
            config.evaluation,
            shards,
            vocabulary,
            config.masking,
            length=self.length,
            batch=max(1, share),
            world=world,
            separator=config.batch.separator,
            windows=config.batch.windows,
        )
        self.optimizer = build_optimizer(dict(encoder.named_parameters()), config.optimizer, world.device)
        self.passes = Passes(config, encoder, world)
        self.losses = Losses(self.batches.languages, world)
        self.speed = Speed()
        private = encoder.config.sharing.is_private("softmax")
        self.pieces = {code: len(ids) for code, ids in encoder.member_ids().items()} if private else {}
        self.checkpoints = Checkpoints(out, config.checkpoints.keep)
        self.position = Position(rows=self.batches.sampler.state())
        self.saved: int | None = None
        self.interrupted = False
        self.metrics: MetricsLog | None = None
        self.peak: float | None = None
        given = [vocabulary.provenance, *(one.provenance for one in shards.values())]
        encoder.provenance = merged(given, dictionaries_record(dictionaries))
        self.about = {"config": config.model_dump(mode="json")}

    # --- resume ---

    def resume(self) -> None:
        """Go on from the newest whole checkpoint, or begin; a refused one is spoken of."""
        found = self.checkpoints.newest() if self.world.first else None
        step = int(self.world.from_first(-1 if found is None else found.state["step"]))
        if not self.world.first and step >= 0:
            found = self.checkpoints.at(step)
        if found is not None:
            self._restore(found)
        if self.world.first:
            for refusal in self.checkpoints.refused:
                instead = "from the beginning" if found is None else f"from step {step}"
                self.say(f"checkpoint refused, going on {instead}: {refusal}")
            self.checkpoints.drop_after(step)
            self.metrics = MetricsLog(
                self.out,
                after=None if found is None else step,
                lines=self.position.lines,
                tensorboard=self.config.log.tensorboard,
            )
            if self.config.log.peak == "measured" and not self._spent():
                self.peak = measured_peak(self.world.device, self.passes.precision)
        self.clock = time.monotonic() - self.position.seconds

    def _restore(self, found: Checkpoint) -> None:
        position = {key: found.state[key] for key in asdict(self.position)}
        self.position = Position(**position)
        self.batches.sampler.restore(self.position.rows)
        self.batches.restore_pairs(self.position.pair_rows)
        self.encoder.load_state_dict(found.tensors(MODEL))
        self.optimizer.load(found.tensors(OPTIMIZER))
        self.losses.restore(self.position.losses)
        if self.passes.scale is not None:
            self.passes.scale = LossScale(**self.position.scale)
        self.saved = self.position.step

    # --- the loop ---

    def train(self, progress: Progress, end: float | None = None, stop_at: int | None = None) -> bool:
        """Take steps until the budget is spent, a moment, a step or Ctrl-C; whether the budget is spent."""
        config, position = self.config, self.position
        total = self.budget.steps(self.batches.text_tokens(1.0))
        if self.budget.kind == "tokens" and (config.batch.ramp or config.batch.windows == "sentences"):
            total = None  # steps differ in size
        left = None if total is None else max(0, total - position.step)
        self.encoder.train()
        self.speed = Speed()
        alone = self.world.size == 1  # several have to agree on the step, which they do where there is an end
        patient = patient_interrupt(self.say) if alone or (self.world.first and end is not None) else nullcontext(bool)
        with progress.task("pretrain", total=left, unit="steps") as task, patient as interrupted:
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
                if self.interrupted or self._over(end, asked):
                    break
        return self._spent()

    def _over(self, end: float | None, asked: bool) -> bool:
        """Whether a moment has come, or an interrupt, in the first process: all stop at the same step."""
        return end is not None and bool(self.world.from_first(float(asked or time.monotonic() >= end)))

    def _spent(self) -> bool:
        position = self.position
        return self.budget.used(steps=position.step, tokens=position.tokens, seconds=position.seconds) >= 1

    def _seconds(self) -> float:
        """The time of the whole run, the same in every process where it decides something."""
        seconds = time.monotonic() - self.clock
        return self.world.from_first(seconds) if self.budget.kind == "time" else seconds

    def _step(self) -> None:
        """One batch of one language, forward, back, and a move of the weights; nothing waits for the device."""
        config, position = self.config, self.position
        progress = self.budget.progress(
            steps=position.step,
            tokens=position.tokens,
            seconds=position.seconds,
            step_tokens=self.batches.text_tokens(1.0),
        )
        batch = self.batches.next(position.step, progress)
        if self.encoder.config.dropout:
            torch.manual_seed(derive_seed(config.seed, "dropout", position.step, self.world.rank))
        self.optimizer.clear()
        loss = self.passes.backward(batch)
        self.factor = rate_factor(config.schedule, position.step + 1, progress)
        self.gradient = self.optimizer.step(self.factor, self.passes.scale)
        position.step += 1
        self.losses.add(position.step, batch.language, loss, self.gradient)
        position.tokens += batch.text_tokens
        position.rows, position.pair_rows = self.batches.sampler.rows, self.batches.pair_rows
        self.speed.add(batch.tokens // self.world.size, self._flops(batch))

    # --- on the way ---

    def _log(self, task: Task) -> None:
        """A line of what happened since the last; here the device is waited for."""
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
            scale=self.passes.scale,
            left=max(0.0, self.budget.amount - self.position.seconds) if self.budget.kind == "time" else None,
        )
        self.metrics.add(facts.record())
        task.note(facts.line())

    def _evaluate(self) -> None:
        """Dev perplexity and the probes; the best encoder is written where it is better than any before."""
        self.losses.check(self.saved)
        position = self.position
        with self.speed.paused():
            self.encoder.eval()
            with self.passes.autocast():
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
                    about = {**self.about, "step": position.step, "dev_perplexity": position.dev}
                    replace_folder(self.out / BEST, lambda folder: save_encoder(self.encoder, folder, about=about))
            self.encoder.train()

    def _save(self) -> None:
        """A checkpoint; never one of weights that are not finite."""
        self.losses.check(self.saved)
        position = self.position
        position.losses = self.losses.state()
        position.scale = {} if self.passes.scale is None else asdict(self.passes.scale)
        if self.metrics is not None:
            with self.speed.paused():
                weights = self.encoder.state_dict()
                if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
                    raise not_finite(position.step, "any", self.saved)
                position.seconds, position.lines = time.monotonic() - self.clock, self.metrics.lines
                self.checkpoints.save(position.step, weights, self.optimizer.state(), asdict(position))
        self.saved = position.step

    def _flops(self, batch: StepBatch) -> int:
        """Operations of a step of all processes."""
        rows, length = batch.masked.inputs_BT.shape
        masked = batch.masked.at_BK.shape[1]
        return step_flops(
            self.encoder.config,
            rows=batch.tokens // length,
            length=length,
            masked=masked if batch.most is None else batch.most * self.passes.parts // rows,
            pieces=self.pieces.get(batch.language),
        )

    # --- the end ---

    def close(self) -> None:
        """No more is logged, however the run has ended."""
        if self.metrics is not None:
            self.metrics.close()

    def pause(self, record: RunRecord | None) -> None:
        """Write a checkpoint to go on from, and record that there is more to do."""
        if self.saved != self.position.step:
            self._save()
        if record is not None:
            record.status = "stopped"

    def finish(self, record: RunRecord | None) -> None:
        """Measure once more, write the last checkpoint and the encoder, and record what the run read and wrote."""
        position = self.position
        measured = not self.config.evaluation.every or position.dev_step == position.step
        if not measured:
            self._evaluate()
        if not measured or self.saved != position.step:
            self._save()
        self.encoder.eval()
        if record is None or self.metrics is None:
            return
        about = {**self.about, "step": position.step, "dev_perplexity": position.dev}
        for one in self.shards.values():
            record.add_input(one.folder / INDEX)
        replace_folder(self.out / LAST, lambda folder: save_encoder(self.encoder, folder, about=about))
        for path in sorted(path for path in (self.out / LAST).rglob("*") if path.is_file()):
            record.add_output(path)
