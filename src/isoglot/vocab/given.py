"""Tokenizers from elsewhere: opening one, and finding its special tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, InputError, StorageError, one_line, shown
from isoglot.core.files import read_text
from isoglot.core.parts import import_part
from isoglot.vocab.scheme import SPECIAL

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_OTHER_NAMES = {"[PAD]": "<pad>", "[UNK]": "<unk>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
_OLDER_FILES = ("tokenizer_config.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
_WAYS = "check the name and the network, or name a folder with a tokenizer.json"
NO_CODE = {"trust_remote_code": False}
"""For every call that opens a model or a tokenizer: transformers neither runs Python code from it nor asks to."""


def needs_code(error: Exception) -> bool:
    """Whether transformers could not open something because that needs Python code from its folder."""
    return "trust_remote_code" in str(error)


def own_code(source: str | Path) -> InputError:
    """The refusal of a model or a tokenizer that needs Python code from its folder."""
    return InputError(
        "it needs Python code of its own (auto_map), which isoglot never runs",
        remedy="choose a model that transformers has itself",
        file=source,
    )


def check_hub_name(name: str, what: str, *, remedy: str) -> None:
    """Refuse what is not here and cannot be a name on the hub: a misspelled path.

    Raises:
        StorageError: No repository can have that name.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise StorageError(f"no {what} {shown(name)} here, and the hub has no such names", remedy=remedy) from error


def open_given(source: str | Path) -> tuple[str, str]:
    """The ``tokenizer.json`` of a file, a folder or a name on the hub, and where it came from.

    Padding and truncation are switched off: ids are all there and nothing else is.

    Raises:
        InputError: The file is no tokenizer.
        StorageError: There is no such file, folder or name.
    """
    from tokenizers import Tokenizer

    path = Path(source)
    if path.is_dir() and not (path / "tokenizer.json").exists():  # an older layout, such as BERT's vocab.txt
        missing = StorageError(
            "no vocabulary or tokenizer in this folder",
            remedy="name one made by isoglot vocab train, or one with a tokenizer.json",
            file=path,
        )
        if not any((path / name).exists() for name in _OLDER_FILES):
            raise missing
        transformers = import_part("transformers")
        try:
            found = transformers.AutoTokenizer.from_pretrained(str(path), local_files_only=True, **NO_CODE)
            view, origin = found.backend_tokenizer.to_str(), str(path)
        except Exception as error:  # of many kinds, by what is missing
            if needs_code(error):
                raise own_code(path) from error
            raise missing from error
    elif path.exists():
        file = path / "tokenizer.json" if path.is_dir() else path
        view, origin = read_text(file), str(file)
    elif path.suffix == ".json" or str(source).startswith((".", "/", "~")):
        raise StorageError("no such tokenizer", remedy="check the spelling of the path", file=source)
    else:
        check_hub_name(str(source), "tokenizer", remedy=_WAYS)
        _check_network(str(source))
        try:
            view, origin = Tokenizer.from_pretrained(str(source)).to_str(), f"hub:{source}"
        except Exception as error:  # the hub's client raises many kinds
            raise StorageError(
                f"no tokenizer {shown(str(source))} here or on the hub ({one_line(str(error))[:120]})",
                remedy=_WAYS,
            ) from error
    try:
        tokenizer = Tokenizer.from_str(view)
    except Exception as error:  # tokenizers raises the bare class
        raise InputError(
            f"not a tokenizer: {one_line(str(error))[:120]}", remedy="name a tokenizer.json", file=origin
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer.to_str(), origin


def _check_network(name: str) -> None:
    """Refuse a name at once where the hub's client would try for half a minute: it is not stored, nor is there a hub.

    Raises:
        StorageError: The name is not stored and the hub has no address here.
    """
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub import constants, try_to_load_from_cache

    stored = isinstance(try_to_load_from_cache(name, "tokenizer.json"), str)
    host = urlsplit(constants.ENDPOINT).hostname
    if stored or getproxies() or host is None:
        return
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        raise StorageError(
            f"no tokenizer {shown(name)} here, and the hub ({host}) cannot be reached",
            remedy=_WAYS,
        ) from error


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """The ids of the special tokens, under BERT's names for them; those it does not have are left out.

    Raises:
        ConfigError: It has no mask.
    """
    found: dict[str, int] = {}
    for name in SPECIAL:
        index = tokenizer.token_to_id(name)
        if index is None:
            index = tokenizer.token_to_id(_OTHER_NAMES[name])
        if index is not None:
            found[name] = index
    if "[MASK]" not in found:
        known = sorted(token["content"] for token in json.loads(tokenizer.to_str())["added_tokens"])[:8]
        raise ConfigError(
            f"the tokenizer has no mask token (it has {', '.join(known) or 'no special tokens'})",
            remedy="choose one that was made for a masked language model",
        )
    return found
