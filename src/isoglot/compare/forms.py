"""The three linear forms of CKA by name."""

from __future__ import annotations

from typing import Literal

from isoglot.core.errors import ConfigError, nearest_name, shown

Form = Literal["paper", "centred", "debiased"]
FORMS: dict[Form, str] = {
    "paper": "as Wu et al. (2020) print it: rows as they are",
    "centred": "rows centred; too high where there are few rows and many columns",
    "debiased": "the unbiased estimate: 0 on average for unrelated rows",
}
"""The three linear forms of CKA, with a line of meaning each."""


def check_form(name: str) -> None:
    """Refuse a form of CKA that there is not.

    Raises:
        ConfigError: There is none of that name; the message has the nearest.
    """
    if name not in FORMS:
        raise ConfigError(f"no form of CKA {shown(name)}", remedy=nearest_name(name, FORMS))
