"""Architecture of an encoder, and its sharing plan: which parts its languages share, and which are private to each.

>>> config = encoder_config("paper", "base", vocabulary_size=80_000, languages=("en", "fr"), plan="sep-l1-3")
>>> config.layers, config.heads, config.hidden_size, config.intermediate_size
(8, 12, 768, 3072)

The parts of a plan are the token embeddings (``emb``), the position embeddings (``pos``), each layer (from 1), the
transform before the softmax (``transform``) and the softmax (``softmax``). Parts that are not named are shared. A plan
is written by its name in Wu et al. (2020), where ``emb`` means embeddings, positions and softmax together, or in the
free form, where every part is named on its own:

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
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from isoglot.core.config import Config, build_config
from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.core.language_codes import language_code

# --- sharing plan ---


PLAN_PARTS = ("emb", "pos", "transform", "softmax")  # the parts besides the layers
SEPARATE_EMBEDDINGS = frozenset({"emb", "pos", "softmax"})  # the private parts of the first paper's "Sep Emb"
PLAN_NAMES = ("default", "sep-emb", "sep-l1-3", "sep-l1-6", "sep-emb+l1-3", "sep-emb+l1-6")
"""The arms of the first paper; ``sep-l2-4`` and the like are valid too."""

_LAYERS = re.compile(r"l?(\d+)(?:-(\d+))?")
_REMEDY = f"write a name ({', '.join(PLAN_NAMES)}) or parts with commas, such as emb,pos,1-3,softmax"


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
                    problem = f"plan {shown(text)}: no layers {item}"
                    raise ConfigError(problem, f"layers count {there}", "malformed-option")
                layers.update(range(first, last + 1))
            elif named and item == "emb":
                private |= SEPARATE_EMBEDDINGS
            elif item in PLAN_PARTS and not named:
                private.add(item)
            else:
                near = nearest_name(written, PLAN_NAMES) if named else nearest_name(item, PLAN_PARTS)
                problem = f"plan {shown(text)}: unknown part {shown(item)}; {near}"
                raise ConfigError(problem, _REMEDY, "malformed-option")
        return cls(frozenset(private), frozenset(layers))

    @property
    def text(self) -> str:
        """The plan in the free form, parts in the order of the forward pass; ``default`` if all is shared."""
        layers = _ranges(sorted(self.private_layers))
        before, after = PLAN_PARTS[:2], PLAN_PARTS[2:]
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


# --- architecture ---


Preset = Literal["paper", "modern"]
"""``paper`` is BERT as in the papers, ``modern`` is ModernBERT with global attention in every layer."""
Size = Literal["nano", "micro", "mini", "small", "base", "base12"]
"""``base`` is the first paper's, ``base12`` the second's."""


class EncoderConfig(Config):
    """Architecture of an encoder and what its languages share.

    >>> from isoglot.model import Encoder, encoder_config
    >>> config = encoder_config("modern", "nano", vocabulary_size=50, languages=("en", "fr"))
    >>> Encoder(config).depth == config.layers
    True
    """

    layers: int = Field(ge=1)
    """number of layers"""
    heads: int = Field(ge=1)
    """attention heads in each layer"""
    hidden_size: int = Field(ge=2)
    """dimensions of the hidden states"""
    intermediate_size: int = Field(ge=1)
    """dimensions inside a layer's feed-forward block"""
    max_length: int = Field(256, ge=3)
    """maximum number of input tokens, special tokens included"""
    vocabulary_size: int = Field(ge=1)
    """subwords in the vocabulary"""
    languages: tuple[str, ...] = ()
    """the languages it is for; empty: any, which only plan default allows"""
    plan: str = "default"
    """the sharing plan: which parts are private to each language"""
    language_embeddings: Literal["none", "added"] = "none"
    """whether a language embedding is added to every token"""
    norm: Literal["post", "pre"] = "post"
    """post-norm (BERT) or pre-norm"""
    positions: Literal["learned", "rotary"] = "learned"
    """learned position embeddings, or rotary ones"""
    mlp: Literal["gelu", "geglu"] = "gelu"
    """feed-forward block: GELU between two matrices, or GeGLU with three"""
    bias: Literal["all", "none"] = "all"
    """whether matrices and norms have biases; the softmax always has one"""
    softmax: Literal["tied", "untied", "none"] = "tied"
    """whether the softmax is tied to the token embeddings, has its own matrix, or does not exist"""
    head_transform: Literal["bert", "none"] = "bert"
    """before the softmax: dense layer, GELU and norm (BERT), or nothing (XLM)"""
    dropout: float = Field(0.0, ge=0, lt=1)
    """dropout probability"""
    norm_eps: float = Field(1e-5, gt=0)
    """epsilon of the norms"""
    rotary_base: float = Field(160_000.0, gt=0)
    """base (theta) of rotary positions in global layers"""
    local_rotary_base: float = Field(10_000.0, gt=0)
    """base (theta) of rotary positions in local layers"""
    local_window: int = Field(0, ge=0)
    """window of local attention in tokens; 0: all layers are global"""
    global_every: int = Field(1, ge=1)
    """with local attention: every how many layers one is global, from the first"""
    pad_id: int = Field(0, ge=0)
    """padding id"""
    unk_id: int = Field(1, ge=0)
    """id that replaces subwords a language does not have"""
    separator_id: int | None = Field(None, ge=0)
    """id that ends the first of two texts, if the second has a segment embedding (BERT); None: no segments"""

    @field_validator("languages")
    @classmethod
    def _canonical(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        codes = tuple(language_code(code) for code in languages)
        if len(set(codes)) != len(codes):
            raise ValueError("has a language twice")
        return codes

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of {self.heads} heads")
        if self.positions == "rotary" and self.hidden_size // self.heads % 2:
            raise ValueError(f"rotary positions need heads of an even size, not {self.hidden_size // self.heads}")
        if self.is_separate and not self.languages:
            raise ValueError("private parts need the names of the languages in 'languages'")
        if max(self.pad_id, self.unk_id, self.separator_id or 0) >= self.vocabulary_size:
            raise ValueError(f"pad_id, unk_id or separator_id lies outside a vocabulary of {self.vocabulary_size}")
        return self

    @property
    def sharing(self) -> SharingPlan:
        """The parsed sharing plan."""
        return SharingPlan.parse(self.plan, self.layers)

    @property
    def is_separate(self) -> bool:
        """Whether each language has weights of its own: private parts or a language embedding."""
        return is_separate(self.sharing, self.language_embeddings)

    def is_local(self, layer: int) -> bool:
        """Whether a layer (from 0) has local attention."""
        return self.local_window > 0 and layer % self.global_every != 0


def is_separate(sharing: SharingPlan, language_embeddings: str) -> bool:
    """Whether each language has weights of its own: private parts or a language embedding."""
    return not sharing.is_default or language_embeddings == "added"


PRESETS: dict[Preset, dict[str, Any]] = {
    "paper": {"norm": "post", "positions": "learned", "mlp": "gelu", "bias": "all", "dropout": 0.1, "norm_eps": 1e-12},
    "modern": {"norm": "pre", "positions": "rotary", "mlp": "geglu", "bias": "none", "dropout": 0.0, "norm_eps": 1e-5},
}

# GeGLU has three matrices where GELU has two: two thirds of the intermediate size has as many weights.
SIZES: dict[Size, dict[str, int]] = {
    "nano": {"layers": 2, "heads": 2, "hidden_size": 32, "intermediate_size": 96, "max_length": 64},
    "micro": {"layers": 2, "heads": 2, "hidden_size": 64, "intermediate_size": 192, "max_length": 64},
    "mini": {"layers": 8, "heads": 6, "hidden_size": 384, "intermediate_size": 1536, "max_length": 256},
    "small": {"layers": 8, "heads": 8, "hidden_size": 512, "intermediate_size": 2048, "max_length": 256},
    "base": {"layers": 8, "heads": 12, "hidden_size": 768, "intermediate_size": 3072, "max_length": 256},
    "base12": {"layers": 12, "heads": 12, "hidden_size": 768, "intermediate_size": 3072, "max_length": 512},
}


def encoder_config(
    preset: Preset = "paper",
    size: Size = "micro",
    *,
    vocabulary_size: int,
    languages: tuple[str, ...] = (),
    plan: str = "default",
    **changes: Any,  # noqa: ANN401 - any field of the config
) -> EncoderConfig:
    """Build the config of a preset and a size, with any field changed.

    Args:
        preset: ``paper`` or ``modern``.
        size: Layers, hidden size and heads.
        vocabulary_size: Number of token ids.
        languages: Languages of the encoder.
        plan: What each language has to itself (:class:`SharingPlan`).
        changes: Any field of the config.

    Returns:
        The validated config.

    >>> config = encoder_config("paper", "nano", vocabulary_size=50, languages=("en", "fr"))
    >>> config.layers, config.hidden_size
    (2, 32)

    Raises:
        ConfigError: A value is invalid.
    """
    shape = dict(SIZES[size])
    if preset == "modern":
        shape["intermediate_size"] = shape["intermediate_size"] * 2 // 3
    values = {**PRESETS[preset], **shape, **changes}
    values |= {"vocabulary_size": vocabulary_size, "languages": languages, "plan": plan}
    return build_config(EncoderConfig, values=values)
