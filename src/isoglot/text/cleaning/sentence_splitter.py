"""Rule-based sentence splitting, for Latin, Cyrillic, Chinese and other scripts.

Text is not changed: sentences are spans of it with only white space between them.

>>> split_sentences('Dr. Smith paid 3.5 million. "Why?" he asked. Nobody knew.', "en")
['Dr. Smith paid 3.5 million.', '"Why?" he asked.', 'Nobody knew.']
>>> split_sentences("Am 3. Mai kam er. Es war z. B. kalt.", "de")
['Am 3. Mai kam er.', 'Es war z. B. kalt.']
>>> split_sentences("他来了。她走了吗？我不知道。", "zh")
['他来了。', '她走了吗？', '我不知道。']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from isoglot.core.language_codes import language_code
from isoglot.text.cleaning.scripts import written_with_blanks

_CLOSERS = "\"'”’»›)\\]}」』）】》〉"  # with a backslash for the class in a regular expression
_OPENERS = "\"'“‘«‹„‚([{「『（【《〈¿¡"
_DASHES = "-–—―"

# Stops of every script: Latin and Cyrillic, Arabic, Armenian, Devanagari, Ethiopic, Burmese, Khmer, Tibetan.
_STOPS = ".!?…‼⁇⁈⁉؟۔։।॥።፧။៕།"
# Every repetition is possessive and starts at one position: a line of a million dots takes linear time.
_BEFORE_BLANK = re.compile(rf"(?<![{_STOPS}])(?P<stop>[{_STOPS}]++)(?P<close>(?:[{_CLOSERS}*]|\s[»›])*+)(?P<gap>\s++)")
# Full-width stops need no blank after them. NFKC makes ？ and ！ narrow, so those count too, unless they follow a Latin
# letter or a digit.
_WIDE = re.compile(
    r"(?:(?:[。！？｡។៕။]|(?<![A-Za-z0-9\s!?])[!?]++)"
    rf"[。！？｡!?…]*+[{_CLOSERS}]*+)++(?P<gap>\s*+)"
)

# Abbreviations without the last full stop; capitals are matched exactly. Three groups: after the first no sentence
# ends, because a name follows; after the second none ends before a digit; after the third one ends before a capital.
# Single capitals are initials in every language.
_ABBREVIATIONS = {
    "en": """mr mrs ms dr drs prof rev hon st gen capt cpt lt sgt maj cmdr gov messrs mme mlle Sen Rep Col Adm Pres Mt
        Ft vs cf eg e.g i.e viz dept univ assn incl pvt
        | no nos vol vols fig figs p pp ed eds ch sec art op ca approx est b d r c fl ext jan feb mar apr jun jul aug
        sep sept oct nov dec
        | etc al inc ltd co corp bros jr sr esq ph.d m.d b.a m.a u.s u.k u.n u.s.a d.c a.m p.m a.d b.c ave blvd rd""",
    "fr": """MM mr mrs mme mmes mlle mlles Me dr pr prof st ste mgr cf ex av j.-c éd trad coll gén lt sgt tél i.e c.-à-d
        | p pp vol no nos n° art chap fig env apr t h hab min max janv févr avr juil sept oct nov déc vs bd
        | etc al ibid cie inc ltd s.a jr u.s""",
    "de": """dr prof hr hrn frl Fr st z.b z b d.h d h u.a u a o.ä i.d.r bzw ca vgl evtl ggf inkl exkl sog zzgl bspw insb
        allg dt engl frz lat griech ital span urspr ehem ev kath röm dipl ing jur phil med nat rer hl mio mrd mind eigtl
        hrsg geb gest gegr verh v n i o e g std
        | s f ff nr nrn bd bde abb abs art kap tab anm max min tel jan feb mär mrz apr jun jul aug sep sept okt nov dez
        Mo Di Mi Do Fr Sa So
        | usw etc usf co ag e.v u.s.w jr sen str chr jh jhd u.s""",
    "ru": """г гг в вв им ул д кв корп с обл р-н пос дер оз р о пер пл просп наб п пп см ср напр т.е т.к т.н т.наз проф
        доц акад ген полк кап лейт св ст н.э англ нем фр лат греч итал исп яп кит рус укр букв кн изд ред пр-т ок
        | т тт гл рис табл стр прим указ соч род тыс млн млрд трлн янв фев февр мар апр июн июл авг сен сент окт ноя
        нояб дек
        | др т.д т.п пр проч м км мм кг га л мл мин сек руб коп чел""",
}
# A short number with a full stop is an ordinal in these: "der 3. Mai".
_ORDINAL_LANGUAGES = {
    "de", "cs", "da", "fi", "hr", "hu", "nb", "nn", "no", "sk", "sl", "sr", "bs", "et", "is", "lv", "tr",
}  # fmt: skip
_WORD_BEFORE = re.compile(r"(?:\bт\. )?[^\s\"'“„«‘‚(\[{/]*$")
_LOOK_BACK = 40  # longer than any abbreviation, so that time is linear
_ROMAN = re.compile(r"[IVX]{1,5}")
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)*[^\W\d_]")
_FIRST_LETTER = re.compile(rf"[{re.escape(_OPENERS + _DASHES)}\s.…*•·]{{0,20}}(\S)")


def split_sentences(text: str, language: str) -> list[str]:
    """Split a text into sentences, without the white space between them.

    Args:
        text: A paragraph.
        language: Its code. There are lists of abbreviations for English, French, German and Russian; other languages
            use the stops of their script. Thai has none, so its text is not split.

    Raises:
        ConfigError: The language is unknown.
    """
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """The start and end of each sentence; everything outside is white space.

    Raises:
        ConfigError: The language is unknown.
    """
    rules = _rules(language)
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    spans = []
    for match in rules.stops.finditer(text, start):
        if match.end() < end and rules.ends_sentence(text, start, match):
            spans.append((start, match.start("gap")))
            start = match.end()
    if start < end:
        spans.append((start, end))
    return spans


@dataclass(frozen=True)
class LineSplitter:
    """Splitter of lines into sentences, for :func:`isoglot.text.stream.map_chunks`."""

    language: str

    @property
    def step(self) -> dict[str, Any]:
        """The step, as provenance records it."""
        return {"step": "sentences", "language": language_code(self.language)}

    def __call__(self, lines: list[str]) -> list[str]:
        """Split lines; empty lines are kept."""
        return [sentence for line in lines for sentence in (split_sentences(line, self.language) or [""])]


@lru_cache(maxsize=64)
def _rules(language: str) -> _Rules:
    return _Rules(language_code(language))


class _Rules:
    """Rules of a language."""

    def __init__(self, language: str) -> None:
        base = language.partition("-")[0]
        groups = [frozenset(group.split()) for group in _ABBREVIATIONS.get(base, "||").split("|")]
        self.never, self.before_digit, self.before_small = groups
        self.ordinals = base in _ORDINAL_LANGUAGES
        self.wide = not written_with_blanks(language)
        self.stops = _WIDE if self.wide else _BEFORE_BLANK

    def ends_sentence(self, text: str, start: int, match: re.Match[str]) -> bool:
        """Whether a stop ends the sentence."""
        if self.wide:
            return True
        first = _FIRST_LETTER.match(text, match.end())
        follows = first[1] if first else ""
        if follows.islower():
            return False
        if match["stop"] != "." or match["close"]:
            return True
        before = text[max(start, match.start() - _LOOK_BACK) : match.start()]
        word = _WORD_BEFORE.search(before)
        return self._full_stop(before, word[0].replace(" ", "") if word else "", follows)

    def _full_stop(self, before: str, word: str, follows: str) -> bool:
        """Whether a full stop after a word ends the sentence; no lower-case letter follows."""
        forms = {word, word.lower()}
        if word.isdigit():
            begins = word == before  # 1. is a number in a list
            return not begins and not (self.ordinals and len(word) <= 2)
        if forms & self.never:
            return False
        if follows.isdigit() and (forms & self.before_digit or word.endswith("str")):  # Hauptstr. 5
            return False
        if forms & self.before_small:
            return follows.isupper()
        if self.ordinals and _ROMAN.fullmatch(word):
            return False
        return not (_INITIALS.fullmatch(word) and word[0].isupper())
