"""Import of BERT, RoBERTa, XLM-R and ModernBERT weights, with the same outputs; names of parts in Hugging Face models.

The embedding of the first segment is added to the positions and subtracted from that of the second. RoBERTa's positions
begin after its padding id, so the rows before are dropped; so are rows of ids that the tokenizer does not have.

Shapes: ``V`` vocabulary, ``D`` hidden size, ``T`` positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch

from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError
from isoglot.model.config import EncoderConfig
from isoglot.model.encoder import Encoder

if TYPE_CHECKING:
    from isoglot.vocab import Vocabulary

Family = Literal["bert", "roberta", "modernbert"]
"""``roberta`` is also XLM-R: BERT with other names of the head and an offset of positions."""

_BERT_BLOCK: dict[str, tuple[str, ...]] = {
    "attention.qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.out": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "mlp.up": ("intermediate.dense",),
    "mlp.down": ("output.dense",),
    "mlp_norm": ("output.LayerNorm",),
}
_MODERN_BLOCK: dict[str, tuple[str, ...]] = {
    "attention.qkv": ("attn.Wqkv",),
    "attention.out": ("attn.Wo",),
    "attention_norm": ("attn_norm",),
    "mlp.up": ("mlp.Wi",),
    "mlp.down": ("mlp.Wo",),
    "mlp_norm": ("mlp_norm",),
}
_HEAD: dict[Family, dict[str, str]] = {
    "bert": {
        "head.transform.dense": "cls.predictions.transform.dense",
        "head.transform.norm": "cls.predictions.transform.LayerNorm",
        "head.softmax": "cls.predictions.decoder",
    },
    "roberta": {
        "head.transform.dense": "lm_head.dense",
        "head.transform.norm": "lm_head.layer_norm",
        "head.softmax": "lm_head.decoder",
    },
    "modernbert": {
        "head.transform.dense": "head.dense",
        "head.transform.norm": "head.norm",
        "head.softmax": "decoder",
    },
}

_SETTINGS = {
    "vocabulary_size": "vocab_size",
    "hidden_size": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_length": "max_position_embeddings",
}
_BERT_SETTINGS = {"dropout": "hidden_dropout_prob", "norm_eps": "layer_norm_eps"}
_MODERN_SETTINGS = {"dropout": "mlp_dropout", "norm_eps": "norm_eps"}
HF_SETTINGS: dict[Family, dict[str, str]] = {
    "bert": _SETTINGS | _BERT_SETTINGS,
    "roberta": _SETTINGS | _BERT_SETTINGS,
    "modernbert": _SETTINGS | _MODERN_SETTINGS,
}
"""The Hugging Face names of settings that have the same meaning there."""


def hf_names(family: Family, layers: int) -> dict[str, tuple[str, ...]]:
    """The Hugging Face names of each part; several if its matrix is split there.

    >>> hf_names("bert", 1)["blocks.0.mlp.up"]
    ('bert.encoder.layer.0.intermediate.dense',)
    """
    names: dict[str, tuple[str, ...]]
    if family == "modernbert":
        names = {
            "embedding.tokens": ("model.embeddings.tok_embeddings",),
            "embedding.norm": ("model.embeddings.norm",),
            "final_norm": ("model.final_norm",),
        }
        stack, block = "model.layers", _MODERN_BLOCK
    else:
        names = {
            "embedding.tokens": (f"{family}.embeddings.word_embeddings",),
            "embedding.positions": (f"{family}.embeddings.position_embeddings",),
            "embedding.norm": (f"{family}.embeddings.LayerNorm",),
        }
        stack, block = f"{family}.encoder.layer", _BERT_BLOCK
    for layer in range(layers):
        for part, theirs in block.items():
            names[f"blocks.{layer}.{part}"] = tuple(f"{stack}.{layer}.{name}" for name in theirs)
    return names | {part: (name,) for part, name in _HEAD[family].items()}


_FAMILIES: dict[str, Family] = {
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "modernbert": "modernbert",
}


def obstacles(config: Any) -> list[str]:  # noqa: ANN401 - transformers' class, which need not be there
    """Settings of a Hugging Face config that :class:`Encoder` does not support, as ``key=value``; empty if none."""
    family = _FAMILIES.get(config.model_type)
    if family is None:
        return [f"model_type={config.model_type}"]
    found = []
    expected: dict[str, Any] = {"is_decoder": False, "add_cross_attention": False}
    if family == "modernbert":
        expected |= {"hidden_activation": "gelu", "classifier_activation": "gelu"}
        expected |= dict.fromkeys(("attention_bias", "mlp_bias", "classifier_bias"), config.norm_bias)
        if any(kind != "default" for kind in _rope(config, "rope_type")):
            found.append("rope_type")
        if _global_every(config) is None:
            found.append("layer_types")
    else:
        expected |= {"hidden_act": "gelu", "position_embedding_type": "absolute"}
    found += [
        f"{key}={getattr(config, key)}" for key, value in expected.items() if getattr(config, key, value) != value
    ]
    return found


def encoder_from_hf(model: Any, vocabulary: Vocabulary | None = None) -> Encoder:  # noqa: ANN401 - as above
    """Import a Hugging Face model as an :class:`Encoder`, in evaluation mode on the CPU, in float32.

    Args:
        model: The model, with its masked language modeling head if the encoder is to have logits.
        vocabulary: The vocabulary of its ids.

    Returns:
        The encoder, with logits equal to the model's.

    >>> from transformers import BertConfig, BertForMaskedLM
    >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16, "num_hidden_layers": 2}
    >>> encoder = encoder_from_hf(BertForMaskedLM(BertConfig(vocab_size=50, **sizes)))
    >>> encoder.depth, encoder.hidden_size
    (2, 8)

    Raises:
        ConfigError: The model is not supported (see :func:`obstacles`), or the vocabulary is larger than its own.
    """
    unsupported = obstacles(model.config)
    if unsupported:
        problem = f"the model cannot be imported: {', '.join(unsupported)}"
        raise ConfigError(problem, "wrap the model in HookedEncoder instead", "not-supported")
    family = _FAMILIES[model.config.model_type]
    theirs = _state(model, family)
    size = used_rows(model.config.vocab_size, vocabulary)
    segments = f"{model.base_model_prefix}.embeddings.token_type_embeddings.weight"
    separator = _separator(theirs.get(segments), vocabulary)
    config = _config(model.config, family, theirs, size, vocabulary, separator)
    encoder = Encoder(config, vocabulary, seed=None)
    names = hf_names(family, config.layers)
    found = {}
    for name, parameter in encoder.state_dict().items():
        if name == "embedding.second_segment":
            found[name] = theirs[segments][1:2] - theirs[segments][:1]
            continue
        part, _, kind = name.replace(".shared", "").rpartition(".")
        if part == "head.softmax" and kind == "bias" and f"{names[part][0]}.bias" not in theirs:
            found[name] = torch.zeros_like(parameter)
            continue
        found[name] = torch.cat([theirs[f"{other}.{kind}"] for other in names[part]])[: len(parameter)].clone()
    encoder.load_state_dict(found)
    return encoder.eval()


def _state(model: Any, family: Family) -> dict[str, torch.Tensor]:  # noqa: ANN401 - as above
    """The model's tensors in float32, under their names in a model with a head, with positions from 0."""
    prefix = model.base_model_prefix
    inner = model.base_model is model  # a model without a head has no prefix
    state = {
        f"{prefix}.{name}" if inner else name: tensor.detach().cpu().float()
        for name, tensor in model.state_dict().items()
    }
    if family != "modernbert":
        positions_TD = state[f"{prefix}.embeddings.position_embeddings.weight"]
        if family == "roberta":
            positions_TD = positions_TD[model.config.pad_token_id + 1 :]
        segment_D = state[f"{prefix}.embeddings.token_type_embeddings.weight"][0]
        state[f"{prefix}.embeddings.position_embeddings.weight"] = positions_TD + segment_D
    return state


