"""Text inside HTML and SVG, whatever it contains."""

from __future__ import annotations

from html import escape as _escape

from isoglot.core.errors import visible


def escape(text: str) -> str:
    """Text for the content or a quoted attribute of HTML or SVG: valid for any input, control characters visible.

    >>> escape("<a> & 'b'")
    '&lt;a&gt; &amp; &#x27;b&#x27;'
    """
    return _escape(visible(text))
