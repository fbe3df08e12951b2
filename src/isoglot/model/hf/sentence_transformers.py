"""Modules of a sentence-transformers model: from the last hidden states to the sentence embedding.

``modules.json`` lists them: a Transformer, then Pooling, then any of Dense, LayerNorm, Normalize and Dropout, or a
Router that chooses among these by the language of the text. They are implemented here: no code of the folder is run,
and a folder with other modules is rejected. As in sentence-transformers, special tokens count in pooling, and the
default prompt is put before every text.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``E`` dimensions of the sentence embedding.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from isoglot.core.errors import InputError, one_line, shown
from isoglot.core.files import note_read

MODULES = "modules.json"
_UNLIMITED = 1_000_000  # tokens: a tokenizer without a limit states a larger number
Fetch = Callable[[str], Path | None]  # returns the local file of a relative path, or None if there is none
Pool = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_AFTER_POOLING = ("Dense", "LayerNorm", "Normalize", "Dropout")
_KNOWN = ("Transformer", "Pooling", *_AFTER_POOLING, "Router")
# The settings of the Transformer: one of these files, the first that has any. Early versions named it by the model.
_SETTINGS = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "Sigmoid", "SiLU")


def _mean(hidden_BTD: torch.Tensor, weights_BT1: torch.Tensor, power: float = 1.0) -> torch.Tensor:
    return (hidden_BTD * weights_BT1).sum(dim=1) / weights_BT1.sum(dim=1).clamp(min=1e-9) ** power


def _token(hidden_BTD: torch.Tensor, at_B1: torch.Tensor) -> torch.Tensor:
    return hidden_BTD[torch.arange(len(at_B1), device=at_B1.device), at_B1[:, 0]]


# Positions count from 1 at the first token of a text, its prompt included; they are 0 for tokens that do not count.
_POOLS: dict[str, tuple[str, Pool]] = {
    "cls": ("cls_token", lambda hidden, places: _token(hidden, (places > 0).int().argmax(dim=1))),
    "max": ("max_tokens", lambda hidden, places: hidden.masked_fill(places == 0, -torch.inf).amax(dim=1)),
    "mean": ("mean_tokens", lambda hidden, places: _mean(hidden, (places > 0).float())),
    "mean_sqrt_len_tokens": ("mean_sqrt_len_tokens", lambda hidden, places: _mean(hidden, (places > 0).float(), 0.5)),
    "weightedmean": ("weightedmean_tokens", _mean),
    "lasttoken": ("lasttoken", lambda hidden, places: _token(hidden, places.argmax(dim=1))),
}
"""The suffix of the key in older configs, and the function, in the order in which several poolings are concatenated."""


def pool_tokens(name: str, hidden_BTD: torch.Tensor, mask_BT: torch.Tensor, *, skip: int = 0) -> torch.Tensor:
    """Pool the tokens of sentences into vectors (B x D), in float32, special tokens included.

    Args:
        name: ``cls``, ``max``, ``mean``, ``mean_sqrt_len_tokens``, ``weightedmean`` (weight 1 for the first token, 2
            for the second) or ``lasttoken``, as sentence-transformers calls and computes them.
        hidden_BTD: Hidden states; those of padding do not matter.
        mask_BT: True at tokens.
        skip: Tokens at the beginning of each sentence that do not count.
    """
    places_BT1 = (mask_BT.cumsum(dim=1) * mask_BT).float()[..., None]
    places_BT1 = torch.where(places_BT1 > skip, places_BT1, 0)
    return _POOLS[name][1](hidden_BTD.float().masked_fill(~mask_BT[..., None], 0), places_BT1)


class _Dense(nn.Module):
    """Linear layer with an activation, added to its input (or a projection of it) if there is a residual."""

    def __init__(self, linear: nn.Linear, activation: nn.Module, residual: nn.Module | None) -> None:
        super().__init__()
        self.linear, self.activation, self.residual = linear, activation, residual

    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        made_BE: torch.Tensor = self.activation(self.linear(x_BD))
        return made_BE if self.residual is None else made_BE + self.residual(x_BD)


class Router(nn.Module):
    """Modules by route, with a default route."""

    def __init__(self, routes: dict[str, nn.Module], default: str) -> None:
        super().__init__()
        self.routes, self.default = nn.ModuleDict(routes), default

    def route(self, name: str | None) -> nn.Module:
        """The modules of a route, or of the default route if there is none of that name."""
        return self.routes[name if name is not None and name in self.routes else self.default]


class _Normalize(nn.Module):
    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        return F.normalize(x_BD, dim=1)


@dataclass(frozen=True)
class SentenceHead:
    """Modules that compute a sentence vector from the last hidden states.

    Args:
        pools: How tokens are pooled; several poolings are concatenated.
        modules: The modules after it.
        transformer: Subfolder of the encoder.
        length: Maximum number of tokens; None: the encoder's.
        steps: Descriptions of the modules.
        prompt: Put before every text.
        include_prompt: Whether the tokens of the prompt count in pooling.
        lower: Whether texts are lowercased.
    """

    pools: tuple[str, ...]
    modules: nn.Sequential
    transformer: str
    length: int | None
    steps: tuple[str, ...]
    prompt: str = ""
    include_prompt: bool = True
    lower: bool = False

    def routed(self, language: str | None) -> SentenceHead:
        """The head for texts of a language; a router without a route of that name takes its default."""
        parts = [each.route(language) if isinstance(each, Router) else each for each in self.modules]
        flat = [each for part in parts for each in (part if isinstance(part, nn.Sequential) else [part])]
        return replace(self, modules=nn.Sequential(*flat))

    def as_read(self, text: str) -> str:
        """The text as it is tokenized: with the prompt, and in lower case if the model needs that."""
        return (self.prompt + text).lower() if self.lower else self.prompt + text

    def width(self, hidden: int) -> int:
        """Dimensions of the sentence embedding, for a hidden size."""
        sizes = [module.linear.out_features for module in self.routed(None).modules if isinstance(module, _Dense)]
        return sizes[-1] if sizes else hidden * len(self.pools)

    def __call__(self, hidden_BTD: torch.Tensor, mask_BT: torch.Tensor, *, skip: int = 0) -> torch.Tensor:
        """Sentence embeddings (B x E), in float32; the first ``skip`` tokens do not count."""
        pooled_BD = torch.cat([pool_tokens(name, hidden_BTD, mask_BT, skip=skip) for name in self.pools], dim=1)
        vectors_BE: torch.Tensor = self.modules.to(pooled_BD.device)(pooled_BD)
        return vectors_BE


def read_sentence_head(source: str | Path, fetch: Fetch) -> SentenceHead | None:
    """Read the modules of a sentence-transformers model; None for other models.

    Args:
        source: The folder or hub name, for error messages.
        fetch: Finds its files.

    Raises:
        InputError: It has a module or a setting that is not supported.
    """
    index = fetch(MODULES)
    if index is None:
        return None
    modules = _read(index)
    kinds = [_kind(module, source) for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or not set(kinds[2:]) <= {*_AFTER_POOLING, "Router"}:
        raise _unknown(source, f"the modules {' > '.join(kinds)}")
    paths = [str(module.get("path", "")).strip("/") for module in modules]
    settings: dict[str, Any] = next(filter(None, (_read(fetch(_inside(paths[0], name))) for name in _SETTINGS)), {})
    whole = _read(fetch("config_sentence_transformers.json"))
    pooling = _read(fetch(_inside(paths[1], "config.json")))
    pools, include = _pools(pooling, source), bool(pooling.get("include_prompt", True))
    prompt = str((whole.get("prompts") or {}).get(whole.get("default_prompt_name")) or "")
    built = [_module(kind, path, fetch, source) for kind, path in zip(kinds[2:], paths[2:], strict=True)]
    steps = [f"{' and '.join(pools)} pooling", *(step for step, _ in built)]
    if prompt:
        steps.insert(0, f"prompt {shown(prompt)}{'' if include else ' (not pooled)'}")
    stated = _read(fetch(_inside(paths[0], "tokenizer_config.json"))).get("model_max_length")
    length = settings.get("max_seq_length") or stated
    length = None if length is None or length > _UNLIMITED else int(length)
    modules = nn.Sequential(*(module for _, module in built)).eval()
    lower = bool(settings.get("do_lower_case"))
    return SentenceHead(pools, modules, paths[0], length, tuple(steps), prompt, include, lower)


def local_files(folder: Path) -> Fetch:
    """Finder of the files of a folder."""
    return lambda name: folder / name if (folder / name).is_file() else None


def hub_files(name: str, *, local_only: bool) -> Fetch:
    """Finder of the files of a repository on the hub, which are downloaded when needed."""

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
        problem = f"not JSON ({one_line(str(error))[:120]})"
        raise InputError(problem, "download the model again", "malformed-json", file=path) from error


def _unknown(source: str | Path, what: str) -> InputError:
    problem = f"a sentence-transformers model with {what}, which is not supported"
    remedy = f"choose one of {', '.join(_KNOWN)}, or name the folder of its Transformer"
    return InputError(problem, remedy, "unknown-format", file=source)


def _kind(module: dict[str, Any], source: str | Path) -> str:
    package, _, kind = str(module.get("type", "")).rpartition(".")
    if package.split(".")[0] != "sentence_transformers" or kind not in _KNOWN:  # else it is custom code
        raise _unknown(source, f"the module {shown(str(module.get('type')))}")
    return kind


def _pools(config: dict[str, Any], source: str | Path) -> tuple[str, ...]:
    named = config.get("pooling_mode")
    if named is None:
        keys = {f"pooling_mode_{key}": name for name, (key, _) in _POOLS.items()}
        on = {key for key, value in config.items() if key.startswith("pooling_mode_") and value}
        chosen, unknown = [name for key, name in keys.items() if key in on] or ["mean"], on - keys.keys()
    else:
        chosen = [named] if isinstance(named, str) else list(named)
        unknown = set(chosen) - set(_POOLS)
    if unknown or not chosen:
        raise _unknown(source, f"the pooling {shown(', '.join(sorted(unknown)))}")
    return tuple(chosen)


def _module(kind: str, path: str, fetch: Fetch, source: str | Path) -> tuple[str, nn.Module]:
    """A module after pooling: its description and its computation."""
    if kind == "Router":
        return _router(path, fetch, source)
    config = _read(fetch(_inside(path, "config.json")))
    names = (config.get(f"module_{side}_name") for side in ("input", "output"))
    if any(name not in (None, "sentence_embedding") for name in names):
        raise _unknown(source, f"a module {kind} that does not take the sentence embedding")
    if kind == "Dropout":
        return "dropout (no effect)", nn.Identity()
    if kind == "Normalize":
        return "normalize", _Normalize()
    main = "norm" if kind == "LayerNorm" else "linear"
    weights = _weights(path, fetch, source, f"{main}.weight")
    if kind == "LayerNorm":
        norm = nn.LayerNorm(len(weights["norm.weight"]))
        norm.load_state_dict({"weight": weights["norm.weight"], "bias": weights["norm.bias"]})
        return "layer norm", norm
    package, _, activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")
    if activation not in _ACTIVATIONS or not package.startswith("torch.nn.modules"):
        raise _unknown(source, f"the activation {shown(activation)}")
    linear = _linear(weights, "linear")
    residual = _linear(weights, "residual") if "residual.weight" in weights else nn.Identity()
    dense = _Dense(linear, getattr(nn, activation)(), residual if config.get("use_residual") else None)
    return f"dense to {linear.out_features} ({activation})", dense


def _router(path: str, fetch: Fetch, source: str | Path) -> tuple[str, nn.Module]:
    config = _read(fetch(_inside(path, "router_config.json")))
    kinds = {name: _kind({"type": kind}, source) for name, kind in config.get("types", {}).items()}
    routes, default = config.get("structure", {}), config.get("parameters", {}).get("default_route")
    if not set(kinds.values()) <= set(_AFTER_POOLING) or default not in routes:
        raise _unknown(source, f"a router of {', '.join(sorted(set(kinds.values())))} with the default {default}")
    built = {name: _module(kind, _inside(path, name), fetch, source)[1] for name, kind in kinds.items()}
    modules: dict[str, nn.Module] = {
        route: nn.Sequential(*(built[name] for name in names)) for route, names in routes.items()
    }
    return f"router by language ({', '.join(routes)})", Router(modules, default)


def _linear(weights: dict[str, torch.Tensor], name: str) -> nn.Linear:
    own = {key.removeprefix(f"{name}."): value.float() for key, value in weights.items() if key.startswith(f"{name}.")}
    linear = nn.Linear(own["weight"].shape[1], own["weight"].shape[0], bias="bias" in own)
    linear.load_state_dict(own)
    return linear


def _weights(path: str, fetch: Fetch, source: str | Path, needed: str) -> dict[str, torch.Tensor]:
    safe = fetch(_inside(path, "model.safetensors"))
    older = None if safe is not None else fetch(_inside(path, "pytorch_model.bin"))
    found: dict[str, torch.Tensor] = {}
    try:
        if safe is not None:
            note_read(safe)
            found = load_file(safe)
        elif older is not None:
            note_read(older)
            found = torch.load(older, map_location="cpu", weights_only=True)  # only tensors: no code is run
    except Exception as error:  # torch and safetensors raise many kinds
        problem = f"the weights of {path} cannot be read ({one_line(str(error))[:120]})"
        raise InputError(problem, "download the model again", "unknown-format", file=source) from error
    if needed not in found:
        raise InputError(f"no weights in {path}", "download the complete model again", "empty", file=source)
    return found
