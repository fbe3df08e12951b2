"""An encoder as a folder: its config, its weights and its vocabulary.

::

    encoder.json             config, ids of each language where tables are private, hashes; written last
    encoder.safetensors      the weights
    vocabulary/              what its ids mean
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.config import build_config
from isoglot.core.errors import CorruptFileError, InputError, StorageError
from isoglot.core.files import check_file, file_hash, read_json, writable_folder, write_bytes, write_json
from isoglot.vocab.ranges import from_ranges, to_ranges
from isoglot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoglot.model.encoder import Encoder

INDEX = "encoder.json"
WEIGHTS = "encoder.safetensors"
VOCABULARY = "vocabulary"
FORMAT = 1


def save_encoder(encoder: Encoder, folder: str | Path, *, about: Mapping[str, Any] | None = None) -> list[Path]:
    """Write an encoder to a folder, made if missing; returns the files.

    Args:
        encoder: What to write.
        folder: Where.
        about: What it was trained on and how, kept beside the config.

    Raises:
        StorageError: The folder cannot be written to.
    """
    from safetensors.torch import save

    target = writable_folder(folder)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in encoder.state_dict().items()}
    write_bytes(target / WEIGHTS, save(weights))
    files = [target / WEIGHTS]
    vocabulary = encoder.vocabulary if encoder.has_vocabulary else None
    if vocabulary is not None:
        files += vocabulary.save(target / VOCABULARY)
    index = {
        "format": FORMAT,
        "config": encoder.config.model_dump(mode="json"),
        "members": {code: to_ranges(ids) for code, ids in encoder.member_ids().items()},
        "vocabulary": None if vocabulary is None else vocabulary.hash,
        "sha256": file_hash(target / WEIGHTS),
        "about": dict(about or {}),
    }
    write_json(target / INDEX, index)
    return [*files, target / INDEX]


def open_encoder(folder: str | Path) -> Encoder:
    """Read an encoder from a folder of ours, in evaluation mode on the CPU.

    Raises:
        CorruptFileError: A file is not what was written.
        InputError: ``encoder.json`` is not one of ours.
        StorageError: A file is missing.
    """
    import numpy as np

    from isoglot.model.encoder import Encoder
    from isoglot.model.settings import EncoderConfig

    folder = Path(folder)
    index = read_json(folder / INDEX)
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise InputError(
            f"not an encoder of format {FORMAT}", remedy="make it with isoglot pretrain", file=folder / INDEX
        )
    config = build_config(EncoderConfig, values=index["config"])
    vocabulary = None
    if index["vocabulary"] is not None:
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        if vocabulary.hash != index["vocabulary"]:
            raise CorruptFileError(
                f"vocabulary {vocabulary.hash[:12]}… where {index['vocabulary'][:12]}… was written",
                remedy="put back the vocabulary the encoder was trained with",
                file=folder / VOCABULARY,
            )
    members = {
        code: np.flatnonzero(from_ranges(ranges, config.vocabulary_size)) for code, ranges in index["members"].items()
    }
    encoder = Encoder(config, vocabulary, members or None, seed=None)
    encoder.load_state_dict(read_weights(folder / WEIGHTS, sha256=index["sha256"]))
    return encoder.eval()


def read_weights(path: Path, *, sha256: str | None = None) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file; with ``sha256`` given, only if that is its hash.

    Raises:
        CorruptFileError: The content is not what was written.
        StorageError: There is no such file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.exists():
        raise StorageError("no weights here", remedy="copy the folder again, whole", file=path)
    if sha256 is not None:
        check_file(path, sha256=sha256)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise CorruptFileError(
            f"not a whole safetensors file: {error}", remedy="copy or make it again", file=path
        ) from error
