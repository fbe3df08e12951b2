"""The modules of a sentence-transformers folder: from the last hidden states to the one vector of a sentence.

``modules.json`` names them: a Transformer, then Pooling, then any of Dense and Normalize. They are computed here; no
code comes from the folder, and one with other modules is refused. Special tokens count in pooling, as they do there.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``E`` size of the sentence's vector.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from isoglot.core.errors import InputError, one_line, shown
from isoglot.core.files import note_read

MODULES = "modules.json"
_UNLIMITED = 1_000_000  # tokens: what a tokenizer says that has no limit is more
Fetch = Callable[[str], Path | None]
"""Gives the file of a relative path, or None where there is none."""
Pool = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_KNOWN = ("Transformer", "Pooling", "Dense", "Normalize")
_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Identity": lambda x: x,
    "Tanh": torch.tanh,
    "ReLU": F.relu,
    "GELU": F.gelu,
    "Sigmoid": torch.sigmoid,
    "SiLU": F.silu,
}


def _mean(hidden_BTD: torch.Tensor, mask_BT1: torch.Tensor, power: float = 1.0) -> torch.Tensor:
    counts_B1 = mask_BT1.sum(dim=1).clamp(min=1e-9)
    return (hidden_BTD * mask_BT1).sum(dim=1) / counts_B1**power


def _weighted_mean(hidden_BTD: torch.Tensor, mask_BT1: torch.Tensor) -> torch.Tensor:
    """Mean with weights that grow with the position: 1 for the first token, 2 for the second."""
    weights_BT1 = mask_BT1.cumsum(dim=1) * mask_BT1
    return (hidden_BTD * weights_BT1).sum(dim=1) / weights_BT1.sum(dim=1).clamp(min=1e-9)


def _token(hidden_BTD: torch.Tensor, mask_BT1: torch.Tensor, *, last: bool) -> torch.Tensor:
    """The first or the last token that is not padding."""
    order_BT = torch.arange(1, mask_BT1.shape[1] + 1, device=mask_BT1.device) * mask_BT1[..., 0]
    order_BT = order_BT if last else torch.where(order_BT > 0, -order_BT, -torch.inf)
    at_B = order_BT.argmax(dim=1)
    return hidden_BTD[torch.arange(len(at_B), device=at_B.device), at_B]


_POOLS: dict[str, tuple[str, Pool]] = {
    "cls": ("cls_token", lambda hidden, mask: _token(hidden, mask, last=False)),
    "max": ("max_tokens", lambda hidden, mask: hidden.masked_fill(mask == 0, -torch.inf).amax(dim=1)),
    "mean": ("mean_tokens", _mean),
    "mean_sqrt_len": ("mean_sqrt_len_tokens", lambda hidden, mask: _mean(hidden, mask, 0.5)),
    "weightedmean": ("weightedmean_tokens", _weighted_mean),
    "lasttoken": ("lasttoken", lambda hidden, mask: _token(hidden, mask, last=True)),
}
"""The end of the key in older configs, and the function, in the order in which several poolings are concatenated."""


@dataclass(frozen=True)
class SentenceHead:
    """Modules that compute a sentence vector from the last hidden states.

    Args:
        pools: How tokens are pooled; several poolings are concatenated.
        layers: The modules after it: weight (E x D), bias and activation of a dense layer, or None to normalize.
        transformer: Subfolder of the encoder.
        length: Maximum number of tokens; None: the encoder's.
        steps: Descriptions of the modules.
    """

    pools: tuple[str, ...]
    layers: tuple[tuple[torch.Tensor, torch.Tensor | None, str] | None, ...]
    transformer: str
    length: int | None
    steps: tuple[str, ...]

    def width(self, hidden: int) -> int:
        """Numbers in a sentence's vector, for a hidden size."""
        sizes = [len(layer[0]) for layer in self.layers if layer is not None]
        return sizes[-1] if sizes else hidden * len(self.pools)

    def __call__(self, hidden_BTD: torch.Tensor, mask_BT: torch.Tensor) -> torch.Tensor:
        """The vectors of sentences (B x E), in float32."""
        hidden_BTD, mask_BT1 = hidden_BTD.float(), mask_BT.float()[..., None]
        x_BE = torch.cat([_POOLS[name][1](hidden_BTD, mask_BT1) for name in self.pools], dim=1)
        for layer in self.layers:
            if layer is None:
                x_BE = F.normalize(x_BE, dim=1)
            else:
                weight, bias, activation = layer
                bias = None if bias is None else bias.to(x_BE.device)
                x_BE = _ACTIVATIONS[activation](F.linear(x_BE, weight.to(x_BE.device), bias))
        return x_BE


