"""Training of a new language in an existing encoder.

First only the rows of new subwords are trained, with everything else frozen (Artetxe et al. 2020); then all weights.
The loss of the languages that the encoder had is measured on held-out text before, during and after. The folder of the
run has, beside what :mod:`isoglot.pretrain.run_folder` says::

    vocabulary/       the extended vocabulary
    shards/sw/        the text as ids, and shards/held-out-en/
    static/           static vectors of the new language, from which rows were initialized
    start/            the encoder with its new rows, before training
    added.json        subwords, and losses before and after

Shapes: ``O`` old rows, ``N`` new rows, ``D`` hidden size.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field, field_validator

from isoglot.core.artifact import write_sealed
from isoglot.core.config import Config, Recipe, build_config
from isoglot.core.errors import ConfigError
from isoglot.core.files import file_hash
from isoglot.core.folders import replace_folder
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.core.rng import derive_seed
from isoglot.model.encoder import Encoder
from isoglot.model.folder import INDEX as ENCODER
from isoglot.model.folder import open_encoder, save_encoder
from isoglot.model.modules import ABSENT, no_head
from isoglot.pretrain.batches import PAIRS, LanguageSampler, StepBatch
from isoglot.pretrain.config import ModelConfig, PretrainConfig
from isoglot.pretrain.distributed import World, join_world
from isoglot.pretrain.evaluation import EvaluationConfig
from isoglot.pretrain.metrics_log import check_tracker
from isoglot.pretrain.optimizer import OptimizerConfig
from isoglot.pretrain.run_folder import open_folder
from isoglot.pretrain.schedule import ScheduleConfig
from isoglot.pretrain.step import check_memory
from isoglot.pretrain.train import NO_STOP, Pretrained, Stop, Trainer, trained
from isoglot.text.provenance import merged
from isoglot.vocab import Shards, Vocabulary, build_shards, extend_vocabulary
from isoglot.vocab.shard_build import held_out_share
from isoglot.vocab.vocabulary import INDEX as VOCABULARY

if TYPE_CHECKING:
    from isoglot.core.run import RunRecord


# --- new rows ---


NewRows = Callable[[torch.Tensor, int], torch.Tensor]  # returns new rows (N x D) for a table (O x D) and their number N


def mean_rows(seed: int = 0, noise: float = 0.1) -> NewRows:
    """New rows at the mean of a table, apart from each other by some noise.

    Args:
        seed: Random seed of the noise.
        noise: Its standard deviation as a share of the table's, in each dimension.
    """

    def rows(table_OD: torch.Tensor, count: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(derive_seed(seed, "new rows"))
        drawn_ND = torch.empty(count, table_OD.shape[1]).normal_(generator=generator)
        return table_OD.mean(0) + noise * table_OD.std(0) * drawn_ND

    return rows


def check_growable(encoder: Encoder) -> None:
    """Check that a language can be added to an encoder.

    Raises:
        ConfigError: It has no language modeling head, or languages have private parts.
    """
    if not encoder.has_head:
        raise no_head()
    if encoder.has_private_parts:
        problem = f"languages of this encoder have parts of their own ({encoder.config.sharing.name})"
        raise ConfigError(problem, "choose an encoder whose languages share all parts", "not-supported")


def grown_encoder(encoder: Encoder, vocabulary: Vocabulary, language: str, rows: NewRows) -> Encoder:
    """Add a language to an encoder, on the CPU.

    Args:
        encoder: The encoder; it does not change.
        vocabulary: Its vocabulary with the language added (:func:`isoglot.vocab.extend_vocabulary`).
        language: The language.
        rows: Makes rows of the embeddings and, if it is not tied to them, of the softmax.

    Raises:
        ConfigError: The encoder has no head, or its languages have private parts.
    """
    check_growable(encoder)
    old = {name: tensor.detach().cpu() for name, tensor in encoder.state_dict().items()}
    code, extra = language_code(language), len(vocabulary) - encoder.config.vocabulary_size
    languages = (*encoder.config.languages, code) if encoder.config.languages else ()
    changes = {"vocabulary_size": len(vocabulary), "languages": languages}
    grown = Encoder(encoder.config.model_copy(update=changes), vocabulary, seed=None)
    state = {}
    for name, tensor in grown.state_dict().items():
        if name not in old:  # the new language's own embedding
            others = [old[f"embedding.languages.{other}"] for other in encoder.config.languages]
            state[name] = torch.stack(others).mean(0)
        elif old[name].shape == tensor.shape:
            state[name] = old[name]
        elif tensor.dim() == 2:
            state[name] = torch.cat([old[name], rows(old[name], extra)])
        else:
            state[name] = torch.cat([old[name], old[name].mean().expand(extra)])
    grown.load_state_dict(state)
    grown.provenance = encoder.provenance
    return grown.eval()


# --- training ---


Texts = Mapping[str, Sequence[Path]]
RowsOf = Callable[[Shards, Vocabulary, Path], NewRows]
"""Prepares initial rows from the new language's text, the extended vocabulary and a folder for intermediate results."""
_LENGTH = 128  # tokens of a row by default
_ALL = 0.999  # dev share of held-out text


