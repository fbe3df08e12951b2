"""``isoglot align links`` and ``isoglot align dictionary``: which word is which in bitext, and the dictionary in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.bitext_option import GIVE, MISSING, paths_of, two_sides
from isoglot.cli.langs_option import Langs, two_langs
from isoglot.cli.options import Debug, Json, Out, Quiet, Seed, Settings
from isoglot.cli.output import Output, command_line
from isoglot.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from isoglot.align import LinkScores, WordAlignConfig, WordAligner
    from isoglot.align.segmented import Segmenting
    from isoglot.text.alignment import Links

    Pairs = list[tuple[list[str], list[str]]]

Parallel = Annotated[
    list[str] | None,
    typer.Option("--parallel", metavar="LANG=FILE", help="Sentences line by line; twice. Or one table of both."),
]
BUILTIN = 10_000  # built-in sentences, where nobody says how many
Count = Annotated[
    int | None,
    typer.Option(
        "--sentences",
        metavar="N",
        min=2,
        max=1_000_000,
        help=f"The first N; left out: {BUILTIN:,} built-in ones, or all of files.",
    ),
]
Segment = Annotated[
    Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"] | None,
    typer.Option("--segment", help="How text is cut into words; left out: auto, or blanks where --links is given."),
]
Aligner = Annotated[
    Path | None, typer.Option("--aligner", metavar="PATH", help="One that align links wrote; left out: it learns here.")
]


def add_to(app: typer.Typer) -> None:
    """Register the verbs."""
    app.command("links", epilog="Example: isoglot align links --parallel en=en.txt --parallel fr=fr.txt --out links/")(
        links
    )
    app.command(
        "dictionary", epilog="Example: isoglot align dictionary --parallel en=en.txt --parallel fr=fr.txt --out words/"
    )(dictionary)


def links(
    out: Out,
    parallel: Parallel = None,
    langs: Langs = None,
    sentences: Count = None,
    segment: Segment = None,
    aligner: Aligner = None,
    method: Annotated[
        Literal["intersection", "union", "grow-diag", "grow-diag-final-and"],
        typer.Option("--method", help="How the two directions are made one."),
    ] = "grow-diag-final-and",
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE", help="Links to score on (Pharaoh), a line a pair of the files."),
    ] = None,
    settings: Settings = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn from bitext which word translates which, and link the words of every pair.

    Writes links.txt (Pharaoh), the words of both sides with blanks between them, the aligner and metrics.json. What it
    writes is what align words reads: --parallel en=OUT/en.txt --parallel fr=OUT/fr.txt --links OUT/links.txt.
    """
    from rich.text import Text

    from isoglot.align import WordAlignConfig, score_links
    from isoglot.align.indexed import PairCounts
    from isoglot.align.word_aligner import FILE
    from isoglot.core.config import build_config
    from isoglot.core.files import write_json
    from isoglot.core.record import record_run
    from isoglot.text.alignment import write_pharaoh
    from isoglot.text.lines import line_writer

    output = Output(json=json, quiet=quiet)
    if aligner is not None and settings:
        raise ConfigError("--set and --aligner together", remedy="an aligner has its settings: leave --set out")
    config = build_config(WordAlignConfig, settings=settings or ())
    languages, files = _languages(parallel, langs)
    if gold is not None and not files:
        raise ConfigError(
            "--gold with built-in sentences", remedy="leave it out: they have their own, and are scored on it"
        )
    known = _known(aligner, languages)
    config = config if known is None else known.config
    with record_run(out, command=command_line(), seed=seed, config=config, device="cpu") as run:
        for path in [*paths_of(files), *(each for each in (aligner, gold) if each is not None and each.is_file())]:
            run.add_input(path)
        pairs, sure = _pairs(files, languages, segment or "auto", gold, sentences, seed)
        model = known or _learned(pairs, config, languages, output)
        counts = PairCounts()
        found = list(model.stream(pairs, method, counts=counts, progress=output.progress))
        scores = None if sure is None else score_links(found, sure)
        names = [out / "links.txt", *(out / f"{code}.txt" for code in languages)]
        write_pharaoh(names[0], found)
        for side, path in enumerate(names[1:]):
            with line_writer(path) as writer:
                for pair in pairs:
                    writer.write(" ".join(pair[side]))
        if aligner is None:
            names.append(model.save(out / FILE))
        facts = _facts(model, counts.facts(), found, method, scores)
        write_json(out / "metrics.json", facts)
        for path in [*names, out / "metrics.json"]:
            run.add_output(path)
    shown = f"{facts['links']:,} links in {counts.used:,} of {counts.pairs:,} sentence pairs"
    if scores is not None:
        shown += (
            f"; AER {scores.error_rate:.3f}, precision {scores.precision:.3f}, recall {scores.recall:.3f}, "
            f"F1 {scores.f1:.3f}"
        )
    output.result({"out": str(out), **facts}, Text(shown))
    if counts.used < counts.pairs:
        output.say(f"Left out: {counts.blank} blank, {counts.one_sided} one-sided, {counts.overlong} overlong")
    output.say(f"Links, words and metrics in {out}")


