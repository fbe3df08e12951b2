"""A model with a fix, as a folder that sentence-transformers and transformers open.

The fix becomes a ``Dense`` module without activation, followed by ``Normalize``, after the modules that the model has.
Its encoder is at the top of the folder as before, for ``AutoModel.from_pretrained``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError
from isoglot.core.files import read_json, write_bytes
from isoglot.diagnose.repair.treatments import unit_rows
from isoglot.model.hf.export import export_to_hf
from isoglot.model.hf.sentence_transformers import MODULES
from isoglot.model.load import encoder_folder, load_encoder, load_native_encoder
from isoglot.represent import extract

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.diagnose.repair.treatments import Affine

POOLINGS = {"mean-all": "mean_tokens", "first": "cls_token", "max": "max_tokens", "last": "lasttoken"}
"""Poolings that a folder can be given, and the end of their key in the config of ``Pooling``."""
_SETTINGS = "sentence_bert_config.json"


def write_fixed(source: str | Path, fix: Affine, folder: Path, *, pool: str = "mean-all") -> None:
    """Write a model with a fix after its sentence vectors.

    Args:
        source: Folder of an encoder, a training run, a Hugging Face or sentence-transformers model, or
            ``isoglot-mini``.
        fix: The map of its sentence vectors, the same for all languages.
        folder: Folder to write to.
        pool: Pooling of a model that has no modules: ``mean-all``, ``first``, ``max`` or ``last``.

    Raises:
        ConfigError: The model is not on this machine, has no counterpart in transformers, or has another hidden size.
    """
    from safetensors.numpy import save

    is_native = encoder_folder(source) is not None
    if not is_native and not Path(source).is_dir():
        remedy = f"download it first: huggingface-cli download {source} --local-dir model/"
        raise ConfigError(f"{source} is not a folder, so its files cannot be copied", remedy, "not-supported")
    encoder = load_encoder(source, device="cpu")
    head, size = encoder.sentence_head, len(fix.offset_D)
    width = encoder.hidden_size if head is None else head.width(encoder.hidden_size)
    if size != width:
        problem = f"a fix of vectors of size {size} for a model of vectors of size {width}"
        raise ConfigError(problem, "fit it on this model", "other-size")
    with TemporaryDirectory() as scratch:
        if is_native:
            export_to_hf(load_native_encoder(source, device="cpu"), scratch)
        shutil.copytree(scratch if is_native else source, folder, dirs_exist_ok=True)
    index = folder / MODULES
    modules: list[dict[str, Any]] = read_json(index) if index.exists() else _pooled(folder, pool)
    dense: dict[str, Any] = {"in_features": size, "out_features": size, "bias": True}
    dense["activation_function"] = "torch.nn.modules.linear.Identity"
    path = f"{len(modules)}_Dense"
    weights = {"linear.weight": fix.matrix_DD.T, "linear.bias": fix.offset_D}
    stored = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}
    _write(folder / path / "config.json", dense)
    write_bytes(folder / path / "model.safetensors", save(stored, metadata={"format": "pt"}))
    _write(index, [*modules, _module(len(modules), "Dense"), _module(len(modules) + 1, "Normalize")])


def largest_difference(folder: Path, texts: Mapping[str, Sequence[str]], expected: Mapping[str, np.ndarray]) -> float:
    """Load a written folder, encode texts by language, and compare with the expected vectors (N × D), made unit."""
    encoder = load_encoder(folder, device="cpu")
    differences = []
    for code, own in texts.items():
        found = extract(encoder, own, pool="model", layers=[-1], language=code)[encoder.depth]
        differences.append(float(np.abs(found - unit_rows(expected[code])).max()))
    return max(differences)


def _pooled(folder: Path, pool: str) -> list[dict[str, Any]]:
    """Give a Hugging Face folder the modules that pool its last layer."""
    if pool not in POOLINGS:
        names = ", ".join(POOLINGS)
        raise ConfigError(f"sentence-transformers has no pooling {pool}", f"choose one of {names}", "not-supported")
    config = read_json(folder / "config.json")
    size = config.get("hidden_size") or config["dim"]
    chosen = {f"pooling_mode_{key}": name == pool for name, key in POOLINGS.items()}
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": size, **chosen})
    longest = load_encoder(folder, device="cpu").max_length
    _write(folder / _SETTINGS, {"max_seq_length": min(longest, 512), "do_lower_case": False})
    return [_module(0, "Transformer", ""), _module(1, "Pooling")]


def _module(number: int, kind: str, path: str | None = None) -> dict[str, Any]:
    path = f"{number}_{kind}" if path is None else path
    return {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}


def _write(path: Path, value: Any) -> None:  # noqa: ANN401 - what JSON holds
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, (json.dumps(value, indent=2) + "\n").encode())
