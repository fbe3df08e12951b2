"""Protocol of token translation: choices that Liu et al. (2020) leave open, with their likely values.

The paper translates XNLI's test set. Its French example has one token more than its input, so premise and
hypothesis were probably fed together and the separator between them was decoded as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from isoglot.core.errors import check_name
from isoglot.steer.bleu import BleuTokens
from isoglot.steer.shifts import DEFAULT_SHIFT, ShiftOptions

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

    >>> TranslationProtocol(bleu_tokens="words").reads
    'sentences'

    Raises:
        ConfigError: An option does not exist.
    """

    reads: Reads = "sentences"
    special: Special = "exclude"
    bleu_tokens: BleuTokens = "standard"

    def __post_init__(self) -> None:
        for name, choices in (("reads", Reads), ("special", Special), ("bleu_tokens", BleuTokens)):
            check_name(name, getattr(self, name), get_args(choices))


PROTOCOLS: dict[Preset, TranslationProtocol] = {
    "default": TranslationProtocol(),
    # By whitespace: with punctuation or subwords, unchanged English scores higher in German than the paper's best.
    "paper": TranslationProtocol(reads="pairs", special="include", bleu_tokens="whitespace"),
}
MEANS_SPECIAL: dict[Preset, Special] = {"default": "exclude", "paper": "include"}
"""Whether special tokens are counted in means."""


@dataclass(frozen=True, kw_only=True)
class TranslationOptions:
    """Options of token translation.

    Args:
        shift: Kind of shift and positions.
        protocol: Input, decoded positions, and the tokens that BLEU-1 counts.
        length: Maximum number of tokens of a sentence, special tokens included. Default: the encoder's, at most 512.
        batch_tokens: Tokens per batch. Default: depends on the device. Affects only rounding.

    >>> from isoglot.steer import ShiftOptions
    >>> TranslationOptions(shift=ShiftOptions(kind="transport")).shift.kind
    'transport'
    """

    shift: ShiftOptions = DEFAULT_SHIFT
    protocol: TranslationProtocol = PROTOCOLS["default"]
    length: int | None = None
    batch_tokens: int | None = None


DEFAULT_TRANSLATION = TranslationOptions()


def protocol_of(preset: Preset, **changes: str | None) -> TranslationProtocol:
    """A preset with the fields that are not None replaced."""
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    return replace(PROTOCOLS[preset], **given)


def two_columns(line: str) -> list[str] | None:
    r"""The two texts of a line; further columns, such as XNLI's label, are ignored.

    >>> two_columns("A man sleeps.\tHe is awake.\tcontradiction"), two_columns("A man sleeps.")
    (['A man sleeps.', 'He is awake.'], None)
    """
    found = line.split("\t")[:2]
    return found if len(found) == 2 and all(part.strip() for part in found) else None
