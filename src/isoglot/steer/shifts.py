"""Shifts from one language to another inside an encoder: by the difference of their means, and variants.

    with shift(encoder, means, "en", "de", alpha=2, layers=10):
        ...  # everything that runs the encoder here runs it shifted

``alpha = 0`` installs no edit, so results are bit-identical. A shift and its reverse at the same layer cancel for
``mean`` at any alpha, and for ``transport`` at alpha 1 if covariances have full rank; not for ``norm-matched``.

``transport`` is the optimal-transport map between Gaussians: from N(m, A) to N(n, B) it is x → n + T (x − m) with
T = A^(−1/2) (A^(1/2) B A^(1/2))^(1/2) A^(−1/2) (Peyré and Cuturi 2019, remark 2.31). For alpha between 0 and 1,
(1 − alpha) x + alpha T(x) is McCann's interpolation.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``V`` vocabulary.
"""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch

from isoglot.core.errors import ConfigError, check_name
from isoglot.represent.layer_pass import Layers, chosen_layers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from isoglot.model.protocol import EncoderLike
    from isoglot.steer.means import LanguageMeans

RANK = 1e-10
"""Directions with a variance below this share of the largest are treated as rounding errors."""


def gaussian_transport(source_DD: np.ndarray, target_DD: np.ndarray) -> np.ndarray:
    """The symmetric matrix T with T A T = B, for covariances A and B.

    Directions in which A has no variance are left unchanged; T A T then equals B within the column space of A.

    >>> gaussian_transport(np.diag([4.0, 1.0]), np.diag([1.0, 9.0])).round(6).tolist()
    [[0.5, 0.0], [0.0, 3.0]]
    """
    values_D, vectors_DD = np.linalg.eigh((source_DD + source_DD.T) / 2)
    there_D = values_D > RANK * max(values_D[-1], 0.0)
    roots_R, basis_DR = np.sqrt(values_D[there_D]), vectors_DD[:, there_D]
    # In the eigenbasis of A, restricted to directions with variance, so that no division by zero occurs.
    middle_RR = roots_R[:, None] * (basis_DR.T @ target_DD @ basis_DR) * roots_R
    inner_RR = _root(middle_RR) / roots_R / roots_R[:, None]
    whole_DD: np.ndarray = np.eye(len(source_DD)) + basis_DR @ (inner_RR - np.eye(len(roots_R))) @ basis_DR.T
    symmetric_DD: np.ndarray = (whole_DD + whole_DD.T) / 2
    return symmetric_DD


def _root(matrix_RR: np.ndarray) -> np.ndarray:
    """Square root of a positive semi-definite matrix."""
    values_R, vectors_RR = np.linalg.eigh((matrix_RR + matrix_RR.T) / 2)
    root_RR: np.ndarray = (vectors_RR * np.sqrt(values_R.clip(min=0))) @ vectors_RR.T
    return root_RR


Kind = Literal["mean", "norm-matched", "transport"]
"""``mean``: add alpha times the difference of the means (Liu et al. 2020); ``norm-matched``: the same, then restore the
norm of every token; ``transport``: the Gaussian optimal-transport map, which moves mean and covariance."""
Positions = Literal["all", "tokens"]
"""``all`` positions, as in the paper, or ``tokens`` only, without special tokens and padding."""
OtherEncoder = Literal["refuse", "allow"]
"""Whether to accept means of an encoder with other weights; ``allow`` is meant for fine-tuned encoders."""


