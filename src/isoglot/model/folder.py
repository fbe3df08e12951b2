"""Encoders on disk: a folder with config, weights and vocabulary.

::

    encoder.json             config, ids of each language if tables are private, hashes; written last
    encoder.safetensors      the weights
    provenance.json          the texts and dictionaries it was trained on, with the words of the dictionaries
    vocabulary/              its vocabulary

A packed encoder takes a fifth of the space: ``encoder.safetensors.zst`` has the weights as
:mod:`isoglot.model.packed` stores them, and the other files are compressed. ``isoglot steer fit`` may have written
``means.safetensors`` and ``token_sets.json`` beside either.
"""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.artifact import Compression, both_forms, check_form, read_index_file, write_index
from isoglot.core.config import build_config
from isoglot.core.errors import CorruptFileError, InputError, StorageError, shown
from isoglot.core.files import check_file, file_hash, note_read, read_bytes, write_bytes
from isoglot.core.run import renewed_folder
from isoglot.model.hf.export import without_folders
from isoglot.text.provenance import FILE as PROVENANCE
from isoglot.text.provenance import store_provenance, stored_provenance
from isoglot.vocab.sharing import from_ranges, to_ranges
from isoglot.vocab.vocabulary import Vocabulary, vocabulary_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoglot.model.encoder import Encoder

INDEX = "encoder.json"
WEIGHTS = "encoder.safetensors"
PACKED = "encoder.safetensors.zst"
VOCABULARY = "vocabulary"
FORMAT = 1

Form = Literal["whole", "packed"]
"""``whole``: weights as they are; ``packed``: about 5.7 bits a weight, with a small loss."""
_FORMS = {"whole": WEIGHTS, "packed": PACKED}


def save_encoder(
    encoder: Encoder,
    folder: str | Path,
    *,
    about: Mapping[str, Any] | None = None,
    form: Form = "whole",
    step: float | None = None,
) -> list[Path]:
    """Save an encoder to a folder, created if missing; returns the files.

    An encoder that is there is replaced atomically; other files stay.

    Args:
        encoder: The encoder.
        folder: Its folder.
        about: How it was trained, stored beside the config; in packed form without the folders of files.
        form: How the weights are stored.
        step: Packed: quantization step as a share of a row's root mean square; default
            :data:`isoglot.model.packed.STEP`.

    Returns:
        The files that were written.

    >>> import tempfile
    >>> from isoglot.model import Encoder, encoder_config, load_encoder
    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "encoder.safetensors" in {path.name for path in save_encoder(encoder, folder)}
    True

    Raises:
        InputError: Weights to be packed are not finite.
        StorageError: The folder cannot be written to.
    """
    from safetensors.torch import save

    from isoglot.model.packed import STEP, pack

    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in encoder.state_dict().items()}
    data = save(weights) if form == "whole" else pack(weights, step=STEP if step is None else step)
    stored = _FORMS[form]
    vocabulary = encoder.vocabulary if encoder.has_vocabulary else None
    details: dict[str, Any] = dict(about or {})
    compression: Compression = "none" if form == "whole" else "zstd"
    if form == "packed":
        details = without_folders(details)
        if vocabulary is not None:
            vocabulary = copy(vocabulary)
            kept = {"provenance": vocabulary.provenance.facts()}  # words such as /etc are no paths
            vocabulary.about = without_folders(vocabulary.about) | kept
    with renewed_folder(folder, INDEX, stale=encoder_files(folder)) as target:
        write_bytes(target / stored, data)
        files = [target / stored]
        if vocabulary is not None:
            files += vocabulary.save(target / VOCABULARY, compression=compression)
        record, record_hash = store_provenance(target, encoder.provenance, compression=compression)
        index = {
            **({} if form == "whole" else {"form": form}),
            "config": encoder.config.model_dump(mode="json", exclude_none=True),
            "members": {code: to_ranges(ids) for code, ids in encoder.member_ids().items()},
            "vocabulary": None if vocabulary is None else vocabulary.hash,
            "files": {stored: file_hash(target / stored)},
            "provenance": record_hash,
            "about": details,
        }
        files += [record, write_index(target / INDEX, "an encoder", FORMAT, index)]
    return [Path(folder) / path.relative_to(target) for path in files]


def encoder_files(folder: str | Path) -> list[str]:
    """Names that the files of an encoder in a folder may have, including its vocabulary's."""
    inner = [f"{VOCABULARY}/{name}" for name in vocabulary_files(Path(folder) / VOCABULARY)]
    return [INDEX, WEIGHTS, PACKED, *both_forms(PROVENANCE), *inner]


