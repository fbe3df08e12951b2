r"""The learning rate over a run: the factor on the peak rate for a step, from the step and the progress.

``inverse-sqrt`` (the first paper)   ``trapezoid``           ``linear``

      /\__                            ________                /\
     /    \____                      /        \              /    \
    /          \______              /          \            /        \

A warm-up is so many steps, or a share of the budget; the rest is a function of the progress in [0, 1], so it fits any
budget. The inverse square root has no scale of its own: with the warm-up as a share it fits too.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from isoglot.core.config import Config

ScheduleKind = Literal["inverse-sqrt", "trapezoid", "linear"]
"""inverse-sqrt: falls with 1/√step, never ends. trapezoid: flat, then straight down. linear: straight down at once."""

Steps = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class ScheduleConfig(Config):
    """How the learning rate changes over the run."""

    kind: ScheduleKind = "inverse-sqrt"
    """the shape after the warm-up: inverse-sqrt, trapezoid or linear"""
    warmup: Steps | Share = 0.1
    """the rise from 0: a whole number is steps, a fraction (0.1) a share of the budget"""
    cooldown: float = Field(0.2, ge=0, le=1, validate_default=True)
    """trapezoid: the last share of the budget, in which the rate falls in a straight line"""
    floor: float = Field(0.0, ge=0, le=1)
    """trapezoid and linear: the share of the peak rate that is left at the end"""

    @field_validator("cooldown")
    @classmethod
    def _fits(cls, cooldown: float, info: ValidationInfo) -> float:
        warmup = info.data.get("warmup")
        if info.data.get("kind") == "trapezoid" and isinstance(warmup, float) and warmup + cooldown > 1:
            raise ValueError(f"and warmup = {warmup} are more than the whole budget")
        return cooldown


def rate_factor(config: ScheduleConfig, step: int, progress: float) -> float:
    """What the peak rate is multiplied by.

    Args:
        config: The schedule.
        step: The step to be taken, from 1.
        progress: How far the run is, in [0, 1].

    >>> paper = ScheduleConfig(kind="inverse-sqrt", warmup=100)
    >>> [rate_factor(paper, step, 0.0) for step in (1, 100, 400)]
    [0.01, 1.0, 0.5]
    >>> modern = ScheduleConfig(kind="trapezoid", warmup=0.1, cooldown=0.2)
    >>> [round(rate_factor(modern, 1, progress), 3) for progress in (0.05, 0.5, 0.9, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    risen = _risen(config.warmup, step, progress)
    if risen < 1:
        return risen
    if config.kind == "inverse-sqrt":
        return float(risen**-0.5) if config.warmup else 1.0
    # Of a warm-up in steps, the share of the budget is seen from how far the run is.
    warmup = progress / risen if config.warmup else 0.0
    length = min(config.cooldown, 1 - warmup) if config.kind == "trapezoid" else 1 - warmup
    left = min(1.0, (1 - progress) / length) if length else 1.0
    return config.floor + (1 - config.floor) * left


def _risen(warmup: float, step: int, progress: float) -> float:
    """How many warm-ups have passed; below 1 the rate still rises. No warm-up: 1, the peak at once."""
    if not warmup:
        return 1.0
    return step / warmup if isinstance(warmup, int) else progress / warmup
