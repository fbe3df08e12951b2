"""``isoglot export``: an encoder as a Hugging Face folder, or as a small folder of isoglot's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.inputs import option
from isoglot.cli.options import ModelArgument, Weights
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.model import Encoder

EXAMPLE = "Example: isoglot export runs/sep hf/sep-fr --lang fr"


def export(
    *,
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write: a new or empty folder.")],
    layout: Annotated[
        Literal["hf", "packed"],
        typer.Option(
            "--format",
            help="hf: a BERT or ModernBERT for from_pretrained; packed: an isoglot folder, a fifth of the size.",
        ),
    ] = "hf",
    lang: Annotated[
        str | None, option("--lang", "LANG", "hf: whose view, where languages have private parts or ids.")
    ] = None,
    means: Annotated[
        Path | None, option("--means", "DIR", "packed: means from isoglot steer fit, to go with it.")
    ] = None,
    step: Annotated[
        float | None,
        option("--step", "NUMBER", "packed: quantization step as a share of a row's spread. Default: 0.1."),
    ] = None,
    weights: Weights = "best",
    output: Output,
) -> None:
    """Write an encoder as a BERT or ModernBERT with its tokenizer, for from_pretrained to open; or packed small.

    The private parts of a language become an ordinary model over all ids, so an encoder with private parts is one
    folder for each language.

    --format packed stores about 5.7 bits a weight; the error it makes is printed. Means go along without covariances.
    """
    from isoglot.model.load import load_native_encoder

    other = "packed" if layout == "hf" else "hf"
    for name, value in {"--means": means, "--step": step, "--lang": lang}.items():
        if value is not None and (name == "--lang") != (layout == "hf"):
            remedy = f"leave it out, or add --format {other}"
            raise ConfigError(f"{name} is for --format {other}", remedy, "conflicting-options")
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

    from isoglot.model.folder import read_index
    from isoglot.model.load import encoder_folder
    from isoglot.steer.language_files import export_packed, own_known, read_known

    origin = encoder_folder(model)
    index = {} if origin is None else read_index(origin)
    if step is not None and index.get("form") == "packed":
        problem = f"--step {step:g}, and {model} is packed already: its weights stay what they are"
        remedy = "leave it out, or export the encoder it was packed from"
        raise ConfigError(problem, remedy, "conflicting-options")
    known = own_known(model) if means is None else read_known(means)
    found = export_packed(encoder, folder, known=known, about=index.get("about", {}), step=step)
    languages = [] if known is None else list(known[0].languages)
    facts = {name: getattr(found, name) for name in ("size", "weights", "bits", "error")}
    files = [str(path.relative_to(folder.absolute())) for path in found.files]
    lines = [
        f"{found.weights:,} weights written to {folder}: {found.size:,} bytes in all, {found.bits:.2f} bits a weight",
        f"Matrices moved by {100 * found.error:.2g} % of their root mean square",
    ]
    if languages:
        lines.append(f"With the means of {', '.join(languages)}, without covariances")
    output.result({"folder": str(folder), **facts, "means": languages, "files": files}, Text("\n".join(lines)))
    output.say(f"It opens like any encoder: isoglot diagnose {folder}")
