"""Folder of a fine-tuned model and of the run that creates it.

::

    fine_tune.json           identity of the run, written first; resuming requires the same
    checkpoints/             the last complete epoch, until the run is finished
    epochs/                  weights of the best epochs
    head.safetensors         the head
    encoder/                 the fine-tuned encoder, if it is an isoglot encoder
    encoder.safetensors      changed weights of any other encoder, which is loaded from its source
    tuned.json               task, labels, config, scores by epoch, hashes; written last
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from isoglot.core.artifact import check_form, read_index_file, read_sealed, write_index, write_sealed
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError, InputError, StorageError
from isoglot.core.files import check_file, file_hash, writable_folder, write_bytes
from isoglot.core.folders import sweep
from isoglot.core.run import renewed_folder
from isoglot.model.encoder import is_native
from isoglot.model.folder import INDEX as ENCODER_INDEX
from isoglot.model.folder import encoder_files, open_encoder, read_weights, save_encoder
from isoglot.pretrain.run_folder import FOLDER, check_same
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.transfer.tasks.task import Data, Labels, Task, find_task
from isoglot.transfer.tuning.config import TuneConfig
from isoglot.transfer.tuning.tuned_encoder import KeptEpochs, Tuned, copied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.model.protocol import EncoderLike

IDENTITY, INDEX = "fine_tune.json", "tuned.json"
HEAD, ENCODER, CHANGED = "head.safetensors", "encoder", "encoder.safetensors"
_FORMAT = 1
_FORM = {
    "task": str,
    "labels": [str],
    "languages": [str],
    "config": dict,
    "epoch": int,
    "history": [dict],
    "ours": bool,
    "source": str | None,
    "files": {HEAD: str},
}


def learned_hashes(
    encoder: EncoderLike, train: Mapping[str, Data[Any]], dev: Mapping[str, Data[Any]]
) -> dict[str, Any]:
    """Hashes of encoder, training and dev data."""
    return {
        "encoder": encoder_hash(encoder),
        "train": {code: data.sha256 for code, data in train.items()},
        "dev": {code: data.sha256 for code, data in dev.items()},
    }


def run_identity(task: Task[Any], config: TuneConfig, hashes: Mapping[str, Any]) -> dict[str, Any]:
    """Identity of a run: all settings and :func:`learned_hashes`."""
    return {"task": task.name, "config": config.model_dump(mode="json"), "data": hashes}


def open_run(out: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
    """Start a run in a folder, or resume it.

    Raises:
        ConfigError: There is a run and no ``resume``, or it is another run.
        StorageError: The folder cannot be written.
    """
    path = out / IDENTITY
    if path.exists():
        if not resume:
            check_free(out)
        check_begun(out, identity)
        sweep(out / FOLDER)
    else:
        writable_folder(out)
        write_sealed(path, {"format": _FORMAT, **identity})


def check_begun(out: Path, identity: Mapping[str, Any]) -> None:
    """Check that a folder has no other run; nothing is written.

    Raises:
        ConfigError: It does.
    """
    if (out / IDENTITY).exists():
        other = "is another run: "
        parts = {"task": f"{other}task", "config": f"{other}config.", "data": f"{other}data."}
        form = {"task": str, "config": dict, "data": dict}
        check_same(out, read_sealed(out / IDENTITY, form, remedy="use another folder"), identity, parts)


def check_free(out: Path) -> None:
    """Check that a folder has no run or experiment.

    Raises:
        ConfigError: It does.
    """
    if (out / IDENTITY).exists() or any(out.glob(f"seed-*/*/{IDENTITY}")):
        raise ConfigError(f"{out} holds a run already", "resume it, or use another folder", "run-exists")


def finished(out: Path) -> bool:
    """Whether the run in a folder is finished."""
    return (out / IDENTITY).exists() and (out / INDEX).exists()


def save_tuned(tuned: Tuned, out: Path, *, source: str | None = None) -> list[Path]:
    """Write a fine-tuned model to a folder atomically; returns the files.

    Args:
        tuned: The model.
        out: The folder.
        source: Folder or name of the encoder, to load it again if it is not an isoglot encoder.

    Raises:
        ConfigError: The folder holds the model of a run.
        StorageError: The folder cannot be written.
    """
    from safetensors.torch import save

    if finished(out):
        problem = f"{out} holds the model of a run, which would be overwritten"
        raise ConfigError(problem, "use another folder", "would-overwrite")
    stale = [HEAD, CHANGED, *(f"{ENCODER}/{name}" for name in encoder_files(out / ENCODER))]
    with renewed_folder(out, INDEX, stale=stale) as target:
        write_bytes(target / HEAD, save({n: t.detach().cpu().contiguous() for n, t in tuned.head.state_dict().items()}))
        files, hashes = [target / HEAD], {HEAD: file_hash(target / HEAD)}
        if is_native(tuned.encoder):
            files += save_encoder(tuned.encoder, target / ENCODER, about={"task": tuned.task.name})
            hashes[f"{ENCODER}/{ENCODER_INDEX}"] = file_hash(files[-1])
        elif isinstance(tuned.encoder, nn.Module):
            changed = {} if tuned.config.head_only else tuned.encoder.state_dict()
            write_bytes(target / CHANGED, save({n: t.detach().cpu().clone().contiguous() for n, t in changed.items()}))
            files.append(target / CHANGED)
            hashes[CHANGED] = file_hash(target / CHANGED)
        files.append(write_index(target / INDEX, "a fine-tuned model", _FORMAT, _index(tuned, source, hashes)))
    return [out / path.relative_to(target) for path in files]


def _index(tuned: Tuned, source: str | None, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Content of ``tuned.json``."""
    index: dict[str, Any] = {
        "task": tuned.task.name,
        "labels": list(tuned.labels.names),
        "languages": list(tuned.languages),
        "config": tuned.config.model_dump(mode="json"),
        "epoch": tuned.epoch,
        "history": tuned.history,
        "ours": is_native(tuned.encoder),
        "source": source,
        "files": hashes,
    }
    if source is not None and not index["ours"] and Path(source).expanduser().exists():
        index["source_folder"] = str(
            Path(source).expanduser().resolve()
        )  # the current folder may differ when it is loaded
    return index


