"""Every knob of fine-tuning, with what it means; recipes in ``recipes/`` set them, ``--set`` changes them.

>>> from isoglot.core.config import build_config
>>> build_config(TuneConfig, settings=["tune=top-6", "encoder_learning_rate=2e-5"]).tune
'top-6'
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any, Literal, Self

from pydantic import Field, field_validator

from isoglot.core.config import Config, build_config
from isoglot.core.errors import ConfigError
from isoglot.core.rng import LARGEST_SEED
from isoglot.model.plan import SharingPlan
from isoglot.pretrain.config import Precision
from isoglot.pretrain.schedule import ScheduleConfig
from isoglot.transfer.tasks.task import Unseen
from isoglot.transfer.tuning.heads import HeadConfig

Record = Literal["auto", "off"]
"""On a GPU, or never."""
_TUNE = re.compile(r"all|head|top-[1-9][0-9]*")


class TuneConfig(Config):
    """A fine-tuning run."""

    tune: str = "all"
    """what learns: all, head (the encoder's vectors are computed once), or top-6 (the last 6 layers)"""
    freeze: int = Field(0, ge=0)
    """the embeddings and so many layers from the bottom do not learn; 0: all do that 'tune' says"""
    frozen: str = "default"
    """parts that do not learn, written as a sharing plan: sep-emb, sep-l1-3, emb,1-6; default: none"""
    layer: int | None = Field(None, ge=0)
    """the layer a head reads; None: the last"""
    epochs: int = Field(10, ge=1)
    """how often all examples are gone through"""
    epoch_size: int | None = Field(None, ge=1)
    """examples of an epoch, where it is a fixed number and not all of them"""
    batch_size: int = Field(32, ge=1)
    """examples in a step"""
    batch_tokens: int | None = Field(None, ge=8)
    """tokens of a step at most, padding included; then 'batch_size' is ignored"""
    max_length: int | None = Field(None, ge=5)
    """tokens of an example at most, special ones included; None: as many as the encoder takes, 512 at most"""
    encoder_learning_rate: float = Field(3e-5, gt=0)
    """the peak learning rate of the encoder"""
    head_learning_rate: float | None = Field(None, gt=0)
    """the peak learning rate of the head; None: the encoder's, or 1e-3 where only the head learns"""
    schedule: ScheduleConfig = ScheduleConfig(kind="linear", warmup=0.1)
    """how the rates change over the run"""
    weight_decay: float = Field(0.01, ge=0)
    """the pull of matrices towards 0, times the rate"""
    max_gradient_norm: float = Field(1.0, ge=0)
    """the largest norm of the gradient over all parameters; a larger one is clipped; 0: no limit"""
    head: HeadConfig = HeadConfig()
    """the shape of the head"""
    patience: int | None = Field(None, ge=1)
    """epochs without a better dev score after which the run ends; None: it goes on to the end"""
    keep: int = Field(10, ge=1)
    """how many epochs' weights are kept, those best on dev, for other ways to choose among them"""
    unseen_labels: Unseen | None = None
    """what a label is that training did not have: refuse it, or count it as wrong; None: as the task has it"""
    precision: Precision = "auto"
    """the number format of matrix products: auto, float32 or bfloat16"""
    cuda_graphs: Record = "auto"
    """whether steps run as CUDA graphs: auto (on a GPU, for isoglot's own encoders), or off"""
    grid: dict[str, tuple[float | int | str, ...]] = Field({})
    """settings to try, every value of one with every value of the others"""
    mean_of_best: int = Field(2, ge=1)
    """of how many of the best settings of a grid the mean is taken"""
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """decides the head's initial values, the order of examples and the dropout"""

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
                raise ValueError(f"has {key!r}, which is no single setting")
            if not values:
                raise ValueError(f"has no value for {key!r}")
        return grid

    @property
    def head_only(self) -> bool:
        """Whether the encoder stays as it is."""
        return self.tune == "head"

    @property
    def rate_of_head(self) -> float:
        """The head's peak learning rate."""
        return self.head_learning_rate or (1e-3 if self.head_only else self.encoder_learning_rate)

    def settings(self) -> dict[str, Self]:
        """Every setting of the grid, by what is special in it; one without a name where there is no grid."""
        found = {}
        for values in product(*self.grid.values()):
            chosen: dict[str, Any] = dict(zip(self.grid, values, strict=True))
            name = " ".join(
                f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in chosen.items()
            )
            whole = self.model_dump(mode="json") | chosen | {"grid": {}}
            found[name] = build_config(type(self), values=whole)
        return found
