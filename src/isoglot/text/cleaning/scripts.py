"""Scripts of letters and languages.

Scripts have ISO 15924 codes; ``Zzzz`` is private use, the script of artificial languages.

>>> scripts_of("ru"), scripts_of("ja"), scripts_of("sr-Latn"), scripts_of("en-x-shift")
(('Cyrl',), ('Hani', 'Hira', 'Kana'), ('Latn',), ('Latn', 'Zzzz'))
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from isoglot.core.language_codes import language_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

# Unicode blocks by first and last code point; only their letters count.
RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "Latn": (
        (0x41, 0x2B8), (0x2E0, 0x2E4), (0x300, 0x36F), (0x1D00, 0x1D25), (0x1D2C, 0x1DBF), (0x1E00, 0x1EFF),
        (0x2071, 0x209C), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xAB30, 0xAB64), (0xAB66, 0xAB6F), (0xFB00, 0xFB06),
        (0xFF21, 0xFF5A), (0x10780, 0x107BF), (0x1DF00, 0x1DFFF),
    ),
    "Grek": ((0x370, 0x3FF), (0x1D26, 0x1D2A), (0x1F00, 0x1FFF), (0xAB65, 0xAB65)),
    "Cyrl": (
        (0x400, 0x52F), (0x1C80, 0x1C8F), (0x1D2B, 0x1D2B), (0x2DE0, 0x2DFF), (0xA640, 0xA69F), (0x1E030, 0x1E08F),
    ),
    "Armn": ((0x531, 0x58F), (0xFB13, 0xFB17)),
    "Hebr": ((0x591, 0x5F4), (0xFB1D, 0xFB4F)),
    "Arab": (
        (0x600, 0x6FF), (0x750, 0x77F), (0x860, 0x86F), (0x870, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC),
        (0x1EE00, 0x1EEFF),
    ),
    "Syrc": ((0x700, 0x74F),),
    "Thaa": ((0x780, 0x7BF),),
    "Nkoo": ((0x7C0, 0x7FF),),
    "Deva": ((0x900, 0x97F), (0xA8E0, 0xA8FF), (0x11B00, 0x11B5F)),
    "Beng": ((0x980, 0x9FF),),
    "Guru": ((0xA00, 0xA7F),),
    "Gujr": ((0xA80, 0xAFF),),
    "Orya": ((0xB00, 0xB7F),),
    "Taml": ((0xB80, 0xBFF),),
    "Telu": ((0xC00, 0xC7F),),
    "Knda": ((0xC80, 0xCFF),),
    "Mlym": ((0xD00, 0xD7F),),
    "Sinh": ((0xD80, 0xDFF),),
    "Thai": ((0xE00, 0xE7F),),
    "Laoo": ((0xE80, 0xEFF),),
    "Tibt": ((0xF00, 0xFFF),),
    "Mymr": ((0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)),
    "Geor": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2F)),
    "Hang": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF)),
    "Ethi": ((0x1200, 0x139F), (0x2D80, 0x2DDF), (0xAB00, 0xAB2F)),
    "Cher": ((0x13A0, 0x13FF), (0xAB70, 0xABBF)),
    "Cans": ((0x1400, 0x167F), (0x18B0, 0x18FF)),
    "Khmr": ((0x1780, 0x17FF),),
    "Mong": ((0x1800, 0x18AF),),
    "Hira": ((0x3041, 0x309F), (0x1B001, 0x1B11F), (0x1B150, 0x1B152)),
    "Kana": ((0x30A0, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F), (0x1B000, 0x1B000), (0x1B164, 0x1B167)),
    "Bopo": ((0x3105, 0x312F), (0x31A0, 0x31BF)),
    "Hani": (
        (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF),
    ),
    "Zzzz": ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)),
}  # fmt: skip

# writing systems of several scripts
_MIXED = {"Hans": ("Hani",), "Hant": ("Hani", "Bopo"), "Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani")}
_WITHOUT_BLANKS = {"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"}
_LAST_LETTER = 0x323B0


@lru_cache(maxsize=1024)
def scripts_of(language: str) -> tuple[str, ...]:
    """The scripts of a language: the usual one or that of its code, and private use for artificial languages.

    Empty if unknown.

    Raises:
        ConfigError: The language is unknown.
    """
    import langcodes

    code = language_code(language)
    script = langcodes.Language.get(code).maximize().script
    scripts = _MIXED.get(script or "", (script,) if script in RANGES else ())
    return (*scripts, "Zzzz") if "-x-" in code else scripts


@lru_cache(maxsize=1024)
def written_with_blanks(language: str) -> bool:
    """Whether a language is written with blanks between words.

    >>> written_with_blanks("de"), written_with_blanks("zh"), written_with_blanks("th")
    (True, False, False)
    """
    return not set(scripts_of(language)) & _WITHOUT_BLANKS or "Hang" in scripts_of(language)


FOREIGN, OWN = 1, 2


@lru_cache(maxsize=16)
def letter_table(language: str) -> np.ndarray:
    """For every code point: 0 if it is not a letter, :data:`OWN` or :data:`FOREIGN` by its script.

    Shape (0x110000,), one byte each. All letters belong to a language of unknown script.
    """
    import numpy as np

    table = np.zeros(0x110000, dtype=np.uint8)
    letters = [code for code in range(_LAST_LETTER) if unicodedata.category(chr(code))[0] in "LM"]
    table[letters] = FOREIGN
    for first, last in RANGES["Zzzz"]:
        table[first : last + 1] = FOREIGN
    scripts = scripts_of(language)
    if not scripts:
        table[table == FOREIGN] = OWN
    for script in scripts:
        for first, last in RANGES[script]:
            part = table[first : last + 1]
            part[part == FOREIGN] = OWN
    return table


def in_other_scripts(lines: Sequence[str], language: str, *, least_share: float) -> frozenset[int]:
    """The positions of lines with too small a share of letters of the language's scripts.

    A line without letters passes.

    >>> sorted(in_other_scripts(["Это да", "This is not", "12"], "ru", least_share=0.5))
    [1]
    """
    import numpy as np

    latin = "Latn" in scripts_of(language)
    numbers = [number for number, line in enumerate(lines) if not (latin and line.isascii())]
    if not numbers:
        return frozenset()
    kinds = letter_table(language)[_codes("".join(lines[number] for number in numbers))]
    ends = np.cumsum([len(lines[number]) for number in numbers])
    # Most lines have no foreign letters; only the others are counted.
    foreign = np.bincount(np.searchsorted(ends, np.flatnonzero(kinds == FOREIGN), side="right"))
    strange = set()
    for place in np.flatnonzero(foreign).tolist():
        letters = np.count_nonzero(kinds[ends[place] - len(lines[numbers[place]]) : ends[place]])
        if letters - foreign[place] < least_share * letters:
            strange.add(numbers[place])
    return frozenset(strange)


def _codes(text: str) -> np.ndarray:
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
