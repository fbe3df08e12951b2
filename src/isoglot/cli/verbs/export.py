"""``isoglot export``: an encoder as a Hugging Face folder, or as a small folder of isoglot's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from isoglot.cli.declaration import argument, command, option
from isoglot.cli.options import ModelArgument, Weights
from isoglot.cli.output import Output
from isoglot.core.errors import ConfigError


@command("export runs/sep hf/sep-fr --lang fr")
def export(
    *,
    model: ModelArgument,
    folder: Annotated[Path, argument("DIR", "Output folder: new or empty.")],
    layout: Annotated[Literal["hf", "packed"], option(name="--format")] = "hf",
    lang: Annotated[str | None, option("LANG", "hf: language to export, if there are private parts or ids.")] = None,
    means: Annotated[Path | None, option("DIR", "packed: means from isoglot steer fit, to go with it.")] = None,
    step: Annotated[float | None, option("NUMBER")] = None,
    weights: Weights = "best",
    output: Output,
) -> None:
    """Write an encoder as a Hugging Face BERT or ModernBERT folder with its tokenizer, or as a small packed folder.

    The private parts of a language become an ordinary model over all ids, so an encoder with private parts is one
    folder for each language.

    --format packed stores about 5.7 bits a weight; the error it makes is printed. Means go along without covariances.

    Options:
        layout: hf: a BERT or ModernBERT for from_pretrained; packed: an isoglot folder, a fifth of the size.
        step: packed: quantization step as a share of a row's spread. Default: 0.1.
    """
    from isoglot.model.hf.export import export_to_hf
    from isoglot.model.load import load_native_encoder
    from isoglot.report.terminal.listings import hf_result, packed_result
    from isoglot.steer.language_files import pack_model

    other = "packed" if layout == "hf" else "hf"
    for name, value in {"--means": means, "--step": step, "--lang": lang}.items():
        if value is not None and (name == "--lang") != (layout == "hf"):
            problem, remedy = f"{name} is for --format {other}", f"leave it out, or add --format {other}"
            raise ConfigError(problem, remedy, "conflicting-options")
    encoder = load_native_encoder(model, device="cpu")
    if layout == "hf":
        files = export_to_hf(encoder, folder, lang)
        output.print(hf_result(files, folder, lang, encoder.vocabulary.exported_text(lang)))
    else:
        output.print(packed_result(*pack_model(encoder, model, folder, means=means, step=step), folder))
