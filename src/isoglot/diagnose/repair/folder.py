"""A model with a fix, as a folder that sentence-transformers and transformers open.

The fix becomes a ``Dense`` module without activation, followed by ``Normalize``, after the modules that the model has.
One that needs the language of a text becomes a ``Router`` with a ``Dense`` for each language:
``SentenceTransformer(folder).encode(texts, task="de")``. Without a task, and for ``encode_query`` and
``encode_document``, it takes the fallback, which needs no language.
Its encoder is at the top of the folder as before, for ``AutoModel.from_pretrained``. If the fix is that of an earlier
layer, the layers after it are left out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, check_name
from isoglot.core.files import read_json, write_bytes
from isoglot.core.optional import import_part
from isoglot.diagnose.repair.treatments import unit_rows
from isoglot.model.hf.export import export_to_hf
from isoglot.model.hf.sentence_transformers import MODULES
from isoglot.model.hf.source import hub_snapshot
from isoglot.model.load import encoder_folder, load_encoder, load_native_encoder
from isoglot.represent import extract
from isoglot.represent.extraction import sentence_pool
from isoglot.vocab.external_tokenizer import NO_CODE, quiet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.diagnose.repair.treatments import Affine
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool

POOLINGS: dict[Pool, str] = {
    "mean-all": "mean_tokens",
    "first": "cls_token",
    "max": "max_tokens",
    "last": "lasttoken",
    "weighted": "weightedmean_tokens",
}
"""Poolings that a folder can be given, and the end of their key in the config of ``Pooling``."""
_SETTINGS = "sentence_bert_config.json"
_TYPE = "sentence_transformers.models.{}"
_FALLBACK = ("other", "query", "document")  # routes of texts of unknown language, the default first


def fixed_pool(encoder: EncoderLike, asked: Pool | None = None) -> Pool:
    """The pooling of a fixed model: the modules of a sentence-transformers model, or one of ``POOLINGS``.

    Raises:
        ConfigError: It cannot be that one.
    """
    allowed: tuple[Pool, ...] = tuple(POOLINGS) if encoder.sentence_head is None else ("model",)
    own = allowed[0] if asked is None else sentence_pool(encoder, asked)
    check_name("pooling of a fixed model", own, allowed)
    return own


def hf_folder(source: str | Path, scratch: Path) -> Path:
    """The Hugging Face folder of a model: its own, a snapshot of the hub's, or an export to an empty folder.

    Raises:
        ConfigError: The model has no counterpart in transformers.
        StorageError: It is neither here nor on the hub.
    """
    if encoder_folder(source) is not None:
        export_to_hf(load_native_encoder(source, device="cpu"), scratch)
        return scratch
    folder = Path(source).expanduser()
    return folder if folder.is_dir() else hub_snapshot(str(source))


def write_first_layers(base: Path, layers: int, folder: Path) -> None:
    """Write the Hugging Face model of a folder with its first layers only, without a language modeling head.

    Raises:
        ConfigError: Its layers cannot be left out.
    """
    transformers = import_part("transformers")
    reach = {"local_files_only": True, **NO_CODE}
    with quiet(transformers):
        config = transformers.AutoConfig.from_pretrained(str(base), **reach)
        depth = getattr(config, "num_hidden_layers", None)
        if depth is None or getattr(config, "is_encoder_decoder", False):
            problem = f"layers of a {config.model_type} cannot be left out"
            raise ConfigError(problem, "fix its last layer: --set layers_tried=0", "not-supported")
        for name, value in list(vars(config).items()):
            if isinstance(value, list) and len(value) == depth:  # such as the kind of attention of each layer
                setattr(config, name, value[:layers])
        config.num_hidden_layers = layers
        model, report = transformers.AutoModel.from_pretrained(
            str(base), config=config, output_loading_info=True, **reach
        )
        weights = {name: value for name, value in model.state_dict().items() if name not in report["missing_keys"]}
        _copy(base, folder, without_weights=True)
        model.save_pretrained(folder, state_dict=weights)


def write_fixed(
    source: str | Path,
    fix: Affine,
    folder: Path,
    *,
    by_language: Mapping[str, Affine] | None = None,
    pool: str = "mean-all",
    layers: int | None = None,
) -> None:
    """Write a model with a fix after its sentence vectors.

    Args:
        source: Folder of an encoder, a training run, a Hugging Face or sentence-transformers model, ``isoglot-mini``,
            or a name on the hub.
        fix: The map of its sentence vectors, the same for all languages.
        folder: Folder to write to.
        by_language: Maps for texts of known language; ``fix`` is the fallback then.
        pool: Pooling of a model that has no modules: ``mean-all``, ``first``, ``max``, ``last`` or ``weighted``.
        layers: Number of layers to keep. Default: all.

    Raises:
        ConfigError: The model has no counterpart in transformers, or another hidden size.
        StorageError: It is neither here nor on the hub.
    """
    encoder = load_encoder(source, device="cpu")
    head, size = encoder.sentence_head, len(fix.offset_D)
    width = encoder.hidden_size if head is None else head.width(encoder.hidden_size)
    if size != width:
        problem = f"a fix of vectors of size {size} for a model of vectors of size {width}"
        raise ConfigError(problem, "fit it on this model", "other-size")
    with TemporaryDirectory() as scratch:
        base = hf_folder(source, Path(scratch))
        if layers is None or layers == encoder.depth:
            _copy(base, folder)
        else:
            write_first_layers(base, layers, folder)
    index = folder / MODULES
    modules: list[dict[str, Any]] = read_json(index) if index.exists() else _pooled(folder, pool)
    kind = "Router" if by_language else "Dense"
    module = _module(len(modules), kind)
    if by_language:
        _write_router(folder / module["path"], by_language, fix)
    else:
        _write_dense(folder / module["path"], fix)
    _write(index, [*modules, module, _module(len(modules) + 1, "Normalize")])


_NOT_COPIED = (".*", "onnx", "openvino", "*.h5", "*.msgpack", "*.ot", "run.json", "fix.json", "index.html", "tables")
_WEIGHTS = ("*.safetensors", "*.bin", "*.safetensors.index.json", "*.bin.index.json")


def _copy(base: Path, folder: Path, *, without_weights: bool = False) -> None:
    """Copy the files that transformers and sentence-transformers read, without other frameworks' weights."""
    left_out = shutil.ignore_patterns(*_NOT_COPIED, *(_WEIGHTS if without_weights else ()))
    shutil.copytree(base, folder, dirs_exist_ok=True, ignore=left_out)