class NewLanguageConfig(Config):
    """Settings of a new language."""

    code: str
    """the language"""
    subwords: int = Field(8000, ge=0)
    """subwords of the language, including those that the tokenizer has; 0: only those"""
    rows: Literal["aligned", "mean"] = "aligned"
    """initial rows of new subwords: from static vectors aligned with the embeddings, or the mean of the embeddings"""
    noise: float = Field(0.1, ge=0)
    """noise on initial rows, as a share of the standard deviation of the embeddings"""
    frozen: float = Field(0.5, ge=0, le=1)
    """share of the budget in which only the rows of new subwords are trained"""
    freed_rate: float = Field(0.2, gt=0, le=1)
    """factor on the learning rate after that, when all weights are trained"""
    tolerance: float = Field(0.05, ge=0)
    """rise of another language's loss, in nats, from which on there is a warning"""

    @field_validator("code")
    @classmethod
    def _canonical(cls, code: str) -> str:
        return language_code(code)


class AddLanguageConfig(PretrainConfig):
    """Settings of a run that adds a language; ``model`` is the encoder's.

    >>> config = AddLanguageConfig(language={"code": "fi"}, budget="500steps")
    >>> config.language.code, config.optimizer.learning_rate
    ('fi', 0.001)
    """

    language: NewLanguageConfig
    """the new language"""
    optimizer: OptimizerConfig = OptimizerConfig(learning_rate=1e-3)
    """the optimizer"""
    schedule: ScheduleConfig = ScheduleConfig(kind="linear", warmup=0.05)
    """learning rate schedule"""
    evaluation: EvaluationConfig = EvaluationConfig(every=200)
    """evaluation of dev perplexity, of the new language and of watched ones"""
    budget: str = "2000steps"
    """length of the run"""


def add_language_config(
    encoder: Encoder,
    language: str,
    *,
    recipe: Recipe | None = None,
    values: Mapping[str, Any] | None = None,
    settings: Iterable[str] = (),
) -> AddLanguageConfig:
    """Build the config of a run for an encoder and a language; other arguments as for :func:`build_config`.

    Args:
        encoder: The encoder that learns a language.
        language: The new language.
        recipe: Name or path of a recipe.
        values: Values laid over the recipe.
        settings: ``key=value`` settings, applied last.

    Returns:
        The validated config.

    >>> from isoglot.model import Encoder, encoder_config
    >>> encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=50))
    >>> config = add_language_config(encoder, "fi", settings=["budget=500steps"])
    >>> config.language.code, config.budget
    ('fi', '500steps')

    Raises:
        ConfigError: An unknown key or an invalid value, or a setting of the model, which is the encoder's.
    """
    shape = {key: value for key, value in encoder.config if key in ModelConfig.model_fields}
    given = {**(values or {}), "model": dict(shape)}
    config = build_config(
        AddLanguageConfig, recipe=recipe, values=given, settings=[f"language.code={language}", *settings]
    )
    if config.model != ModelConfig(**shape):
        problem = "a setting of model, which is that of the encoder"
        raise ConfigError(problem, "leave out settings of model, or choose another encoder", "conflicting-options")
    if config.batch.sequence_length is None:
        batch = config.batch.model_copy(update={"sequence_length": min(_LENGTH, encoder.max_length)})
        return config.model_copy(update={"batch": batch})
    return config


