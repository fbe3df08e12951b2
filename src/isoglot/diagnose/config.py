"""What a check-up can be told."""

from __future__ import annotations

from pydantic import Field

from isoglot.core.config import Config


class DiagnoseConfig(Config):
    """How thorough a check-up is."""

    folds: int = Field(5, ge=2, le=50)
    """Parts of the sentences; maps and probes are fitted on all but one and tested on that."""
    resamples: int = Field(1000, ge=10, le=100_000)
    """Bootstrap samples of the sentences behind every interval of retrieval and probes."""
    draws: int = Field(200, ge=20, le=10_000)
    """Shuffles behind the null of CKA, and draws behind its interval."""
    cka_sentences: int = Field(2000, ge=10, le=10_000)
    """Sentences that CKA is computed on at most."""
    pivot: str | None = None
    """Only pairs with this language; by default every pair of languages."""
    seed: int = Field(0, ge=0)
    """Decides folds, resamples and shuffles."""
