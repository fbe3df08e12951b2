"""The three linear forms of CKA by name, and all three of every pair of layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, nearest_name, shown

if TYPE_CHECKING:
    import numpy as np

Form = Literal["paper", "centered", "debiased"]
FORMS: dict[Form, str] = {
    "paper": "as Wu et al. (2020) print it: rows as they are",
    "centered": "rows centered; too high where there are few rows and many columns",
    "debiased": "the unbiased estimate: 0 on average for unrelated rows",
}
"""The three linear forms of CKA, with a line of meaning each."""


def check_form(name: str) -> None:
    """Refuse a form of CKA that there is not.

    Raises:
        ConfigError: There is none of that name; the message has the nearest.
    """
    if name not in FORMS:
        raise ConfigError(f"no form of CKA {shown(name)}", remedy=nearest_name(name, FORMS), code="config.unknown-name")


@dataclass(frozen=True, eq=False, kw_only=True)
class CKAGrid:
    """How alike each layer of one encoder is to each of another, in three forms: rows are layers of X, columns of Y."""

    layers_x: tuple[int, ...]
    layers_y: tuple[int, ...]
    count: int
    """items it was computed on"""
    paper: np.ndarray
    """as Wu et al. (2020) print it: rows as they are"""
    centered: np.ndarray
    """rows centered; too high where there are few rows and many columns"""
    debiased: np.ndarray
    """the unbiased estimate: 0 on average for unrelated rows"""

    def form(self, name: Form) -> np.ndarray:
        """One of the three.

        Raises:
            ConfigError: There is no such form.
        """
        check_form(name)
        values: np.ndarray = getattr(self, name)
        return values

    def diagonal(self, name: Form = "debiased") -> dict[int, float]:
        """The values of each layer with the layer of the same number."""
        values = self.form(name)
        return {
            layer: float(values[self.layers_x.index(layer), self.layers_y.index(layer)])
            for layer in self.layers_x
            if layer in self.layers_y
        }

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "layers_x": list(self.layers_x),
            "layers_y": list(self.layers_y),
            "count": self.count,
            **{name: self.form(name).tolist() for name in FORMS},
        }
