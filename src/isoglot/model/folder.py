"""An encoder as a folder: its config, its weights and its vocabulary.

::

    encoder.json             config, ids of each language where tables are private, hashes; written last
    encoder.safetensors      the weights
    vocabulary/              what its ids mean

Packed, it is a fifth of the size: ``encoder.safetensors.zst`` has the weights as :mod:`isoglot.model.packed` stores
them, ``dictionaries.json.zst`` those that it was given with all their words, and the files of the vocabulary are
compressed. Beside either there may be what is known of the languages, as
``isoglot steer fit`` writes it: ``means.safetensors`` and ``token_sets.json``.
"""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.compressed import ENDING, is_stored, store_bytes, stored_json
from isoglot.core.config import build_config
from isoglot.core.errors import CorruptFileError, InputError, StorageError, shown
from isoglot.core.files import check_file, file_hash, read_bytes, writable_folder, write_bytes, write_json
from isoglot.core.index_file import read_index_file
from isoglot.model.export_folder import without_folders
from isoglot.vocab.ranges import from_ranges, to_ranges
from isoglot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoglot.model.encoder import Encoder

INDEX = "encoder.json"
WEIGHTS = "encoder.safetensors"
PACKED = "encoder.safetensors.zst"
DICTIONARIES = "dictionaries.json"
VOCABULARY = "vocabulary"
FORMAT = 1

Form = Literal["whole", "packed"]
"""``whole``: the weights as they are; ``packed``: about 5.7 bits for each, at a small loss."""
_FORMS = {"whole": WEIGHTS, "packed": PACKED}


def save_encoder(
    encoder: Encoder,
    folder: str | Path,
    *,
    about: Mapping[str, Any] | None = None,
    form: Form = "whole",
    step: float | None = None,
) -> list[Path]:
    """Write an encoder to a folder, made if missing; returns the files.

    Args:
        encoder: What to write.
        folder: Where.
        about: What it was trained on and how, kept beside the config; packed, for others to use, without the folders
            that files lay in.
        form: How the weights are stored.
        step: Of packed weights: that of a row, as a share of its spread; by default :data:`isoglot.model.packed.STEP`.

    Raises:
        InputError: Weights that are to be packed are not finite.
        StorageError: The folder cannot be written to.
    """
    from safetensors.torch import save

    from isoglot.model.packed import STEP, pack

    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in encoder.state_dict().items()}
    data = save(weights) if form == "whole" else pack(weights, step=STEP if step is None else step)
    target = writable_folder(folder)
    stored, other = (WEIGHTS, PACKED) if form == "whole" else (PACKED, WEIGHTS)
    write_bytes(target / stored, data)
    (target / other).unlink(missing_ok=True)
    files = [target / stored]
    vocabulary = encoder.vocabulary if encoder.has_vocabulary else None
    told: dict[str, Any] = dict(about or {})
    for name in (DICTIONARIES, DICTIONARIES + ENDING):
        (target / name).unlink(missing_ok=True)  # those of what was here before
    if form == "packed":
        given = [_without_folders(one) for one in told.pop("dictionaries", [])]
        told = without_folders(told)
        if given:
            files.append(store_bytes(target / DICTIONARIES, json.dumps(given, ensure_ascii=False).encode(), "zstd"))
        if vocabulary is not None:
            vocabulary = copy(vocabulary)
            vocabulary.about = without_folders(vocabulary.about)
    if vocabulary is not None:
        files += vocabulary.save(target / VOCABULARY, compression="none" if form == "whole" else "zstd")
    index = {
        "format": FORMAT,
        **({} if form == "whole" else {"form": form}),
        "config": encoder.config.model_dump(mode="json"),
        "members": {code: to_ranges(ids) for code, ids in encoder.member_ids().items()},
        "vocabulary": None if vocabulary is None else vocabulary.hash,
        "sha256": file_hash(target / stored),
        "about": told,
    }
    write_json(target / INDEX, index)
    return [*files, target / INDEX]


