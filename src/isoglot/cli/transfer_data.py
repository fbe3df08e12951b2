"""What the verbs of ``isoglot transfer`` read: examples of each language, and the folder of a fine-tuned model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.cli.named_paths import parse_named
from isoglot.core.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from isoglot.transfer import Data, Task


def read_examples(task: Task[Any], option: str, values: list[str] | None) -> dict[str, Data[Any]]:
    """The examples of ``--test de=FILE`` and the like, by language; none where nothing was given.

    Raises:
        ConfigError: It is not language=path, or a language has two files.
        InputError: A file is malformed.
        StorageError: It cannot be read.
    """
    found = {}
    for code, paths in (parse_named(values, option) if values else {}).items():
        if len(paths) > 1:
            raise ConfigError(f"{option} {code}={paths[1]}: {code} has a file already", remedy="join them into one")
        found[code] = task.read(paths[0], code)
    return found


def model_folder(folder: Path) -> Path:
    """The fine-tuned model in a folder: itself, or the best of an experiment.

    Raises:
        StorageError: There is none.
    """
    from isoglot.core.files import read_json

    if (folder / "tuned.json").exists():
        return folder
    found = read_json(folder / "result.json").get("model") if (folder / "result.json").exists() else None
    if found is not None:  # map transfer has results and no model
        best = Path(str(found))
        inside = folder / best.parent.name / best.name  # the folder may have been moved since
        return inside if inside.exists() else best
    raise StorageError("no fine-tuned model in this folder", remedy="make one with isoglot transfer", file=folder)