def read_sentence_head(source: str | Path, fetch: Fetch) -> SentenceHead | None:
    """Read the modules of a sentence-transformers model; None if it is none.

    Args:
        source: The folder or the name, for messages.
        fetch: Where its files are.

    Raises:
        InputError: It has a module or a setting that is not known here.
    """
    index = fetch(MODULES)
    if index is None:
        return None
    modules = _read(index)
    kinds = [_kind(module, source) for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or not set(kinds[2:]) <= {"Dense", "Normalize"}:
        raise _unknown(source, f"the modules {' > '.join(kinds)}")
    paths = [str(module.get("path", "")).strip("/") for module in modules]
    settings, whole = (
        _read(fetch(name))
        for name in (_inside(paths[0], "sentence_bert_config.json"), "config_sentence_transformers.json")
    )
    if settings.get("do_lower_case"):
        raise _unknown(source, "the setting do_lower_case")
    if whole.get("default_prompt_name"):
        raise _unknown(source, f"the prompt {shown(whole['default_prompt_name'])} before every text")
    pools = _pools(_read(fetch(_inside(paths[1], "config.json"))), source)
    layers, steps = [], [f"{' and '.join(pools)} pooling"]
    for kind, path in zip(kinds[2:], paths[2:], strict=True):
        layers.append(None if kind == "Normalize" else _dense(path, fetch, source))
        last = layers[-1]
        steps.append("normalize" if last is None else f"dense to {len(last[0])} ({last[2]})")
    stated = _read(fetch(_inside(paths[0], "tokenizer_config.json"))).get("model_max_length")
    length = settings.get("max_seq_length") or stated
    length = None if length is None or length > _UNLIMITED else int(length)
    return SentenceHead(pools, tuple(layers), paths[0], length, tuple(steps))


def local_files(folder: Path) -> Fetch:
    """The files of a folder."""
    return lambda name: folder / name if (folder / name).is_file() else None


def hub_files(name: str, *, local_only: bool) -> Fetch:
    """The files of a repository on the hub, fetched when asked for."""

    def fetch(file: str) -> Path | None:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

        try:
            return Path(hf_hub_download(name, file, local_files_only=local_only))
        except (EntryNotFoundError, LocalEntryNotFoundError):
            return None

    return fetch


def _inside(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _read(path: Path | None) -> Any:  # noqa: ANN401 - whatever JSON can hold
    if path is None:
        return {}
    try:
        note_read(path)
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"not JSON ({one_line(str(error))[:120]})",
            remedy="fetch the model again",
            code="input.malformed-json",
            file=path,
        ) from error


def _unknown(source: str | Path, what: str) -> InputError:
    return InputError(
        f"a sentence-transformers model with {what}, which is not supported",
        remedy="choose one of Transformer, Pooling, Dense and Normalize, or name the folder of its Transformer",
        code="input.unknown-format",
        file=source,
    )


def _kind(module: dict[str, Any], source: str | Path) -> str:
    package, _, kind = str(module.get("type", "")).rpartition(".")
    if package.split(".")[0] != "sentence_transformers" or kind not in _KNOWN:  # else it is code of the model's own
        raise _unknown(source, f"the module {shown(str(module.get('type')))}")
    return kind


def _pools(config: dict[str, Any], source: str | Path) -> tuple[str, ...]:
    named = config.get("pooling_mode")
    if named is None:
        keys = {f"pooling_mode_{key}": name for name, (key, _) in _POOLS.items()}
        on = {key for key, value in config.items() if key.startswith("pooling_mode_") and value}
        chosen, unknown = {keys[key] for key in on & keys.keys()}, on - keys.keys()
    else:
        chosen = {named} if isinstance(named, str) else set(named)
        unknown = chosen - set(_POOLS)
    if unknown or not chosen:
        raise _unknown(source, f"the pooling {shown(', '.join(sorted(unknown)))}")
    return tuple(name for name in _POOLS if name in chosen)


def _dense(path: str, fetch: Fetch, source: str | Path) -> tuple[torch.Tensor, torch.Tensor | None, str]:
    config = _read(fetch(_inside(path, "config.json")))
    package, _, activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")
    if activation not in _ACTIVATIONS or not package.startswith("torch.nn.modules"):
        raise _unknown(source, f"the activation {shown(activation)}")
    names = (config.get(f"module_{side}_name") for side in ("input", "output"))
    if any(name not in (None, "sentence_embedding") for name in names):
        raise _unknown(source, "a dense module over something else than the sentence")
    weights = _weights(path, fetch, source)
    return (
        weights["linear.weight"].float(),
        weights["linear.bias"].float() if "linear.bias" in weights else None,
        activation,
    )


def _weights(path: str, fetch: Fetch, source: str | Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    safe = fetch(_inside(path, "model.safetensors"))
    older = None if safe is not None else fetch(_inside(path, "pytorch_model.bin"))
    found: dict[str, torch.Tensor] = {}
    try:
        if safe is not None:
            note_read(safe)
            found = load_file(safe)
        elif older is not None:
            note_read(older)
            found = torch.load(older, map_location="cpu", weights_only=True)  # tensors alone: no code is run
    except Exception as error:  # of many kinds
        raise InputError(
            f"the weights of {path} cannot be read ({one_line(str(error))[:120]})",
            remedy="fetch the model again",
            code="input.unknown-format",
            file=source,
        ) from error
    if "linear.weight" not in found:
        raise InputError(
            f"no weights in {path}", remedy="fetch the model again, whole", code="input.empty", file=source
        )
    return found
