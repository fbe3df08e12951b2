"""English names of languages, and lists of words."""

from __future__ import annotations

_NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "eu": "Basque",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "tl": "Tagalog",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "yo": "Yoruba",
    "zh": "Chinese",
}


def language_name(code: str) -> str:
    """English name of a language, or its code if the name is not listed.

    >>> language_name("de"), language_name("zh-Hant"), language_name("en-x-shift")
    ('German', 'zh-Hant', 'en-x-shift')
    """
    return _NAMES.get(code, code)


def listed(words: list[str]) -> str:
    """Join words with commas and "and".

    >>> listed(["German"]), listed(["German", "French"]), listed(["3", "4", "5"])
    ('German', 'German and French', '3, 4 and 5')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""
