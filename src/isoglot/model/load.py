"""Open an encoder, whoever made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, CorruptFileError, IsoglotError, StorageError
from isoglot.model.folder import INDEX, folder_size, open_encoder
from isoglot.model.hf_source import WAYS, open_hf_model, open_hf_vocabulary

if TYPE_CHECKING:
    from isoglot.model.encoder import Encoder
    from isoglot.model.hooked import HookedEncoder
    from isoglot.model.protocol import EncoderLike

EMBEDDED = "isoglot-mini"
"""The encoder that comes with the package: English, French, German, Russian and Chinese."""
EMBEDDED_FOLDER = Path(__file__).with_name(EMBEDDED)
"""Where it is, packed, if this version has it."""
_AGAIN = "install isoglot again"


def encoder_folder(source: str | Path) -> Path | None:
    """The folder of an encoder of ours, the package's own for ``isoglot-mini``; None for what is none of ours."""
    path = Path(source).expanduser()
    if str(source) == EMBEDDED and not path.exists():
        path = EMBEDDED_FOLDER
    return path if (path / INDEX).exists() else None


def embedded() -> dict[str, Any]:
    """What there is to say of the encoder that comes with the package; its ``size`` in bytes is None if it does not.

    It is opened, and ``problem`` is what came of that: None, or a line that says what is damaged.
    """
    if not EMBEDDED_FOLDER.is_dir():
        return {"name": EMBEDDED, "size": None, "languages": [], "problem": None}
    languages: list[str] = []
    problem = None
    try:
        languages = list(open_encoder(EMBEDDED_FOLDER).config.languages)
    except IsoglotError as error:
        problem = str(CorruptFileError(error.problem, remedy=_AGAIN, file=error.file))
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # an index with parts missing
        what = f"not what was written ({type(error).__name__})"
        problem = str(CorruptFileError(what, remedy=_AGAIN, file=EMBEDDED_FOLDER / INDEX))
    return {"name": EMBEDDED, "size": folder_size(EMBEDDED_FOLDER), "languages": languages, "problem": problem}


def load_encoder(source: str | Path, *, device: str = "auto") -> EncoderLike:
    """Open an encoder in evaluation mode.

    BERT, RoBERTa, XLM-R and ModernBERT become encoders of ours; any other Hugging Face encoder is wrapped as it is.
    Static vectors are an encoder with layer 0 alone.

    Args:
        source: A folder of ours, ``isoglot-mini``, a Hugging Face folder, or a name on its hub.
        device: Where it computes: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.

    Raises:
        ConfigError: It is no encoder that can be used here.
        CorruptFileError: A file of ours is not what was written.
        InputError: The folder holds something else.
        MissingPartError: A Hugging Face model needs ``transformers``, which is not installed.
        StorageError: There is no such folder or name.
    """
    from isoglot.core.devices import choose_device
    from isoglot.model.table import INDEX as TABLE
    from isoglot.model.table import open_table

    place = choose_device(device)
    folder = encoder_folder(source)
    if folder is not None:
        return open_encoder(folder).to(place)
    path = Path(source).expanduser()
    if (path / TABLE).exists():
        return open_table(path).to(place)
    if str(source) == EMBEDDED and not path.exists():
        raise ConfigError(f"{EMBEDDED} does not come with this version", remedy=WAYS)
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
