"""A sentence-transformers folder as one ONNX graph, from token ids to sentence vectors, checked with onnxruntime.

The graph takes ``input_ids`` and ``attention_mask`` (batch × tokens) and gives ``sentence_embedding``. If the model has
a router by language, it also takes ``language`` (batch): numbers of the routes in ``languages.json`` beside it.

Shapes: ``B`` texts, ``T`` tokens, ``E`` size of a sentence's vector, ``R`` routes.
"""

from __future__ import annotations

import json
import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from isoglot.core.errors import ConfigError
from isoglot.core.files import write_bytes
from isoglot.core.optional import import_part
from isoglot.model.hf.sentence_transformers import Router, local_files, pool_tokens, read_sentence_head
from isoglot.vocab.external_tokenizer import NO_CODE, quiet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.model.hf.sentence_transformers import SentenceHead

ONNX = "onnx/sentence_embedding.onnx"
"""Where the graph is in the folder of a model."""
_LANGUAGES = "onnx/languages.json"
_ONE_FILE = 1_500_000_000  # bytes of weights; a graph may have two gigabytes


class _SentenceModel(nn.Module):
    """A Hugging Face model with pooling and the modules after it."""

    def __init__(self, model: nn.Module, head: SentenceHead) -> None:
        super().__init__()
        self.model, self.pools, self.parts = model, head.pools, head.modules

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, language: torch.Tensor | None = None
    ) -> torch.Tensor:
        hidden_BTD = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        pooled = [pool_tokens(name, hidden_BTD, attention_mask > 0) for name in self.pools]
        vectors_BE = torch.cat(pooled, dim=1)
        for part in self.parts:
            if isinstance(part, Router) and language is not None:
                routed_BRE = torch.stack([route(vectors_BE) for route in part.routes.values()], dim=1)
                is_own_BR = language[:, None] == torch.arange(len(part.routes), device=language.device)
                vectors_BE = (routed_BRE * is_own_BR[..., None]).sum(dim=1)
            else:
                vectors_BE = part(vectors_BE)
        return vectors_BE


def write_onnx(folder: Path) -> Path:
    """Write the graph of a sentence-transformers folder into it.

    Raises:
        ConfigError: The tokens of its prompt are not pooled, which a graph of token ids cannot know.
        MissingPartError: onnx and onnxscript are not installed.
    """
    for library in ("onnx", "onnxscript"):
        import_part(library)
    transformers = import_part("transformers")
    head = read_sentence_head(folder, local_files(folder))
    if head is None or (head.prompt and not head.include_prompt):
        problem = "a model that leaves the tokens of its prompt out of the pooling"
        raise ConfigError(problem, "leave ONNX out", "not-supported", file=folder)
    with quiet(transformers):
        inner = transformers.AutoModel.from_pretrained(str(folder / head.transformer), local_files_only=True, **NO_CODE)
    model = _SentenceModel(inner.float(), head).eval()
    routes = routes_of(head)
    path = folder / ONNX
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ["input_ids", "attention_mask", *(["language"] if routes else [])]
    ids_BT = torch.full((2, 7), 5)
    given = (ids_BT, torch.ones_like(ids_BT), *([torch.zeros(2, dtype=torch.int64)] if routes else []))
    B, T = torch.export.Dim("batch"), torch.export.Dim("tokens")
    sizes: list[dict[int, Any]] = [{0: B, 1: T}, {0: B, 1: T}, *([{0: B}] if routes else [])]
    weights = sum(each.numel() * each.element_size() for each in model.parameters())
    logging.getLogger("torch.onnx._internal.exporter._registration").setLevel(
        logging.ERROR
    )  # torchvision is not needed
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            given,
            path,
            input_names=names,
            output_names=["sentence_embedding"],
            dynamic_shapes=tuple(sizes),
            external_data=weights > _ONE_FILE,
            dynamo=True,
            verbose=False,
        )
    if routes:
        write_bytes(folder / _LANGUAGES, (json.dumps(routes, indent=2) + "\n").encode())
    return path


def routes_of(head: SentenceHead) -> dict[str, int]:
    """Number of each route of the router; empty without one."""
    return {name: at for part in head.modules if isinstance(part, Router) for at, name in enumerate(part.routes)}


def onnx_difference(folder: Path, texts: Mapping[str, Sequence[str]], expected: Mapping[str, np.ndarray]) -> float:
    """Encode texts by language with onnxruntime, and compare with the expected vectors (N × E), of unit length.

    Texts under a name that is no route take the default one.

    Raises:
        MissingPartError: onnxruntime is not installed.
    """
    runtime, transformers = import_part("onnxruntime"), import_part("transformers")
    head = read_sentence_head(folder, local_files(folder))
    if head is None:
        raise ConfigError("no sentence-transformers model", "write one first", "not-supported", file=folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        str(folder / head.transformer), local_files_only=True, **NO_CODE
    )
    session = runtime.InferenceSession(str(folder / ONNX), providers=["CPUExecutionProvider"])
    routes = routes_of(head)
    default = next((routes[part.default] for part in head.modules if isinstance(part, Router)), 0)
    differences = []
    for code, own in texts.items():
        read = [head.as_read(text) for text in own]
        limit = {"truncation": True, "max_length": head.length} if head.length else {}
        batch = tokenizer(read, padding=True, return_tensors="np", **limit)
        inputs = {name: batch[name].astype(np.int64) for name in ("input_ids", "attention_mask")}
        if routes:
            inputs["language"] = np.full(len(own), routes.get(code, default), dtype=np.int64)
        (found_NE,) = session.run(None, inputs)
        differences.append(float(np.abs(found_NE - expected[code]).max()))
    return max(differences)