def _without_folders(dictionary: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a dictionary, its words as they are: one such as ``/etc`` is no place of a file."""
    return {key: value if key.endswith("_words") else without_folders(value) for key, value in dictionary.items()}


def open_encoder(folder: str | Path) -> Encoder:
    """Read an encoder from a folder of ours, whole or packed, in evaluation mode on the CPU.

    Raises:
        CorruptFileError: A file is not what was written.
        InputError: ``encoder.json`` is not one of ours.
        StorageError: A file is missing.
    """
    import numpy as np

    from isoglot.model.encoder import Encoder
    from isoglot.model.settings import EncoderConfig

    folder = Path(folder)
    index = read_index(folder)
    config = build_config(EncoderConfig, values=index["config"])
    vocabulary = None
    if index["vocabulary"] is not None:
        remedy = "put back the vocabulary the encoder was trained with"
        vocabulary = read_vocabulary(folder / VOCABULARY, index["vocabulary"], remedy=remedy)
    members = {
        code: np.flatnonzero(from_ranges(ranges, config.vocabulary_size)) for code, ranges in index["members"].items()
    }
    encoder = Encoder(config, vocabulary, members or None, seed=None)
    read = read_packed if index.get("form") == "packed" else read_weights
    encoder.load_state_dict(read(folder / _FORMS[index.get("form", "whole")], sha256=index["sha256"]))
    return encoder.eval()


def read_index(folder: str | Path) -> dict[str, Any]:
    """What ``encoder.json`` says.

    Raises:
        CorruptFileError: Something is missing in it.
        InputError: It is not one of ours, or one of a form that is not known here.
        StorageError: It cannot be read.
    """
    path = Path(folder) / INDEX
    keys = {"config": dict, "members": {...: [list]}, "vocabulary": str | None, "sha256": str}
    index = read_index_file(path, keys, version=FORMAT, what="an encoder", remedy="make it with isoglot pretrain")
    form = index.get("form", "whole")
    if not isinstance(form, str) or form not in _FORMS:
        raise InputError(
            f"an encoder of the unknown form {shown(form)}: a newer version wrote it",
            remedy="install the newest isoglot",
            file=path,
        )
    return index


def read_about(folder: str | Path) -> dict[str, Any]:
    """What an encoder was trained on and how, the words of dictionaries included.

    Raises:
        CorruptFileError: The dictionaries are damaged.
        InputError: ``encoder.json`` is not one of ours.
        StorageError: A file cannot be read.
    """
    about = dict(read_index(folder).get("about", {}))
    if is_stored(Path(folder) / DICTIONARIES):
        about["dictionaries"] = stored_json(Path(folder) / DICTIONARIES)
    return about


def folder_size(folder: str | Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def read_packed(path: Path, *, sha256: str | None = None) -> dict[str, torch.Tensor]:
    """The weights of a packed file; with ``sha256`` given, only if that is its hash.

    Raises:
        CorruptFileError: The content is not what was written.
        StorageError: There is no such file.
    """
    from isoglot.model.packed import unpack

    _check_there(path)
    return unpack(read_bytes(path, sha256=sha256), path)


def read_vocabulary(folder: Path, written: str, *, remedy: str) -> Vocabulary:
    """The vocabulary beside what was learned with it, if it is the one that was written.

    Raises:
        CorruptFileError: It is another one.
        StorageError: A file is missing.
    """
    vocabulary = Vocabulary.load(folder)
    if vocabulary.hash != written:
        raise CorruptFileError(
            f"vocabulary {vocabulary.hash[:12]}… where {written[:12]}… was written", remedy=remedy, file=folder
        )
    return vocabulary


def read_weights(path: Path, *, sha256: str | None = None) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file; with ``sha256`` given, only if that is its hash.

    Raises:
        CorruptFileError: The content is not what was written.
        StorageError: There is no such file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    _check_there(path)
    if sha256 is not None:
        check_file(path, sha256=sha256)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise CorruptFileError(
            f"not a whole safetensors file: {error}", remedy="copy or make it again", file=path
        ) from error


def _check_there(path: Path) -> None:
    if not path.exists():
        raise StorageError("no weights here", remedy="copy the folder again, whole", file=path)