@dataclass(frozen=True, eq=False)
class Shift:
    """A shift at one layer, for ``encoder.edited`` or to call on hidden states.

    Args:
        kind: Kind of shift.
        alpha: Length of the shift; 1 moves mean to mean, negative values move away from the target.
        difference_D: The target's mean minus the source's.
        center_D: The source's mean; for ``transport``.
        stretch_DD: Transport matrix minus the identity.
        alphas_V: Alpha of each id, if they differ.

    >>> import torch
    >>> move = Shift("mean", alpha=2, difference_D=torch.tensor([1.0, 0.0]))
    >>> move(torch.zeros(1, 2, 2), torch.tensor([[5, 6]])).tolist()
    [[[2.0, 0.0], [2.0, 0.0]]]
    >>> move.with_alpha(0).nothing
    True
    """

    kind: Kind
    alpha: float
    difference_D: torch.Tensor
    center_D: torch.Tensor | None = None
    stretch_DD: torch.Tensor | None = None
    alphas_V: torch.Tensor | None = None
    _ready: dict[tuple[int, torch.device, torch.dtype], torch.Tensor] = field(default_factory=dict, repr=False)

    @property
    def nothing(self) -> bool:
        """Whether it changes nothing."""
        return self.alpha == 0 if self.alphas_V is None else not bool(self.alphas_V.any())

    def with_alpha(self, alpha: float) -> Shift:
        """The same shift with another alpha, without computing it again.

        Raises:
            ConfigError: Some tokens have their own alpha.
        """
        if self.alphas_V is not None:
            raise ConfigError("some tokens of the shift have their own alpha", "make a new shift", "not-supported")
        return replace(self, alpha=float(alpha))

    def __call__(self, hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
        """Shift hidden states."""
        if self.nothing:
            return hidden_BTD
        if self.alphas_V is None:
            return self._moved(hidden_BTD, self.alpha)
        alphas_BT1 = self._at(self.alphas_V, hidden_BTD)[ids_BT.to(hidden_BTD.device)].unsqueeze(-1)
        return torch.where(alphas_BT1 == 0, hidden_BTD, self._moved(hidden_BTD, alphas_BT1))

    def _moved(self, hidden_BTD: torch.Tensor, alpha: float | torch.Tensor) -> torch.Tensor:
        step_BTD = self._at(self.difference_D, hidden_BTD)
        if self.center_D is not None and self.stretch_DD is not None:
            from_center_BTD = hidden_BTD - self._at(self.center_D, hidden_BTD)
            step_BTD = step_BTD + from_center_BTD @ self._at(self.stretch_DD, hidden_BTD)
        moved_BTD = hidden_BTD + alpha * step_BTD
        if self.kind != "norm-matched":
            return moved_BTD
        before_BT1, after_BT1 = (x.norm(dim=-1, keepdim=True) for x in (hidden_BTD, moved_BTD))
        matched_BTD: torch.Tensor = moved_BTD * (before_BT1 / after_BT1.clamp(min=torch.finfo(after_BT1.dtype).tiny))
        return matched_BTD

    def _at(self, tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """A tensor on the device and in the dtype of the hidden states, converted once."""
        key = (id(tensor), like.device, like.dtype)
        if key not in self._ready:
            with torch.inference_mode(mode=False):  # so that it can be used with gradients later
                self._ready[key] = tensor.to(like.device, like.dtype)
        return self._ready[key]


def check_finite(name: str, number: float) -> None:
    """Check that a number is finite.

    Raises:
        ConfigError: It is not.
    """
    if not math.isfinite(number):
        raise ConfigError(f"{name} = {number}", "give a number such as 1.5", "invalid-value")


@dataclass(frozen=True, kw_only=True)
class ShiftOptions:
    """Options of a shift.

    Args:
        kind: Kind of shift.
        shared: Ids of tokens that both languages have, which get an alpha of their own. Default: none, or if
            ``shared_alpha`` is given, those in the token sets of both languages.
        shared_alpha: Alpha of the shared tokens. Default: 0 if ``shared`` is given, else that of all tokens.
        positions: Which positions move.
        other_encoder: Whether means of an encoder with other weights are accepted.

    >>> ShiftOptions(kind="norm-matched", positions="tokens").kind
    'norm-matched'

    Raises:
        ConfigError: An option does not exist.
    """

    kind: Kind = "mean"
    shared: Collection[int] | None = None
    shared_alpha: float | None = None
    positions: Positions = "all"
    other_encoder: OtherEncoder = "refuse"

    def __post_init__(self) -> None:
        for name, choices in (("kind", Kind), ("positions", Positions), ("other_encoder", OtherEncoder)):
            check_name(name, getattr(self, name), get_args(choices))
        check_finite("shared_alpha", self.shared_alpha or 0.0)


DEFAULT_SHIFT = ShiftOptions()


def make_shift(
    encoder: EncoderLike,
    means: LanguageMeans,
    source: str,
    target: str,
    layer: int,
    *,
    alpha: float = 1.0,
    options: ShiftOptions = DEFAULT_SHIFT,
) -> Shift:
    """Make the shift at one layer; arguments are those of :func:`shift`.

    Args:
        encoder: The encoder to shift.
        means: Means of its hidden states.
        source: Language of the text.
        target: Language to shift to.
        layer: Where to add the shift; 0 is the embeddings.
        alpha: Strength; 1 moves from mean to mean.
        options: Kind of shift and what it applies to (:class:`ShiftOptions`).

    Returns:
        The shift, for ``encoder.edited``.

    >>> import isoglot
    >>> encoder, means = isoglot.load_encoder("isoglot-mini", device="cpu"), isoglot.bundled_means()
    >>> move = make_shift(encoder, means, "en", "de", 7, alpha=2)
    >>> with encoder.edited(7, move):
    ...     shifted = isoglot.extract(encoder, ["The house is old."], language="en")[8]
    >>> shifted.shape
    (1, 384)

    Raises:
        ConfigError: As there.
    """
    (layer,) = chosen_layers([layer], encoder.depth)
    check_finite("alpha", alpha)
    (means.check_encoder if options.other_encoder == "refuse" else means.check_shape)(encoder)
    alphas_V = _alphas(encoder, alpha, options)
    difference_D = torch.from_numpy(means.difference(source, target, layer))
    center_D = stretch_DD = None
    if options.kind == "transport":
        center_D = torch.from_numpy(means.mean(source, layer))
        matrix_DD = gaussian_transport(means.covariance(source, layer), means.covariance(target, layer))
        stretch_DD = torch.from_numpy(matrix_DD - np.eye(len(matrix_DD)))
    return Shift(options.kind, float(alpha), difference_D, center_D, stretch_DD, alphas_V)


@contextmanager
def shift(
    encoder: EncoderLike,
    means: LanguageMeans,
    source: str,
    target: str,
    *,
    alpha: float = 1.0,
    layers: Layers | int = -2,
    kind: Kind = "mean",
    shared: Collection[int] | None = None,
    shared_alpha: float = 0.0,
    positions: Positions = "all",
    other_encoder: OtherEncoder = "refuse",
) -> Iterator[None]:
    """Context manager in which the encoder runs with hidden states shifted to another language.

    Args:
        encoder: Any encoder, including that of a fine-tuned model.
        means: Language means of the encoder.
        source: The language of the text.
        target: The language to shift to.
        alpha: Length of the shift; above 1 it passes the target, below 0 it moves away.
        layers: One layer or several, each with the same alpha. Default: the last but one, the paper's 11 of 12.
        kind: Kind of shift.
        shared: Ids of tokens of both languages, which get their own alpha.
        shared_alpha: That alpha. Default: 0.
        positions: Positions of a row that move. Default: all, as in the paper.
        other_encoder: Whether to accept means of other weights.

    >>> import isoglot
    >>> encoder, means = isoglot.load_encoder("isoglot-mini", device="cpu"), isoglot.bundled_means()
    >>> plain = isoglot.extract(encoder, ["The house is old."], language="en")[8]
    >>> with shift(encoder, means, "en", "de", alpha=2, layers=[7]):
    ...     shifted = isoglot.extract(encoder, ["The house is old."], language="en")[8]
    >>> bool((plain != shifted).any())
    True

    Raises:
        ConfigError: A language has no mean, a layer does not exist or has none, the means are of another encoder, or
            there is no such option.
    """
    numbers = chosen_layers([layers] if isinstance(layers, int) else layers, encoder.depth)
    options = ShiftOptions(
        kind=kind, shared=shared, shared_alpha=shared_alpha, positions=positions, other_encoder=other_encoder
    )
    changes = [make_shift(encoder, means, source, target, layer, alpha=alpha, options=options) for layer in numbers]
    with ExitStack() as block:
        for layer, change in zip(numbers, changes, strict=True):
            if not change.nothing:
                block.enter_context(encoder.edited(layer, change))
        yield


def _alphas(encoder: EncoderLike, alpha: float, options: ShiftOptions) -> torch.Tensor | None:
    """Alpha of each id, or None if all are equal."""
    if options.shared is None and options.positions == "all":
        return None
    vocabulary = encoder.vocabulary
    alphas_V = torch.full((len(vocabulary),), float(alpha), dtype=torch.float64)
    if options.shared is not None:
        ids = np.fromiter((int(each) for each in options.shared), dtype=np.int64)
        wrong = ids[(ids < 0) | (ids >= len(alphas_V))]
        if len(wrong):
            problem = f"there is no token {wrong[0]}"
            raise ConfigError(problem, f"give ids from 0 to {len(alphas_V) - 1}", "unknown-name")
        alphas_V[torch.from_numpy(ids)] = float(options.shared_alpha or 0.0)
    special = torch.tensor(sorted(vocabulary.special.values()))
    # Special tokens occur in the text of every language but are not shared words.
    alphas_V[special] = 0.0 if options.positions == "tokens" else float(alpha)
    return alphas_V
