"""Control characters in text and names from outside, made visible: no terminal or XML reader acts on them."""

from __future__ import annotations

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
# DEL has a picture too; C1 controls (U+009B begins an escape sequence), lone surrogates and noncharacters have none.
_NO_PICTURE = (*range(0x80, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
_VISIBLE = {**_PICTURES, 0x7F: "\u2421", **dict.fromkeys(_NO_PICTURE, "\ufffd")}


def visible(text: str) -> str:
    r"""Replace control characters by a visible sign; line feeds and tabs stay.

    C0 controls and DEL become their Unicode control pictures. What has no picture and is invalid in XML or obeyed by
    terminals (C1 controls, lone surrogates, U+FFFE and U+FFFF) becomes U+FFFD.

    >>> visible("red \x1b[31m, bell \x07, \x9b31m\n")
    'red ␛[31m, bell ␇, �31m\n'
    """
    return text.translate(_VISIBLE)
