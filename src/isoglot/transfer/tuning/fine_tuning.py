"""Fine-tuning, from top to bottom: labels, rows, trainable parameters, optimizer, resume, epochs, the best epoch.

Random numbers are a function of seed and step, and the order of examples of seed and epoch: a run that is killed and
resumed continues from its last complete epoch and ends, on the CPU, with identical weights. The given encoder is not
changed.

Shapes: ``B`` rows, ``W`` positions, ``D`` hidden size.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from isoglot.core.errors import InputError, NumericError
from isoglot.core.folders import remove_folder
from isoglot.core.progress import SILENT, Progress, Say, counted, rate, say_nothing
from isoglot.core.progress import Task as Work
from isoglot.core.rng import derive_seed
from isoglot.pretrain.optimizer import Optimizer
from isoglot.pretrain.run_folder import MODEL, OPTIMIZER, Checkpoints
from isoglot.pretrain.schedule import rate_factor
from isoglot.represent.layer_pass import evaluation_mode, row_length
from isoglot.transfer.tasks.task import Data, Task, TaskRow, by_code
from isoglot.transfer.tuning.batches import Shape, StoredRows, epoch_batches
from isoglot.transfer.tuning.checks import check_learned, check_setting
from isoglot.transfer.tuning.config import TuneConfig, trained_parameters
from isoglot.transfer.tuning.cuda_graphs import Shapes, StepGraphs
from isoglot.transfer.tuning.tuned_encoder import HeldVectors, KeptEpochs, RowVectors, Tuned, autocast, copied
from isoglot.transfer.tuning.tuned_folder import (
    check_begun,
    check_free,
    finished,
    learned_hashes,
    load_tuned,
    open_run,
    run_identity,
    save_tuned,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from isoglot.model.protocol import EncoderLike

_NOTED = 20  # steps between two reports of the loss
_MEANT = {
    "split": " (read in several windows)",
    "truncated": " (tokens that did not fit are not read)",
    "cut apart": " (words that shared a token)",
    "joined": " (words in the same token as the word before)",
    "unread": " (words without a token)",
}


def fine_tune(
    encoder: EncoderLike,
    task: Task[Any],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    config: TuneConfig | None = None,
    out: str | Path | None = None,
    *,
    source: str | None = None,
    resume: bool = False,
    held: HeldVectors | None = None,
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> Tuned:
    """Fine-tune an encoder on a task in one or several languages.

    Args:
        encoder: Any encoder, on its device; it is not changed.
        task: The task.
        train: Training examples by language.
        dev: Dev examples by language; those of the first training language select the epoch, others are only scored.
        config: Settings.
        out: Folder for checkpoints and the model. Default: nothing is written.
        source: Folder or name of the encoder, to load it again if it is not an isoglot encoder.
        resume: Resume the run in the folder.
        held: Vectors of this encoder from earlier runs, used if only the head is trained.
        progress: Reports progress.
        say: Called with remarks for the user: examples that were split or left out, labels that are not in training.

    Returns:
        The fine-tuned model of the best epoch, with the course of training.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.model import Encoder, encoder_config
    >>> from isoglot.transfer import Data, Passage, TuneConfig, find_task
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text("It was good. It was bad. " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    >>> encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=len(vocabulary)), vocabulary)
    >>> data = {"en": Data([Passage(("It was good.",), "good"), Passage(("It was bad.",), "bad")])}
    >>> tuned = fine_tune(encoder, find_task("topic"), data, data, TuneConfig(epochs=1))
    >>> tuned.labels.names, tuned.epoch
    (('bad', 'good'), 1)

    Raises:
        ConfigError: A setting is invalid, the encoder lacks a language, or the folder has another run.
        InputError: There are no training examples, or a dev label is not in training and the task refuses it.
        NumericError: The loss is not finite.
        StorageError: The folder cannot be written.
    """
    config = config or TuneConfig()
    train, dev = by_code(train), by_code(dev)
    folder = None if out is None else Path(out)
    identity: dict[str, Any] = {}
    if folder is not None:
        if not resume:
            check_free(folder)
        identity = run_identity(task, config, learned_hashes(encoder, train, dev))
        check_begun(folder, identity)
        if finished(folder):
            return load_tuned(folder, encoder=encoder)
    trainer = TaskTrainer(encoder, task, train, dev, config, folder, say, held)
    if folder is not None:
        open_run(folder, identity, resume=resume)
    trainer.resume()
    trainer.train(progress)
    tuned = trainer.finish()
    if folder is not None:
        save_tuned(tuned, folder, source=source)
        remove_folder(trainer.checkpoints.folder)
    return tuned


class TaskTrainer:
    """State and training loop of a run; arguments as those of :func:`fine_tune`."""

    def __init__(
        self,
        encoder: EncoderLike,
        task: Task[Any],
        train: Mapping[str, Data[Any]],
        dev: Mapping[str, Data[Any]],
        config: TuneConfig,
        out: Path | None,
        say: Say,
        held: HeldVectors | None = None,
    ) -> None:
        check_setting(encoder, task, config)
        check_learned(encoder, train, dev, config)
        self.task, self.config, self.dev, self.say = task, config, dev, say
        labels = task.learned_labels(train.values())
        for code, data in dev.items():
            for label, count in task.unseen_labels(data, labels, config.unseen_labels).items():
                say(f"dev {code}: the label {label} ({counted(count, 'times')}) is not in the training data")
        names = trained_parameters(encoder, config)
        own = encoder if config.head_only else copied(encoder)
        self.device = own.device
        head = task.head(encoder.hidden_size, labels, config.head)
        head.reset(config.seed)
        self.tuned = Tuned(own, head.to(self.device), task, labels, config, tuple(train))
        self.parameters = self._parameters(names)
        self.rows = {code: self._rows(code, data) for code, data in train.items()}
        if not any(self.rows.values()):
            file = next((data.file for data in train.values() if data.file), None)
            remedy = "give examples that are not empty"
            raise InputError("there are no training examples", remedy, "empty", file=file)
        self.stored, self.vectors = self._stored(self.rows, held)
        self.dev_rows = {code: self.tuned.rows(data.examples, code, purpose="test") for code, data in dev.items()}
        dev_rows = {code: found.rows for code, found in self.dev_rows.items()}
        self.dev_stored, self.dev_vectors = self._stored(dev_rows, held)
        self.shapes: dict[str, Shapes] = {}
        self.graphs: StepGraphs | None = None
        if config.cuda_graphs == "auto" and self.device.type == "cuda" and own.is_capturable:
            self.shapes = {
                code: Shapes(stored, rows=config.batch_size, tokens=config.batch_tokens)
                for code, stored in self.stored.items()
            }
            self.graphs = StepGraphs(self.parameters.values(), self.device)
        self.optimizer = self._optimizer()
        self.kept = KeptEpochs(out)
        self.checkpoints = Checkpoints(out or Path(), keep=1)
        self.out = out
        self.step = self.epoch = 0

    # --- setup ---

    def _parameters(self, names: Sequence[str]) -> dict[str, nn.Parameter]:
        """Trainable parameters; all others have no gradients."""
        encoder, found = self.tuned.encoder, {}
        if isinstance(encoder, nn.Module) and not self.config.head_only:
            chosen = set(names)
            for name, parameter in encoder.named_parameters():
                parameter.requires_grad_(name in chosen)
                if name in chosen:
                    found[f"encoder.{name}"] = parameter
        return found | {f"head.{name}": parameter for name, parameter in self.tuned.head.named_parameters()}

    def _rows(self, code: str, data: Data[Any]) -> list[TaskRow]:
        found = self.tuned.rows(data.examples, code, purpose="learn")
        if told := events_in_words(found.counts):
            self.say(f"train {code}: {len(data):,} examples; {told}")
        return found.rows

    def _stored(
        self, rows: Mapping[str, Sequence[TaskRow]], held: HeldVectors | None
    ) -> tuple[dict[str, StoredRows], dict[str, RowVectors]]:
        """Rows on the device, and the vectors that the head reads."""
        encoder = self.tuned.encoder
        length = row_length(encoder, self.config.max_length)
        stored = {code: StoredRows(some, encoder.vocabulary, length, self.device) for code, some in rows.items()}
        return stored, {code: RowVectors(self.tuned, some, stored[code], code, held) for code, some in rows.items()}

    def _optimizer(self) -> Optimizer:
        config = self.config
        groups: list[dict[str, Any]] = []
        for part, peak in (("encoder.", config.encoder_learning_rate), ("head.", config.rate_of_head)):
            mine = [parameter for name, parameter in self.parameters.items() if name.startswith(part)]
            matrices, others = [p for p in mine if p.dim() > 1], [p for p in mine if p.dim() <= 1]
            groups.append({"params": matrices, "peak": peak, "weight_decay": config.weight_decay})
            groups.append({"params": others, "peak": peak, "weight_decay": 0.0})
        groups = [group for group in groups if group["params"]]
        fused = self.device.type in ("cpu", "cuda", "mps")
        adam = torch.optim.AdamW(groups, lr=config.encoder_learning_rate, fused=fused)
        return Optimizer([adam], self.parameters, config.max_gradient_norm)

    # --- resume ---

    def resume(self) -> None:
        """Resume after the last complete epoch, or start."""
        if self.out is None:
            return
        found = self.checkpoints.newest()
        for refusal in self.checkpoints.rejected:
            self.say(f"checkpoint refused: {refusal}")
        if found is None:
            self.kept.only([])
            return
        self.epoch, self.step = int(found.state["epoch"]), int(found.state["steps"])
        self.tuned.history = list(found.state["history"])
        self._load(found.tensors(MODEL))
        self.optimizer.load(found.tensors(OPTIMIZER))
        self.kept.only(self._ranked()[: self.config.keep])

    def _load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(tensors[name])

    # --- the epochs ---

    def train(self, progress: Progress) -> None:
        """Train until the last epoch or early stopping."""
        config = self.config
        amount = config.epoch_size or sum(map(len, self.rows.values()))
        total = amount * (config.epochs - self.epoch)
        frozen = evaluation_mode(self.tuned.encoder) if config.head_only else nullcontext()
        with frozen, progress.task(f"fine-tune {self.task.name}", total=total, unit="examples") as work:
            while self.epoch < config.epochs and not self._stalled():
                started = time.monotonic()
                loss = self._one_epoch(work)
                learned = time.monotonic()
                scores, constant = self._dev_scores()
                self.epoch += 1
                self.tuned.history.append(
                    {
                        "epoch": self.epoch,
                        "loss": loss,
                        "dev": scores,
                        "constant": constant,
                        "seconds": round(time.monotonic() - started, 3),
                        "dev_seconds": round(time.monotonic() - learned, 3),
                    }
                )
                self._save()

    def _one_epoch(self, work: Work) -> float:
        """Train one epoch; returns the mean loss."""
        config, tuned = self.config, self.tuned
        batches = epoch_batches(
            self.rows,
            seed=config.seed,
            epoch=self.epoch,
            size=config.batch_size,
            tokens=config.batch_tokens,
            amount=config.epoch_size,
            padded={code: shapes.width for code, shapes in self.shapes.items()} or None,
        )
        if isinstance(tuned.encoder, nn.Module) and not config.head_only:
            tuned.encoder.train()
        tuned.head.train()
        total = torch.zeros((), device=self.device)
        started, tokens = time.monotonic(), 0
        for number, (code, numbers) in enumerate(batches):
            stored = self.stored[code]
            shape = self.shapes[code].of(numbers) if self.shapes else stored.shape(numbers)
            set_seed(self.device, derive_seed(config.seed, "fine-tune dropout", self.step))
            self.optimizer.clear()
            loss = self.backward(stored.sent(numbers, shape), code, shape)
            progress = (self.epoch + number / len(batches)) / config.epochs
            self.optimizer.step(rate_factor(config.schedule, self.step + 1, progress))
            self.step += 1
            total += loss
            tokens += int(stored.sizes[numbers].sum())
            work.advance(len(numbers))
            if number % _NOTED == 0 and number:
                # Rarely, because reading a number synchronizes with the device.
                self._check(loss)
                speed = rate(tokens, time.monotonic() - started)
                work.note(f"epoch {self.epoch + 1} of {config.epochs}, loss {float(loss):.3f}, {speed} tokens/s")
        self._check(total)
        return float(total) / len(batches)

    def backward(self, rows_B: torch.Tensor, code: str, shape: Shape) -> torch.Tensor:
        """Loss of some rows and its gradients, as a CUDA graph if possible."""
        if self.graphs is None:
            return self._backward(rows_B, code, shape)
        return self.graphs(self._backward, rows_B, code, shape)

    def _backward(self, rows_B: torch.Tensor, code: str, shape: Shape) -> torch.Tensor:
        """Loss of some rows and its gradients, without synchronizing with the device."""
        batch = self.stored[code].cut(rows_B, shape)
        with autocast(self.device, self.config.precision):
            loss = self.tuned.head.loss(self.vectors[code].of(batch), batch)
        loss.backward()
        return loss.detach()

    def _check(self, loss: torch.Tensor) -> None:
        if not bool(torch.isfinite(loss)):
            remedy = "lower encoder_learning_rate and head_learning_rate, or set precision=float32, and start again"
            raise NumericError(f"the loss is not finite in epoch {self.epoch + 1}", remedy)

    def _dev_scores(self) -> tuple[dict[str, float], dict[str, str]]:
        """Main score on the dev set of each language, and the label of constant predictions."""
        found, constant = {}, {}
        for code, data in self.dev.items():
            decoded = self.tuned.decoded(
                self.dev_rows[code].rows,
                code,
                encoder=self.tuned.encoder,
                stored=self.dev_stored[code],
                vectors=self.dev_vectors[code].of,
            )
            predicted = self.task.predicted(data.examples, self.dev_rows[code], decoded, self.tuned.labels)
            found[code] = self.task.score(data.examples, predicted).main
            if (label := self.task.constant_label(data.examples, predicted)) is not None:
                constant[code] = label
        return found, constant

    def _ranked(self) -> list[int]:
        """Epochs by dev score, the best first, the earlier among ties."""
        main = self.tuned.languages[0]
        return [entry["epoch"] for entry in sorted(self.tuned.history, key=lambda entry: -entry["dev"][main])]

    def _stalled(self) -> bool:
        patience = self.config.patience
        return patience is not None and bool(self.tuned.history) and self.epoch - self._ranked()[0] >= patience

    def _save(self) -> None:
        """Keep the weights if they are among the best, and write a checkpoint."""
        weights = {name: parameter.detach() for name, parameter in self.parameters.items()}
        if not bool(torch.stack([tensor.isfinite().all() for tensor in weights.values()]).all()):
            self._check(torch.tensor(torch.nan))
        best = self._ranked()[: self.config.keep]
        if self.epoch in best:
            self.kept.put(self.epoch, weights)
        if self.out is not None:
            state = {"epoch": self.epoch, "steps": self.step, "history": self.tuned.history}
            self.checkpoints.save(self.epoch, weights, self.optimizer.state(), state)
        self.kept.only(best)  # last: a killed run resumes from the checkpoint before, which may need the others

    def finish(self) -> Tuned:
        """Load the weights of the best epoch."""
        tuned = self.tuned
        tuned.epoch = self._ranked()[0]
        tuned.epochs = self.kept
        self._load(self.kept.get(tuned.epoch))
        tuned.head.eval()
        if isinstance(tuned.encoder, nn.Module) and not self.config.head_only:
            tuned.encoder.eval()
            for parameter in tuned.encoder.parameters():
                parameter.requires_grad_(True)
        return tuned


def events_in_words(counts: Mapping[str, int] | Counter[str]) -> str:
    """Describe counts of split or skipped examples.

    >>> events_in_words({"left out": 2, "cut apart": 1})
    '2 left out, 1 cut apart (words that shared a token)'
    """
    return ", ".join(f"{count:,} {what}{_MEANT.get(what, '')}" for what, count in counts.items() if count)


def set_seed(device: torch.device, seed: int) -> None:
    """Seed torch's random number generators.

    On the CPU only its own generator: ``torch.manual_seed`` also records a stack trace for lazy CUDA initialization,
    which takes longer than a small layer.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
