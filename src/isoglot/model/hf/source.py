"""Loading of models and tokenizers from Hugging Face folders and hub names."""

from __future__ import annotations

import socket
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from isoglot.core.errors import CorruptFileError, InputError, IsoglotError, StorageError, one_line, shown
from isoglot.core.files import note_read
from isoglot.core.optional import import_part
from isoglot.model.hf.sentence_transformers import SentenceHead, hub_files, local_files, read_sentence_head
from isoglot.vocab.external_tokenizer import NO_CODE, check_hub_name, needs_code, own_code, quiet
from isoglot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from types import ModuleType


WAYS = "train one with isoglot pretrain RECIPE --out DIR, or name a Hugging Face encoder such as xlm-roberta-base"
"""How to get an encoder, for error messages."""


def open_hf_model(source: str | Path) -> Any:  # noqa: ANN401 - transformers' class
    """Load the model of a folder or hub name on the CPU in float32, with its head if the weights have one.

    Raises:
        InputError: Weights are missing, or ``transformers`` does not know the model.
        MissingPartError: ``transformers`` is not installed.
        StorageError: The name does not exist, or the hub cannot be reached.
    """
    transformers = import_part("transformers")
    if not Path(source).exists():
        check_hub_name(str(source), "encoder", remedy=f"check the path, or {WAYS}")
    with quiet(transformers):
        try:
            model = _with_head(transformers, source) or _without_head(transformers, source)
        except IsoglotError:
            raise
        except Exception as error:  # the hub's client and transformers raise many kinds
            raise _explained(source, error) from error
    return model.float().eval()


def open_hf_vocabulary(source: str | Path) -> Vocabulary:
    """Load the tokenizer of a model.

    Raises:
        CorruptFileError: The text processing of an isoglot export is missing.
        InputError: It needs custom code.
        StorageError: There is none.
    """
    try:
        return Vocabulary.from_tokenizer(source)
    except CorruptFileError:
        raise
    except StorageError as error:
        reason = error.__cause__ or error.problem
        problem = f"the model has no tokenizer that can be opened ({one_line(str(reason))[:120]})"
        remedy = "save it there too: tokenizer.save_pretrained(…)"
        raise StorageError(problem, remedy, "tokenizer-not-found", file=source) from error


def open_sentence_head(source: str | Path) -> SentenceHead | None:
    """Load the modules of a sentence-transformers model; None for any other model.

    Raises:
        InputError: A module is not supported.
        StorageError: The name does not exist.
    """
    if isinstance(source, Path):
        return read_sentence_head(source, local_files(source))
    check_hub_name(source, "encoder", remedy=f"check the path, or {WAYS}")
    try:
        head = read_sentence_head(source, hub_files(source, local_only=not _network()))
    except IsoglotError:
        raise
    except Exception as error:  # the hub's client raises many kinds
        raise _explained(source, error) from error
    if head is not None and head.transformer:
        problem = "its Transformer is in a subfolder"
        raise InputError(problem, "download it and name the folder", "unknown-format", file=source)
    return head


def hub_snapshot(name: str) -> Path:
    """The local folder of all files of a repository on the hub, fetched if they are not here.

    Raises:
        StorageError: The name does not exist, or the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    check_hub_name(name, "encoder", remedy=f"check the path, or {WAYS}")
    try:
        return Path(snapshot_download(name, local_files_only=not _network()))
    except Exception as error:  # the hub's client raises many kinds
        raise _explained(name, error) from error


def _with_head(transformers: ModuleType, source: str | Path) -> Any:  # noqa: ANN401 - transformers' class
    """Load the model with its head; None if its class or its weights have none."""
    config = transformers.AutoConfig.from_pretrained(str(source), **_reach(source))
    if type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING or _has_decoder(transformers, config):
        return None
    try:
        return _loaded(transformers.AutoModelForMaskedLM, source)
    except _HeadlessError:
        return None


def _without_head(transformers: ModuleType, source: str | Path) -> Any:  # noqa: ANN401 - transformers' class
    """Load the model without a head; of an encoder-decoder model, the encoder."""
    config = transformers.AutoConfig.from_pretrained(str(source), **_reach(source))
    if not _has_decoder(transformers, config):
        return _loaded(transformers.AutoModel, source)
    if type(config) in transformers.MODEL_FOR_TEXT_ENCODING_MAPPING:  # T5 and its kin
        return _loaded(transformers.AutoModelForTextEncoding, source)
    return _loaded(transformers.AutoModel, source).get_encoder()


def _has_decoder(transformers: ModuleType, config: Any) -> bool:  # noqa: ANN401 - transformers' class
    """Whether it is an encoder-decoder model such as T5; the weights may be the encoder's alone."""
    return type(config) in transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING


_READ_BY_TRANSFORMERS = (".json", ".safetensors", ".bin")  # files of a folder that it may open


class _HeadlessError(Exception):
    """Weights of the head are missing."""


def _loaded(kind: Any, source: str | Path) -> Any:  # noqa: ANN401 - transformers' classes
    for path in sorted(Path(source).glob("*")) if Path(source).is_dir() else ():
        if path.suffix in _READ_BY_TRANSFORMERS:
            note_read(path)
    model, report = kind.from_pretrained(str(source), output_loading_info=True, **_reach(source))
    missing, prefix = set(report["missing_keys"]), f"{model.base_model_prefix}."
    wanting = [name for name in missing if model.base_model is model or name.startswith(prefix)]
    wanting = sorted(name for name in wanting if "pooler" not in name)  # the pooler is not used
    if wanting:
        problem = f"{len(wanting)} weights are missing, the first {shown(wanting[0])}"
        raise InputError(problem, "download the complete model again", "unknown-format", file=source)
    if model.base_model is not model and missing - set(wanting):
        raise _HeadlessError
    return model


def _reach(source: str | Path) -> dict[str, bool]:
    """Loading options: never with custom code; without a network, only from the local cache."""
    return {"local_files_only": Path(source).exists() or not _network(), **NO_CODE}


@cache
def _network() -> bool:
    """Whether the hub can be reached; assumed behind a proxy."""
    from huggingface_hub import constants  # transformers needs it, so it is there

    if getproxies():
        return True
    hub = urlsplit(constants.ENDPOINT)
    try:
        with socket.create_connection((hub.hostname or "", hub.port or 443), timeout=5):
            return True
    except OSError:
        return False


def _explained(source: str | Path, error: Exception) -> IsoglotError:
    if needs_code(error):
        return own_code(source)
    reason = one_line(str(error))[:160]
    if Path(source).exists():
        problem = f"not a model that transformers can open ({reason})"
        return InputError(problem, "name a folder with config.json and weights", "unknown-format", file=source)
    where = f"here or on the hub ({reason})" if _network() else "here, and the hub cannot be reached"
    problem = f"no encoder {shown(str(source))} {where}"
    return StorageError(problem, f"check the name and the network, or {WAYS}", "model-not-found")
