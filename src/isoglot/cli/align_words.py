"""``isoglot align words``: words in their contexts, by the words they are linked to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.align_bitext import Aligner, known_aligner, learned_aligner
from isoglot.cli.align_run import (
    BUILTIN,
    AllowLeak,
    Count,
    Method,
    Normalize,
    Parallel,
    Source,
    Target,
    TestParallel,
    align_config,
    run_alignment,
)
from isoglot.cli.inputs import Langs, paths_of, two_bitexts
from isoglot.cli.options import Debug, Device, Json, LayerList, Out, Quiet, Seed, Settings, Weights, parse_layers
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.align import Alignment, Bitext, EncoderAligner, WordAligner
    from isoglot.align.words.bitext import Segmenting
    from isoglot.model import EncoderLike

    Files = dict[str, Path] | Path


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command(
        "words",
        epilog="Example: isoglot align words runs/en runs/fr --parallel en=en.txt --parallel fr=fr.txt --out map/",
    )(words)


def words(
    out: Out,
    source: Source = "isoglot-mini",
    target: Target = None,
    parallel: Parallel = None,
    links: Annotated[
        Path | None,
        typer.Option(
            "--links",
            metavar="FILE",
            help="Which word is which, as 0-0 1-2 (Pharaoh), a line a pair. Default: aligned.",
        ),
    ] = None,
    aligner: Aligner = None,
    segment: Annotated[
        Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"] | None,
        typer.Option("--segment", help="How text is cut into words, without --links. Default: auto."),
    ] = None,
    test_parallel: TestParallel = None,
    test_links: Annotated[
        Path | None,
        typer.Option("--test-links", metavar="FILE", help="The links of --test-parallel. Default: aligned, too."),
    ] = None,
    langs: Langs = None,
    sentences: Count = None,
    kept: Annotated[
        Literal["one", "all"], typer.Option("--kept", help="Links of words with one partner only, or all.")
    ] = "one",
    layers: LayerList = "all",
    method: Method = "procrustes",
    normalize: Normalize = None,
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align words in their contexts, from bitext or the built-in gold, in every layer.

    Without --links, words are linked as align links does, and what both directions say is taken; --aligner is one that
    it wrote, for other settings or links by a model. Pairs that repeat a sentence of an earlier one are left out.
    """
    from isoglot.align.words.word_aligner import aligner_path

    output = Output(json=json, quiet=quiet)
    config = align_config(method, normalize, allow_leak, seed, settings)
    languages, files, tests = two_bitexts(parallel, test_parallel, langs)
    given = {"links": links, "aligner": aligner, "segment": segment, "test-links": test_links}
    _check_together(languages, files, tests, given)
    known = known_aligner(aligner, languages, device=device)

    def work(one: EncoderLike, other: EncoderLike, scratch: Path, more: dict[str, Any]) -> Alignment:
        from dataclasses import replace

        from isoglot.align import align_words, builtin_bitext, read_bitext

        linked_by: dict[str, Any] = {}
        if not files:
            count = sentences or BUILTIN
            pairs = [builtin_bitext(languages, count, seed=seed)]
            pairs.append(builtin_bitext(languages, max(1, count // 4), split="test", seed=seed))
        elif links is not None:
            pairs = [read_bitext(files, languages, links).first(sentences)]
            pairs += [read_bitext(tests, languages, test_links)] if test_links is not None else []
        else:
            given = tests if test_links is None else {}
            pairs, linked_by = _linked(files, given, languages, segment or "auto", sentences, known, output)
            linked_by["aligner"] = "learned here" if aligner is None else str(aligner)
            pairs += [read_bitext(tests, languages, test_links)] if test_links is not None else []
        found = align_words(
            one, other, *pairs, languages=languages, layers=parse_layers(layers), links=kept, scratch=scratch, **more
        )
        return replace(found, facts={**found.facts, "linked_by": linked_by}) if linked_by else found

    named = [links, test_links, None if aligner is None else aligner_path(aligner)]
    inputs = [*paths_of(files, tests), *(each for each in named if each is not None)]
    run_alignment(work, (source, target), out, config, inputs, device, output)


def _check_together(languages: tuple[str, str], files: Files, tests: Files, options: dict[str, Any]) -> None:
    """Refuse options that do not go together, or would be ignored."""
    links, test_links = options["links"], options["test-links"]
    if links is not None and not files:
        raise ConfigError(
            "--links without --parallel", remedy="give both, or neither and --langs en,fr", code="config.missing-option"
        )
    if test_links is not None and not tests:
        raise ConfigError(
            "--test-links without --test-parallel", remedy="give both, or neither", code="config.missing-option"
        )
    if tests and links is not None and test_links is None:
        raise ConfigError(
            "--links and --test-parallel, but no --test-links",
            remedy="give the test's links, too",
            code="config.missing-option",
        )
    if test_links is not None and isinstance(tests, dict) and tuple(tests) != languages:
        raise ConfigError(
            f"--test-parallel names {' and '.join(tests)}, the text is {' and '.join(languages)}",
            remedy="name them in the same order: --test-links are read that way round",
            code="config.other-language",
        )
    for name in ("aligner", "segment"):
        if options[name] is not None and links is not None:
            raise ConfigError(
                f"--{name} and --links together",
                remedy="the links are there already: leave one out",
                code="config.conflicting-options",
            )
        if options[name] is not None and not files:
            raise ConfigError(
                f"--{name} with built-in sentences",
                remedy="leave it out: their links are known",
                code="config.conflicting-options",
            )


def _linked(
    files: Files,
    tests: Files,
    languages: tuple[str, str],
    segment: Segmenting,
    sentences: int | None,
    aligner: WordAligner | EncoderAligner | None,
    output: Output,
) -> tuple[list[Bitext], dict[str, Any]]:
    """The bitexts to learn from and, if there is one, to score on, with links; and how they were made."""
    from isoglot.align import WordAlignConfig, linked_bitext
    from isoglot.align.words.bitext import read_word_pairs
    from isoglot.align.words.indexed_bitext import PairCounts

    given = [read_word_pairs(files, languages, segment, sentences)]
    if tests:
        given.append(read_word_pairs(tests, languages, segment))
    made = aligner or learned_aligner(given[0], WordAlignConfig(), languages, output)
    counts = PairCounts()
    pairs = [linked_bitext(each, made, counts=counts, progress=output.progress) for each in given]
    facts = {
        "method": "intersection",
        "config": made.config.model_dump(mode="json"),
        **made.origin(),
        "pairs": counts.facts(),
        "links": sum(len(each) for part in pairs for each in part.links),
    }
    return pairs, facts
