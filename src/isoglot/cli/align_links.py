"""``isoglot align links``: which word is which in bitext."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.align_bitext import Aligner, Count, Parallel, Segment, known_aligner, learned_aligner, read_pairs
from isoglot.cli.align_run import AllowLeak
from isoglot.cli.inputs import Langs, is_table, one_bitext, paths_of, two_sides
from isoglot.cli.links_model import (
    BUILTIN_DEV,
    PAGE,
    TABLE,
    CenterOption,
    DevGold,
    DevParallel,
    Layer,
    Model,
    RuleOption,
    choice_in_words,
    choice_table,
    fitted,
    model_config,
    sure_and_possible,
    write_choice,
)
from isoglot.cli.options import Debug, Device, Json, Out, Quiet, Seed, Settings, Weights
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import recorded, refuse_overwriting
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from isoglot.align import EncoderAligner, LinkScores, WordAligner
    from isoglot.align.words.bitext import Segmenting
    from isoglot.align.words.indexed_bitext import PairCounts
    from isoglot.align.words.layer_choice import LayerChoice
    from isoglot.cli.align_bitext import Pairs
    from isoglot.text.formats.pharaoh import GoldLinks, Links


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("links", epilog="Example: isoglot align links --parallel en=en.txt --parallel fr=fr.txt --out links/")(
        links
    )


def links(
    out: Out,
    parallel: Parallel = None,
    langs: Langs = None,
    sentences: Count = None,
    segment: Segment = None,
    aligner: Aligner = None,
    method: Annotated[
        Literal["intersection", "union", "grow-diag", "grow-diag-final-and"] | None,
        typer.Option(
            "--method",
            help="How the two directions are made one. Default: grow-diag-final-and, with a model intersection.",
        ),
    ] = None,
    model: Model = None,
    layer: Layer = None,
    rule: RuleOption = None,
    center: CenterOption = None,
    dev_parallel: DevParallel = None,
    dev_gold: DevGold = None,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE", help="Links to score on (Pharaoh; 1?2: possible), a line a pair."),
    ] = None,
    allow_leak: AllowLeak = False,
    settings: Settings = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Find which word translates which in bitext, and link the words of every pair.

    It is learned from the bitext itself or, with --model, read off the vectors of an encoder; the layer is then chosen
    on --dev-parallel and --dev-gold. Writes links.txt (Pharaoh), the words of both sides with blanks between them, the
    aligner and metrics.json. What it writes is what align words and align dictionary read.
    """
    from isoglot.align import score_links
    from isoglot.align.words.indexed_bitext import PairCounts
    from isoglot.align.words.word_aligner import FILE, aligner_path
    from isoglot.core.files import write_json

    output = Output(json=json, quiet=quiet)
    of_dev: dict[str, Any] = {"allow-leak": allow_leak, "dev-parallel": dev_parallel, "dev-gold": dev_gold}
    _check_together(aligner, model, settings, {"layer": layer, "rule": rule, "center": center, **of_dev})
    config: Any = _config(model if aligner is None else None, layer, rule, center, settings)
    languages, files = one_bitext(parallel, langs)
    if not files:
        _refuse_gold({"gold": gold, "dev-gold": dev_gold})
    dev_files = _dev_files(dev_parallel, languages)
    leaked: int | None = None
    given = [None if aligner is None else aligner_path(aligner), gold, dev_gold]
    read = [*paths_of(files), *paths_of(dev_files), *(each for each in given if each is not None)]
    refuse_overwriting([*_link_files(out, languages), out / TABLE, out / PAGE], read)
    known = known_aligner(aligner, languages, model, device)
    config = config if known is None else known.config
    with recorded(out, read, seed=seed, config=config, device="cpu") as run:
        pairs, right = read_pairs(files, languages, segment, sentences, seed, gold=gold)
        if known is None and model is not None:
            tried_on: tuple[Pairs, list[GoldLinks] | None] = (pairs, None)
            if dev_files or not files:
                tried_on = _dev(dev_files, languages, segment, dev_gold, seed)
            leaked = 0 if right is None or tried_on[1] is None else _leaked(tried_on[0], pairs, allow=allow_leak)
            known = fitted(
                model, config, *tried_on, languages=languages, device=device, scratch=run.folder, output=output
            )
        made = known or learned_aligner(pairs, config, languages, output)
        choice = getattr(made, "choice", None)
        run.device, run.config = made.device, {**(run.config or {}), **made.origin()}
        counts = PairCounts()
        how = made.usual if method is None else method
        found = list(made.stream(pairs, how, counts=counts, progress=output.progress))
        scores = None if right is None else score_links(found, *sure_and_possible(right))
        _write_links(run.folder, languages, pairs, found)
        if choice is not None:
            write_choice(choice, languages, run.folder, (f"model {model}", *page_facts()))
        if aligner is None:
            made.save(run.folder / FILE)
        facts = _facts(made, counts.facts(), found, how, scores) | {"leaked": leaked}
        write_json(run.folder / "metrics.json", facts)
    output.result({"out": str(out), **facts}, _shown(counts, facts, scores, choice))
    if counts.used < counts.pairs:
        output.say(f"Left out: {counts.blank} blank, {counts.one_sided} one-sided, {counts.overlong} overlong")
    figure = "" if choice is None else f"{choice_in_words(choice)} The figure is in {out / PAGE}\n"
    output.say(f"{figure}Links, words and metrics in {out}")


