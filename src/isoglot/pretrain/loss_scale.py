"""Dynamic loss scaling for float16: small gradients are kept from vanishing, and steps that overflow are skipped.

The loss is multiplied by the scale before the backward pass and gradients are divided by it after. Where one of them is
not finite, the step does not move the weights and the scale is halved; after many good steps in a row it is doubled.
bfloat16 has the range of float32 and needs none of this.

>>> scale = LossScale(value=4.0, interval=2)
>>> [scale.keep(length) for length in (1.0, float("inf"), 1.0, 1.0)], scale.value, scale.skipped
([True, False, True, True], 4.0, 1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SMALLEST = 2.0**-14
"""A gradient that overflows at this scale is not float16's fault: then the run stops."""
LARGEST = 2.0**24


@dataclass
class LossScale:
    """What the loss is multiplied by, and what it depends on; all of it is in a checkpoint."""

    value: float = 2.0**16
    good: int = 0
    """Steps since the last that overflowed, or since the scale was doubled."""
    skipped: int = 0
    """Steps that overflowed, in the whole run."""
    interval: int = 2000
    """Good steps before the scale is doubled."""

    def keep(self, length: float) -> bool:
        """Whether a step with a gradient of this length is taken; the scale is changed for the next one."""
        if not math.isfinite(length):
            self.value, self.good = max(SMALLEST, self.value / 2), 0
            self.skipped += 1
            return False
        self.good += 1
        if self.good == self.interval:
            self.value, self.good = min(LARGEST, 2 * self.value), 0
        return True