def tuned_folder(folder: Path) -> Path:
    """The folder of a fine-tuned model: itself, or that of the best model of an experiment.

    Raises:
        StorageError: There is none.
    """
    result = folder / "result.json"
    remedy = "create it with isoglot transfer"
    if (folder / INDEX).exists():
        return folder
    found = read_sealed(result, remedy=remedy).get("model") if result.exists() else None
    if found is None:  # map transfer has results and no model
        raise StorageError("no fine-tuned model in this folder", remedy, "not-found", file=folder)
    best = Path(str(found))
    inside = folder / best.parent.name / best.name  # the folder may have been moved
    return inside if inside.exists() else best


def load_tuned(folder: str | Path, *, device: str = "auto", encoder: EncoderLike | None = None) -> Tuned:
    """Load a fine-tuned model.

    Args:
        folder: Folder of the model, or of an experiment, whose best model is loaded.
        device: Device to compute on.
        encoder: The encoder it was tuned from; only needed for models whose encoder is not stored with them.

    Returns:
        The fine-tuned model, ready for :func:`evaluate`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.model import Encoder, encoder_config
    >>> from isoglot.transfer import Data, Passage, TuneConfig, find_task, fine_tune
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder, text = Path(name), Path(name) / "en.txt"
    ...     _ = text.write_text("It was good. It was bad. " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    ...     encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=len(vocabulary)), vocabulary)
    ...     data = {"en": Data([Passage(("It was good.",), "good"), Passage(("It was bad.",), "bad")])}
    ...     _ = fine_tune(encoder, find_task("topic"), data, data, TuneConfig(epochs=1), folder / "tuned")
    ...     load_tuned(folder / "tuned", device="cpu").labels.names
    ('bad', 'good')

    Raises:
        ConfigError: The encoder it was tuned from is not known.
        CorruptFileError: A file is damaged.
        InputError: ``tuned.json`` has another format.
        StorageError: A file is missing, or the encoder it was tuned from.
    """
    from isoglot.core.devices import choose_device

    folder = tuned_folder(Path(folder))
    remedy = "create it with isoglot transfer"
    index = read_index_file(folder / INDEX, _FORM, version=_FORMAT, what="a fine-tuned model", remedy=remedy)
    task, labels = find_task(index["task"]), Labels(tuple(index["labels"]))
    try:
        config = build_config(TuneConfig, values=index["config"])
    except ConfigError as error:
        problem, remedy = f"settings of another version: {error.problem}", "create it again with isoglot transfer"
        raise InputError(problem, remedy, "unknown-format", file=folder / INDEX) from error
    place = encoder.device if encoder is not None else choose_device(device)
    if index["ours"]:
        kept = f"{ENCODER}/{ENCODER_INDEX}"
        check_form(index, {"files": {kept: str}}, folder / INDEX, remedy=remedy)
        check_file(folder / kept, sha256=index["files"][kept])
    ours = open_encoder(folder / ENCODER).to(place) if index["ours"] else None
    own = _foreign(folder, index, encoder, str(place)) if ours is None else ours
    head = task.head(own.hidden_size, labels, config.head)
    head.load_state_dict(read_weights(folder / HEAD, sha256=index["files"][HEAD]))
    return Tuned(
        own,
        head.to(place).eval(),
        task,
        labels,
        config,
        tuple(index["languages"]),
        history=list(index["history"]),
        epoch=index["epoch"],
        epochs=KeptEpochs(folder),
    )


def _foreign(folder: Path, index: Mapping[str, Any], encoder: EncoderLike | None, device: str) -> EncoderLike:
    """Load an encoder that is not an isoglot encoder, with the changed weights."""
    from isoglot.model.load import load_encoder

    if encoder is None and not index["source"]:
        raise ConfigError(f"{folder} does not say which encoder it was tuned from", "give the encoder", "not-supported")
    found = copied(encoder) if encoder is not None else load_encoder(_source(folder, index), device=device)
    if isinstance(found, nn.Module) and CHANGED in index["files"]:
        weights = read_weights(folder / CHANGED, sha256=index["files"][CHANGED])
        if weights:
            found.load_state_dict(weights)
    return found


def _source(folder: Path, index: Mapping[str, Any]) -> str:
    """Folder or name of the original encoder: the absolute path of then, or the path as given if both have moved.

    Raises:
        StorageError: It was a folder, which no longer exists.
    """
    typed, then = str(index["source"]), index.get("source_folder")
    if then is None:
        return typed
    for place in (then, typed):
        if Path(place).expanduser().exists():
            return str(place)
    problem = f"the encoder that {folder} was tuned from no longer exists"
    raise StorageError(problem, "restore it, or fine-tune again", "not-found", file=then)