def _check_together(
    aligner: Path | None, model: str | None, settings: list[str] | None, of_model: dict[str, Any]
) -> None:
    """Refuse options that would be ignored."""
    if aligner is not None and settings:
        raise ConfigError(
            "--set and --aligner together",
            remedy="an aligner has its settings: leave --set out",
            code="config.conflicting-options",
        )
    for option, value in of_model.items():
        if value and aligner is not None:
            raise ConfigError(
                f"--{option} and --aligner together",
                remedy="an aligner has its settings: leave it out",
                code="config.conflicting-options",
            )
        if value and model is None:
            raise ConfigError(
                f"--{option} without --model", remedy="name an encoder, or leave it out", code="config.missing-option"
            )
    if bool(of_model["dev-parallel"]) != bool(of_model["dev-gold"]):
        raise ConfigError(
            "--dev-parallel and --dev-gold go together",
            remedy="give both, or neither and --layer N",
            code="config.missing-option",
        )


def _refuse_gold(options: dict[str, Path | None]) -> None:
    for option, value in options.items():
        if value is not None:
            remedy = "leave it out: they have their own, and are scored on it"
            raise ConfigError(f"--{option} with built-in sentences", remedy=remedy, code="config.conflicting-options")


def _config(
    model: str | None, layer: str | None, rule: str | None, center: str | None, settings: list[str] | None
) -> Any:  # noqa: ANN401 - of either kind of aligner
    from isoglot.align import WordAlignConfig
    from isoglot.core.config import build_config

    if model is not None:
        return model_config(layer, rule, center, settings)
    return build_config(WordAlignConfig, settings=settings or ())


def _dev_files(named: list[str] | None, languages: tuple[str, str]) -> dict[str, Path] | Path:
    if not named:
        return {}
    others, files = two_sides(named, "--dev-parallel", languages if is_table(named) else None)
    if others != languages:
        raise ConfigError(
            f"--dev-parallel names {' and '.join(others)}, the text is {' and '.join(languages)}",
            remedy="name the same two languages in the same order: links are read that way round",
            code="config.other-language",
        )
    return files


def _leaked(dev: Pairs, scored: Pairs, *, allow: bool) -> int:
    """How many of the scored pairs a layer is chosen on; more than none are refused, unless allowed."""
    from isoglot.retrieve.leaks import refuse_leak

    known, asked = (
        [f"{' '.join(one)} ||| {' '.join(other)}" for one, other in pairs if one and other] for pairs in (dev, scored)
    )
    refuse_leak(known, asked, "sentence pairs", allow=allow, where="among those a layer is chosen on")
    chosen_on = frozenset(known)
    return sum(each in chosen_on for each in asked)


def _dev(
    files: dict[str, Path] | Path, languages: tuple[str, str], segment: Segmenting | None, gold: Path | None, seed: int
) -> tuple[Pairs, list[GoldLinks]]:
    """Sentence pairs to choose a layer on, with their gold links."""
    sentences = None if files else BUILTIN_DEV
    pairs, found = read_pairs(files, languages, segment, sentences, seed, gold=gold, split="dev")
    return pairs, found or []


def _link_files(out: Path, languages: tuple[str, str]) -> list[Path]:
    return [out / "links.txt", *(out / f"{code}.txt" for code in languages)]


def _write_links(out: Path, languages: tuple[str, str], pairs: Pairs, found: list[Links]) -> None:
    """The links, and the words of both sides with blanks between them."""
    from isoglot.text.formats.lines import line_writer
    from isoglot.text.formats.pharaoh import write_pharaoh

    names = _link_files(out, languages)
    write_pharaoh(names[0], found)
    for side, path in enumerate(names[1:]):
        with line_writer(path) as writer:
            for pair in pairs:
                writer.write(" ".join(pair[side]))


def _facts(
    aligner: WordAligner | EncoderAligner,
    counts: dict[str, int],
    found: list[Links],
    method: str,
    scores: LinkScores | None,
) -> dict[str, Any]:
    return {
        "pairs": counts,
        "method": method,
        "links": sum(map(len, found)),
        **aligner.facts(),
        "scores": None if scores is None else scores.facts(),
    }


def _shown(
    counts: PairCounts, facts: dict[str, Any], scores: LinkScores | None, choice: LayerChoice | None
) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    text = f"{facts['links']:,} links in {counts.used:,} of {counts.pairs:,} sentence pairs"
    if scores is not None:
        text += (
            f"; AER {scores.error_rate:.3f}, precision {scores.precision:.3f}, recall {scores.recall:.3f}, "
            f"F1 {scores.f1:.3f}"
        )
    if facts["leaked"]:
        text += f"\nMind the scores: {facts['leaked']:,} of these pairs chose the layer"
    return Text(text) if choice is None else Group(choice_table(choice), Text(text))
