"""Tokenizers of other models: loading, special tokens, and the layout of rows.

The special tokens around texts, such as BERT's ``[CLS] a [SEP] b [SEP]``, RoBERTa's ``<s> a </s></s> b </s>`` or T5's
``a </s> b </s>``, are defined by the ``post_processor`` of ``tokenizer.json`` only.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from isoglot.core.artifact import read_sealed, sealed
from isoglot.core.errors import ConfigError, CorruptFileError, InputError, StorageError, one_line, shown
from isoglot.core.files import as_json, check_file, read_json, read_text
from isoglot.core.optional import import_part
from isoglot.text.cleaning.processing import Segmentation, TextProcessing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from tokenizers import Tokenizer

Side = Literal["left", "right"]  # the side on which rows are padded
Ids = tuple[int, ...]


@dataclass(frozen=True)
class RowLayout:
    """Special tokens of a row of one text and of a row of two.

    Args:
        before: Before a text.
        after: After a text.
        pair_before: Before the first of two texts.
        pair_between: Between two texts.
        pair_after: After the second text.
        second: The token type (segment id) of the second text and the tokens after it; that of the first is 0.
        pad: The padding id.
    """

    before: Ids = ()
    after: Ids = ()
    pair_before: Ids = ()
    pair_between: Ids = ()
    pair_after: Ids = ()
    second: int = 0
    pad: int = 0

    @property
    def size(self) -> int:
        """The number of special tokens of a row of one text."""
        return len(self.before) + len(self.after)

    @property
    def pair_size(self) -> int:
        """The number of special tokens of a row of two texts."""
        return len(self.pair_before) + len(self.pair_between) + len(self.pair_after)

    @property
    def ids(self) -> frozenset[int]:
        """The ids of all special tokens."""
        return frozenset(self.before + self.after + self.pair_before + self.pair_between + self.pair_after)

    @property
    def separator(self) -> int:
        """The token at the end of a row, also used between sentences.

        Raises:
            ConfigError: There is none.
        """
        if not self.after:
            problem = "the tokenizer puts no separator after a text"
            raise ConfigError(problem, "set batch.separator to none", "not-supported")
        return self.after[-1]

    @property
    def segment_separator(self) -> int | None:
        """The token after the first of two texts if the second has token type 1, else None.

        None also if the token stands before the first text, as in XLM, which has no segments.

        >>> RowLayout((2,), (3,), (2,), (3,), (3,), second=1).segment_separator
        3
        """
        if self.second != 1 or not self.pair_between or self.pair_between[-1] in self.pair_before:
            return None
        return self.pair_between[-1]

    def framed(self, parts: Sequence[Sequence[int]]) -> list[int]:
        """Add the special tokens to a row of one or two texts.

        >>> RowLayout((2,), (3,), (2,), (3,), (3,)).framed([[7], [8, 9]])
        [2, 7, 3, 8, 9, 3]
        """
        if len(parts) == 1:
            return [*self.before, *parts[0], *self.after]
        return [*self.pair_before, *parts[0], *self.pair_between, *parts[1], *self.pair_after]


def row_layout(view: str) -> RowLayout:
    """The layout of a ``tokenizer.json``.

    Raises:
        ConfigError: Its post-processor does something other than adding tokens around the texts.
    """
    return _layout(json.loads(view).get("post_processor"))


def _layout(processor: Mapping[str, Any] | None) -> RowLayout:
    kind = None if processor is None else processor["type"]
    if processor is None or kind == "ByteLevel":  # ByteLevel only trims offsets
        return RowLayout()
    if kind == "Sequence":
        inner = RowLayout()
        for step in processor["processors"]:
            inner = _around(_layout(step), inner)
        return inner
    if kind in ("BertProcessing", "RobertaProcessing"):
        first, last = ((int(processor[name][1]),) for name in ("cls", "sep"))
        bert = kind == "BertProcessing"
        return RowLayout(first, last, first, last * (1 if bert else 2), last, int(bert))
    if kind == "TemplateProcessing":
        ids = {name: tuple(map(int, token["ids"])) for name, token in processor["special_tokens"].items()}
        single = _template(processor["single"], ids, "A")
        pair = _template(processor["pair"], ids, "AB")
        types = [step["Sequence"].get("type_id", 0) for step in processor["pair"] if "Sequence" in step]
        return RowLayout(single[0], single[1], pair[0], pair[1], pair[2], int(types[1]))
    raise ConfigError(f"the tokenizer has a post-processor {shown(kind)}", "choose another tokenizer", "not-supported")


def _around(outer: RowLayout, inner: RowLayout) -> RowLayout:
    """Combine two post-processors."""
    return (
        RowLayout(
            outer.before + inner.before,
            inner.after + outer.after,
            outer.pair_before + inner.before,
            inner.after + outer.pair_between + inner.before,
            inner.after + outer.pair_after,
            outer.second,
        )
        if inner.ids and outer.ids
        else (outer if outer.ids else inner)
    )


def _template(steps: Sequence[Mapping[str, Any]], ids: Mapping[str, Ids], texts: str) -> list[Ids]:
    """The special tokens before, between and after the texts of a template."""
    found: list[Ids] = [()]
    seen = ""
    for step in steps:
        if "Sequence" in step:
            seen += step["Sequence"]["id"]
            found.append(())
        else:
            found[-1] += ids[step["SpecialToken"]["id"]]
    if seen != texts:
        problem = f"the tokenizer's template has the texts {shown(seen)} where {shown(texts)} is needed"
        raise ConfigError(problem, "choose a tokenizer that takes each text once, in order", "not-supported")
    return found


_TYPES = "token_type_ids"
_ROLES = ("pad", "unk", "cls", "sep", "mask", "bos", "eos")
_USUAL_NAMES = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
}
"""Special tokens of a ``tokenizer.json`` without a file that names them."""
_OLDER_FILES = ("tokenizer_config.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
_WAYS = "check the name and the network, or name a folder with a tokenizer.json"
NO_CODE = {"trust_remote_code": False}
"""Arguments with which transformers neither runs Python code of a model nor asks to."""


def needs_code(error: Exception) -> bool:
    """Whether transformers failed because a model or tokenizer needs its own Python code."""
    return "trust_remote_code" in str(error)


def own_code(source: str | Path) -> InputError:
    """The error of a model or tokenizer that needs its own Python code."""
    problem = "it needs Python code of its own (auto_map), which isoglot never runs"
    return InputError(problem, "choose a model that transformers has itself", "unknown-format", file=source)


def check_hub_name(name: str, what: str, *, remedy: str) -> None:
    """Check that a name is possible on the hub; it is often a misspelled path.

    Raises:
        StorageError: It is not a valid name.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise StorageError(
            f"no {what} {shown(name)} here, and it is not a valid name on the hub", remedy, "model-not-found"
        ) from error


