"""Sentence vectors against ``sentence-transformers``, and all layers against the last alone, in the same run.

The model is a BERT of 6 layers x 384 with random weights, saved as a folder that both open; sentences have 5 to 100
tokens, evenly spread. The peer sorts by length and pools by mean, too; special tokens take part there, which costs it
nothing. They take turns, the best of the rounds counts, and the numbers are compared.

    python benchmarks/represent.py [SENTENCES] [ROUNDS]

On a machine that has other things to do, CLOCK=cpu OMP_NUM_THREADS=1 measures the time of the processor instead.

Targets in float32 on two cores: 1.1 x the peer's speed for the last layer; all layers in 1.15 x the time of one.
On the CPU ours gives each core a batch of its own, and the peer all cores one batch: a busy machine slows it more,
so measure on a quiet one. On one core both take the same time within 5 %, nearly all of it in matrix products.
``sentence-transformers`` is no part of the project: install it somewhere (``pip install --target DIR``) and put that on
PYTHONPATH. Without it, only the second number is measured.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from isoglot.model import EncoderLike, load_encoder
from isoglot.represent import extract
from isoglot.vocab.scheme import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = 5000
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def save_model(folder: Path) -> None:
    torch.manual_seed(0)
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *(f"w{i}" for i in range(WORDS))))}
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    model: Any = BertModel
    model(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    wrapped: Any = PreTrainedTokenizerFast
    wrapped(tokenizer_object=tokenizer, model_max_length=512, **names).save_pretrained(folder)


def open_peer(folder: Path) -> Any:
    try:
        peer = import_module("sentence_transformers")
        modules = import_module("sentence_transformers.sentence_transformer.modules")
    except ModuleNotFoundError:
        return None
    word = modules.Transformer(str(folder), max_seq_length=512)
    return peer.SentenceTransformer(modules=[word, modules.Pooling(384, pooling_mode="mean")], device="cpu")


def main(count: int = 1000, rounds: int = 5) -> None:
    clock = CLOCKS[os.environ.get("CLOCK", "wall")]
    chance = random.Random(1)  # noqa: S311 - no secrets here
    sentences = [" ".join(f"w{chance.randrange(WORDS)}" for _ in range(chance.randint(5, 100))) for _ in range(count)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(folder)
        encoder, peer = load_encoder(folder, device="cpu"), open_peer(folder)
    work: dict[str, Callable[[], np.ndarray]] = {
        "last": lambda: extract(encoder, sentences, layers=[-1])[-1],
        "all": lambda: extract(encoder, sentences, layers="all")[-1],
    }
    if peer is not None:
        work["peer"] = lambda: peer.encode(sentences, show_progress_bar=False)
    times: dict[str, list[float]] = {name: [] for name in work}
    found = {}
    for _ in range(rounds):
        for name, run in work.items():
            start = clock()
            found[name] = run()
            times[name].append(clock() - start)
    best = {name: min(taken) for name, taken in times.items()}
    median = {name: float(np.median(taken)) for name, taken in times.items()}
    np.testing.assert_allclose(found["all"], found["last"], atol=1e-5)
    print(f"{count:,} sentences of 5 to 100 tokens, {torch.get_num_threads()} threads, best of {rounds} rounds")
    print(f"last layer: {best['last']:.2f} s, {count / best['last']:,.0f} sentences/s")
    print(
        f"all layers: {best['all']:.2f} s, {best['all'] / best['last']:.3f} x the time of one "
        f"(median {median['all'] / median['last']:.3f} x)"
    )
    if peer is None:
        print("sentence-transformers is not installed: nothing to compare with")
        return
    np.testing.assert_allclose(*(whole_mean(encoder, sentences[:50]), found["peer"][:50]), atol=1e-4)
    print(
        f"sentence-transformers: {best['peer']:.2f} s; last layer at {best['peer'] / best['last']:.2f} x its speed "
        f"(median {median['peer'] / median['last']:.2f} x); same numbers"
    )


def whole_mean(encoder: EncoderLike, sentences: list[str]) -> np.ndarray:
    """The peer's pooling by our encoder: special tokens take part."""
    from isoglot.model import make_batch

    found = []
    with torch.no_grad():
        for sentence in sentences:
            batch = make_batch(encoder.vocabulary, [sentence])
            found.append(encoder.layers(batch)[-1][0].mean(dim=0).numpy())
    return np.stack(found)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
