"""``isoglot export``: an encoder as a Hugging Face folder, or as a small one of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.options import Debug, Json, ModelArgument, Quiet, Weights
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.model import Encoder

EXAMPLE = "Example: isoglot export runs/sep hf/sep-fr --lang fr"


def export(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write: a new or empty folder.")],
    layout: Annotated[
        Literal["hf", "packed"],
        typer.Option(
            "--format",
            help="hf: a BERT or ModernBERT for from_pretrained; packed: a folder of ours, a fifth of the size.",
        ),
    ] = "hf",
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="LANG", help="hf: whose view, where languages have parts or ids to themselves."),
    ] = None,
    means: Annotated[
        Path | None,
        typer.Option("--means", metavar="DIR", help="packed: what isoglot steer fit wrote, to go with it."),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(
            "--step", metavar="NUMBER", help="packed: how coarse weights are, as a share of a row's spread; else 0.1."
        ),
    ] = None,
    weights: Weights = "best",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write an encoder as a BERT or ModernBERT with its tokenizer, for from_pretrained to open; or packed small.

    What a language has to itself is laid out as an ordinary model of all ids, so a separated encoder is one folder for
    each language.

    --format packed stores about 5.7 bits a weight; what it changes is printed. Means go along without covariances.
    """
    from isoglot.model.load import load_native_encoder

    output = Output(json=json, quiet=quiet)
    own = {"--means": means, "--step": step} if layout == "hf" else {"--lang": lang}
    for option, value in own.items():
        if value is not None:
            other = "packed" if layout == "hf" else "hf"
            raise ConfigError(
                f"{option} is for --format {other}",
                remedy=f"leave it out, or add --format {other}",
                code="config.conflicting-options",
            )
    encoder = load_native_encoder(model, device="cpu")
    if layout == "hf":
        _to_hf(output, encoder, folder, lang)
    else:
        _to_packed(output, encoder, model, folder, means, step)


def _to_hf(output: Output, encoder: Encoder, folder: Path, lang: str | None) -> None:
    from rich.text import Text

    from isoglot.core.files import read_json
    from isoglot.model.hf.export import export_to_hf

    files = export_to_hf(encoder, folder, lang)
    kind = read_json(files[-1])["architectures"][0]
    found = {"folder": str(folder), "architecture": kind, "language": lang, "files": [path.name for path in files]}
    text = encoder.vocabulary.exported_text(lang)
    if text.processing:
        found["text_processing"] = {one.language: one.facts() for one in text.processing}
    output.result(found, Text(f"{kind} written to {folder}"))
    if text.processing:
        output.say(str(text))
    output.say(f'Open it with transformers.AutoModelForMaskedLM.from_pretrained("{folder}")')


def _to_packed(
    output: Output, encoder: Encoder, model: str, folder: Path, means: Path | None, step: float | None
) -> None:
    from rich.text import Text

    from isoglot.model.folder import read_about, read_index
    from isoglot.model.load import encoder_folder
    from isoglot.steer.language_files import export_packed, own_known, read_known

    origin = encoder_folder(model)
    if step is not None and origin is not None and read_index(origin).get("form") == "packed":
        raise ConfigError(
            f"--step {step:g}, and {model} is packed already: its weights stay what they are",
            remedy="leave it out, or export the encoder it was packed from",
            code="config.conflicting-options",
        )
    about = {} if origin is None else read_about(origin)
    known = own_known(model) if means is None else read_known(means)
    found = export_packed(encoder, folder, known=known, about=about, step=step)
    value = {
        "folder": str(folder),
        "size": found.size,
        "weights": found.weights,
        "bits": found.bits,
        "error": found.error,
        "means": [] if known is None else list(known[0].languages),
        "files": [str(path.relative_to(folder.absolute())) for path in found.files],
    }
    lines = [
        f"{found.weights:,} weights written to {folder}: {found.size:,} bytes in all, {found.bits:.2f} bits a weight",
        f"Matrices moved by {100 * found.error:.2g} % of their root mean square",
    ]
    if known is not None:
        lines.append(f"With the means of {', '.join(known[0].languages)}, without covariances")
    output.result(value, Text("\n".join(lines)))
    output.say(f"It opens like any encoder: isoglot diagnose {folder}")
