"""What the parts of an encoder are called in Hugging Face's models: one table, read in both directions."""

from __future__ import annotations

from typing import Literal

Family = Literal["bert", "roberta", "modernbert"]
"""``roberta`` is also XLM-R: BERT with other names for the head and positions that begin later."""

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


def hf_names(family: Family, layers: int) -> dict[str, tuple[str, ...]]:
    """The name there of each part here; several where what is one matrix here is cut into rows there.

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
