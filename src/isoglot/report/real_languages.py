"""What isoglot-mini, the encoder of the package, made of real sentences, as part of a page; its words suit no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.language_codes import language_name
from isoglot.core.progress import listed
from isoglot.report.markup import escape
from isoglot.report.page import Section, table
from isoglot.report.steer import LOOKS, colored

if TYPE_CHECKING:
    from isoglot.study.demo.real_languages import RealLanguages

_WORDS = (
    "isoglot-mini, the encoder that comes with isoglot, has read real text of {languages}; unlike the small encoders "
    "above, it has seen translated sentences too. To every token of a sentence in {source} the difference of two "
    "languages’ means is added, {alpha:g} times, in layer {layer}; then the model’s best token is read off at every "
    "position. Nobody translates: word order stays as it was, some tokens do not turn, and some turn into a third "
    "language."
)


def real_sections(seen: RealLanguages) -> list[Section]:
    """The sentences with a vector added, and how many translations were found.

    Args:
        seen: By isoglot-mini: the page says what that encoder has read.
    """
    return [_shifted(seen), *([_found(seen)] if seen.found else [])]


def _shifted(seen: RealLanguages) -> Section:
    first = next(iter(seen.shifted.values()))
    blocks = []
    for number, source in enumerate(first.sources):
        rows = _row(first.source, escape(source), style="background:#efece4")
        rows += "".join(_row(code, colored(made, number)) for code, made in seen.shifted.items())
        blocks.append(f"<div class='scroll'><table style='margin:.8rem 0'>{rows}</table></div>")
    names = [language_name(code) for code in (first.source, *seen.shifted)]
    words = _WORDS.format(languages=listed(names), source=names[0], alpha=first.alpha, layer=first.layer)
    return Section(
        title="A language is a direction: add it, and a sentence turns towards another language",
        words=(words, LOOKS),
        table="".join(blocks),
    )


def _row(code: str, text: str, *, style: str = "") -> str:
    name = f"<td class='facts' style='width:6em'>{escape(language_name(code))}</td>"
    return f"<tr style='{style}'>{name}<td lang='{escape(code)}'>{text}</td></tr>"


def _found(seen: RealLanguages) -> Section:
    rows = [
        [language_name(code), f"{100 * raw:.0f}\u00a0%", f"{100 * centered:.0f}\u00a0%"]
        for code, (raw, centered) in seen.found.items()
    ]
    source = language_name(next(iter(seen.shifted.values())).source)
    words = (
        f"How often is the nearest of {seen.tested} built-in sentences in the other language the translation? "
        "Both directions, last layer of isoglot-mini; means are estimated on other sentences than the query. "
        f"Chance is {100 / seen.tested:.1f}\u00a0%."
    )
    return Section(
        title="Translations lie near each other, nearer without the languages’ means",
        words=(words,),
        table=table([f"{source} and", "as it is", "means removed"], rows),
    )
