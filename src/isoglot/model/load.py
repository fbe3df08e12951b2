"""Open an encoder, whoever made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, StorageError
from isoglot.model.folder import INDEX, open_encoder
from isoglot.model.hf_source import WAYS, open_hf_model, open_hf_vocabulary

if TYPE_CHECKING:
    from isoglot.model.encoder import Encoder
    from isoglot.model.hooked import HookedEncoder
    from isoglot.model.protocol import EncoderLike

EMBEDDED = "isoglot-mini"
"""The encoder that will come with the package."""


def load_encoder(source: str | Path, *, device: str = "auto") -> EncoderLike:
    """Open an encoder in evaluation mode.

    BERT, RoBERTa, XLM-R and ModernBERT become encoders of ours; any other Hugging Face encoder is wrapped as it is.

    Args:
        source: A folder of ours, a Hugging Face folder, or a name on its hub.
        device: Where it computes: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.

    Raises:
        ConfigError: It is no encoder that can be used here.
        CorruptFileError: A file of ours is not what was written.
        InputError: The folder holds something else.
        MissingPartError: A Hugging Face model needs ``transformers``, which is not installed.
        StorageError: There is no such folder or name.
    """
    from isoglot.core.devices import choose_device

    place = choose_device(device)
    if str(source) == EMBEDDED and not Path(source).exists():
        raise ConfigError(f"{EMBEDDED} does not come with this version", remedy=WAYS)
    path = Path(source).expanduser()
    if (path / INDEX).exists():
        return open_encoder(path).to(place)
    if path.is_dir() and not (path / "config.json").exists():
        raise StorageError(f"no encoder in this folder: neither {INDEX} nor config.json", remedy=WAYS, file=source)
    if not path.is_dir() and (path.exists() or path.is_absolute() or str(source).startswith((".", "~"))):
        problem = "a file, where an encoder is a folder" if path.exists() else "no such folder"
        raise StorageError(problem, remedy=f"check the path, or {WAYS}", file=source)
    return _from_hf(path if path.is_dir() else str(source)).to(place)


def _from_hf(source: str | Path) -> Encoder | HookedEncoder:
    from isoglot.model.from_hf import encoder_from_hf, obstacles
    from isoglot.model.hooked import HookedEncoder

    model = open_hf_model(source)
    vocabulary = open_hf_vocabulary(source)
    return HookedEncoder(model, vocabulary) if obstacles(model.config) else encoder_from_hf(model, vocabulary)
