r"""Budget of a run (steps, tokens or time) and learning rate schedule.

Schedules, sampling and masking rates are functions of the *progress*, the share of the budget that is used, so a recipe
fits any budget. With a budget of steps or tokens a resumed run ends with the same bits as an uninterrupted one; with a
budget of time the progress depends on the machine.

>>> parse_budget("8m"), parse_budget("400Mtokens")
(Budget(kind='time', amount=480.0), Budget(kind='tokens', amount=400000000))

The learning rate is the peak rate times a factor of the step and the progress:

``inverse-sqrt`` (the first paper)   ``trapezoid``           ``linear``

      /\__                            ________                /\
     /    \____                      /        \              /    \
    /          \______              /          \            /        \

The warm-up is a number of steps or a share of the budget; the rest is a function of the progress in [0, 1]. The inverse
square root takes its scale from the warm-up.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, shown
from isoglot.core.progress import duration

BudgetKind = Literal["steps", "tokens", "time"]
"""Optimizer steps, tokens of text, or seconds of wall-clock time. ``[CLS]`` and ``[SEP]`` around a row and padding are
not text, so that runs with rows of different lengths and the same budget read as much text; separators inside a row
count."""

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
        """Share of the budget that is used; 1 when it is spent.

        >>> Budget("steps", 8).used(steps=2, tokens=0, seconds=0)
        0.25
        """
        done = {"steps": steps, "tokens": tokens, "time": seconds}[self.kind]
        return min(1.0, done / self.amount) if self.amount else 1.0

    def progress(self, *, steps: int, tokens: int, seconds: float, step_tokens: int) -> float:
        """Share used in the middle of the next step, so that no step has a learning rate of 0.

        Args:
            steps: Steps so far.
            tokens: Tokens of text so far.
            seconds: Seconds so far.
            step_tokens: Tokens of text of a step.
        """
        if self.kind == "steps":
            return min(1.0, (steps + 0.5) / self.amount) if self.amount else 1.0
        return self.used(steps=steps, tokens=tokens + step_tokens // 2, seconds=seconds)

    def steps(self, step_tokens: int) -> int | None:
        """Number of steps; None for a budget of time."""
        if self.kind == "time":
            return None
        return int(self.amount) if self.kind == "steps" else math.ceil(self.amount / step_tokens)


def parse_budget(text: str) -> Budget:
    """Parse a budget.

    >>> [parse_budget(text).amount for text in ("90s", "1.5h", "2_000 steps", "2ksteps", "1.5B tokens")]
    [90.0, 5400.0, 2000, 2000, 1500000000]

    Raises:
        ConfigError: It is not a number with a unit, or not a whole number of steps.
    """
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{shown(text)} is not a budget", _REMEDY, "malformed-option")
    digits, factor, unit = match.groups()
    number = float(digits.replace("_", "").replace(",", "")) * _FACTORS[factor]
    if not math.isfinite(number * max(_SECONDS.values())):
        raise ConfigError(f"{shown(text)} is too large a budget", _REMEDY, "invalid-value")
    if unit in _COUNTS:
        if number != int(number):
            raise ConfigError(f"{shown(text)} is not a whole number of {_COUNTS[unit]}", _REMEDY, "malformed-option")
        return Budget(_COUNTS[unit], int(number))
    if unit in _SECONDS and not factor:
        return Budget("time", number * _SECONDS[unit])
    raise ConfigError(f"{shown(text)}: no unit {shown(factor + unit)}", _REMEDY, "malformed-option")


def parse_duration(text: str, option: str) -> float:
    """Parse a duration such as 90s, 9m or 2h into seconds.

    Raises:
        ConfigError: It is not a time.
    """
    with suppress(ConfigError):
        time = parse_budget(text)
        if time.kind == "time":
            return time.amount
    raise ConfigError(f"{option} {text}: not a time", "write 90s, 9m or 2h", "malformed-option")


ScheduleKind = Literal["inverse-sqrt", "trapezoid", "linear"]
"""inverse-sqrt: decays with 1/√step. trapezoid: constant, then linear decay. linear: linear decay."""

Steps = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class ScheduleConfig(Config):
    """Settings of the learning rate schedule."""

    kind: ScheduleKind = "inverse-sqrt"
    """shape after the warm-up: inverse-sqrt, trapezoid or linear"""
    warmup: Steps | Share = 0.1
    """linear warm-up from 0: a whole number of steps, or a share of the budget (0.1)"""
    cooldown: float = Field(0.2, ge=0, le=1, validate_default=True)
    """trapezoid: the last share of the budget, in which the learning rate decays linearly"""
    floor: float = Field(0.0, ge=0, le=1)
    """trapezoid and linear: the learning rate at the end, as a share of the peak"""

    @field_validator("cooldown")
    @classmethod
    def _fits(cls, cooldown: float, info: ValidationInfo) -> float:
        warmup = info.data.get("warmup")
        if info.data.get("kind") == "trapezoid" and isinstance(warmup, float) and warmup + cooldown > 1:
            raise ValueError(f"and warmup = {warmup} exceed the whole budget")
        return cooldown


def rate_factor(config: ScheduleConfig, step: int, progress: float) -> float:
    """Factor on the peak learning rate.

    Args:
        config: The schedule.
        step: The step to be taken, from 1.
        progress: Share of the budget that is used.

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
    # The share of the budget of a warm-up in steps follows from the progress.
    warmup = progress / risen if config.warmup else 0.0
    length = min(config.cooldown, 1 - warmup) if config.kind == "trapezoid" else 1 - warmup
    left = min(1.0, (1 - progress) / length) if length else 1.0
    return config.floor + (1 - config.floor) * left


def _risen(warmup: float, step: int, progress: float) -> float:
    """Steps or progress in units of the warm-up; below 1 the learning rate still rises."""
    if not warmup:
        return 1.0
    return step / warmup if isinstance(warmup, int) else progress / warmup
