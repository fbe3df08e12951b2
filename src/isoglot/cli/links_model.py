"""The options of ``isoglot align links`` that find links by an encoder's vectors, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.options import MODEL, open_run
from isoglot.core.errors import ConfigError, shown
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.align import EncoderAligner, EncoderLinksConfig
    from isoglot.align.words.indexed_bitext import Pair
    from isoglot.align.words.layer_choice import LayerChoice
    from isoglot.cli.output import Output
    from isoglot.text.formats.pharaoh import GoldLinks, Links

PAGE, TABLE = "index.html", "layers.csv"
BUILTIN_DEV = 500  # built-in sentences that a layer is chosen on

Model = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", callback=open_run, help=f"Link by its vectors. {MODEL}"),
]
Layer = Annotated[
    str | None,
    typer.Option(
        "--layer", metavar="auto|N", help="Whose vectors, with --model; auto, the default: the best one on gold links."
    ),
]
RuleOption = Annotated[
    Literal["auto", "argmax", "softmax"] | None,
    typer.Option("--rule", help="A word's best, or all above a threshold, with --model. Default: auto."),
]
CenterOption = Annotated[
    Literal["auto", "mean", "none"] | None,
    typer.Option("--center", help="Whether languages' means are removed, with --model. Default: auto."),
]
DevParallel = Annotated[
    list[str] | None,
    typer.Option("--dev-parallel", metavar="LANG=FILE", help="Sentences to choose a layer on, with --model; twice."),
]
DevGold = Annotated[
    Path | None,
    typer.Option("--dev-gold", metavar="FILE", help="Which word is which there, as 0-0 1-2 (Pharaoh; 1?2: possible)."),
]


def model_config(
    layer: str | None, rule: str | None, center: str | None, settings: list[str] | None
) -> EncoderLinksConfig:
    """How links are found, from the options.

    Raises:
        ConfigError: An option is not one, or they do not go together.
    """
    from isoglot.align import EncoderLinksConfig
    from isoglot.core.config import build_config

    values: dict[str, Any] = {"rule": rule, "center": center}
    if layer is not None:
        try:
            values["layer"] = layer if layer == "auto" else int(layer)
        except ValueError:
            raise ConfigError(
                f"--layer {shown(layer)} is no layer",
                remedy="write --layer auto, or a number such as --layer 4",
                code="config.malformed-option",
            ) from None
    given = {name: value for name, value in values.items() if value is not None}
    return build_config(EncoderLinksConfig, values=given, settings=settings or ())


def fitted(
    model: str,
    config: EncoderLinksConfig,
    pairs: Sequence[Pair],
    gold: list[GoldLinks] | None,
    *,
    languages: tuple[str, str],
    device: str,
    scratch: Path,
    output: Output,
) -> EncoderAligner:
    """The aligner of an encoder, fitted on some pairs."""
    from tempfile import TemporaryDirectory

    from isoglot.align import fit_encoder_aligner
    from isoglot.model import load_encoder

    encoder = load_encoder(model, device=device)
    path = Path(model).expanduser()
    sure, possible = (None, None) if gold is None else sure_and_possible(gold)
    with TemporaryDirectory(dir=scratch, prefix=".vectors-") as folder:
        return fit_encoder_aligner(
            encoder,
            pairs,
            sure,
            config,
            possible=possible,
            languages=languages,
            model=str(path.resolve()) if path.is_dir() else model,
            scratch=Path(folder),
            progress=output.progress,
        )


def sure_and_possible(gold: list[GoldLinks]) -> tuple[list[Links], list[Links]]:
    """The two kinds of gold links, each by sentence pairs."""
    return [each.sure for each in gold], [each.possible for each in gold]


def write_choice(choice: LayerChoice, languages: tuple[str, str], out: Path, facts: tuple[str, ...]) -> None:
    """Write all that was tried as a table and the page with the figure."""
    from isoglot.core.files import write_text
    from isoglot.report.link_layers import link_layers_page

    write_text(out / TABLE, Table.from_rows([each.facts() for each in choice.tried]).csv())
    write_text(out / PAGE, link_layers_page(choice, languages, facts=facts))


def choice_in_words(choice: LayerChoice) -> str:
    """What was chosen, in one sentence."""
    from isoglot.report import link_layers

    return link_layers.choice_in_words(choice)


def choice_table(choice: LayerChoice) -> Table:
    """AER of every layer by both rules, with and without means."""
    from isoglot.align.words.encoder_links import CENTERS, RULES

    kinds = [(rule, center) for rule in RULES for center in CENTERS]
    columns = [
        Column(f"{rule} {center}", title="centered" if center == "mean" else "as it is", above=rule, format=".3f")
        for rule, center in kinds
    ]
    tried = list(zip(*(choice.of_layers(rule, center) for rule, center in kinds), strict=True))
    rows = [(row[0].way.layer, *(each.scores.error_rate for each in row)) for row in tried]
    best = tuple(place for place, row in enumerate(rows) if row[0] == choice.chosen.way.layer)
    return Table((Column("layer"), *columns), tuple(rows), bold_rows=best)
