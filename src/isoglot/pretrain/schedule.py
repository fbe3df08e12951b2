r"""How long a run lasts: so many steps, so many tokens, or so much time; and how far it is.

Schedules, sampling and masking rates are functions of the *progress*, the share of the budget that is used, so the
same recipe fits any budget. A run with a budget of steps or tokens that was killed and resumed ends with the same bits
as one that was not; the progress of a budget of time depends on the machine, so there only the kind of run is the same.

>>> parse_budget("8m"), parse_budget("400Mtokens")
(Budget(kind='time', amount=480.0), Budget(kind='tokens', amount=400000000))

The learning rate over a run: the factor on the peak rate for a step, from the step and the progress.

``inverse-sqrt`` (the first paper)   ``trapezoid``           ``linear``

      /\__                            ________                /\
     /    \____                      /        \              /    \
    /          \______              /          \            /        \

A warm-up is so many steps, or a share of the budget; the rest is a function of the progress in [0, 1], so it fits any
budget. The inverse square root has no scale of its own: with the warm-up as a share it fits too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, shown
from isoglot.core.progress import duration

BudgetKind = Literal["steps", "tokens", "time"]
"""What is counted: optimizer steps, seconds of wall-clock, or tokens of text. ``[CLS]`` and ``[SEP]`` around a row and
padding are none: runs with rows of different lengths and the same budget read as much text. Separators inside a row
are counted."""

_SHAPE = re.compile(r"(\d[\d_,]*(?:\.\d+)?)\s*([kKMGB]?)\s*([a-z]+)")
_FACTORS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
_COUNTS: dict[str, Literal["steps", "tokens"]] = {
    "step": "steps",
    "steps": "steps",
    "token": "tokens",
    "tokens": "tokens",
}
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_REMEDY = "write 8m, 90s, 2h, 2000steps or 400Mtokens"


@dataclass(frozen=True)
class Budget:
    """An amount of steps, tokens or seconds."""

    kind: BudgetKind
    amount: float

    def __str__(self) -> str:
        return duration(self.amount) if self.kind == "time" else f"{self.amount:,} {self.kind}"

    def used(self, *, steps: int, tokens: int, seconds: float) -> float:
        """The share that is used once so much is done; 1 when the budget is spent.

        >>> Budget("steps", 8).used(steps=2, tokens=0, seconds=0)
        0.25
        """
        done = {"steps": steps, "tokens": tokens, "time": seconds}[self.kind]
        return min(1.0, done / self.amount) if self.amount else 1.0

    def progress(self, *, steps: int, tokens: int, seconds: float, step_tokens: int) -> float:
        """The share used in the middle of the next step, so that neither the first nor the last has a rate of 0.

        Args:
            steps: Steps done so far.
            tokens: Tokens done so far.
            seconds: Time spent so far.
            step_tokens: Tokens of text of one step.
        """
        if self.kind == "steps":
            return min(1.0, (steps + 0.5) / self.amount) if self.amount else 1.0
        return self.used(steps=steps, tokens=tokens + step_tokens // 2, seconds=seconds)

    def steps(self, step_tokens: int) -> int | None:
        """How many steps it is; None when that depends on the clock."""
        if self.kind == "time":
            return None
        return int(self.amount) if self.kind == "steps" else math.ceil(self.amount / step_tokens)


def parse_budget(text: str) -> Budget:
    """Read a budget as a person writes it.

    >>> [parse_budget(text).amount for text in ("90s", "1.5h", "2_000 steps", "2ksteps", "1.5B tokens")]
    [90.0, 5400.0, 2000, 2000, 1500000000]

    Raises:
        ConfigError: It is no number with a unit, or a part of a step.
    """
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{shown(text)} is not a budget", remedy=_REMEDY, code="config.malformed-option")
    digits, factor, unit = match.groups()
    number = float(digits.replace("_", "").replace(",", "")) * _FACTORS[factor]
    if not math.isfinite(number * max(_SECONDS.values())):
        raise ConfigError(f"{shown(text)} is too large a budget", remedy=_REMEDY, code="config.invalid-value")
    if unit in _COUNTS:
        if number != int(number):
            raise ConfigError(
                f"{shown(text)} is not a whole number of {_COUNTS[unit]}",
                remedy=_REMEDY,
                code="config.malformed-option",
            )
        return Budget(_COUNTS[unit], int(number))
    if unit in _SECONDS and not factor:
        return Budget("time", number * _SECONDS[unit])
    raise ConfigError(f"{shown(text)}: no unit {shown(factor + unit)}", remedy=_REMEDY, code="config.malformed-option")


def parse_duration(text: str, option: str) -> float:
    """Seconds of a time as a person writes it: 90s, 9m, 2h.

    Raises:
        ConfigError: It is not a time.
    """
    try:
        time = parse_budget(text)
    except ConfigError as error:
        raise ConfigError(
            f"{option} {text}: not a time", remedy="write 90s, 9m or 2h", code="config.malformed-option"
        ) from error
    if time.kind != "time":
        raise ConfigError(f"{option} {text}: not a time", remedy="write 90s, 9m or 2h", code="config.malformed-option")
    return time.amount


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
