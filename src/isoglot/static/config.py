"""What the three kinds of static vectors are learned with; defaults are the papers'."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from isoglot.core.config import Config

Boundary = Literal["document", "sentence"]
"""What a window does not reach across."""


class StaticConfig(Config):
    """What all three have."""

    dimensions: int = Field(768, ge=1, le=100_000)
    """numbers in a vector; 768 is BERT's hidden size"""
    window: int = Field(10, ge=1, le=255)
    """subwords on each side that count as near"""
    boundary: Boundary = "document"
    """what a window does not reach across"""
    min_count: int = Field(5, ge=1)
    """how often a subword must occur to have a vector; others are passed over"""
    epochs: int = Field(5, ge=1)
    """how often the data is gone through"""
    checkpoint_every: int = Field(1, ge=1)
    """epochs between two checkpoints"""
    seed: int = Field(0, ge=0)
    """same seed, same numbers"""


class GloveConfig(StaticConfig):
    """GloVe (Pennington et al. 2014)."""

    epochs: int = Field(50, ge=1)
    """how often the co-occurrences are gone through; the paper: 50 below 300 dimensions, 100 from there on"""
    checkpoint_every: int = Field(5, ge=1)
    """epochs between two checkpoints"""
    weighting: Literal["distance", "flat"] = "distance"
    """a neighbor counts one over its distance, or one"""
    learning_rate: float = Field(0.05, gt=0)
    """the learning rate of AdaGrad"""
    x_max: float = Field(100.0, gt=0)
    """the co-occurrence from which on all weigh the same"""
    alpha: float = Field(0.75, ge=0, le=1)
    """below it they weigh (x / x_max) to this power"""
    gradient_clip: float = Field(100.0, gt=0)
    """what a number of a gradient is at most"""
    vectors: Literal["sum", "words"] = "sum"
    """a vector is the sum of a subword's two, as word and as context, or the first alone"""
    chunk_size: int = Field(2**24, ge=1)
    """subwords that are counted together, at most, at about 10 bytes each"""


class Word2VecConfig(StaticConfig):
    """Word2Vec (Mikolov et al. 2013) with negative sampling."""

    window: int = Field(5, ge=1, le=255)
    """subwords on each side that count as near, at most"""
    objective: Literal["skip-gram", "cbow"] = "skip-gram"
    """a word tells its neighbors, or they tell it"""
    negative: int = Field(5, ge=1)
    """words drawn at random for each that is there"""
    sample: float = Field(1e-3, ge=0)
    """the share from which on words are passed over at times; 0: never"""
    learning_rate: float = Field(0.025, gt=0)
    """the learning rate at the beginning"""
    learning_rate_end: float = Field(0.0001, gt=0)
    """and at the end"""


class FastTextConfig(Word2VecConfig):
    """fastText (Bojanowski et al. 2017): Word2Vec in which a word is the sum of its runs of characters."""

    min_ngram: int = Field(3, ge=1)
    """characters in an n-gram, at least"""
    max_ngram: int = Field(6, ge=1)
    """and at most; not below the least"""
    buckets: int = Field(200_000, ge=1)
    """vectors that the runs share; the program's 2,000,000 are for whole words, and take 6 GB at 768 dimensions"""

    @model_validator(mode="after")
    def _some_length(self) -> Self:
        if self.max_ngram < self.min_ngram:
            raise ValueError(f"there are no n-grams of {self.min_ngram} to {self.max_ngram} characters")
        return self


def lower_rate(config: GloveConfig | Word2VecConfig) -> float:
    """The rate to try where one was too high: a fifth, and never above the default."""
    return float(min(config.learning_rate / 5, type(config).model_fields["learning_rate"].default))
