"""``isoglot align dictionary``: the dictionary in bitext."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.align_bitext import Aligner, Count, Parallel, Segment, known_aligner, learned_aligner, read_pairs
from isoglot.cli.inputs import Langs, one_bitext, paths_of
from isoglot.cli.options import Debug, Json, Out, Quiet, Seed, Settings
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded, refuse_overwriting
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.text.provenance import Provenance


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command(
        "dictionary", epilog="Example: isoglot align dictionary --parallel en=en.txt --parallel fr=fr.txt --out words/"
    )(dictionary)


def dictionary(
    out: Out,
    parallel: Parallel = None,
    langs: Langs = None,
    sentences: Count = None,
    links: Annotated[
        Path | None,
        typer.Option(
            "--links", metavar="FILE", help="Which word is which, as 0-0 1-2 (Pharaoh). Default: aligned here."
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

    Writes en-fr.tsv and fr-en.tsv: word, translation, weight; and beside each, a record of the bitext. Settings of the
    aligner are --set align.KEY=VALUE, those of what is kept --set keep.KEY=VALUE.
    """
    from rich.text import Text

    from isoglot.align.words.induced_dictionary import DictionaryConfig, induce_dictionary
    from isoglot.align.words.word_aligner import aligner_path
    from isoglot.core.config import build_config, parse_setting
    from isoglot.text.formats.dictionary import write_dictionary
    from isoglot.text.provenance import write_provenance

    output = Output(json=json, quiet=quiet)
    if links is not None and (aligner is not None or (langs is not None and not parallel)):
        raise ConfigError(
            "--links with --aligner or built-in sentences",
            remedy="the links are there already",
            code="config.conflicting-options",
        )
    named = {parse_setting(each)[0][0] for each in settings or ()}
    for key in ("align", "symmetry"):
        shown_key = "align.…" if key == "align" else key
        if links is not None and key in named:
            raise ConfigError(
                f"--set {shown_key} and --links together",
                remedy=f"nothing is aligned: leave --set {shown_key} out",
                code="config.conflicting-options",
            )
    if aligner is not None and "align" in named:
        raise ConfigError(
            "--set align.… and --aligner together",
            remedy="an aligner has its settings: leave --set align.… out",
            code="config.conflicting-options",
        )
    config = build_config(DictionaryConfig, settings=settings or ())
    languages, files = one_bitext(parallel, langs)
    names = [f"{one}-{other}" for one, other in (languages, languages[::-1])]
    given = [None if aligner is None else aligner_path(aligner), links]
    read = [*paths_of(files), *(each for each in given if each is not None)]
    refuse_overwriting([out / f"{name}.tsv" for name in names], read)
    known = known_aligner(aligner, languages)
    with recorded(out, read, seed=seed, config=config, device="cpu") as run:
        if known is not None:
            align = known.config.model_dump(mode="json") | known.origin()
            run.config, run.device = config.model_dump(mode="json") | {"align": align}, known.device
        pairs, linked = read_pairs(files, languages, segment, sentences, seed, links=links)
        if links is None or linked is None:
            model = known or learned_aligner(pairs, config.align, languages, output)
            found = list(model.stream(pairs, config.symmetry, progress=output.progress))
        else:
            found = [each.sure for each in linked]
        sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        origin = _bitext_provenance(paths_of(files), languages, seed)
        facts: dict[str, Any] = {"out": str(out), "pairs": len(pairs), "links": sum(map(len, found))}
        lines = []
        for name, one, other in zip(names, (0, 1), (1, 0), strict=True):
            turned = found if one == 0 else [[(j, i) for i, j in each] for each in found]
            entries = induce_dictionary(sides[one], sides[other], turned, config.keep)
            write_dictionary(run.folder / f"{name}.tsv", entries, layout="weighted")
            write_provenance(run.folder / f"{name}.tsv", origin)
            words = len({entry.source for entry in entries})
            facts[name] = {"words": words, "entries": len(entries)}
            lines.append(f"{name}: {words:,} words, {len(entries):,} entries")
    output.result(facts, Text("\n".join(lines)))
    if not all(facts[name]["entries"] for name in names):
        lower = "min_count=1" if config.keep.min_count > 1 else "min_agreement=0 --set keep.min_share=0"
        output.remark(
            f"no translation is common enough to be kept; give more text, or ask for less: --set keep.{lower}"
        )
    output.say(f"Dictionaries in {out}")


def _bitext_provenance(paths: list[Path], languages: tuple[str, str], seed: int) -> Provenance:
    """Where the sentences come from that a dictionary was induced from."""
    from isoglot.languages.builtin import builtin_provenance
    from isoglot.text.provenance import derived, merged

    if not paths:
        return merged(builtin_provenance("built-in sentences", code, seed) for code in languages)
    return derived(paths, {"step": "induce dictionary", "languages": list(languages)})
