"""Settings of fine-tuning, and the parameters of an encoder that they train.

Recipes in ``recipes/`` set them, ``--set`` changes them.

>>> from isoglot.core.config import build_config
>>> build_config(TuneConfig, settings=["tune=top-6", "encoder_learning_rate=2e-5"]).tune
'top-6'

Private parts are never trained: those that only English batches update would no longer fit those of other languages.
They stay frozen, and at test those of the target language are used (Wu et al. 2020).
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator
from torch import nn

from isoglot.core.config import Config, build_config
from isoglot.core.errors import ConfigError
from isoglot.core.rng import LARGEST_SEED
from isoglot.model.config import SharingPlan
from isoglot.pretrain.config import Precision
from isoglot.pretrain.schedule import ScheduleConfig
from isoglot.transfer.tasks.task import Unseen
from isoglot.transfer.tuning.heads import HeadConfig

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike

Record = Literal["auto", "off"]
"""On a GPU, or never."""
_TUNE = re.compile(r"all|head|top-[1-9][0-9]*")


class TuneConfig(Config):
    """A fine-tuning run.

    >>> TuneConfig(epochs=2, tune="head").epochs
    2
    """

    tune: str = "all"
    """trained parameters: all, head (encoder vectors are computed once), or top-6 (the last 6 layers)"""
    freeze: int = Field(0, ge=0)
    """number of frozen layers from the bottom, with the embeddings; 0: none"""
    frozen: str = "default"
    """frozen parts, written as a sharing plan: sep-emb, sep-l1-3, emb,1-6; default: none"""
    layer: int | None = Field(None, ge=0)
    """the layer a head reads; None: the last"""
    epochs: int = Field(10, ge=1)
    """number of epochs"""
    epoch_size: int | None = Field(None, ge=1)
    """examples per epoch; None: all"""
    batch_size: int = Field(32, ge=1)
    """examples per step"""
    batch_tokens: int | None = Field(None, ge=8)
    """maximum tokens per step, padding included; replaces 'batch_size'"""
    max_length: int | None = Field(None, ge=5)
    """maximum tokens of an example, special tokens included; None: the encoder's, at most 512"""
    encoder_learning_rate: float = Field(3e-5, gt=0)
    """peak learning rate of the encoder"""
    head_learning_rate: float | None = Field(None, gt=0)
    """peak learning rate of the head; None: the encoder's, or 1e-3 if only the head is trained"""
    schedule: ScheduleConfig = ScheduleConfig(kind="linear", warmup=0.1)
    """learning rate schedule"""
    weight_decay: float = Field(0.01, ge=0)
    """decoupled weight decay of matrices"""
    max_gradient_norm: float = Field(1.0, ge=0)
    """gradient clipping by global norm; 0: off"""
    head: HeadConfig = HeadConfig()
    """head architecture"""
    patience: int | None = Field(None, ge=1)
    """early stopping after this many epochs without a better dev score; None: off"""
    keep: int = Field(10, ge=1)
    """number of best epochs by dev score whose weights are kept for other selection rules"""
    unseen_labels: Unseen | None = None
    """labels that are not in training: refuse, or count as wrong; None: the task's default"""
    precision: Precision = "auto"
    """the number format of matrix products: auto, float32 or bfloat16"""
    cuda_graphs: Record = "auto"
    """whether steps run as CUDA graphs: auto (on a GPU, for isoglot's own encoders), or off"""
    grid: dict[str, tuple[float | int | str, ...]] = Field({})
    """grid search: lists of values by setting, all combinations"""
    mean_of_best: int = Field(2, ge=1)
    """number of best settings of a grid that are averaged"""
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """random seed of head initialization, order of examples and dropout"""

    @field_validator("tune")
    @classmethod
    def _known(cls, tune: str) -> str:
        if not _TUNE.fullmatch(tune):
            raise ValueError("should be all, head or top-K such as top-6")
        return tune

    @field_validator("frozen")
    @classmethod
    def _parts(cls, frozen: str) -> str:
        try:
            SharingPlan.parse(frozen)
        except ConfigError as error:
            raise ValueError(f"is not a sharing plan: {error.problem}") from error
        return frozen

    @field_validator("grid")
    @classmethod
    def _knobs(cls, grid: dict[str, tuple[float | int | str, ...]]) -> dict[str, tuple[float | int | str, ...]]:
        for key, values in grid.items():
            if key not in cls.model_fields or key in ("grid", "mean_of_best", "head", "schedule"):
                raise ValueError(f"has {key!r}, which is not a single setting")
            if not values:
                raise ValueError(f"has no value for {key!r}")
        return grid

    @property
    def head_only(self) -> bool:
        """Whether the encoder is frozen."""
        return self.tune == "head"

    @property
    def rate_of_head(self) -> float:
        """Peak learning rate of the head."""
        return self.head_learning_rate or (1e-3 if self.head_only else self.encoder_learning_rate)

    def settings(self) -> dict[str, Self]:
        """Settings of the grid by name; one unnamed setting without a grid."""
        found = {}
        for values in product(*self.grid.values()):
            chosen: dict[str, Any] = dict(zip(self.grid, values, strict=True))
            name = " ".join(
                f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in chosen.items()
            )
            whole = self.model_dump(mode="json") | chosen | {"grid": {}}
            found[name] = build_config(type(self), values=whole)
        return found


