"""Settings of a check-up."""

from __future__ import annotations

from pydantic import Field

from isoglot.core.config import Config


class DiagnoseConfig(Config):
    """Settings of a check-up."""

    folds: int = Field(5, ge=2, le=50)
    """Cross-validation folds for means, CSLS neighborhoods, maps and probes."""
    resamples: int = Field(1000, ge=10, le=100_000)
    """Bootstrap samples for the confidence intervals of retrieval and probes."""
    draws: int = Field(200, ge=20, le=10_000)
    """Permutations for the null distribution of CKA, and draws for its interval."""
    cka_sentences: int = Field(2000, ge=10, le=10_000)
    """Maximum number of sentences for CKA."""
    pivot: str | None = None
    """Only pairs with this language. Default: every pair."""
    seed: int = Field(0, ge=0)
    """Random seed of folds, resamples and permutations."""
