"""``isoglot export``: an encoder as a Hugging Face folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.options import Debug, Json, ModelArgument, Quiet
from isoglot.cli.output import Output

EXAMPLE = "Example: isoglot export runs/sep/model hf/sep-fr --lang fr"


def export(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write: a new or empty folder.")],
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="LANG", help="Whose view, where languages have parts or ids to themselves."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write an encoder as a BERT or ModernBERT with its tokenizer, for from_pretrained to open.

    What a language has to itself is laid out as an ordinary model of all ids, so a separated encoder is one folder for
    each language.
    """
    from rich.text import Text

    from isoglot.core.errors import ConfigError
    from isoglot.core.files import read_json
    from isoglot.model import Encoder, load_encoder
    from isoglot.model.to_hf import export_to_hf

    output = Output(json=json, quiet=quiet)
    encoder = load_encoder(model, device="cpu")
    if not isinstance(encoder, Encoder):
        raise ConfigError(f"{model} is a Hugging Face model already, and none of ours", remedy="copy its folder")
    files = export_to_hf(encoder, folder, lang)
    kind = read_json(files[-1])["architectures"][0]
    found = {"folder": str(folder), "architecture": kind, "language": lang, "files": [path.name for path in files]}
    output.result(found, Text(f"{kind} written to {folder}"))
    output.say(f'Open it with transformers.AutoModelForMaskedLM.from_pretrained("{folder}")')
