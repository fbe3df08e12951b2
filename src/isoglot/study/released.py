"""A released encoder that a study measures instead of pretraining one."""

from __future__ import annotations

from pathlib import Path

from isoglot.core.errors import StorageError, one_line
from isoglot.study.steps import SourceFile
from isoglot.study.store import source_hash

_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
_OLD_WEIGHTS = ["pytorch_model*.bin"]


def released_model(name: str) -> SourceFile:
    """The folder of a released encoder, identified by the content of its files.

    Args:
        name: A folder, ``isoglot-mini``, or a name on the Hugging Face hub, from where it is downloaded if need be.

    Raises:
        MissingPartError: A hub name, and ``transformers`` is not installed.
        StorageError: There is no encoder of that name.
    """
    folder = _folder(name)
    return SourceFile(str(folder.absolute()), source_hash(folder))


def _folder(name: str) -> Path:
    from isoglot.model.hf_source import WAYS
    from isoglot.model.load import encoder_folder

    found = encoder_folder(name)
    if found is not None:
        return found
    path = Path(name).expanduser()
    if (path / "config.json").exists():
        return path
    if path.exists() or path.is_absolute() or name.startswith((".", "~")):
        raise StorageError("no encoder in this folder", remedy=f"check the path, or {WAYS}", file=name)
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    from isoglot.core.parts import import_part
    from isoglot.model.hf_source import WAYS
    from isoglot.vocab.given import check_hub_name

    check_hub_name(name, "encoder", remedy=f"check the path, or {WAYS}")
    import_part("transformers")
    from huggingface_hub import snapshot_download  # which transformers needs, so it is there

    try:
        folder = Path(snapshot_download(name, allow_patterns=_FILES))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(name, allow_patterns=[*_FILES, *_OLD_WEIGHTS]))
    except Exception as error:  # the hub's client raises many kinds
        raise StorageError(
            f"the hub has no encoder {name}, or cannot be reached ({one_line(str(error))[:120]})",
            remedy="download it and name the folder",
        ) from error
    return folder
