"""How sure a figure is: the same sentences drawn anew, for every figure at once.

All figures of a check-up are means over the same sentences. So the sentences are drawn once, and every figure is
computed for each draw: intervals of differences between layers, ways and languages are then intervals of paired
differences, in which what makes a sentence hard for both cancels out.

Shape legend: ``S`` samples, the first being the sentences as they are; ``N`` sentences.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.seeds import random_stream


def sample_weights(sentences: int, resamples: int, *, seed: int, name: str = "") -> np.ndarray:
    """How much each sentence counts in each sample (S × N); rows sum to 1, and the first counts all alike."""
    stream = random_stream(seed, "check-up resamples", name)
    drawn_SN = stream.multinomial(sentences, np.full(sentences, 1 / sentences), size=resamples) / sentences
    return np.concatenate([np.full((1, sentences), 1 / sentences), drawn_SN])
