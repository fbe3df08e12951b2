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
        backend = import_part("transformers").AutoTokenizer.from_pretrained(str(path)).backend_tokenizer
        view, origin = backend.to_str(), str(path)
    elif path.exists():
        file = path / "tokenizer.json" if path.is_dir() else path
        view, origin = read_text(file), str(file)
    elif path.suffix == ".json" or str(source).startswith((".", "/", "~")):
        raise StorageError("no such tokenizer", remedy="check the spelling of the path", file=source)
    else:
        try:
            view, origin = Tokenizer.from_pretrained(str(source)).to_str(), f"hub:{source}"
        except Exception as error:  # the hub's client raises many kinds
            raise StorageError(
                f"no tokenizer {shown(str(source))} here or on the hub ({one_line(str(error))[:120]})",
                remedy="check the name and the network, or name a folder with a tokenizer.json",
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
