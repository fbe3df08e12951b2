"""Every knob of a pretraining run, with what it means; recipes in ``recipes/`` set them, ``--set`` changes them.

>>> from isoglot.core.config import build_config
>>> build_config(PretrainConfig, settings=["model.size=nano", "budget=100steps"]).budget
'100steps'
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError
from isoglot.core.rng import LARGEST_SEED
from isoglot.model.config import SIZES, EncoderConfig, Preset, Size, encoder_config, is_separate
from isoglot.model.plan import SharingPlan
from isoglot.pretrain.batches import PairsConfig
from isoglot.pretrain.checkpoint import CheckpointConfig
from isoglot.pretrain.code_switching import CodeSwitchingConfig
from isoglot.pretrain.evaluation import EvaluationConfig
from isoglot.pretrain.masking import MaskingConfig
from isoglot.pretrain.metrics_log import LogConfig
from isoglot.pretrain.optimizer import OptimizerConfig
from isoglot.pretrain.requirements import RequiresConfig
from isoglot.pretrain.sampling import SamplingConfig
from isoglot.pretrain.schedule import Budget, ScheduleConfig, parse_budget
from isoglot.pretrain.token_rows import Separator, TextConfig, Windows

Precision = Literal["auto", "float32", "bfloat16", "float16"]
"""auto: bfloat16 on a GPU that computes in it (Ampere and later), float16 with loss scaling on Volta and Turing, else
float32. bfloat16, float16: products only; weights and sums stay float32."""


class ModelConfig(Config):
    """Which encoder is trained; what is None is as the preset and the size have it."""

    preset: Preset = "paper"
    """paper (BERT) or modern (ModernBERT)"""
    size: Size = "micro"
    """nano, micro, mini, small, base (the first paper's) or base12 (the second's)"""
    plan: str = "default"
    """what each language has to itself: default, sep-emb, sep-l1-3, emb,pos,1-3,softmax…"""
    language_embeddings: Literal["none", "added"] = "none"
    """whether a vector of the language is added to every token"""
    max_length: int | None = Field(None, ge=3)
    """the longest input in tokens, special ones included"""
    layers: int | None = Field(None, ge=1)
    """how many layers"""
    heads: int | None = Field(None, ge=1)
    """attention heads in each layer"""
    hidden_size: int | None = Field(None, ge=2)
    """dimensions of the hidden states"""
    intermediate_size: int | None = Field(None, ge=1)
    """dimensions inside a layer's feed-forward block"""
    norm: Literal["post", "pre"] | None = None
    """post (BERT) or pre: whether a layer's parts are normalized after they are added or before they compute"""
    positions: Literal["learned", "rotary"] | None = None
    """a vector a place, or a rotation of queries and keys by place"""
    mlp: Literal["gelu", "geglu"] | None = None
    """the feed-forward part; geglu has three matrices where gelu has two: set intermediate_size with it"""
    head_transform: Literal["bert", "none"] | None = None
    """what stands before the softmax: a matrix, GELU and a norm (bert), or nothing (none: XLM, the first paper)"""
    dropout: float | None = Field(None, ge=0, lt=1)
    """the share of numbers dropped in training"""
    local_window: int | None = Field(None, ge=0)
    """tokens of a neighborhood that layers attend to; 0: everything"""
    global_every: int | None = Field(None, ge=1)
    """with neighborhoods: the first of so many layers attends to everything all the same"""

    @model_validator(mode="after")
    def _plan_fits(self) -> Self:
        SharingPlan.parse(self.plan, self.layers or SIZES[self.size]["layers"])  # its errors say all there is to say
        return self

    @property
    def is_separate(self) -> bool:
        """Whether each language has weights to itself: private parts, or a vector of its own."""
        return is_separate(SharingPlan.parse(self.plan), self.language_embeddings)

    def encoder(self, *, vocabulary_size: int, languages: tuple[str, ...], pad_id: int, unk_id: int) -> EncoderConfig:
        """The whole config of the encoder, for a vocabulary and languages.

        Raises:
            ConfigError: The parts do not fit each other.
        """
        named = {"preset", "size", "plan"}
        changes = {key: value for key, value in self.model_dump(exclude=named).items() if value is not None}
        return encoder_config(
            self.preset,
            self.size,
            vocabulary_size=vocabulary_size,
            languages=languages,
            plan=self.plan,
            **changes,
            pad_id=pad_id,
            unk_id=unk_id,
        )