@dataclass(frozen=True, kw_only=True)
class Added:
    """Result of adding a language.

    >>> from pathlib import Path
    >>> from isoglot.pretrain import Pretrained
    >>> from isoglot.pretrain.run_folder import Position
    >>> run = Pretrained(out=Path("run"), position=Position(dev={"fi": 8.0, "en": 4.0}), refused=())
    >>> added = Added(run=run, language="fi", subwords={"new": 900, "shared": 100}, before={"fi": 5.0, "en": 1.4})
    >>> {code: round(loss, 2) for code, loss in added.after.items()}
    {'fi': 2.08, 'en': 1.39}
    """

    run: Pretrained
    language: str
    subwords: dict[str, int]
    """Number of subwords: ``new``, and those of the old vocabulary that occur in the text (``shared``)."""
    before: dict[str, float]
    """Held-out loss of each language by the encoder as it was; of the new one, with its initial rows."""

    @property
    def after(self) -> dict[str, float]:
        """Held-out loss of each language at the last evaluation."""
        return {code: math.log(value) for code, value in self.run.position.dev.items()}

    def facts(self) -> dict[str, Any]:
        """The same as JSON values."""
        losses = {code: {"before": self.before[code], "after": loss} for code, loss in self.after.items()}
        return {**self.run.facts(), "language": self.language, "subwords": self.subwords, "losses": losses}