def layer_numbers(encoder: EncoderLike) -> dict[str, int]:
    """Layer of every parameter of the encoder body: 0 for the embeddings, the last layer for a final norm.

    The language modeling head is excluded.

    Raises:
        ConfigError: The encoder is not a torch module, or its layers are not in a ModuleList.
    """
    if not isinstance(encoder, nn.Module):
        problem = f"{type(encoder).__name__} has no parameters to fine-tune"
        raise ConfigError(problem, "tune the head only: tune=head", "not-supported")
    if not encoder.depth:
        problem = "static vectors have no trainable layers"
        raise ConfigError(problem, "use the recipe static-nli, or set tune=head", "not-supported")
    lists = [(name, len(part)) for name, part in encoder.named_modules() if isinstance(part, nn.ModuleList)]
    stack = next((name for name, size in lists if size == encoder.depth and encoder.is_body(name)), None)
    if stack is None:
        problem = "the layers of the encoder are not in a ModuleList"
        raise ConfigError(problem, "tune the head only: tune=head", "not-supported")
    found: dict[str, int] = {}
    behind = False
    for name, _ in encoder.named_parameters():
        if name.startswith(f"{stack}."):
            behind = True
            found[name] = int(name.removeprefix(f"{stack}.").partition(".")[0]) + 1
        elif encoder.is_body(name):
            found[name] = encoder.depth if behind else 0
    return found


def trained_parameters(encoder: EncoderLike, config: TuneConfig) -> list[str]:
    """Names of the parameters of an encoder that are trained, in order; none if only the head is.

    Args:
        encoder: Any torch module.
        config: Settings, of which ``tune``, ``freeze`` and ``frozen`` count.

    Raises:
        ConfigError: The encoder has fewer layers, or no trainable parameter is left.
    """
    if config.head_only:
        return []
    depth, tune, freeze = encoder.depth, config.tune, config.freeze
    if freeze > depth:
        raise ConfigError(f"freeze={freeze} with {depth} layers", f"freeze {depth} at most", "invalid-value")
    lowest = freeze + 1 if freeze else 0
    if tune.startswith("top-"):
        top = int(tune.removeprefix("top-"))
        if top > depth:
            raise ConfigError(f"tune={tune} with {depth} layers", f"give top-{depth} at most, or all", "invalid-value")
        lowest = max(lowest, depth - top + 1)
    own = set(encoder.languages)
    layers = layer_numbers(encoder)
    plan = SharingPlan.parse(config.frozen, depth)
    still = plan.private_layers | ({0} if plan.is_private("emb") else set())
    found = [
        name
        for name, layer in layers.items()
        if layer >= lowest and layer not in still and not own & set(name.split("."))
    ]
    if not found:
        problem = "all layers to be trained are private"
        raise ConfigError(problem, "train more layers, or the head only: tune=head", "not-supported")
    return found