@dataclass(frozen=True)
class ExternalTokenizer:
    """Tokenizer of another model.

    Args:
        view: Its ``tokenizer.json``, which neither pads nor truncates.
        origin: Where it came from.
        special: The ids of its special tokens by BERT's names, as far as it has them.
        padding_side: The side on which it pads.
        token_types: Whether it gives token types.
    """

    view: str
    origin: str
    special: dict[str, int]
    padding_side: Side = "right"
    token_types: bool = False


def open_tokenizer(source: str | Path) -> ExternalTokenizer:
    """Load the tokenizer of a file, a folder or a name on the hub.

    ``transformers``, if it is installed, loads folders and names, and applies ``tokenizer_config.json``. Otherwise
    ``tokenizer.json`` is used with the special tokens that the files beside it name. No code of the folder is run.

    Raises:
        InputError: The file is not a tokenizer, or needs its own code.
        StorageError: There is no such file, folder or name.
    """
    path = Path(source).expanduser()
    if path.name == "tokenizer.json" and path.is_file():
        path = path.parent
    if path.is_dir() and not any((path / name).exists() for name in ("tokenizer.json", *_OLDER_FILES)):
        raise _none_in(path)
    if path.is_file():
        return _from_json(read_text(path), str(path), {})
    if not path.exists():
        if path.suffix == ".json" or str(source).startswith((".", "/", "~")):
            problem = "no such tokenizer"
            raise StorageError(problem, "check the spelling of the path", "tokenizer-not-found", file=source)
        check_hub_name(str(source), "tokenizer", remedy=_WAYS)
        _check_network(str(source))
    try:
        found = _by_transformers(path if path.is_dir() else str(source))
    except Exception as error:  # any exception
        if needs_code(error):
            raise own_code(source) from error
        if (path / "tokenizer.json").exists():
            return _from_json(read_text(path / "tokenizer.json"), str(path), _settings(path))
        if path.is_dir():
            raise _none_in(path) from error
        problem = f"no tokenizer {shown(str(source))} here or on the hub ({one_line(str(error))[:120]})"
        raise StorageError(problem, _WAYS, "tokenizer-not-found") from error
    return found


