"""Every language loses its mean (Libovický et al. 2020): the simplest eraser, and often hard to beat.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from isoglot.align.estimator import bounds
from isoglot.steer.eraser import Eraser

if TYPE_CHECKING:
    import torch

    from isoglot.align.rows import Array
    from isoglot.steer.eraser import Spread

Onto = Literal["origin", "common"]


@dataclass(eq=False, kw_only=True)
class MeanRemoval(Eraser):
    """All languages get one mean; it must be known which language a row is of.

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [9.0, 4.0], [9.0, 6.0]])
    >>> MeanRemoval().fit_transform(X, ["en", "en", "de", "de"]).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]

    Args:
        onto: Where that mean is: at the ``origin``, as in the paper, or where it was in ``common``, the mean of the
            languages' means: what a layer of an encoder can still read.

    Learns ``means_`` (K × D), what each language loses.
    """

    needs_language: ClassVar[bool] = True

    onto: Onto = field(default="origin", metadata=bounds(choices=("origin", "common")))

    means_: Array = field(init=False, repr=False)

    def _learn(self, spread: Spread) -> dict[str, Any]:
        means_KD = spread.means_KD
        return {"means_": means_KD - means_KD.mean(dim=0) if self.onto == "common" else means_KD}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        assert which_N is not None  # noqa: S101 - for the type checker
        return rows_ND - self._tensor("means_", rows_ND)[which_N.to(rows_ND.device)]
