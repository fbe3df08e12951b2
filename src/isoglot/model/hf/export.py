"""Export of an encoder, or of one language's view of it, as a folder for Hugging Face's ``from_pretrained``.

Two architectures have a counterpart there: post-norm with learned positions, GELU and biases is BERT; pre-norm with
rotary positions and GeGLU is ModernBERT. The view of a language keeps the ids of the whole vocabulary:

- a private token table is expanded to all ids; ids that the language does not have get the row of ``[UNK]``;
- ids that a private softmax does not have get the bias ``ABSENT``;
- the language embedding is added to every position, or to every token if positions are rotary.

Nothing here needs ``transformers``. The same encoder gives the same bytes.

Shapes: ``V`` vocabulary, ``D`` hidden size, ``T`` positions.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save

from isoglot.core.errors import ConfigError, IsoglotError, StorageError, shown
from isoglot.core.files import as_json, read_json, storage_error, write_bytes, write_json
from isoglot.core.language_codes import language_code
from isoglot.core.run import written_together
from isoglot.model.hf.import_weights import HF_SETTINGS, Family, hf_names
from isoglot.model.modules import ABSENT, SHARED, Members, PerLanguage
from isoglot.text.provenance import store_provenance
from isoglot.vocab.external_tokenizer import EXPORT_MARK as MARK
from isoglot.vocab.external_tokenizer import TEXT_FILE as TEXT
from isoglot.vocab.subword_scheme import SPECIAL, for_masked_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.model.config import EncoderConfig
    from isoglot.model.encoder import Encoder
    from isoglot.vocab import Vocabulary


def without_folders(about: Any) -> Any:  # noqa: ANN401 - what JSON holds
    r"""Replace absolute paths by file names: a path on one machine means nothing on another.

    >>> without_folders({"texts": ["/home/me/en.txt", "de.txt"], "tokenizer": "C:\\models\\bert", "step": 7})
    {'texts': ['en.txt', 'de.txt'], 'tokenizer': 'bert', 'step': 7}
    """
    if isinstance(about, dict):
        return {key: without_folders(value) for key, value in about.items()}
    if isinstance(about, list | tuple):
        return [without_folders(value) for value in about]
    for kind in (PurePosixPath, PureWindowsPath):
        if isinstance(about, str) and kind(about).is_absolute() and kind(about).name:
            return kind(about).name
    return about


def free_folder(folder: str | Path, is_earlier: Callable[[Path], bool]) -> Path:
    """Return the folder of an export, if it is new, empty or an earlier export.

    Args:
        folder: The folder.
        is_earlier: Whether a folder that is not empty is an earlier export; an isoglot error means it is not.

    Raises:
        StorageError: The folder holds something else, or cannot be read.
    """
    target = Path(folder)
    try:
        if not target.is_dir() or not any(target.iterdir()):
            return target
    except OSError as error:
        raise storage_error(error, folder, doing="write to this folder") from error
    try:
        known = is_earlier(target)
    except (IsoglotError, TypeError):
        known = False
    if not known:
        problem = "the folder is not empty and not an earlier export"
        raise StorageError(problem, "name a new folder or an empty one", "not-replaceable", file=folder)
    return target


PROVENANCE = "isoglot_provenance.json"  # file with the provenance of the encoder; ``config.json`` has its hash

_NEEDED: dict[Family, dict[str, str | int]] = {
    "bert": {
        "norm": "post",
        "positions": "learned",
        "mlp": "gelu",
        "bias": "all",
        "head_transform": "bert",
        "local_window": 0,
    },
    "modernbert": {"norm": "pre", "positions": "rotary", "mlp": "geglu", "head_transform": "bert"},
}
_TITLES: dict[Family, str] = {"bert": "Bert", "modernbert": "ModernBert"}


def export_to_hf(encoder: Encoder, folder: str | Path, language: str | None = None) -> list[Path]:
    """Export an encoder as a Hugging Face model with its tokenizer; returns the files.

    The tokenizer gives the ids of :func:`isoglot.model.make_batch`, but reads ``[MASK]`` and the like in a text as
    special tokens, as users of ``fill-mask`` expect: a mask in place of a word leaves the other ids unchanged. It does
    not clean or segment text: if the vocabulary does, ``isoglot_text.json`` says how
    (:mod:`isoglot.vocab.external_tokenizer`), and isoglot follows it when it reads the folder.

    Args:
        encoder: The encoder.
        folder: The folder; written atomically. An earlier export is replaced.
        language: The language whose view to export, if the encoder or its vocabulary has private parts.

    Returns:
        The files that were written.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.model import Encoder, encoder_config
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder, text = Path(name), Path(name) / "en.txt"
    ...     _ = text.write_text("the house is old " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    ...     encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=len(vocabulary)), vocabulary)
    ...     sorted(path.name for path in export_to_hf(encoder, folder / "hf", "en"))
    ['config.json', 'isoglot_provenance.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']

    Raises:
        ConfigError: Hugging Face has no such model, or a language must be named.
        StorageError: The folder holds something else, or cannot be written to.
    """
    family = hf_family(encoder.config)
    code = _checked(encoder.config, language)
    tokenizer, tokenizer_config = _tokenizer(encoder.vocabulary, code, encoder.max_length, family)
    target = free_folder(folder, lambda earlier: MARK in read_json(earlier / "config.json"))
    weights, tied = _weights(encoder, family, code)
    config = _config(encoder, family, tied=tied)
    config[MARK] = {"language": code, "plan": encoder.config.plan}
    files = {
        "model.safetensors": save(weights, metadata={"format": "pt"}),
        "tokenizer.json": tokenizer.encode(),
        "tokenizer_config.json": as_json(tokenizer_config),
    }
    text = encoder.vocabulary.exported_text(code)
    if text.processing:
        files[TEXT], config[MARK]["text"] = text.as_file()
    with written_together(target, stale=(TEXT,)) as scratch:
        for name, data in files.items():
            write_bytes(scratch / name, data)
        _, config[MARK]["provenance"] = store_provenance(scratch, encoder.provenance, name=PROVENANCE)
        write_json(scratch / "config.json", config)
    return [target.absolute() / name for name in (*files, PROVENANCE, "config.json")]


def hf_family(config: EncoderConfig) -> Family:
    """The Hugging Face architecture of an encoder.

    Raises:
        ConfigError: There is none; the message names the settings that differ.
    """
    reasons = []
    for family, needed in _NEEDED.items():
        differ = [f"{key}={getattr(config, key)}" for key, value in needed.items() if getattr(config, key) != value]
        if not differ:
            return family
        reasons.append(f"{', '.join(differ)} is not supported by {_TITLES[family].upper()}")
    problem = f"Hugging Face has no counterpart of this encoder ({'; '.join(reasons)})"
    remedy = "export one with the norm, positions, mlp, bias and transform of the preset paper or modern"
    raise ConfigError(problem, remedy, "not-supported")


def _checked(config: EncoderConfig, language: str | None) -> str | None:
    """The canonical code of a language; an error if the encoder has private parts, and none for this language."""
    code = None if language is None else language_code(language)
    if config.is_separate and code not in config.languages:
        named = "none is named" if language is None else f"none for {shown(language)}"
        problem = f"the encoder has private parts and {named}: one language's view can be exported"
        remedy = f"choose one of {', '.join(config.languages)}: --lang {config.languages[0]}"
        raise ConfigError(problem, remedy, "not-supported")
    return code


# --- weights ---


def _weights(encoder: Encoder, family: Family, code: str | None) -> tuple[dict[str, torch.Tensor], bool]:
    """Every tensor under its Hugging Face name, and whether the softmax is tied to the token embeddings."""
    ours = _view(encoder, code)
    softmax_VD = ours.get("head.softmax.weight")
    tied = softmax_VD is None or torch.equal(softmax_VD, ours["embedding.tokens.weight"])
    if tied:
        ours.pop("head.softmax.weight", None)
    names = hf_names(family, encoder.depth)
    theirs: dict[str, torch.Tensor] = {}
    for name, tensor in ours.items():
        part, _, kind = name.rpartition(".")
        for other, rows in zip(names[part], tensor.chunk(len(names[part])), strict=True):
            theirs[f"{other}.{kind}"] = rows
    if family == "bert":
        second_1D = encoder.embedding.second_segment
        first_1D = torch.zeros(1, encoder.hidden_size)
        segments = (first_1D, first_1D if second_1D is None else second_1D.detach().cpu())
        theirs["bert.embeddings.token_type_embeddings.weight"] = torch.cat(segments)
        bias = theirs.get("cls.predictions.decoder.bias")
        if bias is not None:  # it has two names, of which a tied model's file has the second
            theirs["cls.predictions.bias"] = bias
            if tied:
                del theirs["cls.predictions.decoder.bias"]
    return {name: tensor.detach().float().cpu().clone() for name, tensor in sorted(theirs.items())}, tied


@torch.no_grad()
def _view(encoder: Encoder, code: str | None) -> dict[str, torch.Tensor]:
    """The parts that one language uses, under their names without the language, over all ids."""
    found = {
        f"{path}.{name}": tensor
        for path, part in encoder.named_modules()
        if isinstance(part, PerLanguage)
        for name, tensor in part.of(code).state_dict().items()
    }
    members = encoder.members[code] if code is not None and code in encoder.members else None
    table_VD = found["embedding.tokens.weight"]
    if SHARED not in encoder.embedding.tokens and isinstance(members, Members):
        table_VD = table_VD[members.row_V]
    if encoder.config.softmax != "none":
        weight, bias = encoder.head.weight(code), found["head.softmax.bias"]
        if SHARED not in encoder.head.softmax and isinstance(members, Members):
            weight = table_VD.index_copy(0, members.ids, weight)
            bias = bias.new_full((len(table_VD),), ABSENT).index_copy(0, members.ids, bias)
        found |= {"head.softmax.weight": weight, "head.softmax.bias": bias}
    if encoder.embedding.languages is not None and code is not None:
        own_D = encoder.embedding.language_vector(code)[0]
        if "embedding.positions.weight" in found:
            found["embedding.positions.weight"] = found["embedding.positions.weight"] + own_D
        else:
            table_VD = table_VD + own_D
    found["embedding.tokens.weight"] = table_VD
    return found


# --- config and tokenizer ---


def _config(encoder: Encoder, family: Family, *, tied: bool) -> dict[str, Any]:
    config, special = encoder.config, encoder.vocabulary.special
    kind = "Model" if config.softmax == "none" else "ForMaskedLM"
    common: dict[str, Any] = {
        "architectures": [f"{_TITLES[family]}{kind}"],
        "model_type": family,
        **{theirs: getattr(config, ours) for ours, theirs in HF_SETTINGS[family].items()},
        "initializer_range": 0.02,
        "pad_token_id": config.pad_id,
        "tie_word_embeddings": tied,
    }
    if family == "bert":
        same = {"hidden_act": "gelu", "type_vocab_size": 2, "position_embedding_type": "absolute"}
        return common | same | {"attention_probs_dropout_prob": config.dropout}
    return common | {
        "hidden_activation": "gelu",
        "classifier_activation": "gelu",
        "decoder_bias": True,
        **{f"{part}_bias": config.bias == "all" for part in ("norm", "attention", "mlp", "classifier")},
        **{f"{part}_dropout": config.dropout for part in ("attention", "embedding")},
        "global_rope_theta": config.rotary_base,
        "local_rope_theta": config.local_rotary_base,
        "local_attention": config.local_window or 128,
        "global_attn_every_n_layers": config.global_every if config.local_window else 1,
        **{f"{role}_token_id": special.get("[CLS]") for role in ("bos", "cls")},
        **{f"{role}_token_id": special.get("[SEP]") for role in ("eos", "sep")},
    }


def _tokenizer(vocabulary: Vocabulary, code: str | None, length: int, family: Family) -> tuple[str, dict[str, Any]]:
    """The language's view as ``tokenizer.json`` and ``tokenizer_config.json``."""
    names = {name: vocabulary.pieces[index] for name, index in vocabulary.special.items()}
    text = vocabulary.view(code)
    if vocabulary.mode != "given":
        text = for_masked_text(text)
    roles = zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True)
    segments = ["token_type_ids"] if family == "bert" else []
    return text, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": length,
        "model_input_names": ["input_ids", *segments, "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "padding_side": vocabulary.padding_side,
        **{role: names[name] for role, name in roles if name in names},
    }
