"""What the encoder of the package made of real sentences, as part of a page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isoglot.report.page import Section, table
from isoglot.report.steer import LOOKS, coloured

if TYPE_CHECKING:
    from isoglot.study.real_languages import RealLanguages

_WORDS = (
    "The encoder that comes with isoglot has read five real languages. To every token of an English sentence the "
    "difference of two languages’ means is added, {alpha:g} times, in layer {layer}; then the model’s best token is "
    "read off at every position. Word order stays as it was, and some tokens do not turn."
)


def real_sections(seen: RealLanguages) -> list[Section]:
    """The sentences with a vector added, and how many translations were found."""
    return [_shifted(seen), *([_found(seen)] if seen.found else [])]


def _shifted(seen: RealLanguages) -> Section:
    first = next(iter(seen.shifted.values()))
    blocks = []
    for number, source in enumerate(first.sources):
        lines = [(first.source, escape(source))]
        lines += [(code, coloured(made, number)) for code, made in seen.shifted.items()]
        rows = "".join(
            f"<tr><td class='facts' style='width:3em'>{escape(code)}</td><td lang='{escape(code)}'>{text}</td></tr>"
            for code, text in lines
        )
        blocks.append(f"<table style='margin:.8rem 0'>{rows}</table>")
    return Section(
        title="A language is a direction: add it, and a sentence turns into another language",
        words=(_WORDS.format(alpha=first.alpha, layer=first.layer), LOOKS),
        table="".join(blocks),
    )


def _found(seen: RealLanguages) -> Section:
    rows = [
        [code, f"{100 * raw:.0f}\u00a0%", f"{100 * centred:.0f}\u00a0%"] for code, (raw, centred) in seen.found.items()
    ]
    return Section(
        title="Translations lie near each other, nearer without the languages’ means",
        words=(f"Of {seen.tested} built-in sentences, whose nearest is the translation? Both directions, last layer.",),
        table=table(["en and", "as it is", "means removed"], rows),
    )