def _write_router(folder: Path, by_language: Mapping[str, Affine], fallback: Affine) -> None:
    parts = {code: f"{code}_0_Dense" for code in by_language} | dict.fromkeys(_FALLBACK, "other_0_Dense")
    for code, each in {**by_language, _FALLBACK[0]: fallback}.items():
        _write_dense(folder / parts[code], each)
    config = {
        "types": dict.fromkeys(parts.values(), _TYPE.format("Dense")),
        "structure": {route: [name] for route, name in parts.items()},
        "parameters": {"default_route": _FALLBACK[0], "allow_empty_key": True},
    }
    _write(folder / "router_config.json", config)


def _write_dense(folder: Path, fix: Affine) -> None:
    from safetensors.numpy import save

    size = len(fix.offset_D)
    config: dict[str, Any] = {"in_features": size, "out_features": size, "bias": True}
    _write(folder / "config.json", config | {"activation_function": "torch.nn.modules.linear.Identity"})
    weights = {"linear.weight": fix.matrix_DD.T, "linear.bias": fix.offset_D}
    stored = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}
    write_bytes(folder / "model.safetensors", save(stored, metadata={"format": "pt"}))


def largest_difference(folder: Path, texts: Mapping[str, Sequence[str]], expected: Mapping[str, np.ndarray]) -> float:
    """Load a written folder, encode texts by language, and compare with the expected vectors (N × D), made unit.

    Texts under a name that is no route, such as ``und``, are encoded by the fallback.
    """
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
    return {"idx": number, "name": str(number), "path": path, "type": _TYPE.format(kind)}


def _write(path: Path, value: Any) -> None:  # noqa: ANN401 - what JSON holds
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, (json.dumps(value, indent=2) + "\n").encode())
