"""``isoglot languages``: the built-in languages: what they are, what they sound like, and files of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import option, parse_named
from isoglot.cli.options import Out, Seed, Settings, verb
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.cli.verbs.text import SkipBad
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.text import Text

    from isoglot.languages.sentence import Sentence

app = typer.Typer(
    help="Five built-in languages that share one world: list, sample and export them.", no_args_is_help=True
)

Languages = Annotated[str, option("--langs", "CODES", "Built-in languages, with commas between: en,fr,de,ru,zh.")]
Register = Literal["both", "encyclopaedic", "conversational"]
RegisterOption = Annotated[Register, typer.Option("--register", help="The register: third person, or I and you.")]

COLORS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green", "bright_magenta")


@verb(app, "list", example="languages list --json")
def list_languages(*, output: Output) -> None:
    """Show the built-in languages with their size and a sentence of each."""
    from isoglot.core.language_codes import language_name
    from isoglot.languages import LANGUAGES, parallel, world
    from isoglot.languages.grammars.lexicon import count_synonyms

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
    output.say(f"One world: {', '.join(f'{count} {name}' for name, count in size.items())}.\n")
    output.result({"world": size, "languages": facts}, Table.from_rows(facts))


@verb(app, "sample", example="languages sample --seed 7")
def sample(
    *,
    count: Annotated[int, typer.Option("--count", min=1, max=10_000, help="How many meanings.")] = 3,
    langs: Languages = "en,fr,de,ru,zh",
    register: RegisterOption = "both",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Print the same meaning in several languages, with a gloss; what translates what has one color."""
    from itertools import islice

    from rich.console import Group

    from isoglot.languages import parallel

    chosen = None if register == "both" else register
    rows = list(islice(parallel(langs.split(","), seed=seed, register=chosen), count))
    output.result([_facts(row) for row in rows], Group(*(interlinear(row) for row in rows)))


@verb(app, "export", example="languages export --langs en,fr --sentences 100000 --out data/")
def export(
    *,
    out: Out,
    langs: Languages = "en,fr,de,ru,zh",
    sentences: Annotated[
        int, typer.Option("--sentences", min=1, max=10_000_000, help="Sentences of running text a language.")
    ] = 100_000,
    only: Annotated[
        list[str] | None, option("--only", "PART", "text, parallel, dictionary, treebank, ner or nli. May be repeated.")
    ] = None,
    register: RegisterOption = "both",
    settings: Settings = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Write text, parallel sentences, dictionaries, treebanks, names and inference pairs to a folder.

    Other sizes are settings: parallel, dictionary, treebank, ner, nli, and held_out for dev and test; --set nli=2000.
    """
    from isoglot.core.config import build_config
    from isoglot.languages.export import ExportConfig
    from isoglot.languages.export import export as write

    values = {"languages": langs.split(","), "sentences": sentences, "registers": register}
    values |= {"parts": only} if only else {}
    config = build_config(ExportConfig, values=values, settings=settings or ())
    with recorded(out, (), seed=seed, config=config) as run:
        written = [run.shown(path) for path in write(config, run.folder, seed=seed, progress=output.progress)]
    folders = Counter(path.parent for path in written)
    lines = [f"{folder}: {count} files" for folder, count in sorted(folders.items())]
    output.result([str(path) for path in written], "\n".join([*lines, f"{out / 'run.json'} says what ran"]))


@verb(app, "twin", example="languages twin --text en=en.txt --kind shift --kept 0.2 --out twins/")
def twin(
    *,
    text: Annotated[list[str], option("--text", "LANG=PATH", "Text to make the twin of. May be repeated.")],
    out: Out,
    kind: Annotated[
        Literal["shift", "order", "frequency"],
        typer.Option("--kind", help="shift: a script of its own; order: other word order; frequency: words at random."),
    ] = "shift",
    kept: Annotated[
        float, typer.Option("--kept", min=0, max=1, help="shift: the share of words that stay as they are: anchors.")
    ] = 0.0,
    degree: Annotated[
        float, typer.Option("--degree", min=0, max=1, help="order: the share of word pairs that change places.")
    ] = 1.0,
    skip_bad: SkipBad = 0,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Write a text as another language would have it that differs in one known way, with its word alignment.

    The twin of en.txt is en-x-shift.txt; en-x-shift.align has the links between words, in the Pharaoh format.
    """
    from isoglot.languages.twins import twin_code, twin_files
    from isoglot.text.formats.lines import Skip

    named = parse_named(text)
    facts: dict[str, Any] = {}
    read = [path for paths in named.values() for path in paths]
    with recorded(out, read, seed=seed, writes=[twin_code(code, kind) for code in named]) as run:
        for language, paths in named.items():
            code = twin_code(language, kind)
            target = run.folder / f"{code}.txt"
            links = None if kind == "frequency" else run.folder / f"{code}.align"
            how: dict[str, Any] = {"degree": degree, "kept": kept, "seed": seed, "skip": Skip(skip_bad)}
            report = twin_files(paths, target, language, kind, alignment=links, progress=output.progress, **how)
            facts[code] = {"text": str(run.shown(target)), **report.facts()}
    lines = [f"{fact['text']}: {fact['written']:,} lines, {fact['words']:,} words" for fact in facts.values()]
    output.result(facts, "\n".join([*lines, f"{out / 'run.json'} says what ran"]))


# --- showing ---


def _facts(row: Sequence[Sentence]) -> dict[str, Any]:
    from isoglot.languages import align

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

    from isoglot.languages.sentence import clauses_by_unit, word_glosses

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
    from isoglot.languages.meaning import Part

    if unit < 0:
        return ""
    adverbial = unit // 8 in clauses and unit % 8 in {Part.TIME, Part.FREQUENCY, Part.MANNER}
    return COLORS[(unit // 8 + (unit % 8 + 3 if adverbial else 0)) % len(COLORS)]
