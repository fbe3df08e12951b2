"""Requests of the explorer's page, with bounds on everything that costs time or memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST_TEXT = 500
"""Characters of a sentence that is typed."""
MOST_SENTENCES = 300
"""Built-in sentences of each language in a view."""
MOST_OWN = 20
"""Sentences of the user's own in the view of the space."""

Language = Annotated[str, Field(min_length=2, max_length=35, pattern=r"^[A-Za-z0-9-]+$")]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
ModelNumber = Annotated[int, Field(ge=0, lt=64)]
Layer = Annotated[int, Field(ge=0, lt=1000)]
Method = Literal["mean", "norm-matched", "transport", "mean-removal", "leace", "lsar", "inlp"]
"""Kinds of shift, then erasers, which take the language out and add none."""
Space = Literal["raw", "centered", "mapped"]
"""Vectors as they are, without the mean of their language, or rotated to the first language by Procrustes."""
Projection = Literal["pca", "umap"]


class Request(BaseModel):
    """A request for a view; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: ModelNumber = 0


class Target(BaseModel):
    """A language to shift to, and how far."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Language
    alpha: float = Field(1.0, ge=-10, le=10, allow_inf_nan=False)


class TurnRequest(Request):
    """Shift the hidden states of a sentence and decode every position."""

    text: Text
    source: Language
    targets: tuple[Target, ...] = Field((), max_length=2)
    layer: Layer | None = None
    method: Method = "mean"


class LensRequest(Request):
    """Decode every layer of a sentence."""

    text: Text
    source: Language


class OwnSentence(BaseModel):
    """A sentence that the user added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Language
    text: Text


class SpaceRequest(Request):
    """Project parallel sentences of several languages, in every layer."""

    languages: tuple[Language, ...] = Field((), max_length=12)
    sentences: int = Field(100, ge=10, le=MOST_SENTENCES)
    space: Space = "raw"
    projection: Projection = "pca"
    own: tuple[OwnSentence, ...] = Field((), max_length=MOST_OWN)


class CompareRequest(Request):
    """Compare the layers of two models, or of two languages in one, by CKA."""

    other: ModelNumber = 0
    language: Language | None = None
    other_language: Language | None = None
    sentences: int = Field(100, ge=20, le=MOST_SENTENCES)


class CellRequest(CompareRequest):
    """Look at the sentences behind one cell of a comparison."""

    layer: Layer
    other_layer: Layer