def open_encoder(folder: str | Path) -> Encoder:
    """Load an encoder that :func:`save_encoder` wrote, in evaluation mode on the CPU.

    Raises:
        CorruptFileError: A file is damaged.
        InputError: ``encoder.json`` is not isoglot's.
        StorageError: A file is missing.
    """
    import numpy as np
    import torch

    from isoglot.model.config import EncoderConfig
    from isoglot.model.encoder import Encoder

    folder = Path(folder)
    index = read_index(folder)
    config = build_config(EncoderConfig, values=index["config"])
    vocabulary = None
    if index["vocabulary"] is not None:
        remedy = "put back the vocabulary the encoder was trained with"
        vocabulary = read_vocabulary(folder / VOCABULARY, index["vocabulary"], remedy=remedy)
    name = _FORMS[index.get("form", "whole")]
    check_form(index, {"files": {name: str}}, folder / INDEX, remedy="make it with isoglot pretrain")
    weights = read_weights(folder / name, sha256=index["files"][name])
    places = config.max_length if config.positions == "learned" else 0
    least = config.hidden_size * (config.vocabulary_size + places + config.layers * config.intermediate_size)
    if least > 2 * sum(map(torch.numel, weights.values())):
        raise _unfit(f"hidden_size {config.hidden_size:,}", folder / name)  # before memory is allocated
    members = {
        code: np.flatnonzero(from_ranges(ranges, config.vocabulary_size, folder / INDEX))
        for code, ranges in index["members"].items()
    }
    if members:
        form = {"members": dict.fromkeys(config.languages, list)}
        check_form(index, form, folder / INDEX, remedy="make it with isoglot pretrain")
    encoder = Encoder(config, vocabulary, members or None, seed=None)
    shapes = {name: tensor.shape for name, tensor in encoder.state_dict().items()}
    wrong = [name for name in {*shapes, *weights} if name not in weights or shapes.get(name) != weights[name].shape]
    if wrong:
        raise _unfit(f"the weight {min(wrong)}", folder / name)
    encoder.load_state_dict(weights)
    encoder.provenance = stored_provenance(folder, index["provenance"])
    return encoder.eval()


def _unfit(what: str, path: Path) -> CorruptFileError:
    return CorruptFileError(f"{what} in {INDEX} does not fit the weights", "copy the folder again, whole", file=path)


def read_index(folder: str | Path) -> dict[str, Any]:
    """Read ``encoder.json``.

    Raises:
        CorruptFileError: A key is missing.
        InputError: It is not isoglot's, or of an unknown form.
        StorageError: It cannot be read.
    """
    path = Path(folder) / INDEX
    keys = {"config": dict, "members": {...: [list]}, "vocabulary": str | None, "files": {...: str}, "about": dict}
    keys |= {"provenance": str}
    index = read_index_file(path, keys, version=FORMAT, what="an encoder", remedy="make it with isoglot pretrain")
    form = index.get("form", "whole")
    if not isinstance(form, str) or form not in _FORMS:
        problem = f"an encoder of the unknown form {shown(form)}: a newer version wrote it"
        raise InputError(problem, "install the newest isoglot", "unknown-format", file=path)
    return index


def read_about(folder: str | Path) -> dict[str, Any]:
    """Read how an encoder was trained.

    Raises:
        InputError: ``encoder.json`` is not isoglot's.
        StorageError: A file cannot be read.
    """
    return dict(read_index(folder)["about"])


def folder_size(folder: str | Path) -> int:
    """Size of all files in a folder, in bytes."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def read_vocabulary(folder: Path, written: str, *, remedy: str) -> Vocabulary:
    """Load the vocabulary of an encoder and check its hash.

    Raises:
        CorruptFileError: It is another vocabulary.
        StorageError: A file is missing.
    """
    vocabulary = Vocabulary.load(folder)
    if vocabulary.hash != written:
        raise CorruptFileError(
            f"vocabulary {vocabulary.hash[:12]}… where {written[:12]}… was written", remedy, "hash", file=folder
        )
    return vocabulary


def read_weights(path: Path, *, sha256: str | None = None) -> dict[str, torch.Tensor]:
    """Read a safetensors file, or packed weights by their name, and check the hash of the file if given.

    Raises:
        CorruptFileError: The file is damaged.
        StorageError: There is no such file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from isoglot.model.packed import unpack

    if not path.exists():
        remedy = "copy the folder again, whole"
        raise StorageError("the weights are missing", remedy, "not-found", file=path)
    if path.name == PACKED:
        return unpack(read_bytes(path, sha256=sha256), path)
    note_read(path)
    if sha256 is not None:
        check_file(path, sha256=sha256)
    try:
        return load_file(path)
    except SafetensorError as error:
        problem = f"not a complete safetensors file: {error}"
        raise CorruptFileError(problem, "copy or make it again", file=path) from error
