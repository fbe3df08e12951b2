"""``isoglot languages``: the built-in languages: what they are, what they sound like, and files of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.declaration import option, verb
from isoglot.cli.inputs import Files, files_of, parse_named
from isoglot.cli.options import Out, Seed, Settings, SkipBad
from isoglot.cli.output import Output
from isoglot.cli.run_files import publish

if TYPE_CHECKING:
    from isoglot.report.results import Rendering

app = typer.Typer()

Languages = Annotated[str, option("CODES", "Built-in languages, separated by commas: en,fr,de,ru,zh.")]
Register = Annotated[
    Literal["both", "encyclopaedic", "conversational"],
    option(text="Register: third person, or first and second person."),
]


@verb(app, "list", example="languages list --json")
def list_languages(*, output: Output) -> None:
    """Show the built-in languages with their size and a sentence of each."""
    from isoglot.report.terminal.languages import languages_result

    output.print(languages_result())


@verb(app, "sample", example="languages sample --seed 7")
def sample(
    *,
    count: Annotated[int, option(text="Number of meanings.", min=1, max=10_000)] = 3,
    langs: Languages = "en,fr,de,ru,zh",
    register: Register = "both",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Print the same meaning in several languages, with a gloss; what translates what has one color."""
    from itertools import islice

    from isoglot.languages import parallel
    from isoglot.report.terminal.languages import meanings_result

    chosen = None if register == "both" else register
    output.print(meanings_result(list(islice(parallel(langs.split(","), seed=seed, register=chosen), count))))


@verb(app, "export", example="languages export --langs en,fr --sentences 100000 --out data/")
def export(
    *,
    out: Out,
    langs: Languages = "en,fr,de,ru,zh",
    sentences: Annotated[int, option(text="Sentences of running text per language.", min=1, max=10_000_000)] = 100_000,
    only: Annotated[Files, option("PART", "text, parallel, dictionary, treebank, ner or nli. May be repeated.")] = None,
    register: Register = "both",
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
    from isoglot.report.results import Rendering

    values = {"languages": langs.split(","), "sentences": sentences, "registers": register}
    values |= {"parts": only} if only else {}
    config = build_config(ExportConfig, values=values, settings=settings or ())

    def work(folder: Path | None) -> Rendering:
        here = folder or out
        written = [out / path.relative_to(here) for path in write(config, here, seed=seed, progress=output.progress)]
        counts = sorted(Counter(path.parent for path in written).items())
        return Rendering(list(map(str, written)), "\n".join([f"{one}: {count} files" for one, count in counts]))

    publish(output, out, work, bare=True, seed=seed, config=config)


@verb(app, "twin", example="languages twin --text en=en.txt --kind shift --kept 0.2 --out twins/")
def twin(
    *,
    text: Annotated[list[str], option("LANG=FILE", "Text to make the twin of. May be repeated.")],
    out: Out,
    kind: Literal["shift", "order", "frequency"] = "shift",
    kept: Annotated[float, option(min=0, max=1)] = 0.0,
    degree: Annotated[float, option(text="order: the share of word pairs that change places.", min=0, max=1)] = 1.0,
    skip_bad: SkipBad = 0,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Write a text as another language would have it that differs in one known way, with its word alignment.

    The twin of en.txt is en-x-shift.txt; en-x-shift.align has the links between words, in the Pharaoh format.

    Options:
        kind: shift: a script of its own; order: other word order; frequency: words at random.
        kept: shift: the share of words that stay as they are: anchors.
    """
    from isoglot.languages.twins import twin_code, write_twins
    from isoglot.report.results import Rendering

    named = parse_named(text)
    how: dict[str, Any] = {"degree": degree, "kept": kept, "seed": seed, "skip_bad": skip_bad}

    def work(folder: Path | None) -> Rendering:
        reports = write_twins(named, folder or out, kind, **how, progress=output.progress)
        facts = {code: {"text": str(out / f"{code}.txt"), **report.facts()} for code, report in reports.items()}
        lines = [f"{fact['text']}: {fact['written']:,} lines, {fact['words']:,} words" for fact in facts.values()]
        return Rendering(facts, "\n".join(lines))

    writes = [twin_code(code, kind) for code in named]
    publish(output, out, work, bare=True, inputs=files_of(text), seed=seed, writes=writes)