def add_language(
    config: AddLanguageConfig,
    encoder: Encoder,
    texts: Texts,
    out: str | Path,
    *,
    held_out: Texts | None = None,
    rows: RowsOf | None = None,
    device: str = "auto",
    resume: bool = False,
    stop: Stop = NO_STOP,
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> Added:
    """Add a language to an encoder and write the result to a folder.

    Args:
        config: All settings (:func:`add_language_config`).
        encoder: The encoder: isoglot's own, or imported BERT, RoBERTa, XLM-R or ModernBERT.
        texts: Files of the new language, and of others that are trained too when all weights are, against forgetting.
        out: The folder of the run.
        held_out: Files of languages whose loss is watched. Languages of ``texts`` that are not among them are measured
            on a part of their text.
        rows: Prepares initial rows, such as :func:`isoglot.align.new_rows.aligned_rows`. Default: the mean.
        device: ``auto``, ``cpu``, ``cuda``…
        resume: Resume the run in the folder.
        stop: When to stop with a checkpoint before the budget is spent.
        progress: Progress reporter.
        say: Receives messages for the user, such as a loss that rises.

    Returns:
        The folder, perplexities of old and new languages, and what the tokenizer learned.

    Raises:
        ConfigError: The encoder has the language or cannot be extended, settings do not fit, or the folder holds
            another run.
        InputError: There is too little text.
        KeyboardInterrupt: As for :func:`isoglot.pretrain.train.pretrain`.
    """
    out, code = Path(out), config.language.code
    end = None if stop.seconds is None else time.monotonic() + stop.seconds
    check_tracker(config.log.to)
    check_growable(encoder)
    work = _Preparation(config, encoder, texts, held_out or {}, out)
    begun = False
    with join_world(device) as world:
        if world.first:
            begun = open_folder(out, work.identity(), resume=resume)
            work.prepare(rows or (lambda *_: mean_rows(config.seed, config.language.noise)), progress)
        world.wait()
        start = open_encoder(out / START).to(world.device)
        if world.device.type == "cpu":
            check_memory(config, start.config, processes=world.size, precision=config.precision)
        trainer = LanguageAdder(config, start, work, world, say)
        if set(trainer.watched) == {code}:
            say("no held-out text of another language: what the encoder forgets is not measured")
        run = trained(trainer, begun=begun, end=end, stop_at=stop.step, progress=progress)
        return Added(run=run, language=code, subwords=trainer.subwords, before=trainer.before)


START, STATIC, SHARDS, RESULT = "start", "static", "shards", "added.json"


@dataclass
class _Preparation:
    """What is made before training: vocabulary, shards and the encoder with its new rows."""

    config: AddLanguageConfig
    encoder: Encoder
    texts: Texts
    held_out: Texts
    out: Path
    shards: dict[str, Path] = field(init=False)
    measured: dict[str, Path] = field(init=False)

    def __post_init__(self) -> None:
        code, folder = self.config.language.code, self.out / SHARDS
        if code not in self.texts:
            remedy = f"name a file of it: --text {code}=file.txt"
            raise ConfigError(f"there is no text of {code}", remedy, "missing-data")
        self.shards = {one: folder / one for one in self.texts}
        self.measured = self.shards | {one: folder / f"held-out-{one}" for one in self.held_out}

    def identity(self) -> dict[str, Any]:
        """All settings, and hashes of the encoder and the text."""
        digest = hashlib.sha256(self.encoder.vocabulary.hash.encode())
        for name, tensor in self.encoder.state_dict().items():
            digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
        texts = {"texts": self.texts, "held_out": self.held_out}
        data = {
            key: {one: [file_hash(path) for path in files] for one, files in each.items()}
            for key, each in texts.items()
        }
        config = self.config.model_dump(mode="json")
        return {"format": 1, "config": config, "data": {"encoder": digest.hexdigest(), **data}}

    def prepare(self, rows: RowsOf, progress: Progress) -> None:
        """Make what is not there yet."""
        language, seed = self.config.language, self.config.seed
        folder = self.out / "vocabulary"
        if not (folder / VOCABULARY).exists():
            known, new = self.encoder.vocabulary, self.texts[language.code]
            extend_vocabulary(known, language.code, new, size=language.subwords, progress=progress).save(folder)
        vocabulary = Vocabulary.load(folder)
        for code, files in self.texts.items():
            share = 0.0 if code in self.held_out else held_out_share(files, seed)
            options = {"seed": seed, "dev_share": share, "progress": progress}
            build_shards(files, vocabulary, code, self.shards[code], **options)  # type: ignore[arg-type]
        for code, files in self.held_out.items():
            build_shards(files, vocabulary, code, self.measured[code], seed=seed, dev_share=_ALL, progress=progress)
        if not (self.out / START / ENCODER).exists():
            new_rows = rows(Shards.open(self.shards[language.code]), vocabulary, self.out / STATIC)
            grown = grown_encoder(self.encoder, vocabulary, language.code, new_rows)
            replace_folder(self.out / START, lambda folder: save_encoder(grown, folder))


class LanguageAdder(Trainer):
    """A run that adds a language, on one rank.

    Args:
        config: All settings.
        encoder: The encoder with its new rows, on its device.
        work: The prepared text.
        world: The process group.
        say: Receives messages for the user.
    """

    config: AddLanguageConfig

    def __init__(self, config: AddLanguageConfig, encoder: Encoder, work: _Preparation, world: World, say: Say) -> None:
        origin, code, self.work = encoder.provenance, config.language.code, work
        shards = {one: Shards.open(folder) for one, folder in work.shards.items()}
        self.watched = {one: Shards.open(folder) for one, folder in work.measured.items()}
        super().__init__(config, encoder, shards, world, work.out, {}, (), (), say, self.watched)
        encoder.provenance = merged([origin, encoder.provenance])
        self.old = work.encoder.config.vocabulary_size
        counts_V = encoder.vocabulary.counts(code)
        shared = 0 if counts_V is None else int((counts_V[: self.old] > 0).sum())
        self.subwords = {"new": len(encoder.vocabulary) - self.old, "shared": shared}
        self.frozen_until = config.language.frozen if self.subwords["new"] else 0.0
        text = {one: int(getattr(rows, config.sampling.unit)) for one, rows in self.batches.rows.items()}
        self.batches.sampler = NewFirst(text, config, until=self.frozen_until)
        self.dev.best_by = code
        for one, pool in self.dev.masker.pools.items():
            if one not in (code, PAIRS):  # so that the encoder as it was can be measured on the same input
                self.dev.masker.pools[one] = pool[pool < self.old]
        self.before = self._losses_before()
        self.warned: set[str] = set()

    def _losses_before(self) -> dict[str, float]:
        """Losses by the encoder as it was: the softmax of old languages without the new subwords."""
        if not self.config.evaluation.every:
            return {}
        self.encoder.eval()
        bias_V = self.encoder.head.softmax.of(None).bias
        kept_V = bias_V.detach().clone()
        with torch.no_grad(), self.backward.autocast():
            grown = self.dev.losses(self.encoder)
            bias_V[self.old :] = ABSENT
            old = self.dev.losses(self.encoder)
            bias_V.copy_(kept_V)
        return {**old, self.config.language.code: grown[self.config.language.code]}

    # --- two phases ---

    def _gradients(self, batch: StepBatch, progress: float) -> torch.Tensor:
        """Compute the gradients of a step; those of frozen weights are dropped."""
        frozen = progress < self.frozen_until
        self._decay(frozen=frozen)
        if not frozen and not self._is_freed():
            for part in self.optimizer.parts:  # averages of rows that did not move would make their first steps large
                part.state.clear()
        for name, parameter in self.encoder.named_parameters():
            if self.world.size == 1:  # several ranks exchange all gradients
                parameter.requires_grad_(not frozen or self._is_new(name))
        loss = super()._gradients(batch, progress)
        if frozen:
            for name, parameter in self.encoder.named_parameters():
                if not self._is_new(name):
                    parameter.grad = None
                elif parameter.grad is not None and len(parameter) > self.old:
                    parameter.grad[: self.old] = 0
        return loss

    def _is_new(self, name: str) -> bool:
        """Whether a parameter has rows of new subwords, or is the new language's embedding."""
        return name.startswith(
            ("embedding.tokens.", "head.softmax.", f"embedding.languages.{self.config.language.code}")
        )

    def _is_freed(self) -> bool:
        """Whether a step has trained the body before; its optimizer state tells, also after a resume."""
        body = (one for name, one in self.encoder.named_parameters() if name.startswith("blocks."))
        return any(one in part.state for one in body for part in self.optimizer.parts)

    def _decay(self, *, frozen: bool) -> None:
        """Switch weight decay off while old rows may not move."""
        for group in (group for part in self.optimizer.parts for group in part.param_groups):
            full = group.setdefault("full_decay", group["weight_decay"])
            group["weight_decay"] = 0.0 if frozen else full

    def _rate_factor(self, progress: float) -> float:
        factor = super()._rate_factor(progress)
        return factor if progress < self.frozen_until else factor * self.config.language.freed_rate

    # --- the watch on other languages ---

    def _evaluate(self) -> None:
        super()._evaluate()
        for code, before in self.before.items():
            rise = math.log(self.position.dev[code]) - before
            if code != self.config.language.code and rise > self.config.language.tolerance and code not in self.warned:
                self.warned.add(code)
                self.say(
                    f"step {self.position.step}: the held-out loss of {code} has risen by {rise:.2f} to "
                    f"{before + rise:.2f}; train on its text too, or for fewer steps with all weights"
                )

    def finish(self, record: RunRecord | None) -> None:
        """Finish the run, and write losses before and after."""
        super().finish(record)
        if record is None:
            return
        for files in (*self.work.texts.values(), *self.work.held_out.values()):
            for path in files:
                record.add_input(path)
        losses = {"before": self.before, "after": {code: math.log(value) for code, value in self.position.dev.items()}}
        write_sealed(self.out / RESULT, {"subwords": self.subwords, **losses})
        record.add_output(self.out / RESULT)


class NewFirst(LanguageSampler):
    """Language sampling with the new language alone in the first phase."""

    def __init__(self, text: Mapping[str, int], config: AddLanguageConfig, *, until: float) -> None:
        super().__init__(text, config.sampling, seed=config.seed)
        self.code, self.until = config.language.code, until

    def language(self, step: int, progress: float = 0.0) -> str:
        """The language of a step."""
        return self.code if progress < self.until else super().language(step, progress)
