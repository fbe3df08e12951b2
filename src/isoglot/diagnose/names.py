"""Lists of words."""

from __future__ import annotations


def listed(words: list[str]) -> str:
    """Join words with commas and "and".

    >>> listed(["German"]), listed(["German", "French"]), listed(["3", "4", "5"])
    ('German', 'German and French', '3, 4 and 5')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""
