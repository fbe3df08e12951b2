"""Language codes: BCP-47, with ISO 639-3 and 639-2 codes understood as aliases.

>>> language_code("deu"), language_code("cmn"), language_code("swh"), language_code("ZH_hans")
('de', 'zh', 'sw', 'zh-Hans')

Artificial languages are private-use tags of real ones: ``en-x-shift`` is English in a private script.
"""

from __future__ import annotations

from functools import lru_cache

from isoglot.core.errors import ConfigError, shown


@lru_cache(maxsize=1024)
def language_code(text: str) -> str:
    """The canonical code of a language.

    Args:
        text: A BCP-47 tag in any case, with ``-`` or ``_``, or an ISO 639-3 or 639-2 code.

    Raises:
        ConfigError: The language is unknown.
    """
    import langcodes

    if langcodes.tag_is_valid(text):
        return langcodes.standardize_tag(text, macro=True)
    problem = f"{shown(text)} is not a language code"
    raise ConfigError(problem, "use a BCP-47 or ISO 639-3 code such as en, de or swh", "language-code")


@lru_cache(maxsize=1024)
def language_name(code: str) -> str:
    """English name of a language; the code itself for made-up languages.

    >>> language_name("de"), language_name("zh-Hant"), language_name("en-x-shift")
    ('German', 'Chinese (Traditional)', 'en-x-shift')
    """
    import langcodes

    return code if "-x-" in code else langcodes.Language.get(code).display_name()
