"""Settings of Word2Vec, GloVe and fastText; defaults are the papers'."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from isoglot.core.config import Config

Boundary = Literal["document", "sentence"]
"""Whether context windows end at documents or at sentences."""


class StaticConfig(Config):
    """Settings of all methods."""

    dimensions: int = Field(768, ge=1, le=100_000)
    """dimensions of the vectors; 768 is BERT's hidden size"""
    window: int = Field(10, ge=1, le=255)
    """context window in subwords on each side"""
    boundary: Boundary = "document"
    """whether windows end at documents or at sentences"""
    min_count: int = Field(5, ge=1)
    """minimum count of a subword; rarer ones are removed from the text"""
    epochs: int = Field(5, ge=1)
    """number of epochs"""
    checkpoint_every: int = Field(1, ge=1)
    """epochs between two checkpoints"""
    seed: int = Field(0, ge=0)
    """random seed"""


class GloveConfig(StaticConfig):
    """GloVe (Pennington et al. 2014).

    >>> GloveConfig(dimensions=100, epochs=25).window
    10
    """

    epochs: int = Field(50, ge=1)
    """number of epochs; the paper: 50 below 300 dimensions, 100 from there on"""
    checkpoint_every: int = Field(5, ge=1)
    """epochs between two checkpoints"""
    weighting: Literal["distance", "flat"] = "distance"
    """whether a neighbor counts 1 / distance, or 1"""
    learning_rate: float = Field(0.05, gt=0)
    """the learning rate of AdaGrad"""
    x_max: float = Field(100.0, gt=0)
    """co-occurrence count from which on pairs have weight 1"""
    alpha: float = Field(0.75, ge=0, le=1)
    """exponent of the weight (x / x_max) below it"""
    gradient_clip: float = Field(100.0, gt=0)
    """maximum of each gradient component"""
    vectors: Literal["sum", "words"] = "sum"
    """sum of a subword's word and context vectors, or the word vector alone"""
    chunk_size: int = Field(2**24, ge=1)
    """subwords that are counted at a time, at about 10 bytes each"""


class Word2VecConfig(StaticConfig):
    """Word2Vec (Mikolov et al. 2013) with negative sampling.

    >>> Word2VecConfig(objective="cbow").window
    5
    """

    window: int = Field(5, ge=1, le=255)
    """maximum context window in subwords on each side"""
    objective: Literal["skip-gram", "cbow"] = "skip-gram"
    """predict the neighbors from a word (skip-gram), or the word from its neighbors (cbow)"""
    negative: int = Field(5, ge=1)
    """negative samples per positive one"""
    sample: float = Field(1e-3, ge=0)
    """threshold for subsampling frequent words; 0: none"""
    learning_rate: float = Field(0.025, gt=0)
    """learning rate at the beginning"""
    learning_rate_end: float = Field(0.0001, gt=0)
    """learning rate at the end"""


class FastTextConfig(Word2VecConfig):
    """fastText (Bojanowski et al. 2017): Word2Vec in which a word is the sum of its character n-grams.

    >>> FastTextConfig(min_ngram=2).max_ngram
    6
    """

    min_ngram: int = Field(3, ge=1)
    """minimum length of character n-grams"""
    max_ngram: int = Field(6, ge=1)
    """maximum length of character n-grams"""
    buckets: int = Field(200_000, ge=1)
    """hash buckets of n-grams; fastText's default of 2,000,000 is for whole words, and takes 6 GB at 768 dimensions"""

    @model_validator(mode="after")
    def _some_length(self) -> Self:
        if self.max_ngram < self.min_ngram:
            raise ValueError(f"max_ngram {self.max_ngram} is below min_ngram {self.min_ngram}")
        return self


def lower_rate(config: GloveConfig | Word2VecConfig) -> float:
    """Learning rate to try where one was too high: a fifth of it, at most the default."""
    return float(min(config.learning_rate / 5, type(config).model_fields["learning_rate"].default))
