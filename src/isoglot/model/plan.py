"""Sharing plan: which parts of an encoder are private to each language, and which are shared.

Parts are the token embeddings (``emb``), the position embeddings (``pos``), each layer (from 1), the transform before
the softmax (``transform``) and the softmax (``softmax``). Parts that are not named are shared.

A plan is written by its name in Wu et al. (2020), where ``emb`` means embeddings, positions and softmax together, or in
the free form, where every part is named on its own:

>>> SharingPlan.parse("sep-emb+l1-3", depth=8).text
'emb,pos,1-3,softmax'
>>> SharingPlan.parse("emb,2,7-8", depth=8).text
'emb,2,7-8'
>>> SharingPlan.parse("emb,pos,softmax,1-3").name
'sep-emb+l1-3'

The norm after the embeddings goes with ``emb``, a norm after the last layer with that layer; so in ``sep-emb+l1-6``
nothing below layer 7 is shared. Rotary positions have no weights, so ``pos`` has no effect there, nor has ``transform``
in an encoder without one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from isoglot.core.errors import ConfigError, nearest_name, shown

PARTS = ("emb", "pos", "transform", "softmax")
"""The parts besides the layers."""
SEPARATE_EMBEDDINGS = frozenset({"emb", "pos", "softmax"})
"""The private parts of the first paper's "Sep Emb"."""
NAMES = ("default", "sep-emb", "sep-l1-3", "sep-l1-6", "sep-emb+l1-3", "sep-emb+l1-6")
"""The arms of the first paper; ``sep-l2-4`` and the like are valid too."""

_LAYERS = re.compile(r"l?(\d+)(?:-(\d+))?")
_REMEDY = f"write a name ({', '.join(NAMES)}) or parts with commas, such as emb,pos,1-3,softmax"


@dataclass(frozen=True)
class SharingPlan:
    """Parts and layers (from 1) that are private to each language.

    >>> sorted(SharingPlan.parse("1-3", depth=8).private_layers)
    [1, 2, 3]
    """

    private: frozenset[str] = frozenset()
    private_layers: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, text: str, depth: int | None = None) -> SharingPlan:
        """Parse a plan.

        Args:
            text: A name, or parts separated by commas.
            depth: Number of layers of the encoder, to check layer numbers; None: any.

        Raises:
            ConfigError: A part or layer does not exist.
        """
        written = text.strip().lower()
        if written in ("default", ""):
            return cls()
        named = written.startswith("sep-")
        private: set[str] = set()
        layers: set[int] = set()
        for item in re.split(r"\s*\+\s*" if named else r"\s*,\s*", written.removeprefix("sep-")):
            match = _LAYERS.fullmatch(item)
            if match:
                first, last = int(match[1]), int(match[2] or match[1])
                top = last if depth is None else depth
                if not 1 <= first <= last <= top:
                    there = "from 1" if depth is None else f"1 to {depth}"
                    raise ConfigError(
                        f"plan {shown(text)}: no layers {item}", f"layers count {there}", "malformed-option"
                    )
                layers.update(range(first, last + 1))
            elif named and item == "emb":
                private |= SEPARATE_EMBEDDINGS
            elif item in PARTS and not named:
                private.add(item)
            else:
                near = nearest_name(written, NAMES) if named else nearest_name(item, PARTS)
                raise ConfigError(
                    f"plan {shown(text)}: unknown part {shown(item)}; {near}", _REMEDY, "malformed-option"
                )
        return cls(frozenset(private), frozenset(layers))

    @property
    def text(self) -> str:
        """The plan in the free form, parts in the order of the forward pass; ``default`` if all is shared."""
        layers = _ranges(sorted(self.private_layers))
        before, after = PARTS[:2], PARTS[2:]
        parts = [part for part in before if part in self.private]
        parts += [f"{first}-{last}" if first != last else str(first) for first, last in layers]
        parts += [part for part in after if part in self.private]
        return ",".join(parts) or "default"

    @property
    def name(self) -> str:
        """The first paper's name if it has one, else the free form."""
        layers = _ranges(sorted(self.private_layers))
        if self.private not in (frozenset(), SEPARATE_EMBEDDINGS) or len(layers) > 1:
            return self.text
        words = (["emb"] if self.private else []) + [f"l{first}-{last}" for first, last in layers]
        return f"sep-{'+'.join(words)}" if words else "default"

    @property
    def is_default(self) -> bool:
        """Whether everything is shared."""
        return not self.private and not self.private_layers

    def is_private(self, part: str) -> bool:
        """Whether a part is private to each language."""
        return part in self.private

    def layer_is_private(self, number: int) -> bool:
        """Whether a layer (from 1) is private to each language."""
        return number in self.private_layers


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    runs = (list(run) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]))
    return [(run[0][1], run[-1][1]) for run in runs]
