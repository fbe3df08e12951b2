"""Figure 7 of Wu et al. (2020) as printed: CKA of mean-pooled parallel sentences in layers 0 to 8."""

from __future__ import annotations

from typing import Literal

from isoglot.compare.sentences import TWIN_TAGS

Row = Literal["bilingual", "monolingual", "random"]
ROWS: dict[Row, str] = {
    "bilingual": "One model, trained on both languages, reads both sides.",
    "monolingual": "Each side is read by a model that was trained on its language alone.",
    "random": "The first side is read by its monolingual model, the other by an encoder that has learned nothing.",
}
"""The rows of the figure, with a line of meaning each."""

PAPER: dict[str, dict[Row, tuple[float, ...]]] = {
    "en-en'": {
        "bilingual": (0.76, 0.75, 0.74, 0.75, 0.73, 0.69, 0.64, 0.48, 0.55),
        "monolingual": (0.75, 0.77, 0.74, 0.71, 0.66, 0.58, 0.48, 0.24, 0.40),
        "random": (0.52, 0.60, 0.58, 0.58, 0.60, 0.52, 0.44, 0.32, 0.30),
    },
    "en-fr": {
        "bilingual": (0.61, 0.74, 0.71, 0.73, 0.73, 0.72, 0.71, 0.67, 0.62),
        "monolingual": (0.65, 0.71, 0.70, 0.70, 0.64, 0.59, 0.50, 0.34, 0.40),
        "random": (0.46, 0.55, 0.52, 0.53, 0.55, 0.48, 0.41, 0.31, 0.28),
    },
    "en-de": {
        "bilingual": (0.66, 0.76, 0.72, 0.73, 0.73, 0.74, 0.70, 0.60, 0.64),
        "monolingual": (0.64, 0.70, 0.69, 0.69, 0.63, 0.60, 0.52, 0.39, 0.43),
        "random": (0.46, 0.54, 0.52, 0.54, 0.56, 0.49, 0.42, 0.31, 0.28),
    },
    "en-ru": {
        "bilingual": (0.56, 0.67, 0.64, 0.65, 0.65, 0.64, 0.63, 0.60, 0.50),
        "monolingual": (0.56, 0.65, 0.63, 0.64, 0.61, 0.56, 0.50, 0.34, 0.39),
        "random": (0.42, 0.50, 0.47, 0.48, 0.50, 0.44, 0.37, 0.29, 0.26),
    },
    "en-zh": {
        "bilingual": (0.56, 0.65, 0.61, 0.59, 0.58, 0.59, 0.57, 0.50, 0.51),
        "monolingual": (0.60, 0.67, 0.65, 0.64, 0.60, 0.56, 0.51, 0.37, 0.40),
        "random": (0.44, 0.51, 0.49, 0.50, 0.52, 0.46, 0.39, 0.30, 0.27),
    },
}
"""By pair and row, a value a layer."""


AVERAGES: dict[str, dict[Row, float]] = {
    "en-en'": {"bilingual": 0.68, "monolingual": 0.59, "random": 0.50},
    "en-fr": {"bilingual": 0.69, "monolingual": 0.58, "random": 0.46},
    "en-de": {"bilingual": 0.70, "monolingual": 0.59, "random": 0.46},
    "en-ru": {"bilingual": 0.62, "monolingual": 0.54, "random": 0.41},
    "en-zh": {"bilingual": 0.57, "monolingual": 0.56, "random": 0.43},
}
"""The figure's last row, which was not rounded from the rounded values above it."""


def paper_average(pair: str, row: Row) -> float | None:
    """The mean over layers as the paper prints it; None for a pair it does not have.

    >>> paper_average("en-fr", "bilingual"), paper_average("en-sw", "bilingual")
    (0.69, None)
    """
    return AVERAGES.get(pair, {}).get(row)


def paper_pair(languages: tuple[str, str]) -> str:
    """What the paper calls a pair: English twice is ``en-en'``, under whatever private tag but that of a twin.

    >>> paper_pair(("en", "en-x-two")), paper_pair(("en", "fr")), paper_pair(("en", "en-x-shift"))
    ("en-en'", 'en-fr', 'en-en-x-shift')
    """
    one, other = (
        base if not set(tags.split("-")).intersection(TWIN_TAGS) else f"{base}-x-{tags}"
        for base, _, tags in (code.partition("-x-") for code in languages)
    )
    return f"{one}-{other}'" if one == other else f"{one}-{other}"
