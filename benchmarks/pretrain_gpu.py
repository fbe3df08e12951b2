"""Training on one GPU against ``BertForMaskedLM``, in the same run: tokens a second, and the share of the peak.

The papers' base model (8 layers x 768, 80,000 pieces), rows of 256 tokens, 15 % masked. Ours is the whole way: shards
on disk, rows, masks, step, clipped gradients, as ``isoglot pretrain`` takes it, compiled. The peer gets batches that
lie ready on the device, bfloat16 autocast and a fused AdamW, at each of several batch sizes; the best one counts, then
that one compiled. The share of the peak counts useful operations only: matrix products, each once, and the softmax at
the masked positions; the peak is a large bfloat16 product, measured in the same run.

    python benchmarks/pretrain_gpu.py VOCABULARY SHARDS-OF-EN SHARDS-OF-DE [ROWS]

Target: 2.3 x the peer, 1.7 x the compiled peer, 50 % of the peak.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch

from isoglot.core.config import build_config
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.pretrain.batches import Batches
from isoglot.pretrain.distributed import World
from isoglot.pretrain.metrics_log import measured_peak, read_metrics, step_flops
from isoglot.vocab import Shards, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = 256
STEPS = 120
PEER_ROWS = (64, 128, 256, 512)
GPU = torch.device("cuda")


def settings(rows: int) -> PretrainConfig:
    values = [
        "model.size=base",
        "compile=on",
        f"batch.size={rows}",
        f"batch.sequence_length={LENGTH}",
        f"budget={STEPS}steps",
    ]
    values += [f"log.every={STEPS // 6}", f"checkpoints.every={10 * STEPS}", "evaluation.every=0"]
    return build_config(PretrainConfig, settings=values)


def ours(config: PretrainConfig, vocabulary: Vocabulary, shards: dict[str, Shards], folder: Path) -> tuple[float, int]:
    """Tokens a second after the first lines, and operations of a step."""
    pretrain(config, shards, vocabulary, folder / "run", device="cuda")
    lines = [line for line in read_metrics(folder / "run") if line["kind"] == "train"]
    speed = float(np.median([line["tokens_per_second"][0] for line in lines[2:]]))
    masked = config.masking.positions(LENGTH - 2)
    shape = config.model.encoder(vocabulary_size=len(vocabulary), languages=tuple(shards), pad_id=0, unk_id=1)
    return speed, step_flops(shape, rows=config.batch.size, length=LENGTH, masked=masked)


def peer_model(pieces: int) -> Any:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=pieces,
        hidden_size=768,
        num_hidden_layers=8,
        num_attention_heads=12,
        intermediate_size=3072,
        max_position_embeddings=LENGTH,
    )
    model: Any = BertForMaskedLM
    return model(config).to(GPU).train()


def peer(model: Any, rows: int, vocabulary: Vocabulary, shards: dict[str, Shards]) -> float:
    """Tokens a second."""
    batches = Batches(settings(rows), shards, vocabulary, length=LENGTH, world=World(device=GPU))
    ready = []
    for number in range(4):
        masked = batches.next(number, 0.0).masked
        ready.append(
            (masked.inputs_BT, torch.full_like(masked.inputs_BT, -100).scatter(1, masked.at_BK, masked.targets_BK))
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(number: int) -> None:
        inputs, labels = ready[number % len(ready)]
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=inputs, labels=labels).loss
        loss.backward()
        optimizer.step()

    return rows * LENGTH / seconds_of(step, max(6, 4096 // rows))


def seconds_of(step: Callable[[int], None], count: int) -> float:
    for number in range(4):
        step(number)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for number in range(count):
        step(number)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("vocabulary", "english", "german"):
        parser.add_argument(name)
    parser.add_argument("rows", type=int, nargs="?", default=256)
    options = parser.parse_args()
    vocabulary = Vocabulary.load(options.vocabulary)
    shards = {"en": Shards.open(options.english), "de": Shards.open(options.german)}
    peak = measured_peak(GPU, "bfloat16")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: peak {peak / 1e12:.0f} TFLOP/s", flush=True)
    config = settings(options.rows)
    with tempfile.TemporaryDirectory() as name:
        mine, flops = ours(config, vocabulary, shards, Path(name))
    useful = mine / (config.batch.size * LENGTH) * flops
    share = f"{useful / 1e12:.0f} useful TFLOP/s, {useful / peak:.1%} of the peak"
    print(f"isoglot, {options.rows} rows: {mine:,.0f} tokens/s, {share}", flush=True)
    torch.cuda.empty_cache()
    plain = {}
    for count in PEER_ROWS:
        try:
            plain[count] = peer(peer_model(len(vocabulary)), count, vocabulary, shards)
        except torch.OutOfMemoryError:  # its logits are of every position
            print(f"BertForMaskedLM, {count} rows: more than the memory", flush=True)
            continue
        print(f"BertForMaskedLM, {count} rows: {plain[count]:,.0f} tokens/s", flush=True)
        torch.cuda.empty_cache()
    best = max(plain, key=lambda count: plain[count])
    compiled = peer(torch.compile(peer_model(len(vocabulary))), best, vocabulary, shards)
    print(f"BertForMaskedLM compiled, {best} rows: {compiled:,.0f} tokens/s", flush=True)
    print(f"isoglot is {mine / plain[best]:.2f} x the peer, {mine / compiled:.2f} x the compiled peer")


if __name__ == "__main__":
    main()
