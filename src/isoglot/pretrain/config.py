"""Settings of a pretraining run, and the checks that vocabulary and shards fit them.

Recipes in ``recipes/`` set defaults, ``--set`` changes any setting.

>>> from isoglot.core.config import build_config
>>> build_config(PretrainConfig, settings=["model.size=nano", "budget=100steps"]).budget
'100steps'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError
from isoglot.core.rng import LARGEST_SEED
from isoglot.model.config import SIZES, EncoderConfig, Preset, SharingPlan, Size, encoder_config, is_separate
from isoglot.pretrain.batches import PairsConfig, SamplingConfig
from isoglot.pretrain.code_switching import CodeSwitchingConfig
from isoglot.pretrain.evaluation import EvaluationConfig
from isoglot.pretrain.masking import MaskingConfig
from isoglot.pretrain.metrics_log import LogConfig
from isoglot.pretrain.optimizer import OptimizerConfig
from isoglot.pretrain.run_folder import CheckpointConfig
from isoglot.pretrain.schedule import Budget, ScheduleConfig, parse_budget
from isoglot.pretrain.token_rows import Rows, Separator, TextConfig, Windows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.vocab import Shards, Vocabulary

_REACHED = 0.98  # of the size asked for: a vocabulary with fewer subwords ran out of text

Precision = Literal["auto", "float32", "bfloat16", "float16"]
"""auto: bfloat16 on a GPU that computes in it (Ampere and later), float16 with loss scaling on Volta and Turing, else
float32. bfloat16 and float16 are for matrix products only; weights and sums stay float32."""


class ModelConfig(Config):
    """The encoder to train; None: as the preset and the size have it."""

    preset: Preset = "paper"
    """paper (BERT) or modern (ModernBERT)"""
    size: Size = "micro"
    """nano, micro, mini, small, base (the first paper's) or base12 (the second's)"""
    plan: str = "default"
    """the sharing plan, which parts are private to each language: default, sep-emb, sep-l1-3, emb,pos,1-3,softmax…"""
    language_embeddings: Literal["none", "added"] = "none"
    """whether a language embedding is added to every token"""
    max_length: int | None = Field(None, ge=3)
    """maximum number of input tokens, special tokens included"""
    layers: int | None = Field(None, ge=1)
    """number of layers"""
    heads: int | None = Field(None, ge=1)
    """attention heads in each layer"""
    hidden_size: int | None = Field(None, ge=2)
    """dimensions of the hidden states"""
    intermediate_size: int | None = Field(None, ge=1)
    """dimensions inside a layer's feed-forward block"""
    norm: Literal["post", "pre"] | None = None
    """post-norm (BERT) or pre-norm"""
    positions: Literal["learned", "rotary"] | None = None
    """learned position embeddings, or rotary ones"""
    mlp: Literal["gelu", "geglu"] | None = None
    """feed-forward block; geglu has three matrices where gelu has two: set intermediate_size with it"""
    head_transform: Literal["bert", "none"] | None = None
    """before the softmax: dense layer, GELU and norm (bert), or nothing (none: XLM, the first paper)"""
    dropout: float | None = Field(None, ge=0, lt=1)
    """dropout probability"""
    local_window: int | None = Field(None, ge=0)
    """window of local attention in tokens; 0: all layers attend to everything"""
    global_every: int | None = Field(None, ge=1)
    """with local attention: every how many layers one attends to everything"""

    @model_validator(mode="after")
    def _plan_fits(self) -> Self:
        SharingPlan.parse(self.plan, self.layers or SIZES[self.size]["layers"])  # raises its own errors
        return self

    @property
    def is_separate(self) -> bool:
        """Whether each language has weights of its own: private parts or a language embedding."""
        return is_separate(SharingPlan.parse(self.plan), self.language_embeddings)

    def encoder(self, *, vocabulary_size: int, languages: tuple[str, ...], pad_id: int, unk_id: int) -> EncoderConfig:
        """Build the encoder's config for a vocabulary and languages.

        Raises:
            ConfigError: The settings contradict each other.
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
    """The batch of a step."""

    size: int = Field(32, ge=1)
    """sequences in a step, over all ranks and accumulated parts"""
    sequence_length: int | None = Field(None, ge=3)
    """tokens in a sequence, special tokens included; None: the model's max_length"""
    gradient_accumulation: int = Field(1, ge=1)
    """forward and backward passes of a step, where memory is short; the result is the same"""
    separator: Separator = "none"
    """[SEP] inside a row after every sentence (line of the text; XLM and the first paper), document, or none"""
    windows: Windows = "stream"
    """rows are cut from the text as one stream, or from each sentence on its own, with padding (second paper)"""
    ramp: float = Field(0.0, ge=0, lt=1)
    """the first share of the budget, with a quarter and then half of the rows in a step; 0: none"""

    def rows_at(self, progress: float) -> int:
        """Rows of a step at that share of the budget.

        >>> [BatchConfig(size=32, ramp=0.2).rows_at(progress) for progress in (0.0, 0.1, 0.2)]
        [8, 16, 32]
        """
        return self.size // (4 if progress < self.ramp / 2 else 2 if progress < self.ramp else 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows that steps have."""
        return (self.size // 4, self.size // 2, self.size) if self.ramp else (self.size,)

    def rows(self, shards: Shards, vocabulary: Vocabulary, **options: Any) -> Rows:  # noqa: ANN401 - those of Rows
        """The rows of a text; ``options`` are further arguments of :class:`.token_rows.Rows`."""
        return Rows(shards, layout=vocabulary.layout, separator=self.separator, windows=self.windows, **options)

    def never_masked(self, vocabulary: Vocabulary) -> tuple[int | None, int | None]:
        """Ids of separators and padding inside the rows; None where there are none."""
        padded = self.windows == "sentences"
        separator = vocabulary.layout.separator if padded or self.separator != "none" else None
        return separator, vocabulary.pad_id if padded else None


class RequiresConfig(Config):
    """Vocabulary, sharing plan and text that a recipe is about; a run with others is rejected.

    Two arms of a comparison may differ in nothing but the vocabulary or the domain of the text.
    """

    vocabulary: Literal["any", "joint", "union", "disjoint"] = "any"
    """--mode of isoglot vocab train; a monolingual run takes any"""
    vocabulary_size: int | Literal["any"] = Field("any", union_mode="left_to_right")
    """--size of isoglot vocab train: of the whole if joint, of each language otherwise"""
    count: Literal["any", "subwords", "merges"] = "any"
    """what that size counts: --count of isoglot vocab train"""
    plan: str = "any"
    """the sharing plan"""
    domains: Literal["any", "same", "different"] = "any"
    """whether the languages' texts have the same domain: --domain of isoglot shards build"""


class PretrainConfig(Config):
    """Settings of a pretraining run.

    >>> from isoglot.core.config import build_config
    >>> build_config(PretrainConfig, settings=["batch.size=64"]).batch.size
    64
    """

    model: ModelConfig = ModelConfig()
    """the encoder"""
    requires: RequiresConfig = RequiresConfig()
    """required vocabulary, plan and text; a run with others is rejected"""
    text: TextConfig = TextConfig()
    """how much of each language's text is read"""
    batch: BatchConfig = BatchConfig()
    """the batch of a step"""
    masking: MaskingConfig = MaskingConfig()
    """masking"""
    sampling: SamplingConfig = SamplingConfig()
    """language sampling"""
    code_switching: CodeSwitchingConfig = CodeSwitchingConfig()
    """code-switching, where dictionaries are given"""
    pairs: PairsConfig = PairsConfig()
    """steps on translation pairs, where parallel text is given"""
    optimizer: OptimizerConfig = OptimizerConfig()
    """the optimizer"""
    schedule: ScheduleConfig = ScheduleConfig()
    """learning rate schedule"""
    budget: str = "1000steps"
    """length of the run: 8m, 2000steps or 400Mtokens (of text: no [CLS], [SEP] or padding around it); 0steps writes
    the untrained encoder"""
    evaluation: EvaluationConfig = EvaluationConfig()
    """evaluation of dev perplexity"""
    checkpoints: CheckpointConfig = CheckpointConfig()
    """checkpoints"""
    log: LogConfig = LogConfig()
    """logging"""
    precision: Precision = "auto"
    """number format of matrix products: auto, float32, bfloat16, or float16 with dynamic loss scaling"""
    compile: Literal["off", "on"] = "off"
    """whether torch.compile is used, which takes minutes and pays off in long runs"""
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """random seed of text order, masks and dropout"""
    init_seed: int | None = Field(None, ge=0, le=LARGEST_SEED)
    """random seed of the initial weights; None: the same as seed"""

    @field_validator("budget")
    @classmethod
    def _readable(cls, budget: str) -> str:
        try:
            parse_budget(budget)
        except ConfigError as error:
            raise ValueError(f"is not a budget: {error.remedy}") from error
        return budget

    @model_validator(mode="after")
    def _rows_fit(self) -> Self:
        longest = self.model.max_length or SIZES[self.model.size]["max_length"]
        if (self.batch.sequence_length or 0) > longest:
            raise ConfigError(
                f"batch.sequence_length {self.batch.sequence_length} exceeds the encoder's maximum of {longest} tokens",
                f"set model.max_length={self.batch.sequence_length}, or shorter rows",
                "invalid-value",
            )
        return self

    @property
    def spending(self) -> Budget:
        """The parsed budget."""
        return parse_budget(self.budget)

    @property
    def sharing(self) -> SharingPlan:
        """The parsed sharing plan."""
        return SharingPlan.parse(self.model.plan)


# --- does the data fit? ---


def check_requirements(config: PretrainConfig, shards: Mapping[str, Shards], vocabulary: Vocabulary) -> None:
    """Check that vocabulary, plan and text of a run are what its recipe requires.

    Raises:
        ConfigError: The vocabulary, its size, the plan or the domains differ.
    """
    needs = config.requires
    if needs.plan != "any" and SharingPlan.parse(needs.plan).text != config.sharing.text:
        raise _mismatch("plan", f"sharing plan {SharingPlan.parse(needs.plan).name}", config.sharing.name)
    if needs.vocabulary not in ("any", vocabulary.mode) and len(shards) > 1:
        raise _mismatch("vocabulary", f"a {needs.vocabulary} vocabulary", f"a {vocabulary.mode} one")
    if needs.vocabulary_size != "any":
        _check_size(needs.vocabulary_size, vocabulary)
    counted = str(vocabulary.about.get("count", "subwords"))
    if needs.count not in ("any", counted):
        raise _mismatch("count", f"a vocabulary whose size counts {needs.count}", f"one that counts {counted}")
    _check_domains(needs.domains, shards)


def _check_size(size: int, vocabulary: Vocabulary) -> None:
    """Check the size asked for in training, and that there was enough text to reach it."""
    each = "" if vocabulary.mode in ("joint", "given") else " for each language"
    asked = int(vocabulary.about.get("size", len(vocabulary)))
    if asked != size:
        raise _mismatch("vocabulary_size", f"a vocabulary of {size:,} subwords{each}", f"one of {asked:,}")
    found = {code: len(vocabulary.ids_of(code)) for code in vocabulary.languages} if each else {"": len(vocabulary)}
    code, fewest = min(found.items(), key=lambda item: item[1])
    if fewest < _REACHED * size:
        of = f" of {code}" if code else ""
        problem = "vocabulary_size"
        raise _mismatch(problem, f"a vocabulary of {size:,} subwords{each}", f"{fewest:,}{of}: its text was too short")


def _check_domains(needed: str, shards: Mapping[str, Shards]) -> None:
    domains = {code: one.domain for code, one in shards.items()}
    named = {domain for domain in domains.values() if domain is not None}
    declared = ", ".join(f"{code} {domain or 'not declared'}" for code, domain in domains.items())
    if needed == "same" and len(named) > 1:
        raise _mismatch("domains", "text of one domain", declared)
    if needed == "different" and len(shards) > 1 and (None in domains.values() or len(named) < 2):
        raise _mismatch(
            "domains", "text of different domains", f"{declared} (declare: isoglot shards build --domain NAME)"
        )


def _mismatch(key: str, expected: str, found: str) -> ConfigError:
    problem = f"the recipe requires {expected}, found {found}"
    remedy = f"use what it requires, take the recipe of another arm, or override it: --set requires.{key}=any"
    return ConfigError(problem, remedy, "requirement")


def check_shards(shards: Mapping[str, Shards], vocabulary: Vocabulary) -> None:
    """Check that shards are of the languages they are named by, and were built with the vocabulary.

    Raises:
        ConfigError: Shards of another language or vocabulary, or none at all.
    """
    if not shards:
        raise ConfigError("there are no shards", "name some: --shards en=DIR", "missing-data")
    hashes = {code: one.index["vocabulary"]["hash"] for code, one in shards.items()}
    if len(set(hashes.values())) > 1:
        ways = ", ".join(f"{code} with {found[:12]}…" for code, found in hashes.items())
        problem = f"the shards were built with different vocabularies: {ways}"
        raise ConfigError(problem, "build all of them with the same one", "other-vocabulary")
    for code, one in shards.items():
        if one.language != code:
            problem = f"{one.folder}: shards of {one.language}, named {code}"
            raise ConfigError(problem, f"write --shards {one.language}=…", "other-language")
        one.check_vocabulary(vocabulary)


def fitting_vocabulary(config: PretrainConfig, shards: Mapping[str, Shards], vocabulary: Vocabulary) -> Vocabulary:
    """Check that shards and vocabulary fit; returns the vocabulary to use.

    If the languages share one view of it and parts are private, the ids of a language are those that occur in its
    shards.

    Raises:
        ConfigError: Shards of another language or vocabulary, or none at all.
    """
    check_shards(shards, vocabulary)
    for code in shards:
        vocabulary.ids_of(code)  # raises for a language that it does not have
    apart = config.sharing.private & {"emb", "softmax"} or config.masking.random_from == "language"
    if apart and vocabulary.mode in ("joint", "given"):
        return vocabulary.observed({code: one.counts(len(vocabulary)) for code, one in shards.items()})
    return vocabulary