def _separator(segments_SD: torch.Tensor | None, vocabulary: Vocabulary | None) -> int | None:
    """The separator of two texts, if the tokenizer gives the second a segment with another embedding."""
    if segments_SD is None or vocabulary is None or len(segments_SD) < 2 or torch.equal(*segments_SD[:2]):
        return None
    return vocabulary.segment_separator


def used_rows(size: int, vocabulary: Vocabulary | None) -> int:
    """Number of rows of a model's embedding matrix that its tokenizer uses.

    Raises:
        ConfigError: The tokenizer has more.
    """
    if vocabulary is None:
        return size
    if len(vocabulary) > size:
        problem = f"the tokenizer has {len(vocabulary):,} subwords, the model {size:,}"
        raise ConfigError(problem, "use the tokenizer the model was trained with", "other-size")
    return len(vocabulary)


def _config(
    config: Any,  # noqa: ANN401 - as above
    family: Family,
    state: dict[str, torch.Tensor],
    size: int,
    vocabulary: Vocabulary | None,
    separator: int | None,
) -> EncoderConfig:
    special = {} if vocabulary is None else vocabulary.special
    pad = special.get("[PAD]", config.pad_token_id or 0)
    names = hf_names(family, 0)
    tokens, softmax = (f"{names[part][0]}.weight" for part in ("embedding.tokens", "head.softmax"))
    values: dict[str, Any] = {ours: getattr(config, theirs) for ours, theirs in HF_SETTINGS[family].items()}
    values |= {"vocabulary_size": size, "pad_id": pad, "unk_id": special.get("[UNK]", pad), "softmax": "none"}
    if softmax in state:
        values["softmax"] = "tied" if torch.equal(state[tokens], state[softmax]) else "untied"
    if family == "modernbert":
        full, local = _rope(config, "rope_theta")
        every = _global_every(config) or 1
        values |= {"norm": "pre", "positions": "rotary", "mlp": "geglu", "bias": "all" if config.norm_bias else "none"}
        values |= {"rotary_base": float(full), "local_rotary_base": float(local), "global_every": every}
        values["local_window"] = config.local_attention if every > 1 else 0
    else:
        values["max_length"] = len(state[f"{names['embedding.positions'][0]}.weight"])
        values["separator_id"] = separator
    return build_config(EncoderConfig, values=values)


def _global_every(config: Any) -> int | None:  # noqa: ANN401 - as above
    """Every how many layers one is global (1: all); None if the layers do not follow such a rule."""
    depth = config.num_hidden_layers
    kinds = getattr(config, "layer_types", None)
    if kinds is None:  # as transformers 4 had it
        every = int(config.global_attn_every_n_layers)
        return 1 if every >= 1 and all(layer % every == 0 for layer in range(depth)) else every
    local = [kind != "full_attention" for kind in kinds]
    return next((n for n in range(1, depth + 1) if local == [bool(i % n) for i in range(depth)]), None)


def _rope(config: Any, key: str) -> tuple[Any, Any]:  # noqa: ANN401 - as above
    """A setting of rotary positions, of global and of local layers."""
    given = getattr(config, "rope_parameters", None)
    if given:
        return given["full_attention"][key], given["sliding_attention"][key]
    if key == "rope_type":  # transformers 4 had one kind
        return "default", "default"
    local = config.local_rope_theta
    return config.global_rope_theta, config.global_rope_theta if local is None else local
