"""The built-in languages on a terminal: what they are, and the same meaning in several of them with a gloss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.language_codes import language_name
from isoglot.core.table import Table
from isoglot.languages import LANGUAGES, align, parallel, world
from isoglot.languages.grammars.lexicon import count_synonyms
from isoglot.languages.meaning import Part
from isoglot.languages.sentence import clauses_by_unit, word_glosses
from isoglot.report.results import Rendering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.text import Text

    from isoglot.languages.sentence import Sentence

COLORS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green", "bright_magenta")


def languages_result() -> Rendering:
    """The built-in languages with their size and a sentence of each."""
    things = world()
    size = {"nouns": sum(noun.spoken for noun in things.nouns.values())}
    size |= {
        name: len(getattr(things, name)) for name in ("verbs", "adjectives", "adverbs", "numbers", "names", "topics")
    }
    example = next(row for row in parallel(seed=7) if len(row[0].words) > 8)
    facts = [
        {"code": code, "name": language_name(code), "synonyms": count_synonyms(code), "example": sentence.text}
        for code, sentence in zip(LANGUAGES, example, strict=True)
    ]
    note = f"One world: {', '.join(f'{count} {name}' for name, count in size.items())}."
    return Rendering({"world": size, "languages": facts}, Table.from_rows(facts), notes=[note])


def meanings_result(rows: Sequence[Sequence[Sentence]]) -> Rendering:
    """Meanings in several languages: sentences and alignment as JSON, and with a gloss on a terminal."""
    from rich.console import Group

    return Rendering([_facts(row) for row in rows], Group(*(interlinear(row) for row in rows)))


def _facts(row: Sequence[Sentence]) -> dict[str, Any]:
    return {
        "topic": row[0].meaning.topic,
        "register": row[0].meaning.register,
        "sentences": {sentence.language: sentence.text for sentence in row},
        "alignment": {
            f"{row[0].language}-{other.language}": [f"{i}-{j}" for i, j in align(row[0], other)] for other in row[1:]
        },
    }


def interlinear(row: Sequence[Sentence]) -> RenderableType:
    """A meaning in every language: the sentence, and under it each word over its gloss."""
    from rich.columns import Columns
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    meaning = row[0].meaning
    clauses = set(clauses_by_unit(meaning))
    lines: list[RenderableType] = [Text(f"{meaning.topic}, {meaning.register}", "dim italic")]
    for sentence in row:
        said = zip(sentence.words, sentence.units, word_glosses(sentence), strict=True)
        pieces = [
            Text.assemble((word, _color(unit, clauses)), "\n", (below, "dim"))
            for word, unit, below in said
            if unit >= 0
        ]
        lines.append(Text.assemble((f"{sentence.language}  ", "bold"), _colored(sentence, clauses)))
        lines.append(Padding(Columns(pieces, padding=(0, 2)), (0, 0, 0, 4)))
    lines.append(Text())
    return Group(*lines)


def _colored(sentence: Sentence, clauses: set[int]) -> Text:
    from rich.text import Text

    text = Text()
    for form, first, last in sentence.spans():
        text.append(form, _color(sentence.units[first - 1], clauses))
        if last not in sentence.glued:
            text.append(" ")
    return text


def _color(unit: int, clauses: set[int]) -> str:
    """One color for all words of a phrase, in every language, and one for each adverbial; none for function words."""
    if unit < 0:
        return ""
    adverbial = unit // 8 in clauses and unit % 8 in {Part.TIME, Part.FREQUENCY, Part.MANNER}
    return COLORS[(unit // 8 + (unit % 8 + 3 if adverbial else 0)) % len(COLORS)]