def _none_in(folder: Path) -> StorageError:
    problem = "no vocabulary or tokenizer in this folder"
    remedy = "name one made by isoglot vocab train, or one with a tokenizer.json"
    return StorageError(problem, remedy, "tokenizer-not-found", file=folder)


def _by_transformers(source: str | Path) -> ExternalTokenizer:
    """Load a tokenizer with ``transformers``.

    Raises:
        Exception: It cannot be loaded, or transformers is not installed.
    """
    transformers = import_part("transformers")
    local = isinstance(source, Path)
    with quiet(transformers):
        found = transformers.AutoTokenizer.from_pretrained(str(source), local_files_only=local, **NO_CODE)
    names = {role: getattr(found, f"{role}_token_id", None) for role in _ROLES}
    roles = {role: int(index) for role, index in names.items() if index is not None}
    given = _with_roles(found.backend_tokenizer, str(source) if local else f"hub:{source}", roles, found.padding_side)
    special = {token.content for token in found.backend_tokenizer.get_added_tokens_decoder().values()}
    if not any(len(piece) > 1 for piece in found.backend_tokenizer.get_vocab().keys() - special):
        raise FileNotFoundError("no file has its pieces")  # transformers 5 creates an empty one if there is no file
    return replace(given, token_types=_TYPES in found.model_input_names)


def _from_json(text: str, origin: str, settings: Mapping[str, Any]) -> ExternalTokenizer:
    """Load a ``tokenizer.json`` with the special tokens that the files beside it name."""
    tokenizer = parse_tokenizer(text, origin)
    roles: dict[str, int] = {}
    for role in _ROLES:
        token = settings.get(f"{role}_token")
        content = token.get("content") if isinstance(token, dict) else token
        index = tokenizer.token_to_id(content) if isinstance(content, str) else settings.get(f"{role}_token_id")
        if isinstance(index, int):
            roles[role] = index
    given = _with_roles(tokenizer, origin, roles, "left" if settings.get("padding_side") == "left" else "right")
    return replace(given, token_types=_TYPES in settings.get("model_input_names", ()))


def parse_tokenizer(text: str, origin: str | Path) -> Tokenizer:
    """Parse a ``tokenizer.json``; ``origin`` is for the error message.

    Raises:
        InputError: It is not a tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # tokenizers raises the bare class
        problem = f"not a tokenizer: {one_line(str(error))[:120]}"
        raise InputError(problem, "name a tokenizer.json", "unknown-format", file=origin) from error


def _settings(folder: Path) -> dict[str, Any]:
    """Settings in the files beside a ``tokenizer.json``; the tokenizer's take precedence over the model's."""
    found: dict[str, Any] = {}
    for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).exists():
            values = read_json(folder / name)
            found |= {key: value for key, value in values.items() if value is not None} if values else {}
    return found


def _with_roles(tokenizer: Tokenizer, origin: str, roles: Mapping[str, int], padding_side: Side) -> ExternalTokenizer:
    padding = tokenizer.padding
    tokenizer.no_padding()
    tokenizer.no_truncation()
    view = tokenizer.to_str()
    whole = json.loads(view)
    found = dict(roles)
    if not found.keys() - {"pad"}:  # a tokenizer.json alone names only two special tokens
        unknown = whole["model"].get("unk_token")
        index = whole["model"].get("unk_id") if unknown is None else tokenizer.token_to_id(unknown)
        stated = {"unk": index, "pad": padding["pad_id"] if padding else found.get("pad")}
        special = {token["content"]: token["id"] for token in whole["added_tokens"] if token["special"]}
        usual = {role: next((special[n] for n in names if n in special), None) for role, names in _USUAL_NAMES.items()}
        both = {role: usual[role] if stated.get(role) is None else stated[role] for role in usual}
        found = {role: index for role, index in both.items() if index is not None}
    layout = row_layout(view)
    chosen = {
        "[PAD]": found.get("pad"),
        "[UNK]": found.get("unk"),
        "[CLS]": found.get("cls", found.get("bos", next(iter(layout.before), None))),
        "[SEP]": found.get("sep", found.get("eos", next(reversed(layout.after), None))),
        "[MASK]": found.get("mask"),
    }
    return ExternalTokenizer(
        view, origin, {name: index for name, index in chosen.items() if index is not None}, padding_side
    )


def _check_network(name: str) -> None:
    """Fail at once, rather than after half a minute of retries, if a name is not cached and the hub is unreachable.

    Raises:
        StorageError: The name is not cached and the hub cannot be resolved.
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
        problem = f"no tokenizer {shown(name)} here, and the hub ({host}) cannot be reached"
        raise StorageError(problem, _WAYS, "tokenizer-not-found") from error


