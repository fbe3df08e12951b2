"""Random seeds: one from the user, and an independent random number generator for every purpose.

A generator is named by its purpose, so that adding one never changes another:

>>> int(random_stream(7, "masking").integers(1000)) == int(random_stream(7, "masking").integers(1000))
True
>>> derive_seed(7, "masking") == derive_seed(7, "sampling")
False
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

LARGEST_SEED = 2**63 - 1


def derive_seed(seed: int, *names: str | int) -> int:
    """Derive a seed below 2**63 for a purpose: the same on every machine, independent of other purposes."""
    key = repr((seed, *names)).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") >> 1


def random_stream(seed: int, *names: str | int) -> np.random.Generator:
    """NumPy random number generator for a purpose."""
    import numpy as np

    return np.random.default_rng(derive_seed(seed, *names))