class BatchConfig(Config):
    """What one step learns from."""

    size: int = Field(32, ge=1)
    """sequences in a step, over all processes and all accumulated parts"""
    sequence_length: int | None = Field(None, ge=3)
    """tokens in a sequence, special tokens included; None: the model's max_length"""
    gradient_accumulation: int = Field(1, ge=1)
    """parts that a step is computed in, one after another, where memory is short; the result is the same"""
    separator: Separator = "none"
    """what ends with a [SEP] inside a row: none, sentence (a line of the text; XLM and the first paper) or document"""
    windows: Windows = "stream"
    """what rows are cut from: stream (all text in one) or sentences (each cut by itself, with padding: second paper)"""
    ramp: float = Field(0.0, ge=0, lt=1)
    """the first share of the budget with fewer rows a step: a quarter of them, then half; 0: never"""

    def rows_at(self, progress: float) -> int:
        """Rows of a step when that share of the budget is used.

        >>> [BatchConfig(size=32, ramp=0.2).rows_at(progress) for progress in (0.0, 0.1, 0.2)]
        [8, 16, 32]
        """
        return self.size // (4 if progress < self.ramp / 2 else 2 if progress < self.ramp else 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows a step may have."""
        return (self.size // 4, self.size // 2, self.size) if self.ramp else (self.size,)


class PretrainConfig(Config):
    """A pretraining run."""

    model: ModelConfig = ModelConfig()
    """the encoder"""
    requires: RequiresConfig = RequiresConfig()
    """what the vocabulary, the plan and the text must be; a run with others is refused"""
    text: TextConfig = TextConfig()
    """how much of each language's text is read"""
    batch: BatchConfig = BatchConfig()
    """what one step learns from"""
    masking: MaskingConfig = MaskingConfig()
    """how much is masked, and with what"""
    sampling: SamplingConfig = SamplingConfig()
    """how often each language comes"""
    code_switching: CodeSwitchingConfig = CodeSwitchingConfig()
    """how many words are replaced by translations, where dictionaries are given"""
    pairs: PairsConfig = PairsConfig()
    """how often a step is on parallel text, where some is given"""
    optimizer: OptimizerConfig = OptimizerConfig()
    """the optimizer"""
    schedule: ScheduleConfig = ScheduleConfig()
    """how the learning rate changes over the run"""
    budget: str = "1000steps"
    """how long the run lasts: 8m, 2000steps or 400Mtokens (of text: no [CLS], [SEP] or padding around it); 0steps
    writes the random encoder"""
    evaluation: EvaluationConfig = EvaluationConfig()
    """dev perplexity on the way"""
    checkpoints: CheckpointConfig = CheckpointConfig()
    """when the state of the run is written down"""
    log: LogConfig = LogConfig()
    """what is said on the way"""
    precision: Precision = "auto"
    """the number format of matrix products: auto, float32, bfloat16, or float16 with dynamic loss scaling"""
    compile: Literal["off", "on"] = "off"
    """whether torch compiles the model first, which takes minutes and pays in long runs"""
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """decides the order of the text, the masks and the dropout"""
    init_seed: int | None = Field(None, ge=0, le=LARGEST_SEED)
    """decides the initial weights; None: 'seed' does. Twins have one of the two in common"""

    @field_validator("budget")
    @classmethod
    def _readable(cls, budget: str) -> str:
        try:
            parse_budget(budget)
        except ConfigError as error:
            raise ValueError(f"is no budget: {error.remedy}") from error
        return budget

    @model_validator(mode="after")
    def _rows_fit(self) -> Self:
        longest = self.model.max_length or SIZES[self.model.size]["max_length"]
        if (self.batch.sequence_length or 0) > longest:
            raise ConfigError(
                f"batch.sequence_length is {self.batch.sequence_length}, and the encoder takes {longest} tokens",
                remedy=f"set model.max_length={self.batch.sequence_length}, or shorter rows",
                code="config.invalid-value",
            )
        return self

    @property
    def spending(self) -> Budget:
        """The budget, read."""
        return parse_budget(self.budget)

    @property
    def sharing(self) -> SharingPlan:
        """The plan, read."""
        return SharingPlan.parse(self.model.plan)


def changed_key(old: object, new: object, path: str = "") -> str | None:
    """The first setting in which two configs differ, as a dotted key with both values; None if they are the same.

    >>> changed_key({"model": {"hidden_size": 64}, "seed": 1}, {"model": {"hidden_size": 128}, "seed": 1})
    'model.hidden_size was 64 and is 128'
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            found = changed_key(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))
            if found:
                return found
        return None
    return None if old == new else f"{path} was {old} and is {new}"
