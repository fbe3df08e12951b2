"""Pretraining on the CPU against Hugging Face's ``BertForMaskedLM`` of the same shape, in the same run.

Both train with the micro recipe on the same rows and masks, with fused AdamW and clipped gradients.
Ours is ``isoglot pretrain`` as it is: drawing the language, reading rows, masking and logging are in its time. The peer
gets batches that are masked already, with labels of -100 elsewhere, as its documentation has it. They take turns; the
best of the rounds counts. Target on two cores: 1.5 x the peer's tokens a second.

    python benchmarks/pretrain.py [preset] [size] [pieces]      (by default: paper micro 2000)
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from isoglot.core.config import build_config, load_recipe
from isoglot.languages import documents
from isoglot.pretrain.batches import Batches
from isoglot.pretrain.config import PretrainConfig
from isoglot.pretrain.distributed import World
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.pretrain.train import pretrain
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary

ROUNDS = 4
STEPS = 150


def corpus(folder: Path, pieces: int) -> tuple[Vocabulary, dict[str, Shards]]:
    texts = {}
    for language in ("en", "fr"):
        path = folder / f"{language}.txt"
        made = islice((s.text for document in documents(language, seed=1) for s in document), 20_000)
        path.write_text("\n".join(made) + "\n", encoding="utf-8")
        texts[language] = [path]
    vocabulary = train_vocabulary(texts, mode="joint", size=pieces)
    return vocabulary, {code: build_shards(paths, vocabulary, code, folder / code) for code, paths in texts.items()}


def ours(config: PretrainConfig, vocabulary: Vocabulary, shards: dict[str, Shards], out: Path) -> float:
    """Tokens a second of the second half of a run."""
    pretrain(config, shards, vocabulary, out, device="cpu")
    return float([line for line in read_metrics(out) if line["kind"] == "train"][-1]["tokens_per_second"][0])


def peer_model(config: PretrainConfig, pieces: int) -> Any:
    from transformers import BertConfig, BertForMaskedLM

    shape = config.model.encoder(vocabulary_size=pieces, languages=("en", "fr"), pad_id=0, unk_id=1)
    same = BertConfig(
        vocab_size=pieces,
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.intermediate_size,
        max_position_embeddings=shape.max_length,
        hidden_dropout_prob=shape.dropout,
        attention_probs_dropout_prob=shape.dropout,
    )
    return BertForMaskedLM(same).train()  # type: ignore[no-untyped-call]


def peer(config: PretrainConfig, vocabulary: Vocabulary, shards: dict[str, Shards], model: Any) -> float:
    """Tokens a second of the same steps; the batches are made before."""
    length = config.batch.sequence_length or 64
    batches = Batches(config, shards, vocabulary, length=length, world=World(device=torch.device("cpu")))
    ready = []
    for step in range(STEPS):
        masked = batches.next(step, step / STEPS).masked
        labels = torch.full_like(masked.inputs_BT, -100).scatter(1, masked.at_BK, masked.targets_BK)
        ready.append((masked.inputs_BT, labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.optimizer.learning_rate, fused=True)
    start = 0.0
    for step, (inputs, labels) in enumerate(ready):
        if step == STEPS // 2:
            start = time.perf_counter()
        optimizer.zero_grad()
        model(input_ids=inputs, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return (STEPS - STEPS // 2) * batches.tokens(1.0) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", nargs="?", default="paper")
    parser.add_argument("size", nargs="?", default="micro")
    parser.add_argument("pieces", nargs="?", type=int, default=2000)
    options = parser.parse_args()
    preset, size = options.preset, options.size
    settings = [f"model.preset={preset}", f"model.size={size}", f"budget={STEPS}steps", f"log.every={STEPS // 2}"]
    settings += ["evaluation.every=0", "log.peak=off", f"checkpoints.every={10 * STEPS}"]
    config = build_config(PretrainConfig, recipe=load_recipe("micro", room="pretrain"), settings=settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vocabulary, shards = corpus(folder, options.pieces)
        model = peer_model(config, len(vocabulary))
        mine, theirs = [], []
        for number in range(ROUNDS):
            mine.append(ours(config, vocabulary, shards, folder / f"run{number}"))
            theirs.append(peer(config, vocabulary, shards, model))
    rows, length = config.batch.size, config.batch.sequence_length
    print(
        f"{preset} {size}, {len(vocabulary):,} pieces, {rows} x {length} tokens, {torch.get_num_threads()} threads: "
        f"ours {max(mine):,.0f} tokens/s, BertForMaskedLM {max(theirs):,.0f} tokens/s; "
        f"{max(mine) / max(theirs):.2f} x (median {np.median(mine) / np.median(theirs):.2f} x)"
    )


if __name__ == "__main__":
    main()
