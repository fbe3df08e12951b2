"""A claim of a paper, as a declaration: its sentence, its test, and the function that computes its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.study.claims.evidence import Alias, Evidence
    from isoglot.study.claims.statistics import Part

    Parts = Callable[[Evidence], list[Part]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper.

    Attributes:
        name: W1 to W17, L1 to L9.
        sentence: What the paper claims.
        test: What is tested.
        reads: The cells that it reads, such as ``nli(arm, language)``.
        parts: Computes the parts from the evidence.
        printed: Whether the paper prints the numbers; otherwise it states the claim without them.
        beside: The same test with other numbers in place of some, by label. Shown beside the verdict; never changes it.
    """

    name: str
    sentence: str
    test: str
    reads: frozenset[str]
    parts: Parts
    printed: bool
    beside: Mapping[str, Sequence[Alias]]


def declare(
    claims: dict[str, Claim],
    name: str,
    sentence: str,
    *,
    test: str,
    reads: str,
    printed: bool = True,
    beside: Mapping[str, Sequence[Alias]] | None = None,
) -> Callable[[Parts], Parts]:
    """Decorator that adds a function as a claim to the claims of a paper.

    Args:
        claims: The claims of the paper.
        name: Name of the claim.
        sentence: What the paper claims.
        test: What is tested.
        reads: Cells that it reads, separated by semicolons.
        printed: Whether the paper prints the numbers.
        beside: Other numbers to test it with, by label.
    """

    def add(parts: Parts) -> Parts:
        cells = frozenset(cell.strip() for cell in reads.split(";"))
        claims[name] = Claim(
            name=name, sentence=sentence, test=test, reads=cells, parts=parts, printed=printed, beside=beside or {}
        )
        return parts

    return add