@contextmanager
def quiet(transformers: ModuleType) -> Iterator[None]:
    """Suppress progress bars and warnings of transformers; errors are raised."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


# --- text processing of exported tokenizers, which tokenizer.json cannot describe ---

EXPORT_MARK = "isoglot"  # the key in ``config.json`` that marks a folder as an export, which may be replaced
TEXT_FILE = "isoglot_text.json"
PROCESSING_FORM = {...: {"clean": bool, "segmentation": get_args(Segmentation)}}
_EXPORT_AGAIN = "copy the folder again, whole, or export the encoder again"


class ExportedText(NamedTuple):
    """Languages of an exported tokenizer and the processing of their text."""

    languages: Sequence[str] = ()
    processing: Sequence[TextProcessing] = ()

    def __str__(self) -> str:
        """What another program has to do to text, in one line; empty if nothing.

        >>> str(ExportedText(["zh"], [TextProcessing("zh", clean=True, segmentation="jieba")]))[:56]
        'tokenizer.json does not process text. Text of zh must be'
        """
        if not self.processing:
            return ""
        done = ", ".join(f"{one.language} must be {one}" for one in self.processing)
        one = self.processing[0]
        return (
            f"tokenizer.json does not process text. Text of {done} before it is given to another program: "
            f'isoglot.text.cleaning.processing.TextProcessing("{one.language}", clean={one.clean}, '
            f'segmentation="{one.segmentation}")(text). isoglot does this itself.'
        )

    def as_file(self) -> tuple[bytes, str]:
        """The content of ``isoglot_text.json`` and its hash for ``config.json``."""
        processing = {one.language: one.facts() for one in self.processing}
        content = {"languages": list(self.languages), "processing": processing, "note": str(self)}
        data = as_json(sealed(content))
        return data, hashlib.sha256(data).hexdigest()


def exported_text(source: str | Path) -> ExportedText:
    """Read the text processing of an exported tokenizer; None for other tokenizers.

    Args:
        source: A folder, its ``tokenizer.json``, or a name on the hub whose files were downloaded.

    Raises:
        CorruptFileError: ``isoglot_text.json`` is missing or altered.
    """
    path = Path(source).expanduser()
    folder = path.parent if path.name == "tokenizer.json" and path.is_file() else path
    config, facts = folder / "config.json", folder / TEXT_FILE
    if not folder.exists():
        config, facts = _fetched(str(source), "config.json"), _fetched(str(source), TEXT_FILE)
    mark = _mark(config)
    if "text" not in mark:
        return ExportedText()
    if not facts.is_file():
        problem = f"{TEXT_FILE} is missing: how text is segmented for this tokenizer"
        raise CorruptFileError(problem, _EXPORT_AGAIN, "missing-part", file=folder / TEXT_FILE)
    check_file(facts, sha256=str(mark["text"]))
    found = read_sealed(facts, {"languages": [str], "processing": PROCESSING_FORM}, remedy=_EXPORT_AGAIN)
    return ExportedText(
        found["languages"], [TextProcessing(code, **each) for code, each in found["processing"].items()]
    )


def _mark(config: Path) -> dict[str, object]:
    if not config.is_file():
        return {}
    content = read_json(config)
    mark = content.get(EXPORT_MARK) if isinstance(content, dict) else None
    return mark if isinstance(mark, dict) else {}


def _fetched(name: str, file: str) -> Path:
    """A downloaded file of a repository on the hub; a path that does not exist if there is none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(name, file))
    except (HfHubHTTPError, LocalEntryNotFoundError):
        return Path(name) / file
