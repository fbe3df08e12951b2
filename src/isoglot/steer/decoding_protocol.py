"""Protocol of token translation: choices that Liu et al. (2020) leave open, with their likely values.

The paper translates XNLI's test set. Its French example has one token more than its input, so premise and
hypothesis were probably fed together and the separator between them was decoded as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from isoglot.core.errors import ConfigError, shown
from isoglot.steer.bleu import BleuTokens

Reads = Literal["sentences", "pairs"]
"""``sentences``: a row is one sentence; ``pairs``: two, with ``[SEP]`` between them, from lines with a tab."""
Special = Literal["exclude", "include"]
"""Whether ``[CLS]`` and ``[SEP]`` are counted in means, or decoded and predicted."""
Preset = Literal["default", "paper"]
"""``paper``: what Liu et al. 2020 probably did."""


@dataclass(frozen=True, kw_only=True)
class TranslationProtocol:
    """How token translation is run and scored.

    Args:
        reads: Whether a row is a sentence or a pair. Both texts of a pair have the segment embedding of the first.
        special: Whether special positions are decoded and special tokens may be predicted. Positions where one is
            predicted are empty in the output and not scored.
        bleu_tokens: Tokens that BLEU-1 counts.

    Raises:
        ConfigError: An option does not exist.
    """

    reads: Reads = "sentences"
    special: Special = "exclude"
    bleu_tokens: BleuTokens = "standard"

    def __post_init__(self) -> None:
        for name, choices in (("reads", Reads), ("special", Special), ("bleu_tokens", BleuTokens)):
            value = getattr(self, name)
            if value not in get_args(choices):
                raise ConfigError(
                    f"no {name} {shown(value)}",
                    remedy=f"choose one of {', '.join(get_args(choices))}",
                    code="config.unknown-name",
                )


PROTOCOLS: dict[Preset, TranslationProtocol] = {
    "default": TranslationProtocol(),
    # By whitespace: with punctuation or subwords, unchanged English scores higher in German than the paper's best.
    "paper": TranslationProtocol(reads="pairs", special="include", bleu_tokens="whitespace"),
}
MEANS_SPECIAL: dict[Preset, Special] = {"default": "exclude", "paper": "include"}
"""Whether special tokens are counted in means."""


def protocol_of(
    preset: Preset, *, reads: Reads | None = None, special: Special | None = None, bleu_tokens: BleuTokens | None = None
) -> TranslationProtocol:
    """A preset with some options replaced."""
    base = PROTOCOLS[preset]
    return TranslationProtocol(
        reads=reads or base.reads, special=special or base.special, bleu_tokens=bleu_tokens or base.bleu_tokens
    )


def two_columns(line: str) -> list[str] | None:
    r"""The two texts of a line; further columns, such as XNLI's label, are ignored.

    >>> two_columns("A man sleeps.\tHe is awake.\tcontradiction"), two_columns("A man sleeps.")
    (['A man sleeps.', 'He is awake.'], None)
    """
    found = line.split("\t")[:2]
    return found if len(found) == 2 and all(part.strip() for part in found) else None