def dictionary(
    out: Out,
    parallel: Parallel = None,
    langs: Langs = None,
    sentences: Count = None,
    links: Annotated[
        Path | None,
        typer.Option(
            "--links", metavar="FILE", help="Which word is which, as 0-0 1-2 (Pharaoh); left out: aligned here."
        ),
    ] = None,
    segment: Segment = None,
    aligner: Aligner = None,
    settings: Settings = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Induce a weighted dictionary, in both directions, from bitext: anchors for languages that have no dictionary.

    Writes en-fr.tsv and fr-en.tsv: word, translation, weight. Settings of the aligner are --set align.KEY=VALUE, those
    of what is kept --set keep.KEY=VALUE.
    """
    from rich.text import Text

    from isoglot.align.induced import DictionaryConfig, induce_dictionary
    from isoglot.core.config import build_config, parse_setting
    from isoglot.core.record import record_run
    from isoglot.text.dictionary import write_dictionary

    output = Output(json=json, quiet=quiet)
    if links is not None and (aligner is not None or (langs is not None and not parallel)):
        raise ConfigError("--links with --aligner or built-in sentences", remedy="the links are there already")
    if aligner is not None and any(parse_setting(each)[0][0] == "align" for each in settings or ()):
        raise ConfigError(
            "--set align.… and --aligner together", remedy="an aligner has its settings: leave --set align.… out"
        )
    config = build_config(DictionaryConfig, settings=settings or ())
    languages, files = _languages(parallel, langs)
    known = _known(aligner, languages)
    if known is not None:
        config = config.model_copy(update={"align": known.config})
    method: Segmenting = segment or ("auto" if links is None else "blanks")
    with record_run(out, command=command_line(), seed=seed, config=config, device="cpu") as run:
        for path in [*paths_of(files), *(each for each in (aligner, links) if each is not None and each.is_file())]:
            run.add_input(path)
        pairs, given = _pairs(files, languages, method, links, sentences, seed)
        if links is None or given is None:
            model = known or _learned(pairs, config.align, languages, output)
            found = list(model.stream(pairs, config.symmetry, progress=output.progress))
        else:
            found = given
        sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        facts: dict[str, Any] = {"out": str(out), "pairs": len(pairs), "links": sum(map(len, found))}
        lines = []
        for one, other in ((0, 1), (1, 0)):
            turned = found if one == 0 else [[(j, i) for i, j in each] for each in found]
            entries = induce_dictionary(sides[one], sides[other], turned, config.keep)
            name = f"{languages[one]}-{languages[other]}"
            write_dictionary(out / f"{name}.tsv", entries, layout="weighted")
            run.add_output(out / f"{name}.tsv")
            words = len({entry.source for entry in entries})
            facts[name] = {"words": words, "entries": len(entries)}
            lines.append(f"{name}: {words:,} words, {len(entries):,} entries")
    output.result(facts, Text("\n".join(lines)))
    output.say(f"Dictionaries in {out}")


def _languages(parallel: list[str] | None, langs: str | None) -> tuple[tuple[str, str], dict[str, Path] | Path]:
    if not parallel:
        if langs is None:
            raise ConfigError(MISSING, remedy=GIVE)
        return two_langs(langs), {}
    return two_sides(parallel, "--parallel", langs)


def _pairs(
    files: dict[str, Path] | Path,
    languages: tuple[str, str],
    segment: Segmenting,
    links: Path | None,
    sentences: int | None,
    seed: int,
) -> tuple[Pairs, list[Links] | None]:
    """The words of the first pairs, and their links where a file has them or the sentences are built in."""
    from isoglot.align import builtin_bitext
    from isoglot.align.segmented import read_word_pairs
    from isoglot.text.alignment import read_pharaoh

    if not files:
        bitext = builtin_bitext(languages, sentences or BUILTIN, seed=seed)
        return list(zip(bitext.source, bitext.target, strict=True)), bitext.links
    pairs = read_word_pairs(files, languages, segment)
    if links is None:
        return pairs[:sentences], None
    found = list(read_pharaoh(links))
    if len(found) != len(pairs):
        raise InputError(
            f"{len(found)} lines of links for {len(pairs)} sentence pairs",
            remedy="give one line of links, even a blank one, for each pair",
            file=links,
        )
    return pairs[:sentences], found[:sentences]


def _known(path: Path | None, languages: tuple[str, str]) -> WordAligner | None:
    """The aligner that was named, if one was."""
    from isoglot.align import WordAligner

    if path is None:
        return None
    model = WordAligner.load(path)
    if model.languages not in (None, languages):
        raise ConfigError(
            f"the aligner is for {' and '.join(model.languages or ())}, the text is {' and '.join(languages)}",
            remedy="name the languages in the aligner's order, or train one",
        )
    return model


def _learned(pairs: Pairs, config: WordAlignConfig, languages: tuple[str, str], output: Output) -> WordAligner:
    from isoglot.align import train_aligner
    from isoglot.core.compiled import COMPILED

    if not COMPILED:
        output.say("numba is not installed, so this takes a hundred times as long; pip install 'isoglot[static]'")
    return train_aligner(pairs, config, languages=languages, progress=output.progress)


def _facts(
    model: WordAligner, counts: dict[str, int], found: list[Links], method: str, scores: LinkScores | None
) -> dict[str, Any]:
    return {
        "pairs": counts,
        "method": method,
        "links": sum(map(len, found)),
        "tension": {"forward": model.forward.tension, "backward": model.backward.tension},
        "log_likelihood_a_word": {"forward": model.forward.likelihoods, "backward": model.backward.likelihoods},
        "scores": None if scores is None else scores.facts(),
    }
